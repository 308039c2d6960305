"""The two feed parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fastfeedparser
import feedparser

if TYPE_CHECKING:
    from adapters import Document


def read_fast(document: Document) -> int:
    """Keep fastfeedparser's entries."""
    return len(fastfeedparser.parse(document.data).entries)


def read_lean(document: Document) -> int:
    """Keep fastfeedparser's entries, with all optional parts turned off."""
    parsed = fastfeedparser.parse(
        document.data,
        include_content=False,
        include_tags=False,
        include_media=False,
        include_enclosures=False,
    )
    return len(parsed.entries)


def read_all(document: Document) -> int:
    """Keep feedparser's entries."""
    return len(feedparser.parse(document.data).entries)
