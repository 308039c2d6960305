"""Validators: which of a response are sent back, and what a 304 proves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sitemapreader.fetch.urls import is_conditional, read_etag
from sitemapreader.fetch.validators import (
    choose_validators,
    is_confirmed,
    is_older,
    make_validators,
    read_age,
)

DAY = datetime(2026, 3, 5, 12, tzinfo=UTC)
DATE = "Thu, 05 Mar 2026 12:00:00 GMT"
SECONDS = int(DAY.timestamp())
HEX, BASE_36 = f'"{SECONDS:X}-1f"', '"tbfdc0-x"'


def later(**passed: float) -> str:
    """Write a date as HTTP does, after the one that is sent."""
    return format_datetime(DAY + timedelta(**passed), usegmt=True)


def test_the_etags_are_made_of_the_date() -> None:
    """The example in base 36 is one, as that of nginx in hexadecimal."""
    assert int("tbfdc0", 36) == SECONDS


@pytest.mark.parametrize(
    ("etag", "last_modified", "sent"),
    [
        (None, None, {}),
        ('"a"', None, {"If-None-Match": '"a"'}),
        (None, DATE, {"If-Modified-Since": DATE}),
        ('"a"', DATE, {"If-None-Match": '"a"', "If-Modified-Since": DATE}),
        ('"a"', "yesterday", {"If-None-Match": '"a"'}),
        ('"a-gzip"', None, {"If-None-Match": '"a-gzip", "a"'}),
        ('"a;gzip"', None, {"If-None-Match": '"a;gzip", "a"'}),
        ('W/"a-br"', None, {"If-None-Match": 'W/"a-br", W/"a"'}),
        ('"a-zstd"', None, {"If-None-Match": '"a-zstd", "a"'}),
        ('"a-gzipped"', None, {"If-None-Match": '"a-gzipped"'}),
    ],
)
def test_what_is_sent(
    etag: str | None, last_modified: str | None, sent: dict[str, str]
) -> None:
    """An ETag that marks a coding is sent without the mark as well; a date that is none is not."""
    assert make_validators(etag, last_modified) == sent
    assert is_conditional(sent) is bool(sent)


@pytest.mark.parametrize("name", ["If-None-Match", "IF-MODIFIED-SINCE"])
def test_a_conditional_request(name: str) -> None:
    """A header of the caller makes it one in any spelling; others do not."""
    assert is_conditional({"Accept": "*/*", name: "x"})
    assert not is_conditional({"Accept": "*/*", "If-Match": "x"})


@pytest.mark.parametrize(
    ("etag", "last_modified", "date", "kept"),
    [
        ('"a"', "", later(days=1), ('"a"', None)),
        ('"a"', "yesterday", later(days=1), ('"a"', None)),
        ('"a"', DATE, "", ('"a"', DATE)),
        (None, DATE, "", (None, DATE)),
        (HEX, DATE, later(minutes=1), (HEX, DATE)),
        (HEX, DATE, later(seconds=59), (None, None)),
        (HEX.lower(), DATE, later(), (None, None)),
        (BASE_36, DATE, later(), (None, None)),
        (BASE_36.upper(), DATE, later(), (None, None)),
        (None, DATE, later(seconds=59), (None, None)),
        (None, DATE, later(minutes=1), (None, DATE)),
        ('"a"', DATE, later(seconds=59), ('"a"', DATE)),
    ],
)
def test_what_is_kept(
    etag: str | None, last_modified: str, date: str, kept: tuple[str | None, ...]
) -> None:
    """A date of the same minute as its response proves nothing, nor does an ETag made of it."""
    headers = {"date": date} if date else {}
    assert choose_validators(etag, last_modified, headers) == kept


@pytest.mark.parametrize(
    ("etag", "newer", "is_too_old"),
    [
        ("", {"days": 1}, False),
        ("", {"days": 1, "seconds": 1}, True),
        (HEX, {"days": 2}, True),
        (BASE_36, {"days": 2}, True),
        ('"a"', {"days": 2}, False),
        ("", {"days": -9}, False),
    ],
)
def test_a_date_before_the_newest_entry(
    etag: str, newer: dict[str, float], *, is_too_old: bool
) -> None:
    """A validator that is more than a day older than what the document lists is not believed."""
    headers = {"last-modified": DATE} | ({"etag": etag} if etag else {})
    assert is_older(headers, DAY + timedelta(**newer)) is is_too_old
    assert not is_older({"etag": HEX}, DAY + timedelta(**newer))


SENT = {"If-None-Match": '"a-gzip", "a"', "If-Modified-Since": DATE}


@pytest.mark.parametrize(
    ("sent", "headers", "is_same"),
    [
        (SENT, {}, True),
        (SENT, {"etag": '"a"'}, True),
        (SENT, {"etag": ' W/"a-gzip" '}, True),
        (SENT, {"etag": '"a-gzip"', "last-modified": later(days=9)}, True),
        (SENT, {"etag": '"b"', "last-modified": DATE}, False),
        (SENT, {"last-modified": DATE}, True),
        (SENT, {"last-modified": later(seconds=1)}, False),
        ({"If-Modified-Since": DATE}, {"etag": '"b"'}, True),
        ({"If-Modified-Since": DATE}, {"etag": '"b"', "last-modified": DATE}, True),
        ({"If-Modified-Since": DATE}, {"last-modified": "soon"}, False),
        ({"If-None-Match": '"a"'}, {"last-modified": later(days=9)}, True),
    ],
)
def test_what_a_304_is_about(
    sent: dict[str, str], headers: dict[str, str], *, is_same: bool
) -> None:
    """It confirms what was sent unless it names another version."""
    assert is_confirmed(sent, headers) is is_same


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        (" 60 ", 60.0),
        ("2592000", 2_592_000.0),
        ("2592001", 0.0),
        ("000000060", 60.0),
        ("0000000060", 0.0),
        ("-1", 0.0),
        ("1.5", 0.0),
        ("\u0661", 0.0),
        ("", 0.0),
    ],
)
def test_an_age(text: str, seconds: float) -> None:
    """It is a number of seconds, a month at most."""
    assert read_age({"age": text}) == seconds
    assert read_age({}) == 0.0


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('""', True),
        ("*", False),
        ("a", False),
        ('w/"a"', False),
        ('"a b"', False),
        ('"a", "b"', False),
    ],
)
def test_an_entity_tag(text: str, *, is_one: bool) -> None:
    """What is none is never sent back: a star would match every version."""
    assert read_etag({"etag": text}) == (text if is_one else None)
