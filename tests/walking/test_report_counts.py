"""What a report counts: one word for one thing, for a document and for a whole walk."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Document, Issue, IssueCode, Report, Search, Status, Via, walk
from sitemapreader.fetch import MemoryFetcher
from tests.support import golden
from tests.support.walking import SITE, Pages, index, urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path

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


async def test_each_record_is_listed_or_dropped() -> None:
    """Each Issue comes with its site, and each dropped record has one, however many there are."""
    for path in golden.documents():
        await check_records(path)


async def check_records(path: Path) -> None:
    """Hold that each record of a document is counted once, and has an Issue if it is dropped."""
    issues: list[Issue] = []
    documents: list[Document] = []
    async with walk(
        sitemaps=[path],
        search=Search(extra_formats={"html"}),
        follow=lambda _: False,
        on_document=documents.append,
        on_issue=issues.append,
    ) as walked:
        found = [event async for event in walked.events()]
    document = documents[0]
    # the next page of a feed is no record
    children = [each for each in found if getattr(each, "via", None) is Via.INDEX]
    assert document.records == document.listed + len(children) + document.dropped
    own = [issue for issue in issues if issue.sitemap == document.url]
    assert document.dropped == sum(issue.dropped for issue in own)
    assert document.counts == Counter(issue.code for issue in own)
    assert {issue.site for issue in issues} <= {document.site} == {document.url}


async def test_all_dropped_records_come_and_few_are_kept() -> None:
    """Beyond ten of a code, Issues are counted in the report, and come to `on_issue`."""
    locs = [f"{SITE}{number}" for number in range(30)]
    locs += [f"mailto:{number}" for number in range(25)]
    issues: list[Issue] = []
    walked = await walk_all({TOP: urlset(*locs)}, on_issue=issues.append)
    document = walked.document(TOP)
    assert (document.records, document.listed, document.dropped) == (55, 30, 25)
    assert [issue.value for issue in issues if issue.dropped] == locs[30:]
    assert len(document.issues) == len(walked.report.issues) == 10
    assert walked.report.counts.total() == document.counts.total() == 25
    assert walked.report.outcome.dropped == 25


SUMS = ["entries", "undated", "future", "without_language", "bytes_raw"]


def test_reports_are_added() -> None:
    """The sum of two walks has the outcomes, the Issues and the figures of both."""
    reports = [Report(9), Report(9)]
    for number, report in enumerate(reports, 1):
        document = Document(f"{SITE}{number}.xml", bytes_raw=0)
        report.add_issue(Issue(IssueCode.EMPTY, sitemap=f"{SITE}{number}"))
        report.end_document(document, Status.SKIPPED, "not-followed")
        for name in SUMS:
            setattr(report, name, number)
    total, other = reports
    total.add(other)
    assert {name: getattr(total, name) for name in SUMS} == dict.fromkeys(SUMS, 3)
    assert [each.url for each in total.documents] == [f"{SITE}1.xml", f"{SITE}2.xml"]
    assert [each.sitemap for each in total.issues] == [f"{SITE}1", f"{SITE}2"]
    assert (total.counts, total.statuses) == ({IssueCode.EMPTY: 2}, {Status.SKIPPED: 2})
    assert total.left_out == {"not-followed": 2}
    assert Report(9).complete
    other.note_fault()
    added = Report(9)
    added.add(other)
    assert not added.complete


@pytest.mark.parametrize(
    ("reason", "is_complete"), [("not-followed", True), ("budget-documents", False)]
)
def test_skipped_sitemaps_that_are_only_counted(
    reason: str, *, is_complete: bool
) -> None:
    """They count as the others do, whether they are wanted or not."""
    report = Report(9)
    report.count_skipped(reason, 7)
    report.count_skipped(reason, 2)
    assert report.statuses == {Status.SKIPPED: 9}
    assert (report.left_out, report.documents) == ({reason: 9}, [])
    assert report.complete is is_complete
