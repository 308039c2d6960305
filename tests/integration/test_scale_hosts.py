"""Reading of the hosts of a partition: how many at a time, and which wait for which."""

from __future__ import annotations

import asyncio
import io
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from walking import urlset

from sitemapreader import walk_many
from sitemapreader.distributed import hosts
from sitemapreader.distributed.hosts import HostReader
from sitemapreader.distributed.options import ScaleOptions
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.urls import host_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path
    from typing import Any

    from sitemapreader.fetch import StoredResponse
    from sitemapreader.many.run import SiteRun

SLOW, LAST = "h0.slow.example", "b.example"


class GatedFetcher(MemoryFetcher):
    """A web of hosts with one URL each; the slow one answers when the last one was asked."""

    def __init__(self, sites: list[str]) -> None:
        super().__init__(
            {f"https://{site}/sitemap.xml": urlset(f"https://{site}/1") for site in sites}
        )
        self.gate = asyncio.Event()

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Give the response when its time has come."""
        if host_of(url) == LAST:
            self.gate.set()
        if host_of(url) == SLOW:
            await self.gate.wait()
        await asyncio.sleep(0)
        async with super().open(url, headers=headers) as response:
            yield response


@pytest.fixture
def fetcher(monkeypatch: pytest.MonkeyPatch) -> GatedFetcher:
    """The fetcher of all runs."""
    web = GatedFetcher([*list_sites("slow"), *list_sites("other"), "a.example", LAST])

    def walk_in_memory(sites: list[str], **options: Any) -> SiteRun:
        return walk_many(sites, **options | {"fetcher": web})

    monkeypatch.setattr(hosts, "walk_many", walk_in_memory)
    return web


def list_sites(domain: str) -> list[str]:
    return [f"h{number}.{domain}.example" for number in range(6)]


def count_running(journal: io.StringIO) -> int:
    """Return how many hosts were read at a time at most."""
    running = most = 0
    for line in journal.getvalue().splitlines():
        running += 1 if line[0] == "+" else -1
        most = max(most, running)
    return most


async def test_hosts_that_wait_for_their_domain_take_no_room(
    tmp_path: Path, fetcher: GatedFetcher
) -> None:
    """A slow host delays the other hosts of its domain, and no host of another domain."""
    journal, sites = io.StringIO(), [*list_sites("slow"), "a.example", LAST]
    reader = HostReader(ScaleOptions(hosts_at_once=2), asyncio.Semaphore(2), journal)
    async with asyncio.timeout(20):
        outcomes = (await reader.read(sites, tmp_path, None)).outcomes
    assert sorted(outcome["site"] for outcome in outcomes) == sorted(sites)
    assert {outcome["entries"] for outcome in outcomes} == {1}
    assert fetcher.gate.is_set()
    assert count_running(journal) == 2


async def test_partitions_share_the_hosts_at_a_time(tmp_path: Path, fetcher: GatedFetcher) -> None:
    """Two partitions together read no more hosts at a time than one may."""
    fetcher.gate.set()
    journal, room, options = io.StringIO(), asyncio.Semaphore(3), ScaleOptions(hosts_at_once=3)
    lists = [[*list_sites("slow"), "a.example"], [LAST, *list_sites("other")]]
    readings = []
    for number, sites in enumerate(lists):
        folder = tmp_path / str(number)
        folder.mkdir()
        readings.append(HostReader(options, room, journal).read(sites, folder, None))
    done = await asyncio.gather(*readings)
    assert [len(reading.outcomes) for reading in done] == [7, 7]
    assert count_running(journal) == 3
