"""How few objects a walk leaves to the garbage collector, which goes through all of them."""

from __future__ import annotations

import gc
from datetime import UTC, datetime

import pytest

from sitemapreader import SitemapEntry, walk
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.models import Via
from sitemapreader.walker.frontier import Frontier, Job
from sitemapreader.walker.queues import Order, SitemapQueue, pack_entry, unpack_entry

SITE = "https://site.example/"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def make_entries(number: int) -> list[SitemapEntry]:
    return [
        SitemapEntry(f"{SITE}{each}.xml", DAY, sitemap=f"{SITE}i.xml", lastmod_text="2026-01-01")
        for each in range(number)
    ]


@pytest.fixture(autouse=True)
def set_objects_aside() -> None:
    """Let the garbage collector see no objects but those of the test, so that it is fast."""
    gc.collect()
    gc.freeze()


def count_objects() -> int:
    """Return how many objects a full pass of the garbage collector goes through."""
    for _ in range(3):  # each lets go of tuples whose parts the one before has let go of
        gc.collect()
    return len(gc.get_objects())


async def make_index(frontier: Frontier) -> Job:
    """Return the job of an index that a worker has taken."""
    frontier.add_root(SitemapEntry(f"{SITE}i.xml", via=Via.GIVEN))
    job = await frontier.take_job()
    assert job is not None
    return job


@pytest.mark.parametrize("order", ["document", "newest"])
@pytest.mark.parametrize("capacity", [10_000, 500])
async def test_children_that_wait_or_are_skipped_are_no_objects(
    order: Order, capacity: int
) -> None:
    """A thousand children in the queue, or skipped for want of room, are passed over."""
    frontier = Frontier(capacity, order)
    index = await make_index(frontier)
    frontier.add_child(SitemapEntry(f"{SITE}first.xml"), index)
    before = count_objects()
    for entry in make_entries(1_000):
        frontier.add_child(entry, index)
    assert count_objects() - before < 20
    assert len(frontier) > 400


async def test_roots_that_wait_are_no_objects() -> None:
    """A robots.txt may name thousands of sitemaps."""
    frontier = Frontier(10_000, site=SITE)
    before = count_objects()
    for entry in make_entries(1_000):
        frontier.add_root(entry)
    assert count_objects() - before < 20


def test_children_that_are_held_are_no_objects() -> None:
    """So are those that wait until their index is read to its end."""
    queue: SitemapQueue[object] = SitemapQueue("newest", 2_000)
    before = count_objects()
    for entry in make_entries(1_000):
        queue.push(entry, pack_entry(entry))
    assert count_objects() - before < 20


async def count_after_walk(children: int, *, absent: bool) -> int:
    """Return how many objects a walk of so many children leaves, as long as it is kept."""
    locs = [f"{SITE}{number}.xml" for number in range(children)]
    records = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    page = f"<urlset {NS}><url><loc>{SITE}a</loc></url></urlset>".encode()
    pages = {} if absent else dict.fromkeys(locs, page)
    pages[f"{SITE}i.xml"] = f"<sitemapindex {NS}>{records}</sitemapindex>".encode()
    before = count_objects()
    async with walk(sitemaps=[f"{SITE}i.xml"], fetcher=MemoryFetcher(pages)) as entries:
        async for _ in entries.batches():
            pass
    number = count_objects() - before
    report = entries.report
    assert report.entries == (0 if absent else children)
    assert report.counts == ({"http-status": children} if absent else {})
    return number


@pytest.mark.parametrize("absent", [False, True])
async def test_a_child_is_its_document_alone_afterwards(
    monkeypatch: pytest.MonkeyPatch, *, absent: bool
) -> None:
    """Three hundred more children, read or absent, leave three hundred objects more."""
    monkeypatch.setattr("sitemapreader.report.MAX_ISSUES_PER_WALK", 0)
    await count_after_walk(300, absent=absent)  # fills yarl's cache
    few, many = [await count_after_walk(size, absent=absent) for size in (100, 400)]
    assert many - few < 330


@pytest.mark.parametrize("via", Via)
@pytest.mark.slow
def test_packing_keeps_all_fields(via: Via) -> None:
    """What is unpacked equals what was packed."""
    for entry in (
        SitemapEntry(f"{SITE}a.xml", via=via),
        SitemapEntry(f"{SITE}b.xml", DAY, via, SITE, "2026-01-01"),
    ):
        assert unpack_entry(pack_entry(entry)) == entry
