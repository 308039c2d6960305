"""Audits for reports: findings and facts made by hand, and those of a planted site."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sitemapreader.audit import AuditOptions, Row, audit_sync, models
from sitemapreader.audit.models import Category, make_plain
from sitemapreader.audit.report.templates import format_audit
from tests.support.auditing import HOST, NOW
from tests.support.planted import plant_site

SITE = HOST


def make_rule(code: str = "url-fragment", **changes: Any) -> Row:
    """Make a rule; all but its code has a default."""
    texts = {
        "detects": "the condition, with its threshold of 20",
        "meaning": "Search engines drop what comes after the mark, so the URL is listed twice.",
        "advice": "List the URL without it.",
        "source": "https://www.sitemaps.org/protocol.html",
    }
    title = f"What {code} finds"
    return Row(
        models.make_rule(code, Category.URLS, "warning", title, **texts), **changes
    )


def make_example(url: str, detail: str = "", document: str = "") -> Row:
    """Make a hit of the facts."""
    return Row(
        url=url,
        detail=detail,
        document=document,
        line=None,
        file="",
        file_line=None,
        new=None,
    )


def make_finding(code: str = "url-fragment", count: int = 3, **changes: Any) -> Row:
    """Make a finding with three examples in one sitemap."""
    document = f"{SITE}/sitemap-0.xml"
    fields = {
        "rule": make_rule(code),
        "severity": "warning",
        "count": count,
        "of": 0,
        "places": [Row(document=document, count=count, url="", line=None, new=None)],
        "places_total": 1,
        "examples": [
            make_example(f"{SITE}/p/{n}#x", "x", document) for n in range(min(count, 3))
        ],
    }
    nothing: dict[str, Any] = {
        "new": None,
        "rate": None,
        "urls": 0,
        "cause": "",
        "doubt": "",
        "also": [],
    }
    found = Row(fields, **{**nothing, **changes})
    return Row(found, hits=found.examples)


def leave_out(rule: Row, reason: str, *, is_error: bool = False) -> Row:
    """Make a rule of the facts that was not run."""
    return Row(rule=rule, reason=reason, is_error=is_error)


_COUNTS = (
    *("seconds", "urls", "distinct", "dated", "images", "videos", "news", "alternates"),
    *(
        "sitemaps",
        "sitemaps_not_read",
        "sections_others",
        "hosts_others",
        "languages_others",
    ),
    "documents_total",
)
_LISTS = (
    *("months", "sections", "hosts", "languages", "documents", "passed", "not_run"),
    "old_folders",
)
_NOTHING = ("pages", "old_pages", "known_urls", "compared_pages", "baseline")


def make_facts(**changes: Any) -> Row:
    """Make the facts of a site without URLs."""
    facts = Row(
        source=SITE,
        begun=NOW.isoformat(),
        version="1.0",
        complete=True,
        statuses={},
        files={},
    )
    facts |= {
        "old_complete": True,
        "base_url": "",
        **dict.fromkeys(_COUNTS, 0),
        **dict.fromkeys(_NOTHING),
    }
    return Row({**facts, **{name: [] for name in _LISTS}, **changes})


def describe(findings: Any, facts: Row) -> Row:
    """Return the JSON of an audit."""
    return Row(schema=1, findings=make_plain(findings), facts=make_plain(facts))


def render(name: str, findings: Any, facts: Row, *args: Any, **more: Any) -> str:
    """Return an audit in a format, made of its JSON."""
    return format_audit(name, describe(findings, facts), *args, **more)


def make_document(url: str, parent: str = "", **more: Any) -> Row:
    """Make a document of the facts."""
    counts = (
        "urls",
        "children",
        "bytes_raw",
        "bytes_inflated",
        "dated",
        "findings",
        "depth",
    )
    texts = {"role": "sitemap", "format": "", "status": "complete", "reason": ""}
    nothing = dict.fromkeys(("http_status", "newest", "lastmod"))
    return Row(
        {
            "url": url,
            "parent": parent,
            **texts,
            **nothing,
            **dict.fromkeys(counts, 0),
            **more,
        }
    )


def make_month(month: str, urls: int, alike: int = 0, future: int = 0) -> Row:
    """Make a month of the facts."""
    return Row(month=f"{month}-01", urls=urls, alike=alike, future=future)


def make_tally(listed: int, visited: int, judged: int, **more: Any) -> Row:
    """Make what the facts say of visited pages."""
    fields = {
        "not_judged": {},
        "exact": judged == listed,
        "bound": None,
        "population": listed,
        "reached": visited,
        "sampled": judged < listed,
        "faulty": None,
        "sample": None,
        **more,
    }
    return Row(listed=listed, visited=visited, judged=judged, **fields)


@cache
def audit_shop() -> Row:
    """Return the JSON of the audit of a planted site: some of every chart, and 50 findings."""
    with TemporaryDirectory() as folder:
        plant_site(Path(folder))
        figures = AuditOptions(now=NOW, examples=5)
        with audit_sync(folder, figures=figures, ignore=["comparison"]) as result:
            result.facts |= {"source": f"{SITE}/", "files": {}}
            return result.describe()


def mark_texts(value: Any, mark: str, name: str = "") -> Any:
    """Put a mark behind URLs, details, reasons and languages of an audit, however deep."""
    if isinstance(value, str) and mark and ("://" in value or "-" in value):
        return (
            value if name in ("begun", "month", "newest", "lastmod") else value + mark
        )
    if isinstance(value, list):
        return [mark_texts(each, mark, name) for each in value]
    if isinstance(value, dict):
        return Row(
            (key, each if key == "rule" else mark_texts(each, mark, key))
            for key, each in value.items()
        )
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
