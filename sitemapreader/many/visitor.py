"""SiteVisitor: walks over the sites of a run, and delivers their entries."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterable, Collection
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import attrs

from sitemapreader.discovery.context import borrow_fetcher
from sitemapreader.errors import StateError
from sitemapreader.event_loop import run_in_daemon
from sitemapreader.issues import IssueCode
from sitemapreader.logs import LOGGER
from sitemapreader.many.plan import SiteBatch, SiteWalk
from sitemapreader.many.task import CheckedTask, InvalidSiteError, SiteTask, check_task, find_domain
from sitemapreader.many.turns import TaskTurns
from sitemapreader.outcomes import SiteOutcome, SiteStatus
from sitemapreader.rows import SiteRows, without_removed
from sitemapreader.walker.filters import RecentKeys
from sitemapreader.walker.stream import Channel
from sitemapreader.walker.walks import BUFFERED_EVENTS, Walk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from sitemapreader.fetch.client import Fetcher
    from sitemapreader.many.plan import RunPlan, RunWatcher, Sites
    from sitemapreader.rows import Rows

T = TypeVar("T")
R = TypeVar("R")

_SITES_PER_PAUSE = 100
_LONG_DELAY_SECONDS = 2.0
"""Crawl-delay with which a site gives its place to another one."""
_SLOW_PER_PLACE = 8
"""Sites that may have given a place away, for each place."""
_LEAST_BUFFERED = 256
"""Events of one site that wait for the consumer, where many sites share the memory."""
_KEEPALIVE_SECONDS = 1.0
"""A site is asked again at once, or not at all: 150 sites a second would leave 2,000 connections
open for the usual 15 seconds."""


class SiteVisitor:
    """The walks over the sites of a run, at most `plan.at_once` at the same time.

    Attributes:
        outcomes: one for each site that has ended, as long as `take` puts them here.
        take: called with each outcome.
        repeated: how many sites were named before, and not read again.
        running: the sites that are walked now.
        channel: the entries on their way to the consumer.
        watcher: follows all walks.
        room: held by each walk, unless it is slow; bounds the walks of several runs together.
        ended: how many sites have ended.
    """

    def __init__(self, sites: Sites, plan: RunPlan) -> None:
        self.outcomes: list[SiteOutcome] = []
        self.take: Callable[[SiteOutcome], object] = self.outcomes.append
        self.repeated = self.ended = 0
        self.running: set[SiteWalk] = set()
        self.channel: Channel[SiteBatch] = Channel(BUFFERED_EVENTS)
        self.watcher: RunWatcher | None = None
        self.room = asyncio.Semaphore(sys.maxsize)
        self._sites = sites
        self._plan = plan
        self._fetcher: Fetcher | None = None
        self._callers_fault: BaseException | None = None
        self._turns = TaskTurns(plan.at_once, _find_key, self._visit)
        self._slow = 0
        self._buffered = max(_LEAST_BUFFERED, BUFFERED_EVENTS // plan.at_once)
        self._config = attrs.evolve(
            plan.config,
            follow=self._watch(plan.config.follow),
            on_document=self._watch(plan.config.on_document),
        )

    async def visit_all(self) -> None:
        """Walk over all sites; what ends the run early is raised in an exception group."""
        plan = self._plan
        async with borrow_fetcher(
            plan.fetcher, plan.options, plan.limits, keepalive_seconds=_KEEPALIVE_SECONDS
        ) as fetcher:
            self._fetcher = fetcher
            await self._turns.run(self._list_sites())

    async def _list_sites(self) -> AsyncGenerator[str | SiteTask, None]:
        """Yield each site once, as it was given; record an outcome for what is not a URL."""
        seen = RecentKeys()
        async for given in _iterate(self._sites):
            try:
                task = check_task(given)
            except InvalidSiteError as error:
                name = str(error)
                outcome = SiteOutcome(name, SiteStatus.FAILED, str(IssueCode.INVALID_URL))
                self._end(SiteWalk(name), outcome)
                continue
            if seen.add(task.key):
                yield given  # a hundred thousand may wait for their domain: no more than a name
            else:
                self.repeated += 1

    async def _visit(self, given: str | SiteTask) -> None:
        """Walk over a site, and record its outcome whatever happens."""
        task = check_task(given)
        await self.room.acquire()
        site, bug = SiteWalk(task.name), ""
        self.running.add(site)
        try:
            bug = await self._read_site(task, site)
        finally:
            if site.is_slow:
                self._slow -= 1
                self._turns.close_room()
            else:
                self.room.release()
            self.running.discard(site)
            self._end_site(site, bug)

    def _note_delay(self, site: SiteWalk, seconds: float) -> None:
        """Let another site run beside one that mostly waits between its requests."""
        most = _SLOW_PER_PLACE * self._plan.at_once
        if seconds >= _LONG_DELAY_SECONDS and not site.is_slow and self._slow < most:
            site.is_slow = True
            self._slow += 1
            self.room.release()
            self._turns.open_room()

    async def _read_site(self, task: CheckedTask, site: SiteWalk) -> str:
        """Walk over a site; return the name of the exception if a bug ended that, or ""."""
        walked = site.walk = self._make_walk(task)
        walked.report.tally.on_crawl_delay = partial(self._note_delay, site)
        try:
            await self._read(site, walked)
        except StateError:  # of the disk or the file: nothing more can be remembered
            raise
        except Exception as error:  # a bug in reading one site must not cost the others
            # Its traceback is logged, and the outcome of the site names it.
            if error is self._callers_fault:
                raise
            LOGGER.exception("a bug ended the walk over %s", task.name)
            return type(error).__name__
        return ""

    def _end_site(self, site: SiteWalk, bug: str) -> None:
        outcome = SiteOutcome(site.name, SiteStatus.FAILED)
        if site.walk is not None:
            outcome = attrs.evolve(site.walk.report.outcome, site=site.name)
        if bug:
            outcome = attrs.evolve(outcome, status=SiteStatus.ERROR, reason=bug)
        self._end(site, outcome)

    def _make_walk(self, task: CheckedTask) -> Walk:
        plan, config = self._plan, self._config
        trusted = config.trusted if task.task.trusted is None else task.task.trusted
        kind, search = task.task.kind, None
        if kind != "sitemap" and config.search is not None:
            search = attrs.evolve(config.search, site=task.url, is_page=kind == "site")
        config = attrs.evolve(
            config,
            search=search,
            sitemaps=() if search else (task.url,),
            trusted=trusted,
            logins=(task.login,) if task.login and trusted else (),
        )
        return Walk(
            config,
            fetcher=self._fetcher,
            limits=plan.limits,
            options=plan.options,
            buffered=self._buffered,
        )

    async def _read(self, site: SiteWalk, walked: Walk) -> None:
        """Hand over the entries of a walk."""
        gives_removed = self._config.removed
        async with walked as entries:
            if self.watcher is not None:
                self.watcher.note_begin(site)
            async for batch in entries.rows():
                if rows := batch if gives_removed else without_removed(batch):
                    await self._hand_over(site, rows)
            if gives_removed and walked.report.removed is not None:
                site.removals_unknown += (
                    f"{url} ({why})" for url, why in entries.removals_unknown()
                )

    async def _hand_over(self, site: SiteWalk, rows: Rows) -> None:
        """Give entries to the consumer; with a state, wait until it has handled them."""
        batch = site.handed = SiteBatch(SiteRows([(site.name, rows)]))
        if self._config.state is not None:
            batch.handled = asyncio.Event()
        await self.channel.put(batch, len(rows))
        if batch.handled is not None:
            await batch.handled.wait()

    def _end(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        """Record the outcome of a site, and report it to the watcher and the caller."""
        self.ended += 1
        self.take(outcome)
        if self.watcher is not None:
            self.watcher.note_end(site, outcome)
        if self._plan.on_site is not None:
            self._plan.on_site(outcome)

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


async def _iterate(sites: Sites) -> AsyncGenerator[str | SiteTask, None]:
    """Yield sites from any kind of iterable; let other tasks run meanwhile."""
    if isinstance(sites, AsyncIterable):
        async for site in sites:
            yield site
    elif isinstance(sites, Collection):
        for number, site in enumerate(sites):
            if not number % _SITES_PER_PAUSE:
                await asyncio.sleep(0)
            yield site
    else:  # it may wait for the next one, as for a line of a pipe or a row of a database
        source = iter(sites)
        while found := await run_in_daemon(lambda: list(islice(source, 1))):
            yield found[0]


async def _find_key(given: str | SiteTask) -> str:
    """Return the registrable domain of a site, whose sites wait for each other."""
    return await find_domain(check_task(given).host)
