# /// script
# dependencies = ["sitemapreader", "trafilatura"]
# ///
"""A full-text index of a site in SQLite, kept up to date: run it once a day.

    python rag_index.py update example.org index.db
    python rag_index.py ask "when do the geese come" index.db

Put your embeddings in place of FTS5: `store` and `ask` are the only functions that know it.
"""

import asyncio
import re
import sqlite3
import sys
from collections import Counter
from contextlib import closing

import trafilatura

from sitemapreader import Changes, FetchError, FetchOptions, walk
from sitemapreader.fetch import HttpFetcher, read_body
from sitemapreader.pages import RobotsCache

AGENT = "mybot/1.0 (+https://example.org/bot)"
MAX_BYTES = 10_000_000
CHUNK_CHARS = 1_500
WORKERS = 4
CONTROLS = 3
PATIENCE = 7  # runs until a text that several pages have in common is stored
UNCHANGED = """
    SELECT DISTINCT url FROM chunk WHERE url NOT IN (SELECT url FROM to_visit) LIMIT ?
"""


def open_index(path):
    """Open the index: chunks of texts, URLs to visit, and texts that several pages share."""
    index = sqlite3.connect(path)
    index.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS chunk USING fts5(url UNINDEXED, text)"
    )
    index.execute("CREATE TABLE IF NOT EXISTS to_visit (url TEXT PRIMARY KEY)")
    index.execute("CREATE TABLE IF NOT EXISTS shared (text TEXT PRIMARY KEY, runs INT)")
    return index


def split(text):
    """Split a text into chunks of whole paragraphs."""
    chunks = [""]
    for paragraph in text.split("\n"):
        if chunks[-1] and len(chunks[-1]) + len(paragraph) > CHUNK_CHARS:
            chunks.append("")
        chunks[-1] += paragraph + "\n"
    return [chunk.strip() for chunk in chunks if chunk.strip()]


def store(index, url, text):
    """Replace the chunks of a page; without a text, remove them."""
    with index:
        index.execute("DELETE FROM chunk WHERE url = ?", (url,))
        rows = [(url, chunk) for chunk in split(text or "")]
        index.executemany("INSERT INTO chunk VALUES (?, ?)", rows)
        index.execute("DELETE FROM to_visit WHERE url = ?", (url,))


def ask(index, question, count=5):
    """Return the URLs and texts that fit a question best."""
    words = " OR ".join(re.findall(r"\w+", question))
    query = "SELECT url, text FROM chunk WHERE chunk MATCH ? ORDER BY rank LIMIT ?"
    return index.execute(query, (words, count)).fetchall()


def find_notices(index, texts, controls):
    """Return texts that are not of their pages: a notice of maintenance, a login, or none.

    Several pages have such a text in common, or an unchanged page has it all at once.
    """
    changed = set()
    for url in controls:
        stored = index.execute("SELECT text FROM chunk WHERE url = ?", (url,))
        if split(texts[url] or "") != [text for (text,) in stored]:
            changed.add(texts[url])
    seen = Counter(text for url, text in texts.items() if url not in controls)
    several = [text for text in seen if text and seen[text] > 1]
    is_usual = bool(controls) and not changed
    return {None} | changed | count_shared(index, several, is_usual)


def count_shared(index, texts, is_usual):
    """Count the runs in which pages share a text; return the texts that are too new."""
    known = dict(index.execute("SELECT text, runs FROM shared"))
    runs = {text: known.get(text, 0) + is_usual for text in texts}
    with index:
        index.execute("DELETE FROM shared")
        index.executemany("INSERT INTO shared VALUES (?, ?)", runs.items())
    return {text for text in texts if runs[text] < PATIENCE}


async def read_text(fetcher, robots, url):
    """Return the text of a page, or None if it gives none today."""
    try:
        await robots.check(url)
        async with fetcher.open(url, check_redirect=robots.check) as response:
            body = await read_body(response, MAX_BYTES)
    except FetchError:
        return None
    return await asyncio.to_thread(trafilatura.extract, body, output_format="markdown")


async def read_texts(fetcher, urls):
    """Read pages, some at once; the fetcher is polite to the host. Return their texts by URL."""
    robots, turn = RobotsCache(fetcher, AGENT), asyncio.Semaphore(WORKERS)

    async def read(url):
        async with turn:
            return url, await read_text(fetcher, robots, url)

    return dict(await asyncio.gather(*map(read, urls)))


async def update(site, path):
    """Visit the pages that are new or changed, and remove the ones that are gone."""
    options = FetchOptions(user_agent=AGENT)
    async with HttpFetcher(options) as fetcher:
        state = f"{path}.state"
        with closing(open_index(path)) as index:
            async with walk(site, fetcher=fetcher, state=Changes(state)) as entries:
                await read_changes(index, fetcher, entries)
    return entries.report


async def read_changes(index, fetcher, entries):
    """Store what has changed; the request for a batch acknowledges the one before."""
    async for batch in entries.batches():
        with index:
            rows = [(entry.loc,) for entry in batch]
            index.executemany("INSERT OR IGNORE INTO to_visit VALUES (?)", rows)
    to_visit = [url for (url,) in index.execute("SELECT url FROM to_visit")]
    controls = [url for (url,) in index.execute(UNCHANGED, (CONTROLS,))]
    texts = await read_texts(fetcher, [*to_visit, *controls])
    notices = find_notices(index, texts, controls)
    same = sorted(url for url in to_visit if texts[url] and texts[url] in notices)
    if same:
        print("not stored, because other pages say the same:", len(same), same[:3])
    for url in to_visit:
        if texts[url] not in notices:
            store(index, url, texts[url])
    async for page in entries.gone():
        store(index, page.loc, None)


def main():
    """Run the command."""
    command, first, path = sys.argv[1:]
    if command == "update":
        report = asyncio.run(update(first, path))
    with closing(open_index(path)) as index:
        if command == "ask":
            for url, text in ask(index, first):
                print(f"{url}\n{text}\n")
        else:
            count = "SELECT count(DISTINCT url) FROM chunk"
            (pages,) = index.execute(count).fetchone()
            print(
                f"{pages} pages in the index; sitemaps read completely: {report.complete}"
            )


if __name__ == "__main__":
    main()
