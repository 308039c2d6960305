"""Torture by await: every scenario is cancelled at each of its suspensions, and leaves nothing.

Run as a script, this file goes through the scenarios and prints what was left, and how often it has
cancelled; with `--all` at every single suspension, which takes some minutes:

    python -X dev -W error tests/slow/test_torture.py --all
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import package
from torture_scenarios import OPTIONS, SCENARIOS, Servers
from torture_server import serve

from sitemapreader.walker import walk_sync

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from torture_scenarios import Scenario

PATIENCE_SECONDS = 20.0


class Followed(Coroutine[Any, Any, Any]):
    """A coroutine that tells each time that it waits."""

    def __init__(self, inner: Coroutine[Any, Any, Any], note: Callable[[], None]) -> None:
        self._inner = inner
        self._note = note

    def send(self, value: Any) -> Any:
        awaited = self._inner.send(value)
        self._note()
        return awaited

    def throw(self, *error: Any) -> Any:
        awaited = self._inner.throw(*error)
        self._note()
        return awaited

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()


class Torturer:
    """Cancels a task when it, or with `everyone` any task of its loop, has waited so often."""

    def __init__(self, at: int, *, everyone: bool) -> None:
        self.fired = False
        self._at = at
        self._everyone = everyone
        self._count = 0
        self._victim: asyncio.Task[Any] | None = None

    def make_task(
        self, loop: asyncio.AbstractEventLoop, coro: Any, **more: Any
    ) -> asyncio.Task[Any]:
        """Make a task of a followed coroutine; for `loop.set_task_factory`."""
        if self._victim is not None and not self._everyone:
            return asyncio.Task(coro, loop=loop, **more)
        task = asyncio.Task(Followed(coro, self._note), loop=loop, **more)
        self._victim = self._victim or task
        return task

    def _note(self) -> None:
        self._count += 1
        if self._count == self._at and self._victim is not None:
            self.fired = self._victim.cancel()


class Chamber:
    """Where scenarios are run one by one.

    Attributes:
        cancelled: how often one was cancelled.
        left: what was there afterwards, or came out wrong.
    """

    def __init__(self, servers: Servers) -> None:
        self.cancelled: Counter[str] = Counter()
        self.left: list[str] = []
        self._servers = servers
        self._files = 0

    async def run_all(self, scenarios: tuple[Scenario, ...], *, every: bool) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.left.append(str(context)))
        for scenario in scenarios:
            await scenario(self._servers)
        await asyncio.sleep(0.05)
        self._files = count_files()
        for scenario in scenarios:
            for everyone in (False, True):
                for at in steps(every=every):
                    if not await self._run(scenario, at, everyone=everyone):
                        break
            gc.collect()

    async def _run(self, scenario: Scenario, at: int, *, everyone: bool) -> bool:
        """Run a scenario with a cancellation; tell whether it came to that."""
        loop = asyncio.get_running_loop()
        torturer = Torturer(at, everyone=everyone)
        loop.set_task_factory(torturer.make_task)
        task = loop.create_task(scenario(self._servers))
        await asyncio.wait([task], timeout=PATIENCE_SECONDS)
        loop.set_task_factory(None)
        name = f"{scenario.__name__}, {'any' if everyone else 'its'} wait {at}"
        if not task.done():
            self.left.append(f"{name}: hangs")
            return False
        if not torturer.fired:
            task.result()
        elif not task.cancelled():
            self.left.append(f"{name}: the cancellation was lost: {task.exception()!r}")
        self.left += [
            f"{name}: {task!r}" for task in asyncio.all_tasks() - {asyncio.current_task()}
        ]
        if await self._keeps_files():
            self.left.append(f"{name}: {count_files()} files open, not {self._files}")
            self._files = count_files()
        self.cancelled[scenario.__name__] += torturer.fired
        return torturer.fired

    async def _keeps_files(self) -> bool:
        for wait in (0, 0, 0, 0.01, 0.1, 0.5):  # a transport closes when the loop comes to it
            if count_files() <= self._files:
                return False
            await asyncio.sleep(wait)
        return True


def steps(*, every: bool) -> Iterator[int]:
    """Give the waits to cancel at: each, or each at first and then ever fewer."""
    at = 1
    while True:
        yield at
        at += 1 if every else 1 + at // 4


def count_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def leave_threads(base: str) -> list[str]:
    """Leave blocking walks after each of their first entries; return what was left of them."""
    files = count_files()
    for stop in range(0, 170, 6):
        with walk_sync(base, options=OPTIONS) as entries:
            for number, _ in enumerate(entries):
                if number == stop:
                    break
    gc.collect()
    others = set(threading.enumerate()) - {threading.main_thread()}
    left = [f"walk_sync: {thread!r}" for thread in others]
    return left + (["walk_sync: files left open"] if count_files() > files else [])


def main() -> None:
    # A busy machine is no leak: in each loop, that of a thread too, a step may take its time.
    logging.getLogger("asyncio").addFilter(lambda record: "took" not in record.getMessage())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="cancel at every single suspension")
    parser.add_argument("--only", help="the name of one scenario")
    arguments = parser.parse_args()
    chosen = tuple(each for each in SCENARIOS if arguments.only in (None, each.__name__))
    with serve() as bases:
        chamber = Chamber(Servers(*bases))
        asyncio.run(chamber.run_all(chosen, every=arguments.all))
        left = chamber.left + leave_threads(bases[0])
    for line in left:
        print(line)  # noqa: T201 (the test reads it)
    if arguments.all:
        print(*(f"{count:>6} {name}" for name, count in chamber.cancelled.items()), sep="\n")  # noqa: T201 (for who asked)
    print("scenarios", len(chosen), "cancelled", chamber.cancelled.total())  # noqa: T201 (the test reads it)


def test_nothing_is_left_wherever_it_is_cancelled() -> None:
    """No task, file, thread or warning outlives any scenario, whichever wait it is cancelled at."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", __file__],
        env=package.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.stderr == ""
    *left, figures = done.stdout.splitlines()
    assert left == []
    _, scenarios, _, cancelled = figures.split()
    assert int(scenarios) >= 25
    assert int(cancelled) > 500
    assert done.returncode == 0


if __name__ == "__main__":
    main()
