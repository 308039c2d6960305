"""Ways to use the package, each of which is cancelled at every await."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import package
from walking import index, urlset

from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.local import FolderFetcher, MemoryFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import discover, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Scenario = Callable[["Servers"], Coroutine[Any, Any, None]]

OPTIONS = FetchOptions(
    max_attempts=2,
    retry_wait_seconds=0.005,
    host_pause_seconds=0.005,
    idle_seconds=0.05,
    headers_seconds=1,
    concurrency=3,
)
FOLDER = package.ROOT / "testdata" / "site"


@attrs.frozen
class Servers:
    """The addresses of the three servers of `torture_server`."""

    whole: str
    busy: str
    reset: str


class DeliberateError(Exception):
    """An error that a consumer raises."""


async def _read(*site: str, **arguments: Any) -> None:
    given = {"options": OPTIONS, **arguments}
    async with walk(*site, **given) as entries:
        async for _ in entries:
            pass


def _children(kind: str) -> Scenario:
    """Return a walk over an index whose children are all of one kind."""

    async def read_children(servers: Servers) -> None:
        await _read(sitemaps=[f"{servers.whole}/index/{kind}"])

    read_children.__name__ = "children_" + kind.replace("-", "_")
    return read_children


async def site(servers: Servers) -> None:
    await _read(servers.whole)


async def robots_busy(servers: Servers) -> None:
    await _read(servers.busy)


async def robots_reset(servers: Servers) -> None:
    await _read(servers.reset)


async def batches(servers: Servers) -> None:
    async with walk(sitemaps=[f"{servers.whole}/index/good"], options=OPTIONS) as entries:
        async for _ in entries.batches():
            pass


async def events(servers: Servers) -> None:
    async with walk(servers.whole, options=OPTIONS) as entries:
        async for _ in entries.events():
            pass


async def slow_consumer(servers: Servers) -> None:
    async with walk(sitemaps=[f"{servers.whole}/index/good"], options=OPTIONS) as entries:
        async for _ in entries.batches():
            await asyncio.sleep(0.001)


async def break_out(servers: Servers) -> None:
    async with walk(servers.whole, options=OPTIONS) as entries:
        async for _ in entries:
            break


async def raise_inside(servers: Servers) -> None:
    with contextlib.suppress(DeliberateError):
        async with walk(servers.whole, options=OPTIONS) as entries:
            async for _ in entries:
                raise DeliberateError


async def never_iterate(servers: Servers) -> None:
    async with walk(servers.whole, options=OPTIONS):
        await asyncio.sleep(0.005)


async def time_out(servers: Servers) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await _read(servers.whole)


async def two_at_once(servers: Servers) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_read(sitemaps=[f"{servers.whole}/index/good"]))
        group.create_task(break_out(servers))


async def filtered(servers: Servers) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    await _read(servers.whole, unique=True, since=since, scope="drop", follow=lambda _: True)


async def search(servers: Servers) -> None:
    await discover(servers.whole, options=OPTIONS)


async def probe(servers: Servers) -> None:
    await discover(f"{servers.whole}/none/", options=OPTIONS, probe="always", feeds=True)


async def own_fetcher(servers: Servers) -> None:
    async with HttpFetcher(OPTIONS) as fetcher:
        for _ in range(2):
            await _read(sitemaps=[f"{servers.whole}/index/good"], fetcher=fetcher, options=None)


async def folder(_servers: Servers) -> None:
    fetcher = FolderFetcher(FOLDER)
    await _read(fetcher.base_url, fetcher=fetcher)


async def memory(_servers: Servers) -> None:
    base = "https://example.org"
    pages = {f"{base}/{n}.xml": urlset(*(f"{base}/{n}/{m}" for m in range(50))) for n in range(5)}
    fetcher = MemoryFetcher({f"{base}/i.xml": index(*pages), **pages})
    async with walk(sitemaps=[f"{base}/i.xml"], fetcher=fetcher, options=OPTIONS) as entries:
        async for _ in entries.events():
            await asyncio.sleep(0)


SCENARIOS: tuple[Scenario, ...] = (
    site,
    robots_busy,
    robots_reset,
    batches,
    events,
    slow_consumer,
    break_out,
    raise_inside,
    never_iterate,
    time_out,
    two_at_once,
    filtered,
    search,
    probe,
    own_fetcher,
    folder,
    memory,
    _children("good--30"),
    _children("gz"),
    _children("hops"),
    _children("flaky"),
    _children("reset"),
    _children("cut"),
    _children("silence--1"),
    _children("bad-chunk--1"),
    _children("none"),
    _children("restart--2"),
)
