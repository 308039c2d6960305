"""StateWriter: writes into the state what the consumer of a walk has acknowledged.

Entries are saved as delivered when the consumer acknowledges them: when it asks for the next batch,
or when its `Delivery` says so. A walk that was killed is resumed with the batch that the consumer
was handling. This one batch may come twice, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import attrs

from sitemapreader.errors import StateError
from sitemapreader.event_loop import end_task, run_in_thread
from sitemapreader.state import State, name_of_sitemaps, pages, schedule
from sitemapreader.state.database import StateFile
from sitemapreader.state.rows import Findings, RunOutcome, as_moment
from sitemapreader.state.store import SiteStore
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from sitemapreader.discovery.context import Batch
    from sitemapreader.fetch.local import StoredResponse
    from sitemapreader.state.pages import DuePage
    from sitemapreader.state.schedule import Round
    from sitemapreader.state.store import DocumentStore
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.stream import Channel

T = TypeVar("T")
Told: TypeAlias = Literal["unlisted", "gone"]

_SYNC_SECONDS = 1.0
_OPEN: dict[tuple[asyncio.AbstractEventLoop, Path], StateAccess] = {}
"""The files that walks of this process have open, by event loop."""


class StateAccess:
    """An open state file, which several walks use in turn; one connection, one check."""

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

    async def ask(self, query: Callable[[Any], T]) -> T:
        """Return what a short function of `state.schedule` finds in the file."""
        async with self.turn():
            with self.file.guard():
                return query(self.file.connection)

    async def share_turns(
        self, number: int, clock: Callable[[], float], names: Collection[str] | None
    ) -> SharedTurns:
        """Return what is due of many sites, so many documents together: see `plan_sites`."""
        plan_sites = functools.partial(schedule.plan_sites, number=number, now=clock(), names=names)
        return SharedTurns(self, clock, await self.ask(plan_sites))

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


@attrs.frozen
class SharedTurns:
    """What a run over many sites asks for, of those that its state knows."""

    _access: StateAccess
    _clock: Callable[[], float]
    _due: Mapping[str, frozenset[str]]

    async def find_due(self, name: str) -> frozenset[str] | None:
        """Return which documents of a site are due; `None` for all of them."""
        if (due := self._due.get(name)) is not None:
            return due
        unknown = await self._access.ask(
            functools.partial(schedule.find_unscheduled, names=[name], now=self._clock())
        )
        return None if unknown else frozenset()

    async def find_next(self, name: str) -> dict[str, Any]:
        """Return when a site has its next turn, as fields of `SiteOutcome`."""
        find_turn = functools.partial(schedule.find_turn, name=name, now=self._clock())
        due, waiting = await self._access.ask(find_turn)
        return {"waiting": waiting, "due": as_moment(due)}


# -- one walk's writer

_FEW_DOCUMENTS = 200
"""Sitemaps of a site that are compared with the state at once, in a few milliseconds."""
_CHUNKS_PER_CHECK = 64
"""Unsaved chunks after which the delivery must report what has arrived."""


class Delivery(Protocol):
    """A destination behind the consumer that may lose entries, as a pipe does."""

    def note(self, taken: int) -> None:
        """Record that the consumer has handled so many batches."""
        ...

    def arrived(self) -> int:
        """Return how many batches have arrived."""
        ...

    async def settle(self) -> None:
        """Wait until all batches have arrived; raise OSError if they cannot."""
        ...


def state_key(config: WalkConfig) -> str:
    """Return the key of what is walked in a state."""
    if config.search is not None and not config.sitemaps:
        return url_key(config.search.site)
    named = [entry.loc for entry in config.sitemaps]
    return name_of_sitemaps([config.search.site, *named] if config.search else named)


class StateWriter:
    """The writer of one walk's state."""

    def __init__(self, state: State, config: WalkConfig, channel: Channel[Batch]) -> None:
        self.config = config
        self.name = state_key(config)
        self.trust_seconds = state.revalidate_after.total_seconds()
        self.delivery: Delivery | None = None
        self._channel = channel
        self._access = StateAccess.open(state.path, self.name)
        self.quarantined_as = self._access.take_quarantined()
        self._store = SiteStore(
            self._access.file,
            self.name,
            rules=state.rules,
            changes=config.changes,
            clock=state.clock,
        )
        self.clock = state.clock
        self.seen = self._store.seen
        self._acknowledged = 0
        self._due: deque[tuple[int, Callable[[], None]]] = deque()

    @property
    def is_resumed(self) -> bool:
        """Whether the walk resumes an interrupted one."""
        return self._store.run.is_resumed

    @property
    def round(self) -> Round | None:
        """What is due, if only that is asked for."""
        return self._store.round

    async def close(self) -> None:
        """End this walk's use of the file; the last one closes it."""
        await self._access.close(self.name)

    # -- the walk

    async def begin(self) -> None:
        """Begin a walk, or resume an interrupted one."""
        async with self._access.turn():
            await self._do(functools.partial(self._store.begin, self.config.revisit))

    async def find_kept(self, url: str) -> StoredResponse | None:
        """Return the answer that a round may use for a URL."""
        async with self._access.turn():
            return self._store.find_kept(url_key(url))

    async def keep(self, url: str, answer: StoredResponse) -> None:
        """Keep an answer for the rounds of a day."""
        async with self._access.turn():
            self._store.keep(url_key(url), answer)

    async def finish(
        self, *, complete: bool, listed: Mapping[str, bool], knows_all: bool
    ) -> Findings | None:
        """Wait until the consumer has all; then end the run, and return what is missing.

        For the arguments see `RunOutcome`.
        """
        outcome = RunOutcome(complete, listed, knows_all)
        await self.settle(await self._channel.wait_until_dry())
        async with self._access.turn():
            is_long = len(listed) > _FEW_DOCUMENTS
            found = await self._do(functools.partial(self._store.finish, outcome), is_long=is_long)
        await self._access.sync_at_end()
        return found

    async def _do(self, work: Callable[[], T], *, is_long: bool = False) -> T:
        """Do work on the file: at once if it is little, else in a thread."""
        if is_long or self._store.may_take_long():
            return await self._access.run_in_thread(work)
        return work()

    # -- unlisted URLs and their pages

    async def find_untold(self, what: Told) -> list[tuple[bytes, Any]]:
        """Return some of what is unlisted or gone and was not delivered as such, by keys."""
        find = pages.find_untold if what == "unlisted" else pages.find_untold_gone
        return await self._ask(find)

    def find_now(self, what: Told) -> list[tuple[bytes, Any]]:
        """Do what `find_untold` does, without waiting for others."""
        find = pages.find_untold if what == "unlisted" else pages.find_untold_gone
        with self._store.file.guard():
            return find(self._store.db, self._store.run.site)

    def tell_now(self, what: Told, keys: Collection[bytes]) -> None:
        """Record that URLs were delivered as unlisted or gone."""
        if keys:
            with self._store.transaction():
                pages.tell(self._store.db, self._store.run.site, what, keys)

    async def find_due(self, limit: int) -> list[DuePage]:
        """Return the pages that are to be asked."""
        now = self._now
        return await self._ask(lambda db, site: pages.find_due(db, site, now, limit))

    async def find_controls(self, folders: Collection[str]) -> dict[str, list[str]]:
        """Return listed URLs of each folder."""
        return await self._ask(lambda db, site: pages.find_controls(db, site, folders))

    async def save_answers(self, answers: Collection[tuple[bytes, int | None]]) -> None:
        """Save what pages answered."""
        now = self._now
        async with self.turn():
            with self._store.transaction():
                pages.save_answers(self._store.db, self._store.run.site, now, answers)

    @property
    def _now(self) -> float:
        """The seconds since 1970, which do not fall where the clock is set back."""
        return max(self.clock(), self._store.run.stamp / 1e9)

    async def _ask(self, query: Callable[[Any, int], T]) -> T:
        site = self._store.run.site

        def work() -> T:
            with self._store.file.guard():
                return query(self._store.db, site)

        async with self.turn():
            return await self._do(work)

    async def stop(self, batches: int) -> None:
        """Settle; let any later walk resume this one, which a limit of URLs has stopped."""
        await self.settle(batches)
        async with self._access.turn():
            self._store.stop()

    # -- acknowledgements

    async def settle(self, batches: int) -> None:
        """Acknowledge so many batches at the end, once they have arrived."""
        if self.delivery is not None:
            self.delivery.note(batches)
            await self.delivery.settle()
        await self._acknowledge(batches)

    async def acknowledge(self) -> None:
        """Record that the consumer asks for more, and so has handled all it was given."""
        if self.delivery is None:
            await self._acknowledge(self._channel.taken)
        else:
            self.delivery.note(self._channel.taken)
            await self._acknowledge(self.delivery.arrived())

    async def _acknowledge(self, batches: int) -> None:
        self._acknowledged = max(batches, self._acknowledged)
        await self._write_due()

    async def commit_on_ack(self, write: Callable[[], None]) -> None:
        """Call `write` when all batches that were emitted until now are acknowledged."""
        # Batches that wait for room in the channel count as well: `unique` may have dropped a URL
        # from this document because it is in one of them.
        due = self._due
        due.append((self._channel.offered, write))
        # Where filters pass little, the consumer rarely asks for a batch, and nothing is checked.
        if self.delivery is not None and not len(due) % _CHUNKS_PER_CHECK:
            await self._acknowledge(self.delivery.arrived())
        elif self._channel.offered <= self._acknowledged:
            await self._write_due()

    async def _write_due(self) -> None:
        if not self._is_due():
            return
        async with self._access.turn():
            if not self._is_due():  # another task has written it
                return
            with self._store.transaction():
                while self._is_due():
                    self._due.popleft()[1]()

    def _is_due(self) -> bool:
        return bool(self._due) and self._due[0][0] <= self._acknowledged

    # -- documents

    def open_document(self, url: str) -> DocumentStore:
        """Return the store of a document."""
        return self._store.open_document(url_key(url))

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait until no other walk reads or writes the file."""
        return self._access.turn()

    def delivered(self) -> Iterator[str]:
        """Yield the URLs that were delivered before the walk was interrupted."""
        return self._store.list_delivered()
