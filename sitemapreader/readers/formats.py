"""The formats: their root elements, their records, and which are extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from sitemapreader.models import Format

if TYPE_CHECKING:
    from collections.abc import Iterable

ExtraFormats: TypeAlias = "Iterable[Literal['html', 'llms'] | Format]"
"""Formats that are read only where the caller asks for them."""

_EXTRA_FORMATS = (Format.HTML, Format.LLMS)
_PROTOCOL_RECORDS = frozenset({"url", "sitemap"})

ROOTS: dict[str, tuple[Format, frozenset[str]]] = {
    "urlset": (Format.URLSET, _PROTOCOL_RECORDS),
    "sitemapindex": (Format.INDEX, _PROTOCOL_RECORDS),
    "rss": (Format.RSS, frozenset({"item"})),
    "rdf": (Format.RSS, frozenset({"item"})),
    "feed": (Format.ATOM, frozenset({"entry"})),
}
"""Local name of a root element, in lower case -> its format and the local names of its records."""
RECORDS = frozenset[str]().union(*(records for _, records in ROOTS.values()))
"""Local names of the records of all formats."""
RECORD_OF = {Format.URLSET: "url", Format.INDEX: "sitemap"}
"""Format of the protocol -> the record that it should hold."""
ROOTLESS = {"url": "urlset", "sitemap": "sitemapindex"}
"""A record that stands where the root should -> the root that is missing."""


def check_formats(names: ExtraFormats) -> frozenset[Format]:
    """Return extra formats by their names.

    Raises:
        TypeError: for a single string.
        ValueError: for a name that is not an extra format.
    """
    if isinstance(names, str):
        raise TypeError(f"extra_formats must be several: write {{{names!r}}}, not {names!r}")
    formats: frozenset[str] = frozenset(names)
    if unknown := formats.difference(_EXTRA_FORMATS):
        raise ValueError(
            f"extra_formats has {min(unknown)!r}: choose from {', '.join(_EXTRA_FORMATS)}; "
            "the other formats are read in any case"
        )
    return frozenset(map(Format, formats))
