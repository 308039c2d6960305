"""The part of a walk that remembers: asks the state what is known, and writes down what happens.

What was handed over is written down when the consumer asks for more, and not before: that is its
receipt. So a walk that is killed goes on with the batch that the consumer had in hand; this one
batch may come twice, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.errors import StateError
from sitemapreader.state.book import Book
from sitemapreader.urls import url_key
from sitemapreader.walker.signature import name_of, options_of
from sitemapreader.walker.track import Track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sitemapreader.models import SitemapEntry
    from sitemapreader.state import State
    from sitemapreader.visits.trip import Batch
    from sitemapreader.walker.channel import Channel
    from sitemapreader.walker.plan import Plan

T = TypeVar("T")

_SYNC_SECONDS = 1.0


class Recorder:
    """What one walk has to do with its state.

    Attributes:
        plan: what the walk is asked to do.
        name: under which the state has the site.
        believed_seconds: how long an index is believed that says a child is as it was.
    """

    def __init__(self, state: State, plan: Plan, channel: Channel[Batch]) -> None:
        self.plan = plan
        self.name = name_of(plan)
        self.believed_seconds = state.revalidate_after.total_seconds()
        self._channel = channel
        self._book = Book(state.path, self.name, options_of(plan), lists=plan.changes)
        self._received = 0
        self._due: deque[tuple[int, Callable[[], None]]] = deque()
        self._is_synced = True

    @property
    def is_resumed(self) -> bool:
        """Whether the walk goes on where another one was stopped."""
        return self._book.run.is_resumed

    @property
    def renamed(self) -> str:
        """What an unusable file that was in the state's place is called now, or ""."""
        return str(self._book.renamed or "")

    def close(self) -> None:
        """Let go of the file."""
        self._book.close()

    # -- the walk

    async def begin(self) -> None:
        """Begin a walk, or go on with one that was stopped."""
        await self._elsewhere(self._book.begin)

    async def finish(self, *, complete: bool, listed: Iterable[str]) -> int | None:
        """Wait until the consumer has taken all; then settle, and return how many URLs are gone."""
        await self._channel.run_dry()
        self.receive()
        finish = functools.partial(self._book.finish, complete=complete, listed=listed)
        removed = await self._elsewhere(finish)
        await self._elsewhere(self._book.sync)
        return removed

    async def keep_synced(self) -> None:
        """Bring onto the disk what was written, once a second, until it is cancelled."""
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            if not self._is_synced:
                self._is_synced = True
                await self._elsewhere(self._book.sync)

    async def _elsewhere(self, work: Callable[[], T]) -> T:
        """Have something done in a thread; it is ended, and waited for, if nobody wants it more."""
        task = asyncio.create_task(asyncio.to_thread(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            while not task.done():
                self._book.interrupt()
                with suppress(asyncio.CancelledError, StateError):
                    await asyncio.wait([task], timeout=0.05)
            if not task.cancelled():
                task.exception()
            raise

    # -- receipts

    def receive(self) -> None:
        """Take note that the consumer asks for more: it is through with all that it was given."""
        self._received = self._channel.taken
        self._write_due()

    def post(self, write: Callable[[], None]) -> None:
        """Have something written down when the consumer is through with all that was sent."""
        self._due.append((self._channel.sent, write))
        if self._channel.sent <= self._received:
            self._write_due()

    def _write_due(self) -> None:
        due = self._due
        if not due or due[0][0] > self._received:
            return
        with self._book.transaction():
            while due and due[0][0] <= self._received:
                due.popleft()[1]()
        self._is_synced = False

    # -- documents

    def track(self, entry: SitemapEntry) -> Track:
        """Return what is known of a sitemap, and the one who writes down what becomes of it."""
        return Track(self, self._book.open_account(url_key(entry.loc)), entry)

    def delivered(self) -> Iterator[list[str]]:
        """Yield the URLs that were handed over before the walk was stopped."""
        return self._book.delivered()
