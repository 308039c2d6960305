"""The sitemaps that a walk has still to read, and those that it knows already."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from sitemapreader.fetch.breaker import HostBreaker
from sitemapreader.issues import IssueCode
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.options import FRONTIER_BYTES_PER_DOCUMENT, FetchOptions
from sitemapreader.outcomes import ALREADY_READ
from sitemapreader.urls import origin_of, url_key
from sitemapreader.walker.queues import Order, ParkedItems, SitemapQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.outcomes import Document


@attrs.define(eq=False)
class Job:
    """One sitemap that is to be read, is being read, or was.

    Attributes:
        entry: as it was named, without userinfo.
        parent: the index that lists it.
        depth: how many indexes lie above it.
        referrers: the URLs that led to it, the nearest last.
        scope: URL prefixes that its entries may have, besides its own folder's: those of sites
            whose robots.txt names it or its index.
        aliases: its URLs as listed and after redirects, and what named it if that was
            no index.
        document: its outcome, once it is opened.
        is_sitemap: whether it turned out to be a sitemap.
        duplicate_of: the job that reads the same document, if one of them redirects to the other.
        is_started: whether somebody has begun with it.
    """

    entry: SitemapEntry
    parent: Job | None = None
    depth: int = 0
    referrers: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    aliases: set[str] = attrs.field(factory=set)
    document: Document | None = None
    is_sitemap: asyncio.Future[bool] = attrs.field(
        factory=lambda: asyncio.get_running_loop().create_future()
    )
    duplicate_of: Job | None = None
    is_started: bool = False

    @property
    def is_duplicate(self) -> bool:
        """Tell whether it leads to what is read under another name."""
        document = self.document
        return self.duplicate_of is not None or (
            document is not None and document.reason == ALREADY_READ
        )

    def resolve(self, *, is_sitemap: bool) -> None:
        """Say whether it is a sitemap; the first word counts."""
        if not self.is_sitemap.done():
            self.is_sitemap.set_result(is_sitemap)

    async def wait_until_known(self) -> bool:
        """Wait until it is known whether it is a sitemap."""
        job, passed = self, {id(self)}
        while not await job.is_sitemap:
            if job.duplicate_of is None or id(job.duplicate_of) in passed:
                return False
            job = job.duplicate_of
            passed.add(id(job))
        return True

    def descends_from(self, key: str) -> bool:
        """Tell whether `key` is its own, or one of those that led to it."""
        job: Job | None = self
        while job is not None:
            if key in job.aliases:
                return True
            job = job.parent
        return False


def make_root(entry: SitemapEntry, site: str | None) -> Job:
    """Make the job of a sitemap that no index lists."""
    referrers = tuple(url for url in (site, entry.sitemap) if url)
    # https://www.sitemaps.org/protocol.html#sitemaps_cross_submits: the proof of a whole host
    scope = (f"{origin_of(entry.sitemap)}/",) if entry.via is Via.ROBOTS else ()
    aliases = {url_key(entry.sitemap)} if entry.sitemap else set()
    return Job(entry, referrers=referrers, scope=scope, aliases=aliases)


def make_child(entry: SitemapEntry, parent: Job) -> Job:
    """Make the job of a sitemap that an index lists."""
    return Job(
        entry,
        parent,
        parent.depth + 1,
        (*parent.referrers, parent.entry.loc, entry.sitemap),
        parent.scope,
    )


class Frontier:
    """A queue of jobs, each URL once; knows when there can be no more.

    It is open as long as somebody holds it who may still add: `take` holds it for the job that it
    returns until `release`. About `capacity` jobs wait at most; and of what was refused, so many
    are remembered, the rest counted. All their URLs together are bounded in bytes.
    """

    def __init__(
        self, capacity: int, order: Order = "document", *, breaker: HostBreaker | None = None
    ) -> None:
        self.skipped_uncounted: Counter[str] = Counter()
        self._capacity = capacity
        self._bytes_left = capacity * FRONTIER_BYTES_PER_DOCUMENT
        self._jobs: dict[str, Job] = {}
        self._waiting = SitemapQueue[Job](order, capacity)
        self._skipped: dict[str, tuple[SitemapEntry, str]] = {}
        self._breaker = breaker or HostBreaker(FetchOptions())
        self._parked = ParkedItems[Job](self._breaker)
        self._holders = 0
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """Return how many jobs wait or are being done; one more while somebody may still add."""
        return len(self._waiting) + len(self._parked) + self._holders

    def find(self, url: str) -> Job | None:
        """Return the job that is known under a URL, in any of its spellings."""
        return self._jobs.get(url_key(url))

    def add(self, job: Job) -> bool:
        """Put a new job in the queue; refuse what has no room, it or another that waits."""
        key = url_key(job.entry.loc)
        if key not in self._skipped and not self.reserve(job.entry):
            self.skipped_uncounted[IssueCode.BUDGET_MEMORY] += 1
            return False
        job.aliases.add(key)
        self._jobs[key] = job
        surplus = self._waiting.push(job.entry, job)
        for each in surplus:
            if each.duplicate_of is None:
                self.drop_job(each, IssueCode.BUDGET_DOCUMENTS)
                each.resolve(is_sitemap=False)
        if job in surplus:
            return False
        self._skipped.pop(key, None)
        self._changed.set()
        return True

    def register_redirect(self, job: Job, url: str) -> Job | None:
        """Note where a job's redirects led; return the job that reads that already, if one does.

        One that only waits to read it need not any more.
        """
        key = url_key(url)
        known = self._jobs.get(key, job)
        if known is not job and known.is_started:
            return known
        if known is not job:
            known.duplicate_of = job
            known.resolve(is_sitemap=False)  # `wait_until_known` goes on to ask the other one
        self._jobs[key] = job
        job.aliases.add(key)
        return None

    def skip(self, entry: SitemapEntry, reason: str) -> None:
        """Remember that a sitemap is not fetched, unless it is known, or gets in by another way."""
        key = url_key(entry.loc)
        if key in self._jobs or key in self._skipped:
            return
        if len(self._skipped) < self._capacity and self.reserve(entry):
            self._skipped[key] = entry, reason
        else:
            self.skipped_uncounted[reason] += 1

    def drop_job(self, job: Job, reason: str) -> None:
        """Refuse a job that was taken after all."""
        del self._jobs[url_key(job.entry.loc)]
        self.free(job.entry)
        self.skip(job.entry, reason)

    def reserve(self, entry: SitemapEntry) -> bool:
        """Reserve the memory that the URL of a sitemap takes; return whether there is enough."""
        size = _size_of(entry)
        if size > self._bytes_left:
            return False
        self._bytes_left -= size
        return True

    def free(self, entry: SitemapEntry) -> None:
        """Give back what was reserved for a sitemap."""
        self._bytes_left += _size_of(entry)

    def skipped(self) -> Iterator[tuple[SitemapEntry, str]]:
        """Yield what was refused, and why; what was only counted is in `skipped_uncounted`."""
        yield from self._skipped.values()

    def listed(self) -> set[str]:
        """Return the keys of all that was named, but for what turned out to be another's copy."""
        read = {url_key(job.entry.loc) for job in self._jobs.values() if not job.is_duplicate}
        return read | self._skipped.keys()

    def skip_waiting(self, reason: str) -> None:
        """Refuse all that is in the queue."""
        waiting = [self._waiting.pop() for _ in range(len(self._waiting))]
        for job in (*self._parked.drain(), *waiting):
            if job.duplicate_of is None:
                self.drop_job(job, reason)

    def postpone(self, job: Job) -> None:
        """Put back a job that was taken, and whose host is left alone for a while."""
        job.is_started = False
        self._parked.park_first(job.entry.loc, job)

    def acquire(self) -> None:
        """Keep it open: there may come more."""
        self._holders += 1

    def release(self) -> None:
        """Give up one hold; the last one closes it, unless jobs wait."""
        self._holders -= 1
        self._changed.set()

    async def take(self) -> Job | None:
        """Return the next job, and hold the frontier for it; `None` when there can be no more."""
        while True:
            job = self._pick()
            if job is not None:
                job.is_started = True
                self.acquire()
                return job
            if not self._holders and not self._parked:
                return None
            self._changed.clear()
            if not self._parked:  # a timeout costs more than the wait that it is for
                await self._changed.wait()
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._parked.get_wait()):
                    await self._changed.wait()

    def _pick(self) -> Job | None:
        """Remove and return the next job whose host may be asked."""
        while self._waiting or self._parked:
            job = self._parked.pop_ready() if self._parked else None
            if job is None:
                if not self._waiting:
                    return None
                job = self._waiting.pop()
            if job.duplicate_of is None and self._may_begin(job):
                return job
        return None

    def _may_begin(self, job: Job) -> bool:
        """Tell whether the host of a job may be asked; else park the job, or drop it."""
        breaker, url = self._breaker, job.entry.loc
        if breaker.is_quiet:
            return True
        if reason := breaker.find_reason(url):
            self.drop_job(job, reason)
            job.resolve(is_sitemap=False)
            return False
        if breaker.get_wait(url):
            self._parked.park(url, job)
            return False
        breaker.begin_trial(url)
        return True


def _size_of(entry: SitemapEntry) -> int:
    """Return the bytes of a URL as listed and of its key; four a character, if one is an emoji."""
    key = url_key(entry.loc)
    size = sys.getsizeof(entry.loc)
    return size if key is entry.loc else size + sys.getsizeof(key)
