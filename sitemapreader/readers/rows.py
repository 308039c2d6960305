"""Records that have one layout, as columns: what stands at the same place of each."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sitemapreader.readers.tokens import Doubt, known_only

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sitemapreader.readers.layouts import Layout
    from sitemapreader.readers.tokens import Token

Column: TypeAlias = list[Any]
Attributes: TypeAlias = dict[str, Column]
"""Name of an attribute -> its value in each record; `None` where one has it not."""
Look = TypeVar("Look")


class Rows:
    """The records of a batch that have one layout; `starts` is where in the tokens each begins."""

    def __init__(self, tokens: list[Token], starts: Sequence[int], layout: Layout) -> None:
        self.layout = layout
        self._tokens = tokens
        self.starts = starts
        self._width = len(layout.kinds)
        self._are_all = len(starts) * self._width == len(tokens)

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, place: int) -> Column:
        """Return the tokens at one place of each record."""
        if self._are_all:
            return self._tokens[place :: self._width]
        return [self._tokens[start + place] for start in self.starts]

    def texts(self, place: int) -> list[str]:
        """Return the texts at one place, trimmed."""
        return list(map(str.strip, self.column(place)))

    def field(self, slot: int) -> list[str]:
        """Return the texts of a field of the records themselves; empty where there is none."""
        place = self.layout.fields.get(slot)
        return [] if place is None else self.texts(place)

    def attributes(self) -> Attributes:
        """Return each attribute of the links as one column; raise Doubt if they are not plain.

        The first link of every record comes first, then the second of every record, and so on.
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


def group(
    size: int,
    usual: Look | None,
    fit: Callable[[Look, int], int],
    find: Callable[[int], tuple[Look, int]],
) -> dict[Look, list[int]]:
    """Return where in a batch the records begin, by what they look like.

    Most look as the one before, and the first as usual. `fit` returns where a record that begins at
    a place and looks so ends, or 0; `find` returns how any record looks, and where it ends.
    """
    groups: dict[Look, list[int]] = {}
    start, look = 0, usual
    while start < size:
        end = fit(look, start) if look else 0
        if not look or not end:
            look, end = find(start)
        groups.setdefault(look, []).append(start)
        start = end
    return groups


def find_usual(groups: Mapping[Look, Sequence[int]]) -> Look | None:
    """Return what most records look like, if there are any."""
    return max(groups, key=lambda look: len(groups[look]), default=None)
