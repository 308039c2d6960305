"""The sitemaps that a walk knows: to be read, being read, read or skipped."""

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
    """One sitemap of the frontier, before, during or after its reading.

    Attributes:
        entry: the sitemap as it was named, without userinfo.
        parent: the index that lists it.
        depth: how many indexes lie above it.
        referrers: the URLs that led to the sitemap, the nearest last.
        scope: URL prefixes that its entries may have, besides its own folder's: those of sites
            whose robots.txt names it or its index.
        aliases: its URLs as listed and after redirects, and what named it if that was
            no index.
        document: its outcome, once it is opened.
        is_sitemap: resolves to whether the document is a sitemap.
        duplicate_of: the job that reads the same document after a redirect, if there is one.
        is_started: whether a worker has begun with the job.
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
        """Whether another job reads the same document under another URL."""
        document = self.document
        return self.duplicate_of is not None or (
            document is not None and document.reason == ALREADY_READ
        )

    def resolve(self, *, is_sitemap: bool) -> None:
        """Resolve whether this is a sitemap; later calls are ignored."""
        if not self.is_sitemap.done():
            self.is_sitemap.set_result(is_sitemap)

    async def wait_until_known(self) -> bool:
        """Wait until it is known whether this is a sitemap, and return that."""
        job, passed = self, {id(self)}
        while not await job.is_sitemap:
            if job.duplicate_of is None or id(job.duplicate_of) in passed:
                return False
            job = job.duplicate_of
            passed.add(id(job))
        return True

    def descends_from(self, key: str) -> bool:
        """Return whether `key` is of this sitemap or of an index above it."""
        job: Job | None = self
        while job is not None:
            if key in job.aliases:
                return True
            job = job.parent
        return False


def make_root(entry: SitemapEntry, site: str | None) -> Job:
    """Return the job of a sitemap that no index lists."""
    referrers = tuple(url for url in (site, entry.sitemap) if url)
    # https://www.sitemaps.org/protocol.html#sitemaps_cross_submits: the proof of a whole host
    scope = (f"{origin_of(entry.sitemap)}/",) if entry.via is Via.ROBOTS else ()
    aliases = {url_key(entry.sitemap)} if entry.sitemap else set()
    return Job(entry, referrers=referrers, scope=scope, aliases=aliases)


def make_child(entry: SitemapEntry, parent: Job) -> Job:
    """Return the job of a sitemap that an index lists."""
    return Job(
        entry,
        parent,
        parent.depth + 1,
        (*parent.referrers, parent.entry.loc, entry.sitemap),
        parent.scope,
    )


class Frontier:
    """A queue of jobs with each URL once, which knows when no more can come.

    The frontier is open while jobs wait, or while somebody who may add jobs has acquired it.
    `take_job` acquires it for the worker, until `release`. About `capacity` jobs wait at most. As
    many skipped sitemaps are remembered, further ones only counted. All URLs together are bounded
    in bytes.

    Attributes:
        skipped_unnamed: sitemaps that were skipped and not remembered, by reason.
    """

    def __init__(
        self, capacity: int, order: Order = "document", *, breaker: HostBreaker | None = None
    ) -> None:
        self.skipped_unnamed: Counter[str] = Counter()
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
        """Return how many jobs wait, and how many times the frontier is acquired."""
        return len(self._waiting) + len(self._parked) + self._holders

    def find(self, url: str) -> Job | None:
        """Return the job that is known under a URL, in any spelling of it."""
        return self._jobs.get(url_key(url))

    def add(self, job: Job) -> bool:
        """Put a new job in the queue; skip the last jobs in the order if there is no room."""
        key = url_key(job.entry.loc)
        if key not in self._skipped and not self.reserve(job.entry):
            self.skipped_unnamed[IssueCode.BUDGET_MEMORY] += 1
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
        """Record where a job's redirects led; return the job that reads that URL, if any.

        A job that only waits to read the URL becomes a duplicate of this one.
        """
        key = url_key(url)
        known = self._jobs.get(key, job)
        if known is not job and known.is_started:
            return known
        if known is not job:
            known.duplicate_of = job
            known.resolve(is_sitemap=False)  # `wait_until_known` asks the other job
        self._jobs[key] = job
        job.aliases.add(key)
        return None

    def skip(self, entry: SitemapEntry, reason: str) -> None:
        """Remember that a sitemap is not fetched, unless it is known already."""
        key = url_key(entry.loc)
        if key in self._jobs or key in self._skipped:
            return
        if len(self._skipped) < self._capacity and self.reserve(entry):
            self._skipped[key] = entry, reason
        else:
            self.skipped_unnamed[reason] += 1

    def drop_job(self, job: Job, reason: str) -> None:
        """Skip a job that was in the queue or taken."""
        del self._jobs[url_key(job.entry.loc)]
        self.free(job.entry)
        self.skip(job.entry, reason)

    def reserve(self, entry: SitemapEntry) -> bool:
        """Reserve memory for the URL of a sitemap; return whether there is enough."""
        size = _size_of(entry)
        if size > self._bytes_left:
            return False
        self._bytes_left -= size
        return True

    def free(self, entry: SitemapEntry) -> None:
        """Give back the memory that was reserved for a sitemap."""
        self._bytes_left += _size_of(entry)

    def skipped(self) -> Iterator[tuple[SitemapEntry, str]]:
        """Yield the skipped sitemaps that were remembered, with their reasons."""
        yield from self._skipped.values()

    def listed(self) -> set[str]:
        """Return the keys of all sitemaps that were named, without duplicates."""
        read = {url_key(job.entry.loc) for job in self._jobs.values() if not job.is_duplicate}
        return read | self._skipped.keys()

    def skip_waiting(self, reason: str) -> None:
        """Skip all jobs in the queue."""
        waiting = [self._waiting.pop() for _ in range(len(self._waiting))]
        for job in (*self._parked.drain(), *waiting):
            if job.duplicate_of is None:
                self.drop_job(job, reason)

    def postpone(self, job: Job) -> None:
        """Put back a taken job, because its host must not be asked for a while."""
        job.is_started = False
        self._parked.park_first(job.entry.loc, job)

    def acquire(self) -> None:
        """Keep the frontier open: the caller may add jobs."""
        self._holders += 1

    def release(self) -> None:
        """Undo one `acquire`; the last one closes the frontier, unless jobs wait."""
        self._holders -= 1
        self._changed.set()

    async def take_job(self) -> Job | None:
        """Return the next job, and acquire the frontier; `None` when no more can come."""
        while True:
            job = self._pick()
            if job is not None:
                job.is_started = True
                self.acquire()
                return job
            if not self._holders and not self._parked:
                return None
            self._changed.clear()
            if not self._parked:  # making a timeout costs more than this wait
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
        """Return whether the host of a job may be asked; else park or skip the job."""
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
    """Return the bytes of a URL as listed and of its key."""
    # Python takes four bytes for each character of a text with an emoji, so `len` is too little.
    key = url_key(entry.loc)
    size = sys.getsizeof(entry.loc)
    return size if key is entry.loc else size + sys.getsizeof(key)
