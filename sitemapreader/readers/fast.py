"""Fast reading: plain records by the thousand, without a Python call for each tag.

Tokens are sliced into columns where all records of a batch have one shape, or walked in one loop.
A batch is read here only if it can be shown to be plain; of any other, `read` makes `None`, and the
exact reader has its turn. No Issue is made here: a record that would have one is not plain.
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
    OTHERS,
    PRIORITY,
    RECORD,
    TAG,
    Part,
)
from sitemapreader.readers.links import choose_link, is_alternate_relation
from sitemapreader.readers.locs import are_plain
from sitemapreader.readers.shapes import count_alike
from sitemapreader.readers.tokens import CAN_TOKENIZE, Doubt, Tokenizer
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
"""Batches in doubt before a document is left to the exact reader, if none was plain meanwhile.

As many that seemed to have one shape and had not, before no more are tried.
"""
_new = tuple.__new__
"""Makes an Alternate in half the time that calling it takes."""


class FastReader:
    """Reads the plain batches of one document."""

    def __init__(self, head: Head, sitemap: str, limits: Limits) -> None:
        self._format = head.format
        self._is_feed = head.format in (Format.RSS, Format.ATOM)
        self._sitemap = sitemap
        self._limits = limits
        self._tokenizer = Tokenizer(head, limits)
        self._fields = self._tokenizer.lexicon.fields
        self._parts = self._tokenizer.lexicon.parts
        self._misfits = 0
        self._doubts = 0 if CAN_TOKENIZE else _GIVE_UP_AFTER

    def read(self, batch: bytes) -> list[Entry] | None:
        """Return the entries of a batch, or `None` if it is not plain."""
        if self._doubts >= _GIVE_UP_AFTER:
            return None
        try:
            entries = self._read(batch)
        except Doubt:
            self._doubts += 1
            return None
        self._doubts = 0
        return entries

    def _read(self, batch: bytes) -> list[Entry]:
        entries = None if self._is_feed else self._read_alike(batch)
        if entries is None:
            tokens = self._tokenizer.tokenize(batch, starts=True)
            entries = self._read_feed(tokens) if self._is_feed else self._read_mixed(tokens)
            self._read_lastmods(entries)
        if not are_plain([entry.loc for entry in entries]):
            raise Doubt
        return entries

    # -- columns: batches whose records all have the same fields in the same order

    def _read_alike(self, batch: bytes) -> list[Entry] | None:
        count = count_alike(batch) if self._misfits < _GIVE_UP_AFTER else 0
        if not count:
            return None
        entries = self._read_columns(self._tokenizer.tokenize(batch, starts=False), count)
        self._misfits = 0 if entries else self._misfits + 1
        return entries

    def _read_columns(self, tokens: list[Token], count: int) -> list[Entry] | None:
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
    def _read_mixed(self, tokens: list[Token]) -> list[Entry]:  # noqa: C901, PLR0912, PLR0915
        parts, last_field = self._parts, LOC + self._fields
        max_attributes = self._limits.attributes
        slots: list[Any] = [None] * self._fields
        loose = 0  # fields of extensions that no end tag of an extension has claimed yet
        depth = -1  # of what is open, records being at 0: the first start tag is none of the input
        is_leaf = False  # whether the last tag was a start tag
        text: str | None = None
        attributes: dict[str, str] = {}
        extensions: dict[str, list[Any]] = {}
        links: list[dict[str, str]] = []
        tags: list[str] = []
        entries: list[Entry] = []
        for token in tokens:
            kind = type(token)
            if kind is str:
                text = token
                continue
            if kind is dict:
                depth += 1
                is_leaf = True
                attributes = token
                text = None
                if len(token) > max_attributes:
                    raise Doubt
                continue
            depth -= 1
            if kind is not int or token >= OTHERS:
                raise Doubt
            if token < last_field:
                if not is_leaf or (depth != 1 if token <= PRIORITY else attributes):
                    raise Doubt
                if text is not None and (value := text.strip()):
                    slot = token - LOC
                    if slots[slot] is not None:
                        raise Doubt
                    slots[slot] = value
                    loose += token > PRIORITY
            elif token == RECORD:
                if depth or loose or tags:
                    raise Doubt
                if links:
                    extensions["alternates"] = self._make_alternates(links)
                    links = []
                entries.append(self._make_entry(slots, extensions))
                extensions = {}
            elif token == LINK:
                if depth != 1 or not is_leaf:
                    raise Doubt
                links.append(attributes)
            elif token == TAG:
                if not is_leaf:
                    raise Doubt
                if text is not None and (value := text.strip()):
                    tags.append(value)
            elif token == IGNORED:
                if depth != 2:
                    raise Doubt
            else:
                part = parts[token]
                if depth != 1:
                    raise Doubt
                values = slots[part.start : part.end]
                slots[part.start : part.end] = [None] * len(values)
                loose -= len(values) - values.count(None)
                made = _make_value(part, values)
                if tags:
                    made.tags, tags = tuple(tags), []
                extensions.setdefault(part.extension.slot, []).append(made)
            is_leaf = False
            text = None
        return entries

    def _make_entry(self, slots: list[Any], extensions: dict[str, list[Any]]) -> Entry:
        loc, lastmod, changefreq, priority = slots[:4]
        slots[:4] = None, None, None, None
        if loc is None:
            raise Doubt
        if self._format is Format.INDEX:
            if extensions:
                raise Doubt
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

    def _make_alternates(self, links: list[dict[str, str]]) -> list[Alternate]:
        relations = {link.get("rel", "alternate") for link in links}
        hrefs = [link.get("href") for link in links]
        if not all(hrefs) or not all(map(is_alternate_relation, relations)):
            raise Doubt
        return [
            _new(Alternate, (href, link.get("hreflang"), link.get("media")))
            for href, link in zip(hrefs, links, strict=True)
        ]

    def _read_lastmods(self, entries: list[Entry]) -> None:
        dated = [entry for entry in entries if entry.lastmod_text]
        moments = read_dates([entry.lastmod_text or "" for entry in dated])
        for entry, moment in zip(dated, moments, strict=True):
            entry.lastmod = moment

    # -- feeds: link and date stand directly in a record; what else there is does not matter

    def _read_feed(self, tokens: list[Token]) -> list[Entry]:  # noqa: C901, PLR0912 (as above)
        last_field = LOC + self._fields
        max_attributes, max_depth = self._limits.attributes, self._limits.record_depth
        slots: list[str | None] = [None] * self._fields
        links: list[dict[str, str]] = []
        depth = -1
        is_leaf = False
        text: str | None = None
        attributes: dict[str, str] = {}
        entries: list[Entry] = []
        for token in tokens:
            kind = type(token)
            if kind is str:
                text = token
                continue
            if kind is dict:
                depth += 1
                is_leaf = True
                attributes = token
                text = None
                if depth > max_depth or len(attributes) > max_attributes:
                    raise Doubt
                continue
            depth -= 1
            if depth == 1:
                if token == LINK:
                    if not is_leaf:
                        raise Doubt
                    links.append(attributes)
                elif LOC <= token < last_field:
                    if not is_leaf:
                        raise Doubt
                    if text is not None and (value := text.strip()):
                        if slots[token - LOC] is not None:
                            raise Doubt
                        slots[token - LOC] = value
            elif token == RECORD:
                link = choose_link(links)
                loc = link["href"].strip() if link else slots[0]
                if depth or loc is None:
                    raise Doubt
                date = next((value for value in slots[1:] if value), None)
                entries.append(UrlEntry(loc, sitemap=self._sitemap, lastmod_text=date))
                slots = [None] * self._fields
                links = []
            elif depth <= 0:  # between two records
                raise Doubt
            is_leaf = False
            text = None
        return entries


def read_dates(texts: list[str]) -> list[datetime]:
    """Read a column of dates; raise Doubt if any cannot be read."""
    return parse_column(texts) or [_sure(parse_lastmod(text)) for text in texts]


def parse_all(texts: list[str], parse: Callable[[str], Any]) -> list[Any]:
    """Parse a column, each different text once; raise Doubt if any cannot be read."""
    known = {text: _sure(parse(text)) for text in set(texts)}
    return list(map(known.__getitem__, texts))


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
