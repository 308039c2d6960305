"""How long reading blocks an event loop: every corpus, walked and fed by hand.

    python benchmarks/latency.py [--corpus urlset.xml ...] [--json FILE]

During the work a probe sleeps for a millisecond again and again; the gap is how much later it runs.
`feed` gives pieces of 64 KiB to a `SitemapReader`, one in each round of the event loop, as a server
with its own network would; all other figures are of `walk`.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

import targets
from corpora import CORPORA
from measuring import describe_machine
from tables import print_machine, print_table, write_json

from sitemapreader import SitemapEntry, SitemapReader, walk
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

URL = "https://www.example.com/sitemap.xml"
CHUNK_BYTES = 65_536
NAP_SECONDS = 0.001
SITEMAPS_AT_ONCE = 4
"""Copies of the corpus that one walk reads."""


async def feed(data: bytes) -> None:
    """Feed a reader, and drop what it gives."""
    reader = SitemapReader(URL)
    for start in range(0, len(data), CHUNK_BYTES):
        reader.feed(data[start : start + CHUNK_BYTES])
        await asyncio.sleep(0)
    reader.close()


async def walk_batches(data: bytes) -> None:
    """Walk in lists."""
    async with walk(**_make_walk(data)) as entries:
        async for _ in entries.batches():
            pass


async def walk_entries(data: bytes) -> None:
    """Walk one by one."""
    async with walk(**_make_walk(data)) as entries:
        async for _ in entries:
            pass


def _follow_nothing(entry: SitemapEntry) -> bool:
    del entry
    return False


def _make_walk(data: bytes) -> dict[str, Any]:
    urls = [f"{URL}?{number}" for number in range(SITEMAPS_AT_ONCE)]
    fetcher = MemoryFetcher(dict.fromkeys(urls, data))
    return {"sitemaps": urls, "fetcher": fetcher, "follow": _follow_nothing}


WAYS: dict[str, Callable[[bytes], Awaitable[None]]] = {
    "feed": feed,
    "batches": walk_batches,
    "async for": walk_entries,
}


async def probe(gaps: list[float]) -> None:
    """Record how late every turn comes, in milliseconds, until cancelled."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(NAP_SECONDS)
        gaps.append(1000 * (time.perf_counter() - start - NAP_SECONDS))


async def measure(work: Awaitable[None]) -> list[float]:
    """Do some work beside a probe; return the gaps."""
    gaps: list[float] = []
    probing = asyncio.create_task(probe(gaps))
    await asyncio.sleep(NAP_SECONDS)
    await work
    await asyncio.sleep(2 * NAP_SECONDS)  # the last gap is seen, too
    probing.cancel()
    return gaps


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--corpus", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    machine = describe_machine(["sitemapreader"])
    print_machine(machine)
    rows = []
    for name in arguments.corpus:
        data = CORPORA[name]().data
        for way, work in WAYS.items():
            gaps = asyncio.run(measure(work(data)))
            most = quantiles(gaps, n=100)[98] if len(gaps) > 1 else gaps[0]
            rows.append((name, way, len(gaps), median(gaps), most, max(gaps)))
    head = ("corpus", "way", "turns", "median ms", "99 of 100", "worst")
    print_table("Milliseconds that the event loop was held up", head, rows)
    figures = {
        "worst": max(row[5] for row in rows),
        "99 of 100": max(row[4] for row in rows),
    }
    verdicts = targets.judge("latency", figures)
    targets.print_verdicts(verdicts)
    write_json(
        arguments.json,
        {
            "machine": machine,
            "results": [dict(zip(head, row, strict=True)) for row in rows],
            "targets": targets.as_json(verdicts),
        },
    )


if __name__ == "__main__":
    main()
