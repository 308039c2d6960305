"""The comparison of two audits, by their reports in JSON."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.models import SCHEMA, Need, Stratum, estimate_rate, read_json
from sitemapreader.audit.report import GRADES, show_percent
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping


_SAMPLES = {Need.PAGES: "pages", Need.WAS: "old_pages"}
"""Need of a rule -> the fact that says how many pages were visited for it."""


class Trend(StrEnum):
    """What became of a finding, the worst first."""

    NEW = "new"
    WORSE = "worse"
    SAME = "same"
    UNKNOWN = "unknown"
    """One of the audits did not run the rule, or only one of them visited all pages."""
    BETTER = "better"
    FIXED = "fixed"


@attrs.frozen
class Difference:
    """A rule in two audits.

    Attributes:
        code: of the rule.
        severity: in the later audit; in the earlier one if it was fixed.
        trend: what became of it.
        before: number of hits, or the share of pages where a sample was visited; `None` if it was
            not run.
        after: the same in the later audit.
    """

    code: str
    severity: Severity
    trend: Trend
    before: float | None
    after: float | None


def compare_audits(
    before: str | os.PathLike[str], after: str | os.PathLike[str]
) -> tuple[Difference, ...]:
    """Compare two reports of `audit -o report.json`; the worst differences come first.

    Where both have rates of a sample, a finding is worse or better only if their intervals do not
    meet.

    Raises:
        ValueError: a file is no such report.
    """
    what, advice = "no report of an audit in JSON", "write one with `audit -o report.json`"
    old, new = (read_json(path, what, advice, _read_report) for path in (before, after))
    found = [_compare(code, old, new) for code in sorted(old.findings.keys() | new.findings)]
    order = list(Trend)
    return tuple(sorted(found, key=lambda each: (order.index(each.trend), -each.severity)))


@attrs.frozen
class _Extent:
    """How far a finding goes: hits, or a share of pages with its interval."""

    severity: Severity
    value: float
    low: float
    high: float
    needs: frozenset[str] = frozenset()


@attrs.frozen
class _Report:
    """What the comparison reads of a report."""

    findings: Mapping[str, _Extent]
    not_run: frozenset[str]
    most: Mapping[str, float]
    """Need of rules about a sample of pages -> the share that one without a hit may have."""

    def find(self, code: str, other: _Report) -> _Extent | None:
        """Return how far a rule goes; `None` where nothing can be hidden."""
        there = other.findings.get(code)
        if code in self.findings or there is None:
            return self.findings.get(code)
        most = [self.most[need] for need in there.needs if need in self.most]
        return _Extent(there.severity, 0.0, 0.0, max(most)) if most else None


def _read_report(content: Any) -> _Report:
    facts, findings, most = content["facts"], {}, {}
    for need, name in _SAMPLES.items():
        tally = facts.get(name)
        if tally is not None and not tally["exact"]:
            rate = estimate_rate([Stratum(int(tally["listed"]), int(tally["judged"]), 0)])
            most[str(need)] = rate.high if rate else 1.0
    for each in content["findings"]:
        rate, count = each.get("rate"), int(each["count"])
        share, low, high = (
            [float(rate[name]) for name in ("share", "low", "high")] if rate else [count] * 3
        )
        needs = frozenset(map(str, each["rule"].get("needs", ())))
        severity = Severity[each["severity"].upper()]
        findings[_code_of(each)] = _Extent(severity, share, low, high, needs)
    return _Report(findings, frozenset(map(_code_of, facts["not_run"])), most)


def _code_of(entry: Mapping[str, Any]) -> str:
    """Return the code of a rule; raise ValueError for one that could be markup."""
    code = str(entry["rule"]["code"])
    if re.fullmatch(r"[a-z0-9-]+", code) is None:
        raise ValueError(code)
    return code


def _compare(code: str, old: _Report, new: _Report) -> Difference:
    before, after = old.find(code, new), new.find(code, old)
    if code in old.not_run or code in new.not_run:
        trend = Trend.UNKNOWN
    elif before is None or after is None:
        trend = Trend.FIXED if after is None else Trend.NEW
    elif isinstance(before.value, int) != isinstance(after.value, int):
        trend = Trend.UNKNOWN  # all pages in one of them, a sample in the other
    elif after.low > before.high:
        trend = Trend.WORSE
    else:
        trend = Trend.BETTER if after.high < before.low else Trend.SAME
    values = (
        None if code in report.not_run else each.value if each else 0
        for report, each in ((old, before), (new, after))
    )
    severity = next(each.severity for each in (after, before) if each)
    return Difference(code, severity, trend, *values)


def format_differences(name: str, differences: Iterable[Difference]) -> str:
    """Return differences as "text", "markdown" or "json"."""
    differences = tuple(differences)
    rows = [
        (
            each.trend,
            GRADES[each.severity.name.lower()],
            each.code,
            _show(each.before),
            _show(each.after),
        )
        for each in differences
    ]
    if name == "json":
        content = [
            {**attrs.asdict(each), "severity": each.severity.name.lower()} for each in differences
        ]
        return json.dumps({"schema": SCHEMA, "differences": content}, indent=2) + "\n"
    if name == "markdown":
        head = ["| | | rule | before | after |", "|---|---|---|---|---|"]
        lines = [f"| {a} | {b} | `{c}` | {d} | {e} |" for a, b, c, d, e in rows]
        return "\n".join([*head, *lines] if lines else ["No findings in either audit."]) + "\n"
    lines = [f"{a:<8} {b:<8} {c:<30} {d:>8} -> {e}" for a, b, c, d, e in rows]
    return "\n".join(lines or ["no findings in either audit"]) + "\n"


def _grade(difference: Difference) -> str:
    return GRADES[difference.severity.name.lower()]


def _show(value: float | None) -> str:
    if value is None:
        return "not run"
    return f"{value:,}" if isinstance(value, int) else f"{show_percent(value)}%"
