"""Nothing is left behind by a walk: however it is left, and wherever it is cancelled.

Run as a script, this file goes through the scenarios in development mode with every warning an
error, and prints what was still there afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import package
import pytest
from serving import serve
from walking import index, urlset

from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import discover, walk, walk_sync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from serving import Page

    Scenario = Callable[[str], Awaitable[None]]

OPTIONS = FetchOptions(max_attempts=1, concurrency=3)


class DeliberateError(Exception):
    """What a consumer raises."""


def make_site(base: str) -> Mapping[str, Page]:
    children = [f"{base}/{n}.xml" for n in range(6)]
    pages: dict[str, Page] = {
        "/robots.txt": f"Sitemap: {base}/i.xml\nSitemap: {base}/gone.xml".encode(),
        "/i.xml": index(*children, f"{base}/gone.xml"),
    }
    return pages | {f"/{n}.xml": urlset(*(f"{base}/{n}/{m}" for m in range(300))) for n in range(6)}


def in_memory(base: str) -> MemoryFetcher:
    pages = make_site(base).items()
    return MemoryFetcher({base + path: page for path, page in pages if isinstance(page, bytes)})


# -- scenarios; each is given the URL of a site that is served


async def read_all(base: str) -> None:
    async with walk(base, options=OPTIONS) as entries:
        async for _ in entries:
            pass


async def read_events(base: str) -> None:
    async with walk(base, options=OPTIONS, unique=True) as entries:
        async for _ in entries.events():
            pass


async def read_slowly(base: str) -> None:
    async with walk(base, options=OPTIONS) as entries:
        async for _ in entries.batches():
            await asyncio.sleep(0.002)


async def break_out(base: str) -> None:
    async with walk(base, options=OPTIONS) as entries:
        async for _ in entries:
            break


async def never_iterate(base: str) -> None:
    async with walk(base, options=OPTIONS):
        await asyncio.sleep(0.002)


async def raise_inside(base: str) -> None:
    with contextlib.suppress(DeliberateError):
        async with walk(base, options=OPTIONS) as entries:
            async for _ in entries:
                raise DeliberateError


async def time_out(base: str) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.005), walk(base, options=OPTIONS) as entries:
            async for _ in entries:
                await asyncio.sleep(0)


async def read_memory(base: str) -> None:
    async with walk(base, fetcher=in_memory(base), options=OPTIONS) as entries:
        async for _ in entries.events():
            await asyncio.sleep(0)


async def probe(base: str) -> None:
    async with walk(f"{base}/none/", options=OPTIONS, probe="always") as entries:
        async for _ in entries:
            pass


async def find(base: str) -> None:
    await discover(base, options=OPTIONS, probe="always")


async def two_at_once(base: str) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(read_all(base))
        group.create_task(break_out(base))


SCENARIOS: tuple[Scenario, ...] = (
    read_all,
    read_events,
    read_slowly,
    break_out,
    never_iterate,
    raise_inside,
    time_out,
    read_memory,
    probe,
    find,
    two_at_once,
)


async def cancelled_after(
    scenario: Callable[[str], Awaitable[None]], base: str, steps: int
) -> bool:
    """Run a scenario and cancel it after so many steps of the loop; tell whether it was running."""
    task = asyncio.ensure_future(scenario(base))
    for _ in range(steps):
        await asyncio.sleep(0)
        if task.done():
            break
    running = task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return running


SERVERS_OWN = {"RequestHandler.start", "BaseSelectorEventLoop._accept_connection2"}


def left_over() -> list[str]:
    """Return the tasks that are there besides the current one and those of the server."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    names = [getattr(task.get_coro(), "__qualname__", "?") for task in tasks]
    return [name for name in names if name not in SERVERS_OWN]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def torture() -> int:
    """Go through all scenarios, whole and cancelled at every step; print what was left behind."""
    asyncio.get_running_loop().slow_callback_duration = 60
    cancelled = 0
    async with serve(make_site) as served:
        await read_all(served.base)
        await asyncio.sleep(0.05)
        files = open_files()
        for scenario in SCENARIOS:
            steps = 0
            running = True
            while running:
                running = await cancelled_after(scenario, served.base, steps)
                cancelled += running
                steps += 1 + steps // 6
                for left in left_over():
                    print(f"{scenario.__name__} after {steps} steps: {left}")  # noqa: T201 (the test reads it)
        for _ in range(100):
            gc.collect()
            if open_files() <= files:
                break
            await asyncio.sleep(0.05)  # the server's ends close when the loop comes to it
        else:
            print(f"files: {files} before, {open_files()} after")  # noqa: T201 (the test reads it)
    return cancelled


def leave_threads() -> None:
    """Leave blocking walks in every way, and print the threads that were left behind."""
    base = "https://example.org"
    for stop in (0, 1, 299, 301, 10_000):
        with walk_sync(base, fetcher=in_memory(base)) as entries:
            for number, _ in enumerate(entries):
                if number == stop:
                    break
        with (
            contextlib.suppress(DeliberateError),
            walk_sync(base, fetcher=in_memory(base)) as entries,
        ):
            for number, _ in enumerate(entries.events()):
                if number == stop:
                    raise DeliberateError
    with walk_sync(base, fetcher=in_memory(base)):
        pass
    walk_sync(base)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            print(f"thread: {thread}")  # noqa: T201 (the test reads it)


def main() -> None:
    # that a callback took long is a warning, and no leak; that a task was lost is an error
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    print("cancelled", asyncio.run(torture()))  # noqa: T201 (the test reads it)
    leave_threads()
    gc.collect()


@pytest.mark.slow
def test_nothing_is_left_behind() -> None:
    """No task, socket, thread or warning outlives a walk, wherever in its way it was cancelled."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", __file__],
        env=package.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.stderr == ""
    word, _, number = done.stdout.partition(" ")
    assert word == "cancelled"
    assert int(number) > 150
    assert done.returncode == 0


# -- who is cancelled, and how it comes out


async def test_a_cancellation_comes_out() -> None:
    """A consumer that is cancelled ends cancelled, also if it is cancelled again on its way out."""
    started = asyncio.Event()

    async def consume() -> None:
        async with walk(fetcher=in_memory("https://example.org"), site="https://example.org") as w:
            async for _ in w:
                started.set()
                await asyncio.sleep(0)

    for again in range(4):
        started.clear()
        task = asyncio.create_task(consume())
        await asyncio.wait_for(started.wait(), 10)
        task.cancel("first")
        for _ in range(again):
            await asyncio.sleep(0)
            task.cancel("again")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert {asyncio.current_task()} == asyncio.all_tasks()


async def test_a_time_out_stays_a_time_out() -> None:
    """A deadline around a walk comes out as the TimeoutError that it is."""

    async def consume() -> None:
        async with asyncio.timeout(0.01):
            async with walk("https://example.org", fetcher=in_memory("https://example.org")) as w:
                async for _ in w:
                    await asyncio.sleep(0.001)

    with pytest.raises(TimeoutError):
        await consume()
    assert {asyncio.current_task()} == asyncio.all_tasks()


if __name__ == "__main__":
    main()
