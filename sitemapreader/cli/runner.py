"""Run several sources at once, but one at a time for each host."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

import attrs

from sitemapreader.cli.commands.table import COMMANDS, PROGRAM
from sitemapreader.cli.config import find_unused_proxy
from sitemapreader.cli.files import UnreadableError, open_pieces, read_lines
from sitemapreader.cli.options import STANDARD_INPUT
from sitemapreader.cli.parser import UsageError, suggest
from sitemapreader.cli.progress import show_progress
from sitemapreader.cli.sources import SourceResult, UnknownSourceError
from sitemapreader.urls import url_key
from sitemapreader.walker.seen import SeenKeys

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

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

    A source that fails does not stop the others. Sources on disk run in their order. Sources with
    the same host run one after the other, because each walk limits its own requests only.

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
    _host_locks: WeakValueDictionary[str, asyncio.Lock] = attrs.field(
        factory=WeakValueDictionary, init=False
    )

    async def run(self) -> None:
        """Visit every source. Any exception of `visit` but UnreadableError ends the run."""
        path = getattr(self.arguments, "input_file", None)
        self.summary.is_for_many = path is not None or len(self.arguments.sources) > 1
        lock = asyncio.Lock()
        async with (
            show_progress(self.console, self.summary),
            aclosing(self._sources(path)) as sources,
        ):

            async def work() -> None:
                while True:
                    async with lock:
                        source = await anext(sources, None)
                    if source is None:
                        return
                    await self._visit(source)

            async with asyncio.TaskGroup() as group:
                for _ in range(getattr(self.arguments, "parallel", 1)):
                    group.create_task(work())

        name = find_unused_proxy(self.arguments)
        if name and self.summary.has_unreached():
            self.console.print_line(
                f'{name} is set and was not used: to use this proxy, add -x "${name}"'
            )

    async def _sources(self, path: str | None) -> AsyncGenerator[S, None]:
        """Yield each source once, even if it is named several times."""
        seen = SeenKeys()
        async with aclosing(self._list_sources(path)) as sources:
            async for source in sources:
                if seen.add(url_key(source.label) if source.host else source.label):
                    yield source
                else:
                    self.summary.repeated += 1

    async def _list_sources(self, path: str | None) -> AsyncGenerator[S, None]:
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
                    else:
                        yield source
        except UnreadableError as error:
            self._report_unknown(str(error))

    def _report_unknown(self, text: str) -> None:
        self.console.print_line(text)
        self.summary.unknown += 1

    async def _visit(self, source: S) -> None:
        turn = self._host_locks.setdefault(source.host, asyncio.Lock())
        async with turn:
            result = SourceResult()
            self.summary.running.add(result)
            try:
                await self.visit(source, result)
            except UnreadableError as error:
                self.console.print_line(str(error))
                result.complete = False
            finally:
                self.summary.running.discard(result)
        self.console.print_issues(result.issues, result.counts, source.label)
        if result.children:
            self.console.print_line(
                f"{source.label} is an index of {result.children} sitemaps, which were not fetched:"
                " give its URL, or the folder that holds them"
            )
        self.summary.add(source.label, result)


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
            hint = suggest(word, COMMANDS) or f" the commands are {', '.join(COMMANDS)}"
        raise UsageError(f"{error}{';' * bool(hint)}{hint}") from None
