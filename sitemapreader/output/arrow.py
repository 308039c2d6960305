"""Entries as Arrow record batches and Parquet, a column at a time.

Types follow from those of the models: a tuple is a list, a class a struct, a datetime a timestamp
in UTC with microseconds. What Arrow has no type for, a class in itself and a mapping, is JSON.
"""

from __future__ import annotations

import io
from array import array
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from sitemapreader.installation import advise_extra
from sitemapreader.output.columns import COLUMNS, SCHEMA_VERSION, choose_columns, has_nothing
from sitemapreader.output.text import to_json
from sitemapreader.rows import EntryColumns, SiteRows, get_column, join_output

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Parquet and Arrow need pyarrow; {advise_extra('arrow')}", name=error.name
    ) from error

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence, Sized

    from sitemapreader.output.columns import Column
    from sitemapreader.rows import OutputRows, Rows

_BATCH_ROWS = 8_192
"""Entries that wait to become columns, of as many sites as it takes; about 3 MB."""
_GROUP_ROWS = 40_960
"""Rows of a group, which is written at once; about 7 MB. DuckDB reads groups in parallel."""
_REPETITIVE = ("changefreq", "priority", "sitemap")
"""Columns with few different values, which a dictionary makes small; most locs are different."""
VERSION_KEY = b"sitemapreader.schema"
"""Key of the metadata whose value is the version of the schema, in digits."""
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_SITE = pa.field("site", pa.string(), nullable=False)
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


def make_schema(columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of these columns; its metadata has the version."""
    fields = [
        pa.field(column.name, _type_of(column.type), nullable=NoneType in get_args(column.type))
        for column in columns
    ]
    return pa.schema(fields, {VERSION_KEY: str(SCHEMA_VERSION)})


def add_site_column(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the column `site` first, for entries of several sites."""
    return schema.insert(0, _SITE)


def make_batch(rows: OutputRows, schema: pa.Schema, site: str | None = None) -> pa.RecordBatch:
    """Return entries as a record batch.

    Lone surrogates, which UTF-8 cannot have, are written with backslashes.

    Args:
        rows: the entries, as objects or by columns.
        schema: of `make_schema`; with a site, of `add_site_column`.
        site: of all these entries, for the first column.
    """
    names = schema.names if site is None else schema.names[1:]
    written = None
    if isinstance(rows, EntryColumns) and rows.has("lastmod_text"):
        written = make_array(rows.get("lastmod_text"), pa.string())
    arrays = [_make_column(rows, name, schema.field(name).type, written) for name in names]
    if site is not None:
        arrays.insert(0, pa.repeat(site, len(rows)))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _make_column(
    rows: OutputRows, name: str, kind: pa.DataType, written: pa.Array | None
) -> pa.Array:
    """Return a column of entries; `written` are the dates as written, if known."""
    if isinstance(rows, EntryColumns):
        if not rows.has(name):
            return _make_empty(len(rows), kind)
        if written is not None and name == "lastmod_text":
            return written
        if written is not None and kind == _MOMENT:
            moments = _parse_moments(written)
            if moments is not None:
                return moments
    return make_array(get_column(rows, name), kind)


def _make_empty(size: int, kind: pa.DataType) -> pa.Array:
    """Return an array without values: of empty lists, or of nulls."""
    if not pa.types.is_list(kind):
        return pa.nulls(size, kind)
    offsets = pa.Array.from_buffers(pa.int32(), size + 1, [None, pa.py_buffer(bytes(4 * size + 4))])
    return pa.ListArray.from_arrays(offsets, pa.nulls(0, kind.value_type), type=kind)


def make_entry_batch(rows: OutputRows) -> pa.RecordBatch:
    """Return entries as a record batch with the default columns.

    What `record_batches` gives.
    """
    return make_batch(rows, _ENTRY_SCHEMA)


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


_ENTRY_SCHEMA = make_schema(COLUMNS)
_SITE_SCHEMA = make_schema(choose_columns(None, has_sites=True))


# -- rows of several sites


class RowCollector:
    """Rows of several sites that wait to become a batch."""

    def __init__(self) -> None:
        self._waiting = SiteRows([])

    def add(self, site: str, rows: Rows) -> bool:
        """Add rows of a site; return whether there are enough for a batch."""
        self._waiting.parts.append((site, rows))
        return len(self._waiting) >= _BATCH_ROWS

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows as one batch, if there are any."""
        waiting, self._waiting = self._waiting, SiteRows([])
        if waiting:
            yield make_batch(waiting, _SITE_SCHEMA)


def collect_batches(
    rows: Iterable[tuple[str, Rows]], *, gathers: bool = True
) -> Iterator[pa.RecordBatch]:
    """Yield rows and their sites as record batches.

    Without `gathers`, no rows wait for others.
    """
    collector = RowCollector()
    for pair in rows:
        if collector.add(*pair) or not gathers:
            yield from collector.take()
    yield from collector.take()


async def collect_batches_async(
    rows: AsyncIterable[tuple[str, Rows]], *, gathers: bool = True
) -> AsyncIterator[pa.RecordBatch]:
    """Do the work of `collect_batches` as the rows come."""
    collector = RowCollector()
    async for pair in rows:
        if collector.add(*pair) or not gathers:
            for batch in collector.take():
                yield batch
    for batch in collector.take():
        yield batch


# -- Parquet


class ParquetEncoder:
    """An encoder of Parquet; entries wait until they fill a group of rows."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._schema = make_schema(columns)
        self._buffer = _ByteBuffer()
        self._rows: list[OutputRows] = []
        self._batches: list[pa.RecordBatch] = []

    def begin(self) -> bytes:
        """Return the first bytes of the file."""
        import pyarrow.parquet as pq  # noqa: PLC0415 (batches alone do not need it)

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
