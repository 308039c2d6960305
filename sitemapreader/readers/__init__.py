"""Reading of one document: bytes in, events out, incremental and pure.

```text
bytes ─► codings ─► reader ────────────────────────────► entries ─► values
         charset    chooses xml | text | html            media      UrlEntry, SitemapEntry, Issue
                    by the first bytes
```
`codings` removes compression, and `charset` transcodes to UTF-8. `reader` chooses by the first
bytes: `xml` (sitemaps, feeds), `text` or `html` (site maps for people). The XML reader cuts the
document into records, and `entries` turns each `record` into the values of `sitemapreader.models`,
by the names and fields of `vocabulary`. `stats` counts records and Issues on the way. `robots`
parses robots.txt, which is not a sitemap, `robots_matcher` judges URLs by it, `usage` reads
the preferences in it, and `feedparser` reads feeds beyond repair in a child process.

Nothing here opens a file or a connection, nor awaits; only that child process is outside this
process. A caller feeds a `SitemapReader`, or lets `read` pull from a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from sitemapreader.dates import When, as_since, is_recent
from sitemapreader.models import Event, UrlEntry
from sitemapreader.readers.reader import SitemapReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from sitemapreader.options import ExtraFormats, Limits
    from sitemapreader.rows import Events

__all__ = ["SitemapReader", "read"]

_CHUNK_BYTES = 65_536


def read(
    source: bytes | BinaryIO | Iterable[bytes],
    url: str = "",
    *,
    since: When | None = None,
    limits: Limits | None = None,
    extra_formats: ExtraFormats = (),
) -> Iterator[Event]:
    """Yield the events of one sitemap, in document order.

    Args:
        source: the document, compressed or not: bytes, a binary file, or an iterable of bytes.
        url: the address of the document; relative URLs are resolved against it.
        since: skip UrlEntries whose date (lastmod, else the publication date of news) lies wholly
            before. UrlEntries without a date stay, and so does every SitemapEntry, since its URLs
            may be newer.
        limits: how much is read.
        extra_formats: as in `SitemapReader`.

    Raises:
        TypeError: for a source that does not give bytes.
    """
    moment = None if since is None else as_since(since)
    reader = SitemapReader(url, limits=limits, extra_formats=extra_formats)
    for chunk in _chunks(source):
        for events in reader.feed_steps(chunk):
            yield from _select(events, moment)
        if reader.finished:
            break
    for events in reader.close_steps():
        yield from _select(events, moment)


def _select(events: Events, since: datetime | None) -> Iterable[Event]:
    if since is None:
        return events
    return [event for event in events if not isinstance(event, UrlEntry) or is_recent(event, since)]


def _chunks(source: bytes | BinaryIO | Iterable[bytes]) -> Iterator[bytes]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        for start in range(0, len(source), _CHUNK_BYTES):
            yield bytes(source[start : start + _CHUNK_BYTES])
        return
    pull = getattr(source, "read", None)
    for chunk in iter(lambda: pull(_CHUNK_BYTES), b"") if pull else source:
        if not isinstance(chunk, bytes):
            raise TypeError(
                f"source must give bytes, not {type(chunk).__name__}: "
                "open files in binary mode, encode text"
            )
        yield chunk
