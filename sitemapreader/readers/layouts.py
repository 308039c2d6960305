"""How the tokens of a record are laid out: at which place each field has its text.

It follows from the types of the tokens alone, and most records of a document are laid out as others
of it are: so it is found out once, in a loop over the tokens, and used for columns of records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import attrs

from sitemapreader.readers.lexicon import Role
from sitemapreader.readers.tokens import Doubt

if TYPE_CHECKING:
    from sitemapreader.models import Format
    from sitemapreader.readers.lexicon import End, Meaning, Part

Kinds: TypeAlias = list[type]
"""The types of a record's tokens: `str`, `dict`, or a class of `End`."""


@attrs.define
class Value:
    """Where the texts of one extension's fields are.

    Attributes:
        part: the extension.
        texts: slot -> place.
        tags: places of a video's tags.
    """

    part: Part
    texts: dict[int, int]
    tags: list[int]


@attrs.define(eq=False)
class Layout:
    """Where in the tokens of a record its fields are.

    Attributes:
        kinds: the types of the tokens of each record; of a template's pieces, only how many.
        fields: slot -> place of the text.
        links: places of the start tags of links.
        attributes: for each link, name -> place of the value; of templates only, without `links`.
        values: the extensions, in their order.
        bare: places of start tags that may have no attributes.
        free: places of start tags that may have some.
    """

    kinds: Kinds
    fields: dict[int, int] = attrs.Factory(dict)
    links: list[int] = attrs.Factory(list)
    attributes: list[dict[str, int]] = attrs.Factory(list)
    values: list[Value] = attrs.Factory(list)
    bare: list[int] = attrs.Factory(list)
    free: list[int] = attrs.Factory(list)

    @property
    def has_links(self) -> bool:
        """Whether there are any, with attributes or without."""
        return bool(self.links or self.attributes)


def lay_out(kinds: Kinds, format_: Format, max_depth: int) -> Layout:
    """Find out the layout of a record; raise Doubt if it is not plain."""
    survey = (_FeedSurvey if format_.is_feed else _Survey)(kinds, max_depth)
    survey.take()
    return survey.layout


class _Place(NamedTuple):
    """Where an element of some role may stand: its depth, the record being at 0; as a leaf only?"""

    least: int
    most: int
    leaf: bool


_PLACES = {
    Role.RECORD: _Place(0, 0, leaf=False),
    Role.FIELD: _Place(1, 1, leaf=True),
    Role.LINK: _Place(1, 1, leaf=True),
    Role.VALUE: _Place(1, 1, leaf=False),
    Role.GROUP: _Place(2, 2, leaf=False),
    Role.DETAIL: _Place(2, 3, leaf=True),
    Role.TAG: _Place(2, 3, leaf=True),
}


class _Survey:
    """Walks over the tokens of one record of a url or a sitemap."""

    def __init__(self, kinds: Kinds, max_depth: int) -> None:
        self.layout = Layout(kinds)
        self._max_depth = max_depth
        self._depth = -1
        """Of what is open, the record being at 0."""
        self._start: int | None = None
        """Place of the last tag, if that is a start tag."""
        self._text: int | None = None
        """Place of the text behind it."""
        self._value: Value | None = None
        """What was met of the extension that is open."""
        self._has_ended = False
        self._slots: set[int] = set()
        """Fields of the record's own that were met."""

    def take(self) -> None:
        """Take all tokens."""
        for place, kind in enumerate(self.layout.kinds):
            if kind is str:
                self._text = place
            elif kind is dict:
                self._open(place)
            else:
                self._close(kind)
                self._depth -= 1
                self._start = self._text = None

    def _open(self, place: int) -> None:
        self._depth += 1
        self._start, self._text = place, None
        self.layout.free.append(place)
        if self._depth >= self._max_depth or self._has_ended:  # one record, and no more
            raise Doubt

    def _close(self, kind: type[End]) -> None:
        meaning = kind.meaning
        if meaning is None or not self._fits(meaning):
            raise Doubt
        if meaning.part and not self._value:
            self._value = Value(meaning.part, {}, [])
        match meaning.role, self._value:
            case Role.RECORD, _:
                self._has_ended = True
            case Role.LINK, _:
                self.layout.links.append(self.layout.free[-1])
            case Role.FIELD, _:
                self._take_field(meaning.slot)
            case Role.DETAIL, Value(texts=texts):
                self.layout.bare.append(self.layout.free.pop())
                self._take_text(texts, meaning.slot)
            case Role.TAG, Value(tags=tags) if self._text is not None:
                tags.append(self._text)
            case Role.VALUE, Value() as value:
                self.layout.values.append(value)
                self._value = None

    def _fits(self, meaning: Meaning) -> bool:
        place = _PLACES[meaning.role]
        return (
            place.least <= self._depth <= place.most
            and (self._start is not None or not place.leaf)
            and (self._value is None or self._value.part is meaning.part)
        )

    def _take_field(self, slot: int) -> None:
        if slot in self._slots:  # though one of the two may be empty
            raise Doubt
        self._slots.add(slot)
        self._take_text(self.layout.fields, slot)

    def _take_text(self, texts: dict[int, int], slot: int) -> None:
        if self._text is not None and texts.setdefault(slot, self._text) != self._text:
            raise Doubt


class _FeedSurvey(_Survey):
    """Walks over the tokens of one record of a feed: what stands deeper in it does not matter."""

    def _close(self, kind: type[End]) -> None:
        meaning = kind.meaning
        if meaning and (self._depth <= 1 or meaning.role is Role.RECORD):
            super()._close(kind)
        elif self._depth <= 0:  # between two records
            raise Doubt
