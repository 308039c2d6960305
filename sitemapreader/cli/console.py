"""Standard error: messages of one line, Issues, and the progress."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from sitemapreader.cli.output import get_output_path
from sitemapreader.cli.parser import MAX_MESSAGE, name_options
from sitemapreader.issues import Issue, IssueCode, Severity, excerpt
from sitemapreader.outcomes import show_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from sitemapreader.cli.summary import RunSummary
    from sitemapreader.report import Report


class Console:
    """Standard error: escaped messages of one line each, and the progress.

    Args:
        quiet: print nothing but the error that ends the program.
        verbose: print Issues of severity INFO as well.
        has_file: whether results go to a file, and not to the same terminal.
    """

    def __init__(
        self, *, quiet: bool = False, verbose: bool = False, has_file: bool = False
    ) -> None:
        self._is_open = sys.stderr is not None  # whoever started the program may have closed it
        self.shows_progress = self._is_open and not quiet and sys.stderr.isatty()
        self._is_quiet = quiet
        self._least = Severity.INFO if verbose else Severity.WARNING
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._shows_results = is_terminal and not has_file
        self._drawn = ""

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> Self:
        """Make the console with the verbosity that the options ask for."""
        has_file = get_output_path(arguments) is not None
        return cls(quiet=arguments.quiet, verbose=arguments.verbose, has_file=has_file)

    def draw(self, line: str) -> None:
        """Draw the progress in place of what was drawn before; "" erases it."""
        if line or self._drawn:
            end = "" if line else "\r"
            sys.stderr.write(f"\r{line:{len(self._drawn)}}{end}")
            sys.stderr.flush()
        self._drawn = line

    def clear_for_results(self) -> None:
        """Erase the progress if results are about to be written to the same terminal."""
        if self._shows_results:
            self.draw("")

    def print_line(self, text: str) -> None:
        """Print a line, unless `--quiet` was given."""
        if not self._is_quiet:
            self.print_error(text)

    def print_error(self, text: str) -> None:
        """Print a line about the error that ends the program, even with `--quiet`."""
        if self._is_open:
            self.draw("")
            print(f"sitemapreader: {excerpt(text, MAX_MESSAGE)}", file=sys.stderr)  # noqa: T201 (its job)

    def print_issues(self, report: Report, source: str) -> None:
        """Print a line for each kind of Issue of each document.

        It has the first Issue, and the number of the others; INFO only with `--verbose`. An unreachable robots.txt is not
        reported beside the error that caused it, nor that a site which is down has no sitemap.
        """
        failed = {each.sitemap for each in report.issues if each.severity is Severity.ERROR}
        groups: dict[tuple[IssueCode, str], list[Issue]] = {}
        for issue in report.issues:
            groups.setdefault((issue.code, issue.sitemap), []).append(issue)
        places = Counter(code for code, _ in groups)
        left = report.counts - Counter(issue.code for issue in report.issues)  # beyond its limit
        for (code, place), same in groups.items():
            is_told = code is IssueCode.ROBOTS_UNREACHABLE and place in failed
            is_told |= code is IssueCode.NO_SITEMAP and report.outcome.reason != code
            if not is_told and code.severity >= self._least:
                more = len(same) - 1 + (left.pop(code, 0) if places[code] == 1 else 0)
                self._print_issue(same[0], place or source, f" (and {more} more)" if more else "")
        for code, number in left.items():
            if number and code.severity >= self._least:
                named = f"{code.severity.name.lower()} {code}"
                self.print_line(f"{named}: {source}: and {number} more of these")

    def _print_issue(self, issue: Issue, place: str, others: str) -> None:
        line = f":{issue.line}" if issue.line else ""
        said = describe_issue(issue, others)
        self.print_line(f"{issue.severity.name.lower()} {issue.code}: {place}{line}: {said}")

    def print_summary(self, summary: RunSummary) -> None:
        """Print the summary of the run."""
        for line in summary.format_lines():
            self.print_line(line)


def describe_issue(issue: Issue, others: str = "") -> str:
    """Return the message of an Issue, with the URL and the text that it is about."""
    about = " ".join(part for part in (issue.url, issue.value) if part)
    meaning, advice = (name_options(text) for text in (issue.code.meaning, issue.code.advice))
    return f"{meaning}{f' [{about}]' if about else ''}{others}: {advice}"


# -- progress

SECONDS = 0.2
"""Seconds between two updates."""
_FALLBACK_WIDTH = 80


@asynccontextmanager
async def show_progress(console: Console, summary: RunSummary) -> AsyncIterator[None]:
    """Show the progress within this context, if standard error is a terminal."""
    if not console.shows_progress:
        yield
        return
    task = asyncio.create_task(_draw_progress(console, summary), name="sitemapreader.progress")
    try:
        yield
    finally:
        task.cancel()
        console.draw("")


async def _draw_progress(console: Console, summary: RunSummary) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(SECONDS)
        seconds = time.monotonic() - began
        done, known = summary.count_documents()
        parts = [
            f"{summary.printed:,} {summary.what}",
            f"{done}/{known} documents",
            f"{summary.printed / seconds:,.0f}/s",
            show_bytes(summary.count_bytes()),
            f"{seconds // 60:.0f}:{seconds % 60:02.0f}",
        ]
        if summary.is_for_many:
            parts.insert(0, f"{summary.done:,} {'source' if summary.done == 1 else 'sources'} done")
        line = ", ".join(parts)
        width = _find_width() - 1
        console.draw(line if len(line) <= width else line[: line.rfind(",", 0, width)])


def _find_width() -> int:
    """Return the columns of the terminal; some say that they have none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _FALLBACK_WIDTH
    except (OSError, ValueError):
        return _FALLBACK_WIDTH
