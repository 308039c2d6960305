"""When another request for the same document can help, and how long to wait before it."""

from __future__ import annotations

import logging
import re
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import stamina

from sitemapreader.errors import FetchError
from sitemapreader.fetch.breaker import BREAKER
from sitemapreader.fetch.headers import parse_date
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sitemapreader.options import FetchOptions

T = TypeVar("T")

RETRY_AFTER_STATUSES = frozenset({429, 503})
"""The statuses whose Retry-After is an order (RFC 6585, section 4; RFC 9110, section 15.6.4)."""

_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_MAX_DIGITS = 10
"""Three hundred years; more digits mean "never" and are not worth reading."""


def _is_not_ours(record: logging.LogRecord) -> bool:
    return not str(getattr(record, "stamina.callable", "")).startswith(f"{__name__}.")


# stamina logs each retry; of ours, the document's outcome tells
logging.getLogger("stamina").addFilter(_is_not_ours)


async def fetch_with_retries(
    fetch: Callable[[], Awaitable[T]], options: FetchOptions, url: str = ""
) -> tuple[T, int]:
    """Call `fetch`, again where that can help; return what it gives, and how often it was called.

    Where the server has not named the seconds between two tries, they double, with some more by
    chance, so that those who failed together do not come back together. `url` is what a walk's
    breaker knows the document by.

    Raises:
        FetchError: the last one; its `tries` say how often it was called.
    """
    tries = 0
    wait = options.retry_wait_seconds

    @stamina.retry(
        on=wait_before_retry,
        attempts=options.max_attempts,
        timeout=None,
        wait_initial=wait,
        wait_max=max(wait, options.retry_after_seconds),
        wait_jitter=wait,
    )
    async def fetch_once() -> T:
        nonlocal tries
        tries += 1
        try:
            return await fetch()
        except FetchError as error:
            error.tries = tries
            breaker = BREAKER.get()
            if breaker is not None and wait_before_retry(error) is not False:
                breaker.note_attempt(url, error)
            raise

    return await fetch_once(), tries


def wait_before_retry(error: Exception) -> bool | float:
    """Tell whether another try can help; seconds where the server has named them.

    Faults of the line and of the server's side pass; what the server says of the request does not.
    A time-out is not tried again: it has cost its time, and a server in need has no use for more.
    """
    if not isinstance(error, FetchError):
        return False
    if error.code is IssueCode.HTTP_STATUS:
        if error.retry_after_seconds is not None:
            return error.retry_after_seconds
        status = error.http_status or 0
        return status in RETRY_AFTER_STATUSES or 500 <= status < 600
    if error.code is IssueCode.DNS:
        return getattr(error.__cause__, "errno", None) == socket.EAI_AGAIN
    return error.code is IssueCode.CONNECT


def read_retry_after(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds for which an answer asks to be left alone, or `None`."""
    if status in RETRY_AFTER_STATUSES and "retry-after" in headers:
        return parse_retry_after(headers["retry-after"], datetime.now(UTC))
    return None


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
