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
        fields = value._asdict()
    elif isinstance(value, tuple):
        return [_write_plain(part) for part in value]
    elif attrs.has(type(value)):
        fields = attrs.asdict(value, recurse=False)
    else:
        return value
    return {
        name: _write_plain(part) for name, part in fields.items() if part not in ABSENT
    }
