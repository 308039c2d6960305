"""A walk leaves the event loop time for others, and waits for consumers that are slow."""

from __future__ import annotations

import asyncio
import gzip
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unittest import mock

import attrs
import pytest

from sitemapreader import (
    FetchError,
    FetchOptions,
    IssueCode,
    Limits,
    walk,
    walk_sync,
)
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from tests.support.grouping import grouped
from tests.support.timing import retried
from tests.support.walking import SITE, Pages, index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


slow = pytest.mark.slow
URL = "https://example.org/sitemap.xml"
COUNT = 10_000


def many_urls() -> bytes:
    """Make a sitemap that inflates from one piece of the network's to hundreds of steps."""
    path = "a" * 200
    locs = (
        f"<url><loc>https://example.org/{path}/{number}</loc></url>"
        for number in range(COUNT)
    )
    data = gzip.compress(f"<urlset>{''.join(locs)}</urlset>".encode())
    assert len(data) < 65_536
    return data


@slow
async def test_the_first_urls_do_not_wait_for_a_thousand() -> None:
    """The first list of a document is what its first step gave; later ones are longer."""
    async with walk(
        sitemaps=[URL], fetcher=MemoryFetcher({URL: many_urls()})
    ) as entries:
        sizes = [len(batch) async for batch in entries.batches()]
    assert sum(sizes) == COUNT
    assert sizes[0] < 1_000 <= max(sizes)


@slow
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


TOP = "https://example.org/top.xml"
PARTS = [f"https://example.org/{n}.xml" for n in range(20)]
LIMITS = Limits(walk_seconds=0.8)
ONE_AT_A_TIME = FetchOptions(concurrency=1)
PAUSE = 0.06


def many_pages() -> Pages:
    pages: Pages = {TOP: index(*PARTS), f"{SITE}robots.txt": f"Sitemap: {TOP}".encode()}
    return pages | {url: urlset(*(f"{url}/{n}" for n in range(1_000))) for url in PARTS}


@slow
@retried
async def test_the_seconds_of_a_walk_are_its_own() -> None:
    """A consumer that takes longer than the walk may gets the whole site."""
    begin, count = time.monotonic(), 0
    fetcher = MemoryFetcher(many_pages())
    start = walk(sitemaps=[TOP], fetcher=fetcher, limits=LIMITS, options=ONE_AT_A_TIME)
    async with start as entries:
        async for batch in entries.batches():
            count += len(batch)
            await asyncio.sleep(PAUSE)
    assert time.monotonic() - begin > LIMITS.walk_seconds
    assert (count, entries.report.complete) == (20_000, True)


@slow
def test_the_seconds_of_a_walk_in_a_thread_are_its_own() -> None:
    """A consumer without `await` gets the whole site, too."""
    fetcher, count = MemoryFetcher(many_pages()), 0
    start = walk_sync(sitemaps=[TOP], fetcher=fetcher, limits=LIMITS)
    with start as entries:
        for batch in entries.batches():
            count += len(batch)
            time.sleep(1.5 * PAUSE)
    assert (count, entries.report.complete) == (20_000, True)


@slow
@retried
async def test_the_clock_runs_on_while_there_is_room() -> None:
    """A slow consumer does not give a server that says nothing more time."""

    @attrs.define
    class Silent(StoredResponse):
        async def chunks(self) -> AsyncIterator[bytes]:
            yield urlset("https://example.org/1")[:-9]
            await asyncio.sleep(3_600)

    start = walk(
        sitemaps=[TOP], fetcher=MemoryFetcher({TOP: Silent(TOP)}), limits=LIMITS
    )
    async with asyncio.timeout(20), start as entries:
        async for _ in entries:
            await asyncio.sleep(0.2)
    assert entries.report.documents[0].reason == "budget-seconds"


async def test_the_clock_goes_on_behind_a_pause() -> None:
    """A silent server has no more time where the consumer had the walk wait, for another one."""

    @attrs.define
    class Silent(StoredResponse):
        async def chunks(self) -> AsyncIterator[bytes]:
            yield self.body
            await asyncio.sleep(3_600)

    pages: Pages = {
        TOP: urlset(*LOCS),
        PARTS[0]: Silent(PARTS[0], urlset(*LOCS[:9])[:-9]),
    }
    limits = Limits(walk_seconds=0.5)
    start = walk(sitemaps=[*pages], fetcher=MemoryFetcher(pages), limits=limits)
    async with asyncio.timeout(20), start as entries:
        async for _ in entries.batches():
            await asyncio.sleep(0.01)  # until the walk waits
    reasons = {each.url: each.reason for each in entries.report.documents}
    assert reasons[PARTS[0]] == "budget-seconds"


@attrs.define
class Impatient(StoredResponse):
    """A body whose connection ends if nothing reads it for a while."""

    later: bytes = b""
    opened: int = 0
    closed: int = 0

    async def aclose(self) -> None:
        self.closed += 1

    async def chunks(self) -> AsyncIterator[bytes]:
        assert self.closed == self.opened, (
            "it has its slot while another answer waits for one"
        )
        self.opened += 1
        body = self.later if self.later and self.opened > 1 else self.body
        bounds = [*range(0, len(body), 20_000), len(body)]
        for begin, end in pairwise(bounds):
            given = asyncio.get_running_loop().time()
            yield body[begin:end]
            if asyncio.get_running_loop().time() - given > 0.5:
                raise FetchError(IssueCode.BODY_CUT, self.url, "closed")


LOCS = [f"https://example.org/{n:06}" for n in range(30_000)]


async def read_slowly(
    response: StoredResponse, **arguments: Any
) -> tuple[list[str], Any]:
    """Walk over one body; make long pauses, the last ones long after the first."""
    locs: list[str] = []
    loop, passed = asyncio.get_running_loop(), 0.0
    now, fetcher = loop.time, MemoryFetcher({TOP: response})

    def tell() -> float:
        return now() + passed

    with mock.patch.object(loop, "time", tell):  # nobody waits
        async with walk(
            sitemaps=[TOP], fetcher=fetcher, **grouped(arguments)
        ) as entries:
            async for batch in entries.batches():
                locs += [entry.loc for entry in batch]
                if len(locs) // 6_000 > (len(locs) - len(batch)) // 6_000:
                    for _ in range(999):  # until the walk waits, on a busy machine too
                        await asyncio.sleep(0)
                    passed += 0.6
    return locs, entries.report.documents[0]


async def test_a_body_that_broke_off_is_fetched_again() -> None:
    """What a slow consumer made the server cut comes in another answer, each URL once."""
    response = Impatient(TOP, urlset(*LOCS))
    locs, document = await read_slowly(response)
    assert locs == LOCS
    assert (document.status, document.tries, document.issues) == (
        "complete",
        response.opened,
        (),
    )
    assert response.opened > 1


@pytest.mark.parametrize("later", [["https://example.org/new", *LOCS], LOCS[:9]])
async def test_a_body_that_has_changed_meanwhile(later: list[str]) -> None:
    """Nothing comes of an answer that begins otherwise, or ends before what was read."""
    locs, document = await read_slowly(
        Impatient(TOP, urlset(*LOCS), later=urlset(*later))
    )
    assert locs == LOCS[: len(locs)]
    assert (document.status, document.reason, document.tries) == (
        "partial",
        "body-cut",
        2,
    )


async def test_a_body_that_breaks_off_by_itself_is_not_fetched_again() -> None:
    """A fast consumer has nothing to do with the end of a connection."""

    @attrs.define
    class Broken(StoredResponse):
        opened: int = 0

        async def chunks(self) -> AsyncIterator[bytes]:
            self.opened += 1
            yield self.body[:-100]
            raise FetchError(IssueCode.BODY_CUT, self.url, "closed")

    response = Broken(TOP, urlset(*LOCS))
    async with walk(sitemaps=[TOP], fetcher=MemoryFetcher({TOP: response})) as entries:
        assert len([entry async for entry in entries]) > 29_000
    assert (response.opened, entries.report.documents[0].reason) == (1, "body-cut")
