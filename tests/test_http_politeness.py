"""Manners: requests at once, and the time between two."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from faults import FaultServer

from sitemapreader.fetch import politeness
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.politeness import Politeness
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


async def fetch(fetcher: HttpFetcher, url: str) -> None:
    async with fetcher.open(url) as response:
        async for _ in response.chunks():
            pass


async def fetch_many(fetcher: HttpFetcher, *urls: str) -> None:
    async with asyncio.TaskGroup() as group:
        for url in urls:
            group.create_task(fetch(fetcher, url))


@pytest.mark.parametrize("per_host", [1, 2, 3])
async def test_requests_at_once(per_host: int, server: FaultServer) -> None:
    """Of many that could run, just `per_host` do."""
    async with HttpFetcher(FetchOptions(per_host=per_host)) as fetcher:
        fetcher.trust(server.base)
        await fetch_many(fetcher, *[server.url("slow")] * 7)
    assert max(request.at_once for request in server.requests) == per_host


async def test_hosts_do_not_wait_for_one_another(server: FaultServer) -> None:
    """The bound is one of each host."""
    async with HttpFetcher(FetchOptions(per_host=1)) as fetcher:
        other = server.url("slow").replace("127.0.0.1", "localhost")
        fetcher.trust(server.base)
        fetcher.trust(other)
        await fetch_many(fetcher, server.url("slow"), other)
    assert max(request.at_once for request in server.requests) == 2


async def test_a_redirect_gives_its_turn_back(server: FaultServer) -> None:
    """With one slot only, redirects on the same host still arrive."""
    async with HttpFetcher(FetchOptions(per_host=1)) as fetcher:
        fetcher.trust(server.base)
        async with asyncio.timeout(5):
            await fetch_many(fetcher, *[server.url("hops/3")] * 3)
    assert len(server.requests) == 12


async def test_a_body_read_to_its_end_gives_its_turn_back(server: FaultServer) -> None:
    """The next document need not wait for the first one's context to be left."""
    async with HttpFetcher(FetchOptions(per_host=1)) as fetcher:
        fetcher.trust(server.base)
        async with asyncio.timeout(5), fetcher.open(server.url("ok")) as response:
            async for _ in response.chunks():
                pass
            await fetch(fetcher, server.url("ok"))
    assert len(server.requests) == 2


def gaps(server: FaultServer) -> list[float]:
    times = sorted(request.at for request in server.requests)
    return [later - earlier for earlier, later in pairwise(times)]


async def test_the_gap_between_requests(server: FaultServer) -> None:
    """`delay_seconds` lie between two starts, redirects and parallel requests included."""
    async with HttpFetcher(FetchOptions(delay_seconds=0.1, per_host=4)) as fetcher:
        fetcher.trust(server.base)
        await fetch_many(fetcher, server.url("hops/1"), server.url("ok"), server.url("ok"))
    assert len(server.requests) == 4
    assert sum(gaps(server)) >= 0.28
    assert min(gaps(server)) >= 0.05  # of 0.1, less what the first needs to connect


async def test_a_crawl_delay_is_for_its_host_and_never_lowers(server: FaultServer) -> None:
    """It raises the gap of one host; below the option, the option counts."""
    async with HttpFetcher(FetchOptions(delay_seconds=0.1)) as fetcher:
        fetcher.trust(server.base)
        fetcher.set_crawl_delay(server.base, 0.3)
        fetcher.set_crawl_delay("http://other.example/robots.txt", 50)
        await fetch(fetcher, server.url("ok"))
        await fetch(fetcher, server.url("ok"))
        fetcher.set_crawl_delay(server.base, 0.001)
        await fetch(fetcher, server.url("ok"))
    assert gaps(server)[0] >= 0.25
    assert len(gaps(server)) == 2


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        *((5, 5), (60, 60), (61, 60), (1e9, 60), (float("inf"), 60)),
        *((0, 0.5), (-1, 0.5), (float("nan"), 0.5)),
    ],
)
async def test_what_a_crawl_delay_may_be(asked: float, kept: float) -> None:
    """At most a minute, at least the option; nonsense counts as the option."""
    fetcher = HttpFetcher(FetchOptions(delay_seconds=0.5))
    fetcher.set_crawl_delay("https://Site.example:8443/robots.txt", asked)
    assert fetcher._politeness._host("site.example").delay == kept


async def test_a_turn_that_is_given_up_while_waiting_is_not_lost() -> None:
    """Cancelled at the slot or in the gap, a request leaves the others their turns."""
    polite = Politeness(per_host=1, delay_seconds=0.0)
    turn = await polite.enter("a")
    waiting = asyncio.create_task(polite.enter("a"))
    await asyncio.sleep(0)
    waiting.cancel()
    turn.leave()
    turn.leave()
    polite.defer("a", 60)
    sleeping = asyncio.create_task(polite.enter("a"))
    await asyncio.sleep(0)
    sleeping.cancel()
    await asyncio.gather(waiting, sleeping, return_exceptions=True)
    host = polite._host("a")
    assert (host.users, host.slots.locked()) == (0, False)


async def test_only_so_many_idle_hosts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over many hosts forgets those that need no memory, and only those."""
    monkeypatch.setattr(politeness, "MAX_IDLE_HOSTS", 10)
    polite = Politeness(per_host=1, delay_seconds=0.0)
    busy = await polite.enter("busy")
    polite.set_delay("slow", 5)
    polite.defer("later", 60)
    for number in range(100):
        (await polite.enter(f"h{number}")).leave()
    assert len(polite._hosts) <= 10
    assert {"busy", "slow", "later"} <= set(polite._hosts)
    busy.leave()
