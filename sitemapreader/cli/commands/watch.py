"""`sitemapreader watch`: what is new or gone on sites, as it is found."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.cli.output import LineWriter, get_output_path, opened, write_to
from sitemapreader.cli.parser import ALL_READ, NOTHING_FETCHED, PARTIAL, UsageError
from sitemapreader.cli.run import NO_SOURCE, SourceRun, find_rooted
from sitemapreader.cli.runtime import run_process
from sitemapreader.many.sources import SiteTask
from sitemapreader.many.watch import watch
from sitemapreader.outcomes import NOT_DUE, SiteStatus
from sitemapreader.output import open_output
from sitemapreader.output.text import escape_urls
from sitemapreader.rows import SiteRows

if TYPE_CHECKING:
    import argparse

    from sitemapreader.models import UrlEntry
    from sitemapreader.outcomes import SiteOutcome


def run_watch(arguments: argparse.Namespace) -> int:
    """Print changes until a signal, or the end of the time; return the exit code."""
    run = SourceRun(arguments, what="changes", find=find_rooted)
    path = get_output_path(arguments)
    if path is not None and Path(path).suffix != ".atom":
        raise UsageError("-o: watch writes a feed, such as changes.atom; or append with >> FILE")
    work = _Watcher(run, path)
    return run_process(work.run, path or "standard output", run.console)


class _Watcher:
    """Prints the changes of all sources."""

    def __init__(self, run: SourceRun, path: str | None) -> None:
        self._run = run
        self._path = path
        self._ends: dict[str, SiteOutcome] = {}
        """Name of a site -> how its last walk ended."""

    async def run(self) -> int:
        """Watch the sources; return the exit code."""
        run, arguments = self._run, self._run.arguments
        sites = []
        async for task in run.list_tasks():
            if isinstance(task, SiteTask):
                sites.append(task)
            else:
                run.report_unknown(f"{task!r} {NO_SOURCE}")
        try:
            changes = watch(
                sites,
                state=arguments.state_file,
                pace=arguments.pace,
                kinds=arguments.kinds,
                initial=arguments.initial,
                at_once=arguments.parallel,
                on_site=self._note,
                options=run.config.options,
                limits=run.config.limits,
                **run.config.walk,
            )
        except ValueError as error:
            raise UsageError(str(error)) from None
        async with changes:
            async for site, entries in changes.batches():
                await self._print(site, entries)
        return self._find_exit_code()

    async def _print(self, site: str, entries: list[UrlEntry]) -> None:
        if self._path is not None:
            with open_output(self._path, "atom") as feed:
                feed.write(entries)
            return
        if self._run.arguments.format == "jsonl":
            with open_output(None, "jsonl", has_sites=True) as rows:
                await write_to(rows, partial(rows.write, SiteRows([(site, entries)])))
            return
        lines = LineWriter(None)
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        urls = escape_urls([entry.loc for entry in entries])
        said = zip(entries, urls, strict=True)
        text = "".join(f"{now}\t{entry.change}\t{url}\n" for entry, url in said)
        async with opened(lines):
            await write_to(lines, partial(lines.write_text, text))

    def _note(self, outcome: SiteOutcome) -> None:
        """Say how a walk ended, if the one before it ended otherwise."""
        if outcome.reason == NOT_DUE:
            return
        before = self._ends.get(outcome.site)
        self._ends[outcome.site] = outcome
        if not outcome.status.is_whole and (before is None or before.reason != outcome.reason):
            self._run.console.print_line(f"{outcome.site}: {outcome.status} ({outcome.reason})")
        elif outcome.status.is_whole and before is not None and not before.status.is_whole:
            self._run.console.print_line(f"{outcome.site}: read again")

    def _find_exit_code(self) -> int:
        ends = [outcome.status for outcome in self._ends.values()]
        if ends and all(status is SiteStatus.FAILED for status in ends):
            return NOTHING_FETCHED
        is_all = all(status.is_whole for status in ends) and not self._run.summary.unknown
        return ALL_READ if is_all else PARTIAL
