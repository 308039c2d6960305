"""Entries as Arrow record batches and Parquet, a column at a time.

Types follow from those of the models: a tuple is a list, a class a struct, a datetime a timestamp
in UTC with microseconds. What Arrow has no type for, a class in itself and a mapping, is JSON.
"""

from __future__ import annotations

import io
from array import array
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, chain
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from sitemapreader.errors import name_extra
from sitemapreader.output.columns import COLUMNS, SCHEMA_VERSION, SITE_COLUMN, Column, has_nothing
from sitemapreader.output.sink import Encoder
from sitemapreader.output.text import to_json
from sitemapreader.rows import (
    BATCH_ROWS,
    EntryColumns,
    OutputRows,
    RowBuffer,
    SiteRows,
    join_output,
)

with name_extra("Parquet and Arrow need", "arrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized
    from pathlib import Path

__all__ = ["GroupWriter", "make_array", "make_schema"]

GROUP_ROWS = 40_960
"""Rows of a group, which is written at once; about 7 MB. DuckDB reads groups in parallel."""
VERSION_KEY = b"sitemapreader.schema"
"""Key of the metadata whose value is the version of the schema, in digits."""
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_DAY, _MOMENT = pa.timestamp("us"), pa.timestamp("us", "UTC")
_DAY_CHARS = len("2026-01-01")
_TEXTS = frozenset({str, NoneType})
_SCALARS = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: _MOMENT,
}


@lru_cache(maxsize=16)
def make_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """Return the schema of these columns; its metadata has the version."""
    fields = [
        pa.field(column.name, _type_of(column.base), nullable=NoneType in get_args(column.type))
        for column in columns
    ]
    return pa.schema(fields, {VERSION_KEY: str(SCHEMA_VERSION)})


def make_batch(
    rows: OutputRows | list[Any], columns: tuple[Column, ...] = COLUMNS
) -> pa.RecordBatch:
    """Return rows as a record batch.

    Lone surrogates, which UTF-8 cannot have, are written with backslashes.
    """
    schema, written = make_schema(columns), None
    entries = (rows.columns if isinstance(rows, SiteRows) else None) or rows
    if isinstance(entries, EntryColumns) and entries.has("lastmod_text"):
        written = make_array(entries.get("lastmod_text"), pa.string())
    arrays = [
        _make_column(rows if column.name == SITE_COLUMN.name else entries, column, kind, written)
        for column, kind in zip(columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _make_column(
    rows: OutputRows | list[Any], column: Column, kind: pa.DataType, written: pa.Array | None
) -> pa.Array:
    """Return a column; `written` are the dates of entries as written, if known."""
    if isinstance(rows, EntryColumns):
        if not rows.has(column.name):
            return _make_empty(len(rows), kind)
        if written is not None and column.name == "lastmod_text":
            return written
        if written is not None and kind == _MOMENT:
            moments = _parse_moments(written)
            if moments is not None:
                return moments
    return make_array(column.read(rows), kind)


def _make_empty(size: int, kind: pa.DataType) -> pa.Array:
    """Return an array without values: of empty lists, or of nulls."""
    if not pa.types.is_list(kind):
        return pa.nulls(size, kind)
    offsets = pa.Array.from_buffers(pa.int32(), size + 1, [None, pa.py_buffer(bytes(4 * size + 4))])
    return pa.ListArray.from_arrays(offsets, pa.nulls(0, kind.value_type), type=kind)


def _type_of(annotation: Any) -> pa.DataType:
    arguments = [kind for kind in get_args(annotation) if kind not in {NoneType, Ellipsis}]
    if get_origin(annotation) is dict:
        return pa.string()
    if get_origin(annotation) is tuple:
        return pa.list_(_type_of(arguments[0]))
    if arguments:  # an optional one
        return _type_of(arguments[0])
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    return pa.struct(
        [
            (name, pa.string() if annotation in get_args(kind) else _type_of(kind))
            for name, kind in get_type_hints(annotation).items()
        ]
    )


def make_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return an array of values of a type that `make_schema` makes."""
    # `pa.array` and `pa.scalar` import pandas wherever that is installed: 45 MB, and 0.3 s.
    size = len(values)
    if not values or has_nothing(values):
        return _make_empty(size, kind)
    if pa.types.is_list(kind):
        parts = make_array(list(chain.from_iterable(values)), kind.value_type)
        offsets = pa.Array.from_buffers(pa.int32(), size + 1, [None, _write_offsets(values)])
        return pa.ListArray.from_arrays(offsets, parts, type=kind)
    if pa.types.is_struct(kind):
        return _make_structs(values, kind)
    if values.count(values[0]) == size:
        return pa.repeat(_make_scalars(values[:1], kind)[0], size)
    return _make_scalars(values, kind)


def _make_scalars(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the array of values that are texts, numbers, truth values or moments."""
    validity = _write_bits([value is not None for value in values]) if None in values else None
    if pa.types.is_string(kind):
        buffers = _write_texts([value or "" for value in values] if validity else values)
    elif pa.types.is_boolean(kind):
        buffers = [_write_bits(values)]
    elif kind == _MOMENT:
        numbers = [0 if value is None else (value - _EPOCH) // _MICROSECOND for value in values]
        buffers = [pa.py_buffer(array("q", numbers))]
    else:
        code = "d" if pa.types.is_floating(kind) else "q"
        buffers = [pa.py_buffer(array(code, [value or 0 for value in values]))]
    return pa.Array.from_buffers(kind, len(values), [validity, *buffers])


def _write_texts(texts: list[str]) -> list[pa.Buffer]:
    """Return the offsets and the bytes of texts."""
    joined = "".join(texts)
    if joined.isascii():
        return [_write_offsets(texts), pa.py_buffer(joined.encode())]
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    return [_write_offsets(encoded), pa.py_buffer(b"".join(encoded))]


def _write_offsets(values: Sequence[Sized]) -> pa.Buffer:
    """Return where each value begins, and the last one ends."""
    return pa.py_buffer(array("i", list(accumulate(map(len, values), initial=0))))


def _write_bits(marks: Iterable[object]) -> pa.Buffer:
    """Return a bit for each mark, the first one lowest."""
    digits = "".join(["1" if mark else "0" for mark in marks])
    return pa.py_buffer(int(digits[::-1], 2).to_bytes((len(digits) + 7) // 8, "little"))


def _parse_moments(written: pa.Array) -> pa.Array | None:
    """Parse a column of dates as written; `None` if one has to be read more closely."""
    # Arrow reads fewer forms than we do, and those alike, in a tenth of the time that it takes to
    # convert datetimes. Either type refuses the texts of the other.
    sizes = pc.binary_length(written)
    shortest, longest = pc.min_max(sizes).as_py().values()
    try:
        if longest == _DAY_CHARS == shortest:
            return written.cast(_DAY).cast(_MOMENT)
        if longest is None or shortest > _DAY_CHARS:
            return written.cast(_MOMENT)
        day_size = _make_scalars([_DAY_CHARS], pa.int64())[0]  # `pa.scalar` would import pandas
        is_day, nothing = pc.equal(sizes, day_size), pa.nulls(len(written), pa.string())
        days = pc.if_else(is_day, written, nothing).cast(_DAY).cast(_MOMENT)
        return pc.coalesce(days, pc.if_else(is_day, nothing, written).cast(_MOMENT))
    except pa.ArrowInvalid:
        return None


def _make_structs(values: list[Any], kind: pa.StructType) -> pa.Array:
    """Split the values into fields; an absent value is an absent struct."""
    parts = []
    for field in kind:
        nothing = () if pa.types.is_list(field.type) else None
        part = [nothing if value is None else getattr(value, field.name) for value in values]
        if pa.types.is_string(field.type) and not _TEXTS.issuperset(map(type, part)):
            part = [to_json(value) if value else None for value in part]
        parts.append(make_array(part, field.type))
    marks = _write_bits([value is None for value in values])
    mask = pa.Array.from_buffers(pa.bool_(), len(values), [None, marks])
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)


# -- rows that wait for others


def make_batches(parts: Sequence[OutputRows], columns: tuple[Column, ...]) -> list[pa.RecordBatch]:
    """Return all rows as one batch, if there are any."""
    return [make_batch(join_output(parts), columns)] if any(parts) else []


# -- Parquet


class GroupWriter:
    """A Parquet file, which is written a group of rows at a time.

    The `columns` that are named get a dictionary; True stands for all.
    """

    def __init__(
        self,
        file: str | Path | io.RawIOBase,
        schema: pa.Schema,
        columns: Sequence[str] | Literal[True] = True,
        rows: int = GROUP_ROWS,
    ) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415 (batches alone do not need it)

        self._waiting = RowBuffer[pa.RecordBatch](rows)
        self._writer = pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=columns)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows, and write a group if it is full."""
        if self._waiting.add(batch):
            self._write()

    def close(self) -> None:
        """Write the last group and the footer of the file."""
        self._write()
        self._writer.close()

    def _write(self) -> None:
        if batches := self._waiting.take():
            self._writer.write_table(pa.Table.from_batches(batches))


class ParquetEncoder(Encoder):
    """An encoder of Parquet; rows wait until they fill a group."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        repetitive = [column.name for column in columns if column.is_repetitive]
        self._columns = columns
        self._bytes = _Bytes()
        self._rows = RowBuffer[OutputRows](BATCH_ROWS)
        self._writer = GroupWriter(self._bytes, make_schema(columns), repetitive)
        self.head = self._bytes.take()

    def encode(self, rows: OutputRows) -> bytes:
        """Return a group of rows, if it is full, or nothing."""
        if self._rows.add(rows):
            self._add_rows()
        return self._bytes.take()

    def end(self) -> list[bytes]:
        """Return the last group of rows and the footer of the file."""
        self._add_rows()
        self._writer.close()
        return [self._bytes.take()]

    def _add_rows(self) -> None:
        for batch in make_batches(self._rows.take(), self._columns):
            self._writer.add(batch)


class _Bytes(io.RawIOBase):
    """A file for pyarrow's writer, whose bytes are taken from its start."""

    def __init__(self) -> None:
        self._data, self._taken = bytearray(), 0

    def take(self) -> bytes:
        """Return what was written since the last time."""
        data, self._data = bytes(self._data), bytearray()
        self._taken += len(data)
        return data

    def writable(self) -> bool:
        """Return True: it can be written to."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written in all."""
        return self._taken + len(self._data)

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Append bytes until they are taken."""
        self._data += data
        return len(data)
