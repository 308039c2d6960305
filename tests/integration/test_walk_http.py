"""Walks over HTTP, from end to end, against a real server on loopback."""

from __future__ import annotations

import asyncio
import gc
import gzip
import subprocess
import sys
import weakref
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import attrs
import pytest
from serving import serve
from walking import index, urlset

from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import discover, walk, walk_sync

if TYPE_CHECKING:
    from collections.abc import Mapping

    from serving import Page

OPTIONS = FetchOptions(max_attempts=1)
LONG = [f"https://example.org/{'x' * 900}/{n}" for n in range(2_000)]
"""URLs of a document that takes its time."""
FEED = (
    "<rss version='2.0'><channel>"
    "<item><link>{base}/news</link><pubDate>Thu, 05 Mar 2026 12:00:00 GMT</pubDate></item>"
    "</channel></rss>"
)


def make_site(base: str) -> Mapping[str, Page]:
    """Make a site with every format, a redirect, an error, and a child that nobody may read."""
    return {
        "/robots.txt": f"User-agent: *\nDisallow: /private\nSitemap: {base}/i.xml".encode(),
        "/i.xml": index("a.xml", "b.xml.gz", "c.txt", "d.rss", "e.xml", "gone.xml", "private.xml"),
        "/a.xml": urlset(*(f"{base}/a/{n}" for n in range(5_000))),
        "/b.xml.gz": gzip.compress(urlset(*(f"{base}/b/{n}" for n in range(5_000)))),
        "/c.txt": f"{base}/c".encode(),
        "/d.rss": FEED.format(base=base).encode(),
        "/e.xml": "/moved/e.xml",
        "/moved/e.xml": urlset(f"{base}/moved/e"),
        "/gone.xml": 410,
        "/private.xml": urlset(f"{base}/private"),
    }


async def test_a_site_over_http() -> None:
    """A site of every format is walked, and what cannot be read is said, one request a document."""
    async with serve(make_site) as served:
        async with walk(served.base, options=OPTIONS) as entries:
            locs = {entry.loc.removeprefix(served.base) async for entry in entries}
        assert len(locs) == 10_003
        assert {"/a/0", "/b/4999", "/c", "/news", "/moved/e"} <= locs
        statuses = {
            document.url.removeprefix(served.base): (str(document.status), document.reason)
            for document in entries.report.documents
        }
        assert statuses.pop("/gone.xml") == ("failed", "http-status")
        assert statuses.pop("/private.xml") == ("skipped", "robots-disallowed")
        assert set(statuses.values()) == {("complete", "")}
        assert len(served.requested) == len(set(served.requested)) == 9
        assert not entries.report.complete


async def test_discovery_over_http() -> None:
    """A discovery over HTTP looks at one sitemap, and leaves its body."""
    async with serve(make_site) as served:
        found = await discover(served.base, options=OPTIONS)
        assert [entry.loc for entry in found.sitemaps] == [f"{served.base}/i.xml"]
        assert served.requested == ["/robots.txt", "/i.xml"]


async def test_probing_over_http() -> None:
    """Well-known paths are tried by GET, and the one that is a sitemap is read on."""
    async with serve(lambda base: {"/sitemap.txt": f"{base}/x\n".encode()}) as served:
        async with walk(served.base, options=OPTIONS) as entries:
            assert [entry.loc async for entry in entries] == [f"{served.base}/x"]
        assert served.requested[-1] == "/sitemap.txt"
        assert len(served.requested) == 11


async def test_a_given_fetcher_stays_open() -> None:
    """A fetcher of the caller's can be used for one walk after the other."""
    async with serve(make_site) as served, HttpFetcher(OPTIONS) as fetcher:
        for _ in range(2):
            async with walk(sitemaps=[f"{served.base}/a.xml"], fetcher=fetcher) as entries:
                assert len([entry async for entry in entries]) == 5_000


@pytest.mark.parametrize("per_host", [1, 2])
async def test_a_consumer_fetches_with_the_fetcher_of_its_walk(per_host: int) -> None:
    """A crawler's loop comes to its end, though the readers hold every turn at the host and wait.

    At no time does the server answer more than the turns of the walk and those of its consumer.
    """

    def make_pages(base: str) -> Mapping[str, Page]:
        maps = {f"/{n}.xml": urlset(*(f"{base}/{n}/{i}" for i in range(20_000))) for n in range(4)}
        return {"/i.xml": index(*(f"{base}{path}" for path in maps)), "/page": b"x", **maps}

    options = FetchOptions(per_host=per_host)
    async with serve(make_pages) as served, HttpFetcher(options) as fetcher:
        count = pages = 0
        async with (
            asyncio.timeout(50),
            walk(sitemaps=[f"{served.base}/i.xml"], fetcher=fetcher) as entries,
        ):
            async for batch in entries.batches():
                count += len(batch)
                if count > pages * 4_000:
                    async with fetcher.open(f"{served.base}/page") as response:
                        assert [piece async for piece in response.chunks()] == [b"x"]
                    pages += 1
        assert (count, pages) == (80_000, 20)
        assert served.most_at_once <= 2 * per_host


async def test_a_fetcher_does_not_keep_the_walks_that_used_it() -> None:
    """With its connections still open, nothing holds a walk that is over, or its report."""
    async with serve(make_site) as served, HttpFetcher(OPTIONS) as fetcher:
        async with walk(served.base, fetcher=fetcher) as entries:
            async for _ in entries:
                pass
        left = weakref.ref(entries)
        del entries
        gc.collect()
        assert left() is None
        fetcher.trust(served.base)
        async with fetcher.open(f"{served.base}/c.txt"):
            pass


async def test_a_server_that_goes_away() -> None:
    """A server that stops in the middle of a walk costs what it had still to say; each says so."""
    children = [f"{n}.xml" for n in range(20)]
    long = urlset(*LONG)
    pages = {"/i.xml": index(*children)} | {f"/{name}": long for name in children}
    count = 0
    options = attrs.evolve(OPTIONS, host_pause_seconds=0.05)
    async with AsyncExitStack() as server:
        served = await server.enter_async_context(serve(lambda _: pages))
        async with walk(sitemaps=[f"{served.base}/i.xml"], options=options) as entries:
            async for batch in entries.batches():
                count += len(batch)
                if count > 2_000:
                    await server.aclose()
    outcomes = Counter((str(each.status), each.reason) for each in entries.report.documents)
    assert sum(outcomes.values()) == 22
    assert outcomes["failed", "connect"] + outcomes["skipped", "host-down"] >= 10
    assert count == entries.report.entries == sum(each.entries for each in entries.report.documents)
    assert not entries.report.complete


async def test_a_server_that_is_not_there() -> None:
    """A walk over a site that nobody serves ends with a report that says why, and no exception."""
    async with serve(make_site) as served:
        base = served.base
    async with walk(base, options=OPTIONS) as entries:
        assert [entry async for entry in entries] == []
    codes = [str(issue.code) for issue in entries.report.issues]
    assert codes == ["robots-unreachable", "connect"]
    (document,) = entries.report.documents
    assert (str(document.status), document.reason) == ("failed", "connect")


async def test_walk_sync_over_http() -> None:
    """The blocking walk reads the same site from another thread, while this loop serves it."""
    async with serve(make_site) as served:

        def count() -> int:
            with walk_sync(served.base, options=OPTIONS) as entries:
                return sum(1 for _ in entries)

        assert await asyncio.to_thread(count) == 10_003


def test_aiohttp_is_imported_for_http_only() -> None:
    """A walk with a fetcher of one's own imports no HTTP client."""
    code = (
        "import sys, asyncio\n"
        "from sitemapreader.walker import walk\n"
        "from sitemapreader.fetch.local import MemoryFetcher\n"
        "async def main():\n"
        "    async with walk('https://a.org/', fetcher=MemoryFetcher({})) as entries:\n"
        "        async for _ in entries: pass\n"
        "asyncio.run(main())\n"
        "print('aiohttp' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
