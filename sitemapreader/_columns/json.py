"""Values of fields as JSON, for every output."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import attrs

from sitemapreader._columns import ABSENT
from sitemapreader._types.models import Alternate

_encode_text = json.JSONEncoder().encode


def to_json(value: Any) -> str:
    """Write a value of any field as JSON."""
    if type(value) is str:
        return _encode_text(value)
    if type(value) is datetime:
        return f'"{value.isoformat()}"'
    if value is None:
        return "null"
    return json.dumps(_write_plain(value))


def _write_plain(value: Any) -> Any:
    """Return a value in JSON's types; absent fields of an extension are left out."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Alternate):
        return {
            name: part for name, part in value._asdict().items() if part is not None
        }
    if isinstance(value, tuple):
        return [_write_plain(part) for part in value]
    if attrs.has(type(value)):
        parts = (
            (field.name, getattr(value, field.name))
            for field in attrs.fields(type(value))
        )
        return {name: _write_plain(part) for name, part in parts if part not in ABSENT}
    return value
