"""When another request for the same document can help, and how long to wait before it."""

from __future__ import annotations

import asyncio
import random
import re
import socket
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.errors import FetchError
from sitemapreader.fetch.headers import parse_date
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from sitemapreader.options import FetchOptions

T = TypeVar("T")

ASK_LATER = frozenset({429, 503})
"""The statuses whose Retry-After is an order (RFC 6585, section 4; RFC 9110, section 15.6.4)."""

_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_MAX_DIGITS = 10
"""Three hundred years; more digits mean "never" and are not worth reading."""


async def fetch_again(fetch: Callable[[], Awaitable[T]], options: FetchOptions) -> tuple[T, int]:
    """Call `fetch`, again where that can help; return what it gives, and how often it was called.

    Nothing is logged, and no setting of the process has a say: how often it was tried goes with
    what comes of it.

    Raises:
        FetchError: the last one; its `tries` say how often it was called.
    """
    for number in count(1):
        try:
            return await fetch(), number
        except FetchError as error:
            error.tries = number
            if number >= options.tries or not can_pass(error):
                raise
            wait = error.retry_after_seconds
        await asyncio.sleep(pause_after(number, options) if wait is None else wait)
    raise AssertionError("`count` has no end")


def can_pass(error: FetchError) -> bool:
    """Tell whether another try can help.

    Faults of the line and of the server's side pass; what the server says of the request does not.
    A time-out is not tried again: it has cost its time, and a server in need has no use for more.
    """
    if error.code is IssueCode.HTTP_STATUS:
        status = error.http_status or 0
        return status in ASK_LATER or 500 <= status < 600
    if error.code is IssueCode.DNS:
        return getattr(error.__cause__, "errno", None) == socket.EAI_AGAIN
    return error.code is IssueCode.CONNECT


def pause_after(number: int, options: FetchOptions) -> float:
    """Return the seconds after so many tries, where the server has not named them.

    They double, with as much again by chance, so that those who failed together do not come back
    together; they are never longer than a Retry-After may be.
    """
    first = options.retry_wait_seconds
    longest = max(first, options.retry_after_seconds)
    factor = 2.0 ** min(number - 1, 32) + random.random()  # noqa: S311 (chance, not secrecy)
    return min(longest, first * factor)


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Read a Retry-After header (RFC 9110, section 10.2.3): seconds from `now`, or `None`.

    A date that has passed is 0. Anything else, negative or non-ASCII numbers included, is as if
    the header were not there.
    """
    text = text.strip(" \t")
    if _SECONDS.fullmatch(text):
        return float(text if len(text) <= _MAX_DIGITS else "9" * _MAX_DIGITS)
    moment = parse_date(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())
