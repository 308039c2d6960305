"""The work of the command line: sources in, lines out, and an exit code that says how it went."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections import Counter
from contextlib import aclosing
from typing import TYPE_CHECKING

from sitemapreader.cli.sources import Result, UnknownSourceError, open_source
from sitemapreader.issues import Issue, Severity, excerpt
from sitemapreader.output import open_output
from sitemapreader.output.sink import abandon_standard_output
from sitemapreader.urls import url_key
from sitemapreader.walker.seen import SeenKeys

if TYPE_CHECKING:
    import argparse
    from types import FrameType

    from sitemapreader.models import UrlEntry

ALL_READ, NO_URL, USAGE, PARTIAL, NOTHING_FETCHED = range(5)
SIGNALLED = 128
CLOSED_PIPE = SIGNALLED + 13
"""SIGPIPE's number, as a shell reports it."""
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class _StoppedError(BaseException):
    """A signal came while a write was waiting for its reader."""


def run(arguments: argparse.Namespace) -> int:
    """Dump the sources; return the exit code."""
    logging.getLogger("stamina").setLevel(logging.ERROR)  # what is retried is in the report
    dump = Dump(arguments)
    try:
        return asyncio.run(dump.run())
    except (asyncio.CancelledError, _StoppedError):
        abandon_standard_output()
        return SIGNALLED + dump.signal
    except BrokenPipeError:
        abandon_standard_output()
        return CLOSED_PIPE
    except OSError as error:
        abandon_standard_output()
        dump.say(f"cannot write to {dump.output.name}: {error.strerror or error}")
        return NO_URL


class Dump:
    """One run of the command line.

    Attributes:
        signal: number of the signal that stopped it, or 0.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.signal = 0
        self.output = open_output(arguments.output, arguments.format)
        self._arguments = arguments
        self._seen = SeenKeys() if arguments.unique else None
        self._results: list[Result] = []
        self._usage_errors = 0

    async def run(self) -> int:
        """Dump all sources, one after the other; the failure of one does not stop the others."""
        self._listen_for_signals()
        with self.output:
            for source in self._arguments.sources:
                try:
                    await self._dump(source)
                except UnknownSourceError as error:
                    self.say(str(error))
                    self._usage_errors += 1
        self._summarize()
        return self._exit_code()

    async def _dump(self, source: str) -> None:
        result = Result()
        self._results.append(result)
        async with aclosing(open_source(source, self._arguments, result)) as batches:
            async for batch in batches:
                self.output.write(self._select(batch))
                await asyncio.sleep(0)  # a file is read without waiting: signals have their turn
        for issue in result.issues:
            self._print_issue(issue)
        if result.children:
            self.say(
                f"{source} is an index of {result.children} sitemaps, which were not fetched: "
                "give its URL, or the folder that holds them"
            )

    def _select(self, batch: list[UrlEntry]) -> list[UrlEntry]:
        seen = self._seen
        if seen is None:
            return batch
        return [entry for entry in batch if seen.add(url_key(entry.loc))]

    # -- signals

    def _listen_for_signals(self) -> None:
        """Cancel the work on a signal; end a write that waits for its reader.

        A handler of the loop would not be called while a write waits, and the loop with it.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop(number: int, _frame: FrameType | None) -> None:
            if self.signal:  # the second one: they mean it
                os._exit(SIGNALLED + number)
            self.signal = number
            if self.output.is_writing:
                raise _StoppedError
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)

        for number in _SIGNALS:
            signal.signal(number, stop)

    # -- what is said on standard error

    def say(self, text: str) -> None:
        """Print a line on standard error, safe for a terminal."""
        if not self._arguments.quiet:
            print(f"sitemapreader: {excerpt(text, 2000)}", file=sys.stderr)  # noqa: T201 (its job)

    def _print_issue(self, issue: Issue) -> None:
        if issue.severity is Severity.INFO and not self._arguments.verbose:
            return
        place = f"{issue.sitemap}:{issue.line}: " if issue.line else f"{issue.sitemap}: "
        about = " ".join(part for part in (issue.url, issue.value) if part)
        self.say(
            f"{issue.severity.name.lower()} {issue.code}: {place if issue.sitemap else ''}"
            f"{issue.message}{f' [{about}]' if about else ''}"
        )

    def _summarize(self) -> None:
        statuses = sum((result.statuses for result in self._results), Counter[str]())
        entries = sum(result.entries for result in self._results)
        said = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        self.say(f"{entries} URLs" + (f"; documents: {said}" if said else ""))

    def _exit_code(self) -> int:
        if self._usage_errors == len(self._arguments.sources):
            return USAGE
        if not any(result.answered for result in self._results):
            return NOTHING_FETCHED
        if not any(result.entries for result in self._results):
            return NO_URL
        complete = all(result.complete for result in self._results) and not self._usage_errors
        return ALL_READ if complete else PARTIAL
