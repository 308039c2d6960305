"""The summary of a run: what was printed, lost and failed, and the exit code.

Its size grows only with the names of failed sources, up to `_MAX_SOURCES`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.cli.parser import ALL_READ, NO_URL, NOTHING_FETCHED, PARTIAL, USAGE
from sitemapreader.issues import IssueCode
from sitemapreader.outcomes import ASKED_FOR, NOTHING_LOST, Role, Status, is_known
from sitemapreader.report import Report

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sitemapreader.many.visitor import SiteWalk

_UNREACHED = frozenset({IssueCode.CONNECT, IssueCode.DNS, IssueCode.TIMEOUT})
_OF_SITES = (IssueCode.OUT_OF_SCOPE,)
"""Issues that say nothing about a file alone."""
_UNWANTED = ASKED_FOR - {str(IssueCode.ROBOTS_DISALLOWED)}
_MAX_DOCUMENTS = 3
"""Documents named for each reason; the rest is only counted."""
_MAX_SOURCES = 1_000
"""Failed sources that are named; the rest is only counted."""


@attrs.define
class DocumentCount:
    """How many documents were lost for one reason, and the URLs of the first."""

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
    """The sums over all sources, the exit code and the last lines of the run."""

    what: str = "URLs"
    """Noun for what `printed` counts, in the plural."""
    is_for_many: bool = False
    is_shard: bool = False
    """Whether others read the rest of the list, so that there may be nothing to do."""
    printed: int = 0
    unknown: int = 0
    """Lines of a list that are not a source."""
    repeated: int = 0
    limit_reached: bool = False
    done: int = 0
    """Finished sources, failed ones included; the next two are about their documents."""
    statuses: Counter[Status] = attrs.field(factory=Counter)
    bytes_raw: int = 0
    running: Collection[SiteWalk] = ()
    _failed: list[tuple[str, str]] = attrs.field(factory=list)
    _failed_unnamed: int = 0
    _reasons: set[str] = attrs.field(factory=set)
    _answered: bool = False
    _found: bool = False
    _complete: bool = True
    _left_out: Counter[str] = attrs.field(factory=Counter)
    _lost: dict[tuple[str, str], DocumentCount] = attrs.field(factory=dict)
    _unwanted: int = 0
    _undated: int = 0
    _future: int = 0

    sampled_from: int = 0
    unlisted: int = 0
    waiting: int = 0
    gone: int = 0
    is_cut: bool = False
    """Whether the time was over before all sources were begun."""

    def add(self, site: SiteWalk, report: Report) -> None:
        """Add a source that has ended, and what is reported of it."""
        documents, label = report.documents, site.name
        found = bool(report.entries or site.sitemaps) or _has_unwanted(report)
        complete = report.complete and not site.children and not site.fault
        self.done += 1
        self._undated += report.undated
        self._future += report.future
        self.sampled_from += report.sampled_from or 0
        self.unlisted += report.unlisted or 0
        self.waiting += report.waiting or 0
        self.gone += report.gone or 0
        self._answered |= any(document.is_answered for document in documents)
        self._found |= found
        self._complete &= complete
        self.statuses += report.statuses
        self._left_out += Counter({r: n for r, n in report.left_out.items() if r in ASKED_FOR})
        has_failed = not found and not complete
        if has_failed:
            self._add_failed(label, _find_reason(site, report))
        elif not complete and not any(each.is_lost for each in documents):
            self._count("read in part", _find_reason(site, report)).add(label)
        for document in documents:
            self._unwanted += document.filtered
            self.bytes_raw += document.bytes_raw
            # a failed source is named anyway
            is_source = document.role is not Role.SITEMAP or document.url == label
            if document.is_lost and not (has_failed and is_source):
                self._reasons.add(document.reason)
                how = "read in part" if document.status is Status.PARTIAL else "not read"
                self._count(how, document.reason).add(document.url)
        # beyond its limit a report counts skipped documents without listing them
        counted = Counter(each.reason for each in documents if each.is_left_out)
        for reason, number in (report.left_out - counted).items():
            if reason not in NOTHING_LOST:
                self._count("not read", reason).number += number

    def _count(self, how: str, reason: str) -> DocumentCount:
        return self._lost.setdefault((how, reason), DocumentCount())

    def _add_failed(self, label: str, reason: str) -> None:
        self._reasons.add(reason)
        if len(self._failed) < _MAX_SOURCES:
            self._failed.append((label, reason))
        else:
            self._failed_unnamed += 1

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents are finished, and how many are known so far."""
        walks = [site.walk for site in self.running if site.walk is not None]
        done = self.statuses.total() + sum(walk.report.statuses.total() for walk in walks)
        return done, done + sum(walk.pending for walk in walks)

    def count_bytes(self) -> int:
        """Return how many bytes were received for finished documents."""
        walks = (site.walk for site in self.running if site.walk is not None)
        return self.bytes_raw + sum(walk.report.bytes_raw for walk in walks)

    @property
    def _is_begun(self) -> bool:
        """Whether there was a source to read."""
        return bool(self.done or self.limit_reached or self.is_cut)

    def find_exit_code(self) -> int:
        """Return the exit code by the rules of docs/exit-codes.md."""
        if self.unknown and not self._is_begun:
            return USAGE
        if not self._is_begun:
            return ALL_READ if self.is_shard else NO_URL
        if not self.limit_reached and not self._answered:
            return NOTHING_FETCHED
        if not self.limit_reached and not self._found:
            return NO_URL
        is_all = self._complete and not self.unknown and not self.is_cut
        return ALL_READ if is_all else PARTIAL

    def has_unreached(self) -> bool:
        """Return whether a host could not be reached, as happens behind a proxy."""
        return not self._reasons.isdisjoint(_UNREACHED)

    def format_lines(self) -> Iterator[str]:
        """Yield the last lines of the run: what was printed, what was not read, and why."""
        if not self._is_begun:
            if not self.unknown:
                yield "no source: this shard has none" if self.is_shard else "no source is listed"
            return
        yield self._format_count()
        yield from self._format_held_back()
        for (how, reason), lost in sorted(self._lost.items()):
            yield f"{how}: {lost.number} {reason}: {lost}"
        if self.waiting:
            yield f"not unlisted yet: {self.waiting} URLs, which wait for another day or a sitemap"
        if self.is_cut:
            yield "not read: further sources of the list, because --max-time was over"
        if self.repeated:
            yield f"duplicate sources skipped: {self.repeated}"
        yield from self._format_failed()

    def _format_count(self) -> str:
        failed = len(self._failed) + self._failed_unnamed
        line = (
            f"{self.printed:,} of {self.sampled_from:,}" if self.sampled_from else f"{self.printed}"
        )
        line += f" {self.what if self.printed != 1 else self.what.removesuffix('s')}"
        if self.done > 1:
            line += f" from {self.done} sources"
        if self.done > 1 and failed:
            line += f", {failed} of which failed"
        text = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        return line + (f"; documents: {text}" if text else "")

    def _format_held_back(self) -> Iterator[str]:
        if self._unwanted and not self.printed:
            yield f"held back as asked: {self._unwanted} URLs"
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

    def _format_failed(self) -> Iterator[str]:
        if self.is_for_many or not self._lost:
            for label, reason in self._failed:
                yield f"failed: {label} ({reason})"
        if self.unknown:
            yield f"not read: {self.unknown} named above, which are not sites or cannot be opened"
        if self._failed_unnamed:
            yield f"failed: {self._failed_unnamed} more sources, each named above with its error"


def _has_unwanted(report: Report) -> bool:
    """Return whether there was something that was known, or held back as asked."""
    known = any(document.listed or is_known(document) for document in report.documents)
    return known or any(report.left_out[reason] for reason in _UNWANTED)


def _find_reason(site: SiteWalk, report: Report) -> str:
    """Return the reason why a source failed, as its outcome has it."""
    other = "sitemaps that it lists" if site.children else "cannot be read"
    return report.outcome.reason or other


def take_report(site: SiteWalk) -> Report:
    """Return what is reported of a source that has ended."""
    report = Report(0) if site.walk is None else site.walk.report
    if site.file is not None:  # nobody knows its URL, and nothing around it was meant
        report.issues = [each for each in report.issues if each.code not in _OF_SITES]
        for code in _OF_SITES:
            del report.counts[code]
        for issue in report.issues:
            issue.sitemap = "" if issue.sitemap == site.file.url else issue.sitemap
        report.documents = [] if site.fault else report.documents
        for document in report.documents:
            document.url = site.name
        report.statuses.clear()
        report.left_out.clear()
    return report
