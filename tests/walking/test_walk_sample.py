"""`sample`: as many URLs as were asked for, each as likely as any other."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader import Sample, walk
from sitemapreader._types.models import UrlEntry
from sitemapreader._types.rows import EntryColumns
from sitemapreader._walk.filters import DrawnSample
from tests.support.commands import run
from tests.support.serving import serve
from tests.support.walking import index, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.serving import Page

SITE = "https://example.org/"
TOP = f"{SITE}top.xml"


def test_every_url_is_as_likely_as_any_other() -> None:
    """200 seeds draw 10 of 500 URLs evenly: chi-square is what it is by chance."""
    locs = [f"{SITE}shop/{number}" for number in range(500)]
    rows = EntryColumns(locs, [TOP] * len(locs))
    drawn: Counter[str] = Counter()
    for seed in range(200):
        sample = DrawnSample(10, seed)
        sample.add(rows)
        drawn.update(entry.loc for _, entry in sample.list_entries())
    expected = 200 * 10 / 500
    square = sum((drawn[loc] - expected) ** 2 / expected for loc in locs)
    # 499 degrees of freedom; each seed draws without putting back, which makes it 2 % smaller
    assert 380 < square < 600


def test_the_order_of_arrival_does_not_count() -> None:
    """The sample of shuffled entries, in batches of any size, is the same, repeated URLs too."""
    rng = random.Random(4)
    locs = [f"{SITE}{rng.randrange(3_000)}" for _ in range(4_000)]
    entries = [UrlEntry(loc, sitemap=f"{SITE}{n % 7}") for n, loc in enumerate(locs)]
    found = []
    for _ in range(5):
        rng.shuffle(entries)
        sample, rest = DrawnSample(100, 9), entries[:]
        while rest:
            size = rng.randint(1, 900)
            sample.add(rest[:size])
            rest = rest[size:]
        found.append([(entry.loc, entry.sitemap) for _, entry in sample.list_entries()])
        assert sample.total == 4_000
    assert found[1:] == found[:1] * 4
    assert len({loc for loc, _ in found[0]}) == 100
    smaller = DrawnSample(10, 9)
    smaller.add(entries)
    assert [(entry.loc, entry.sitemap) for _, entry in smaller.list_entries()] == found[
        0
    ][:10]


async def test_a_site() -> None:
    """A walk over a server gives the same sample with its children in any order, and counts all."""
    children = {
        f"/{n}.xml": urlset(*(f"{SITE}{n}/{k}" for k in range(50))) for n in range(20)
    }

    def make_pages(names: list[str], base: str) -> Mapping[str, Page]:
        return {"/top.xml": index(*(base + name for name in names)), **children}

    found = []
    for seed in (1, 2):
        names = list(children)
        random.Random(seed).shuffle(names)
        top = partial(make_pages, names)
        async with serve(top) as served:
            async with walk(
                sitemaps=[f"{served.base}/top.xml"], sample=Sample(30, 5)
            ) as entries:
                found.append([entry.loc async for entry in entries])
            report = entries.report
            assert (report.entries, report.sampled_from, report.complete) == (
                30,
                1_000,
                True,
            )
            assert sum(each.entries for each in report.documents) == 30
            assert all(
                each.listed == each.entries + each.filtered for each in report.documents
            )
    assert found[0] == found[1]


async def test_filters_come_first() -> None:
    """What is drawn has passed the filters; a sample that is larger than all is all."""
    pages = {TOP: urlset(f"{SITE}a", f"{SITE}b", f"{SITE}a", f"{SITE}c")}
    walked = await walk_all(
        pages, None, sitemaps=[TOP], sample=9, exclude="c", unique=True
    )
    assert (sorted(walked.locs), walked.report.sampled_from) == (
        [f"{SITE}a", f"{SITE}b"],
        2,
    )


def test_in_the_shell() -> None:
    """One sample is drawn from all sources, and the last lines say from how many URLs."""
    site, page = "testdata/site", "testdata/site/sitemap-pages.xml"
    alone = run(site, "--sample", "5")
    assert "5 of 43 URLs" in alone.stderr
    both = run(site, page, "--sample", "5")
    assert "5 of 53 URLs from 2 sources" in both.stderr
    assert both.stdout == alone.stdout  # the second lists nothing else
    assert run(site, "--sample", "5", "--seed", "1").stdout != alone.stdout
