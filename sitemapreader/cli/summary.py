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

_UNREACHED = frozenset({IssueCode.CONNECT, IssueCode.DNS, IssueCode.TIMEOUT})
_OF_SITES = (IssueCode.OUT_OF_SCOPE,)
"""Issues that say nothing about a file alone."""
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
    _reasons: set[str] = attrs.field(factory=set)
    _answered: bool = False
    _found: bool = False
    _complete: bool = True
    _left_out: Counter[str] = attrs.field(factory=Counter)
    _lost: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """How and why -> how many documents were lost; the next one has the URLs of the first."""
    _named: dict[tuple[str, str], list[str]] = attrs.field(factory=dict)
    _unwanted: int = 0

    def add(self, site: SiteWalk, report: Report) -> None:
        """Add a source that has ended, and what is reported of it."""
        documents, label = report.documents, site.name
        found = bool(report.entries or site.sitemaps) or _has_unwanted(report)
        complete = report.complete and not site.children and not site.fault
        reason = report.outcome.reason or "sitemaps that it lists" * bool(site.children)
        reason = reason or "cannot be read"
        self.done += 1
        self.sums.update({name: getattr(report, name) or 0 for name in _SUMMED})
        self._answered |= any(document.is_answered for document in documents)
        self._found |= found
        self._complete &= complete
        self.statuses += report.statuses
        self._left_out += Counter({r: n for r, n in report.left_out.items() if r in ASKED_FOR})
        self._unwanted += sum(document.filtered for document in documents)
        lost = [document for document in documents if document.is_lost]
        if not found and not complete:
            self._failed += 1
            self._reasons.add(reason)
            if len(self._failures) < _MAX_SOURCES:
                self._failures.append((label, reason))
            # it is named anyway
            lost = [each for each in lost if each.role is Role.SITEMAP and each.url != label]
        elif not complete and not lost:
            self._lose("read in part", reason, label)
        for document in lost:
            self._reasons.add(document.reason)
            how = "read in part" if document.status is Status.PARTIAL else "not read"
            self._lose(how, document.reason, document.url)
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
        sums, more = self.sums, self._failed - len(self._failures)
        dropped = "(--undated drop leaves them out)"
        by_date = f"{sums['undated']} URLs without a date {dropped}, {sums['future']}"
        wait = f"{sums['waiting']} URLs, which wait for another day or a sitemap"
        lines = (
            (self._unwanted and not self.printed, f"held back as asked: {self._unwanted} URLs"),
            (
                sums["undated"] or sums["future"],
                f"kept by date: {by_date} with one in the future",
            ),
            (self._left_out, f"left out as asked: {_count_each(self._left_out)}"),
            *((True, line) for line in self._format_lost()),
            (sums["waiting"], f"not unlisted yet: {wait}"),
            (self.is_cut, "not read: further sources of the list, because --max-time was over"),
            (self.repeated, f"duplicate sources skipped: {self.repeated}"),
            *(
                (self.is_for_many or not self._lost, f"failed: {label} ({reason})")
                for label, reason in self._failures
            ),
            (
                self.unknown,
                f"not read: {self.unknown} named above, which are not sites or cannot be opened",
            ),
            (more, f"failed: {more} more sources, each named above with its error"),
        )
        yield from (line for is_so, line in lines if is_so)

    def _format_lost(self) -> Iterator[str]:
        for (how, reason), number in sorted(self._lost.items()):
            named = self._named.get((how, reason), [])
            others = f" and {number - len(named)} more" if number > len(named) else ""
            urls = f"{', '.join(named)}{others}" if named else "too many to name"
            yield f"{how}: {number} {reason}: {urls}"

    def _format_count(self) -> str:
        of = f" of {self.sums['sampled_from']:,}" if self.sums["sampled_from"] else ""
        line = f"{self.printed:,}{of}" if of else f"{self.printed}"
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
