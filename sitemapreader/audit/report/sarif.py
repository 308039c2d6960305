"""An audit as SARIF 2.1.0, for code hosts."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import excerpt
from sitemapreader.audit.models import PAGE_UNITS
from sitemapreader.audit.report import GRADES, MAX_TEXT, find_bounds
from sitemapreader.audit.values import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.audit.report.outcome import Outcome
    from sitemapreader.audit.values import AuditReport, Facts, Finding, Hit, Rule

MAX_RESULTS = 5_000
"""Results of a run that GitHub shows."""
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def format_sarif(audit: AuditReport, outcome: Outcome) -> str:
    """Return one run, with results for each rule and sitemap, the gravest first.

    Each page, and each hit in a file of a built folder, has a result of its own. Beside a baseline,
    a result says whether it is new.
    """
    findings = audit.findings
    facts = audit.facts
    rules = [each.rule for each in findings] + facts.passed
    rules += [each.rule for each in facts.not_run]
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    results = [
        {"ruleIndex": numbers[finding.rule.code], **result}
        for finding in findings
        for result in _make_results(finding, facts)
    ]
    begun = datetime.fromisoformat(facts.begun).astimezone(UTC)
    invocation = {
        "executionSuccessful": outcome.is_whole,
        "exitCode": outcome.code,
        "exitCodeDescription": outcome.reason,
        "startTimeUtc": begun.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "toolExecutionNotifications": list(_notify(facts, outcome, len(results))),
    }
    driver = {
        "name": "sitemapreader",
        "semanticVersion": facts.version,
        "rules": [_describe_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results[:MAX_RESULTS],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _describe_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning or rule.title},
        "help": {
            "text": " ".join(part for part in (rule.detects, rule.advice) if part)
            or "-"
        },
        "defaultConfiguration": {"level": GRADES[rule.severity]},
        "properties": {"tags": [rule.category]},
        **({"helpUri": rule.sources[0]} if rule.sources else {}),
    }


def _make_results(finding: Finding, facts: Facts) -> Iterator[dict[str, Any]]:
    """Yield a result for each page and each hit with a file, and for the rest of each sitemap."""
    is_about_pages = finding.rule.unit in PAGE_UNITS
    named = [each for each in finding.hits if each.file or is_about_pages]
    for each in named:
        listed = _locate(each.document, each.line, facts)
        if each.file:
            location = _locate(each.file, each.file_line, facts)
        else:
            location = listed
        result = _make_result(
            finding,
            "ruleAndPage/v1",
            [each.file, each.url] if each.file else [each.url],
            f": {_show_result(each)}",
            location,
            each,
        )
        if each.file and each.document:
            result["relatedLocations"] = [
                {"message": {"text": "listed here"}, **listed}
            ]
        yield result
    of_sitemaps = Counter(each.document for each in named)
    rest = finding.count - len(named)
    nowhere = Place(document="", count=rest + of_sitemaps[""], new=finding.new)
    for place in finding.places or [nowhere]:
        count = place.count - of_sitemaps[place.document]
        name = place.document
        if count > 0:
            text = f": {count_units(count, finding.rule.unit)}"
            if name and name not in facts.files:
                text += f" in {_quote_uri(name)}"
            others = (
                each for each in finding.hits if each.document == name and not each.file
            )
            shown = "; ".join([_show_result(each) for each in islice(others, 3)])
            text += f", such as {shown}" if shown else ""
            location = _locate(name, place.line, facts)
            yield _make_result(
                finding, "ruleAndSitemap/v1", [name], text, location, place, count
            )


def _show_result(hit: Hit) -> str:
    return _quote_uri(" ".join(part for part in (hit.url, hit.detail) if part))


def _quote_uri(text: str) -> str:
    """Return a text of strangers without links: code hosts show `[text](URL)` as one.

    SARIF 2.1.0, section 3.11.6.
    """
    return excerpt(text, MAX_TEXT).replace("](", "] (")


def _make_result(
    finding: Finding,
    kind: str,
    place: list[str],
    text: str,
    location: Any,
    hit: Hit | Place,
    count: int = 1,
) -> dict[str, Any]:
    """Return a result whose fingerprint of a kind is made of its place."""
    # the fingerprint of a result is the same in each run, so that a host knows what is new
    identity = sha256(
        "\n".join((finding.rule.code, *place)).encode("utf-8", "replace")
    ).hexdigest()
    if finding.new is None:
        state = ""
    else:
        state = "new" if hit.new else "unchanged"
    if finding.cause:
        cause = f" (the same fault as {finding.cause})"
    elif finding.also:
        others = ", ".join(each.code for each in finding.also)
        cause = f" (in part also found by {others})"
    else:
        cause = ""
    return {
        "ruleId": finding.rule.code,
        "level": GRADES[finding.severity],
        "message": {"text": f"{finding.rule.title}{text}{cause}"},
        "partialFingerprints": {kind: identity},
        "properties": {"count": count, "sitemap": hit.document},
        "locations": [location],
        **({"baselineState": state} if state else {}),
    }


def _locate(
    name: str,
    line: int | None,
    facts: Facts,
) -> dict[str, Any]:
    """Return the place of a file or a sitemap, or a stand-in if it is in no file.

    GitHub takes relative references and files below the checkout, and refuses web addresses.
    """
    name = facts.files.get(name) or name or facts.source
    path = PurePath(name)
    if "://" in name:
        uri = quote(os.fsencode(name.partition("://")[2].strip("/")))
    elif path.is_absolute():
        uri = path.as_uri()
    else:
        uri = quote(os.fsencode(path.as_posix()))
    region = {"startLine": line or 1}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _notify(facts: Facts, outcome: Outcome, results: int) -> Iterator[dict[str, Any]]:
    """Yield a notification for each rule that was not run and each omission."""
    if not outcome.is_whole:
        yield {"level": "error", "message": {"text": _quote_uri(outcome.reason)}}
    if results > MAX_RESULTS:
        text = f"{results - MAX_RESULTS} of {results} results are left out"
        yield {"level": "warning", "message": {"text": text}}
    for unit, bound, number in find_bounds(facts):
        yield {
            "level": "note",
            "message": {
                "text": f"{count_units(number, 'rules')} about {unit} passed: {bound}"
            },
        }
    for each in facts.not_run:
        yield {
            "level": "error" if each.is_error else "note",
            "message": {
                "text": f"{each.rule.code} was not run: {_quote_uri(each.reason)}"
            },
            "associatedRule": {"id": each.rule.code},
        }
