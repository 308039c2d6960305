"""The cells of the fault matrix: a fault, a format and a cut, and what has to come of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from matrix_answers import FAULTS
from matrix_formats import BODIES, complete_locs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matrix_faults import Fault, Script

CUTS = ("head", "25 %", "50 %", "last byte")


def place_of_cut(name: str, size: int) -> int:
    """Return how many bytes of a body arrive."""
    return {"head": 0, "25 %": size // 4, "50 %": size // 2, "last byte": size - 1}[name]


@attrs.frozen
class Cell:
    """One fault in one format at one cut ("" where the fault has no cuts)."""

    fault: Fault
    kind: str
    cut: str

    @property
    def path(self) -> str:
        row = list(FAULTS).index(self.fault.name)
        return f"/{row}/{self.kind}/{CUTS.index(self.cut) if self.cut else ''}/x"

    @property
    def body(self) -> bytes:
        return self.fault.wrap(BODIES[self.kind])

    @property
    def size(self) -> int:
        """How many bytes of the body arrive."""
        size = place_of_cut(self.cut, len(self.body)) if self.cut else len(self.body)
        return max(size, 1) if self.fault.limited else size

    @property
    def script(self) -> Script:
        return self.fault.write(self.body, self.size)

    @property
    def is_unseen(self) -> bool:
        """Whether nothing of weight is missing, or nothing tells that it is.

        That is so for lines that end with their bytes, and for all that lacks no more than a byte
        behind its last record.
        """
        ends = self.fault.codes is None and self.size > 0
        return ends and (self.kind == "text" or self.cut == "last byte")

    @property
    def codes(self) -> frozenset[str]:
        """What the outcome may say."""
        if self.fault.codes is not None:
            return self.fault.codes
        if not self.size:
            return frozenset({"empty"})
        if self.is_unseen:
            return frozenset({""})
        return frozenset({"compression-truncated"} if self.kind == "gz" else {"truncated"})

    def complete(self, extra: int = 0) -> list[str]:
        """Return what is complete in what arrives."""
        if self.fault.opaque:
            return []
        ended = self.fault.codes in (None, frozenset({""}))
        return complete_locs(self.kind, self.body[: self.size + extra], ended=ended)


def all_cells() -> Iterator[Cell]:
    """Yield each fault in each format at each cut."""
    for fault in FAULTS.values():
        for kind in BODIES:
            for cut in CUTS if fault.cut else ("",):
                yield Cell(fault, kind, cut)


def some_cells() -> Iterator[Cell]:
    """Yield each fault in each format, at one of the cuts in turn."""
    for place, fault in enumerate(FAULTS.values()):
        for number, kind in enumerate(BODIES, place):
            yield Cell(fault, kind, CUTS[number % len(CUTS)] if fault.cut else "")
