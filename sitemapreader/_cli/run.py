"""SourceRun: the sources of a command, read by `walk_many`, shown and summed up.

The sources are the words of the command line and the lines of a list. One that fails does not stop
the others.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from sitemapreader._bytes.lines import LineReader
from sitemapreader._cli.commands import COMMANDS, PROGRAM
from sitemapreader._cli.config import is_for_many, make_keywords
from sitemapreader._cli.console import Console, RunSummary, show_progress, take_report
from sitemapreader._cli.parser import ALL_READ, PARTIAL, UsageError
from sitemapreader._cli.process import LineWriter, opened, run_process, write_to
from sitemapreader._many import walk_many
from sitemapreader._many.run import SiteWalk
from sitemapreader._many.sources import (
    STANDARD_INPUT,
    FileFetcher,
    InvalidSiteError,
    SiteTask,
    UnreadableError,
    check_task,
    find_source,
    open_pieces,
)
from sitemapreader._types.counts import count_units
from sitemapreader._types.habits import advise_command
from sitemapreader._types.hosts import HostMap
from sitemapreader._types.outcomes import SiteOutcome, SiteStatus
from sitemapreader._types.urls import has_web_scheme
from sitemapreader._walk.context import UrlAllowance

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
    from contextlib import AbstractAsyncContextManager
    from typing import TypeAlias

    from sitemapreader._many.run import OnSite, SiteRun
    from sitemapreader._types.options import Limits
    from sitemapreader._walk.config import OnIssue
    from sitemapreader._walk.report import Report
    from sitemapreader.output.sink import Output

    OnEnd: TypeAlias = Callable[[SiteWalk], Awaitable[None]]
    Find: TypeAlias = Callable[[str, argparse.Namespace], SiteTask]

MAX_LINE_CHARS = 65_536
"""Line of a list of sites: the longest URL that is requested."""
_LIST_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)
_COMMAND_WORD = re.compile(r"[a-z]+(-[a-z]+)*", re.IGNORECASE)
_NO_URL = "is not an http(s) URL; a list may contain only URLs"
_ONLY_FILES = "--base-url requires a folder or a file"
NO_SOURCE = "is neither an http(s) URL nor an existing file or folder"


def find_named(text: str, arguments: argparse.Namespace) -> SiteTask:
    """Return the source that a word of the command line names; raise InvalidSiteError."""
    return find_source(text, arguments.kind or "auto", arguments.base_url, trusted=True)


def find_rooted(text: str, arguments: argparse.Namespace) -> SiteTask:
    """Return the source of a word, with all its sitemaps; raise UsageError for a file."""
    task = find_named(text, arguments)
    if isinstance(task.fetcher, FileFetcher):
        raise UsageError(
            f"{task.name} is a single file: name its URL, or the folder that holds it"
        )
    return task


def find_sources(arguments: argparse.Namespace, find: Find) -> list[SiteTask]:
    """Return the sources that the command line names, before anything is fetched.

    Raises UsageError if a word is not a source, if there is none, or if standard input is named
    twice.
    """
    lists = arguments.input_file or []
    if not arguments.sources and not lists:
        raise UsageError(
            "no source was given: name one, or a list of sites with -i FILE"
        )
    if [*lists, *arguments.sources].count(STANDARD_INPUT) > 1:
        raise UsageError(
            "standard input cannot be both a list (-i -) and a sitemap (-)"
        )
    tasks = [_find_task(word, arguments, find) for word in arguments.sources]
    if arguments.base_url and not any(task.fetcher for task in tasks):
        raise UsageError(refuse_base_url(arguments.sources))
    return tasks


def refuse_base_url(words: Iterable[str]) -> str:
    """Return why sources have no base URL: none of them is a folder or a file."""
    missing = next((word for word in words if not has_web_scheme(word)), None)
    if missing is None:
        return f"{_ONLY_FILES}: leave it out"
    return f"{missing!r} does not exist: check the path ({_ONLY_FILES})"


def _find_task(
    word: str,
    arguments: argparse.Namespace,
    find: Find,
) -> SiteTask:
    if word in COMMANDS and not Path(word).exists():
        raise UsageError(
            f"{word} is a command, which comes first: {PROGRAM} {word} [OPTION]... SOURCE..."
        )
    try:
        return find(word, arguments)
    except InvalidSiteError as error:
        if arguments.base_url:
            raise UsageError(refuse_base_url([word])) from None
        hint = ""
        if _COMMAND_WORD.fullmatch(word):  # it may be a mistyped command
            hint = advise_command(word, COMMANDS)
            hint = hint or f" the commands are {', '.join(COMMANDS)}"
        raise UsageError(
            f"{str(error)!r} {NO_SOURCE}{';' * bool(hint)}{hint}"
        ) from None


class SourceRun:
    """The sources of a command: read, shown, and counted with a `noun`."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        *,
        noun: str = "URLs",
        find: Find = find_named,
    ) -> None:
        self.arguments = arguments
        self.keywords = make_keywords(arguments)
        self.console = Console.from_arguments(arguments)
        self.summary = RunSummary(noun, is_for_many(arguments))
        self.summary.allowed_losses = frozenset(vars(arguments).get("allow_loss") or ())
        hosts = HostMap(self.keywords["options"].map_hosts)
        self.summary.unused_hosts = dict.fromkeys(name for name, _ in hosts.names)
        self._lists: list[str] = arguments.input_file or []
        self.named = find_sources(arguments, find)
        self._on_end: OnEnd | None = None
        self._site_run: SiteRun

    # -- the sources

    async def list_tasks(self) -> AsyncGenerator[SiteTask | str, None]:
        """Yield the sources, and unchanged any line that is not one."""
        for task in self.named:
            yield task
        for path in self._lists:
            try:
                async with open_pieces(path) as pieces:
                    async for line in read_lines(pieces):
                        yield self._find_listed(line)
            except UnreadableError as error:
                self.report_unknown(str(error))

    def _find_listed(self, line: str) -> SiteTask | str:
        try:
            # never a file, and never trusted: somebody else may have written the list
            return SiteTask(
                check_task(line).url, self.arguments.kind or "auto", trusted=False
            )
        except InvalidSiteError:
            return line

    def report_unknown(self, text: str) -> None:
        """Print and count a line that names no source."""
        self.console.print_error(text)
        self.summary.unknown += 1

    # -- the run

    def make_site_run(
        self,
        *,
        on_end: OnEnd | None,
        on_site: OnSite | None = None,
        on_issue: OnIssue | None = None,
    ) -> SiteRun:
        """Return the walks over all sources; `on_end` is awaited with each that has ended."""
        self._on_end = on_end
        has_limit = (
            self.arguments.walk_seconds is not None or not self.summary.is_for_many
        )
        limits: Limits = attrs.evolve(
            self.keywords["limits"], sites_at_once=self.arguments.parallel or 1
        )
        if has_limit:  # then several sites have no shorter one of their own
            limits = attrs.evolve(limits, site_seconds=limits.walk_seconds)
        site_run = walk_many(
            self.list_tasks(),
            on_site=on_site,
            on_issue=on_issue,
            **self.keywords | {"limits": limits},
        )
        # of all sources together; what is delivered counts as printed, in all runs
        limit = vars(self.arguments).get("limit")
        if limit is not None and "state" in self.keywords:
            site_run.share_limit(UrlAllowance(limit))
        site_run.report_to(self._end_site)
        self._site_run = site_run
        self.summary.running = site_run.running
        return site_run

    async def _end_site(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        if site.walk is None and not self.summary.limit_reached:
            self.report_unknown(f"{', '.join(self._lists)}: {site.name!r} {_NO_URL}")
            return
        if not self.summary.limit_reached:  # else it was left because enough was read
            self._report_site(site, outcome)
        if self._on_end is not None:
            await self._on_end(site)

    def _report_site(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        if outcome.status is SiteStatus.ERROR:
            self.console.print_line(f"{site.name}: a bug ended the walk ({site.fault})")
        elif site.fault:
            self.console.print_line(site.fault)
        report = take_report(site)
        self.console.print_issues(report, site.name)
        if site.children:
            children = count_units(site.children, "sitemaps or pages of a feed")
            self.console.print_line(
                f"{site.name} lists {children}, not fetched: give its URL, or the folder that "
                "holds them"
            )
        self.summary.add(site, report)

    def show(self) -> AbstractAsyncContextManager[None]:
        """Show the progress of all sources."""
        return show_progress(self.console, self.summary)

    async def write_lines(self, lines: LineWriter, texts: Iterable[str]) -> None:
        """Write lines of results, in the place of the progress."""
        self.console.clear_for_results()
        await write_to(lines, lines.write_lines, texts)

    def keep_file(self, output: Output, code: int) -> None:
        """Leave a file as it was if, by the exit code, nothing was found for it."""
        if output.is_replaced and code not in (ALL_READ, PARTIAL):
            output.discard()
            self.console.print_line(
                f"{output.name} was not written, because nothing was found"
            )

    def finish_alone(self, report: Report) -> int:
        """Print the summary of the only source; return the exit code."""
        (task,) = self.named
        name = task.name or task.url
        self.summary.add(SiteWalk(name), report)
        self.console.print_issues(report, name)
        self.console.print_summary(self.summary)
        return self.summary.find_exit_code()

    def finish(self) -> int:
        """Print the summary; return the exit code."""
        self.summary.repeated = self._site_run.repeated
        self.summary.is_cut = self._site_run.is_cut
        self.console.print_summary(self.summary)
        return self.summary.find_exit_code()


def print_lines(
    run: SourceRun,
    lines: LineWriter,
    work: Callable[[], Awaitable[None]],
) -> int:
    """Do the work that writes lines about all sources; return the exit code."""

    async def write() -> int:
        async with opened(lines):
            async with run.show():
                await work()
            if not lines.written:
                run.keep_file(lines, run.summary.find_exit_code())
        return run.finish()

    return run_process(write, lines.name, run.console)


async def read_lines(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[str, None]:
    """Yield the lines of a list, without comments and blank lines; cut overlong lines."""
    reader = LineReader(MAX_LINE_CHARS)
    async for piece in pieces:
        for line in reader.feed(piece):
            if text := _remove_comment(line):
                yield text
    for line in reader.feed(b"", final=True):
        if text := _remove_comment(line):
            yield text


def _remove_comment(line: str) -> str:
    return _LIST_COMMENT.sub(
        "", line
    ).rstrip()  # the # of a fragment has no blank before it
