"""What came of all sources together, in figures that take no more room for more sources."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.process import ALL_READ, NO_URL, NOTHING_FETCHED, PARTIAL, USAGE
from sitemapreader.issues import IssueCode
from sitemapreader.models import Via
from sitemapreader.report import FINISHED_BEFORE, Document, Role, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.cli.sources import Result

_CODES = frozenset(map(str, IssueCode))
_UNREACHED = frozenset({IssueCode.CONNECT, IssueCode.DNS, IssueCode.TIMEOUT})
_NAMED = 3
"""URLs that are named for each reason; the rest is counted."""


@attrs.define
class _Lost:
    number: int = 0
    first: list[str] = attrs.field(factory=list)

    def __str__(self) -> str:
        more = self.number - len(self.first)
        return ", ".join(self.first) + (f" and {more} more" if more else "")


@attrs.define(eq=False)
class Tally:
    """Sums over sources, the exit code, and the summary.

    Attributes:
        what: what is counted in `printed`, in the plural.
        printed: how much was printed.
        unknown: sources that are nothing at all.
        has_enough: whether what followed was not wanted.
        running: results of the sources that are being read.
        bytes_raw: bytes that came for those that are done.
        is_for_many: whether there may be more than one source.
        done: sources that were read, or tried.
    """

    what: str = "URLs"
    printed: int = 0
    unknown: int = 0
    has_enough: bool = False
    running: set[Result] = attrs.field(factory=set)
    statuses: Counter[Status] = attrs.field(factory=Counter)
    bytes_raw: int = 0
    is_for_many: bool = False
    done: int = 0
    _failed: int = 0
    _answered: bool = False
    _found: bool = False
    _complete: bool = True
    _lost: dict[tuple[str, str], _Lost] = attrs.field(factory=dict)

    def add(self, result: Result) -> None:
        """Add what came of a source."""
        self.done += 1
        self._failed += not result.answered
        self._answered |= result.answered
        self._found |= result.entries > 0 or any(map(_is_known, result.documents))
        self._complete &= result.complete
        self.statuses += result.statuses
        for document in result.documents:
            self.bytes_raw += document.bytes_raw
            if how := _how_lost(document):
                lost = self._lost.setdefault((how, document.reason), _Lost())
                lost.number += 1
                if len(lost.first) < _NAMED:
                    lost.first.append(document.url)

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents are done, and how many are known by now."""
        walks = [result.walk for result in self.running if result.walk is not None]
        done = self.statuses.total() + sum(walk.report.statuses.total() for walk in walks)
        return done, done + sum(walk.pending for walk in walks)

    def count_bytes(self) -> int:
        """Return how many bytes have come of the documents that are done."""
        walks = (result.walk for result in self.running if result.walk is not None)
        return self.bytes_raw + sum(walk.report.bytes_raw for walk in walks)

    def exit_code(self) -> int:
        """Return how it went, in a number."""
        if self.unknown and not self.done:
            return USAGE
        if not self._answered and not self.has_enough:
            return NOTHING_FETCHED
        if not self._found and not self.has_enough:
            return NO_URL
        return ALL_READ if self._complete and not self.unknown else PARTIAL

    def met_no_way(self) -> bool:
        """Tell whether something could not be reached, as behind a proxy that has to be named."""
        return any(reason in _UNREACHED for _, reason in self._lost)

    def summarize(self) -> Iterator[str]:
        """Yield lines that say what came out, what was not read, and why."""
        if self.unknown and not self.done:
            return
        line = f"{self.printed} {self.what}"
        if self.done > 1:
            line += f" from {self.done} sources"
        if self.done > 1 and self._failed:
            line += f", {self._failed} of which failed"
        said = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        yield line + (f"; documents: {said}" if said else "")
        for (how, reason), lost in sorted(self._lost.items()):
            yield f"{how}: {lost.number} {reason}: {lost}"


def _is_known(document: Document) -> bool:
    """Tell whether it has URLs that a state knows, and that were not printed for that."""
    return (
        document.known > 0
        or document.reason == FINISHED_BEFORE
        or (document.status is Status.UNCHANGED)
    )


def _how_lost(document: Document) -> str:
    """Say whether a document that was wanted was not read, or not wholly; "" if it was."""
    if document.status is Status.PARTIAL:
        return "read in part"
    if document.status is Status.FAILED:
        return "not read"
    if document.via is Via.WELL_KNOWN or document.role is not Role.SITEMAP:
        return ""  # a guess that was none, or a site without a robots.txt
    skipped = document.status is Status.SKIPPED and document.reason in _CODES
    return "not read" if skipped else ""
