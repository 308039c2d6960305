"""The stretches of a document: entries that follow one another, and are compared all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.changes.rows import (
    RECORD_HASH_BYTES,
    URL_HASH_BYTES,
    begins_stretch,
    find_stretch,
    pack,
    strip_origin,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.rows import DocumentRow, LogColumns


@attrs.frozen
class ListedEntries:
    """Entries of a batch.

    Attributes:
        locs: their URLs.
        keys: the keys of their URLs.
        records: the hashes of their records.
    """

    locs: Sequence[str] = ()
    keys: Sequence[bytes] = ()
    records: Sequence[bytes] = ()


@attrs.frozen
class StretchPart:
    """Entries of a batch that follow one another.

    Attributes:
        start: the index of the first one.
        stop: the index behind the last one.
        stretch: number of the stretch that has them; 0 for none.
        is_end: True if that ends with them, so that a reading has all of it.
    """

    start: int
    stop: int
    stretch: int = 0
    is_end: bool = False


class DocumentStretches:
    """The stretches of a document, beside the entries of a reading."""

    def __init__(self, row: DocumentRow) -> None:
        self._row = row
        self._stretch = 0
        self._keys = b""
        self._records = b""
        """The entries of the stretch that are to follow."""
        self._may_begin = True
        self._held: list[LogColumns] = []
        """Entries of a stretch whose end was not seen."""
        self._seen: list[int] = []
        self._logged: list[LogColumns] = []

    # -- the entries of a batch, before they are delivered

    def split(self, db: Connection, entries: ListedEntries) -> list[StretchPart]:
        """Split the next entries by stretches."""
        parts: list[StretchPart] = []
        number = len(entries.keys)
        start = 0
        while start < number:
            part = self._find_part(db, entries, start)
            start = part.stop
            if parts and not parts[-1].stretch and not part.stretch:
                part = attrs.evolve(part, start=parts.pop().start)
            parts.append(part)
        return parts

    def leave(self, entries: ListedEntries) -> list[StretchPart]:
        """Return the next entries as a part that is in no stretch."""
        self._stretch = 0
        return [StretchPart(0, len(entries.keys))]

    def _find_part(
        self,
        db: Connection,
        entries: ListedEntries,
        start: int,
    ) -> StretchPart:
        """Return the part that begins with an entry."""
        keys = entries.keys
        may_begin = self._may_begin or begins_stretch(keys[start])
        self._may_begin = False
        if may_begin and not self._stretch:
            found = find_stretch(db, self._row, keys[start])
            if found is not None:
                self._stretch, self._keys, self._records = found
        if self._stretch:
            size = len(self._keys) // URL_HASH_BYTES
            stop = min(start + size, len(keys))
            if self._has(entries, start, stop):
                return self._follow(start, stop)
            self._stretch = 0
        stop = start + 1
        while stop < len(keys) and not begins_stretch(keys[stop]):
            stop += 1
        return StretchPart(start, stop)

    def _has(self, entries: ListedEntries, start: int, stop: int) -> bool:
        """Return whether the rest of the stretch begins with these entries."""
        keys = b"".join(entries.keys[start:stop])
        records = b"".join(entries.records[start:stop])
        return self._keys.startswith(keys) and self._records.startswith(records)

    def _follow(self, start: int, stop: int) -> StretchPart:
        """Leave entries of the stretch behind; return them with its number."""
        number = self._stretch
        size = stop - start
        self._keys = self._keys[size * URL_HASH_BYTES :]
        self._records = self._records[size * RECORD_HASH_BYTES :]
        is_end = not self._keys
        if is_end:
            self._stretch = 0
            self._may_begin = True
        return StretchPart(start, stop, number, is_end)

    # -- the same, when they are delivered

    def add(
        self,
        part: StretchPart,
        entries: ListedEntries,
        marks: str,
        number: int,
    ) -> None:
        """Add a part, as far as the first `number` entries of its batch were delivered.

        `marks` are those of all entries: see the table `log`.
        """
        if part.is_end and part.stop <= number:
            self._seen.append(part.stretch)
            self._held = []
            return
        here = slice(part.start, min(part.stop, number))
        columns = (
            b"".join(entries.keys[here]),
            b"".join(entries.records[here]),
            pack(strip_origin(entries.locs[here], self._row)),
            marks[here],
        )
        if part.stretch:
            self._held.append(columns)
        else:
            self.end()
            self._logged.append(columns)

    def end(self) -> None:
        """Note that the stretch has not come to its end: its entries are like others."""
        self._logged += self._held
        self._held = []

    def take_seen(self) -> tuple[list[int], list[LogColumns]]:
        """Return the stretches and the other entries that were added since the last call."""
        seen = self._seen
        logged = self._logged
        self._seen = []
        self._logged = []
        return seen, logged
