"""A report shows itself: in a line, as a tree, as plain data; always safely."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import pytest

from sitemapreader import Document, Issue, IssueCode, Report, Status, walk_sync
from sitemapreader._types.issues import make_issue
from sitemapreader._types.models import Via
from sitemapreader.fetch import FolderFetcher, MemoryFetcher
from tests.support import package
from tests.support.commands import run
from tests.support.walking import (
    ROBOTS,
    SITE,
    Pages,
    index,
    moved,
    status,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from pathlib import Path

EVIL = 'https://me:hunter2@a.example/"><script>alert(1)</script>\x1b[31m\u202e&lt;\ud800\n<b>'
TOP, A, GONE = f"{SITE}sitemap.xml", f"{SITE}a.xml", f"{SITE}gone.xml"
PAGES: Pages = {
    ROBOTS: f"Sitemap: {TOP}".encode(),
    TOP: index(A, (GONE, "2026-01-02")),
    A: urlset(f"{SITE}?a&b", f"{SITE}2"),
    GONE: status(410, GONE),
}


@pytest.fixture(scope="module")
def example() -> Report:
    fetcher = FolderFetcher(str(package.ROOT / "testdata" / "site"))
    with walk_sync(fetcher.base_url, fetcher=fetcher) as entries:
        list(entries)
    return entries.report


def hostile() -> Report:
    """Return a report that is full of what a hostile site could name."""
    report = Report(100)
    document = Document(EVIL, final_url=EVIL, parent=EVIL, via=Via.INDEX, etag=EVIL)
    report.add_issue(
        make_issue(IssueCode.INVALID_URL, EVIL, url=EVIL, value=EVIL), document
    )
    report.add_issue(Issue(IssueCode.LASTMOD, "<b>\x1b</b>", EVIL, 3, EVIL, EVIL))
    report.end_document(document, Status.FAILED, IssueCode.INVALID_URL)
    return report


# -- text


async def test_a_document_is_shown_in_one_line() -> None:
    """The repr says whether everything was read, what came, and the gravest Issues first."""
    assert repr(Report(0)) == "<Report: complete; 0 URLs; documents: none>"
    report = (await walk_all(PAGES)).report
    assert repr(report) == (
        "<Report: not complete; 2 URLs; documents: 1 failed, 3 complete; "
        "Issues: 1 http-status, 1 bare-ampersand>"
    )
    full = Report(0)
    for code in IssueCode:
        full.add_issue(make_issue(code))
    assert f"{len(IssueCode) - 5} more kinds" in repr(full)
    assert len(repr(full)) < 250
    gone = next(document for document in report.documents if document.url == GONE)
    assert repr(gone) == (
        f"<Document {GONE}  failed (http-status 410), lastmod 2026-01-02T00:00:00+00:00>"
    )


def test_a_tree_shows_redirects() -> None:
    """Of two documents that have an address, the one that lists something has what is below."""
    last = f"{SITE}z.xml"
    pages: Pages = {
        ROBOTS: f"Sitemap: {TOP}".encode(),
        TOP: index(A, last),
        A: urlset(f"{SITE}1"),
        last: moved(TOP, index(A)),
    }
    with walk_sync(SITE, fetcher=MemoryFetcher(pages)) as entries:
        list(entries)
    assert [
        line.partition(SITE)[0] for line in entries.report.tree().splitlines()[1:]
    ] == [*("└── ", "    └── ", "        ├── ", "        └── ")]


def test_a_tree_is_that_of_the_shell(example: Report) -> None:
    """The lines are those of `sitemapreader tree`, with the origin in the place of the folder."""
    done = run("tree", "testdata/site", "-q", cwd=package.ROOT)
    assert done.returncode == 0
    first, *lines = example.tree().splitlines()
    assert first == "https://www.example.org"
    assert lines == done.stdout.splitlines()[1:]
    assert len(lines) == 8
    assert example.tree(in_ascii=True).isascii()
    assert Report(0).tree() == "\n"


# -- whatever is in it


def test_hostile_text_is_escaped() -> None:
    """No control character of a site gets into any form of text, and no password."""
    report = hostile()
    documents = [repr(report.documents[0]), report.tree(), report.tree(in_ascii=True)]
    for text in (repr(report), *documents):
        assert "hunter2" not in text
        assert text.replace("\n", "").isprintable()
    assert all("a.example" in text for text in documents)


# -- plain data


def test_an_issue_is_a_line() -> None:
    """Its text says where it happened, and what; one of no document says only what."""
    first, second = hostile().issues
    assert str(second) == f"{EVIL}, line 3: <b>\x1b</b> [{EVIL}]"
    assert str(first).endswith(f"[{first.value}]")
    assert "hunter2" not in str(first)
    assert str(Issue(IssueCode.LASTMOD, "what")) == "what"


def test_a_report_is_plain_data() -> None:
    """`to_dict` has every field, whatever a site wrote, in types that JSON knows."""
    report = hostile()
    report.tally.end()
    row = json.loads(json.dumps(report.to_dict()))
    assert row == report.to_dict()
    assert type(report.to_dict()["outcome"]["status"]) is str
    fields = {
        field.name for field in attrs.fields(Document) if not field.name.startswith("_")
    }
    assert row["documents"][0].keys() == fields
    assert row["documents"][0]["issues"] == {"invalid-url": 1}
    assert row["issues"][1] == {
        "code": "lastmod",
        "severity": "warning",
        "message": "<b>\x1b</b>",
        "sitemap": EVIL,
        "line": 3,
        "url": EVIL,
        "value": EVIL,
        "dropped": False,
    }
    assert (row["complete"], row["statuses"]) == (False, {"failed": 1})
    public = {name for name in vars(report) if not name.startswith("_")}
    assert row.keys() == public - {"tally"} | {"complete", "outcome"}


def test_a_report_is_written_as_a_file(tmp_path: Path) -> None:
    """`--report run.json` has what `to_dict` gives, at a limit too; it is for one source."""
    for words, entries in (([], 43), (["--limit", "5"], 5)):
        path = tmp_path / "run.json"
        assert run("testdata/site", *words, "--report", str(path)).returncode == 0
        row = json.loads(path.read_text())
        assert (row["site"], row["outcome"]["documents"] > 0) == ("testdata/site", True)
        assert row["entries"] >= entries
    assert row.keys() == {"site", *Report(1).to_dict()}
    assert run("testdata/site", "a.example", "--report", str(path)).returncode == 2


def test_a_document_ends_once() -> None:
    """The first outcome of a document counts, and is counted once."""
    report, document = Report(9), Document(f"{SITE}a.xml")
    report.end_document(document, Status.COMPLETE)
    report.end_document(document, Status.FAILED, "too late")
    assert (document.status, document.reason) == (Status.COMPLETE, "")
    assert (report.documents, dict(report.statuses)) == (
        [document],
        {Status.COMPLETE: 1},
    )
