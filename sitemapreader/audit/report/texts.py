"""An audit as text, JSON, SARIF, Markdown or JUnit; HTML has a module of its own."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sitemapreader.audit.models import AuditInputError, Row
from sitemapreader.audit.report import (
    FORMATS,
    GRADES,
    MOST_FOLDERS,
    OLD_COLUMNS,
    count_findings,
    count_units,
    find_bounds,
    is_failure,
    show_bound,
    show_rate,
)
from sitemapreader.issues import Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def format_audit(
    name: str,
    audit: Row,
    fail_on: Severity | None = Severity.ERROR,
    *,
    title: str = "",
) -> str:
    """Return an audit in a format, made of its JSON; raise AuditInputError.

    In the format that tells it, findings of `fail_on` and above fail. HTML and Markdown have a
    `title`.
    """
    if name == "html":
        from sitemapreader.audit.report.html import format_html  # noqa: PLC0415 (Jinja)

        return format_html(audit, title)
    if name == "junit":
        return format_junit(audit, None if fail_on is None else fail_on.name.lower())
    if name == "markdown":
        return format_markdown(audit, title)
    formats = {"text": format_text, "json": format_json, "sarif": format_sarif}
    if name not in formats:
        raise AuditInputError(f"there is no format {name!r}: choose from {', '.join(FORMATS)}")
    return formats[name](audit)


_EXAMPLES = 3
"""Examples of a finding; the other formats have more."""
_MAX_TEXT = 200
_MAX_WHY = 500
_MAX_FOLDER = 50


def format_text(audit: Row) -> str:
    """Return the findings, the gravest first, and what was not run."""
    facts = audit.facts
    lines = [*_describe_site(facts), ""]
    for finding in audit.findings:
        if finding.cause:
            lines.insert(-1, f"    - the same fault: {_name(finding)}, {_count(finding)}")
        else:
            lines += [*_describe_finding(finding, facts), ""]
    if facts.old_folders:
        lines += [*_tabulate_folders(facts.old_folders), ""]
    return "\n".join([*lines, *_summarize(audit)]) + "\n"


def _describe_site(facts: Row) -> Iterator[str]:
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


def _describe_visits(pages: Row, what: str) -> str:
    """Return how many pages were visited, and why some could not be judged."""
    of_all = "all" if pages.visited == pages.listed > 1 else f"{pages.visited:,} of"
    said = f"{of_all} {count_units(pages.listed, what)} visited, {pages.judged:,} judged"
    reasons = ", ".join(f"{reason} {number:,}" for reason, number in pages.not_judged.items())
    return said + (f"; not judged: {reasons}" if reasons else "")


def _describe_finding(finding: Row, facts: Row) -> Iterator[str]:
    yield f"{GRADES[finding.severity]}: {_name(finding)}"
    doubt = f" ({finding.doubt})" if finding.doubt else ""
    yield f"    {_count(finding)}{doubt}. {finding.rule.advice}"
    for example in finding.examples[:_EXAMPLES]:
        yield f"    - {_describe_example(example, facts)}"
    if finding.count > _EXAMPLES and finding.examples:
        yield f"    - and {finding.count - len(finding.examples[:_EXAMPLES]):,} more"


def _name(finding: Row) -> str:
    return f"{finding.rule.title} [{finding.rule.code}]"


def _count(finding: Row) -> str:
    """Return how often a rule hit: "1 of 3,000 URLs", but "1 host"."""
    unit, new = finding.rule.unit, "" if finding.new is None else f", {finding.new:,} new"
    rate = "" if finding.rate is None else f", {show_rate(finding.rate, unit)}"
    if not finding.of:
        return f"{count_units(finding.count, unit)}{rate}{new}"
    return f"{finding.count:,} of {count_units(finding.of, unit)}{rate}{new}"


def _tabulate_folders(folders: Sequence[Row]) -> Iterator[str]:
    """Yield what became of the old URLs, a line for each folder."""
    for folder, *counts in (OLD_COLUMNS, *(row.values() for row in folders[:MOST_FOLDERS])):
        yield f"{excerpt(folder, _MAX_FOLDER):<{_MAX_FOLDER}}" + "".join(f"{n:>11}" for n in counts)
    if len(folders) > MOST_FOLDERS:
        yield f"and {len(folders) - MOST_FOLDERS:,} more folders"


def _describe_example(example: Row, facts: Row) -> str:
    document = facts.files.get(example.document, example.document)
    parts = [example.url or document, example.detail and f"({example.detail})"]
    if example.file:
        parts.append(f"in {_place(example.file, example.file_line)}")
    if document and example.document != (example.url or example.document):
        parts.append(f"{'listed in' if example.file else 'in'} {_place(document, example.line)}")
    return " ".join(excerpt(part, _MAX_TEXT) for part in parts if part)


def _place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}, line {line}"


def _summarize(audit: Row) -> Iterator[str]:
    facts = audit.facts
    counts = [
        f"{number} {GRADES[severity]}{'s' * (number != 1)}"
        for severity, number in count_findings(audit.findings).items()
        if number
    ]
    hits = ", ".join(counts) or "no findings"
    reasons = Counter(each.reason for each in facts.not_run if not each.is_error)
    why = "; ".join(f"{number} as {reason}" for reason, number in reasons.items())
    if not facts.sitemaps:
        why = ""  # all of them, for one reason
    not_run = f"{len(facts.not_run)} not run" + (f": {why}" if why else "")
    yield f"{hits}; {len(facts.passed)} rules passed, {excerpt(not_run, _MAX_WHY)}"
    for unit, tally, number in find_bounds(facts):
        yield f"{number} of the rules that passed are about {unit}: {show_bound(tally)}"
    for each in facts.not_run:
        if each.is_error:
            yield f"broken: {each.rule.code}: {excerpt(each.reason, _MAX_TEXT)}"


def format_json(audit: Row) -> str:
    """Return one JSON object: findings, and facts."""
    return json.dumps(audit, indent=2) + "\n"  # ASCII: it may be shown in a terminal


MAX_RESULTS = 5_000
"""Results of a run that GitHub shows."""
_SARIF = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_MAX_MESSAGE = 500


def format_sarif(audit: Row) -> str:
    """Return one run, with results for each rule and sitemap, the gravest first.

    What is to be mended in a file of a built folder has a result of its own there.
    """
    findings, facts = audit.findings, audit.facts
    rules = [finding.rule for finding in findings] + facts.passed
    rules += [each.rule for each in facts.not_run]
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    results = [
        {"ruleIndex": numbers[finding.rule.code], **result}
        for finding in findings
        for result in _make_results(finding, facts)
    ]
    rules_described = [_describe_rule(rule) for rule in rules]
    driver = {"name": "sitemapreader", "semanticVersion": facts.version, "rules": rules_described}
    begun = datetime.fromisoformat(facts.begun).astimezone(UTC)
    invocation = {
        "executionSuccessful": not any(each.is_error for each in facts.not_run),
        "startTimeUtc": begun.strftime("%Y-%m-%dT%H:%M:%SZ"),
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


def _describe_rule(rule: Row) -> dict[str, Any]:
    described = {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning or rule.title},
        "help": {"text": " ".join(part for part in (rule.detects, rule.advice) if part) or "-"},
        "defaultConfiguration": {"level": GRADES[rule.severity]},
        "properties": {"tags": [rule.category]},
    }
    if rule.sources:
        described["helpUri"] = rule.sources[0]
    return described


def _make_results(finding: Row, facts: Row) -> Iterator[dict[str, Any]]:
    """Yield a result for each example with a file, and one for each sitemap."""
    of_files = Counter[str]()
    for each in finding.examples:
        if each.file:
            of_files[each.document] += 1
            text = f"{finding.rule.title}: {_show_hit(each)}"
            location = _locate(each.file, each.file_line, facts)
            result = _make_result(finding, text, (each.file, each.url), location, 1, each.document)
            if each.document:
                result["relatedLocations"] = [
                    {"message": {"text": "listed here"}, **_locate(each.document, each.line, facts)}
                ]
            yield result
    for place in finding.places or [Row(document="", count=finding.count, line=None)]:
        count = place.count - of_files[place.document]
        if count <= 0:
            continue
        shown = "; ".join(
            _show_hit(each)
            for each in [
                each
                for each in finding.examples
                if each.document == place.document and not each.file
            ][:3]
        )
        text = f"{finding.rule.title}: {count_units(count, finding.rule.unit)}"
        if place.document and place.document not in facts.files:
            text += f" in {excerpt(place.document, _MAX_MESSAGE)}"
        text += f", such as {shown}" if shown else ""
        location = _locate(place.document, place.line, facts)
        yield _make_result(finding, text, (place.document,), location, count, place.document)


def _show_hit(hit: Row) -> str:
    return excerpt(" ".join(part for part in (hit.url, hit.detail) if part), _MAX_MESSAGE)


def _make_result(
    finding: Row, text: str, place: Iterable[str], location: Any, count: int, document: str
) -> dict[str, Any]:
    # the fingerprint of a result is the same in each run, so that a host knows what is new
    identity = sha256("\n".join((finding.rule.code, *place)).encode("utf-8", "replace")).hexdigest()
    cause = f" (the same fault as {finding.cause})" if finding.cause else ""
    return {
        "ruleId": finding.rule.code,
        "level": GRADES[finding.severity],
        "message": {"text": text + cause},
        "partialFingerprints": {"ruleAndSitemap/v1": identity},
        "properties": {"count": count, "sitemap": document},
        "locations": [location],
    }


def _locate(name: str, line: int | None, facts: Row) -> dict[str, Any]:
    """Return the place of a file or a sitemap, or a stand-in if it is in no file.

    GitHub takes relative references and files below the checkout, and refuses web addresses.
    """
    name = facts.files.get(name) or name or facts.source
    if "://" in name:
        uri = quote(os.fsencode(name.partition("://")[2].strip("/")))
    else:
        path = PurePath(name)
        uri = path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
    region = {"startLine": line or 1}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _notify(facts: Row, results: int) -> Iterator[dict[str, Any]]:
    """Yield what was left out, and what was not run."""
    if results > MAX_RESULTS:
        text = f"{results - MAX_RESULTS} of {results} results are left out"
        yield {"level": "warning", "message": {"text": text}}
    for unit, tally, number in find_bounds(facts):
        text = f"{number} rules about {unit} passed: {show_bound(tally)}"
        yield {"level": "note", "message": {"text": text}}
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


def format_markdown(audit: Row, title: str = "") -> str:
    """Return a table of the findings and their details, for a pull request.

    Texts of strangers are in code spans, and nothing is a link.
    """
    findings, facts = audit.findings, audit.facts
    read = "everything was read" if facts.complete else "not everything was read"
    lines = [
        f"# {' '.join(title.split()) or f'Sitemaps of {_code(facts.source)}'}",
        "",
        f"{count_units(facts.urls, 'URLs')} in {count_units(facts.sitemaps, 'sitemaps')}; {read}",
        "",
    ]
    if findings:
        lines += ["| | finding | how many |", "|---|---|---|"]
    for each in findings:
        same = "the same fault: " if each.cause else ""
        grade, rule = GRADES[each.severity], each.rule
        lines.append(_row([grade, f"{same}{rule.title} `{rule.code}`", _count(each)]))
    said = f"{len(facts.passed)} rules passed, {len(facts.not_run)} were not run."
    lines += ["" if findings else "No findings.", said]
    for unit, tally, number in find_bounds(facts):
        lines.append(f"{number} of the rules that passed are about {unit}: {show_bound(tally)}.")
    lines.append("")
    if facts.old_folders:
        lines += [_row(OLD_COLUMNS), "|---" + "|---:" * (len(OLD_COLUMNS) - 1) + "|"]
        for row in facts.old_folders[:MOST_FOLDERS]:
            folder, *counts = row.values()
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


def _detail(finding: Row) -> Iterator[str]:
    yield f"## {finding.rule.title}"
    yield ""
    yield f"{finding.rule.advice}{f' ({finding.doubt})' if finding.doubt else ''}"
    yield ""
    for example in finding.examples:
        parts = (example.url or example.document, example.detail)
        yield "- " + " ".join(_code(part) for part in parts if part)
    if finding.count > len(finding.examples):
        yield f"- and {finding.count - len(finding.examples):,} more"
    yield ""


def _code(text: str) -> str:
    """Return a text of strangers as a code span, which no character of it can end."""
    text = " ".join(excerpt(text, _MAX_TEXT).split())
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    # In a table a bar ends the cell, in a code span too.
    text = text.replace("|", "\\|")
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def format_junit(audit: Row, fail_on: str | None = "error") -> str:
    """Return a suite of tests for each category, with a case for each rule.

    A finding of `fail_on` and above is a failure, unless it has no hits that a baseline lacks.
    """
    facts, cases = audit.facts, defaultdict[str, list[Element]](list)
    for finding in audit.findings:
        fails = is_failure(finding, fail_on)
        said = SubElement(_case(finding.rule, cases), "failure" if fails else "system-out")
        same = [f"The same fault as {finding.cause}."] if finding.cause else []
        advice = [finding.rule.advice, *same, *_shown(finding)]
        said.text = _as_xml("\n".join([_count(finding), *advice]))
        if fails:
            said.set("message", f"{finding.rule.title}: {_count(finding)}")
    bounds = {unit: show_bound(tally) for unit, tally, _ in find_bounds(facts)}
    for rule in facts.passed:
        case = _case(rule, cases)
        if rule.unit in bounds:
            SubElement(case, "system-out").text = bounds[rule.unit]
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


def _case(rule: Row, cases: dict[str, list[Element]]) -> Element:
    case = Element("testcase", name=rule.code, classname=f"sitemaps.{rule.category.lower()}")
    cases[rule.category].append(case)
    return case


def _shown(finding: Row) -> Iterator[str]:
    for example in finding.examples:
        detail = f" ({example.detail})" if example.detail else ""
        where = f" in {_place(example.file, example.file_line)}" if example.file else ""
        parts = (example.url or example.document, detail, where)
        yield "".join(excerpt(part, _MAX_TEXT) for part in parts)


def _as_xml(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
