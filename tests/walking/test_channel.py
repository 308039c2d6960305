"""The channel between a walk and its consumer: what has room, who waits, and what comes after."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from sitemapreader._walk.stream import Channel

if TYPE_CHECKING:
    from collections.abc import Iterator


async def let_run() -> None:
    """Let the other tasks go as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("batch", "size", "is_full"),
    [
        ("a" * 9, 0, False),
        ("a" * 10, 0, True),
        ("a", 10 * 256 - 1, False),
        ("a", 10 * 256, True),
        ("", 0, False),
    ],
)
async def test_what_a_batch_weighs(batch: str, size: int, *, is_full: bool) -> None:
    """As many events as it has, or as its markup would have if they were ordinary."""
    channel = Channel[str](10)
    await channel.put(batch, size)
    assert channel.is_full is is_full
    assert await channel.get() == batch
    assert (channel.is_full, channel.offered, channel.taken) == (False, 1, 1)


async def test_producers_wait_for_room_in_their_order() -> None:
    """While it is full nobody gets in; the clock of the walk stands still for one at a time."""
    channel = Channel[str](3)
    stopped = list[str]()

    @contextmanager
    def stop() -> Iterator[None]:
        stopped.append("stop")
        yield
        stopped.append("go")

    channel.stop_clock = stop
    await channel.put("aa")
    await channel.put("bbbb")
    producers = [
        asyncio.create_task(channel.put(each)) for each in ("c", "d", "eee", "f")
    ]
    await let_run()
    assert (stopped, channel.offered, channel.taken) == (["stop"], 6, 0)
    assert await channel.get() == "aa"
    await let_run()
    assert stopped == ["stop"]  # what is in there weighs more than it may
    got = [await channel.get()]
    await let_run()
    assert [each.done() for each in producers] == [True, True, True, False]
    assert stopped == ["stop", "go", "stop"]
    for _ in range(4):
        got.append(await channel.get())
        await let_run()
    assert got == ["bbbb", "c", "d", "eee", "f"]
    assert (stopped, channel.taken) == (["stop", "go"] * 2, 6)


async def test_a_channel_that_is_closed() -> None:
    """Nobody gets in, and nobody waits; what is inside can still be taken."""
    channel = Channel[str](1)
    await channel.put("a")
    waiting = asyncio.create_task(channel.put("b"))
    await let_run()
    channel.close()
    await waiting
    await channel.put("c")
    assert [await channel.get() for _ in range(3)] == ["a", None, None]
    assert channel.taken == 1


async def test_a_consumer_that_requests_more() -> None:
    """Who waits until all is acknowledged waits for the next request, unless that was given up."""
    channel = Channel[str](1)
    dry = asyncio.create_task(channel.wait_until_dry())
    await channel.put("a")
    assert await channel.get() == "a"
    await let_run()
    assert not dry.done()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(channel.get(), 0.001)
    assert dry.done()
    dry = asyncio.create_task(channel.wait_until_dry())
    await let_run()
    assert not dry.done()
    getting = asyncio.create_task(channel.get())
    await dry
    assert not getting.done()
    await channel.put("b")
    assert await getting == "b"
    channel.close()
    assert await channel.get() is None
