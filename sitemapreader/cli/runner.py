"""Runner of a command's sources: its words, and the lines of a list."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import attrs

from sitemapreader.cli.commands.table import COMMANDS, PROGRAM
from sitemapreader.cli.config import find_unused_proxy
from sitemapreader.cli.files import UnreadableError, open_pieces, read_lines
from sitemapreader.cli.options.sources import STANDARD_INPUT
from sitemapreader.cli.parser import UsageError
from sitemapreader.cli.progress import show_progress
from sitemapreader.cli.sources import SourceResult, UnknownSourceError
from sitemapreader.cli.writer import is_for_many
from sitemapreader.errors import suggest
from sitemapreader.many.task import find_domain, is_in_shard
from sitemapreader.many.turns import TaskTurns
from sitemapreader.urls import url_key
from sitemapreader.walker.filters import RecentKeys

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

    from sitemapreader.cli.console import Console
    from sitemapreader.cli.summary import RunSummary


class SourceLike(Protocol):
    """A source of entries, or a site to search."""

    @property
    def label(self) -> str:
        """Name in messages."""
        ...

    @property
    def host(self) -> str:
        """Host that is requested, or "" for a file or folder."""
        ...


S = TypeVar("S", bound=SourceLike)


@attrs.frozen(eq=False)
class SourceRunner(Generic[S]):
    """A run over all sources of the command line.

    A source that fails does not stop the others. Sources of one registrable domain run one after
    the other, because each search limits its own requests only.

    Attributes:
        named: the sources of the command line.
        make_listed: makes a source from a line of a list, or raises UnknownSourceError. It never
            returns a file, because somebody else may have written the list.
        visit: reads one source; an UnreadableError fails that source only.
    """

    arguments: argparse.Namespace
    console: Console
    summary: RunSummary
    named: Sequence[S]
    make_listed: Callable[[str], S]
    visit: Callable[[S, SourceResult], Awaitable[None]]

    async def run(self) -> None:
        """Visit every source. Any exception of `visit` but UnreadableError ends the run."""
        async with self.show():
            turns = TaskTurns(self.arguments.parallel, _find_key, self.read)
            await turns.run(self.list_sources())

    @asynccontextmanager
    async def show(self) -> AsyncIterator[None]:
        """Show the progress of all sources; then warn of a proxy that was not used."""
        self.summary.is_for_many = is_for_many(self.arguments)
        async with show_progress(self.console, self.summary):
            yield
        name = find_unused_proxy(self.arguments)
        if name and self.summary.has_unreached():
            self.console.print_line(
                f'{name} is set and was not used: to use this proxy, add -x "${name}"'
            )

    async def list_sources(self) -> AsyncGenerator[S, None]:
        """Yield each source once, even if it is named several times."""
        seen, shard = RecentKeys(), getattr(self.arguments, "shard", None)
        async with aclosing(self._list_all()) as sources:
            async for source in sources:
                if not seen.add(url_key(source.label) if source.host else source.label):
                    self.summary.repeated += 1
                elif shard is None or await _is_in_shard(source, *shard):
                    yield source

    async def _list_all(self) -> AsyncGenerator[S, None]:
        path = getattr(self.arguments, "input_file", None)
        for source in self.named:
            yield source
        if path is None:
            return
        try:
            async with open_pieces(path) as pieces:
                async for line in read_lines(pieces):
                    try:
                        source = self.make_listed(line)
                    except UnknownSourceError as error:
                        self._report_unknown(f"{path}: {error}")
                        self.end_unknown(line)
                    else:
                        yield source
        except UnreadableError as error:
            self._report_unknown(str(error))

    def end_unknown(self, line: str) -> None:
        """Record a line of a list that is not a source."""

    def _report_unknown(self, text: str) -> None:
        self.console.print_line(text)
        self.summary.unknown += 1

    async def read(self, source: S) -> None:
        """Read one source, and add its result to the summary."""
        result = SourceResult()
        self.summary.running.add(result)
        try:
            await self.visit(source, result)
        except UnreadableError as error:
            self.console.print_line(str(error))
            result.complete = False
        finally:
            self.summary.running.discard(result)
        self.end(source.label, result)

    def end(self, label: str, result: SourceResult) -> None:
        """Print the Issues of a source, and add its result to the summary."""
        self.console.print_issues(result.issues, result.counts, label)
        if result.children:
            self.console.print_line(
                f"{label} lists {result.children} sitemaps or pages of a feed, which were"
                " not fetched: give its URL, or the folder that holds them"
            )
        self.summary.add(label, result)


async def _find_key(source: SourceLike) -> str:
    """Return the registrable domain of a source, or "" for one on disk."""
    return await find_domain(source.host) if source.host else ""


async def _is_in_shard(source: SourceLike, number: int, shards: int) -> bool:
    """Return whether a source belongs to a shard; what lies on disk belongs to each."""
    return not source.host or is_in_shard(await find_domain(source.host), number, shards)


def make_sources(arguments: argparse.Namespace, make: Callable[[str], S]) -> list[S]:
    """Make the sources of the command line, before anything is fetched.

    Raises UsageError if a word is not a source, if there is none, or if standard input is named
    twice.
    """
    path = getattr(arguments, "input_file", None)
    if not arguments.sources and path is None:
        raise UsageError("there is no source: name one, or a list of sites with -i FILE")
    for word in arguments.sources:
        if word in COMMANDS and not Path(word).exists():
            raise UsageError(
                f"{word} is a command, which comes first: {PROGRAM} {word} [OPTION]... SOURCE..."
            )
    if path == STANDARD_INPUT and STANDARD_INPUT in arguments.sources:
        raise UsageError("standard input is either a list (-i -) or a sitemap (-), not both")
    return [_make_named(word, make) for word in arguments.sources]


def _make_named(word: str, make: Callable[[str], S]) -> S:
    try:
        return make(word)
    except UnknownSourceError as error:
        hint = ""
        if word.isalpha():  # it may be a mistyped command
            hint = suggest(word, COMMANDS, f" the commands are {', '.join(COMMANDS)}")
        raise UsageError(f"{error}{';' * bool(hint)}{hint}") from None
