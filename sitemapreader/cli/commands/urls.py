"""`sitemapreader urls`: every URL of the sources."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.parser import UsageError
from sitemapreader.cli.pipe import PipeDelivery, follow_output
from sitemapreader.cli.runner import make_sources
from sitemapreader.cli.runtime import ignore_signals, keep_file, run_process
from sitemapreader.cli.site_runner import SiteRunner
from sitemapreader.cli.sources import (
    SiteSource,
    Source,
    SourceResult,
    make_site_source,
    make_source,
)
from sitemapreader.cli.summary import RunSummary
from sitemapreader.cli.writer import is_for_many, open_entries
from sitemapreader.many.run import open_report
from sitemapreader.rows import SiteRows, get_column, select_rows, take_rows
from sitemapreader.urls import url_key
from sitemapreader.walker.filters import SeenKeys

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from sitemapreader.outcomes import SiteOutcome
    from sitemapreader.output.sink import Output
    from sitemapreader.rows import Rows

    Make = Callable[[str], Source]


def run(arguments: argparse.Namespace) -> int:
    """Print the URLs and return the exit code."""
    config = RunConfig.from_arguments(arguments)
    named = make_sources(arguments, partial(make_source, arguments=arguments, config=config))
    make_listed = partial(make_site_source, arguments=arguments, trusted=False)
    return print_urls(arguments, config, named, make_listed)


def print_urls(
    arguments: argparse.Namespace, config: RunConfig, named: Sequence[Source], make_listed: Make
) -> int:
    """Print the URLs of the given sources and return the exit code."""
    console = Console.from_arguments(arguments)
    work = UrlPrinter(arguments, config, console)
    return run_process(partial(work.run, named, make_listed), work.output, console)


class _LimitReachedError(Exception):
    """The number of URLs that `--limit` allows has been printed."""


class UrlPrinter:
    """A run over all sources that prints their URLs."""

    def __init__(self, arguments: argparse.Namespace, config: RunConfig, console: Console) -> None:
        self.output = open_entries(arguments)
        self._report = _open_report(arguments)
        self._arguments = arguments
        self._config = config
        self._console = console
        self._summary = RunSummary()
        self._has_state = bool(getattr(arguments, "state", None))
        self._has_sites = is_for_many(arguments)
        self._seen = SeenKeys() if arguments.unique else None

    async def run(self, named: Sequence[Source], make_listed: Make) -> int:
        """Print the URLs of all sources and the summary; return the exit code."""
        with self.output, self._report or nullcontext():
            runner = SiteRunner(
                self._arguments,
                self._console,
                self._summary,
                named,
                make_listed,
                self._visit,
                config=self._config,
                handle=self._print_rows,
                on_end=self._end_site,
                make_delivery=self._make_delivery,
            )
            async with runner.show(), runner.make_run() as sites:
                holds = self.output.is_replaced and await sites.hold_state()
                try:
                    await runner.read_sites(sites)
                except _LimitReachedError:
                    await sites.settle()
                if holds:
                    await sites.leave()
                    self._keep_file()
                    files = self.output.prepare()
                    files += self._report.prepare() if self._report else []
                    await ignore_signals()  # what is committed has not been stopped
                    sites.commit_state(files)
            if not holds:
                self._keep_file()
        self._console.print_summary(self._summary)
        return self._summary.find_exit_code()

    def _keep_file(self) -> None:
        if not self._summary.printed:
            keep_file(self.output, self._console, self._summary)

    async def _visit(self, source: Source, result: SourceResult) -> None:
        """Print the URLs of a file or folder."""
        if isinstance(source, SiteSource):
            raise TypeError("sites are read by the run")
        async with aclosing(source.open(result)) as batches:
            walk = None
            async for rows in batches:
                if result.walk is not walk:  # the first batch of a walk, not yet acknowledged
                    walk = result.walk
                    delivery = self._make_delivery()
                    if walk is not None and delivery is not None:
                        walk.deliver_through(delivery)
                try:
                    self._print_rows(source.label, rows)
                except _LimitReachedError:
                    if walk is not None:
                        await walk.settle()
                    raise
                await asyncio.sleep(0)  # reading a file never waits: let signals be handled

    def _end_site(self, _result: SourceResult, outcome: SiteOutcome) -> None:
        if self._report is not None:
            self._report.add(outcome)

    def _make_delivery(self) -> PipeDelivery | None:
        """Let a walk with a state acknowledge only what has left the output pipe."""
        return follow_output(self.output) if self._has_state else None

    def _print_rows(self, site: str, rows: Rows) -> None:
        if self._seen is not None:
            add = self._seen.add
            rows = select_rows(rows, [add(url_key(loc)) for loc in get_column(rows, "loc")])
        limit = self._arguments.limit
        if limit is not None:
            rows = take_rows(rows, limit - self._summary.printed)
        if rows:
            self._console.clear_for_results()
            self.output.write(SiteRows([(site, rows)]) if self._has_sites else rows)
            self._summary.printed += len(rows)
        if self._summary.printed == limit:
            self._summary.limit_reached = True
            raise _LimitReachedError


def _open_report(arguments: argparse.Namespace) -> Output | None:
    """Return the report, if any; raise UsageError for a name without a format."""
    try:
        return open_report(getattr(arguments, "report", None))
    except (ValueError, ModuleNotFoundError) as error:
        raise UsageError(f"--report: {error}") from None
