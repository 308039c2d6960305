"""The outcome of a site: one row that says how its walk ended, and why.

`SiteStatus` is the one table of statuses for the library, the shell's summary and `--report`. A
reason is a code of `issues`, or one of the reasons of documents in `outcomes`.
"""

from __future__ import annotations

import time
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

from sitemapreader.entry_columns import get_column
from sitemapreader.issues import IssueCode, Severity
from sitemapreader.models import Change
from sitemapreader.outcomes import FINISHED_BEFORE, Role, Status
from sitemapreader.urls import host_of

if TYPE_CHECKING:
    from sitemapreader.entry_columns import Rows
    from sitemapreader.outcomes import Document

_READ = frozenset({Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED})
_CUT_SHORT = (
    IssueCode.BUDGET_BYTES,
    IssueCode.BUDGET_DOCUMENTS,
    IssueCode.BUDGET_SECONDS,
    IssueCode.HOST_DOWN,
    IssueCode.HOST_REFUSES,
)
"""Issues that leave open whether there is a sitemap."""
_MOST_HOSTS = 100
"""Hosts of listed URLs that are counted."""


class SiteStatus(StrEnum):
    """How the walk over a site ended."""

    COMPLETE = "complete"
    """Every listed sitemap was read, and nothing in it was lost."""
    UNCHANGED = "unchanged"
    """Complete, and nothing was delivered: all is as the state knows it."""
    PARTIAL = "partial"
    """Something was read or is known, and something that is listed was lost."""
    NONE = "none"
    """The site answers, and has no sitemap."""
    FAILED = "failed"
    """Nothing was read."""
    ERROR = "error"
    """A bug of sitemapreader ended the walk; the logger `sitemapreader` has it."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was lost: complete or unchanged."""
        return self in (SiteStatus.COMPLETE, SiteStatus.UNCHANGED)


@attrs.frozen
class SiteOutcome:
    """How the walk over one site ended.

    Attributes:
        site: its URL, as it was given.
        status: how the walk ended.
        reason: why it is not complete: the code of the gravest Issue, or the reason of a document
            that was lost; "" if nothing was.
        http_status: status of the first answer that cost something, where there was one.
        entries: how many URLs were delivered.
        changed: how many of them were known with another record; `None` without `changes`.
        removed: how many URLs are no longer listed; `None` without `changes`, and where the walk
            did not come to its end.
        documents: how many sitemaps were read, or are unchanged.
        requests: how many requests were made, redirects not counted.
        bytes: bytes that came over the wire.
        seconds: time from the beginning to the end.
        crawl_delay: seconds between two requests, as robots.txt asks for them.
        retry_after: the longest wait in seconds that a server asked for, where a document was given
            up (Retry-After); counted from that answer.
        address: the address that was connected to for the first answer with a document; "" where
            it is not known.
    """

    site: str
    status: SiteStatus
    reason: str = ""
    http_status: int | None = None
    entries: int = 0
    changed: int | None = None
    removed: int | None = None
    documents: int = 0
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    crawl_delay: float | None = None
    retry_after: float | None = None
    address: str = ""


@attrs.define
class SiteTally:
    """The counts for the outcome of a site, while its walk runs.

    Attributes:
        site: its URL.
        changed: URLs that were known with another record; `None` without `changes`.
        crawl_delay: as robots.txt asks for it.
        address: the address that was connected to first.
        homes: the hosts of the site, without "www."; `None` if no site was named, and as soon as
            one of its URLs was listed.
        elsewhere: how many URLs were listed on which other hosts until then.
    """

    site: str = ""
    changed: int | None = None
    crawl_delay: float | None = None
    address: str = ""
    homes: set[str] | None = None
    elsewhere: Counter[str] = attrs.field(factory=Counter)
    _documents: int = 0
    _requests: int = 0
    _is_known: bool = False
    _is_unanswered: bool = False
    _reason: str = ""
    _http_status: int | None = None
    _retry_after: float | None = None
    _began: float = attrs.field(factory=time.monotonic)
    _seconds: float | None = None

    def begin(self, site: str, *, counts_changes: bool) -> None:
        """Begin the walk over a site."""
        self.site = site
        self.changed = 0 if counts_changes else None
        self._began = time.monotonic()

    def end(self) -> None:
        """End the walk: its time stands still."""
        self._seconds = time.monotonic() - self._began

    def note_home(self, url: str) -> None:
        """Record a URL of the site: the one that was named, or where it has moved."""
        if self.homes is not None:
            self.homes.add(host_of(url).removeprefix("www."))

    def note_listed(self, rows: Rows) -> None:
        """Count the hosts of listed URLs, as long as none is on the site."""
        if self.homes is None:
            return
        begins = Counter("/".join(loc.split("/", 3)[:3]) for loc in get_column(rows, "loc"))
        for begin, number in begins.items():
            host = host_of(begin)
            if host.removeprefix("www.") in self.homes:
                self.homes = None
                return
            if host in self.elsewhere or len(self.elsewhere) < _MOST_HOSTS:
                self.elsewhere[host] += number

    def note_entries(self, rows: Rows) -> None:
        """Count the changes among URLs that are delivered."""
        if self.changed is not None:
            self.changed += get_column(rows, "change").count(Change.CHANGED)

    def note_document(self, document: Document) -> None:
        """Count a document that has its outcome."""
        self._requests += document.tries
        if document.retry_after_seconds is not None:
            self._retry_after = max(self._retry_after or 0.0, document.retry_after_seconds)
        if document.role is Role.SITEMAP and document.status in _READ:
            self._documents += 1
        if is_known(document):
            self._is_known = True
        if document.is_lost:
            self._reason = self._reason or document.reason
            self._http_status = self._http_status or document.http_status
            self._is_unanswered |= not document.is_answered

    def note_skipped(self, reason: str) -> None:
        """Record why sitemaps without their own outcomes were lost."""
        self._reason = self._reason or reason

    def make_outcome(
        self,
        counts: Counter[IssueCode],
        *,
        complete: bool,
        entries: int,
        removed: int | None,
        size: int,
    ) -> SiteOutcome:
        """Return the outcome.

        Args:
            counts: the Issues of the walk.
            complete: whether nothing was lost.
            entries: how many URLs were delivered.
            removed: how many URLs are gone.
            size: bytes that were received.
        """
        status = self._judge(counts, complete=complete, entries=entries, removed=removed)
        return SiteOutcome(
            self.site,
            status,
            reason="" if status.is_whole else self._find_reason(status, counts),
            http_status=None if status.is_whole else self._http_status,
            entries=entries,
            changed=self.changed,
            removed=removed,
            documents=self._documents,
            requests=self._requests,
            bytes=size,
            seconds=time.monotonic() - self._began if self._seconds is None else self._seconds,
            crawl_delay=self.crawl_delay,
            retry_after=self._retry_after,
            address=self.address,
        )

    def _judge(
        self, counts: Counter[IssueCode], *, complete: bool, entries: int, removed: int | None
    ) -> SiteStatus:
        if complete:
            is_same = self._is_known and not entries and not removed
            return SiteStatus.UNCHANGED if is_same else SiteStatus.COMPLETE
        if entries or self._is_known:
            return SiteStatus.PARTIAL
        has_none = counts[IssueCode.NO_SITEMAP] and not (
            self._is_unanswered or any(counts[code] for code in _CUT_SHORT)
        )
        return SiteStatus.NONE if has_none else SiteStatus.FAILED

    def _find_reason(self, status: SiteStatus, counts: Counter[IssueCode]) -> str:
        """Return the first error that is not a consequence, or why a document was lost."""
        errors = [code for code in counts if code.severity is Severity.ERROR and counts[code]]
        causes = [code for code in errors if code is not IssueCode.NO_SITEMAP]
        if status is SiteStatus.NONE:
            return str(IssueCode.NO_SITEMAP)
        return str(next(iter(causes), None) or self._reason or next(iter(errors), ""))


def is_known(document: Document) -> bool:
    """Return whether a state knows URLs of a document, which were not delivered."""
    return (
        document.known > 0
        or document.reason == FINISHED_BEFORE
        or document.status is Status.UNCHANGED
    )
