"""Attempts at a partition, and the lease that only one of them can hold.

An engine may start a partition twice, or take a living worker for dead. Each attempt creates a
file of its own, numbered, and renews it while it works. A later attempt waits until no earlier one
is renewed any more: it looks at their content, so no two clocks are compared.
"""

from __future__ import annotations

import asyncio
import faulthandler
import secrets
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self, TypeVar

from sitemapreader.distributed.layout import name_attempts, write_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from sitemapreader.distributed.storage import Storage

T = TypeVar("T")

_RENEWALS = 4
"""How often an attempt is renewed in the time after which it counts as dead."""
_LOOKS = 20
"""How often a later attempt looks at the earlier ones in that time."""


class LostLeaseError(Exception):
    """An attempt that was not renewed in time, so that another one may be at work."""


class PartitionAttempt:
    """One attempt at a partition.

    Attributes:
        number: its number; names all files that it writes.
        died: how many earlier attempts ended without saying so, as far as is known.
    """

    def __init__(self, storage: Storage, folder: str, number: int, lease_seconds: float) -> None:
        self.number = number
        self.died = 0
        self._storage = storage
        self._folder = folder
        self._lease_seconds = lease_seconds
        self._beats = 0
        self._token = secrets.token_hex(4)
        self._renewed = time.monotonic()

    @classmethod
    def begin(cls, storage: Storage, run: str, partition: int, lease_seconds: float) -> Self:
        """Create the file of the next attempt."""
        folder = name_attempts(run, partition)
        while True:
            number = max(_list_numbers(storage, folder), default=0) + 1
            attempt = cls(storage, folder, number, lease_seconds)
            if storage.create(f"{folder}/{number:04}", attempt._describe()):
                return attempt

    async def hold(self, work: Coroutine[None, None, T]) -> T:
        """Do the work once no earlier attempt is at work; renew the lease meanwhile.

        Raises what the work raises, and LostLeaseError if it could not be renewed in time.
        """
        try:
            async with asyncio.TaskGroup() as group:
                renewal = group.create_task(self._renew_always())
                task = group.create_task(self._wait_and_do(work))
                task.add_done_callback(lambda _: renewal.cancel())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # the first one cancels the other task
        finally:
            work.close()
            await asyncio.to_thread(self._write, ended=True)
        return task.result()

    async def _wait_and_do(self, work: Coroutine[None, None, T]) -> T:
        await self.wait_for_earlier()
        return await work

    async def wait_for_earlier(self) -> None:
        """Wait until no earlier attempt is at work."""
        seen: dict[int, tuple[bytes | None, float]] = {}
        while True:
            living, self.died = 0, 0
            for number in await asyncio.to_thread(_list_numbers, self._storage, self._folder):
                if number >= self.number:
                    continue
                content = await asyncio.to_thread(self._storage.read, f"{self._folder}/{number:04}")
                if content is None or b'"ended": true' in content:
                    continue
                now = time.monotonic()
                known, since = seen.get(number, (b"", now))
                seen[number] = (content, since if content == known else now)
                is_dead = content == known and now - since >= self._lease_seconds
                living += not is_dead
                self.died += is_dead
            if not living:
                return
            await asyncio.sleep(self._lease_seconds / _LOOKS)

    async def _renew_always(self) -> None:
        while True:
            await asyncio.sleep(self._lease_seconds / _RENEWALS)
            if time.monotonic() - self._renewed > self._lease_seconds:
                raise LostLeaseError(
                    f"attempt {self.number} of {self._folder} was not renewed for "
                    f"{self._lease_seconds:g} s: another one may have begun"
                )
            await asyncio.to_thread(self._write)

    def _write(self, *, ended: bool = False) -> None:
        began = time.monotonic()
        self._beats += 1
        self._storage.replace(f"{self._folder}/{self.number:04}", self._describe(ended=ended))
        self._renewed = began

    def _describe(self, *, ended: bool = False) -> bytes:
        return write_json({"token": self._token, "beats": self._beats, "ended": ended})


def _list_numbers(storage: Storage, folder: str) -> list[int]:
    return [int(name) for name in storage.list(folder) if name.isdecimal()]


@asynccontextmanager
async def kill_when_stuck(seconds: float) -> AsyncIterator[None]:
    """End the process when its event loop has been stuck for too long.

    A stuck worker cannot renew its attempts, and would continue when it recovers. A thread that
    needs no interpreter lock ends the process, even while a regular expression runs for ever.
    """

    async def watch() -> None:
        while True:
            faulthandler.dump_traceback_later(seconds, exit=True)
            await asyncio.sleep(seconds / _RENEWALS)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        faulthandler.cancel_dump_traceback_later()
