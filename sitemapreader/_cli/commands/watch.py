"""`sitemapreader watch`: prints new and gone pages of sites as it finds them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from sitemapreader._cli.config import get_output_path
from sitemapreader._cli.parser import (
    ALL_READ,
    NOTHING_FETCHED,
    PARTIAL,
    UsageError,
    usage_errors,
)
from sitemapreader._cli.process import LineWriter, opened, run_process, write_to
from sitemapreader._cli.run import NO_SOURCE, SourceRun, find_rooted
from sitemapreader._many import INITIAL, watch
from sitemapreader._many.sources import SiteTask
from sitemapreader._types.outcomes import NOT_DUE, SiteStatus
from sitemapreader._types.rows import SiteRows
from sitemapreader.output import open_output
from sitemapreader.output.text import escape_urls

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from sitemapreader._types.models import UrlEntry
    from sitemapreader._types.outcomes import SiteOutcome


def run_watch(arguments: argparse.Namespace) -> int:
    """Print changes until a signal, or the end of the time; return the exit code."""
    run = SourceRun(arguments, noun="changes", find=find_rooted)
    path = get_output_path(arguments)
    if path is not None and Path(path).suffix != ".atom":
        raise UsageError(
            "-o requires a feed, such as changes.atom. To write lines, append with >> FILE"
        )
    ends: dict[str, SiteStatus] = {}  # name of a site -> how its last walk ended
    told: dict[str, str] = {}

    def note(outcome: SiteOutcome) -> None:
        """Say how a walk ended, if the one before it ended otherwise."""
        if outcome.reason == NOT_DUE:
            return
        site = outcome.site
        status = outcome.status
        if status.is_whole:
            said = "read again"
        else:
            said = f"{status} ({outcome.reason})"
        if said != told.get(site, "read again"):
            run.console.print_line(f"{site}: {said}")
        ends[site], told[site] = status, said

    kinds = [*arguments.kinds, *[INITIAL] * bool(arguments.initial)]

    limits = attrs.evolve(run.keywords["limits"], sites_at_once=arguments.parallel)

    async def work() -> int:
        with usage_errors(ValueError):
            changes = watch(
                await _list_sites(run),
                state=arguments.state_file,
                pace=arguments.pace,
                kinds=kinds,
                on_site=note,
                **run.keywords | {"limits": limits},
            )
        async with changes:
            async for site, entries in changes.batches():
                await _print(site, entries, path, arguments.format)
        return _exit_code_of(ends.values(), run.summary.unknown)

    return run_process(work, path or "standard output", run.console)


async def _list_sites(run: SourceRun) -> list[SiteTask]:
    given = [task async for task in run.list_tasks()]
    for line in (each for each in given if isinstance(each, str)):
        run.report_unknown(f"{line!r} {NO_SOURCE}")
    return [each for each in given if isinstance(each, SiteTask)]


def _exit_code_of(ends: Collection[SiteStatus], unknown: int) -> int:
    if ends and all(status is SiteStatus.FAILED for status in ends):
        return NOTHING_FETCHED
    if all(status.is_whole for status in ends) and not unknown:
        return ALL_READ
    return PARTIAL


async def _print(
    site: str,
    entries: list[UrlEntry],
    path: str | None,
    form: str,
) -> None:
    if path is not None:
        with open_output(path, "atom") as feed:
            feed.write(entries)
    elif form == "jsonl":
        with open_output(None, "jsonl", has_sites=True) as rows:
            await write_to(rows, rows.write, SiteRows([(site, entries)]))
    else:
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        urls = escape_urls([entry.loc for entry in entries])
        said = [
            f"{now}\t{each.change}\t{url}"
            for each, url in zip(entries, urls, strict=True)
        ]
        async with opened(LineWriter(None)) as lines:
            await write_to(lines, lines.write_lines, said)
