"""An audit as one HTML file, which needs no network and no JavaScript."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from shlex import quote
from typing import TYPE_CHECKING, Any

from sitemapreader.audit import report as figures
from sitemapreader.audit.models import Category, Row
from sitemapreader.audit.report.charts import (
    BarPart,
    build_matrix,
    chart_months,
    stack_parts,
    sum_years,
)
from sitemapreader.errors import name_extra
from sitemapreader.issues import excerpt
from sitemapreader.urls import host_of, origin_of

with name_extra("an HTML report needs", "audit"):
    from jinja2 import Environment, StrictUndefined, Template
    from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_PARTS = files("sitemapreader.audit.report")
_MAX_TEXT = 500
"""Characters of a stranger's text that are shown: one URL cannot fill the report."""
_KINDS = {
    "error": ("Error", "errors"),
    "warning": ("Warning", "warnings"),
    "info": ("Note", "notes"),
}
"""Severity, the gravest first -> word for a badge, and noun in the plural."""
_MOST_FIRST = 5
"""Findings to begin with."""


def format_html(audit: Row, title: str = "") -> str:
    """Return the report: one HTML file with its style, its script and its charts.

    `title` stands above it.
    """
    template = _load_template()
    findings, facts = audit.findings, audit.facts
    style, script = _read_part("style.css"), _read_part("script.js")
    documents = [each for each in facts.documents if not _is_failed_probe(each)]
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
        counts=figures.count_findings(findings),
        first=figures.rank_findings(findings)[:_MOST_FIRST],
        same={
            each.rule.code: [other for other in findings if other.cause == each.rule.code]
            for each in findings
        },
        categories=_chart_categories(findings),
        rates=_chart_rates(findings, "pages"),
        old_rates=_chart_rates(findings, "old URLs"),
        bounds={unit: figures.show_bound(each) for unit, each, _ in figures.find_bounds(facts)},
        old_columns=figures.OLD_COLUMNS,
        old_origin=origin_of(facts.old_folders[0].folder) if facts.old_folders else "",
        reasons=_REASONS,
        passed=_group_rules(facts.passed),
        not_run=_group_reasons(facts.not_run),
        months=chart_months(facts.months, facts.begun) if facts.months else None,
        years=sum_years(facts.months),
        matrix=build_matrix(facts.languages) if facts.languages else None,
        documents=documents,
        probes=len(facts.documents) - len(documents),
        origin=_find_main_origin(documents),
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
        "moment": _show_moment,
        "kibibytes": lambda count: f"{count / 1024:,.1f}",
        "host": _find_host,
        "shell": quote,
    }
    environment.globals |= {
        "share": figures.show_share,
        "rate": figures.show_rate,
        "shorten": _shorten_url,
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


def _show_moment(moment: str) -> str:
    """Write a moment as people do: "22 November 2026, 04:30 UTC"."""
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%d %B %Y, %H:%M UTC}".lstrip("0")


def _find_host(source: str) -> str:
    """Return the host of a source that may be a link, or ""."""
    return host_of(source) if source.startswith(("http://", "https://")) else ""


def _find_main_origin(documents: Iterable[Row]) -> str:
    """Return the origin that most documents share, or "" without one."""
    origins = Counter(filter(None, (origin_of(document.url) for document in documents)))
    return origins.most_common(1)[0][0] if origins else ""


def _shorten_url(url: str, origin: str) -> str:
    """Return the path of a URL of the main origin, and any other URL as it is."""
    path = url.removeprefix(origin) if origin else url
    return path if path.startswith("/") else url


def _is_failed_probe(document: Row) -> bool:
    """Return whether a well-known path that nobody listed had no sitemap."""
    is_unlisted = document.role == "sitemap" and not document.parent
    return is_unlisted and document.status == "skipped" and not document.format


def _chart_categories(findings: Sequence[Row]) -> list[tuple[str, list[BarPart], str]]:
    """Return name, bar and words of each category with findings, gravest first."""
    rows = [
        (name, figures.count_findings(members))
        for name, members in _group_rules(findings, lambda finding: finding.rule)
    ]
    rows.sort(key=lambda row: [-count for count in row[1].values()])
    most = max((sum(counts.values()) for _, counts in rows), default=0)
    return [
        (
            name,
            stack_parts(counts.items(), most),
            ", ".join(
                figures.count_units(count, _KINDS[each][1])
                for each, count in counts.items()
                if count
            ),
        )
        for name, counts in rows
    ]


def _chart_rates(findings: Iterable[Row], unit: str) -> list[Row]:
    """Return the rules about such pages that hit, with how sure their shares are.

    Bars are in per cent of the longest one.
    """
    rows = []
    for each in findings:
        if each.rule.unit == unit and each.of:
            share = each.count / each.of
            words = f"{figures.show_share(each.count, each.of)} of {each.of:,}"
            rate = each.rate or Row(share=share, low=share, high=share)
            if each.rate:
                words = figures.show_rate(rate, unit)
            rows.append(Row(rate, rule=each.rule, kind=each.severity, words=words))
    most = max((row.high for row in rows), default=0) / 100
    for row in rows:
        row |= {"width": (row.high - row.low) / most, "low": row.low / most}
        row["share"] /= most
    return rows


def _group_rules(
    entries: Iterable[Row], rule_of: Callable[[Row], Row] = lambda rule: rule
) -> list[tuple[str, list[Row]]]:
    """Return the rules, or what has one, of each category that has some."""
    entries = list(entries)
    groups = [
        (str(name), [each for each in entries if rule_of(each).category == name])
        for name in Category
    ]
    return [(name, members) for name, members in groups if members]


def _group_reasons(not_run: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Return the rules for each reason not to run them, broken rules first."""
    groups: dict[str, list[Row]] = {}
    for each in sorted(not_run, key=lambda each: not each.is_error):
        groups.setdefault(each.reason, []).append(each)
    return list(groups.items())
