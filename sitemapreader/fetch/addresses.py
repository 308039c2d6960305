"""Where requests may go: which addresses are public, and the policy over hosts, addresses, ports.

A crawler requests URLs that strangers wrote, from a place that may reach more than strangers do
(a metadata service, a router, a database on loopback). Names are no protection, for they resolve to
whatever their owner likes, and literal addresses never see a resolver; so the address is checked
where the socket is made, which is the address that is then connected to.
"""

from __future__ import annotations

import errno
import socket
from contextvars import ContextVar
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

AddrInfo: TypeAlias = tuple[int, int, int, str, tuple[Any, ...]]
"""What `socket.getaddrinfo` gives of one address: family, type, protocol, name, socket address."""

WEB_PORTS = frozenset({80, 443})

# https://www.iana.org/assignments/iana-ipv4-special-registry, and three that it does not have.
# `ipaddress.is_global` is no substitute: Python 3.11 takes 224.0.0.1, 192.0.0.192, 2002:7f00:1::
# and 64:ff9b::7f00:1 for global.
_NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network (RFC 791); Linux connects 0.0.0.0 to loopback
            "10.0.0.0/8",  # private (RFC 1918)
            "100.64.0.0/10",  # carriers (RFC 6598); Alibaba's metadata service
            "127.0.0.0/8",  # loopback (RFC 1122)
            "168.63.129.16/32",  # Azure's platform; public by the registry
            "169.254.0.0/16",  # link-local (RFC 3927); metadata services
            "172.16.0.0/12",  # private (RFC 1918)
            "192.0.0.0/24",  # protocol assignments (RFC 6890); Oracle's metadata service
            "192.0.2.0/24",  # documentation (RFC 5737)
            "192.88.99.0/24",  # relays of 6to4 (RFC 7526)
            "192.168.0.0/16",  # private (RFC 1918)
            "198.18.0.0/15",  # benchmarks (RFC 2544)
            "198.51.100.0/24",  # documentation (RFC 5737)
            "203.0.113.0/24",  # documentation (RFC 5737)
            "224.0.0.0/4",  # multicast (RFC 5771)
            "240.0.0.0/4",  # reserved (RFC 1112), and broadcast
        ),
    )
)
_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
"""All that IANA has given out (RFC 4291, section 2.4); what lies outside is not the web."""
# https://www.iana.org/assignments/iana-ipv6-special-registry, as far as it lies inside 2000::/3
_NOT_PUBLIC_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments (RFC 2928): Teredo, benchmarks, ORCHID
            "2001:db8::/32",  # documentation (RFC 3849)
            "3fff::/20",  # documentation (RFC 9637)
        ),
    )
)
# IPv6 addresses that stand for an IPv4 address, and how many bits to the right of it there are
_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped (RFC 4291, section 2.5.5.2)
    (IPv6Network("::/96"), 0),  # compatible (section 2.5.5.1); `::` and `::1` with it
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64 (RFC 6052)
    (IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056)
)


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read a literal address, with or without a scope; `None` for anything else.

    An IPv6 address that stands for an IPv4 address is given as that one.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        for network, shift in _EMBEDDING:
            if address in network:
                return IPv4Address(int(address) >> shift & 0xFFFFFFFF)
    return address


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address, as `read_address` gives it, belongs to the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _GLOBAL_UNICAST_6 and not any(address in network for network in _NOT_PUBLIC_6)


def literal_address(host: str) -> str | None:
    """Return the address that a host name is without asking a resolver, or `None`.

    RFC 6761, section 6.3: `localhost` and all names below it are loopback.
    """
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    return host if read_address(host) else None


@attrs.define
class ConnectAttempt:
    """One connection in the making: whose it is, and what was said of its addresses."""

    host: str
    refused: str = ""
    """The first address that was refused."""
    tried: bool = False
    """Whether any address was let through."""


CONNECT_ATTEMPT: ContextVar[ConnectAttempt] = ContextVar("attempt")
"""The attempt of the request that this task is making; what the socket factory has to go by."""


class AddressPolicy:
    """Decide which addresses and ports may be connected to.

    Public addresses may be. Others may be if they lie in `allow_networks`, or if their host is one
    that the caller named (`trust`) and its first address was not public either: a public start is
    public for ever, whatever its name resolves to later.
    """

    def __init__(self, allow_networks: Iterable[str] = (), allow_ports: Iterable[int] = ()) -> None:
        self._networks = tuple(map(_read_network, allow_networks))
        self._ports = WEB_PORTS | set(allow_ports)
        self._starts: dict[str, bool | None] = {}
        """The caller's hosts: whether they are private, or `None` before the first connection."""

    def trust(self, host: str, port: int) -> None:
        """Take a host and a port as the caller's own."""
        self._starts.setdefault(host, None)
        self._ports |= {port}

    def allows_port(self, port: int) -> bool:
        """Tell whether a port may be connected to."""
        return port in self._ports

    def allows(self, host: str, address: str) -> bool:
        """Tell whether `address` may be connected to for `host`; of a start, remember its kind."""
        found = read_address(address)
        if found is None:
            return False
        private = not is_public(found)
        if host in self._starts and self._starts[host] is None:
            self._starts[host] = private
        return not private or bool(self._starts.get(host)) or self._lists(address, found)

    def _lists(self, address: str, found: IPv4Address | IPv6Address) -> bool:
        written = ip_address(address.partition("%")[0])
        return any(found in network or written in network for network in self._networks)

    def make_socket(self, info: AddrInfo) -> socket.socket:
        """Make the socket of a connection, or raise OSError; for aiohttp's `socket_factory`.

        It is called for every direct connection, literal addresses included, with the address that
        is connected to: a name that resolves differently the next time changes nothing.
        """
        family, kind, protocol, _, address = info
        attempt = CONNECT_ATTEMPT.get()
        if not self.allows(attempt.host, address[0]):
            attempt.refused = attempt.refused or address[0]
            raise OSError(errno.EACCES, f"{address[0]} is not a public address")
        attempt.tried = True
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made


def _read_network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(
            f"allow_networks: {error}; write a network such as '10.0.0.0/8' or 'fd00::/8'"
        ) from error
