"""`sitemapreader urls`: every URL of the sources."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.pipe import follow_output
from sitemapreader.cli.runner import SourceRunner, make_sources
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.sources import Source, SourceResult, make_source, make_web_source
from sitemapreader.cli.summary import RunSummary
from sitemapreader.cli.writer import open_entries
from sitemapreader.entry_columns import get_column, select_rows, take_rows
from sitemapreader.urls import url_key
from sitemapreader.walker.seen import SeenKeys

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from sitemapreader.entry_columns import Rows
    from sitemapreader.walker import Walk

    Make = Callable[[str], Source]


def run(arguments: argparse.Namespace) -> int:
    """Print the URLs and return the exit code."""
    config = RunConfig.from_arguments(arguments)
    if arguments.state:
        arguments.parallel = 1  # a state has one writer
    named = make_sources(arguments, partial(make_source, arguments=arguments, config=config))
    return print_urls(
        arguments, named, partial(make_web_source, arguments=arguments, config=config)
    )


def print_urls(arguments: argparse.Namespace, named: Sequence[Source], make_listed: Make) -> int:
    """Print the URLs of the given sources and return the exit code."""
    console = Console.from_arguments(arguments)
    work = UrlPrinter(arguments, console)
    return run_process(partial(work.run, named, make_listed), work.output, console)


class _LimitReachedError(Exception):
    """The number of URLs that `--limit` allows has been printed."""


class UrlPrinter:
    """A run over all sources that prints their URLs."""

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        self.output = open_entries(arguments)
        self._arguments = arguments
        self._console = console
        self._summary = RunSummary()
        self._seen = SeenKeys() if arguments.unique else None

    async def run(self, named: Sequence[Source], make_listed: Make) -> int:
        """Print the URLs of all sources and the summary; return the exit code."""
        runner = SourceRunner(
            self._arguments, self._console, self._summary, named, make_listed, self._visit
        )
        with self.output:
            try:
                await runner.run()
            except* _LimitReachedError:
                self._summary.limit_reached = True
        self._console.print_summary(self._summary)
        return self._summary.find_exit_code()

    async def _visit(self, source: Source, result: SourceResult) -> None:
        async with aclosing(source.open(result)) as batches:
            walk = None
            async for rows in batches:
                if result.walk is not walk:  # the first batch of a walk, not yet acknowledged
                    walk = result.walk
                    self._follow_output(walk)
                self._print_rows(rows)
                await asyncio.sleep(0)  # reading a file never waits: let signals be handled

    def _follow_output(self, walk: Walk | None) -> None:
        """Let a walk with a state acknowledge only what has left the output pipe."""
        if walk is not None and self._arguments.state:
            delivery = follow_output(self.output)
            if delivery is not None:
                walk.deliver_through(delivery)

    def _print_rows(self, rows: Rows) -> None:
        if self._seen is not None:
            add = self._seen.add
            rows = select_rows(rows, [add(url_key(loc)) for loc in get_column(rows, "loc")])
        limit = self._arguments.limit
        if limit is not None:
            rows = take_rows(rows, limit - self._summary.printed)
        if rows:
            self._console.clear_for_results()
            self.output.write(rows)
            self._summary.printed += len(rows)
        if self._summary.printed == limit:
            raise _LimitReachedError
