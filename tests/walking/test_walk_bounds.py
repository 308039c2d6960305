"""What a walk remembers is bounded in bytes, and what there is no room for is counted and named."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from collections import Counter

import pytest

from sitemapreader import IssueCode, Limits, Report, Role, SitemapEntry, Status, walk
from sitemapreader._types.options import FRONTIER_BYTES_PER_DOCUMENT, MAX_URL_CHARS
from sitemapreader.fetch import MemoryFetcher
from tests.support.walking import ROBOTS, SITE, Walked, index, urlset, walk_all

TOP = f"{SITE}i.xml"


async def walk_top(pages: dict[str, bytes], **arguments: object) -> Walked:
    return await walk_all(pages, None, sitemaps=[TOP], **arguments)


def outcomes_of(report: Report) -> Counter[Status]:
    """Count how sitemaps ended, without robots.txt."""
    robots = (each.status for each in report.documents if each.role is Role.ROBOTS)
    return report.statuses - Counter(robots)


def long_url(length: int, character: str = "x") -> str:
    return SITE.ljust(length - 4, character) + ".xml"


async def test_a_child_that_no_server_takes_is_dropped() -> None:
    """It is counted as a child that was not read, with one Issue an index, and never requested."""
    longest, longer = long_url(MAX_URL_CHARS), long_url(MAX_URL_CHARS + 1)
    pages = {
        TOP: index(longer, longest, f"{longer}?2", f"{SITE}a.xml"),
        longest: urlset(f"{SITE}1"),
        f"{SITE}a.xml": urlset(f"{SITE}2"),
    }
    walked = await walk_top(pages)
    assert sorted(walked.locs) == [f"{SITE}1", f"{SITE}2"]
    assert all(len(url) <= MAX_URL_CHARS for url in walked.requested)
    assert walked.report.counts[IssueCode.CHILD_URL_TOO_LONG] == 1
    (issue,) = [
        i for i in walked.report.issues if i.code == IssueCode.CHILD_URL_TOO_LONG
    ]
    assert issue.value == "2 children"
    # conservation: what the index lists is what was read and what was left out
    assert walked.document(TOP).children == 4
    assert outcomes_of(walked.report) == {
        Status.PARTIAL: 1,
        Status.COMPLETE: 2,
        Status.SKIPPED: 2,
    }
    assert not walked.report.complete
    children = [event.loc for event in walked.events if isinstance(event, SitemapEntry)]
    assert children == [longest, f"{SITE}a.xml"]


@pytest.mark.parametrize("order", ["document", "newest"])
@pytest.mark.parametrize("character", ["x", "\u00e9", "\U0001f600"])
async def test_children_are_bounded_in_bytes(order: str, character: str) -> None:
    """Past the memory for URLs children are counted and named, like those past other budgets."""
    each = 2_000 if character == "x" else 600
    locs = [f"{SITE}{n}/{character * each}.xml" for n in range(300)]
    pages = {TOP: index(*locs)} | dict.fromkeys(locs, urlset(f"{SITE}p"))
    limits = Limits(documents=40)
    walked = await walk_top(pages, limits=limits, order=order)
    report = walked.report
    assert report.counts[IssueCode.BUDGET_MEMORY] >= 1
    outcomes = outcomes_of(report)
    assert 5 <= outcomes[Status.COMPLETE] < 40
    assert outcomes.total() == 301
    remembered = sum(len(document.url) for document in report.documents)
    assert remembered <= 40 * FRONTIER_BYTES_PER_DOCUMENT
    messages = [
        i.value or "" for i in report.issues if i.code == IssueCode.BUDGET_MEMORY
    ]
    assert any("skipped" in message or "children" in message for message in messages)


async def peak_of(pages: dict[str, bytes], turns: int = 0) -> float:
    """Walk to the end; return the most MB that were in use besides the site's.

    Before it takes the second event, the consumer gives so many turns to the walk.
    """
    fetcher = MemoryFetcher({TOP: b"<urlset/>"})
    async with walk(sitemaps=[TOP], fetcher=fetcher) as entries:  # what is cached once
        async for _ in entries:
            pass
    tracemalloc.start()
    try:
        async with walk(sitemaps=[TOP], fetcher=MemoryFetcher(pages)) as entries:
            async for _ in entries.events():
                while turns:
                    turns -= 1
                    await asyncio.sleep(0)
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.slow
async def test_what_waits_for_the_consumer_is_bounded_in_bytes() -> None:
    """Records that are as long as hundreds of others do not pile up before the consumer."""
    locs = f"<url><loc>{SITE}{'x' * 60_000}</loc></url>" * 300
    data = gzip.compress(f"<urlset>{locs}</urlset>".encode())
    del locs
    assert await peak_of({TOP: data}, turns=1_000) < 10  # all of them take 18


async def test_refused_children_are_bounded_in_the_report() -> None:
    """The URLs of refused children are bounded as those of the queue are."""
    locs = [f"{SITE}no/{n}/{'z' * 7_900}" for n in range(80)]
    pages = {ROBOTS: b"User-agent: *\nDisallow: /no", TOP: index(*locs)}
    report = (await walk_top(pages, limits=Limits(documents=50))).report
    kept = sum(len(document.url) for document in report.documents)
    assert kept <= 50 * FRONTIER_BYTES_PER_DOCUMENT
    assert outcomes_of(report)[Status.SKIPPED] == 80


async def test_outcomes_are_kept_up_to_the_limit_of_documents() -> None:
    """All that were read are listed, of the others as many as may be read; the rest is counted."""
    children = [f"{SITE}{number}.xml" for number in range(20)]
    pages = {TOP: index(*children)} | {each: urlset(f"{each}/1") for each in children}
    report = (await walk_top(pages, limits=Limits(documents=6))).report
    listed = Counter(
        each.status for each in report.documents if each.role is Role.SITEMAP
    )
    assert listed == {Status.COMPLETE: 5, Status.SKIPPED: 5}
    assert outcomes_of(report) == {Status.COMPLETE: 5, Status.SKIPPED: 16}
