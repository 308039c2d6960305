"""An audit as text, JSON, SARIF, Markdown or JUnit; HTML has modules of its own."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from datetime import date
from hashlib import sha256
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import attrs

from sitemapreader.audit.models import SCHEMA, AuditInputError, Place
from sitemapreader.audit.report import GRADES, MOST_FOLDERS, OLD_COLUMNS, count_units, show_rate
from sitemapreader.issues import Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemapreader.audit.models import AuditRule, Example, Facts, Finding, PageTally


FORMATS = ("text", "json", "sarif", "html", "markdown", "junit")
"""Names of the formats."""
SUFFIXES = {".txt": "text", ".json": "json", ".sarif": "sarif", ".html": "html", ".htm": "html"}
SUFFIXES |= {".md": "markdown", ".xml": "junit"}
"""Suffix of a file -> the format that it names."""
HITS_SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
"""Suffixes of a file of all hits; all but the first also with .gz behind them."""


def format_audit(
    name: str,
    findings: Sequence[Finding],
    facts: Facts,
    fail_on: Severity | None = Severity.ERROR,
    *,
    title: str = "",
) -> str:
    """Return an audit in a format; raise AuditInputError for another name.

    In the format that tells it, findings of `fail_on` and above fail. HTML and Markdown have a
    `title`.
    """
    if name == "html":
        from sitemapreader.audit.report.html import format_html  # noqa: PLC0415 (Jinja)

        return format_html(findings, facts, title)
    if name == "junit":
        return format_junit(findings, facts, fail_on)
    if name == "markdown":
        return format_markdown(findings, facts, title)
    formats = {
        "text": format_text,
        "json": format_json,
        "sarif": format_sarif,
    }
    if name not in formats:
        raise AuditInputError(f"there is no format {name!r}: choose from {', '.join(FORMATS)}")
    return formats[name](findings, facts)


def find_audit_format(path: str) -> str:
    """Return the format by a file's suffix; raise ValueError for an unknown suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise AuditInputError(
            f"the name {path!r} does not say which format is meant: "
            f"end it with {', '.join(SUFFIXES)}"
        )
    return SUFFIXES[suffix]


def find_hits_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that names the format; raise AuditInputError for another one."""
    name = os.fspath(path).lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in HITS_SUFFIXES or name.endswith(".parquet.gz"):
        raise AuditInputError(f"hits: end the name of {name!r} with {', '.join(HITS_SUFFIXES)}")
    return suffix


_EXAMPLES = 3
"""Examples of a finding; the other formats have more."""
_MAX_TEXT = 200
_MAX_WHY = 500
_MAX_FOLDER = 50


def format_text(findings: Sequence[Finding], facts: Facts) -> str:
    """Return the findings, the gravest first, and what was not run."""
    lines = [*_describe_site(facts), ""]
    for finding in findings:
        lines += [*_describe_finding(finding, facts), ""]
    if facts.old_folders:
        lines += [*_tabulate_folders(facts), ""]
    return "\n".join([*lines, *_summarize(findings, facts)]) + "\n"


def _describe_site(facts: Facts) -> Iterator[str]:
    yield f"Sitemaps of {excerpt(facts.source, _MAX_TEXT)}"
    complete = "everything was read" if facts.complete else "not everything was read"
    sitemaps = count_units(facts.sitemaps, "sitemaps")
    found = f"{count_units(facts.urls, 'URLs')} in {sitemaps}; {complete}"
    yield found if facts.sitemaps else "no sitemap was read"
    if facts.pages is not None:
        yield _describe_visits(facts.pages, "pages")
    if facts.old_pages is not None:
        more = "" if facts.old_complete else "; not all old sitemaps were read"
        yield _describe_visits(facts.old_pages, "old URLs") + more
    if facts.compared_pages is not None:
        yield f"{count_units(facts.compared_pages, 'texts')} compared with an earlier audit"


def _describe_visits(pages: PageTally, what: str) -> str:
    """Return how many pages were visited, and why some could not be judged."""
    of_all = "all" if pages.visited == pages.listed > 1 else f"{pages.visited:,} of"
    said = f"{of_all} {count_units(pages.listed, what)} visited, {pages.judged:,} judged"
    reasons = ", ".join(f"{reason} {number:,}" for reason, number in pages.not_judged.items())
    return said + (f"; not judged: {reasons}" if reasons else "")


def _describe_finding(finding: Finding, facts: Facts) -> Iterator[str]:
    rule = finding.rule
    new = "" if finding.new is None else f", {finding.new:,} new"
    # "1 of 3,000 URLs", but "1 host"
    hits = f"{finding.count:,} of {count_units(finding.of, rule.unit)}"
    if not finding.of:
        hits = count_units(finding.count, rule.unit)
    if finding.rate is not None:
        hits += f", {show_rate(finding.rate, rule.unit)}"
    yield f"{GRADES[finding.severity]}: {rule.title} [{rule.code}]"
    yield f"    {hits}{new}. {rule.advice}"
    for example in finding.examples[:_EXAMPLES]:
        yield f"    - {_describe_example(example, facts)}"
    if finding.count > _EXAMPLES and finding.examples:
        yield f"    - and {finding.count - len(finding.examples[:_EXAMPLES]):,} more"


def _tabulate_folders(facts: Facts) -> Iterator[str]:
    """Yield what became of the old URLs, a line for each folder."""
    rows = [OLD_COLUMNS, *map(attrs.astuple, facts.old_folders[:MOST_FOLDERS])]
    for folder, *counts in rows:
        yield f"{excerpt(folder, _MAX_FOLDER):<{_MAX_FOLDER}}" + "".join(f"{n:>11}" for n in counts)
    if len(facts.old_folders) > MOST_FOLDERS:
        yield f"and {len(facts.old_folders) - MOST_FOLDERS:,} more folders"


def _describe_example(example: Example, facts: Facts) -> str:
    document = facts.files.get(example.document, example.document)
    parts = [example.url or document, example.detail and f"({example.detail})"]
    if document and example.document != (example.url or example.document):
        line = "" if example.line is None else f", line {example.line}"
        parts.append(f"in {document}{line}")
    return " ".join(excerpt(part, _MAX_TEXT) for part in parts if part)


def _summarize(findings: Sequence[Finding], facts: Facts) -> Iterator[str]:
    counts = [
        f"{number} {name}{'s' * (number != 1)}"
        for severity, name in GRADES.items()
        if (number := sum(finding.severity is severity for finding in findings))
    ]
    hits = ", ".join(counts) or "no findings"
    reasons = Counter(each.reason for each in facts.not_run if not each.is_error)
    why = "; ".join(f"{number} as {reason}" for reason, number in reasons.items())
    if not facts.sitemaps:
        why = ""  # all of them, for one reason
    not_run = f"{len(facts.not_run)} not run" + (f": {why}" if why else "")
    yield f"{hits}; {len(facts.passed)} rules passed, {excerpt(not_run, _MAX_WHY)}"
    for each in facts.not_run:
        if each.is_error:
            yield f"broken: {each.rule.code}: {excerpt(each.reason, _MAX_TEXT)}"


def format_json(findings: Sequence[Finding], facts: Facts) -> str:
    """Return one JSON object: findings, and facts."""
    content = {
        "schema": SCHEMA,
        "findings": [attrs.asdict(finding, value_serializer=_plain) for finding in findings],
        "facts": attrs.asdict(facts, value_serializer=_plain),
    }
    return json.dumps(content, indent=2) + "\n"  # ASCII: it may be shown in a terminal


def _plain(_owner: Any, _field: Any, value: Any) -> Any:
    if isinstance(value, Severity):
        return value.name.lower()
    return value.isoformat() if isinstance(value, date) else value


MAX_RESULTS = 5_000
"""Results of a run that GitHub shows."""
_SARIF = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_MAX_MESSAGE = 500


def format_sarif(findings: Sequence[Finding], facts: Facts) -> str:
    """Return one run, with a result for each rule and sitemap, the gravest first."""
    rules = [finding.rule for finding in findings] + list(facts.passed)
    rules += [each.rule for each in facts.not_run]
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    results = [
        _make_result(finding, place, numbers[finding.code], facts)
        for finding in findings
        for place in finding.places or (Place("", finding.count),)
    ]
    rules_described = [_describe_rule(rule) for rule in rules]
    driver = {"name": "sitemapreader", "semanticVersion": facts.version, "rules": rules_described}
    invocation = {
        "executionSuccessful": not any(each.is_error for each in facts.not_run),
        "startTimeUtc": facts.begun.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "toolExecutionNotifications": list(_notify(facts, len(results))),
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results[:MAX_RESULTS],
    }
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _describe_rule(rule: AuditRule) -> dict[str, Any]:
    described = {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning or rule.title},
        "help": {"text": " ".join(part for part in (rule.detects, rule.advice) if part) or "-"},
        "defaultConfiguration": {"level": GRADES[rule.severity]},
        "properties": {"tags": [str(rule.category)]},
    }
    if rule.sources:
        described["helpUri"] = rule.sources[0]
    return described


def _make_result(finding: Finding, place: Place, number: int, facts: Facts) -> dict[str, Any]:
    examples = [each for each in finding.examples if each.document == place.document]
    shown = "; ".join(
        excerpt(" ".join(part for part in (each.url, each.detail) if part), _MAX_MESSAGE)
        for each in examples[:3]
    )
    text = f"{finding.rule.title}: {count_units(place.count, finding.rule.unit)}"
    # the fingerprint of a result is the same in each run, so that a host knows what is new
    identity = sha256(f"{finding.code}\n{place.document}".encode()).hexdigest()
    if place.document and place.document not in facts.files:
        text += f" in {excerpt(place.document, _MAX_MESSAGE)}"
    location = {
        "artifactLocation": {"uri": _name_artifact(place.document, facts)},
        "region": {"startLine": place.line or 1},
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": GRADES[finding.severity],
        "message": {"text": f"{text}, such as {shown}" if shown else text},
        "partialFingerprints": {"ruleAndSitemap/v1": identity},
        "properties": {"count": place.count, "sitemap": place.document},
        "locations": [{"physicalLocation": location}],
    }


def _name_artifact(document: str, facts: Facts) -> str:
    """Return the reference to the file of a sitemap, or a stand-in if there is none.

    GitHub takes relative references and files below the checkout, and refuses web addresses.
    """
    name = facts.files.get(document) or document or facts.source
    if "://" in name:
        return quote(os.fsencode(name.partition("://")[2].strip("/")))
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def _notify(facts: Facts, results: int) -> Iterator[dict[str, Any]]:
    """Yield what was left out, and what was not run."""
    if results > MAX_RESULTS:
        text = f"{results - MAX_RESULTS} of {results} results are left out"
        yield {"level": "warning", "message": {"text": text}}
    for each in facts.not_run:
        text = f"{each.rule.code} was not run: {excerpt(each.reason, _MAX_MESSAGE)}"
        yield {
            "level": "error" if each.is_error else "note",
            "message": {"text": text},
            "associatedRule": {"id": each.rule.code},
        }


# -- where reviewers and build servers look

MAX_MARKDOWN_CHARS = 60_000
"""GitHub takes 65,536 in a comment."""
_NOT_XML = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def format_markdown(findings: Sequence[Finding], facts: Facts, title: str = "") -> str:
    """Return a table of the findings and their details, for a pull request.

    Texts of strangers are in code spans, and nothing is a link.
    """
    read = "everything was read" if facts.complete else "not everything was read"
    lines = [
        f"# {' '.join(title.split()) or f'Sitemaps of {_code(facts.source)}'}",
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
    said = f"{len(facts.passed)} rules passed, {len(facts.not_run)} were not run."
    lines += ["" if findings else "No findings.", said, ""]
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

    A finding of `fail_on` and above is a failure, unless it has no hits that a baseline lacks.
    """
    cases: dict[str, list[Element]] = defaultdict(list)
    for finding in findings:
        case = _case(finding.rule, cases)
        fails = fail_on is not None and finding.severity >= fail_on and finding.new != 0
        kind = "failure" if fails else "system-out"
        said = SubElement(case, kind)
        said.text = _as_xml("\n".join([_count(finding), finding.rule.advice, *_shown(finding)]))
        if fails:
            said.set("message", f"{finding.rule.title}: {_count(finding)}")
    for rule in facts.passed:
        _case(rule, cases)
    for each in facts.not_run:
        kind = "error" if each.is_error else "skipped"
        SubElement(_case(each.rule, cases), kind).set("message", _as_xml(excerpt(each.reason, 500)))
    root = Element("testsuites", name=_as_xml(facts.source))
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


def _as_xml(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
