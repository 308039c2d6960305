"""LoopThread: an async context that is kept open in a thread with an event loop of its own.

So code without `await` can use it, inside a running event loop as well, as in a notebook.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")


class LoopThread:
    """A thread in which a context is entered and left, and coroutines run.

    Attributes:
        is_begun: whether `begin` was called.
    """

    def __init__(self, context: AbstractAsyncContextManager[Any]) -> None:
        self._context = context
        self._thread: threading.Thread | None = None
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._end: Future[None] = Future()
        self._leaving = asyncio.Event()

    @property
    def is_begun(self) -> bool:
        """Whether the thread was started."""
        return self._thread is not None

    def begin(self) -> None:
        """Start the thread and enter the context; raise what entering raises."""
        # a daemon: if the interpreter ends inside the context, it does not wait for the network
        self._thread = threading.Thread(target=self._run, name="sitemapreader.walk", daemon=True)
        self._thread.start()
        self._loop.result()

    def call(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop.result())

    def end(self) -> BaseException | None:
        """Leave the context and end the thread; return what leaving raised."""
        self._loop.result().call_soon_threadsafe(self._leaving.set)
        fault = self._end.exception()
        if self._thread is not None:
            self._thread.join()
        return fault

    def _run(self) -> None:
        try:
            asyncio.run(self._keep_open())
        except BaseException as error:  # it goes to the consumer, whatever it is
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
