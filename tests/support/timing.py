"""Measures of time that a slow or a busy machine cannot make fail."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
P = ParamSpec("P")

ROUNDS = 30
MAX_GROWTH = 9.0
"""Four times the input takes 4 times as long if time is linear, 16 times if it is square."""
LEAST_SECONDS = 0.0005
"""What takes less is cheap at any size: a clock cannot tell how it grows."""
_REFERENCE_SECONDS = 0.0025
"""What the reference takes on the machine for which limits are written (AMD EPYC, CPython 3.11)."""


def least_seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the CPU seconds of the fastest of some rounds: other work only makes it slower."""
    least = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        work()
        least = min(least, time.thread_time() - start)
    return least


def is_linear(
    work: Callable[[T], object], small: T, large: T, rounds: int = ROUNDS
) -> bool:
    """Tell whether time grows with the input, not with its square.

    Rounds go on as long as the answer is no: more rounds only take away what other work adds.

    Args:
        work: what is measured.
        small: its input.
        large: four times as much input.
        rounds: how many there are at most; few do where the answer is to be no.
    """
    least = {False: float("inf"), True: float("inf")}
    for _ in range(rounds):
        for is_large, data in ((False, small), (True, large)):
            start = time.thread_time()
            work(data)
            least[is_large] = min(least[is_large], time.thread_time() - start)
        if least[True] < MAX_GROWTH * max(least[False], LEAST_SECONDS):
            return True
    return False


def is_within(seconds: float, limit: float) -> bool:
    """Tell whether a time keeps to a limit, on a machine as slow as this one is now."""
    return seconds < limit or seconds < limit * slowness()


def is_below(limit: float, measure: Callable[[], float]) -> bool:
    """Tell whether a measured time stays below a limit, on a machine as slow as this one is now.

    Rounds go on as long as the answer is no.
    """
    return any(is_within(measure(), limit) for _ in range(ROUNDS))


def retried(test: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Run a test again if it fails: it waits so shortly that a busy machine takes longer."""

    @wraps(test)
    async def run(*arguments: P.args, **options: P.kwargs) -> None:
        for _ in range(ROUNDS - 1):
            with suppress(AssertionError, TimeoutError):
                return await test(*arguments, **options)
        return await test(*arguments, **options)

    return run


def slowness() -> float:
    """Return how many times slower this machine is, now, than the one limits are written for."""
    return max(1.0, least_seconds(_reference) / _REFERENCE_SECONDS)


def _reference() -> int:
    """Do some work of the kind that reading is."""
    words = re.findall(
        r"<(\w+)>([^<]*)</\1>", "<loc>https://example.org/1</loc>" * 10_000
    )
    return len({f"{name}{number}": text for number, (name, text) in enumerate(words)})
