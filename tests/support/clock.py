"""A clock that tests set: days pass between two walks."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

HOUR = 3_600.0
DAY = 24 * HOUR


class SetClock:
    """The time of the process; waiting and time limits have a clock of their own.

    Attributes:
        now: seconds since 1970.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, now: float = 1_790_000_000.0
    ) -> None:
        self.now = now
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(
            time, "time_ns", lambda: round(self.now * 1_000_000) * 1_000
        )


class PassingTime:
    """Stands in for `asyncio` in what waits: its waits are over at once.

    Attributes:
        passed: seconds since the beginning.
    """

    Event = asyncio.Event

    def take_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let a watch wait for it."""
        monkeypatch.setattr("sitemapreader._many.asyncio", self)

    def __init__(self) -> None:
        self.passed = 0.0

    def get_running_loop(self) -> PassingTime:
        """Return the clock by which the module waits."""
        return self

    def time(self) -> float:
        """Return the seconds since the beginning."""
        return self.passed

    async def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.passed += seconds
        await asyncio.sleep(0)
