"""The stretches of a document: entries that follow one another, and are compared all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.changes.rows import (
    RECORD_HASH_BYTES,
    URL_HASH_BYTES,
    find_stretch,
    log_entries,
    mark_seen,
    pack,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.rows import DocumentRow, LogColumns

_BEGIN = 8
"""A key whose first byte is below this begins a stretch: one of 32, wherever it stands, so that a
URL more or less in a document shifts no other stretch."""


@attrs.frozen
class StretchPart:
    """Entries of a batch that follow one another.

    Attributes:
        start: the index of the first one.
        stop: the index behind the last one.
        keys: the keys of their URLs.
        records: the hashes of their records.
        stretch: number of the stretch that has them; 0 for none.
        is_end: True if that ends with them, so that a reading has all of it.
    """

    start: int
    stop: int
    keys: bytes
    records: bytes
    stretch: int = 0
    is_end: bool = False

    def cut(self, stop: int) -> StretchPart:
        """Return the entries before an index."""
        if stop >= self.stop:
            return self
        size = stop - self.start
        keys = self.keys[: size * URL_HASH_BYTES]
        records = self.records[: size * RECORD_HASH_BYTES]
        return StretchPart(self.start, stop, keys, records, self.stretch)


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

    def split(
        self,
        db: Connection | None,
        keys: Sequence[bytes],
        records: Sequence[bytes],
    ) -> list[StretchPart]:
        """Split the next entries by stretches; without `db`, no stretch has them."""
        if db is None:
            self._stretch = 0
        parts: list[StretchPart] = []
        start = 0
        while start < len(keys):
            part = self._find_part(db, keys, records, start)
            parts.append(part)
            start = part.stop
        return parts

    def _find_part(
        self,
        db: Connection | None,
        keys: Sequence[bytes],
        records: Sequence[bytes],
        start: int,
    ) -> StretchPart:
        """Return the part that begins with an entry."""
        may_begin = self._may_begin or keys[start][0] < _BEGIN
        self._may_begin = False
        if db is not None and may_begin and not self._stretch:
            found = find_stretch(db, self._row, keys[start])
            self._stretch, self._keys, self._records = found or (0, b"", b"")
        if self._stretch:
            stop = start + len(self._keys) // URL_HASH_BYTES
            part = _make_part(keys, records, start, min(stop, len(keys)))
            if self._has(part):
                return self._follow(part)
            self._stretch = 0
        begins = (n for n in range(start + 1, len(keys)) if keys[n][0] < _BEGIN)
        return _make_part(keys, records, start, next(begins, len(keys)))

    def _has(self, part: StretchPart) -> bool:
        """Return whether the rest of the stretch begins with these entries."""
        has_keys = self._keys.startswith(part.keys)
        return has_keys and self._records.startswith(part.records)

    def _follow(self, part: StretchPart) -> StretchPart:
        """Leave entries of the stretch behind; return them with its number."""
        number = self._stretch
        self._keys = self._keys[len(part.keys) :]
        self._records = self._records[len(part.records) :]
        is_end = not self._keys
        if is_end:
            self._stretch = 0
            self._may_begin = True
        return attrs.evolve(part, stretch=number, is_end=is_end)

    # -- the same, when they are delivered

    def add(self, part: StretchPart, locs: Sequence[str], marks: str) -> None:
        """Add entries that the reading has, with their URLs and marks: see the table `log`."""
        if part.is_end:
            self._seen.append(part.stretch)
            self._held = []
            return
        columns = part.keys, part.records, pack(locs), marks
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


def _make_part(
    keys: Sequence[bytes],
    records: Sequence[bytes],
    start: int,
    stop: int,
) -> StretchPart:
    """Return the entries from one index to another."""
    return StretchPart(
        start, stop, b"".join(keys[start:stop]), b"".join(records[start:stop])
    )


def save_seen(
    db: Connection,
    row: DocumentRow,
    stamp: int,
    seen: Sequence[int],
    logged: Sequence[LogColumns],
) -> None:
    """Save the results of a reading: the entries that it saw, and the log of changes."""
    mark_seen(db, seen, stamp)
    log_entries(db, row, stamp, logged)
