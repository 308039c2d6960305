"""The process of a command: signals, closed pipes, full disks, exit codes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader.cli.console import Console
from sitemapreader.cli.output import LineWriter, opened, write_to
from sitemapreader.cli.parser import ALL_READ, CLOSED_PIPE, LOCKED, NO_URL, SIGNALLED, name_options
from sitemapreader.errors import StateError
from sitemapreader.event_loop import find_first

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_TICK_SECONDS = 0.2


def run_process(work: Callable[[], Coroutine[None, None, int]], name: str, console: Console) -> int:
    """Run the work to its end or until a signal; return the exit code."""
    signals: list[int] = []
    try:
        return asyncio.run(_run_until_signal(work, signals))
    except asyncio.CancelledError as error:
        abandon_standard_output()
        notes = getattr(error, "__notes__", [])
        console.print_line("; ".join([f"stopped by {signal.Signals(signals[0]).name}", *notes]))
        return SIGNALLED + signals[0]
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


async def _run_until_signal(
    work: Callable[[], Coroutine[None, None, int]], signals: list[int]
) -> int:
    """Do the work; a signal cancels it, and is put into the list."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

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
