"""An audit as one HTML file, which needs no network and no JavaScript."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from datetime import UTC
from functools import cache
from hashlib import sha256
from importlib.resources import files
from shlex import quote
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit import report as figures
from sitemapreader.audit.models import AuditRule, Category, Facts, Finding, NotRun
from sitemapreader.audit.report import rank_findings
from sitemapreader.audit.report.charts import (
    BarPart,
    build_matrix,
    chart_months,
    find_main_origin,
    is_failed_probe,
    shorten_url,
    stack_parts,
    sum_years,
)
from sitemapreader.errors import name_extra
from sitemapreader.issues import Severity, excerpt
from sitemapreader.urls import host_of, origin_of

with name_extra("an HTML report needs", "audit"):
    from jinja2 import Environment, StrictUndefined, Template
    from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_PARTS = files("sitemapreader.audit.report")
_MAX_TEXT = 500
"""Characters of a stranger's text that are shown: one URL cannot fill the report."""
_KINDS = {
    Severity.ERROR: ("error", "Error", "errors"),
    Severity.WARNING: ("warning", "Warning", "warnings"),
    Severity.INFO: ("info", "Note", "notes"),
}
"""Severity, the gravest first -> class in the style, word for a badge, and noun in the plural."""


def format_html(findings: Sequence[Finding], facts: Facts, title: str = "") -> str:
    """Return the report: one HTML file with its style, its script and its charts.

    `title` stands above it.
    """
    template = _load_template()
    style, script = _read_part("style.css"), _read_part("script.js")
    return template.render(
        findings=findings,
        facts=facts,
        title=title,
        kinds=_KINDS,
        # they are ours, and hashed as they stand, so neither is escaped
        style=Markup(style),  # noqa: S704 (a file of this package)
        style_hash=_hash_asset(style),
        script=Markup(script),  # noqa: S704 (a file of this package)
        script_hash=_hash_asset(script),
        counts=_count_severities(findings),
        first=rank_findings(findings, facts)[:_MOST_FIRST],
        categories=_chart_categories(findings),
        rates=_chart_rates(findings, "pages"),
        old_rates=_chart_rates(findings, "old URLs"),
        old_columns=figures.OLD_COLUMNS,
        old_origin=origin_of(facts.old_folders[0].folder) if facts.old_folders else "",
        cells=attrs.astuple,
        reasons=_REASONS,
        passed=_group_rules(facts.passed),
        not_run=_group_reasons(facts.not_run),
        months=chart_months(facts.months, facts.begun) if facts.months else None,
        years=sum_years(facts.months),
        matrix=build_matrix(facts.languages) if facts.languages else None,
        probes=sum(map(is_failed_probe, facts.documents)),
        origin=find_main_origin(facts.documents),
    )


_REASONS = {
    "robots": "robots.txt forbids them to us, or could not be read",
    "protection": "a bot protection answered in their place",
    "asked-to-wait": "the server asked for fewer requests, or was given up",
    "cookies": "redirects lead in a circle that sets a cookie",
    "gate": "many pages lead to one address for the time being, as for consent",
    "language": "they lead to a version in another language for the time being",
    "network": "their host hardly answers, or its address may not be asked",
    "time": "their turn did not come within the time for all visits",
}
"""Why a visit says nothing about a page, in words."""


def _read_part(name: str) -> str:
    return _PARTS.joinpath(name).read_text(encoding="utf-8")


def _hash_asset(text: str) -> str:
    """Return the source expression that allows one style or script in a CSP."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _load_template() -> Template:
    """Compile the template, in which every text of a stranger is made harmless."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # SECURITY: it is called with each value that the template writes, before that is escaped,
        # so no control or bidi character and no endless URL can be forgotten.
        finalize=_make_harmless,
    )
    environment.filters |= {
        "number": figures.show_number,
        "units": figures.count_units,
        "noun": figures.inflect,
        "moment": lambda moment: f"{moment.astimezone(UTC):%d %B %Y, %H:%M UTC}".lstrip("0"),
        "kibibytes": lambda count: f"{count / 1024:,.1f}",
        "host": _find_host,
        "shell": quote,
    }
    environment.globals |= {
        "share": figures.show_share,
        "rate": figures.show_rate,
        "shorten": shorten_url,
        "is_probe": is_failed_probe,
        "stack": stack_parts,
    }
    return environment.from_string(_read_part("template.html.j2"))


def _make_harmless(value: Any) -> Any:
    """Cut and escape a text that is not markup; write a position with two digits."""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    if isinstance(value, str) and not isinstance(value, Markup):
        return excerpt(value, _MAX_TEXT)
    return value


def _find_host(source: str) -> str:
    """Return the host of a source that may be a link, or ""."""
    return host_of(source) if source.startswith(("http://", "https://")) else ""


def _count_severities(findings: Iterable[Finding]) -> dict[Severity, int]:
    """Count rules that hit, the gravest severity first, each with its number or 0."""
    counts = Counter(finding.severity for finding in findings)
    return {severity: counts[severity] for severity in _KINDS}


def _chart_categories(findings: Sequence[Finding]) -> list[tuple[str, list[BarPart], str]]:
    """Return name, bar and words of each category with findings, gravest first."""
    rows = []
    for category in Category:
        rules = [finding for finding in findings if finding.rule.category == category]
        if rules:
            rows.append((str(category), _count_severities(rules)))
    rows.sort(key=lambda row: [-count for count in row[1].values()])
    most = max((sum(counts.values()) for _, counts in rows), default=0)
    return [
        (
            name,
            stack_parts(((_KINDS[each][0], count) for each, count in counts.items()), most),
            ", ".join(
                figures.count_units(count, _KINDS[each][2])
                for each, count in counts.items()
                if count
            ),
        )
        for name, counts in rows
    ]


_MOST_FIRST = 5
"""Findings to begin with."""


@attrs.frozen
class _RateBar:
    """The share of pages that a rule hits, in percent of the longest bar."""

    code: str
    title: str
    kind: str
    share: float
    low: float
    width: float
    words: str


def _chart_rates(findings: Iterable[Finding], unit: str) -> list[_RateBar]:
    """Return the rules about such pages that hit, with how sure their shares are."""
    rows = []
    for each in findings:
        if each.rule.unit == unit and each.of:
            share = each.count / each.of
            words = f"{figures.show_share(each.count, each.of)} of {each.of:,}"
            low = high = share
            if each.rate is not None:
                share, low, high = each.rate.share, each.rate.low, each.rate.high
                words = figures.show_rate(each.rate, unit)
            rows.append((each, share, low, high, words))
    most = max((high for _, _, _, high, _ in rows), default=0) / 100
    return [
        _RateBar(
            each.code,
            each.rule.title,
            _KINDS[each.severity][0],
            share / most,
            low / most,
            (high - low) / most,
            words,
        )
        for each, share, low, high, words in rows
    ]


def _group_rules(rules: Sequence[AuditRule]) -> list[tuple[str, list[AuditRule]]]:
    """Return the rules of each category that has some."""
    groups = [
        (str(category), [rule for rule in rules if rule.category == category])
        for category in Category
    ]
    return [(name, members) for name, members in groups if members]


def _group_reasons(not_run: Sequence[NotRun]) -> list[tuple[str, list[NotRun]]]:
    """Return the rules for each reason not to run them, broken rules first."""
    groups: dict[str, list[NotRun]] = {}
    for each in sorted(not_run, key=lambda each: not each.is_error):
        groups.setdefault(each.reason, []).append(each)
    return list(groups.items())
