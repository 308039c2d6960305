"""StateWriter: writes into the state what the consumer of a walk has acknowledged.

Entries are saved as delivered when the consumer acknowledges them: when it asks for the next batch,
or when its `Delivery` says so. A walk that was killed is resumed with the batch that the consumer
was handling. This one batch may come twice, and nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import attrs

from sitemapreader.event_loop import run_in_thread
from sitemapreader.state import State, Told, name_of_sitemaps, schedule, store
from sitemapreader.state.database import StateFile, make_lock_error
from sitemapreader.state.rows import Findings, Run, as_moment, nanoseconds
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from sitemapreader.discovery.context import Batch
    from sitemapreader.fetch.local import StoredResponse
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.stream import Channel

P = ParamSpec("P")
T = TypeVar("T")
Query: TypeAlias = Callable[Concatenate[Any, Run, P], T]
"""A function of `state`: of an open file, a run, and more."""

_OPEN: dict[tuple[asyncio.AbstractEventLoop, Path], StateAccess] = {}
"""The files that walks of this process have open, by event loop."""


class StateAccess:
    """An open state file, which several walks use in turn; one connection, one check.

    Attributes:
        file: to be read and written by who has the turn.
        turn: no other walk reads or writes the file while it is held.
    """

    def __init__(self, path: Path, key: tuple[asyncio.AbstractEventLoop, Path]) -> None:
        self.file = StateFile(path)
        self.turn = asyncio.Lock()
        self._key = key
        self._users: set[str] = set()
        """Keys of the walks and runs that keep the file open."""

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
            raise make_lock_error(path)
        access._users.add(user)
        return access

    async def close(self, user: str) -> None:
        """End a use; the last one closes the file."""
        self._users.discard(user)
        if not self._users:
            del _OPEN[self._key]
            self.file.close()

    async def ask(
        self, query: Callable[Concatenate[Any, P], T], *args: P.args, **kw: P.kwargs
    ) -> T:
        """Return what a short function of `state.schedule` finds in the file."""
        async with self.turn:
            with self.file.guard():
                return query(self.file.connection, *args, **kw)

    async def share_turns(
        self, number: int, clock: Callable[[], float], names: Collection[str] | None
    ) -> SharedTurns:
        """Return what is due of many sites, so many documents together: see `plan_sites`."""
        return SharedTurns(self, clock, await self.ask(schedule.plan_sites, number, clock(), names))


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
        unknown = await self._access.ask(schedule.find_unscheduled, [name], self._clock())
        return None if unknown else frozenset()

    async def find_next(self, name: str) -> dict[str, Any]:
        """Return when a site has its next turn, as fields of `SiteOutcome`."""
        due, waiting = await self._access.ask(schedule.find_turn, name, self._clock())
        return {"waiting": waiting, "due": as_moment(due)}


# -- one walk's writer

_SMALL_BYTES = 500_000
"""Of a file of which anything is done at once, in some milliseconds."""
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
    if config.site and not config.sitemaps:
        return url_key(config.site)
    named = [entry.loc for entry in config.sitemaps]
    return name_of_sitemaps([config.site, *named] if config.site else named)


class StateWriter:
    """The writer of one walk's state."""

    def __init__(self, state: State, config: WalkConfig, channel: Channel[Batch]) -> None:
        self.config = config
        self.name = state_key(config)
        self.clock = state.clock
        self.trust_seconds = state.revalidate_after.total_seconds()
        self.delivery: Delivery | None = None
        confirm, distrust = nanoseconds(state.confirm_after), nanoseconds(state.distrust_after)
        self.run = Run(self.name, config.changes, confirm, distrust)
        self.askings: dict[str, schedule.Asking] = {}
        """Requests for documents, by URLs as `url_key` writes them."""
        self._channel = channel
        self._access = StateAccess.open(state.path, self.name)
        file = self._access.file
        self.quarantined_as, file.quarantined_as = str(file.quarantined_as or ""), None
        """What an unusable file in this place is called now, for the first walk that asks."""
        self._acknowledged = 0
        self._due: deque[tuple[int, Callable[[Any, Run], object]]] = deque()

    @property
    def is_resumed(self) -> bool:
        """Whether the walk resumes an interrupted one."""
        return self.run.is_resumed

    @property
    def now(self) -> float:
        """The seconds since 1970, which do not fall where the clock is set back."""
        return max(self.clock(), self.run.stamp / 1e9)

    async def close(self) -> None:
        """End this walk's use of the file; the last one closes it."""
        await self._access.close(self.name)

    # -- functions of `state`, whose first arguments are the file and the run

    async def ask(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a query finds."""
        async with self._access.turn:
            return self.ask_now(query, *args, **kwargs)

    def ask_now(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a query finds, without waiting for other walks."""
        with self._access.file.guard():
            return query(self._access.file.connection, self.run, *args, **kwargs)

    async def work(self, change: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do work in one transaction; in a thread, unless the file is small."""
        async with self._access.turn:
            file, do = self._access.file, partial(self.change_now, change, *args, **kwargs)
            is_large = file.path.stat().st_size > _SMALL_BYTES
            return await run_in_thread(do, file.connection.interrupt) if is_large else do()

    def change_now(self, change: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Change the file in a transaction, without waiting for other walks."""
        with self._access.file.transaction():
            return change(self._access.file.connection, self.run, *args, **kwargs)

    # -- the walk

    async def begin(self) -> None:
        """Begin a walk, or resume an interrupted one."""
        self.run = await self.work(store.begin, self.clock(), self.config.revisit)

    async def remember_delivered(self, remember: Callable[[Iterator[str]], None]) -> None:
        """Give the URLs that were delivered before the walk was interrupted."""
        await self.ask(lambda db, run: remember(store.list_delivered(db, run)))

    async def find_kept(self, url: str) -> StoredResponse | None:
        """Return the answer that a round may use for a URL."""
        if self.run.chosen is None:
            return None
        found = await self.ask(store.load_kept, url_key(url), self.clock())
        if found is None:
            return None
        self.run = attrs.evolve(self.run, kept=min(found[1], self.run.kept or found[1]))
        return found[0]

    async def keep(self, url: str, answer: StoredResponse) -> None:
        """Keep an answer for the rounds of a day."""
        await self.work(store.save_kept, url_key(url), self.clock(), answer)

    async def finish(
        self, *, complete: bool, listed: Mapping[str, bool], knows_all: bool
    ) -> Findings | None:
        """Wait until the consumer has all; then end the run, and return what is missing."""
        await self.settle(await self._channel.wait_until_dry())
        if self.run.chosen and not self.is_resumed:  # else it may have been asked before
            # What is not named or not wanted any more rests as if it had failed.
            for url in self.run.chosen:
                self.askings.setdefault(url, schedule.Asking(self.clock(), is_failed=True))
        given = listed, self.askings, self.clock()
        return await self.work(store.finish, *given, complete=complete, knows_all=knows_all)

    async def stop(self, batches: int) -> None:
        """Settle; let any later walk resume this one, which a limit of URLs has stopped."""
        await self.settle(batches)
        await self.work(store.stop)

    # -- what is unlisted or gone, and was not delivered as such

    async def find_untold(self, what: Told) -> list[tuple[bytes, Any]]:
        """Return some of it, by keys."""
        return await self.ask(store.find_untold, what)

    def find_now(self, what: Told) -> list[tuple[bytes, Any]]:
        """Return some of it, without waiting for other walks."""
        return self.ask_now(store.find_untold, what)

    def tell_now(self, what: Told, keys: Collection[bytes]) -> None:
        """Record that it was delivered."""
        self.change_now(store.tell, what, keys)

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
        if self._is_due():
            async with self._access.turn:
                if self._is_due():  # no other task has written it meanwhile
                    self.change_now(self._write)

    async def commit_on_ack(
        self, change: Query[P, object], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Change the file when all batches that were emitted until now are acknowledged."""
        # Batches that wait for room in the channel count as well: `unique` may have dropped a URL
        # from this document because it is in one of them.
        due = self._due
        due.append((self._channel.offered, lambda db, run: change(db, run, *args, **kwargs)))
        # Where filters pass little, the consumer rarely asks for a batch, and nothing is checked.
        if self.delivery is not None and not len(due) % _CHUNKS_PER_CHECK:
            await self._acknowledge(self.delivery.arrived())
        elif self._channel.offered <= self._acknowledged:
            await self._acknowledge(self._acknowledged)

    def _write(self, db: Any, run: Run) -> None:
        while self._is_due():
            self._due.popleft()[1](db, run)

    def _is_due(self) -> bool:
        return bool(self._due) and self._due[0][0] <= self._acknowledged
