"""Cancellation at every await: each scenario is cancelled at its suspensions, and leaves nothing.

Run as a script, this file goes through the scenarios and prints what was left, and how often it has
cancelled; with `--all` at every single suspension, which takes some minutes:

    python -X dev -W error tests/slow/test_cancelling.py --all
"""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import FetchOptions, Search, discover, walk, walk_sync
from sitemapreader.fetch import FolderFetcher, HttpFetcher
from tests.support import package
from tests.support.faults import ROUTES, FaultServer, Request, Step, answered
from tests.support.grouping import grouped
from tests.support.walking import index

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

PATIENCE_SECONDS = 20.0
OPTIONS = FetchOptions(
    max_attempts=2,
    retry_wait_seconds=0.005,
    host_pause_seconds=0.005,
    idle_seconds=0.05,
    headers_seconds=1,
    concurrency=3,
)

# -- the servers, in a process with file descriptors of its own

CHILDREN = {
    "good": "ok/{n}",
    "gzip": "packed/{n}?layers=1",
    "hops": "hops/{n}",
    "flaky": "flaky?times=1&amp;with=503&amp;n={n}",
    "reset": "reset/{n}",
    "cut": "bursts/{n}?end=cut",
    "silence": "half-then-silence",
    "bad-chunk": "chunk-bad-late",
    "none": "status/40{n}",
}
"""Name of an index -> its children: routes of the fault server."""


async def run_servers() -> None:
    """Print two addresses, of a site and of one that is too busy to show its robots.txt."""

    def list_children(request: Request) -> list[Step]:
        path = CHILDREN[request.last]
        return answered(index(*{"/" + path.format(n=n) for n in range(4)}))

    def name_the_sitemaps(request: Request) -> list[Step]:
        base = f"http://{request.headers['host']}"
        if base == busy.base:
            return answered(b"", "503 No")
        return answered(
            f"Sitemap: {base}/index/good\nSitemap: {base}/status/404".encode()
        )

    ROUTES.update({"index": list_children, "robots.txt": name_the_sitemaps})
    async with FaultServer() as site, FaultServer() as busy:
        print(site.base, busy.base, flush=True)  # noqa: T201 (the client reads it)
        await asyncio.Event().wait()


@contextmanager
def serve() -> Iterator[list[str]]:
    """Run the servers in a process of their own; yield their addresses."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(iter(server.stdout or ())).split()
        finally:
            server.kill()


# -- the scenarios

Act = Callable[[Any], Awaitable[object]]
"""What is done with a walk."""


class DeliberateError(Exception):
    """An error that a consumer raises."""


async def read_all(entries: Any) -> None:
    async for _ in entries:
        pass


async def read_events(entries: Any) -> None:
    async for _ in entries.events():
        pass


async def read_slowly(entries: Any) -> None:
    async for _ in entries.batches():
        await asyncio.sleep(0.001)


async def break_out(entries: Any) -> None:
    async for _ in entries:
        break


async def raise_inside(entries: Any) -> None:
    async for _ in entries:
        raise DeliberateError


async def time_out(entries: Any) -> None:
    async with asyncio.timeout(0.01):
        await read_all(entries)


async def do(act: Act, *site: str, **arguments: Any) -> None:
    """Do something with a walk."""
    with suppress(DeliberateError, TimeoutError):
        async with walk(*site, **grouped({"options": OPTIONS, **arguments})) as entries:
            await act(entries)


async def two_at_once(site: str) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(do(read_all, sitemaps=[f"{site}/index/good"]))
        group.create_task(do(break_out, site))


async def own_fetcher(site: str) -> None:
    async with HttpFetcher(OPTIONS) as fetcher:
        for _ in range(2):
            await do(
                read_all, sitemaps=[f"{site}/index/good"], fetcher=fetcher, options=None
            )


def make_scenarios(
    site: str, busy: str
) -> dict[str, Callable[[], Coroutine[Any, Any, Any]]]:
    """Return ways to use the package, by name."""
    folder = FolderFetcher(package.ROOT / "testdata" / "site")
    acts: tuple[Act, ...] = (read_all, read_slowly, break_out, raise_inside, time_out)
    return {
        **{act.__name__: lambda act=act: do(act, site) for act in acts},  # type: ignore[misc]
        "events": lambda: do(read_events, site, unique=True, follow=lambda _: True),
        "never_iterate": lambda: do(lambda _: asyncio.sleep(0.005), site),
        "busy": lambda: do(read_all, busy),
        "two_at_once": lambda: two_at_once(site),
        "own_fetcher": lambda: own_fetcher(site),
        "probe": lambda: discover(
            f"{site}/none/", options=OPTIONS, search=Search(probe="always", feeds=True)
        ),
        "folder": lambda: do(read_all, folder.base_url, fetcher=folder),
        **{
            kind: lambda kind=kind: do(read_all, sitemaps=[f"{site}/index/{kind}"])  # type: ignore[misc]
            for kind in CHILDREN
        },
    }


# -- cancelling


class Followed(Coroutine[Any, Any, Any]):
    """A coroutine that tells each time that it waits."""

    def __init__(
        self, inner: Coroutine[Any, Any, Any], note: Callable[[], None]
    ) -> None:
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


class Canceller:
    """Cancels a task when it, or with `everyone` any task of its loop, has waited so often."""

    def __init__(self, at: int, *, everyone: bool) -> None:
        self.fired = False
        self._left = at
        self._everyone = everyone
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
        self._left -= 1
        if self._left == 0 and self._victim is not None:
            self.fired = self._victim.cancel()


async def cancel_all(*sites: str, every: bool) -> tuple[int, list[str]]:
    """Cancel each scenario at its waits; return how often, and what was left or came out wrong."""
    left: list[str] = []
    cancelled = 0
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: left.append(str(context)))
    scenarios = make_scenarios(*sites)
    for scenario in scenarios.values():
        await scenario()
    # it costs more than the scenarios, and has seen all of them once
    loop.set_debug(False)
    gc.freeze()  # collections look for what comes from now on
    await asyncio.sleep(0.05)
    files = count_files()
    for number, (name, scenario) in enumerate(scenarios.items()):
        # what a consumer waits for is the same, whatever the documents are
        for everyone in (False, True) if name not in [*CHILDREN][1:] else (True,):
            # they begin alike, so each is cancelled at moments of its own
            at, fired = 1 if every else 1 + number % 3, True
            while fired:
                canceller = Canceller(at, everyone=everyone)
                loop.set_task_factory(canceller.make_task)
                task = loop.create_task(scenario())
                await asyncio.wait([task], timeout=PATIENCE_SECONDS)
                loop.set_task_factory(None)
                found = [*judge(task, fired=canceller.fired)]
                if await keeps_files(files):
                    found.append(f"{count_files() - files} files are open")
                left += [
                    f"{name}, {'any' if everyone else 'its'} wait {at}: {x}"
                    for x in found
                ]
                fired = canceller.fired and not found
                cancelled += fired
                at += 1 if every else 1 + at // 2
        gc.collect()
    return cancelled, left


def judge(task: asyncio.Task[Any], *, fired: bool) -> Iterator[str]:
    """Tell what is wrong with a task that was cancelled, if it was, and what else still runs."""
    if not task.done():
        yield "hangs"
    elif not fired:
        task.result()
    elif not task.cancelled():
        yield f"the cancellation was lost: {task.exception()!r}"
    yield from map(repr, asyncio.all_tasks() - {asyncio.current_task(), task})


async def keeps_files(files: int) -> bool:
    # a transport closes when the loop comes to it
    for wait in (
        0,
        0,
        0,
        0.01,
        0.1,
        0.5,
    ):
        if count_files() <= files:
            return False
        await asyncio.sleep(wait)
    return True


def count_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def leave_threads(base: str) -> Iterator[str]:
    """Leave blocking walks after some of their entries; yield what was left of them."""
    files = count_files()
    for stop in range(0, 600, 50):
        with walk_sync(base, options=OPTIONS) as entries:
            for number, _ in enumerate(entries):
                if number == stop:
                    break
    gc.collect()
    yield from map(repr, set(threading.enumerate()) - {threading.main_thread()})
    if count_files() > files:
        yield "walk_sync: files left open"


def main() -> None:
    # A busy machine is no leak: in each loop, that of a thread too, a step may take its time.
    logging.getLogger("asyncio").addFilter(
        lambda record: "took" not in record.getMessage()
    )
    with serve() as sites:
        cancelled, left = asyncio.run(cancel_all(*sites, every="--all" in sys.argv))
        left += leave_threads(sites[0])
    print(*left, cancelled, sep="\n")  # noqa: T201 (the test reads it)


@pytest.mark.long
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
    assert (done.stderr, done.returncode) == ("", 0)
    *left, cancelled = done.stdout.splitlines()
    assert left == []
    assert int(cancelled) > 150


if __name__ == "__main__":
    asyncio.run(run_servers()) if "--serve" in sys.argv else main()
