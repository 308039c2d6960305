"""Run in a process of its own: crawls with Scrapy, as its users start them; prints what came of it.

python spiders.py BASE FOLDER SPIDER [SPIDER ...]
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import CrawlerProcess

from sitemapreader.recipes.scrapy import SitemapReaderSpider

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy.http import Response

    from sitemapreader._types.models import UrlEntry
    from sitemapreader.recipes.scrapy import Entry

BASE, FOLDER = sys.argv[1:3]
SETTINGS: dict[str, Any] = {
    "LOG_LEVEL": "INFO",
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
}
RESULTS: dict[str, dict[str, Any]] = {}


class Collector(Spider):
    """What all spiders here do with a page: remember that it came, and the log and the stats."""

    name = "collector"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pages: list[list[Any]] = []

    def parse(self, response: Response, **_: Any) -> None:
        self.collect("parse", response)

    def collect(self, callback: str, response: Response) -> None:
        entry: UrlEntry | None = response.meta.get("sitemap_entry")
        lastmod = entry.lastmod_text if entry else None
        self.pages.append([response.url.removeprefix(BASE), callback, lastmod])

    def closed(self, reason: str) -> None:
        stats = {
            k: v
            for k, v in self.crawler.stats.get_stats().items()
            if isinstance(v, int)
        }
        RESULTS[self.name] = {"pages": self.pages, "stats": stats, "reason": reason}


class Ours(Collector, SitemapReaderSpider):
    name = "ours"
    sitemap_urls: Sequence[str] = (f"{BASE}/robots.txt",)


class Ruled(Ours):
    """Rules, follow, alternates and a filter, as a shop would have them."""

    name = "ruled"
    sitemap_urls = (f"{BASE}/shop.xml",)
    sitemap_rules = (("/product/", "parse_product"), (r"/de/", "parse_german"))
    sitemap_follow = ("products",)
    sitemap_alternate_links = True

    def sitemap_filter(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        return (
            entry
            for entry in entries
            if entry.lastmod is None or entry.lastmod.year >= 2026
        )

    def parse_product(self, response: Response) -> None:
        self.collect("product", response)

    def parse_german(self, response: Response) -> None:
        self.collect("german", response)


class Few(Ours):
    """Stops in the middle of a document, as an argument of the crawl says."""

    name = "few"
    sitemap_urls = (f"{BASE}/many.xml",)
    most: str

    def sitemap_filter(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        return islice(entries, int(self.most))


class Prompt(Ours):
    """Counts the entries that were read when the first page came."""

    name = "prompt"
    sitemap_urls = (f"{BASE}/huge.xml",)
    sitemap_rules = (("/huge/0$", "parse_first"),)
    read = 0

    def sitemap_filter(self, entries: Iterable[Entry]) -> Iterable[Entry]:
        for entry in entries:
            self.read += 1
            yield entry

    def parse_first(self, response: Response) -> None:
        self.collect(str(self.read), response)


class OnDisk(Ours):
    """Its requests wait on disk, so all that they carry is pickled."""

    name = "on-disk"
    sitemap_urls = (f"{BASE}/shop.xml",)
    custom_settings = {"JOBDIR": f"{FOLDER}/job"}  # noqa: RUF012 (Scrapy's way)


class Retrying(Ours):
    name = "retrying"
    sitemap_urls = (f"{BASE}/flaky.xml",)
    custom_settings = {"RETRY_ENABLED": True}  # noqa: RUF012 (Scrapy's way)


class Obedient(Ours):
    name = "obedient"
    custom_settings = {"ROBOTSTXT_OBEY": True}  # noqa: RUF012 (Scrapy's way)


class Unlucky(Ours):
    """Every way in which a sitemap does not come."""

    name = "unlucky"
    sitemap_urls = (
        f"{BASE}/gone.xml",
        f"{BASE}/slow.xml",
        f"{BASE}/cut.xml",
        f"{BASE}/large.xml",
        "http://127.0.0.1:1/sitemap.xml",
        "http://[::1/sitemap.xml",
        f"{BASE}/nothing/robots.txt",
        f"{BASE}/shop.xml",
    )
    sitemap_follow = ()
    custom_settings = {  # noqa: RUF012 (Scrapy's way)
        "DOWNLOAD_TIMEOUT": 1,
        "DOWNLOAD_MAXSIZE": 50_000,
    }


class Lossy(Ours):
    """Takes what came of a body that broke off."""

    name = "lossy"
    sitemap_urls = (f"{BASE}/cut.xml",)
    custom_settings = {"DOWNLOAD_FAIL_ON_DATALOSS": False}  # noqa: RUF012 (Scrapy's way)


class Paged(Ours):
    """Feeds in pages."""

    name = "paged"
    sitemap_urls = (f"{BASE}/paged", f"{BASE}/paged?page=10")


SPIDERS: list[type[Collector]] = [
    Ours, Ruled, Few, Prompt, OnDisk, Retrying, Obedient, Unlucky, Lossy,
    Paged,
]  # fmt: skip


if __name__ == "__main__":
    wanted = {spider.name: spider for spider in SPIDERS}
    process = CrawlerProcess(SETTINGS)
    for name in sys.argv[3:]:
        process.crawl(wanted[name], most="3")
    process.start()
    json.dump(RESULTS, sys.stdout)
