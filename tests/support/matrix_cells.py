"""The cells of the fault matrix: a fault, a format and a cut, and what they must give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from matrix_answers import FAULTS
from matrix_formats import BODIES, complete_locs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matrix_faults import Fault, Script

CUTS = ("head", "25 %", "50 %", "last byte")


def count_arriving(cut: str, size: int) -> int:
    """Return how many bytes of a body arrive."""
    return {"head": 0, "25 %": size // 4, "50 %": size // 2, "last byte": size - 1}[cut]


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
        """The number of bytes of the body that arrive."""
        size = count_arriving(self.cut, len(self.body)) if self.cut else len(self.body)
        return max(size, 1) if self.fault.limited else size

    @property
    def script(self) -> Script:
        return self.fault.write(self.body, self.size)

    @property
    def is_harmless(self) -> bool:
        """Whether the cut cannot be seen, or costs nothing.

        A cut in a list of lines looks like its end. The last byte of XML is no part of a record;
        that of gzip is the end of its length.
        """
        ends = self.fault.codes is None and self.size > 0
        return ends and self.kind != "gz" and (self.kind == "text" or self.cut == "last byte")

    @property
    def codes(self) -> frozenset[str]:
        """The allowed reasons of the outcome."""
        if self.fault.codes is not None:
            return self.fault.codes
        if not self.size:
            return frozenset({"empty"})
        if self.is_harmless:
            return frozenset({""})
        return frozenset({"compression-truncated"} if self.kind == "gz" else {"truncated"})

    def list_complete(self, extra: int = 0) -> list[str]:
        """List the URLs of the records that arrive complete, with some bytes beyond the cut."""
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
