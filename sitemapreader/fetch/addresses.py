"""Addresses: the ones that belong to the public internet, and others."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

# https://www.iana.org/assignments/iana-ipv4-special-registry, and three networks that it lacks; of
# its twin for IPv6 what lies inside 2000::/3.
# `ipaddress.is_global` is no substitute: for Python 3.11, 224.0.0.1, 192.0.0.192, 2002:7f00:1:: and
# 64:ff9b::7f00:1 are global.
_NOT_PUBLIC = tuple(
    map(
        ip_network,
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
            "2001::/23",  # protocol assignments (RFC 2928): Teredo, benchmarks, ORCHID
            "2001:db8::/32",  # documentation (RFC 3849)
            "3fff::/20",  # documentation (RFC 9637)
        ),
    )
)
_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
"""All that IANA has assigned to the public internet (RFC 4291, section 2.4)."""
_MAX_ADDRESS_CHARS = 45
"""Longest literal address: an IPv6 address that ends with an IPv4 address."""
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
    # a quick test for nearly all names, because `ip_address` needs a long time to refuse them
    if ":" not in text and not text[-1:].isdigit():
        return None
    if len(text) > _MAX_ADDRESS_CHARS:
        return None
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
    is_assigned = isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST_6
    return is_assigned and not any(address in network for network in _NOT_PUBLIC)


_NOT_PUBLIC_NAMES = frozenset(
    (
        "local",
        "test",
        "internal",
        "localhost",
        "localdomain",
        "lan",
        "home",
        "corp",
        "invalid",
    )
)
"""Last labels that no public name has: RFC 6761, RFC 6762, RFC 8375, and ICANN's `internal`."""


def is_public_host(host: str) -> bool:
    """Return whether a host may be public, by its name or literal address alone."""
    host = host.lower().strip("[]").rstrip(".")
    if address := read_address(host):
        return is_public(address)
    return "." in host and host.rpartition(".")[2] not in _NOT_PUBLIC_NAMES


def literal_address(host: str) -> str | None:
    """Return the address that a host name means without a resolver, or `None`."""
    # RFC 6761, section 6.3: `localhost` and all names below it are loopback.
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    if read_address(host) is None:
        return None
    return host
