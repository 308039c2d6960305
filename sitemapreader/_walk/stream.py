"""Streams: the way of the batches from the tasks that read to their consumer.

A channel has the batches that wait, and a view is what a kind of loop makes of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

import attrs

from sitemapreader._event_loop import LoopThread, contain, end_task, get_result
from sitemapreader._types.rows import BATCH_ROWS, OutputRows, Rows
from sitemapreader._walk.memory import ChangeStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence, Sized
    from concurrent.futures import Future
    from pathlib import Path

    import pyarrow as pa

    from sitemapreader._columns import Column
    from sitemapreader._types.models import Event, UrlEntry
    from sitemapreader._walk.context import Batch

_BYTES_PER_EVENT = 256
"""Markup of an ordinary event; a larger one counts as several, as it takes more memory."""

B = TypeVar("B", bound="Sized")
Given = ParamSpec("Given")
S = TypeVar("S", bound="TaskStream[Any]")
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
        self.stop_clock: Callable[[], AbstractContextManager[object]] = nullcontext
        """Makes the context in which a producer waits for the consumer; `build_parts` sets it."""
        self._capacity = capacity
        self._batches: deque[tuple[B, int]] = deque()
        self._weight = 0
        self._closed = False
        self._producers = asyncio.Lock()
        self._room = asyncio.Event()
        self.filled = asyncio.Event()
        self._starved = asyncio.Event()

    @property
    def is_full(self) -> bool:
        """True if there is no room for another batch."""
        return self._weight >= self._capacity

    async def put(self, batch: B, size: int = 0) -> None:
        """Add a batch of `size` bytes of markup; wait while the channel is full.

        After `close`, batches are dropped.
        """
        self.offered += 1
        weight = max(len(batch), size // _BYTES_PER_EVENT)
        async with self._producers:
            while self.is_full and not self._closed:
                self._room.clear()
                with self.stop_clock():
                    await self._room.wait()
        if self._closed:
            return
        self._batches.append((batch, weight))
        self._weight += weight
        self.filled.set()

    async def get(self) -> B | None:
        """Return the next batch, or `None` when there are no more."""
        while not self._batches:
            if self._closed:
                return None
            self.filled.clear()
            self._starved.set()
            try:
                await self.filled.wait()
            finally:  # a consumer whose wait has timed out asks for nothing
                self._starved.clear()
        batch, weight = self._batches.popleft()
        self.taken += 1
        self._weight -= weight
        if not self.is_full:
            self._room.set()
        return batch

    async def wait_until_dry(self) -> None:
        """Wait until the consumer has acknowledged all, and requests more."""
        await self._starved.wait()

    def close(self) -> None:
        """Let no more batches in; the consumer can still read the batches inside."""
        self._closed = True
        self.filled.set()
        self._room.set()


class PromptChannel(Channel[B]):
    """A channel whose consumer, if it waits for a batch, runs before its producer goes on."""

    async def put(self, batch: B, size: int = 0) -> None:
        """Add a batch; let the consumer take it before the producer does more."""
        await super().put(batch, size)
        if self._starved.is_set():
            await asyncio.sleep(0)


# -- views


@attrs.frozen(eq=False)
class View(Generic[B, T]):
    """The items that one kind of loop makes of the batches."""

    read: Callable[[list[B]], Iterable[T]]
    rows: int = 1
    """Number of rows wanted together, if the consumer may take several batches."""


def pick_rows(batches: list[Batch]) -> list[Rows]:
    """Return the entries of each batch, and none of the other events."""
    return [batch for batch in batches if batch and not isinstance(batch, tuple)]


ENTRIES: View[Batch, UrlEntry] = View(
    lambda batches: chain.from_iterable(pick_rows(batches))
)
EVENTS: View[Batch, Event] = View(chain.from_iterable)
LISTS: View[Batch, list[UrlEntry]] = View(lambda batches: map(list, pick_rows(batches)))
ROWS: View[Batch, Rows] = View(pick_rows)


@cache
def view_records(
    join: Callable[[list[B]], Sequence[OutputRows]], columns: tuple[Column, ...]
) -> View[B, pa.RecordBatch]:
    """Return the view of Arrow's record batches; raise if there is no pyarrow."""
    from sitemapreader._columns.arrow import make_batches  # noqa: PLC0415 (takes 0.1 s)

    return View(lambda batches: make_batches(join(batches), columns), BATCH_ROWS)


# -- streams


class BatchCursor(Generic[B]):
    """The place of the consumer in a channel.

    Items that were read and not yet delivered stay here, not in a loop. So no item is lost when a
    loop is left, cancelled or forgotten: another loop of the same kind continues with them.

    Attributes:
        items: the items that were read, for the loop.
        view: the kind of loop; `None` before the first.
        last: the batch that was read last.
    """

    def __init__(
        self,
        channel: Channel[B],
        *,
        gathers: bool,
    ) -> None:
        self.items: Iterator[Any] = iter(())
        self.view: View[B, Any] | None = None
        self.last: B | None = None
        self._channel = channel
        # Whether the consumer may take several batches before it handles the first: a state must
        # not see them acknowledged early.
        self._gathers = gathers
        self._waiting: list[B] = []

    async def read(self, acknowledge: Callable[[], Awaitable[None]]) -> bool:
        """Add the items of the next batches; return False at the end of the channel.

        `acknowledge` is awaited before each batch.
        """
        view = self.view
        assert view is not None  # noqa: S101 (a loop has chosen it)
        wanted = view.rows if self._gathers else 1
        while sum(map(len, self._waiting)) < wanted:
            await acknowledge()
            self.last = await self._channel.get()
            if self.last is None:
                break
            self._waiting.append(self.last)
        batches = self._waiting
        self._waiting = []
        if batches:  # what another task has begun meanwhile comes first
            self.items = chain(self.items, view.read(batches))
        return bool(batches)


@attrs.frozen
class StreamNames:
    """The names of a stream in error messages.

    Attributes:
        noun: of the stream, such as "walk".
        maker: the call that makes one.
        loop: a loop over it.
    """

    noun: str
    maker: str
    loop: str


class TaskStream(Generic[B]):
    """The batches that a task makes for one consumer: under `Walk` and `SiteRun`.

    `async with` runs the task in the event loop of the consumer. `with` runs it in one of its own,
    in a thread: also inside a running event loop, as in a notebook. The thread reads no further
    than the channel has room. Leaving the context, early or not, ends the task.
    """

    names = StreamNames("walk", "walk(...)", "entries: async for entry in entries")

    def __init__(
        self,
        channel: Channel[B],
        *,
        gathers: bool,
    ) -> None:
        self.is_entered = False
        self.is_left = False
        self.is_blocking = False
        """True if it is used without `await`: entered with `with`, in a thread of its own."""
        self._is_in_thread = False
        self.cursor = BatchCursor(channel, gathers=gathers)
        self._channel = channel
        self._coming: Future[bool] | None = None
        self._task: asyncio.Task[None]
        self._thread: LoopThread | None = None
        self._store = ChangeStore()
        self._fault_is_known = False

    async def __aenter__(self) -> Self:
        names = self.names
        if self.is_blocking and not self._is_in_thread:
            raise TypeError(
                f"{names.maker} is entered with `with`: to use `async with`, leave out `_sync`"
            )
        if self.is_entered:
            said = f"a {names.noun} is entered once: call {names.maker} again"
            raise ValueError(f"{said} for another one")
        self.is_entered = True
        self._open()
        work = self._run_to_end()
        self._task = asyncio.create_task(work, name=f"sitemapreader.{names.noun}")
        return self

    async def __aexit__(
        self,
        kind: object,
        error: BaseException | None,
        traceback: object,
    ) -> None:
        try:
            await self.leave()
        finally:
            await self._close()
        task = self._task
        if error is None and not self._fault_is_known and not task.cancelled():
            get_result(task)  # a bug that the consumer has not met

    def __enter__(self) -> Self:
        if not self.is_blocking:
            raise TypeError(
                f"{self.names.maker} is entered with `async with`: to use `with`, write "
                f"{self.names.maker.replace('(', '_sync(', 1)}"
            )
        self._is_in_thread = True
        thread = LoopThread(self)
        thread.begin()
        self._thread = thread
        return self

    def __exit__(
        self,
        kind: object,
        error: BaseException | None,
        traceback: object,
    ) -> None:
        self.is_left = True
        self._get_thread().end(error)

    async def leave(self) -> None:
        """End all tasks as leaving the context does."""
        self.is_left = True
        await end_task(self._task)

    def check_open(self) -> None:
        """Raise TypeError if it was not entered, ValueError if it was left."""
        names = self.names
        if not self.is_entered:
            raise TypeError(
                f"enter a {names.noun} first, because it has tasks and sockets to close: `async "
                f"with "
                f"{names.maker} as {names.loop}: ...`. Without await, use `with` and `for`"
            )
        if self.is_left:
            raise ValueError(f"the {names.noun} is over: iterate it inside its `with`")

    def use_store(self, store: ChangeStore) -> None:
        """Hold back and commit changes in a store."""
        self._store = store

    async def hold_state(self) -> bool:
        """Hold back changes of the state until `commit_state`; return if there is a state."""
        return await self._store.hold_back()

    async def commit_state(
        self,
        files: Iterable[tuple[Path, Path]] = (),
        *,
        holds: bool = False,
    ) -> None:
        """Rename files, then commit the held state; go on like that if it `holds`.

        What was not acknowledged is not committed. Each file has its temporary and its final path.

        Raises StateError or OSError: the disk refuses it; then the state knows nothing of it.
        """
        await self._store.publish(files, holds=holds)

    def call(
        self,
        function: Callable[..., Any],
        *values: Any,
        **names: Any,
    ) -> Any:
        """Return the result of a coroutine function in the loop of a stream entered by `with`."""
        thread = self._get_thread()
        coming = thread.call(function, *values, **names)
        return get_result(coming)

    def _get_thread(self) -> LoopThread:
        if self._thread is None:
            self.check_open()
            raise TypeError(
                f"this {self.names.noun} was entered with `async with`: use `async for`"
            )
        return self._thread

    # -- the consumer's side

    def _read(self, view: View[B, T]) -> Loop[T]:
        """Return a loop over the batches; it goes on where the one before stopped."""
        self.check_open()
        if self.cursor.view not in (None, view):
            raise ValueError(
                f"this {self.names.noun} is already iterated with another kind of loop: "
                "continue with that one"
            )
        self.cursor.view = view
        return Loop(self, self.fill)

    def take_all(self, fill: Callable[[], Awaitable[bool]]) -> Iterator[Any]:
        """Yield the items, and the ones that `fill` adds, without `await`."""
        thread = self._get_thread()
        has_more = True
        while has_more:
            yield from self.cursor.items
            self.check_open()
            # After Ctrl-C in the wait, the same items are waited for.
            self._coming = self._coming or thread.call(fill)
            try:
                has_more = get_result(self._coming)
            finally:
                if self._coming.done():
                    self._coming = None

    async def fill(self) -> bool:
        """Acknowledge the items before, and wait for others; return if there are any.

        Raise the bug that ended the task, if one did.
        """
        if await self.cursor.read(self._acknowledge_open):
            return True
        task = self._task
        await asyncio.wait([task])
        self.check_open()  # left by another task meanwhile: what was read may not look complete
        self._fault_is_known = True
        get_result(task)
        return False

    async def _acknowledge_open(self) -> None:
        self.check_open()
        await self._acknowledge()

    # -- the task's side

    async def _run_to_end(self) -> None:
        try:
            await contain(self._fill_channel)
        finally:
            self._channel.close()

    async def _fill_channel(self) -> None:
        """Fill the channel."""
        raise NotImplementedError

    def _open(self) -> None:
        """Open the resources of the task."""

    async def _close(self) -> None:
        """Close the resources of `_open`, when the task has ended."""

    async def _acknowledge(self) -> None:
        """Record that the consumer has handled everything so far, because it requests more."""


def without_async(function: Callable[Given, S]) -> Callable[Given, S]:
    """Make a function that returns the stream of another one, to be used without `await`.

    It is entered with `with`, and its loops are `for`, in a notebook as well. The tasks run in a
    thread of their own, which also calls the functions of the caller.
    """

    @wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> S:
        stream = function(*args, **kwargs)
        stream.is_blocking = True
        maker = f"{function.__name__}_sync(...)"
        stream.names = attrs.evolve(stream.names, maker=maker)
        return stream

    call.__name__ = call.__qualname__ = f"{function.__name__}_sync"
    call.__doc__ = (
        f"Do as `{function.__name__}` does, without `await`: enter it with `with`, "
        "and loop with `for`; in notebooks, too."
    )
    return call


@attrs.frozen(eq=False)
class Loop(Generic[T]):
    """A loop over a stream, for `async for` or for `for`, as the stream was entered.

    It has no place of its own, so it can be left.
    """

    _stream: TaskStream[Any]
    _fill: Callable[[], Awaitable[bool]]
    """Adds to the items of the stream; returns whether there are any."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while True:
            item: T
            for item in self._stream.cursor.items:
                return item
            if not await self._fill():
                raise StopAsyncIteration

    def __iter__(self) -> Iterator[T]:
        return self._stream.take_all(self._fill)
