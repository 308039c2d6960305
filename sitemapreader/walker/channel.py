"""The way of the batches from the readers to the consumer.

It is bounded, so that a slow consumer slows the readers, and through them the servers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """A queue of batches that is full by what they weigh; one reads, many write.

    One batch always finds its way in when the channel is not full, however heavy it is. Those that
    wait for room get in in the order in which they came.

    Attributes:
        offered: how many batches were put in, or wait for room.
        taken: how many of them were taken out.
    """

    def __init__(self, capacity: int) -> None:
        self.offered = 0
        self.taken = 0
        self._capacity = capacity
        self._batches: deque[tuple[T, int]] = deque()
        self._weight = 0
        self._closed = False
        self._entrance = asyncio.Lock()
        self._room = asyncio.Event()
        self._filled = asyncio.Event()
        self._dry = asyncio.Event()

    async def put(self, batch: T, weight: int) -> None:
        """Add a batch; wait while the channel is full. What is put after `close` is dropped.

        A reader that waits for it has it before this returns: it is not to wait for all that the
        writer may do before it waits for anything.
        """
        self.offered += 1
        async with self._entrance:
            while self._weight >= self._capacity and not self._closed:
                self._room.clear()
                await self._room.wait()
        if self._closed:
            return
        is_awaited = self._dry.is_set()
        self._batches.append((batch, weight))
        self._weight += weight
        self._filled.set()
        if is_awaited:
            await asyncio.sleep(0)

    async def get(self) -> T | None:
        """Return the next batch, or `None` when there are no more."""
        while not self._batches:
            if self._closed:
                return None
            self._filled.clear()
            self._dry.set()
            await self._filled.wait()
            self._dry.clear()
        batch, weight = self._batches.popleft()
        self.taken += 1
        self._weight -= weight
        if self._weight < self._capacity:
            self._room.set()
        return batch

    def drain(self) -> list[T]:
        """Return all batches that are there, without waiting."""
        batches = [batch for batch, _ in self._batches]
        self._batches.clear()
        self.taken += len(batches)
        self._weight = 0
        self._room.set()
        return batches

    async def run_dry(self) -> None:
        """Wait until the consumer asks for a batch and there is none."""
        await self._dry.wait()

    def close(self) -> None:
        """Let no more batches in; those inside can still be read."""
        self._closed = True
        self._filled.set()
        self._room.set()
