"""Whole histories of sites: no listed page is unlisted, and no live page is gone."""

from __future__ import annotations

import asyncio
import math
import os
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import attrs
import pytest

from sitemapreader import Changes, Limits, walk
from sitemapreader._types.models import Change
from sitemapreader._types.outcomes import NOT_DUE
from sitemapreader.changes import State
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.clock import SetClock
from tests.support.histories import HOUR, START, Site
from tests.support.scale import SCALE
from tests.support.walking import SITE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.slow

DAYS = 40
LONGEST = 10
"""After how many honest days each dead page is told."""
RECENT = 30
"""Hours since a page was in no list that was asked, within which that may be told."""
FORGOTTEN = 14
"""The same for a page of a sitemap that is no more, and is still named."""
SEEDS = {0.0: [4, 5, 6, 7, 30, 1003, 81026], 0.7: [133, 137, 900159]}
"""The share of rounds -> histories in which a former law called live pages gone and listed ones
unlisted, and did not tell dead ones. `TEST_SCALE=312` looks at 2,500, which are 100,000 days."""


@attrs.define
class Told:
    """What the walks over one site have told.

    Attributes:
        new: how often each URL was new.
        told: how often each URL was unlisted or gone, and so may be new again.
        gone: the hour in which each page became gone.
        wrong: what was untrue.
        listed: live URLs that an honest reading could see in a list.
        shown: the same, in feeds as well.
        days: on how many honest days each dead page could be found.
        missing: the hour of the last walk at which each page was in no list, in truth, or in one
            that was left unasked since.
    """

    new: Counter[str] = attrs.field(factory=Counter)
    told: Counter[str] = attrs.field(factory=Counter)
    gone: dict[str, float] = attrs.field(factory=dict)
    wrong: list[str] = attrs.field(factory=list)
    listed: set[str] = attrs.field(factory=set)
    shown: set[str] = attrs.field(factory=set)
    days: Counter[str] = attrs.field(factory=Counter)
    missing: dict[str, float] = attrs.field(factory=dict)


class SiteFetcher(MemoryFetcher):
    """Serves a site of the model to one walk, with its caches and its slowness."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.serve(START + site.hour * HOUR) | site.serve_pages())
        self._eager = {f"{SITE}{name}" for name in site.eager}
        self._slow = (
            {f"{SITE}{name}" for name in site.children} if site.budget else set()
        )
        self._left = site.budget

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Answer, say that nothing has changed, or let a sitemap of a slow site wait for ever."""
        names = {name.lower() for name in headers or {}}
        if url in self._eager and names & {"if-none-match", "if-modified-since"}:
            self.requested.append(url)
            yield StoredResponse(url, status=304, headers={"etag": '"of another"'})
            return
        if url in self._slow:
            if self._left == 0:
                await asyncio.sleep(60)
            self._left -= 1
        async with super().open(url, headers=headers) as response:
            yield response


async def live_through(
    site: Site, seed: int, db: Path, clock: SetClock, days: int, rounds: float
) -> Told:
    """Walk over a site once or twice a day, with a clock that is set back and forward.

    A share of the walks are `rounds`, which ask for a few documents.
    """
    told, choose = Told(), random.Random(seed)
    offset, twice, last, latest = 0.0, choose.random() < 0.5, 0.0, 0.0
    for half in range(2 * days):
        site.advance(12 + choose.uniform(-0.2, 0.2))
        if half % 2 and not twice:
            continue
        if choose.random() < 0.02:
            offset -= choose.uniform(0, 48 * HOUR)
        if choose.random() < 0.02:
            offset += choose.uniform(0, 10 * HOUR)
        if choose.random() < 0.01 and site.is_quiet and not site.is_failing:
            offset += 30 * 24 * HOUR
        clock.now = START + site.hour * HOUR + offset
        # A lie of a day that the clock says lasts a year is a lie of a year.
        is_ahead = choose.random() < 0.01 and site.is_quiet and not site.is_failing
        if is_ahead:
            clock.now += choose.choice((35, 400, 4_000)) * 24 * HOUR
        revisit = choose.randint(1, 4) if rounds and choose.random() < rounds else None
        limit = choose.choice((0, 3, 1_000, 1_000))
        await _walk(site, db, told, revisit, limit)
        if revisit or is_ahead:
            continue
        # The clock of the state stands still after it was set back, until it has caught up.
        latest = max(latest, clock.now)
        is_plain = site.is_honest and site.mood == "truth" and site.is_truthful
        if (
            is_plain
            and limit == 1_000
            and not site.budget
            and latest - last >= 23 * HOUR
        ):
            told.days.update(
                url for url, page in site.pages.items() if page.dead is not None
            )
            last = latest
    return told


async def _walk(
    site: Site, db: Path, told: Told, revisit: int | None, limit: int
) -> None:
    if site.is_honest and not revisit and not site.budget:
        site.believed = site.hour
        told.listed |= site.listed
        told.shown |= site.listed | site.recent
    most = timedelta(seconds=0.1) if site.budget else None
    async with walk(
        SITE,
        fetcher=SiteFetcher(site),
        state=Changes(State(db), revisit=revisit),
        unique=True,
        limits=Limits(max_time=most),
    ) as entries:
        new = [
            entry.loc
            async for batch in entries.batches()
            for entry in batch
            if entry.change is Change.NEW
        ]
        unlisted: list[str] = []
        gone: list[str] = []
        if entries.report.unlisted is not None:
            unlisted = [row.loc for row in entries.unlisted()]
            gone = [page.loc async for page in entries.gone(limit)]
    hour = f"{site.hour:.0f} h"
    told.new.update(new)
    told.wrong += [
        f"{url} was new {told.new[url]} times, told {told.told[url]} times at {hour}"
        for url in {*new} - {site.nowhere}
        if told.new[url] > 1 + told.told[url]
    ]
    told.missing |= dict.fromkeys(told.new.keys() - site.listed, site.hour)
    asked = {each.url for each in entries.report.documents if each.reason != NOT_DUE}
    told.missing |= {
        url: site.hour
        for url in told.missing.keys() & site.listed
        # A round leaves lists for another time: what they lacked, nobody has seen again.
        if site.hour - told.missing[url] <= RECENT
        and f"{SITE}{site.pages[url].home}" not in asked
    }
    told.wrong += [
        f"{url} is listed, unlisted at {hour}"
        for url in {*unlisted} & site.listed
        # A list that was empty for two days may be whole again since it was read.
        if site.hour - told.missing.get(url, -math.inf) > RECENT
    ]
    told.wrong += [f"{url} lives, gone at {hour}" for url in {*gone} & site.live]
    again = ({*gone} & told.gone.keys()) - {*new} - {site.nowhere}
    told.wrong += [
        f"{url} became gone again at {hour}" for url in again if told.new[url] < 2
    ]
    told.told.update({*unlisted, *gone})
    told.gone |= dict.fromkeys(gone, site.hour)


def judge(seed: int, db: Path, clock: SetClock, rounds: float) -> tuple[list[str], int]:
    """Return what was untrue in one history, and how many dead pages were gone."""
    site = Site(seed, has_more=rounds > 0 and seed % 2 == 1, is_troubled=True)
    told = asyncio.run(live_through(site, seed + 1, db, clock, DAYS, rounds))
    wrong = [f"{seed}: {line}" for line in told.wrong]
    if site.is_quiet and site.is_truthful:
        unseen = told.shown & site.live - told.new.keys()
        wrong += [f"{seed}: {url} was never delivered" for url in unseen]
    late = [
        page
        for page in site.pages.values()
        # A page that no honest reading could see was never delivered, and a site that asks for
        # some documents only finds a loss when the turn of its document comes.
        if page.dead is not None and page.home and not rounds
        if page.url in (told.listed & told.new.keys()) - told.told.keys()
        if told.days[page.url] > (FORGOTTEN if page.home in site.ended else LONGEST)
    ]
    wrong += [
        f"{seed}: {page.url} of {page.home} died at {page.dead:.0f} h, and nobody said so"
        f" ({told.days[page.url]} days)"
        for page in late
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
