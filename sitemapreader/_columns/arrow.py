"""Entries as Arrow record batches, a column at a time.

Arrow's types follow from the annotations of the models: a tuple is a list, a class is a struct, a
datetime is a timestamp in UTC with microseconds. A mapping, or a class that contains itself, is
JSON, because Arrow has no type for it.
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
_FIRST_MOMENT = (datetime(FIRST_YEAR, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""Microseconds since 1970 of the first moment that a date can mean."""
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
    fields = []
    for column in columns:
        is_optional = NoneType in get_args(column.type)
        data_type = _type_of(column.base)
        fields.append(pa.field(column.name, data_type, nullable=is_optional))
    metadata = {VERSION_KEY: str(SCHEMA_VERSION)}
    return pa.schema(fields, metadata)


def _type_of(annotation: Any) -> pa.DataType:
    """Return Arrow's type for values with this annotation."""
    if get_origin(annotation) is dict:
        return pa.string()
    arguments = [
        each for each in get_args(annotation) if each not in {NoneType, Ellipsis}
    ]
    if get_origin(annotation) is tuple:
        return pa.list_(_type_of(arguments[0]))
    if arguments:  # an optional value
        return _type_of(arguments[0])
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    fields = {}
    for name, hint in get_type_hints(annotation).items():
        if annotation in get_args(hint):  # a class that contains itself
            fields[name] = pa.string()
        else:
            fields[name] = _type_of(hint)
    return pa.struct(fields)


def make_batches(
    parts: Sequence[OutputRows],
    columns: tuple[Column, ...],
) -> list[pa.RecordBatch]:
    """Return all rows as one batch, if there are any."""
    if any(parts):
        return [make_batch(join_output(parts), columns)]
    return []


def make_batch(
    rows: OutputRows,
    columns: tuple[Column, ...] = COLUMNS,
) -> pa.RecordBatch:
    """Return rows as a record batch.

    Lone surrogates, which UTF-8 cannot have, are written with backslashes.
    """
    schema = make_schema(columns)
    entries = rows
    if isinstance(rows, SiteRows) and rows.columns:
        entries = rows.columns
    arrays: dict[str, pa.Array] = {}
    if isinstance(entries, EntryColumns) and entries.lastmod_text:
        written = list(entries.lastmod_text)
        texts = make_array(written, pa.string())
        arrays["lastmod_text"] = texts
        moments = _parse_moments(texts)
        if moments is not None:
            arrays["lastmod"] = moments
            arrays["date"] = moments
    for column, data_type in zip(columns, schema.types, strict=True):
        if column.name in arrays:
            continue
        if column.name == SITE_COLUMN.name:
            values = column.read(rows)
        else:
            values = column.read(entries)
        arrays[column.name] = make_array(values, data_type)
    ordered = [arrays[column.name] for column in columns]
    return pa.RecordBatch.from_arrays(ordered, schema=schema)


def _parse_moments(texts: pa.Array) -> pa.Array | None:
    """Parse a column of dates as written; return `None` if one needs our own parser."""
    # Arrow reads fewer forms than our parser, but reads them alike, in a tenth of the time that it
    # takes to convert datetimes. Its type of moments refuses days, and that of days moments.
    chars = make_array([_DAY_CHARS], pa.int64())[0]
    are_days = pc.equal(pc.binary_length(texts), chars)
    nothing = pa.nulls(1, pa.string())[0]
    try:
        moments = pc.if_else(are_days, nothing, texts).cast(_MOMENT_COLUMN)
        days = pc.if_else(are_days, texts, nothing).cast(_DAY_COLUMN)
    except pa.ArrowInvalid:
        return None
    moments = pc.coalesce(moments, days.cast(_MOMENT_COLUMN))
    # as a number, because a moment that leaves Arrow imports pandas, too
    first = pc.min(moments.cast(pa.int64())).as_py()
    if first is not None and first < _FIRST_MOMENT:
        return None
    return moments


# -- arrays

# `pa.array` and `pa.scalar` import pandas wherever it is installed, which takes 45 MB and 0.3 s.
# So arrays are made from their buffers.


def make_array(values: list[Any], data_type: pa.DataType) -> pa.Array:
    """Return an array of values of a type that `make_schema` makes."""
    size = len(values)
    if not values or (values[0] is None and values.count(None) == size):
        return pa.nulls(size, data_type)
    if pa.types.is_list(data_type):
        return _make_lists(values, data_type)
    validity = None
    if None in values:
        validity = _write_bits([value is not None for value in values])
    if pa.types.is_struct(data_type):
        fields = [_make_field(values, field) for field in data_type]
        return pa.Array.from_buffers(data_type, size, [validity], children=fields)
    if size > 1 and values[0] == values[-1] and values.count(values[0]) == size:
        value = make_array(values[:1], data_type)[0]
        return pa.repeat(value, size)
    buffers = _write_values(values, data_type)
    return pa.Array.from_buffers(data_type, size, [validity, *buffers])


def _make_lists(values: list[Any], data_type: pa.DataType) -> pa.Array:
    """Return an array of lists."""
    size = len(values)
    if values.count(()) == size:
        joined = []
        ends = pa.py_buffer(bytes(4 * size + 4))
    else:
        joined = list(chain.from_iterable(values))
        ends = _write_offsets(values)
    items = make_array(joined, data_type.value_type)
    offsets = pa.Array.from_buffers(pa.int32(), size + 1, [None, ends])
    return pa.ListArray.from_arrays(offsets, items, type=data_type)


def _make_field(values: list[Any], field: pa.Field) -> pa.Array:
    """Return the values of a field of structs; some structs may be absent."""
    if pa.types.is_list(field.type):
        nothing = ()
    else:
        nothing = None
    parts = [
        nothing if value is None else getattr(value, field.name) for value in values
    ]
    if pa.types.is_string(field.type):
        parts = [_to_text(part) for part in parts]
    return make_array(parts, field.type)


def _to_text(value: Any) -> str | None:
    """Return a text as it is, another value as JSON, and `None` for an empty one."""
    if isinstance(value, str):
        return value
    if value:
        return to_json(value)
    return None


def _write_values(values: list[Any], data_type: pa.DataType) -> list[pa.Buffer]:
    """Return the buffers of texts, marks, moments or numbers."""
    if pa.types.is_string(data_type):
        return _write_texts(_fill_absent(values, ""))
    if pa.types.is_boolean(data_type):
        return [_write_bits(values)]
    code = "q"
    if data_type == _MOMENT_COLUMN:
        moments = _fill_absent(values, _EPOCH)
        values = [(moment - _EPOCH) // _MICROSECOND for moment in moments]
    elif pa.types.is_floating(data_type):
        code = "d"
    numbers = array(code, _fill_absent(values, 0))
    return [pa.py_buffer(numbers)]


def _fill_absent(values: list[Any], filler: Any) -> list[Any]:
    """Return the values with `filler` in place of absent ones."""
    if None not in values:
        return values
    return [filler if value is None else value for value in values]


def _write_texts(texts: list[str]) -> list[pa.Buffer]:
    """Return the offsets and the bytes of texts."""
    joined = "".join(texts)
    if joined.isascii():
        offsets = _write_offsets(texts)
        return [offsets, pa.py_buffer(joined.encode())]
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    offsets = _write_offsets(encoded)
    return [offsets, pa.py_buffer(b"".join(encoded))]


def _write_offsets(values: Sequence[Sized]) -> pa.Buffer:
    """Return where each value begins, and the last one ends."""
    ends = list(accumulate(map(len, values), initial=0))
    return pa.py_buffer(array("i", ends))


def _write_bits(marks: Iterable[object]) -> pa.Buffer:
    """Return a bit for each mark, the first one lowest."""
    digits = "".join(["1" if mark else "0" for mark in marks])
    number = int(digits[::-1], 2)
    size = (len(digits) + 7) // 8
    return pa.py_buffer(number.to_bytes(size, "little"))
