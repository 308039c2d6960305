"""Spellings of private hosts, the names that resolve to them, and resolvers without a network."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from aiohttp.abc import AbstractResolver, ResolveResult

from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTS = (
    # loopback as an IPv4 address
    "127.0.0.1", "127.0.0.1.", "127.255.255.254", "127.1", "127.0.1", "127.0.0.01", "2130706433",
    "017700000001", "0177.0.0.1", "0177.0x0.1", "0x7f000001", "0x7f.1", "0X7F.0.0.0x1", "127.0x1",
    "0", "0.0.0.0", "0x0", "127.0.0.1.0", "127.0.0.1%00", "127.0.0.1%2f", "%31%32%37.0.0.1",  # noqa: S104 (nothing is bound)
    "１２７.0.0.1", "①②⑦.0.0.1", "127。0.0.1", "127．0．0．1", "127｡0｡0｡1",  # noqa: RUF001
    # as a name
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "ⓛocalhost", "%6cocalhost",
    # with something before it
    "user:pw@127.0.0.1", "site.example@127.0.0.1", "site.example%40@127.0.0.1",
    # as an IPv6 address
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::1%25lo]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:127.0.0.1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
    "[2001:0:7f00:1::]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[fc00::1]", "[ff02::1]",
    # other networks, and metadata services
    "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "0xa9fea9fe", "2852039166",
    "[::ffff:a9fe:a9fe]", "100.100.100.200", "168.63.129.16", "192.0.0.192", "[fd00:ec2::254]",
    # by what a resolver says
    "loopback.test", "mapped.test", "metadata.test", "both.test", "v6.test",
)  # fmt: skip
ANSWERS = {
    "start.test": ["127.0.0.1"],
    "loopback.test": ["127.0.0.1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "metadata.test": ["169.254.169.254"],
    "both.test": ["::1", "127.0.0.1", "10.0.0.1"],
    "v6.test": ["fd00::1"],
}
REFUSALS = {IssueCode.BLOCKED_ADDRESS, IssueCode.INVALID_URL}


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
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)
        ]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""
