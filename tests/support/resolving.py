"""A resolver for HttpFetcher that asks no network: names as a test wants them."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aiohttp.abc import AbstractResolver, ResolveResult

if TYPE_CHECKING:
    from collections.abc import Callable


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
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)
        ]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
