"""Dates: what each text means, and that no text does harm."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial

import pytest
from hypothesis import given, strategies as st

from sitemapreader._types.dates import (
    as_since,
    is_since,
    parse_column,
    parse_lastmod,
    parse_since,
)
from tests.support.strategies import characters
from tests.support.timing import is_below, least_seconds


def at(*parts: int, hours: float = 0) -> datetime:
    return datetime(*parts, tzinfo=timezone(timedelta(hours=hours)))  # type: ignore[arg-type,misc]  # mypy cannot see that there are three parts


DAY = at(2024, 1, 1)
NOON = at(2024, 1, 1, 12)

READ = {
    # the W3C's precisions; years are taken as they are
    **dict.fromkeys(
        ("2024", "2024-01", "2024-01-01", "2024-1-1", " \t2024-01-01\r\n"), DAY
    ),
    "1991-01-01": at(1991, 1, 1),
    "9999-12-31": at(9999, 12, 31),
    "1991-08-06T14:56:20+00:00": at(1991, 8, 6, 14, 56, 20),
    "2024-01-01T12:00:00,5Z": at(2024, 1, 1, 12, 0, 0, 500_000),
    "2024-01-01T12:00:00.123456789012345678901234567890Z": at(
        2024, 1, 1, 12, 0, 0, 123_456
    ),
    # spellings that generators are known for; no zone is UTC
    **{
        f"2024-01-01{clock}": NOON
        for clock in (
            *(
                "T12:00Z",
                "T12:00:00Z",
                "T12:00:00",
                " 12:00:00",
                " 12:00",
                "t12:00:00z",
            ),
            *("T12:00:00-00:00", "T12:00:00GMT", "T12:00:00 UTC", "T12:00:00 +0000"),
        )
    },
    # zones, ends of days and leap seconds
    "2024-01-01T12:00:00+14:00": at(2024, 1, 1, 12, hours=14),
    "2024-01-01T12:00:00-14:00": at(2024, 1, 1, 12, hours=-14),
    "2024-01-01T12:00:00-03:30": at(2024, 1, 1, 12, hours=-3.5),
    "2024-01-01T12:00:00+0200": at(2024, 1, 1, 12, hours=2),
    "2024-01-01T12:00:00+02": at(2024, 1, 1, 12, hours=2),
    "2024-01-01T24:00:00Z": at(2024, 1, 2),
    "2023-12-31T24:00:00+01:00": at(2024, 1, 1, hours=1),
    "2016-12-31T23:59:60Z": at(2016, 12, 31, 23, 59, 59),
    # RFC 822, with years of four digits or, as RFC 2822 reads them, two
    **{
        f"Mon, 01 Jan 2024 {clock}": NOON
        for clock in (
            "12:00:00 GMT",
            "12:00:00 +0000",
            "12:00:00 Z",
            "12:00:00",
            "12:00 GMT",
        )
    },
    "Monday, 01 January 2024 12:00:00 GMT": NOON,
    "Monday, 01-Jan-2024 12:00:00 GMT": NOON,
    "Mon, 01 Jan 24 12:00:00 GMT": NOON,
    "Mon, 1 Jan 2024 12:00:00 +02:00": at(2024, 1, 1, 12, hours=2),
    "01 Jan 2024 12:00:00 EST": at(2024, 1, 1, 12, hours=-5),
    "Tue, 01 Jan 2024": DAY,  # a Monday: the date is believed, not the name of the day
    "31 Dec 49": at(2049, 12, 31),
    "01 Jan 91": at(1991, 1, 1),
    # RFC 822: comments, folded lines, blanks, the zones of the military
    **dict.fromkeys(
        (
            "Mon, 01 Jan 2024 12:00:00 +0000 (UTC)",
            "Mon,  01  Jan 2024  12:00:00  GMT",
            "Mon,\t01 Jan 2024\t12:00:00 +0000",
            "Mon, 01 Jan 2024\r\n 12:00:00 +0000",
            "Mon (Monday (day)), 1 Jan 2024 12:00 UT",
            "01 Jan 2024 12:00:00 (noon) Z (Zulu)",
            *(f"1 Jan 2024 12:00:00 {zone}" for zone in "AaMNYZz"),
        ),
        at(2024, 1, 1, 12),
    ),
}

REFUSED = (
    *("", "now", "-", "Z"),
    # days, hours and zones that there are not
    *("0000-01-01", "2024-13-01", "2024-02-30"),
    *(
        f"2024-01-01T{clock}"
        for clock in ("25:00:00Z", "24:00:01Z", "12:60:00Z", "12:00:61Z")
    ),
    *(f"2024-01-01T12:00:00+{zone}" for zone in ("99:99", "14:01", "01:60")),
    *("Mon, 01 Jan 2024 00:00:00 XYZ", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"),
    # years that a datetime cannot hold, here or in Greenwich
    *(
        "10000-01-01",
        "-0001-01-01",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T24:00:00Z",
    ),
    # before the web: the zeros of clocks
    *(
        "0001-01-01",
        "0001-01-01T00:00:00Z",
        "1601-01-01T00:00:00Z",
        "1899-12-30",
        "1900-01-01",
    ),
    *(
        "1904",
        "1970-01-01T00:00:00+00:00",
        "1980-01",
        "1990-12-31T23:59:59-12:00",
        "01 Jan 50",
    ),
    "Thu, 01 Jan 1970 00:00:00 GMT",
    # comments without an end, and a letter that is no zone
    *(
        "Mon, 01 Jan 2024 12:00:00 +0000 (UTC",
        "1 Jan 2024 12:00:00 J",
        "1 Jan 2024 12:00:00 )(",
    ),
    # other forms of ISO 8601
    *("20240101", "20240101T120000Z", "2024-W01-1", "2024-001", "2024-01-01Z"),
    *(f"2024-01-01T{rest}" for rest in ("", "12Z", "12:00:00[Europe/Paris]")),
    # forms whose day and month one can only guess, words of other languages, seconds of an epoch
    *("01/02/2024", "2024/01/01", "Jan 1, 2024", "Mo, 01 Jan 2024", "1704067200"),
    # digits that are not ASCII, bytes that do not belong
    *("٢٠٢٤-٠١-٠١", "²024-01-01", "2024-01-01\x00", "2024-01-01\u00a0", "\ud800"),  # noqa: RUF001 (on purpose)
    # long ones
    *(
        "1" * 5000,
        "9" * 400,
        "2024-01-01T12:00:00-" + "0" * 1000 + ":00",
        "mon" + "a" * 100_000,
    ),
    *(
        "2024-01-01T12:00:00." + "1" * 100_000 + "Z",
        "2024-01-01T12:00:00" + " " * 100_000 + "x",
    ),
)


def test_a_date_is_read(subtests: pytest.Subtests) -> None:
    """Every form that BEHAVIOUR lists gives its moment, in the zone that is written."""
    for text, moment in READ.items():
        with subtests.test(text=text):
            result = parse_lastmod(text)
            assert result == moment
            assert result is not None
            assert result.utcoffset() == moment.utcoffset()


def test_a_text_that_is_no_date_is_refused(subtests: pytest.Subtests) -> None:
    """What is not surely a date gives None: nothing is guessed, and nothing taken from today."""
    for text in REFUSED:
        with subtests.test(ascii(text)[:40]):
            assert parse_lastmod(text) is None


def test_no_text_takes_long() -> None:
    """The worst of texts is read or refused within a millisecond."""
    texts = [*READ, *REFUSED]

    def longest() -> float:
        return max(least_seconds(partial(parse_lastmod, text)) for text in texts)

    assert is_below(0.001, longest)


@given(st.text(characters) | st.text("0123456789-+:TZ., tzGMTJan", max_size=40))
def test_no_text_raises(text: str) -> None:
    """Any text gives None or an aware datetime that can be compared in any zone."""
    result = parse_lastmod(text)
    if result is not None:
        assert result.astimezone(UTC) == result
        assert is_since(result, text, result)


dates = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 (hypothesis wants naive bounds)
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.integers(-14 * 60, 14 * 60).map(
        lambda m: timezone(timedelta(minutes=m))
    ),
)
spellings = st.sampled_from(
    [
        lambda d: d.isoformat(),
        lambda d: d.isoformat(timespec="minutes"),
        lambda d: d.isoformat(timespec="milliseconds"),
        lambda d: d.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0"),
        lambda d: d.date().isoformat(),
    ]
)


@given(
    st.lists(st.tuples(dates, spellings).map(lambda pair: pair[1](pair[0])), min_size=1)
)
def test_a_column_agrees_with_its_dates(texts: list[str]) -> None:
    """A column that is read at once holds what its dates give one by one."""
    column = parse_column(texts)
    singly = [parse_lastmod(text) for text in texts]
    assert column == singly
    assert [d.utcoffset() for d in column if d] == [d.utcoffset() for d in singly if d]


@given(
    st.lists(
        st.text("0123456789-+:TZ.\n", max_size=30) | st.sampled_from([*READ, *REFUSED])
    )
)
def test_a_column_never_reads_more_than_its_dates(texts: list[str]) -> None:
    """Texts that are no dates, and odd ones, are read among others as they are alone."""
    assert parse_column(texts) == [parse_lastmod(text) for text in texts]


SINCE = (
    # text, a since that it is not older than, the first since for which it is
    ("2026-03-05T07:08:09Z", at(2026, 3, 5, 7, 8, 9), at(2026, 3, 5, 7, 8, 10)),
    ("2026-03-05", at(2026, 3, 6, 11, 59, 59), at(2026, 3, 6, 12)),
    ("2026-03-05", at(2026, 3, 5, 23, 59, hours=-12), at(2026, 3, 6, hours=-12)),
    ("2026-02", at(2026, 3, 1, 11, 59, 59), at(2026, 3, 1, 12)),
    ("2026-12", at(2027, 1, 1, 11, 59, 59), at(2027, 1, 1, 12)),
    ("2026", at(2027, 1, 1, 11, 59, 59), at(2027, 1, 1, 12)),
    ("2026-3-5", at(2026, 3, 6, 11, 59, 59), at(2026, 3, 6, 12)),
    ("05 Mar 2026", at(2026, 3, 6, 11, 59, 59), at(2026, 3, 6, 12)),
    ("2026-03-05", as_since(date(2026, 3, 5)), as_since(date(2026, 3, 6))),
    ("2026-03", parse_since("2026-03-31"), parse_since("2026-04")),
    ("2026-03-05T00:00:00", at(2026, 3, 5), at(2026, 3, 5, 0, 0, 1)),
    (
        "Thu, 05 Mar 2026 07:08:09 GMT",
        at(2026, 3, 5, 7, 8, 9),
        at(2026, 3, 5, 7, 8, 10),
    ),
    ("2026-03-04T24:00:00Z", at(2026, 3, 5), at(2026, 3, 5, 0, 0, 1)),
)


@pytest.mark.parametrize(("text", "passes", "fails"), SINCE)
def test_a_date_stands_for_the_whole_of_its_span(
    text: str, passes: datetime, fails: datetime
) -> None:
    """A day, month or year passes `since` if any moment of it does, in the last zone of the world.

    A moment stands for itself; a `since` that is a day is compared with days as they are written.
    """
    moment = parse_lastmod(text)
    assert moment is not None
    assert is_since(moment, text, moment)
    assert is_since(moment, text, passes)
    assert not is_since(moment, text, fails)


@pytest.mark.parametrize("text", ["9999", "9999-12", "9999-12-31"])
def test_the_end_of_time_has_no_end(text: str) -> None:
    """Spans that end after the last datetime pass what lies before them, and raise nothing."""
    moment = parse_lastmod(text)
    assert moment is not None
    assert is_since(moment, text, at(2026, 1, 1))
    assert is_since(moment, text, at(9999, 12, 31, 23))


@pytest.mark.parametrize("value", ["2024-01-01", 1704067200, None])
def test_since_must_be_a_moment(value: object) -> None:
    """Anything but a moment, a day or a time is misuse, and the message says what to write."""
    with pytest.raises(TypeError, match=r"write since=date\(2026, 1, 31\)"):
        as_since(value)  # type: ignore[arg-type]  # the misuse is what is tested
