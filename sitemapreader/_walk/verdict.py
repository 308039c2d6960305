"""The verdict over one document: its status, and the reason if it is not complete."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from sitemapreader._types.errors import LOGIN_STATUSES, FetchError
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Event, Via
from sitemapreader._types.outcomes import (
    REFUSALS,
    Document,
    Status,
    judge_counts,
)

if TYPE_CHECKING:
    from sitemapreader._types.rows import Events
    from sitemapreader._walk.context import WalkContext

_CONSEQUENCES = frozenset(
    {
        IssueCode.TRUNCATED,
        IssueCode.COMPRESSION_TRUNCATED,
        IssueCode.EMPTY,
        IssueCode.NOT_A_SITEMAP,
    }
)
"""Issues that follow from a body that was cut short; the fault that cut it is the Issue."""
_SITEMAP_SUFFIXES = (".xml", ".gz", ".txt", ".rss", ".atom")
"""Suffixes of sitemaps. Such a URL that is missing is the caller's mistake, not a site."""


@attrs.define(eq=False)
class DocumentVerdict:
    """The findings that decide how a document ends.

    Attributes:
        document: the document.
        decided: the outcome that was fixed before the end of the body; `None` if the fault and the
            Issues decide.
        fault: the error that ended the request or the body.
        held: events that came before the format was known: a page in place of a sitemap gets
            another Issue.
    """

    document: Document
    decided: tuple[Status, str] | None = None
    fault: FetchError | None = None
    held: list[Event] = attrs.field(factory=list)

    def is_wrong_guess(self) -> bool:
        """Return whether nothing is at a guessed path, which is no Issue."""
        document = self.document
        if not document.is_guess or document.format is not None or self.decided:
            return False
        if document.via is Via.SITE:
            return self._is_page(self.fault)
        if self.fault is not None:
            return self.fault.is_absent
        # A body that cannot be decoded may be a sitemap.
        return IssueCode.CONTENT_ENCODING not in self._held_codes()

    def leave_out_consequences(self, events: Events) -> Events:
        """Return the events without Issues that follow from the fault."""
        if self.fault is None or not isinstance(events, list):
            return events
        return [each for each in events if _find_issue_code(each) not in _CONSEQUENCES]

    def list_consequences(self) -> frozenset[IssueCode]:
        """Return the codes of Issues that follow from the fault."""
        return frozenset() if self.fault is None else _CONSEQUENCES

    async def judge(self, context: WalkContext) -> tuple[Status, str]:
        """Report the fault; return the status and the reason."""
        document = self.document
        fault = self.fault
        if fault is not None:
            document.add_error(fault)
        if self.is_wrong_guess():
            if fault is not None:
                return Status.SKIPPED, fault.code
            codes = self._held_codes()
            severity = attrgetter("severity")
            gravest = max(codes, key=severity, default=IssueCode.EMPTY)
            return Status.SKIPPED, gravest
        if fault is not None:
            await context.report_error(fault, document)
            if fault.code in REFUSALS:
                return Status.SKIPPED, fault.code
        if self.decided:
            return self.decided
        status, reason = judge_counts(
            document.counts, document.listed + document.children
        )
        if fault is not None:
            return status, fault.code
        if document.format is None and status is Status.COMPLETE:
            return Status.FAILED, IssueCode.EMPTY
        return status, reason

    def _is_page(self, fault: FetchError | None) -> bool:
        """Return whether a site may lie below a URL: a page, or a folder without one."""
        if fault is None:
            return IssueCode.HTML_NOT_SITEMAP in self._held_codes()
        if fault.code is not IssueCode.HTTP_STATUS:
            return False
        # A site that demands a login is not searched: the password would be sent again.
        is_refused = fault.http_status is None or fault.http_status in LOGIN_STATUSES
        path = urlsplit(self.document.url).path
        names_sitemap = path.lower().endswith(_SITEMAP_SUFFIXES)
        return not is_refused and not names_sitemap

    def _held_codes(self) -> list[IssueCode]:
        return [code for code in map(_find_issue_code, self.held) if code]


def _find_issue_code(event: Event) -> IssueCode | None:
    if isinstance(event, Issue):
        return event.code
    return None
