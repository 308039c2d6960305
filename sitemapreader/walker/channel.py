"""The bounded queue of batches between the readers and the consumer of a walk.

It is bounded so that a slow consumer slows the readers, and through them the servers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, Generic, TypeVar

from sitemapreader.event_loop import LoopClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

T = TypeVar("T")


class Channel(Generic[T]):
    """A queue of batches, bounded by weight, for many producers and one consumer.

    While the channel is not full, a batch of any weight gets in. Producers that wait for room get
    in in the order in which they came.

    Attributes:
        offered: batches that were put in or wait for room.
        taken: batches that were taken out.
        pause: entered while a producer waits for room.
    """

    def __init__(self, capacity: int) -> None:
        self.offered = 0
        self.taken = 0
        self.pause: Callable[[], AbstractContextManager[object]] = nullcontext
        self._capacity = capacity
        self._batches: deque[tuple[T, int]] = deque()
        self._weight = 0
        self._closed = False
        self._producers = asyncio.Lock()
        self._room = asyncio.Event()
        self._filled = asyncio.Event()
        self._starved = asyncio.Event()

    async def put(self, batch: T, weight: int) -> None:
        """Add a batch; wait while the channel is full. After `close`, batches are dropped."""
        self.offered += 1
        async with self._producers:
            while self._weight >= self._capacity and not self._closed:
                self._room.clear()
                with self.pause():
                    await self._room.wait()
        if self._closed:
            return
        is_awaited = self._starved.is_set()
        self._batches.append((batch, weight))
        self._weight += weight
        self._filled.set()
        if is_awaited:
            # The consumer runs first: the producer may do much before it waits for anything.
            await asyncio.sleep(0)

    async def get(self) -> T | None:
        """Return the next batch, or `None` when there are no more."""
        while not self._batches:
            if self._closed:
                return None
            self._filled.clear()
            self._starved.set()
            try:
                await self._filled.wait()
            finally:  # a consumer whose wait has timed out asks for nothing
                self._starved.clear()
        batch, weight = self._batches.popleft()
        self.taken += 1
        self._weight -= weight
        if self._weight < self._capacity:
            self._room.set()
        LoopClock.of_running_loop().hand_over()
        return batch

    def drain(self) -> list[T]:
        """Remove and return all batches, without waiting."""
        batches = [batch for batch, _ in self._batches]
        self._batches.clear()
        self.taken += len(batches)
        self._weight = 0
        self._room.set()
        return batches

    async def wait_until_dry(self) -> int:
        """Wait until the consumer asks for a batch while there is none; return `taken`."""
        await self._starved.wait()
        return self.taken

    def close(self) -> None:
        """Let no more batches in; the consumer can still read the batches inside."""
        self._closed = True
        self._filled.set()
        self._room.set()
