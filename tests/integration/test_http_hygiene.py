"""Nothing is left behind: however a document is left, and wherever its task is cancelled.

Run as a script, this file goes through the ways to leave, in development mode with every warning an
error, and prints what was still there afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import package
import pytest
from faults import FaultServer

from sitemapreader.errors import FetchError
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

OPTIONS = FetchOptions(
    max_attempts=2, retry_wait_seconds=0.001, connect_seconds=1, headers_seconds=1
)


class DeliberateError(Exception):
    """What a consumer raises."""


# -- ways to leave; each is given a server and a fetcher


async def leave_unread(server: FaultServer, fetcher: HttpFetcher) -> None:
    async with fetcher.open(server.url("endless")):
        pass


async def leave_in_the_middle(server: FaultServer, fetcher: HttpFetcher) -> None:
    async with fetcher.open(server.url("endless")) as response:
        async for _ in response.chunks():
            break


async def raise_in_the_middle(server: FaultServer, fetcher: HttpFetcher) -> None:
    with contextlib.suppress(DeliberateError):
        async with fetcher.open(server.url("endless")) as response:
            async for _ in response.chunks():
                raise DeliberateError


async def time_out_in_the_middle(server: FaultServer, fetcher: HttpFetcher) -> None:
    try:
        async with asyncio.timeout(0.05), fetcher.open(server.url("drip")) as response:
            async for _ in response.chunks():
                pass
    except TimeoutError:
        pass


async def read_redirected(server: FaultServer, fetcher: HttpFetcher) -> None:
    async with fetcher.open(server.url("hops/2")) as response:
        async for _ in response.chunks():
            pass


async def meet_faults(server: FaultServer, fetcher: HttpFetcher) -> None:
    for path in ("reset", "status/503", "length-short", "garbage", "circle/a"):
        try:
            async with fetcher.open(server.url(path)) as response:
                async for _ in response.chunks():
                    pass
        except FetchError:
            pass


async def wait_for_turns(server: FaultServer, fetcher: HttpFetcher) -> None:
    await asyncio.gather(*(leave_in_the_middle(server, fetcher) for _ in range(4)))


WAYS = (
    leave_unread,
    leave_in_the_middle,
    raise_in_the_middle,
    time_out_in_the_middle,
    read_redirected,
    meet_faults,
    wait_for_turns,
)
MAX_STEPS = 120
"""Turns of the event loop after which a way is cancelled: each of them, up to so many."""


async def leave_in(way: Callable[[FaultServer, HttpFetcher], Awaitable[None]]) -> None:
    """Go a way to its end, and then with a cancellation after each step."""
    async with FaultServer() as server:
        for steps in (None, *range(MAX_STEPS)):
            async with HttpFetcher(OPTIONS) as fetcher:
                fetcher.trust(server.base)
                task = asyncio.ensure_future(way(server, fetcher))
                if steps is not None:
                    await walk_on(steps)
                    task.cancel()
                done, _ = await asyncio.wait([task], timeout=10)
                assert done, f"{way} hangs after {steps} steps"
                if not task.cancelled():
                    task.result()
                hosts = fetcher.network.throttle._hosts.values()
                assert not any(host.users for host in hosts), f"{way}: a turn is lost"
            if steps is not None and not task.cancelled():
                break  # it had ended before: there is nothing more to cancel


async def walk_on(steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


def count_files() -> int:
    folder = "/proc/self/fd"
    return len(os.listdir(folder)) if os.path.isdir(folder) else 0  # noqa: PTH208, PTH112 (no Path: it opens)


async def go_all_ways() -> None:
    loop = asyncio.get_running_loop()
    loop.slow_callback_duration = 60  # a busy machine is no leak
    before = count_files()
    for way in WAYS:
        await leave_in(way)
    await asyncio.sleep(0.05)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert not tasks, tasks
    assert count_files() == before, "a file is left open"


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "dev", "-W", "error", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=package.environment()
    )


@pytest.mark.slow
def test_nothing_is_left_behind() -> None:
    """Seven ways to leave, each also cancelled at every step: no task, file, turn or warning."""
    run = run_python(__file__)
    assert (run.returncode, run.stdout, run.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("sitemapreader.fetch", "False"),
        ("sitemapreader.fetch.local", "False"),
        ("sitemapreader.fetch.http", "False"),
        ("sitemapreader.fetch.aiohttp", "True"),
    ],
)
def test_aiohttp_is_imported_by_its_transport_alone(module: str, expected: str) -> None:
    """The seam and the other fetchers do without it."""
    run = run_python("-c", f"import sys, {module}; print('aiohttp' in sys.modules)")
    assert (run.stdout.strip(), run.stderr) == (expected, "")


if __name__ == "__main__":
    asyncio.run(go_all_ways())
    print("done")  # noqa: T201 (the word that the test waits for)
