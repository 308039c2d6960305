"""The outcome of a document, and the identity of its bytes, to the letter."""

from __future__ import annotations

from typing import Any

import pytest

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.outcomes import (
    BodyHasher,
    Document,
    Role,
    SiteStatus,
    Status,
    count_flaws,
    is_known,
    is_read_to_end,
    issue_from_error,
    lost_only_flaws,
    make_document,
    show_bytes,
)

URL = "https://a.example/s.xml"
SKIPPED, FAILED, PARTIAL = Status.SKIPPED, Status.FAILED, Status.PARTIAL
COMPLETE, UNCHANGED = Status.COMPLETE, Status.UNCHANGED


def make(status: Status = COMPLETE, reason: str = "", **values: Any) -> Document:
    """Return a document that a robots.txt has named, with an outcome."""
    document = make_document(SitemapEntry(URL, via=Via.ROBOTS))
    for name, value in values.items():
        setattr(document, name, value)
    document.status = status
    document.reason = reason
    return document


@pytest.mark.parametrize(
    ("document", "is_lost", "is_left_out"),
    [
        (make(), False, False),
        (make(UNCHANGED), False, False),
        (make(FAILED), True, False),
        (make(PARTIAL), True, False),
        (make(FAILED, via=None), False, False),
        (make(PARTIAL, via=None), False, False),
        (make(FAILED, via=None, reason="left-early"), True, False),
        (make(SKIPPED, "too-deep"), True, True),
        (make(SKIPPED, "not-due"), False, True),
        (make(SKIPPED, "robots-disallowed"), False, True),
        (make(SKIPPED, "cycle"), False, True),
        (make(SKIPPED, "x", via=Via.WELL_KNOWN), False, False),
        (make(SKIPPED, "x", role=Role.ROBOTS), False, False),
        (make(SKIPPED, "left-early", role=Role.ROBOTS), True, False),
    ],
)
def test_what_makes_a_walk_incomplete(
    document: Document, is_lost: bool, is_left_out: bool
) -> None:
    """What was wanted, and not read to its end; a guess was not."""
    assert (document.is_lost, document.is_left_out) == (is_lost, is_left_out)


@pytest.mark.parametrize(
    ("document", "is_answered"),
    [
        (make(), True),
        (make(UNCHANGED), True),
        (make(FAILED), False),
        (make(SKIPPED, http_status=404), True),
        (make(FAILED, http_status=410), True),
        (make(FAILED, http_status=399), True),
        (make(FAILED, http_status=400), False),
        (make(FAILED, http_status=500), False),
    ],
)
def test_what_is_an_answer(document: Document, is_answered: bool) -> None:
    """What was read, is absent, or came with a page."""
    assert document.is_answered is is_answered


def test_the_tries_of_a_document_are_counted_once() -> None:
    """Those of a response were added when it came; a status stays known."""
    error = FetchError(IssueCode.TIMEOUT, URL)
    error.tries, error.retry_after_seconds = 3, 2.0
    document = make()
    document.tries = 1
    document.add_error(error)
    assert (document.tries, document.http_status) == (4, None)
    assert document.retry_after_seconds == 2.0
    document.add_error(FetchError(IssueCode.HTTP_STATUS, URL, http_status=503))
    document.add_error(error)
    assert document.http_status == 503
    tries = document.tries
    document.final_url = URL
    document.add_error(error)
    assert document.tries == tries


def test_the_first_outcome_counts() -> None:
    """A later one changes nothing, and says so."""
    document = make_document(SitemapEntry(URL, via=Via.INDEX, sitemap="p"))
    assert (document.parent, document.via) == ("p", Via.INDEX)
    assert document.end(PARTIAL, IssueCode.TIMEOUT)
    assert not document.end(COMPLETE, "")
    assert (document.status, document.reason) == (PARTIAL, "timeout")
    assert document.seconds >= 0


def counted(status: Status = COMPLETE, reason: str = "", **codes: int) -> Document:
    document = make(status, reason)
    for name, number in codes.items():
        document.count_issues(IssueCode[name], number)
    return document


@pytest.mark.parametrize(
    ("document", "flaws", "to_end", "only_flaws"),
    [
        (counted(), 0, True, False),
        (counted(MALFORMED=2, RELATIVE_LOC=3, LASTMOD=4), 5, True, False),
        (counted(PARTIAL, "malformed", MALFORMED=2), 2, True, True),
        (counted(PARTIAL, "malformed", MALFORMED=1, TRUNCATED=1), 1, False, False),
        (counted(PARTIAL, "truncated", TRUNCATED=1), 0, False, False),
        (counted(FAILED, "timeout"), 0, False, False),
        (counted(FAILED, "timeout", MALFORMED=1), 1, False, False),
    ],
)
def test_flaws_of_records(
    document: Document, flaws: int, to_end: bool, only_flaws: bool
) -> None:
    """They hide single URLs; all other errors may hide any."""
    assert count_flaws(document) == flaws
    assert (is_read_to_end(document), lost_only_flaws(document)) == (to_end, only_flaws)
    codes = {str(code): number for code, number in document.counts.items()}
    assert document.to_dict()["issues"] == codes


@pytest.mark.parametrize(
    ("document", "is_one"),
    [
        (make(), False),
        (make(known=1), True),
        (make(UNCHANGED), True),
        (make(SKIPPED, "not-due"), True),
        (make(COMPLETE, "finished-before"), True),
        (make(SKIPPED, "not-read"), False),
    ],
)
def test_what_a_state_knows(document: Document, is_one: bool) -> None:
    """URLs that were not delivered again."""
    assert is_known(document) is is_one


def test_small_values() -> None:
    """A status of a site that lost nothing, an error as an Issue, and a number of bytes."""
    whole = [status for status in SiteStatus if status.is_whole]
    assert whole == [SiteStatus.COMPLETE, SiteStatus.UNCHANGED]
    for url, told in ((URL, None), (f"{URL}x", f"{URL}x")):
        issue = issue_from_error(FetchError(IssueCode.DNS, url, "no"), make())
        assert (issue.code, issue.sitemap, issue.url, issue.value) == (
            "dns",
            URL,
            told,
            "no",
        )
    assert issue_from_error(FetchError(IssueCode.DNS, URL), make()).value is None
    assert [show_bytes(n) for n in (0, 1_023, 1_024, 1_048_575, 1_048_576)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1024.0 KiB",
        "1.0 MiB",
    ]


# -- the identity of bytes


def digest(data: bytes, size: int = 10**9) -> tuple[int, bytes]:
    hasher = BodyHasher()
    for start in range(0, len(data), size):
        hasher.add(data[start : start + size])
    found = hasher.snapshot()
    return found.size, found.digest


LONG = b"<!--" + b"x" * 1_000 + b"-->"
LONGER = b"<!--" + b"x" * 1_001 + b"-->"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (b"<a><!-- x --></a>", b"<a></a>", True),
        (b"\xef\xbb\xbf \r\n<a><!-- x --></a>", b"\xef\xbb\xbf \r\n<a></a>", True),
        (b"<a></a><!-- x -->", b"<a></a><!-- y --><!---->", True),
        (b"a <!-- x -->", b"a ", False),
        (b"<a><!-- <b/> --></a>", b"<a></a>", False),
        (b"<a><!-- x", b"<a>", False),
        (b"<a></a>", b"<b></b>", False),
        (b"<a>" + LONG, b"<a>", True),
        (b"<a>" + LONGER, b"<a>", False),
        (b"<a>" + LONG * 67, b"<a>" + LONG, False),
        (b"<a>" + LONG * 66, b"<a>" + LONG, True),
        (b"", b" ", False),
    ],
    ids=range(12),
)
def test_comments_of_markup_are_no_part_of_a_body(
    one: bytes, other: bytes, is_same: bool
) -> None:
    """Neither of its hash nor of its size, however it comes; many of them are."""
    for size in (10**9, 1_003, 7 + len(one) // 50):
        first, second = digest(one, size), digest(other, size)
        assert (first == second) is is_same
        assert first == digest(one)
