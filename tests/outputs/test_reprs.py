"""What a notebook or a traceback shows of entries and walks: short, and what is there."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sitemapreader import SitemapEntry, UrlEntry, Via, walk, walk_many_sync, walk_sync
from sitemapreader._types.issues import Issue, IssueCode, Severity
from sitemapreader._types.models import Format
from sitemapreader._types.outcomes import Document, Role, Status, show_bytes
from sitemapreader._walk.report import Report
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.records import Image
from tests.support.walking import SITE, urlset

TOP = f"{SITE}sitemap.xml"


def test_an_entry_shows_what_it_has() -> None:
    """Absent fields are left out, and the text makes the same entry again."""
    assert repr(UrlEntry(SITE)) == f"UrlEntry(loc='{SITE}')"
    entry = UrlEntry(SITE, priority=0.0, images=(Image("a"),), sitemap=TOP)
    names = {"UrlEntry": UrlEntry, "Image": Image, "datetime": datetime, "UTC": UTC}
    assert eval(repr(entry), names) == entry  # noqa: S307 (our own text)
    assert "news" not in repr(entry)
    assert "priority=0.0" in repr(entry)
    assert repr(SitemapEntry(TOP)) == f"SitemapEntry(loc='{TOP}')"
    assert "via=" in repr(SitemapEntry(TOP, via=Via.ROBOTS))


async def test_a_walk_says_how_far_it_is() -> None:
    """A walk that was not entered says how to enter it; then how much has come."""
    fetcher = MemoryFetcher({TOP: urlset(f"{SITE}1", f"{SITE}2")})
    entries = walk(SITE, fetcher=fetcher)
    said = (
        "<Walk https://example.org/: not entered, use it with `async with` or `with`>"
    )
    assert repr(entries) == said
    assert "secret" not in repr(walk("https://me:secret@example.org/"))
    async with entries:
        assert "under way" in repr(entries)
        assert len([entry async for entry in entries]) == 2
    assert (
        repr(entries) == "<Walk https://example.org/: over, 2 URLs, 0 sitemaps to read>"
    )


def test_a_run_says_how_far_it_is() -> None:
    """A walk over many sites counts the outcomes that it keeps."""
    with walk_many_sync([SITE], fetcher=MemoryFetcher({})) as run:
        assert repr(run).startswith("<SiteRun: under way, ")
        assert [*run.batches()] == []
    assert repr(run) == "<SiteRun: over, 1 outcome>"
    assert repr(walk_many_sync([SITE])).startswith("<SiteRun: not entered, use it")


def test_a_blocking_walk_says_so_too() -> None:
    """The same for `walk_sync`, of sitemaps that were named."""
    blocking = walk_sync(sitemaps=[TOP], fetcher=MemoryFetcher({TOP: urlset(SITE)}))
    assert (
        repr(blocking)
        == f"<Walk {TOP}: not entered, use it with `async with` or `with`>"
    )
    with blocking:
        assert len(list(blocking)) == 1
    assert repr(blocking) == f"<Walk {TOP}: over, 1 URL, 0 sitemaps to read>"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (1_100, "1.1 KiB"),
        (1_024**2, "1.0 MiB"),
        (1_024**3, "1.0 GiB"),
        (5_000 * 1_024**3, "5000.0 GiB"),
    ],
)
def test_a_number_of_bytes_has_the_unit_that_fits(count: int, shown: str) -> None:
    """It is below 1,024, but for the largest unit."""
    assert show_bytes(count) == shown


def test_a_document_says_how_it_ended() -> None:
    """One line has its outcome, and what there is of counts, tries, sizes and dates."""
    document = Document(TOP, format=Format.URLSET)
    assert str(document) == f"{TOP}  urlset, skipped"
    document.bytes_raw = document.bytes_inflated = 2_048
    document.entries = 1
    document.tries = 1
    document.end(Status.COMPLETE, "")
    assert str(document) == f"{TOP}  urlset, complete, 1 URL, 2.0 KiB"
    document.bytes_inflated = 4_096
    document.children, document.known, document.filtered, document.tries = 2, 3, 4, 2
    document.lastmod = datetime(2026, 1, 2, tzinfo=UTC)
    assert str(document) == (
        f"{TOP}  urlset, complete, 1 URL, 2 sitemaps, 4 left out, 3 known, 2 tries, "
        "2.0 KiB -> 4.0 KiB, lastmod 2026-01-02T00:00:00+00:00"
    )
    failed = Document(f"{SITE}robots.txt", role=Role.ROBOTS, http_status=404)
    failed.end(Status.FAILED, "http-status")
    assert str(failed) == f"{SITE}robots.txt  robots, failed (http-status 404)"
    stalled = Document(TOP, http_status=200)
    stalled.end(Status.FAILED, "stalled")
    stalled.end(Status.COMPLETE, "")  # the first outcome stays
    assert str(stalled) == f"{TOP}  failed (stalled)"


def test_a_report_says_what_there_is() -> None:
    """Numbers of a state are left out where there are none, and the worst of all comes first."""
    report = Report(9)
    assert repr(report) == "<Report: complete; 0 URLs; documents: none>"
    for number, status in enumerate((Status.COMPLETE, Status.FAILED, Status.COMPLETE)):
        document = Document(f"{SITE}{number}.xml", via=Via.ROBOTS)
        report.end_document(document, status)
    report.entries = 1
    shown = "not complete; 1 URL; documents: 1 failed, 2 complete"
    assert repr(report) == f"<Report: {shown}>"
    report.unlisted = report.waiting = report.left = report.gone = 0
    assert repr(report) == f"<Report: {shown}; 0 unlisted; 0 gone>"
    report.waiting, report.left = 2, 3
    state = "0 unlisted; 2 waiting; 3 left their feed; 0 gone"
    assert repr(report) == f"<Report: {shown}; {state}>"
    codes = [code for code in IssueCode if code.severity is Severity.WARNING][:6]
    for number, code in enumerate(codes):
        for _ in range(number + 1):
            report.add_issue(Issue(code))
        assert ("more kinds" in repr(report)) == (number == 5)
    assert repr(report).endswith(
        f"Issues: 6 {codes[5]}, 5 {codes[4]}, 4 {codes[3]}, 3 {codes[2]}, 2 {codes[1]}, "
        "1 more kinds>"
    )


def test_the_children_of_a_document_are_found_by_both_of_its_addresses() -> None:
    """A child names its parent as it was listed, or as redirects have led to it."""
    report = Report(9)
    new = f"{SITE}new.xml"
    for name, parent in (("a", TOP), ("b", new), ("c", f"{SITE}other.xml"), ("d", "")):
        document = Document(f"{SITE}{name}.xml", parent=parent)
        report.end_document(document, Status.COMPLETE)
    report.end_document(Document(TOP, final_url=new), Status.COMPLETE)
    for url in (TOP, new):
        assert [each.url[-5] for each in report.children(url)] == ["a", "b"]
    assert report.children(f"{SITE}d.xml") == []


def test_what_was_lost_has_its_reasons() -> None:
    """A consequence of another loss is not counted, nor is a sitemap skipped on request."""
    report = Report(0)
    report.add_issue(Issue(IssueCode.NO_SITEMAP))
    assert report.losses == {"no-sitemap"}
    skipped = Document(f"{SITE}a.xml", via=Via.ROBOTS)
    report.end_document(skipped, Status.SKIPPED, "not-followed")
    assert report.losses == {"no-sitemap"}
    failed = Document(f"{SITE}b.xml", via=Via.ROBOTS, http_status=500)
    report.end_document(failed, Status.FAILED, "http-status")
    assert report.losses == {"http-status"}
    limited = Document(f"{SITE}c.xml", via=Via.ROBOTS)
    report.end_document(limited, Status.SKIPPED, "budget-documents")
    assert report.losses == {"http-status", "budget-documents"}
    assert [document.url for document in report.documents] == [failed.url]
    assert report.left_out == {"not-followed": 1, "budget-documents": 1}
    assert not report.complete
