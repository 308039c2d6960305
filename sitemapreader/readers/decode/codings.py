"""The Content-Encoding header: which codings a server says a body is in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

GZIP_FAMILY = frozenset({"gzip", "deflate"})
"""Codings that are detected by their first bytes, whatever the header says."""
_ALIASES = {"x-gzip": "gzip", "x-compress": "compress"}  # RFC 9110, section 8.4.1
_NO_CODING = frozenset({"identity", "none", "aws-chunked"})
"""The last one is what uploads to object stores leave behind: it says nothing of the body."""
_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]{1,40}", re.ASCII)
_MAX_CODINGS = 4
"""Codings of one header that are looked at; two is the most that has a reason."""


def read_codings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the codings of a body by their lower-case names, the outermost first.

    The header lists them in the order in which they were applied (RFC 9110, section 8.4).
    """
    value = headers.get("content-encoding", "")
    listed = [part.strip(" \t").lower() for part in value[:1_024].split(",")]
    named = [_ALIASES.get(name, name) for name in listed if _TOKEN.fullmatch(name)]
    codings = [name for name in named if name not in _NO_CODING]
    return tuple(reversed(codings[-_MAX_CODINGS:]))
