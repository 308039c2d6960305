"""An audit where reviewers and build servers look: Markdown and JUnit."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import attrs

from sitemapreader.audit.report import GRADES, MOST_FOLDERS, OLD_COLUMNS, count_units, show_rate
from sitemapreader.issues import Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemapreader.audit.models import AuditRule, Facts, Finding

MAX_MARKDOWN_CHARS = 60_000
"""GitHub takes 65,536 in a comment."""
_MAX_TEXT = 200
_NOT_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def format_markdown(findings: Sequence[Finding], facts: Facts) -> str:
    """Return a table of the findings and their details, for a pull request.

    Texts of strangers are in code spans, and nothing is a link.
    """
    read = "everything was read" if facts.complete else "not everything was read"
    lines = [
        f"# Sitemaps of {_code(facts.source)}",
        "",
        f"{count_units(facts.urls, 'URLs')} in {count_units(facts.sitemaps, 'sitemaps')}; {read}",
        "",
    ]
    if findings:
        lines += ["| | finding | how many |", "|---|---|---|"]
    lines += [
        f"| {GRADES[each.severity]} | {each.rule.title} `{each.code}` | {_count(each)} |"
        for each in findings
    ]
    lines += ["" if findings else "No findings.", _summarize(facts), ""]
    if facts.old_folders:
        lines += [_row(OLD_COLUMNS), "|---" + "|---:" * (len(OLD_COLUMNS) - 1) + "|"]
        for each in facts.old_folders[:MOST_FOLDERS]:
            folder, *counts = attrs.astuple(each)
            lines.append(_row([_code(folder), *(f"{count:,}" for count in counts)]))
        lines.append("")
    return _cut(lines, [list(_detail(each)) for each in findings])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cut(lines: list[str], details: list[list[str]]) -> str:
    """Return the lines, and as many details as there is room for."""
    text = "\n".join(lines) + "\n"
    for number, detail in enumerate(details):
        more = "\n".join(detail) + "\n"
        if len(text) + len(more) > MAX_MARKDOWN_CHARS:
            left = len(details) - number
            return f"{text}\nThe details of {left} more findings are left out here.\n"
        text += more
    return text


def _detail(finding: Finding) -> Iterator[str]:
    yield f"## {finding.rule.title}"
    yield ""
    yield finding.rule.advice
    yield ""
    for example in finding.examples:
        parts = (example.url or example.document, example.detail)
        yield "- " + " ".join(_code(part) for part in parts if part)
    if finding.count > len(finding.examples):
        yield f"- and {finding.count - len(finding.examples):,} more"
    yield ""


def _count(finding: Finding) -> str:
    new = "" if finding.new is None else f", {finding.new:,} new"
    rate = "" if finding.rate is None else f", {show_rate(finding.rate, finding.rule.unit)}"
    return f"{count_units(finding.count, finding.rule.unit)}{rate}{new}"


def _summarize(facts: Facts) -> str:
    return f"{len(facts.passed)} rules passed, {len(facts.not_run)} were not run."


def _code(text: str) -> str:
    """Return a text of strangers as a code span, which no character of it can end."""
    text = " ".join(excerpt(text, _MAX_TEXT).split())
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    # In a table a bar ends the cell, in a code span too.
    text = text.replace("|", "\\|")
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def format_junit(
    findings: Sequence[Finding], facts: Facts, fail_on: Severity | None = Severity.ERROR
) -> str:
    """Return a suite of tests for each category, with a case for each rule.

    Args:
        findings: of the audit.
        facts: of it.
        fail_on: the severity from which on a finding is a failure; `None`: none is. With a
            baseline, findings without new hits are none.
    """
    cases: dict[str, list[Element]] = defaultdict(list)
    for finding in findings:
        case = _case(finding.rule, cases)
        fails = fail_on is not None and finding.severity >= fail_on and finding.new != 0
        kind = "failure" if fails else "system-out"
        said = SubElement(case, kind)
        said.text = _plain("\n".join([_count(finding), finding.rule.advice, *_shown(finding)]))
        if fails:
            said.set("message", f"{finding.rule.title}: {_count(finding)}")
    for rule in facts.passed:
        _case(rule, cases)
    for each in facts.not_run:
        kind = "error" if each.is_error else "skipped"
        SubElement(_case(each.rule, cases), kind).set("message", _plain(excerpt(each.reason, 500)))
    root = Element("testsuites", name=_plain(facts.source))
    for category, of_it in cases.items():
        suite = SubElement(root, "testsuite", name=category, tests=str(len(of_it)))
        for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(name, str(sum(case.find(kind) is not None for case in of_it)))
        suite.extend(of_it)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(rule: AuditRule, cases: dict[str, list[Element]]) -> Element:
    case = Element("testcase", name=rule.code, classname=f"sitemaps.{rule.category.lower()}")
    cases[rule.category].append(case)
    return case


def _shown(finding: Finding) -> Iterator[str]:
    for example in finding.examples:
        detail = f" ({example.detail})" if example.detail else ""
        yield f"{excerpt(example.url or example.document, _MAX_TEXT)}{excerpt(detail, _MAX_TEXT)}"


def _plain(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
