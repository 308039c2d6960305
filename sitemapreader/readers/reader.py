"""The reader of one sitemap: bytes in, events out.

```
bytes → Inflation → blocks of 32 KiB → Transcoder → XmlReader | TextReader | ... → events
```
All that follows the inflating works on blocks whose sizes the document itself decides, so how the
bytes were cut on their way here cannot matter: any chunking gives the same events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Format
from sitemapreader.options import PROTOCOL_MAX_BYTES, PROTOCOL_MAX_ENTRIES, Limits
from sitemapreader.readers.decode.charset import Transcoder, start_transcoder
from sitemapreader.readers.decode.codings import DecompressionError
from sitemapreader.readers.decode.layers import Decompressor
from sitemapreader.readers.detect import choose_reader, is_conclusive, is_html
from sitemapreader.readers.feedparser.fallback import FeedparserFallback
from sitemapreader.readers.formats import check_formats
from sitemapreader.readers.pages.hints import find_meta_charset
from sitemapreader.readers.stats import ReadStats
from sitemapreader.readers.xml.small import SMALL_BYTES, read_small

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event
    from sitemapreader.readers.detect import Reader
    from sitemapreader.readers.formats import ExtraFormats

BLOCK_BYTES = 32_768
"""Fast, as what is made of it stays in the processor's cache; holds an event loop up for 1-2 ms."""
FIRST_BLOCK_BYTES = SMALL_BYTES
"""The first block, where `is_conclusive` of it: so the first URL need not wait for 200 others."""

_DEFAULT_LIMITS = Limits()


class SitemapReader:
    """Read one sitemap of any format, fed piece by piece; no network, no files.

    Args:
        url: where the document came from, after redirects; relative URLs are resolved against it.
        limits: how much is read.
        charset: the charset of the HTTP Content-Type header, if it had one.
        codings: the codings of the HTTP Content-Encoding header, the outermost first (see
            `read_codings`). They matter for br only, which cannot be detected without.
        extra_formats: what is read besides sitemaps and feeds: "html" (a page, whose links to the
            same site are the entries), "llms" (the same of an `llms.txt`).

    Events come in document order. They come a block of 32 KiB at a time, the first of them after
    4 KiB where that tells enough, the last with `close`; how the document is cut into pieces
    changes nothing about them. `feed` and `close` never raise for what a document holds.
    """

    def __init__(
        self,
        url: str = "",
        *,
        limits: Limits | None = None,
        charset: str | None = None,
        codings: tuple[str, ...] = (),
        extra_formats: ExtraFormats = (),
    ) -> None:
        self.stats = ReadStats(url)
        self.finished = False
        """A limit or a refusal has ended the reading: what is fed from here on is ignored."""
        self.may_block = False
        """The next step of `close_steps` may wait for a child process, seconds long: there a feed
        beyond repair is given to feedparser."""
        self._limits = limits or _DEFAULT_LIMITS
        self._charset = charset
        self._extra_formats = check_formats(extra_formats)
        self._notes: list[IssueCode] = []
        self._codings = codings
        self._held = b""
        """The document so far, while it may be a small one: nothing was read of it yet."""
        self._small_format: Format | None = None
        self._inflation: Decompressor | None = None
        self._block = bytearray()
        self._block_bytes = min(FIRST_BLOCK_BYTES, BLOCK_BYTES)
        self._transcoder: Transcoder | None = None
        self._reader: Reader | None = None
        self._fallback = FeedparserFallback(self.stats, self._limits)
        self._closed = False

    @property
    def format(self) -> Format | None:
        """What the document is; `None` until enough of it was seen, or if it is nothing we know.

        Any feed that was salvaged counts as RSS, which is what its entries are made of.
        """
        if self.stats.counts[IssueCode.FEED_SALVAGED]:
            return Format.RSS
        return self._reader.format if self._reader else self._small_format

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes and return the events that are complete with them."""
        return [event for events in self.feed_steps(data) for event in events]

    def close(self, *, cut: bool = False) -> list[Event]:
        """Say that there is no more, and return the last events.

        `cut` says that the transfer broke off: then what looks complete may not be, and the last
        line of a text sitemap is not handed over.
        """
        return [event for events in self.close_steps(cut=cut) for event in events]

    def feed_steps(self, data: bytes) -> Iterator[list[Event]]:
        """Do what `feed` does in steps, some of them empty, that take a few milliseconds each.

        64 KiB of gzip may hold 64 MiB: between two steps an event loop can do other things. All
        steps have to be taken before the next bytes are fed.
        """
        if self._closed:
            raise ValueError("the reader is closed: make a new SitemapReader for each document")
        self.stats.raw_bytes += len(data)
        if self.finished:
            return
        if self._inflation is None:
            data = self._held + data
            if len(data) < self._block_bytes and data[:1] in (b"", b"<") and not self._codings:
                self._held = data
                return
        yield from self._feed(data)

    def close_steps(self, *, cut: bool = False) -> Iterator[list[Event]]:
        """Do what `close` does, in steps."""
        if self._closed:
            return
        self._closed = True
        if self._inflation is None:
            if not cut and (events := self._read_small()) is not None:
                yield events
                return
            yield from self._feed(self._held)
        if self._inflation and not self.finished:
            yield from self._guard(self._inflation.close())
        if not self.finished:
            yield from self._end(IssueCode.TRUNCATED if cut else None)

    def cancel_fallback(self, limit: str) -> None:
        """Give no feed to feedparser, or kill its process; from any thread.

        The Issue says that the feed was not read, and names the limit: a field of `Limits`.
        """
        self._fallback.cancel(limit)

    def _read_small(self) -> list[Event] | None:
        """Read a small document at once, if it is as simple as most are."""
        if self._extra_formats or self._charset not in (None, "utf-8"):
            return None
        found = read_small(self._held, self.stats, self._limits)
        if found is None:
            return None
        self._small_format, events = found
        self.finished = True
        return events

    # -- the pipeline

    def _feed(self, data: bytes) -> Iterator[list[Event]]:
        if self._inflation is None:
            self._inflation = Decompressor(self._limits, self._notes, codings=self._codings)
        for start in range(0, len(data), BLOCK_BYTES):
            if not self.finished:
                piece = bytes(data[start : start + BLOCK_BYTES])
                yield from self._guard(self._inflation.feed(piece))

    def _guard(self, pieces: Iterator[bytes]) -> Iterator[list[Event]]:
        """Run inflated pieces through the reader; data that is damaged ends the reading."""
        try:
            for piece in pieces:
                yield from self._take_piece(piece)
                if self.finished:  # before more is inflated, which may be damaged
                    return
        except DecompressionError as error:
            yield from self._end(error.code, error.detail)

    def _take_piece(self, piece: bytes) -> Iterator[list[Event]]:
        room = self._limits.inflated_bytes - self.stats.inflated_bytes - len(self._block)
        self._block += piece[:room]
        while len(self._block) >= self._block_bytes and not self.finished:
            block = bytes(self._block[: self._block_bytes])
            self._block_bytes = BLOCK_BYTES
            if self._transcoder or len(block) == BLOCK_BYTES or is_conclusive(block, self._charset):
                del self._block[: len(block)]
                yield from self._read_block(block, final=False)
        if len(piece) > room and not self.finished:
            yield from self._end(IssueCode.TOO_LARGE, "inflated_bytes")
        if not piece:
            yield []

    def _read_block(self, block: bytes, *, final: bool) -> Iterator[list[Event]]:
        self.stats.inflated_bytes += len(block)
        events = self._take_notes()
        if self.stats.inflated_bytes > PROTOCOL_MAX_BYTES:
            self.stats.note_once(events, IssueCode.OVER_PROTOCOL_LIMIT)
        if self._transcoder is None:
            started = start_transcoder(events, self.stats, block, self._find_charset(block))
            if started is None:
                self.finished = True
                yield events
                return
            self._transcoder, block = started
            block = self._transcoder.feed(events, block, final=final)
            self._reader = choose_reader(
                events, self.stats, self._limits, block, self._extra_formats
            )
        else:
            block = self._transcoder.feed(events, block, final=final)
        yield events
        if self._reader is None:
            self.finished = True
            return
        yield from self._limit(self._reader.feed(block))
        self._fallback.keep(block, self.format)

    def _find_charset(self, block: bytes) -> str | None:
        """Return the charset of the HTTP header, or the one that a page declares in itself."""
        if self._charset or Format.HTML not in self._extra_formats or not is_html(block):
            return self._charset
        return find_meta_charset(block)

    def _end(self, cut: IssueCode | None, detail: str = "") -> Iterator[list[Event]]:
        """Read what is left and close the reader; `cut` says why there is no more, if it does."""
        block, self._block = bytes(self._block), bytearray()
        if block or self._transcoder or cut is None:
            yield from self._read_block(block, final=True)
        last: list[Event] = []  # held back: what they say of a feed, its salvage may belie
        if self._reader and not self.finished:
            for events in self._limit(self._reader.close(cut)):
                yield last
                last = events
        if cut:
            self.stats.note_once(last, cut, value=detail or None)
        last += self._take_notes()
        self.finished = True
        if self._fallback.is_needed:
            self.may_block = True
            yield []
            self._fallback.read(last)
        yield last

    def _take_notes(self) -> list[Event]:
        events: list[Event] = []
        while self._notes:
            self.stats.note_once(events, self._notes.pop(0))
        return events

    def _limit(self, steps: Iterator[list[Event]]) -> Iterator[list[Event]]:
        for events in steps:
            yield self._check_limits(events)
            if self.finished:
                return

    def _check_limits(self, events: list[Event]) -> list[Event]:
        """Cut the events at the limit of entries, and note where a document leaves the protocol."""
        stats = self.stats
        beyond = stats.delivered - PROTOCOL_MAX_ENTRIES
        if beyond > 0 and not stats.counts[IssueCode.OVER_PROTOCOL_LIMIT]:
            note: list[Event] = []
            stats.note_once(note, IssueCode.OVER_PROTOCOL_LIMIT)
            behind = _places_of_entries(events)[-beyond] + 1
            events[behind:behind] = note
        if self._reader and self._reader.finished:
            self.finished = True
        surplus = stats.delivered - self._limits.entries
        if surplus > 0:
            for place in reversed(_places_of_entries(events)[-surplus:]):
                del events[place]
            stats.delivered -= surplus
            stats.records -= surplus
        if surplus > 0 or stats.dropped > self._limits.entries:
            stats.note(events, IssueCode.TOO_LARGE, value="entries")
            self.finished = True
        return events


def _places_of_entries(events: list[Event]) -> list[int]:
    return [place for place, event in enumerate(events) if not isinstance(event, Issue)]
