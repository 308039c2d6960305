"""SiteWalks: the walks over the sites of a run, as a task that fills a stream."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import attrs

from sitemapreader.discovery.context import borrow_fetcher
from sitemapreader.errors import StateError
from sitemapreader.event_loop import contain, find_first
from sitemapreader.issues import IssueCode
from sitemapreader.logs import LOGGER
from sitemapreader.many.sources import (
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
from sitemapreader.models import SitemapEntry
from sitemapreader.outcomes import NOT_DUE, NOT_READ, SiteOutcome, SiteStatus
from sitemapreader.rows import Rows, SiteRows
from sitemapreader.urls import url_key
from sitemapreader.walker.filters import RecentKeys
from sitemapreader.walker.stream import Channel, TaskStream, Use
from sitemapreader.walker.walks import BUFFERED_EVENTS, Walk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from sitemapreader.fetch.client import Fetcher
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.state_writer import SharedTurns, StateAccess

T = TypeVar("T")
R = TypeVar("R")

OnBegin: TypeAlias = "Callable[[str], object]"
"""Called with the name of each site before it is read."""
OnSite: TypeAlias = "Callable[[SiteOutcome], object]"
"""Called with the outcome of each site when it is known."""
Watcher: TypeAlias = "Callable[[SiteWalk, SiteOutcome], Awaitable[None]]"
"""Awaited with each site that has come to its end by itself: the shell, for its messages."""

_LONG_DELAY_SECONDS = 2.0
"""Crawl-delay with which a site gives its place to another one."""
_SLOW_PER_PLACE = 8
"""Sites that may have given a place away, for each place."""
_LEAST_BUFFERED = 256
"""Events of one site that wait for the consumer, where many sites share the memory."""
_KEEPALIVE_SECONDS = 1.0
"""A site is asked again at once, or not at all: 150 sites a second would leave 2,000 connections
open for the usual 15 seconds."""
_MOST_PARKED = 100_000
"""Sites that may wait for another one of their domain, before the list is read no further: 10 MB of
names. Sites of other domains behind them would have to wait as well."""


@attrs.define(eq=False)
class SiteBatch:
    """Entries on their way to the consumer, with their site."""

    rows: SiteRows
    handled: asyncio.Event | None = None
    """Set when the consumer asks for more; `None` if no walk waits for that."""

    def __len__(self) -> int:
        return len(self.rows)


@attrs.define(eq=False)
class SiteWalk:
    """A site of a run, while it is walked and when it has ended."""

    name: str
    url: str = ""
    file: FileFetcher | None = None
    """What reads it, if it is a file or standard input."""
    walk: Walk | None = None
    """`None` for what is not a URL."""
    handed: SiteBatch | None = None
    """The last entries that were given to the consumer."""
    is_slow: bool = False
    """Whether it has given its place among those at once to another site."""
    fault: str = ""
    """Why the file cannot be read, or the bug that ended the walk."""
    sitemaps: dict[str, SitemapEntry] = attrs.field(factory=dict)
    """Key of a URL -> the sitemap, if these are only found."""

    @property
    def children(self) -> int:
        """How many sitemaps and pages a file lists, which are not fetched."""
        if self.file is None or self.walk is None:
            return 0
        return sum(document.children for document in self.walk.report.documents)

    @property
    def is_handled(self) -> bool:
        """Whether the consumer has handled all entries that it was given."""
        last = self.handed
        return last is None or last.handled is None or last.handled.is_set()


@attrs.frozen(kw_only=True)
class RunPlan:
    """How the sites of a run are walked: the arguments of `walk_many`."""

    config: WalkConfig
    """The arguments of each walk but its site, which each visit sets."""
    room: asyncio.Semaphore
    at_once: int
    """How many the room has about, for what depends on it."""
    fetcher: Fetcher | None
    limits: Limits
    local_limits: Limits
    """Those of a folder or file: no server holds it up."""
    options: FetchOptions
    on_begin: OnBegin | None = None
    on_site: OnSite | None = None


class SiteWalks(TaskStream[SiteBatch]):
    """The walks over the sites of a run: the side of `SiteRun` that fills the channel.

    Attributes:
        outcomes: as they are kept; see `SiteRun`.
        repeated: how many sites were named before, and not read again.
        is_cut: whether `max_time` was over before all sites were begun.
        running: the sites that are walked now.
    """

    def __init__(self, sites: Sites, plan: RunPlan) -> None:
        self.outcomes: list[SiteOutcome] = []
        self.repeated = 0
        self.is_cut = False
        self.running: set[SiteWalk] = set()
        self._ended = 0
        self._take: Callable[[SiteOutcome], object] = self.outcomes.append
        self._is_reported = False
        """Whether `_take` writes a report."""
        self._watcher: Watcher | None = None
        self._turns: SharedTurns | None = None
        """What is asked for, if not all is due."""
        self._sites = sites
        self._plan = plan
        self._access: StateAccess | None = None
        self._fetcher: Fetcher | None = None
        self._callers_fault: BaseException | None = None
        self._parked: dict[str, deque[str | SiteTask]] = {}
        """Domain of a site that is read -> the sites that wait for it."""
        self._parked_number = 0
        self._has_parking = asyncio.Event()
        self._slow = 0
        self._buffered = max(_LEAST_BUFFERED, BUFFERED_EVENTS // plan.at_once)
        self._on_begin = self._watch(plan.on_begin)
        self._config = attrs.evolve(
            plan.config,
            follow=self._watch(plan.config.follow),
            on_document=self._watch(plan.config.on_document),
        )
        use = Use("run", "walk_many(...)", "run: async for site, entries in run.batches()")
        super().__init__(use, Channel(BUFFERED_EVENTS), gathers=plan.config.state is None)

    def report_to(self, watcher: Watcher) -> None:
        """Await a function at the end of each site; call this before entering."""
        self._watcher = watcher

    def find_only(self) -> None:
        """Find the sitemaps of all sites, and do not read them; call this before entering."""
        self._config = attrs.evolve(self._config, reads=False)

    def _open(self) -> None:
        """Open the state for the whole run, so that not each walk has to."""
        if (state := self._config.state) is not None:
            from sitemapreader.walker.state_writer import (  # noqa: PLC0415 (few runs have one)
                StateAccess,
            )

            self._access = StateAccess.open(state.path, f"run {id(self)}")

    async def _close(self) -> None:
        if self._access is not None:
            await self._access.close(f"run {id(self)}")

    async def _run(self) -> None:
        fault: BaseException | None = None
        try:
            revisit, state = self._config.revisit, self._config.state
            if self._access is not None and state is not None and isinstance(revisit, int):
                names = list_names(self._sites)
                self._turns = await self._access.share_turns(revisit, state.clock, names)
            await self._visit_all()
        except BaseExceptionGroup as errors:
            fault = find_first(errors)
        if fault is not None:
            raise fault  # outside of `except`, so that it gets no other context

    async def _visit_all(self) -> None:
        """Walk over all sites; what ends the run early is raised in an exception group."""
        plan = self._plan
        borrowed = borrow_fetcher(
            plan.fetcher, plan.options, plan.limits, keepalive_seconds=_KEEPALIVE_SECONDS
        )
        async with (
            borrowed as self._fetcher,
            asyncio.TaskGroup() as tasks,
            aclosing(self._list_sites()) as sites,
        ):
            end = plan.config.max_time
            try:
                async with asyncio.timeout(None if end is None else end.get_left()) as timeout:
                    await self._begin_all(sites, tasks)
            except TimeoutError:
                if not timeout.expired():
                    raise
                self.is_cut = True

    async def _begin_all(
        self, sites: AsyncGenerator[str | SiteTask, None], tasks: asyncio.TaskGroup
    ) -> None:
        async for given in sites:
            domain = await find_domain(check_task(given))
            if domain in self._parked:
                await self._park(domain, given)
                continue
            await self._plan.room.acquire()
            self._parked[domain] = deque()
            tasks.create_task(contain(self._visit_domain, domain, given))

    async def _list_sites(self) -> AsyncGenerator[str | SiteTask, None]:
        """Yield each site once, as it was given; record an outcome for what is not a URL."""
        seen = RecentKeys()
        async for given in iterate_sites(self._sites):
            try:
                task = check_task(given)
            except InvalidSiteError as error:
                name = str(error)
                outcome = SiteOutcome(name, SiteStatus.FAILED, str(IssueCode.INVALID_URL))
                self._record(outcome)
                await self._tell(SiteWalk(name), outcome)
                continue
            if seen.add(task.key):
                yield given  # a hundred thousand may wait for their domain: no more than a name
            else:
                self.repeated += 1

    async def _park(self, domain: str, given: str | SiteTask) -> None:
        """Let a site wait for the one that is read; wait as well while too many wait."""
        self._parked[domain].append(given)
        self._parked_number += 1
        while self._parked_number >= _MOST_PARKED:
            self._has_parking.clear()
            await self._has_parking.wait()

    async def _visit_domain(self, domain: str, given: str | SiteTask) -> None:
        """Walk over a site that has a place, then over those that wait for it."""
        await self._visit(given)
        waiting = self._parked[domain]
        while waiting:
            self._parked_number -= 1
            self._has_parking.set()
            await self._plan.room.acquire()
            await self._visit(waiting.popleft())
        del self._parked[domain]

    async def _visit(self, given: str | SiteTask) -> None:
        """Walk over a site, and record its outcome whatever happens; then free its place."""
        task = check_task(given)
        fetcher = task.task.fetcher
        file = fetcher if isinstance(fetcher, FileFetcher) else None
        site = SiteWalk(task.name, task.url, file)
        status, turn, turns, name = None, dict[str, Any](), self._turns, url_key(task.url)
        due = None if turns is None else await turns.find_due(name)
        if turns and due is not None and not due:
            self._plan.room.release()
            turn = await turns.find_next(name)
            self._record(SiteOutcome(task.name, SiteStatus.UNCHANGED, NOT_DUE, changed=0, **turn))
            return
        self.running.add(site)
        try:
            status = await self._read_site(task, site, due)
            turn = await turns.find_next(name) if turns else turn
        finally:
            if site.is_slow:
                self._slow -= 1
            else:
                self._plan.room.release()
            self.running.discard(site)
            outcome = attrs.evolve(_make_outcome(site, status), **turn)
            self._record(outcome)
        await self._tell(site, outcome)

    def _note_delay(self, site: SiteWalk, seconds: float) -> None:
        """Let another site run beside one that mostly waits between its requests."""
        most = _SLOW_PER_PLACE * self._plan.at_once
        if seconds >= _LONG_DELAY_SECONDS and not site.is_slow and self._slow < most:
            site.is_slow = True
            self._slow += 1
            self._plan.room.release()

    async def _read_site(
        self, task: CheckedTask, site: SiteWalk, due: frozenset[str] | None
    ) -> SiteStatus | None:
        """Walk over a site; return its status if something ended that, and note the fault."""
        walked = site.walk = self._make_walk(task, due)
        walked.report.tally.on_crawl_delay = partial(self._note_delay, site)
        try:
            await self._pass_on(site, walked)
        except StateError:  # of the disk or the file: nothing more can be remembered
            raise
        except asyncio.CancelledError:
            if walked.is_stopped and (visit := asyncio.current_task()):
                visit.cancel()  # by `settle`: the visit ends with its walk, and that is no bug
            raise
        except UnreadableError as error:
            site.fault = str(error)
            return SiteStatus.FAILED
        except Exception as error:  # a bug in reading one site must not cost the others
            # Its traceback is logged, and the outcome of the site names it.
            if error is self._callers_fault:
                raise
            LOGGER.exception("a bug ended the walk over %s", task.name)
            site.fault = type(error).__name__
            return SiteStatus.ERROR
        return None

    def _make_walk(self, checked: CheckedTask, due: frozenset[str] | None) -> Walk:
        plan, config, task = self._plan, self._config, checked.task
        trusted = config.trusted if task.trusted is None else task.trusted
        is_sitemap = task.kind == "sitemap"
        config = attrs.evolve(
            config,
            site=None if is_sitemap else checked.url,
            is_page=task.kind == "site",
            sitemaps=(checked.url,) if is_sitemap else (),
            trusted=trusted,
            logins=(checked.login,) if checked.login and trusted else (),
            revisit=config.revisit if due is None else due,
        )
        if isinstance(task.fetcher, FileFetcher):
            config = _make_alone(config, task.fetcher)
        return Walk(
            config,
            fetcher=task.fetcher or self._fetcher,
            limits=plan.local_limits if checked.is_local else plan.limits,
            options=plan.options,
            buffered=self._buffered,
        )

    async def _pass_on(self, site: SiteWalk, walked: Walk) -> None:
        """Hand over the entries of a walk."""
        async with walked as entries:
            if self._on_begin is not None:
                self._on_begin(site.name)
            if not self._config.reads:
                async for event in entries.events():
                    if isinstance(event, SitemapEntry):
                        site.sitemaps.setdefault(url_key(event.loc), event)
                return
            async for batch in entries.rows():
                await self._hand_over(site, batch)

    async def _hand_over(self, site: SiteWalk, rows: Rows) -> None:
        """Give entries to the consumer; with a state, wait until it has handled them."""
        batch = site.handed = SiteBatch(SiteRows([(site.name, rows)]))
        if self._config.state is not None:
            batch.handled = asyncio.Event()
        await self._channel.put(batch, len(rows))
        if batch.handled is not None:
            await batch.handled.wait()

    def _record(self, outcome: SiteOutcome) -> None:
        """Record the outcome of a site, and report it to the caller."""
        self._ended += 1
        self._take(outcome)
        if self._plan.on_site is not None:
            self._plan.on_site(outcome)

    async def _tell(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        if self._watcher is not None:
            await self._watcher(site, outcome)

    def _watch(self, function: Callable[[T], R] | None) -> Callable[[T], R] | None:
        """Return a function of the caller that also remembers what it raises."""
        if function is None:
            return None

        def call(value: T) -> R:
            try:
                return function(value)
            except BaseException as error:
                self._callers_fault = error
                raise

        return call


def _make_alone(config: WalkConfig, file: FileFetcher) -> WalkConfig:
    """Return the arguments for a file alone: nothing else can be fetched."""
    return attrs.evolve(
        config,
        base_url=file.base_url,
        follow=lambda _: False,
        state=None,  # it would have to know one file from another, and each reading is complete
        changes=False,
        unlisted=False,
        gone=0,
        revisit=None,
    )


def _make_outcome(site: SiteWalk, status: SiteStatus | None) -> SiteOutcome:
    outcome = SiteOutcome(site.name, SiteStatus.FAILED)
    if site.walk is not None:
        outcome = attrs.evolve(site.walk.report.outcome, site=site.name)
    if status is SiteStatus.ERROR:
        return attrs.evolve(outcome, status=status, reason=site.fault)
    if site.children or status is not None:
        documents = site.walk.report.documents if site.walk else []
        has_urls = outcome.entries or any(document.listed for document in documents)
        status = SiteStatus.PARTIAL if has_urls else SiteStatus.FAILED
        return attrs.evolve(outcome, status=status, reason=outcome.reason or NOT_READ)
    return outcome
