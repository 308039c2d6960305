# /// script
# dependencies = ["sitemapreader"]
# ///
"""A crawler of many sites that may be killed at any moment: run it once a day.

    python crawler.py sites.txt crawl --workers 4

Each process has its share of the sites, and in the folder `crawl` a state of the sitemaps and a
database of the pages. A batch of URLs is stored before the walk is asked for the next one, and a
page stays due until it is stored, so a run that was killed loses nothing. Pages that are gone are
deleted. Keep the number of workers, because it decides which process has a site.
"""

import argparse
import asyncio
import multiprocessing
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from zlib import crc32

from sitemapreader import (
    Change,
    Changes,
    FetchError,
    FetchOptions,
    SiteOutcome,
    State,
    UrlEntry,
    walk_many,
)
from sitemapreader.fetch import HttpFetcher, read_body
from sitemapreader.pages import RobotsCache
from sitemapreader.urls import host_of, site_of

AGENT = "mybot/1.0 (+https://example.org/bot)"
MAX_BYTES = 10_000_000
TASKS = 16  # pages that a process requests at the same time, of all hosts
TRIES = 3  # runs in which a page may fail
CHECKED = 1_000  # missing pages of a site that a run requests, to learn which are gone
ABSENT = {404, 410}
TABLES = """
    PRAGMA journal_mode = wal;
    CREATE TABLE IF NOT EXISTS page (
        url TEXT PRIMARY KEY, host TEXT NOT NULL, is_due INTEGER NOT NULL DEFAULT 1,
        failures INTEGER NOT NULL DEFAULT 0, reason TEXT, body BLOB);
    CREATE INDEX IF NOT EXISTS due ON page (host) WHERE is_due;
    CREATE TEMP TABLE taken (url TEXT PRIMARY KEY);  -- in this run, so a kill empties it
"""


class Frontier:
    """The pages of one process: which are due, and what was fetched."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path)
        self.db.executescript(TABLES)

    def save_entries(self, batch: Iterable[UrlEntry]) -> None:
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
                        "INSERT INTO page (url, host) VALUES (?, ?)"
                        " ON CONFLICT (url) DO UPDATE SET is_due = 1, failures = 0"
                    )
                    self.db.execute(sql, [entry.loc, host_of(entry.loc)])
                    self.db.execute("DELETE FROM taken WHERE url = ?", [entry.loc])

    def list_due(self) -> list[str]:
        """Return a due page of each host."""
        sql = (
            "SELECT min(url) FROM page WHERE is_due AND url NOT IN (SELECT url FROM taken)"
            " GROUP BY host"
        )
        return [url for (url,) in self.db.execute(sql)]

    def take(self, url: str) -> None:
        """Give a page to a task; this run gives it to no other."""
        with self.db:
            self.db.execute("INSERT INTO taken VALUES (?)", [url])

    def save_page(self, url: str, body: bytes) -> None:
        """Store a page."""
        sql = "UPDATE page SET body = ?, is_due = 0, failures = 0, reason = NULL WHERE url = ?"
        with self.db:
            self.db.execute(sql, [body, url])

    def save_failure(self, url: str, error: FetchError) -> None:
        """Leave a page that failed to the next run, unless it is absent or has failed often."""
        sql = (
            "UPDATE page SET failures = failures + 1, reason = ?, is_due = failures + 1 < ?"
            " WHERE url = ?"
        )
        tries = 0 if error.http_status in ABSENT else TRIES
        with self.db:
            self.db.execute(sql, [str(error.code), tries, url])


class Crawler:
    """A crawl of pages while sitemaps are still being read."""

    def __init__(self, frontier: Frontier, fetcher: HttpFetcher) -> None:
        self.frontier = frontier
        self.fetcher = fetcher
        self.robots = RobotsCache(fetcher, AGENT)
        self.is_listed = False  # true once the walk has delivered everything

    async def run(self) -> None:
        """Fetch pages until none is due any more."""
        while (url := await self.take()) is not None:
            try:
                await self.robots.check(url)
                opening = self.fetcher.open(url, check_redirect=self.robots.check)
                async with opening as response:
                    body = await read_body(response, MAX_BYTES)
            except FetchError as error:
                self.frontier.save_failure(url, error)
            else:
                self.frontier.save_page(url, body)  # parse it here

    async def take(self) -> str | None:
        """Return a page of a host that is free; None at the end."""
        while True:
            due = self.frontier.list_due()
            waits = {url: self.fetcher.seconds_until_free(url) for url in due}
            url = min(waits, key=waits.__getitem__, default=None)
            if url is None and self.is_listed:
                return None
            if url is not None and waits[url] == 0:
                self.frontier.take(url)
                return url
            await asyncio.sleep(0.1)


async def crawl(sites: list[str], folder: Path, share: str, *, trusted: bool) -> None:
    """Walk over the sites of one process, and fetch their pages."""
    options = FetchOptions(user_agent=AGENT)
    state = State(folder / f"state-{share}.db")
    changes = Changes(state, unlisted=True, gone=CHECKED)
    frontier = Frontier(folder / f"pages-{share}.db")
    async with HttpFetcher(options) as fetcher:
        if trusted:  # the trust of a walk ends with it, and pages are fetched later
            for site in sites:
                fetcher.trust(name_url(site))
        crawler = Crawler(frontier, fetcher)
        with closing(frontier.db):
            async with (
                walk_many(
                    sites,
                    state=changes,
                    fetcher=fetcher,
                    unique=True,
                    trusted=trusted,
                    on_site=print_outcome,
                ) as run,
                asyncio.TaskGroup() as tasks,
            ):
                for _ in range(TASKS):
                    tasks.create_task(crawler.run())
                async for _, batch in run.batches():
                    frontier.save_entries(batch)  # asking for more acknowledges it
                crawler.is_listed = True


def print_outcome(outcome: SiteOutcome) -> None:
    """Print a line for each site."""
    print(
        f"{outcome.site}: {outcome.status} {outcome.reason}".rstrip(),
        f"({outcome.entries} URLs, {outcome.gone or 0} gone)",
        flush=True,
    )


def name_url(site: str) -> str:
    """Return the URL of a line of the list."""
    return site if "://" in site else f"https://{site}"


def find_share(site: str, workers: int) -> int:
    """Return the process of a site: hosts of one domain share their limits and their state."""
    domain = site_of(host_of(name_url(site)))
    return crc32(domain.encode()) % workers


def run_share(sites: list[str], folder: Path, share: str, *, trusted: bool) -> None:
    """Crawl in a process of its own."""
    asyncio.run(crawl(sites, folder, share, trusted=trusted))


def main() -> int:
    """Start a process for each share of the sites; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", type=Path, help="a file with a site in each line")
    parser.add_argument("folder", type=Path, help="the folder of states and pages")
    parser.add_argument("--workers", type=int, default=4, help="number of processes")
    parser.add_argument("--trusted", action="store_true", help="the sites are yours")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    shares: dict[int, list[str]] = {}
    for line in filter(None, map(str.strip, given.sites.read_text().splitlines())):
        shares.setdefault(find_share(line, given.workers), []).append(line)
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(
            target=run_share,
            args=(sites, given.folder, f"{share}-of-{given.workers}"),
            kwargs={"trusted": given.trusted},
        )
        for share, sites in shares.items()
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return max((abs(process.exitcode or 0) for process in processes), default=0)


if __name__ == "__main__":
    sys.exit(main())
