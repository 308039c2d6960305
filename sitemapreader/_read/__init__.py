"""Reading of one document: bytes in, events out, incremental and pure.

```text
bytes ─► codings ─► reader ────────────────────────────► entries ─► values
         charset    chooses xml | text | html            media      UrlEntry, SitemapEntry, Issue
                    by the first bytes
```
`codings` removes compression, and `charset` transcodes to UTF-8. `reader` chooses by the first
bytes: `xml` (sitemaps, feeds), `text` or `html` (site maps for people). The XML reader cuts the
document into records, and `entries` turns each `record` into the values of `_types.models`,
by the names and fields of `vocabulary`. `stats` counts records and Issues on the way. `robots`
parses robots.txt, which is not a sitemap, `robots_matcher` judges URLs by it, `usage` reads
the preferences in it, and `feedparser` reads feeds beyond repair in a child process.

Nothing here opens a file or a connection, nor awaits; only that child process is outside this
process. A caller feeds a `SitemapReader`, or lets `read` pull from a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, BinaryIO

from sitemapreader._read.reader import SitemapReader
from sitemapreader._types.dates import When, as_since
from sitemapreader._types.models import Event, UrlEntry
from sitemapreader._types.rows import is_recent
from sitemapreader._types.urls import has_web_scheme

if TYPE_CHECKING:
    from datetime import datetime

    from sitemapreader._read.stats import ReadStats
    from sitemapreader._types.models import Format
    from sitemapreader._types.options import ExtraFormats, Limits
    from sitemapreader._types.rows import Events

__all__ = ["Reading", "SitemapReader", "read"]

_CHUNK_BYTES = 65_536
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Half of a character in UTF-16, which has no bytes."""


class Reading(Iterator[Event]):
    """The events of one sitemap, as `read` finds them, and the facts of the document.

    Iterate it for the events. `format` and `stats` grow with them, and are final behind the last.
    """

    def __init__(self, events: Iterator[Event], reader: SitemapReader) -> None:
        self._events = events
        self._reader = reader

    def __iter__(self) -> Iterator[Event]:  # noqa: PYI034 (a call for each event would cost 4 %)
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    @property
    def format(self) -> Format | None:
        """The format of the document; `None` until it is detected, or if no reader fits."""
        return self._reader.format

    @property
    def stats(self) -> ReadStats:
        """The counts of records, bytes and Issues so far; the counts of all dates."""
        return self._reader.stats


def read(
    source: str | bytes | BinaryIO | Iterable[bytes],
    url: str = "",
    *,
    since: When | None = None,
    limits: Limits | None = None,
    charset: str | None = None,
    extra_formats: ExtraFormats = (),
) -> Reading:
    """Return the events of one sitemap, in document order.

    Args:
        source: the document, as a text (its declaration of an encoding is ignored), or as bytes, a
            binary file, or an iterable of bytes, compressed or not.
        url: address of the document; relative URLs are resolved against it.
        since: skip UrlEntries whose date (lastmod, else the publication date of news) lies wholly
            before. UrlEntries without a date stay, and so does every SitemapEntry, since its URLs
            may be newer.
        limits: limits of reading.
        charset: charset of the bytes, as in `SitemapReader`.
        extra_formats: as in `SitemapReader`.

    Raises:
        TypeError: for a source that gives neither a text nor bytes, or a text with a charset.
        ValueError: for a text that is a URL, without a `url`: nothing is requested here.
    """
    if isinstance(source, str):
        if charset is not None:
            raise TypeError(
                "charset cannot be combined with a text, because a text is already decoded"
            )
        if not url and has_web_scheme(source) and source.split(None, 1) == [source]:
            raise ValueError(
                "source is a URL, and read() requests nothing: write walk_sync(url). If it is a "
                "document with this URL alone, pass it as bytes, or pass its address as `url`"
            )
        source = _HALF_CHARACTER.sub("\ufffd", source).encode()
        charset = "utf-8"
    elif not (
        isinstance(source, bytes)
        or hasattr(source, "read")
        or isinstance(source, Iterable)
    ):
        raise TypeError(
            "source must be a text, bytes, a binary file or an iterable of bytes, "
            f"got {type(source).__name__}: write read(open(path, 'rb')) for a file"
        )
    moment = None if since is None else as_since(since)
    reader = SitemapReader(
        url, limits=limits, charset=charset, extra_formats=extra_formats
    )
    steps: Iterable[Iterable[Event]]
    if isinstance(source, bytes) and len(source) <= _CHUNK_BYTES:
        steps = reader.close_steps(source)
    else:
        steps = _read_chunks(reader, _chunks(source))
    if moment is not None:
        steps = map(_select_recent, steps, repeat(moment))
    return Reading(chain.from_iterable(steps), reader)


def _read_chunks(reader: SitemapReader, chunks: Iterable[bytes]) -> Iterator[Events]:
    for chunk in chunks:
        yield from reader.feed_steps(chunk)
        if reader.finished:
            break
    yield from reader.close_steps()


def _select_recent(events: Iterable[Event], since: datetime) -> list[Event]:
    return [
        event
        for event in events
        if not isinstance(event, UrlEntry) or is_recent(event, since)
    ]


def _chunks(source: bytes | BinaryIO | Iterable[bytes]) -> Iterator[bytes]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        for start in range(0, len(source), _CHUNK_BYTES):
            yield bytes(source[start : start + _CHUNK_BYTES])
        return
    pull = getattr(source, "read", None)
    for chunk in iter(lambda: pull(_CHUNK_BYTES), b"") if pull else source:
        if not isinstance(chunk, bytes):
            raise TypeError(
                f"source must yield bytes, got {type(chunk).__name__}: "
                "open files in binary mode, or pass a text as one str"
            )
        yield chunk
