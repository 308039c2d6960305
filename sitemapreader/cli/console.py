"""What is said on standard error: Issues, a summary, a word about a signal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sitemapreader.cli.usage import MAX_SAID
from sitemapreader.issues import Issue, Severity, excerpt

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from sitemapreader.cli.tally import Tally


def _nothing() -> None:
    """Do nothing: there is nothing on the terminal that would be in the way."""


class Console:
    """Says what is to be said, a line at a time, safe for a terminal.

    Attributes:
        make_room: is called before a line; takes a bar of progress away.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.make_room: Callable[[], None] = _nothing
        self.is_quiet: bool = arguments.quiet
        self._least = Severity.INFO if arguments.verbose else Severity.WARNING

    def say(self, text: str) -> None:
        """Print a line."""
        if not self.is_quiet:
            self.make_room()
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
        """Say what came of all."""
        for line in tally.summarize():
            self.say(line)
