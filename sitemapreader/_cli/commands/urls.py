"""`sitemapreader urls`, `read` and `newest`: URLs of sites, or of local files."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING

from sitemapreader._cli.config import is_for_many, open_entries
from sitemapreader._cli.parser import (
    ALL_READ,
    DIFFERENT,
    NO_URL,
    PARTIAL,
    UsageError,
    usage_errors,
)
from sitemapreader._cli.process import (
    ignore_signals,
    is_pipe,
    opened,
    run_process,
    wait_for_reader,
    write_to,
)
from sitemapreader._cli.run import SourceRun, find_rooted
from sitemapreader._columns import ISSUE_COLUMNS, OUTCOME_COLUMNS
from sitemapreader._many.sources import FileFetcher, SiteTask
from sitemapreader._types.counts import count_units
from sitemapreader._types.models import Change
from sitemapreader._types.rows import Rows, SiteRows, get_column, select_rows
from sitemapreader._types.urls import has_web_scheme, path_of, url_key
from sitemapreader._walk.filters import DrawnSample, SeenKeys
from sitemapreader._walk.newest import Newest, newest
from sitemapreader.output import open_report, write_file
from sitemapreader.output.counts import UrlCounts

if TYPE_CHECKING:
    import argparse

    from sitemapreader._columns import Column
    from sitemapreader._many.run import SiteRun, SiteWalk
    from sitemapreader.output.sink import Output

_REMOVALS = (Change.UNLISTED, Change.GONE)


def run_urls(arguments: argparse.Namespace) -> int:
    """Print the URLs and return the exit code."""
    return _UrlPrinter(SourceRun(arguments)).print()


def run_read(arguments: argparse.Namespace) -> int:
    """Print the URLs of files and return the exit code."""
    return _UrlPrinter(SourceRun(arguments, find=_find_file)).print()


def _find_file(text: str, arguments: argparse.Namespace) -> SiteTask:
    """Return the task of a file; raise UsageError for a URL or a folder."""
    path = path_of(text)
    what = ""
    if has_web_scheme(text):
        what = "a URL"
    elif os.path.isdir(path):  # noqa: PTH112 (pathlib's raises for some texts)
        what = "a folder"
    if what:
        raise UsageError(f"{text} is {what}, and read is for files: omit the word read")
    file = FileFetcher(path, arguments.base_url or "")
    return SiteTask(file.url, "sitemap", fetcher=file, name=file.name)


def _open_report(
    option: str, path: str | None, columns: tuple[Column, ...]
) -> Output | None:
    """Return the output of an option, if it was given; raise UsageError for its name."""
    with usage_errors(ValueError, ModuleNotFoundError, begin=f"{option}: "):
        return open_report(path, columns=columns)


class _LimitReachedError(Exception):
    """The number of URLs that `--limit` allows has been printed."""


class _UrlPrinter:
    """Prints the URLs of all sources."""

    def __init__(self, run: SourceRun) -> None:
        self._run = run
        self._summary = run.summary
        arguments = run.arguments
        self._counts = UrlCounts(arguments.count_by) if arguments.count_by else None
        self._output = open_entries(arguments, self._counts)
        self._tells_all = str(arguments.report).lower().endswith(".json")
        if self._tells_all and is_for_many(arguments):
            raise UsageError(
                "--report FILE.json requires a single source; for several, use .jsonl"
            )
        self._report = None
        if not self._tells_all:
            self._report = _open_report("--report", arguments.report, OUTCOME_COLUMNS)
        self._issues = _open_report("--issues", arguments.issues, ISSUE_COLUMNS)
        if arguments.state is not None:
            try:
                for output in filter(None, (self._output, self._issues)):
                    output.check_new()
            except FileExistsError as error:
                raise UsageError(f"{error.filename}: {error.strerror}") from None
        self._limit: int | None = arguments.limit
        # else the walk has seen them
        is_several = arguments.unique and is_for_many(arguments)
        self._seen = SeenKeys() if is_several else None
        self._sample = arguments.sample and DrawnSample(
            arguments.sample, arguments.seed or 0
        )

    def print(self) -> int:
        """Print the URLs and the summary; return the exit code."""
        return run_process(self._print, self._output.name, self._run.console)

    async def _print(self) -> int:
        report = self._report
        issues = self._issues
        site_run = self._run.make_site_run(
            on_site=None if report is None else report.add,
            on_issue=None if issues is None else issues.add,
            on_end=self._write_report if self._tells_all else None,
        )
        async with opened(self._output):
            with report or nullcontext(), issues or nullcontext():
                async with self._run.show(), site_run:
                    is_committed = await self._print_all(site_run)
                if not is_committed:
                    self._keep_file()
        code = self._run.finish()
        summary = self._summary
        differs = summary.printed or summary.sums["unlisted"] or summary.sums["gone"]
        if self._run.arguments.exit_code and differs:
            return DIFFERENT
        return code

    async def _write_report(self, site_walk: SiteWalk) -> None:
        if site_walk.walk is not None:
            said = json.dumps(
                {"site": site_walk.name, **site_walk.walk.report.to_dict()}, indent=1
            )
            write_file(self._run.arguments.report, f"{said}\n".encode())

    async def _print_all(self, site_run: SiteRun) -> bool:
        """Print all URLs; return whether a state was committed together with the outputs."""
        # What goes to a terminal, or is appended with >>, is there once it is written: the state
        # follows it row by row. A file appears at the end, and a pipe may lose all that is in it.
        if is_pipe(self._output):
            pipe = self._output.descriptor
        else:
            pipe = None
        is_held = self._output.is_replaced or pipe is not None
        is_held = is_held and await site_run.hold_state()
        try:
            async for site, rows in site_run.rows():
                if self._sample:
                    self._sample.add(rows, site)
                else:
                    await self._print_rows(site, rows)
            for site, entry in self._sample.list_entries() if self._sample else ():
                await self._print_rows(site, [entry])
        except _LimitReachedError:
            for each in site_run.running if self._tells_all else ():
                await self._write_report(each)
        if self._counts:  # also of those before the limit
            counted = self._counts.list_rows()
            await write_to(self._output, self._output.write_records, counted)
        if is_held:
            await self._commit(site_run, pipe)
        return is_held

    async def _commit(self, site_run: SiteRun, pipe: int | None) -> None:
        """Commit the state with the files, once a pipe's reader has taken everything."""
        await site_run.leave()
        self._keep_file()
        files = self._output.prepare()
        if pipe is not None:
            await wait_for_reader(pipe)
        for output in filter(None, (self._report, self._issues)):
            files += output.prepare()
        await ignore_signals()  # what is committed has not been stopped
        await site_run.commit_state(files)

    def _keep_file(self) -> None:
        if not self._summary.printed:
            self._run.keep_file(self._output, self._summary.find_exit_code())

    async def _print_rows(self, site: str, rows: Rows) -> None:
        if self._seen is not None:
            add = self._seen.add
            locs = get_column(rows, "loc")
            changes = get_column(rows, "change")
            # What is lost is delivered for each source, and twice: as unlisted, and as gone.
            marks = [
                old in _REMOVALS or add(url_key(loc))
                for loc, old in zip(locs, changes, strict=True)
            ]
            rows = select_rows(rows, marks)
        if self._limit is not None:
            rows = rows[: self._limit - self._summary.printed]
        if self._counts:
            self._counts.add(rows)
        elif rows:
            self._run.console.clear_for_results()
            output_rows = (
                SiteRows([(site, rows)]) if self._summary.is_for_many else rows
            )
            await write_to(self._output, self._output.write, output_rows)
        self._summary.printed += len(rows)
        if self._run.arguments.changes:
            changes = get_column(rows, "change")
            self._summary.removed += Counter(
                change for change in changes if change in _REMOVALS
            )
        if self._summary.printed == self._limit:
            self._summary.limit_reached = True
            # else the walks end, and the state has all
            if self._run.arguments.state is None:
                raise _LimitReachedError


# -- the newest ones

_EXIT_REASONS = {
    "dates-exceeded": "a URL is newer than the date that the index gives for its sitemap",
    "undated-sitemaps": "sitemaps without a date were not read: raise --documents",
    "equal-dates": "all sitemaps have the same date: raise --documents",
    "documents-limit": "more sitemaps may have newer ones: raise --documents",
    "equal-lastmods": "the newest URLs have the same date",
    "now-lastmods": "the dates of the newest URLs are the moment of the request",
    "future-lastmods": "a sitemap has dates in the future",
    "undated-urls": "URLs without a date may be newer",
}


def run_newest(arguments: argparse.Namespace) -> int:
    """Print the newest URLs and return the exit code."""
    run = SourceRun(arguments, find=find_rooted)
    output = open_entries(arguments)
    (task,) = run.named

    async def work() -> int:
        found = await newest(
            task.url,
            arguments.number,
            documents=arguments.most,
            fetcher=task.fetcher,
            **run.keywords,
        )
        run.summary.printed = len(found.entries)
        async with opened(output):
            await write_to(output, output.write, list(found.entries))
            code = run.finish_alone(found.report)
            if code == ALL_READ and not found.proven:
                code = PARTIAL if found.entries else NO_URL
            if not found.entries and code != ALL_READ:
                run.keep_file(output, NO_URL)
        if found.entries or found.undated or found.future:
            run.console.print_line(_judge_run(found))
        return code

    return run_process(work, output.name, run.console)


def _judge_run(found: Newest) -> str:
    """Say whether there may be newer URLs, and why."""
    said = "proven: no other URL with a date is newer"
    if not found.proven:
        said = f"not proven to be the newest: {_EXIT_REASONS.get(found.reason, found.reason)}"
    odd = {"without a date": found.undated, "with a date in the future": found.future}
    left = ", ".join(f"{number} {what}" for what, number in odd.items() if number)
    left = f"; URLs left out: {left}" if left else ""
    return (
        f"{said} ({count_units(found.report.outcome.documents, 'sitemaps')} read{left})"
    )
