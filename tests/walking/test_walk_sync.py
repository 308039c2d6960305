"""The walk without `await`: the same stream, from a thread that goes away again."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from contextlib import asynccontextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Walk, walk, walk_sync
from sitemapreader._event_loop import LoopThread
from sitemapreader._many import walk_many_sync
from sitemapreader._walk.walks import BUFFERED_EVENTS
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.grouping import grouped
from tests.support.walking import Pages, index, urlset
from tests.walking.test_walk_stream import LOCS, MANY, MAPS, TOP, Endless, list_locs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sitemapreader._types.models import SitemapEntry


def start(pages: Pages | None = None, **arguments: Any) -> Walk:
    stored = {TOP: urlset(*LOCS)} if pages is None else pages
    return walk_sync(
        **grouped({"sitemaps": [TOP], "fetcher": MemoryFetcher(stored), **arguments})
    )


def walks_on() -> bool:
    return any(thread.name == "sitemapreader.walk" for thread in threading.enumerate())


def test_all_of_it() -> None:
    """Entries, lists and events are those of the other walk, and so is the report."""
    with start() as entries:
        assert [entry.loc for entry in entries] == LOCS
    with start() as entries:
        assert [entry.loc for batch in entries.batches() for entry in batch] == LOCS
    with start({TOP: index("https://example.org/a.xml")}) as entries:
        kinds = [type(event).__name__ for event in entries.events()]
    assert kinds == ["SitemapEntry", "Issue"]
    assert [str(each.status) for each in entries.report.documents] == [
        "complete",
        "skipped",
        "failed",
    ]
    assert not walks_on()


async def test_another_use_of_a_walk_says_how_it_is_made() -> None:
    """A walk is entered once, and each kind of walk in its own way."""
    entries = start()
    with entries:
        pass
    with pytest.raises(ValueError, match=r"once: call walk_sync\(\.\.\.\) again"):
        entries.__enter__()
    with pytest.raises(
        TypeError, match=r"walk_sync\(\.\.\.\) is entered with `with`: .*`_sync`"
    ):
        await start().__aenter__()
    other = walk(sitemaps=[TOP], fetcher=MemoryFetcher({}))
    with pytest.raises(TypeError, match=r"write walk_sync\(\.\.\.\)"):
        other.__enter__()
    async with other:
        pass
    with pytest.raises(ValueError, match=r"once: call walk\(\.\.\.\) again"):
        await other.__aenter__()


@pytest.mark.parametrize(
    "kind", ["__iter__", "batches", "rows", "record_batches", "events"]
)
def test_a_loop_can_be_left_and_taken_up(kind: str) -> None:
    """The next loop of the same kind goes on where the last one stopped; another is refused."""
    locs: list[str] = []
    with start(MANY, sitemaps=MAPS) as entries:
        make = getattr(entries, kind)
        while some := list(islice(make(), 7)):
            locs += [loc for item in some for loc in list_locs(item)]
        with pytest.raises(ValueError, match="another kind of loop"):
            entries.batches() if kind == "__iter__" else iter(entries)
    assert len(locs) == len(set(locs)) == 3 * len(LOCS)


@pytest.mark.skipif(
    sys.platform == "win32", reason="no signal of a process to itself: not Windows"
)
@pytest.mark.parametrize("sites", [False, True], ids=["walk", "many"])
def test_ctrl_c_in_a_wait_loses_nothing(*, sites: bool) -> None:
    """Whoever catches Ctrl-C goes on with the very batch that the loop was waiting for."""
    asked, caught, main = threading.Event(), threading.Event(), threading.get_ident()

    class Interrupting(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **_: object) -> AsyncIterator[Any]:
            await asyncio.to_thread(asked.wait)
            # A signal between Python's check and the system call that waits wakes nobody.
            while not caught.is_set():
                signal.pthread_kill(main, signal.SIGINT)
                await asyncio.to_thread(caught.wait, 20)
            async with super().open(url) as response:
                yield response

    fetcher, found = Interrupting({TOP: urlset(*LOCS)}), list[str]()
    made = walk_many_sync([TOP], fetcher=fetcher) if sites else start(fetcher=fetcher)
    with made as entries:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (the signal comes while it waits)
            asked.set()
            list(entries.batches())
        caught.set()
        for item in entries.batches():
            found += [
                entry.loc for entry in (item[1] if isinstance(item, tuple) else item)
            ]
    assert found == LOCS


@pytest.mark.skipif(
    sys.platform == "win32", reason="no signal of a process to itself: not Windows"
)
def test_ctrl_c_while_the_thread_begins() -> None:
    """Nobody would leave a context that was never entered, so its thread leaves it by itself."""
    left = threading.Event()

    @asynccontextmanager
    async def begin_slowly() -> AsyncIterator[None]:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        await asyncio.sleep(0.1)
        yield
        left.set()

    with pytest.raises(KeyboardInterrupt):
        LoopThread(begin_slowly()).begin()
    assert left.wait(20)


def test_it_streams() -> None:
    """What is read ahead of the consumer is bounded, and leaving early ends it all."""
    page = Endless(TOP)
    with start({TOP: page}) as entries:
        for number, _ in enumerate(entries):
            if number == 30_000:
                break
        time.sleep(0.2)
        assert page.served <= 30_000 + 2 * BUFFERED_EVENTS + 10_000
    assert not walks_on()
    served = page.served
    time.sleep(0.02)
    assert page.served == served
    assert entries.report.documents[0].reason == "left-early"


def test_urls_are_counted_by_batch() -> None:
    """A loop over entries that ends early has seen fewer than its report counts."""
    with start({TOP: urlset(*"abc")}) as entries:
        for entry in entries:
            assert entry.loc.endswith("a")
            break
    assert entries.report.entries == 3


async def test_inside_a_running_loop() -> None:
    """It works where an event loop is running, as in a notebook."""
    assert asyncio.get_running_loop().is_running()
    with start() as entries:
        assert len(list(entries)) == len(LOCS)


def test_exceptions() -> None:
    """A bug comes out as it is, the user's own exception wins, and both leave nothing behind."""

    def follow(entry: SitemapEntry) -> bool:
        raise ZeroDivisionError(entry.loc)

    pages: Pages = {TOP: index("https://example.org/a.xml")}
    with pytest.raises(ZeroDivisionError), start(pages, follow=follow) as entries:
        list(entries)
    with pytest.raises(ZeroDivisionError), start(pages, follow=follow):
        time.sleep(0.1)
    with pytest.raises(KeyError), start(pages, follow=follow):
        raise KeyError
    assert not walks_on()


def test_the_thread_has_ended_behind_the_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long its end takes: a program that forks then, or ends, has no thread besides."""
    run = threading.Thread.run

    def run_slowly(thread: threading.Thread) -> None:
        run(thread)
        if thread.name == "sitemapreader.walk":
            time.sleep(0.05)

    monkeypatch.setattr(threading.Thread, "run", run_slowly)
    with start() as entries:
        assert [entry.loc for entry in entries] == LOCS
    assert not walks_on()


def test_misuse() -> None:
    """Whoever forgets the `with`, or comes back later, is told what to write."""
    entries = start()
    for misuse in (entries.__iter__, entries.batches, entries.events):
        with pytest.raises(TypeError, match="use `with` and `for`"):
            misuse()
    with entries:
        kept = iter(entries)
    for late in (entries.__iter__, entries.batches, lambda: next(kept)):
        with pytest.raises(ValueError, match="the walk is over"):
            late()
    with pytest.raises(ValueError, match="again"):
        entries.__enter__()
    with pytest.raises(ValueError, match="no site was given"):
        walk_sync()
