"""`sitemapreader newest`: the newest URLs of a site, and whether that is proven."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.config import RunConfig
from sitemapreader.cli.console import Console
from sitemapreader.cli.output import open_entries, opened, write_to
from sitemapreader.cli.parser import ALL_READ, PARTIAL
from sitemapreader.cli.run import find_sources
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.summary import RunSummary
from sitemapreader.many.visitor import SiteWalk
from sitemapreader.walker.newest import newest

if TYPE_CHECKING:
    import argparse

_REASONS = {
    "dates-exceeded": "a sitemap has a URL that is newer than its index says of it",
    "undated-sitemaps": "sitemaps without a date were not read: raise --documents",
    "equal-dates": "all sitemaps have one date: raise --documents",
    "documents-limit": "more sitemaps may have newer ones: raise --documents",
    "undated-urls": "other URLs have no date",
}


def run_newest(arguments: argparse.Namespace) -> int:
    """Print the newest URLs and return the exit code."""
    config, console = RunConfig.from_arguments(arguments), Console.from_arguments(arguments)
    (task,) = find_sources(arguments)
    output, summary = open_entries(arguments), RunSummary()

    async def work() -> int:
        found = await newest(
            task.url,
            arguments.number,
            documents=arguments.most,
            fetcher=task.fetcher,
            limits=config.limits,
            options=config.options,
            **config.walk,
        )
        summary.printed = len(found.entries)
        summary.add(SiteWalk(task.name or task.url), found.report)
        async with opened(output):
            await write_to(output, partial(output.write, list(found.entries)))
            if not found.entries and output.is_replaced:
                output.discard()
        console.print_issues(found.report, task.url)
        console.print_summary(summary)
        said = "proven: no other URL with a date is newer"
        if not found.proven:
            said = f"not proven to be the newest: {_REASONS.get(found.reason, found.reason)}"
        if found.entries:
            console.print_line(
                f"{said} ({found.documents} sitemaps read; left out: {found.undated} URLs without "
                f"a date, {found.future} of the future)"
            )
        code = summary.find_exit_code()
        return PARTIAL if code == ALL_READ and not found.proven else code

    return run_process(work, output.name, console)
