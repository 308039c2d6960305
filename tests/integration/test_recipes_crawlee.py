"""The recipe for Crawlee: its loader, and real crawls in a process of their own."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import package
import pytest
from serving import serve
from walking import index, urlset

from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.issues import IssueCode
from sitemapreader.walker import walk

if find_spec("crawlee") is None:
    pytest.skip("no crawlee: pip install .[crawlee]", allow_module_level=True)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from crawlee import Request
    from serving import Page

    from sitemapreader.models import UrlEntry
    from sitemapreader.recipes.crawlee import SitemapReaderRequestLoader
    from sitemapreader.walker.walks import Walk

SITEMAP = "https://example.org/sitemap.xml"
SECONDS = 90
BROKEN = """\
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>{base}/a?x=1&y=2</loc><lastmod>2026-01-05</lastmod></url>
  <url><loc>http://[::1/bad</loc></url>
  <url><loc>{base}/caf&eacute;</loc></url>
  <url><loc>{base}/last</loc></url>
</urlset>"""


def recipe() -> Any:
    """Import the recipe, and Crawlee: which takes a second, so not in every worker."""
    return import_module("sitemapreader.recipes.crawlee")


def make_loader(entries: Walk, **options: Any) -> SitemapReaderRequestLoader:
    loader: SitemapReaderRequestLoader = recipe().SitemapReaderRequestLoader(entries, **options)
    return loader


def make_site(base: str) -> Mapping[str, Page]:
    """Make a site whose pages are all there."""
    zipped = [f"/z/{number}" for number in range(20)]
    pages = ["/a", "/caf%C3%A9", "/café", "/last", *zipped]
    return {
        "/robots.txt": f"Sitemap: {base}/index.xml".encode(),
        "/index.xml": index(f"{base}/broken.xml", f"{base}/zipped.xml"),
        "/broken.xml": BROKEN.format(base=base).encode(),
        "/zipped.xml": gzip.compress(urlset(*(base + path for path in zipped))),
        **dict.fromkeys(pages, b"<p>A page.</p>"),
    }


async def crawl(base: str, loader: str, folder: Path) -> Any:
    script = str(package.TESTS / "support" / "recipes_crawlee.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, script, base, loader),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,  # where Crawlee keeps its files, if it does
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, log = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, log.decode()
    return json.loads(output)


@pytest.mark.slow
async def test_ours_crawls_what_theirs_loses(tmp_path: Path) -> None:
    """SitemapRequestLoader ends a sitemap at its first bare ampersand; ours gives all of it."""
    async with serve(make_site) as served:
        ours = await crawl(served.base, "ours", tmp_path)
        theirs = await crawl(served.base, "theirs", tmp_path)
        base = served.base
    zipped = {f"{base}/z/{number}" for number in range(20)}
    assert {url for url, _ in ours["pages"]} == zipped | {
        f"{base}/a?x=1&y=2",
        f"{base}/café",
        f"{base}/last",
    }
    assert [f"{base}/a?x=1&y=2", "2026-01-05T00:00:00+00:00"] in ours["pages"]
    assert ours["issues"]["invalid-url"] == 1
    assert {url for url, _ in theirs["pages"]} == zipped


def walk_pages(number: int) -> Walk:
    """Return a walk over so many pages."""
    body = urlset(*(f"https://example.org/{n}" for n in range(number)))
    return walk(sitemaps=[SITEMAP], fetcher=MemoryFetcher({SITEMAP: body}))


def loader_tasks() -> list[str]:
    return [name for task in asyncio.all_tasks() if "sitemapreader" in (name := task.get_name())]


async def test_requests_come_in_order_and_are_counted() -> None:
    """The loader is finished when the last request has been handled, and not before."""
    async with walk_pages(3) as entries, make_loader(entries) as loader:
        found = []
        while (request := await loader.fetch_next_request()) is not None:
            assert not await loader.is_finished()
            found.append(request)
        assert [request.url for request in found] == [f"https://example.org/{n}" for n in range(3)]
        assert await loader.is_empty()
        assert not await loader.is_finished()
        for request in found:
            await loader.mark_request_as_handled(request)
        assert await loader.is_finished()
        assert await loader.get_handled_count() == await loader.get_total_count() == 3
        assert await loader.fetch_next_request() is None


async def test_the_walk_waits_for_the_crawler() -> None:
    """No more requests wait than the buffer holds, however many there are."""
    async with (
        walk_pages(50_000) as entries,
        make_loader(entries, max_buffer_size=7) as loader,
    ):
        await asyncio.sleep(0.2)
        assert await loader.get_total_count() == 7
        assert not await loader.is_empty()
        for _ in range(3):
            await loader.fetch_next_request()
        await asyncio.sleep(0.05)
        assert await loader.get_total_count() == 10
        assert entries.report.entries < 50_000


async def test_all_who_wait_learn_of_the_end() -> None:
    """Several workers that wait when the walk ends all get `None`."""
    async with walk_pages(1) as entries, make_loader(entries) as loader:
        async with asyncio.timeout(10):
            got = await asyncio.gather(*(loader.fetch_next_request() for _ in range(4)))
        assert sorted(request is None for request in got) == [False, True, True, True]


async def test_who_is_cancelled_while_waiting_takes_nothing_along() -> None:
    """Crawlee cancels a fetch that takes long: no request is lost by it."""
    gate = asyncio.Event()
    body = urlset("https://example.org/0")

    class Slow(MemoryFetcher):
        @asynccontextmanager
        async def open(
            self, url: str, *, headers: Mapping[str, str] | None = None
        ) -> AsyncIterator[StoredResponse]:
            await gate.wait()
            async with super().open(url, headers=headers) as response:
                yield response

    async with (
        walk(sitemaps=[SITEMAP], fetcher=Slow({SITEMAP: body})) as entries,
        make_loader(entries) as loader,
    ):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await loader.fetch_next_request()
        gate.set()
        request = await loader.fetch_next_request()
        assert request is not None
        assert request.url == "https://example.org/0"


async def test_entries_can_be_left_out() -> None:
    """What `make_request` gives no request for is passed over."""

    def choose(entry: UrlEntry) -> Request | None:
        return recipe().make_request(entry) if entry.loc.endswith("1") else None

    async with (
        walk_pages(3) as entries,
        make_loader(entries, make_request=choose) as loader,
    ):
        request = await loader.fetch_next_request()
        assert request is not None
        assert request.url == "https://example.org/1"
        assert request.user_data["sitemap"] == SITEMAP
        assert await loader.fetch_next_request() is None


async def test_a_bug_is_raised_after_what_came_before() -> None:
    """What `make_request` raises comes out of the fetch, and stops the crawl."""

    def fail_at_1(entry: UrlEntry) -> Any:
        if entry.loc.endswith("1"):
            raise ZeroDivisionError
        return recipe().make_request(entry)

    async def fetch_all() -> None:
        async with (
            walk_pages(3) as entries,
            make_loader(entries, make_request=fail_at_1) as loader,
        ):
            while request := await loader.fetch_next_request():
                came.append(request.url)

    came: list[str] = []
    with pytest.raises(ZeroDivisionError):
        await fetch_all()
    assert came == ["https://example.org/0"]
    assert loader_tasks() == []


async def test_a_bug_that_nobody_met_is_raised_at_the_end() -> None:
    """Leaving the loader raises what nobody has fetched."""

    def fail(entry: UrlEntry) -> Request | None:
        raise ZeroDivisionError(entry.loc)

    with pytest.raises(ZeroDivisionError):
        async with (
            walk_pages(3) as entries,
            make_loader(entries, make_request=fail),
        ):
            await asyncio.sleep(0.1)


async def test_leaving_early_leaves_nothing() -> None:
    """A loader that is left in the middle ends its task, and the walk can be left."""
    async with (
        walk_pages(50_000) as entries,
        make_loader(entries, max_buffer_size=1) as loader,
    ):
        assert await loader.fetch_next_request() is not None
    assert loader_tasks() == []


async def test_a_url_that_is_none_is_an_issue() -> None:
    """A URL that Crawlee cannot make a request of is in the walk's report, and costs no other."""
    body = urlset("http://[::1/bad", "https://example.org/good")
    async with (
        walk(sitemaps=[SITEMAP], fetcher=MemoryFetcher({SITEMAP: body})) as entries,
        make_loader(entries) as loader,
    ):
        request = await loader.fetch_next_request()
    assert request is not None
    assert request.url == "https://example.org/good"
    assert entries.report.counts[IssueCode.INVALID_URL] == 1


async def test_it_has_to_be_entered() -> None:
    """A loader that was not entered says so."""
    loader = make_loader(walk_pages(1))
    with pytest.raises(TypeError, match="async with"):
        await loader.is_finished()
