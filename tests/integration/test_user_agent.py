"""One name: the User-Agent that servers see is the one whose rules in robots.txt are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from answering import Answer, Site, make_urlset, serve_site

from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import discover, walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import web

    from sitemapreader.fetch import Fetcher

RULES = b"User-agent: named\nDisallow: /sitemap.xml\n"
OTHER = FetchOptions(user_agent="other/1")
NAMED = FetchOptions(user_agent="named/1")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        site.pages |= {
            "/robots.txt": Answer(RULES),
            "/sitemap.xml": Answer(make_urlset(f"{site.base}/1")),
        }
        yield site


async def count_found(site: Site, fetcher: Fetcher) -> int:
    """Return how many URLs a walk finds, and check that a discovery finds as much."""
    async with walk(site.base, fetcher=fetcher, probe="few") as entries:
        number = len([entry async for entry in entries])
    found = await discover(site.base, fetcher=fetcher, probe="few")
    assert len(found.sitemaps) == number
    return number


async def test_the_name_is_that_of_the_fetcher(site: Site) -> None:
    """Not the default, which no server sees; in both directions."""
    async with HttpFetcher(NAMED) as fetcher:
        assert await count_found(site, fetcher) == 0
    async with HttpFetcher(OTHER) as fetcher:
        assert await count_found(site, fetcher) == 1


async def test_a_header_that_replaces_the_name_is_the_name(site: Site) -> None:
    """A header of the options prevails, on the wire and here."""
    async with HttpFetcher(FetchOptions(headers={"user-agent": "named/2"})) as fetcher:
        assert await count_found(site, fetcher) == 0


async def test_the_name_is_what_servers_see(site: Site) -> None:
    """Each way to name a fetcher gives the header that it sends."""
    seen = []

    async def note(request: web.Request) -> Answer:
        seen.append(request.headers["User-Agent"])
        return Answer(b"ok")

    site.pages["/note"] = note
    names = []
    for options in (OTHER, FetchOptions(), FetchOptions(headers={"USER-AGENT": "x"})):
        async with HttpFetcher(options) as fetcher:
            fetcher.trust(site.base)
            async with fetcher.open(f"{site.base}/note"):
                names.append(fetcher.user_agent)
    assert seen == names


async def test_a_client_of_httpx_has_a_name_too(site: Site) -> None:
    """Its own header, unless that is httpx's default."""
    httpx = pytest.importorskip("httpx", reason="no httpx: pip install .[httpx]")
    from sitemapreader.fetch.httpx import HttpxFetcher  # noqa: PLC0415 (it needs the extra)

    async with httpx.AsyncClient(headers={"User-Agent": "named"}) as client:
        assert await count_found(site, HttpxFetcher(client, OTHER)) == 0
    async with httpx.AsyncClient() as client:
        assert await count_found(site, HttpxFetcher(client, OTHER)) == 1
        assert HttpxFetcher(client, NAMED).user_agent == "named/1"
