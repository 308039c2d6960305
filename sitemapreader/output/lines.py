"""One entry, one line: as a bare URL or as a JSON object."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.models import Alternate

if TYPE_CHECKING:
    from sitemapreader.models import UrlEntry

# What would end the line, or be acted on by a terminal: C0, DEL, C1, bidi and line separators,
# lone surrogates. None of it may stand in a URL unescaped (RFC 3986).
_UNSAFE = re.compile(
    "[\x00-\x20\x7f-\xa0\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ALWAYS = ("loc", "lastmod", "changefreq", "priority", "sitemap")
_IF_PRESENT = ("images", "videos", "news", "alternates", "extras")


def url_line(entry: UrlEntry) -> str:
    """Write the loc; characters that would break the line are percent-encoded."""
    return f"{_UNSAFE.sub(_percent_encode, entry.loc)}\n"


def json_line(entry: UrlEntry) -> str:
    """Write all fields as one JSON object in ASCII, keys in a fixed order, dates as RFC 3339.

    `loc`, `lastmod`, `changefreq`, `priority` and `sitemap` are always there; the extensions where
    the record has them, without their absent fields.
    """
    row = {name: _plain(getattr(entry, name)) for name in _ALWAYS}
    row |= {name: _plain(value) for name in _IF_PRESENT if (value := getattr(entry, name))}
    return f"{json.dumps(row)}\n"


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
        return {name: _plain(part) for name, part in parts if part not in (None, ())}
    return value


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
