"""sitemapreader in memory: kept, and streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader import Issue, SitemapEntry, UrlEntry, read

if TYPE_CHECKING:
    from adapters import Document

URL = "https://www.example.com/sitemap.xml"


def keep(document: Document) -> int:
    """Read everything into a list."""
    return sum(not isinstance(event, Issue) for event in list(read(document.data, URL)))


def stream(document: Document) -> int:
    """Read, and discard the entries at once."""
    count = 0
    for event in read(document.data, URL):
        if type(event) is UrlEntry or type(event) is SitemapEntry:
            count += 1
    return count
