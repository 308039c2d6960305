"""The process of a command: signals, closed pipes, full disks, exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.console import Console
from sitemapreader.cli.output import LineWriter, opened, write_to
from sitemapreader.cli.parser import ALL_READ, CLOSED_PIPE, LOCKED, NO_URL, SIGNALLED, name_options
from sitemapreader.errors import StateError
from sitemapreader.event_loop import find_first

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from types import FrameType

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


def run_process(work: Callable[[], Coroutine[None, None, int]], name: str, console: Console) -> int:
    """Run the work to its end or until a signal; return the exit code."""
    stop = _SignalStop()
    try:
        return asyncio.run(stop.run(work))
    except asyncio.CancelledError:
        abandon_standard_output()
        console.print_line(
            "; ".join([f"stopped by {signal.Signals(stop.signal).name}", *stop.notes])
        )
        return SIGNALLED + stop.signal
    except BrokenPipeError:
        abandon_standard_output()
        return CLOSED_PIPE
    except StateError as error:
        console.print_error(name_options(str(error)))
        return LOCKED if error.is_locked else NO_URL
    except OSError as error:
        abandon_standard_output()
        console.print_error(f"cannot write to {name}: {error.strerror or error}")
        return NO_URL


def print_text(text: str) -> int:
    """Print a text and return the exit code."""

    async def work() -> int:
        async with opened(LineWriter(None)) as lines:
            await write_to(lines, partial(lines.write_text, text))
        return ALL_READ

    return run_process(work, "standard output", Console())


def abandon_standard_output() -> None:
    """Redirect standard output to nowhere, so that exiting writes nothing to it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


async def ignore_signals() -> None:
    """Ignore signals that come from now on; one that has come before has its effect."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    await asyncio.sleep(0)


class _SignalStop:
    """The handler of signals, which cancels the work.

    Attributes:
        signal: number of the signal that arrived, or 0.
        notes: what to say of the outputs.
    """

    def __init__(self) -> None:
        self.signal = 0
        self.notes: list[str] = []

    async def run(self, work: Callable[[], Coroutine[None, None, int]]) -> int:
        """Do the work; on a signal cancel it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop(number: int, _frame: FrameType | None) -> None:
            if self.signal:  # a second signal does not wait for the clean-up
                os._exit(SIGNALLED + number)
            self.signal = number
            if task is not None and not task.done():  # else its exit code stands
                loop.call_soon_threadsafe(task.cancel)

        for number in SIGNALS:  # not `loop.add_signal_handler`, which Windows has not
            signal.signal(number, stop)
        with _woken_by_signals(loop):
            try:
                return await work()
            except asyncio.CancelledError as error:
                self.notes = getattr(error, "__notes__", [])
                raise
            except BaseExceptionGroup as errors:
                raise find_first(errors) from None


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let each signal wake the loop, so that the handler runs.

    A handler of Python runs in the main thread, between two of its steps. A signal that comes just
    before the loop begins to wait, or to another thread, would have no effect until something else
    happens: for a program that waits for its standard input, never.
    """
    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        try:
            loop.add_reader(reading, reading.recv, 4096)
        except NotImplementedError:  # the loop of Windows does all of this itself
            yield
            return
        before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(reading)
