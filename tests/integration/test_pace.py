"""Readers that share an event loop: nobody waits long for a turn, nor for the first URL."""

from __future__ import annotations

import asyncio
import gzip
import time

import pytest

from sitemapreader import MemoryFetcher, walk
from sitemapreader.documents.pace import Pace

URL = "https://example.org/sitemap.xml"
COUNT = 10_000


def many_urls() -> bytes:
    """Make a sitemap that inflates from one piece of the network's to hundreds of steps."""
    path = "a" * 200
    locs = (f"<url><loc>https://example.org/{path}/{number}</loc></url>" for number in range(COUNT))
    data = gzip.compress(f"<urlset>{''.join(locs)}</urlset>".encode())
    assert len(data) < 65_536
    return data


async def test_one_reader_at_a_time_has_the_floor() -> None:
    """Who begins while another one reads waits until that one is through with what it has."""
    pace = Pace()
    with pace.reading() as first, pace.reading() as second:
        await first.begin()
        waiting = asyncio.create_task(second.begin())
        await asyncio.sleep(0)
        had_to_wait = not waiting.done()
        first.end()
        await waiting
    assert had_to_wait


async def test_a_reader_that_goes_on_at_once_keeps_the_floor() -> None:
    """Between two pieces that are there it passes to nobody; where it waits for one, it does."""
    pace = Pace()
    with pace.reading() as first, pace.reading() as second:
        await first.begin()
        waiting = asyncio.create_task(second.begin())
        await asyncio.sleep(0)
        first.rest()
        await first.begin()
        for _ in range(3):
            await asyncio.sleep(0)
        had_to_wait = not waiting.done()
        first.rest()
        await asyncio.wait_for(waiting, 5)
    assert had_to_wait


async def test_readers_take_turns_where_each_has_more_to_do() -> None:
    """Two readers that never run out of data both get the floor again and again."""
    pace = Pace()
    order: list[str] = []

    async def read(name: str) -> None:
        with pace.reading() as turn:
            await turn.begin()
            while len(order) < 6:
                if not order or order[-1] != name:
                    order.append(name)
                time.sleep(0.006)  # noqa: ASYNC251 (the work of a reader)
                if turn.is_over:
                    await turn.pass_on()

    async with asyncio.timeout(30):
        await asyncio.gather(read("a"), read("b"))
    assert order[:6] == ["a", "b"] * 3


async def test_a_reader_that_fails_gives_the_floor_back() -> None:
    """However a document ends, the others can read."""
    pace = Pace()

    async def fail() -> None:
        with pace.reading() as turn:
            await turn.begin()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    with pace.reading() as turn:
        await asyncio.wait_for(turn.begin(), 5)


async def test_a_reader_that_is_cancelled_in_the_queue_holds_up_nobody() -> None:
    """Who waits for the floor and is ended does not get it."""
    pace = Pace()
    with pace.reading() as first, pace.reading() as second, pace.reading() as third:
        await first.begin()
        waiting = [asyncio.create_task(turn.begin()) for turn in (second, third)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        first.end()
        await asyncio.wait_for(waiting[1], 5)


async def test_a_turn_ends_and_begins_again() -> None:
    """A turn is over when its time is, and not right after the others had theirs."""
    with Pace().reading() as turn:
        await turn.begin()
        states = [turn.is_over]
        await asyncio.sleep(0.02)
        states.append(turn.is_over)
        await turn.pass_on()
        states.append(turn.is_over)
    assert states == [False, True, False]


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
