"""Layers of compression, told by their first bytes: bytes in, bytes out, any chunking, limits."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.gunzip import (
    GZIP_MAGIC,
    ZLIB_MAGICS,
    Gunzip,
    InflateError,
    RawInflate,
    Unzlib,
    inflate_start,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.options import Limits

_LEADING = b" \t\r\n" + codecs.BOM_UTF8
"""What scripts print before the gzip data that they mean to send."""
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FRAME_BYTES = 65_536
"""What a small document may grow by when it is compressed."""
MAX_LAYERS = 2
"""gzip by the web server of a .gz file: the most that has a reason."""
# How what raw deflate data hides must begin, for it has no magic number of its own; nobody puts it
# into another layer
_PLAIN_STARTS = (b"<", b"http", b"HTTP", b" ", b"\t", b"\r", b"\n", *_MARKS)
_CERTAIN_STARTS = (
    b"<?xml",
    b"<urlset",
    b"<sitemapindex",
    b"<rss",
    b"<feed",
    b"http://",
    b"https://",
)
"""Of which that much is no accident, even if the data is damaged soon after."""
_PROOF_BYTES = 512
"""What is looked at to tell raw deflate data: more than the tables before its first character."""


class Inflation:
    """All layers of compression of one body: none, one or two, told by the first bytes of each.

    `notes` fill up with what was wrong but cost no data. `limits.inflated_bytes` bounds what one
    layer hands to another; how much of what comes out is wanted, the caller knows.
    """

    def __init__(self, limits: Limits, notes: list[IssueCode], *, depth: int = 0) -> None:
        self._limits = limits
        self._notes = notes
        self._room = limits.inflated_bytes + _FRAME_BYTES
        self._depth = depth
        self._first = b""
        self._layer: Gunzip | None = None
        self._inner: Inflation | None = None
        self._told = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` inflates to, in pieces of at most 64 KiB; raise InflateError.

        Empty pieces stand for work that gave nothing: there may be a lot of it.
        """
        if not self._told:
            self._first += data
            if not self._can_tell():
                return
            data = self._tell()
        yield from self._inflate(data)

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        if self._layer is None or self._inner is None:
            yield data
            return
        for piece in self._layer.feed(data):
            room = max(0, self._room)
            self._room -= len(piece)
            yield from self._inner.feed(piece[:room])
            if self._inner.is_compressed:
                yield b""
            if len(piece) > room:
                if self._inner.is_compressed:
                    raise InflateError(IssueCode.TOO_LARGE, "inflated_bytes")
                yield from self._inner.feed(piece[room:])

    @property
    def is_compressed(self) -> bool:
        """Whether there is a layer to take off, as far as is known."""
        return self._layer is not None

    def close(self) -> Iterator[bytes]:
        """Yield what was held back; raise InflateError if the data ended too early."""
        if not self._told:
            yield from self._inflate(self._tell())
        if self._layer is not None and self._inner is not None:
            self._layer.close()
            yield from self._inner.close()

    def _can_tell(self) -> bool:
        first = self._first
        if len(first) >= _PROOF_BYTES:
            return True
        is_known = first.startswith((GZIP_MAGIC, *ZLIB_MAGICS, *_PLAIN_STARTS))
        return (is_known or self._depth > 0) and len(first.lstrip(_LEADING)) >= len(GZIP_MAGIC)

    def _tell(self) -> bytes:
        first, self._first, self._told = self._first, b"", True
        bare = first.lstrip(_LEADING)
        if bare != first and bare.startswith(GZIP_MAGIC):
            self._notes.append(IssueCode.LEADING_BYTES)
            first = bare
        if first.startswith(GZIP_MAGIC):
            self._layer = Gunzip(self._limits.gzip_members, self._notes)
        elif first.startswith(ZLIB_MAGICS) or (not self._depth and _is_zlib(first)):
            self._layer = Unzlib(self._limits.gzip_members, self._notes)
        elif not self._depth and _is_raw_deflate(first):
            self._layer = RawInflate(self._limits.gzip_members, self._notes)
        else:
            return first
        if self._depth >= MAX_LAYERS:
            raise InflateError(IssueCode.GZIP_TOO_MANY_LAYERS)
        if self._depth:
            self._notes.append(IssueCode.GZIP_NESTED)
        self._inner = Inflation(self._limits, self._notes, depth=self._depth + 1)
        return first


def _is_zlib(first: bytes) -> bool:
    """Tell whether the first bytes are of zlib with a small window (RFC 1950, section 2.2)."""
    header = int.from_bytes(first[:2], "big")
    is_header = header % 31 == 0 and header & 0x8F20 == 0x0800  # deflate, to 32 KiB, no dictionary
    return is_header and _inflates_to_a_sitemap(first[2:])


def _is_raw_deflate(first: bytes) -> bool:
    """Tell whether the first bytes of a document inflate to how a sitemap begins."""
    return not first.startswith(_PLAIN_STARTS) and _inflates_to_a_sitemap(first)


def _inflates_to_a_sitemap(first: bytes) -> bool:
    plain, is_damaged = inflate_start(first[:_PROOF_BYTES], _PROOF_BYTES)
    if not is_damaged:
        return plain.startswith(_PLAIN_STARTS)
    for mark in _MARKS:
        plain = plain.removeprefix(mark)
    return plain.replace(b"\0", b"").lstrip().lower().startswith(_CERTAIN_STARTS)
