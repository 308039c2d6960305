"""Cookies of a given session: they stay with the origins that the caller named."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from faults import DOCUMENT, ROUTES, FaultServer, Line, Request, head
from yarl import URL

from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SECRET = {"sid": "secret", "wide": "secret"}


class Loopback(AbstractResolver):
    """Has every name lead to this machine."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host="127.0.0.1",
                port=port,
                family=family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def close(self) -> None:
        """Nothing is held."""


async def give_cookie(line: Line, request: Request) -> None:
    """Answer with a document, and with cookies for the host and for its whole domain."""
    host = request.headers["host"].partition(":")[0]
    extra = (
        f"Set-Cookie: given={host}; Path=/",
        f"Set-Cookie: sid=stolen; Domain={host.removeprefix('www.')}; Path=/",
    )
    await line.send(head("200 OK", *extra, length=len(DOCUMENT)) + DOCUMENT)


@pytest.fixture
async def home(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultServer]:
    """The server whose origin the caller names, `http://home.test:PORT`."""
    monkeypatch.setitem(ROUTES, "cookie", give_cookie)
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def other() -> AsyncIterator[FaultServer]:
    """Another server, which answers under every name."""
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def session(home: FaultServer) -> AsyncIterator[aiohttp.ClientSession]:
    """A session that is logged in at home.test, with a cookie for its subdomains as well."""
    connector = aiohttp.TCPConnector(resolver=Loopback(), use_dns_cache=False)
    async with aiohttp.ClientSession(connector=connector) as made:
        made.cookie_jar.update_cookies({"sid": "secret"}, URL(at(home, "home.test", "")))
        made.cookie_jar.update_cookies_from_headers(
            ["wide=secret; Domain=home.test; Path=/"], URL(at(home, "home.test", ""))
        )
        yield made


def at(server: FaultServer, name: str, path: str) -> str:
    return f"http://{name}:{server.port}/{path}"


def cookies_of(session: aiohttp.ClientSession) -> dict[str, str]:
    return {morsel.key: morsel.value for morsel in session.cookie_jar}


async def fetch(fetcher: HttpFetcher, url: str) -> None:
    async with fetcher.open(url) as response:
        assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT


def make_fetcher(
    session: aiohttp.ClientSession, home: FaultServer, other: FaultServer
) -> HttpFetcher:
    fetcher = HttpFetcher(FetchOptions(allow_ports=(other.port,)), session=session)
    fetcher.trust(at(home, "home.test", ""))
    return fetcher


async def test_at_home_they_are_sent_and_kept(
    home: FaultServer, other: FaultServer, session: aiohttp.ClientSession
) -> None:
    """The origin that was named has the session's cookies, and may set some."""
    fetcher = make_fetcher(session, home, other)
    await fetch(fetcher, at(home, "home.test", "cookie"))
    await fetch(fetcher, at(home, "home.test", "ok"))
    assert set(home.requests[0].headers["cookie"].split("; ")) == {"sid=secret", "wide=secret"}
    assert "given=home.test" in home.requests[1].headers["cookie"]
    assert cookies_of(session)["given"] == "home.test"


@pytest.mark.parametrize("name", ["home.test", "www.home.test", "stranger.test"])
@pytest.mark.parametrize("way", ["listed", "redirect"])
async def test_elsewhere_they_are_neither_sent_nor_kept(
    name: str, way: str, home: FaultServer, other: FaultServer, session: aiohttp.ClientSession
) -> None:
    """Another port, a subdomain, a stranger: none gets a cookie, or leaves one, by any way."""
    fetcher = make_fetcher(session, home, other)
    place = at(other, name, "cookie")
    target = place if way == "listed" else at(home, "home.test", f"to?url={quote(place)}")
    for _ in range(2):
        await fetch(fetcher, target)
    assert len(other.requests) == 2
    assert all("cookie" not in request.headers for request in other.requests)
    assert cookies_of(session) == SECRET
    assert all("cookie" in request.headers for request in home.requests)


async def test_home_by_way_of_a_stranger(
    home: FaultServer, other: FaultServer, session: aiohttp.ClientSession
) -> None:
    """What a stranger redirects to is the stranger's choice: it is asked for without cookies."""
    fetcher = make_fetcher(session, home, other)
    back = quote(at(home, "home.test", "cookie"))
    await fetch(fetcher, at(other, "stranger.test", f"to?url={back}"))
    assert "cookie" not in home.requests[0].headers
    assert cookies_of(session) == SECRET


async def test_requests_of_the_session_itself_are_as_before(
    home: FaultServer, other: FaultServer, session: aiohttp.ClientSession
) -> None:
    """What the caller requests with the session has and keeps cookies."""
    fetcher = make_fetcher(session, home, other)
    await fetch(fetcher, at(other, "stranger.test", "cookie"))
    async with session.get(at(other, "stranger.test", "cookie")) as response:
        assert response.cookies["given"].value == "stranger.test"
    assert cookies_of(session)["given"] == "stranger.test"
    await fetch(fetcher, at(other, "stranger.test", "ok"))
    assert "cookie" not in other.requests[2].headers


@pytest.mark.slow
async def test_a_walk_takes_no_cookies_to_strangers(
    home: FaultServer, other: FaultServer, session: aiohttp.ClientSession
) -> None:
    """Every origin that a document of a walk names goes without."""
    names = [f"s{number}.test" for number in range(9)]
    locs = "".join(f"<sitemap><loc>{at(other, name, 'cookie')}</loc></sitemap>" for name in names)
    body = f"<sitemapindex>{locs}</sitemapindex>".encode()

    async def give_index(line: Line, request: Request) -> None:
        del request
        await line.send(head("200 OK", length=len(body)) + body)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ROUTES, "index", give_index)
        fetcher = make_fetcher(session, home, other)
        start = at(home, "home.test", "index")
        async with walk(sitemaps=[start], fetcher=fetcher, hosts="any") as entries:
            count = len([entry async for entry in entries])
    assert count == 9 * 200
    assert home.requests[0].headers["cookie"]
    assert {request.path for request in other.requests} == {"/robots.txt", "/cookie"}
    assert all("cookie" not in request.headers for request in other.requests)
    assert cookies_of(session) == SECRET
