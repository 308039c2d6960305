"""StateAccess: one open state file for all walks of an event loop that use it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.errors import StateError
from sitemapreader.event_loop import end_task, run_in_thread
from sitemapreader.state.database import StateFile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

T = TypeVar("T")

_SYNC_SECONDS = 1.0
_OPEN: dict[tuple[asyncio.AbstractEventLoop, Path], StateAccess] = {}
"""The files that walks of this process have open, by event loop."""


class StateAccess:
    """An open state file, which several walks use in turn; one connection, one check.

    Attributes:
        file: the file.
    """

    def __init__(self, path: Path, key: tuple[asyncio.AbstractEventLoop, Path]) -> None:
        self.file = StateFile(path)
        self._key = key
        self._turn = asyncio.Lock()
        self._users: set[str] = set()
        """Keys of the walks and runs that keep the file open."""
        self._is_synced = True
        self._syncing = asyncio.create_task(self._keep_synced(), name="sitemapreader.state")

    @classmethod
    def open(cls, path: Path, user: str) -> StateAccess:
        """Open a file, or share it with the walks of this event loop that have it open.

        Raises StateError: it cannot be used, another process or thread writes it, or another walk
            has the same site.
        """
        key = (asyncio.get_running_loop(), path.absolute())
        access = _OPEN.get(key)
        if access is None:
            access = _OPEN[key] = cls(path, key)
        elif user in access._users:
            raise StateError(
                path,
                "another walk is writing it: wait for its end, or give this one another file",
                is_locked=True,
            )
        access._users.add(user)
        return access

    async def close(self, user: str) -> None:
        """End a use; the last one closes the file."""
        self._users.discard(user)
        if self._users:
            return
        del _OPEN[self._key]
        try:
            await end_task(self._syncing)
        finally:
            self.file.close()

    def take_quarantined(self) -> str:
        """Return what an unusable file in this place is called now, once; else ""."""
        path, self.file.quarantined_as = self.file.quarantined_as, None
        return str(path or "")

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other walk reads or writes the file."""
        async with self._turn:
            if self._syncing.done() and not self._syncing.cancelled():
                self._syncing.result()  # a disk that failed
            self._is_synced = False
            yield

    async def sync_at_end(self) -> None:
        """Flush the file to the disk, unless another user will do that later."""
        if len(self._users) == 1:
            await self.sync()

    async def sync(self) -> None:
        """Flush the file to the disk."""
        await self.run_in_thread(self.file.sync)

    async def _keep_synced(self) -> None:
        """Flush the file to the disk once a second, until cancelled."""
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            if not self._is_synced:
                self._is_synced = True
                await self.sync()

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run work in a thread; when cancelled, interrupt it and wait for its end."""
        return await run_in_thread(work, self.file.connection.interrupt)
