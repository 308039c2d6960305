"""Readers that share an event loop: nobody waits long for a turn, nor for the first URL."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from sitemapreader import MemoryFetcher, walk
from sitemapreader.visits.pace import Pace

URL = "https://example.org/sitemap.xml"
COUNT = 10_000


def many_urls() -> bytes:
    """Make a sitemap that inflates from one piece of the network's to hundreds of steps."""
    path = "a" * 200
    locs = (f"<url><loc>https://example.org/{path}/{number}</loc></url>" for number in range(COUNT))
    data = gzip.compress(f"<urlset>{''.join(locs)}</urlset>".encode())
    assert len(data) < 65_536
    return data


async def test_readers_share_the_time_of_a_turn() -> None:
    """Four readers hold the loop up together for as long as one would."""
    pace = Pace()
    with pace.reading():
        alone = pace.share()
        with pace.reading(), pace.reading(), pace.reading():
            assert pace.share() == pytest.approx(alone / 4)
        assert pace.share() == alone


async def test_a_reader_that_fails_gives_its_share_back() -> None:
    """However a document ends, the others get its time."""
    pace = Pace()
    with pace.reading():
        alone = pace.share()
        with pytest.raises(ZeroDivisionError), pace.reading():
            _ = 1 / 0
        assert pace.share() == alone


async def test_a_turn_ends_and_begins_again() -> None:
    """A turn is over when its time is, and not right after the others had theirs."""
    with Pace().reading() as turn:
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
