"""An audit as SARIF 2.1.0, which code hosts show beside a change.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sitemapreader.audit.figures import count_units
from sitemapreader.audit.models import Place
from sitemapreader.issues import Severity, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemapreader.audit.models import AuditRule, Facts, Finding

MAX_RESULTS = 5_000
"""Results of a run that GitHub shows."""
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_MAX_TEXT = 500


def format_audit(findings: Sequence[Finding], facts: Facts) -> str:
    """Return one run, with a result for each rule and sitemap, the gravest first."""
    rules = [finding.rule for finding in findings] + list(facts.passed)
    rules += [each.rule for each in facts.not_run]
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    results = [
        _make_result(finding, place, numbers[finding.code], facts)
        for finding in findings
        for place in finding.places or (Place("", finding.count),)
    ]
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "sitemapreader",
                        "semanticVersion": facts.version,
                        "rules": [_describe_rule(rule) for rule in rules],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": not any(each.is_error for each in facts.not_run),
                        "startTimeUtc": facts.begun.strftime("%Y-%m-%dT%H:%M:%SZ"),
                        "toolExecutionNotifications": list(_notify(facts, len(results))),
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": results[:MAX_RESULTS],
            }
        ],
    }
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _describe_rule(rule: AuditRule) -> dict[str, Any]:
    described = {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning or rule.title},
        "help": {"text": " ".join(part for part in (rule.detects, rule.advice) if part) or "-"},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [str(rule.category)]},
    }
    if rule.sources:
        described["helpUri"] = rule.sources[0]
    return described


def _make_result(finding: Finding, place: Place, number: int, facts: Facts) -> dict[str, Any]:
    examples = [each for each in finding.examples if each.document == place.document]
    shown = "; ".join(
        excerpt(" ".join(part for part in (each.url, each.detail) if part), _MAX_TEXT)
        for each in examples[:3]
    )
    text = f"{finding.rule.title}: {count_units(place.count, finding.rule.unit)}"
    # the fingerprint of a result is the same in each run, so that a host knows what is new
    identity = sha256(f"{finding.code}\n{place.document}".encode()).hexdigest()
    if place.document and place.document not in facts.files:
        text += f" in {excerpt(place.document, _MAX_TEXT)}"
    return {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{text}, such as {shown}" if shown else text},
        "partialFingerprints": {"ruleAndSitemap/v1": identity},
        "properties": {"count": place.count, "sitemap": place.document},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _name_artifact(place.document, facts)},
                    "region": {"startLine": place.line or 1},
                }
            }
        ],
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
        yield {
            "level": "warning",
            "message": {"text": f"{results - MAX_RESULTS} of {results} results are left out"},
        }
    for each in facts.not_run:
        yield {
            "level": "error" if each.is_error else "note",
            "message": {"text": f"{each.rule.code} was not run: {excerpt(each.reason, _MAX_TEXT)}"},
            "associatedRule": {"id": each.rule.code},
        }
