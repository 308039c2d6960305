"""Run before a server for agents: a network of one public site, which is a port of loopback.

Each address that is connected to is written to a file. Connections to the public address of
site.test go to the port, and all others are refused.
"""

import asyncio.selector_events as loops
import os
import socket
import sys
from pathlib import Path
from typing import Any

import hosts

PUBLIC = "93.184.216.34"
PORT = int(os.environ["SITE_PORT"])
LOG = Path(os.environ["CONNECTS"])

hosts.ANSWERS["site.test"] = [PUBLIC]
socket.getaddrinfo = hosts.resolve  # type: ignore[assignment]
sys.modules["aiodns"] = None  # type: ignore[assignment]
connect = loops.BaseSelectorEventLoop.sock_connect


def note(address: Any) -> None:
    with LOG.open("a") as log:
        log.write(f"{address}\n")


async def connect_or_refuse(self: Any, sock: socket.socket, address: Any) -> None:
    note(address[0])
    if address[0] != PUBLIC:
        raise OSError("a test connects to no such address")
    await connect(self, sock, ("127.0.0.1", PORT))


loops.BaseSelectorEventLoop.sock_connect = connect_or_refuse  # type: ignore[method-assign]


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and arguments[1] != ("127.0.0.1", PORT):
        note(arguments[1])


sys.addaudithook(watch)
