"""Entries as JSON lines (https://jsonlines.org): one object a record, in ASCII."""

from __future__ import annotations

import json
from datetime import datetime
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.entry_columns import get_column
from sitemapreader.models import Alternate
from sitemapreader.output.schema import ABSENT, has_nothing, write_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemapreader.entry_columns import OutputRows
    from sitemapreader.output.schema import Column

_quote = json.JSONEncoder().encode


def make_writer(columns: Sequence[Column], end: str) -> Callable[[OutputRows], str]:
    """Return a writer of JSON lines, with keys in the order of the columns.

    A column without `always` is left out where its value is absent, and so are absent fields of
    extensions.
    """
    keys = [", " + _quote(column.name) + ": " for column in columns]
    keys[0] = "{" + keys[0].removeprefix(", ")
    parts = [partial(_write_column, *pair) for pair in zip(columns, keys, strict=True)]

    def write(rows: OutputRows) -> str:
        written = [texts for part in parts if (texts := part(rows))]
        return "".join(chain.from_iterable(zip(*written, repeat(f"}}{end}"), strict=False)))

    return write


def to_json(value: Any) -> str:
    """Write a value of any field as JSON."""
    return _quote(value) if type(value) is str else json.dumps(_plain(value))


def _write_column(column: Column, key: str, rows: OutputRows) -> list[str] | None:
    """Write a column with its key; `None` if an optional column is empty."""
    values = get_column(rows, column.name)
    if not column.always:
        if has_nothing(values):
            return None
        return ["" if value in ABSENT else key + to_json(value) for value in values]
    if column.name == "loc":
        return [key + _quote(value) for value in values]
    if column.type == datetime | None:
        nothing = f"{key}null"
        return [f'{key}"{day.isoformat()}"' if day else nothing for day in values]
    return write_values(values, lambda value: key + to_json(value))


def _plain(value: Any) -> Any:
    """Return a value in JSON's types; absent fields of an extension are left out."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Alternate):
        return {name: part for name, part in value._asdict().items() if part is not None}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if attrs.has(type(value)):
        parts = ((field.name, getattr(value, field.name)) for field in attrs.fields(type(value)))
        return {name: _plain(part) for name, part in parts if part not in ABSENT}
    return value
