"""The formats of an audit; and numbers as an English reader expects them.

Modules here turn facts into numbers and words; only the template writes markup, so that one
setting of jinja2 escapes all texts of strangers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.issues import Severity

if TYPE_CHECKING:
    from sitemapreader.audit.models import Rate

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


def show_rate(rate: Rate, units: str) -> str:
    """Write an estimate with its interval: "1.8% (0.9 to 3.6%) of 50,000 pages"."""
    low, high = (f"{100 * end:.2g}" for end in (rate.low, rate.high))
    return f"{100 * rate.share:.2g}% ({low} to {high}%) of {rate.population:,} {units}"


def inflect(count: int, units: str) -> str:
    """Return the noun that fits a number; it is given in the plural."""
    return units if count != 1 else _SINGULARS.get(units, units.removesuffix("s"))


def count_units(count: int, units: str) -> str:
    """Write a number and its noun: "1 URL", "2 URLs"."""
    return f"{count:,} {inflect(count, units)}"
