"""Turns: tasks of one key run one after another, those of different keys at once."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

T = TypeVar("T")

_MOST_PARKED = 100_000
"""Tasks that may wait for another one of their key, before the source is read no further: 10 MB of
names. Tasks of other keys behind them would have to wait as well."""


class TaskTurns(Generic[T]):
    """The tasks of a source, which is read only as far as there is work.

    Args:
        at_once: how many tasks run at the same time.
        find_key: returns the key of a task; tasks without one ("") wait for none.
        work: runs a task. An exception that it raises ends all tasks.
    """

    def __init__(
        self,
        at_once: int,
        find_key: Callable[[T], Awaitable[str]],
        work: Callable[[T], Awaitable[None]],
    ) -> None:
        self._at_once = at_once
        self._find_key = find_key
        self._work = work
        self._ready: asyncio.Queue[tuple[str, T] | None] = asyncio.Queue(maxsize=1)
        self._parked: dict[str, deque[T]] = {}
        """Key of a task that runs -> the tasks that wait for it."""
        self._parked_number = 0
        self._room = asyncio.Event()
        self._workers = 0
        self._group = asyncio.TaskGroup()

    async def run(self, source: AsyncGenerator[T, None]) -> None:
        """Run all tasks of a source, and close it."""
        async with self._group, aclosing(source):
            async for task in source:
                key = await self._find_key(task)
                if key and key in self._parked:
                    await self._park(key, task)
                    continue
                if key:
                    self._parked[key] = deque()
                if self._workers < self._at_once:
                    self._start_worker()
                await self._ready.put((key, task))
            while self._workers:
                await self._ready.put(None)

    def open_room(self) -> None:
        """Let one more task run until `close_room`: one of those that run only waits."""
        self._at_once += 1
        self._start_worker()

    def close_room(self) -> None:
        """Undo one `open_room`."""
        self._at_once -= 1

    def _start_worker(self) -> None:
        self._workers += 1
        self._group.create_task(self._run_worker())

    async def _park(self, key: str, task: T) -> None:
        """Let a task wait for the one that runs; wait as well while too many wait."""
        self._parked[key].append(task)
        self._parked_number += 1
        while self._parked_number >= _MOST_PARKED:
            self._room.clear()
            await self._room.wait()

    async def _run_worker(self) -> None:
        while self._workers <= self._at_once and (turn := await self._ready.get()) is not None:
            key, task = turn
            await self._work(task)
            while key:
                waiting = self._parked[key]
                if not waiting:
                    del self._parked[key]
                    break
                self._parked_number -= 1
                self._room.set()
                await self._work(waiting.popleft())
        self._workers -= 1
