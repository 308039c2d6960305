"""Entries as Parquet, in groups of rows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from sitemapreader._columns.arrow import make_batches, make_schema
from sitemapreader._types.errors import name_extra
from sitemapreader._types.rows import BATCH_ROWS, OutputRows
from sitemapreader.output.sink import Encoder

with name_extra("Parquet and Arrow need", "arrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from sitemapreader._columns import Column

GROUP_ROWS = 40_960
"""Rows of a group, which is written at once; about 7 MB. DuckDB reads groups in parallel."""


class ParquetEncoder(Encoder):
    """An encoder of Parquet, which collects rows in batches and batches in groups."""

    def __init__(self, _path: str, columns: tuple[Column, ...]) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415 (batches alone do not need it)

        self._columns = columns
        self._bytes = _Bytes()
        self._rows: list[OutputRows] = []
        self._waiting_rows = 0
        """Number of rows in `_rows`."""
        self._batches: list[pa.RecordBatch] = []
        repetitive = [column.name for column in columns if column.is_repetitive]
        self._writer = pq.ParquetWriter(
            self._bytes,
            make_schema(columns),
            compression="zstd",
            use_dictionary=repetitive,
        )
        self.head = self._bytes.take()

    def encode(self, rows: OutputRows) -> bytes:
        """Return a group of rows, if it is full, or nothing."""
        self._rows.append(rows)
        self._waiting_rows += len(rows)
        if self._waiting_rows >= BATCH_ROWS:
            self._make_batch()
        return self._bytes.take()

    def end(self) -> list[bytes]:
        """Return the last group of rows and the footer of the file."""
        self._make_batch()
        self._write_group()
        self._writer.close()
        return [self._bytes.take()]

    def _make_batch(self) -> None:
        self._batches += make_batches(self._rows, self._columns)
        self._rows = []
        self._waiting_rows = 0
        if sum(map(len, self._batches)) >= GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._writer.write_table(table)
            self._batches = []


class _Bytes(io.BytesIO):
    """A file for pyarrow's writer, whose bytes are taken from its start."""

    def take(self) -> bytes:
        """Return the bytes that were written since the last call."""
        data = self.getvalue()
        self.seek(0)
        self.truncate()
        return data
