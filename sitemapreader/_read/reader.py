"""The reader of one sitemap: bytes in, events out.

```text
bytes → Decompressor → blocks of 32 KiB → Transcoder → XmlReader | TextReader | ... → events
                     → a whole document, below 32 KiB → read_whole ────────────────► events
```
Most documents are small: their bytes are held until the end, and `read_whole` then reads them at
once. If it finds anything that is not common, the document is read as one block, as larger ones
are. The first bytes choose the reader. URL and Content-Type are ignored: both are often wrong.
"""

# Everything after the Decompressor works on blocks, whose borders depend on the document alone. So
# the borders of the chunks that arrive cannot matter: any chunking gives the same events.

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader._bytes.charset import Transcoder, start_transcoder
from sitemapreader._bytes.codings import DecompressionError, Decompressor
from sitemapreader._bytes.lines import split_lines
from sitemapreader._read.feedparser import run_feedparser
from sitemapreader._read.html import HtmlReader
from sitemapreader._read.stats import ReadStats
from sitemapreader._read.text import TextReader
from sitemapreader._read.vocabulary import ROOTLESS, ROOTS
from sitemapreader._read.xml.batches import XmlReader, read_whole
from sitemapreader._read.xml.prolog import PROLOG_BYTES, NotXmlError, read_prolog
from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Event, Format
from sitemapreader._types.options import (
    FEEDPARSER_MAX_BYTES,
    PROTOCOL_MAX_BYTES,
    PROTOCOL_MAX_ENTRIES,
    ExtraFormats,
    Limits,
    check_formats,
)
from sitemapreader._types.rows import EntryColumns
from sitemapreader._types.urls import has_web_scheme, require_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sitemapreader._read.feedparser import FeedparserAnswer
    from sitemapreader._types.rows import Events

Reader: TypeAlias = XmlReader | TextReader | HtmlReader

# Searched anywhere in the first bytes: front matter or warnings of a script may stand before it.
_XML_BEGINS = re.compile(
    rf"<(?:[\w.-]+:)?(?:{'|'.join((*ROOTS, *ROOTLESS))})[\s>/]".encode(), re.IGNORECASE
)
_JSON = re.compile(rb'\{\s*"|\[\s*[{"]')
_TAG_ON_A_LINE = re.compile(rb"[\r\n][ \t]*+<")
"""JSON is not read, though a text in it may hold markup. No line of it begins with a tag: where one
does, a program has written a line of JSON before its sitemap."""
_SAMPLE_LINES = 20
_PAGE_LISTS = frozenset({Format.URLSET, Format.TEXT})


def _sample_lines(start: bytes) -> list[str]:
    lines = split_lines(start[:65_536].decode("utf-8", "replace"))
    return list(filter(None, lines))[:_SAMPLE_LINES]


def _is_table(lines: list[str]) -> bool:
    """Return whether lines are a table of URLs: names of columns, then rows of no more cells."""
    head = lines[0]
    separator = max(",;\t|", key=head.count)
    rows = list(csv.reader(lines, delimiter=separator))
    return (
        "://" not in head
        and len(rows[0]) > 1
        # the last row may be cut
        and all(len(row) <= len(rows[0]) for row in rows[1:-1] or rows[1:])
        and any(len(row) > 1 for row in rows[1:])
        and any(has_web_scheme(cell.strip()) for row in rows[1:] for cell in row)
    )


def _is_plain_text(start: bytes, lines: list[str]) -> bool:
    sample = [has_web_scheme(line.strip("\"' \t")) for line in lines]
    return any(sample[:1]) or (b"\0" not in start and sum(sample) * 2 > len(sample))


_BROKEN = frozenset({IssueCode.MALFORMED, IssueCode.TRUNCATED})
"""Issues of a feed that may be beyond repair."""
BLOCK_BYTES = PROLOG_BYTES
"""Fast, since the values of a block stay in the processor's cache.

Reading a block takes 1 to 2 ms, in which no other task of the event loop runs.
"""

_LONGEST_BLOCK = 4 * BLOCK_BYTES
"""Bytes of one block in UTF-8: no encoding takes more for the same characters."""

_DEFAULT_LIMITS = Limits()


class SitemapReader:
    """Incremental reader of one sitemap of any format; no network, no files.

    Args:
        url: the address of the document after redirects; relative URLs are resolved against it.
        limits: how much is read.
        charset: the charset of the HTTP Content-Type header, if it has one.
        codings: the codings of the HTTP Content-Encoding header, the outermost first (see
            `read_codings`). They matter for br only, which has no magic number.
        extra_formats: formats besides sitemaps and feeds: "html" (a page, whose links to the same
            site are the entries).

    Events come in document order, a block of 32 KiB at a time, the last with `close`. How the
    document is cut into chunks changes no event. `feed` and `close` never raise for the content of
    a document.
    """

    format: Format | None = None
    """The format of the document; `None` until it is detected, or if no reader fits.

    A feed that feedparser read counts as RSS, whatever its format was."""
    finished = False
    """True if a limit or a refusal has ended the reading; further bytes are ignored."""
    beyond_repair = b""
    """A feed without a readable entry, in UTF-8; its end waits for `salvage`."""
    _transcoder: Transcoder | None = None
    _is_chosen = False
    """True if the first bytes have told which reader fits, if one does."""
    _reader: Reader | None = None
    _lost_root = ""
    """The first tag of a feed whose root is missing or broken."""
    _closed = False
    _lists_sitemaps = True
    """True if all URLs so far look like URLs of sitemaps."""

    def __init__(
        self,
        url: str = "",
        *,
        limits: Limits | None = None,
        charset: str | None = None,
        codings: tuple[str, ...] = (),
        extra_formats: ExtraFormats = (),
    ) -> None:
        self.stats = ReadStats(require_text("url", url))
        self.on_block: Callable[[bytes], object] = bytes
        """Called with each block of the document, decompressed."""
        self.limits = limits or _DEFAULT_LIMITS
        self._charset = charset
        self._extra_formats = check_formats(extra_formats)
        self._notes: list[IssueCode] = []
        self._decompressor = Decompressor(self.limits, self._notes, codings=codings)
        self._block = bytearray()
        self._last: list[Event] = []
        """The events of the end, with what feedparser finds."""
        self._copy: bytearray | None = bytearray()
        """A feed in UTF-8, as long as it may be beyond repair, and not too long for feedparser."""

    @property
    def is_window(self) -> bool:
        """True if the document may leave out URLs that it has listed before.

        A feed lists the latest posts, unless it says that it is complete (RFC 5005, section 2); a
        change list of ResourceSync, the latest changes. Known once the reader is closed.
        """
        if isinstance(self._reader, XmlReader):
            return self._reader.prolog.is_window
        return self.format is not None and self.format.is_feed

    @property
    def lists_sitemaps(self) -> bool:
        """True if it is a urlset or a text whose URLs all look like URLs of sitemaps so far."""
        return self.format in _PAGE_LISTS and self._lists_sitemaps

    def feed(self, data: bytes) -> list[Event]:
        """Read the next bytes; return the events of the blocks that are complete."""
        return [event for events in self.feed_steps(data) for event in events]

    def close(self, *, cut: bool = False) -> list[Event]:
        """End the document; return the last events.

        With `cut`, the transfer broke off: the last line of a text sitemap may be half a URL and
        is dropped.
        """
        return [event for events in self.close_steps(cut=cut) for event in events]

    def feed_steps(self, data: bytes) -> Iterator[Events]:
        """Do the work of `feed` in steps of a few milliseconds, some without events.

        64 KiB of gzip may hold 64 MiB: between two steps an event loop can run other tasks. The
        caller must take all steps before it feeds the next bytes. Entries without extensions may
        come by columns, which make them where they are iterated.
        """
        if self._closed:
            raise ValueError(
                "the reader is closed: make a new SitemapReader for each document"
            )
        room = max(0, self.limits.raw_bytes - self.stats.raw_bytes)
        self.stats.raw_bytes += len(data)
        allowed = min(len(data), room)
        for start in range(0, allowed, BLOCK_BYTES):
            if not self.finished:
                piece = bytes(data[start : min(start + BLOCK_BYTES, allowed)])
                yield from self._read_pieces(piece)
            if not self.finished and self._decompressor.is_over:
                yield from self._read_pieces(b"", final=True)
        if len(data) > room and not self.finished:
            cut = IssueCode.TOO_LARGE
            yield from self._read_pieces(b"", final=True, cut=cut, detail="raw_bytes")

    def close_steps(self, data: bytes = b"", *, cut: bool = False) -> Iterator[Events]:
        """Do the work of `close` in steps, perhaps after the last bytes.

        The one behind that with which a feed is `beyond_repair` waits seconds for feedparser,
        unless the caller has it read the feed meanwhile, and gives its answer to `salvage`.
        """
        if self._closed:
            return
        stats = self.stats
        if len(data) > min(BLOCK_BYTES, self.limits.raw_bytes - stats.raw_bytes):
            yield from self.feed_steps(data)
            data = b""
        stats.raw_bytes += len(data)
        self._closed = True
        if not self.finished:
            code = IssueCode.TRUNCATED if cut else None
            is_short = len(data) < min(BLOCK_BYTES, self.limits.inflated_bytes)
            if is_short and self._decompressor.leaves_unchanged(data):
                yield from self._finish(data, code)
            else:
                yield from self._read_pieces(data, final=True, cut=code)
        if self.lists_sitemaps and stats.delivered:
            last: list[Event] = []
            stats.add_issue(last, IssueCode.SITEMAPS_AS_PAGES)
            yield last
        if (
            stats.inflated_bytes > PROTOCOL_MAX_BYTES
            or stats.delivered > PROTOCOL_MAX_ENTRIES
        ):
            events: list[Event] = []
            stats.add_issue(events, IssueCode.OVER_PROTOCOL_LIMIT)
            yield events

    def salvage(self, answer: FeedparserAnswer) -> None:
        """Read the records that feedparser has found in the feed that is `beyond_repair`."""
        # Records that were dropped before stay counted: nothing tells which entry they became.
        events = self._last
        stats = self.stats
        self.beyond_repair = b""
        if not answer.feed.startswith(b"<rss><channel><item>"):
            stats.add_issue(events, IssueCode.FEED_UNREADABLE, value=answer.limit)
            return
        said = count_units(answer.feed.count(b"<item>"), "entries")
        stats.add_issue(events, IssueCode.FEED_SALVAGED, value=said)
        self.format = Format.RSS
        prolog, start = read_prolog(events, stats, answer.feed)
        for batch in XmlReader(stats, self.limits, prolog, start).close(
            None, answer.feed
        ):
            events += batch

    # -- the pipeline

    def _read_pieces(
        self,
        data: bytes,
        *,
        final: bool = False,
        cut: IssueCode | None = None,
        detail: str = "",
    ) -> Iterator[Events]:
        """Decompress and read bytes; the last ones, or damaged data, end the document.

        `cut` is why nothing follows.
        """
        try:
            for piece in self._decompressor.decode(data, final=final):
                allowed = (
                    self.limits.inflated_bytes
                    - self.stats.inflated_bytes
                    - len(self._block)
                )
                self._block += piece[:allowed]
                while len(self._block) >= BLOCK_BYTES and not self.finished:
                    block = bytes(self._block[:BLOCK_BYTES])
                    del self._block[:BLOCK_BYTES]
                    yield from self._read_block(block)
                if len(piece) > allowed and not self.finished:
                    block = bytes(self._block)
                    yield from self._finish(
                        block, IssueCode.TOO_LARGE, "inflated_bytes"
                    )
                if self.finished:  # before more is decompressed, which may be damaged
                    return
                if not piece:
                    yield []
        except DecompressionError as error:
            final = True
            cut = error.code
            detail = error.detail
        if final:
            yield from self._finish(bytes(self._block), cut, detail)

    def _read_block(
        self,
        block: bytes,
        *,
        final: bool = False,
        cut: IssueCode | None = None,
    ) -> Iterator[Events]:
        """Read a block, perhaps the last one; `cut` is why nothing follows."""
        self.stats.inflated_bytes += len(block)
        self.on_block(block)
        events = self._drain_notes()
        if self._transcoder is None:
            started = start_transcoder(events, self.stats, block, self._charset)
            self._transcoder, block = started or (None, b"")
        if self._transcoder is None:
            self.finished = True
            yield events
            return
        block = self._transcoder.feed(events, block, final=final)
        if not self._is_chosen and (block or final or not self._transcoder.is_waiting):
            self._is_chosen = True
            self._reader = self._choose_reader(events, block)
            if self._reader:
                self.format = self._reader.format
            else:
                self.format = None
        yield events
        if self._is_chosen:
            # what has waited for its encoding comes at once
            pieces = [
                block[at : at + _LONGEST_BLOCK]
                for at in range(0, len(block), _LONGEST_BLOCK)
            ]
            last = pieces.pop() if pieces else b""
            for piece in pieces:
                yield from self._read_decoded_block(piece)
            yield from self._read_decoded_block(last, final=final, cut=cut)

    def _read_decoded_block(
        self,
        block: bytes,
        *,
        final: bool = False,
        cut: IssueCode | None = None,
    ) -> Iterator[Events]:
        """Read a block in UTF-8, perhaps the last one."""
        if self.finished:
            return
        if self._reader is None:
            self.finished = not self._lost_root
        else:
            reader = self._reader
            if final:
                steps = reader.close(cut, block)
            else:
                steps = reader.feed(block)
            for given in steps:
                yield self._check_limit(given)
                self.finished |= reader.finished
                if self.finished:
                    break
        self._keep_copy(block)

    def _keep_copy(self, block: bytes) -> None:
        """Keep a block of a feed that may be beyond repair, up to its first entry."""
        may_be_broken = self._lost_root or (self.format and self.format.is_feed)
        if may_be_broken and self._copy is not None:
            self._copy += block
            if self.stats.delivered or len(self._copy) > FEEDPARSER_MAX_BYTES:
                self._copy = None

    def _choose_reader(self, events: list[Event], first: bytes) -> Reader | None:
        """Choose a reader by the first bytes; `None`, with an Issue, if none fits."""
        start = first.lstrip()
        both = (self.stats, self.limits)
        is_markup = start.startswith(b"<")
        if not is_markup:
            lines = _sample_lines(start)
            if lines and _is_table(lines):
                self.stats.add_issue(
                    events, IssueCode.TABLE_NOT_SITEMAP, value=lines[0]
                )
                return None
            if start and _is_plain_text(start, lines):
                return TextReader(*both)
            is_json = _JSON.match(start) and not _TAG_ON_A_LINE.search(start)
            if is_json or not _XML_BEGINS.search(start):
                if start:
                    code = IssueCode.NOT_A_SITEMAP
                else:
                    code = IssueCode.EMPTY
                self.stats.add_issue(
                    events, code, value=start[:40].decode("latin-1") or None
                )
                return None
        try:
            return XmlReader(*both, *read_prolog(events, self.stats, first))
        except NotXmlError as error:
            code, value = error.args
            is_page = code is IssueCode.HTML_NOT_SITEMAP
            if is_page and is_markup and Format.HTML in self._extra_formats:
                return HtmlReader(*both)
            if value == "<channel>":  # whatever else has items in it is no feed
                self._lost_root = value
            else:
                self.stats.add_issue(events, code, value=value)
            return None

    def _finish(
        self, block: bytes, cut: IssueCode | None, detail: str = ""
    ) -> Iterator[Events]:
        """Read the remaining bytes and close the reader; `cut` is why it was cut."""
        self._block.clear()
        if not cut and (whole := self._read_whole(block)) is not None:
            yield whole
            self.finished = True
            return
        if block or self._transcoder or cut is None:
            yield from self._read_block(block, final=True, cut=cut)
        if cut:
            self.stats.add_issue_once(self._last, cut, value=detail or None)
        self._last += self._drain_notes()
        self.finished = True
        is_broken = self._lost_root or not _BROKEN.isdisjoint(self.stats.counts)
        if self._copy and is_broken and not self.stats.delivered:
            self.beyond_repair = bytes(self._copy)
            yield []
            if self.beyond_repair:
                seconds = self.limits.feedparser_seconds
                self.salvage(run_feedparser(self.beyond_repair, seconds))
        if self._lost_root and IssueCode.FEED_SALVAGED not in self.stats.counts:
            self.stats.add_issue(
                self._last, IssueCode.NOT_A_SITEMAP, value=self._lost_root
            )
        if self._last:
            yield self._last

    def _read_whole(self, block: bytes) -> Events | None:
        """Read a block that is a whole document, if all of it is common."""
        if self._transcoder or self._notes or self._charset not in (None, "utf-8"):
            return None
        whole = read_whole(block, self.stats, self.limits)
        if whole is None:
            return None
        self.stats.inflated_bytes += len(block)
        self.on_block(block)
        self.format, events = whole
        return self._check_limit(events)

    def _drain_notes(self) -> list[Event]:
        events: list[Event] = []
        for code in self._notes:
            self.stats.add_issue_once(events, code)
        self._notes.clear()
        return events

    def _check_limit(self, given: Events) -> Events:
        """Cut the events at the limit of entries."""
        if self.lists_sitemaps:
            self._lists_sitemaps = all(map(_is_sitemap_url, _iterate_locs(given)))
        stats = self.stats
        most = self.limits.entries
        if max(stats.delivered, stats.dropped) <= most:
            return given
        surplus = max(stats.delivered - most, 0)
        room = sum(not isinstance(each, Issue) for each in given) - surplus
        events = [
            each for each in given if isinstance(each, Issue) or (room := room - 1) >= 0
        ]
        stats.delivered -= surplus
        stats.records -= surplus
        stats.add_issue(events, IssueCode.TOO_LARGE, value="entries")
        self.finished = True
        return events


def _is_sitemap_url(url: str) -> bool:
    """Return whether the path of a URL ends like the path of a sitemap."""
    path = url.partition("?")[0].partition("#")[0]
    return path.lower().endswith((".xml", ".xml.gz"))


def _iterate_locs(given: Events) -> Iterable[str]:
    """Return the URLs of events without making entries of columns."""
    if isinstance(given, EntryColumns):
        return given.loc
    return (each.loc for each in given if not isinstance(each, Issue))
