"""Whole histories of sites: no listed page is unlisted, and no live page is gone."""

from __future__ import annotations

import os
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import attrs
import pytest
from clock import SetClock
from histories import HOUR, START, Site
from scale import SCALE
from walking import SITE

from sitemapreader.changes import State
from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.models import Change
from sitemapreader.options import FetchOptions
from sitemapreader.walker import walk_sync

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

OPTIONS = FetchOptions(max_attempts=1)

DAYS = 40
SEEDS = {0.0: [11, 13], 0.7: [1, 6, 9, 11, 12]}
"""The share of rounds -> those of the first 16 histories that notice each of seven breaks of the
law, most of them twice. `TEST_SCALE=312` looks at 2,500, which are 100,000 site-days."""


@attrs.define
class Told:
    """What the walks over one site have told.

    Attributes:
        new: how often each URL was new.
        unlisted: the hour in which each URL became unlisted.
        gone: how often each page was gone.
        wrong: what was untrue.
        listed: live URLs that an honest reading could see in a list.
        shown: the same, in feeds as well.
        chances: how many readings could have found the loss of a page.
    """

    new: Counter[str] = attrs.field(factory=Counter)
    unlisted: dict[str, float] = attrs.field(factory=dict)
    gone: Counter[str] = attrs.field(factory=Counter)
    wrong: list[str] = attrs.field(factory=list)
    listed: set[str] = attrs.field(factory=set)
    shown: set[str] = attrs.field(factory=set)
    chances: Counter[str] = attrs.field(factory=Counter)


def live_through(
    site: Site, seed: int, db: Path, clock: SetClock, days: int, rounds: float
) -> Told:
    """Walk over a site once or twice a day, with a clock that is set back and forward.

    A share of the walks are `rounds`, which ask for a few documents.
    """
    told, choose = Told(), random.Random(seed)
    offset, twice, last, latest = 0.0, choose.random() < 0.5, 0.0, 0.0
    changed, met = site.changed, 0.0
    for half in range(2 * days):
        site.advance(12 + choose.uniform(-0.2, 0.2))
        if half % 2 and not twice:
            continue
        if choose.random() < 0.02:
            offset -= choose.uniform(0, 48 * HOUR)
        if choose.random() < 0.02:
            offset += choose.uniform(0, 10 * HOUR)
        if choose.random() < 0.01 and site.is_quiet:
            offset += 30 * 24 * HOUR
        clock.now = START + site.hour * HOUR + offset
        revisit = choose.randint(1, 4) if rounds and choose.random() < rounds else None
        _walk(site, db, told, revisit, choose.choice((0, 3, 1_000)))
        if revisit:
            continue
        if changed != site.changed:
            changed, met = site.changed, site.hour
        # A loss is judged a day later. For the state a clock that was set back stands still until
        # it has caught up.
        latest = max(latest, clock.now)
        is_settled = site.hour - met >= 23
        is_plain = site.is_quiet and is_settled and site.is_truthful
        if is_plain and latest - last >= 23 * HOUR:
            told.chances.update(url for url, page in site.pages.items() if page.dead is not None)
        if not is_plain or latest - last >= 23 * HOUR:
            last = latest  # a day of the state that began in trouble may end a day later
    return told


def _walk(site: Site, db: Path, told: Told, revisit: int | None, limit: int) -> None:
    if site.is_honest and not revisit:
        site.believed = site.hour
        told.listed |= site.listed
        told.shown |= site.listed | site.recent
    fetcher = MemoryFetcher(site.serve(START + site.hour * HOUR) | site.serve_pages())
    state = State(db)
    with walk_sync(
        SITE, fetcher=fetcher, state=state, changes=True, unique=True, revisit=revisit
    ) as entries:
        told.new.update(
            entry.loc
            for batch in entries.batches()
            for entry in batch
            if entry.change is Change.NEW
        )
        unlisted = [row.loc for row in entries.unlisted()]
        documents = len(fetcher.requested)
        gone = [page.loc for page in entries.gone(limit)]
    hour, asked = f"{site.hour:.0f} h", set(fetcher.requested[documents:])
    told.wrong += [f"{url} is listed, unlisted at {hour}" for url in {*unlisted} & site.listed]
    told.wrong += [f"{url} lives, gone at {hour}" for url in {*gone} & site.live]
    again = {*unlisted} & {*told.unlisted} - {site.nowhere}
    told.wrong += [f"{url} became unlisted again at {hour}" for url in again]
    told.unlisted |= dict.fromkeys(unlisted, site.hour)
    told.gone.update(gone)
    # Where what is asked tells the truth, and a control page lives, each answer counts.
    if site.mood == "truth" and asked & site.listed:
        if limit == 1_000:
            told.wrong += [f"{url} was not asked at {hour}" for url in {*unlisted} - asked]
        known = {row.loc for row in state.unlisted()}
        dead = (asked & known) - site.live
        told.wrong += [f"{url} was asked at {hour}, and is not gone" for url in dead - {*told.gone}]


def judge(seed: int, db: Path, clock: SetClock, rounds: float) -> tuple[list[str], int]:
    """Return what was untrue in one history, and how many dead pages were gone."""
    site = Site(seed, has_more=rounds > 0 and seed % 2 == 1)
    told = live_through(site, seed + 1, db, clock, DAYS, rounds)
    wrong = [f"{seed}: {line}" for line in told.wrong]
    twice = {url: n for url, n in told.new.items() if n > 1 and url != site.nowhere}
    wrong += [f"{seed}: {url} was new {n} times" for url, n in twice.items()]
    wrong += [
        f"{seed}: {url} was gone {n} times"
        for url, n in told.gone.items()
        if n > 1 and url != site.nowhere
    ]
    if site.is_quiet and site.is_truthful:
        unseen = told.shown & site.live - told.new.keys()
        wrong += [f"{seed}: {url} was never delivered" for url in unseen]
    dead = [page for page in site.pages.values() if page.dead is not None and page.home]
    wrong += [
        f"{seed}: {page.url} died at {page.dead:.0f} h, and nobody said so"
        for page in dead
        # Within two readings; a sitemap that was itself taken away meanwhile is confirmed first.
        # One of which no word was seen to tell of a change proves nothing in the walk that finds a
        # loss: only from the next one on are its bytes asked for.
        if page.url in (told.listed & told.new.keys()) - told.unlisted.keys()
        and told.chances[page.url] > 2 - (page.home in site.children) + site.has_steady
    ]
    return wrong, len(told.gone)


def _judge_some(seeds: list[int], folder: str, rounds: float) -> tuple[list[str], int]:
    from pathlib import Path  # noqa: PLC0415 (a process of its own)

    wrong: list[str] = []
    reported = 0
    with pytest.MonkeyPatch.context() as patch:
        clock = SetClock(patch)
        for seed in seeds:
            db = Path(folder) / f"{seed}.db"
            found, removed = judge(seed, db, clock, rounds)
            wrong, reported = wrong + found, reported + removed
            for path in Path(folder).glob(f"{seed}.db*"):
                path.unlink()
    return wrong, reported


@pytest.mark.parametrize("rounds", SEEDS)
def test_histories(tmp_path: Path, rounds: float) -> None:
    """No live page is gone, no listed one unlisted, each is new once, whatever is answered."""
    first, processes = int(os.environ.get("HISTORIES_FROM", "0")), os.cpu_count() or 1
    is_more = SCALE > 1 or first
    seeds = [*range(first, first + 8 * SCALE)] if is_more else SEEDS[rounds]
    with ProcessPoolExecutor(processes) as pool:
        jobs = [
            pool.submit(_judge_some, seeds[k::processes], str(tmp_path), rounds)
            for k in range(processes)
        ]
        results = [job.result() for job in jobs]
    wrong = [line for lines, _ in results for line in lines]
    assert not wrong, "\n".join(wrong[:20])
    assert sum(reported for _, reported in results) > 5 * len(seeds)
