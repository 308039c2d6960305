"""The comparison of two audits, by their reports in JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.errors import name_extra
from sitemapreader.audit.models import (
    LINK_UNITS,
    SEVERITIES,
    Need,
    estimate_rate,
    move_urls,
    read_json,
)
from sitemapreader.audit.report import GRADES, show_percent, show_text, write_code
from sitemapreader.audit.report.outcome import ExitCode, Outcome, name_some
from sitemapreader.audit.rules import ABOUT_US
from sitemapreader.audit.values import SCHEMA, Difference, Trend
from sitemapreader.output import format_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sitemapreader._types.arguments import FilePath


_REPORT_ADVICE = "write one with `audit -o report.json`"
_SAMPLES = {Need.PAGES: "pages", Need.WAS: "old_pages"}
"""Need of a rule -> the fact that says how many pages were visited for it."""


@attrs.frozen(kw_only=True)
class _Found:
    """A finding of a report, as far as it goes.

    Attributes:
        severity: of the finding.
        value: number of hits, or share of the pages.
        low: lower end of its interval; the number of hits itself.
        high: upper end of that.
        needs: words of what its rule needs.
        hits: their subjects, each with the URL of its page; `None` if the report does not name all.
    """

    severity: str
    value: float
    low: float
    high: float
    needs: list[str]
    hits: dict[str, str] | None


@attrs.frozen(kw_only=True)
class _Report:
    """The parts of a report that the comparison needs.

    Attributes:
        found: code -> finding.
        passed: codes of the rules that ran and hit nothing.
        not_run: codes of the chosen rules that were not run.
        most: need of rules about a sample -> share that one without a hit may have.
        samples: need of rules -> pages that were judged, where not all were.
        site: URL of the site, or "" if it is not known.
        is_answered: whether anything was read, or reported absent.
        urls: number of URLs in the sitemaps.
        losses: what was not read, and is not known; `None` if the report does not name it.
    """

    found: dict[str, _Found]
    passed: set[str]
    not_run: set[str]
    most: dict[str, float]
    samples: dict[str, set[str]]
    site: str
    is_answered: bool
    urls: int
    losses: set[str] | None

    def find_new_losses(self, before: _Report) -> list[str]:
        """Return the losses that the earlier audit did not have."""
        if self.losses is None or before.losses is None:
            return []
        return sorted(self.losses - before.losses)

    def has_run(self, code: str) -> bool:
        """Return whether a rule was run: it has passed or hit, unless it never passes."""
        is_known = code in self.passed or code in self.found or code in ABOUT_US
        return is_known and code not in self.not_run


def compare_audits(
    before: FilePath,
    after: FilePath,
    *,
    was: FilePath | None = None,
) -> tuple[Difference, ...]:
    """Compare two reports of `audit -o report.json`; the worst differences come first.

    Hits are compared by their URLs, where both reports name all of them; of samples these are the
    pages that both have judged. A finding with a new URL is worse, however many others are mended.
    Where two samples have no page in common, a finding is worse or better only if the intervals of
    their rates do not meet.

    Args:
        before: the earlier report.
        after: the later one.
        was: a list of URLs that have moved, with columns `old` and `new`: their hits stay known.

    Raises:
        ValueError: a file is no such report, or no such list.
    """
    new = read_json(after, "findings", _REPORT_ADVICE, partial(_read_report, moves={}))
    moves = {}
    if was is not None:
        with name_extra("a list of moved URLs needs", "audit"):
            from sitemapreader.audit.sources import read_moves  # noqa: PLC0415 (DuckDB)
        moves = read_moves(was, new.site)
    old = read_json(
        before, "findings", _REPORT_ADVICE, partial(_read_report, moves=moves)
    )
    found = [
        _compare_findings(code, old, new)
        for code in sorted(old.found.keys() | new.found)
    ]
    order = list(Trend)
    found.sort(
        key=lambda each: (order.index(each.trend), SEVERITIES.index(each.severity))
    )
    return tuple(found)


def compare_losses(before: FilePath, after: FilePath) -> Outcome:
    """Return the outcome of the later of two audits, compared with the earlier one.

    Raises:
        ValueError: a file is no report.
    """
    old, new = (
        read_json(path, "findings", _REPORT_ADVICE, partial(_read_report, moves={}))
        for path in (before, after)
    )
    if not new.is_answered:
        return Outcome(ExitCode.UNREAD, "nothing could be fetched")
    if old.urls and not new.urls:
        return Outcome(ExitCode.EMPTY, "no URL was found")
    if lost := new.find_new_losses(old):
        return Outcome(ExitCode.PARTIAL, f"not read: {name_some(lost)}")
    return Outcome(ExitCode.PASSED, "everything was read that was read before")


def _read_report(content: Any, moves: Mapping[str, str]) -> _Report:
    """Return a report, with the new URLs of pages that have moved."""
    facts = content["facts"]
    found = {}
    most = {}
    samples = {}
    for need, name in _SAMPLES.items():
        tally = facts.get(name)
        if tally is None or tally["exact"]:
            continue
        sample = tally.get("sample") or ()
        samples[str(need)] = {move_urls(str(url), moves) for url in sample}
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
        is_link = each["rule"].get("unit") in LINK_UNITS
        hits = each.get("hits", ())
        named = dict(_name_hit(hit, moves, is_link=is_link) for hit in hits)
        found[_code_of(each["rule"])] = _Found(
            severity=severity,
            value=value,
            low=low,
            high=high,
            needs=[*map(str, needs)],
            hits=named if len(hits) == count else None,
        )
    return _Report(
        found=found,
        passed={*map(_code_of, facts["passed"])},
        not_run={_code_of(each["rule"]) for each in facts["not_run"]},
        most=most,
        samples=samples,
        site=str(facts.get("base_url") or facts.get("source", "")),
        is_answered=bool(facts.get("answered", True)),
        urls=int(facts.get("urls", 0)),
        losses=_name_losses(facts),
    )


def _name_losses(facts: Any) -> set[str] | None:
    """Return the losses of a report; `None` if an earlier version wrote it, without them."""
    if "losses" not in facts and not facts.get("complete", True):
        return None
    return {*map(str, facts.get("losses", ()))}


def _name_hit(hit: Any, moves: Mapping[str, str], *, is_link: bool) -> tuple[str, str]:
    """Return the subject of a hit, as a baseline has it, and the URL of its page."""
    url = move_urls(str(hit["url"] or hit["document"]), moves)
    if is_link and hit["detail"]:
        return f"{url} ({move_urls(str(hit['detail']), moves)})", url
    return url, url


def _code_of(rule: Any) -> str:
    """Return the code of a rule; raise ValueError for one that could be markup."""
    code = str(rule["code"])
    if re.fullmatch(r"[a-z0-9-]+", code) is None:
        raise ValueError(code)
    return code


def _find(
    code: str,
    report: _Report,
    other: _Report,
) -> _Found | None:
    """Return how far a rule goes in a report; `None` where nothing can be hidden."""
    found = report.found.get(code)
    if found is None and code in other.found:
        there = other.found[code]
        most = [report.most[need] for need in there.needs if need in report.most]
        if most:
            return attrs.evolve(there, value=0.0, low=0.0, high=max(most), hits={})
    return found


def _compare_findings(
    code: str,
    old: _Report,
    new: _Report,
) -> Difference:
    before = _find(code, old, new)
    after = _find(code, new, old)
    is_known = old.has_run(code) and new.has_run(code)
    urls = {}
    if is_known:
        urls = _compare_urls(before, after, old, new)
    has_read_all = not new.find_new_losses(old)
    if not has_read_all:  # hits that are gone may be in what was not read
        urls.pop("mended", None)
    if not (is_known and (has_read_all or after)):
        trend = Trend.UNKNOWN
    elif after is None:
        trend = Trend.FIXED
    elif before is None:
        trend = Trend.NEW
    elif isinstance(before.value, int) != isinstance(after.value, int):
        trend = Trend.UNKNOWN  # all pages in one of them, a sample in the other
    elif after.low > before.high or urls.get("new"):
        trend = Trend.WORSE
    elif after.high < before.low and not has_read_all:
        trend = Trend.UNKNOWN
    elif after.high < before.low or urls.get("mended"):
        trend = Trend.BETTER
    else:
        trend = Trend.SAME
    return Difference(
        code=code,
        severity=next(each.severity for each in (after, before) if each),
        trend=trend,
        before=_value_of(code, before, old),
        after=_value_of(code, after, new),
        **urls,
    )


def _value_of(
    code: str,
    found: _Found | None,
    report: _Report,
) -> float | None:
    """Return how far a rule goes in a report; `None` if it was not run."""
    if not report.has_run(code):
        return None
    return found.value if found else 0


def _compare_urls(
    before: _Found | None,
    after: _Found | None,
    old: _Report,
    new: _Report,
) -> dict[str, Any]:
    """Return the fields of a `Difference` about URLs; none if they are not known.

    Of two samples only the pages count that both have judged.
    """
    was = before.hits if before else {}
    now = after.hits if after else {}
    if was is None or now is None:
        return {}
    page_of = was | now
    needs = {need for each in (before, after) if each for need in each.needs}
    samples = [
        report.samples[need]
        for report in (old, new)
        for need in sorted(needs & report.samples.keys())
    ]
    if samples:
        pages = set.intersection(*samples)
        if not pages:
            return {}
        common = {each for each, page in page_of.items() if page in pages}
    else:
        common = {*page_of}
    return {
        "new": sorted(now.keys() & common - was.keys()),
        "mended": sorted(was.keys() & common - now.keys()),
        "still": len(was.keys() & now.keys()),
        "only_before": sorted(was.keys() - common),
        "only_after": sorted(now.keys() - common),
    }


def format_differences(name: str, differences: Iterable[Difference]) -> str:
    """Return differences as "text", "markdown", "csv" or "json"."""
    differences = list(differences)
    if name == "json":
        rows = [attrs.asdict(each) for each in differences]
        return json.dumps({"schema": SCHEMA, "differences": rows}, indent=2) + "\n"
    if name == "csv":
        return _write_csv(differences)
    cells = [
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
        lines = [f"| {a} | {b} | `{c}` | {d} | {e} |" for a, b, c, d, e in cells]
        if not lines:
            return "No findings in either audit.\n"
        lines = [f"{_count_trends(differences)}.", "", *head, *lines]
        lines += [
            line
            for each in differences
            if (urls := [*_list_urls(each, "- ", write_code)])
            for line in ("", f"## {each.code}", "", *urls)
        ]
        return "\n".join(lines) + "\n"
    lines = [
        line
        for each, (a, b, c, d, e) in zip(differences, cells, strict=True)
        for line in (
            f"{a:<8} {b:<8} {c:<30} {d:>8} -> {e}",
            *_list_urls(each, " " * 9, show_text),
        )
    ]
    if not lines:
        return "no findings in either audit\n"
    return "\n".join([*lines, "", _count_trends(differences)]) + "\n"


def _write_csv(differences: Iterable[Difference]) -> str:
    """Return a row for each URL of a difference, or one for a difference without URLs."""
    rows = []
    for each in differences:
        about = (each.trend, each.severity, each.code)
        values = tuple(
            "" if value is None else str(value) for value in (each.before, each.after)
        )
        named = [
            (word, url) for word, urls in _group_urls(each).items() for url in urls
        ]
        rows += [(*about, *values, *subject) for subject in named or [("", "")]]
    names = ("trend", "severity", "rule", "before", "after", "change", "url")
    return format_table(names, rows)


def _count_trends(differences: Iterable[Difference]) -> str:
    """Return the number of findings with each trend, as "1 new, 2 the same"."""
    counts = Counter(each.trend for each in differences)
    shown = {each: str(each) for each in Trend} | {Trend.SAME: "the same"}
    return ", ".join(
        f"{counts[each]:,} {shown[each]}" for each in Trend if counts[each]
    )


_MAX_SHOWN = 20
"""URLs of a finding that a text names as new, and as mended; the JSON has all."""


def _list_urls(
    difference: Difference,
    indent: str,
    show: Callable[[str], str],
) -> Iterator[str]:
    """Yield lines of new and mended URLs, and of how many hits are still there."""
    named = _group_urls(difference)
    for word, urls in named.items():
        yield from (f"{indent}{word}: {show(url)}" for url in urls[:_MAX_SHOWN])
        if len(urls) > _MAX_SHOWN:
            yield f"{indent}{word}: {len(urls) - _MAX_SHOWN:,} more"
    if difference.still and named:
        yield f"{indent}still: {difference.still:,}"


def _group_urls(difference: Difference) -> dict[str, list[str]]:
    """Return the URLs of a difference by "new", "mended" and the like."""
    named = {
        "new": difference.new,
        "mended": difference.mended,
        "judged only before": difference.only_before,
        "judged only after": difference.only_after,
    }
    return {word: urls for word, urls in named.items() if urls}


def _show_finding(value: float | None) -> str:
    if value is None:
        return "not run"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{show_percent(value)}%"
