"""Manners: requests at once, and the time between two."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sitemapreader._types.errors import FetchError
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch import hosts as politeness
from sitemapreader.fetch.hosts import LENT_AFTER_SECONDS, Host, HostThrottle, Slot
from sitemapreader.fetch.http import HttpFetcher
from tests.support.faults import FaultServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


PATIENT = 60
"""Seconds for what comes at once, on any machine."""


class Clock:
    """A clock that a test sets, in place of the module `time`."""

    now = 1_000.0

    def monotonic(self) -> float:
        """Return the time that was set."""
        return self.now


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


async def post(fetcher: HttpFetcher, server: FaultServer) -> None:
    """Make a request of one's own, with a client of one's own."""
    host, port = "127.0.0.1", int(server.base.rstrip("/").rpartition(":")[2])
    async with fetcher.turn(server.base):
        reader, writer = await asyncio.open_connection(host, port)
        lines = (
            "POST /slow HTTP/1.1",
            f"Host: {host}:{port}",
            "Content-Length: 0",
            "",
            "",
        )
        writer.write("\r\n".join(lines).encode())
        await reader.readline()
        writer.close()
        await writer.wait_closed()


async def test_a_turn_is_given_back(server: FaultServer) -> None:
    """Whoever fails inside `turn`, or is cancelled before it, holds nothing up."""
    async with (
        HttpFetcher(FetchOptions(per_host=1)) as fetcher,
        asyncio.timeout(PATIENT),
    ):
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


def arrivals(server: FaultServer, begin: float) -> list[float]:
    """Return when requests came: a busy machine makes that later, and no gap shorter."""
    return sorted(request.at - begin + 0.001 for request in server.requests)


async def test_the_gap_between_requests(server: FaultServer) -> None:
    """`delay_seconds` lie between two starts, redirects and parallel requests included."""
    server.requests.clear()
    async with HttpFetcher(FetchOptions(delay_seconds=0.1, per_host=4)) as fetcher:
        fetcher.trust(server.base)
        begin = asyncio.get_running_loop().time()
        await fetch_many(
            fetcher, server.url("hops/1"), server.url("ok"), server.url("ok")
        )
    _, *others = arrivals(server, begin)
    assert len(others) == 3
    assert all(at >= 0.1 * number for number, at in enumerate(others, start=1))


async def test_a_crawl_delay_is_for_its_host_and_never_lowers(
    server: FaultServer,
) -> None:
    """It raises the gap of one host; below the option, the option counts."""
    server.requests.clear()
    async with HttpFetcher(FetchOptions(delay_seconds=0.1)) as fetcher:
        fetcher.trust(server.base)
        fetcher.set_crawl_delay(server.base, 0.3)
        fetcher.set_crawl_delay("http://other.example/robots.txt", 50)
        begin = asyncio.get_running_loop().time()
        await fetch(fetcher, server.url("ok"))
        await fetch(fetcher, server.url("ok"))
        fetcher.set_crawl_delay(server.base, 0.001)
        await fetch(fetcher, server.url("ok"))
    _, second, third = arrivals(server, begin)
    assert second >= 0.3
    assert third >= 0.4


@pytest.mark.parametrize(
    ("asked", "kept"),
    [(5, 5), (60, 60), (1e9, 60), (0, 0.5), (-1, 0.5), (float("nan"), 0.5)],
)
def test_what_a_crawl_delay_may_be(asked: float, kept: float) -> None:
    """At most a minute, at least the option; nonsense counts as the option."""
    fetcher = HttpFetcher(FetchOptions(delay_seconds=0.5))
    fetcher.set_crawl_delay("https://Site.example:8443/robots.txt", asked)
    assert fetcher.hosts["site.example:8443"].rate == (2, kept)
    assert fetcher.hosts["site.example"].rate == (2, 0.5)


def test_429_halves_the_rate_and_good_answers_restore_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """First fewer requests at once, then time between them; and back again."""
    clock, seen = Clock(), []
    monkeypatch.setattr(politeness, "time", clock)
    host = HostThrottle(4, 0.0)["a.example"]
    for _ in range(9):
        host.slow_down()
        host.slow_down()  # of the same moment
        seen.append(host.rate)
        clock.now += 1
    assert seen == [
        (2, 0),
        (1, 0),
        (1, 0.5),
        (1, 1),
        (1, 2),
        (1, 4),
        (1, 8),
        (1, 8),
        (1, 8),
    ]
    for number, rate in ((5, (1, 0)), (2, (4, 0)), (1, (4, 0))):
        for _ in range(20 * number):
            host.speed_up()
        assert host.rate == rate


async def test_a_429_is_answered_with_fewer_requests(server: FaultServer) -> None:
    """Of many that could run, half as many do after one of them was told to slow down."""
    async with HttpFetcher(FetchOptions(per_host=4, max_attempts=1)) as fetcher:
        fetcher.trust(server.base)
        with pytest.raises(FetchError):
            await fetch(fetcher, server.url("status/429"))
        await fetch_many(fetcher, *[server.url("slow")] * 9)
    assert max(request.at_once for request in server.requests) == 2


# -- slots that are lent

LENT = LENT_AFTER_SECONDS + 0.05
WALK, OTHER_WALK = object(), object()


def entering(host: Host, requester: object = None) -> asyncio.Task[Slot]:
    """Ask for a slot in a task of a requester."""

    async def enter() -> Slot:
        slot = Slot(requester)
        try:
            await host.acquire(slot)
        except BaseException:
            slot.release()
            raise
        return slot

    return asyncio.create_task(enter())


async def is_let_in(task: asyncio.Task[Slot], seconds: float = 0.0) -> bool:
    await asyncio.wait([task], timeout=seconds)
    return task.done()


async def test_a_turn_that_is_given_up_while_waiting_is_not_lost() -> None:
    """Cancelled at the slot or in the gap, a request leaves the others their slots."""
    host = HostThrottle(1, 0.0)["a"]
    slot = await entering(host)
    waiting = entering(host)
    await asyncio.sleep(0)
    waiting.cancel()
    slot.release()
    slot.release()
    host.defer(0.05)
    sleeping = entering(host)
    await asyncio.sleep(0)
    sleeping.cancel()
    await asyncio.gather(waiting, sleeping, return_exceptions=True)
    for _ in range(2):
        (await asyncio.wait_for(entering(host), 60)).release()


async def test_a_paused_slot_is_lent_to_another_requester_only() -> None:
    """The same requester waits for its release, another one only for a pause of some length."""
    host = HostThrottle(1, 0.0)["a"]
    slot = await entering(host, WALK)
    slot.offer()
    sibling, stranger = entering(host, WALK), entering(host)
    assert not await is_let_in(stranger)
    assert await is_let_in(stranger, PATIENT)
    assert not await is_let_in(sibling, LENT)
    (await stranger).release()
    assert not await is_let_in(sibling, LENT)
    slot.release()
    assert await is_let_in(sibling, PATIENT)


async def test_a_slot_in_use_is_not_lent() -> None:
    """As long as something is asked of the server, between two steps of a reader, and again."""
    host = HostThrottle(1, 0.0)["a"]
    slot = await entering(host, WALK)
    stranger = entering(host)
    for _ in range(20):
        slot.offer()
        await asyncio.sleep(0)
        slot.reclaim()
    assert not await is_let_in(stranger, LENT)
    slot.offer()
    assert await is_let_in(stranger, PATIENT)
    slot.reclaim()  # both are in use now
    third = entering(host, OTHER_WALK)
    assert not await is_let_in(third, LENT)
    slot.release()
    assert not await is_let_in(third, LENT)
    (await stranger).release()
    assert await is_let_in(third, PATIENT)


async def test_only_so_many_idle_hosts_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run over many hosts forgets those that need no memory, and only those."""
    monkeypatch.setattr(politeness, "MAX_IDLE_HOSTS", 10)
    hosts = HostThrottle(1, 0.0)
    await hosts["busy"].acquire(Slot())
    hosts["slow"].delay = 5
    hosts["later"].defer(60)
    for number in range(100):
        slot = Slot()
        await hosts[f"h{number}"].acquire(slot)
        slot.release()
    assert len(hosts) <= 10
    assert {"busy", "slow", "later"} <= set(hosts)


async def test_hosts_do_not_wait_for_one_another(server: FaultServer) -> None:
    """The bound is one of each host."""
    async with HttpFetcher(FetchOptions(per_host=1)) as fetcher:
        other = server.url("slow").replace("127.0.0.1", "localhost")
        fetcher.trust(server.base)
        fetcher.trust(other)
        await fetch_many(fetcher, server.url("slow"), other)
    assert max(request.at_once for request in server.requests) == 2


async def test_requests_of_ones_own_take_their_turn(server: FaultServer) -> None:
    """Inside `turn`, other requests count among those of the fetcher at a host."""
    async with (
        HttpFetcher(FetchOptions(per_host=2)) as fetcher,
        asyncio.TaskGroup() as group,
    ):
        fetcher.trust(server.base)
        for _ in range(4):
            group.create_task(post(fetcher, server))
            group.create_task(fetch(fetcher, server.url("slow")))
    assert len(server.requests) == 8
    assert max(request.at_once for request in server.requests) == 2


async def test_turns_keep_the_crawl_delay(server: FaultServer) -> None:
    """The Crawl-delay lies between two turns, and between a turn and a request of the fetcher."""
    server.requests.clear()
    async with HttpFetcher(FetchOptions(delay_seconds=0)) as fetcher:
        fetcher.trust(server.base)
        fetcher.set_crawl_delay(server.base, 0.2)
        begin = asyncio.get_running_loop().time()
        await post(fetcher, server)
        await fetch(fetcher, server.url("ok"))
        await post(fetcher, server)
    _, second, third = arrivals(server, begin)
    assert second >= 0.2
    assert third >= 0.4


async def test_turns_beside_a_walk_come_in_the_order_of_asking(
    server: FaultServer,
) -> None:
    """None of 30 starves where a walk asks for ever, in several requests at once."""
    served: list[int | str] = []

    async def ask(fetcher: HttpFetcher) -> None:
        while True:
            await fetch(fetcher, server.url("ok"))
            served.append("walk")

    async def visit(fetcher: HttpFetcher, number: int) -> None:
        async with fetcher.turn(server.base):
            served.append(number)

    async with HttpFetcher(FetchOptions(delay_seconds=0, per_host=1)) as fetcher:
        fetcher.trust(server.base)
        fetcher.set_crawl_delay(server.base, 0.01)
        walk = [asyncio.create_task(ask(fetcher)) for _ in range(4)]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(PATIENT), asyncio.TaskGroup() as group:
            served.clear()
            for number in range(30):
                group.create_task(visit(fetcher, number))
        between = served.count("walk")
        for task in walk:
            task.cancel()
        await asyncio.gather(*walk, return_exceptions=True)
    assert [each for each in served if each != "walk"][:30] == list(range(30))
    assert between <= 40
