"""Types of arguments: text to values, with an example in each error message."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from sitemapreader._types.dates import SPANS, end_of_span, parse_since
from sitemapreader._types.habits import suggest
from sitemapreader._types.issues import IssueCode, Severity
from sitemapreader._types.options import PROXIES_OF_ENVIRONMENT, FetchOptions
from sitemapreader._types.patterns import compile_pattern

if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from datetime import datetime

Number = TypeVar("Number", int, float)
MAX_DEPTH = 100
"""Depth of indexes: the JSON encoder cannot write much deeper trees; the protocol allows 1."""
MAX_PORT = 65_535
_UNITS_BY_LETTER = {"s": "seconds"} | SPANS


def parse_since_option(text: str) -> datetime:
    """Parse a date, or a span before now such as `7d` or `-7d`."""
    if moment := parse_since(text):
        return moment
    raise ArgumentTypeError(
        f"{text!r}: write a date (2026-01-31) or a time before now (30m, 12h, 7d, 2w)"
    )


def parse_until_option(text: str) -> datetime:
    """Parse the same, to the last moment of a day, month or year."""
    moment = parse_since_option(text)
    if text[-1:] in _UNITS_BY_LETTER:
        return moment
    end = end_of_span(moment, text)
    if end is None:
        return moment
    return end - timedelta.resolution


def parse_duration(text: str) -> timedelta:
    """Parse a time such as 30m, or a number of seconds."""
    number = text
    unit = "s"
    if text[-1:] in _UNITS_BY_LETTER:
        number = text[:-1]
        unit = text[-1:]
    with suppress(OverflowError, ValueError):
        span = timedelta(**{_UNITS_BY_LETTER[unit]: float(number)})
        if span > timedelta(0):
            return span
    raise ArgumentTypeError(f"{text!r}: write a time above 0, such as 90s, 30m or 2h")


def parse_patience(text: str) -> timedelta:
    """Parse a time such as 12h, or 0."""
    return timedelta(0) if text == "0" else parse_duration(text)


def parse_pattern(text: str) -> re.Pattern[str]:
    """Parse a regular expression, or a glob."""
    try:
        return compile_pattern(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _make_number_parser(
    read: Callable[[str], Number],
    accepts: Callable[[Number], bool],
    example: str,
) -> Callable[[str], Number]:
    """Return a parser of numbers of some range."""

    def parse(text: str) -> Number:
        with suppress(ValueError):
            number = read(text)
            if accepts(number):
                return number
        raise ArgumentTypeError(f"{text!r}: write {example}")

    return parse


parse_whole_number = _make_number_parser(
    int, lambda number: 0 < number < 10**15, "a whole number above 0"
)
parse_depth = _make_number_parser(
    int, lambda number: 0 < number <= MAX_DEPTH, f"a number from 1 to {MAX_DEPTH}"
)
parse_seconds = _make_number_parser(
    float, lambda n: 0 < n < math.inf, "a number above 0, such as 2.5"
)
parse_delay = _make_number_parser(
    float, lambda n: 0 <= n < math.inf, "a number of seconds, such as 0.5"
)


def parse_pages(text: str) -> int | str:
    """Parse how many pages are visited: a number, or "all"."""
    if text == "all":
        return text
    return _make_number_parser(
        int, lambda number: 0 <= number < 10**15, "a number, 0 or all"
    )(text)


def parse_ports(text: str) -> range:
    """Parse a port, or the first and the last of several, as 8000-8009."""
    first, _, last = text.partition("-")
    with suppress(ValueError):
        ports = range(int(first), int(last or first) + 1)
        if ports and ports[0] > 0 and ports[-1] <= MAX_PORT:
            return ports
    raise ArgumentTypeError(f"{text!r}: write a port, or several as 8000-8009")


def parse_shard(text: str) -> tuple[int, int]:
    """Parse one shard of several, as 3/16; return its number from 0 and their count."""
    number, slash, shards = text.partition("/")
    if not slash or parse_whole_number(number) > parse_whole_number(shards):
        raise ArgumentTypeError(
            f"{text!r}: write the number of the shard and of all shards, such as 3/16"
        )
    return int(number) - 1, int(shards)


def parse_header(text: str) -> tuple[str, str]:
    """Parse a header, `Name: value`."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():  # the text is not quoted: it may be a secret
        raise ArgumentTypeError("write a header as 'Name: value'")
    try:
        FetchOptions(headers={name.strip(): value.strip()})
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return name.strip(), value.strip()


def parse_pair(text: str) -> tuple[str, str]:
    """Parse two hosts, `A=B`."""
    name, _, target = text.partition("=")
    if not (name and target):
        raise ArgumentTypeError(
            f"{text!r}: write A=B, as in www.example.org=staging.example.org"
        )
    return name, target


def parse_proxy(text: str) -> str:
    """Parse the URL of a proxy; without a scheme it means http, as in curl."""
    if text == PROXIES_OF_ENVIRONMENT or "://" in text:
        return text
    return f"http://{text}"


def parse_base_url(text: str) -> str:
    """Parse the URL at which a folder or a file would be served."""
    from sitemapreader._types.urls import has_web_scheme, parse_url  # noqa: PLC0415 (not for --help)

    if not has_web_scheme(text) or parse_url(text) is None:
        raise ArgumentTypeError(
            f"{text!r}: write a full URL, such as https://example.org/"
        )
    return text


def parse_file(text: str) -> str:
    """Parse the name of a file."""
    if not text:  # usually an unset variable of a script
        raise ArgumentTypeError("the name of the file is empty: write one")
    if text.startswith("file:"):
        raise ArgumentTypeError(f"{text!r}: write the path of the file, without file:")
    if "://" in text:
        raise ArgumentTypeError(
            f"{text!r} is a URL: write the path of a file on this machine"
        )
    return text


def parse_fields(text: str) -> tuple[str, ...]:
    """Parse names that are separated by commas."""
    return tuple(name.strip() for name in text.split(","))


def parse_reasons(text: str) -> tuple[str, ...]:
    """Parse codes of Issues that are errors, which are separated by commas."""
    errors = [str(code) for code in IssueCode if code.severity is Severity.ERROR]
    names = parse_fields(text)
    for name in names:
        if name not in errors:
            raise ArgumentTypeError(
                f"{name!r} is not the code of an error:{suggest(name, errors)} write codes such "
                "as template,http-status"
            )
    return names
