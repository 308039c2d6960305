"""The columns of a feed's common records -> its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.dates import parse_lastmod
from sitemapreader.models import Format
from sitemapreader.readers.records.feeds import choose_link
from sitemapreader.readers.xml.characters import decode_attributes
from sitemapreader.readers.xml.grammar import (
    BORDER,
    FEED_DATE_NAMES,
    LINK_ATTRIBUTES,
    write_atom_link_pattern,
)
from sitemapreader.rows import EntryColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.readers.xml.columns import Columns

_PAGE, _HTML = {"", '"alternate"', "'alternate'"}, {"", '"text/html"', "'text/html'"}
"""Attributes, with their quotes, of a link that leads to the page itself."""


def make_posts(
    columns: Columns, found: list[Sequence[str]], sitemap: str, format_: Format, link: str
) -> EntryColumns:
    """Make the entries of records; `link` is how a link of Atom begins."""
    links, titles, *dates = found[: 2 + len(FEED_DATE_NAMES[format_])]
    is_atom = format_ is Format.ATOM
    locs = _choose_links(columns, links, link) if is_atom else columns.texts(links) or links
    columns.check_locs(locs)
    texts: list[str] = []
    for column in dates:
        if not (texts and all(texts)) and (others := columns.texts(column)):
            merged = zip(texts or others, others, strict=True)
            texts = [text or other for text, other in merged]
    moments = columns.values(texts, parse_lastmod)
    written, named = columns.or_none(texts), columns.or_none(columns.texts(titles))
    own = [sitemap] * len(locs)
    return EntryColumns(locs, own, moments, None, None, written, named)


def _choose_links(columns: Columns, runs: Sequence[str], start: str) -> list[str]:
    """Choose the URL of each entry among its links; "" where there is none."""
    pattern = write_atom_link_pattern(start)
    joined = BORDER + BORDER.join(runs)
    found = pattern.findall(joined)
    if not found[-1][-1]:  # one link each
        of = dict(zip(LINK_ATTRIBUTES, zip(*found, strict=True), strict=False))
        if _PAGE.issuperset(of["rel"]) and _HTML.issuperset(of["type"]):
            hrefs = decode_attributes([quoted[1:-1] for quoted in of["href"]])
            return list(map(str.strip, hrefs))
    if "enclosure" in joined.lower():
        columns.blame("enclosure" in run.lower() for run in runs)
    locs = []
    for place, run in enumerate(runs):
        *links, rest = pattern.findall(run.replace(start, BORDER + start) + BORDER)
        if rest[-1] != BORDER:
            columns.odd.add(place)
        attributes = [_read_link(link) for link in links]
        chosen = choose_link(attributes)
        locs.append("" if chosen is None else attributes[chosen]["href"].strip())
    return locs


def _read_link(quoted: Sequence[str]) -> dict[str, str]:
    values = decode_attributes([value[1:-1] for value in quoted])
    named = zip(LINK_ATTRIBUTES, quoted, values, strict=False)
    return {name: value for name, is_there, value in named if is_there}
