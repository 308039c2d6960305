"""Audits for reports: findings and facts made by hand, and those of a planted site."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from sitemapreader.audit import AuditOptions, audit_sync, models
from sitemapreader.audit.models import Category
from sitemapreader.audit.report.templates import format_audit
from sitemapreader.audit.values import (
    AuditReport,
    DocumentFacts,
    Facts,
    Finding,
    Hit,
    Month,
    NotRun,
    PageTally,
    Place,
    Rule,
)
from tests.support.auditing import HOST, NOW
from tests.support.planted import plant_site

SITE = HOST


def make_rule(code: str = "url-fragment", **changes: Any) -> Rule:
    """Make a rule; all but its code has a default."""
    texts = {
        "detects": "the condition, with its threshold of 20",
        "meaning": "Search engines drop what comes after the mark, so the URL is listed twice.",
        "advice": "List the URL without it.",
        "source": "https://www.sitemaps.org/protocol.html",
    }
    title = f"What {code} finds"
    rule = models.make_rule(code, Category.URLS, "warning", title, **texts)
    return attrs.evolve(rule, **changes)


def make_example(url: str, detail: str = "", document: str = "") -> Hit:
    """Make a hit of the facts."""
    return Hit(url=url, detail=detail, document=document)


def make_finding(code: str = "url-fragment", count: int = 3, **changes: Any) -> Finding:
    """Make a finding with three examples in one sitemap."""
    document = f"{SITE}/sitemap-0.xml"
    examples = [
        make_example(f"{SITE}/p/{n}#x", "x", document) for n in range(min(count, 3))
    ]
    fields = {
        "rule": make_rule(code),
        "severity": "warning",
        "count": count,
        "places": [Place(document=document, count=count)],
        "places_total": 1,
        "examples": examples,
        "hits": changes.get("examples", examples),
        **changes,
    }
    return Finding(**fields)


def leave_out(rule: Rule, reason: str, *, is_error: bool = False) -> NotRun:
    """Make a rule of the facts that was not run."""
    return NotRun(rule=rule, reason=reason, is_error=is_error)


def make_facts(**changes: Any) -> Facts:
    """Make the facts of a site without URLs."""
    fields = {"source": SITE, "begun": NOW.isoformat(), "version": "1.0", **changes}
    return Facts(**fields)


def render(name: str, findings: Any, facts: Facts, *args: Any, **more: Any) -> str:
    """Return an audit in a format."""
    return format_audit(name, AuditReport([*findings], facts), *args, **more)


def make_document(url: str, parent: str = "", **more: Any) -> DocumentFacts:
    """Make a document of the facts."""
    return DocumentFacts(url=url, parent=parent, **more)


def make_month(month: str, urls: int, alike: int = 0, future: int = 0) -> Month:
    """Make a month of the facts."""
    return Month(month=f"{month}-01", urls=urls, alike=alike, future=future)


def make_tally(listed: int, visited: int, judged: int, **more: Any) -> PageTally:
    """Make what the facts say of visited pages."""
    fields: dict[str, Any] = {
        "exact": judged == listed,
        "sampled": judged < listed,
        "population": listed,
        **more,
    }
    return PageTally(
        listed=listed, reached=visited, visited=visited, judged=judged, **fields
    )


@cache
def audit_shop() -> AuditReport:
    """Return the audit of a planted site: some of every chart, and 50 findings."""
    with TemporaryDirectory() as folder:
        plant_site(Path(folder))
        figures = AuditOptions(now=NOW, examples=5)
        with audit_sync(folder, figures=figures, ignore=["comparison"]) as result:
            facts = attrs.evolve(result.facts, source=f"{SITE}/", files={})
            return AuditReport(result.findings, facts)


def mark_texts(value: Any, mark: str, name: str = "") -> Any:
    """Put a mark behind URLs, details, reasons and languages of an audit, however deep."""
    if isinstance(value, str) and mark and ("://" in value or "-" in value):
        return (
            value if name in ("begun", "month", "newest", "lastmod") else value + mark
        )
    if isinstance(value, list):
        return [mark_texts(each, mark, name) for each in value]
    if isinstance(value, dict):
        return {key: mark_texts(each, mark, key) for key, each in value.items()}
    if attrs.has(type(value)) and not isinstance(value, Rule):
        fields = {
            each.name: getattr(value, each.name) for each in attrs.fields(type(value))
        }
        return type(value)(**mark_texts(fields, mark))
    return value


_LEVELS = {"error", "warning", "note", "none"}


def check_sarif(log: Any) -> None:
    """Check what the schema of SARIF 2.1.0 demands of the parts that are written."""
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run.keys() == {"tool", "invocations", "columnKind", "results"}
    rules = run["tool"]["driver"]["rules"]
    ids = [rule["id"] for rule in rules]
    assert len(ids) == len(set(ids))
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in _LEVELS
        assert all(
            rule[key]["text"] for key in ("shortDescription", "fullDescription", "help")
        )
        assert rule.get("helpUri", "https://").startswith("https://")
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in _LEVELS
        assert result["message"]["text"]
        assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
        for location in result["locations"]:
            physical = location["physicalLocation"]
            assert physical["region"]["startLine"] >= 1
            uri = physical["artifactLocation"]["uri"]
            assert uri.isascii()
            assert not uri.startswith(("/", "http:", "https:"))
    (invocation,) = run["invocations"]
    assert isinstance(invocation["executionSuccessful"], bool)
    assert invocation["startTimeUtc"].endswith("Z")
    for said in invocation["toolExecutionNotifications"]:
        assert said["message"]["text"]
        assert said["level"] in _LEVELS
