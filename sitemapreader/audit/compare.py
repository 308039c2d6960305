"""The comparison of two audits, by their reports in JSON."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sitemapreader.audit.models import (
    SCHEMA,
    SEVERITIES,
    Need,
    Row,
    estimate_rate,
    read_json,
)
from sitemapreader.audit.report import GRADES, show_percent

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


_SAMPLES = {Need.PAGES: "pages", Need.WAS: "old_pages"}
"""Need of a rule -> the fact that says how many pages were visited for it."""


class Trend(StrEnum):
    """The change of a finding, the worst first."""

    NEW = "new"
    WORSE = "worse"
    SAME = "same"
    UNKNOWN = "unknown"
    """One of the audits did not run the rule, or only one of them visited all pages."""
    BETTER = "better"
    FIXED = "fixed"


def compare_audits(
    before: str | os.PathLike[str], after: str | os.PathLike[str]
) -> tuple[Row, ...]:
    """Compare two reports of `audit -o report.json`; the worst differences come first.

    Each is a row of `code`, `severity` (in the later audit; in the earlier one if it was fixed),
    `trend`, `before` and `after`: the number of hits, or the share of pages where a sample was
    visited; `None` if the rule was not run. Where both have rates of a sample, a finding is worse
    or better only if their intervals do not meet.

    Raises:
        ValueError: a file is no such report.
    """
    what = "not the JSON report of an audit"
    advice = "write one with `audit -o report.json`"
    old, new = (read_json(path, what, advice, _read_report) for path in (before, after))
    found = [
        _compare_findings(code, old, new)
        for code in sorted(old.found.keys() | new.found)
    ]
    order = list(Trend)
    found.sort(
        key=lambda each: (order.index(each.trend), SEVERITIES.index(each.severity))
    )
    return tuple(found)


def _read_report(content: Any) -> Row:
    """Return the parts of a report that the comparison needs.

    `found` says how far findings go: hits, or a share of pages with its interval. `most` is, by
    the need of rules about a sample of pages, the share that one without a hit may have.
    """
    facts = content["facts"]
    found = {}
    most = {}
    for need, name in _SAMPLES.items():
        tally = facts.get(name)
        if tally is not None and not tally["exact"]:
            rate = estimate_rate([(int(tally["population"]), int(tally["judged"]), 0)])
            most[str(need)] = rate.high if rate else 1.0
    for each in content["findings"]:
        rate = each.get("rate")
        count = int(each["count"])
        if rate:
            value, low, high = [float(rate[name]) for name in ("share", "low", "high")]
        else:
            value, low, high = [count] * 3
        severity = each["severity"]
        needs = each["rule"].get("needs", ())
        if severity not in SEVERITIES:
            raise ValueError(severity)
        found[_code_of_rule(each)] = Row(
            severity=severity, value=value, low=low, high=high, needs=[*map(str, needs)]
        )
    return Row(found=found, not_run={*map(_code_of_rule, facts["not_run"])}, most=most)


def _code_of_rule(entry: Any) -> str:
    """Return the code of a rule; raise ValueError for one that could be markup."""
    code = str(entry["rule"]["code"])
    if re.fullmatch(r"[a-z0-9-]+", code) is None:
        raise ValueError(code)
    return code


def _find(code: str, report: Row, other: Row) -> Row | None:
    """Return how far a rule goes in a report; `None` where nothing can be hidden."""
    found: Row | None = report.found.get(code)
    if found is None and code in other.found:
        there = other.found[code]
        most = [report.most[need] for need in there.needs if need in report.most]
        if most:
            found = Row(there, value=0.0, low=0.0, high=max(most))
        else:
            found = None
    return found


def _compare_findings(code: str, old: Row, new: Row) -> Row:
    before = _find(code, old, new)
    after = _find(code, new, old)
    if code in old.not_run or code in new.not_run:
        trend = Trend.UNKNOWN
    elif before is None or after is None:
        trend = Trend.FIXED if after is None else Trend.NEW
    elif isinstance(before.value, int) != isinstance(after.value, int):
        trend = Trend.UNKNOWN  # all pages in one of them, a sample in the other
    elif after.low > before.high:
        trend = Trend.WORSE
    elif after.high < before.low:
        trend = Trend.BETTER
    else:
        trend = Trend.SAME
    values = {
        name: None if code in report.not_run else each.value if each else 0
        for name, report, each in (("before", old, before), ("after", new, after))
    }
    severity = next(each.severity for each in (after, before) if each)
    return Row(code=code, severity=severity, trend=trend, **values)


def format_differences(name: str, differences: Iterable[Row]) -> str:
    """Return differences as "text", "markdown" or "json"."""
    differences = list(differences)
    if name == "json":
        return (
            json.dumps({"schema": SCHEMA, "differences": differences}, indent=2) + "\n"
        )
    rows = [
        (
            each.trend,
            GRADES[each.severity],
            each.code,
            _show_finding(each.before),
            _show_finding(each.after),
        )
        for each in differences
    ]
    if name == "markdown":
        head = ["| | | rule | before | after |", "|---|---|---|---|---|"]
        lines = [f"| {a} | {b} | `{c}` | {d} | {e} |" for a, b, c, d, e in rows]
        return (
            "\n".join([*head, *lines] if lines else ["No findings in either audit."])
            + "\n"
        )
    lines = [f"{a:<8} {b:<8} {c:<30} {d:>8} -> {e}" for a, b, c, d, e in rows]
    return "\n".join(lines or ["no findings in either audit"]) + "\n"


def _show_finding(value: float | None) -> str:
    if value is None:
        return "not run"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{show_percent(value)}%"
