"""The entries of a document: filtered, compared with the state, handed over."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from sitemapreader.dates import count_odd
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.rows import take_rows

if TYPE_CHECKING:
    from sitemapreader.models import UrlEntry
    from sitemapreader.outcomes import BodyHasher, Document
    from sitemapreader.rows import Rows
    from sitemapreader.walker.children import WalkParts
    from sitemapreader.walker.tracker import DocumentTracker


class DocumentEntries:
    """The way of one document's entries to the consumer."""

    def __init__(
        self,
        parts: WalkParts,
        document: Document,
        tracker: DocumentTracker | None,
        hasher: BodyHasher,
    ) -> None:
        self.scope: tuple[str, ...] = ()
        self.outside = 0
        self._parts = parts
        self._document = document
        self._tracker = tracker
        self._hasher = hasher
        self._sent_bytes = 0

    async def deliver(self, entries: Rows) -> bool:
        """Emit the entries that pass the filters; with `changes`, only those that differ.

        Return whether there may be more.
        """
        context = self._parts.context
        context.report.tally.note_listed(entries)
        if self._tracker is not None:
            return await self._deliver_tracked(self._tracker, list(entries))
        passed = self._parts.entry_filter.deduplicate(self._select(entries))
        most = context.budget.take_urls(len(passed))
        left_out = len(entries) - len(passed)
        if most == len(passed):
            await self._emit(passed, left_out)
            return True
        await self._emit(take_rows(passed, most), left_out)
        return await self._report_limit()

    async def _deliver_tracked(self, tracker: DocumentTracker, entries: list[UrlEntry]) -> bool:
        for each in tracker.chunks(entries):
            chunk = each
            differing, fingerprints = await tracker.compare(chunk)
            passed = list(self._select(differing))
            kept = list(self._parts.entry_filter.deduplicate(passed))
            most = self._parts.context.budget.take_urls(len(kept))
            if is_cut := most < len(kept):  # what comes behind the last one is for the next walk
                chunk, passed = _cut(chunk, kept[most]), _cut(passed, kept[most])
                kept = kept[:most]
                differing, fingerprints = await tracker.compare(chunk)
            self._document.known += len(chunk) - len(differing)
            await self._emit(kept, len(differing) - len(kept))
            body = self._hasher.snapshot()
            await tracker.record(chunk, fingerprints, passed, kept, self._document, body)
            if is_cut:
                return await self._report_limit()
        return True

    def _select(self, entries: Rows) -> Rows:
        passed, outside = self._parts.entry_filter.select(entries, self.scope)
        self.outside += outside
        return passed

    async def _emit(self, entries: Rows, left_out: int) -> None:
        self._document.filtered += left_out
        if entries:
            report, config = self._parts.context.report, self._parts.config
            self._document.entries += len(entries)
            report.entries += len(entries)
            report.tally.note_entries(entries)
            if config.since is not None or config.until is not None:
                undated, future = count_odd(entries)
                report.undated += undated
                report.future += future
            await self._parts.context.emit(entries, self.count_new_bytes())

    def count_new_bytes(self) -> int:
        """Return the bytes of the document that were read since the last call."""
        before, self._sent_bytes = self._sent_bytes, self._document.bytes_inflated
        return max(0, self._sent_bytes - before)

    async def _report_limit(self) -> bool:
        """Report that no more URLs may be delivered; return False."""
        issue = make_issue(IssueCode.BUDGET_URLS, self._document.final_url)
        await self._parts.context.report_issue(issue, self._document)
        return False


def _cut(entries: list[UrlEntry], end: UrlEntry) -> list[UrlEntry]:
    """Return the entries before one of them."""
    return list(takewhile(lambda entry: entry is not end, entries))
