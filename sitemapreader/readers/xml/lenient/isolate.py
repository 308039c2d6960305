"""A batch that expat refuses -> the parts of it that expat reads, and those that need a repair.

A healthy record is read the same whatever stands beside it: so what is broken is narrowed down to
the records that are, before anything is repaired.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sitemapreader.readers.exact import UnreadableError, arm_parser, make_start_tag, parse_batch
from sitemapreader.readers.xml.boundaries import find_borders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapreader.readers.xml.prolog import Prolog

_MAX_TRIALS = 300
"""Of one batch, at 7 microseconds or more; what is not shown to be sound by then is repaired."""
_FIRST_TRIALS, _MORE_TRIALS = 100, 50
"""Before a batch is given up in which nothing is sound; and for each part that is."""


class Part(NamedTuple):
    """Some records of a batch: where they begin and end, and whether expat reads them."""

    start: int
    end: int
    is_sound: bool


def isolate_broken(batch: bytes, head: Prolog) -> Iterator[Part | None]:
    """Yield the parts of a broken batch, in order; `None` is a pause."""
    triage = _Bisector(batch, head)
    last: Part | None = None
    for part in triage.sort():
        if part is None:
            yield None
        elif last and last.is_sound == part.is_sound:
            last = Part(last.start, part.end, part.is_sound)
        else:
            yield last
            last = part
    yield last


class _Bisector:
    """Halves a batch between records until all that is sound is found."""

    def __init__(self, batch: bytes, head: Prolog) -> None:
        self._batch = batch
        self._start_tag = make_start_tag(head)
        self._borders = find_borders(batch, head.records)
        self._trials = 0
        self._most_trials = _FIRST_TRIALS

    def sort(self) -> Iterator[Part | None]:
        """Cut between outermost records, as one may hold elements of its own name.

        Where that does not help, for an end tag may be missing, cut between all.
        """
        every = self._join_blanks(place for place, _ in self._borders)
        outer = self._join_blanks(place for place, depth in self._borders if depth == 0)
        for part in self._halve(self._cut(0, len(self._batch), outer)):
            if part is None or part.is_sound:
                yield part
            else:
                yield from self._halve(self._cut(part.start, part.end, every))

    def _join_blanks(self, places: Iterable[int]) -> list[int]:
        """Leave out the places behind which a piece would end that is nothing but blanks."""
        kept = [0]
        for place in places:
            if self._batch[kept[-1] : place].strip(b" \t\r\n"):
                kept.append(place)
        return kept[1:]

    def _cut(self, start: int, end: int, places: list[int]) -> list[tuple[int, int]]:
        inner = places[bisect_right(places, start) : bisect_left(places, end)]
        return list(pairwise([start, *inner, end]))

    def _halve(self, pieces: list[tuple[int, int]]) -> Iterator[Part | None]:
        """Yield the pieces that are known to be broken together, as sound and broken parts."""
        ranges = [(0, len(pieces))]
        while ranges:
            first, last = ranges.pop()
            start, end = pieces[first][0], pieces[last - 1][1]
            is_all = last - first == len(pieces)
            if not is_all and self._is_sound(start, end):
                yield Part(start, end, is_sound=True)
            elif last - first == 1 or self._trials >= self._most_trials:
                yield Part(start, end, is_sound=False)
            else:
                middle = (first + last) // 2
                ranges += [(middle, last), (first, middle)]
                yield None

    def _is_sound(self, start: int, end: int) -> bool:
        if self._trials >= self._most_trials:
            return False
        self._trials += 1
        try:
            parse_batch(arm_parser(), self._start_tag, self._batch[start:end])
        except UnreadableError:
            return False
        self._most_trials = min(_MAX_TRIALS, self._most_trials + _MORE_TRIALS)
        return True
