"""Write a whole run into files: its entries, and the outcomes of its sites."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sitemapreader.output import open_output
from sitemapreader.rows import SiteRows

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable
    from os import PathLike

    from sitemapreader.outcomes import SiteOutcome
    from sitemapreader.output.sink import Output
    from sitemapreader.rows import Rows


_REPORT_SUFFIXES = (".jsonl", ".csv", ".parquet")


class WritableRun(Protocol):
    """A run whose state can be committed after files."""

    def pass_outcomes(self, take: Callable[[SiteOutcome], object]) -> None:
        """Give the outcomes to a function instead of keeping them."""
        ...

    def rows(self) -> AsyncIterable[tuple[str, Rows]]:
        """Yield the entries."""
        ...

    async def hold_state(self) -> bool:
        """Hold back all changes of the state; return whether there is a state."""
        ...

    async def leave(self) -> None:
        """End all walks."""
        ...

    def commit_state(self, files: Iterable[tuple[Path, Path]]) -> None:
        """Rename files, then commit the state."""
        ...


async def write_run(
    run: WritableRun, path: str | PathLike[str], report: str | PathLike[str] | None
) -> None:
    """Write the entries and the outcomes of a run; see `SiteRun.write`."""
    rows = open_report(report)
    with open_output(path, has_sites=True) as output, rows or nullcontext():
        if rows is not None:
            run.pass_outcomes(rows.add)
        has_state = output.is_replaced and await run.hold_state()
        async for site, entries in run.rows():
            output.write(SiteRows([(site, entries)]))
        await run.leave()
        if has_state:  # else leaving the outputs renames them
            run.commit_state([*output.prepare(), *(rows.prepare() if rows else ())])


def open_report(path: str | PathLike[str] | None) -> Output | None:
    """Return the report for a path, a row a site; `None` without a path.

    Raises ValueError: the name has no suffix of a format.
    """
    if path is None:
        return None
    if Path(path).suffix.lower() not in _REPORT_SUFFIXES:
        suffixes = ", ".join(_REPORT_SUFFIXES)
        raise ValueError(f"the name of a report ends with {suffixes}, unlike {str(path)!r}")
    from sitemapreader.output.columns import OUTCOME_COLUMNS  # noqa: PLC0415 (few runs have one)

    return open_output(path, columns=OUTCOME_COLUMNS)
