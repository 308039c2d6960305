"""Write a whole run into files: its entries, and the outcomes of its sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sitemapreader.many.site_report import open_report
from sitemapreader.output import open_output
from sitemapreader.rows import SiteRows

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable
    from os import PathLike
    from pathlib import Path

    from sitemapreader.outcomes import SiteOutcome
    from sitemapreader.rows import Rows


class WritableRun(Protocol):
    """A run whose state can be committed after files."""

    @property
    def outcomes(self) -> list[SiteOutcome]:
        """The outcomes of the sites that have ended."""
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
    rows = open_report(None if report is None else str(report))
    with open_output(path, has_sites=True) as output, rows:
        has_state = output.is_replaced and await run.hold_state()
        async for site, entries in run.rows():
            output.write(SiteRows([(site, entries)]))
        await run.leave()
        for outcome in run.outcomes:
            rows.add(outcome)
        if has_state:
            run.commit_state([*output.prepare(), *rows.prepare()])
