"""The guard of this folder: no test in it reaches a socket or starts a process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def connect() -> None:
    with socket.socket() as unbound:
        unbound.connect(("127.0.0.1", 9))


def listen() -> None:
    with socket.socket() as unbound:
        unbound.bind(("127.0.0.1", 0))


def resolve() -> None:
    socket.getaddrinfo("localhost", 80)


def start_process() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def call_shell() -> None:
    os.system("true")  # noqa: S605, S607 (refused before it runs)


@pytest.mark.parametrize("act", [connect, listen, resolve, start_process, call_shell])
def test_units_have_no_socket_and_no_process(act: Callable[[], None]) -> None:
    """What would leave the process is refused in this folder, with advice."""
    with pytest.raises(RuntimeError, match="move this test out of tests/unit"):
        act()
