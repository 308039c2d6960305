"""The table of addresses, and the policy over hosts, addresses and ports."""

from __future__ import annotations

from typing import Any

import pytest

from sitemapreader._types.errors import FetchError
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.addresses import is_public, literal_address, read_address
from sitemapreader.fetch.client import Trust
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.urls import parse_request_url

PUBLIC = (
    "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
    "192.0.1.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.17",
    "::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::808:808", "2002:808:808::", "2606:4700::1111",
    "2a00:1450::1", "2001:200::1", "2001:4860:4860::8888", "2003::1",
)  # fmt: skip

NOT_PUBLIC = (
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "0.0.0.0", "0.1.2.3", "192.0.0.1", "192.0.0.9", "192.0.0.192", "192.0.2.1",  # noqa: S104 (nothing is bound)
    "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250",
    "240.0.0.1", "255.255.255.255", "168.63.129.16", "::1", "::", "::ffff:127.0.0.1",
    "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001::1",
    "2001:0:a9fe:a9fe:0:0:80ff:fffe", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
    "100::1", "2001:db8::1", "2001:20::1", "3fff::1", "5f00::1", "fe80::1%eth0", "fe80::1%25eth0",
    "::1%lo", "172.31.255.255", "198.19.255.255", "127.255.255.255", "100.127.255.255", "4000::1",
)  # fmt: skip


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses(text: str) -> None:
    """Addresses just outside of the special networks, and the public ones that others stand for."""
    address = read_address(text)
    assert address is not None
    assert is_public(address)


def test_addresses_that_are_not_public(subtests: pytest.Subtests) -> None:
    """Special networks, however an address in one of them is written or wrapped."""
    for text in NOT_PUBLIC:
        with subtests.test(text=text):
            address = read_address(text)
            assert address is not None
            assert not is_public(address)


def test_hosts_that_need_no_resolver() -> None:
    """Literal addresses in their canonical form, and the names that are loopback by RFC 6761."""
    assert {literal_address(host) for host in ("localhost", "a.localhost")} == {
        "127.0.0.1"
    }
    assert [literal_address(host) for host in ("::1", "10.0.0.1")] == [
        "::1",
        "10.0.0.1",
    ]
    for host in (
        "localhost.example",
        "alocalhost",
        "",
        "127.1",
        "0x7f.1",
        "2130706433",
        "1::2::3",
    ):
        assert literal_address(host) is None, host


def make_trust(*urls: str, **allowed: Any) -> Trust:
    trust = Trust(**allowed)
    for url in urls:
        trust.add(url)
    return trust


def test_a_public_start_is_public_for_ever() -> None:
    """What a start resolved to first decides what it may resolve to later (DNS rebinding)."""
    trust = make_trust("http://site.example/")
    assert trust.allows("site.example", "8.8.8.8")
    assert not trust.allows("site.example", "10.0.0.1")
    trust.add("http://site.example/")
    assert not trust.allows("site.example", "127.0.0.1")
    assert trust.allows("site.example", "1.1.1.1")


def test_a_private_start_may_stay_private_and_nobody_else() -> None:
    """The caller's own host may be private; a host that it leads to may not."""
    trust = make_trust("http://intranet/")
    for address in ("10.0.0.1", "10.0.0.2", "8.8.8.8", "10.0.0.1"):
        assert trust.allows("intranet", address)
    assert not trust.allows("router", "10.0.0.1")
    assert trust.allows("cdn.example", "8.8.8.8")


def test_a_walk_has_the_trust_of_its_fetcher_and_no_other_walk_has_its_own() -> None:
    """Requests outside of walks may go where those that run may."""
    own = make_trust("http://shared/")
    walk, other = own.branch(), own.branch()
    walk.add("http://intranet/")
    assert walk.allows("shared", "10.0.0.1")
    assert [trust.allows("intranet", "10.0.0.1") for trust in (walk, other, own)] == [
        1,
        0,
        1,
    ]
    del walk
    assert not own.allows("intranet", "10.0.0.1")


def test_networks_that_are_allowed() -> None:
    """`allow_networks` counts for every host, for the address as written and as it is meant."""
    trust = Trust(["10.0.0.0/8", "fd00::/8", "64:ff9b::/96"])
    for address in (
        "10.1.2.3",
        "::ffff:10.1.2.3",
        "fd00::1",
        "64:ff9b::7f00:1",
        "8.8.8.8",
    ):
        assert trust.allows("any", address), address
        assert trust.branch().allows("any", address), address
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "fe80::1", "not an address"):
        assert not trust.allows("any", address), address


@pytest.mark.parametrize("network", ["10.0.0.1/8", "ten", "", "10.0.0.0/33"])
def test_a_network_that_is_none_is_misuse(network: str) -> None:
    """A mistake in `allow_networks` is told at once, with the form it should have."""
    with pytest.raises(ValueError, match=r"write a network such as '10\.0\.0\.0/8'"):
        HttpFetcher(FetchOptions(allow_networks=(network,)))


@pytest.mark.parametrize("port", [0, 22, 25, 6379, 8080])
def test_ports(port: int) -> None:
    """80, 443, a start's and those that are allowed; no other."""
    walk = make_trust("http://a.example:8000/", allow_ports=[8443]).branch()
    for allowed in (80, 443, 8000, 8443):
        walk.check(parse_request_url(f"http://b.example:{allowed}/"))
    with pytest.raises(FetchError, match="port"):
        walk.check(parse_request_url(f"http://b.example:{port}/"))
