"""Standard error: the progress, the last lines of a run, and the Issues of its documents."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from sitemapreader._cli.console import (
    Console,
    Progress,
    RunSummary,
    describe_waiting,
    show_progress,
)
from sitemapreader._log import LOGGER
from sitemapreader._many.run import SiteWalk
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Change, Via
from sitemapreader._types.outcomes import (
    NOT_MODIFIED,
    SAME_LASTMOD,
    Document,
    Role,
    Status,
)
from sitemapreader._walk.report import Report

SITE = "https://a.example/"


# -- progress


def make_walk(*hosts: str, pending: int = 0, **documents: int) -> Any:
    """Stand in for a walk that goes on: with so many bytes of a document by its name."""
    report = Report(99)
    for name, size in documents.items():
        end(report, name, bytes_raw=size)
    return SimpleNamespace(awaited_hosts=hosts, pending=pending, report=report)


def end(
    report: Report,
    name: str,
    status: Status = Status.COMPLETE,
    reason: str = "",
    **fields: Any,
) -> None:
    """Add a document that has ended."""
    all_fields: dict[str, Any] = {"via": Via.ROBOTS, "http_status": 200} | fields
    report.end_document(Document(f"{SITE}{name}", **all_fields), status, reason)


def test_the_progress_of_a_run() -> None:
    """It has what was printed, the documents that are done and known, rate, bytes and time."""
    summary = RunSummary(printed=12_345)
    progress = Progress(summary, 1000.0)
    shown = "12,345 URLs, 0/0 documents, 1,234/s, 0 B, 0:10"
    assert progress.write(1010.0, len(shown)) == shown
    running = [
        SiteWalk("a", walk=make_walk(pending=1, x=1024, y=512)),
        SiteWalk("b", walk=make_walk(z=512)),
        SiteWalk("not a URL"),
    ]
    summary = RunSummary(printed=125, noun="sitemaps", running=running)
    summary.add(SiteWalk("done"), make_walk(w=2048).report)
    shown = "125 sitemaps, 4/5 documents, 1/s, 4.0 KiB, 2:05"
    assert Progress(summary, 0.0).write(125.0, 80) == shown
    assert Progress(summary, 0.0).write(119.6, 80).endswith(", 2:00")
    summary.is_for_many = True
    assert Progress(summary, 0.0).write(125.0, 80) == f"sources done: 1, {shown}"
    summary.pages = 1_000
    whole = f"pages visited: 1,000, sources done: 1, {shown}"
    assert Progress(summary, 0.0).write(125.0, 99) == whole


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (42, "5 URLs, 0/0 documents, 1/s, 0 B, 0:05"),
        (37, "5 URLs, 0/0 documents, 1/s, 0 B, 0:05"),
        (36, "5 URLs, 0/0 documents, 1/s, 0 B"),
        (32, "5 URLs, 0/0 documents, 1/s, 0 B"),
        (31, "5 URLs, 0/0 documents, 1/s"),
        (8, "5 URLs"),
    ],
)
def test_what_has_no_room_is_no_progress(width: int, shown: str) -> None:
    """A narrow terminal shows the first parts, and each of them whole."""
    assert Progress(RunSummary(printed=5), 0.0).write(5.0, width) == shown


def test_who_is_waited_for() -> None:
    """The first host is named after more than three seconds without progress."""
    walk = make_walk("b.example", "a.example")
    sites = [SiteWalk("a", walk=walk), SiteWalk("not a URL")]
    summary = RunSummary(printed=7, running=sites)
    progress = Progress(summary, 0.0)
    waits = [progress.write(at, 99).partition("7 URLs")[0] for at in (1, 4, 4.1)]
    assert waits == ["", "", "waiting for a.example and 1 more, "]
    summary.pages = 1  # a page was visited
    assert progress.write(5, 99).startswith("pages visited: 1, 7 URLs")
    assert progress.write(8, 99).startswith("pages visited: 1, 7 URLs")
    assert progress.write(8.1, 99).startswith("pages visited: 1, waiting for a.example")
    walk.report.bytes_raw += 1
    assert "waiting" not in progress.write(9, 99)
    walk.awaited_hosts = ()
    assert "waiting" not in progress.write(13, 99)
    fetcher: Any = SimpleNamespace(awaited_hosts=["c.example"])
    summary.fetcher = fetcher
    assert "waiting for c.example, 7 URLs" in progress.write(14, 99)


# -- the last lines


def sum_up(report: Report, site: str = SITE, **fields: Any) -> list[str]:
    """Return the last lines of a run over one site."""
    summary = RunSummary(**fields)
    summary.add(SiteWalk(site), report)
    return list(summary.format_lines())


def test_lost_documents_are_named_up_to_ten() -> None:
    """Sitemaps are named under their reason, and the rest are counted."""
    report = Report(99)
    report.entries = 1
    for number in range(10):
        end(report, f"{number}.xml", Status.FAILED, "http-status")
    end(report, "part.xml", Status.PARTIAL, "malformed")
    named = ", ".join(f"{SITE}{number}.xml" for number in range(10))
    part = f"read in part: 1 malformed: {SITE}part.xml"
    assert sum_up(report, printed=1) == [
        "1 URL; documents: 10 failed, 1 partial",
        f"not read: 10 http-status: {named}",
        part,
    ]
    end(report, "10.xml", Status.FAILED, "http-status")
    _, *lost = sum_up(report, printed=1)
    assert lost == [f"not read: 11 http-status: {named} and 1 more", part]


def test_losses_beyond_the_room_of_a_report_are_counted() -> None:
    """They have no name, but a number; what is skipped on request is no loss."""
    report = Report(1)
    report.entries = 1
    for name in ("a", "b", "c"):
        end(report, name, Status.SKIPPED, "budget-documents", http_status=None)
    report.left_out["already-read"] = 5
    report.left_out["not-followed"] = 2
    _, *lines = sum_up(report)
    assert lines == [
        "skipped as configured: 2 not-followed",
        f"not read: 3 budget-documents: {SITE}a and 2 more",
    ]
    report.documents.clear()
    assert "not read: 3 budget-documents: too many to name" in sum_up(report)


def test_a_source_that_failed_is_named() -> None:
    """Of one source its documents are named instead, if there are any; of many, the source."""
    report = Report(99)
    end(report, "robots.txt", Status.FAILED, "http-status", role=Role.ROBOTS)
    reason = report.outcome.reason or "cannot be read"
    (_, line) = sum_up(report)
    assert line == f"failed: 1 {reason}: {SITE}"
    end(report, "s.xml", Status.FAILED, "http-status")
    (_, line) = sum_up(report)
    assert line == f"not read: 1 http-status: {SITE}s.xml"
    (_, *lines) = sum_up(report, is_for_many=True)
    assert lines[0].startswith("failed: 1 ")
    assert lines[1:] == [line]
    # the source itself is not named twice
    (_, *lines) = sum_up(report, f"{SITE}s.xml", is_for_many=True)
    assert len(lines) == 1


def test_what_failed_among_many() -> None:
    """Finished sources are counted, and the failed ones among them."""
    summary = RunSummary(printed=2, is_for_many=True)
    whole = Report(9)
    whole.entries = 2
    end(whole, "s.xml")
    summary.add(SiteWalk("a"), whole)
    assert next(summary.format_lines()) == "2 URLs; documents: 1 complete"
    summary.add(SiteWalk("b"), whole)
    first, *_ = summary.format_lines()
    assert first == "2 URLs from 2 sources; documents: 2 complete"
    failed = Report(9)
    end(failed, "s.xml", Status.FAILED, "http-status", http_status=500)
    summary.add(SiteWalk("c"), failed)
    first, *_ = summary.format_lines()
    assert first == "2 URLs from 3 sources (1 failed); documents: 2 complete, 1 failed"
    assert summary.find_exit_code() == 3


def test_what_dates_leave_out_is_named_up_to_three() -> None:
    """It may be out of date; so does what an index calls unchanged."""
    report = Report(99)
    for number in range(4):
        end(report, f"{number}", Status.SKIPPED, NOT_MODIFIED, http_status=None)
    for number in range(3):
        end(report, f"same{number}", Status.UNCHANGED, SAME_LASTMOD)
    *_, older, same = sum_up(report)
    assert "older than --since" in older
    assert older.endswith(
        f": {SITE}0, {SITE}1, {SITE}2 and 1 more (--no-prune reads them)"
    )
    assert same.endswith(
        f": {SITE}same0, {SITE}same1, {SITE}same2 (--no-prune reads them)"
    )


def test_what_was_printed_is_told_with_its_kinds() -> None:
    """A sample says of how many, changes say which."""
    report = Report(9)
    report.sampled_from = 1_234
    assert sum_up(report, printed=1_000)[0] == "1,000 of 1,234 URLs"
    removed = {Change.UNLISTED: 2, Change.GONE: 1}
    summary = RunSummary(printed=3)
    summary.removed.update(removed)
    summary.add(SiteWalk(SITE), Report(9))
    assert next(summary.format_lines()) == "3 changes (1 gone, 2 unlisted)"


def test_what_was_asked_for_is_told() -> None:
    """URLs without a date, of the future and without a language are counted, each with a way."""
    report = Report(9)
    report.undated = 1
    report.future = 2
    report.without_language = 1
    end(report, "s.xml", filtered=1, listed=1)
    _, *lines, kept = sum_up(report)
    assert lines[0] == "excluded 1 URL: your filters"
    assert lines[1].startswith("excluded 1 URL without a language ")
    assert re.fullmatch(
        "kept 1 URL without a date .* and 2 URLs with a date in the future", kept
    )
    assert "your filters" not in "".join(sum_up(report, printed=1))
    report.undated = 0
    assert "kept 2 URLs with a date in the future" in sum_up(report)


def test_what_was_not_begun_is_told() -> None:
    """The rest of a list, repeated sources and lines that are none have a line each."""
    summary = RunSummary(is_cut=True, repeated=1, unknown=2)
    assert list(summary.format_lines()) == [
        "0 URLs",
        "skipped the rest of the list: --max-time was reached",
        "skipped 1 source: duplicate",
        "skipped 2 sources named above: not a site, or not readable",
    ]
    assert list(RunSummary(unknown=1).format_lines()) == []
    assert list(RunSummary().format_lines()) == ["the list names no source"]


def test_the_exit_code_of_a_run() -> None:
    """Each rule has its code: docs/exit-codes.md."""
    whole, silent, empty, part = (Report(9) for _ in range(4))
    whole.entries = part.entries = 1
    end(whole, "s.xml", listed=1)
    end(silent, "s.xml", Status.FAILED, "connection", http_status=None)
    end(empty, "s.xml", Status.FAILED, "http-status", http_status=404)
    end(part, "s.xml", Status.PARTIAL, "malformed", listed=1)

    def exit_code(*reports: Report, **fields: Any) -> int:
        summary = RunSummary(**fields)
        for report in reports:
            summary.add(SiteWalk(SITE), report)
        return summary.find_exit_code()

    assert exit_code() == 1
    assert exit_code(unknown=1) == 2
    assert exit_code(silent) == 4
    assert exit_code(empty) == 1
    assert exit_code(whole) == 0
    assert exit_code(part) == exit_code(whole, part) == exit_code(whole, silent) == 3
    assert exit_code(whole, is_cut=True) == exit_code(whole, unknown=1) == 3
    assert exit_code(limit_reached=True) == 0
    assert exit_code(silent, limit_reached=True) == 3
    allowed = frozenset({"malformed"})
    assert exit_code(part, allowed_losses=allowed) == 0
    assert exit_code(part, allowed_losses=frozenset({"template"})) == 3
    unwanted, old = Report(9), Report(9)
    end(unwanted, "s.xml", listed=1, filtered=1)
    end(old, "s.xml", Status.SKIPPED, NOT_MODIFIED)
    assert exit_code(unwanted) == 0
    end(old, "robots.txt", role=Role.ROBOTS)
    assert exit_code(old) == 0


def test_a_source_that_broke_is_read_in_part() -> None:
    """What it had is printed, and it is named."""
    report = Report(9)
    report.entries = 1
    end(report, "s.xml", listed=1)
    summary = RunSummary(printed=1)
    summary.add(SiteWalk("a.xml", fault="a bug"), report)
    assert summary.find_exit_code() == 3
    assert list(summary.format_lines())[1:] == ["read in part: 1 cannot be read: a.xml"]


def test_a_mapped_host_that_no_url_is_on_is_named() -> None:
    """One from which a document was requested is none of these."""
    summary = RunSummary(unused_hosts=dict.fromkeys(["a.example", "b.example"]))
    mapped = Issue(IssueCode.HOST_MAPPED, sitemap=SITE, url="a.example")
    dropped = Issue(IssueCode.MALFORMED, sitemap=SITE, url="b.example")
    summary.add(SiteWalk(SITE), make_report(mapped, dropped))
    said = [line for line in summary.format_lines() if "--map-host" in line]
    assert [("b.example" in line, "a.example" in line) for line in said] == [
        (True, False)
    ]


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((2,), "2 URLs, because a later walk must confirm it"),
        ((1, "b"), "1 URL, because a later walk must read b again"),
        ((1, "b", ""), "1 URL, because b may list them, and was not read: "),
        ((1, "b", "why"), "1 URL, because b may list them, and was not read (why): "),
    ],
)
def test_why_urls_are_not_unlisted_yet(arguments: Any, why: str) -> None:
    """It is said which document must be read, and why it was not."""
    assert describe_waiting(*arguments).startswith(f"not unlisted yet: {why}")


def test_what_urls_wait_for() -> None:
    """The document that was not read is named with its reason, of the first site."""
    report = Report(9)
    report.waiting = 2
    report.waits_for = f"{SITE}s.xml"
    end(report, "s.xml", Status.FAILED, "stalled")
    summary = RunSummary()
    summary.add(SiteWalk(SITE), report)
    other = Report(9)
    other.waiting = 1
    other.waits_for = "other"
    summary.add(SiteWalk("b"), other)
    assert list(summary.format_lines())[-1].startswith(
        f"not unlisted yet: 3 URLs, because {SITE}s.xml may list them, and was not read (stalled)"
    )


# -- Issues


def make_report(*issues: Issue) -> Report:
    report = Report(9)
    documents: dict[str, Document] = {}
    for issue in issues:
        document = documents.setdefault(issue.sitemap, Document(issue.sitemap))
        report.add_issue(issue, document)
    return report


def test_an_issue_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Of each code and document it has the first place, and the number of the others."""
    malformed = Issue(IssueCode.MALFORMED, sitemap=f"{SITE}s.xml", line=3, value="<x>")
    second = attrs.evolve(malformed, line=4)
    report = make_report(malformed, *[second] * 11)
    Console().print_issues(report, SITE)
    (line,) = capsys.readouterr().err.splitlines()
    begin = f"sitemapreader: error malformed: {SITE}s.xml:3: "
    assert line.startswith(begin)
    assert "[<x>] (and 11 more): " in line
    other = attrs.evolve(malformed, sitemap=f"{SITE}t.xml", line=None, url=f"{SITE}a")
    Console().print_issues(make_report(other), SITE)
    said = capsys.readouterr().err
    assert said.startswith(f"sitemapreader: error malformed: {SITE}t.xml: ")
    assert f" [{SITE}a <x>]: " in said
    Console().print_issues(make_report(*[malformed] * 12, *[other] * 12), SITE)
    lines = capsys.readouterr().err.splitlines()
    assert ["(and 9 more)" in each for each in lines] == [True, True, False]
    assert lines[2] == f"sitemapreader: error malformed: {SITE}: and 4 more of these"
    dated = Issue(IssueCode.LASTMOD, sitemap=f"{SITE}s.xml")
    other = attrs.evolve(dated, sitemap=f"{SITE}t.xml")
    Console().print_issues(make_report(*[dated] * 12, *[other] * 12), SITE)
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_an_issue_that_follows_from_another_is_no_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An unreachable robots.txt is told by its error; a site that is down may have sitemaps."""
    robots = f"{SITE}robots.txt"
    follows = Issue(IssueCode.ROBOTS_UNREACHABLE, sitemap=robots)
    error = Issue(IssueCode.HTTP_STATUS, sitemap=robots)
    other = Issue(IssueCode.HTTP_STATUS, sitemap=f"{SITE}s.xml")
    none = Issue(IssueCode.NO_SITEMAP, sitemap=SITE)
    note = Issue(IssueCode.LASTMOD, sitemap=robots)
    for issues, codes in (
        ((follows, error), ["http-status"]),
        ((follows, other), ["robots-unreachable", "http-status"]),
        ((follows, note), ["robots-unreachable", "lastmod"]),
        ((none,), ["no-sitemap"]),
        ((none, error), ["http-status"]),
    ):
        report = make_report(*issues)
        if error in issues or other in issues:
            end(report, "robots.txt", Status.FAILED, "http-status", http_status=503)
        Console().print_issues(report, SITE)
        lines = capsys.readouterr().err.splitlines()
        assert [line.split()[2].rstrip(":") for line in lines] == codes


class FakeTerminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True

    def take(self) -> str:
        """Return what was written since the last call."""
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text


def test_progress_is_drawn_over_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter line erases the end of the one before, and a message all of it."""
    terminal = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", FakeTerminal())
    console = Console()
    assert console.shows_progress
    assert not Console(quiet=True).shows_progress
    console.draw("12345")
    console.draw("123")
    console.draw("")
    console.draw("")
    assert terminal.take() == "\r12345\r123  \r   \r"
    console.draw("123")
    console.print_line("said")
    assert terminal.take() == "\r123\r   \rsitemapreader: said\n"
    to_file = Console(has_file=True)
    for each, left in ((console, "\r   \r"), (to_file, "")):
        each.draw("123")
        terminal.take()
        each.clear_for_results()
        assert terminal.take() == left
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    piped = Console()
    piped.draw("123")
    terminal.take()
    piped.clear_for_results()
    assert terminal.take() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not Console().shows_progress


def test_a_console_without_streams_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A parent process may have closed them."""
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdout", None)
    console = Console()
    console.print_line("nothing")
    console.clear_for_results()
    assert not console.shows_progress


async def test_warnings_are_printed_while_it_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are about long waits; errors have lines of their own, and nothing comes afterwards."""
    async with show_progress(Console(), RunSummary()):
        LOGGER.warning("a wait")
        LOGGER.error("a bug")
    LOGGER.warning("later")
    assert capsys.readouterr().err == "sitemapreader: a wait\n"


def test_a_console_says_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Notes of INFO come with --verbose; with --quiet only what ends a run, or was not read."""
    info = next(code for code in IssueCode if code.severity.name == "INFO")
    warning = next(code for code in IssueCode if code.severity.name == "WARNING")
    report = make_report(
        Issue(info, sitemap=f"{SITE}s.xml"), Issue(warning, sitemap=f"{SITE}s.xml")
    )
    for options, number in (({}, 1), ({"verbose": True}, 2), ({"quiet": True}, 0)):
        Console(**options).print_issues(report, SITE)
        assert len(capsys.readouterr().err.splitlines()) == number, options
    whole = Report(9)
    whole.entries = 1
    end(whole, "s.xml", listed=1)
    summary = RunSummary(printed=1)
    summary.add(SiteWalk(SITE), whole)
    quiet = Console(quiet=True)
    quiet.print_summary(summary)
    quiet.print_line("nothing")
    assert capsys.readouterr().err == ""
    quiet.print_error("the end")
    assert capsys.readouterr().err == "sitemapreader: the end\n"
    summary.is_cut = True
    quiet.print_summary(summary)
    assert len(capsys.readouterr().err.splitlines()) == 2
    Console().print_summary(summary)
    assert len(capsys.readouterr().err.splitlines()) == 2
