"""The validators of a response: the useful ones, and how they are sent back.

RFC 9110, section 8.8: ETag and Last-Modified. A date is too weak to tell two versions of one second
apart, and many servers make their ETag of date and size alone.
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
"""Suffixes by which servers mark the ETag of a compressed body, and forget them when they compare
(Apache, mod_deflate)."""
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
    inner = etag.removesuffix('"')
    plain = [inner.removesuffix(mark) for mark in _CODING_MARKS if inner.endswith(mark)]
    return [etag, *(f'{each}"' for each in plain)]


def choose_validators(
    etag: str | None, last_modified: str | None, headers: Mapping[str, str]
) -> tuple[str | None, str | None]:
    """Return the validators of a response that may be sent back."""
    date = parse_last_modified(last_modified or "")
    if date is None:
        return etag, None
    asked = parse_http_date(headers.get("date", ""))
    if asked is not None and asked - date < _SETTLED and _is_made_of(etag, date):
        return None, None
    return etag, last_modified


def is_older(headers: Mapping[str, str], newest: datetime) -> bool:
    """Return whether a response has no validator but a date before its newest entry."""
    date = parse_last_modified(headers.get("last-modified", ""))
    return (
        date is not None
        and _is_made_of(headers.get("etag"), date)
        and newest - date > _LONGEST_AGE
    )


def is_confirmed(sent: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Return whether a 304 is about the version whose validators were sent."""
    if "If-None-Match" in sent and "etag" in headers:
        spelled = _spell_etag(headers["etag"].strip().removeprefix("W/"))
        return any(each in sent["If-None-Match"] for each in spelled)
    if "If-Modified-Since" in sent and "last-modified" in headers:
        return parse_http_date(sent["If-Modified-Since"]) == parse_http_date(
            headers["last-modified"]
        )
    return True


def read_age(headers: Mapping[str, str]) -> float:
    """Return for how many seconds a cache has had a response (RFC 9111, section 5.1).

    No cache keeps a sitemap for longer than a month: an age beyond that is none.
    """
    text = headers.get("age", "").strip()
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    age = float(text) if is_number else 0.0
    return age if age <= _MAX_AGE else 0.0


def _is_made_of(etag: str | None, date: datetime) -> bool:
    """Return whether an ETag says no more than a date, as in nginx and Caddy."""
    if etag is None:
        return True
    seconds = int(date.timestamp())
    return f"{seconds:x}" in etag.lower() or _write_base_36(seconds) in etag.lower()


def _write_base_36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _BASE_36[digit] + text
    return text
