"""The vocabulary as the fast reader needs it: for each name, the token that its end tag becomes.

Derived from the tables of `vocabulary`, so that there is one place a fact.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar

import attrs

from sitemapreader.models import Format
from sitemapreader.readers.records.fields import EXTENSIONS, FEED_DATES, PROTOCOL_FIELDS, Extension
from sitemapreader.readers.records.namespaces import OWN, XHTML, namespace_key

if TYPE_CHECKING:
    from collections.abc import Callable

LOC, LASTMOD, CHANGEFREQ, PRIORITY = range(len(PROTOCOL_FIELDS))
"""Slots of a url's or a sitemap's own fields; of a feed's record, 0 is its link, 1, 2 ... are its
dates, best first."""


class Role(Enum):
    """What an element is to a record."""

    RECORD = auto()
    FIELD = auto()
    LINK = auto()
    """A link, whose attributes are what it says."""
    VALUE = auto()
    """An extension: an element whose fields become one value."""
    DETAIL = auto()
    """A field of an extension."""
    TAG = auto()
    """One of a video's tags."""
    GROUP = auto()
    """An element of an extension that only groups fields."""


@attrs.frozen
class Part:
    """An extension: slot -> what reads the text, of those that are not taken as they stand."""

    extension: Extension
    parsers: dict[int, Callable[[str], object | None]]


@attrs.frozen
class Meaning:
    """What an element of the vocabulary is: its role, its slot if it is a field, its extension."""

    role: Role
    slot: int = 0
    part: Part | None = None


class End(int):
    """An end tag.

    Each name of the vocabulary has a class of its own, so that the types of tokens tell how the
    records are laid out. All others are of this class. Why they are large numbers, `tokens` says.
    """

    __slots__ = ()
    meaning: ClassVar[Meaning | None] = None


_FIRST = 1 << 20
"""More than a batch can have tokens."""
_FIRST_OTHER = _FIRST + 1000


def other(number: int) -> End:
    """Make the token of a name that is none of the vocabulary, to be told apart from the others."""
    return End(_FIRST_OTHER + number)


@attrs.frozen
class Lexicon:
    """The tokens of one format.

    Attributes:
        record: the class of the token that ends a record.
        tokens: (namespace key, tag) -> token.
    """

    record: type[End]
    tokens: dict[tuple[str, str], End]

    def find(self, name: str, root_uri: str, format_: Format) -> End | None:
        """Return the token of an element, named as expat names it, if the vocabulary has it."""
        uri, _, local = name.rpartition("}")
        key = namespace_key(uri, root_uri, format_)
        return self.tokens.get((key, local.lower()))


def _make_lexicon(meanings: dict[tuple[str, str], Meaning]) -> Lexicon:
    tokens, record = {}, End
    for number, (name, meaning) in enumerate(meanings.items(), _FIRST):
        kind: type[End] = type(name[1], (End,), {"__slots__": (), "meaning": meaning})
        tokens[name] = kind(number)
        if meaning.role is Role.RECORD:
            record = kind
    return Lexicon(record, tokens)


def _protocol(record: str) -> Lexicon:
    meanings = {(OWN, tag): Meaning(Role.FIELD, slot) for slot, tag in enumerate(PROTOCOL_FIELDS)}
    meanings |= {(OWN, record): Meaning(Role.RECORD), (XHTML, "link"): Meaning(Role.LINK)}
    for extension in EXTENSIONS:
        texts = [field for field in extension.fields if field.is_text]
        parsers = {i: field.parse for i, field in enumerate(texts) if not field.is_verbatim}
        part = Part(extension, parsers)
        key = extension.key
        meanings |= {
            (key, field.tag): Meaning(Role.DETAIL, slot, part) for slot, field in enumerate(texts)
        }
        meanings |= {(key, tag): Meaning(Role.GROUP, 0, part) for tag in extension.containers}
        meanings[key, extension.tag] = Meaning(Role.VALUE, 0, part)
        meanings |= {
            (key, field.tag): Meaning(Role.TAG, 0, part)
            for field in extension.fields
            if field.many and not field.build
        }
    return _make_lexicon(meanings)


def _feed(format_: Format, record: str) -> Lexicon:
    link = Meaning(Role.LINK) if format_ is Format.ATOM else Meaning(Role.FIELD, LOC)
    meanings = {(OWN, record): Meaning(Role.RECORD), (OWN, "link"): link}
    dates = FEED_DATES[format_]
    meanings |= {
        name: Meaning(Role.FIELD, slot) for slot, names in enumerate(dates, 1) for name in names
    }
    return _make_lexicon(meanings)


LEXICONS = {
    Format.URLSET: _protocol("url"),
    Format.INDEX: _protocol("sitemap"),
    Format.RSS: _feed(Format.RSS, "item"),
    Format.ATOM: _feed(Format.ATOM, "entry"),
}
