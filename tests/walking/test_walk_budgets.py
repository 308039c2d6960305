"""Every limit of a walk stops it, says what was not read for it, and loses nothing before it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import walk
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader._types.outcomes import Status
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.timing import retried
from tests.support.walking import ROBOTS, Pages, Walked, index, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sitemapreader._types.issues import Issue

TOP = "https://example.org/top.xml"
CHILDREN = [f"https://example.org/{n}.xml" for n in range(10)]
ONE_AT_A_TIME = FetchOptions(concurrency=1)


def site() -> Pages:
    pages: Pages = {TOP: index(*CHILDREN)}
    return pages | {url: urlset(f"{url}/page") for url in CHILDREN}


async def walk_top(pages: Pages, limits: Limits, **arguments: Any) -> Walked:
    return await walk_all(
        pages, None, **{"sitemaps": [TOP], **arguments}, limits=limits
    )


def only(walked: Walked, code: str) -> Issue:
    (issue,) = [issue for issue in walked.report.issues if issue.code == code]
    return issue


async def test_children() -> None:
    """Of an index so many children are taken; the others are counted, and one is named."""
    walked = await walk_top(site(), Limits(children=7))
    assert len(walked.locs) == 7
    issue = only(walked, "budget-children")
    assert (issue.sitemap, issue.url, issue.value) == (TOP, CHILDREN[7], "3 children")
    assert walked.outcome(CHILDREN[9]) == ("skipped", "budget-children")
    assert walked.document(TOP).children == 10
    assert not walked.report.complete


async def test_documents() -> None:
    """So many documents are fetched, robots.txt among them; the others are counted and named."""
    walked = await walk_top(site(), Limits(documents=6), options=ONE_AT_A_TIME)
    assert walked.requested == [TOP, ROBOTS, *CHILDREN[:4]]
    assert len(walked.locs) == 4
    issue = only(walked, "budget-documents")
    assert issue.url is not None
    assert issue.url in CHILDREN[4:]
    assert issue.value is not None
    assert issue.value.startswith("6 sitemaps skipped: ")
    assert walked.report.statuses == {Status.COMPLETE: 5, Status.SKIPPED: 7}
    assert walked.events[-1] is issue
    assert not walked.report.complete


async def test_bytes() -> None:
    """So many bytes are fetched; the document in which they end is partial, the rest is skipped."""
    pages = site()
    body = urlset(*(f"https://example.org/{n}" for n in range(3_000)))
    pages[CHILDREN[1]] = StoredResponse(CHILDREN[1], body, chunk_bytes=4_096)
    walked = await walk_top(
        pages, Limits(walk_bytes=len(body) // 2), options=ONE_AT_A_TIME
    )
    assert walked.outcome(CHILDREN[0]) == ("complete", "")
    assert walked.outcome(CHILDREN[1]) == ("partial", "budget-bytes")
    assert walked.outcome(CHILDREN[2]) == ("skipped", "budget-bytes")
    assert 1_000 < len(walked.locs) < 2_000
    assert walked.codes == ["budget-bytes", "budget-bytes"]
    assert walked.requested[-1] == CHILDREN[1]
    assert walked.report.bytes_raw <= len(body) // 2 + 4_096


@pytest.mark.parametrize("name", ["documents", "children", "depth", "walk_bytes"])
async def test_just_enough_is_enough(name: str) -> None:
    """A limit of exactly what a site has is none; with one less its Issue says what is lost."""
    inner = "https://example.org/inner.xml"
    pages = site() | {TOP: index(inner), inner: index(*CHILDREN)}
    whole = await walk_top(pages, Limits())
    number: Any = {
        "documents": len(whole.requested),
        "children": len(CHILDREN),
        "depth": 2,
        "walk_bytes": whole.report.bytes_raw,
    }[name]
    least, less = [await walk_top(pages, Limits(**{name: number - n})) for n in (0, 1)]
    code = f"budget-{name.removeprefix('walk_')}"
    assert (least.codes, least.locs) == (whole.codes, whole.locs)
    assert (whole.report.complete, less.report.complete) == (True, False)
    assert code not in whole.codes
    assert code in less.codes


@attrs.define
class Stalled(StoredResponse):
    """A body whose end never comes."""

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in StoredResponse.chunks(self):
            yield chunk
        await asyncio.sleep(3_600)


@retried
async def test_seconds() -> None:
    """When its time is over a walk ends, in the middle of a document that does not come as well."""
    pages = site()
    pages[CHILDREN[3]] = Stalled(CHILDREN[3], urlset("https://example.org/early")[:-9])
    walked = await walk_top(pages, Limits(walk_seconds=0.3), options=ONE_AT_A_TIME)
    assert len(walked.locs) == 4
    assert walked.outcome(CHILDREN[3]) == ("partial", "budget-seconds")
    assert walked.outcome(CHILDREN[4]) == ("skipped", "budget-seconds")
    assert walked.codes == ["budget-seconds", "budget-seconds"]


@attrs.define
class Flood(StoredResponse):
    """A body that never ends, and whose next bytes are always there."""

    async def chunks(self) -> AsyncIterator[bytes]:
        give_up_at = time.monotonic() + 10
        yield self.body
        while time.monotonic() < give_up_at:
            yield b"<url><loc>https://example.org/more</loc></url>" * 100


@pytest.mark.parametrize(
    ("site", "sitemaps", "issues", "skipped"),
    [
        (
            "https://example.org/",
            [],
            [("budget-seconds", "/"), ("no-sitemap", "/")],
            ["/robots.txt"],
        ),
        ("https://example.org/blog/", [], [("budget-seconds", "")], ["/blog/"]),
        (
            "https://example.org/blog/robots.txt",
            [],
            [("budget-seconds", "/blog/"), ("no-sitemap", "/blog/")],
            ["/blog/robots.txt", "/robots.txt"],
        ),
        (
            None,
            ["/robots.txt", "/b/robots.txt"],
            [("budget-seconds", "/robots.txt"), ("budget-seconds", "/b/robots.txt")],
            ["/robots.txt", "/b/robots.txt"],
        ),
        (
            None,
            ["/a.xml", "/b.xml"],
            [("budget-seconds", "")],
            ["/a.xml", "/b.xml"],
        ),
    ],
)
async def test_no_seconds_at_all(
    site: str | None,
    sitemaps: list[str],
    issues: list[tuple[str, str]],
    skipped: list[str],
) -> None:
    """What was named first is skipped, is told once, and nothing is requested for it."""
    host = "https://example.org"
    named = {"sitemaps": [host + path for path in sitemaps]} if sitemaps else {}
    walked = await walk_all({}, site, limits=Limits(walk_seconds=1e-9), **named)
    told = [
        (str(each.code), each.sitemap.removeprefix(host))
        for each in walked.report.issues
    ]
    assert (told, walked.requested) == (issues, [])
    outcomes = {
        each.url: (each.status, each.reason) for each in walked.report.documents
    }
    ended = ("skipped", "budget-seconds")
    assert outcomes == dict.fromkeys((host + path for path in skipped), ended)


async def test_seconds_and_a_body_for_which_nobody_waits() -> None:
    """When its time is over a walk ends, however fast the next bytes come."""
    pages = site()
    pages[CHILDREN[0]] = Flood(CHILDREN[0], urlset("https://example.org/early")[:-9])
    walked = await walk_top(pages, Limits(walk_seconds=0.3), options=ONE_AT_A_TIME)
    assert walked.outcome(CHILDREN[0])[1] == "budget-seconds"
    assert walked.outcome(CHILDREN[1]) == ("skipped", "budget-seconds")


async def test_nested_children_past_the_documents_are_not_held() -> None:
    """Of an index inside an index no more children wait to be compared than can be fetched."""
    inner = "https://example.org/inner.xml"
    many = [f"https://example.org/{n}.xml" for n in range(60)]
    walked = await walk_top(
        {TOP: index(inner), inner: index(*many)}, Limits(documents=8)
    )
    (issue,) = [
        each for each in walked.report.issues if each.code == "budget-documents"
    ]
    # which come first is chance
    assert str(issue.value).startswith("55 sitemaps skipped: ")
    assert sum(walked.report.statuses.values()) == 63


@pytest.mark.parametrize("number", [1, 4, 10, 11])
async def test_urls(number: int) -> None:
    """`max_urls` delivers so many, and an Issue says that there are more."""
    walked = await walk_top(site(), Limits(), max_urls=number)
    assert walked.report.entries == min(number, 10)
    assert bool(walked.report.counts[IssueCode.BUDGET_URLS]) is (number < 10)
    for document in walked.report.documents:
        if document.listed > document.entries:
            assert (document.status, document.reason) == ("partial", "budget-urls")
    whole = walked.report.statuses[Status.COMPLETE] - 1
    assert whole == min(number, 10)  # without the index


async def test_urls_that_look_like_sitemaps() -> None:
    """Those that are held back until their document ends are as many as may be, too."""
    locs = [f"https://example.org/{number}.xml" for number in range(5)]
    for number in (4, 5):
        walked = await walk_top(
            {TOP: urlset(*locs)},
            Limits(),
            max_urls=number,
            follow=lambda entry: entry.loc == TOP,
        )
        assert walked.locs == locs[:number]
        ending = ("complete", "") if number == 5 else ("partial", "budget-urls")
        assert walked.outcome(TOP) == ending


@pytest.mark.parametrize("number", [5, 7, 12])
async def test_urls_on_many_hosts_beyond_ascii(number: int) -> None:
    """Hosts that take long to encode are filtered in parts, and the number holds for all."""
    locs = [f"https://\u00fc{number}.example/" for number in range(12)]
    walked = await walk_top({TOP: urlset(*locs)}, Limits(), max_urls=number)
    assert walked.locs == locs[:number]
    is_cut = number < len(locs)
    assert walked.codes.count("budget-urls") == is_cut
    ending = ("partial", "budget-urls") if is_cut else ("complete", "")
    assert walked.outcome(TOP) == ending


async def test_the_last_url_ends_what_is_waited_for() -> None:
    """When `max_urls` are delivered, nobody waits for documents that do not come."""
    pages = site()
    for url in CHILDREN[:3]:
        pages[url] = Stalled(url, b"")
    async with asyncio.timeout(60):
        walked = await walk_top(pages, Limits(), max_urls=3)
    assert walked.report.entries == 3
    assert walked.outcome(CHILDREN[0])[1] == "budget-urls"


async def test_a_slow_consumer_takes_no_time_of_the_walk() -> None:
    """The clock of a walk stands still while its consumer holds it up, also for what it awaits."""
    pages: Pages = {TOP: index(*CHILDREN[:2])}
    pages[CHILDREN[0]] = urlset(
        *(f"https://example.org/{number}" for number in range(15_000))
    )
    late = asyncio.Event()

    @attrs.define
    class Late(StoredResponse):
        async def chunks(self) -> AsyncIterator[bytes]:
            await late.wait()
            yield urlset("https://example.org/late")

    pages[CHILDREN[1]] = Late(CHILDREN[1], b"")
    locs = list[str]()
    limits = Limits(walk_seconds=2)
    async with walk(
        sitemaps=[TOP], fetcher=MemoryFetcher(pages), limits=limits
    ) as entries:
        async for batch in entries.batches():
            if not locs:
                await asyncio.sleep(2.2)
                late.set()
            locs += [entry.loc for entry in batch]
    assert (len(locs), entries.report.complete) == (15_001, True)
