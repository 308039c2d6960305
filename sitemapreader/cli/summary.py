"""The summary of a run: what was printed, lost and failed, and the exit code.

Its size grows only with the names of failed sources, up to `_MAX_SOURCES`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.cli.parser import ALL_READ, NO_URL, NOTHING_FETCHED, PARTIAL, USAGE
from sitemapreader.issues import IssueCode
from sitemapreader.outcomes import ASKED_FOR, NOTHING_LOST, Role, Status, is_known
from sitemapreader.report import Report

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sitemapreader.many.visitor import SiteWalk

_UNWANTED = ASKED_FOR - {str(IssueCode.ROBOTS_DISALLOWED)}
_MAX_DOCUMENTS = 3
"""Documents named for each reason; the rest is only counted."""
_MAX_SOURCES = 1_000
"""Failed sources that are named; the rest is only counted."""
_SUMMED = ("undated", "future", "sampled_from", "unlisted", "waiting", "gone", "bytes_raw")
"""Figures of reports that are added up."""


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
    is_cut: bool = False
    """Whether the time was over before all sources were begun."""
    done: int = 0
    """Finished sources, failed ones included; the next two are about their documents."""
    statuses: Counter[Status] = attrs.field(factory=Counter)
    sums: Counter[str] = attrs.field(factory=Counter)
    running: Collection[SiteWalk] = ()
    _failed: int = 0
    _failures: list[tuple[str, str]] = attrs.field(factory=list)
    _answered: bool = False
    _found: bool = False
    _complete: bool = True
    _left_out: Counter[str] = attrs.field(factory=Counter)
    _lost: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """How and why -> how many documents were lost; the next one has the URLs of the first."""
    _named: dict[tuple[str, str], list[str]] = attrs.field(factory=dict)

    def add(self, site: SiteWalk, report: Report) -> None:
        """Add a source that has ended, and what is reported of it."""
        documents, reason = report.documents, report.outcome.reason
        reason = reason or ("sitemaps that it lists" if site.children else "cannot be read")
        found = bool(report.entries or site.sitemaps) or _has_unwanted(report)
        complete = report.complete and not site.children and not site.fault
        self.done += 1
        self.sums.update({name: getattr(report, name) or 0 for name in _SUMMED})
        self.sums["filtered"] += sum(document.filtered for document in documents)
        self._answered |= any(document.is_answered for document in documents)
        self._found |= found
        self._complete &= complete
        self.statuses += report.statuses
        self._left_out += Counter({r: n for r, n in report.left_out.items() if r in ASKED_FOR})
        lost = [document for document in documents if document.is_lost]
        if not found and not complete:
            self._failed += 1
            if self._failed <= _MAX_SOURCES:
                self._failures.append((site.name, reason))
            # it is named anyway
            lost = [each for each in lost if each.role is Role.SITEMAP and each.url != site.name]
        elif not complete and not lost:
            self._lose("read in part", reason, site.name)
        for each in lost:
            is_part = each.status is Status.PARTIAL
            self._lose("read in part" if is_part else "not read", each.reason, each.url)
        # beyond its limit a report counts skipped documents without listing them
        listed = Counter(each.reason for each in documents if each.is_left_out)
        for reason, number in (report.left_out - listed).items():
            if reason not in NOTHING_LOST:
                self._lost["not read", reason] += number

    def _lose(self, how: str, reason: str, url: str) -> None:
        self._lost[how, reason] += 1
        named = self._named.setdefault((how, reason), [])
        if len(named) < _MAX_DOCUMENTS:
            named.append(url)

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents are finished, and how many are known so far."""
        walks = [site.walk for site in self.running if site.walk is not None]
        done = self.statuses.total() + sum(walk.report.statuses.total() for walk in walks)
        return done, done + sum(walk.pending for walk in walks)

    def count_bytes(self) -> int:
        """Return how many bytes were received for finished documents."""
        walks = (site.walk for site in self.running if site.walk is not None)
        return self.sums["bytes_raw"] + sum(walk.report.bytes_raw for walk in walks)

    @property
    def _is_begun(self) -> bool:
        """Whether there was a source to read."""
        return bool(self.done or self.limit_reached or self.is_cut)

    def find_exit_code(self) -> int:
        """Return the exit code by the rules of docs/exit-codes.md."""
        if not self._is_begun:
            return USAGE if self.unknown else ALL_READ if self.is_shard else NO_URL
        if not self.limit_reached and not self._answered:
            return NOTHING_FETCHED
        if not self.limit_reached and not self._found:
            return NO_URL
        is_all = self._complete and not self.unknown and not self.is_cut
        return ALL_READ if is_all else PARTIAL

    def format_lines(self) -> Iterator[str]:
        """Yield the last lines of the run: what was printed, what was not read, and why."""
        if self._is_begun:
            yield self._format_count()
            yield from self._format_asked()
            yield from self._format_lost()
        elif not self.unknown:
            yield "no source: this shard has none" if self.is_shard else "no source is listed"

    def _format_asked(self) -> Iterator[str]:
        sums = self.sums
        if sums["filtered"] and not self.printed:
            yield f"held back as asked: {sums['filtered']} URLs"
        if sums["undated"] or sums["future"]:
            undated = f"{sums['undated']} URLs without a date (--undated drop leaves them out)"
            yield f"kept by date: {undated}, {sums['future']} with one in the future"
        if self._left_out:
            yield f"left out as asked: {_count_each(self._left_out)}"

    def _format_lost(self) -> Iterator[str]:
        for (how, reason), number in sorted(self._lost.items()):
            named = self._named.get((how, reason), [])
            others = f" and {number - len(named)} more" if number > len(named) else ""
            urls = f"{', '.join(named)}{others}" if named else "too many to name"
            yield f"{how}: {number} {reason}: {urls}"
        if waiting := self.sums["waiting"]:
            yield f"not unlisted yet: {waiting} URLs, which wait for another day or a sitemap"
        if self.is_cut:
            yield "not read: further sources of the list, because --max-time was over"
        if self.repeated:
            yield f"duplicate sources skipped: {self.repeated}"
        if self.is_for_many or not self._lost:
            yield from (f"failed: {name} ({reason})" for name, reason in self._failures)
        if self.unknown:
            yield f"not read: {self.unknown} named above, which are not sites or cannot be opened"
        if more := self._failed - len(self._failures):
            yield f"failed: {more} more sources, each named above with its error"

    def _format_count(self) -> str:
        sampled = self.sums["sampled_from"]
        line = f"{self.printed:,} of {sampled:,}" if sampled else f"{self.printed}"
        line += f" {self.what if self.printed != 1 else self.what.removesuffix('s')}"
        if self.done > 1:
            line += f" from {self.done} sources"
            line += f", {self._failed} of which failed" if self._failed else ""
        return line + (f"; documents: {_count_each(self.statuses)}" if self.statuses else "")


def _count_each(counts: Counter[Any]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))


def _has_unwanted(report: Report) -> bool:
    """Return whether there was something that was known, or held back as asked."""
    known = any(document.listed or is_known(document) for document in report.documents)
    return known or any(report.left_out[reason] for reason in _UNWANTED)


def take_report(site: SiteWalk) -> Report:
    """Return what is reported of a source that has ended."""
    report = Report(0) if site.walk is None else site.walk.report
    if site.file is not None:  # nobody knows its URL, and nothing around it was meant
        report.issues = [each for each in report.issues if each.code != IssueCode.OUT_OF_SCOPE]
        del report.counts[IssueCode.OUT_OF_SCOPE]
        for issue in report.issues:
            issue.sitemap = "" if issue.sitemap == site.file.url else issue.sitemap
        report.documents = [] if site.fault else report.documents
        for document in report.documents:
            document.url = site.name
        report.statuses.clear()
        report.left_out.clear()
    return report
