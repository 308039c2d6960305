"""Reports for reviewers and build servers, and what became of findings between two audits."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import fromstring

import attrs
import pytest

from sitemapreader._types.issues import Severity
from sitemapreader.audit import Trend, audit_sync, compare_audits
from sitemapreader.audit.compare import compare_losses
from sitemapreader.audit.report import REPORT_FORMATS, REPORT_SUFFIXES
from sitemapreader.audit.report.templates import format_audit
from sitemapreader.audit.values import AuditReport
from tests.audit.audits import render
from tests.support.commands import run
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader.audit import Audit

HOSTILE = "https://example.org/a`b|c](x)<img src=x>"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Audit a folder; its database is closed."""
    folder = tmp_path_factory.mktemp("site")
    urls = ["?utm_source=x", "b", "b", "a`b|c](x)"]
    records = "".join(
        f"<url><loc>https://example.org/{url}</loc></url>" for url in urls
    )
    (folder / "sitemap.xml").write_text(
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{records}</urlset>'
    )
    with audit_sync(folder) as found:
        return found


def test_markdown_shows_strangers_in_code_spans(result: Audit) -> None:
    """No text of a sitemap becomes markup: it stands between ticks that it cannot close."""
    finding = result.findings[0]
    example = attrs.evolve(finding.examples[0], url=HOSTILE, detail="a\n\n# b ``` c")
    text = render("markdown", [attrs.evolve(finding, examples=[example])], result.facts)
    assert "`` https://example.org/a`b\\|c](x)<img src=x> ``" in text
    assert not re.search(r"^# b", text, re.MULTILINE)
    assert f"`{finding.rule.code}`" in text
    assert "](" not in text.replace("c](x)", "")


def test_markdown_fits_into_a_comment(result: Audit) -> None:
    """What is too long for GitHub is cut at a finding, and the cut is said."""
    findings = [
        attrs.evolve(result.findings[0], examples=result.findings[0].examples * 300)
    ] * 40
    text = render("markdown", findings, result.facts)
    assert 30_000 < len(text) <= 60_200
    assert re.search(r"The details of \d+ more findings are left out here\.\n$", text)


JUNIT: dict[str, tuple[str, str]] = {
    "testsuites": ("name", "testsuite"),
    "testsuite": ("name tests failures errors skipped", "testcase"),
    "testcase": ("name classname", "failure error skipped system-out"),
    "failure": ("message", ""),
    "error": ("message", ""),
    "skipped": ("message", ""),
    "system-out": ("", ""),
}
"""Element -> attributes and children, of those that the schema of Jenkins (junit-10.xsd) knows."""


def test_junit_counts(result: Audit) -> None:
    """Each rule is a case: failed from a severity on, passed, or skipped with the reason."""
    for fail_on in (Severity.ERROR, Severity.WARNING, Severity.INFO, None):
        root = fromstring(result.format("junit", fail_on))  # noqa: S314 (ours)
        failed = {
            case.get("name")
            for case in root.iter("testcase")
            if case.find("failure") is not None
        }
        assert failed == {
            each.rule.code
            for each in result.findings
            if fail_on is not None and Severity[each.severity.upper()] >= fail_on
        }
        for element in root.iter():
            attributes, children = JUNIT[element.tag]
            assert [*element.attrib] == attributes.split()
            assert {child.tag for child in element} <= {*children.split()}
        cases = sum(int(suite.get("tests", 0)) for suite in root)
        rules = (
            len(result.findings) + len(result.facts.passed) + len(result.facts.not_run)
        )
        assert cases == len(list(root.iter("testcase"))) == 1 + rules  # the outcome
        skipped = sum(int(suite.get("skipped", 0)) for suite in root)
        assert skipped == len(result.facts.not_run) > 0


def test_junit_takes_every_text(result: Audit) -> None:
    """Control characters and lone surrogates of a URL leave a document that parses."""
    finding = result.findings[0]
    example = attrs.evolve(
        finding.examples[0], url="https://e.example/\x00\x1b\ud800\uffff]]>"
    )
    text = render("junit", [attrs.evolve(finding, examples=[example])], result.facts)
    assert "]]>" in "".join(fromstring(text.encode()).itertext())  # noqa: S314 (ours)


def test_every_format_is_made_of_findings_and_facts_alone(
    result: Audit, tmp_path: Path
) -> None:
    """They give the same bytes without a database; a suffix says which format is meant."""
    audit = AuditReport(result.findings, result.facts)
    for suffix, form in REPORT_SUFFIXES.items():
        for fail_on in (Severity.INFO, None):
            again = format_audit(form, audit, fail_on, title="Our site")
            result.write(tmp_path / f"a{suffix}", fail_on=fail_on, title="Our site")
            assert again == (tmp_path / f"a{suffix}").read_text()
    assert {*REPORT_SUFFIXES.values()} == {*REPORT_FORMATS}
    assert json.loads((tmp_path / "a.json").read_text()) == result.describe()


def report(
    tmp_path: Path,
    name: str,
    *findings: dict[str, Any],
    passed: tuple[str, ...] = (),
    not_run: tuple[str, ...] = (),
    facts: dict[str, Any] | None = None,
) -> Path:
    content = {
        "schema": 1,
        "findings": [
            {
                "severity": "error",
                "count": 1,
                "rate": None,
                **each,
                "rule": {"code": each["code"], "needs": each.get("needs", ["pages"])},
            }
            for each in findings
        ],
        "facts": {
            "passed": [{"code": code} for code in passed],
            "not_run": [{"rule": {"code": code}} for code in not_run],
            **(facts or {}),
        },
    }
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(content))
    return path


def rate(share: float, low: float, high: float) -> dict[str, float]:
    return {"share": share, "low": low, "high": high}


TRENDS = """
new      warning  new                                   0 -> 1
worse    error    more                                  1 -> 2
worse    error    rate-rises                          10% -> 40%
unknown  error    counted                           1,200 -> 40%
unknown  error    fresh                           not run -> 1
unknown  error    gone                                  1 -> not run
better   error    fewer                                 5 -> 4
fixed    error    fixed                                 2 -> 0
same     error    equal                                 3 -> 3
same     error    rate-meets                          10% -> 20%
"""
TOTAL = "1 new, 2 worse, 3 unknown, 1 better, 1 fixed, 2 the same"


def test_trends(tmp_path: Path) -> None:
    """More hits are worse, none are fixed; rates differ if their intervals do not meet."""
    before = report(
        tmp_path, "before",
        {"code": "more", "count": 1}, {"code": "fewer", "count": 5}, {"code": "equal", "count": 3},
        {"code": "fixed", "count": 2}, {"code": "gone", "count": 1},
        {"code": "rate-meets", "rate": rate(0.1, 0.05, 0.2)},
        {"code": "rate-rises", "rate": rate(0.1, 0.05, 0.2)}, {"code": "counted", "count": 1200},
        passed=("new",), not_run=("fresh",),
    )  # fmt: skip
    after = report(
        tmp_path, "after",
        {"code": "more", "count": 2}, {"code": "fewer", "count": 4}, {"code": "equal", "count": 3},
        {"code": "new", "count": 1, "severity": "warning"}, {"code": "fresh", "count": 1},
        {"code": "rate-meets", "rate": rate(0.2, 0.2, 0.3)},
        {"code": "rate-rises", "rate": rate(0.4, 0.3, 0.5)},
        {"code": "counted", "rate": rate(0.4, 0.3, 0.5)},
        passed=("fixed",), not_run=("gone",),
    )  # fmt: skip
    words = ("compare", str(before), str(after), "--format")
    said = {form: run(*words, form).stdout for form in ("text", "markdown", "json")}
    assert said["text"].splitlines() == [*TRENDS.strip().splitlines(), "", TOTAL]
    cells = [re.split(r"\s{2,}| -> ", line) for line in TRENDS.strip().splitlines()]
    rows = said["markdown"].splitlines()
    assert rows[:2] == [f"{TOTAL}.", ""]
    assert rows[2:4] == ["| | | rule | before | after |", "|---|---|---|---|---|"]
    assert [row.strip("| ").replace("`", "").split(" | ") for row in rows[4:]] == cells
    table = csv.DictReader(io.StringIO(run(*words, "csv").stdout))
    told = {row["rule"]: row for row in table}
    assert [*told] == [row[2] for row in cells]
    assert told["rate-rises"] == {
        "trend": "worse", "severity": "error", "rule": "rate-rises", "before": "0.1",
        "after": "0.4", "change": "", "url": "",
    }  # fmt: skip
    assert (told["fresh"]["before"], told["new"]["before"]) == ("", "0")
    content = json.loads(said["json"])
    differences = [attrs.asdict(each) for each in compare_audits(before, after)]
    assert content == {"schema": 1, "differences": differences}
    assert content["differences"][2] == {
        "code": "rate-rises", "severity": "error", "trend": "worse", "before": 0.1, "after": 0.4,
        "new": None, "mended": None, "still": None, "only_before": None, "only_after": None,
    }  # fmt: skip


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("before", "after", "code", "said"),
    [
        ({}, {"answered": False}, 4, "nothing could be fetched"),
        ({"urls": 1}, {"urls": 0}, 1, "no URL was found"),
        ({"urls": 1}, {"urls": 1}, 0, "everything was read"),
        ({}, {"answered": True}, 0, "everything was read"),
        ({"losses": ["a"]}, {"losses": ["a"]}, 0, "everything was read"),
        ({"losses": ["a"]}, {"losses": ["b", "a"]}, 3, "not read: b"),
        ({}, {"losses": ["a"]}, 3, "not read: a"),
        # an earlier version did not name them
        ({"complete": False}, {"losses": ["a"]}, 0, "everything was read"),
        ({"losses": []}, {"complete": False}, 0, "everything was read"),
    ],
)
def test_what_is_read_no_longer(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], code: int, said: str
) -> None:
    """The outcome of a comparison is about what was lost since: not what was lost before."""
    files = (
        report(tmp_path, name, facts=facts)
        for name, facts in (("before", before), ("after", after))
    )
    outcome = compare_losses(*files)
    assert outcome.code == code
    assert outcome.reason.startswith(said)


def test_a_sample_without_a_hit(tmp_path: Path) -> None:
    """A sample that has no hit may have missed some, as another sample of the same site shows."""
    tally = {"population": 91, "visited": 20, "judged": 20, "exact": False}
    few, many = rate(0.05, 0.01, 0.2), rate(0.6, 0.4, 0.75)
    findings: list[list[dict[str, Any]]] = [
        [],
        [{"code": "few", "rate": few}, {"code": "many", "rate": many}],
        [{"code": "few", "count": 1}, {"code": "other", "count": 1, "needs": []}],
    ]
    none, some, gone = (
        report(
            tmp_path,
            f"sample {number}",
            *each,
            passed=("few", "many", "other"),
            facts={"pages": tally},
        )
        for number, each in enumerate(findings)
    )
    assert {each.code: each.trend for each in compare_audits(none, some)} == {
        "few": Trend.SAME, "many": Trend.WORSE
    }  # fmt: skip
    assert {each.code: each.trend for each in compare_audits(some, none)} == {
        "few": Trend.SAME, "many": Trend.BETTER
    }  # fmt: skip
    assert {each.code: each.trend for each in compare_audits(none, gone)} == {
        "few": Trend.UNKNOWN, "other": Trend.NEW
    }  # fmt: skip


@pytest.mark.parametrize("is_mended", [True, False])
def test_a_page_that_only_one_audit_judged_is_named(
    tmp_path: Path, *, is_mended: bool
) -> None:
    """Where a page was not judged, a hit on a page that left the sitemap has its URL."""

    def hits(*urls: str) -> dict[str, Any]:
        found = [{"url": url, "document": ""} for url in urls]
        return {"code": "page-canonical", "count": len(urls), "hits": found}

    def judged(*urls: str) -> dict[str, Any]:
        tally = {"population": 9, "judged": len(urls), "exact": False, "sampled": False}
        return {"pages": {**tally, "sample": urls}}

    many = report(tmp_path, "many", hits("/a", "/b"), facts=judged("/a", "/b", "/c"))
    few = report(tmp_path, "few", hits("/b"), facts=judged("/b", "/c"))
    before, after = (many, few) if is_mended else (few, many)
    (change,) = compare_audits(before, after)
    named = (change.new, change.mended, change.still)
    assert named == ([], [], 1)
    assert change.trend is (Trend.BETTER if is_mended else Trend.WORSE)
    word = "before" if is_mended else "after"
    assert (change.only_before or change.only_after) == ["/a"]
    for form in ("text", "markdown"):
        said = run("compare", str(before), str(after), "--format", form).stdout
        assert f"judged only {word}: /a" in said.replace("`", "")


@pytest.mark.parametrize(
    "choice", [{"ignore": ["url-*"]}, {"select": ["hosts"]}, {"ignore": ["urls"]}]
)
def test_a_rule_that_was_not_chosen_is_not_fixed(
    tmp_path: Path, choice: dict[str, Any]
) -> None:
    """A rule that `select` or `ignore` leaves out has an unknown change, in both directions."""
    (tmp_path / "s.xml").write_bytes(urlset("https://example.org/#x"))
    all_rules, few = (tmp_path / name for name in ("all.json", "few.json"))
    audits: dict[Path, dict[str, Any]] = {all_rules: {}, few: choice}
    for path, chosen in audits.items():
        with audit_sync(tmp_path / "s.xml", **chosen) as result:
            result.write(path)
    for before, after, values in (
        (all_rules, few, (1, None)),
        (few, all_rules, (None, 1)),
    ):
        (change,) = (
            each
            for each in compare_audits(before, after)
            if each.code == "url-fragment"
        )
        assert (change.trend, change.before, change.after) == (Trend.UNKNOWN, *values)
        assert change.mended is None


def test_what_is_no_report(tmp_path: Path) -> None:
    """Foreign and damaged files, and codes that are markup, are refused, with what to do."""
    path = tmp_path / "a.json"
    texts = ["", "[]", '{"schema": 1}', '{"schema": 2, "findings": []}', "[" * 100_000]
    wrong: tuple[dict[str, Any], ...] = (
        {"code": "a", "severity": "huge"},
        {"code": "a", "severity": 3},
        {"code": "a", "count": 1e400},
        {"code": "a", "rate": {"low": 0.1}},
        {"code": "a`|\x1b[31m<b>"},
    )
    texts += [
        report(tmp_path, f"a{n}", finding).read_text()
        for n, finding in enumerate(wrong)
    ]
    for text in texts:
        path.write_text(text)
        with pytest.raises(
            ValueError, match=r"not the JSON report of an audit|another version"
        ):
            compare_audits(path, path)
    with pytest.raises(ValueError, match=r"cannot be read"):
        compare_audits(path, tmp_path / "none.json")
