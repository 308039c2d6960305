"""The sitemaps that a walk knows: to be read, being read, read or skipped."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import attrs

from sitemapreader.fetch.retries import HostBreaker
from sitemapreader.issues import IssueCode
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.options import FRONTIER_BYTES_PER_DOCUMENT, FetchOptions
from sitemapreader.outcomes import ASKED_FOR, Document, Status
from sitemapreader.urls import origin_of, url_key
from sitemapreader.walker.queues import (
    Order,
    PackedEntry,
    ParkedItems,
    SitemapQueue,
    pack_entry,
    size_of,
    unpack_entry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_NO_PARENT = -1
_Waiting: TypeAlias = tuple[PackedEntry, int]
"""A sitemap that waits, and the number of the index that lists it."""


@attrs.define(eq=False)
class Job:
    """One sitemap of the frontier that is read, or whose outcome somebody waits for."""

    entry: SitemapEntry
    key: str
    parent: Job | None = None
    depth: int = 0
    referrers: tuple[str, ...] = ()
    """The URLs that led to the sitemap, the nearest last."""
    scope: tuple[str, ...] = ()
    """URL prefixes that its entries may have, besides its own folder's: those of sites whose
    robots.txt names it or its index."""
    aliases: set[str] = attrs.field(factory=set)
    """The keys of its URLs as listed and after redirects, and of what named it if that was not an
    index."""
    document: Document | None = None
    is_sitemap: asyncio.Future[bool] = attrs.field(
        factory=lambda: asyncio.get_running_loop().create_future()
    )
    duplicate_of: Job | Document | None = None
    """The job that reads the same document after a redirect, or its outcome."""
    is_started: bool = False
    number: int = _NO_PARENT
    """Of this index among those whose children wait."""
    feed: Job | None = None
    """The first page of the feed that this is a later page of."""
    pages: int = 1
    """How many pages of the feed were added, if this is its first one."""
    last_read: int | None = None
    """The run of the state that read it last, if it has not changed since."""

    def find_original(self) -> Job | Document:
        """Return the outcome of what this duplicates, or a job in a circle."""
        job: Job | Document = self
        passed: set[int] = set()
        while isinstance(job, Job) and job.duplicate_of is not None and id(job) not in passed:
            passed.add(id(job))
            job = job.duplicate_of
        if isinstance(job, Job) and job.duplicate_of is None and job.document is not None:
            return job.document
        return job

    def waits_as(self, key: str) -> bool:
        """Return whether the job waits to read the sitemap with this key."""
        return self.key == key and not self.is_started

    def resolve(self, *, is_sitemap: bool) -> None:
        """Resolve whether this is a sitemap; later calls are ignored."""
        if not self.is_sitemap.done():
            self.is_sitemap.set_result(is_sitemap)

    async def wait_until_known(self) -> bool:
        """Wait until it is known whether this is a sitemap, and return that."""
        job, passed = self, {id(self)}
        while not await job.is_sitemap:
            other = job.duplicate_of
            if isinstance(other, Document):
                return other.format is not None
            if other is None or id(other) in passed:
                return False
            job = other
            passed.add(id(job))
        return True

    def leads_up(self, url: str) -> bool:
        """Return whether redirects to a URL lead back to what names the sitemap."""
        if url == self.entry.loc:  # nearly always
            return False
        key = url_key(url)
        return key != self.key and self.descends_from(key)

    def descends_from(self, key: str) -> bool:
        """Return whether `key` is of this sitemap or of an index above it."""
        job: Job | None = self
        while job is not None:
            if key in job.aliases:
                return True
            job = job.parent
        return False


def _make_root(entry: SitemapEntry, site: str | None) -> Job:
    """Return the job of a sitemap that no index lists."""
    key = url_key(entry.loc)
    referrers = tuple(url for url in (site, entry.sitemap) if url)
    # https://www.sitemaps.org/protocol.html#sitemaps_cross_submits: the proof of a whole host
    scope = (f"{origin_of(entry.sitemap)}/",) if entry.via is Via.ROBOTS else ()
    named_by = () if entry.via.is_guess else referrers
    aliases = {key, *map(url_key, named_by)}
    return Job(entry, key, referrers=referrers, scope=scope, aliases=aliases)


def _make_child(entry: SitemapEntry, parent: Job) -> Job:
    """Return the job of a sitemap that an index lists, or of the next page of a feed."""
    key = url_key(entry.loc)
    referrers = (*parent.referrers, parent.entry.loc, entry.sitemap)
    feed = (parent.feed or parent) if entry.via is Via.PAGE else None
    depth = parent.depth + (feed is None)
    return Job(entry, key, parent, depth, referrers, parent.scope, {key}, feed=feed)


def _is_wrong_guess(known: object) -> bool:
    """Return whether there is no sitemap at a path that was guessed."""
    return (
        isinstance(known, Document)
        and known.via is Via.WELL_KNOWN
        and known.status is Status.SKIPPED
    )


def _start_none() -> None:
    """Start no worker: nobody takes the sitemaps, or the walk is over."""


class Frontier:
    """The queue of sitemaps, each URL once, which asks for workers as needed.

    A sitemap is packed while it waits, a Job while it is read, and its Document afterwards. About
    `capacity` sitemaps wait at most. As many skipped ones are remembered, further ones only
    counted. All URLs together are bounded in bytes.
    """

    def __init__(
        self,
        capacity: int,
        order: Order = "document",
        *,
        site: str | None = None,
        breaker: HostBreaker | None = None,
        start_worker: Callable[[], object] = _start_none,
    ) -> None:
        self.skipped_unnamed: Counter[str] = Counter()
        self._capacity = capacity
        self._bytes_left = capacity * FRONTIER_BYTES_PER_DOCUMENT
        self._site = site
        self._known: dict[str, _Waiting | Job | Document] = {}
        self._parents: list[Job] = []
        self._unlisted: set[str] = set()
        self._skipped: dict[str, tuple[PackedEntry, str]] = {}
        self._waiting = SitemapQueue[str](order, capacity)
        self._breaker = breaker or HostBreaker(FetchOptions())
        self._parked = ParkedItems[str](self._breaker)
        self._start_worker = start_worker
        self._holders = 0
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """Return how many sitemaps wait, and how many times the frontier is acquired."""
        return len(self._waiting) + len(self._parked) + self._holders

    def __contains__(self, url: str) -> bool:
        """Return whether a URL is known, in any spelling, and not skipped."""
        return url_key(url) in self._known

    def find(self, url: str) -> Job | Document | None:
        """Return the job that reads or will read a URL, in any spelling, or its outcome."""
        key = url_key(url)
        known = self._known.get(key)
        return self._make_job(key, known) if isinstance(known, tuple) else known

    def add_root(self, entry: SitemapEntry) -> None:
        """Add a sitemap that no index lists, unless it is known."""
        key = url_key(entry.loc)
        if key not in self._known:
            self._add(key, entry, _NO_PARENT)

    def add_child(self, entry: SitemapEntry, parent: Job) -> None:
        """Add a sitemap that an index lists, unless it is known."""
        key = url_key(entry.loc)
        if key in self._known:
            return
        if parent.number == _NO_PARENT:
            parent.number = len(self._parents)
            self._parents.append(parent)
        self._add(key, entry, parent.number)

    def _add(self, key: str, entry: SitemapEntry, parent: int) -> None:
        """Put a sitemap in the queue; skip the last ones in the order if there is no room."""
        if key not in self._skipped and not self.reserve(entry.loc):
            self.skipped_unnamed[IssueCode.BUDGET_MEMORY] += 1
            return
        self._known[key] = pack_entry(entry), parent
        self._skipped.pop(key, None)
        for each in self._waiting.push(entry, key):
            self._drop_waiting(each, IssueCode.BUDGET_DOCUMENTS)
        self._changed.set()
        self._start_worker()

    def _make_job(self, key: str, waiting: _Waiting) -> Job:
        """Unpack a sitemap that waits."""
        packed, number = waiting
        entry = unpack_entry(packed)
        if number == _NO_PARENT:
            job = _make_root(entry, self._site)
        else:
            job = _make_child(entry, self._parents[number])
        self._known[key] = job
        return job

    def register_redirect(self, job: Job, url: str) -> Job | Document | None:
        """Record where a job's redirects led; return what has that URL already, if any.

        A sitemap that only waits to be read under that URL becomes a duplicate of this one.
        """
        key = url_key(url)
        known = self._known.get(key)
        if isinstance(known, Document):
            return known
        if isinstance(known, Job) and known is not job:
            if known.is_started:
                return known
            known.duplicate_of = job
            known.resolve(is_sitemap=False)  # `wait_until_known` asks the other job
        self._known[key] = job
        job.aliases.add(key)
        if key != job.key:
            self._unlisted.add(key)
        return None

    def finish_job(self, job: Job) -> None:
        """Keep only the outcome of a job that was taken, if it has one."""
        outcome = job.duplicate_of or job.document
        if outcome is None:
            return
        if job.duplicate_of is not None:
            self._unlisted.add(job.key)
        for key in job.aliases:
            if self._known.get(key) is job:
                self._known[key] = outcome

    def skip(self, entry: SitemapEntry, reason: str) -> None:
        """Remember that a sitemap is not fetched, unless it is known already."""
        self._skip(url_key(entry.loc), pack_entry(entry), reason)

    def _skip(self, key: str, packed: PackedEntry, reason: str) -> None:
        if key in self._known or key in self._skipped:
            return
        if len(self._skipped) < self._capacity and self.reserve(packed[0]):
            self._skipped[key] = packed, sys.intern(str(reason))
        else:
            self.skipped_unnamed[reason] += 1

    def drop_job(self, job: Job, reason: str) -> None:
        """Skip a job that was taken."""
        self._drop(job.key, pack_entry(job.entry), reason)

    def _drop_waiting(self, key: str, reason: str) -> None:
        """Skip a sitemap that was in the queue, unless another one reads its document."""
        known = self._known[key]
        if isinstance(known, tuple):
            self._drop(key, known[0], reason)
        elif isinstance(known, Job) and known.waits_as(key):
            self.drop_job(known, reason)
            known.resolve(is_sitemap=False)

    def _drop(self, key: str, packed: PackedEntry, reason: str) -> None:
        del self._known[key]
        self.free(packed[0])
        self._skip(key, packed, reason)

    def reserve(self, url: str) -> bool:
        """Reserve memory for the URL of a sitemap; return whether there is enough."""
        size = size_of(url)
        if size > self._bytes_left:
            return False
        self._bytes_left -= size
        return True

    def free(self, url: str) -> None:
        """Give back the memory that was reserved for a sitemap."""
        self._bytes_left += size_of(url)

    def skipped(self) -> Iterator[tuple[SitemapEntry, str]]:
        """Yield the skipped sitemaps that were remembered, with their reasons."""
        for packed, reason in self._skipped.values():
            yield unpack_entry(packed), reason

    def relist(self, job: Job) -> None:
        """Count a duplicate among the sitemaps again."""
        self._unlisted.discard(job.key)

    def listed(self) -> dict[str, bool]:
        """Return the key of each sitemap but duplicates -> whether it was wanted."""
        read = {
            key: True
            for key, known in self._known.items()
            if key not in self._unlisted and not _is_wrong_guess(known)
        }
        return read | {key: reason not in ASKED_FOR for key, (_, reason) in self._skipped.items()}

    def end(self, reason: str) -> None:
        """Skip all sitemaps in the queue, and ask for no more workers."""
        # Thousands of walks a minute would keep the garbage collector busy with circles of objects:
        # it took a tenth of the time. Without the circle a walk is freed as soon as it is left.
        self._start_worker = _start_none
        waiting = [self._waiting.pop() for _ in range(len(self._waiting))]
        for key in (*self._parked.drain(), *waiting):
            self._drop_waiting(key, reason)

    def postpone(self, job: Job) -> None:
        """Put back a taken job, because its host must not be asked for a while."""
        job.is_started = False
        self._parked.park_first(job.entry.loc, job.key)

    def acquire(self) -> None:
        """Count the caller as pending, until `release`: it may add sitemaps."""
        self._holders += 1

    def release(self) -> None:
        """Undo one `acquire`."""
        self._holders -= 1
        self._changed.set()

    async def take_job(self) -> Job | None:
        """Return the next job, and acquire the frontier; `None` when none waits.

        While hosts must not be asked, this waits for the first one that may.
        """
        while True:
            job = self._pick()
            if job is not None:
                job.is_started = True
                self.acquire()
                if self._parked:
                    self._start_worker()
                return job
            if not self._parked:
                return None
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._parked.get_wait()):
                    await self._changed.wait()

    def _pick(self) -> Job | None:
        """Remove and return the next job whose host may be asked."""
        while self._waiting or self._parked:
            key = self._parked.pop_ready() if self._parked else None
            if key is None:
                if not self._waiting:
                    return None
                key = self._waiting.pop()
            job = self._known.get(key)
            if isinstance(job, tuple):
                job = self._make_job(key, job)
            # If another sitemap's redirects led to this one meanwhile, that one reads it.
            if isinstance(job, Job) and job.waits_as(key) and self._may_begin(job):
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
            self._parked.park(url, job.key)
            return False
        breaker.begin_trial(url)
        return True
