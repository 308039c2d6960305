"""What no test of a unit may do: connect to an address, listen on one, or start a process."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

FORBIDDEN = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.system",
    "pty.spawn",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.sendto",
    "subprocess.Popen",
}
"""Audit events (https://docs.python.org/3/library/audit_events.html)."""

_is_unit = False


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if _is_unit and event in FORBIDDEN:
        raise RuntimeError(f"{event}{arguments}: move this test out of tests/unit")


# An audit hook cannot be removed: outside of tests/unit it lets everything pass.
sys.addaudithook(_refuse)


@contextmanager
def isolated() -> Iterator[None]:
    """Refuse sockets and processes to what runs in the context."""
    global _is_unit  # noqa: PLW0603 (an audit hook has no other place to look)
    _is_unit = True
    try:
        yield
    finally:
        _is_unit = False
