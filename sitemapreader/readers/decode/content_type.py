"""What a Content-Type says: the media type of a document, and its charset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"text/plain", "text/markdown", "text/x-markdown"})

_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.ASCII | re.IGNORECASE)


def media_type_of(content_type: str) -> str:
    """Return the media type in lower case, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def page_type_of(content_type: str | None) -> str:
    """Return the media type of a page, in lower case; one that names none is HTML."""
    return media_type_of(content_type or "") or "text/html"


def charset_of(headers: Mapping[str, str]) -> str | None:
    """Return the charset of a Content-Type header, if it has one."""
    match = _CHARSET.search(headers.get("content-type", "")[:256])
    return match[1] if match else None
