"""Many ways lead to one document, and it is read once: diamonds, circles, redirects, traps."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from sitemapreader import walk
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.walking import ROBOTS, Pages, Walked, index, moved, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import Mapping

TOP = "https://example.org/top.xml"
A = "https://example.org/a.xml"
B = "https://example.org/b.xml"
LEAF = "https://example.org/leaf.xml"
PAGE = "https://example.org/page"


async def walk_top(pages: Pages, **arguments: Any) -> Walked:
    return await walk_all(pages, None, **{"sitemaps": [TOP], **arguments})


@pytest.mark.parametrize(
    "spelling",
    [
        "HTTPS://EXAMPLE.ORG/leaf.xml",
        "https://example.org:443/leaf.xml",
        "https://example.org/x/../leaf.xml",
        "https://example.org/le%61f.xml",
        "https://example.org/leaf.xml#top",
        "https://user:secret@example.org/leaf.xml",
        "leaf.xml",
    ],
)
async def test_spellings(spelling: str) -> None:
    """A document is one in whatever way its URL is spelled."""
    walked = await walk_top({TOP: index(LEAF, spelling), LEAF: urlset(PAGE)})
    assert walked.locs == [PAGE]
    assert walked.requested == [TOP, ROBOTS, LEAF]


async def test_userinfo_is_removed() -> None:
    """A password in a child's URL is not sent, and not repeated in the report."""
    walked = await walk_top(
        {TOP: index("https://me:secret@example.org/leaf.xml"), LEAF: urlset(PAGE)}
    )
    assert walked.locs == [PAGE]
    assert walked.codes == ["userinfo-removed"]
    assert "secret" not in str(walked.report.issues)
    assert "secret" not in str(walked.report.documents)


async def test_a_circle_of_indexes() -> None:
    """Indexes that list one another are read once each, and so is what else they list."""
    pages: Pages = {
        TOP: index(A),
        A: index(B, LEAF),
        B: index(TOP, A),
        LEAF: urlset(PAGE),
    }
    walked = await walk_top(pages)
    assert walked.locs == [PAGE]
    assert sorted(walked.requested) == sorted([ROBOTS, TOP, A, B, LEAF])
    assert walked.codes == ["nested-index", "nested-index", "cycle", "cycle"]
    assert [issue.url for issue in walked.report.issues if issue.code == "cycle"] == [
        TOP,
        A,
    ]
    again = [each for each in walked.report.documents if each.reason == "cycle"]
    assert [(each.url, each.parent) for each in again] == [(TOP, B), (A, B)]


@pytest.mark.parametrize(
    ("pages", "parent"),
    [
        ({TOP: index(TOP, TOP, A), A: urlset(PAGE)}, TOP),
        ({TOP: index(A), A: index("HTTPS://example.org:443/top.xml", LEAF)}, A),
        ({TOP: index(A), A: moved(B, index(B, LEAF))}, B),
    ],
)
async def test_a_sitemap_above_is_a_child_as_well(pages: Pages, parent: str) -> None:
    """What lists itself or an ancestor has that as a skipped child, once; nothing is lost."""
    walked = await walk_top({LEAF: urlset(PAGE), **pages})
    report = walked.report
    assert walked.locs == [PAGE]
    assert report.complete
    children = report.children(parent)
    assert sorted(str(each.reason) for each in children) == ["", "cycle"]
    assert {str(each.status) for each in children} == {"complete", "skipped"}


async def test_children_of_a_document() -> None:
    """They are found by its URL as it is listed, and by that after redirects."""
    pages: Pages = {
        TOP: index(A, LEAF),
        A: moved(B, index("https://example.org/1.xml", "https://example.org/gone.xml")),
        "https://example.org/1.xml": urlset(PAGE),
        LEAF: urlset(PAGE),
    }
    report = (await walk_top(pages)).report
    assert sorted(each.url for each in report.children(TOP)) == [A, LEAF]
    below = report.children(A)
    assert report.children(B) == below
    assert {each.url: str(each.status) for each in below} == {
        "https://example.org/1.xml": "complete",
        "https://example.org/gone.xml": "failed",
    }
    assert report.children(LEAF) == report.children(PAGE) == []


async def test_a_redirect_to_the_parent() -> None:
    """A child that redirects to its index has failed: a site that is down does that."""
    walked = await walk_top(
        {TOP: index(A, LEAF), A: moved(TOP, index(A)), LEAF: urlset(PAGE)}
    )
    assert walked.locs == [PAGE]
    assert walked.codes == ["redirects-up"]
    assert walked.outcome(A) == ("failed", "redirects-up")


async def test_a_redirect_to_what_is_read() -> None:
    """A child that redirects to a sitemap of its own is another address of that, and no loss."""
    walked = await walk_top(
        {TOP: index(LEAF, A), A: moved(LEAF, urlset(PAGE)), LEAF: urlset(PAGE)}
    )
    assert walked.locs == [PAGE]
    assert walked.outcome(A) == ("skipped", "already-read")
    assert walked.report.complete


async def test_a_redirect_to_what_waits() -> None:
    """A sitemap that waits is not asked for where another one has led to it; it has no outcome."""
    pages: Pages = {TOP: index(A, LEAF, B), A: moved(LEAF, urlset(PAGE))}
    pages[B] = moved(A, urlset(f"{PAGE}/b"))  # which leads back, with another list
    walked = await walk_top(pages, options=FetchOptions(concurrency=1))
    assert walked.requested == [TOP, ROBOTS, A, B]
    assert {each.url: each.reason for each in walked.report.documents} == {
        TOP: "",
        ROBOTS: "http-status",
        A: "",
        B: "already-read",
    }
    assert (walked.locs, walked.report.complete) == ([PAGE], True)


async def test_redirects_that_lead_to_each_other() -> None:
    """Each is read if neither has the other's list, whichever was asked for before."""
    pages: Pages = {TOP: index(LEAF, A, B), LEAF: urlset(PAGE)}
    pages |= {A: moved(LEAF, urlset(PAGE)), B: moved(A, urlset(f"{PAGE}/b"))}
    walked = await walk_top(pages, options=FetchOptions(concurrency=1))
    assert walked.locs == [PAGE, f"{PAGE}/b"]
    assert walked.outcome(A) == ("skipped", "already-read")
    assert walked.outcome(B) == ("complete", "")


async def test_a_search_waits_for_no_sitemap_that_another_one_has_merged() -> None:
    """If neither is a sitemap after all, the well-known paths are tried."""
    pages: Pages = {
        ROBOTS: f"Sitemap: {A}\nSitemap: {LEAF}".encode(),
        A: moved(LEAF, b"<!doctype html><html><title>Moved</title></html>"),
        "https://example.org/sitemap.xml": urlset(PAGE),
    }
    walked = await walk_all(pages, options=FetchOptions(concurrency=1))
    assert walked.locs == [PAGE]
    assert walked.requested == [ROBOTS, A, "https://example.org/sitemap.xml"]
    assert walked.outcome(A) == ("failed", "html-not-sitemap")


async def test_a_child_that_is_robots_txt() -> None:
    """An index that lists the robots.txt that named it leads back."""
    pages: Pages = {
        ROBOTS: b"Sitemap: https://example.org/top.xml",
        TOP: index(ROBOTS, LEAF),
    }
    pages[LEAF] = urlset(PAGE)
    walked = await walk_all(pages)
    assert walked.locs == [PAGE]
    assert walked.codes == ["cycle"]
    assert Counter(walked.requested)[ROBOTS] == 1


async def test_relative_urls_follow_the_redirect() -> None:
    """What a document says is relative to where it came from in the end."""
    new = "https://www.example.org/maps/top.xml"
    leaf = "https://www.example.org/maps/leaf.xml"
    walked = await walk_top({TOP: moved(new, index("leaf.xml")), leaf: urlset("page")})
    assert walked.locs == ["https://www.example.org/maps/page"]


class Trap(MemoryFetcher):
    """A site without end: every folder has the same index, which lists a folder below."""

    def __init__(self, body: bytes, pages: Mapping[str, Any] = {}) -> None:
        super().__init__(pages)
        self.body = body

    def open(self, url: str, **arguments: Any) -> Any:
        if url.endswith("/index.xml"):
            self.pages = {**self.pages, url: StoredResponse(url, self.body)}
        return super().open(url, **arguments)


async def test_a_calendar_trap() -> None:
    """An index that is the same in every folder has its children taken twice at most."""
    fetcher = Trap(index("next/index.xml", "leaf.xml"))
    top = "https://example.org/index.xml"
    async with walk(
        sitemaps=[top], fetcher=fetcher, limits=Limits(depth=1_000)
    ) as entries:
        assert [entry async for entry in entries] == []
    requested = [url for url in fetcher.requested if url.endswith("index.xml")]
    assert requested == [top, "https://example.org/next/index.xml"]
    codes = [str(issue.code) for issue in entries.report.issues]
    assert codes.count("duplicate-document") == 1
    reasons = {document.url: document.reason for document in entries.report.documents}
    assert reasons["https://example.org/next/next/index.xml"] == "duplicate-document"


@pytest.mark.parametrize(("depth", "pages_read"), [(1, 2), (2, 3), (5, 6), (9, 8)])
async def test_depth(depth: int, pages_read: int) -> None:
    """Indexes are followed so many levels down; what lies below is named and not fetched."""
    names = [f"https://example.org/{level}.xml" for level in range(9)]
    pages: Pages = {
        name: index(below, f"https://example.org/leaf{level}.xml")
        for level, (name, below) in enumerate(itertools.pairwise(names))
    }
    pages |= {
        f"https://example.org/leaf{level}.xml": urlset(PAGE) for level in range(8)
    }
    pages[names[8]] = urlset(PAGE)
    walked = await walk_all(
        pages, None, sitemaps=[names[0]], limits=Limits(depth=depth)
    )
    read = [url for url in names if url in walked.requested]
    if depth >= 8:
        assert read == names
        assert "budget-depth" not in walked.codes
        assert walked.codes == ["nested-index"] * 7
    else:
        assert len(read) == pages_read == depth + 1
        (issue,) = [
            issue for issue in walked.report.issues if issue.code == "budget-depth"
        ]
        assert (issue.sitemap, issue.url) == (names[depth], names[depth + 1])
        assert issue.value == "2 children"
        assert walked.outcome(names[depth + 1]) == ("skipped", "budget-depth")
        assert not walked.report.complete


# -- any site

NODES = [f"https://example.org/{number}.xml" for number in range(7)]


@st.composite
def sites(draw: st.DrawFn) -> Pages:
    """Draw a site: indexes that list anything, lists of one page, redirects to another node."""
    bodies: dict[str, bytes] = {}
    targets: dict[str, str] = {}
    for node in NODES:
        kind = draw(st.sampled_from(["index", "index", "urlset", "moved"]))
        if kind == "moved":
            targets[node] = draw(st.sampled_from(NODES))
        elif kind == "index":
            children = draw(
                st.lists(st.sampled_from([*NODES, "https://example.org/none.xml"]))
            )
            bodies[node] = index(*children)
        else:
            bodies[node] = urlset(f"{node}/page")
    pages: Pages = {}
    for node in NODES:
        end = node
        for _ in NODES:
            end = targets.get(end, end)
        if end in bodies:  # else the redirects go round in a circle
            pages[node] = moved(end, bodies[end])
    return pages


def reachable(pages: Pages) -> set[str]:
    """Return the URLs of pages that a site publishes, found in the simplest way."""
    seen: set[str] = set()
    waiting = [NODES[0]]
    found: set[str] = set()
    while waiting:
        url = waiting.pop()
        page = pages.get(url)
        if url in seen or not isinstance(page, StoredResponse):
            continue
        seen.add(url)
        locs = re.findall("<loc>(.*?)</loc>", page.body.decode())
        if b"<sitemapindex" in page.body:
            waiting += locs
        else:
            found.update(locs)
    return found


@given(sites(), st.integers(1, 4))
def test_any_site(pages: Pages, concurrency: int) -> None:
    """Whatever leads where: all that can be reached comes once, and no URL is asked for twice."""
    walked = asyncio.run(
        walk_all(
            pages,
            None,
            sitemaps=[NODES[0]],
            limits=Limits(depth=99),
            options=FetchOptions(concurrency=concurrency),
        )
    )
    assert sorted(walked.locs) == sorted(reachable(pages))
    assert max(Counter(walked.requested).values()) == 1
    documents = [each for each in walked.report.documents if each.reason != "cycle"]
    assert max(Counter(document.url for document in documents).values()) == 1
    assert "budget-depth" not in walked.codes
