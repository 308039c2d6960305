"""`watch` that is killed at any moment: every new URL is delivered, and next to none twice."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from sitemapreader import Changes, State, walk_sync, watch
from sitemapreader.fetch.local import FolderFetcher
from tests.support.commands import wait_until
from tests.support.scale import SCALE
from tests.support.walking import SITE, index, urlset

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SPEED = 20_000
"""How much faster the clock of the watch runs."""
BEGAN = time.time()
MAPS = 4
KILLS = 6


def read_fast_clock() -> float:
    return 1_790_000_000 + (time.time() - BEGAN) * SPEED


def publish(folder: Path, numbers: range) -> None:
    """Write the sitemaps, each URL in one of them."""
    for name in range(MAPS):
        mine = (f"{SITE}{number}" for number in numbers if number % MAPS == name)
        temporary = folder / "new"
        temporary.write_bytes(urlset(*mine))
        temporary.rename(folder / f"{name}.xml")


def run_watch(folder: Path, db: Path, output: Path) -> None:
    """Watch, and append what is delivered, until killed."""

    async def work() -> None:
        changes = watch(
            [SITE],
            state=State(db, clock=read_fast_clock),
            fetcher=FolderFetcher(folder, SITE),
            tick_seconds=0.005,
            pace=60,
        )
        with output.open("a") as file:
            async with changes:
                async for _, entries in changes.batches():
                    file.write(
                        "".join(f"{entry.change} {entry.loc}\n" for entry in entries)
                    )
                    file.flush()

    asyncio.run(work())


def test_kills(tmp_path: Path) -> None:
    """Each new URL is delivered by one of the watches; each kill repeats one batch at most."""
    folder, output, choose = tmp_path / "site", tmp_path / "found", random.Random(27)
    folder.mkdir()
    (folder / "robots.txt").write_text(f"Sitemap: {SITE}top.xml\n")
    (folder / "top.xml").write_bytes(
        index(*(f"{SITE}{name}.xml" for name in range(MAPS)))
    )
    output.touch()
    process = multiprocessing.get_context("fork")
    known = last = 40
    publish(folder, range(last))
    fetcher, db = FolderFetcher(folder, SITE), tmp_path / "state.db"
    with walk_sync(
        SITE, state=Changes(State(db, clock=read_fast_clock)), fetcher=fetcher
    ) as entries:
        assert len(list(entries)) == known  # what was there before is no news
    for kill in range(KILLS * SCALE + 1):
        child = process.Process(target=run_watch, args=(folder, db, output))
        child.start()
        for _ in range(choose.randint(2, 50) if kill < KILLS * SCALE else 0):
            time.sleep(0.01)
            if choose.random() < 0.2:
                last += choose.randint(1, 3)
                publish(folder, range(last))
        if kill == KILLS * SCALE:
            wait_until(lambda news=f"{SITE}{last - 1}\n": news in output.read_text())  # type: ignore[misc]
            time.sleep(0.5)
        child.kill()
        child.join()
    told = Counter(output.read_text().splitlines())
    assert told.keys() == {f"new {SITE}{number}" for number in range(known, last)}
    assert last > known + 3 * KILLS
    assert sum(told.values()) - len(told) <= KILLS * SCALE
