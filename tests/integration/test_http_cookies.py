"""Cookies of a given client: they go to the origins that the caller named, and to no other."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from faults import DOCUMENT, ROUTES, FaultServer, Line, Request, head

from sitemapreader.options import FetchOptions
from sitemapreader.walker import walk

httpx = pytest.importorskip("httpx", reason="no httpx: pip install .[httpx]")
from sitemapreader.fetch.httpx import HttpxFetcher  # noqa: E402 (it needs the extra)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


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
    """The server whose origin the caller names, `http://home.test:PORT`; all names lead here."""
    real = socket.getaddrinfo

    def resolve(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        return real("127.0.0.1" if name.endswith(".test") else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setitem(ROUTES, "cookie", give_cookie)
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def other() -> AsyncIterator[FaultServer]:
    """Another server, which answers under every name."""
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[Any]:
    """A client that is logged in at home.test, with a cookie for its subdomains as well."""
    async with httpx.AsyncClient() as made:
        made.cookies.set("sid", "secret", domain="home.test")
        made.cookies.set("wide", "secret", domain=".home.test")
        yield made


def at(server: FaultServer, name: str, path: str) -> str:
    return f"http://{name}:{server.port}/{path}"


def secrets_of(client: Any) -> dict[str, str]:
    return {each.name: each.value for each in client.cookies.jar if "home.test" in each.domain}


async def fetch(fetcher: HttpxFetcher, url: str) -> None:
    async with fetcher.open(url) as response:
        assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT


def make_fetcher(client: Any, home: FaultServer, other: FaultServer) -> HttpxFetcher:
    options = FetchOptions(allow_ports=(other.port,), allow_networks=("127.0.0.0/8",))
    fetcher = HttpxFetcher(client, options)
    fetcher.trust(at(home, "home.test", ""))
    return fetcher


SECRET = {"sid": "secret", "wide": "secret"}


async def test_at_home_they_are_sent_and_kept(
    home: FaultServer, other: FaultServer, client: Any
) -> None:
    """The origin that was named has the client's cookies, and may set some."""
    fetcher = make_fetcher(client, home, other)
    await fetch(fetcher, at(home, "home.test", "cookie"))
    await fetch(fetcher, at(home, "home.test", "ok"))
    assert set(home.requests[0].headers["cookie"].split("; ")) == {"sid=secret", "wide=secret"}
    assert "given=home.test" in home.requests[1].headers["cookie"]


@pytest.mark.parametrize("name", ["home.test", "www.home.test", "stranger.test"])
@pytest.mark.parametrize("way", ["listed", "redirect"])
async def test_elsewhere_they_are_neither_sent_nor_changed(
    name: str, way: str, home: FaultServer, other: FaultServer, client: Any
) -> None:
    """Another port, a subdomain, a stranger: none gets a cookie, or replaces one, by any way."""
    fetcher = make_fetcher(client, home, other)
    place = at(other, name, "cookie")
    target = place if way == "listed" else at(home, "home.test", f"to?url={quote(place)}")
    for _ in range(2):
        await fetch(fetcher, target)
    assert len(other.requests) == 2
    assert all("cookie" not in request.headers for request in other.requests)
    assert secrets_of(client) == SECRET
    assert all("cookie" in request.headers for request in home.requests)


async def test_home_by_way_of_a_stranger(
    home: FaultServer, other: FaultServer, client: Any
) -> None:
    """What a stranger redirects to is the stranger's choice: it is asked for without cookies."""
    fetcher = make_fetcher(client, home, other)
    back = quote(at(home, "home.test", "cookie"))
    await fetch(fetcher, at(other, "stranger.test", f"to?url={back}"))
    assert "cookie" not in home.requests[0].headers
    assert secrets_of(client) == SECRET


@pytest.mark.slow
async def test_a_walk_takes_no_cookies_to_strangers(
    home: FaultServer, other: FaultServer, client: Any
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
        fetcher = make_fetcher(client, home, other)
        start = at(home, "home.test", "index")
        async with walk(sitemaps=[start], fetcher=fetcher, hosts="any") as entries:
            count = len([entry async for entry in entries])
    assert count
    listed = [request for request in other.requests if "cookie" in request.path]
    assert len(listed) == len(names)
    assert all("cookie" not in request.headers for request in other.requests)
