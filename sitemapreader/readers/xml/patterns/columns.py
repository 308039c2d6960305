"""The texts of a batch of records by columns -> values; the entries of a feed."""

from __future__ import annotations

from itertools import compress, count
from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.models import Format
from sitemapreader.readers.records.entries import choose_link
from sitemapreader.readers.xml.characters import decode_attributes, decode_many
from sitemapreader.readers.xml.patterns.grammar import (
    BORDER,
    FEED_DATE_NAMES,
    LINK_ATTRIBUTES,
    write_atom_link_pattern,
)
from sitemapreader.rows import EntryColumns
from sitemapreader.urls import PLAIN_URL, are_clean_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    Column: TypeAlias = Sequence[Any]

_PAGE, _HTML = {"", '"alternate"', "'alternate'"}, {"", '"text/html"', "'text/html'"}
"""Attributes, with their quotes, of a link that leads to the page itself."""


class Columns:
    """The texts of a batch by columns; `odd` are the places that need an Issue."""

    def __init__(self, text: str) -> None:
        self.odd: set[int] = set()
        # Whether anything must be decoded; "[" for `<![CDATA[`, as one character is found faster
        self._is_marked = "&" in text or "[" in text or "\r" in text

    def texts(self, column: Sequence[str]) -> list[str]:
        """Decode texts, and trim them; an empty list if there are none."""
        if not any(column):
            return []
        if self._is_marked:
            column = decode_many(column)
        return list(map(str.strip, column))

    def or_none(self, texts: list[str]) -> Column | None:
        """Replace blank texts by `None`; the column as well, if there are no others."""
        if not any(texts):
            return None
        return texts if all(texts) else [text or None for text in texts]

    def check_locs(self, locs: Sequence[str]) -> None:
        """Mark the records whose URLs need a closer look as odd."""
        is_whole = all(locs)
        if not is_whole:
            self.blame(not loc for loc in locs)
        if not are_clean_urls(locs if is_whole else list(filter(None, locs))):
            self.blame(not PLAIN_URL.fullmatch(loc) and not are_clean_urls([loc]) for loc in locs)

    def check_runs(self, runs: Sequence[str], are_clean: Callable[[list[str]], bool]) -> None:
        """Mark the records with a run of elements that needs an Issue as odd."""
        filled = list(filter(None, runs))
        if filled and not are_clean(filled):
            self.blame(bool(run) and not are_clean([run]) for run in runs)

    def values(self, texts: list[str], parse: Callable[[str], Any]) -> Column | None:
        """Parse texts, each different one once; mark unreadable ones as odd."""
        if not any(texts):
            return None
        if parse is parse_lastmod:
            values: Column = parse_column(texts)
            are_read = all(values)
        else:
            known = {text: parse(text) for text in set(texts) if text}
            are_read = None not in known.values()
            values = list(map(known.get, texts))
        if not are_read:
            self.blame(
                value is None and bool(text) for value, text in zip(values, texts, strict=True)
            )
        return values

    def blame(self, marks: Iterable[bool]) -> None:
        """Mark places as odd."""
        self.odd.update(compress(count(), marks))


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
