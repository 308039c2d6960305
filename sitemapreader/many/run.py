"""SiteRun: the walks over many sites as their consumer sees them."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.event_loop import get_result
from sitemapreader.many.visitor import SiteBatch, SiteWalks
from sitemapreader.output import open_output
from sitemapreader.output.columns import SITE_COLUMNS
from sitemapreader.rows import BATCH_ROWS, Rows, SiteRows
from sitemapreader.walker.stream import Loop, View

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    import pyarrow as pa

    from sitemapreader.models import UrlEntry
    from sitemapreader.output.sink import Output


_REPORT_SUFFIXES = (".jsonl", ".csv", ".parquet")


def _pair(batches: list[SiteBatch]) -> list[tuple[str, Rows]]:
    return [pair for batch in batches for pair in batch.rows.parts]


_ROWS: View[SiteBatch, tuple[str, Rows]] = View(_pair)
SITE_LISTS: View[SiteBatch, tuple[str, list[UrlEntry]]] = View(
    lambda batches: ((site, list(rows)) for site, rows in _pair(batches))
)


@cache
def _view_records() -> View[SiteBatch, pa.RecordBatch]:
    # It takes 0.1 s, and raises here if pyarrow is not installed.
    from sitemapreader.output.arrow import make_batches  # noqa: PLC0415

    return View(lambda batches: make_batches([SiteRows(_pair(batches))], SITE_COLUMNS), BATCH_ROWS)


class SiteRun(SiteWalks):
    """The walks over many sites; made by `walk_many`, entered once.

    With `async with`, its loops are `async for`. With `with`, they are `for`, and the walks run in
    a thread.

    `batches` gives the entries as they come, each list with the site that it belongs to. Those of
    several sites come interleaved. Leaving the context, early or not, ends all tasks.

    Attributes:
        outcomes: one for each site that was begun, in the order in which they ended; complete when
            the context is left. With `on_site`, which gets them, and once a report is written, they
            are not kept: a list of sites may have no end.
    """

    def __repr__(self) -> str:
        if not self.is_entered:
            return "<SiteRun: not entered, use it with `async with` or `with`>"
        how = "over" if self.is_left else f"{len(self.running)} under way"
        return f"<SiteRun: {self._ended} sites ended, {how}>"

    def commit_state(self, files: Iterable[tuple[Path, Path]] = ()) -> None:
        """Rename files, then commit what was held back.

        For a run whose walks have all ended. Each file has its temporary and its final path.

        Raises StateError or OSError: the disk refuses it; then the state knows nothing of the run.
        """
        if self._access is not None:
            self._access.file.commit_held(files)

    async def settle(self) -> None:
        """Acknowledge what was handed over: the consumer has handled it, and leaves early."""
        for site in list(self.running):
            if site.walk is not None:
                await site.walk.stop()
                if site.handed is self._last or site.is_handled:
                    await site.walk.settle()

    # -- the consumer's side

    def batches(self) -> Loop[tuple[str, list[UrlEntry]]]:
        """Yield the entries as they are read: a site as it was given, and a list.

        No list is empty. Asking for the next one acknowledges the previous one, for the state.
        """
        return self._read(SITE_LISTS)

    def rows(self) -> Loop[tuple[str, Rows]]:
        """Yield the entries as `batches` does, by columns where the reader gives columns."""
        return self._read(_ROWS)

    def record_batches(self) -> Loop[pa.RecordBatch]:
        """Yield the rows as Arrow's record batches, with `site` as the first column.

        Each has some thousand rows; with a state, as many as were read at once, because asking for
        the next one acknowledges it. Needs the extra `arrow`.
        """
        return self._read(_view_records())

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
        if report is not None and is_same_file(path, report):
            raise ValueError(f"{str(path)!r} is named twice: for the entries, and for the report")
        outcomes = open_report(report)
        with open_output(path, has_sites=True) as output, outcomes or nullcontext():
            if outcomes is not None:
                for outcome in self.outcomes:
                    outcomes.add(outcome)
                self.outcomes.clear()
                self._take, self._is_reported = outcomes.add, True
            has_state = output.is_replaced and await self.hold_state()
            async for pair in self.rows():
                output.write(SiteRows([pair]))
            await self.leave()
            if has_state:  # else leaving the outputs renames them
                files = outcomes.prepare() if outcomes else ()
                self.commit_state([*output.prepare(), *files])

    def write_sync(
        self, path: str | PathLike[str], *, report: str | PathLike[str] | None = None
    ) -> None:
        """Do what `write` does, in a run that was entered with `with`."""
        get_result(self._get_thread().call(self.write, path, report=report))

    async def hold_state(self) -> bool:
        """Hold back changes of the state until `commit_state`; return if there is a state."""
        if self._access is None:
            return False
        async with self._access.turn():
            self._access.file.hold()
        return True

    async def _acknowledge(self) -> None:
        is_told = self._watcher is not None or self._plan.on_site is not None
        if is_told and not self._is_reported:
            self.outcomes.clear()
            self._take = _forget
        if self._last is not None and self._last.handled is not None:
            self._last.handled.set()


def _forget(_: object) -> None:
    """Keep no outcome."""


def is_same_file(one: str | PathLike[str], other: str | PathLike[str]) -> bool:
    """Return whether two names of files, which need not exist, are of one file."""
    return Path(one).resolve() == Path(other).resolve()


def open_report(path: str | PathLike[str] | None) -> Output | None:
    """Return the report, a row a site, if there is a path; ValueError for its suffix."""
    if path is None:
        return None
    if Path(path).suffix.lower() not in _REPORT_SUFFIXES:
        suffixes = ", ".join(_REPORT_SUFFIXES)
        raise ValueError(f"the name of a report ends with {suffixes}, unlike {str(path)!r}")
    from sitemapreader.output.columns import OUTCOME_COLUMNS  # noqa: PLC0415 (few runs have one)

    return open_output(path, columns=OUTCOME_COLUMNS)
