"""Spellings of private hosts, the names that resolve to them, and resolvers without a network."""

from __future__ import annotations

import socket
import tomllib
from typing import TYPE_CHECKING, Any

from aiohttp.abc import AbstractResolver, ResolveResult

from tests.support.package import TESTS

if TYPE_CHECKING:
    from collections.abc import Callable

_TABLES: dict[str, Any] = tomllib.loads(
    (TESTS / "cases" / "hosts.toml").read_text("utf-8")
)
HOSTS: list[str] = [host for group in _TABLES["hosts"].values() for host in group]
ANSWERS: dict[str, list[str]] = _TABLES["answers"]


def resolve(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
    """Stand in for `socket.getaddrinfo`: the names above, and nothing that asks a network."""
    del args, kwargs
    found = []
    for address in ANSWERS.get(host, [host]):
        try:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            socket.inet_pton(family, address)
        except OSError:
            raise socket.gaierror(socket.EAI_NONAME, "not known") from None
        place = (address, port, 0, 0) if family == socket.AF_INET6 else (address, port)
        found.append((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place))
    return found


class NamedAddresses(AbstractResolver):
    """A resolver that gives each name the address that a function has for it.

    Attributes:
        asked: the names that were resolved, in order.
    """

    def __init__(self, find: Callable[[str], str] = lambda _: "127.0.0.1") -> None:
        self.asked: list[str] = []
        self._find = find

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the one address of a name; raise OSError where there is none."""
        del family
        self.asked.append(host)
        address = self._find(host)
        if not address:
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=kind, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
