"""What is said on standard error: Issues, a summary, a word about a signal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from sitemapreader.cli.usage import MAX_SAID
from sitemapreader.issues import Issue, Severity, excerpt

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sitemapreader.cli.tally import Tally


class Console:
    """Says what is to be said, a line at a time, safe for a terminal.

    Attributes:
        wants_progress: whether somebody watches.
        clear: is called before something else is written to the terminal.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.wants_progress = not quiet and sys.stderr.isatty()
        self.clear: Callable[[], None] | None = None
        self._is_quiet = quiet
        self._least = Severity.INFO if verbose else Severity.WARNING
        self._shows_results = sys.stdout.isatty()

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Self:
        """Return one that says as much as was asked for."""
        return cls(quiet=arguments.quiet, verbose=arguments.verbose)

    def make_room(self) -> None:
        """Take the progress away from a terminal that results are about to be written to."""
        if self.clear is not None and self._shows_results:
            self.clear()

    def say(self, text: str) -> None:
        """Print a line."""
        if self._is_quiet:
            return
        if self.clear is not None:
            self.clear()
        print(f"sitemapreader: {excerpt(text, MAX_SAID)}", file=sys.stderr)  # noqa: T201 (its job)

    def report(self, issue: Issue) -> None:
        """Print an Issue, unless it is one that only interests those who ask for more."""
        if issue.severity < self._least:
            return
        place = f"{issue.sitemap}:{issue.line}: " if issue.line else f"{issue.sitemap}: "
        about = " ".join(part for part in (issue.url, issue.value) if part)
        self.say(
            f"{issue.severity.name.lower()} {issue.code}: {place if issue.sitemap else ''}"
            f"{issue.message}{f' [{about}]' if about else ''}"
        )

    def summarize(self, tally: Tally) -> None:
        """Say what came of all, if there was anything."""
        for line in tally.summarize():
            self.say(line)
