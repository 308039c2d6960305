"""Tokens -> entries, a column at a time: what all records of one layout have at the same place."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.models import Alternate, Format, SitemapEntry, UrlEntry, Via
from sitemapreader.readers.lexicon import CHANGEFREQ, LASTMOD, LOC, PRIORITY
from sitemapreader.readers.links import choose_link, is_alternate_relation
from sitemapreader.readers.tokens import ATTRIBUTE_NAMES, Doubt, sure
from sitemapreader.readers.vocabulary import parse_changefreq, parse_priority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sitemapreader.readers.layouts import Layout, Value
    from sitemapreader.readers.tokens import Entry, Token

Column = list[Any]

_new = tuple.__new__
"""Makes an Alternate in half the time that calling it takes."""
_USUAL = ("rel", "hreflang", "href")
"""Most links of sitemaps have these attributes, and no others."""
_ABSENT = repeat(None)
_NONE: repeat[tuple[Any, ...]] = repeat(())
_PAGE = {("alternate", "text/html")}


class Rows:
    """The records of a batch that have one layout; `starts` is where in the tokens each begins."""

    def __init__(self, tokens: list[Token], starts: Sequence[int], layout: Layout) -> None:
        self.layout = layout
        self._tokens = tokens
        self._starts = starts
        self._width = len(layout.kinds)
        self._are_all = len(starts) * self._width == len(tokens) - starts[0]

    def __len__(self) -> int:
        return len(self._starts)

    def column(self, place: int) -> Column:
        """Return the tokens at one place of each record."""
        if self._are_all:
            return self._tokens[self._starts[0] + place :: self._width]
        return [self._tokens[start + place] for start in self._starts]

    def texts(self, place: int) -> list[str]:
        """Return the texts at one place, trimmed."""
        return list(map(str.strip, self.column(place)))

    def field(self, slot: int) -> list[str]:
        """Return the texts of a field of the records themselves; empty where there is none."""
        place = self.layout.fields.get(slot)
        return [] if place is None else self.texts(place)

    def check_attributes(self, most: int) -> None:
        """Raise Doubt if a start tag has attributes that matter, or too many."""
        layout = self.layout
        if any(any(self.column(place)) for place in layout.bare):
            raise Doubt
        few = most < len(ATTRIBUTE_NAMES)  # links have no more, or are in doubt for their names
        for place in chain(layout.free, layout.links if few else ()):
            attributes = self.column(place)
            if any(attributes) and max(map(len, attributes)) > most:
                raise Doubt


def read_rows(rows: Rows, format_: Format, sitemap: str) -> list[Entry]:
    """Make the entries of records; raise Doubt if one is not plain."""
    if format_ in (Format.RSS, Format.ATOM):
        return _read_items(rows, sitemap)
    locs = rows.field(LOC)
    if not locs or not all(locs):
        raise Doubt
    moments, texts = _read_lastmods(rows.field(LASTMOD))
    sitemaps = repeat(sitemap)
    if format_ is Format.INDEX:
        if rows.layout.links or rows.layout.values:
            raise Doubt
        return list(map(SitemapEntry, locs, moments, repeat(Via.INDEX), sitemaps, texts))
    extensions = _read_values(rows)
    return list(
        map(
            UrlEntry,
            locs,
            moments,
            parse_all(rows.field(CHANGEFREQ), parse_changefreq) or _ABSENT,
            parse_all(rows.field(PRIORITY), parse_priority) or _ABSENT,
            extensions.get("images", _NONE),
            extensions.get("videos", _NONE),
            map(itemgetter(0), extensions["news"]) if "news" in extensions else _ABSENT,
            _read_links(rows) if rows.layout.links else _NONE,
            _NONE,
            sitemaps,
            texts,
        )
    )


def _read_items(rows: Rows, sitemap: str) -> list[Entry]:
    """An item of RSS has its URL as a text, an entry of Atom as an attribute of a link."""
    links = [rows.column(place) for place in rows.layout.links]
    locs = _choose_hrefs(links) if links else rows.field(LOC)
    if not locs or not all(locs):
        raise Doubt
    moments, texts = _read_lastmods(_choose_dates(rows))
    unset = (_ABSENT, _ABSENT, _NONE, _NONE, _ABSENT, _NONE, _NONE)
    return list(map(UrlEntry, locs, moments, *unset, repeat(sitemap), texts))


def _choose_hrefs(links: list[Column]) -> list[str]:
    """Return the URL that each entry's links have, given the first link of each, the second ..."""
    _check_names(chain.from_iterable(links))
    firsts = {(link.get("rel", "alternate"), link.get("type", "text/html")) for link in links[0]}
    chosen = links[0]
    if firsts != _PAGE:
        chosen = [sure(choose_link([*each])) for each in zip(*links, strict=True)]
    return [link.get("href", "").strip() for link in chosen]


def _choose_dates(rows: Rows) -> list[str]:
    """Return the best date of each item; none is blank where another is there."""
    dates: list[str] = []
    for slot in sorted(rows.layout.fields.keys() - {LOC}):
        texts = rows.field(slot)
        dates = [date or text for date, text in zip(dates, texts, strict=True)] if dates else texts
        if all(dates):
            break
    return dates


# -- dates and other values


def _read_lastmods(texts: list[str]) -> tuple[Iterable[Any], Iterable[str | None]]:
    if not texts:
        return _ABSENT, _ABSENT
    return read_dates(texts), texts if all(texts) else or_none(texts)


def read_dates(texts: list[str]) -> Column:
    """Read a column of dates, some of them blank; raise Doubt if any cannot be read."""
    return parse_column(texts) or [sure(parse_lastmod(text)) if text else None for text in texts]


def parse_all(texts: list[str], parse: Callable[[str], Any]) -> Column:
    """Parse a column, each different text once; raise Doubt if any cannot be read."""
    known = {text: sure(parse(text)) if text else None for text in set(texts)}
    return list(map(known.__getitem__, texts))


def or_none(texts: list[str]) -> list[str | None]:
    """Put `None` in place of blank texts."""
    return [text or None for text in texts]


# -- extensions


def _read_values(rows: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """Return what goes into the slots of entries, a tuple a record."""
    columns: dict[str, list[Column]] = {}
    for value in rows.layout.values:
        columns.setdefault(value.part.extension.slot, []).append(_make_values(rows, value))
    if len(columns.get("news", ())) > 1:
        raise Doubt
    return {slot: list(zip(*made, strict=True)) for slot, made in columns.items()}


def _make_values(rows: Rows, value: Value) -> Column:
    part = value.part
    columns: list[Iterable[Any]] = [_ABSENT] * (max(value.texts, default=-1) + 1)
    for slot, place in value.texts.items():
        texts = rows.texts(place)
        parse = part.parsers.get(slot)
        if parse is parse_lastmod:
            columns[slot] = read_dates(texts)
        elif parse:
            columns[slot] = parse_all(texts, parse)
        else:
            columns[slot] = texts if all(texts) else or_none(texts)
    if part.extension.required and not (columns and None not in columns[0]):
        raise Doubt
    make = part.extension.make
    made = list(map(make, *columns)) if columns else [make() for _ in range(len(rows))]
    if value.tags:
        for one, *tags in zip(made, *map(rows.texts, value.tags), strict=True):
            one.tags = tuple(filter(None, tags))
    return made


def _read_links(rows: Rows) -> list[tuple[Alternate, ...]]:
    count = len(rows)
    links = list(chain.from_iterable(map(rows.column, rows.layout.links)))
    made = _make_alternates(links)
    return list(zip(*(made[i : i + count] for i in range(0, len(made), count)), strict=True))


def _make_alternates(links: list[dict[str, str]]) -> list[Alternate]:
    relations, hreflangs, hrefs, media = _read_attributes(links)
    if not all(hrefs) or not all(map(is_alternate_relation, set(relations))):
        raise Doubt
    return [_new(Alternate, value) for value in zip(hrefs, hreflangs, media, strict=False)]


def _read_attributes(links: list[dict[str, str]]) -> Iterator[Iterable[Any]]:
    """Return rel, hreflang, href and media of links, each as a column."""
    with suppress(KeyError):
        if set(map(len, links)) == {len(_USUAL)}:
            return chain(zip(*map(itemgetter(*_USUAL), links), strict=True), [_ABSENT])
    _check_names(links)
    return iter(
        (
            [link.get("rel", "alternate") for link in links],
            *([link.get(name) for link in links] for name in ("hreflang", "href", "media")),
        )
    )


def _check_names(links: Iterable[dict[str, str]]) -> None:
    """Raise Doubt if a link has an attribute that may be one that matters, in another case."""
    if not set(chain.from_iterable(links)) <= ATTRIBUTE_NAMES:
        raise Doubt
