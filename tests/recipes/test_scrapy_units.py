"""The spider for Scrapy in a unit test: a plain Response, and no crawler unless it has settings."""

from __future__ import annotations

import gzip
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.walking import index, urlset

pytest.importorskip("scrapy")

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from sitemapreader import Limits
from sitemapreader.recipes.scrapy import SitemapReaderSpider

if TYPE_CHECKING:
    from collections.abc import Mapping

TOP = "https://example.org/top.xml"
PAGES = [f"https://example.org/{number}" for number in range(3)]
FEED = f"<rss><channel><item><link>{PAGES[0]}</link></item>".encode()


SIZE = len(urlset(*PAGES))


class Shop(SitemapReaderSpider):
    """A spider as its users write one."""

    name = "shop"
    sitemap_urls = (TOP,)

    def parse(self, response: Response) -> None:
        """Take a page."""


async def list_requests(
    spider: SitemapReaderSpider, body: bytes, **how: Any
) -> list[str]:
    """Give a body to the callback of the spider's first request; return what it requests."""
    requests: list[Any] = [each async for each in spider.start()]
    (request,) = requests
    response = Response(request.url, body=body, **how)
    found = request.callback(response)
    if hasattr(found, "__aiter__"):
        return [each.url async for each in found]
    return [each.url for each in found]


def make_spider(settings: Mapping[str, int], **attributes: Any) -> SitemapReaderSpider:
    """Make a spider as a crawler with these settings does."""
    kind: Any = type("Limited", (Shop,), attributes)
    spider: SitemapReaderSpider = kind.from_crawler(get_crawler(kind, dict(settings)))
    return spider


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (urlset(*PAGES), PAGES),
        (gzip.compress(urlset(*PAGES)), PAGES),
        (index("https://example.org/a.xml"), ["https://example.org/a.xml"]),
        ("\n".join(PAGES).encode(), PAGES),
        (FEED, PAGES[:1]),
        (b"", []),
    ],
)
async def test_a_plain_response_is_enough(
    body: bytes, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A callback gives requests without a crawler and a reactor, and starts no thread."""
    monkeypatch.setattr(threading.Thread, "start", None)
    assert await list_requests(Shop(), body) == expected


async def test_a_robots_txt_is_as_easy() -> None:
    """Its callback gives requests for the sitemaps that it lists."""
    spider = type(
        "Robots", (Shop,), {"sitemap_urls": ["https://example.org/robots.txt"]}
    )()
    assert await list_requests(spider, f"Sitemap: {TOP}".encode()) == [TOP]


@pytest.mark.parametrize(
    ("settings", "attributes", "is_whole"),
    [
        ({"DOWNLOAD_MAXSIZE": 5_000}, {}, False),
        ({"DOWNLOAD_MAXSIZE": 0}, {}, True),
        ({"DOWNLOAD_MAXSIZE": 9_000_000}, {}, True),
        ({"DOWNLOAD_MAXSIZE": 9_000_000}, {"download_maxsize": 6_000}, False),
        ({"DOWNLOAD_MAXSIZE": 10}, {"sitemap_limits": Limits()}, True),
        ({}, {"sitemap_limits": Limits(entries=9)}, False),
    ],
)
async def test_the_settings_of_scrapy_are_limits(
    settings: dict[str, int], attributes: dict[str, Any], *, is_whole: bool
) -> None:
    """DOWNLOAD_MAXSIZE counts bytes after decompression; the spider's own limits win."""
    pages = [f"https://example.org/{number}" for number in range(1_000)]
    spider = make_spider(settings, **attributes)
    found = await list_requests(spider, gzip.compress(urlset(*pages)))
    assert (found == pages) == is_whole
    assert found == pages[: len(found)]
    counts = spider.crawler.stats.get_stats()
    assert ("sitemapreader/issues/too-large" in counts) == (not is_whole)


@pytest.mark.parametrize(
    ("most", "is_told"),
    [(1, True), (SIZE - 1, True), (SIZE, False), (0, False), (99_999, False)],
)
async def test_a_large_sitemap_is_logged(
    most: int, caplog: pytest.LogCaptureFixture, *, is_told: bool
) -> None:
    """What has more bytes than DOWNLOAD_WARNSIZE is a warning, and is read."""
    spider = make_spider({"DOWNLOAD_WARNSIZE": most})
    assert await list_requests(spider, urlset(*PAGES)) == PAGES
    assert ("DOWNLOAD_WARNSIZE" in caplog.text) == is_told


async def test_an_issue_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """The line begins with the code and the URL that it is about, if there is one."""
    more = "https://example.org/feed?page=2"
    feed = (
        "<feed xmlns='http://www.w3.org/2005/Atom'>"
        f"<link rel='next' href='{more}'/><entry><link href='{PAGES[0]}'/></entry></feed>"
    )
    assert await list_requests(Shop(), feed.encode()) == PAGES[:1]
    assert f"feed-has-more <{more}>: " in caplog.text
    caplog.clear()
    assert await list_requests(Shop(), b"") == []
    assert "empty: " in caplog.text


async def test_a_request_keeps_its_entry() -> None:
    """What the spider requests has the callback of its rule and the entry, as in a crawl."""
    spider = Shop()
    requests: list[Any] = [each async for each in spider.start()]
    (request,) = requests
    answers = request.callback(Response(TOP, body=urlset(PAGES[0])))
    found = [each async for each in answers]
    assert all(isinstance(each, Request) for each in found)
    assert found[0].meta["sitemap_entry"].loc == PAGES[0]
    assert found[0].callback == spider.parse


def count_all(spider: SitemapReaderSpider) -> dict[str, int]:
    """Return the stats of a spider that are ours."""
    counts: dict[str, int] = spider.crawler.stats.get_stats()
    prefix = "sitemapreader/"
    return {
        name.removeprefix(prefix): count
        for name, count in counts.items()
        if name.startswith(prefix)
    }


async def test_what_is_counted() -> None:
    """All documents and records are, and those that were dropped with their Issues."""
    spider = make_spider({})
    locs = [*PAGES, "https://[broken/", "", ""]
    assert await list_requests(spider, urlset(*locs)) == PAGES
    assert count_all(spider) == {
        "documents": 1,
        "records": 6,
        "dropped": 2,
        "issues/invalid-url": 1,
        "issues/missing-loc": 2,
    }
    assert await list_requests(spider, urlset(*PAGES[:1])) == PAGES[:1]
    assert count_all(spider)["documents"] == 2
    assert count_all(spider)["records"] == 7


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (IgnoreRequest("Forbidden by robots.txt"), "robots-disallowed", "Forbidden by"),
        (IgnoreRequest("for another reason"), "", ""),
        (HttpError(Response(TOP, status=404), "ignored"), "http-status", "404"),
        (ZeroDivisionError(), "", ""),
    ],
    ids=repr,
)
async def test_a_sitemap_that_cannot_be_fetched(
    error: Exception, code: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its Issue is counted and logged, and Scrapy has its failure as it was."""
    spider = make_spider({})
    requests: list[Any] = [each async for each in spider.start()]
    fail: Any = Failure  # it has no types
    failure = fail(error)
    failure.request = requests[0]
    assert requests[0].errback(failure) is failure
    assert count_all(spider) == ({f"issues/{code}": 1} if code else {})
    assert (f"{code}: {TOP}: " in caplog.text) == bool(code)
    assert said in caplog.text


async def test_a_robots_txt_without_a_sitemap() -> None:
    """It is told, and counted; one that lists some has them requested."""
    spider = make_spider({}, sitemap_urls=("https://example.org/robots.txt",))
    assert await list_requests(spider, b"User-agent: *") == []
    assert count_all(spider) == {"issues/no-sitemap": 1}
    assert await list_requests(spider, f"Sitemap: {TOP}".encode()) == [TOP]
    assert count_all(spider) == {"issues/no-sitemap": 1}
