"""The outcomes of a document and of a site: status, reason, counts, Issues.

A reason is the code of an Issue, or one of those below.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.counts import inflect
from sitemapreader._types.issues import (
    Issue,
    IssueCode,
    list_errors,
    make_issue,
    show_url,
)
from sitemapreader._types.models import Format, Via  # noqa: TC001 (attrs resolves field types at run time)

if TYPE_CHECKING:
    from sitemapreader._types.errors import FetchError
    from sitemapreader._types.models import SitemapEntry

# -- reasons besides the codes of Issues

LEFT_EARLY = "left-early"
"""Partial or skipped: the consumer left the walk before the document was read."""
NOT_READ = "not-read"
"""Skipped: discovery only finds sitemaps and does not read them."""
NOT_NEWER = "not-newer"
"""Skipped: by its date in the index, it is older than the newest URLs that were requested."""
OVER_LIMIT = "over-limit"
"""Skipped: `newest` has read as many documents as it may."""
ALREADY_READ = "already-read"
"""Skipped: redirects lead to a document that has an outcome of its own."""
NOT_MODIFIED = "not-modified-since"
"""Skipped: by its date in the index, it is older than `since`."""
NOT_FOLLOWED = "not-followed"
"""Skipped: `follow` returned False for it."""
SAME_LASTMOD = "same-lastmod"
"""Unchanged: its date in the index is the same."""
SAME_BODY = "same-body"
"""Unchanged: the server sent the same bytes again."""
NOT_DUE = "not-due"
"""Skipped: `revisit` leaves it for another time."""
FINISHED_BEFORE = "finished-before"
"""Not read again: the resumed walk had read it before it was interrupted."""
FILTERED = frozenset({NOT_MODIFIED, NOT_FOLLOWED, NOT_NEWER})
"""Reasons that follow from the caller's arguments."""
EXPECTED_SKIPS = FILTERED | {str(IssueCode.ROBOTS_DISALLOWED)}
"""Reasons that follow from the caller's arguments (`since`, `follow`) or from robots.txt."""
NOTHING_LOST = EXPECTED_SKIPS | {NOT_READ, ALREADY_READ, NOT_DUE, str(IssueCode.CYCLE)}
"""Reasons to skip a listed sitemap that leave the walk complete."""

REFUSALS = frozenset(
    {
        IssueCode.CROSS_HOST_CHILD,
        IssueCode.HOST_NOT_PUBLIC,
        IssueCode.ROBOTS_DISALLOWED,
        IssueCode.ROBOTS_TOO_COMPLEX,
    }
)
"""Reasons to skip a document that its host, `hosts` or robots.txt forbids, also by a redirect."""

WALK_LIMITS = frozenset(
    {IssueCode.BUDGET_BYTES, IssueCode.BUDGET_DOCUMENTS, IssueCode.BUDGET_SECONDS}
)
"""Limits at which a walk requests nothing more; at the one of URLs, the next walk goes on."""

ABSENT_STATUSES = frozenset({404, 410})
"""Statuses by which a server says that there is nothing at a URL."""
_NO_ANSWER = frozenset(
    {
        IssueCode.BODY_CUT,
        IssueCode.STALLED,
        IssueCode.TOO_SLOW,
        IssueCode.BLOCKED_BY_SITE,
    }
)
_CODES_BY_VALUE = {code.value: code for code in IssueCode}
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB")


class Status(StrEnum):
    """The way a document ended."""

    COMPLETE = "complete"
    """Read to its end; nothing that could be read was lost."""
    PARTIAL = "partial"
    """Some entries were delivered; the rest, or records inside, were lost."""
    FAILED = "failed"
    """Nothing was delivered."""
    UNCHANGED = "unchanged"
    """Not delivered again, because it has not changed since it was last read: the server says so
    (HTTP 304), its index does, or its bytes are the same; see `Document.reason`."""
    SKIPPED = "skipped"
    """Not read, because of a rule, a limit, its host, or its content: see `Document.reason`.
    `NOTHING_LOST` has the harmless reasons."""


READ_STATUSES = frozenset({Status.COMPLETE, Status.PARTIAL})
"""Statuses of a document that was read."""
FINISHED_STATUSES = READ_STATUSES | {Status.UNCHANGED}
"""Statuses of a document whose content is known."""


class Role(StrEnum):
    """The purpose for which a document was fetched."""

    SITEMAP = "sitemap"
    ROBOTS = "robots"
    PAGE = "page"


@attrs.define(eq=False, repr=False)
class Document:
    """One document and its outcome.

    Attributes:
        url: the address under which it was listed.
        final_url: the address after redirects; "" if there was no response.
        role: the purpose of its fetch; robots.txt and the start page are documents too.
        parent: URL of the document that lists it, or ""; for a page of a feed, the first page.
        via: how it was found; `None` for a robots.txt that was fetched only for its rules.
        format: the format of its content; `None` if it is not a sitemap.
        status: how it ended.
        reason: why it is not complete: an Issue's code, or "not-modified-since", "not-followed",
            "already-read", "not-read", "left-early", "same-lastmod",
            "same-body", "finished-before", "not-newer", "over-limit", "not-due".
        http_status: status of the response, if there was one.
        tries: how many requests were made, redirects not counted; 0 if there is none.
        retry_after_seconds: the wait that the server requested in its last response, if the
            document was given up (Retry-After: RFC 9110, section 10.2.3).
        entries: how many of its URLs were delivered, as in `Report.entries`.
        listed: all URLs that it lists: `entries`, `known` and `filtered`, and those that were
            delivered before a resumed walk was interrupted.
        known: URLs that `changes` dropped, because they are unchanged in the state.
        filtered: URLs that `since`, `include`, `exclude`, `scope` or `unique` dropped.
        children: sitemaps that it lists.
        records: records that were read: `listed`, `children` without the next page of a feed, and
            `dropped`. If `Limits.max_urls` ends the walk, there may be more.
        dropped: records that were left out, each with an Issue whose `dropped` is True.
        bytes_raw: bytes as they came over the wire.
        bytes_inflated: bytes after decompression.
        seconds: time from the request to the outcome, waiting for the consumer included.
        lastmod: its date in the index.
        etag: validator of the response; `None` if it is no entity tag (RFC 9110, section 8.8.3).
        last_modified: the other validator, as sent.
        content_type: header of the response, as sent.
        content_encoding: header of the response, as sent.
        first_byte_seconds: time that the server took to begin its response, in the last try;
            including redirects, but not waits for a slot. `None` if no request was sent.
        wait_seconds: time that was spent waiting for the server, for the whole response.
        issues: its Issues; the first 10 of a code.
        site: the site of the walk, as it was given.
    """

    # A walk keeps 20,000 documents, and Python's garbage collector visits all objects at once: it
    # takes 20 ms if each document has three. It does not visit a dictionary of texts and numbers.

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
    retry_after_seconds: float | None = None
    entries: int = 0
    listed: int = 0
    known: int = 0
    filtered: int = 0
    children: int = 0
    records: int = 0
    dropped: int = 0
    bytes_raw: int = 0
    bytes_inflated: int = 0
    seconds: float = 0.0
    lastmod: datetime | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_type: str | None = None
    content_encoding: str | None = None
    first_byte_seconds: float | None = None
    wait_seconds: float | None = None
    issues: tuple[Issue, ...] = ()
    site: str = ""
    _counts: dict[str, int] | None = attrs.field(default=None, init=False, repr=False)
    _begin: float = attrs.field(factory=time.monotonic, init=False, repr=False)
    _ended: bool = attrs.field(default=False, init=False, repr=False)

    def __repr__(self) -> str:
        return f"<Document {self}>"

    def __str__(self) -> str:
        """Describe the document and its outcome in one line, safe for a terminal."""
        status = str(self.status)
        if self.reason in (IssueCode.HTTP_STATUS, IssueCode.LOGIN_REQUIRED) and (
            self.http_status
        ):
            status += f" ({self.reason} {self.http_status})"
        elif self.reason:
            status += f" ({self.reason})"
        parts = [
            self.format if self.role is Role.SITEMAP else self.role,
            status,
            _show_count(self.entries, inflect(self.entries, "URLs")),
            _show_count(self.children, inflect(self.children, "sitemaps")),
            _show_count(self.filtered, "left out"),
            _show_count(self.known, "known"),
        ]
        if self.tries > 1:
            parts.append(f"{self.tries} tries")
        parts.append(_show_sizes(self.bytes_raw, self.bytes_inflated))
        if self.lastmod:
            parts.append(f"lastmod {self.lastmod.isoformat()}")
        return f"{show_url(self.url)}  {', '.join(filter(None, parts))}"

    @property
    def counts(self) -> Counter[IssueCode]:
        """The number of Issues of each code."""
        counts: Counter[IssueCode] = Counter()
        for code, number in (self._counts or {}).items():
            counts[_CODES_BY_VALUE[code]] = number
        return counts

    def count_issues(self, code: IssueCode, number: int = 1) -> int:
        """Count Issues; return how many of the code there are now."""
        if self._counts is None:
            self._counts = {}
        count = self._counts.get(code.value, 0) + number
        self._counts[code.value] = count
        return count

    def to_dict(self) -> dict[str, Any]:
        """Return its fields as JSON's types, with the number of Issues of each code."""
        row = {name: _to_plain(getattr(self, name)) for name in _OUTCOME_FIELDS}
        return row | {"issues": dict(self._counts or {})}

    @property
    def is_lost(self) -> bool:
        """True if it makes the walk incomplete: it was wanted, and not read to its end.

        The one rule for `Report.complete`, the exit code and the summary: docs/exit-codes.md.
        """
        if self.reason == LEFT_EARLY:
            return True
        if self.status in (Status.FAILED, Status.PARTIAL):
            # a robots.txt that was fetched only for its rules lists nothing that could be lost
            return self.via is not None
        return self.is_left_out and self.reason not in NOTHING_LOST

    @property
    def is_left_out(self) -> bool:
        """True if it is a sitemap that was listed and skipped."""
        is_skipped = self.status is Status.SKIPPED and self.role is Role.SITEMAP
        return is_skipped and not self.is_guess

    @property
    def is_guess(self) -> bool:
        """True if nobody has named it as a sitemap."""
        return self.via is not None and self.via.is_guess

    @property
    def is_answered(self) -> bool:
        """True if it was read, known before, or reported absent by the server."""
        if self.status in FINISHED_STATUSES:
            return True
        if self.http_status in ABSENT_STATUSES:
            return True
        is_success = self.http_status is not None and self.http_status < 400
        return is_success and self.reason not in _NO_ANSWER

    def add_error(self, error: FetchError) -> None:
        """Add the details of a failed request."""
        self.http_status = error.http_status or self.http_status
        if not self.final_url:  # otherwise the tries of its response were added
            self.tries += error.tries
        self.retry_after_seconds = error.retry_after_seconds

    def end(self, status: Status, reason: str) -> bool:
        """Set the outcome unless there is one; return whether it was set."""
        if self._ended:
            return False
        self.status = status
        self.reason = str(reason)  # of a code, too
        self._ended = True
        self.seconds = time.monotonic() - self._begin
        return True


_OUTCOME_FIELDS = [
    field.name
    for field in attrs.fields(Document)
    if field.init and field.name != "issues"
]


def _to_plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def _show_count(count: int, unit: str) -> str:
    if not count:
        return ""
    return f"{count} {unit}"


def _show_sizes(raw: int, inflated: int) -> str:
    if not raw:
        return ""
    if raw == inflated:
        return show_bytes(raw)
    return f"{show_bytes(raw)} -> {show_bytes(inflated)}"


def show_bytes(count: float) -> str:
    """Write a number of bytes in the unit that fits: 465.2 KiB."""
    for unit in _BYTE_UNITS[:-1]:
        if count < 1024:
            if unit == "B":
                return f"{count:.0f} {unit}"
            return f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {_BYTE_UNITS[-1]}"


def make_document(entry: SitemapEntry) -> Document:
    """Make the document of a sitemap that is not fetched yet."""
    return Document(
        entry.loc, parent=entry.sitemap, via=entry.via, lastmod=entry.lastmod
    )


def issue_from_error(error: FetchError, document: Document) -> Issue:
    """Make the Issue of a failed fetch; the one place where an error becomes an Issue."""
    url = None
    if error.url != document.url:
        url = error.url
    return make_issue(error.code, document.url, url=url, value=error.detail or None)


def judge_counts(counts: Counter[IssueCode], records: int) -> tuple[Status, str]:
    """Return a document's status, and the code of its first error as the reason."""
    errors = list_errors(counts)
    if not errors:
        return Status.COMPLETE, ""
    if records:
        return Status.PARTIAL, errors[0]
    return Status.FAILED, errors[0]


RECORD_ERRORS = frozenset(
    {
        IssueCode.MALFORMED,
        IssueCode.TEMPLATE,
        IssueCode.RECORD_TOO_LONG,
        IssueCode.FIELD_TOO_LONG,
        IssueCode.TOO_DEEP,
        IssueCode.TOO_MANY_ELEMENTS,
        IssueCode.TOO_MANY_ATTRIBUTES,
        IssueCode.MISSING_BASE,
    }
)
"""Errors that cost one record: the rest of the document was read."""
_FLAWS = RECORD_ERRORS | {
    IssueCode.ENCODING,
    IssueCode.HTML_ENTITY,
    IssueCode.BARE_AMPERSAND,
    IssueCode.BARE_LESS_THAN,
    IssueCode.CONTROL_CHARACTER,
    IssueCode.MISMATCHED_TAG,
    IssueCode.NOT_WELL_FORMED,
    IssueCode.MISSING_LOC,
    IssueCode.REPEATED_LOC,
    IssueCode.RELATIVE_LOC,
    IssueCode.UNSUPPORTED_SCHEME,
    IssueCode.URL_CHARACTERS,
    IssueCode.NOT_A_URL,
    IssueCode.UNTIDY_LINE,
    IssueCode.INVALID_URL,
    IssueCode.HOST_NOT_PUBLIC,
}
"""Issues of records, and of lines of robots.txt, whose URL was lost, or may be read otherwise than
its author meant it."""


def is_read_to_end(document: Document) -> bool:
    """Return whether a document was read, and nothing but single records of it was lost."""
    return document.status in READ_STATUSES and RECORD_ERRORS.issuperset(
        list_errors(document.counts)
    )


def count_flaws(document: Document) -> int:
    """Return how many records may hide the URL that their author meant."""
    return sum(count for code, count in document.counts.items() if code in _FLAWS)


def lost_only_flaws(document: Document) -> bool:
    """Return whether all that was lost of a document are URLs of single records or lines."""
    errors = list_errors(document.counts)
    return document.reason in _FLAWS and _FLAWS.issuperset(errors)


def is_known(document: Document) -> bool:
    """Return whether a state knows URLs of a document, which were not delivered."""
    return (
        document.known > 0
        or document.reason in (FINISHED_BEFORE, NOT_DUE)
        or document.status is Status.UNCHANGED
    )


# -- sites


class SiteStatus(StrEnum):
    """The status of a walk over a site."""

    COMPLETE = "complete"
    """Every listed sitemap was read, and nothing in it was lost."""
    UNCHANGED = "unchanged"
    """Complete, and nothing was delivered, because nothing differs from the state."""
    PARTIAL = "partial"
    """Some sitemaps were read or are known, and some data that is listed was lost."""
    NONE = "none"
    """The site responds, and has no sitemap."""
    FAILED = "failed"
    """Nothing was read."""
    ERROR = "error"
    """A bug of sitemapreader ended the walk; the logger `sitemapreader` has it."""

    @property
    def is_whole(self) -> bool:
        """True if nothing was lost: complete or unchanged."""
        return self in (SiteStatus.COMPLETE, SiteStatus.UNCHANGED)


@attrs.frozen
class SiteOutcome:
    """The outcome of a walk over one site.

    Attributes:
        site: its URL, as it was given.
        status: how the walk ended.
        reason: why it is not complete: the code of the first Issue that is an error and follows
            from no other, or the reason of a document that was lost; "" if nothing was lost.
        http_status: status of the first failed response, if there was one.
        entries: how many URLs were delivered.
        changed: how many of them were known with another record; `None` without `changes`.
        unlisted: how many URLs became unlisted; `None` without `changes`, and if the walk did not
            reach its end.
        gone: how many missing URLs were found to be gone; `None` if no page was requested.
        documents: how many sitemaps were read, or are unchanged.
        dropped: how many records of them were left out, each with an Issue.
        requests: how many requests were made for documents, redirects not counted; those for pages
            that may be gone are not among them.
        bytes: bytes that came over the wire.
        seconds: time from the beginning to the end.
        crawl_delay: seconds between two requests, by robots.txt.
        retry_after: the longest wait in seconds that a server requested, if a document was given
            up (Retry-After); counted from that response.
        address: the IP address that sent the first response with a document; "" if it is not known.
        news_waiting: in a run with `revisit`, the largest number of changes that wait in one of
            its sitemaps; see `PlannedDocument`.
        due: the time from which one of its sitemaps may be requested again.
    """

    site: str
    status: SiteStatus
    reason: str = ""
    http_status: int | None = None
    entries: int = 0
    changed: int | None = None
    unlisted: int | None = None
    gone: int | None = None
    documents: int = 0
    dropped: int = 0
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    crawl_delay: float | None = None
    retry_after: float | None = None
    address: str = ""
    news_waiting: float | None = None
    due: datetime | None = None


# -- the identity of bytes


@attrs.frozen
class BodyDigest:
    """The size of a body, and its hash."""

    size: int
    digest: bytes


_XML_COMMENT = re.compile(rb"<!--[^<]{0,1000}?-->")
"""A comment without markup, so it can hold no record, whatever surrounds it."""
_MAX_COMMENT_BYTES = 1_007
_MAX_REMOVED_BYTES = 65_536
"""Bytes of comments that are removed from one body; the hash counts all further ones."""
_BEFORE_MARKUP = b"\xef\xbb\xbf \t\r\n"


class BodyHasher:
    """A running hash of a body, over its bytes without their compression.

    Comments of markup count neither for the hash nor for the size: many generators and caches write
    the time of rendering into one. How the body is cut into chunks changes nothing.
    """

    def __init__(self) -> None:
        self.size = 0
        self._hash = blake2b(digest_size=16)
        self._is_markup: bool | None = None
        """True if the body begins with a tag; `None` before its first character."""
        self._held = b""
        """Bytes that may be the beginning of a comment."""
        self._removed_bytes = 0

    def add(self, chunk: bytes) -> None:
        """Hash more bytes."""
        if self._is_markup is None:
            start = chunk.lstrip(_BEFORE_MARKUP)
            if start:
                self._is_markup = start.startswith(b"<")
        if self._is_markup:
            chunk = self._remove_comments(self._held + chunk)
        self._update(chunk)

    def snapshot(self) -> BodyDigest:
        """Return the digest of all bytes so far."""
        copy = self._hash.copy()
        copy.update(self._held)
        return BodyDigest(self.size + len(self._held), copy.digest())

    def _update(self, data: bytes) -> None:
        self.size += len(data)
        self._hash.update(data)

    def _remove_comments(self, data: bytes) -> bytes:
        """Return bytes without their comments; hold the beginning of an unfinished one."""
        start = data.rfind(b"<", -_MAX_COMMENT_BYTES)
        self._held = b""
        if start >= 0 and b"-->" not in data[start + 4 :]:
            self._held = data[start:]
            data = data[:start]
        if b"!" in data:  # a quick test, because nearly all data has no comments
            return _XML_COMMENT.sub(self._remove_comment, data)
        return data

    def _remove_comment(self, comment: re.Match[bytes]) -> bytes:
        if self._removed_bytes >= _MAX_REMOVED_BYTES:
            return comment[0]
        self._removed_bytes += len(comment[0])
        return b""
