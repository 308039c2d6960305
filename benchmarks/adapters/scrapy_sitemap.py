"""scrapy: `scrapy.utils.sitemap` in memory, `SitemapSpider` on the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.spiders import SitemapSpider
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from adapters import Collected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from adapters import Document, Found

SETTINGS = {
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 10,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 10,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": False,
    "RETRY_ENABLED": False,
}


def read(document: Document) -> int:
    """Keep the dict of each record."""
    data = gunzip(document.data) if document.kind == "gzip" else document.data
    return len(list(Sitemap(data)))


class CountingSpider(SitemapSpider):
    """Spider that counts entries in `sitemap_filter`, and crawls no page."""

    name = "counting"
    found: Found

    def sitemap_filter(
        self, entries: Iterable[dict[str, Any]]
    ) -> Iterable[dict[str, Any]]:
        """Pass on the children of an index; count URLs."""
        if getattr(entries, "type", "") == "sitemapindex":
            yield from entries
        else:
            for _ in entries:
                self.found(1)


def walk(url: str, found: Found) -> None:
    """Crawl an index."""
    process = CrawlerProcess(SETTINGS)
    process.crawl(CountingSpider, sitemap_urls=[url], found=found)
    process.start()


class ListingSpider(SitemapSpider):
    """Spider that lists the pages it would request."""

    name = "listing"
    urls: list[str]

    def parse(self, response: Any) -> None:
        """Do nothing: no page is requested."""


class PagesAreListed:
    """Downloader middleware that drops the requests for pages."""

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> PagesAreListed:
        """Make one, as scrapy does it."""
        return cls(crawler)

    def process_request(self, request: Any) -> None:
        """List a page."""
        if request.callback == self.crawler.spider.parse:
            self.crawler.spider.urls.append(request.url)
            raise IgnoreRequest


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """Run a spider for each, all at once: a process has one reactor."""
    process = CrawlerProcess(
        {**SETTINGS, "DOWNLOADER_MIDDLEWARES": {PagesAreListed: 1}}
    )
    found: dict[str, list[str]] = {url: [] for url in urls}
    errors = {}
    for url in urls:
        crawler = process.create_crawler(ListingSpider)
        process.crawl(crawler, sitemap_urls=[url], urls=found[url])
        errors[url] = crawler
    process.start()
    for url in urls:
        stats = errors[url].stats
        names = [
            name for name in stats.get_stats() if name.startswith("spider_exceptions/")
        ]
        yield Collected(
            url, found[url], ", ".join(name.partition("/")[2] for name in names)
        )
