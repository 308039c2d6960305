"""A report shows itself: in a line, as a tree, in a notebook, as frames; always safely."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import attrs
import package
import pytest
from commands import run
from walking import ROBOTS, SITE, Pages, index, status, urlset, walk_all

from sitemapreader import Document, Issue, IssueCode, Report, Status, walk_sync
from sitemapreader.fetch import FolderFetcher
from sitemapreader.issues import make_issue
from sitemapreader.models import Via

if TYPE_CHECKING:
    from pathlib import Path

EVIL = 'https://me:hunter2@a.example/"><script>alert(1)</script>\x1b[31m\u202e&lt;\ud800\n<b>'
HARMLESS = {"p", "b", "table", "thead", "tbody", "tr", "th", "td"}
TOP, A, GONE = f"{SITE}sitemap.xml", f"{SITE}a.xml", f"{SITE}gone.xml"
PAGES: Pages = {
    ROBOTS: f"Sitemap: {TOP}".encode(),
    TOP: index(A, (GONE, "2026-01-02")),
    A: urlset(f"{SITE}?a&b", f"{SITE}2"),
    GONE: status(410, GONE),
}


class Tags(HTMLParser):
    """Collects what HTML consists of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def read_html(report: Report) -> Tags:
    tags = Tags()
    pytest.importorskip("pandas", reason="no pandas: pip install .[pandas]")
    tags.feed(report._repr_html_() or "")
    tags.close()
    assert tags.open == []
    return tags


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
    report.add_issue(make_issue(IssueCode.INVALID_URL, EVIL, url=EVIL, value=EVIL), document)
    report.add_issue(Issue(IssueCode.LASTMOD, "<b>\x1b</b>", EVIL, 3, EVIL, EVIL))
    report.end_document(document, Status.FAILED, IssueCode.INVALID_URL)
    return report


# -- text


async def test_a_line() -> None:
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


# -- a notebook


def test_a_notebook_sees_what_went_wrong_first(example: Report) -> None:
    """HTML has the summary, the documents and the Issues; the gravest come first."""
    report = hostile()
    for document in example.documents:
        report.documents.append(document)
    pytest.importorskip("pandas", reason="no pandas: pip install .[pandas]")
    html = report._repr_html_() or ""
    assert html.index("failed") < html.index("sitemap_index.xml")
    assert html.index("error") < html.index("warning")
    tags = read_html(example)
    assert tags.tags <= HARMLESS
    assert "documents: 8 complete" in tags.text
    assert " Issues" not in tags.text
    flood = Report(10_000)
    for number in range(3_000):
        document = Document(f"{SITE}{number}", via=Via.INDEX)
        flood.add_issue(make_issue(IssueCode.TIMEOUT, document.url), document)
        flood.end_document(document, Status.FAILED, IssueCode.TIMEOUT)
    html = flood._repr_html_() or ""
    assert html.count("<tr") == 2 * (50 + 1)
    assert "3000 documents, 50 shown" in html
    assert "3000 Issues, 50 shown" in html


# -- whatever is in it


def test_hostile_text_is_escaped() -> None:
    """No tag or control character of a site gets into any form of text, and no password."""
    report = hostile()
    tags = read_html(report)
    assert tags.tags <= HARMLESS
    assert tags.attributes <= {"border", "class", "style"}
    assert "<script>alert(1)</script>" in tags.text  # as text
    html = report._repr_html_() or ""
    assert html.replace("\n", "").isprintable()
    assert "hunter2" not in html
    html.encode()
    report = hostile()
    documents = [repr(report.documents[0]), report.tree(), report.tree(in_ascii=True)]
    for text in (repr(report), *documents):
        assert "hunter2" not in text
        assert text.replace("\n", "").isprintable()
    assert all("a.example" in text for text in documents)


# -- pandas


def test_frames_have_the_fields(example: Report) -> None:
    """A row a document, a column a field; an Issue likewise, with its severity."""
    pd = pytest.importorskip("pandas", reason="no pandas: pip install .[pandas]")
    frame = example.documents_frame()
    fields = [field.name for field in attrs.fields(Document) if not field.name.startswith("_")]
    assert [*frame.columns] == fields
    assert frame["url"].tolist() == [document.url for document in example.documents]
    assert frame["entries"].sum() == example.entries == 43
    assert frame["lastmod"].max() == datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
    assert isinstance(frame["lastmod"].dtype, pd.DatetimeTZDtype)
    assert frame.groupby("status").size().to_dict() == {"complete": 8}
    issues = hostile().issues_frame()
    assert issues["severity"].tolist() == ["error", "warning"]
    assert issues["code"].tolist() == ["invalid-url", "lastmod"]
    assert issues["line"].tolist() == [pd.NA, 3]


async def test_frames_of_a_walk_that_failed(tmp_path: Path) -> None:
    """What is missing is missing in its row; types are the same without rows; all can be saved."""
    pd = pytest.importorskip("pandas", reason="no pandas: pip install .[pandas]")
    report = (await walk_all(PAGES)).report
    frame = report.documents_frame().set_index("url")
    assert frame.loc[GONE, "reason"] == "http-status"
    assert frame.loc[GONE, "http_status"] == 410
    assert frame.loc[GONE, "issues"] == 1
    assert frame.loc[GONE, "format"] is pd.NA
    assert frame.loc[A, "entries"] == 2
    empty, full = Report(0), hostile()
    assert [*empty.issues_frame().dtypes] == [*full.issues_frame().dtypes]
    written = full.documents_frame()
    assert empty.documents_frame().dtypes.to_dict() == written.dtypes.to_dict()
    written.to_parquet(tmp_path / "x.parquet")
    assert "\\ud800" in written["url"][0]


# -- plain data


def test_a_report_is_plain_data() -> None:
    """`to_dict` has every field, whatever a site wrote, in types that JSON knows."""
    report = hostile()
    report.tally.end()
    row = json.loads(json.dumps(report.to_dict()))
    assert row == report.to_dict()
    assert type(report.to_dict()["outcome"]["status"]) is str
    fields = {field.name for field in attrs.fields(Document) if not field.name.startswith("_")}
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
    }
    assert (row["complete"], row["statuses"]) == (False, {"failed": 1})
    public = {name for name in vars(report) if not name.startswith("_")}
    assert row.keys() == public - {"tally"} | {"complete", "outcome"}


def test_a_report_as_a_file(tmp_path: Path) -> None:
    """`--report run.json` has what `to_dict` gives, at a limit too; it is for one source."""
    for words, entries in (([], 43), (["--limit", "5"], 5)):
        path = tmp_path / "run.json"
        assert run("testdata/site", *words, "--report", str(path)).returncode == 0
        row = json.loads(path.read_text())
        assert (row["site"], row["outcome"]["documents"] > 0) == ("testdata/site", True)
        assert row["entries"] >= entries
    assert row.keys() == {"site", *Report(1).to_dict()}
    assert run("testdata/site", "a.example", "--report", str(path)).returncode == 2
