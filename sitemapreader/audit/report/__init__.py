"""Words, numbers and the order that all formats of an audit share.

A format is made of the JSON of an audit alone: SARIF by an encoder, all others by a template, so
that one setting of jinja2 makes all texts of strangers harmless.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import excerpt
from sitemapreader.audit.models import TALLIES, AuditInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemapreader._types.arguments import FilePath
    from sitemapreader.audit.values import Facts, Finding, Hit, PageTally, Rate, Rule

REPORT_FORMATS = ("text", "json", "sarif", "html", "markdown", "junit")
"""Names of the formats."""
REPORT_SUFFIXES = {
    ".txt": "text",
    ".json": "json",
    ".sarif": "sarif",
    ".html": "html",
    ".htm": "html",
}
REPORT_SUFFIXES |= {".md": "markdown", ".xml": "junit"}
_COMPARISON_SUFFIXES = REPORT_SUFFIXES | {".csv": "csv"}
"""Suffix of a file -> the format that it names."""
HITS_SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson")
"""Suffixes of a file of all hits; all but the first also with .gz after them."""
_WORKBOOK_SUFFIX = ".xlsx"
GRADES = {"error": "error", "warning": "warning", "info": "note"}
"""Severity, the gravest first -> what a finding of it is called, in SARIF too."""
MAX_TEXT = 500
"""Characters of a stranger's text that are shown: one URL cannot fill a report."""


def find_audit_format(path: str, formats: Sequence[str] = REPORT_FORMATS) -> str:
    """Return the format by a file's suffix; raise ValueError for an unknown suffix."""
    suffixes = _COMPARISON_SUFFIXES
    name = suffixes.get(Path(path).suffix.lower(), "")
    if name not in formats:
        known = [each for each, name in suffixes.items() if name in formats]
        if formats is REPORT_FORMATS:  # tables have files, and no format of a report
            known += [_WORKBOOK_SUFFIX, *HITS_SUFFIXES]
        raise AuditInputError(
            f"the name {path!r} does not end with a known format: "
            f"end it with {', '.join(known)}"
        )
    return name


def is_workbook(path: FilePath) -> bool:
    """Return whether the suffix of a report names a workbook."""
    return os.fspath(path).lower().endswith(_WORKBOOK_SUFFIX)


def is_page_file(path: str) -> bool:
    """Return whether the suffix of a report names a table: one of visited pages."""
    name = path.lower()
    return name.removesuffix(".gz").endswith(HITS_SUFFIXES)


def find_hits_suffix(path: FilePath) -> str:
    """Return the suffix that names the format; raise AuditInputError for another one."""
    name = os.fspath(path).lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix not in HITS_SUFFIXES or name.endswith(".parquet.gz"):
        advice = ""
        if is_workbook(path):
            advice = ": a report as a workbook has all hits"
        raise AuditInputError(
            f"`hits`: end the name of {name!r} with {', '.join(HITS_SUFFIXES)}{advice}"
        )
    return suffix


# -- texts of strangers


def show_text(text: str) -> str:
    """Return a text without control and bidi characters, cut if it is long."""
    return excerpt(text, MAX_TEXT)


def write_code(text: str) -> str:
    """Return a text of strangers as a code span, which no character of it can end."""
    text = " ".join(show_text(text).split())
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    # In a table a bar ends the cell, in a code span too.
    text = text.replace("|", "\\|")
    if longest:
        return f"{fence} {text} {fence}"
    return f"`{text}`"


# -- numbers


def show_share(part: int, whole: int) -> str:
    """Write a share as a percentage; only none is 0%, and only all is 100%."""
    if not part or not whole:
        return "0%"
    share = 100 * part / whole
    if share < 0.1:
        return "<0.1%"
    if part >= whole:
        return "100%"
    if share > 99.9:
        return ">99.9%"
    return f"{share:.1f}%"


WEIGHTS = (
    "A share of all pages weighs each page of the sample by the size of its sitemap and folder, "
    "so that equal counts can be different shares."
)
"""Explanation of the shares in a report about a sample."""


def show_percent(share: float) -> str:
    """Write an estimated share in percent: "0.017", "1.8", "99.7", "100"."""
    if 0 < share < 0.00001:
        return "<0.001"
    return f"{100 * share:.{2 if share < 0.995 else 3}g}"


def show_rate(rate: Rate, units: str) -> str:
    """Write an estimate with its interval: "1.8% (0.9 to 3.6%) of 50,000 pages"."""
    share, low, high = map(show_percent, (rate.share, rate.low, rate.high))
    return f"{share}% ({low} to {high}%) of {rate.population:,} {units}"


def show_extent(facts: Facts) -> str:
    """Describe an extent: "43 URLs (40 different) in 7 sitemaps; everything was read"."""
    if not facts.sitemaps:
        return "no sitemap was read"
    urls = count_units(facts.urls, "URLs") if facts.urls else "no URL"
    different = f" ({facts.distinct:,} different)"
    if facts.distinct == facts.urls:
        different = ""
    whole = "everything was read" if facts.complete else "not everything was read"
    return f"{urls}{different} in {count_units(facts.sitemaps, 'sitemaps')}; {whole}"


def show_hits(finding: Finding) -> str:
    """Return how often a rule hit: "1 of 3,000 URLs", but "1 host"."""
    unit = finding.rule.unit
    new = "" if finding.new is None else f", {finding.new:,} new"
    if finding.rate is None:
        rate = ""
    else:
        rate = f", {show_rate(finding.rate, unit)}"
    hits = f"{finding.count:,} of " if finding.of else ""
    return f"{hits}{count_units(finding.of or finding.count, unit)}{rate}{new}"


_LEAST_SHOWN = 3
"""Examples of a finding in a text; all new ones are shown, and of known hits none."""


def choose_examples(finding: Finding) -> list[Hit]:
    """Return the examples of a finding that a short text shows: the new ones stand first."""
    if finding.new == 0:
        return []
    new = sum(bool(example.new) for example in finding.examples)
    return list(finding.examples[: max(new, _LEAST_SHOWN)])


def find_bounds(facts: Facts) -> Iterator[tuple[str, str, int]]:
    """Yield units with a sample, the bound if no hit is in it, and how many rules passed.

    That says "none in 300, so at most 1.3% of 19,800".
    """
    for unit in TALLIES:
        tally = facts.find_tally(unit)
        passed = sum(rule.unit == unit for rule in facts.passed)
        if passed and tally and tally.bound is not None:
            most = f"at most {show_percent(tally.bound)}% of {tally.population:,}"
            yield unit, f"none in {tally.judged:,}, so {most}", passed


def show_source(facts: Facts) -> str:
    """Return the name of the audited source, and its substitutes.

    Substitutes are the URL of a folder, if it has a path, and the hosts that stood for mapped ones.
    """
    name = facts.source
    if (base := facts.base_url).count("/") > 3:
        name = f"{name}, at {base}"
    if facts.mapped_hosts:
        targets = ", ".join(dict.fromkeys(facts.mapped_hosts.values()))
        what = "pages read" if facts.base_url else "read"
        name = f"{name}, {what} from {targets}"
    return name


# -- findings


def count_findings(findings: Iterable[Finding]) -> dict[str, int]:
    """Count findings, the gravest severity first, each with its number or 0."""
    counts = dict.fromkeys(GRADES, 0)
    for finding in findings:
        counts[finding.severity] += 1
    return counts


def show_known(findings: Iterable[Finding], facts: Facts) -> str:
    """Return how many hits a baseline knows: "3 new (2 errors, 1 warning), 4 known, 1 mended".

    "" without a baseline.
    """
    if facts.baseline is None:
        return ""
    new = dict.fromkeys(GRADES, 0)
    total = 0
    for finding in findings:
        new[finding.severity] += finding.new or 0
        total += finding.count
    parts = [count_units(n, f"{GRADES[each]}s") for each, n in new.items() if n]
    number = sum(new.values())
    which = f" ({', '.join(parts)})" if parts else ""
    return (
        f"{number:,} new{which}, {total - number:,} known, {facts.mended or 0:,} mended"
    )


def show_faulty(tally: PageTally, units: str) -> str:
    """Return how many pages have a fault: "12 of 400 pages, 3% (1.7 to 5.2%) of 5,000 pages"."""
    faulty = tally.faulty
    if faulty is None:
        return ""
    if faulty.rate is None:
        rate = ""
    else:
        rate = f", {show_rate(faulty.rate, units)}"
    have = "has" if 1 in (faulty.count, faulty.of) else "have"
    pages = f"{faulty.count:,} of {count_units(faulty.of, units)}{rate}"
    return f"{pages} {have} an error or a warning"


def group_rules(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Return rules by their category, both in the order in which they come."""
    groups: dict[str, list[Rule]] = {}
    for rule in rules:
        groups.setdefault(rule.category, []).append(rule)
    return groups


def is_failure(finding: Finding, fail_on: str | None) -> bool:
    """Return whether a finding is grave enough, and has hits that a baseline lacks."""
    return is_grave(finding.severity, fail_on) and finding.new != 0


def is_grave(severity: str, fail_on: str | None) -> bool:
    """Return whether a severity is as grave as another one; nothing is without that."""
    grades = list(GRADES)
    return fail_on is not None and grades.index(severity) <= grades.index(fail_on)
