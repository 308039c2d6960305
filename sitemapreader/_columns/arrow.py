"""Entries as Arrow record batches, a column at a time.

Types follow from those of the models: a tuple is a list, a class a struct, a datetime a timestamp
in UTC with microseconds. What Arrow has no type for, a class in itself and a mapping, is JSON.
"""

from __future__ import annotations

from array import array
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, chain
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from sitemapreader._columns import COLUMNS, SCHEMA_VERSION, SITE_COLUMN, Column
from sitemapreader._columns.json import to_json
from sitemapreader._types.dates import FIRST_YEAR
from sitemapreader._types.errors import name_extra
from sitemapreader._types.rows import (
    EntryColumns,
    OutputRows,
    SiteRows,
    join_output,
)

with name_extra("Parquet and Arrow need", "arrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized

__all__ = ["make_array", "make_schema"]

VERSION_KEY = b"sitemapreader.schema"
"""Key of the metadata whose value is the version of the schema, in digits."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY_COLUMN = pa.timestamp("us")
_MOMENT_COLUMN = pa.timestamp("us", "UTC")
_DAY_CHARS = len("2026-01-01")
_SCALARS = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: _MOMENT_COLUMN,
}


@lru_cache(maxsize=16)
def make_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """Return the schema of these columns; its metadata has the version."""
    fields = [
        pa.field(
            column.name,
            _type_of(column.base),
            nullable=NoneType in get_args(column.type),
        )
        for column in columns
    ]
    return pa.schema(fields, {VERSION_KEY: str(SCHEMA_VERSION)})


def _type_of(annotation: Any) -> pa.DataType:
    arguments = [
        kind for kind in get_args(annotation) if kind not in {NoneType, Ellipsis}
    ]
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


def make_batches(
    parts: Sequence[OutputRows], columns: tuple[Column, ...] = COLUMNS
) -> list[pa.RecordBatch]:
    """Return all rows as one batch, if there are any."""
    if any(parts):
        return [make_batch(join_output(parts), columns)]
    return []


def make_batch(
    rows: OutputRows | list[Any], columns: tuple[Column, ...] = COLUMNS
) -> pa.RecordBatch:
    """Return rows as a record batch.

    Lone surrogates, which UTF-8 cannot have, are written with backslashes.
    """
    schema = make_schema(columns)
    entries = (rows.columns if isinstance(rows, SiteRows) else None) or rows
    made: dict[str, pa.Array] = {}
    if isinstance(entries, EntryColumns) and entries.lastmod_text:
        made["lastmod_text"] = make_array(list(entries.lastmod_text), pa.string())
        if moments := _parse_moments(made["lastmod_text"]):
            made["lastmod"] = made["date"] = moments[0]
    for column, kind in zip(columns, schema.types, strict=True):
        if column.name not in made:
            if column.name == SITE_COLUMN.name:
                read = rows
            else:
                read = entries
            made[column.name] = make_array(column.read(read), kind)
    return pa.RecordBatch.from_arrays(
        [made[column.name] for column in columns], schema=schema
    )


def _parse_moments(written: pa.Array) -> list[pa.Array]:
    """Parse a column of dates as written; return none if one needs a closer look."""
    # Arrow reads fewer forms than we do, and those alike, in a tenth of the time that it takes to
    # convert datetimes. Either type refuses the texts of the other.
    sizes = pc.unique(pc.binary_length(written)).drop_null().to_pylist()
    try:
        if sizes == [_DAY_CHARS]:
            moments = written.cast(_DAY_COLUMN).cast(_MOMENT_COLUMN)
        elif _DAY_CHARS in sizes:
            return []
        else:
            moments = written.cast(_MOMENT_COLUMN)
    except pa.ArrowInvalid:
        return []
    first = pc.min(moments).as_py()
    if first is not None and first.year < FIRST_YEAR:
        return []
    return [moments]


# -- arrays

# `pa.array` and `pa.scalar` import pandas wherever that is installed: 45 MB, and 0.3 s. So arrays
# are made of their buffers.


def make_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return an array of values of a type that `make_schema` makes."""
    size = len(values)
    if not values or (values[0] is None and values.count(None) == size):
        return pa.nulls(size, kind)
    if pa.types.is_list(kind):
        parts = make_array(list(chain.from_iterable(values)), kind.value_type)
        if any(values):
            ends = _write_offsets(values)
        else:
            ends = pa.py_buffer(bytes(4 * size + 4))
        offsets = pa.Array.from_buffers(pa.int32(), size + 1, [None, ends])
        return pa.ListArray.from_arrays(offsets, parts, type=kind)
    if None in values:
        validity = _write_bits([value is not None for value in values])
    else:
        validity = None
    if pa.types.is_struct(kind):
        parts = [_make_field(values, field) for field in kind]
        return pa.Array.from_buffers(kind, size, [validity], children=parts)
    if size > 1 and values.count(values[0]) == size:
        return pa.repeat(make_array(values[:1], kind)[0], size)
    if pa.types.is_string(kind):
        buffers = _write_texts(
            [value or "" for value in values] if validity else values
        )
    elif pa.types.is_boolean(kind):
        buffers = [_write_bits(values)]
    elif kind == _MOMENT_COLUMN:
        numbers = [
            0 if value is None else (value - _EPOCH) // _MICROSECOND for value in values
        ]
        buffers = [pa.py_buffer(array("q", numbers))]
    else:
        code = "d" if pa.types.is_floating(kind) else "q"
        buffers = [pa.py_buffer(array(code, [value or 0 for value in values]))]
    return pa.Array.from_buffers(kind, size, [validity, *buffers])


def _make_field(values: list[Any], field: pa.Field) -> pa.Array:
    """Return the values of a field of structs; some may be absent."""
    nothing = () if pa.types.is_list(field.type) else None
    part = [
        nothing if value is None else getattr(value, field.name) for value in values
    ]
    if pa.types.is_string(field.type):
        part = [
            each if isinstance(each, str) else to_json(each) if each else None
            for each in part
        ]
    return make_array(part, field.type)


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
