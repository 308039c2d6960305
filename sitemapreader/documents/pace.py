"""Who reads when: one reader of a walk at a time, and the rest of the event loop in between.

The readers do not each do a little in every turn of the loop. What one of them works with fits into
the cache of a processor, what ten of them work with does not: that took 10 % of a walk.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTERVAL_SECONDS = 0.005
"""Time in which everybody else has a turn; one step of a reader takes half a millisecond."""
_FLOOR_SECONDS = 0.02
"""Time after which another reader has the floor."""


class Pace:
    """The one floor that the readers of a walk share, and the time that its other loops take."""

    def __init__(self) -> None:
        self._floor = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._begin_interval()

    async def yield_if_due(self) -> None:
        """Let everybody else run, if the loops of this walk have run for a while.

        For loops that may wait for nothing for thousands of rounds.
        """
        if self._loop.time() < self._over_at:
            return
        # Tasks that are ready now have their turn before this, find the time over as well, and
        # yield at once: so all of them together take one interval in a round of the event loop.
        self._loop.call_soon(self._begin_interval)
        await asyncio.sleep(0)

    def _begin_interval(self) -> None:
        self._over_at = self._loop.time() + _INTERVAL_SECONDS

    @contextmanager
    def reading(self) -> Iterator[Turn]:
        """Take part for as long as a document is read."""
        turn = Turn(self._floor)
        try:
            yield turn
        finally:
            turn.end()


class Turn:
    """The time of one reader; it asks between two steps whether that is over."""

    def __init__(self, floor: asyncio.Lock) -> None:
        self._floor = floor
        self._has_floor = False
        self._leaving: asyncio.Handle | None = None
        self._loop = asyncio.get_running_loop()
        self._clock = self._loop.time
        self._over_at = self._until = 0.0
        self._start()

    @property
    def is_over(self) -> bool:
        """Whether it is time for the others."""
        return self._clock() > self._over_at

    async def begin(self) -> None:
        """Wait for the floor, unless it was not left in the meantime."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
            return
        is_free = not self._floor.locked()
        await self._floor.acquire()
        self._has_floor = True
        if not is_free:
            self._start()

    def rest(self) -> None:
        """Leave the floor if there is nothing more to read without waiting for it."""
        self._leaving = self._loop.call_soon(self.end)

    def end(self) -> None:
        """Leave the floor to the next reader, if one waits for it."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        if self._has_floor:
            self._has_floor = False
            self._floor.release()

    async def pass_on(self) -> None:
        """Let everybody else have their turn; the other readers only if it is time for them."""
        if self._clock() <= self._until:
            await asyncio.sleep(0)
            self._over_at = self._clock() + _INTERVAL_SECONDS
            return
        self.end()
        await asyncio.sleep(0)
        await self.begin()
        self._start()

    def _start(self) -> None:
        now = self._clock()
        self._over_at = now + _INTERVAL_SECONDS
        self._until = now + _FLOOR_SECONDS
