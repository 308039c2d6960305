"""Numbers with their nouns, in all messages and reports."""

from __future__ import annotations

_SINGULARS = {
    "children": "child",
    "entries": "entry",
    "folders or sites": "folder or site",
    "indexes": "index",
    "sets of languages": "set of languages",
    "sitemaps or pages of a feed": "sitemap or page of a feed",
    "tries": "try",
}
"""Nouns, and units of rules, that do not only lose an s."""


def inflect(count: int, units: str) -> str:
    """Return the noun that fits a number; the argument is in the plural."""
    if count != 1:
        return units
    return _SINGULARS.get(units, units.removesuffix("s"))


def count_units(count: int, units: str) -> str:
    """Write a number and its noun: "1 URL", "2,000 URLs"."""
    return f"{count:,} {inflect(count, units)}"
