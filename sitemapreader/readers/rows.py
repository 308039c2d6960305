"""Records that have one layout, as columns: what stands at the same place of each."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from sitemapreader.readers.tokens import Doubt, known_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.readers.layouts import Layout
    from sitemapreader.readers.tokens import Token

Column: TypeAlias = list[Any]
Attributes: TypeAlias = dict[str, Column]
"""Name of an attribute -> its value in each record; `None` where one has it not."""


class Rows:
    """The records of a batch that have one layout; `starts` is where in the tokens each begins."""

    def __init__(self, tokens: list[Token], starts: Sequence[int], layout: Layout) -> None:
        self.layout = layout
        self._tokens = tokens
        self.starts = starts
        self._width = len(layout.kinds)
        self._are_all = len(starts) * self._width == len(tokens) - starts[0]

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, place: int) -> Column:
        """Return the tokens at one place of each record."""
        if self._are_all:
            return self._tokens[self.starts[0] + place :: self._width]
        return [self._tokens[start + place] for start in self.starts]

    def texts(self, place: int) -> list[str]:
        """Return the texts at one place, trimmed."""
        return list(map(str.strip, self.column(place)))

    def field(self, slot: int) -> list[str]:
        """Return the texts of a field of the records themselves; empty where there is none."""
        place = self.layout.fields.get(slot)
        return [] if place is None else self.texts(place)

    def attributes(self) -> Attributes:
        """Return the attributes of links: of each record's first, then of each second ...

        Raises Doubt if they are not plain.
        """
        if self.layout.links:
            tags = list(chain.from_iterable(map(self.column, self.layout.links)))
            names = known_only(set(chain.from_iterable(tags)))
            return {name: [attributes.get(name) for attributes in tags] for name in names}
        absent = [None] * len(self)
        links = self.layout.attributes
        return {
            name: list(
                chain.from_iterable(
                    self._values(link[name]) if name in link else absent for link in links
                )
            )
            for name in set(chain.from_iterable(links))
        }

    def _values(self, place: int) -> Column:
        values = self.column(place)
        joined = "".join(values)
        if "\t" in joined or "\n" in joined:  # blanks, in an attribute (XML 1.0, section 3.3.3)
            raise Doubt
        return values

    def check_attributes(self, most: int) -> None:
        """Raise Doubt if a start tag has attributes that matter, or too many."""
        layout = self.layout
        if any(any(self.column(place)) for place in layout.bare):
            raise Doubt
        for place in layout.free:
            attributes = self.column(place)
            if any(attributes) and max(map(len, attributes)) > most:
                raise Doubt
