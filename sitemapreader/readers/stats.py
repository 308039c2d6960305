"""The stats of one document: what was seen, delivered, dropped and noted: nothing in silence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import MAX_ISSUES_PER_DOCUMENT, Issue, IssueCode, Severity, make_issue

if TYPE_CHECKING:
    from sitemapreader.models import Event


@attrs.define
class ReadStats:
    """Counts of one document.

    `records == delivered + dropped` holds after every batch, and each dropped record has an Issue
    in `counts`, which counts those past the first ten of a code as well.
    """

    sitemap: str = ""
    records: int = 0
    delivered: int = 0
    dropped: int = 0
    raw_bytes: int = 0
    inflated_bytes: int = 0
    counts: Counter[IssueCode] = attrs.field(factory=Counter)

    @property
    def has_errors(self) -> bool:
        """Whether an Issue was noted that lost something."""
        return any(code.severity is Severity.ERROR for code in self.counts)

    def note(
        self,
        events: list[Event],
        code: IssueCode,
        *,
        line: int | None = None,
        url: str | None = None,
        value: str | None = None,
    ) -> None:
        """Count an Issue, and append it to `events` if it is among the first of its code."""
        self.counts[code] += 1
        if self.counts[code] <= MAX_ISSUES_PER_DOCUMENT:
            events.append(make_issue(code, self.sitemap, line=line, url=url, value=value))

    def note_once(self, events: list[Event], code: IssueCode, *, value: str | None = None) -> None:
        """Count an Issue that says something of the document, the first time only."""
        if not self.counts[code]:
            self.note(events, code, value=value)

    def retract(self, events: list[Event], code: IssueCode) -> None:
        """Take back what turned out not to be so, and was not handed over yet."""
        del self.counts[code]
        events[:] = (e for e in events if not (isinstance(e, Issue) and e.code is code))

    def deliver(self, count: int = 1) -> None:
        """Count records that were handed over."""
        self.records += count
        self.delivered += count

    def drop(
        self,
        events: list[Event],
        code: IssueCode,
        *,
        line: int | None = None,
        url: str | None = None,
        value: str | None = None,
    ) -> None:
        """Count a record that is not handed over, with the Issue that says why."""
        self.records += 1
        self.dropped += 1
        self.note(events, code, line=line, url=url, value=value)
