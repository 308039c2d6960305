"""Entries as Arrow record batches (https://arrow.apache.org), a column at a time.

Types follow from those of the models: a tuple is a list, a class a struct, a datetime a timestamp
in UTC with microseconds.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from itertools import accumulate, chain
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from sitemapreader.entry_columns import EntryColumns, get_column
from sitemapreader.installation import advise_extra
from sitemapreader.output.schema import COLUMNS, SCHEMA_VERSION, has_nothing

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Parquet and Arrow need pyarrow; {advise_extra('arrow')}", name=error.name
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.entry_columns import Rows
    from sitemapreader.output.schema import Column

VERSION_KEY = b"sitemapreader.schema"
"""Key of the metadata whose value is the version of the schema, in digits."""
_ZERO = pa.scalar(0, pa.int32())
_SITE = pa.field("site", pa.string(), nullable=False)
_DAY, _MOMENT = pa.timestamp("us"), pa.timestamp("us", "UTC")
_DAY_CHARS = len("2026-01-01")
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


def make_batch(rows: Rows, schema: pa.Schema, site: str | None = None) -> pa.RecordBatch:
    """Return entries as a record batch.

    Lone surrogates, which UTF-8 cannot have, are written with backslashes.

    Args:
        rows: the entries, as objects or by columns.
        schema: of `make_schema`; with a site, of `add_site_column`.
        site: of all these entries, for the first column.
    """
    names = schema.names if site is None else schema.names[1:]
    arrays = [_make_column(rows, name, schema.field(name).type) for name in names]
    if site is not None:
        arrays.insert(0, pa.repeat(site, len(rows)))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _make_column(rows: Rows, name: str, kind: pa.DataType) -> pa.Array:
    if kind == _MOMENT and isinstance(rows, EntryColumns):
        moments = _parse_moments(rows.get("lastmod_text"))
        if moments is not None:
            return moments
    return _make_array(get_column(rows, name), kind)


def make_entry_batch(rows: Rows) -> pa.RecordBatch:
    """Return entries as a record batch with the columns that are written unless others are chosen.

    What `record_batches` gives.
    """
    return make_batch(rows, _ENTRY_SCHEMA)


def _type_of(annotation: Any) -> pa.DataType:
    arguments = [kind for kind in get_args(annotation) if kind not in {NoneType, Ellipsis}]
    if get_origin(annotation) is tuple:
        return pa.list_(_type_of(arguments[0]))
    if arguments:  # an optional one
        return _type_of(arguments[0])
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    return pa.struct([(name, _type_of(kind)) for name, kind in get_type_hints(annotation).items()])


def _make_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(kind):
        if not any(values):
            offsets = pa.repeat(_ZERO, len(values) + 1)
            return pa.ListArray.from_arrays(offsets, _make_empty(kind.value_type), type=kind)
        offsets = pa.array(list(accumulate(map(len, values), initial=0)), pa.int32())
        parts = _make_array(list(chain.from_iterable(values)), kind.value_type)
        return pa.ListArray.from_arrays(offsets, parts, type=kind)
    if not values or has_nothing(values):
        return pa.nulls(len(values), kind)
    if pa.types.is_struct(kind):
        return _make_structs(values, kind)
    try:
        if values.count(values[0]) == len(values):
            return pa.repeat(pa.scalar(values[0], kind), len(values))
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array([text and _without_surrogates(text) for text in values], kind)


def _parse_moments(texts: list[Any]) -> pa.Array | None:
    """Parse a column of dates as written; `None` if one has to be read more closely."""
    # Arrow reads fewer forms than we do, and those alike. Converting datetimes takes it ten times
    # as long, because it asks each of them for its offset.
    first = next(filter(None, texts), "")
    is_day = len(first) == _DAY_CHARS
    try:
        written = pa.array(texts, pa.string())
        return written.cast(_DAY if is_day else _MOMENT).cast(_MOMENT)
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None


@lru_cache(maxsize=16)
def _make_empty(kind: pa.DataType) -> pa.Array:
    return pa.array([], kind)


def _make_structs(values: list[Any], kind: pa.StructType) -> pa.Array:
    """Take the values apart, field by field; one that is absent is an absent struct."""
    mask = pa.array([value is None for value in values])
    parts = []
    for field in kind:
        nothing = () if pa.types.is_list(field.type) else None
        part = [nothing if value is None else getattr(value, field.name) for value in values]
        parts.append(_make_array(part, field.type))
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


_ENTRY_SCHEMA = make_schema(COLUMNS)
