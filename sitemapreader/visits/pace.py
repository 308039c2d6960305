"""How long reading holds up the event loop: all readers of a walk together, not each of them."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTERVAL_SECONDS = 0.005
"""Time in which everybody else has a turn; one step of a reader takes half a millisecond."""


class Pace:
    """Readers that share the time of one event loop."""

    def __init__(self) -> None:
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[Turn]:
        """Take part for as long as a document is read."""
        self._readers += 1
        try:
            yield Turn(self)
        finally:
            self._readers -= 1

    def share(self) -> float:
        """Return the seconds that each reader has in one turn of the loop."""
        return _INTERVAL_SECONDS / self._readers


class Turn:
    """The time of one reader; it asks between two steps whether that is over."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._clock = asyncio.get_running_loop().time
        self.begin()

    def begin(self) -> None:
        """Begin a turn: others have just had theirs."""
        self._end = self._clock() + self._pace.share()

    @property
    def is_over(self) -> bool:
        """Whether it is time for the others."""
        return self._clock() > self._end

    async def pass_on(self) -> None:
        """Let the others have their turn."""
        await asyncio.sleep(0)
        self.begin()
