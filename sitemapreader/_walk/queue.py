"""The queue of a walk: which sitemap is read next, and when its host may be requested."""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from contextlib import suppress
from itertools import count
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.urls import origin_of
from sitemapreader._walk.sitemap import Sitemap
from sitemapreader._walk.states import SitemapState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sitemapreader.fetch.hosts import HostBreaker


class QueuePlace(NamedTuple):
    """A place in the queue: the lowest is taken first."""

    age: float
    """Rank by `rank_newest` in the order "newest"."""
    rank: float
    """Rank by `SitemapQueue.ranks`."""
    number: int
    """Number of sitemaps that came before."""

    @property
    def may_list_earlier(self) -> bool:
        """True if children of the sitemap may have lower places than other sitemaps."""
        return self.rank < 0


_Placed: TypeAlias = tuple[QueuePlace, Sitemap]


class SitemapQueue:
    """The sitemaps that wait, the first in the order on top; sitemaps of paused hosts stand aside.

    A worker is started for each that is added.
    """

    def __init__(self, order: str, breaker: HostBreaker) -> None:
        self.start_worker: Callable[[], object] = _start_none
        """Starts a worker if there may be one more; `WalkRunner.run` sets it."""
        self.ranks: Mapping[str, float] = {}
        """Key of a URL -> rank of the sitemap: the lowest first, and indexes below 0. Without one
        it has 0."""
        self._order = order
        self._breaker = breaker
        self._numbers = count()
        self._waiting: list[_Placed] = []
        """A heap: the first in the order is on top."""
        self._parked: dict[str, list[_Placed]] = defaultdict(list)
        """Origin that is paused -> the sitemaps that wait for it."""
        self._taken: dict[Sitemap, QueuePlace] = {}
        """The sitemaps that workers have."""
        self._refused: dict[Sitemap, str] = {}
        """Sitemap -> the URL to which it redirects, whose host is paused."""
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """Return how many sitemaps wait or are read."""
        number = len(self._waiting) + len(self._taken)
        for sitemaps in self._parked.values():
            number += len(sitemaps)
        return number

    def count_waiting(self) -> int:
        """Return how many wait for their turn; the ones of paused hosts do not count."""
        return len(self._waiting)

    def has_room(self, capacity: int) -> bool:
        """Return whether fewer than `capacity` wait for their turn."""
        return len(self._waiting) < capacity

    def add(self, sitemap: Sitemap) -> None:
        """Put a sitemap in its place."""
        age = 0.0
        if self._order == "newest":
            age = rank_newest(sitemap.entry)
        place = QueuePlace(
            age,
            rank=self.ranks.get(sitemap.key, 0),
            number=next(self._numbers),
        )
        heapq.heappush(self._waiting, (place, sitemap))
        self._changed.set()
        self.start_worker()

    async def take(self, skip: Callable[[Sitemap, str], object]) -> Sitemap | None:
        """Return the next sitemap, until `release`; `None` when none waits.

        While hosts must not be requested, this waits for the first one that may. `skip` is called
        with each sitemap whose host is given up, and the reason.
        """
        while True:
            picked = self._pick(skip)
            if picked is None and not self._parked:
                return None
            if picked is None:
                await self._wait_for_hosts()
                continue
            place, sitemap = picked
            if not self._must_wait(place):
                sitemap.enter(SitemapState.TAKEN)
                self._taken[sitemap] = place
                if self._parked:
                    self.start_worker()
                return sitemap
            heapq.heappush(self._waiting, picked)
            self._breaker.end_trial(self.find_awaited(sitemap))
            self._changed.clear()
            await self._changed.wait()

    async def _wait_for_hosts(self) -> None:
        """Wait until the first paused host may be requested, or until the queue changes."""
        self._changed.clear()
        pause = min(map(self._breaker.wait, self._parked))
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._changed.wait()

    def note_refusal(self, sitemap: Sitemap, url: str) -> None:
        """Note that a request ended at a URL, after redirects perhaps, whose host is paused."""
        self._refused[sitemap] = url

    def find_awaited(self, sitemap: Sitemap) -> str:
        """Return the URL whose host decides when a sitemap may be requested."""
        return self._refused.get(sitemap, sitemap.entry.loc)

    def release(self, sitemap: Sitemap) -> None:
        """End the work on a sitemap; one that waits again is put aside."""
        place = self._taken.pop(sitemap)
        if sitemap.state.is_queued:
            self._put_aside(place, sitemap)
        self._changed.set()

    def end(self) -> Iterator[Sitemap]:
        """Empty the queue, yield its sitemaps, and ask for no more workers."""
        # Thousands of walks a minute would keep the garbage collector busy with circles of objects:
        # it took a tenth of the time. Without the circle a walk is freed as soon as it is left.
        self.start_worker = _start_none
        self._wake(list(self._parked))
        waiting = sorted(self._waiting)
        self._waiting.clear()
        for _, sitemap in waiting:
            if sitemap.state is SitemapState.WAITING:
                yield sitemap

    def _must_wait(self, place: QueuePlace) -> bool:
        """Return whether a sitemap waits for the children of others that are read now."""
        if not self.ranks or place.may_list_earlier:
            return False
        return any(taken.may_list_earlier for taken in self._taken.values())

    def _pick(self, skip: Callable[[Sitemap, str], object]) -> _Placed | None:
        """Remove and return the next sitemap whose host is ready; park or skip the others."""
        breaker = self._breaker
        if self._parked:
            ready = [each for each in self._parked if breaker.wait(each) in (0, inf)]
            self._wake(ready)
        while self._waiting:
            place, sitemap = heapq.heappop(self._waiting)
            if sitemap.state is not SitemapState.WAITING:
                continue
            url = self.find_awaited(sitemap)
            wait = breaker.wait(url)
            if wait == 0:
                breaker.begin_trial(url)
                return place, sitemap
            if wait == inf:
                reason, _ = breaker.find_reason(url)
                skip(sitemap, reason)
            else:
                sitemap.enter(SitemapState.PARKED)
                self._put_aside(place, sitemap)
        return None

    def _put_aside(self, place: QueuePlace, sitemap: Sitemap) -> None:
        origin = origin_of(self.find_awaited(sitemap))
        self._parked[origin].append((place, sitemap))

    def _wake(self, origins: list[str]) -> None:
        """Put the sitemaps of some hosts back into the queue."""
        for origin in origins:
            for place, sitemap in self._parked.pop(origin):
                if sitemap.state.is_queued:  # else it was merged
                    sitemap.enter(SitemapState.WAITING)
                    heapq.heappush(self._waiting, (place, sitemap))


def _start_none() -> None:
    """Start no worker."""


def rank_newest(entry: SitemapEntry) -> float:
    """Rank roots first, which lead to children; undated ones last."""
    if entry.lastmod is not None:
        return -entry.lastmod.timestamp()
    if entry.via is Via.INDEX:
        return inf
    return -inf
