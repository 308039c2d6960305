"""The logo of a report, which stands in its file."""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from sitemapreader.audit.models import AuditInputError

if TYPE_CHECKING:
    import os

MAX_LOGO_BYTES = 262_144
"""A larger logo is refused: it would be most of the report."""
_KINDS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "image/svg+xml": re.compile(
        rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--.*?-->\s*+)*+(?:<!DOCTYPE[^>\[]*+>\s*+)?"
        rb"(?:<!--.*?-->\s*+)*+<svg[\s>]",
        re.DOTALL,
    ),
}
"""Content type -> how such a file begins; an SVG may declare no entities, which can expand."""


def read_logo(path: str | os.PathLike[str]) -> str:
    """Return an image as a `data:` URL.

    Raises AuditInputError for what is no image, or too large. As the source of an `<img>`, an SVG
    neither runs scripts nor loads anything.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_LOGO_BYTES + 1)
    except OSError as error:
        raise AuditInputError(f"the logo {path} cannot be read: {error.strerror}") from None
    if len(content) > MAX_LOGO_BYTES:
        raise AuditInputError(f"the logo {path} is larger than 256 KiB: make it smaller")
    kind = next((kind for kind, start in _KINDS.items() if start.match(content)), None)
    if kind is None:
        raise AuditInputError(f"the logo {path} must be a PNG, JPEG, GIF, WebP or plain SVG")
    return f"data:{kind};base64,{b64encode(content).decode()}"
