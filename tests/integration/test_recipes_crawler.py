"""The recipe for asyncio: a crawler, against a server on loopback."""

from __future__ import annotations

import asyncio
import gzip
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web
from serving import listen, serve
from walking import index, urlset

from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions
from sitemapreader.pages import PageRobots
from sitemapreader.recipes import crawler
from sitemapreader.recipes.crawler import crawl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from serving import Page as ServedPage
    from serving import Served

    from sitemapreader.errors import FetchError
    from sitemapreader.models import UrlEntry
    from sitemapreader.recipes.crawler import Page
    from sitemapreader.report import Report

OPTIONS = FetchOptions(max_attempts=1)
PAGES = 60


def make_site(base: str) -> Mapping[str, ServedPage]:
    """Make a site of good pages and of every kind of bad ones, all listed twice."""
    locs = [f"{base}/p/{number}" for number in range(PAGES)]
    bad = [f"{base}/{name}" for name in ("gone", "private", "hidden", "bomb", "damaged")]
    good = [f"{base}/zipped", f"{base}/moved"]
    return {
        "/robots.txt": f"User-agent: *\nDisallow: /private\nSitemap: {base}/i.xml".encode(),
        "/i.xml": index("a.xml", "b.xml", "gone.xml"),
        "/a.xml": urlset(*locs, *bad),
        "/b.xml": urlset(*good, *bad, *locs),
        **{f"/p/{number}": f"<p>{number}</p>".encode() for number in range(PAGES)},
        "/zipped": gzip.compress(b"<p>zipped</p>"),
        "/moved": "/p/0",
        "/hidden": "/private",
        "/gone": 410,
        "/private": b"<p>private</p>",
        "/bomb": gzip.compress(bytes(20_000)),
        "/damaged": gzip.compress(b"<p>damaged</p>" * 100)[:25],
    }


class Notebook:
    """What was visited and missed, by path."""

    def __init__(self, served: Served) -> None:
        self.base = served.base
        self.visited: dict[str, bytes] = {}
        self.missed: dict[str, str] = {}

    async def visit(self, page: Page) -> None:
        path = page.entry.loc.removeprefix(self.base)
        assert path not in self.visited
        self.visited[path] = page.body

    async def miss(self, entry: UrlEntry, error: FetchError) -> None:
        self.missed[entry.loc.removeprefix(self.base)] = str(error.code)

    async def crawl(self) -> Report:
        return await crawl(self.base, self.visit, self.miss, options=OPTIONS)


def other_tasks() -> list[asyncio.Task[object]]:
    """List the tasks of the crawler that are left: aiohttp's server has its own."""
    return [
        task
        for task in asyncio.all_tasks()
        if task is not asyncio.current_task() and "RequestHandler" not in repr(task.get_coro())
    ]


async def test_every_page_is_visited_or_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page of a site comes once, inflated, or is missed with the reason."""
    monkeypatch.setattr(crawler, "MAX_PAGE_BYTES", 10_000)
    async with serve(make_site) as served:
        notebook = Notebook(served)
        report = await notebook.crawl()
    pages = {f"/p/{number}": f"<p>{number}</p>".encode() for number in range(PAGES)}
    assert notebook.visited == pages | {"/zipped": b"<p>zipped</p>", "/moved": pages["/p/0"]}
    assert notebook.missed == {
        "/gone": "http-status",
        "/private": "robots-disallowed",
        "/hidden": "robots-disallowed",
        "/bomb": "too-large",
        "/damaged": "compression-truncated",
    }
    assert "/private" not in served.requested
    assert report.counts[IssueCode.HTTP_STATUS] == 1
    assert other_tasks() == []


async def test_robots_that_cannot_be_asked_forbid() -> None:
    """A page whose robots.txt answers 500 is not fetched; one whose robots.txt is not there is."""
    async with (
        serve(lambda _: {"/robots.txt": 500, "/p": b"<p>"}) as silent,
        serve(lambda _: {"/p": b"<p>"}) as free,
        serve(
            lambda base: {
                "/robots.txt": f"Sitemap: {base}/s.xml".encode(),
                "/s.xml": urlset(f"{silent.base}/p", f"{free.base}/p"),
            }
        ) as served,
    ):
        notebook = Notebook(served)
        ports = tuple(int(other.base.rpartition(":")[2]) for other in (silent, free))
        options = attrs.evolve(OPTIONS, allow_ports=ports)
        await crawl(served.base, notebook.visit, notebook.miss, options=options)
    assert notebook.visited == {f"{free.base}/p": b"<p>"}
    assert notebook.missed == {f"{silent.base}/p": "robots-disallowed"}
    assert silent.requested == ["/robots.txt"]


async def test_a_slow_origin_holds_up_no_other() -> None:
    """Each origin is asked for its robots.txt once, however slow another one is to answer."""
    answers = asyncio.Event()
    asked: list[str] = []

    class Slow(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **_: object) -> AsyncIterator[Any]:
            asked.append(url)
            if "slow" in url:
                await answers.wait()
            async with super().open(url) as response:
                yield response

    rules = PageRobots(Slow({}), "us")
    urls = [f"https://{host}.example/{page}" for page in "ab" for host in ("slow", "fast")]
    tasks = [asyncio.create_task(rules.check(url)) for url in urls]
    async with asyncio.timeout(30):  # for ever, if one lock is for all
        await tasks[1]
        await tasks[3]
    assert not tasks[0].done()
    answers.set()
    await asyncio.gather(*tasks)
    assert sorted(asked) == ["https://fast.example/robots.txt", "https://slow.example/robots.txt"]


async def test_the_crawl_delay_holds_for_pages() -> None:
    """A Crawl-delay in robots.txt lies between the requests for pages too."""

    def make_pages(base: str) -> Mapping[str, ServedPage]:
        robots = f"User-agent: *\nCrawl-delay: 0.2\nSitemap: {base}/s.xml"
        pages = {f"/p/{number}": b"<p>" for number in range(3)}
        return {
            "/robots.txt": robots.encode(),
            "/s.xml": urlset(*(base + path for path in pages)),
            **pages,
        }

    loop = asyncio.get_running_loop()
    async with serve(make_pages) as served:
        notebook = Notebook(served)
        begin = loop.time()
        await notebook.crawl()
    assert len(notebook.visited) == 3
    assert loop.time() - begin > 3 * 0.19


async def test_a_bug_in_the_callback_ends_the_crawl() -> None:
    """What `visit` raises comes out, and no task or connection is left behind."""
    async with serve(make_site) as served:
        notebook = Notebook(served)

        async def visit(page: Page) -> None:
            await notebook.visit(page)
            if len(notebook.visited) == 10:
                raise ZeroDivisionError(page.url)

        with pytest.RaisesGroup(ZeroDivisionError):
            await crawl(served.base, visit, notebook.miss, options=OPTIONS)
        assert 10 <= len(notebook.visited) < PAGES
        assert other_tasks() == []


async def test_a_crawl_can_be_cancelled() -> None:
    """Cancelling the crawl in the middle ends all of it at once."""
    async with serve(make_site) as served:
        notebook = Notebook(served)
        reached = asyncio.Event()

        async def visit(page: Page) -> None:
            await notebook.visit(page)
            if len(notebook.visited) == 5:
                reached.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(crawl(served.base, visit, notebook.miss, options=OPTIONS))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert other_tasks() == []


async def test_the_walk_waits_for_the_pages() -> None:
    """While the workers are busy, a long sitemap is not read on, and its rest not held in memory.

    The queue, the walk's buffer and the operating system hold some of it, but not 40 MB.
    """

    def make_pages(base: str) -> Mapping[str, ServedPage]:
        robots = f"Sitemap: {base}/s.xml".encode()
        locs = (f"{base}/{'p' * 2_000}/{number}" for number in range(20_000))
        return {"/robots.txt": robots, "/s.xml": urlset(*locs)}

    async with serve(make_pages) as served:
        stuck = asyncio.Event()

        async def hold(*_: object) -> None:
            stuck.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(crawl(served.base, hold, hold, options=OPTIONS))
        await stuck.wait()
        await asyncio.sleep(0.5)
        assert "/s.xml" in served.requested
        assert served.running >= 1  # the sitemap is still being sent
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_page_in_our_own_network_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listed page whose name resolves to a private address is never connected to.

    Neither is one to which a page redirects. The names are answered here, and no packet leaves.
    """
    asked: list[str] = []
    inside: list[str] = []

    def resolve(host: str, port: int, *_: object, **__: object) -> list[object]:
        asked.append(str(host))
        address = "127.0.0.1" if host == "127.0.0.1" else "127.0.0.2"
        place = (address, port)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place)]

    async def note(request: web.Request) -> web.Response:
        inside.append(request.path)
        return web.Response(status=404 if request.path == "/robots.txt" else 200)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    async with listen(note, "127.0.0.2") as private:
        port = int(private.rpartition(":")[2])
        async with serve(
            lambda base: {
                "/robots.txt": f"Sitemap: {base}/s.xml".encode(),
                "/s.xml": urlset(
                    f"http://inside.test:{port}/admin", f"{base}/moved", f"{base}/page"
                ),
                "/moved": f"http://router.test:{port}/",
                "/page": b"<p>",
            }
        ) as served:
            notebook = Notebook(served)
            options = attrs.evolve(OPTIONS, allow_ports=(port,))
            await crawl(served.base, notebook.visit, notebook.miss, options=options)
    assert notebook.visited == {"/page": b"<p>"}
    assert notebook.missed == {
        f"http://inside.test:{port}/admin": "blocked-address",
        "/moved": "blocked-address",
    }
    assert {"inside.test", "router.test"} <= set(asked)
    assert inside == []
