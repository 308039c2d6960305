"""Fast reading: plain records by the thousand, without a Python call for each tag.

Tokens are walked in one loop or, where all records of a batch have one shape, sliced into columns.
Without start tags some things cannot be seen, so a batch is read here only if it can be shown to be
plain; of any other, `read` makes `None`, and the exact reader has its turn. No Issue is made here:
a record that would have one is not plain.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.models import Alternate, Format, SitemapEntry, UrlEntry, Via
from sitemapreader.readers.lexicon import (
    CHANGEFREQ,
    IGNORED,
    LASTMOD,
    LINK,
    LOC,
    PRIORITY,
    RECORD,
    TAG,
    UNKNOWN,
    Part,
)
from sitemapreader.readers.locs import are_plain, have_one_scheme
from sitemapreader.readers.records import choose_link, is_alternate
from sitemapreader.readers.tokens import Doubt, Tokenizer
from sitemapreader.readers.vocabulary import parse_changefreq, parse_priority

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sitemapreader.options import Limits
    from sitemapreader.readers.head import Head
    from sitemapreader.readers.tokens import Token

Entry = UrlEntry | SitemapEntry
_T = TypeVar("_T")
_MAX_SHAPE = 10
"""Tokens of a record with all four fields: a text and an end tag each, and its own end tag."""
_GIVE_UP_AFTER = 8
"""Batches in doubt before a document is left to the exact reader, if none was plain meanwhile."""


class FastReader:
    """Reads the plain batches of one document."""

    def __init__(self, head: Head, sitemap: str, limits: Limits) -> None:
        self._format = head.format
        self._sitemap = sitemap
        self._tokenizer = Tokenizer(head, limits)
        self._fields = self._tokenizer.lexicon.fields
        self._parts = self._tokenizer.lexicon.parts
        self._doubts = 0

    def read(self, batch: bytes) -> list[Entry] | None:
        """Return the entries of a batch, or `None` if it is not plain."""
        if self._doubts >= _GIVE_UP_AFTER:
            return None
        try:
            tokens, count, loc_is_first = self._tokenizer.tokenize(batch)
            if self._format in (Format.RSS, Format.ATOM):
                entries = self._read_feed(tokens)
            else:
                entries = self._read_columns(tokens, count) or self._read_mixed(tokens)
            self._check(entries, count, loc_is_first=loc_is_first)
        except Doubt:
            self._doubts += 1
            return None
        self._doubts = 0
        return entries

    def _check(self, entries: list[Entry], count: int, *, loc_is_first: bool) -> None:
        locs = [entry.loc for entry in entries]
        if len(entries) != count or not are_plain(locs):
            raise Doubt
        if not (loc_is_first or have_one_scheme(locs)):
            raise Doubt

    # -- columns: batches whose records all have the same fields in the same order

    def _read_columns(self, tokens: list[Token], count: int) -> list[Entry] | None:
        """Slice the tokens into columns; `None` if the records do not all have one shape."""
        width, odd = divmod(len(tokens), count)
        if odd or width > _MAX_SHAPE:
            return None
        columns: dict[int, list[str]] = {}
        for place in range(1, width - 1, 2):
            field, texts = tokens[place], tokens[place - 1 :: width]
            if type(field) is not int or field > PRIORITY or field in columns:
                return None
            if tokens[place::width] != [field] * count:
                return None
            columns[field] = texts
        if LOC not in columns or tokens[width - 1 :: width] != [RECORD] * count:
            return None
        if width % 2 == 0 and set(map(type, tokens[width - 2 :: width])) != {str}:
            return None  # something else than blanks before the record's end tag
        try:
            columns = {field: list(map(str.strip, texts)) for field, texts in columns.items()}
        except TypeError:  # an end tag where a text was due
            return None
        if not all(map(all, columns.values())):
            return None
        return self._make_entries(columns)

    def _make_entries(self, columns: dict[int, list[str]]) -> list[Entry]:
        absent = repeat(None)
        locs, texts = columns[LOC], columns.get(LASTMOD)
        moments = read_dates(texts) if texts else absent
        sitemaps = repeat(self._sitemap)
        if self._format is Format.INDEX:
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

    # -- one loop: batches whose records differ, or have extensions

    # One loop on purpose: a call for each token would cost more than all that is done with it.
    def _read_mixed(self, tokens: list[Token]) -> list[Entry]:  # noqa: C901, PLR0912
        fields, parts = self._fields, self._parts
        slots: list[Any] = [None] * fields
        loose = 0  # fields of extensions that no end tag of an extension has claimed yet
        text: str | None = None
        attributes: dict[str, str] | None = None
        extensions: dict[str, list[Any]] = {}
        tags: list[str] = []
        entries: list[Entry] = []
        for token in tokens:
            kind = type(token)
            if kind is str:
                text = token
                continue
            if kind is dict:
                attributes = token
            elif kind is not int or token == UNKNOWN:
                raise Doubt
            elif token < fields:
                if text is not None and (value := text.strip()):
                    if slots[token] is not None:
                        raise Doubt
                    slots[token] = value
                    loose += token > PRIORITY
            elif token == RECORD:
                if loose or tags:
                    raise Doubt
                entries.append(self._make_entry(slots, extensions))
                extensions = {}
            elif token == LINK:
                if attributes is None or "href" not in attributes or not is_alternate(attributes):
                    raise Doubt
                get = attributes.get
                link = Alternate(attributes["href"], get("hreflang"), get("media"))
                extensions.setdefault("alternates", []).append(link)
                attributes = None
            elif token == TAG:
                if text is not None and (value := text.strip()):
                    tags.append(value)
            elif token != IGNORED:
                part = parts[token]
                values = slots[part.start : part.end]
                slots[part.start : part.end] = [None] * len(values)
                loose -= len(values) - values.count(None)
                made = _make_value(part, values)
                if tags:
                    made.tags, tags = tuple(tags), []
                extensions.setdefault(part.extension.slot, []).append(made)
            text = None
        self._read_lastmods(entries)
        return entries

    def _make_entry(self, slots: list[Any], extensions: dict[str, list[Any]]) -> Entry:
        loc, lastmod, changefreq, priority = slots[: PRIORITY + 1]
        slots[: PRIORITY + 1] = None, None, None, None
        if loc is None:
            raise Doubt
        if self._format is Format.INDEX:
            return SitemapEntry(loc, None, Via.INDEX, self._sitemap, lastmod)
        entry = UrlEntry(
            loc,
            None,
            _sure(parse_changefreq(changefreq)) if changefreq else None,
            _sure(parse_priority(priority)) if priority else None,
            sitemap=self._sitemap,
            lastmod_text=lastmod,
        )
        for slot, values in extensions.items():
            if slot == "news" and len(values) > 1:
                raise Doubt
            setattr(entry, slot, values[0] if slot == "news" else tuple(values))
        return entry

    def _read_lastmods(self, entries: list[Entry]) -> None:
        dated = [entry for entry in entries if entry.lastmod_text]
        moments = read_dates([entry.lastmod_text or "" for entry in dated])
        for entry, moment in zip(dated, moments, strict=True):
            entry.lastmod = moment

    # -- feeds

    def _read_feed(self, tokens: list[Token]) -> list[Entry]:
        slots: list[str | None] = [None] * self._fields
        links: list[dict[str, str]] = []
        text: str | None = None
        entries: list[Entry] = []
        for token in tokens:
            kind = type(token)
            if kind is str:
                text = token
                continue
            if kind is dict:
                links.append(token)
            elif kind is not int or token == UNKNOWN:
                raise Doubt
            elif token < self._fields:
                if text is not None and (value := text.strip()):
                    if slots[token] is not None:
                        raise Doubt
                    slots[token] = value
            elif token == RECORD:
                link = choose_link(links)
                loc = link["href"].strip() if link else slots[LOC]
                date = next((value for value in slots[1:] if value), None)
                if loc is None:
                    raise Doubt
                entries.append(UrlEntry(loc, sitemap=self._sitemap, lastmod_text=date))
                slots = [None] * self._fields
                links.clear()
            text = None
        self._read_lastmods(entries)
        return entries


def read_dates(texts: list[str]) -> list[datetime]:
    """Read a column of dates; raise Doubt if any cannot be read."""
    return parse_column(texts) or [_sure(parse_lastmod(text)) for text in texts]


def parse_all(texts: list[str], parse: Callable[[str], Any]) -> list[Any]:
    """Parse a column, each different text once; raise Doubt if any cannot be read."""
    known = {text: _sure(parse(text)) for text in set(texts)}
    return [known[text] for text in texts]


def _make_value(part: Part, values: list[Any]) -> Any:
    for place, parse in part.parsers:
        if values[place] is not None:
            values[place] = _sure(parse(values[place]))
    if part.extension.required and values[0] is None:
        raise Doubt
    return part.extension.make(*values)


def _sure(value: _T | None) -> _T:
    if value is None:
        raise Doubt
    return value
