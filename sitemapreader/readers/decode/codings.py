"""Content codings: the header that names them, and the error of bad data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader.issues import IssueCode

GZIP_FAMILY = frozenset({"gzip", "deflate"})
"""Codings that are detected by the first bytes of the body, whatever the header says."""
_ALIASES = {"x-gzip": "gzip", "x-compress": "compress"}  # RFC 9110, section 8.4.1
_NO_CODING = frozenset({"identity", "none", "aws-chunked"})
"""Names that stand for no coding; uploads to object stores leave `aws-chunked` behind."""
_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]{1,40}", re.ASCII)
_MAX_CODINGS = 4
"""Codings of one header that are used; servers have no reason to apply more than two."""


class DecompressionError(Exception):
    """Compressed data that is damaged; all output before the damage was yielded."""

    def __init__(self, code: IssueCode, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(code, detail)


def read_codings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the codings of a body by their lower-case names, the outermost first.

    The header lists them in the order in which they were applied (RFC 9110, section 8.4).
    """
    value = headers.get("content-encoding", "")
    listed = [part.strip(" \t").lower() for part in value[:1_024].split(",")]
    named = [_ALIASES.get(name, name) for name in listed if _TOKEN.fullmatch(name)]
    codings = [name for name in named if name not in _NO_CODING]
    return tuple(reversed(codings[-_MAX_CODINGS:]))
