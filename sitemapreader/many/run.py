"""SiteRun: the walks over many sites as their consumer sees them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterable
from itertools import islice
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar

import attrs

from sitemapreader.documents.context import borrow_fetcher
from sitemapreader.entry_columns import take_rows
from sitemapreader.errors import StateError
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.logs import LOGGER
from sitemapreader.many.task import CheckedTask, InvalidSiteError, SiteTask, check_task, find_domain
from sitemapreader.many.turns import TaskTurns
from sitemapreader.models import Change, UrlEntry
from sitemapreader.site_outcome import SiteOutcome, SiteStatus
from sitemapreader.walker.attempts import needs_search
from sitemapreader.walker.channel import Channel
from sitemapreader.walker.seen import SeenKeys
from sitemapreader.walker.tasks import end_task, find_first
from sitemapreader.walker.walk import BUFFERED_EVENTS, Walk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
    from os import PathLike
    from pathlib import Path

    import pyarrow as pa

    from sitemapreader.entry_columns import Rows
    from sitemapreader.fetch import Fetcher
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.walker.attempts import Attempt
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.state_access import StateAccess

Sites: TypeAlias = "Iterable[str | SiteTask] | AsyncIterable[str | SiteTask]"
"""URLs, hosts or tasks; read as there is work, and never held as a whole."""
OnSite: TypeAlias = "Callable[[SiteOutcome], object]"
"""Called with the outcome of each site when it is known."""

T = TypeVar("T")
R = TypeVar("R")

_REMOVED_AT_ONCE = 500
_SITES_PER_PAUSE = 100
_LEAST_BUFFERED = 256
"""Events of one site that wait for the consumer, where many sites share the memory."""
_KEEPALIVE_SECONDS = 1.0
"""A site is asked again at once, or not at all: 150 sites a second would leave 2,000 connections
open for the usual 15 seconds."""


@attrs.define(eq=False)
class _Delivery:
    """Entries on their way to the consumer."""

    site: str
    rows: Rows
    handled: asyncio.Event | None = None
    """Set when the consumer asks for more; `None` where nobody waits for that."""


@attrs.define(eq=False)
class SiteWalk:
    """A site of a run, while it is walked and when it has ended.

    Attributes:
        name: the site, as it was given.
        walk: its walk, or the last of several attempts; `None` for what is no URL.
        removals_unknown: documents whose removed URLs are unknown, if removed ones are delivered.
    """

    name: str
    walk: Walk | None = None
    removals_unknown: list[str] = attrs.field(factory=list)


class RunWatcher(Protocol):
    """Somebody who follows the walks of a run: the shell, for its messages and its progress."""

    def note_begin(self, site: SiteWalk) -> None:
        """Record that a site is walked, before its first entry."""
        ...

    def note_end(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        """Record the outcome of a site."""
        ...


@attrs.frozen(kw_only=True)
class RunPlan:
    """How the sites of a run are walked.

    Attributes:
        config: the arguments of each walk; its site is a placeholder.
        at_once: how many sites are read at the same time.
        site_urls: how many URLs of one site are delivered.
        fetcher: opens URLs for all walks; `None` for one of the run's own.
        limits: how much is read of one site.
        options: how the network is used.
        gives_removed: whether URLs that are no longer listed are delivered, too.
        on_site: called with each outcome.
        watcher: follows all walks.
    """

    config: WalkConfig
    at_once: int
    site_urls: int | None
    fetcher: Fetcher | None
    limits: Limits
    options: FetchOptions
    gives_removed: bool = False
    on_site: OnSite | None = None
    watcher: RunWatcher | None = None


class SiteRun:
    """The walks over many sites; made by `walk_many`, and entered with `async with`, once.

    `batches` gives the entries as they come, each list with the site that it belongs to. Those of
    several sites come interleaved. Leaving the context, early or not, ends all tasks.

    Attributes:
        outcomes: one for each site that was begun, in the order in which they ended; complete when
            the context is left.
        repeated: how many sites were named before, and not read again.
    """

    def __init__(self, sites: Sites, plan: RunPlan) -> None:
        self.outcomes: list[SiteOutcome] = []
        self.repeated = 0
        self._sites = sites
        self._plan = plan
        self._channel: Channel[_Delivery] = Channel(BUFFERED_EVENTS)
        self._handed: _Delivery | None = None
        self._task: asyncio.Task[None] | None = None
        self._access: StateAccess | None = None
        self._is_left = False
        self._fault_is_known = False
        self._running: set[SiteWalk] = set()
        self._callers_fault: BaseException | None = None
        self._buffered = max(_LEAST_BUFFERED, BUFFERED_EVENTS // plan.at_once)
        self._config = attrs.evolve(
            plan.config,
            follow=self._watch(plan.config.follow),
            on_document=self._watch(plan.config.on_document),
        )

    def __repr__(self) -> str:
        if self._task is None:
            return "<SiteRun: not entered, use it with `async with`>"
        how = "over" if self._is_left else f"{len(self._running)} under way"
        return f"<SiteRun: {len(self.outcomes)} sites ended, {how}>"

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise ValueError("a run is made once: call walk_many(...) again for another one")
        self._access = self._open_state()
        self._task = asyncio.create_task(self._run(), name="sitemapreader.many")
        return self

    def _open_state(self) -> StateAccess | None:
        """Open the state for the whole run, so that not each walk has to."""
        if self._config.state is None:
            return None
        from sitemapreader.walker.state_access import (  # noqa: PLC0415 (few runs have a state)
            StateAccess,
        )

        return StateAccess.open(self._config.state.path, f"run {id(self)}")

    async def _sync_state(self) -> None:
        if self._access is not None:
            await self._access.sync()

    def commit_state(self, files: Iterable[tuple[Path, Path]] = ()) -> None:
        """Commit what was held back, and rename files with it: all of that or nothing.

        For a run whose walks have all ended. Each file has its temporary and its final path.

        Raises StateError or OSError: the disk refuses it; then the state knows nothing of the run.
        """
        if self._access is not None:
            self._access.file.commit_held(files)

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        task = self._check_entered()
        try:
            await self.leave()
        finally:
            if self._access is not None:
                await self._access.close(f"run {id(self)}")
        if error is None and not task.cancelled() and not self._fault_is_known:
            task.result()

    async def leave(self) -> None:
        """End all walks, as leaving the context does; the state stays open for `commit_state`."""
        self._is_left = True
        await end_task(self._check_entered())

    # -- the consumer's side

    async def batches(self) -> AsyncGenerator[tuple[str, list[UrlEntry]], None]:
        """Yield the entries as they are read: a site, as it was given, and a list of its entries.

        No list is empty. Asking for the next one acknowledges the previous one, for the state.
        """
        async for site, rows in self.rows():
            yield site, list(rows)

    async def rows(self) -> AsyncGenerator[tuple[str, Rows], None]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        while (rows := await self.next_rows()) is not None:
            yield rows

    def record_batches(self) -> AsyncIterator[pa.RecordBatch]:
        """Yield the rows as Arrow's record batches, with the column `site` before the others.

        Each has some thousand rows; with a state, as many as were read at once, because asking for
        the next one acknowledges it. Needs the extra `arrow`.
        """
        # It takes 0.1 s, and raises here if pyarrow is not installed.
        from sitemapreader.many.columns import collect_batches_async  # noqa: PLC0415

        return collect_batches_async(self.rows(), gathers=self.gathers)

    @property
    def gathers(self) -> bool:
        """Whether rows may wait for others: not with a state, where that acknowledges them."""
        return self._config.state is None

    async def write(
        self, path: str | PathLike[str], *, report: str | PathLike[str] | None = None
    ) -> None:
        """Write all entries into a file, with the column `site`; and the outcomes into another.

        The state is committed together with them: a run that is killed leaves neither a file nor
        a change of the state. A file `path` that exists is replaced.

        Args:
            path: its end says the format, as `open_output` has it.
            report: a name with .jsonl, .csv or .parquet; a row a site.
        """
        from sitemapreader.many.writing import write_run  # noqa: PLC0415 (not every run writes)

        await write_run(self, path, report)

    async def hold_state(self) -> bool:
        """Hold back all changes of the state until `commit_state`; return whether there is one."""
        if self._access is None:
            return False
        async with self._access.turn():
            self._access.file.hold()
        return True

    async def next_rows(self) -> tuple[str, Rows] | None:
        """Return a site and the next rows of its entries; `None` at the end.

        A bug that ended the run is raised here, after all that was read before it.
        """
        task = self._check_entered()
        if self._is_left:
            raise ValueError("the run is over: iterate it inside `async with walk_many(...)`")
        if self._handed is not None and self._handed.handled is not None:
            self._handed.handled.set()
        self._handed = await self._channel.get()
        if self._handed is None:
            await asyncio.wait([task])
            self._fault_is_known = True
            if not task.cancelled():
                task.result()
            return None
        return self._handed.site, self._handed.rows

    def _check_entered(self) -> asyncio.Task[None]:
        if self._task is None:
            raise TypeError(
                "a run has tasks and sockets to close, so enter it first: "
                "`async with walk_many(...) as run: async for site, entries in run.batches(): ...`"
            )
        return self._task

    # -- the run's side

    async def _run(self) -> None:
        plan = self._plan
        fault: BaseException | None = None
        try:
            async with borrow_fetcher(
                plan.fetcher, plan.options, plan.limits, keepalive_seconds=_KEEPALIVE_SECONDS
            ) as fetcher:
                self._fetcher = fetcher
                turns = TaskTurns(plan.at_once, _find_key, self._visit)
                await turns.run(self._list_tasks())
                await self._sync_state()
        except BaseExceptionGroup as errors:
            fault = find_first(errors)
        finally:
            self._channel.close()
        if fault is not None:
            raise fault  # outside of `except`, so that it gets no other context

    async def _list_tasks(self) -> AsyncGenerator[CheckedTask, None]:
        """Yield each site once; give what is no URL its outcome."""
        seen = SeenKeys()
        async for given in _iterate(self._sites):
            try:
                task = check_task(given)
            except InvalidSiteError as error:
                name = str(error)
                outcome = SiteOutcome(name, SiteStatus.FAILED, str(IssueCode.INVALID_URL))
                self._end(SiteWalk(name), outcome)
                continue
            if seen.add(task.key):
                yield task
            else:
                self.repeated += 1

    async def _visit(self, task: CheckedTask) -> None:
        """Walk over a site, and record its outcome whatever happens."""
        site, bug = SiteWalk(task.name), ""
        self._running.add(site)
        try:
            bug = await self._read_site(task, site)
        finally:
            self._running.discard(site)
            self._end_site(site, bug)

    async def _read_site(self, task: CheckedTask, site: SiteWalk) -> str:
        """Walk over a site; return the name of the exception if a bug ended that, or ""."""
        for attempt in task.list_attempts():
            walked = site.walk = self._make_walk(task, attempt)
            try:
                await self._read(task, site, walked)
            except StateError:  # of the disk or the file: nothing more can be remembered
                raise
            except Exception as error:
                if error is self._callers_fault:
                    raise
                LOGGER.exception("a bug ended the walk over %s", task.name)
                return type(error).__name__
            if not needs_search(walked.report):
                break
        return ""

    def _end_site(self, site: SiteWalk, bug: str) -> None:
        outcome = SiteOutcome(site.name, SiteStatus.FAILED)
        if site.walk is not None:
            outcome = attrs.evolve(site.walk.report.outcome, site=site.name)
        if bug:
            outcome = attrs.evolve(outcome, status=SiteStatus.ERROR, reason=bug)
        self._end(site, outcome)

    def _make_walk(self, task: CheckedTask, attempt: Attempt) -> Walk:
        plan, config = self._plan, self._config
        trusted = config.trusted if task.task.trusted is None else task.task.trusted
        search = None
        if attempt.site is not None and config.search is not None:
            search = attrs.evolve(config.search, site=attempt.site)
        config = attrs.evolve(
            config,
            search=search,
            sitemaps=attempt.sitemaps,
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

    async def _read(self, task: CheckedTask, site: SiteWalk, walked: Walk) -> None:
        """Hand over the entries of a walk, as far as the site may have them."""
        plan = self._plan
        most = sys.maxsize if plan.site_urls is None else plan.site_urls
        async with walked as entries:
            if plan.watcher is not None:
                plan.watcher.note_begin(site)
            number = 0
            while (batch := await entries.next_by_columns()) is not None:
                if isinstance(batch, tuple):
                    continue
                left, number = most - number, number + len(batch)
                if left:
                    await self._hand_over(task, take_rows(batch, left))
                if number > most:
                    walked.report.add_issue(make_issue(IssueCode.BUDGET_URLS, task.url))
                    return
            if plan.gives_removed and walked.report.removed is not None:
                site.removals_unknown += entries.removals_unknown()
                await self._hand_over_removed(task, entries.removed())

    async def _hand_over_removed(self, task: CheckedTask, removed: Iterator[str]) -> None:
        while locs := list(islice(removed, _REMOVED_AT_ONCE)):
            gone = [UrlEntry(loc, change=Change.REMOVED) for loc in locs]
            await self._hand_over(task, gone)

    async def _hand_over(self, task: CheckedTask, rows: Rows) -> None:
        """Give entries to the consumer; with a state, wait until it has handled them."""
        delivery = _Delivery(task.name, rows)
        if self._config.state is not None:
            delivery.handled = asyncio.Event()
        await self._channel.put(delivery, len(rows))
        if delivery.handled is not None:
            await delivery.handled.wait()

    def _end(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        """Record the outcome of a site, and tell whoever wants to know."""
        self.outcomes.append(outcome)
        if self._plan.watcher is not None:
            self._plan.watcher.note_end(site, outcome)
        if self._plan.on_site is not None:
            self._plan.on_site(outcome)

    def _watch(self, function: Callable[[T], R] | None) -> Callable[[T], R] | None:
        """Return a function of the caller that leaves a trace of what it raises."""
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
    """Yield sites from either kind of iterable; let other tasks run now and then."""
    if isinstance(sites, AsyncIterable):
        async for site in sites:
            yield site
        return
    for number, site in enumerate(sites):
        if not number % _SITES_PER_PAUSE:
            await asyncio.sleep(0)
        yield site


async def _find_key(task: CheckedTask) -> str:
    """Return the registrable domain of a task, whose sites wait for each other."""
    return await find_domain(task.host)
