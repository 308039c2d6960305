"""Manners: requests at once, and the time between two."""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from faults import FaultServer
from serving import Page, serve
from timing import is_linear, retried
from walking import index, urlset

from sitemapreader.errors import FetchError
from sitemapreader.fetch import hosts as politeness
from sitemapreader.fetch.hosts import LENT_AFTER_SECONDS, HostThrottle, Slot
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


PATIENT = 60
"""Seconds for what comes at once, on any machine."""


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
        async with asyncio.timeout(PATIENT):
            await fetch_many(fetcher, *[server.url("hops/3")] * 3)
    assert len(server.requests) == 12


async def test_a_body_read_to_its_end_gives_its_turn_back(server: FaultServer) -> None:
    """The next document need not wait for the first one's context to be left."""
    async with HttpFetcher(FetchOptions(per_host=1)) as fetcher:
        fetcher.trust(server.base)
        async with asyncio.timeout(PATIENT), fetcher.open(server.url("ok")) as response:
            async for _ in response.chunks():
                pass
            await fetch(fetcher, server.url("ok"))
    assert len(server.requests) == 2


async def post(fetcher: HttpFetcher, server: FaultServer) -> None:
    """Make a request of one's own, with a client of one's own."""
    host, port = "127.0.0.1", int(server.base.rstrip("/").rpartition(":")[2])
    async with fetcher.turn(server.base):
        reader, writer = await asyncio.open_connection(host, port)
        lines = ("POST /slow HTTP/1.1", f"Host: {host}:{port}", "Content-Length: 0", "", "")
        writer.write("\r\n".join(lines).encode())
        await reader.readline()
        writer.close()
        await writer.wait_closed()


async def test_requests_of_ones_own_take_their_turn(server: FaultServer) -> None:
    """Inside `turn`, other requests count among those of the fetcher at a host."""
    async with HttpFetcher(FetchOptions(per_host=2)) as fetcher, asyncio.TaskGroup() as group:
        fetcher.trust(server.base)
        for _ in range(4):
            group.create_task(post(fetcher, server))
            group.create_task(fetch(fetcher, server.url("slow")))
    assert len(server.requests) == 8
    assert max(request.at_once for request in server.requests) == 2


async def test_a_turn_is_given_back(server: FaultServer) -> None:
    """Whoever fails inside `turn`, or is cancelled before it, holds nothing up."""
    async with HttpFetcher(FetchOptions(per_host=1)) as fetcher, asyncio.timeout(PATIENT):
        fetcher.trust(server.base)
        with pytest.raises(ZeroDivisionError):  # noqa: PT012 (it fails inside)
            async with fetcher.turn(server.base):
                waiting = asyncio.create_task(post(fetcher, server))
                await asyncio.sleep(0)
                waiting.cancel()
                raise ZeroDivisionError
        await fetch(fetcher, server.url("ok"))
        with pytest.raises(FetchError, match="http"):
            async with fetcher.turn("ftp://example.org/"):
                pytest.fail("no turn for what cannot be requested")


@retried
async def test_turns_keep_the_crawl_delay(server: FaultServer) -> None:
    """The Crawl-delay lies between two turns, and between a turn and a request of the fetcher."""
    server.requests.clear()
    async with HttpFetcher(FetchOptions(delay_seconds=0)) as fetcher:
        fetcher.trust(server.base)
        fetcher.set_crawl_delay(server.base, 0.2)
        await post(fetcher, server)
        await fetch(fetcher, server.url("ok"))
        await post(fetcher, server)
    assert len(server.requests) == 3
    assert min(gaps(server)) >= 0.15


async def test_turns_beside_a_walk_come_in_the_order_in_which_they_are_asked_for() -> None:
    """Neither the walk nor its pages starve: each waits for those before it, and no longer."""

    def make_pages(base: str) -> dict[str, Page]:
        children = [f"{base}/{number}.xml" for number in range(30)]
        return {
            "/robots.txt": f"Sitemap: {base}/i.xml\nUser-agent: *\nCrawl-delay: 0.05".encode(),
            "/i.xml": index(*children),
            **{f"/{number}.xml": urlset(f"{base}/{number}") for number in range(30)},
        }

    served: list[int] = []

    async def visit(fetcher: HttpFetcher, number: int, url: str) -> None:
        async with fetcher.turn(url):
            served.append(number)

    async with (
        serve(make_pages) as site,
        HttpFetcher() as fetcher,
        asyncio.TaskGroup() as group,
        walk(site.base, fetcher=fetcher) as entries,
    ):
        await anext(aiter(entries))
        pages = [group.create_task(visit(fetcher, n, site.base)) for n in range(30)]
        rest = [entry async for entry in entries]
        await asyncio.gather(*pages)
    assert served == list(range(30))
    assert (len(rest), entries.report.complete) == (29, True)


def gaps(server: FaultServer) -> list[float]:
    times = sorted(request.at for request in server.requests)
    return [later - earlier for earlier, later in pairwise(times)]


@retried
async def test_the_gap_between_requests(server: FaultServer) -> None:
    """`delay_seconds` lie between two starts, redirects and parallel requests included."""
    server.requests.clear()
    async with HttpFetcher(FetchOptions(delay_seconds=0.1, per_host=4)) as fetcher:
        fetcher.trust(server.base)
        await fetch_many(fetcher, server.url("hops/1"), server.url("ok"), server.url("ok"))
    assert len(server.requests) == 4
    assert sum(gaps(server)) >= 0.28
    assert min(gaps(server)) >= 0.05  # of 0.1, less what the first needs to connect


@retried
async def test_a_crawl_delay_is_for_its_host_and_never_lowers(server: FaultServer) -> None:
    """It raises the gap of one host; below the option, the option counts."""
    server.requests.clear()
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
    assert fetcher.throttle._queue_of("site.example").delay == kept


async def test_a_turn_that_is_given_up_while_waiting_is_not_lost() -> None:
    """Cancelled at the slot or in the gap, a request leaves the others their slots."""
    polite = HostThrottle(per_host=1, delay_seconds=0.0)
    slot = await polite.acquire("a")
    waiting = asyncio.create_task(polite.acquire("a"))
    await asyncio.sleep(0)
    waiting.cancel()
    slot.release()
    slot.release()
    polite.defer("a", 60)
    sleeping = asyncio.create_task(polite.acquire("a"))
    await asyncio.sleep(0)
    sleeping.cancel()
    await asyncio.gather(waiting, sleeping, return_exceptions=True)
    host = polite._queue_of("a")
    assert (host.users, host._slots, host._queue) == (0, set(), OrderedDict())


LENT = LENT_AFTER_SECONDS + 0.05
WALK, OTHER_WALK = object(), object()


def entering(polite: HostThrottle, requester: object = None) -> asyncio.Task[Slot]:
    """Ask for a slot in a task of a requester."""
    return asyncio.create_task(polite.acquire("a", requester))


async def is_let_in(task: asyncio.Task[Slot], seconds: float = 0.0) -> bool:
    await asyncio.wait([task], timeout=seconds)
    return task.done()


async def test_a_paused_slot_is_lent_to_another_requester_only() -> None:
    """The same requester waits for its release, another one only for a pause of some length."""
    polite = HostThrottle(per_host=1, delay_seconds=0.0)
    slot = await entering(polite, WALK)
    slot.pause()
    sibling, stranger = entering(polite, WALK), entering(polite)
    assert not await is_let_in(stranger)
    assert await is_let_in(stranger, PATIENT)
    assert not await is_let_in(sibling, LENT)
    (await stranger).release()
    assert not await is_let_in(sibling, LENT)
    slot.release()
    assert await is_let_in(sibling, PATIENT)


async def test_a_slot_in_use_is_not_lent() -> None:
    """As long as something is asked of the server, and between two steps of a reader."""
    polite = HostThrottle(per_host=1, delay_seconds=0.0)
    slot = await entering(polite, WALK)
    stranger = entering(polite)
    for _ in range(20):
        slot.pause()
        await asyncio.sleep(0)
        await slot.resume()
    assert not await is_let_in(stranger, LENT)
    slot.release()
    assert await is_let_in(stranger, PATIENT)


async def test_a_lent_slot_returns_in_order() -> None:
    """It waits for those it was lent to, not for later ones, nor for its own requester."""
    polite = HostThrottle(per_host=2, delay_seconds=0.0)
    walk = [await entering(polite, WALK) for _ in range(2)]
    for slot in walk:
        slot.pause()
    strangers = [entering(polite) for _ in range(2)]
    assert await is_let_in(strangers[0], PATIENT)
    assert await is_let_in(strangers[1], PATIENT)
    returning = asyncio.create_task(walk[0].resume())
    await asyncio.sleep(0)
    latecomer = entering(polite)
    await asyncio.sleep(0)
    assert not returning.done()
    (await strangers[0]).release()
    await asyncio.wait_for(returning, PATIENT)
    assert not await is_let_in(latecomer, LENT)
    (await strangers[1]).release()
    assert await is_let_in(latecomer, PATIENT)


async def test_a_lent_turn_that_nobody_took_returns_at_once() -> None:
    """With or without others of its requester in the queue."""
    polite = HostThrottle(per_host=1, delay_seconds=0.0)
    slot = await entering(polite, WALK)
    sibling = entering(polite, WALK)
    slot.pause()
    assert not await is_let_in(sibling, LENT)
    async with asyncio.timeout(PATIENT):
        await slot.resume()
    slot.release()
    await slot.resume()
    assert await is_let_in(sibling, PATIENT)


async def test_a_lent_turn_may_be_left() -> None:
    """While it is away, or on its way back; the others are served as before."""
    polite = HostThrottle(per_host=1, delay_seconds=0.0)
    for returns in (False, True):
        slot = await entering(polite, WALK)
        slot.pause()
        borrower = await entering(polite)
        if returns:
            returning = asyncio.create_task(slot.resume())
            await asyncio.sleep(0)
            returning.cancel()
            await asyncio.wait([returning])
        slot.release()
        third = entering(polite, OTHER_WALK)
        assert not await is_let_in(third, LENT)
        borrower.release()
        (await third).release()
    host = polite._queue_of("a")
    assert (host.users, host._slots, host._queue) == (0, set(), OrderedDict())


async def test_never_more_than_may_be_are_asked_for_at_once() -> None:
    """Three parties that read in fits and starts: what does not rest is never over the bound."""
    polite = HostThrottle(per_host=2, delay_seconds=0.0)
    dice = random.Random(7)
    active = most = done = 0

    async def read(requester: object) -> None:
        nonlocal active, most, done
        slot = await polite.acquire("a", requester)
        for _ in range(3):
            active += 1
            most = max(most, active)
            await asyncio.sleep(dice.random() * 0.01)
            active -= 1
            slot.pause()
            await asyncio.sleep(dice.choice((0.0, 0.01, LENT)))
            await slot.resume()
        slot.release()
        done += 1

    async with asyncio.timeout(PATIENT), asyncio.TaskGroup() as group:
        for requester in (None, WALK, OTHER_WALK) * 4:
            group.create_task(read(requester))
    assert (most, done) == (2, 12)


def test_many_wait_for_one_host() -> None:
    """Requests that wait are each served once, in order, in time that grows with their number."""
    served: list[int] = []

    async def ask(polite: HostThrottle, number: int) -> None:
        slot = await polite.acquire("a")
        served.append(number)
        await asyncio.sleep(0)
        slot.release()

    async def serve_all(count: int) -> None:
        polite = HostThrottle(per_host=2, delay_seconds=0.0)
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(ask(polite, number))

    def run(count: int) -> None:
        served.clear()
        asyncio.run(serve_all(count))
        assert served == list(range(count))

    assert is_linear(run, 500, 2_000)


async def test_only_so_many_idle_hosts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over many hosts forgets those that need no memory, and only those."""
    monkeypatch.setattr(politeness, "MAX_IDLE_HOSTS", 10)
    polite = HostThrottle(per_host=1, delay_seconds=0.0)
    busy = await polite.acquire("busy")
    polite.set_delay("slow", 5)
    polite.defer("later", 60)
    for number in range(100):
        (await polite.acquire(f"h{number}")).release()
    assert len(polite._hosts) <= 10
    assert {"busy", "slow", "later"} <= set(polite._hosts)
    busy.release()
