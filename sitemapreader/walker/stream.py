"""Streams: the way of the batches from the tasks that read to their consumer.

A channel has the batches that wait; a cursor is the place of the consumer in them; a view is what
one kind of loop makes of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

import attrs

from sitemapreader.event_loop import LoopClock, LoopThread, end_task
from sitemapreader.rows import BATCH_ROWS, Rows, join_rows

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
        Sequence,
        Sized,
    )
    from concurrent.futures import Future

    import pyarrow as pa

    from sitemapreader.discovery.context import Batch
    from sitemapreader.models import Event, UrlEntry

B = TypeVar("B", bound="Sized")
T = TypeVar("T")


class Channel(Generic[B]):
    """A queue of batches, bounded by weight, for many producers and one consumer.

    It is bounded so that a slow consumer slows the readers, and through them the servers. While it
    is not full, a batch of any weight gets in. Producers that wait for room get in in the order in
    which they came.
    """

    def __init__(self, capacity: int) -> None:
        self.offered = 0
        self.taken = 0
        self.pause: Callable[[], AbstractContextManager[object]] = nullcontext
        self._capacity = capacity
        self._batches: deque[tuple[B, int]] = deque()
        self._weight = 0
        self._closed = False
        self._producers = asyncio.Lock()
        self._room = asyncio.Event()
        self._filled = asyncio.Event()
        self._starved = asyncio.Event()

    async def put(self, batch: B, weight: int) -> None:
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

    async def get(self) -> B | None:
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

    def drain(self) -> list[B]:
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


# -- views and their cursor


@attrs.frozen(eq=False)
class View(Generic[B, T]):
    """What one kind of loop makes of the batches."""

    read: Callable[[B], Iterable[T]]
    join: Callable[[Iterable[B]], B] | None = None
    put_back: Callable[[B, list[T]], B] | None = None
    """Makes a batch of what a loop has left of one, if these items are no batch themselves."""


def _list_rows(batch: Batch) -> list[Rows]:
    """Return the entries of a batch as one item; none for other events."""
    return [batch] if batch and not isinstance(batch, tuple) else []


def _join(batches: Iterable[Batch]) -> Batch:
    return join_rows([rows for batch in batches for rows in _list_rows(batch)])


ENTRIES: View[Batch, UrlEntry] = View(lambda batch: () if isinstance(batch, tuple) else batch)
EVENTS: View[Batch, Event] = View(lambda batch: batch)
LISTS: View[Batch, list[UrlEntry]] = View(lambda batch: map(list, _list_rows(batch)))
ROWS: View[Batch, Rows] = View(_list_rows)


def view_records() -> View[Batch, pa.RecordBatch]:
    """Return the view of Arrow's record batches; raise if there is no pyarrow."""
    from sitemapreader.output.arrow import make_batch  # noqa: PLC0415 (takes 0.1 s)

    return View(lambda batch: map(make_batch, _list_rows(batch)), _join)


class Cursor(Generic[B]):
    """The place of the consumer in a stream, which all loops over it share."""

    # A caller may mix loops: three entries, then lists, then events; and nothing may be lost where
    # one kind goes over into the other. Generators with places of their own would each hold a rest
    # that the next one cannot see. So whole batches are kept here, a view is applied only when a
    # batch begins, and what a loop leaves of one becomes a batch again when a loop with another
    # view comes. Therefore a loop has nothing to lose when it is cancelled or forgotten, and
    # nothing has to be closed. The price: two loops that take turns entry by entry copy the rest
    # of the batch each time, some thousand entries at most.

    def __init__(self, *, gathers: bool) -> None:
        self._gathers = gathers
        self.view: View[B, Any] | None = None
        self.items: Iterator[Any] = iter(())
        self._waiting: deque[B] = deque()
        self._begun: B | None = None

    def turn_to(self, view: View[B, T]) -> Iterator[T]:
        """Return the rest of the batch that was begun, as a view has it."""
        if self.view is not view:
            self._put_back()
            self.view = view
        return self.items

    def _put_back(self) -> None:
        rest: Any = list(self.items)
        if rest and self.view is not None and self.view.put_back and self._begun is not None:
            rest = self.view.put_back(self._begun, rest)
        elif isinstance(self._begun, tuple):
            rest = tuple(rest)
        if rest:
            self._waiting.appendleft(rest)
        self.items = iter(())

    def add(self, batches: Sequence[B]) -> bool:
        """Let batches wait to be begun; return whether there were any."""
        self._waiting += batches
        return bool(batches)

    def has_enough(self, view: View[B, Any]) -> bool:
        """Return whether a batch can begin."""
        if view.join is None or not self._gathers:
            return any(map(len, tuple(self._waiting)))
        return sum(map(len, tuple(self._waiting))) >= BATCH_ROWS

    def begin(self, view: View[B, Any]) -> bool:
        """Begin the next batch; return whether there was one."""
        self._put_back()  # what a loop of another task may have begun meanwhile
        if not self._waiting:
            return False
        batch = self._waiting.popleft()
        if view.join is not None:
            parts = [batch]
            while self._waiting:  # not cleared: another thread may add to it
                parts.append(self._waiting.popleft())
            batch = view.join(parts)
        self._begun = batch
        self.view, self.items = view, iter(view.read(batch))
        return True


# -- streams


@attrs.define
class Usage:
    """How a stream is used: entered once, read inside; else an error says so."""

    noun: str
    entering: str
    loop: str
    is_entered: bool = attrs.field(default=False, init=False)
    is_left: bool = attrs.field(default=False, init=False)

    def enter(self) -> None:
        """Raise ValueError if it was entered before."""
        if self.is_entered:
            maker = self.entering.rpartition(" ")[2]
            raise ValueError(f"a {self.noun} is entered once: call {maker} again for another one")
        self.is_entered = True

    def check(self) -> None:
        """Raise TypeError if it was not entered, ValueError if it was left."""
        if not self.is_entered:
            raise TypeError(
                f"a {self.noun} has tasks and sockets to close, so enter it first: "
                f"`{self.entering} as {self.loop}: ...`"
            )
        if self.is_left:
            raise ValueError(f"the {self.noun} is over: iterate it inside `{self.entering}`")


class TaskStream(Generic[B]):
    """The batches that a task makes for one consumer: under `Walk` and `SiteRun`.

    Leaving the context, early or not, ends the task.
    """

    def __init__(self, usage: Usage, channel: Channel[B], *, gathers: bool) -> None:
        self._usage = usage
        self._channel = channel
        # Whether the consumer may take several batches before it handles the first: a state must
        # not see them acknowledged early.
        self.gathers = gathers
        self._cursor = Cursor[B](gathers=gathers)
        self._task: asyncio.Task[None] | None = None
        self._last: B | None = None
        self._fault_is_known = False

    async def __aenter__(self) -> Self:
        self._usage.enter()
        self._open()
        self._task = asyncio.create_task(
            self._run_to_end(), name=f"sitemapreader.{self._usage.noun}"
        )
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            await self.leave()
        finally:
            await self._close()
        task = self._get_task()
        if error is None and not self._fault_is_known and not task.cancelled():
            task.result()  # a bug that the consumer has not met

    async def leave(self) -> None:
        """End all tasks as leaving the context does."""
        self._usage.is_left = True
        await self.stop()

    async def stop(self) -> None:
        """End all tasks early; what was read can still be taken."""
        await end_task(self._get_task())

    def _get_task(self) -> asyncio.Task[None]:
        if self._task is None:
            self._usage.check()
            raise RuntimeError("entering has failed")
        return self._task

    # -- the consumer's side

    def _read(self, view: View[B, T]) -> AsyncIterator[T]:
        """Return a loop over the batches; it goes on where the one before stopped."""
        self._usage.check()
        return _Loop(self._cursor, view, self._advance)

    async def _advance(self, view: View[B, Any]) -> bool:
        cursor = self._cursor
        while not cursor.has_enough(view) and cursor.add(await self.next()):
            pass
        return cursor.begin(view) or await self.fail()

    async def next(self, *, all_there: bool = False) -> list[B]:
        """Acknowledge the batches before; return the next one or more, none at the end."""
        self._usage.check()
        await self._acknowledge()
        self._last = await self._channel.get()
        if self._last is None:
            return []
        return [self._last, *(self._channel.drain() if all_there and self.gathers else ())]

    async def fail(self) -> Literal[False]:
        """Raise the bug that ended the task, if one did, when it has ended."""
        task = self._get_task()
        await asyncio.wait([task])
        self._usage.check()  # left by another task meanwhile: what was read may not look complete
        self._fault_is_known = True
        task.result()
        return False

    # -- the task's side

    async def _run_to_end(self) -> None:
        try:
            await self._run()
        finally:
            self._channel.close()

    async def _run(self) -> None:
        """Fill the channel."""
        raise NotImplementedError

    def _open(self) -> None:
        """Open what the task needs."""

    async def _close(self) -> None:
        """Close what `_open` opened, when the task has ended."""

    async def _acknowledge(self) -> None:
        """Record that the consumer has handled all it was given: it asks for more."""


@attrs.frozen(eq=False)
class _Loop(Generic[B, T]):
    """A loop over a stream; it has no place of its own, so it can be left."""

    _cursor: Cursor[B]
    _view: View[B, T]
    _advance: Callable[[View[B, T]], Awaitable[bool]]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        cursor, view = self._cursor, self._view
        while True:
            for item in cursor.items if cursor.view is view else cursor.turn_to(view):
                return item
            if not await self._advance(view):
                raise StopAsyncIteration


class BlockingStream(Generic[B]):
    """A stream for code without `await`: its event loop runs in a thread of its own.

    So it works inside a running event loop as well, as in a notebook. The thread reads no further
    than the channel has room, until the consumer asks for batches.
    """

    def __init__(self, stream: TaskStream[B], usage: Usage) -> None:
        self._usage = usage
        self._stream = stream
        self._thread = LoopThread(stream)
        self._cursor = Cursor[B](gathers=stream.gathers)
        self._coming: Future[bool] | None = None

    def __enter__(self) -> Self:
        self._usage.enter()
        self._thread.begin()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._usage.is_left = True
        self._thread.end(error)

    def _read(self, view: View[B, T]) -> Iterator[T]:
        """Return a loop over the batches; it goes on where the one before stopped."""
        self._usage.check()
        return self._iterate(view)

    def _iterate(self, view: View[B, T]) -> Iterator[T]:
        cursor = self._cursor
        while True:
            yield from cursor.turn_to(view)
            while not cursor.has_enough(view) and self._next():
                pass
            if not cursor.begin(view):
                self._thread.call(self._stream.fail()).result()
                return

    def _next(self) -> bool:
        """Wait for the next batches; return whether there were any."""
        self._usage.check()
        if self._coming is None:  # else Ctrl-C interrupted the wait for it
            self._coming = self._thread.call(self._fill())
        has_more = self._coming.result()
        self._coming = None
        return has_more

    async def _fill(self) -> bool:
        """Let the next batches wait at the cursor."""
        # In the thread of the stream: Ctrl-C comes between any two steps of the consumer's, and
        # would lose what is only on its way from the one to the other.
        return self._cursor.add(await self._stream.next(all_there=True))
