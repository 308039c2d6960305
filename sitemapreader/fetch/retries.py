"""Retries: which failures are worth another request, and how long to wait."""

from __future__ import annotations

import asyncio
import random
import re
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.errors import FetchError
from sitemapreader.fetch.headers import parse_date
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sitemapreader.fetch.breaker import HostBreaker
    from sitemapreader.options import FetchOptions

T = TypeVar("T")

RETRY_AFTER_STATUSES = frozenset({429, 503})
"""The statuses whose Retry-After is an order (RFC 6585, section 4; RFC 9110, section 15.6.4)."""

_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_MAX_DIGITS = 10
"""Three hundred years; more digits mean "never" and are not worth reading."""


async def fetch_with_retries(
    fetch: Callable[[], Awaitable[T]],
    options: FetchOptions,
    url: str = "",
    breaker: HostBreaker | None = None,
) -> tuple[T, int]:
    """Call `fetch` until it succeeds or a retry cannot help.

    Args:
        fetch: makes one attempt.
        options: how many attempts, and how long the pauses between them are.
        url: the document for which failures are counted.
        breaker: counts them, for the walk that asks.

    Returns:
        What `fetch` returned, and the number of attempts.

    Raises:
        FetchError: the last one; `tries` is the number of attempts.
    """
    attempts = 0
    while True:
        attempts += 1
        try:
            return await fetch(), attempts
        except FetchError as error:
            error.tries = attempts
            asked = wait_before_retry(error)
            if asked is False:  # not 0, for which a server may ask
                raise
            if breaker is not None:
                breaker.note_attempt(url, error)
            if attempts >= options.max_attempts:
                raise
        await asyncio.sleep(_choose_wait(attempts, options) if asked is True else asked)


def _choose_wait(attempts: int, options: FetchOptions) -> float:
    """Return the seconds to wait where the server asks for none: they double."""
    first = options.retry_wait_seconds
    # The random part keeps clients that failed together from coming back together.
    wait = first * 2.0 ** min(attempts - 1, 60) + random.uniform(0, first)  # noqa: S311 (no secret)
    return min(wait, max(first, options.retry_after_seconds))


def wait_before_retry(error: BaseException | None) -> bool | float:
    """Return whether a retry can help; return seconds if the server has named them.

    Failures of the connection and of the server pass; a refusal of the request does not.
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
    # Not TIMEOUT: it has cost its time, and an overloaded server has no use for more requests.
    return error.code is IssueCode.CONNECT


def read_retry_after(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks for, or `None`."""
    if status in RETRY_AFTER_STATUSES and "retry-after" in headers:
        return parse_retry_after(headers["retry-after"], datetime.now(UTC))
    return None


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Parse a Retry-After header: seconds from `now`, or `None`.

    RFC 9110, section 10.2.3.

    A date in the past is 0. Anything else, such as a negative or non-ASCII number, is ignored.
    """
    text = text.strip(" \t")
    if _SECONDS.fullmatch(text):
        return float(text if len(text) <= _MAX_DIGITS else "9" * _MAX_DIGITS)
    moment = parse_date(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())
