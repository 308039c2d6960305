"""Event loops: threads with an event loop, threads beside one, and the end of tasks."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import Future, wait
from contextlib import (
    AbstractAsyncContextManager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

P = ParamSpec("P")
T = TypeVar("T")

_INTERRUPT_SECONDS = 0.05
_READ_AT_ONCE_BYTES = 16_384
"""Largest document that is read on the event loop, usually in a few milliseconds."""
_AWAKE_SECONDS = 0.5
"""Longest wait, because a signal that arrives just before a wait is handled only after it."""


class LoopThread:
    """A thread in which an async context is entered and left, and coroutines run.

    With it, code without `await` can use the context, also inside a running event loop such as that
    of a notebook.
    """

    def __init__(self, context: AbstractAsyncContextManager[Any]) -> None:
        self._context = context
        # a daemon, so that an interpreter that exits does not wait for the network
        self._thread = threading.Thread(
            target=self._run_loop, name="sitemapreader.walk", daemon=True
        )
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._end: Future[None] = Future()
        self._leaving = asyncio.Event()

    def begin(self) -> None:
        """Start the thread and enter the context; raise the exception of entering."""
        try:
            self._thread.start()  # this waits, too, until the thread runs
            fault = self._loop.exception()
        except BaseException:  # Ctrl-C during a wait, so nobody will call `end`
            self._loop.add_done_callback(lambda _: self.let_go())
            raise
        if fault is not None:  # it was the last that the thread had to say
            raise fault

    def call(
        self,
        work: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Run a coroutine function in the thread; pass its result to `get_result`."""
        loop = self._loop.result()
        return asyncio.run_coroutine_threadsafe(contain(work, *args, **kwargs), loop)

    def let_go(self) -> None:
        """Let the thread leave the context and end, without waiting for it."""
        with suppress(Exception):  # the loop may be closed, or entering may have failed
            self._loop.result().call_soon_threadsafe(self._leaving.set)

    def end(self, error: BaseException | None = None) -> None:
        """Leave the context and end the thread.

        Raise the exception of leaving, unless the consumer left because of its own `error`.
        """
        # a generator may be closed at exit, when daemons have stopped
        if sys.is_finalizing():
            return
        self.let_go()
        fault = self._end.exception()
        self._thread.join()
        if error is None and fault is not None:
            raise fault

    def _run_loop(self) -> None:
        try:
            asyncio.run(self._keep_open())
        except BaseException as error:  # the consumer raises it, in its own thread
            if not self._loop.done():
                self._loop.set_exception(error)
            self._end.set_exception(error)
        else:
            self._end.set_result(None)

    async def _keep_open(self) -> None:
        """Keep the context open until the consumer leaves."""
        async with self._context:
            self._loop.set_result(asyncio.get_running_loop())
            await self._leaving.wait()


def without_await(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a function that runs a coroutine function without `await`.

    The coroutine runs in another thread, so the function also works inside a running event loop
    such as that of a notebook.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        thread = LoopThread(nullcontext())
        thread.begin()
        try:
            return get_result(thread.call(function, *args, **kwargs))
        finally:
            thread.end()  # cancels the work if Ctrl-C has interrupted the wait for it

    call.__name__ = f"{function.__name__}_sync"
    call.__qualname__ = call.__name__
    call.__doc__ = f"Run `{function.__name__}` without `await`; in notebooks, too."
    return call


async def run_in_daemon(work: Callable[[], T]) -> T:
    """Run work that cannot be interrupted in a thread; abandon it when cancelled."""
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # otherwise a late result would raise

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # it is raised by the `await` below
            result.set_exception(error)

    threading.Thread(target=run, name="sitemapreader.wait", daemon=True).start()
    return await asyncio.wrap_future(result)


async def run_aside(work: Callable[[], T], size: int) -> T:
    """Read a document of `size` bytes: at once if it is small, else in a thread.

    A flood of tags, rules or references takes 1 us a byte.
    """
    if size <= _READ_AT_ONCE_BYTES:
        return work()
    return await asyncio.to_thread(work)


async def run_in_thread(work: Callable[[], T], interrupt: Callable[[], object]) -> T:
    """Run work in a thread; when cancelled, interrupt it and wait for its end."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            interrupt()  # repeated, because the work may be between two statements
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task], timeout=_INTERRUPT_SECONDS)
        if not task.cancelled():
            task.exception()
        raise


@contextmanager
def repeat_in_thread(work: Callable[[], object], seconds: float) -> Iterator[None]:
    """Repeat some work in a thread until the context is left, `seconds` apart."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds):
            work()

    thread = threading.Thread(target=run, name="sitemapreader.repeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait for its end, even if this task is cancelled too."""
    task.cancel()
    interruption = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            interruption = error
    if interruption is not None:
        raise interruption


class ExitError(Exception):
    """Carrier of SystemExit and KeyboardInterrupt out of a task group.

    In asyncio, a SystemExit or KeyboardInterrupt of a task leaves the event loop at once, without
    the code that waits for the task; and a CancelledError counts as a request to cancel the task,
    even if nobody made one.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error


async def contain(
    work: Callable[P, Awaitable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Await a function; raise ExitError for an exit, or a cancellation by nobody."""
    try:
        return await work(*args, **kwargs)
    except (KeyboardInterrupt, SystemExit, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        was_cancelled = task is not None and task.cancelling() > 0
        if was_cancelled and isinstance(error, asyncio.CancelledError):
            raise
        raise ExitError(error) from None


def get_result(work: Future[T] | asyncio.Task[T]) -> T:
    """Return the result of contained work; raise its exception, an exit unchanged."""
    while isinstance(work, Future) and not work.done():
        wait([work], _AWAKE_SECONDS)
    try:
        return work.result()
    except (ExitError, BaseExceptionGroup) as raised:
        error = find_first(raised)
    raise error  # outside of `except`, so that the exception keeps its own context


def find_first(error: BaseException) -> BaseException:
    """Return the first exception of a group, and an exit unchanged."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ExitError):
        return error.error
    return error
