# /// script
# dependencies = ["sitemapreader", "trafilatura"]
# ///
"""A full-text index of a site in SQLite, kept up to date: run it once a day.

    python rag_index.py update example.org index.db --include '/docs/*' --language en
    python rag_index.py ask "when do the geese come" index.db

Put your embeddings in place of FTS5: `save_text`, `load_text` and `ask` are the only functions that
know it.
"""

import argparse
import asyncio
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import trafilatura

from sitemapreader import Changes, FetchError, FetchOptions, State, walk
from sitemapreader.changes import StateError
from sitemapreader.fetch import HttpFetcher, MemoryFetcher, read_body
from sitemapreader.pages import RobotsCache, read_page
from sitemapreader.urls import host_of

AGENT = "mybot/1.0 (+https://example.org/bot)"
MAX_BYTES = 10_000_000
CHUNK_CHARS = 1_500
WORKERS = 4
BATCH = 100  # pages that are read before they are stored
CONTROLS = 3  # unchanged pages that are read after each batch
COPIES = 20  # pages with the text of another one that a run reads again
PATIENCE = 2  # runs in which pages share a text before one of them is stored
MOVED = {301, 308}
MERGED = 3  # pages that may have moved to one
NO_URL, PARTIAL, NOTHING_FETCHED, LOCKED = 1, 3, 4, 6  # exit codes
LISTING = "https://listing.invalid/sitemap.txt"  # it is in memory
TABLES = """
    CREATE VIRTUAL TABLE IF NOT EXISTS chunk USING fts5(url UNINDEXED, text);
    CREATE TABLE IF NOT EXISTS page (
        url TEXT PRIMARY KEY, digest BLOB, stored_as TEXT, final_url TEXT
    );
    CREATE INDEX IF NOT EXISTS page_digest ON page (digest);
    CREATE TABLE IF NOT EXISTS to_visit (url TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS shared (digest BLOB PRIMARY KEY, runs INT);
"""
UNCHANGED = """
    SELECT url FROM page WHERE stored_as = url AND url NOT IN (SELECT url FROM to_visit)
    ORDER BY random() LIMIT ?
"""


def open_index(path):
    """Open the index: texts, their pages, URLs to visit, and texts that pages share."""
    index = sqlite3.connect(path)
    index.executescript(TABLES)
    return index


# -- texts


def save_text(index, url, text):
    """Replace the chunks of a page; without a text, remove them."""
    if index.execute("SELECT 1 FROM page WHERE url = ?", (url,)).fetchone():
        index.execute("DELETE FROM chunk WHERE url = ?", (url,))
    rows = [(url, chunk) for chunk in split(text or "")]
    index.executemany("INSERT INTO chunk VALUES (?, ?)", rows)


def load_text(index, url):
    """Return the stored text of a page."""
    rows = index.execute("SELECT text FROM chunk WHERE url = ? ORDER BY rowid", (url,))
    return "\n".join(text for (text,) in rows)


def split(text):
    """Split a text into chunks of whole paragraphs."""
    chunks = [""]
    for paragraph in text.split("\n"):
        if chunks[-1] and len(chunks[-1]) + len(paragraph) > CHUNK_CHARS:
            chunks.append("")
        chunks[-1] += paragraph + "\n"
    return [chunk.strip() for chunk in chunks if chunk.strip()]


def ask(index, question, count=5):
    """Return the URLs and texts that fit a question best."""
    words = " OR ".join(f'"{word}"' for word in find_words(question))
    query = "SELECT url, text FROM chunk WHERE chunk MATCH ? ORDER BY rank LIMIT ?"
    return index.execute(query, (words, count)).fetchall()


def find_words(question):
    """Return the words of a question."""
    return re.findall(r"\w+", question)


def hash_text(text):
    """Return the digest by which equal texts are found."""
    return blake2b(text.encode(), digest_size=16).digest()


def is_alike(text, other):
    """Return whether two texts share most words: a date or a counter may differ."""
    words, others = set(text.split()), set(other.split())
    return 2 * len(words & others) > len(words | others)


# -- pages


class Page(NamedTuple):
    """A page: its text, the URL that it calls its own, and its URL after redirects."""

    text: str
    canonical: str
    final_url: str


async def read_text(fetcher, robots, url):
    """Return a page, or the reason why it gives no text today."""
    try:
        await robots.check(url)
        async with fetcher.open(url, check_redirect=robots.check) as response:
            body = await read_body(response, MAX_BYTES)
    except FetchError as error:
        if error.http_status:
            return f"status {error.http_status}"
        return str(error.code)
    facts = read_page(body, response.url, response.headers)
    text = await asyncio.to_thread(trafilatura.extract, body, output_format="markdown")
    if facts.says_missing:
        return "the page says that it does not exist"
    if not text:
        return "no text"
    canonical = next(iter(facts.canonicals), response.url)
    return Page(text, canonical, response.url)


async def read_texts(fetcher, robots, urls):
    """Read pages, some at once; the fetcher is polite to the host.

    Return the ones with a text, and the reasons why others have none.
    """
    turn = asyncio.Semaphore(WORKERS)

    async def read(url):
        async with turn:
            return url, await read_text(fetcher, robots, url)

    found = dict(await asyncio.gather(*map(read, urls)))
    pages = {url: page for url, page in found.items() if isinstance(page, Page)}
    return pages, {url: found[url] for url in found.keys() - pages}


async def select_urls(urls, filters):
    """Return the URLs that pass the patterns of a walk."""
    fetcher = MemoryFetcher({LISTING: "\n".join(urls).encode()})
    patterns = {name: filters.get(name, ()) for name in ("include", "exclude")}
    listing = walk(sitemaps=[LISTING], fetcher=fetcher, scope="keep", **patterns)
    async with listing as entries:
        return {entry.loc async for entry in entries}


def is_same_page(url, other):
    """Return whether URLs differ only in their scheme, `www.` or a slash at the end."""
    url, other = (
        each.partition("://")[2].removeprefix("www.").rstrip("/")
        for each in (url, other)
    )
    return url == other


def is_same_host(url, other):
    """Return whether the hosts of URLs differ at most in `www.`."""
    host, other_host = (host_of(each).removeprefix("www.") for each in (url, other))
    return host == other_host


def store(index, url, text, stored_as, final_url=None):
    """Store a page, or that another URL has its text; without a text, remove it.

    The other pages that had its former text are visited again.
    """
    digest = hash_text(text) if text else None
    with index:
        query = "SELECT digest FROM page WHERE url = ?"
        known = index.execute(query, (url,)).fetchone()
        if known != (digest,):
            copies = "SELECT url FROM page WHERE stored_as = ? AND url <> stored_as"
            index.execute(f"INSERT OR IGNORE INTO to_visit {copies}", (url,))
        save_text(index, url, text if stored_as == url else None)
        index.execute("DELETE FROM page WHERE url = ?", (url,))
        if text:
            row = url, digest, stored_as, final_url
            index.execute("INSERT INTO page VALUES (?, ?, ?, ?)", row)
        index.execute("DELETE FROM to_visit WHERE url = ?", (url,))


def remove(index, url):
    """Remove a page."""
    store(index, url, None, None)


def find_target(urls, pages):
    """Return the page to which all others of some URLs redirect, if there is one."""
    targets = {pages[url].final_url for url in urls}
    if len(targets) == 1 and targets.issubset(urls):
        return targets.pop()
    return None


# -- a run


class Run:
    """One run over the pages to visit.

    A text that several pages have in common is a notice of maintenance, a login, or the text of
    copies. It is not stored before it was seen in `PATIENCE` runs in which other pages were as
    usual. Then one URL stands for all: the canonical one, or else the first.

    Attributes:
        waiting: URLs whose text is not stored in this run.
        copies: URL -> the one that has its text.
        stale: URL -> the reason why its text, or that it has none, was left as it was.
    """

    def __init__(self, index, fetcher, filters):
        self.index = index
        self.filters = filters
        self.fetcher = fetcher
        self.robots = RobotsCache(fetcher, AGENT)
        self.known = dict(index.execute("SELECT digest, runs FROM shared"))
        self.shared = {}
        self.waiting = set()
        self.copies = {}
        self.stale = {}

    async def visit(self):
        """Visit the pages, and store what they say, batch by batch."""
        index = self.index
        with index:
            copies = "SELECT url FROM page WHERE url <> stored_as ORDER BY random()"
            index.execute(f"INSERT OR IGNORE INTO to_visit {copies} LIMIT ?", (COPIES,))
        urls = index.execute("SELECT url FROM to_visit ORDER BY length(url), url")
        urls = [url for (url,) in urls]
        for start in range(0, len(urls), BATCH):
            await self.visit_batch(urls[start : start + BATCH])
        with index:
            index.execute("DELETE FROM shared")
            index.executemany("INSERT INTO shared VALUES (?, ?)", self.shared.items())

    async def visit_batch(self, urls):
        """Visit a batch of pages, the stored pages with the same texts, and some control pages."""
        pages, reasons = await read_texts(self.fetcher, self.robots, urls)
        self.stale |= reasons
        query = "SELECT url FROM page WHERE digest = ? AND url = stored_as"
        texts = {hash_text(page.text) for page in pages.values()}
        found = [row for text in texts for row in self.index.execute(query, (text,))]
        former = [url for (url,) in found if url not in pages]
        others, _ = await read_texts(self.fetcher, self.robots, former)
        pages |= others
        self.stale |= await self.remove_redirected(pages)
        groups = defaultdict(list)
        for url, page in pages.items():
            groups[page.text].append(url)
        is_usual, notices = await self.read_controls(pages, groups)
        for text, group in groups.items():
            if text in notices:
                self.waiting.update(group)
            else:
                self.store_group(text, group, pages, is_usual=is_usual)

    async def remove_redirected(self, pages):
        """Remove pages that redirect and must not be stored; return their reasons.

        A text is overwritten only by one of the same page, or after the same redirect as before.
        """
        moved = {
            url: page
            for url, page in pages.items()
            if not is_same_page(url, page.final_url)
        }
        targets = {page.final_url for page in moved.values()}
        wanted = await select_urls(targets, self.filters) if targets else set()
        query = "SELECT digest, final_url FROM page WHERE url = ?"
        reasons = {}
        for url, page in moved.items():
            row = self.index.execute(query, (url,)).fetchone()
            is_wanted = page.final_url in wanted and is_same_host(url, page.final_url)
            if not is_wanted:
                reasons[url] = "redirects to a page that you do not want"
            elif row and hash_text(page.text) != row[0] and page.final_url != row[1]:
                reasons[url] = "redirects to another page"
        for url in reasons:
            del pages[url]
        return reasons

    async def read_controls(self, pages, groups):
        """Return whether a control page kept its text, and the new texts of the others."""
        former = {
            url: load_text(self.index, url)
            for (url,) in self.index.execute(UNCHANGED, (CONTROLS,))
        }
        if not former:  # the first batch of all
            single = [group[0] for group in groups.values() if len(group) == 1]
            former = {url: pages[url].text for url in single[-CONTROLS:]}
        now, _ = await read_texts(self.fetcher, self.robots, former)
        is_usual = False
        notices = set()
        for url, page in now.items():
            if is_alike(page.text, former[url]):
                is_usual = True
            elif page.final_url == url:  # it has not moved
                notices.add(page.text)
        return is_usual, notices

    def store_group(self, text, urls, pages, *, is_usual):
        """Store a text that some URLs have in common."""
        digest = hash_text(text)
        query = "SELECT url, url = stored_as FROM page WHERE digest = ?"
        stored = dict(self.index.execute(query, (digest,)))
        target = None
        if digest not in self.shared:
            target = find_target(urls, pages)
        news = [url for url in urls if url not in stored and url != target]
        if news and (len(urls) > 1 or stored or digest in self.shared):
            runs = self.known.get(digest, 0) + is_usual
            self.shared[digest] = max(runs, self.shared.get(digest, 0))
            if runs < PATIENCE:
                self.waiting.update(news)
                urls = [url for url in urls if url not in news]
        first = target or next((url for url in stored if stored[url]), None)
        if urls and first is None:
            canonical = {pages[url].canonical for url in urls}
            first = min(urls, key=lambda url: (url not in canonical, len(url), url))
        for url in urls:
            store(self.index, url, text, first, pages[url].final_url)
            if url != first:
                self.copies[url] = first


async def update(site, path, **filters):
    """Visit the pages that are new or changed, and remove the ones that are gone or have moved."""
    if "://" not in site:
        site = f"https://{site}/"
    state = f"{path}.state"
    async with HttpFetcher(FetchOptions(user_agent=AGENT)) as fetcher:
        with closing(open_index(path)) as index:
            run = Run(index, fetcher, filters)
            changes = Changes(state)
            async with walk(site, fetcher=fetcher, state=changes, **filters) as entries:
                await read_changes(index, entries)
                await run.visit()
                async for page in entries.gone():
                    remove(index, page.loc)
            remove_moved(index, state)
            run.stale |= await find_unwanted(index, state, filters)
    return entries.report, run


async def read_changes(index, entries):
    """Note what has changed; the request for a batch acknowledges the one before."""
    async for batch in entries.batches():
        with index:
            rows = [(entry.loc,) for entry in batch]
            index.executemany("INSERT OR IGNORE INTO to_visit VALUES (?)", rows)


def remove_moved(index, state):
    """Remove unlisted pages that redirect for good to a page of the index."""
    pages = [page for page in State(state).unlisted() if page.http_status in MOVED]
    targets = Counter(page.redirects_to for page in pages)
    query = "SELECT 1 FROM page WHERE url = ?"
    for page in pages:
        target = page.redirects_to
        # many pages move to one, and any page to the start page, while a site is closed
        if targets[target] > MERGED or urlsplit(target or "").path in ("", "/"):
            continue
        if index.execute(query, (target,)).fetchone():
            remove(index, page.loc)


async def find_unwanted(index, state, filters):
    """Return pages of the index that are unlisted, or that the filters exclude; and the reasons."""
    stored = {url for (url,) in index.execute("SELECT url FROM page")}
    outside = stored - await select_urls(stored, filters) if stored else set()
    reasons = dict.fromkeys(outside, "your filters exclude it now")
    for page in State(state).unlisted():
        if page.loc in stored:
            answer = page.http_status or page.no_status or "unknown"
            reasons[page.loc] = f"in no sitemap, and not gone (status {answer})"
    return reasons


# -- the command


def make_parser():
    """Make the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    command = commands.add_parser("update", help="read a site, and update its index")
    command.add_argument("site", help="a host or URL: example.org")
    command.add_argument("path", help="the index, a file of SQLite")
    for name in ("--include", "--exclude"):
        command.add_argument(name, action="append", default=[], metavar="PATTERN")
    command.add_argument("--language", default="", metavar="CODE")
    command = commands.add_parser("ask", help="search an index")
    command.add_argument("question")
    command.add_argument("path", help="the index")
    return parser


def print_urls(what, urls):
    """Print how many URLs there are, and the first three."""
    if urls:
        print(f"{what}:", len(urls), sorted(urls)[:3])


def print_run(index, report, run):
    """Print what a run has stored and what it has left as it was, with the reasons."""
    print_urls("not stored, because other pages say the same", run.waiting)
    same = {f"{url} = {first}" for url, first in run.copies.items()}
    print_urls("stored once, with the same text", same)
    query = "SELECT url FROM page"
    stored = {url for (url,) in index.execute(query)}
    groups = defaultdict(set)
    for url, reason in run.stale.items():
        old = "its old text is kept" if url in stored else "not in the index"
        groups[f"{old}: {reason}"].add(url)
    for what, urls in sorted(groups.items()):
        print_urls(what, urls)
    if report.without_language:
        print(f"excluded without a language: {report.without_language}")
    (pages,) = index.execute(
        "SELECT count(*) FROM page WHERE url = stored_as"
    ).fetchone()
    print(f"{pages} pages in the index; sitemaps read completely: {report.complete}")


def find_exit_code(report):
    """Return the exit code by the rules of docs/exit-codes.md."""
    if not any(document.is_answered for document in report.documents):
        return NOTHING_FETCHED
    is_known = report.outcome.status in ("unchanged", "partial")
    if not is_known and not any(document.listed for document in report.documents):
        return NO_URL
    if not report.complete:
        return PARTIAL
    return 0


def run_update(site, path, **filters):
    """Update an index; return the exit code."""
    report, run = asyncio.run(update(site, path, **filters))
    with closing(open_index(path)) as index:
        print_run(index, report, run)
    code = find_exit_code(report)
    if code:
        reason = report.outcome.reason or "the sitemaps list no URL"
        print(f"{site}: {reason}", file=sys.stderr)
    return code


def run_ask(path, question):
    """Print the texts that fit a question."""
    with closing(open_index(path)) as index:
        for url, text in ask(index, question):
            print(f"{url}\n{text}\n")
    return 0


def main():
    """Run the command, and return its exit code."""
    parser = make_parser()
    arguments = vars(parser.parse_args())
    path = arguments.pop("path")
    try:
        if arguments.pop("command") == "update":
            return run_update(path=path, **arguments)
        if not find_words(arguments["question"]):
            parser.error("the question has no words: write what you look for")
        if not Path(path).exists():
            parser.error(f"there is no index {path}: make it with update")
        return run_ask(path, arguments["question"])
    except ValueError as error:  # a site or a pattern
        parser.error(str(error))
    except StateError as error:
        print(error, file=sys.stderr)
        return LOCKED if error.is_locked else NO_URL
    except (sqlite3.Error, OSError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return NO_URL


if __name__ == "__main__":
    sys.exit(main())
