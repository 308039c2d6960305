"""Where requests may not go: no spelling of a private address is ever connected to.

Run as a script, this file opens every spelling, as a start and as a redirect's target, under an
audit hook that sees each connect of the process, and prints what it saw as JSON.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from faults import DOCUMENT, FaultServer

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import AddressPolicy
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions

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


async def try_all() -> dict[str, Any]:
    """Open each spelling in both ways; return the codes, and the connects that were made."""
    ports: list[int] = []

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            ports.append(args[1][1])

    sys.addaudithook(watch)
    codes: dict[str, list[str]] = {}
    async with FaultServer() as start, FaultServer() as target:
        options = FetchOptions(max_attempts=1, allow_ports=(target.port,))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", resolve)
            async with HttpFetcher(options) as fetcher:
                home = f"http://start.test:{start.port}"
                fetcher.trust(home)
                for host in HOSTS:
                    url = f"http://{host}:{target.port}/ok"
                    ways = (url, f"{home}/to?url={quote(url)}")
                    codes[host] = [await open_and_fail(fetcher, way) for way in ways]
        return {
            "codes": codes,
            "connects_to_start": ports.count(start.port),
            "connects_elsewhere": sum(port != start.port for port in ports),
            "reached": target.connections,
            "asked": len(start.requests),
        }


async def open_and_fail(fetcher: HttpFetcher, url: str) -> str:
    try:
        async with fetcher.open(url):
            return "opened"
    except FetchError as error:
        return error.code


@pytest.fixture(scope="module")
def report() -> Any:
    """What the script saw, in a process of its own: an audit hook cannot be taken back."""
    script = [sys.executable, "-X", "utf8", __file__]
    run = subprocess.run(script, capture_output=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


@pytest.mark.parametrize("host", HOSTS)
def test_no_spelling_of_a_private_address_is_opened(host: str, report: Any) -> None:
    """As a start that the caller did not name, and as a redirect's target, it is refused."""
    assert len(report["codes"][host]) == 2
    assert set(report["codes"][host]) <= REFUSALS


def test_no_connection_was_made(report: Any) -> None:
    """The audit hook and the listening server saw nothing but the redirects' own server."""
    assert len(HOSTS) >= 60
    assert report["connects_to_start"] >= 1
    assert report["connects_elsewhere"] == 0
    assert report["reached"] == 0
    assert report["asked"] == len(HOSTS)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://8.8.8.8:22/", IssueCode.BLOCKED_PORT),
        ("http://8.8.8.8:0/", IssueCode.BLOCKED_PORT),
        ("https://8.8.8.8:8443/", IssueCode.BLOCKED_PORT),
        ("http://8.8.8.8:99999/", IssueCode.INVALID_URL),
        ("http://8.8.8.8:x/", IssueCode.INVALID_URL),
        ("http://site.example/a b", IssueCode.INVALID_URL),
        ("http://site.example/a\u3000b", IssueCode.INVALID_URL),
        (" http://site.example/", IssueCode.INVALID_URL),
        ("http://site.example/a\r\nX: 1", IssueCode.INVALID_URL),
        ("http://site.example/\x00", IssueCode.INVALID_URL),
        ("http://site.example/\x7f", IssueCode.INVALID_URL),
        ("http://site.example/\x9b", IssueCode.INVALID_URL),
        ("http://site.example/\u202egpj.exe", IssueCode.INVALID_URL),
        ("http://site.example/\u2066", IssueCode.INVALID_URL),
        ("http://site.example/\udcff", IssueCode.INVALID_URL),
        ("http://a\\@b.example/", IssueCode.INVALID_URL),
        ("http://[::1", IssueCode.INVALID_URL),
        ("http:///ok", IssueCode.INVALID_URL),
        ("http://", IssueCode.INVALID_URL),
        ("//site.example/", IssueCode.INVALID_URL),
        ("/sitemap.xml", IssueCode.INVALID_URL),
        ("", IssueCode.INVALID_URL),
        ("file:///etc/passwd", IssueCode.INVALID_URL),
        ("ftp://site.example/", IssueCode.INVALID_URL),
        ("tcp://127.0.0.1/", IssueCode.INVALID_URL),
        ("ws://site.example/", IssueCode.INVALID_URL),
        ("javascript:alert(1)", IssueCode.INVALID_URL),
        ("data:text/plain,hi", IssueCode.INVALID_URL),
        ("http://" + "é" * 2000 + ".example/", IssueCode.INVALID_URL),
        ("http://site.example/" + "../" * 100_000, IssueCode.INVALID_URL),
        ("http://" + "a" * 64 + ".example/", IssueCode.INVALID_URL),
        ("http://a..example/", IssueCode.INVALID_URL),
        ("http://nowhere.invalid/", IssueCode.DNS),
    ],
)
async def test_urls_that_are_not_requested(
    url: str, code: IssueCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be requested, or not there, is a FetchError before any connection."""
    real = socket.getaddrinfo

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host == "nowhere.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(AddressPolicy, "make_socket", None)
    async with HttpFetcher(FetchOptions(max_attempts=1)) as fetcher:
        with pytest.raises(FetchError) as caught:
            async with fetcher.open(url):
                pass
    assert caught.value.code == code
    assert set("\r\n\x00\x7f\x9b\u202e\u2066\udcff").isdisjoint(str(caught.value))


async def test_secrets_in_a_url_stay_out_of_the_message() -> None:
    """A URL that cannot be requested is reported without the password in it."""
    async with HttpFetcher() as fetcher:
        with pytest.raises(FetchError) as caught:
            async with fetcher.open("http://user:secret@site.example/a b"):
                pass
    assert "secret" not in str(caught.value)
    assert "secret" not in caught.value.url


async def test_a_private_address_by_leave() -> None:
    """A named start and `allow_networks` open what is refused otherwise."""
    async with FaultServer() as server:
        url = server.url("ok")
        options = FetchOptions(allow_networks=("127.0.0.0/8",), allow_ports=(server.port,))
        refusing = HttpFetcher(FetchOptions(allow_ports=(server.port,)))
        for fetcher in (HttpFetcher(), HttpFetcher(options), refusing):
            if fetcher.options.allow_ports == ():
                fetcher.trust(url)
            async with fetcher:
                code = await open_and_fail(fetcher, url)
                assert code == ("opened" if fetcher is not refusing else IssueCode.BLOCKED_ADDRESS)
        assert len(server.requests) == 2


async def test_a_public_start_that_turns_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: after a public answer, a private one for the same name is not connected to."""
    answers = {"rebound.test": ["8.8.8.8"]}
    monkeypatch.setitem(ANSWERS, "rebound.test", answers["rebound.test"])
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    loop = asyncio.get_running_loop()
    connected: list[str] = []
    connect = loop.sock_connect
    async with FaultServer() as server, HttpFetcher(FetchOptions(max_attempts=1)) as fetcher:

        async def connect_here(made: socket.socket, place: Any) -> None:
            connected.append(place[0])
            await connect(made, (server.host, server.port))

        monkeypatch.setattr(loop, "sock_connect", connect_here)
        fetcher.trust("http://rebound.test/")
        async with fetcher.open("http://rebound.test/stale") as response:
            assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT
        session = fetcher._transport._ready_session()
        assert isinstance(session.connector, aiohttp.TCPConnector)
        session.connector.clear_dns_cache()
        ANSWERS["rebound.test"] = ["127.0.0.1"]
        await asyncio.sleep(0.05)
        with pytest.raises(FetchError) as caught:
            async with fetcher.open("http://rebound.test/ok"):
                pass
        assert caught.value.code == IssueCode.BLOCKED_ADDRESS
        assert "127.0.0.1" in caught.value.detail
        assert connected == ["8.8.8.8"]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(try_all())))  # noqa: T201 (the report that the tests read)
