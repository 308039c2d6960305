"""Filters of a walk, and the set of URLs that were seen."""

from __future__ import annotations

import datetime as dt
import random
import sys
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Limits
from sitemapreader._walk.filters import SeenKeys
from tests.support.walking import (
    ROBOTS,
    Pages,
    Walked,
    at_once,
    index,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader._types.models import SitemapEntry

TOP = "https://example.org/top.xml"
A = "https://example.org/a.xml"
B = "https://example.org/b.xml"
MARCH = dt.datetime(2026, 3, 5, 12, tzinfo=dt.UTC)


def page(name: str) -> str:
    return f"https://example.org/{name}"


async def walk_top(pages: Pages, **arguments: Any) -> Walked:
    return await walk_all(pages, None, **{"sitemaps": [TOP], **arguments})


SINCE = [
    ("2026-03-05T12:00:00Z", True),
    ("2026-03-05T11:59:59Z", False),
    ("2026-03-05T13:00:00+02:00", False),
    ("2026-03-05T10:30:00-02:00", True),
    ("2026-03-05", True),
    ("2026-03-04", False),
    ("2026-03", True),
    ("2026-02", False),
    ("2026", True),
    ("2025", False),
    ("Thu, 05 Mar 2026 12:00:01 GMT", True),
]


@pytest.mark.parametrize(("lastmod", "passes"), SINCE, ids=[row[0] for row in SINCE])
async def test_since(lastmod: str, passes: bool) -> None:
    """An entry passes if any moment of what its lastmod stands for is at or after `since`."""
    walked = await walk_top({TOP: urlset((page("x"), lastmod))}, since=MARCH)
    assert walked.locs == [page("x")] * passes
    document = walked.document(TOP)
    assert (document.listed, document.entries, document.filtered) == (
        1,
        passes,
        1 - passes,
    )
    assert walked.report.entries == passes


@pytest.mark.parametrize(("lastmod", "passes"), SINCE, ids=[row[0] for row in SINCE])
async def test_prune(lastmod: str, passes: bool) -> None:
    """A child whose index says that it is older is not fetched, unless that is turned off."""
    pages: Pages = {TOP: index((A, lastmod)), A: urlset((page("x"), "2026-04-01"))}
    walked = await walk_top(pages, since=MARCH)
    assert walked.locs == [page("x")] * passes
    expected = ("complete", "") if passes else ("skipped", "not-modified-since")
    assert walked.outcome(A) == expected
    assert walked.codes == []
    assert walked.report.complete
    assert (await walk_top(pages, since=MARCH, prune=False)).locs == [page("x")]
    assert (await walk_top(pages)).locs == [page("x")]


@pytest.mark.parametrize(
    ("date", "newest", "skipped"),
    [
        ("2026-03-06", "2026-03-20", 2),
        ("2026-03-06T10:00:00Z", "2026-03-06T11:00:00Z", 2),
        ("2026-03-06", "2026-03-06T20:00:00Z", 0),
        ("2026-03", "2026-03-31", 0),
        ("2026-03-06", "2099-01-01", 0),  # no page has changed yet
        (None, "2026-03-20", 0),
    ],
)
async def test_a_false_date_of_an_index_is_told(
    date: str | None, newest: str, skipped: int
) -> None:
    """Where a sitemap has newer URLs than its index says, skipped ones may have such, too."""
    old = [(f"https://example.org/{name}.xml", "2026-02-01") for name in "bc"]
    pages: Pages = {
        TOP: index((A, date) if date else A, *old),
        A: urlset((page("x"), newest), page("y")),
    }
    walked = await walk_top(pages, since=MARCH)
    issues = [each for each in walked.report.issues if each.code == "index-date"]
    told = [(each.sitemap, each.url, each.value) for each in issues]
    urls = f"{skipped} sitemaps skipped: {' '.join(url for url, _ in old)}"
    assert told == ([(TOP, A, urls)] if skipped else [])
    assert walked.report.complete
    pages |= {url: urlset() for url, _ in old}
    assert "index-date" not in (await walk_top(pages, since=MARCH, prune=False)).codes


@pytest.mark.parametrize(
    ("taken", "listed"),
    [
        ([], [A, B]),
        ([A], [page("a"), B]),
        ([A, B], [page("a"), page("b")]),
    ],
)
@pytest.mark.parametrize("ending", ["", "</urlset>"])
async def test_follow_is_asked_about_a_urlset_of_sitemaps(
    taken: list[str], listed: list[str], ending: str
) -> None:
    """What it takes is read, also of a document that was cut; what it refuses is a page."""
    asked: list[str] = []

    def follow(entry: SitemapEntry) -> bool:
        asked.append(entry.loc)
        return entry.loc in taken

    top = urlset((A, "2026-03-05"), B).removesuffix(b"</urlset>") + ending.encode()
    pages: Pages = {TOP: top, A: urlset(page("a")), B: urlset(page("b"))}
    walked = await walk_top(pages, follow=follow)
    assert sorted(walked.locs) == sorted(listed)
    assert asked == [A, B]
    assert walked.codes.count("sitemaps-as-pages") == 1
    assert (await walk_top(pages)).locs == [A, B]


@pytest.mark.parametrize(
    ("taken", "listed"),
    [([], [A, B]), ([A], [page("a"), B]), ([A, B], [page("a"), page("b")])],
)
async def test_follow_is_asked_about_a_text_of_sitemaps(
    taken: list[str], listed: list[str]
) -> None:
    """A text that lists sitemaps is said, as a urlset is, and read if it is wanted."""
    pages: Pages = {TOP: f"{A}\n{B}\n".encode(), A: urlset(page("a"))}
    pages[B] = urlset(page("b"))
    walked = await walk_top(pages, follow=lambda entry: entry.loc in taken)
    assert sorted(walked.locs) == sorted(listed)
    assert walked.codes.count("sitemaps-as-pages") == 1


@pytest.mark.parametrize("place", [0, 1, 700, 1_500])
async def test_follow_is_not_asked_about_a_urlset_with_a_page(place: int) -> None:
    """One page among sitemaps makes all of them pages, wherever it stands; none is lost."""
    locs = [f"https://example.org/{number}.xml" for number in range(1_500)]
    locs.insert(place, page("a"))
    walked = await walk_top({TOP: urlset(*locs)}, follow=lambda _: True)
    assert walked.locs == locs
    assert walked.requested == [TOP]


async def test_sitemaps_of_a_urlset_that_did_not_change_are_walked(db: Path) -> None:
    """A state remembers them as children, and a change in one of them is found."""
    pages: Pages = {TOP: urlset(A), A: urlset(page("a"))}
    first = await walk_top(
        pages, follow=lambda _: True, state=at_once(db), changes=True
    )
    assert first.locs == [page("a")]
    pages = {**pages, A: urlset(page("a"), page("b"))}
    second = await walk_top(
        pages, follow=lambda _: True, state=at_once(db), changes=True
    )
    assert second.locs == [page("b")]
    assert second.report.unlisted == 0


async def test_follow() -> None:
    """`follow` is asked of each child, with what its index says; what it refuses is not read."""
    asked: list[SitemapEntry] = []

    def follow(entry: SitemapEntry) -> bool:
        asked.append(entry)
        return entry.loc == A

    pages: Pages = {
        TOP: index((A, "2026"), B),
        A: urlset(page("a")),
        B: urlset(page("b")),
    }
    walked = await walk_top(pages, follow=follow)
    assert walked.locs == [page("a")]
    assert B not in walked.requested
    assert walked.outcome(B) == ("skipped", "not-followed")
    assert [(entry.loc, entry.lastmod_text, entry.sitemap) for entry in asked] == [
        (A, "2026", TOP),
        (B, None, TOP),
    ]
    assert walked.report.complete


async def test_unique() -> None:
    """With unique=True a URL comes once, in its first spelling, from whatever document."""
    pages: Pages = {
        TOP: urlset(page("x"), page("y"), page("x"), "https://EXAMPLE.org:443/x#a"),
        A: urlset(page("y"), page("z")),
    }
    walked = await walk_top(pages, sitemaps=[TOP, A], unique=True)
    assert sorted(walked.locs) == [page("x"), page("y"), page("z")]
    assert sum(document.filtered for document in walked.report.documents) == 3
    assert len((await walk_top(pages, sitemaps=[TOP, A])).locs) == 6


SCOPE = [
    ("https://example.org/maps/a", True),
    ("https://example.org/maps/deep/er/a", True),
    ("https://example.org/a", False),
    ("https://example.org/mapsa", False),
    ("http://example.org/maps/a", False),
    ("https://www.example.org/maps/a", False),
    ("https://other.net/maps/a", False),
    ("HTTPS://Example.ORG:443/maps/x/../a", True),
]


@pytest.mark.parametrize(("loc", "inside"), SCOPE, ids=[row[0] for row in SCOPE])
async def test_scope(loc: str, inside: bool) -> None:
    """Entries outside the folder of their sitemap are delivered and counted, or dropped."""
    top = "https://example.org/maps/top.xml"
    walked = await walk_all({top: urlset(loc)}, None, sitemaps=[top])
    assert walked.locs == [loc]
    assert walked.codes == ["out-of-scope"] * (not inside)
    walked = await walk_all({top: urlset(loc)}, None, sitemaps=[top], scope="drop")
    assert walked.locs == [loc] * inside
    assert walked.codes == ["out-of-scope"] * (not inside)


async def test_robots_speaks_for_its_host() -> None:
    """What robots.txt lists may hold URLs of the whole host, wherever the sitemap lies."""
    cdn = "https://cdn.net/maps/top.xml"
    pages: Pages = {
        ROBOTS: b"Sitemap: https://cdn.net/maps/top.xml",
        cdn: index("https://cdn.net/maps/a.xml"),
        "https://cdn.net/maps/a.xml": urlset(page("x"), "https://cdn.net/y"),
    }
    walked = await walk_all(pages, scope="drop")
    assert walked.locs == [page("x")]
    assert walked.codes == ["out-of-scope"]


def test_a_hundred_thousand() -> None:
    """No URL of many is taken for another, before and after the tables have grown."""
    keys = SeenKeys()
    urls = [f"https://example.org/{n}" for n in range(100_000)]
    assert all(keys.add(url) for url in urls)
    random.Random(1).shuffle(urls)
    assert not any(keys.add(url) for url in urls)


def test_bytes_a_url() -> None:
    """A URL takes 9 to 14 bytes, at every size that is no handful."""
    keys = SeenKeys()
    for number in range(150_000):
        keys.add(str(number))
        if number > 50_000 and number % 10_000 == 0:
            size = sum(sys.getsizeof(table) for table in keys._tables.values())
            assert 8 < size / number < 16


async def test_urls_on_many_hosts_beyond_ascii() -> None:
    """They are looked at in small steps, and none is lost, repeated, or beyond the limit."""
    locs = [f"https://b\u00fccher-{number}.example/" for number in range(13)]
    last = page("last")
    some, rest = urlset(*locs, locs[0]), urlset(last).partition(b"<url>")[2]
    blanks = b" " * 40_000  # the rest comes later
    pages: Pages = {TOP: some.removesuffix(b"</urlset>") + blanks + b"<url>" + rest}
    walked = await walk_top(pages, unique=True)
    assert walked.locs == [*locs, last]
    (document,) = walked.report.documents
    assert (document.listed, document.entries, document.filtered) == (15, 14, 1)
    for limit in (5, 7):
        walked = await walk_top(pages, unique=True, limits=Limits(max_urls=limit))
        assert walked.locs == locs[:limit]
