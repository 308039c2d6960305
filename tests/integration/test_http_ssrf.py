"""Where requests may not go: no spelling of a private address is ever connected to.

Run as a script, this file opens every spelling, as a start and as a redirect's target, under an
audit hook that sees each connect of the process, and prints what it saw as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from typing import Any
from urllib.parse import quote

import aiohttp
import package
import pytest
from faults import DOCUMENT, FaultServer
from hosts import ANSWERS, HOSTS, REFUSALS, open_and_fail, resolve

from sitemapreader.errors import FetchError
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions


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
            patch.setattr(aiohttp, "DefaultResolver", aiohttp.ThreadedResolver)
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


@pytest.fixture(scope="module")
def report() -> Any:
    """What the script saw, in a process of its own: an audit hook cannot be taken back."""
    script = [sys.executable, "-X", "utf8", __file__]
    environment = {**os.environ, "PYTHONPATH": str(package.TESTS / "support")}
    run = subprocess.run(script, capture_output=True, check=False, timeout=60, env=environment)
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
    monkeypatch.setattr(socket, "socket", None)
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
        fetcher.network.book._found.clear()
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
