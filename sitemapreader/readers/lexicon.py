"""The vocabulary in numbers, for the fast reader: what an element's name becomes in its tokens.

Numbers from `LOC` on are fields, and `number - LOC` is the slot that a field's text goes to; the
others are records, extensions and the rest. Derived from the tables of `vocabulary`, so that there
is one place a fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.models import Format
from sitemapreader.readers.names import ATOM, DC, OWN, VIDEO, XHTML, namespace_key
from sitemapreader.readers.vocabulary import EXTENSIONS, PROTOCOL_FIELDS, Extension

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = 1 << 20
"""More than a batch can have tokens; why, `tokens` says."""
LOC, LASTMOD, CHANGEFREQ, PRIORITY = range(FIRST, FIRST + len(PROTOCOL_FIELDS))

IGNORED, RECORD, LINK, TAG = range(FIRST + 1000, FIRST + 1004)
"""Of no interest; the end of a record; a link with attributes; one of a video's tags."""
_FIRST_EXTENSION = FIRST + 1010
OTHERS = FIRST + 2000
"""From here on: each of the other names has a number of its own, so that attributes can be told
apart."""

# the date fields of a feed's record, best first: slots 1, 2, ... (slot 0 is the link)
_FEED_DATES: dict[Format, tuple[tuple[tuple[str, str], ...], ...]] = {
    Format.RSS: (((OWN, "pubdate"),), ((DC, "date"), (DC, "modified")), ((ATOM, "updated"),)),
    Format.ATOM: tuple(((OWN, tag),) for tag in ("updated", "modified", "published", "issued")),
}


@attrs.frozen
class Part:
    """An extension in numbers: the slots of its fields, and what makes values of their texts."""

    extension: Extension
    start: int
    end: int
    parsers: tuple[tuple[int, Callable[[str], object | None]], ...]


@attrs.frozen
class Lexicon:
    """The numbers of one format.

    Attributes:
        fields: how many slots a record has.
        numbers: (namespace key, tag) -> number.
        parts: number -> extension.
        owners: number of what stands in an extension only -> number of that extension.
    """

    fields: int
    numbers: dict[tuple[str, str], int]
    parts: dict[int, Part]
    owners: dict[int, int]

    def number(self, name: str, root_uri: str, format_: Format) -> int | None:
        """Return the number of an element, named as expat names it, if it has one."""
        uri, _, local = name.rpartition("}")
        key = namespace_key(uri, root_uri, format_)
        return self.numbers.get((key, local.lower()))


def _protocol(record: str) -> Lexicon:
    numbers = {(OWN, tag): number for number, tag in enumerate(PROTOCOL_FIELDS, LOC)}
    numbers |= {(OWN, record): RECORD, (XHTML, "link"): LINK}
    parts = {}
    owners: dict[int, int] = {}
    slot = len(PROTOCOL_FIELDS)
    for number, extension in enumerate(EXTENSIONS, _FIRST_EXTENSION):
        texts = [field for field in extension.fields if field.is_text]
        parsers = tuple((i, f.parse) for i, f in enumerate(texts) if not f.is_verbatim)
        parts[number] = Part(extension, slot, slot + len(texts), parsers)
        numbers |= {(extension.key, field.tag): LOC + slot + i for i, field in enumerate(texts)}
        numbers |= dict.fromkeys(((extension.key, tag) for tag in extension.containers), IGNORED)
        numbers[extension.key, extension.tag] = number
        owners |= dict.fromkeys(range(LOC + slot, LOC + slot + len(texts)), number)
        if extension.containers:
            owners[IGNORED] = number
        if extension.key == VIDEO:
            owners[TAG] = number
        slot += len(texts)
    numbers[VIDEO, "tag"] = TAG
    return Lexicon(slot, numbers, parts, owners)


def _feed(format_: Format, record: str) -> Lexicon:
    numbers = {(OWN, record): RECORD, (OWN, "link"): LINK if format_ is Format.ATOM else LOC}
    dates = _FEED_DATES[format_]
    numbers |= {name: number for number, names in enumerate(dates, LOC + 1) for name in names}
    return Lexicon(1 + len(dates), numbers, {}, {})


LEXICONS = {
    Format.URLSET: _protocol("url"),
    Format.INDEX: _protocol("sitemap"),
    Format.RSS: _feed(Format.RSS, "item"),
    Format.ATOM: _feed(Format.ATOM, "entry"),
}
