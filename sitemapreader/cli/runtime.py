"""The process of a command: signals, closed pipes, full disks, exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Protocol

from sitemapreader.cli.console import Console, name_options
from sitemapreader.cli.exit_codes import (
    ALL_READ,
    CLOSED_PIPE,
    LOCKED,
    NO_URL,
    PARTIAL,
    SIGNALLED,
)
from sitemapreader.cli.writer import LineWriter
from sitemapreader.errors import StateError
from sitemapreader.output.sink import abandon_standard_output

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from types import FrameType

    from sitemapreader.cli.summary import RunSummary
    from sitemapreader.output.sink import Output

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class ResultWriter(Protocol):
    """The output of a command."""

    @property
    def name(self) -> str:
        """Name in messages."""
        ...

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way, which may wait for its reader without limit."""
        ...


class _StoppedError(BaseException):
    """A signal arrived while a write was waiting for its reader."""


def run_process(
    work: Callable[[], Coroutine[None, None, int]], writer: ResultWriter, console: Console
) -> int:
    """Run the work to its end or until a signal, and return the exit code.

    Args:
        work: makes the coroutine, which returns the exit code.
        writer: the output, named in the message if it cannot be written.
        console: prints the error that ends the program.
    """
    stop = _SignalStop(writer)
    try:
        return asyncio.run(stop.run(work))
    except (asyncio.CancelledError, _StoppedError):
        abandon_standard_output()
        console.print_line(f"stopped by {signal.Signals(stop.signal).name}")
        return SIGNALLED + stop.signal
    except BrokenPipeError:
        abandon_standard_output()
        return CLOSED_PIPE
    except StateError as error:
        console.print_error(name_options(str(error)))
        return LOCKED if error.is_locked else NO_URL
    except OSError as error:
        abandon_standard_output()
        console.print_error(f"cannot write to {writer.name}: {error.strerror or error}")
        return NO_URL


def run_sources(
    run: Callable[[], Awaitable[None]], lines: LineWriter, console: Console, summary: RunSummary
) -> int:
    """Read the sources, print the summary, and return the exit code.

    Args:
        run: reads the sources.
        lines: the output, which is open meanwhile.
        console: prints the summary, and the error that ends the program.
        summary: what `run` has counted.
    """

    async def work() -> int:
        with lines:
            await run()
            if not lines.written:
                keep_file(lines, console, summary)
        console.print_summary(summary)
        return summary.find_exit_code()

    return run_process(work, lines, console)


def keep_file(output: Output | LineWriter, console: Console, summary: RunSummary) -> None:
    """Leave a file as it was if nothing was found that could be in it."""
    if output.is_replaced and summary.find_exit_code() not in (ALL_READ, PARTIAL):
        output.discard()
        console.print_line(f"{output.name} was left as it was, because nothing was found")


def print_text(text: str) -> int:
    """Print a text and return the exit code."""
    lines = LineWriter(None)

    async def work() -> int:
        with lines:
            lines.write(text)
        return ALL_READ

    return run_process(work, lines, Console())


async def ignore_signals() -> None:
    """Ignore signals that come from now on; one that has come before has its effect."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    await asyncio.sleep(0)


class _SignalStop:
    """The handler of signals, which cancels the work.

    Attributes:
        signal: number of the signal that arrived, or 0.
    """

    def __init__(self, writer: ResultWriter) -> None:
        self.signal = 0
        self._writer = writer

    async def run(self, work: Callable[[], Coroutine[None, None, int]]) -> int:
        """Do the work; on a signal cancel it, and interrupt a write that waits."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop(number: int, _frame: FrameType | None) -> None:
            if self.signal:  # a second signal does not wait for the clean-up
                os._exit(SIGNALLED + number)
            self.signal = number
            if self._writer.is_writing:
                raise _StoppedError
            if task is not None and not task.done():  # else its exit code stands
                loop.call_soon_threadsafe(task.cancel)

        # not `loop.add_signal_handler`: it is not called while a write blocks the loop
        for number in _SIGNALS:
            signal.signal(number, stop)
        try:
            return await work()
        except BaseExceptionGroup as errors:
            raise _first_of(errors) from None


def _first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of a group, which ended the work."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
