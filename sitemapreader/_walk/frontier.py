"""The sitemaps that a walk knows: to be read, being read, read or skipped."""

from __future__ import annotations

import asyncio
import heapq
import sys
from collections import Counter, defaultdict
from contextlib import suppress
from itertools import count
from math import inf
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.dates import is_since
from sitemapreader._types.issues import IssueCode, make_issue, without_userinfo
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.options import FRONTIER_BYTES_PER_DOCUMENT, MAX_URL_CHARS
from sitemapreader._types.outcomes import (
    ASKED_FOR,
    NOT_DUE,
    NOT_FOLLOWED,
    NOT_MODIFIED,
    Document,
    Status,
    make_document,
)
from sitemapreader._types.urls import is_file_url, origin_of, url_key
from sitemapreader.fetch.hosts import HostBreaker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sitemapreader._walk.config import WalkConfig
    from sitemapreader._walk.context import WalkContext


# Ten thousand of these wait where an index is large, and Python's garbage collector goes through
# all of them in one piece: so each is one object besides its entry, and makes others when needed.
@attrs.define(eq=False, weakref_slot=False)
class Job:
    """One sitemap of the frontier: it waits, is read, or has its outcome."""

    entry: SitemapEntry
    key: str
    parent: Job | None = None
    depth: int = 0
    named_by: tuple[str, ...] = ()
    """The URLs that led to the sitemap, if no index lists it."""
    scope: tuple[str, ...] = ()
    """URL prefixes that its entries may have, besides its own folder's: the sites whose
    robots.txt names it or its index."""
    aliases: tuple[str, ...] = ()
    """The keys of its URLs after redirects, and of its parent if that was not an index."""
    document: Document | None = None
    duplicate_of: Job | None = None
    """The job that reads the same document, after a redirect."""
    is_moved: bool = False
    """True if the state has read it at this address, and another job reads it now."""
    is_started: bool = False
    is_restored: bool = False
    """True if its children come from an earlier reading."""
    place: tuple[int, float, float, int] = (0, 0.0, 0, 0)
    """Place in the queue: in the order, by rank, then as they came."""
    _is_sitemap: bool | None = attrs.field(default=None, init=False)
    _known: asyncio.Event | None = attrs.field(default=None, init=False)

    @property
    def referrers(self) -> tuple[str, ...]:
        """The URLs that led to the sitemap, the nearest last; a file of the caller is no place."""
        if self.parent is None or is_file_url(self.parent.entry.loc):
            return self.named_by
        return (*self.parent.referrers, self.parent.entry.loc, self.entry.sitemap)

    def resolve(self, *, is_sitemap: bool) -> None:
        """Resolve whether this is a sitemap; later calls are ignored."""
        if self._is_sitemap is None:
            self._is_sitemap = is_sitemap
            if self._known is not None:
                self._known.set()

    async def wait_until_known(self) -> bool:
        """Wait until it is known whether this is a sitemap, and return that."""
        if self._is_sitemap is None:
            self._known = self._known or asyncio.Event()
            await self._known.wait()
        if self.duplicate_of is not None:
            return await self.duplicate_of.wait_until_known()
        return bool(self._is_sitemap)

    def leads_up(self, url: str) -> bool:
        """Return whether redirects to a URL lead back to a parent of the sitemap."""
        if url == self.entry.loc:  # nearly always
            return False
        key = url_key(url)
        return key != self.key and self.descends_from(key)

    def descends_from(self, key: str) -> bool:
        """Return whether `key` is of this sitemap or of an index above it."""
        job: Job | None = self
        while job is not None:
            if key == job.key or key in job.aliases:
                return True
            job = job.parent
        return False

    @property
    def is_ranked_first(self) -> bool:
        """True if its children may be wanted before other sitemaps."""
        return self.place[2] < 0

    @property
    def is_wanted(self) -> bool:
        """True if the site has a sitemap at this address."""
        is_skipped = (
            self.document is not None and self.document.status is Status.SKIPPED
        )
        is_wrong = is_skipped and self.entry.via.is_guess
        return not self.is_moved and (self.duplicate_of is not None or not is_wrong)


def _rank_newest(entry: SitemapEntry) -> tuple[int, float]:
    """Rank roots first, which lead to children; undated ones last."""
    if entry.lastmod is not None:
        return 1, -entry.lastmod.timestamp()
    return (2 if entry.via is Via.INDEX else 0), 0.0


def _size_of(url: str) -> int:
    """Return the bytes of a URL as listed and of its key."""
    # Python takes four bytes for each character of a text with an emoji, so `len` is too little.
    key = url_key(url)
    return sys.getsizeof(url) + (0 if key is url else sys.getsizeof(key))


class Frontier:
    """The queue of sitemaps, each URL once, which starts workers as needed.

    `limits.documents` sitemaps wait at most. As many skipped ones are remembered, further ones only
    counted. All URLs together are bounded in bytes.
    """

    def __init__(
        self,
        context: WalkContext,
        config: WalkConfig,
        start_worker: Callable[[], object],
    ) -> None:
        self.context = context
        self.config = config
        self.skipped_unnamed: Counter[str] = Counter()
        self.digests: set[bytes] = set()
        """Digests of the bytes of the indexes that were read."""
        self.idle: frozenset[str] = frozenset()
        """Keys of URLs of children that this walk has nothing to do with."""
        self.ranks: Mapping[str, float] = {}
        """Key of a URL -> rank of the sitemap: the lowest first, and indexes below 0. Without one
        it has 0."""
        self._ranked_first = 0
        """Number of sitemaps with a rank below 0 in work: all others wait for their children."""
        self._capacity = context.limits.documents
        self._bytes_left = self._capacity * FRONTIER_BYTES_PER_DOCUMENT
        self._jobs: dict[str, Job] = {}
        self.skipped: dict[str, tuple[SitemapEntry, str]] = {}
        """The skipped sitemaps that are remembered, with their reasons, by key."""
        self.asked: dict[str, Document] = {}
        """Key -> the document of a skipped one that was requested before its host was paused."""
        self._numbers = count()
        self._waiting: list[tuple[tuple[int, float, float, int], Job]] = []
        """A heap: the first in the order is on top."""
        self._parked: defaultdict[str, list[Job]] = defaultdict(list)
        """Origin that is paused -> the jobs that wait for it."""
        # a search tries few documents, whatever became of the others
        if config.reads:
            self._breaker = context.breaker
        else:
            self._breaker = HostBreaker(context.options)
        self._start_worker = start_worker
        self._taken = 0
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        """Return how many sitemaps wait or are read."""
        return len(self._waiting) + sum(map(len, self._parked.values())) + self._taken

    def find(self, url: str) -> Job | None:
        """Return the job that reads, will read or has read a URL, in any spelling."""
        return self._jobs.get(url_key(url))

    def add_root(self, entry: SitemapEntry) -> None:
        """Add a sitemap that no index lists, unless it is known."""
        named_by = tuple(
            url for url in (self.config.site, entry.sitemap) if origin_of(url)
        )
        # https://www.sitemaps.org/protocol.html#sitemaps_cross_submits: the proof of a whole host
        is_proof = entry.via is Via.ROBOTS and not is_file_url(entry.sitemap)
        scope = (f"{origin_of(entry.sitemap)}/",) if is_proof else ()
        aliases = () if entry.via.is_guess else tuple(map(url_key, named_by))
        self._add(
            Job(
                entry,
                url_key(entry.loc),
                named_by=named_by,
                scope=scope,
                aliases=aliases,
            )
        )

    def add_child(self, entry: SitemapEntry, parent: Job) -> None:
        """Add a sitemap of an index, unless it is known."""
        self._add(
            Job(entry, url_key(entry.loc), parent, parent.depth + 1, scope=parent.scope)
        )

    def _add(self, job: Job) -> None:
        """Put a sitemap in the queue unless it is known, or skip it if there is no room."""
        if job.key in self._jobs:
            return
        if len(self._waiting) >= self._capacity:
            self.skip(job.entry, IssueCode.BUDGET_DOCUMENTS)
            return
        if job.key not in self.skipped and not self.reserve(job.entry.loc):
            self.skipped_unnamed[IssueCode.BUDGET_MEMORY] += 1
            return
        self._jobs[job.key] = job
        self.skipped.pop(job.key, None)
        if self.config.order == "newest":
            rank = _rank_newest(job.entry)
        else:
            rank = (0, 0.0)
        job.place = (*rank, self.ranks.get(job.key, 0), next(self._numbers))
        heapq.heappush(self._waiting, (job.place, job))
        self._changed.set()
        self._start_worker()

    def register_redirect(self, job: Job, url: str) -> bool:
        """Record where a job's redirects led; return whether another job reads that URL.

        A sitemap that only waits to be read under that URL becomes a duplicate of this one.
        """
        key = url_key(url)
        known = self._jobs.get(key)
        if known is not None and known is not job:
            # else they lead to each other
            if known.is_started and known.duplicate_of is None:
                job.duplicate_of = known
                return True
            known.duplicate_of = job
            known.resolve(is_sitemap=False)
        self._jobs[key] = job
        job.aliases += (key,)
        return False

    def skip(self, entry: SitemapEntry, reason: str) -> None:
        """Remember that a sitemap is not fetched, unless it is known already."""
        key = url_key(entry.loc)
        if key in self._jobs or key in self.skipped:
            return
        if len(self.skipped) < self._capacity and self.reserve(entry.loc):
            self.skipped[key] = entry, sys.intern(str(reason))
        else:
            self.skipped_unnamed[reason] += 1

    def drop_job(self, job: Job, reason: str) -> None:
        """Skip a job that waits or was taken."""
        del self._jobs[job.key]
        if job.document is not None:
            self.asked[job.key] = job.document
        self.free(job.entry.loc)
        self.skip(job.entry, reason)
        job.resolve(is_sitemap=False)

    def _is_waiting(self, job: Job) -> bool:
        """Return whether no other job reads its document, after a redirect."""
        return self._jobs.get(job.key) is job and not job.is_started

    def reserve(self, url: str) -> bool:
        """Reserve memory for the URL of a sitemap; return whether there is enough."""
        has_room = (size := _size_of(url)) <= self._bytes_left
        self._bytes_left -= size if has_room else 0
        return has_room

    def free(self, url: str) -> None:
        """Give back the memory that was reserved for a sitemap."""
        self._bytes_left += _size_of(url)

    def listed(self) -> dict[str, bool]:
        """Return the key of each sitemap but duplicates -> whether it was wanted."""
        read = {
            key: True
            for key, job in self._jobs.items()
            if key == job.key and job.is_wanted
        }
        # No loss waits for the next page of a feed, which is a window with or without it.
        left = {
            key: reason not in ASKED_FOR
            for key, (_, reason) in self.skipped.items()
            if reason != IssueCode.FEED_HAS_MORE
        }
        return read | left

    def end(self, reason: str) -> None:
        """Skip all sitemaps in the queue, and ask for no more workers."""
        # Thousands of walks a minute would keep the garbage collector busy with circles of objects:
        # it took a tenth of the time. Without the circle a walk is freed as soon as it is left.
        self._start_worker = lambda: None
        self._unpark(self._parked)
        for _, job in sorted(self._waiting):
            if self._is_waiting(job):
                self.drop_job(job, reason)
        self._waiting.clear()

    # -- the workers

    def postpone(self, job: Job) -> None:
        """Put back a taken job, because its host is paused for a while."""
        job.is_started = False
        self._parked[origin_of(job.entry.loc)].append(job)

    def _unpark(self, origins: Iterable[str]) -> None:
        for origin in [*origins]:
            for job in self._parked.pop(origin):
                heapq.heappush(self._waiting, (job.place, job))

    def release(self, job: Job) -> None:
        """End a job that was taken."""
        self._taken -= 1
        self._ranked_first -= job.is_ranked_first
        self._changed.set()

    async def take_job(self) -> Job | None:
        """Return the next job, until `release`; `None` when none waits.

        While hosts must not be asked, this waits for the first one that may.
        """
        while True:
            job = self._pick()
            if job is not None and self._ranked_first and not job.is_ranked_first:
                heapq.heappush(self._waiting, (job.place, job))
                self._breaker.end_trial(job.entry.loc)
                self._changed.clear()
                await self._changed.wait()
                continue
            if job is not None:
                job.is_started = True
                self._taken += 1
                self._ranked_first += job.is_ranked_first
                if self._parked:
                    self._start_worker()
                return job
            if not self._parked:
                return None
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(map(self._breaker.wait, self._parked))):
                    await self._changed.wait()

    def _pick(self) -> Job | None:
        """Remove and return the next job whose host is ready; park or skip the others."""
        self._unpark(
            origin for origin in self._parked if self._breaker.wait(origin) in (0, inf)
        )
        while self._waiting:
            _, job = heapq.heappop(self._waiting)
            url = job.entry.loc
            if not self._is_waiting(job):
                continue
            wait = self._breaker.wait(url)
            if wait == 0:
                self._breaker.begin_trial(url)
                return job
            if wait == inf:
                self.drop_job(job, self._breaker.find_reason(url)[0])
            else:
                self._parked[origin_of(url)].append(job)
        return None


# -- what a document adds to it


class Children:
    """The children of one document: added to the frontier at once, or when it ends."""

    # With order="newest" children are held because the newest may be the last one. Those of an
    # index in an index are held until its bytes are known to be new: an index with relative
    # children that lists itself under ever longer URLs has no end.

    def __init__(self, frontier: Frontier, job: Job, document: Document) -> None:
        self._context = frontier.context
        self._config = frontier.config
        self._frontier = frontier
        self._job = job
        self._document = document
        self._number = 0
        self.are_wanted = False
        """True if `follow` was called for them."""
        self._held: list[SitemapEntry] = []
        # Also where some rank before others: the last child may be the first.
        is_sorted = self._config.order == "newest" or bool(frontier.ranks)
        self._is_held = bool(job.depth) or is_sorted
        self._cycles: set[str] = set()
        """Keys of the document and those above it that it lists."""
        self._skipped: dict[IssueCode, tuple[str, int]] = {}
        """Why children were skipped -> the first one, and how many."""

    async def add(self, entries: list[SitemapEntry]) -> None:
        """Add children to the frontier, or hold them until the document ends."""
        for entry in entries:
            await self._context.loop_share.yield_if_due()
            self._number += 1
            if len(entry.loc) > MAX_URL_CHARS:  # too long for any server
                self._skip(entry, IssueCode.CHILD_URL_TOO_LONG)
            elif self._number > self._context.limits.children:
                self._skip(entry, IssueCode.BUDGET_CHILDREN)
            elif not self._is_held:
                await self._add(entry)
            elif self._frontier.reserve(entry.loc):
                self._held.append(entry)
            else:
                self._skip(entry, IssueCode.BUDGET_MEMORY)

    async def end(self, digest: bytes | None) -> None:
        """Add the held children, and report the skipped ones.

        `digest` is that of the document's bytes if it is an index.
        """
        digests = self._frontier.digests
        is_duplicate = bool(self._job.depth) and digest in digests
        if self._held and is_duplicate:
            await self.report(IssueCode.DUPLICATE_DOCUMENT)
        if digest is not None:
            digests.add(digest)
        for entry in self._take_held():
            await self._context.loop_share.yield_if_due()
            self._frontier.free(entry.loc)
            if is_duplicate:
                self._frontier.skip(entry, IssueCode.DUPLICATE_DOCUMENT)
            else:
                await self._add(entry)
        for code, (first, number) in self._skipped.items():
            await self.report(code, first, value=f"{number} children")

    def _take_held(self) -> list[SitemapEntry]:
        """Return the held children; of the undated ones, the last first."""
        if self._config.order == "document":
            return self._held
        dated = [entry for entry in self._held if entry.lastmod is not None]
        undated = [entry for entry in reversed(self._held) if entry.lastmod is None]
        return sorted([*dated, *undated], key=_rank_newest)

    async def report(
        self, code: IssueCode, url: str | None = None, *, value: str | None = None
    ) -> None:
        """Report an Issue of the document."""
        issue = make_issue(code, self._document.final_url, url=url, value=value)
        await self._context.report_issue(issue, self._document)

    async def _add(self, entry: SitemapEntry) -> None:
        """Put a child in the frontier, or skip it with its reason."""
        frontier = self._frontier
        job = self._job
        if (bare := without_userinfo(entry.loc)) != entry.loc:
            await self.report(IssueCode.USERINFO_REMOVED, bare)
            entry = attrs.evolve(entry, loc=bare)
        if job.descends_from(key := url_key(entry.loc)):
            await self.report(IssueCode.CYCLE, entry.loc)
            if key not in self._cycles:
                self._cycles.add(key)
                again = make_document(entry)
                self._context.report.end_document(
                    again, Status.SKIPPED, IssueCode.CYCLE
                )
        elif frontier.find(entry.loc) is not None:
            return  # another index lists the same document
        elif job.depth >= self._context.limits.depth:
            self._skip(entry, IssueCode.BUDGET_DEPTH)
        elif entry.via is Via.PAGE:
            frontier.skip(entry, IssueCode.FEED_HAS_MORE)
            await self.report(IssueCode.FEED_HAS_MORE, entry.loc)
        elif reason := self._find_skip_reason(entry):
            frontier.skip(entry, reason)
        elif frontier.idle and url_key(entry.loc) in frontier.idle:
            frontier.skip(entry, NOT_DUE)
        else:
            frontier.add_child(entry, job)

    def _find_skip_reason(self, child: SitemapEntry) -> str:
        """Return why a child is not wanted, or ""."""
        lastmod = child.lastmod
        follow = self._config.follow
        if self._config.prune:
            since = self._config.since
        else:
            since = None
        if lastmod and since and not is_since(lastmod, child.lastmod_text, since):
            return NOT_MODIFIED
        if follow is None or self.are_wanted or follow(child):
            return ""
        return NOT_FOLLOWED

    def _skip(self, entry: SitemapEntry, code: IssueCode) -> None:
        first, number = self._skipped.get(code, (entry.loc[:MAX_URL_CHARS], 0))
        self._skipped[code] = first, number + 1
        if code is IssueCode.CHILD_URL_TOO_LONG:  # counted, and not kept
            self._frontier.skipped_unnamed[code] += 1
        else:
            self._frontier.skip(entry, code)
