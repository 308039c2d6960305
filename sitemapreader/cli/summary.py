"""The summary of a run: what was printed, lost and failed, and the exit code.

Its size grows only with the names of failed sources, up to `_MAX_SOURCES`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.exit_codes import ALL_READ, NO_URL, NOTHING_FETCHED, PARTIAL, USAGE
from sitemapreader.issues import IssueCode, Severity
from sitemapreader.outcomes import ASKED_FOR, NOTHING_LOST, Document, Role, Status, is_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.cli.sources import SourceResult

_UNREACHED = frozenset({IssueCode.CONNECT, IssueCode.DNS, IssueCode.TIMEOUT})
_MAX_DOCUMENTS = 3
"""Documents named for each reason; the rest is only counted."""
_MAX_SOURCES = 1_000
"""Failed sources that are named; the rest is only counted."""


@attrs.define
class DocumentCount:
    """The number of documents that were lost for one reason, and some of their URLs.

    Attributes:
        number: number of documents.
        first: URLs of the first documents.
    """

    number: int = 0
    first: list[str] = attrs.field(factory=list)

    def add(self, url: str) -> None:
        """Count a document, and keep its URL if it is among the first."""
        self.number += 1
        if len(self.first) < _MAX_DOCUMENTS:
            self.first.append(url)

    def __str__(self) -> str:
        if not self.first:
            return "too many to name"
        more = self.number - len(self.first)
        return ", ".join(self.first) + (f" and {more} more" if more else "")


@attrs.define(eq=False)
class RunSummary:
    """The sums over all sources, the exit code and the last lines of the run.

    Attributes:
        what: noun for what `printed` counts, in the plural.
        printed: number of results printed.
        unknown: number of lines of a list that are not a source.
        repeated: number of sources that were named before.
        limit_reached: whether `--limit` ended the run.
        running: results of the sources that are being read.
        statuses: number of documents by status, of finished sources.
        bytes_raw: bytes received for finished sources.
        is_for_many: whether there may be more than one source.
        done: number of finished sources, failed ones included.
    """

    what: str = "URLs"
    printed: int = 0
    unknown: int = 0
    repeated: int = 0
    limit_reached: bool = False
    running: set[SourceResult] = attrs.field(factory=set)
    statuses: Counter[Status] = attrs.field(factory=Counter)
    bytes_raw: int = 0
    is_for_many: bool = False
    done: int = 0
    _failed: list[tuple[str, str]] = attrs.field(factory=list)
    _failed_unnamed: int = 0
    _reasons: set[str] = attrs.field(factory=set)
    _answered: bool = False
    _found: bool = False
    _complete: bool = True
    _left_out: Counter[str] = attrs.field(factory=Counter)
    _lost: dict[tuple[str, str], DocumentCount] = attrs.field(factory=dict)
    _removals_unknown: DocumentCount = attrs.field(factory=DocumentCount)
    _undated: int = 0
    _future: int = 0

    def add(self, label: str, result: SourceResult) -> None:
        """Add the result of a source."""
        found = result.entries > 0 or any(map(is_known, result.documents))
        self.done += 1
        self._undated += result.undated
        self._future += result.future
        self._answered |= result.answered
        self._found |= found
        self._complete &= result.complete
        self.statuses += result.statuses
        self._left_out += Counter({r: n for r, n in result.left_out.items() if r in ASKED_FOR})
        for url in result.removals_unknown:
            self._removals_unknown.add(url)
        has_failed = not found and not result.complete
        if has_failed:
            self._add_failed(label, _find_reason(result))
        elif not result.complete and not any(each.is_lost for each in result.documents):
            lost = self._lost.setdefault(("read in part", _find_reason(result)), DocumentCount())
            lost.add(label)
        for document in result.documents:
            self.bytes_raw += document.bytes_raw
            if document.is_lost and not (has_failed and _is_source(document, label)):
                self._add_lost(document)
        # beyond its limit a report counts skipped documents without listing them
        counted = Counter(each.reason for each in result.documents if each.is_left_out)
        for reason, number in (result.left_out - counted).items():
            if reason not in NOTHING_LOST:
                self._lost.setdefault(("not read", reason), DocumentCount()).number += number

    def _add_failed(self, label: str, reason: str) -> None:
        self._reasons.add(reason)
        if len(self._failed) < _MAX_SOURCES:
            self._failed.append((label, reason))
        else:
            self._failed_unnamed += 1

    def _add_lost(self, document: Document) -> None:
        self._reasons.add(document.reason)
        how = "read in part" if document.status is Status.PARTIAL else "not read"
        self._lost.setdefault((how, document.reason), DocumentCount()).add(document.url)

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents are finished, and how many are known so far."""
        walks = [result.walk for result in self.running if result.walk is not None]
        done = self.statuses.total() + sum(walk.report.statuses.total() for walk in walks)
        return done, done + sum(walk.pending for walk in walks)

    def count_bytes(self) -> int:
        """Return how many bytes were received for finished documents."""
        walks = (result.walk for result in self.running if result.walk is not None)
        return self.bytes_raw + sum(walk.report.bytes_raw for walk in walks)

    def find_exit_code(self) -> int:
        """Return the exit code by the rules of docs/exit-codes.md."""
        if self.unknown and not self.done:
            return USAGE
        if not self.limit_reached and not self._answered:
            return NOTHING_FETCHED
        if not self.limit_reached and not self._found:
            return NO_URL
        return ALL_READ if self._complete and not self.unknown else PARTIAL

    def has_unreached(self) -> bool:
        """Return whether a host could not be reached, as happens behind a proxy."""
        return not self._reasons.isdisjoint(_UNREACHED)

    def format_lines(self) -> Iterator[str]:
        """Yield the last lines of the run: what was printed, what was not read, and why."""
        if self.unknown and not self.done:
            return
        failed = len(self._failed) + self._failed_unnamed
        line = f"{self.printed} {self.what if self.printed != 1 else self.what.removesuffix('s')}"
        if self.done > 1:
            line += f" from {self.done} sources"
        if self.done > 1 and failed:
            line += f", {failed} of which failed"
        text = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        yield line + (f"; documents: {text}" if text else "")
        if self._undated or self._future:
            yield (
                f"kept by date: {self._undated} URLs without a date (--undated drop leaves them "
                f"out), {self._future} with one in the future"
            )
        if self._left_out:
            text = ", ".join(
                f"{count} {reason}" for reason, count in sorted(self._left_out.items())
            )
            yield f"left out as asked: {text}"
        for (how, reason), lost in sorted(self._lost.items()):
            yield f"{how}: {lost.number} {reason}: {lost}"
        if self._removals_unknown.number:
            yield describe_unknown_removals(self._removals_unknown)
        if self.repeated:
            yield f"duplicate sources skipped: {self.repeated}"
        yield from self._format_failed()

    def _format_failed(self) -> Iterator[str]:
        if self.is_for_many or not self._lost:
            for label, reason in self._failed:
                yield f"failed: {label} ({reason})"
        if self.unknown:
            yield f"not read: {self.unknown} named above, which are not sites or cannot be opened"
        if self._failed_unnamed:
            yield f"failed: {self._failed_unnamed} more sources, each named above with its error"


def _is_source(document: Document, label: str) -> bool:
    """Return whether a lost document means a failed source, which is named anyway."""
    return document.role is not Role.SITEMAP or document.url == label


def describe_unknown_removals(documents: DocumentCount) -> str:
    """Return a line about the documents whose removed URLs are unknown."""
    return (
        f"removed URLs are unknown for {documents.number} sitemaps; their URLs count as not "
        f"removed: {documents}"
    )


def _find_reason(result: SourceResult) -> str:
    """Return the reason why a source failed: its last error, if there is one."""
    errors = [issue.code for issue in result.issues if issue.code.severity is Severity.ERROR]
    lost = [document.reason for document in result.documents if document.is_lost]
    other = "sitemaps that it lists" if result.children else "cannot be read"
    return str((errors[-1:] or lost[:1] or [other])[0])
