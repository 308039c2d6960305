"""When a host is free: a question that waits for nothing."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING

import pytest

from sitemapreader import FetchOptions
from sitemapreader.fetch import HttpFetcher
from tests.support.serving import listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

from aiohttp import web


class Gate:
    """A server that answers for one of its names only when it is told to."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.waiting = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/busy":
            return web.Response(status=429, headers={"Retry-After": "30"})
        if request.path == "/slow":
            self.waiting.set()
            await self.is_open.wait()
        return web.Response(text="here")


@pytest.fixture
async def gate() -> AsyncIterator[tuple[Gate, str, HttpFetcher]]:
    """A gate, the URL of its server, and a fetcher with one request to a host at once."""
    gate = Gate()
    options = FetchOptions(per_host=1, max_attempts=1, delay_seconds=0.0)
    async with listen(gate.answer) as base, HttpFetcher(options) as fetcher:
        fetcher.trust(base)
        yield gate, base.rstrip("/"), fetcher


async def fetch(fetcher: HttpFetcher, url: str) -> None:
    async with fetcher.open(url) as response:
        async for _ in response.chunks():
            pass


async def test_a_host_that_nobody_asked_is_free(
    gate: tuple[Gate, str, HttpFetcher],
) -> None:
    """The question makes no request, and what is no URL is refused."""
    _, base, fetcher = gate
    assert fetcher.seconds_until_free(f"{base}/a") == 0
    assert fetcher.seconds_until_free("https://never.example/") == 0
    with pytest.raises(ValueError, match="is not an http"):
        fetcher.seconds_until_free("nonsense")


async def test_a_host_with_all_its_requests_is_not_free(
    gate: tuple[Gate, str, HttpFetcher],
) -> None:
    """Nobody knows when they end; other hosts are free meanwhile."""
    server, base, fetcher = gate
    task = asyncio.create_task(fetch(fetcher, f"{base}/slow"))
    await asyncio.wait_for(server.waiting.wait(), 60)
    assert fetcher.seconds_until_free(f"{base}/a") == math.inf
    assert fetcher.seconds_until_free("https://other.example/") == 0
    server.is_open.set()
    await task
    assert fetcher.seconds_until_free(f"{base}/a") == 0


async def test_a_wait_that_was_asked_for_counts(
    gate: tuple[Gate, str, HttpFetcher],
) -> None:
    """Retry-After and a Crawl-delay say when a request may start."""
    _, base, fetcher = gate
    await asyncio.gather(fetch(fetcher, f"{base}/busy"), return_exceptions=True)
    assert 1 < fetcher.seconds_until_free(f"{base}/a") <= 30


async def test_a_slow_host_holds_up_no_worker(
    gate: tuple[Gate, str, HttpFetcher],
) -> None:
    """Workers that ask first fetch all pages of other hosts while one host does not answer."""
    server, base, fetcher = gate
    fast = base.replace("127.0.0.1", "localhost")
    fetcher.trust(fast)
    queues = {
        "slow": deque([f"{base}/slow"] * 3),
        "fast": deque(f"{fast}/{number}" for number in range(20)),
    }
    fetched: list[str] = []

    async def work() -> None:
        while any(queues.values()):
            waits = {
                n: fetcher.seconds_until_free(q[0]) for n, q in queues.items() if q
            }
            name = min(waits, key=waits.__getitem__)
            if waits[name]:
                await asyncio.sleep(0.01)
                continue
            url = queues[name].popleft()
            await fetch(fetcher, url)
            fetched.append(url)
            if not queues["fast"]:
                server.is_open.set()

    await asyncio.wait_for(asyncio.gather(work(), work()), 60)
    assert fetched.index(f"{fast}/19") < fetched.index(f"{base}/slow")
    assert len(fetched) == 23
