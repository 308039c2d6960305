"""What all formats of an audit share: words, numbers, the order.

Modules here turn facts into numbers and words; only the template writes markup, so that one
setting of jinja2 escapes all texts of strangers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.audit.models import FOREMOST, Category, Facts, Finding, Rate
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence


GRADES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
"""Severity, the gravest first -> what a finding of it is called, in SARIF too."""
OLD_COLUMNS = ("folder", "judged", "lost", "to start", "temporary", "unlisted")
"""What the fields of `OldFolder` are called in a table."""
MOST_FOLDERS = 20
"""Rows of that table where it is plain text."""
_SHORT_UNITS = ((1_000_000_000, "bn"), (1_000_000, "M"), (1_000, "k"))
_SINGULARS = {"indexes": "index", "sets of languages": "set of languages"}
"""Nouns, and rules' units, that do not only lose an s."""


def show_number(count: int) -> str:
    """Write a number with commas: 201,944."""
    return f"{count:,}"


def show_short_number(count: float) -> str:
    """Write a number for the axis of a chart: 500, 20k, 1.5M."""
    for size, unit in _SHORT_UNITS:
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:g}"


def show_share(part: int, whole: int) -> str:
    """Write a share as a percentage; only none is 0%, and only all is 100%."""
    if not part or not whole:
        return "0%"
    if part >= whole:
        return "100%"
    share = 100 * part / whole
    if share < 0.1:
        return "<0.1%"
    return ">99.9%" if share > 99.9 else f"{share:.1f}%"


def show_percent(share: float) -> str:
    """Write an estimated share in percent: "0.017", "1.8", "99.7", "100"."""
    if 0 < share < 0.00001:
        return "<0.001"
    return f"{100 * share:.{2 if share < 0.995 else 3}g}"


def show_rate(rate: Rate, units: str) -> str:
    """Write an estimate with its interval: "1.8% (0.9 to 3.6%) of 50,000 pages"."""
    share, low, high = map(show_percent, (rate.share, rate.low, rate.high))
    return f"{share}% ({low} to {high}%) of {rate.population:,} {units}"


def inflect(count: int, units: str) -> str:
    """Return the noun that fits a number; it is given in the plural."""
    return units if count != 1 else _SINGULARS.get(units, units.removesuffix("s"))


def count_units(count: int, units: str) -> str:
    """Write a number and its noun: "1 URL", "2 URLs"."""
    return f"{count:,} {inflect(count, units)}"


_OF_SITEMAPS = ("sitemaps", "indexes")
"""Units that stand for the URLs in them."""
_NOT_READ = frozenset({"failed", "partial", "skipped"})


def rank_findings(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """Return findings by severity, and by the share of the URLs that they touch."""
    urls = {document.url: document.urls for document in facts.documents}
    unread = {document.url for document in facts.documents if document.status in _NOT_READ}

    def touched(finding: Finding) -> float:
        if finding.rate is not None:
            return finding.rate.share
        if finding.of and finding.rule.unit not in _OF_SITEMAPS:
            return finding.count / finding.of
        is_read = finding.rule.category is Category.READING
        documents = {place.document for place in finding.places}
        if not facts.urls or (is_read and (not documents or not documents.isdisjoint(unread))):
            return 1.0  # nobody knows how much is in what was not read
        if not documents or (is_read and any(example.url for example in finding.examples)):
            return finding.count / facts.urls
        return sum(urls.get(document, 0) for document in documents) / facts.urls

    return sorted(
        findings,
        key=lambda each: (-each.severity, each.code != FOREMOST, -min(touched(each), 1.0)),
    )
