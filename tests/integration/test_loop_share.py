"""Readers that share an event loop: no task waits long, nor does the first URL."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING

from sitemapreader import SitemapReader, walk
from sitemapreader.discovery import context
from sitemapreader.discovery.context import LoopShare
from sitemapreader.discovery.download import read_events
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    import pytest

    from sitemapreader.models import Event
    from sitemapreader.rows import Events

URL = "https://example.org/sitemap.xml"
COUNT = 10_000


def many_urls() -> bytes:
    """Make a sitemap that inflates from one piece of the network's to hundreds of steps."""
    path = "a" * 200
    locs = (f"<url><loc>https://example.org/{path}/{number}</loc></url>" for number in range(COUNT))
    data = gzip.compress(f"<urlset>{''.join(locs)}</urlset>".encode())
    assert len(data) < 65_536
    return data


async def chunks(data: bytes) -> AsyncGenerator[bytes, None]:
    """Yield a body as one chunk."""
    yield data


def read(share: LoopShare) -> AsyncGenerator[Events, None]:
    """Read one large sitemap in batches."""
    return read_events(chunks(many_urls()), SitemapReader(URL), lambda _: None, share)


async def test_one_reader_at_a_time_reads_a_chunk() -> None:
    """A second reader waits until the first one has read its chunk, and then reads its own."""
    share = LoopShare()
    async with aclosing(read(share)) as first, aclosing(read(share)) as second:
        await anext(first)
        waiting = asyncio.ensure_future(anext(second))
        rest = 0
        async for batch in first:
            assert not waiting.done()
            rest += len(batch)
        assert await asyncio.wait_for(waiting, 60)
    assert rest > COUNT / 2


async def test_a_reader_that_is_left_lets_the_next_one_read() -> None:
    """However the reading of a document ends, the others can read."""
    share = LoopShare()
    async with aclosing(read(share)) as first, aclosing(read(share)) as second:
        await anext(first)
        waiting = asyncio.ensure_future(anext(second))
        await asyncio.sleep(0)
        await first.aclose()
        assert await asyncio.wait_for(waiting, 60)


async def test_a_reader_that_is_cancelled_while_it_waits_holds_up_nobody() -> None:
    """Of two readers that wait, one is cancelled; the other one reads."""
    share = LoopShare()
    async with aclosing(read(share)) as first, aclosing(read(share)) as third:
        await anext(first)
        waiting = [asyncio.ensure_future(anext(each)) for each in (read(share), third)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await first.aclose()
        assert await asyncio.wait_for(waiting[1], 60)


async def test_a_loop_yields_only_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tasks run after the interval of a loop, not before, and then not at once again."""
    monkeypatch.setattr(context, "_INTERVAL_SECONDS", 600)
    share = LoopShare()
    ran: list[str] = []
    asyncio.get_running_loop().call_soon(ran.append, "other")
    await share.yield_if_due()
    states = [bool(ran)]
    share._interval.due_at = 0.0  # as if it had worked for so long
    await share.yield_if_due()
    states.append(bool(ran))
    asyncio.get_running_loop().call_soon(ran.append, "other")
    await share.yield_if_due()
    assert (states, ran) == ([False, True], ["other"])


async def test_all_loops_together_take_one_interval_in_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight loops that wait for nothing run for 5 ms between two turns of others, each as much."""
    clock = count()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: next(clock) / 5_000)
    share, steps = LoopShare(), [0] * 8

    async def work(number: int) -> None:
        while sum(steps) < 8_000:
            await share.yield_if_due()
            steps[number] += 1

    workers = [asyncio.create_task(work(number)) for number in range(8)]
    longest, before = 0, 0
    while not all(worker.done() for worker in workers):
        await asyncio.sleep(0)
        longest, before = max(longest, sum(steps) - before), sum(steps)
    assert longest < 2 * 25  # of those that a clock of 0.2 ms a step lets happen in 5 ms
    assert max(steps) < 1.2 * min(steps)


async def test_the_first_urls_do_not_wait_for_a_thousand() -> None:
    """The first list of a document is what its first step gave; later ones are longer."""
    async with walk(sitemaps=[URL], fetcher=MemoryFetcher({URL: many_urls()})) as entries:
        sizes = [len(batch) async for batch in entries.batches()]
    assert sum(sizes) == COUNT
    assert sizes[0] < 1_000 <= max(sizes)


async def test_others_have_turns_while_a_piece_is_read() -> None:
    """While one piece of the network's is read, other tasks run dozens of times."""
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    others = asyncio.create_task(count_turns())
    pages = {f"{URL}?{number}": many_urls() for number in range(4)}
    async with walk(sitemaps=list(pages), fetcher=MemoryFetcher(pages)) as entries:
        async for _ in entries.batches():
            pass
    others.cancel()
    assert turns > 24


async def test_others_have_turns_while_a_document_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a document may have hundreds of steps without events; they share the loop."""
    turns, seen = 0, list[int]()
    clock = count()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: next(clock) / 1_000)

    def end_slowly(_: SitemapReader, *, cut: bool = False) -> Iterator[list[Event]]:
        del cut
        for _step in range(200):
            seen.append(turns)
            yield []

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    monkeypatch.setattr(SitemapReader, "close_by_columns", end_slowly)
    others = asyncio.create_task(count_turns())
    async with walk(sitemaps=[URL], fetcher=MemoryFetcher({URL: many_urls()})) as entries:
        async for _ in entries.batches():
            pass
    others.cancel()
    assert len(seen) == 200
    assert seen[-1] - seen[0] > 20
