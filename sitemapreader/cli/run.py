"""SourceRun: the sources of a command, read by `walk_many`, shown and summed up.

The sources are the words of the command line and the lines of a list. One that fails does not stop
the others.
"""

from __future__ import annotations

import re
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sitemapreader.cli.commands import COMMANDS, PROGRAM
from sitemapreader.cli.config import RunConfig, find_unused_proxy
from sitemapreader.cli.console import Console, show_progress
from sitemapreader.cli.output import AnyOutput, LineWriter, is_for_many, opened
from sitemapreader.cli.parser import ALL_READ, PARTIAL, UsageError
from sitemapreader.cli.runtime import run_process
from sitemapreader.cli.summary import RunSummary, take_report
from sitemapreader.errors import suggest
from sitemapreader.many import walk_many
from sitemapreader.many.sources import (
    STANDARD_INPUT,
    FileFetcher,
    InvalidSiteError,
    SiteKind,
    SiteTask,
    UnreadableError,
    check_task,
    find_domain,
    find_source,
    is_in_shard,
    open_pieces,
)
from sitemapreader.options import SITE_SECONDS
from sitemapreader.outcomes import SiteOutcome, SiteStatus

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from sitemapreader.many.run import SiteRun
    from sitemapreader.many.visitor import OnSite, SiteWalk

MAX_LINE_BYTES = 65_536
"""Line of a list of sites: the longest URL that is requested."""
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


def find_named(text: str, arguments: argparse.Namespace) -> SiteTask:
    """Return what a word of the command line names; raise InvalidSiteError."""
    base_url = getattr(arguments, "base_url", None)
    return find_source(text, _find_kind(arguments), base_url, trusted=True)


def _find_kind(arguments: argparse.Namespace) -> SiteKind:
    """Return what the options say that URLs are."""
    kind: SiteKind | None = getattr(arguments, "kind", None)
    return kind or "auto"


def find_rooted(text: str, arguments: argparse.Namespace) -> SiteTask:
    """Return what a word names, with all its sitemaps; raise UsageError for a file."""
    task = find_named(text, arguments)
    if isinstance(task.fetcher, FileFetcher):
        raise UsageError(
            f"{task.name} is a single file: give its URL, or the folder that contains it"
        )
    return task


class SourceRun:
    """The sources of a command: read, shown, and summed up as so many of `what`."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        *,
        what: str = "URLs",
        find: Callable[[str, argparse.Namespace], SiteTask] = find_named,
    ) -> None:
        self.arguments = arguments
        self.config = RunConfig.from_arguments(arguments)
        self.console = Console.from_arguments(arguments)
        is_shard = getattr(arguments, "shard", None) is not None
        self.summary = RunSummary(what, is_for_many(arguments), is_shard)
        self._lists: list[str] = getattr(arguments, "input_file", None) or []
        self._named = find_sources(arguments, find)
        self._on_end: Callable[[SiteWalk], Awaitable[None]] | None = None
        self._sites: SiteRun

    # -- the sources

    async def list_tasks(self) -> AsyncGenerator[SiteTask | str, None]:
        """Yield the sources; a line that is none as it is."""
        shard = getattr(self.arguments, "shard", None)
        async with aclosing(self._list_all()) as given:
            async for task in given:
                if shard is None or await _is_in_shard(task, *shard):
                    yield task

    async def _list_all(self) -> AsyncGenerator[SiteTask | str, None]:
        for task in self._named:
            yield task
        for path in self._lists:
            async with aclosing(self._read_list(path)) as given:
                async for each in given:
                    yield each

    async def _read_list(self, path: str) -> AsyncGenerator[SiteTask | str, None]:
        kind = _find_kind(self.arguments)
        try:
            async with open_pieces(path) as pieces:
                async for line in read_lines(pieces):
                    try:
                        # never a file, and never trusted: somebody else may have written the list
                        yield SiteTask(check_task(line).url, kind, trusted=False)
                    except InvalidSiteError:
                        yield line
        except UnreadableError as error:
            self.report_unknown(str(error))

    def report_unknown(self, text: str) -> None:
        """Print and count a line that names no source."""
        self.console.print_line(text)
        self.summary.unknown += 1

    # -- the run

    def walk(
        self,
        *,
        on_end: Callable[[SiteWalk], Awaitable[None]] | None = None,
        on_site: OnSite | None = None,
    ) -> SiteRun:
        """Return the walks over all sources; `on_end` is awaited with each that has ended."""
        config, self._on_end = self.config, on_end
        is_given = getattr(self.arguments, "walk_seconds", None) is not None
        sites = walk_many(
            self.list_tasks(),
            at_once=getattr(self.arguments, "parallel", 1),
            site_seconds=None if is_given or not self.summary.is_for_many else SITE_SECONDS,
            on_site=on_site,
            options=config.options,
            limits=config.limits,
            **config.walk,
        )
        sites.report_to(self._end_site)
        self._sites, self.summary.running = sites, sites.running
        return sites

    async def _end_site(self, site: SiteWalk, outcome: SiteOutcome) -> None:
        if self.summary.limit_reached:  # it was left because enough was read
            if self._on_end is not None:
                await self._on_end(site)
            return
        if site.walk is None:
            self.report_unknown(f"{', '.join(self._lists)}: {site.name!r} {NO_SOURCE}")
            return
        if outcome.status is SiteStatus.ERROR:
            self.console.print_line(f"{site.name}: a bug ended the walk ({site.fault})")
        elif site.fault:
            self.console.print_line(site.fault)
        report = take_report(site)
        self.console.print_issues(report, site.name)
        if site.children:
            self.console.print_line(
                f"{site.name} lists {site.children} sitemaps or pages of a feed, which were"
                " not fetched: give its URL, or the folder that holds them"
            )
        self.summary.add(site, report)
        if self._on_end is not None:
            await self._on_end(site)

    @asynccontextmanager
    async def show(self) -> AsyncIterator[None]:
        """Show the progress of all sources; then warn of a proxy that was not used."""
        async with show_progress(self.console, self.summary):
            yield
        name = find_unused_proxy(self.arguments)
        if name and self.summary.has_unreached():
            self.console.print_line(
                f'{name} is set and was not used: to use this proxy, add -x "${name}"'
            )

    def keep_file(self, output: AnyOutput) -> None:
        """Leave a file as it was if nothing was found that could be in it."""
        if output.is_replaced and self.summary.find_exit_code() not in (ALL_READ, PARTIAL):
            output.discard()
            self.console.print_line(f"{output.name} was left as it was, because nothing was found")

    def finish(self) -> int:
        """Print the summary; return the exit code."""
        self.summary.repeated, self.summary.is_cut = self._sites.repeated, self._sites.is_cut
        self.console.print_summary(self.summary)
        return self.summary.find_exit_code()


def print_lines(run: SourceRun, lines: LineWriter, work: Callable[[], Awaitable[None]]) -> int:
    """Do the work that writes lines about all sources; return the exit code."""

    async def write() -> int:
        async with opened(lines):
            async with run.show():
                await work()
            if not lines.written:
                run.keep_file(lines)
        return run.finish()

    return run_process(write, lines.name, run.console)


NO_SOURCE = "is neither an http(s) URL nor a file or folder that exists"


def find_sources(
    arguments: argparse.Namespace,
    find: Callable[[str, argparse.Namespace], SiteTask] = find_rooted,
) -> list[SiteTask]:
    """Return what the words of the command line name, before anything is fetched.

    Raises UsageError if a word is not a source, if there is none, or if standard input is named
    twice.
    """
    lists = getattr(arguments, "input_file", None) or []
    if not arguments.sources and not lists:
        raise UsageError("there is no source: name one, or a list of sites with -i FILE")
    for word in arguments.sources:
        if word in COMMANDS and not Path(word).exists():
            raise UsageError(
                f"{word} is a command, which comes first: {PROGRAM} {word} [OPTION]... SOURCE..."
            )
    if [*lists, *arguments.sources].count(STANDARD_INPUT) > 1:
        raise UsageError("standard input is either a list (-i -) or a sitemap (-), not both")
    return [_find_word(word, arguments, find) for word in arguments.sources]


def _find_word(
    word: str, arguments: Any, find: Callable[[str, argparse.Namespace], SiteTask]
) -> SiteTask:
    try:
        return find(word, arguments)
    except InvalidSiteError as error:
        hint = ""
        if word.isalpha():  # it may be a mistyped command
            hint = suggest(word, COMMANDS, f" the commands are {', '.join(COMMANDS)}")
        raise UsageError(f"{str(error)!r} {NO_SOURCE}{';' * bool(hint)}{hint}") from None


async def _is_in_shard(task: SiteTask | str, number: int, shards: int) -> bool:
    """Return whether a source is in a shard; what lies on disk is in each."""
    checked = None if isinstance(task, str) else check_task(task)
    if checked is None or checked.is_local:
        return True
    return is_in_shard(await find_domain(checked), number, shards)


async def read_lines(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[str, None]:
    """Yield the lines of a list, without comments and blank lines; cut overlong lines."""
    rest = b""
    is_first = True
    async for piece in pieces:
        *lines, rest = (rest + piece).splitlines(keepends=True) or [b""]
        if rest.endswith(b"\n"):
            lines.append(rest)
            rest = b""
        rest = rest[:MAX_LINE_BYTES]
        for line in lines:
            if text := _clean_line(line, is_first=is_first):
                yield text
            is_first = False
    if text := _clean_line(rest, is_first=is_first):
        yield text


def _clean_line(line: bytes, *, is_first: bool) -> str:
    text = line[:MAX_LINE_BYTES].decode("utf-8-sig" if is_first else "utf-8", "replace").strip()
    return _COMMENT.sub("", text).rstrip()  # the # of a fragment has no blank before it
