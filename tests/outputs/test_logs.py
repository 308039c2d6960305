"""The logger of the package: silent by default, one line a fact, and no line that a site wrote."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from sitemapreader import Document, Issue, IssueCode, Status, walk
from sitemapreader._walk.report import Report
from tests.support.serving import listen, serve
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.serving import Page

EVIL = "https://me:hunter2@a.example/\r\nINFO root: all is well\x1b[2J\u202e\ud800"


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def make_site(base: str) -> Mapping[str, Page]:
    return {
        "/robots.txt": f"Sitemap: {base}/i.xml".encode(),
        "/i.xml": index(f"{base}/a.xml", f"{base}/moved.xml", f"{base}/gone.xml"),
        "/a.xml": urlset(f"{base}/1"),
        "/moved.xml": f"{base}/b.xml",
        "/b.xml": urlset(f"{base}/2"),
    }


async def test_requests_and_documents_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """DEBUG has every request, redirects too; INFO has every document, as a tree shows it."""
    caplog.set_level(logging.DEBUG, "sitemapreader")
    async with serve(make_site) as served, walk(served.base) as entries:
        assert len([entry async for entry in entries]) == 2
    base = re.escape(served.base)
    requests = lines(caplog, logging.DEBUG)
    assert len(requests) == len(served.requested) == 6
    assert re.fullmatch(rf"GET {base}/robots\.txt: 200, \d+\.\d{{3}} s", requests[0])
    assert (
        sum(bool(re.match(rf"GET {base}/moved.xml: 301", line)) for line in requests)
        == 1
    )
    assert (
        sum(bool(re.match(rf"GET {base}/gone.xml: 404", line)) for line in requests)
        == 1
    )
    documents = lines(caplog, logging.INFO)
    assert len(documents) == len(entries.report.documents) == 5
    assert f"{served.base}/a.xml  urlset, complete, 1 URL" in "\n".join(documents)
    assert f"{served.base}/gone.xml  failed (http-status 404)" in "\n".join(documents)
    assert {record.name for record in caplog.records} == {"sitemapreader"}


async def test_a_pause_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """A Retry-After that is obeyed is named with its host and seconds."""
    caplog.set_level(logging.INFO, "sitemapreader")
    asked = 0

    async def answer(request: web.Request) -> web.Response:
        nonlocal asked
        asked += request.path == "/s.xml"
        if asked == 1:
            return web.Response(status=429, headers={"Retry-After": "0"})
        return web.Response(body=urlset("https://a.example/"))

    async with listen(answer) as base, walk(sitemaps=[f"{base}/s.xml"]) as entries:
        assert len([entry async for entry in entries]) == 1
    server = base.removeprefix("http://")
    assert f"{server}: no request for 0 s: Retry-After" in lines(caplog, logging.INFO)


def test_foreign_text_makes_no_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Line breaks, controls and passwords of a URL stay out of the log."""
    caplog.set_level(logging.DEBUG, "sitemapreader")
    document = Document(EVIL, final_url=EVIL)
    report = Report(10)
    report.end_document(document, Status.SKIPPED, "http-status")
    report.add_issue(Issue(IssueCode.LASTMOD, "x", EVIL, 1, EVIL, EVIL), document)
    report.end_document(Document(EVIL), Status.FAILED, "dns")
    assert len(caplog.records) == 2
    for line in lines(caplog, logging.INFO):
        assert line.isprintable()
        assert "hunter2" not in line
        assert "\\r\\nINFO root" in line
        line.encode()


@pytest.mark.slow
def test_the_logger_is_silent_by_default() -> None:
    """Without a handler of the user's a walk is silent; `logging.basicConfig` is all it takes."""
    script = (
        "import logging, sys\n"
        "from sitemapreader import walk_sync\nfrom sitemapreader.fetch import FolderFetcher\n"
        "if sys.argv[1:]:\n"
        "    logging.basicConfig(level='INFO', format='%(name)s %(levelname)s %(message)s')\n"
        "fetcher = FolderFetcher('testdata/site')\n"
        "with walk_sync(fetcher.base_url, fetcher=fetcher) as entries: list(entries)\n"
    )
    silent, written = (
        subprocess.run(
            [sys.executable, "-c", script, *words],
            capture_output=True,
            text=True,
            check=True,
        )
        for words in ((), ("shown",))
    )
    assert (silent.stdout, silent.stderr, written.stdout) == ("", "", "")
    lines = written.stderr.splitlines()
    assert len(lines) == 8
    assert all(
        line.startswith("sitemapreader INFO https://www.example.org/") for line in lines
    )
