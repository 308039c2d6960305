"""The outcome of an audit, and its exact text in every format."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from sitemapreader._types.issues import Severity
from sitemapreader.audit import report as words
from sitemapreader.audit.lists import format_list
from sitemapreader.audit.models import AuditInputError
from sitemapreader.audit.report.outcome import ExitCode, find_outcome
from sitemapreader.audit.report.sarif import MAX_RESULTS
from sitemapreader.audit.values import (
    DateChange,
    FaultyPages,
    Hit,
    ListDifference,
    Place,
    Rate,
    SharedHits,
)
from tests.audit.audits import (
    SITE,
    leave_out,
    make_document,
    make_facts,
    make_finding,
    make_rule,
    make_tally,
    render,
)

pytestmark = pytest.mark.cases(50)  # nothing is audited

# -- the exit code and its reason

READ: dict[str, Any] = {"urls": 3, "sitemaps": 1}
LOST: dict[str, Any] = {**READ, "complete": False}
A, B = f"{SITE}/a.xml", f"{SITE}/b.xml"


def lost(*documents: Any, **more: Any) -> dict[str, Any]:
    return {**LOST, "documents": [*documents], **more}


@pytest.mark.parametrize(
    ("severities", "facts", "fail_on", "code", "reason"),
    [
        ("", READ, "ERROR", 0, "everything was read, and there are no errors"),
        (
            "",
            READ,
            "WARNING",
            0,
            "everything was read, and there are no errors or warnings",
        ),
        (
            "",
            READ,
            "INFO",
            0,
            "everything was read, and there are no errors or warnings or notes",
        ),
        (
            "error",
            READ,
            None,
            0,
            "everything was read, and there are no findings that fail",
        ),
        ("warning", READ, "ERROR", 0, "everything was read, and there are no errors"),
        ("warning", READ, "WARNING", 5, "errors or warnings: f0"),
        ("error info", READ, "ERROR", 5, "errors: f0"),
        ("error error", READ, "INFO", 5, "errors or warnings or notes: f0, f1"),
        ("error " * 5, READ, "ERROR", 5, "errors: f0, f1, f2, f3, f4"),
        ("error " * 7, READ, "ERROR", 5, "errors: f0, f1, f2, f3, f4 and 2 more"),
        (
            "",
            {**READ, "baseline": 3},
            "ERROR",
            0,
            "everything was read, and there are no errors with new hits",
        ),
        ("", {}, "ERROR", 1, "no URL was found"),
        (
            "",
            {"complete": False},
            "ERROR",
            1,
            "no URL was found; no sitemap was found and read",
        ),
        (
            "error",
            {"answered": False},
            "ERROR",
            4,
            "nothing could be fetched; no sitemap was found and read",
        ),
        ("", LOST, "ERROR", 3, "not everything was read"),
        ("error", LOST, "ERROR", 5, "errors: f0; not everything was read"),
        (
            "",
            lost(
                make_document(A, status="failed", reason="timeout"),
                make_document(B, status="partial", reason="too-large"),
            ),
            "ERROR",
            3,
            f"not read: {A} (timeout); read in part: {B} (too-large)",
        ),
        (
            "",
            lost(
                make_document(A, status="failed", reason="http-status", http_status=500)
            ),
            "ERROR",
            3,
            f"not read: {A} (http-status 500)",
        ),
        (
            "",
            lost(make_document(A, status="failed", http_status=400)),
            "ERROR",
            3,
            f"not read: {A} (400)",
        ),
        (
            "",
            lost(make_document(A, status="failed", http_status=399)),
            "ERROR",
            3,
            f"not read: {A} (failed)",
        ),
        # what a page or a guess does not have is no loss
        (
            "",
            lost(
                make_document(A, role="page", status="failed", http_status=404),
                make_document(A, role="page", status="failed", http_status=410),
                make_document(A, status="skipped", http_status=404),
                make_document(A, status="skipped", http_status=410),
                make_document(A, status="skipped", http_status=399),
                make_document(A, status="skipped", reason="timeout"),
                make_document(A, parent=B, status="skipped", reason="cycle"),
                make_document(A, role="robots", reason="x"),
                make_document(A),
            ),
            "ERROR",
            3,
            "not everything was read",
        ),
        (
            "",
            lost(
                make_document(A, role="page", status="failed", http_status=403),
                make_document(A, status="skipped", http_status=400, reason="x"),
                make_document(A, parent=B, status="skipped", reason="depth"),
                make_document(A, role="robots", reason="budget-seconds"),
            ),
            "ERROR",
            3,
            f"not read: {A} (403), {A} (x 400), {A} (depth), {A} (budget-seconds)",
        ),
        # losses that are known
        (
            "",
            lost(losses=[f"timeout {A}"], known_losses=[f"timeout {A}"]),
            "ERROR",
            0,
            f"what was not read is known: timeout {A}, and there are no errors",
        ),
        (
            "",
            lost(
                make_document(A, status="failed", reason="timeout"),
                make_document(B, status="failed", reason="timeout"),
                losses=[f"timeout {A}", f"timeout {B}"],
                known_losses=[f"timeout {A}"],
            ),
            "ERROR",
            3,
            f"not read: {B} (timeout)",
        ),
        # pages and rules
        (
            "",
            {**READ, "pages": make_tally(9, 9, 0, not_judged={"robots": 8, "time": 1})},
            "ERROR",
            3,
            "none of 9 pages could be judged (robots 8, time 1)",
        ),
        (
            "",
            {**READ, "old_pages": make_tally(1, 1, 0, not_judged={"time": 1})},
            "ERROR",
            3,
            "none of 1 old URL could be judged (time 1)",
        ),
        (
            "",
            {**READ, "pages": make_tally(9, 9, 1), "old_pages": make_tally(0, 0, 0)},
            "ERROR",
            0,
            "everything was read, and there are no errors",
        ),
        (
            "",
            {
                **READ,
                "not_run": [
                    leave_out(make_rule("one"), "x", is_error=True),
                    leave_out(make_rule("two"), "x"),
                ],
            },
            "ERROR",
            3,
            "broken rules: one",
        ),
    ],
)
def test_the_outcome_of_an_audit(
    severities: str, facts: dict[str, Any], fail_on: str | None, code: int, reason: str
) -> None:
    """Findings that fail come before what was not read, and an empty site before both."""
    findings = [
        make_finding(f"f{number}", severity=severity)
        for number, severity in enumerate(severities.split())
    ]
    least = None if fail_on is None else Severity[fail_on]
    found = find_outcome(findings, make_facts(**facts), least)
    assert (found.code, found.reason) == (code, reason)
    assert found.is_whole is (code in (ExitCode.PASSED, ExitCode.FAILED))
    assert str(found) == f"exit code {code}: {reason}"


@pytest.mark.parametrize(("new", "code"), [(None, 5), (0, 0), (1, 5)])
def test_known_hits_do_not_fail(new: int | None, code: int) -> None:
    """Beside a baseline only new ones do."""
    finding = make_finding(severity="error", new=new)
    assert find_outcome([finding], make_facts(**READ), Severity.ERROR).code == code


# -- words of all formats

FEW = Rate(share=0.03, low=0.017, high=0.052, judged=400, population=5_000)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"count": 3}, "3 URLs"),
        ({"count": 1}, "1 URL"),
        ({"count": 1, "of": 3_000}, "1 of 3,000 URLs"),
        ({"count": 1, "of": 1}, "1 of 1 URL"),
        ({"count": 3, "new": 0}, "3 URLs, 0 new"),
        ({"count": 3, "of": 9, "new": 1_000}, "3 of 9 URLs, 1,000 new"),
        (
            {"count": 12, "of": 400, "rate": FEW, "new": 2},
            "12 of 400 URLs, 3% (1.7 to 5.2%) of 5,000 URLs, 2 new",
        ),
    ],
)
def test_how_often_a_rule_hit(changes: dict[str, Any], said: str) -> None:
    """Its hits, of what was examined, the rate of all, and how many are new."""
    assert words.show_hits(make_finding(**changes)) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 9, "0%"),
        (1, 0, "0%"),
        (1, 1_001, "<0.1%"),
        (1, 1_000, "0.1%"),
        (1, 3, "33.3%"),
        (999, 1_000, "99.9%"),
        (9_991, 10_000, ">99.9%"),
        (9, 9, "100%"),
        (10, 9, "100%"),
    ],
)
def test_a_share(part: int, whole: int, said: str) -> None:
    """Only none is 0%, and only all is 100%."""
    assert words.show_share(part, whole) == said


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "no sitemap was read"),
        ({"sitemaps": 1}, "no URL in 1 sitemap; everything was read"),
        (
            {"sitemaps": 7, "urls": 43, "distinct": 40},
            "43 URLs (40 different) in 7 sitemaps; everything was read",
        ),
        (
            {"sitemaps": 1, "urls": 1, "distinct": 1, "complete": False},
            "1 URL in 1 sitemap; not everything was read",
        ),
    ],
)
def test_the_extent_of_a_site(facts: dict[str, Any], said: str) -> None:
    """How many URLs, how many of them differ, and whether that is all."""
    assert words.show_extent(make_facts(**{"distinct": 0, **facts})) == said


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "site"),
        ({"base_url": f"{SITE}/"}, "site"),
        ({"base_url": f"{SITE}/docs/"}, f"site, at {SITE}/docs/"),
        ({"mapped_hosts": {"a": "x", "b": "y", "c": "x"}}, "site, read from x, y"),
        (
            {"mapped_hosts": {"a": "x"}, "base_url": f"{SITE}/"},
            "site, pages read from x",
        ),
    ],
)
def test_the_source_of_an_audit(facts: dict[str, Any], said: str) -> None:
    """A folder has its URL if that has a path, and a mapped host its substitute."""
    assert words.show_source(make_facts(**facts, source="site")) == said


@pytest.mark.parametrize(
    ("new", "marks", "shown"),
    [
        (None, [None] * 5, 3),
        (0, [False] * 5, 0),
        (1, [True, False, False, False], 3),
        (4, [True, True, True, True, False], 4),
    ],
)
def test_examples_of_a_short_text(
    new: int | None, marks: list[bool | None], shown: int
) -> None:
    """All new ones, three at least, and none where all are known."""
    examples = [Hit(url=f"{SITE}/{n}", new=mark) for n, mark in enumerate(marks)]
    finding = make_finding(new=new, examples=examples)
    assert words.choose_examples(finding) == examples[:shown]


def test_what_a_baseline_knows() -> None:
    """New hits are counted by severity, beside the known and the vanished ones."""
    findings = [
        make_finding("a", 5, severity="error", new=2),
        make_finding("b", 3, severity="info", new=1),
        make_finding("c", 4, severity="error", new=0),
        make_finding("d", 1, severity="warning"),
    ]
    assert words.show_known(findings, make_facts()) == ""
    said = words.show_known(findings, make_facts(baseline=9, mended=1_000))
    assert said == "3 new (2 errors, 1 note), 10 known, 1,000 mended"
    assert words.show_known([], make_facts(baseline=0)) == "0 new, 0 known, 0 mended"
    assert words.count_findings(findings) == {"error": 2, "warning": 1, "info": 1}


@pytest.mark.parametrize(
    ("faulty", "said"),
    [
        (None, ""),
        (FaultyPages(count=0, of=9), "0 of 9 pages have an error or a warning"),
        (FaultyPages(count=1, of=9), "1 of 9 pages has an error or a warning"),
        (FaultyPages(count=0, of=1), "0 of 1 page has an error or a warning"),
        (
            FaultyPages(count=12, of=400, rate=FEW),
            "12 of 400 pages, 3% (1.7 to 5.2%) of 5,000 pages have an error or a warning",
        ),
    ],
)
def test_pages_with_a_fault(faulty: FaultyPages | None, said: str) -> None:
    """Their number, and their rate if they are a sample."""
    tally = make_tally(9, 9, 9, faulty=faulty)
    assert words.show_faulty(tally, "pages") == said


def test_bounds_of_samples_without_a_hit() -> None:
    """Only of units that have a sample, and a rule that passed."""
    passed = [
        make_rule(code, unit=unit) for code, unit in (("a", "pages"), ("b", "pages"))
    ]
    tally = make_tally(19_800, 300, 300, bound=0.013)
    facts = make_facts(passed=passed, pages=tally, old_pages=tally)
    assert list(words.find_bounds(facts)) == [
        ("pages", "none in 300, so at most 1.3% of 19,800", 2)
    ]
    exact = make_tally(300, 300, 300, bound=None)
    assert list(words.find_bounds(make_facts(passed=passed, pages=exact))) == []
    assert list(words.find_bounds(make_facts(passed=passed))) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a", "`a`"),
        ("a | b  c", "`a \\| b c`"),
        ("a`b``c", "``` a`b``c ```"),
        ("`", "`` ` ``"),
    ],
)
def test_a_code_span_holds_any_text(text: str, code: str) -> None:
    """Its fence is longer than any in the text."""
    assert words.write_code(text) == code


@pytest.mark.parametrize(
    ("path", "name"),
    [("a.HTM", "html"), ("a.md", "markdown"), ("a.xml", "junit"), ("a.b.json", "json")],
)
def test_the_suffix_of_a_report_names_its_format(path: str, name: str) -> None:
    """The suffix is read in any case, and the error for another one lists the known ones."""
    assert words.find_audit_format(path) == name
    with pytest.raises(AuditInputError, match=r"\.csv") as refused:
        words.find_audit_format("a.doc")
    assert str(refused.value) == (
        "the name 'a.doc' does not end with a known format: end it with .txt, .json, .sarif,"
        " .html, .htm, .md, .xml, .xlsx, .parquet, .csv, .jsonl, .ndjson"
    )
    with pytest.raises(AuditInputError) as refused:
        words.find_audit_format("a.html", ("text", "csv"))
    assert str(refused.value) == (
        "the name 'a.html' does not end with a known format: end it with .txt, .csv"
    )


@pytest.mark.parametrize(
    ("path", "suffix"),
    [("a.CSV", ".csv"), ("a.jsonl.gz", ".jsonl"), ("a.parquet", ".parquet")],
)
def test_the_suffix_of_a_file_of_hits(path: str, suffix: str) -> None:
    """All but Parquet may be packed; a workbook has them all by itself."""
    assert words.find_hits_suffix(path) == suffix
    assert words.is_page_file(path)
    known = "end the name of {!r} with .parquet, .csv, .jsonl, .ndjson"
    for wrong, advice in (
        ("a.parquet.gz", ""),
        ("a.json", ""),
        ("a.xlsx", ": a report as a workbook has all hits"),
    ):
        with pytest.raises(AuditInputError) as refused:
            words.find_hits_suffix(wrong)
        assert str(refused.value) == f"`hits`: {known.format(wrong)}{advice}"
        assert words.is_workbook(wrong) is wrong.endswith("x")


# -- results of SARIF


def read_results(findings: Any, **facts: Any) -> list[Any]:
    log = json.loads(render("sarif", findings, make_facts(**facts)))
    results: list[Any] = log["runs"][0]["results"]
    return results


def fingerprint(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()


def test_a_result_for_each_sitemap() -> None:
    """The hits of a sitemap are one, with three of them, at the line of the first."""
    hits = [Hit(url=f"{SITE}/{n}", detail="d" * (n == 1), document=A) for n in range(4)]
    places = [Place(document=A, count=4, line=7), Place(document=B, count=1, new=1)]
    finding = make_finding(
        "f", 5, places=places, hits=hits, new=1, severity="info", cause="other"
    )
    first, second = read_results([finding], files={A: "maps/a b.xml"})
    shown = f"{SITE}/0; {SITE}/1 d; {SITE}/2"
    assert first == {
        "ruleIndex": 0,
        "ruleId": "f",
        "level": "note",
        "message": {
            "text": f"What f finds: 4 URLs, such as {shown} (the same fault as other)"
        },
        "partialFingerprints": {"ruleAndSitemap/v1": fingerprint("f", A)},
        "properties": {"count": 4, "sitemap": A},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "maps/a%20b.xml"},
                    "region": {"startLine": 7},
                }
            }
        ],
        "baselineState": "unchanged",
    }
    assert second["message"]["text"] == (
        f"What f finds: 1 URL in {B} (the same fault as other)"
    )
    assert second["baselineState"] == "new"
    place = second["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == B.partition("://")[2]
    assert place["region"] == {"startLine": 1}


def test_a_result_for_each_page_and_file() -> None:
    """A page has its own, and a hit in a file stands there, beside where it is listed."""
    hits = [
        Hit(url=f"{SITE}/0", detail="why", document=A, line=3),
        Hit(url=f"{SITE}/1", document=A, line=4, file="one.html", file_line=9),
        Hit(url=f"{SITE}/2", file="two.html"),
        Hit(url=f"{SITE}/3", document=B),
    ]
    finding = make_finding(
        "f",
        5,
        rule=make_rule("f", unit="pages"),
        hits=hits,
        places=[Place(document=A, count=3), Place(document=B, count=1)],
        also=[SharedHits(code="g", count=1), SharedHits(code="h", count=1)],
    )
    results = read_results([finding], files={A: "a.xml"})
    shared = " (in part also found by g, h)"
    assert [each["message"]["text"] for each in results] == [
        f"What f finds: {SITE}/0 why{shared}",
        f"What f finds: {SITE}/1{shared}",
        f"What f finds: {SITE}/2{shared}",
        f"What f finds: {SITE}/3{shared}",
        f"What f finds: 1 page, such as {SITE}/0 why{shared}",
    ]
    assert [each["partialFingerprints"] for each in results] == [
        {"ruleAndPage/v1": fingerprint("f", f"{SITE}/0")},
        {"ruleAndPage/v1": fingerprint("f", "one.html", f"{SITE}/1")},
        {"ruleAndPage/v1": fingerprint("f", "two.html", f"{SITE}/2")},
        {"ruleAndPage/v1": fingerprint("f", f"{SITE}/3")},
        {"ruleAndSitemap/v1": fingerprint("f", A)},
    ]
    assert [
        (
            place["physicalLocation"]["artifactLocation"]["uri"],
            place["physicalLocation"]["region"]["startLine"],
        )
        for each in results
        for place in [*each["locations"], *each.get("relatedLocations", ())]
    ] == [
        ("a.xml", 3),
        ("one.html", 9),
        ("a.xml", 4),
        ("two.html", 1),
        (B.partition("://")[2], 1),
        ("a.xml", 1),
    ]
    assert [each["properties"]["count"] for each in results] == [1] * 5
    assert all("baselineState" not in each for each in results)


def test_hits_of_no_sitemap_are_a_result_at_the_source() -> None:
    """What the places do not name is counted there, and nothing where all have their own."""
    (result,) = read_results([make_finding("f", 2, places=[], hits=[])], source="dist")
    assert result["message"]["text"] == "What f finds: 2 URLs"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "dist"
    pages = make_finding(
        "f",
        1,
        places=[],
        hits=[Hit(url=f"{SITE}/0")],
        rule=make_rule("f", unit="pages"),
    )
    assert len(read_results([pages])) == 1


def test_notifications_of_a_log() -> None:
    """What failed is an error, what was left out a warning, and the rest are notes."""
    hits = [Hit(url=f"{SITE}/{n}") for n in range(MAX_RESULTS + 2)]
    finding = make_finding(
        "f", len(hits), rule=make_rule("f", unit="pages"), hits=hits, places=[]
    )
    facts = make_facts(
        passed=[make_rule("p", unit="pages")],
        pages=make_tally(900, 9, 9, bound=0.5),
        not_run=[
            leave_out(make_rule("n"), "see [x](http://y)"),
            leave_out(make_rule("e"), "broken", is_error=True),
        ],
        complete=False,
        sitemaps=1,
        urls=1,
    )
    log = json.loads(render("sarif", [finding], facts))
    (run,) = log["runs"]
    assert len(run["results"]) == MAX_RESULTS
    (invocation,) = run["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (3, False)
    reason = "not everything was read; broken rules: e"
    assert invocation["exitCodeDescription"] == reason
    said = [
        (each["level"], each["message"]["text"], each.get("associatedRule"))
        for each in invocation["toolExecutionNotifications"]
    ]
    assert said == [
        ("error", reason, None),
        ("warning", f"2 of {MAX_RESULTS + 2} results are left out", None),
        ("note", "1 rule about pages passed: none in 9, so at most 50% of 900", None),
        ("note", "n was not run: see [x] (http://y)", {"id": "n"}),
        ("error", "e was not run: broken", {"id": "e"}),
    ]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert ids == ["f", "p", "n", "e"]


def test_the_words_of_a_rule_in_a_log() -> None:
    """Its meaning, its condition and its advice; of a rule without them, its title."""
    full = make_rule("f", title="é", meaning="why", detects="when", advice="do")
    bare = make_rule("b", meaning="", detects="", advice="", sources=[])
    text = render("sarif", [], make_facts(passed=[full, bare]))
    assert text.startswith('{\n "$schema": "https://')
    assert '"text": "é"' in text
    first, second = json.loads(text)["runs"][0]["tool"]["driver"]["rules"]
    assert first == {
        "id": "f",
        "shortDescription": {"text": "é"},
        "fullDescription": {"text": "why"},
        "help": {"text": "when do"},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["URLs"]},
        "helpUri": "https://www.sitemaps.org/protocol.html",
    }
    assert second == {
        "id": "b",
        "shortDescription": {"text": "What b finds"},
        "fullDescription": {"text": "What b finds"},
        "help": {"text": "-"},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["URLs"]},
    }


# -- two lists

LISTS = ListDifference(
    new=["/n1", "/n2"],
    unlisted=["/u"],
    changed=[DateChange(url="/c", before="2026-01-01", after=None)],
    same=1_000,
    dates={"/n1": "2026-02-02", "/u": "2026-03-03"},
)


def test_the_formats_of_two_lists() -> None:
    """A line for each URL, with its dates if they changed, and all numbers in the last one."""
    count = "2 URLs new, 1 unlisted, 1 changed, 1,000 the same"
    assert format_list("text", LISTS) == (
        "new       /n1\nnew       /n2\nunlisted  /u\n"
        f"changed   /c (2026-01-01 -> none)\n\n{count}\n"
    )
    assert format_list("markdown", LISTS) == (
        f"{count}.\n\n## New\n\n- `/n1`\n- `/n2`\n\n## Unlisted\n\n- `/u`\n\n"
        "## Changed\n\n- `/c` (`2026-01-01` -> none)\n"
    )
    assert format_list("csv", LISTS).splitlines() == [
        "change,url,lastmod_before,lastmod_after",
        "new,/n1,,2026-02-02",
        "new,/n2,,",
        "unlisted,/u,2026-03-03,",
        "changed,/c,2026-01-01,",
    ]
    assert format_list("json", LISTS).startswith('{\n  "schema": 1,\n  "urls": {\n')
    nothing = ListDifference(same=2, has_dates=False)
    said = "0 URLs new, 0 unlisted, no dates to compare, 2 the same"
    assert format_list("text", nothing) == f"{said}\n"
    assert format_list("markdown", nothing) == f"{said}.\n"
    severities = [nothing.severity, LISTS.severity, ListDifference(new=["/n"]).severity]
    assert severities == ["", "error", "info"]


@pytest.mark.parametrize(("number", "more"), [(100, []), (101, ["- and 1 more"])])
def test_markdown_of_two_lists_is_bounded(number: int, more: list[str]) -> None:
    """It names a hundred URLs of a kind."""
    found = ListDifference(new=[f"/{n}" for n in range(number)])
    lines = format_list("markdown", found).splitlines()
    assert lines[4:] == [*(f"- `/{n}`" for n in range(100)), *more]
