"""Entries as a Parquet file (https://parquet.apache.org)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from sitemapreader.entry_columns import join_output
from sitemapreader.output.arrow import make_batch, make_schema

import pyarrow as pa  # isort: skip (the line above says how to get it)
import pyarrow.parquet as pq  # isort: skip (the same)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.entry_columns import OutputRows
    from sitemapreader.output.schema import Column

_BATCH_ROWS = 8_192
"""Entries that wait to become columns; about 3 MB."""
_GROUP_ROWS = 40_960
"""Rows of a group, which is written at once; about 7 MB. DuckDB reads groups in parallel."""
_REPETITIVE = ("changefreq", "priority", "sitemap")
"""Columns with few different values, which a dictionary makes small; most locs are different."""


class ParquetEncoder:
    """An encoder of Parquet; entries wait until they fill a group of rows."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._schema = make_schema(columns)
        self._buffer = _ByteBuffer()
        self._rows: list[OutputRows] = []
        self._batches: list[pa.RecordBatch] = []

    def begin(self) -> bytes:
        """Return the first bytes of the file."""
        self._writer = pq.ParquetWriter(
            self._buffer,
            self._schema,
            compression="zstd",
            use_dictionary=[name for name in _REPETITIVE if name in self._schema.names],
        )
        return self._buffer.take_bytes()

    def encode(self, rows: OutputRows) -> bytes:
        """Return a group of rows, if it is full, or nothing."""
        self._rows.append(rows)
        if sum(map(len, self._rows)) >= _BATCH_ROWS:
            self._make_columns()
        if sum(batch.num_rows for batch in self._batches) >= _GROUP_ROWS:
            self._make_group()
        return self._buffer.take_bytes()

    def end(self) -> bytes:
        """Return the last group of rows and the footer of the file."""
        self._make_columns()
        self._make_group()
        self._writer.close()
        return self._buffer.take_bytes()

    def _make_columns(self) -> None:
        if not self._rows:
            return
        self._batches.append(make_batch(join_output(self._rows), self._schema))
        self._rows = []

    def _make_group(self) -> None:
        if not self._batches:
            return
        self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
        self._batches = []


class _ByteBuffer(io.RawIOBase):
    """A file for pyarrow's writer, whose bytes are taken from its start."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def take_bytes(self) -> bytes:
        """Return what was written since the last time."""
        data, self._parts = b"".join(self._parts), []
        return data

    def writable(self) -> bool:
        """Return True: it can be written to."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written in all."""
        return self._size

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Append bytes until they are taken."""
        self._parts.append(data)
        self._size += len(data)
        return len(data)
