"""A watch over sites of which pages come, move and die, while their servers lie now and then."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Changes, Limits, State, walk_many, watch
from sitemapreader._types.models import Change
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.clock import DAY, HOUR, PassingTime
from tests.support.histories import START, Site
from tests.support.scale import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sitemapreader._types.models import UrlEntry

pytestmark = [pytest.mark.slow, pytest.mark.long]

DAYS = 24
STEP_HOURS = 12.0
JUMPS = {5: -DAY, 12: -400 * DAY, 20: 3 * DAY}
"""Days at which a clock changes -> by how much."""
TELLING = (9, 12)
"""Sites whose URLs were told twice when readings one after the other were taken for proof."""


class Histories(PassingTime):
    """Sites whose time passes while a watch waits, and what was told of them.

    Attributes:
        wrong_by: seconds by which the clock of the watch is wrong.
        jumps: days at which that changes -> by how much.
    """

    def __init__(self, seeds: Iterable[int], jumps: dict[int, float]) -> None:
        super().__init__()
        self.wrong_by = 0.0
        self.jumps = jumps
        bases = {seed: f"https://s{seed}.example/" for seed in seeds}
        self.sites = {
            base: Site(seed, base, has_more=seed % 2 == 1)
            for seed, base in bases.items()
        }
        self.first = {url for site in self.sites.values() for url in site.live}
        self.pages: dict[str, Any] = {}
        self.fetcher = MemoryFetcher(self.pages)
        self.new: Counter[str] = Counter()
        self.delays: list[float] = []
        self.gone: set[str] = set()
        self.wrong: list[str] = []
        self.serve()

    def read(self) -> float:
        """Return the seconds since 1970 by the clock of the watch."""
        return START + self.passed + self.wrong_by

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        before = self.passed // DAY
        await super().sleep(seconds)
        for day in range(int(before) + 1, int(self.passed // DAY) + 1):
            self.wrong_by += self.jumps.get(day, 0.0)
        if (
            self.passed / HOUR
            >= min(site.hour for site in self.sites.values()) + STEP_HOURS
        ):
            for site in self.sites.values():
                site.advance(STEP_HOURS)
            self.serve()

    def serve(self) -> None:
        """Answer as the servers do at this hour."""
        self.pages.clear()
        for site in self.sites.values():
            self.pages.update(site.serve(START + site.hour * HOUR) | site.serve_pages())

    def take(self, entry: UrlEntry) -> None:
        """Judge an entry, and count for how long its page had been there."""
        site = self.sites[entry.loc[: entry.loc.index("/", 8) + 1]]
        page = site.pages[entry.loc]
        if entry.change is Change.NEW:
            self.new[entry.loc] += 1
            if page.born and page.home and site.is_quiet and site.is_truthful:
                self.delays.append(self.passed / HOUR - page.born)
        elif entry.change is Change.GONE and page.dead is None:
            self.wrong.append(
                f"{entry.loc} lives, {entry.change} at {self.passed / HOUR:.0f} h"
            )
        elif entry.change is Change.GONE:
            self.gone.add(entry.loc)

    async def watch(
        self, db: Path, pace: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Watch the sites, then read all of them once more."""
        self.take_over(monkeypatch)
        state = State(db, clock=self.read)
        options = FetchOptions(max_attempts=1)
        ends = timedelta(days=DAYS)
        async with watch(
            list(self.sites),
            pace=pace,
            tick_seconds=HOUR,
            limits=Limits(max_time=ends),
            state=state,
            fetcher=self.fetcher,
            options=options,
        ) as found:
            async for entry in found:
                self.take(entry)
        for site in self.sites.values():
            while not site.is_quiet:
                site.advance(STEP_HOURS)
        self.serve()
        self.passed += 9 * DAY
        async with walk_many(
            list(self.sites),
            state=Changes(state),
            fetcher=self.fetcher,
            unique=True,
            options=options,
        ) as run:
            async for _, entries in run.batches():
                for entry in entries:
                    self.take(entry)


async def test_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """URLs are told once and soon, none that lives is gone, and none is missed for good.

    The clock is right for five days, and jumps three times then.
    """
    told = Histories([*TELLING, *range(13, 7 + 6 * SCALE)], JUMPS)
    await told.watch(tmp_path / "state.db", 1.0, monkeypatch)
    nowhere = {site.nowhere for site in told.sites.values()}
    twice = [url for url, n in told.new.items() if n > 1 and url not in nowhere]
    assert (told.wrong, twice) == ([], [])
    for site in told.sites.values():
        if site.is_truthful:
            assert site.listed - told.first - told.new.keys() == set()
    assert len(told.new) > 50 * SCALE
    assert len(told.gone) > 10 * SCALE
    assert median(told.delays) < 6
