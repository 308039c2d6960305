"""Small documents, and their events."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from unittest import mock

from sitemapreader._read import SitemapReader, html, reader as sitemap_reader
from sitemapreader._read.feedparser import FeedparserAnswer
from sitemapreader._read.xml import batches, patterns
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import SitemapEntry, UrlEntry
from sitemapreader._types.options import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from sitemapreader._types.models import Event

URLSET = (
    b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    b' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    b' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    b' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    b' xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:x="urn:x">'
)
FEED = b'<feed xmlns="http://www.w3.org/2005/Atom">'


def urlset(records: bytes) -> bytes:
    return URLSET + records + b"</urlset>"


def url(fields: bytes) -> bytes:
    return b"<url><loc>http://a.b/1</loc>" + fields + b"</url>"


def read(data: bytes, **limits: Any) -> list[Event]:
    reader = SitemapReader("https://h.example/s.xml", limits=Limits(**limits))
    return reader.feed(data) + reader.close()


def issues(events: list[Event]) -> list[IssueCode]:
    return [event.code for event in events if isinstance(event, Issue)]


def locs(events: list[Event]) -> list[str]:
    return [event.loc for event in events if isinstance(event, UrlEntry | SitemapEntry)]


def read_with(**constants: Any) -> AbstractContextManager[Any]:
    """Let readers have other constants: BLOCK_BYTES, PROTOCOL_MAX_BYTES, ..."""
    return mock.patch.multiple(sitemap_reader, **constants)  # type: ignore[no-any-return]


def pages_with(**constants: Any) -> AbstractContextManager[Any]:
    """Let pages have other bounds: MAX_HINTS, MAX_PAGE_BYTES, ..."""
    return mock.patch.multiple(html, **constants)  # type: ignore[no-any-return]


def without_feedparser() -> AbstractContextManager[Any]:
    """Let feedparser find nothing: the process that it takes costs more than all the rest."""
    # not a mock, which keeps every document that it is called with
    return read_with(run_feedparser=lambda *_: FeedparserAnswer())


@contextmanager
def without_patterns() -> Iterator[None]:
    """Let the tree read all records, also those of a document that begins like another."""
    batches._start_patterns.cache_clear()
    try:
        with mock.patch.object(patterns, "PATTERNS", new=False):
            yield
    finally:
        batches._start_patterns.cache_clear()


def read_by_tree(data: bytes, **limits: Any) -> list[Event]:
    with without_patterns():
        return read(data, **limits)


def count_issues(data: bytes) -> dict[IssueCode, int]:
    """Return how many Issues of each code a document has, by all ways."""
    counts = []
    for way in (nullcontext, without_patterns):
        with way():
            reader = SitemapReader("https://h.example/s.xml")
            reader.feed(data)
            reader.close()
        counts.append(dict(reader.stats.counts))
    assert counts[0] == counts[1]
    return counts[0]


def check_ways(data: bytes, **limits: Any) -> list[Event]:
    """Return the events of a document, which the tree alone has to give as well."""
    events = read(data, **limits)
    assert read_by_tree(data, **limits) == events
    return events
