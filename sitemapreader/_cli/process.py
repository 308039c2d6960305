"""The process of a command: signals, streams, pipes, full disks, exit codes."""

from __future__ import annotations

import array
import asyncio
import os
import select
import signal
import stat
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sitemapreader._cli.console import Console
from sitemapreader._cli.parser import (
    ALL_READ,
    CLOSED_PIPE,
    LOCKED,
    NO_URL,
    SIGNALLED,
    name_options,
)
from sitemapreader._event_loop import find_first, run_in_daemon
from sitemapreader._types.errors import StateError
from sitemapreader.output.sink import ArrayEncoder, Encoder, Output

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
    from types import FrameType

AnyOutput = TypeVar("AnyOutput", bound=Output)
Written = TypeVar("Written")
SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]
_TICK_SECONDS = 0.2


def run_process(
    work: Callable[[], Coroutine[None, None, int]],
    name: str,
    console: Console,
) -> int:
    """Run the work to its end or until a signal; return the exit code."""
    signals: list[int] = []
    try:
        return asyncio.run(_run_until_signal(work, signals))
    except asyncio.CancelledError as error:
        notes = getattr(error, "__notes__", [])
        console.print_line(
            "; ".join([f"stopped by {signal.Signals(signals[0]).name}", *notes])
        )
        return SIGNALLED + signals[0]
    except BrokenPipeError:
        return CLOSED_PIPE
    except StateError as error:
        console.print_error(name_options(str(error)))
        return LOCKED if error.is_locked else NO_URL
    except OSError as error:
        console.print_error(f"cannot write to {name}: {error.strerror or error}")
        return NO_URL


async def _run_until_signal(
    work: Callable[[], Coroutine[None, None, int]], signals: list[int]
) -> int:
    """Do the work; a signal cancels it, and is put into the list."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def stop(number: int, _frame: FrameType | None) -> None:
        if signals:  # a second signal does not wait for the clean-up
            os._exit(SIGNALLED + number)
        signals.append(number)
        if task is not None and not task.done():  # else its exit code stands
            loop.call_soon_threadsafe(task.cancel)

    for number in SIGNALS:  # not `loop.add_signal_handler`, which Windows has not
        signal.signal(number, stop)
    # A handler of Python runs in the main thread, between two of its steps. So the loop must not
    # wait for long: a signal that comes just before it waits, or to another thread, wakes nobody.
    ticking = asyncio.create_task(_tick(), name="sitemapreader.tick")
    try:
        return await work()
    except BaseExceptionGroup as errors:
        raise find_first(errors) from None
    finally:
        ticking.cancel()


async def _tick() -> None:
    while True:  # noqa: ASYNC110 (no event: a signal sets none)
        await asyncio.sleep(_TICK_SECONDS)


def print_text(text: str) -> int:
    """Print a text and return the exit code."""

    async def work() -> int:
        async with opened(LineWriter(None)) as lines:
            await write_to(lines, lines.write_text, text)
        return ALL_READ

    return run_process(work, "standard output", Console())


async def ignore_signals() -> None:
    """Ignore signals that come from now on; one that has come before has its effect."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    await asyncio.sleep(0)


# -- streams


class LineWriter(Output):
    """An output of whole lines of text."""

    def __init__(self, path: str | None, *, is_array: bool = False) -> None:
        """Make the output; `is_array` joins the lines, which are JSON, to one array."""
        self._array = ArrayEncoder(Encoder()) if is_array else None
        end = None if is_array else b"\n"
        super().__init__(path, self._array or Encoder(), end)

    def write_text(self, text: str) -> None:
        """Write a text that consists of lines; raise OSError."""
        data = text.encode(self.encoding, "backslashreplace")
        if self._array is not None and data:
            data = self._array.join(data)
        self.put(data)

    def write_lines(self, lines: Iterable[str]) -> None:
        """Write lines; raise OSError."""
        self.write_text("".join(f"{line}\n" for line in lines))


@asynccontextmanager
async def opened(output: AnyOutput) -> AsyncIterator[AnyOutput]:
    """Enter an output, and leave it; a named pipe may have to wait for its reader.

    A signal leaves what was written until then: a note of the exception says where.
    """
    if output.waits_for_reader:
        await run_in_daemon(output.__enter__)
    else:  # at once: a signal while a thread opens a file would leave that behind
        output.__enter__()
    try:
        yield output
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and output.is_replaced:
            part = output.keep()
            said = f"the output up to then is in {part}"
            error.add_note(said if part else f"{output.name} was not written")
        output.__exit__(type(error), error, error.__traceback__)
        raise
    await run_in_daemon(partial(output.__exit__, None, None, None))


async def write_to(
    output: Output, write: Callable[[Written], object], data: Written
) -> None:
    """Write data to an output: in a thread, where that may wait for a reader without limit."""
    # So the walks go on until their channels are full, and a signal ends the program at once. A
    # terminal shows progress and messages as well: what is written there is written in turn. So is
    # what is redirected into a file: a thread for each batch takes a third of the program's time.
    if output.is_replaced or (output.descriptor >= 0 and not is_pipe(output)):
        write(data)
    else:
        await run_in_daemon(partial(write, data))


# -- pipes

GRACE_SECONDS = 0.2
"""Time to wait at the end for a reader that exits early, as `head` does: one that wants more
stays until end of file."""


def is_pipe(output: Output) -> bool:
    """Return whether an output is lost if its reader dies."""
    mode = os.fstat(output.descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def wait_for_reader(pipe: int) -> None:
    """Wait until the reader of a pipe has taken everything, and has stayed for more.

    Raises BrokenPipeError: it has gone away.
    """
    pause = 0.001
    rounds = 10
    while rounds:
        if _is_abandoned(pipe):
            raise BrokenPipeError
        if _holds_bytes(pipe):
            pause = min(2 * pause, 0.1)
        else:
            pause = GRACE_SECONDS / 10
            rounds = rounds - 1
        await asyncio.sleep(pause)


def _holds_bytes(pipe: int) -> bool:
    """Return whether a pipe has unread bytes; False if the system cannot tell."""
    count = array.array("i", [0])
    with suppress(ImportError, OSError):  # Windows, which has none of these; a socket
        import fcntl  # noqa: PLC0415 (see above)
        import termios  # noqa: PLC0415 (the same)

        fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0] > 0 and stat.S_ISFIFO(os.fstat(pipe).st_mode)


def _is_abandoned(pipe: int) -> bool:
    """Return whether every reader has closed its end."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(pipe, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
