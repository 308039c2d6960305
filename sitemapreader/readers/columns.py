"""Tokens -> entries by columns, where all records of a batch have the same fields in one order."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader.readers.lexicon import CHANGEFREQ, LASTMOD, LOC, PRIORITY, RECORD
from sitemapreader.readers.tokens import sure
from sitemapreader.readers.vocabulary import parse_changefreq, parse_priority

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sitemapreader.readers.tokens import Entry, Token

_MAX_SHAPE = 10
"""Tokens of a record with all four fields: a text and an end tag each, and its own end tag."""


def read_columns(
    tokens: list[Token], count: int, format_: Format, sitemap: str
) -> list[Entry] | None:
    """Slice the tokens into columns; `None` if the records do not all have one shape."""
    width, odd = divmod(len(tokens), count)
    if odd or width > _MAX_SHAPE:
        return None
    columns: dict[int, list[str]] = {}
    for place in range(1, width - 1, 2):
        field, texts = tokens[place], tokens[place - 1 :: width]
        if type(field) is not int or not LOC <= field <= PRIORITY or field in columns:
            return None
        if tokens[place::width].count(field) != count:
            return None
        columns[field] = texts
    if LOC not in columns or tokens[width - 1 :: width].count(RECORD) != count:
        return None
    if width % 2 == 0 and set(map(type, tokens[width - 2 :: width])) != {str}:
        return None  # something else than blanks before the record's end tag
    try:
        columns = {field: list(map(str.strip, texts)) for field, texts in columns.items()}
    except TypeError:  # an end tag where a text was due
        return None
    if not all(map(all, columns.values())):
        return None
    return _make_entries(columns, format_, sitemap)


def _make_entries(columns: dict[int, list[str]], format_: Format, sitemap: str) -> list[Entry]:
    absent = repeat(None)
    locs, texts = columns[LOC], columns.get(LASTMOD)
    moments = read_dates(texts) if texts else absent
    sitemaps = repeat(sitemap)
    if format_ is Format.INDEX:
        vias = repeat(Via.INDEX)
        return list(map(SitemapEntry, locs, moments, vias, sitemaps, texts or absent))
    none: repeat[tuple[Any, ...]] = repeat(())
    changefreqs = columns.get(CHANGEFREQ)
    priorities = columns.get(PRIORITY)
    return list(
        map(
            UrlEntry,
            locs,
            moments,
            parse_all(changefreqs, parse_changefreq) if changefreqs else absent,
            parse_all(priorities, parse_priority) if priorities else absent,
            none,
            none,
            absent,
            none,
            none,
            sitemaps,
            texts or absent,
        )
    )


def read_dates(texts: list[str]) -> list[datetime]:
    """Read a column of dates; raise Doubt if any cannot be read."""
    return parse_column(texts) or [sure(parse_lastmod(text)) for text in texts]


def parse_all(texts: list[str], parse: Callable[[str], Any]) -> list[Any]:
    """Parse a column, each different text once; raise Doubt if any cannot be read."""
    known = {text: sure(parse(text)) for text in set(texts)}
    return list(map(known.__getitem__, texts))
