"""`order="newest"`: which of the sitemaps that wait are fetched first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader import walk
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader._types.outcomes import Status
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.grouping import grouped
from tests.support.walking import ROBOTS, SITE, Pages, index, urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path

TOP = "https://example.org/top.xml"
ONE_AT_A_TIME = FetchOptions(concurrency=1)


def child(name: str) -> str:
    return f"https://example.org/{name}.xml"


def archive(*children: tuple[str, str]) -> Pages:
    """Make a site of an index, and of a child for each name and lastmod, with one URL each."""
    pages: Pages = {TOP: index(*((child(name), lastmod) for name, lastmod in children))}
    return pages | {
        child(name): urlset(f"https://example.org/{name}/") for name, _ in children
    }


MIXED = archive(
    ("2019", "2019-12-31"),
    ("undated", ""),
    ("2026a", "2026-01-01"),
    ("odd", "soon"),
    ("2026b", "2026-01-01T00:00:00+00:00"),
    ("2024", "2024"),
    ("2026c", "2026-01-01T01:00:00+02:00"),
)


async def requested(pages: Pages, **arguments: Any) -> list[str]:
    """Walk over pages, one at a time; list the sitemaps in the order of their requests."""
    walked = await walk_all(
        pages, None, **{"sitemaps": [TOP], "options": ONE_AT_A_TIME, **arguments}
    )
    return [
        url.removeprefix(SITE).removesuffix(".xml")
        for url in walked.requested
        if url != ROBOTS
    ]


async def test_newest_first() -> None:
    """The newest child comes first, equal ones as they are listed; of undated ones the last."""
    order = ["top", "2026a", "2026b", "2026c", "2024", "2019", "odd", "undated"]
    assert await requested(MIXED, order="newest") == order


async def test_an_index_inside_an_index() -> None:
    """Children of a newer inner index come before an older one is read."""
    inner, older = child("inner"), child("older")
    pages: Pages = {
        TOP: index((older, "2021"), (inner, "2026-02")),
        inner: index(
            (child("a"), "2020"), (child("b"), "2026-01"), (child("c"), "2022")
        ),
        older: index((child("d"), "2021")),
        **{child(name): urlset(f"https://example.org/{name}/") for name in "abcd"},
    }
    order = ["top", "inner", "b", "c", "older", "d", "a"]
    assert await requested(pages, order="newest") == order


async def test_the_newest_are_kept_where_not_all_have_room() -> None:
    """If an index lists more than a walk may read, it is the oldest that are left out."""
    days = [
        f"2020-{month:02}-{day:02}" for month in range(1, 11) for day in range(1, 21)
    ]
    pages = archive(*((day, day) for day in days))
    fetched = await requested(pages, order="newest", limits=Limits(documents=12))
    assert fetched == ["top", *days[::-1][:10]]  # and robots.txt
    limits = Limits(documents=12)
    walked = await walk_all(pages, None, sitemaps=[TOP], order="newest", limits=limits)
    assert walked.codes == ["budget-documents"]
    assert str(walked.report.issues[0].value).startswith("190 sitemaps skipped: ")
    assert sum(walked.report.statuses.values()) == 202
    assert walked.report.statuses[Status.COMPLETE] == 11
    assert walked.outcome(TOP) == ("complete", "")
    assert not walked.report.complete


async def test_a_walk_that_is_resumed(tmp_path: Path) -> None:
    """A walk that stops after the newest child goes on with the others, each URL given once."""
    pages = archive(*((str(year), str(year)) for year in range(2000, 2020)))
    arguments: dict[str, Any] = {
        "sitemaps": [TOP],
        "order": "newest",
        "state": tmp_path / "site.db",
        "options": ONE_AT_A_TIME,
    }
    async with walk(fetcher=MemoryFetcher(pages), **grouped(arguments)) as entries:
        first = await anext(aiter(entries.batches()))
    assert [entry.loc for entry in first] == ["https://example.org/2019/"]
    fetcher = MemoryFetcher(pages)
    async with walk(fetcher=fetcher, **grouped(arguments)) as entries:
        rest = [entry.loc async for entry in entries]
    assert entries.report.resumed
    assert rest == [f"https://example.org/{year}/" for year in range(2019, 1999, -1)]
    assert entries.report.complete
