"""The counts of one document, which account for every record and every Issue."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.issues import MAX_ISSUES_PER_DOCUMENT, IssueCode, make_issue

if TYPE_CHECKING:
    from sitemapreader._types.models import Event


@attrs.define
class ReadStats:
    """The counts of one document.

    `records == delivered + dropped` holds after every batch. Delivered are the records that became
    entries of the reader: a walk counts them as `Document.listed`, before its filters, and as
    `Document.entries` after them. Each dropped record has an Issue in `counts`, which includes the
    Issues that are not delivered.
    """

    sitemap: str = ""
    records: int = 0
    delivered: int = 0
    dropped: int = 0
    raw_bytes: int = 0
    inflated_bytes: int = 0
    # the usual way of making one takes longer than all other parts
    counts: Counter[IssueCode] = attrs.field(factory=partial(Counter.__new__, Counter))
    shows_all: bool = False
    """True if each Issue is delivered; else only the first ones of a code."""
    keeps_deleted: bool = False
    """True if a record that says that its URL was deleted is an entry, with `Change.UNLISTED`."""

    def shows(self, code: IssueCode) -> bool:
        """Return whether the next Issue of a code is delivered, and not only counted."""
        return self.shows_all or self.counts[code] < MAX_ISSUES_PER_DOCUMENT

    def add_issue(
        self,
        events: list[Event],
        code: IssueCode,
        *,
        line: int | None = None,
        url: str | None = None,
        value: str | None = None,
        dropped: bool = False,
    ) -> None:
        """Count an Issue, and append it to `events` if it is among the first of its code."""
        if self.shows(code):
            issue = make_issue(
                code, self.sitemap, line=line, url=url, value=value, dropped=dropped
            )
            events.append(issue)
        self.counts[code] += 1

    def add_issue_once(
        self,
        events: list[Event],
        code: IssueCode,
        *,
        value: str | None = None,
    ) -> None:
        """Count an Issue about the whole document, the first time only."""
        if not self.counts[code]:
            self.add_issue(events, code, value=value)

    def count_entries(self, count: int = 1) -> None:
        """Count records that became entries."""
        self.records += count
        self.delivered += count

    def drop_record(
        self,
        events: list[Event],
        code: IssueCode,
        *,
        line: int | None = None,
        value: str | None = None,
    ) -> None:
        """Count a dropped record and the Issue that explains it."""
        self.records += 1
        self.dropped += 1
        self.add_issue(events, code, line=line, value=value, dropped=True)
