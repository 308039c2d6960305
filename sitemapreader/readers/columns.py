"""Columns -> entries: what all records of one layout have at the same place is read at once."""

from __future__ import annotations

from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.models import Alternate, Format, SitemapEntry, UrlEntry, Via
from sitemapreader.readers.lexicon import CHANGEFREQ, LASTMOD, LOC, PRIORITY
from sitemapreader.readers.locs import are_plain, parse_reference
from sitemapreader.readers.records.feeds import choose_link, is_alternate_relation
from sitemapreader.readers.records.fields import parse_changefreq, parse_priority
from sitemapreader.readers.tokens import Doubt, sure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sitemapreader.readers.layouts import Value
    from sitemapreader.readers.rows import Column, Rows
    from sitemapreader.readers.tokens import Entry

_new = tuple.__new__
"""Makes an Alternate in half the time that calling it takes."""
_PAGE, _HTML = {"alternate", None}, {"text/html", None}
"""What the attributes of a link say that leads to the page itself."""
_ABSENT = repeat(None)
_NONE: repeat[tuple[Any, ...]] = repeat(())


def read_rows(rows: Rows, format_: Format, sitemap: str) -> list[Entry]:
    """Make the entries of records; raise Doubt if one is not plain."""
    if format_.is_feed:
        return _read_items(rows, sitemap)
    locs = rows.field(LOC)
    if not locs or not all(locs):
        raise Doubt
    moments, texts = _read_lastmods(rows.field(LASTMOD))
    sitemaps = repeat(sitemap)
    if format_ is Format.INDEX:
        if rows.layout.has_links or rows.layout.values:
            raise Doubt
        return list(map(SitemapEntry, locs, moments, repeat(Via.INDEX), sitemaps, texts))
    extensions = _read_values(rows)
    return list(
        map(
            UrlEntry,
            locs,
            moments,
            _parse_all(rows.field(CHANGEFREQ), parse_changefreq) or _ABSENT,
            _parse_all(rows.field(PRIORITY), parse_priority) or _ABSENT,
            extensions.get("images", _NONE),
            extensions.get("videos", _NONE),
            map(itemgetter(0), extensions["news"]) if "news" in extensions else _ABSENT,
            _read_links(rows) or _NONE,
            _NONE,
            sitemaps,
            texts,
        )
    )


def _read_items(rows: Rows, sitemap: str) -> list[Entry]:
    """An item of RSS has its URL as a text, an entry of Atom as an attribute of a link."""
    locs = _choose_hrefs(rows) or rows.field(LOC)
    if not locs or not all(locs):
        raise Doubt
    moments, texts = _read_lastmods(_choose_dates(rows))
    unset = (_ABSENT, _ABSENT, _NONE, _NONE, _ABSENT, _NONE, _NONE)
    return list(map(UrlEntry, locs, moments, *unset, repeat(sitemap), texts))


def _choose_hrefs(rows: Rows) -> list[str]:
    """Return the URL of each entry that has links."""
    links = rows.attributes()
    count = len(rows)
    firsts = {name: values[:count] for name, values in links.items()}
    hrefs = firsts.get("href", [])
    if not (
        _PAGE.issuperset(firsts.get("rel", ()))
        and _HTML.issuperset(firsts.get("type", ()))
        and all(hrefs)
    ):
        each = [
            {name: value for name, value in zip(links, values, strict=True) if value is not None}
            for values in zip(*links.values(), strict=True)
        ]
        hrefs = [sure(choose_link(each[record::count]))["href"] for record in range(count)]
    return list(map(str.strip, hrefs))


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
    return _read_dates(texts), texts if all(texts) else _or_none(texts)


def _read_dates(texts: list[str]) -> Column:
    """Read a column of dates, some of them blank; raise Doubt if any cannot be read."""
    return parse_column(texts) or [sure(parse_lastmod(text)) if text else None for text in texts]


def _read_references(texts: list[str]) -> Column:
    """Read a column of URLs, some of them blank; raise Doubt if one was not meant as such."""
    if not are_plain(texts) and None in map(parse_reference, filter(None, texts)):
        raise Doubt
    return texts if all(texts) else _or_none(texts)


_WHOLE: dict[object, Callable[[list[str]], Column]] = {
    parse_lastmod: _read_dates,
    parse_reference: _read_references,
}
"""What reads one text -> what reads a column of them in less time."""


def _parse_all(texts: list[str], parse: Callable[[str], Any]) -> Column:
    """Parse a column, each different text once; raise Doubt if any cannot be read."""
    known = {text: sure(parse(text)) if text else None for text in set(texts)}
    return list(map(known.__getitem__, texts))


def _or_none(texts: list[str]) -> list[str | None]:
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
        if parse in _WHOLE:
            columns[slot] = _WHOLE[parse](texts)
        elif parse:
            columns[slot] = _parse_all(texts, parse)
        else:
            columns[slot] = texts if all(texts) else _or_none(texts)
    if part.extension.required and not (columns and None not in columns[0]):
        raise Doubt
    make = part.extension.make
    made = list(map(make, *columns)) if columns else [make() for _ in range(len(rows))]
    if value.tags:
        for one, *tags in zip(made, *map(rows.texts, value.tags), strict=True):
            one.tags = tuple(filter(None, tags))
    return made


def _read_links(rows: Rows) -> list[tuple[Alternate, ...]]:
    if not rows.layout.has_links:
        return []
    links = rows.attributes()
    hrefs = links.get("href", [])
    relations = set(links.get("rel", ())) - {None}
    if not hrefs or not all(hrefs) or not all(map(is_alternate_relation, relations)):
        raise Doubt
    others = (links.get(name, _ABSENT) for name in ("hreflang", "media"))
    made = [
        _new(Alternate, values) for values in zip(_read_references(hrefs), *others, strict=False)
    ]
    count = len(rows)
    return list(zip(*(made[i : i + count] for i in range(0, len(made), count)), strict=True))
