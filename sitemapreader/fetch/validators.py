"""The validators of a response: the useful ones, and the headers in which they are sent back.

RFC 9110, section 8.8: ETag and Last-Modified. A date cannot distinguish two versions of the same
second, and many servers make their ETag only from date and size.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sitemapreader._types.dates import parse_http_date, parse_last_modified

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_SETTLED = timedelta(minutes=1)
"""RFC 9110, section 8.8.2.2: a date is strong if it is a minute older than the response."""
_LONGEST_AGE = timedelta(days=1)
_CODING_MARKS = ("-gzip", ";gzip", "-br", "-zstd")
"""Suffixes by which servers mark the ETag of a compressed body, but which they ignore when they
compare (Apache, mod_deflate)."""
_MAX_AGE = 30 * 24 * 3600
_BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def make_validators(etag: str | None, last_modified: str | None) -> dict[str, str]:
    """Return the headers of a conditional request."""
    headers = {}
    if etag is not None:
        headers["If-None-Match"] = ", ".join(_spell_etag(etag))
    if last_modified is not None and parse_last_modified(last_modified) is not None:
        headers["If-Modified-Since"] = last_modified
    return headers


def _spell_etag(etag: str) -> list[str]:
    """Return an ETag as it was sent, and without the mark of a coding."""
    spellings = [etag]
    for mark in _CODING_MARKS:
        if etag.endswith(f'{mark}"'):
            plain = etag.removesuffix(f'{mark}"')
            spellings.append(f'{plain}"')
    return spellings


def choose_validators(
    etag: str | None,
    last_modified: str | None,
    headers: Mapping[str, str],
) -> tuple[str | None, str | None]:
    """Return the validators of a response that may be sent back."""
    date = parse_last_modified(last_modified or "")
    if date is None:
        return etag, None
    response_date = parse_http_date(headers.get("date", ""))
    if response_date is None or response_date - date >= _SETTLED:
        return etag, last_modified
    if _is_made_of(etag, date):
        return None, None
    return etag, last_modified


def is_older(headers: Mapping[str, str], newest: datetime) -> bool:
    """Return whether the only validator of a response is a date before its newest entry."""
    date = parse_last_modified(headers.get("last-modified", ""))
    if date is None or newest - date <= _LONGEST_AGE:
        return False
    return _is_made_of(headers.get("etag"), date)


def is_confirmed(sent: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Return whether a 304 is about the version whose validators were sent."""
    if "If-None-Match" in sent and "etag" in headers:
        spellings = _spell_etag(headers["etag"].strip().removeprefix("W/"))
        return any(spelling in sent["If-None-Match"] for spelling in spellings)
    if "If-Modified-Since" in sent and "last-modified" in headers:
        sent_date = parse_http_date(sent["If-Modified-Since"])
        return sent_date == parse_http_date(headers["last-modified"])
    return True


def read_age(headers: Mapping[str, str]) -> float:
    """Return the seconds that a cache has stored a response (RFC 9111, section 5.1).

    An age of more than a month is ignored, because no cache stores a sitemap for so long.
    """
    text = headers.get("age", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return 0.0
    age = float(text)
    if age > _MAX_AGE:
        return 0.0
    return age


def _is_made_of(etag: str | None, date: datetime) -> bool:
    """Return whether an ETag is made from a date, as in nginx and Caddy."""
    if etag is None:
        return True
    etag = etag.lower()
    seconds = int(date.timestamp())
    return f"{seconds:x}" in etag or _write_base_36(seconds) in etag


def _write_base_36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _BASE_36[digit] + text
    return text
