"""What no test of a unit may do: connect to an address, listen on one, or start a process."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

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


# A hook cannot be removed: this one is asleep outside of the tests of units.
sys.addaudithook(_refuse)


@contextmanager
def _guarded() -> Iterator[None]:
    global _is_unit  # noqa: PLW0603 (an audit hook has no other place to look)
    _is_unit = True
    try:
        yield
    finally:
        _is_unit = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Refuse them to fixtures."""
    with _guarded():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Refuse them to tests."""
    with _guarded():
        return (yield)
