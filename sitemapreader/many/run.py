"""SiteRun: the walks over many sites as their consumer sees them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from sitemapreader.event_loop import end_task, find_first
from sitemapreader.many.visitor import SiteVisitor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
    from os import PathLike
    from pathlib import Path

    import pyarrow as pa

    from sitemapreader.documents.budget import UrlAllowance
    from sitemapreader.many.plan import RunPlan, RunWatcher, SiteBatch, Sites
    from sitemapreader.models import UrlEntry
    from sitemapreader.outcomes import SiteOutcome
    from sitemapreader.rows import Rows
    from sitemapreader.walker.persistence.access import StateAccess


class SiteRun:
    """The walks over many sites; made by `walk_many`, entered once with `async with`.

    `batches` gives the entries as they come, each list with the site that it belongs to. Those of
    several sites come interleaved. Leaving the context, early or not, ends all tasks.

    Attributes:
        outcomes: one for each site that was begun, in the order in which they ended; complete when
            the context is left. With `on_site`, which gets them, and once a report is written, they
            are not kept: a list of sites may have no end.
    """

    def __init__(self, sites: Sites, plan: RunPlan) -> None:
        self._visitor = SiteVisitor(sites, plan)
        self.outcomes: list[SiteOutcome] = self._visitor.outcomes
        self._state = plan.config.state
        self._keeps_outcomes = plan.on_site is None
        self._handed: SiteBatch | None = None
        self._task: asyncio.Task[None] | None = None
        self._access: StateAccess | None = None
        self._is_left = False
        self._fault_is_known = False

    @property
    def repeated(self) -> int:
        """How many sites were named before, and not read again."""
        return self._visitor.repeated

    def report_to(self, watcher: RunWatcher) -> None:
        """Report the begin and the end of each walk to a watcher; call it before entering."""
        self._visitor.watcher = watcher
        self._keeps_outcomes = False

    def pass_outcomes(self, take: Callable[[SiteOutcome], object]) -> None:
        """Give all outcomes, those until now as well, to a function; keep none."""
        for outcome in self.outcomes:
            take(outcome)
        self.outcomes.clear()
        self._visitor.take, self._keeps_outcomes = take, True

    def share_allowance(self, allowance: UrlAllowance) -> None:
        """Bound the URLs of all sites together; call it before entering."""
        self._visitor.allowance = allowance

    def share_room(self, room: asyncio.Semaphore) -> None:
        """Share the number of sites at a time with other runs; call it before entering."""
        self._visitor.room = room

    def __repr__(self) -> str:
        if self._task is None:
            return "<SiteRun: not entered, use it with `async with`>"
        how = "over" if self._is_left else f"{len(self._visitor.running)} under way"
        return f"<SiteRun: {self._visitor.ended} sites ended, {how}>"

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise ValueError("a run is made once: call walk_many(...) again for another one")
        self._access = self._open_state()
        self._task = asyncio.create_task(self._run(), name="sitemapreader.many")
        return self

    def _open_state(self) -> StateAccess | None:
        """Open the state for the whole run, so that not each walk has to."""
        if self._state is None:
            return None
        from sitemapreader.walker.persistence.access import (  # noqa: PLC0415 (few runs have a state)
            StateAccess,
        )

        return StateAccess.open(self._state.path, f"run {id(self)}")

    async def _run(self) -> None:
        fault: BaseException | None = None
        try:
            await self._visitor.visit_all()
            if self._access is not None:
                await self._access.sync()
        except BaseExceptionGroup as errors:
            fault = find_first(errors)
        if fault is not None:
            raise fault  # outside of `except`, so that it gets no other context

    def commit_state(self, files: Iterable[tuple[Path, Path]] = ()) -> None:
        """Rename files, then commit what was held back.

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
        """End all walks as leaving the context does; keep the state for `commit_state`."""
        self._is_left = True
        await end_task(self._check_entered())

    async def settle(self) -> None:
        """Acknowledge what was handed over: the consumer has handled it, and leaves early."""
        for site in list(self._visitor.running):
            if site.walk is not None:
                await site.walk.stop()
                if site.handed is self._handed or site.is_handled:
                    await site.walk.settle()

    # -- the consumer's side

    async def batches(self) -> AsyncGenerator[tuple[str, list[UrlEntry]], None]:
        """Yield the entries as they are read: a site as it was given, and a list.

        No list is empty. Asking for the next one acknowledges the previous one, for the state.
        """
        async for site, rows in self.rows():
            yield site, list(rows)

    async def rows(self) -> AsyncGenerator[tuple[str, Rows], None]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        while (rows := await self.next_rows()) is not None:
            yield rows

    def record_batches(self) -> AsyncIterator[pa.RecordBatch]:
        """Yield the rows as Arrow's record batches, with `site` as the first column.

        Each has some thousand rows; with a state, as many as were read at once, because asking for
        the next one acknowledges it. Needs the extra `arrow`.
        """
        # It takes 0.1 s, and raises here if pyarrow is not installed.
        from sitemapreader.output.arrow import collect_batches_async  # noqa: PLC0415

        return collect_batches_async(self.rows(), gathers=self.gathers)

    @property
    def gathers(self) -> bool:
        """Whether rows may wait for others: a state must not see them acknowledged early."""
        return self._state is None

    async def write(
        self, path: str | PathLike[str], *, report: str | PathLike[str] | None = None
    ) -> None:
        """Write all entries into a file with the column `site`, and the outcomes.

        The state is committed after them: a run that is killed may repeat entries, and never loses
        one. A file `path` that exists is replaced.

        Args:
            path: its suffix selects the format, as in `open_output`.
            report: a name with .jsonl, .csv or .parquet, for a row per site.
        """
        from sitemapreader.many.writing import write_run  # noqa: PLC0415 (not every run writes)

        await write_run(self, path, report)

    async def hold_state(self) -> bool:
        """Hold back changes of the state until `commit_state`; return if there is a state."""
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
        self._check_inside()
        if not self._keeps_outcomes:
            self.pass_outcomes(lambda _: None)
        if self._handed is not None and self._handed.handled is not None:
            self._handed.handled.set()
        self._handed = await self._visitor.channel.get()
        if self._handed is None:
            await asyncio.wait([task])
            # Left by another task while this one waited: what was read may not look complete.
            self._check_inside()
            self._fault_is_known = True
            if not task.cancelled():
                task.result()
            return None
        return self._handed.site, self._handed.rows

    def _check_inside(self) -> None:
        if self._is_left:
            raise ValueError("the run is over: iterate it inside `async with walk_many(...)`")

    def _check_entered(self) -> asyncio.Task[None]:
        if self._task is None:
            raise TypeError(
                "a run has tasks and sockets to close, so enter it first: "
                "`async with walk_many(...) as run: async for site, entries in run.batches(): ...`"
            )
        return self._task
