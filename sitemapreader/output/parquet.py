"""Entries as a Parquet file (https://parquet.apache.org)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from sitemapreader.output.arrow import make_batch, make_schema

import pyarrow as pa  # isort: skip (the line above says how to get it)
import pyarrow.parquet as pq  # isort: skip (the same)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.models import UrlEntry
    from sitemapreader.output.schema import Column

_BATCH_ROWS = 8_192
"""Entries that wait to become columns; about 3 MB."""
_GROUP_ROWS = 122_880
"""Rows of a group, which is written at once; about 20 MB. DuckDB reads groups of this size best."""
_REPETITIVE = ("changefreq", "priority", "sitemap")
"""Columns with few different values, which a dictionary makes small; most locs are different."""


class ParquetEncoder:
    """Makes a Parquet file; entries wait until they fill a group of rows."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._schema = make_schema(columns)
        self._made = _Made()
        self._entries: list[UrlEntry] = []
        self._batches: list[pa.RecordBatch] = []

    def begin(self) -> bytes:
        """Return the first bytes of the file."""
        self._writer = pq.ParquetWriter(
            self._made,
            self._schema,
            compression="zstd",
            use_dictionary=[name for name in _REPETITIVE if name in self._schema.names],
        )
        return self._made.take()

    def encode(self, entries: list[UrlEntry]) -> bytes:
        """Return a group of rows, if it is full, or nothing."""
        self._entries += entries
        if len(self._entries) >= _BATCH_ROWS:
            self._make_columns()
        if sum(batch.num_rows for batch in self._batches) >= _GROUP_ROWS:
            self._make_group()
        return self._made.take()

    def end(self) -> bytes:
        """Return what is left, and the directory of the file."""
        self._make_columns()
        self._make_group()
        self._writer.close()
        return self._made.take()

    def _make_columns(self) -> None:
        if not self._entries:
            return
        self._batches.append(make_batch(self._entries, self._schema))
        self._entries = []

    def _make_group(self) -> None:
        if not self._batches:
            return
        self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
        self._batches = []


class _Made(io.RawIOBase):
    """The bytes that were made and not taken yet."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def take(self) -> bytes:
        """Return what was made since the last time."""
        made, self._parts = b"".join(self._parts), []
        return made

    def writable(self) -> bool:
        """Tell pyarrow that it may write."""
        return True

    def tell(self) -> int:
        """Return how much was written in all."""
        return self._size

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Take bytes."""
        self._parts.append(data)
        self._size += len(data)
        return len(data)
