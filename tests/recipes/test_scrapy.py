"""The recipe for Scrapy: real crawls, in a process of their own, of a site on loopback."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import attrs
import package
import pytest
from aiohttp import web
from serving import listen
from walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

if find_spec("scrapy") is None:  # not imported: each worker would, and none needs it
    pytest.skip("no scrapy: pip install .[scrapy]", allow_module_level=True)

SECONDS = 90
NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="http://www.w3.org/1999/xhtml"'
)
BROKEN = """\
  <?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>{base}/a?x=1&y=2</loc><lastmod>2026-01-05</lastmod></url>
  <url><loc>http://[::1/bad</loc></url>
  <url><loc>{base}/{{{{ page }}}}</loc></url>
  <url><loc>/relative</loc></url>
  <url><loc>{base}/caf&eacute;</loc></url>
  <url><loc>{base}/last</loc></url>
</urlset>"""
SHOP = """\
<urlset {namespaces}>
  <url><loc>{base}/product/1</loc><lastmod>2026-02-03</lastmod>
    <x:link rel="alternate" hreflang="de" href="{base}/de/1"/></url>
  <url><loc>{base}/product/2</loc><lastmod>2019-02-03</lastmod></url>
  <url><loc>{base}/about</loc></url>
</urlset>"""


@attrs.define
class Crawled:
    """What came of a spider: (path, callback, lastmod) of its pages, its stats, and the log."""

    pages: list[tuple[str, str, str | None]]
    stats: dict[str, int]
    log: str
    requested: list[str]

    @property
    def paths(self) -> set[str]:
        return {path for path, _, _ in self.pages}

    @property
    def issues(self) -> dict[str, int]:
        prefix = "sitemapreader/issues/"
        return {k.removeprefix(prefix): v for k, v in self.stats.items() if k.startswith(prefix)}


class Site:
    """A site with all that goes wrong; everything else that is asked for is a page."""

    def __init__(self) -> None:
        self.base = ""
        self.requested: list[str] = []
        self._documents: dict[str, bytes] = {}
        self._faults: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {
            "/gone.xml": self.gone,
            "/slow.xml": self.slow,
            "/cut.xml": self.cut,
            "/flaky.xml": self.flaky,
            "/paged": self.paged,
        }

    def documents(self) -> dict[str, bytes]:
        base = self.base
        robots = f"User-agent: *\nDisallow: /private\nSitemap: {base}/index.xml\n"
        return {
            "/robots.txt": robots.encode(),
            "/nothing/robots.txt": b"User-agent: *\nDisallow:\n",
            "/index.xml": index(
                *(
                    f"{base}/{name}"
                    for name in ("broken.xml", "zipped.xml", "map.txt", "feed", "cdf")
                ),
                f"{base}/private.xml",
                f"{base}/index.xml",
                "http://[::1/sitemap.xml",
            ),
            "/broken.xml": BROKEN.format(base=base).encode(),
            "/zipped.xml": gzip.compress(urlset(f"{base}/z1", f"{base}/z2")),
            "/map.txt": f"{base}/t1\n{base}/t2\n".encode(),
            "/feed": f"<rss><channel><item><link>{base}/f1</link></item>".encode(),
            "/cdf": f'<channel><item href="{base}/d1"/></channel>'.encode(),
            "/private.xml": urlset(f"{base}/p1"),
            "/shop.xml": index(f"{base}/products.xml", f"{base}/posts.xml"),
            "/products.xml": SHOP.format(base=base, namespaces=NAMESPACES).encode(),
            "/posts.xml": urlset(f"{base}/post/1"),
            "/many.xml": urlset(*(f"{base}/many/{number}" for number in range(2_000))),
            "/huge.xml": urlset(*(f"{base}/huge/{number}" for number in range(70_000))),
            "/large.xml": urlset(*(f"{base}/large/{number}" for number in range(2_000))),
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requested.append(request.path_qs)
        if fault := self._faults.get(request.path):
            return await fault(request)
        self._documents = self._documents or self.documents()
        body = self._documents.get(request.path)
        kind = "text/html" if body is None else "application/octet-stream"
        return web.Response(body=body or b"<p>A page.</p>", content_type=kind)

    async def gone(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(status=410)

    async def slow(self, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(5)
        return await self.gone(request)

    async def flaky(self, request: web.Request) -> web.StreamResponse:
        if self.requested.count(request.path) < 3:
            return web.Response(status=503)
        return web.Response(body=urlset(f"{self.base}/in-the-end"))

    async def paged(self, request: web.Request) -> web.StreamResponse:
        number = int(request.query.get("page", 0))
        host = "http://localhost:1" if number == 11 else ""
        link = f"<atom:link rel='next' href='{host}/paged?page={number + 1}'/>"
        item = f"<item><link>{self.base}/post/{number}</link></item>"
        return web.Response(body=f"<rss><channel>{link}{item}</channel></rss>".encode())

    async def cut(self, request: web.Request) -> web.StreamResponse:
        body = urlset(f"{self.base}/c1", f"{self.base}/c2", f"{self.base}/c3")
        response = web.StreamResponse(headers={"Content-Length": str(len(body))})
        await response.prepare(request)
        await response.write(body[: body.index(b"/c3")])
        assert request.transport is not None
        request.transport.close()
        return response


@asynccontextmanager
async def serve() -> AsyncIterator[Site]:
    site = Site()
    async with listen(site.answer) as site.base:
        yield site


async def crawl(site: Site, folder: Path, *spiders: str) -> dict[str, Crawled]:
    """Run spiders in a process."""
    requested_before = len(site.requested)
    script = str(package.TESTS / "support" / "recipes_scrapy.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, script, site.base, str(folder), *spiders),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(SECONDS):
            output, log = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = log.decode()
    assert process.returncode == 0, text
    results: dict[str, Any] = json.loads(output)
    assert {result["reason"] for result in results.values()} == {"finished"}, text
    return {
        name: Crawled(
            pages=sorted((path, callback, date) for path, callback, date in result["pages"]),
            stats=result["stats"],
            log="\n".join(line for line in text.splitlines() if f"[{name}]" in line),
            requested=site.requested[requested_before:],
        )
        for name, result in results.items()
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Crawled]:
    """Run all spiders at once, as a process of Scrapy can."""
    return asyncio.run(crawl_once(tmp_path_factory.mktemp("scrapy")))


async def crawl_once(folder: Path) -> dict[str, Crawled]:
    async with serve() as site:
        return await crawl(site, folder, *SPIDERS)


SPIDERS = (
    *("theirs", "ours", "ruled", "few", "prompt", "limited"),
    *("on-disk", "retrying", "obedient", "unlucky", "lossy", "paged"),
)
BROKEN_PAGES = {"/a?x=1&y=2", "/relative", "/caf%C3%A9", "/last"}
PAGES = BROKEN_PAGES | {"/z1", "/z2", "/t1", "/t2", "/f1", "/d1", "/p1"}


@pytest.mark.slow
def test_ours_crawls_what_theirs_loses(crawled: dict[str, Crawled]) -> None:
    """Of one site SitemapSpider finds one page of eleven; ours all, and no URL that is not one."""
    theirs, ours = crawled["theirs"], crawled["ours"]
    assert theirs.paths & PAGES == {"/p1"}
    assert ours.paths == PAGES
    assert len(ours.pages) == len(PAGES)


def test_what_was_wrong_is_counted(crawled: dict[str, Crawled]) -> None:
    """The stats have each Issue by its code, and records = entries + dropped."""
    ours = crawled["ours"]
    assert ours.issues == {
        "bare-ampersand": 1,
        "feed-salvaged": 1,
        "html-entity": 1,
        "invalid-url": 2,
        "leading-bytes": 1,
        "relative-loc": 1,
        "template": 1,
        "truncated": 1,
    }
    children, unfit_pages = 8, 1
    assert ours.stats["sitemapreader/documents"] == 7
    assert ours.stats["sitemapreader/dropped"] == 1
    assert ours.stats["sitemapreader/records"] == len(PAGES) + children + unfit_pages + 1


def test_what_was_wrong_is_in_the_log(crawled: dict[str, Crawled]) -> None:
    """Each Issue is a line of the spider's own log: its level, code, place, and what to do."""
    lines = {line.partition("[ours] ")[2] for line in crawled["ours"].log.splitlines()}
    (template,) = (line for line in lines if "template: " in line)
    assert template.startswith("ERROR: template: http://127.0.0.1:")
    assert "/broken.xml, line 5: " in template
    assert any(line.startswith("WARNING: bare-ampersand <") for line in lines)
    assert any(line.startswith("INFO: leading-bytes: ") for line in lines)


def test_the_attributes_mean_what_they_mean_in_scrapy(crawled: dict[str, Crawled]) -> None:
    """Rules choose callbacks, follow chooses sitemaps, the filter drops, alternates are taken."""
    ruled = crawled["ruled"]
    assert ruled.pages == [
        ("/de/1", "german", "2026-02-03"),
        ("/product/1", "product", "2026-02-03"),
    ]
    assert ruled.stats["downloader/request_count"] == 4


def test_a_filter_that_stops_ends_the_reading(crawled: dict[str, Crawled]) -> None:
    """Who takes three entries has three pages, and most of the document is never read."""
    few = crawled["few"]
    assert few.paths == {"/many/0", "/many/1", "/many/2"}
    assert few.stats["sitemapreader/records"] < 1_000


def test_pages_come_before_the_sitemap_is_read(crawled: dict[str, Crawled]) -> None:
    """The first page's callback runs while part of a sitemap of 70,000 URLs is still unread."""
    ((path, read, _),) = crawled["prompt"].pages
    assert path == "/huge/0"
    assert 0 < int(read) < 70_000
    assert crawled["prompt"].stats["sitemapreader/records"] == 70_000


def test_limits_are_the_spiders(crawled: dict[str, Crawled]) -> None:
    """`sitemap_limits` bounds a document, and what is past it is an Issue."""
    limited = crawled["limited"]
    assert len(limited.pages) == 5
    assert limited.issues == {"too-large": 1}


def test_pages_of_feeds_are_followed(crawled: dict[str, Crawled]) -> None:
    """Next pages of a feed are read, up to a limit and on its host; then an Issue says so."""
    paged = crawled["paged"]
    assert paged.paths == {f"/post/{number}" for number in (0, 1, 2, 10, 11)}
    assert paged.issues["feed-has-more"] == 2


def test_requests_can_wait_on_disk(crawled: dict[str, Crawled]) -> None:
    """With JOBDIR requests are pickled with their entries, and come back whole."""
    stored = crawled["on-disk"]
    assert ("/product/1", "parse", "2026-02-03") in stored.pages
    assert stored.stats["scheduler/dequeued/disk"] == 7


def test_scrapy_retries_sitemaps(crawled: dict[str, Crawled]) -> None:
    """A sitemap that answers 503 twice is asked for again by Scrapy, and is no Issue."""
    retrying = crawled["retrying"]
    assert retrying.paths == {"/in-the-end"}
    assert retrying.stats["retry/count"] == 2
    assert retrying.issues == {}


def test_scrapy_keeps_to_robots(crawled: dict[str, Crawled]) -> None:
    """With ROBOTSTXT_OBEY a forbidden sitemap is not requested, and that is an Issue."""
    obedient = crawled["obedient"]
    assert obedient.paths == PAGES - {"/p1"}
    assert obedient.issues["robots-disallowed"] == 1


def test_a_sitemap_that_does_not_come_is_an_issue(crawled: dict[str, Crawled]) -> None:
    """Whatever keeps a sitemap from coming has its code, and Scrapy's own stats have it as well."""
    unlucky = crawled["unlucky"]
    assert unlucky.pages == []
    assert unlucky.issues == {
        "body-cut": 1,
        "connect": 1,
        "http-status": 1,
        "invalid-url": 1,
        "no-sitemap": 1,
        "timeout": 1,
        "too-large": 1,
    }
    assert unlucky.stats["httperror/response_ignored_status_count/410"] == 1
    assert "http-status: " in unlucky.log
    assert "[410]" in unlucky.log


def test_a_body_that_broke_off_is_read(crawled: dict[str, Crawled]) -> None:
    """Where Scrapy is told to take such bodies, the records that came whole are crawled."""
    lossy = crawled["lossy"]
    assert lossy.paths == {"/c1", "/c2"}
    assert lossy.issues == {"truncated": 1}


@pytest.mark.slow  # two crawls of its own, each a process that imports Scrapy
def test_sitemaps_come_from_the_cache(tmp_path: Path) -> None:
    """A second crawl with Scrapy's HTTP cache gives the same pages without one request."""
    first, second = asyncio.run(crawl_twice(tmp_path))
    assert first.requested
    assert second.requested == []
    assert second.paths == first.paths == PAGES


async def crawl_twice(folder: Path) -> tuple[Crawled, Crawled]:
    async with serve() as site:
        first = (await crawl(site, folder, "cached"))["cached"]
        second = (await crawl(site, folder, "cached"))["cached"]
    return first, second
