"""Where requests may go: what is public, and what is so only if it was named.

Each walk has a trust of its own, so that many walks can share a fetcher: a site that the caller of
one walk named is a stranger to the others.
"""

# A crawler requests URLs that strangers wrote, from a place that may reach more than strangers can
# (a metadata service, a router, a database on loopback). A check of names does not protect: names
# resolve to whatever their owner likes, and literal addresses never see a resolver. So literals are
# checked before each request, and names by the addresses that they have then: aiohttp is given
# these, and resolves nothing itself. Names are looked up once a minute.

from __future__ import annotations

import asyncio
import socket
import time
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from aiohttp.abc import ResolveResult

Addresses: TypeAlias = "tuple[ResolveResult, ...]"
"""The addresses of a host that may be connected to, in the order of the resolver."""

WEB_PORTS = frozenset({80, 443})

# https://www.iana.org/assignments/iana-ipv4-special-registry, and three networks that it lacks.
# `ipaddress.is_global` is no substitute: for Python 3.11, 224.0.0.1, 192.0.0.192, 2002:7f00:1:: and
# 64:ff9b::7f00:1 are global.
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
"""All that IANA has assigned to the public internet (RFC 4291, section 2.4)."""
# https://www.iana.org/assignments/iana-ipv6-special-registry: its networks inside 2000::/3
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
_MOST_CHARS = 45
"""The longest literal address is an IPv6 address that ends as an IPv4 address does."""
# IPv6 networks that embed an IPv4 address, and the number of bits to the right of that
_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped (RFC 4291, section 2.5.5.2)
    (IPv6Network("::/96"), 0),  # compatible (section 2.5.5.1); `::` and `::1` with it
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64 (RFC 6052)
    (IPv6Network("2002::/16"), 80),  # 6to4 (RFC 3056)
)


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse a literal address, with or without a scope; `None` for other texts.

    An IPv6 address that embeds an IPv4 address gives the latter.
    """
    text = text.partition("%")[0]
    if (":" not in text and not text[-1:].isdigit()) or len(text) > _MOST_CHARS:
        return None  # as nearly all names: `ip_address` takes long to refuse them
    return _parse_address(text)


@lru_cache(maxsize=1_024)  # the addresses of a name are checked for each request
def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        for network, shift in _EMBEDDING:
            if address in network:
                return IPv4Address(int(address) >> shift & 0xFFFFFFFF)
    return address


@lru_cache(maxsize=1_024)
def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address from `read_address` belongs to the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _GLOBAL_UNICAST_6 and not any(address in network for network in _NOT_PUBLIC_6)


def literal_address(host: str) -> str | None:
    """Return the address that a host name means without a resolver, or `None`."""
    # RFC 6761, section 6.3: `localhost` and all names below it are loopback.
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    return host if read_address(host) else None


class Trust:
    """What a caller named: origins, their ports, and hosts, which need not be public.

    A host may be private if its first address was private.
    """

    # A trusted host whose first address was public stays public: else it could be rebound to a
    # private address later.

    def __init__(self) -> None:
        self.ports: set[int] = set()
        self._logins: dict[str, str] = {}
        """Origin -> its userinfo."""
        self._is_private: dict[str, bool | None] = {}
        """Host -> whether it is private; `None` before the first connection."""

    def __contains__(self, host: object) -> bool:
        return host in self._is_private

    def add(self, host: str, port: int, origin: str = "", userinfo: str = "") -> None:
        """Trust the host and the port of an origin, which is sent its userinfo."""
        self._is_private.setdefault(host, None)
        self.ports.add(port)
        self._logins[origin] = userinfo or self._logins.get(origin, "")

    def has_origin(self, origin: str) -> bool:
        """Return whether a URL of this origin was named."""
        return origin in self._logins

    def find_login(self, origin: str) -> str:
        """Return the userinfo that was named with an origin, or ""."""
        return self._logins.get(origin, "")

    def allows(self, host: str, *, private: bool) -> bool:
        """Return whether a host may have such an address; record its first kind."""
        if host in self._is_private and self._is_private[host] is None:
            self._is_private[host] = private
        return not private or bool(self._is_private.get(host))


class AddressPolicy:
    """Decide which addresses and ports may be connected to.

    Public addresses are allowed, addresses in `allow_networks`, and hosts that are trusted.
    """

    def __init__(self, allow_networks: Iterable[str] = (), allow_ports: Iterable[int] = ()) -> None:
        self._networks = tuple(map(_read_network, allow_networks))
        self._ports = WEB_PORTS | set(allow_ports)

    def allows_port(self, port: int, trusted: tuple[Trust, ...] = ()) -> bool:
        """Return whether a port may be connected to."""
        return port in self._ports or any(port in hosts.ports for hosts in trusted)

    def allows(self, host: str, address: str, trusted: tuple[Trust, ...] = ()) -> bool:
        """Return whether `address` is allowed for `host`; record a trusted host's kind."""
        found = read_address(address)
        if found is None:
            return False
        private = not is_public(found)
        # A list: each of them must see the address.
        allowed = [hosts.allows(host, private=private) for hosts in trusted]
        return not private or any(allowed) or self._is_listed(address, found)

    def _is_listed(self, address: str, found: IPv4Address | IPv6Address) -> bool:
        written = ip_address(address.partition("%")[0])
        return any(found in network or written in network for network in self._networks)


def _read_network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise ValueError(
            f"`allow_networks`: {error}; write a network such as '10.0.0.0/8' or 'fd00::/8'"
        ) from error


class TrustSet:
    """The trusts that count for a request, as one."""

    def __init__(self, trusts: tuple[Trust, ...], *, is_selective: bool) -> None:
        self.is_selective = is_selective
        """Whether headers of the caller are meant for origins that were named only."""
        self.trusts = trusts

    def has_origin(self, origin: str) -> bool:
        """Return whether a URL of this origin was named."""
        return any(trust.has_origin(origin) for trust in self.trusts)

    def find_login(self, origin: str) -> str:
        """Return the userinfo that was named with an origin, or ""."""
        return next(filter(None, (trust.find_login(origin) for trust in self.trusts)), "")


# -- the addresses of names

_KEPT_SECONDS = 60
"""How long the addresses of a name are kept."""
_MOST_NAMES = 1_000


def make_address(name: str, host: str, port: int) -> ResolveResult:
    """Make an address of a name, as aiohttp's resolvers do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return {
        "hostname": name,
        "host": host,
        "port": port,
        "family": family,
        "proto": 0,
        "flags": socket.AI_NUMERICHOST,
    }


class AddressBook:
    """The addresses of names, as `look_up` finds them; failures are not kept."""

    def __init__(
        self,
        look_up: Callable[[str, int], Coroutine[None, None, list[ResolveResult]]],
        policy: AddressPolicy,
    ) -> None:
        self._look_up = look_up
        self._policy = policy
        self._found: dict[tuple[str, int], tuple[float, asyncio.Task[list[ResolveResult]]]] = {}

    async def find(self, url: str, name: str, port: int, trust: TrustSet) -> Addresses:
        """Return the addresses that a URL may go to; raise FetchError if there is none."""
        host = name.lower().rstrip(".")
        # A final dot says that it is no name of a search domain. RFC 6761, section 6.3: all names
        # below `localhost` are loopback.
        asked = "localhost" if host.endswith(".localhost") else host + "." * name.endswith(".")
        try:
            if read_address(host) is not None:
                found = [make_address(host, host, port)]
            else:
                found = self._get_known(asked, port) or await self._resolve(asked, port)
        except TimeoutError:
            raise
        except (OSError, UnicodeError) as error:
            code = IssueCode.DNS if isinstance(error, OSError) else IssueCode.INVALID_URL
            said = getattr(error, "strerror", None) or str(error)
            raise FetchError(code, url, said.lower()) from error
        allowed = tuple(
            each for each in found if self._policy.allows(host, str(each["host"]), trust.trusts)
        )
        if not found:
            raise FetchError(IssueCode.DNS, url, "the name has no address")
        if not allowed:
            raise FetchError(IssueCode.BLOCKED_ADDRESS, url, f"{host} is {found[0]['host']}")
        return allowed

    def _get_known(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses that are kept, which takes neither a timer nor a future."""
        until, task = self._found.get((host, port), (0.0, None))
        is_known = task is not None and task.done() and until > time.monotonic()
        return task.result() if task is not None and is_known else []

    async def _resolve(self, host: str, port: int) -> list[ResolveResult]:
        key, now = (host, port), time.monotonic()
        until, task = self._found.get(key, (0.0, None))
        if task is None or until < now:
            task = asyncio.create_task(self._look_up(host, port))
            task.add_done_callback(lambda _: self._forget_failure(key))
            self._found.pop(key, None)
            self._found[key] = now + _KEPT_SECONDS, task
            if len(self._found) > _MOST_NAMES:
                del self._found[next(iter(self._found))]
        return await asyncio.shield(task)  # others may wait for it as well

    def _forget_failure(self, key: tuple[str, int]) -> None:
        _, task = self._found.get(key, (0.0, None))
        if task is not None and task.done() and (task.cancelled() or task.exception()):
            del self._found[key]

    def close(self) -> None:
        """Wait for no answer any more."""
        for _, task in self._found.values():
            task.cancel()
        self._found.clear()
