"""The recipe for Scrapy: real crawls, in a process of their own, of a site on loopback."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from tests.support import package
from tests.support.serving import listen
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

pytestmark = pytest.mark.slow  # each test is a crawl in a process of its own

if find_spec("scrapy") is None:  # not imported: each worker would, and none needs it
    pytest.skip("no scrapy: pip install .[scrapy]", allow_module_level=True)

SECONDS = 90
NAMESPACES = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="http://www.w3.org/1999/xhtml"'
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
        return {
            k.removeprefix(prefix): v
            for k, v in self.stats.items()
            if k.startswith(prefix)
        }


class Site:
    """A site with all that goes wrong; everything else that is asked for is a page."""

    def __init__(self) -> None:
        self.base = ""
        self.requested: list[str] = []
        self._documents: dict[str, bytes] = {}
        self._faults: dict[
            str, Callable[[web.Request], Awaitable[web.StreamResponse]]
        ] = {
            "/gone.xml": self.gone,
            "/slow.xml": self.slow,
            "/cut.xml": self.cut,
            "/flaky.xml": self.flaky,
            "/paged": self.paged,
        }

    def documents(self) -> dict[str, bytes]:
        base = self.base
        return {
            "/robots.txt": b"User-agent: *\nDisallow: /private\nSitemap: /index.xml\n",
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
            "/large.xml": urlset(
                *(f"{base}/large/{number}" for number in range(2_000))
            ),
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
        link = f"<atom:link rel='next' href='/paged?page={number + 1}'/>"
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
    script = str(package.TESTS / "recipes" / "spiders.py")
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
            pages=sorted(
                (path, callback, date) for path, callback, date in result["pages"]
            ),
            stats=result["stats"],
            log="\n".join(line for line in text.splitlines() if f"[{name}]" in line),
            requested=site.requested[requested_before:],
        )
        for name, result in results.items()
    }


BROKEN_PAGES = {"/a?x=1&y=2", "/relative", "/caf%C3%A9", "/last"}
PAGES = BROKEN_PAGES | {"/z1", "/z2", "/t1", "/t2", "/f1", "/d1", "/p1"}
LOST = [
    "body-cut",
    "connect",
    "http-status",
    "invalid-url",
    "no-sitemap",
    "timeout",
    "too-large",
]
EXPECTED: dict[str, tuple[set[str], dict[str, int] | None, dict[str, int]]] = {
    "ours": (
        PAGES,
        {
            "bare-ampersand": 1,
            "feed-salvaged": 1,
            "html-entity": 1,
            "invalid-url": 2,
            "leading-bytes": 1,
            "relative-loc": 2,
            "template": 1,
            "truncated": 1,
        },
        # records = pages, children, one page and one child that are no URLs
        {"documents": 7, "dropped": 1, "records": len(PAGES) + 8 + 2},
    ),
    # Rules choose callbacks, follow chooses sitemaps, the filter drops, alternates are taken.
    "ruled": ({"/de/1", "/product/1"}, {}, {"downloader/request_count": 4}),
    "few": ({"/many/0", "/many/1", "/many/2"}, {}, {}),
    # The next page of a feed is named, and not read.
    "paged": (
        {"/post/0", "/post/10"},
        None,
        {"issues/feed-has-more": 2},
    ),
    "retrying": ({"/in-the-end"}, {}, {"retry/count": 2}),
    "obedient": (PAGES - {"/p1"}, None, {"issues/robots-disallowed": 1}),
    "unlucky": (
        set(),
        dict.fromkeys(LOST, 1),
        {"httperror/response_ignored_status_count/410": 1},
    ),
    "lossy": ({"/c1", "/c2"}, {"truncated": 1}, {}),
}
"""What comes of spiders: paths of pages, Issues by their codes, and some stats."""


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Crawled]:
    """Run all spiders at once, as a process of Scrapy can."""

    async def crawl_once() -> dict[str, Crawled]:
        async with serve() as site:
            folder = tmp_path_factory.mktemp("scrapy")
            return await crawl(site, folder, *EXPECTED, "prompt", "on-disk")

    return asyncio.run(crawl_once())


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_spider_requests_and_counts_as_expected(
    crawled: dict[str, Crawled], name: str
) -> None:
    """Every page is requested once, everything lost is an Issue, and the rest is Scrapy's."""
    paths, issues, stats = EXPECTED[name]
    found = crawled[name]
    assert found.paths == paths
    assert len(found.pages) == len(paths)
    assert issues in (None, found.issues)
    for stat, value in stats.items():
        assert value == found.stats.get(stat, found.stats.get(f"sitemapreader/{stat}"))


def test_callbacks_get_entries_with_dates(crawled: dict[str, Crawled]) -> None:
    """A rule names the callback of a page, whose request has the entry, through a disk as well."""
    assert crawled["ruled"].pages == [
        ("/de/1", "german", "2026-02-03"),
        ("/product/1", "product", "2026-02-03"),
    ]
    stored = crawled["on-disk"]
    assert ("/product/1", "parse", "2026-02-03") in stored.pages
    assert stored.stats["scheduler/dequeued/disk"] == 7


def test_advice_names_the_settings_of_scrapy(crawled: dict[str, Crawled]) -> None:
    """What the library would do by an option, a spider does by a setting or an attribute."""
    log = crawled["obedient"].log
    (said,) = (each for each in log.splitlines() if "robots-disallowed: " in each)
    assert "set ROBOTSTXT_OBEY to False" in said
    advice = re.compile("`(FetchOptions|sitemaps=|Follow)")
    assert not any(advice.search(found.log) for found in crawled.values())


def test_issues_are_in_the_log(crawled: dict[str, Crawled]) -> None:
    """Each Issue is a line of the spider's own log: its level, code, place, and what to do."""
    lines = {line.partition("[ours] ")[2] for line in crawled["ours"].log.splitlines()}
    (template,) = (line for line in lines if "template: " in line)
    assert template.startswith("ERROR: template: http://127.0.0.1:")
    assert "/broken.xml, line 5: " in template
    assert any(line.startswith("WARNING: bare-ampersand <") for line in lines)
    assert any(line.startswith("INFO: leading-bytes: ") for line in lines)
    assert any(
        re.match("[A-Z]+: relative-loc: .*/robots.txt, line 3: ", line)
        for line in lines
    )


def test_pages_come_before_the_sitemap_is_read(crawled: dict[str, Crawled]) -> None:
    """The first page's callback runs before the rest is read, and who stops reads no more."""
    ((path, read, _),) = crawled["prompt"].pages
    assert path == "/huge/0"
    assert 0 < int(read) < 70_000
    assert crawled["prompt"].stats["sitemapreader/records"] == 70_000
    assert crawled["few"].stats["sitemapreader/records"] < 1_000
