"""What became of every document of a walk, and everything that was wrong on the way."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import contextmanager
from datetime import datetime  # noqa: TC003 (attrs resolves field types at run time)
from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import IssueGroup
from sitemapreader.issues import Issue, IssueCode, Severity, make_issue
from sitemapreader.logs import LOGGER
from sitemapreader.models import Format, Via

MAX_ISSUES_PER_CODE = 10
"""Issues of one code that are kept whole for a document; the rest is counted ..."""
MAX_ISSUES_OF_A_CODE = 1_000
"""... and in all; so no flood of one kind takes much room, or the place of another kind."""
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from sitemapreader.errors import FetchError
    from sitemapreader.models import SitemapEntry

LEFT_EARLY = "left-early"
"""The reason of what was not read to its end because the consumer went away."""
NOT_READ = "not-read"
"""... of what was found by a discovery, which only looks."""
ALREADY_READ = "already-read"
"""... of what leads by a redirect to a document that has an outcome of its own."""
NOT_MODIFIED = "not-modified-since"
"""... of what its index says is older than `since`."""
NOT_FOLLOWED = "not-followed"
"""... of what `follow` said no to."""
SAME_LASTMOD = "same-lastmod"
"""The reason of what is unchanged because its index says so."""
SAME_BODY = "same-body"
"""... because it was sent once more, and is the same."""
FINISHED_BEFORE = "finished-before"
"""The reason of what this walk had read before it was stopped, and went on."""
ASKED_FOR = frozenset({NOT_MODIFIED, NOT_FOLLOWED, str(IssueCode.ROBOTS_DISALLOWED)})
"""Reasons for which a listed sitemap is left out on somebody's wish: the caller's (`since` and
`follow`), or the site owner's, whose robots.txt the caller has chosen to respect."""
NOTHING_LOST = ASKED_FOR | {NOT_READ, ALREADY_READ, FINISHED_BEFORE}
"""Reasons for which a listed sitemap is skipped, and the walk is complete all the same."""
_ABSENT_STATUSES = frozenset({404, 410})
_NOTHING_CAME = frozenset(
    {IssueCode.BODY_CUT, IssueCode.STALLED, IssueCode.TOO_SLOW, IssueCode.BLOCKED_BY_SITE}
)


class Status(StrEnum):
    """How a document ended."""

    COMPLETE = "complete"
    """Read to its end; nothing that could be read was lost."""
    PARTIAL = "partial"
    """Something came out, and something was lost: the rest of it, or records inside."""
    FAILED = "failed"
    """Nothing came out."""
    UNCHANGED = "unchanged"
    """It is as it was when it was last read, and nothing comes out: the server says so (HTTP 304),
    its index does, or its bytes are the same; see `Document.reason`."""
    SKIPPED = "skipped"
    """Not read, for a reason that is none of an error: see `Document.reason`."""


_NOT_FETCHED = frozenset({Status.SKIPPED, Status.UNCHANGED})


class Role(StrEnum):
    """What a document was fetched as."""

    SITEMAP = "sitemap"
    ROBOTS = "robots"
    PAGE = "page"


@attrs.define(eq=False, repr=False)
class Document:
    """One document, and its outcome.

    Attributes:
        url: the address under which it was listed.
        final_url: the address after redirects; "" where there was no answer.
        role: what it was fetched as; robots.txt and the start page are documents too.
        parent: URL of the document that lists it, or "".
        via: how it was found; `None` for a robots.txt that was only asked for leave.
        format: what it turned out to be; `None` for what is no sitemap.
        status: how it ended.
        reason: why it ended so, where it is not complete: an Issue's code, or "not-modified-since",
            "not-followed", "already-read", "not-read", "left-early", "same-lastmod", "same-body",
            "finished-before".
        http_status: status of the answer, where there was one.
        tries: how often it was asked for, redirects not counted; 0 for what never was.
        entries: URLs of it that were handed over, as in `Report.entries`.
        listed: all URLs that it lists: `entries`, `known` and `filtered`, and those that were
            handed over before a resumed walk was stopped.
        known: URLs that `changes` kept back, because the state has them as they are.
        filtered: URLs that `since`, `include`, `exclude`, `scope` or `unique` kept back.
        children: sitemaps that it lists.
        bytes_raw: bytes as they came over the wire.
        bytes_inflated: bytes after inflating.
        seconds: time from the request to the outcome; waiting for the consumer counts.
        lastmod: what the index says of it.
        etag: validator of the answer, as sent.
        last_modified: the other validator, as sent.
        issues: what was wrong in it; the first 10 of a code.
        counts: how many Issues of each code there were.
    """

    url: str
    final_url: str = ""
    role: Role = Role.SITEMAP
    parent: str = ""
    via: Via | None = None
    format: Format | None = None
    status: Status = Status.SKIPPED
    reason: str = ""
    http_status: int | None = None
    tries: int = 0
    entries: int = 0
    listed: int = 0
    known: int = 0
    filtered: int = 0
    children: int = 0
    bytes_raw: int = 0
    bytes_inflated: int = 0
    seconds: float = 0.0
    lastmod: datetime | None = None
    etag: str | None = None
    last_modified: str | None = None
    issues: list[Issue] = attrs.field(factory=list)
    counts: Counter[IssueCode] = attrs.field(factory=Counter)
    _begin: float = attrs.field(factory=time.monotonic, init=False, repr=False)
    _ended: bool = attrs.field(default=False, init=False, repr=False)

    def __repr__(self) -> str:
        return f"<Document {self}>"

    def __str__(self) -> str:
        from sitemapreader.document_tree import describe_document  # noqa: PLC0415 (for people only)

        return describe_document(self)

    @property
    def is_lost(self) -> bool:
        """Whether it was wanted and not read, or not wholly: what makes a walk incomplete.

        The one rule for `Report.complete`, the exit code and the summary: docs/exit-codes.md.
        """
        if self.status in (Status.FAILED, Status.PARTIAL):
            # a robots.txt that was only asked for leave has nothing to be lost
            return self.via is not None or self.reason == LEFT_EARLY
        return self.is_left_out and self.reason not in NOTHING_LOST

    @property
    def is_left_out(self) -> bool:
        """Whether it is a sitemap that somebody listed, and that was not read."""
        is_listed = self.role is Role.SITEMAP and self.via is not Via.WELL_KNOWN
        return is_listed and self.status is Status.SKIPPED

    @property
    def is_answered(self) -> bool:
        """Whether it came, is known from an earlier walk, or the server says that there is none."""
        if self.status in (Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED):
            return True
        if self.reason == FINISHED_BEFORE or self.http_status in _ABSENT_STATUSES:
            return True
        is_success = self.http_status is not None and self.http_status < 400
        return is_success and self.reason not in _NOTHING_CAME

    def end(self, status: Status, reason: str) -> bool:
        """Set the outcome; tell whether it is the first one that is given."""
        if self._ended:
            return False
        self.status, self.reason, self._ended = status, reason, True
        self.seconds = time.monotonic() - self._begin
        return True


class Report:
    """The outcomes and the Issues of a walk or a discovery; grows while it runs.

    Both lists are bounded, the counts are not: `counts` has all Issues, `statuses` all documents.

    Attributes:
        documents: one outcome for each document that was fetched, and, as long as there is room,
            for each that was listed and not fetched.
        issues: the Issues, the first 10 of a code for each document and 1,000 in all.
        counts: how many Issues of each code there were.
        statuses: how many documents ended in each way.
        left_out: how many sitemaps that are listed were skipped, by the reason.
        entries: URLs that were handed over; the sum over all documents.
        bytes_raw: bytes that came over the wire.
        resumed: whether the walk went on where another one was stopped.
        removed: how many URLs are listed no more, of sitemaps that were read to their end; `None`
            before the end of a walk, and without `changes`. `Walk.removed` lists them.
        removals_unknown: how many sitemaps that the state knows were not read to their end, so that
            what is gone of them is not known; `None` as above. `Walk.removals_unknown` lists them.
    """

    def __init__(
        self, max_documents: int, on_document: Callable[[Document], object] | None = None
    ) -> None:
        self.documents: list[Document] = []
        self.issues: list[Issue] = []
        self.counts: Counter[IssueCode] = Counter()
        self.statuses: Counter[Status] = Counter()
        self.left_out: Counter[str] = Counter()
        self.entries = 0
        self.bytes_raw = 0
        self.resumed = False
        self.removed: int | None = None
        self.removals_unknown: int | None = None
        self._kept: Counter[IssueCode] = Counter()
        self._unfetched_left = max_documents
        self._on_document = on_document
        self._unannounced: deque[Document] = deque()
        self._lost = False

    @property
    def complete(self) -> bool:
        """Whether everything that is listed was read, and nothing in it was lost.

        What was left out on somebody's wish (`ASKED_FOR`) counts as not wanted. False while
        documents are being read that have lost something already.
        """
        return not self._lost and not has_errors(self.counts)

    def __repr__(self) -> str:
        from sitemapreader.report_views import summarize  # noqa: PLC0415 (few reports are shown)

        return f"<Report: {summarize(self)}>"

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        from sitemapreader.report_views import write_html  # noqa: PLC0415 (the same)

        return write_html(self)

    def tree(self, *, in_ascii: bool = False) -> str:
        """Return the documents as a tree of text, each below the one that lists it.

        It is what `sitemapreader tree` prints; with `in_ascii` it is drawn without line characters.
        """
        from sitemapreader.report_views import write_tree  # noqa: PLC0415 (the same)

        return write_tree(self, in_ascii=in_ascii)

    def documents_frame(self) -> pd.DataFrame:
        """Return the documents as a pandas DataFrame, a row each; needs the extra `pandas`.

        Its columns are the fields of `Document`; `issues` is how many there were.
        """
        from sitemapreader.report_views import make_documents_frame  # noqa: PLC0415 (the same)

        return make_documents_frame(self.documents)

    def issues_frame(self) -> pd.DataFrame:
        """Return the Issues that were kept as a pandas DataFrame; needs the extra `pandas`.

        Its columns are the fields of `Issue`, and `severity`.
        """
        from sitemapreader.report_views import make_issues_frame  # noqa: PLC0415 (the same)

        return make_issues_frame(self.issues)

    def raise_for_issues(self, at_least: Severity = Severity.ERROR) -> None:
        """Raise IssueGroup, an ExceptionGroup, if there were Issues at least as severe."""
        grave = [issue for issue in self.issues if issue.severity >= at_least]
        if grave:
            total = sum(n for code, n in self.counts.items() if code.severity >= at_least)
            raise IssueGroup(f"{total} issues of severity {at_least.name.lower()} or above", grave)

    def note(self, issue: Issue, document: Document | None = None) -> bool:
        """Count an Issue, of `document` where it is one's; tell whether it is among its first."""
        code = issue.code
        self.counts[code] += 1
        if document is not None:
            document.counts[code] += 1
            if document.counts[code] > MAX_ISSUES_PER_CODE:
                return False
        if self._keep(issue) and document is not None:
            document.issues.append(issue)
        return True

    def _keep(self, issue: Issue) -> bool:
        """Add an Issue to the list, if there is room for its code."""
        has_room = self._kept[issue.code] < MAX_ISSUES_OF_A_CODE
        if has_room:
            self._kept[issue.code] += 1
            self.issues.append(issue)
        return has_room

    def count(self, counts: Counter[IssueCode], document: Document) -> None:
        """Add the Issues of `document` that its reader only counted: those past the first ten."""
        for code, number in counts.items():
            missing = number - document.counts[code]
            if missing > 0:
                document.counts[code] += missing
                self.counts[code] += missing

    def add(self, other: Report) -> None:
        """Add the outcomes, Issues and counts of another walk, which is over."""
        self.documents += other.documents
        self.counts += other.counts
        self.statuses += other.statuses
        self.left_out += other.left_out
        self.entries += other.entries
        self.bytes_raw += other.bytes_raw
        self._lost |= other._lost
        for issue in other.issues:
            self._keep(issue)

    def end(self, document: Document, status: Status, reason: str = "") -> None:
        """Record the outcome of a document; the first one counts."""
        if not document.end(status, reason):
            return
        self.statuses[status] += 1
        self.bytes_raw += document.bytes_raw
        LOGGER.info("%s", document)
        if self._on_document is not None:
            self._unannounced.append(document)
        if document.is_left_out:
            self.left_out[reason] += 1
        self._lost |= document.is_lost
        if status in _NOT_FETCHED and not (document.final_url and document.http_status):
            if not self._unfetched_left:
                return
            self._unfetched_left -= 1
        self.documents.append(document)

    def announce(self) -> None:
        """Call `on_document` with the outcomes that it has not seen, until it raises.

        It is not called where an outcome is recorded: what it raises is the caller's own, and must
        not pass through code that expects errors of the network.
        """
        while self._unannounced and self._on_document is not None:
            document = self._unannounced.popleft()
            try:
                self._on_document(document)
            except BaseException:
                self._on_document = None
                raise

    def leave_out(self, reason: str, number: int) -> None:
        """Record sitemaps that are skipped and have no outcome of their own, for want of room."""
        self.statuses[Status.SKIPPED] += number
        self.left_out[reason] += number
        self._lost |= reason not in NOTHING_LOST

    @contextmanager
    def following(self, document: Document) -> Iterator[Document]:
        """See to it that a document has an outcome even if what reads it is cancelled."""
        try:
            yield document
        except BaseException:
            begun = document.listed or document.children
            self.end(document, Status.PARTIAL if begun else Status.FAILED, LEFT_EARLY)
            raise


def has_errors(counts: Counter[IssueCode]) -> bool:
    """Tell whether an Issue is among those that are counted that says that something was lost."""
    return any(code.severity is Severity.ERROR and counts[code] for code in counts)


def document_of(entry: SitemapEntry) -> Document:
    """Return the document that a sitemap is, before it is fetched."""
    return Document(entry.loc, parent=entry.sitemap, via=entry.via, lastmod=entry.lastmod)


def issue_of(error: FetchError, document: Document) -> Issue:
    """Return what the report says of a failed fetch; the one place where an error becomes that."""
    elsewhere = error.url if error.url != document.url else None
    return make_issue(error.code, document.url, url=elsewhere, value=error.detail or None)


def status_of(counts: Counter[IssueCode], records: int) -> tuple[Status, str]:
    """Judge a document by its Issues: the status, and the code of the gravest as the reason."""
    fault = next((code for code in counts if code.severity is Severity.ERROR and counts[code]), "")
    if not fault:
        return Status.COMPLETE, ""
    return (Status.PARTIAL if records else Status.FAILED), str(fault)
