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
from sitemapreader.audit.report import GRADES, show_percent, show_text, write_code

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator


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
    visited; `None` if the rule was not run. `new` and `mended` are the URLs of hits that only one
    of the audits has, and `still` how many both have; `None` if a report does not name all hits. Of
    samples these are the pages that both have judged. A finding with a new URL is worse, however
    many others are mended. Where two samples have no page in common, a finding is worse or better
    only if the intervals of their rates do not meet.

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

    `found` says how far findings go: hits, or a share of pages with its interval, and the URLs of
    the hits, if all are named. `most` is, by the need of rules about a sample of pages, the share
    that one without a hit may have, and `samples` are the pages that were judged.
    """
    facts = content["facts"]
    found = {}
    most = {}
    samples = {}
    for need, name in _SAMPLES.items():
        tally = facts.get(name)
        if tally is None or tally["exact"]:
            continue
        samples[str(need)] = {*map(str, tally.get("sample") or ())}
        if tally.get("sampled", True):
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
        hits = each.get("hits", ())
        urls = {str(hit["url"] or hit["document"]) for hit in hits}
        found[_code_of_rule(each)] = Row(
            severity=severity,
            value=value,
            low=low,
            high=high,
            needs=[*map(str, needs)],
            urls=urls if len(hits) == count else None,
        )
    not_run = {*map(_code_of_rule, facts["not_run"])}
    return Row(found=found, not_run=not_run, most=most, samples=samples)


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
            found = Row(there, value=0.0, low=0.0, high=max(most), urls=set())
        else:
            found = None
    return found


def _compare_findings(code: str, old: Row, new: Row) -> Row:
    before = _find(code, old, new)
    after = _find(code, new, old)
    is_known = code not in old.not_run and code not in new.not_run
    pages = _compare_urls(before, after, old, new) if is_known else None
    if not is_known:
        trend = Trend.UNKNOWN
    elif before is None or after is None:
        trend = Trend.FIXED if after is None else Trend.NEW
    elif isinstance(before.value, int) != isinstance(after.value, int):
        trend = Trend.UNKNOWN  # all pages in one of them, a sample in the other
    elif after.low > before.high or (pages and pages.new):
        trend = Trend.WORSE
    elif after.high < before.low or (pages and pages.mended):
        trend = Trend.BETTER
    else:
        trend = Trend.SAME
    values = {
        name: None if code in report.not_run else each.value if each else 0
        for name, report, each in (("before", old, before), ("after", new, after))
    }
    severity = next(each.severity for each in (after, before) if each)
    pages = pages or Row(new=None, mended=None, still=None)
    return Row(code=code, severity=severity, trend=trend, **values, **pages)


def _compare_urls(
    before: Row | None, after: Row | None, old: Row, new: Row
) -> Row | None:
    """Return the hits that are new, mended, and still there; `None` if that is not known.

    Of two samples only the pages count that both have judged.
    """
    urls = [set() if each is None else each.urls for each in (before, after)]
    if None in urls:
        return None
    needs = {need for each in (before, after) if each for need in each.needs}
    samples = [
        report.samples[need]
        for report in (old, new)
        for need in sorted(needs & report.samples.keys())
    ]
    if samples:
        common = set.intersection(*samples)
        if not common:
            return None
        urls = [each & common for each in urls]
    was, now = urls
    return Row(new=sorted(now - was), mended=sorted(was - now), still=len(was & now))


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
        lines = [*head, *lines] if lines else ["No findings in either audit."]
        lines += [
            line
            for each in differences
            if each.new or each.mended
            for line in ("", f"## {each.code}", "", *_list_urls(each, "- ", write_code))
        ]
        return "\n".join(lines) + "\n"
    lines = [
        line
        for each, (a, b, c, d, e) in zip(differences, rows, strict=True)
        for line in (
            f"{a:<8} {b:<8} {c:<30} {d:>8} -> {e}",
            *_list_urls(each, " " * 9, show_text),
        )
    ]
    return "\n".join(lines or ["no findings in either audit"]) + "\n"


_MAX_SHOWN = 20
"""URLs of a finding that a text names as new, and as mended; the JSON has all."""


def _list_urls(
    difference: Row, indent: str, show: Callable[[str], str]
) -> Iterator[str]:
    """Yield lines of new and mended URLs, and of how many hits are still there."""
    for word in ("new", "mended"):
        urls = difference[word] or ()
        yield from (f"{indent}{word}: {show(url)}" for url in urls[:_MAX_SHOWN])
        if len(urls) > _MAX_SHOWN:
            yield f"{indent}{word}: {len(urls) - _MAX_SHOWN:,} more"
    if difference.still and (difference.new or difference.mended):
        yield f"{indent}still: {difference.still:,}"


def _show_finding(value: float | None) -> str:
    if value is None:
        return "not run"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{show_percent(value)}%"
