# /// script
# dependencies = ["sitemapreader", "scrapy"]
# ///
"""A Scrapy spider that fetches what is new or changed since its last run: run it once a day.

    python scrapy_crawler.py a.example,b.example crawl

The walk reads the sitemaps, with a client of its own; Scrapy fetches the pages. A page stays due in
the database until it was parsed, because a queue of Scrapy is lost if its process is killed: with
this table, `JOBDIR` is not needed. Pages that are gone are deleted.
"""

import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, ClassVar

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from twisted.python.failure import Failure

from sitemapreader import Change, Changes, FetchOptions, UrlEntry, walk_many

AGENT = "mybot/1.0 (+https://example.org/bot)"
CHECKED = 1_000  # missing pages of a site that a run requests, to learn which are gone
TRIES = 3  # runs in which a page may fail
ABSENT = (404, 410)
TABLES = """
    PRAGMA journal_mode = wal;
    CREATE TABLE IF NOT EXISTS page (
        url TEXT PRIMARY KEY, is_due INTEGER NOT NULL DEFAULT 1,
        failures INTEGER NOT NULL DEFAULT 0, title TEXT);
"""


class ChangesSpider(scrapy.Spider):
    """A spider of new and changed pages."""

    name = "changes"
    custom_settings: ClassVar = {
        "USER_AGENT": AGENT,
        "ROBOTSTXT_OBEY": True,
        "HTTPERROR_ALLOW_ALL": True,  # `parse` counts failures
        "LOG_LEVEL": "INFO",
    }

    def __init__(self, sites: str, folder: str, trusted: str = "", **kwargs: Any):
        super().__init__(**kwargs)
        self.sites = sites.split(",")
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.is_trusted = bool(trusted)
        self.db = sqlite3.connect(self.folder / "pages.db")
        self.db.executescript(TABLES)

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Request what an earlier run has left, then what the walk delivers."""
        left = self.db.execute("SELECT url FROM page WHERE is_due").fetchall()
        for (url,) in left:
            yield self.make_request(url)
        changes = Changes(self.folder / "state.db", unlisted=True, gone=CHECKED)
        async with walk_many(
            self.sites,
            state=changes,
            unique=True,
            trusted=self.is_trusted,
            options=FetchOptions(user_agent=AGENT),
        ) as run:
            async for _, batch in run.batches():
                self.save_entries(batch)  # asking for more acknowledges it
                for entry in batch:
                    if entry.change in (Change.NEW, Change.CHANGED):
                        yield self.make_request(entry.loc)
        for outcome in run.outcomes:
            self.logger.info("%s: %s", outcome.site, outcome.status)

    def make_request(self, url: str) -> scrapy.Request:
        """Make the request of a page."""
        return scrapy.Request(url, errback=self.note_error, cb_kwargs={"url": url})

    def parse(self, response: Response, url: str) -> Iterator[dict[str, Any]]:
        """Store a page; yield its item."""
        if response.status != 200:
            self.note_failure(url, tries=0 if response.status in ABSENT else TRIES)
            return
        title = response.css("title::text").get()
        yield {"url": url, "title": title}
        sql = "UPDATE page SET title = ?, is_due = 0, failures = 0 WHERE url = ?"
        with self.db:
            self.db.execute(sql, [title, url])

    def note_error(self, failure: Failure) -> None:
        """Count the failure of a page without a response."""
        self.note_failure(failure.request.cb_kwargs["url"], tries=TRIES)

    def note_failure(self, url: str, *, tries: int) -> None:
        """Leave a page that failed to the next run, unless it has failed often."""
        sql = "UPDATE page SET failures = failures + 1, is_due = failures + 1 < ? WHERE url = ?"
        with self.db:
            self.db.execute(sql, [tries, url])

    def save_entries(self, batch: list[UrlEntry]) -> None:
        """Store what a walk has delivered, all of it or nothing."""
        with self.db:
            for entry in batch:
                if entry.change is Change.GONE:
                    self.db.execute("DELETE FROM page WHERE url = ?", [entry.loc])
                elif entry.change is Change.UNLISTED:  # its page may live: keep it
                    sql = "UPDATE page SET is_due = 0 WHERE url = ?"
                    self.db.execute(sql, [entry.loc])
                else:
                    sql = (
                        "INSERT INTO page (url) VALUES (?)"
                        " ON CONFLICT (url) DO UPDATE SET is_due = 1, failures = 0"
                    )
                    self.db.execute(sql, [entry.loc])


if __name__ == "__main__":
    crawler = CrawlerProcess()
    names = ("sites", "folder", "trusted")
    crawler.crawl(ChangesSpider, **dict(zip(names, sys.argv[1:], strict=False)))
    crawler.start()
