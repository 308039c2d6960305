"""Dates of sitemaps, feeds and responses: text in, aware datetime out, and the `since` test.

Two forms are read: the W3C datetime (https://www.w3.org/TR/NOTE-datetime) in all its precisions,
with a few spellings of well-known generators, and RFC 822 as in feeds. Any other text is `None`. A
missing part is never filled from today. A date before the web is not the date of a page, but the
zero of some clock, such as 0001, 1601, 1900, 1970 or 1980.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from itertools import starmap
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

When: TypeAlias = datetime | date | timedelta
"""A moment, UTC if it has no zone; a day in UTC; or a time before now."""

HOUR = 3600.0
DAY = 24 * HOUR
MAX_DATE_CHARS = 128
"""No date needs more, folded over lines or not; it bounds the work on hostile text."""
FIRST_YEAR = 1991
"""The year of the first web pages (https://info.cern.ch/); no page was changed before it."""
_XML_BLANKS = " \t\r\n"
_FOLDS = re.compile(r"[ \t\r\n]+")
_MAIL_COMMENT = re.compile(r"\([^()]*\)")

_W3C = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?)"
    r"(?:(?:[Tt]|\ {1,4})(?P<hour>\d\d?):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r"\ ?(?P<zone>Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
    r")?)?)?",
    re.ASCII,
)
_RFC822 = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?(?:\ ?,\ *|\ +))?"
    r"(?P<day>\d{1,2})[\ -](?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?"
    r"[\ -](?P<year>\d{4}|\d\d)"
    r"(?:\ +(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?"
    r"\ *(?P<zone>[+-]\d\d:?\d\d|[a-z]{1,5})?"
    r")?",
    re.ASCII | re.IGNORECASE,
)
PLAIN_DATE = re.compile(
    r"(?:2\d\d\d|199[1-9])-\d\d-\d\d"
    r"(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6}|)|)(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)|)",
    re.ASCII,
)
"""Full forms of W3C datetimes, whose digits fromisoformat reads as the pattern above does.

An empty alternative takes half the time of `?`.
"""
_from_iso = datetime.fromisoformat
_MONTHS = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_MONTH_NUMBERS = {
    name.title(): f"{number:02}" for number, name in enumerate(_MONTHS, 1)
}
_PLAIN_MAIL = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?"
    rf"(\d\d) ({'|'.join(_MONTH_NUMBERS)}) (2\d{{3}}|199[1-9]) (\d\d:\d\d:\d\d)"
    r" (?:GMT|([+-](?:0\d|1[0-3])[0-5]\d))",
    re.ASCII,
)
"""The form of RFC 822 that nearly all feeds have."""
# RFC 822, section 5.1; hours east of Greenwich. It had the wrong signs for the military zones, so
# their meaning is unknown, and they count as UTC (RFC 5322, section 4.3).
_ZONES = dict.fromkeys(("", "ut", "utc", "gmt", *"abcdefghiklmnopqrstuvwxyz"), 0) | {
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}  # fmt: skip
_DAY = timedelta(days=1)
_MAX_OFFSET = timedelta(hours=14)
"""Line Islands, the farthest from Greenwich; a larger one is a mistake."""


def parse_lastmod(text: str) -> datetime | None:
    """Read a W3C datetime or an RFC 822 date; `None` for one before the web.

    A missing month, day or time counts as the first moment of its span; a missing zone as UTC.
    Never raises.
    """
    try:
        if mail := _PLAIN_MAIL.fullmatch(text):
            return _make_mail_date(*mail.groups(""))
        if PLAIN_DATE.fullmatch(text):
            return _from_iso(text if len(text) > 10 else text + "T00Z")
    except ValueError:  # 30 February
        pass
    moment = _parse_date(text)
    if moment is None or moment.year < FIRST_YEAR:
        return None
    return moment


def _make_mail_date(
    day: str,
    month: str,
    year: str,
    clock: str,
    zone: str,
) -> datetime:
    number = _MONTH_NUMBERS[month]
    return _from_iso(f"{year}-{number}-{day}T{clock}{zone or 'Z'}")


def parse_http_date(text: str) -> datetime | None:
    """Parse an HTTP date (RFC 9110, section 5.6.7), or return `None`."""
    if not 0 < len(text) <= MAX_DATE_CHARS:
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 (loads socket; a file needs none)

    try:
        moment = parsedate_to_datetime(text)
        # The form of asctime is in GMT, and parsed without a zone.
        if moment.tzinfo is None:
            return moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def parse_last_modified(text: str) -> datetime | None:
    """Parse a Last-Modified header; `None` for one before the web, which dates no version.

    Reproducible builds give all files the date 1 or 315532801 (1980), in each version.
    """
    # `parse_http_date` comes second, because it reads the year 0001 as 2001
    moment = _parse_date(text) or parse_http_date(text)
    if moment is None or moment.year < FIRST_YEAR:
        return None
    return moment


def _parse_date(text: str) -> datetime | None:
    match = _match_date(text)
    if match is None:
        return None
    try:
        return _make_moment(**match.groupdict(""))
    except (ValueError, OverflowError):  # a month 13, a 30 February, an offset of a day
        return None


def has_zone(text: str) -> bool:
    """Return whether a date is written with its time zone, which a day never is."""
    match = _match_date(text)
    return match is not None and bool(match["zone"])


def _match_date(text: str) -> re.Match[str] | None:
    text = text.strip(_XML_BLANKS)
    if len(text) > MAX_DATE_CHARS:
        return None
    match = _W3C.fullmatch(text) or _RFC822.fullmatch(text)
    if match is None and ("(" in text or "  " in text or not text.isprintable()):
        match = _RFC822.fullmatch(_unfold(text))
    return match


def _unfold(text: str) -> str:
    """Remove the comments and line folds of RFC 822 (section 3.4)."""
    replaced = 1
    while replaced:  # comments may be nested
        text, replaced = _MAIL_COMMENT.subn(" ", text)
    return _FOLDS.sub(" ", text).strip(_XML_BLANKS)


def _make_moment(
    year: str,
    month: str,
    day: str,
    zone: str,
    fraction: str = "",
    **clock: str,
) -> datetime:
    year_number = int(year)
    # RFC 2822, section 4.3: below 50 in this century, else in the last
    if len(year) == 2:
        year_number += 1900
        if year_number < 1950:
            year_number += 100
    if month.isalpha():
        month_number = _MONTHS.index(month.lower()) + 1
    else:
        month_number = int(month or 1)
    hour = int(clock["hour"] or 0)
    minute = int(clock["minute"] or 0)
    second = int(clock["second"] or 0)
    microsecond = int(fraction[:6].ljust(6, "0"))
    # ISO 8601: 24:00 is the end of the day
    is_end = (hour, minute, second, microsecond) == (24, 0, 0, 0)
    if is_end:
        hour = 0
    if second == 60:  # datetime has no leap seconds
        second = 59
    moment = datetime(
        year_number,
        month_number,
        int(day or 1),
        hour,
        minute,
        second,
        microsecond,
        tzinfo=_offset(zone),
    )
    if is_end:
        moment += _DAY
    # raises here, not in the caller, for year 1 east of Greenwich
    moment.astimezone(UTC)
    return moment


def _offset(text: str) -> timezone:
    hours = _ZONES.get(text.lower())
    if hours is not None:
        return timezone(timedelta(hours=hours))
    digits = text[1:].replace(":", "")
    minutes = int(digits[2:] or 0)
    offset = timedelta(hours=int(digits[:2]), minutes=minutes)
    if text[:1] not in "+-" or minutes > 59 or offset > _MAX_OFFSET:
        raise ValueError(text)
    if text[0] == "-":
        return timezone(-offset)
    return timezone(offset)


# -- columns: the same dates by the thousand

# One match of the joined column takes a tenth of the time of one match for each value.
_PLAIN_COLUMN = re.compile(rf"(?>(?:(?>{PLAIN_DATE.pattern}|)\n)*)", re.ASCII)
_MAIL_LINE = re.compile(f"^{_PLAIN_MAIL.pattern}$", re.ASCII | re.MULTILINE)
_FEW_DATES = 8
"""Dates that are read one by one, because one of them is unusual."""


def parse_column(texts: list[str]) -> list[datetime | None]:
    """Read a column of trimmed dates, with blanks; halve it to isolate unusual ones."""
    column = "\n".join(texts) + "\n"
    try:
        if _PLAIN_COLUMN.fullmatch(column):
            return parse_plain_dates(texts)
        # in feeds, all have the form of mail
        are_mail = texts[0][:1].isalpha()
        mail = _MAIL_LINE.findall(column) if are_mail else []
        if len(mail) == len(texts) == column.count("\n"):
            return list(starmap(_make_mail_date, mail))
    except ValueError:  # 30 February
        are_mail = False
    if len(texts) <= _FEW_DATES or are_mail:
        return list(map(parse_lastmod, texts))
    middle = len(texts) // 2
    return parse_column(texts[:middle]) + parse_column(texts[middle:])


def parse_plain_dates(texts: Sequence[str | None]) -> list[datetime | None]:
    """Read dates in the form of `PLAIN_DATE`; `None` for no text.

    Raises ValueError for a day that no month has.
    """
    if all(texts):
        written = cast("Sequence[str]", texts)
        if min(map(len, written)) > len("2026-01-01"):
            return list(map(_from_iso, written))
    moments: list[datetime | None] = []
    append = moments.append
    for text in texts:
        if not text:
            append(None)
        elif len(text) > 10:
            append(_from_iso(text))
        else:
            append(_from_iso(text + "T00Z"))
    return moments


# -- since and until

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class WholeDay(datetime):
    """The first moment of a day, a month or a year that was named as such."""


def is_since(
    moment: datetime,
    text: str | None,
    since: datetime,
) -> bool:
    """Return whether any moment of the span that `text` names is at or after `since`.

    `2026-03-05` stands for its whole day, `2026-03` for its month, `2026` for its year.
    The author's zone is not known, so a day lasts until it ends in the last zone of the world. But
    if `since` is a day too, days are compared as they are written. `since` must be aware.
    """
    if moment >= since:
        return True
    end = end_of_span(moment, text or "")
    if end is None:
        return False
    if isinstance(since, WholeDay):
        return end > since
    return end > since - _FARTHEST


def end_of_span(moment: datetime, text: str) -> datetime | None:
    """Return the first moment after the span, or None where the text names a moment."""
    if ":" in text:
        return None
    try:
        match text.count("-"):
            case 0 if len(text) == 4:
                return moment.replace(year=moment.year + 1)
            case 1:
                return (moment + 32 * _DAY).replace(day=1)
        return moment + _DAY
    except (ValueError, OverflowError):  # the span ends with the year 9999
        return _END_OF_TIME


_WITH_SECONDS = re.compile(r":\d\d:\d\d")
_FARTHEST = timedelta(hours=12)
"""The delay between the end of a day in UTC and in the last zone of the world."""


def latest_moment(moment: datetime | None, text: str) -> datetime | None:
    """Return the last moment that a date may mean as it is written, in any zone."""
    if moment is None:
        return None
    if _WITH_SECONDS.search(text):
        unit = timedelta(seconds=1)
    else:
        unit = timedelta(minutes=1)
    try:
        end = end_of_span(moment, text) or moment + unit
        if not has_zone(text):
            end += _FARTHEST
        return end - timedelta.resolution
    except OverflowError:
        return _END_OF_TIME


_CUT_TO_DAY = re.compile(r"[Tt ]00:00(?::00(?:\.0+)?)?(?![\d:.])")
_CUT_TO_MINUTE = re.compile(r"[Tt ]\d\d:\d\d:00(?:\.0+)?(?![\d:.])")


def is_over(
    moment: datetime,
    text: str,
    now: datetime,
) -> bool:
    """Return whether a date that is written from `now` on must be later than this one.

    Generators cut times: `T00:00:00` may stand for its whole day, and `:00` for its whole minute.
    """
    latest = latest_moment(moment, text)
    if latest is None:
        return False
    if _CUT_TO_DAY.search(text):
        cut = _DAY
    elif _CUT_TO_MINUTE.search(text):
        cut = timedelta(minutes=1)
    else:
        cut = timedelta()
    try:
        return latest + cut < now
    except OverflowError:
        return False


TOLERANCE = timedelta(hours=24)
"""A date that is further ahead of now than this is in the future, in any zone."""


SPANS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_since(text: str) -> datetime | None:
    """Read a date, or a span before now such as `7d` or `-7d`."""
    number = text[:-1].removeprefix("-")
    unit = text[-1:]
    if not (number.isascii() and number.isdigit() and unit in SPANS):
        moment = _parse_date(text)
        is_day = moment is not None and ":" not in text
        if moment and is_day:
            return WholeDay.fromisoformat(moment.isoformat())
        return moment
    with suppress(OverflowError, ValueError):
        return datetime.now(UTC) - timedelta(**{SPANS[unit]: int(number)})
    return None


def as_since(value: When) -> datetime:
    """Return the first moment of a `When`; raise TypeError for anything else."""
    if isinstance(value, timedelta):
        return datetime.now(UTC) - value
    if not isinstance(value, date):  # a datetime is a date as well
        raise TypeError(
            f"since and until must be a datetime, a date or a timedelta, got "
            f"{type(value).__name__}: "
            "write since=date(2026, 1, 31) or since=timedelta(days=7)"
        )
    if not isinstance(value, datetime):
        return WholeDay.combine(value, time.min, UTC)
    if value.tzinfo:
        return value
    return value.replace(tzinfo=UTC)


def as_until(value: When) -> datetime:
    """Return the last moment of a `When`, of a day its end; raise TypeError for anything else."""
    moment = as_since(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return moment + _DAY - timedelta.resolution
    return moment
