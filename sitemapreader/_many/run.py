"""SiteRun: the walks over many sites, as one stream."""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader._columns import SITE_COLUMNS
from sitemapreader._event_loop import contain
from sitemapreader._log import LOGGER
from sitemapreader._many.places import SitePlaces
from sitemapreader._many.schedule import SiteSchedule
from sitemapreader._many.sources import (
    CheckedTask,
    FileFetcher,
    InvalidSiteError,
    Sites,
    SiteTask,
    UnreadableError,
    check_task,
    find_domain,
    iterate_sites,
    list_names,
)
from sitemapreader._types.counts import count_units
from sitemapreader._types.errors import StateError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import SitemapEntry
from sitemapreader._types.options import check_function
from sitemapreader._types.outcomes import NOT_DUE, NOT_READ, SiteOutcome, SiteStatus
from sitemapreader._types.rows import Rows, SiteRows
from sitemapreader._types.urls import url_key
from sitemapreader._walk.config import borrow_fetcher, shorten
from sitemapreader._walk.context import Batch, UrlAllowance
from sitemapreader._walk.filters import SeenKeys
from sitemapreader._walk.stream import (
    Channel,
    Loop,
    StreamNames,
    TaskStream,
    View,
    pick_rows,
    view_records,
)
from sitemapreader._walk.walks import BUFFERED_EVENTS, Walk

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterator,
    )

    import pyarrow as pa

    from sitemapreader._types.models import UrlEntry
    from sitemapreader._types.options import Limits
    from sitemapreader._walk.config import WalkConfig
    from sitemapreader.changes import State

OnSite: TypeAlias = "Callable[[SiteOutcome], object]"
"""Function that gets the outcome of each site when it is known."""
Watcher: TypeAlias = "Callable[[SiteWalk, SiteOutcome], Awaitable[None]]"
"""Function that is awaited with each site that has reached its end; the shell writes messages."""

PLACEHOLDER_SITE = "https://localhost/"
"""A site for the check of arguments; each walk replaces it."""
_MIN_BUFFERED_EVENTS = 256
"""Events of one site that wait for the consumer, if many sites share the memory."""
_KEEPALIVE_SECONDS = 1.0
"""Time that an idle connection is kept, because 150 sites a second would leave 2,000 connections
open for the usual 15 seconds."""
_QUEUE_PER_WORKER = 6
"""Sitemaps of a site that wait for each of its workers before another one is started, while other
sites are walked as well. Another connection costs as much as some requests, and most sites have
fewer sitemaps."""
_MAX_SEEN = 10_000_000
"""Names of sites that are remembered, in up to 90 MB; above it, a site may be read again."""


@attrs.define(eq=False)
class SiteBatch:
    """Entries on their way to the consumer, with their site."""

    site: str
    rows: Rows
    handled: asyncio.Event = attrs.field(factory=asyncio.Event)
    """Set when the consumer asks for more."""

    def __len__(self) -> int:
        return len(self.rows)


@attrs.define(eq=False)
class SiteWalk:
    """A site of a run, while it is walked and when it has ended."""

    name: str
    url: str = ""
    file: FileFetcher | None = None
    """Reader of the source, if it is a file or standard input."""
    walk: Walk | None = None
    """Walk over the site; `None` if it is not a URL."""
    fault: str = ""
    """The reason why the file cannot be read, or the bug that ended the walk."""
    is_broken: bool = False
    """True if a bug has ended the walk."""
    sitemaps: dict[str, SitemapEntry] = attrs.field(factory=dict)
    """Key of a URL -> the sitemap, if these are only found."""

    @property
    def children(self) -> int:
        """Number of sitemaps and pages that a file lists, which are not fetched."""
        if self.file is None or self.walk is None:
            return 0
        return sum(document.children for document in self.walk.report.documents)

    def make_outcome(self, **next_due: Any) -> SiteOutcome:
        """Return the outcome of the site, as it stands, with the fields of `next_due`."""
        if self.walk is None:
            reason = str(IssueCode.INVALID_URL)
            return SiteOutcome(self.name, SiteStatus.FAILED, reason, **next_due)
        report = self.walk.report
        outcome = attrs.evolve(report.outcome, site=self.name, **next_due)
        if self.is_broken:
            return attrs.evolve(outcome, status=SiteStatus.ERROR, reason=self.fault)
        if not (self.children or self.fault):
            return outcome
        status = SiteStatus.FAILED
        if outcome.entries or any(document.listed for document in report.documents):
            status = SiteStatus.PARTIAL
        return attrs.evolve(outcome, status=status, reason=outcome.reason or NOT_READ)


class SiteChannel(Channel[Batch]):
    """The channel of one walk, which puts its entries into the channel of the run.

    Its own consumer gets none, and acknowledges none, as a walk with a state needs it.
    """

    def __init__(self, site: str, run: Channel[SiteBatch]) -> None:
        super().__init__(0)
        self._site = site
        self._run = run

    async def put(self, batch: Batch, size: int = 0) -> None:
        """Put entries into the channel of the run, and drop other events."""
        for rows in pick_rows([batch]):
            sent = SiteBatch(self._site, rows)
            if not self._run.is_full:
                await self._run.put(sent, size)
                continue
            async with self._producers:  # one at a time stops the clock of the walk
                with self.stop_clock():
                    await self._run.put(sent, size)


def _pair(batches: list[SiteBatch]) -> list[tuple[str, Rows]]:
    return [(batch.site, batch.rows) for batch in batches]


_ROW_VIEW: View[SiteBatch, tuple[str, Rows]] = View(_pair)
SITE_LISTS: View[SiteBatch, tuple[str, list[UrlEntry]]] = View(
    lambda batches: ((site, list(rows)) for site, rows in _pair(batches))
)


def _join(batches: list[SiteBatch]) -> list[SiteRows]:
    return [SiteRows(_pair(batches))]


class RunLimits:
    """The limits of each walk of a run, whose time they share.

    Attributes:
        end: time of the event loop at which the run ends; infinity if it has no `max_time`.
    """

    def __init__(self, limits: Limits) -> None:
        self.end = math.inf
        self._limits = limits
        self._limits_on_servers = shorten(limits, limits.site_seconds)

    def begin(self) -> None:
        """Let the time of the run begin."""
        max_time = self._limits.max_time
        if max_time is not None:
            now = asyncio.get_running_loop().time()
            self.end = now + max_time.total_seconds()

    def for_site(self, *, is_local: bool) -> Limits:
        """Return the limits of a walk that begins now, over a site on this machine or elsewhere."""
        limits = self._limits if is_local else self._limits_on_servers
        return shorten(limits, self.end - asyncio.get_running_loop().time())


class SiteRun(TaskStream[SiteBatch]):
    """The walks over many sites; made by `walk_many`, entered once.

    With `async with`, its loops are `async for`. With `with`, they are `for`, and the walks run in
    a thread.

    `batches` yields the entries as they are read, each list with its site. Entries of several sites
    come interleaved. Leaving the context, early or not, ends all tasks.

    Attributes:
        outcomes: one for each site that was begun, in the order in which they ended; complete when
            the context is left. With `on_site`, which gets them, and once a report is written, they
            are not kept, because a list of sites may be endless.
        repeated: the number of sites that were named again, and not read again.
        is_cut: True if `max_time` was over before all sites were begun.
        running: the sites that are walked now.
    """

    user = ""
    """Name of the run as a user of the state's file; "" for one of its own."""
    names = StreamNames(
        "run", "walk_many(...)", "run: async for site, entries in run.batches()"
    )

    def __init__(
        self,
        sites: Sites,
        config: WalkConfig,
        state: State | None,
        *,
        on_site: OnSite | None,
    ) -> None:
        check_function("on_site", on_site, "a SiteOutcome")
        self.outcomes: list[SiteOutcome] = []
        self.repeated = 0
        self.is_cut = False
        self.running: set[SiteWalk] = set()
        self._sources = sites
        self._config = config
        """The arguments of each walk but its site."""
        self._schedule = SiteSchedule(state)
        self._places = SitePlaces(config.limits.sites_at_once)
        self._listeners = [] if on_site is None else [on_site]
        self._watcher: Watcher | None = None
        self._limits = RunLimits(config.limits)
        channel: Channel[SiteBatch] = Channel(BUFFERED_EVENTS)
        super().__init__(channel, gathers=config.state is None)

    def __repr__(self) -> str:
        name = type(self).__name__
        if not self.is_entered:
            return f"<{name}: not entered, use it with `async with` or `with`>"
        how = "over" if self.is_left else "under way"
        return f"<{name}: {how}, {count_units(len(self.outcomes), 'outcomes')}>"

    def report_to(self, watcher: Watcher) -> None:
        """Await a function at the end of each site; call this before entering."""
        self._watcher = watcher

    def share_limit(self, urls: UrlAllowance) -> None:
        """Let all walks deliver this many URLs together; call this before entering."""
        self._config = attrs.evolve(self._config, max_urls=urls)

    def find_only(self) -> None:
        """Find the sitemaps of all sites, and do not read them; call this before entering."""
        self._config = attrs.evolve(self._config, reads=False)

    # -- the consumer's side

    def __aiter__(self) -> AsyncIterator[UrlEntry]:
        raise TypeError(
            "loop over one of its views: async for site, entries in run.batches(): ..."
        )

    def __iter__(self) -> Iterator[UrlEntry]:
        raise TypeError(
            "loop over one of its views: for site, entries in run.batches(): ..."
        )

    def batches(self) -> Loop[tuple[str, list[UrlEntry]]]:
        """Yield pairs as they are read: a site, as it was given, and a list of its entries.

        No list is empty. Asking for the next one acknowledges the previous one, for the state.
        """
        return self._read(SITE_LISTS)

    def rows(self) -> Loop[tuple[str, Rows]]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        return self._read(_ROW_VIEW)

    def record_batches(self) -> Loop[pa.RecordBatch]:
        """Yield the rows as Arrow's record batches, with `site` as the first column.

        Each has some thousand rows; with a state, as many as were read at once, because asking for
        the next one acknowledges it. Needs the extra `arrow`.
        """
        return self._read(view_records(_join, SITE_COLUMNS))

    def listen(self, on_site: OnSite) -> None:
        """Call a function with each outcome from now on; it first gets the earlier ones."""
        for outcome in self.outcomes:
            on_site(outcome)
        self._listeners.append(on_site)

    async def _acknowledge(self) -> None:
        if self._is_heard:  # the listeners have got them
            self.outcomes.clear()
        if self.cursor.last is not None:
            self.cursor.last.handled.set()

    # -- the task's side

    def _open(self) -> None:
        """Open the state for the whole run, so that walks do not each have to."""
        user = self.user or f"run {id(self)}"
        if (file := self._schedule.open(user)) is not None:
            self.use_store(file)

    async def _close(self) -> None:
        self._schedule.close()

    async def _fill_channel(self) -> None:
        config = self._config
        borrowed = borrow_fetcher(config, keepalive_seconds=_KEEPALIVE_SECONDS)
        async with borrowed as fetcher:
            self._config = attrs.evolve(config, fetcher=fetcher)
            self._limits.begin()
            await self._walk_all()

    async def _walk_all(self) -> None:
        """Walk over all sites, or over the due ones."""
        revisit = self._config.revisit
        if isinstance(revisit, int):
            await self._schedule.make_plan(revisit, list_names(self._sources))
        await self._walk_sites(self._sources)

    async def _walk_sites(self, sources: Sites) -> None:
        """Walk over sites until all have ended, or the time is over."""
        async with (
            asyncio.TaskGroup() as tasks,
            aclosing(self._list_sites(sources)) as listed,
        ):
            try:
                async with asyncio.timeout_at(self._limits.end) as timeout:
                    async for source, task in listed:
                        domain = await find_domain(task)
                        if await self._places.take(domain, source):
                            work = contain(self._walk_domain, domain, task)
                            tasks.create_task(work)
            except TimeoutError:
                if not timeout.expired():
                    raise
                self.is_cut = True

    async def _list_sites(
        self, sources: Sites
    ) -> AsyncGenerator[tuple[str | SiteTask, CheckedTask], None]:
        """Yield each site once, as it was named; record an outcome for other texts than URLs."""
        seen = SeenKeys()
        number = 0
        async for source in iterate_sites(sources):
            if self._has_enough():
                return
            try:
                task = check_task(source)
            except InvalidSiteError as error:
                await self._end_site(SiteWalk(str(error)))
                continue
            if number == _MAX_SEEN:
                seen = SeenKeys()
                number = 0
            if seen.add(task.key):
                number += 1
                yield source, task
            else:
                self.repeated += 1

    def _has_enough(self) -> bool:
        """Return whether all URLs that the walks may deliver together were delivered."""
        urls = self._config.max_urls
        return isinstance(urls, UrlAllowance) and not urls.left

    async def _walk_domain(self, domain: str, task: CheckedTask) -> None:
        """Walk over a site that has a place, then over the waiting ones of its domain."""
        await self._walk_site(task)
        while not self._has_enough():
            source = await self._places.take_next(domain)
            if source is None:
                return
            await self._walk_site(check_task(source))
        self._places.leave(domain)

    async def _walk_site(self, task: CheckedTask) -> None:
        """Walk over a site, and record its outcome in any case; then free its place."""
        site_walk = SiteWalk(task.name, task.url)
        if isinstance(task.fetcher, FileFetcher):
            site_walk.file = task.fetcher
        name = url_key(task.url)
        due = await self._schedule.find_due(name)
        if due is not None and not due:
            self._places.free()
            next_due = await self._schedule.find_next_due(name)
            outcome = SiteOutcome(
                task.name, SiteStatus.UNCHANGED, NOT_DUE, changed=0, **next_due
            )
            self._record(outcome)
            return
        self.running.add(site_walk)
        try:
            await self._read_site(task, site_walk, due)
            next_due = await self._schedule.find_next_due(name)
        except BaseException:
            self._record(site_walk.make_outcome())
            raise
        finally:
            self._places.free()
            self.running.discard(site_walk)
        await self._end_site(site_walk, **next_due)

    async def _read_site(
        self,
        task: CheckedTask,
        site_walk: SiteWalk,
        due: frozenset[str] | None,
    ) -> None:
        """Walk over a site, and note the fault that ended the walk."""
        limits = self._limits.for_site(is_local=task.is_local)
        queue_per_worker = 0
        if len(self.running) > 1:
            queue_per_worker = _QUEUE_PER_WORKER
        config = task.make_walk_config(self._config, due, limits, queue_per_worker)
        site_walk.walk = Walk(config, self._make_channel(site_walk.name))
        try:
            await self._pass_on(site_walk, site_walk.walk)
        except StateError:  # the state cannot be written any more
            raise
        except UnreadableError as error:
            site_walk.fault = str(error)
        except Exception as error:  # a bug in reading one site must not end the others
            # Its traceback is logged, and the outcome of the site names it.
            LOGGER.exception("a bug ended the walk over %s", task.name)
            site_walk.fault = type(error).__name__
            site_walk.is_broken = True

    def _make_channel(self, site: str) -> Channel[Batch]:
        if self._config.state is None and self._config.reads:
            return SiteChannel(site, self._channel)
        share = BUFFERED_EVENTS // self._places.number
        return Channel(max(_MIN_BUFFERED_EVENTS, share))

    async def _pass_on(self, site_walk: SiteWalk, walked: Walk) -> None:
        """Wait for the end of a walk; with a state, pass on each batch when it was handled."""
        async with walked as entries:
            if not self._config.reads:
                async for event in entries.events():
                    if isinstance(event, SitemapEntry):
                        site_walk.sitemaps.setdefault(url_key(event.loc), event)
                return
            async for rows in entries.rows():
                batch = SiteBatch(site_walk.name, self._choose(site_walk.name, rows))
                if not batch:
                    continue
                await self._channel.put(batch)
                await batch.handled.wait()

    def _choose(self, _: str, rows: Rows) -> Rows:
        """Return the entries of a site to deliver: all of them."""
        return rows

    async def _end_site(self, site_walk: SiteWalk, **next_due: Any) -> None:
        outcome = site_walk.make_outcome(**next_due)
        self._record(outcome)
        if self._watcher is not None:
            await self._watcher(site_walk, outcome)

    def _record(self, outcome: SiteOutcome) -> None:
        """Record the outcome of a site, and report it to the caller."""
        for listen in self._listeners:
            listen(outcome)
        if self.cursor.view is None or not self._is_heard:
            self.outcomes.append(outcome)

    @property
    def _is_heard(self) -> bool:
        """True if a listener gets the outcomes when they are known."""
        return bool(self._listeners) or self._watcher is not None
