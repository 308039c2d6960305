"""Requests to one address are counted together, whatever the names that lead there."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from resolving import NamedAddresses
from timing import retried
from walking import urlset

from sitemapreader import FetchError, FetchOptions, HttpFetcher, IssueCode, walk_many
from sitemapreader.fetch.throttle import HostThrottle, Slot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NAMES = [f"www.n{number}.test" for number in range(40)]


class Server:
    """A server that answers slowly, and counts what it answers at once, by address."""

    def __init__(self) -> None:
        self.port = 0
        self.running: dict[str, int] = {}
        self.most: dict[str, int] = {}

    async def answer(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        address = request.transport.get_extra_info("sockname")[0]
        self.running[address] = self.running.get(address, 0) + 1
        self.most[address] = max(self.most.get(address, 0), self.running[address])
        try:
            await asyncio.sleep(0.01)
            body = urlset(f"http://{request.host}/1") if request.path == "/sitemap.xml" else b""
            return web.Response(body=body, status=200 if body else 404)
        finally:
            self.running[address] -= 1


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        for last in (1, 2, 3):  # the same port at each
            await web.TCPSite(runner, f"127.0.0.{last}", server.port).start()
            server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


@asynccontextmanager
async def open_fetcher(
    server: Server, resolver: NamedAddresses, **options: Any
) -> AsyncIterator[HttpFetcher]:
    made = FetchOptions(allow_networks=("127.0.0.0/8",), allow_ports=(server.port,), **options)
    async with HttpFetcher(made, resolver=resolver) as fetcher:
        yield fetcher


async def read_all(server: Server, fetcher: HttpFetcher, names: list[str]) -> int:
    """Walk over the sites of names; return how many URLs there are."""
    sites = [f"http://{name}:{server.port}/" for name in names]
    async with walk_many(sites, fetcher=fetcher, at_once=40) as run:
        return sum([len(entries) async for _, entries in run.batches()])


@pytest.mark.parametrize("most", [3, None])
async def test_many_names_of_one_address(server: Server, most: int | None) -> None:
    """They share the requests that one server gets at once, and all are read."""
    options = {} if most is None else {"per_address": most}
    async with open_fetcher(server, NamedAddresses(), **options) as fetcher:
        assert await read_all(server, fetcher, NAMES) == len(NAMES)
        assert server.most.keys() == {"127.0.0.1"}
        assert 1 < server.most["127.0.0.1"] <= (most or FetchOptions().per_address)


async def test_addresses_are_counted_apart(server: Server) -> None:
    """Each of two servers gets as many at once."""
    resolver = NamedAddresses(lambda name: f"127.0.0.{2 + int(name[5:-5]) % 2}")
    async with open_fetcher(server, resolver, per_address=2) as fetcher:
        assert await read_all(server, fetcher, NAMES) == len(NAMES)
    assert server.most.keys() == {"127.0.0.2", "127.0.0.3"}
    assert max(server.most.values()) <= 2


async def test_a_literal_counts_with_the_names_of_its_address(server: Server) -> None:
    """So does a name in a redirect, and one host by itself gets no more than before."""
    async with open_fetcher(server, NamedAddresses(), per_address=3) as fetcher:
        assert await read_all(server, fetcher, ["127.0.0.1", *NAMES[:9]]) == 10
    assert server.most["127.0.0.1"] <= 3
    server.most.clear()
    async with open_fetcher(server, NamedAddresses()) as fetcher:
        await asyncio.gather(
            *(open_status(fetcher, f"http://a.test:{server.port}/{n}") for n in range(9))
        )
    assert server.most["127.0.0.1"] <= FetchOptions().per_host


async def open_status(fetcher: HttpFetcher, url: str) -> IssueCode | None:
    try:
        async with fetcher.open(url):
            return None
    except FetchError as error:
        return error.code


async def test_an_unread_response_lends_its_place_at_the_address() -> None:
    """A consumer's request to another name there need not wait for the walk that waits for it."""
    hosts, addresses = HostThrottle(1, 0.0), HostThrottle(1, 0.0)

    async def acquire(requester: str, host: str) -> Slot:
        return await hosts.acquire(
            host, requester, join=lambda: addresses.acquire("address", requester)
        )

    async with asyncio.timeout(30):  # for ever, if the place is not lent
        unread = await acquire("walk", "a.test")
        unread.pause()
        page = await acquire("consumer", "b.test")
        resumed = asyncio.create_task(unread.resume())
        await asyncio.sleep(0.05)
        assert not resumed.done()
        page.release()
        await resumed
        unread.release()
        (await addresses.acquire("address")).release()


async def test_names_are_resolved_once_and_failures_anew(server: Server) -> None:
    """One lookup serves the count and the connection; a failure is asked for again."""
    answers = {"a.test": "127.0.0.1", "b.test": ""}
    resolver = NamedAddresses(answers.__getitem__)
    async with open_fetcher(server, resolver, max_attempts=1) as fetcher:
        urls = [f"http://{name}:{server.port}/sitemap.xml" for name in answers]
        for _ in range(2):
            assert await open_status(fetcher, urls[0]) is None
            assert await open_status(fetcher, urls[1]) == IssueCode.DNS
        assert resolver.asked == ["a.test", "b.test", "b.test"]
        answers["b.test"] = "127.0.0.1"
        assert await open_status(fetcher, urls[1]) is None


async def test_a_lookup_without_an_end_is_left() -> None:
    """It takes no longer than a request may; the fetcher closes without it."""

    class Stuck(NamedAddresses):
        async def resolve(self, *_: object, **__: object) -> Any:
            await asyncio.Event().wait()

    options = FetchOptions(headers_seconds=0.05, max_attempts=1)
    async with HttpFetcher(options, resolver=Stuck()) as fetcher:
        assert await open_status(fetcher, "http://a.test/") == IssueCode.TIMEOUT


@retried
async def test_a_wait_for_an_address_shortens_no_delay() -> None:
    """Two requests of a host that waited for its address do not start together."""
    hosts, addresses = HostThrottle(2, 0.1), HostThrottle(1, 0.0)
    first = await addresses.acquire("address")
    starts = []

    async def start() -> None:
        slot = await hosts.acquire("host", join=lambda: addresses.acquire("address"))
        starts.append(asyncio.get_running_loop().time())
        slot.release()

    tasks = [asyncio.create_task(start()) for _ in range(2)]
    await asyncio.sleep(0.3)
    assert starts == []
    first.release()
    await asyncio.gather(*tasks)
    assert starts[1] - starts[0] >= 0.09
    again = await addresses.acquire("address")  # nothing was kept
    again.release()
