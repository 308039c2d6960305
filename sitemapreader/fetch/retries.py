"""Retries: the requests for one document, until one succeeds or another cannot help."""

from __future__ import annotations

import asyncio
import math
import random
from typing import TYPE_CHECKING, TypeVar

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch.hosts import PAUSE_CODES, UNSENT_CODES
from sitemapreader.fetch.responses import may_pass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sitemapreader._types.options import FetchOptions
    from sitemapreader.fetch.client import RequestOptions
    from sitemapreader.fetch.hosts import Host

T = TypeVar("T")


async def try_often(
    request: Callable[[], Awaitable[T]],
    url: str,
    options: FetchOptions,
    request_options: RequestOptions,
) -> tuple[T, int]:
    """Request a document until it succeeds or a retry cannot help.

    Return the response and the number of requests. Raises the last FetchError, with that number.
    """
    attempts = 0
    status = None
    while True:
        attempts += 1
        try:
            return await request(), attempts
        except FetchError as error:
            error.tries = attempts
            is_deferred = error.code in PAUSE_CODES or _is_deferred(error)
            is_unsent = error.code in UNSENT_CODES or is_deferred
            if is_unsent and not error.redirects:
                error.tries = attempts - 1
            if is_deferred:
                error.http_status = status
            if not may_pass(error):
                raise
            breaker = request_options.get("breaker")
            if breaker is not None:
                breaker.note_error(url, error, is_last=False)
            if attempts >= options.max_attempts:
                raise
            wait = error.retry_after_seconds
            status = error.http_status
        if wait is None:
            wait = _choose_wait(attempts, options)
        await asyncio.sleep(wait)


def count_seconds_left(request_options: RequestOptions) -> float:
    """Return the time in which a response is of use."""
    count = request_options.get("seconds_left")
    return math.inf if count is None else count()


def check_wait(
    host: Host, url: str, request_options: RequestOptions, wait: float
) -> None:
    """Raise FetchError if the host requested a wait that is too long, or the breaker does."""
    _, delay = host.rate
    # the time of a walk may end while it keeps the delay between two requests
    if wait > max(delay, count_seconds_left(request_options)):
        raise FetchError(
            IssueCode.RETRY_LATER,
            url,
            f"requested to wait for {wait:.0f} s",
            retry_after_seconds=wait,
        )
    breaker = request_options.get("breaker")
    if breaker is not None:
        breaker.check(url, wait)


def _is_deferred(error: FetchError) -> bool:
    """Return whether no request was sent, because the host had requested a wait before."""
    return error.code is IssueCode.RETRY_LATER and error.http_status is None


def _choose_wait(attempts: int, options: FetchOptions) -> float:
    """Return the seconds to wait without a Retry-After, which double with each attempt."""
    first = options.retry_wait_seconds
    # The random part prevents clients that failed together from retrying together.
    wait = first * (2.0 ** min(attempts - 1, 60) + random.random())  # noqa: S311 (no secret)
    return min(wait, max(first, options.retry_after_seconds))
