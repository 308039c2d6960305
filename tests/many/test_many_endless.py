"""Lists of sites without an end: sources that wait, and what is kept of the others."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from sitemapreader import Search, SiteOutcome, SiteRun, walk_many, walk_many_sync
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.output import write_sites_sync
from tests.support.walking import Pages, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def make_web(*hosts: str) -> Pages:
    pages: Pages = {}
    for host in hosts:
        pages[f"https://{host}/robots.txt"] = f"Sitemap: https://{host}/s.xml".encode()
        pages[f"https://{host}/s.xml"] = urlset(f"https://{host}/1")
    return pages


async def take_all(run: SiteRun) -> None:
    async with run:
        async for _ in run.batches():
            pass


FAST = [f"fast{number}.example" for number in range(20)]


async def test_a_source_that_waits_holds_up_nobody() -> None:
    """A generator that waits for its next line runs in a thread: sites are read meanwhile."""
    is_read = threading.Event()

    def lines() -> Iterator[str]:
        yield FAST[0]
        assert is_read.wait(60)
        yield FAST[1]

    found = []
    async with walk_many(lines(), fetcher=MemoryFetcher(make_web(*FAST))) as run:
        async for site, _ in run.batches():
            found.append(site)
            is_read.set()
    assert found == FAST[:2]


@pytest.mark.parametrize("error", [LookupError, TimeoutError])
async def test_a_source_that_fails(error: type[Exception]) -> None:
    """What it raises is raised to the consumer, after all sites before."""

    def lines() -> Iterator[str]:
        yield FAST[0]
        raise error("no such table")

    with pytest.raises(error, match="no such table"):
        await take_all(walk_many(lines(), fetcher=MemoryFetcher(make_web(*FAST))))


@pytest.mark.parametrize("is_told", [True, False])
async def test_outcomes_that_somebody_gets_are_not_kept(*, is_told: bool) -> None:
    """With `on_site` the list stays empty: of an endless list it would fill the memory."""
    told: list[SiteOutcome] = []
    on_site = told.append if is_told else None
    async with walk_many(
        FAST, fetcher=MemoryFetcher(make_web(*FAST)), on_site=on_site
    ) as run:
        async for _ in run.batches():
            pass
    assert len(told if is_told else run.outcomes) == len(FAST)
    assert is_told is not bool(run.outcomes)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_report_has_all_outcomes_whoever_else_gets_them(
    tmp_path: Path, form: str
) -> None:
    """`write` puts each outcome into its report as it comes, those before it as well."""
    told: list[SiteOutcome] = []
    path = tmp_path / f"sites.{form}"
    start = walk_many_sync(
        FAST, fetcher=MemoryFetcher(make_web(*FAST)), on_site=told.append
    )
    with start as run:
        time.sleep(0.2)
        write_sites_sync(run, tmp_path / "urls.csv", report=path)
        assert run.outcomes == []
    if form == "parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).num_rows
    else:
        rows = len(path.read_text().splitlines()) - (form == "csv")
    assert rows == len(told) == len(FAST)


async def test_an_endless_list_is_left() -> None:
    """A run over a list without an end gives what it has read, and ends when it is left."""
    names = (f"s{number}.example" for number in count())
    run = walk_many(names, fetcher=MemoryFetcher({}), search=Search(probe="never"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(take_all(run), 0.2)
    assert run.outcomes
