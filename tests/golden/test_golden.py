"""Every document below testdata/ against its expected events."""

from __future__ import annotations

import json
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Alternate, SitemapEntry, UrlEntry
from tests.support import golden
from tests.support.reading import without_patterns

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader._types.models import Event

DOCUMENTS = golden.documents()

NOT_RAISED_BY_READERS = frozenset(
    {
        # the fetch of a document
        IssueCode.CONTENT_ENCODING,
        IssueCode.WRONG_CONTENT_ENCODING,
        IssueCode.INVALID_URL,
        IssueCode.HOST_MAPPED,
        IssueCode.INDEX_DATE,
        IssueCode.USERINFO_REMOVED,
        IssueCode.BLOCKED_ADDRESS,
        IssueCode.BLOCKED_PORT,
        IssueCode.DNS,
        IssueCode.CONNECT,
        IssueCode.TLS,
        IssueCode.TIMEOUT,
        IssueCode.STALLED,
        IssueCode.TOO_SLOW,
        IssueCode.BODY_CUT,
        IssueCode.BAD_HTTP,
        IssueCode.SURPLUS_BYTES,
        IssueCode.HTTP_STATUS,
        IssueCode.BLOCKED_BY_SITE,
        IssueCode.LOGIN_REQUIRED,
        IssueCode.RETRY_LATER,
        IssueCode.REDIRECT_LOOP,
        IssueCode.TOO_MANY_REDIRECTS,
        IssueCode.DOWNGRADE,
        # robots.txt
        IssueCode.ROBOTS_UNREACHABLE,
        IssueCode.ROBOTS_DISALLOWED,
        IssueCode.ROBOTS_NOT_TEXT,
        IssueCode.ROBOTS_TOO_LARGE,
        IssueCode.ROBOTS_TOO_COMPLEX,
        # the walk
        IssueCode.NO_SITEMAP,
        IssueCode.CYCLE,
        IssueCode.NESTED_INDEX,
        IssueCode.CROSS_HOST_CHILD,
        IssueCode.OUT_OF_SCOPE,
        IssueCode.DUPLICATE_DOCUMENT,
        IssueCode.BUDGET_DEPTH,
        IssueCode.BUDGET_CHILDREN,
        IssueCode.BUDGET_DOCUMENTS,
        IssueCode.BUDGET_BYTES,
        IssueCode.BUDGET_SECONDS,
        IssueCode.STATE_REPLACED,
        IssueCode.SHRUNK,
        IssueCode.REDIRECTS_UP,
        IssueCode.HOST_DOWN,
        IssueCode.FEED_NOT_READ,
        IssueCode.BUDGET_MEMORY,
        IssueCode.BUDGET_URLS,
        IssueCode.HOST_REFUSES,
        IssueCode.CHILD_URL_TOO_LONG,
        IssueCode.SITE_MOVED,
        IssueCode.OTHER_SITE,
    }
)


def read_long_list() -> golden.Reading:
    lines = (b"https://www.example.org/%d\n" % number for number in range(50_001))
    return golden.read_pieces([b"".join(lines)])


def read_long_record() -> golden.Reading:
    tags = b"<tag>%0100d</tag>" % 0 * 10_000
    record = b"<url><loc>https://www.example.org/odd</loc>" + tags + b"</url>"
    return golden.read_pieces([b"<urlset>", record, b"</urlset>"])


def read_relative_without_base() -> golden.Reading:
    return golden.read_pieces([b"<urlset><url><loc>/odd</loc></url></urlset>"], url="")


NOT_IN_FILES: dict[IssueCode, Callable[[], golden.Reading]] = {
    IssueCode.OVER_PROTOCOL_LIMIT: read_long_list,
    IssueCode.RECORD_TOO_LONG: read_long_record,
    IssueCode.MISSING_BASE: read_relative_without_base,
}
"""Issues whose documents would be too big for a file, or have no URL."""

MARKS = ("first", "second", "last")
REFUSALS = {IssueCode.DTD_REFUSED, IssueCode.ENCODING_UNSUPPORTED}
"""What a document that is wholly refused says."""


def test_there_are_golden_files() -> None:
    """The search for documents finds all rooms of testdata, so the tests below are not void."""
    rooms = {golden.name_of(document).partition("/")[0] for document in DOCUMENTS}
    assert rooms == {
        "atom",
        "broken",
        "encodings",
        "extensions",
        "gzip",
        "hostile",
        "html",
        "index",
        "rss",
        "site",
        "text",
        "urlset",
    }
    assert len(DOCUMENTS) > 300
    assert set(golden.LIMITS) <= {golden.name_of(document) for document in DOCUMENTS}


def test_every_expectation_has_its_document() -> None:
    """A .jsonl whose document was renamed or removed is not left behind."""
    wanted = {golden.expected_path(document) for document in DOCUMENTS}
    found = {path for path in golden.TESTDATA.rglob("*.jsonl") if path.is_file()}
    assert found - wanted == set()


def test_events(regenerate: bool, subtests: pytest.Subtests) -> None:
    """A document gives exactly the expected events."""
    for document in DOCUMENTS:
        with subtests.test(golden.name_of(document)):
            path = golden.expected_path(document)
            text = encode(golden.read_document(document), golden.url_of(document))
            if regenerate:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            assert path.exists(), (
                f"no {path.name}: make it with `pytest {__file__} --regenerate`"
            )
            assert text.split("\n") == path.read_text(encoding="utf-8").split("\n")


def test_every_code_of_the_readers_has_an_exemplar() -> None:
    """For each Issue that a reader can raise there is a document in testdata that raises it."""
    seen = {
        code for document in DOCUMENTS for code in golden.known_reading(document).counts
    }
    assert seen.isdisjoint(NOT_RAISED_BY_READERS)
    assert set(IssueCode) - seen - NOT_RAISED_BY_READERS == set(NOT_IN_FILES)


@pytest.mark.parametrize("code", NOT_IN_FILES)
def test_codes_of_documents_that_are_not_files(code: IssueCode) -> None:
    """The Issues that only a document made in code has are raised as well."""
    assert NOT_IN_FILES[code]().counts[code] == 1


LOST_BY_NATURE = {
    "broken/comment-unclosed.xml",  # what stands in a comment is no record
    *golden.LIMITS,
}
AROUND = [
    document
    for document in DOCUMENTS
    if all(f"example.org/{mark}<".encode() in document.read_bytes() for mark in MARKS)
    and golden.name_of(document) not in LOST_BY_NATURE
]
"""Documents that have good records before and behind what is odd about them."""


def test_good_records_survive(subtests: pytest.Subtests) -> None:
    """One bad record costs at most itself, and a bad prolog nothing, unless all is refused."""
    for document in AROUND:
        with subtests.test(golden.name_of(document)):
            reading = golden.known_reading(document)
            if not reading.counts.keys() & REFUSALS:
                assert {loc.rpartition("/")[2] for loc in reading.locs} >= set(MARKS)
            else:
                assert reading.locs == []


def test_the_pattern_changes_no_event(subtests: pytest.Subtests) -> None:
    """Each golden document gives the same events with the pattern switched off."""
    for document in DOCUMENTS:
        with subtests.test(golden.name_of(document)):
            with without_patterns():
                reading = golden.read_document(document)
            assert golden.known_reading(document) == reading


# -- events as JSON lines

_TYPES = {UrlEntry: "url", SitemapEntry: "sitemap", Issue: "issue"}


def encode(reading: golden.Reading, url: str) -> str:
    """Write a reading as JSON lines: one an event, and one for the document at the end.

    Fields that hold their default are left out, and so is what follows from others: the `sitemap`
    of an event of this document, and the message that an Issue's code has in the table.
    """
    last = {
        "type": "document",
        "format": _plain(reading.format),
        "records": reading.records,
        "delivered": reading.delivered,
        "dropped": reading.dropped,
        "issues": {str(code): reading.counts[code] for code in sorted(reading.counts)},
    }
    rows = [_encode_event(event, url) for event in reading.events]
    return "".join(_dump(row) + "\n" for row in [*rows, last])


def _encode_event(event: Event, url: str) -> dict[str, Any]:
    row = {"type": _TYPES[type(event)], **_plain(event)}
    if row.get("sitemap") == url:
        del row["sitemap"]
    if isinstance(event, Issue):
        if event.message == f"{event.code.meaning}: {event.code.advice}":
            del row["message"]
        row["severity"] = event.severity.name.lower()
    return row


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case Alternate():
            return {k: v for k, v in value._asdict().items() if v is not None}
        case tuple():
            return [_plain(item) for item in value]
        case _ if attrs.has(type(value)):
            return {
                field.name: _plain(getattr(value, field.name))
                for field in attrs.fields(type(value))
                if getattr(value, field.name) not in (field.default, {})
            }
    return value


def _dump(row: dict[str, Any]) -> str:
    """Write a row so that a person can read it, unless it holds what a terminal would act on."""
    text = json.dumps(row, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(row)
