"""Walks that are killed at random moments, and resumed until they come to their end.

What all processes of a walk wrote must be the URLs of the site, each at least once; and after each
kill at most the last batch may come twice.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random

BATCH = 500
"""Entries that may come twice after a kill, as the docstring of `walk` says."""

WORKER = """
import asyncio, os, sys
from sitemapreader import walk
from sitemapreader.fetch import FolderFetcher

async def main(site, state, output, changes):
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    fetcher = FolderFetcher(site, "https://www.example.org/")
    async with walk(
        sitemaps=["https://www.example.org/index.xml"],
        fetcher=fetcher,
        state=state,
        changes=changes == "changes",
    ) as entries:
        async for batch in entries.batches():
            data = "".join([entry.loc[-9:] + "\\n" for entry in batch]).encode()
            while data:
                data = data[os.write(file, data):]
    assert entries.report.complete, entries.report.issues

asyncio.run(main(*sys.argv[1:]))
"""


class Life(NamedTuple):
    """One walk: how often it was killed, how many URLs came, how many of them twice."""

    kills: int
    urls: int
    repeated: int
    seconds: float


def make_site(folder: Path, urls: int, children: int) -> None:
    """Write an index and its gzip children; each URL ends with its number, in nine digits."""
    head = '<?xml version="1.0"?><{} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    names = []
    for child in range(children):
        numbers = range(urls * child // children, urls * (child + 1) // children)
        records = "".join(
            f"<url><loc>https://www.example.org/page/{number:09d}</loc>"
            f"<lastmod>2024-01-{number % 28 + 1:02d}</lastmod></url>"
            for number in numbers
        )
        data = f"{head.format('urlset')}{records}</urlset>".encode()
        (folder / f"{child}.xml.gz").write_bytes(gzip.compress(data, 1))
        names.append(f"<sitemap><loc>https://www.example.org/{child}.xml.gz</loc></sitemap>")
    index = f"{head.format('sitemapindex')}{''.join(names)}</sitemapindex>"
    (folder / "index.xml").write_text(index, encoding="utf-8")


def live(site: Path, changes: str, rng: random.Random, longest: float) -> Life:
    """Walk to the end, and kill it on the way whenever `longest` seconds leave room for that."""
    with tempfile.TemporaryDirectory() as name:
        state, output = Path(name, "site.db"), Path(name, "urls")
        output.touch()
        command = [sys.executable, "-c", WORKER, str(site), str(state), str(output), changes]
        kills, start = 0, time.perf_counter()
        while True:
            process = subprocess.Popen(command)
            try:
                patience = longest * (1 + kills / 10)  # on a busy machine some would never end
                code = process.wait(rng.uniform(0, patience) if longest else None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
                cut_torn_line(output)
                continue
            if code:
                raise SystemExit(f"the walk failed with {code} after {kills} kills")
            seconds = time.perf_counter() - start
            numbers = [int(line) for line in output.read_bytes().split()]
            return Life(kills, len(set(numbers)), len(numbers) - len(set(numbers)), seconds)


def cut_torn_line(output: Path) -> None:
    """Cut off what the kill left of a line, as any program that goes on with a file has to."""
    with output.open("rb+") as file:
        file.seek(max(0, output.stat().st_size - 64))
        tail = file.read()
        file.truncate(output.stat().st_size - (len(tail) - tail.rfind(b"\n") - 1))
