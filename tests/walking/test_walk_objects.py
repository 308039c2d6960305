"""How few objects a walk leaves to the garbage collector, which goes through all of them."""

from __future__ import annotations

import gc

import pytest

from sitemapreader import walk
from sitemapreader.fetch import MemoryFetcher

SITE = "https://site.example/"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@pytest.fixture(autouse=True)
def set_objects_aside() -> None:
    """Let the garbage collector see no objects but those of the test, so that it is fast."""
    gc.collect()
    gc.freeze()


def count_objects() -> int:
    """Return how many objects a full pass of the garbage collector goes through."""
    # each lets go of tuples whose parts the one before has let go of
    for _ in range(3):
        gc.collect()
    return len(gc.get_objects())


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
async def test_a_child_is_few_objects_afterwards(
    monkeypatch: pytest.MonkeyPatch, *, absent: bool
) -> None:
    """Three hundred more, read or absent, leave their documents, entries and jobs."""
    monkeypatch.setattr("sitemapreader._walk.report.MAX_ISSUES_PER_WALK", 0)
    await count_after_walk(300, absent=absent)  # fills yarl's cache
    few, many = [await count_after_walk(size, absent=absent) for size in (100, 400)]
    assert many - few < 930
