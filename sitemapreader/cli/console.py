"""Messages on standard error: Issues, errors, the summary."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Self

from sitemapreader.cli.parser import MAX_MESSAGE
from sitemapreader.cli.writer import get_output_path
from sitemapreader.issues import Issue, IssueCode, Severity, excerpt

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sitemapreader.cli.summary import RunSummary

_NAMED_BRIEFLY = frozenset(
    {IssueCode.ROBOTS_DISALLOWED, IssueCode.ROBOTS_TOO_COMPLEX, IssueCode.CROSS_HOST_CHILD}
)
"""Issues of which a document may have one for each of its sitemaps, or each probed path."""
_MAX_NAMED = 3

OPTIONS = {
    "allow_networks": "--allow-network",
    "allow_ports": "--allow-port",
    'extra_formats={"html"}': "--html-sitemap",
    'extra_formats={"llms"}': "--llms",
    "changes=True": "--changes",
    "feeds=True": "--feeds",
    "headers": "-u",
    "max_urls": "--limit",
    "headers_seconds": "--timeout",
    'hosts="any"': "--hosts any",
    "Limits.depth": "--depth",
    "Limits.walk_seconds": "--site-timeout",
    "respect_robots=False": "--no-robots",
    "sitemaps=": "--sitemap",
    "urls": "--urls",
    "write_baseline": "--write-baseline",
    "state": "--state",
    "url": "--base-url",
}
"""An argument of the library, as its messages write it -> the option of the shell."""
LIBRARY_ONLY = ("Limits", "min_bytes_per_second")
"""Prefixes of arguments that have no option in the shell."""
_ARGUMENT = re.compile(r"`([^`]+)`")


class Console:
    """Standard error: messages of one line each, escaped for a terminal.

    Attributes:
        shows_progress: whether progress is shown: standard error is a terminal, without `-q`.
        erase_progress: called before a message or a result is written to the terminal.
    """

    def __init__(
        self, *, quiet: bool = False, verbose: bool = False, has_file: bool = False
    ) -> None:
        is_open = sys.stderr is not None  # whoever started the program may have closed it
        self.shows_progress = is_open and not quiet and sys.stderr.isatty()
        self.erase_progress: Callable[[], None] | None = None
        self._is_quiet = quiet
        self._is_open = is_open
        self._least = Severity.INFO if verbose else Severity.WARNING
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._shows_results = is_terminal and not has_file

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> Self:
        """Make the console with the verbosity that the options ask for."""
        has_file = get_output_path(arguments) is not None
        return cls(quiet=arguments.quiet, verbose=arguments.verbose, has_file=has_file)

    def clear_for_results(self) -> None:
        """Erase the progress if results are about to be written to the same terminal."""
        if self.erase_progress is not None and self._shows_results:
            self.erase_progress()

    def print_line(self, text: str) -> None:
        """Print a line, unless `--quiet` was given."""
        if not self._is_quiet:
            self.print_error(text)

    def print_error(self, text: str) -> None:
        """Print a line about the error that ends the program, even with `--quiet`."""
        if not self._is_open:
            return
        if self.erase_progress is not None:
            self.erase_progress()
        print(f"sitemapreader: {excerpt(text, MAX_MESSAGE)}", file=sys.stderr)  # noqa: T201 (its job)

    def print_issue(self, issue: Issue, source: str, more: int = 0) -> None:
        """Print an Issue (INFO only with `--verbose`); `more` are only counted."""
        if issue.severity < self._least:
            return
        place = issue.sitemap or source
        place += f":{issue.line}" if issue.line else ""
        said = describe_issue(issue, f" (and {more} more)" if more else "")
        self.print_line(f"{issue.severity.name.lower()} {issue.code}: {place}: {said}")

    def print_issues(self, issues: list[Issue], counts: Counter[IssueCode], source: str) -> None:
        """Print the Issues of a source, then how many more there were of each code.

        Of a code that is no error one is printed for each document, with the number of the others;
        of those in `_NAMED_BRIEFLY` a few. An unreachable robots.txt is not reported beside the
        error that caused it.
        """
        failed = {issue.sitemap for issue in issues if issue.severity is Severity.ERROR}
        groups: dict[tuple[IssueCode, str], list[Issue]] = {}
        for issue in issues:
            groups.setdefault((issue.code, issue.sitemap), []).append(issue)
        places = Counter(code for code, _ in groups)
        left = counts - Counter(issue.code for issue in issues)
        for (code, place), same in groups.items():
            if code is IssueCode.ROBOTS_UNREACHABLE and place in failed:
                continue
            named, more = same, 0
            if code in _NAMED_BRIEFLY:
                named = same[:_MAX_NAMED]
                left[code] += len(same) - len(named)
            elif code.severity is not Severity.ERROR:
                named = same[:1]
                more = len(same) - 1 + (left.pop(code, 0) if places[code] == 1 else 0)
            for issue in named:
                self.print_issue(issue, source, more)
        for code, number in left.items():
            if number and code.severity >= self._least:
                self.print_line(
                    f"{code.severity.name.lower()} {code}: {source}: and {number} more of these"
                )

    def print_summary(self, summary: RunSummary) -> None:
        """Print the summary of the run."""
        for line in summary.format_lines():
            self.print_line(line)


def describe_issue(issue: Issue, others: str = "") -> str:
    """Return the message of an Issue, with the URL and the text that it is about."""
    about = " ".join(part for part in (issue.url, issue.value) if part)
    meaning, advice = (name_options(text) for text in (issue.code.meaning, issue.code.advice))
    return f"{meaning}{f' [{about}]' if about else ''}{others}: {advice}"


def name_options(text: str) -> str:
    """Replace the arguments of the library that a text names by options of the shell."""
    return _ARGUMENT.sub(_name_option, text)


def _name_option(match: re.Match[str]) -> str:
    name = match[1]
    if name in OPTIONS:
        return OPTIONS[name]
    if name.startswith(LIBRARY_ONLY):
        return f"{name} (in Python; no option does it)"
    return match[0]
