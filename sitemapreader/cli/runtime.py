"""The work as a process: signals, closed pipes, full disks, and the exit codes for them."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Protocol

from sitemapreader.cli.console import Console, name_options
from sitemapreader.cli.exit_codes import ALL_READ, CLOSED_PIPE, NO_URL, SIGNALLED
from sitemapreader.cli.writer import LineWriter
from sitemapreader.errors import StateError
from sitemapreader.output.sink import abandon_standard_output

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class ResultWriter(Protocol):
    """Where results go."""

    @property
    def name(self) -> str:
        """What to call it in a message."""
        ...

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way; it may wait for its reader as long as that likes."""
        ...


class _StoppedError(BaseException):
    """A signal came while a write was waiting for its reader."""


def run_process(
    work: Callable[[], Coroutine[None, None, int]], writer: ResultWriter, console: Console
) -> int:
    """Run to the end, or until a signal; return the exit code."""
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
        return NO_URL
    except OSError as error:
        abandon_standard_output()
        console.print_error(f"cannot write to {writer.name}: {error.strerror or error}")
        return NO_URL


def print_text(text: str) -> int:
    """Print a text that is there already; return the exit code."""
    lines = LineWriter(None)

    async def work() -> int:
        with lines:
            lines.write(text)
        return ALL_READ

    return run_process(work, lines, Console())


class _SignalStop:
    """Ends the work on a signal.

    Attributes:
        signal: number of the signal that came, or 0.
    """

    def __init__(self, writer: ResultWriter) -> None:
        self.signal = 0
        self._writer = writer

    async def run(self, work: Callable[[], Coroutine[None, None, int]]) -> int:
        """Do the work; cancel it on a signal, and end a write that waits for its reader.

        A handler of the loop would not be called while a write waits, and the loop with it.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop(number: int, _frame: FrameType | None) -> None:
            if self.signal:  # the second one: they mean it
                os._exit(SIGNALLED + number)
            self.signal = number
            if self._writer.is_writing:
                raise _StoppedError
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)

        for number in _SIGNALS:
            signal.signal(number, stop)
        try:
            return await work()
        except BaseExceptionGroup as errors:
            raise _first_of(errors) from None


def _first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what ended the work; that others met the same does not matter."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
