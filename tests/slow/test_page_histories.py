"""The recipe for search indexes over whole histories of sites and of their pages."""

from __future__ import annotations

import math
import os
import random
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING

import attrs
import pytest
from clock import SetClock
from histories import HOUR, START
from living_pages import LivingPages
from scale import SCALE
from serving import listen

from sitemapreader.options import FetchOptions
from sitemapreader.recipes.documents import SiteDocuments

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

    from sitemapreader.recipes.documents import PageChange

pytestmark = pytest.mark.slow

OPTIONS = FetchOptions(max_attempts=1, host_pause_seconds=0.01)
REVISIT = timedelta(days=10)
OUTAGE_DAYS = 8
"""An outage of three days, and the next try of a page that has failed as long."""
DAYS = 30
SITES = 2
SIZES = (20, 60)
"""Pages of a sitemap. 100,000 page-days: `TEST_SCALE=28`."""


@attrs.define
class Told:
    """What an index was told, and what was true then. Ages are in days.

    Attributes:
        page_days: pages of the index, summed over days.
        live: deletions of pages that live.
        upserts: texts that were new.
        again: texts that the index had; those that a kill has lost do not count.
        stale: the longest that the index had an old text of a live page.
        dead: the longest that it had a dead page.
        absent: pages that live and are listed, and that a run left out though nobody lied.
        deleted: pages that were deleted.
        asked: requests for pages.
    """

    page_days: float = 0
    live: list[str] = attrs.field(factory=list)
    upserts: int = 0
    again: int = 0
    stale: float = 0
    dead: float = 0
    absent: list[str] = attrs.field(factory=list)
    deleted: int = 0
    asked: int = 0


@attrs.define
class Index:
    """An index of pages, which writes down what was untrue in what it was told.

    Attributes:
        pages: the truth.
        told: the figures.
        texts: URL -> text.
        came: URL -> the hour in which it came.
        doubtful: pages of batches that a kill may have lost.
    """

    pages: LivingPages
    told: Told
    texts: dict[str, str] = attrs.field(factory=dict)
    came: dict[str, float] = attrs.field(factory=dict)
    doubtful: set[str] = attrs.field(factory=set)

    def apply(self, batch: list[PageChange]) -> None:
        site, told = self.pages.site, self.told
        for change in batch:
            url = change.url
            if change.kind == "upsert":
                is_same = self.texts.get(url) == change.text
                told.again += is_same and url not in self.doubtful
                told.upserts += not is_same
                self.texts[url] = change.text
                self.came.setdefault(url, site.hour)
            elif change.kind == "delete":
                if url in site.live:
                    told.live.append(f"{url} at {site.hour:.0f} h")
                told.deleted += self.texts.pop(url, None) is not None
                self.came.pop(url, None)

    def measure(self) -> None:
        """Look how old the texts of the index are, after a run."""
        site, pages, told = self.pages.site, self.pages, self.told
        if pages.is_quiet and site.hour - site.changed > 24 and site.is_truthful:
            told.absent += [
                f"{url} at {site.hour:.0f} h"
                for url in site.listed - self.texts.keys()
                if site.hour - site.pages[url].born > 48
            ]
        for url, text in self.texts.items():
            told_of = text.split()[2]
            assert told_of in site.pages, text
            # A page that has moved is what it leads to, before a list is seen to have that.
            known = [site.pages[told_of].dead, self.came.get(told_of) if told_of != url else None]
            if dead := [hour for hour in known if hour is not None]:
                told.dead = max(told.dead, (site.hour - min(dead)) / 24)
            elif text != pages.text_of(told_of):
                told.stale = max(told.stale, (site.hour - pages.since(told_of)) / 24)


async def live_through(seed: int, db: Path, clock: SetClock, told: Told) -> None:
    """Bring an index in step once or twice a day, and kill some of the runs."""
    choose = random.Random(seed)
    sites: list[LivingPages] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        return await sites[0].answer(request)

    async with listen(answer) as base:
        pages = LivingPages(seed, f"{base}/", SIZES)
        sites.append(pages)
        index = Index(pages, told)
        twice = choose.random() < 0.5
        for half in range(2 * DAYS):
            pages.advance(12)
            if half % 2 and not twice:
                continue
            clock.now = START + pages.site.hour * HOUR
            source = SiteDocuments(pages.site.base, state=db, options=OPTIONS, revisit=REVISIT)
            left = choose.randint(0, 4) if choose.random() < 0.1 else math.inf
            async with aclosing(source.batches()) as batches:
                async for batch in batches:
                    if left == 0:  # killed: the batch was applied, or it was not
                        index.doubtful |= {each.url for each in batch}
                        index.apply(batch[: choose.choice((0, len(batch)))])
                        break
                    index.apply(batch)
                    left -= 1
                else:
                    index.doubtful.clear()
                    index.measure()
            told.page_days += len(index.texts) / (2 if twice else 1)
        told.asked += pages.asked.total()


async def test_an_index_over_histories_of_its_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No live page is deleted, dead ones are, changes are found, and little is added again."""
    first = int(os.environ.get("HISTORIES_FROM", "0"))
    clock = SetClock(monkeypatch, START)
    told = Told()
    for seed in range(first, first + SITES * SCALE):
        await live_through(seed, tmp_path / f"{seed}.db", clock, told)
    assert (told.live, told.absent) == ([], [])
    assert told.deleted > 5 * SITES * SCALE
    assert told.again < 0.01 * told.page_days
    assert told.stale <= REVISIT.days + OUTAGE_DAYS
    # Where every other answer is a fault, what says that it is gone is rarely heard twice in a row.
    assert told.dead <= REVISIT.days + 2 * OUTAGE_DAYS
