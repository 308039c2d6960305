"""What a report counts: one word for one thing, for a document and for a whole walk."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import walk
from sitemapreader.fetch import MemoryFetcher
from tests.support.walking import SITE, Pages, index, urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader import Report

TOP, A, B = f"{SITE}sitemap.xml", f"{SITE}a.xml", f"{SITE}b/b.xml"
PAGES: Pages = {
    TOP: index(A, B),
    A: urlset((f"{SITE}1", "2026-05-01"), (f"{SITE}2", "2020-05-01"), f"{SITE}3"),
    B: urlset(f"{SITE}3", f"{SITE}b/4", f"{SITE}b/5"),
}
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "since": {"since": datetime(2026, 1, 1, tzinfo=UTC), "undated": "drop"},
    "include": {"include": "[1-3]$"},
    "exclude": {"exclude": "b"},
    "scope": {"scope": "drop"},
    "unique": {"unique": True},
    "all": {"unique": True, "scope": "drop", "exclude": "5$"},
}


def check(report: Report) -> None:
    """Hold that the counts of the documents add up, each to what it lists and all to the walk."""
    assert sum(document.entries for document in report.documents) == report.entries
    for document in report.documents:
        assert document.listed == document.entries + document.filtered + document.known


@pytest.mark.parametrize("name", FILTERS)
async def test_entries_are_what_was_handed_over(name: str) -> None:
    """Whatever filters there are, `entries` of the documents sum up to those that came."""
    walked = await walk_all(PAGES, **FILTERS[name])
    check(walked.report)
    assert walked.report.entries == len(walked.locs)
    assert sum(document.listed for document in walked.report.documents) == 6
    assert (name == "none") == (walked.report.entries == 6)


async def test_known_entries_are_not_handed_over(tmp_path: Path) -> None:
    """With `changes`, what the state knows is in `known` and `listed`, and in no `entries`."""
    arguments: dict[str, Any] = {"state": tmp_path / "y.db", "changes": True}
    first = await walk_all(PAGES, **arguments)
    check(first.report)
    changed = PAGES | {
        A: urlset((f"{SITE}1", "2026-05-02"), (f"{SITE}2", "2020-05-01"))
    }
    second = await walk_all(changed, **arguments)
    check(second.report)
    assert (second.document(A).entries, second.document(A).known) == (1, 1)
    assert second.report.entries == len(second.locs) == 1


async def test_a_consumer_that_leaves_has_what_is_counted() -> None:
    """After an early end, `entries` still agree with each other, and not with what is listed."""
    many = urlset(*(f"{SITE}{number}" for number in range(30_000)))
    async with walk(sitemaps=[TOP], fetcher=MemoryFetcher({TOP: many})) as entries:
        async for _ in entries:
            break
    (document,) = entries.report.documents
    assert document.reason == "left-early"
    assert document.entries == entries.report.entries > 0
