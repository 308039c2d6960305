"""Take off layers of compression: bytes in, bytes out, any chunking, limits.

A layer is detected by its first bytes. What the Content-Encoding header says counts for br, which
has no magic number, and for what cannot be read.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits
from sitemapreader.readers.decode.brotli import BrotliDecoder
from sitemapreader.readers.decode.codings import GZIP_FAMILY
from sitemapreader.readers.decode.gzip import (
    GZIP_MAGIC,
    ZLIB_MAGICS,
    Gunzip,
    InflateError,
    RawInflate,
    Unzlib,
    inflate_start,
)
from sitemapreader.readers.decode.zstd import ZstdDecoder, begins_as_zstd

if TYPE_CHECKING:
    from collections.abc import Iterator

    _Layer = Gunzip | BrotliDecoder | ZstdDecoder

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
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_NOT_ASCII = bytes(range(128, 256))
_PROOF_BYTES = 512
"""What is looked at to tell raw deflate data: more than the tables before its first character."""


class Decompressor:
    """All layers of compression of one body: none, one or two, detected by the first bytes of each.

    `codings` are those that the server names, the outermost first (see `read_codings`). `notes`
    fill up with what was wrong but cost no data. `limits.inflated_bytes` bounds what one layer
    hands to another; how much of what comes out is wanted, the caller knows.
    """

    def __init__(
        self,
        limits: Limits,
        notes: list[IssueCode],
        *,
        codings: tuple[str, ...] = (),
        depth: int = 0,
    ) -> None:
        self._limits = limits
        self._notes = notes
        self._codings = codings
        self._room = limits.inflated_bytes + _FRAME_BYTES
        self._depth = depth
        self._first = b""
        self._layer: _Layer | None = None
        self._inner: Decompressor | None = None
        self._told = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` inflates to, in pieces of at most 128 KiB; raise InflateError.

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
            if self._inner.is_compressed or not piece:
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
        if self._codings:  # then only what br cannot begin with is known by so little
            may_tell = first.startswith((GZIP_MAGIC, b"<"))
        else:
            is_known = first.startswith((GZIP_MAGIC, *ZLIB_MAGICS, *_PLAIN_STARTS))
            may_tell = is_known or self._depth > 0
        return may_tell and len(first.lstrip(_LEADING)) >= len(GZIP_MAGIC)

    def _tell(self) -> bytes:
        first, self._first, self._told = self._first, b"", True
        bare = first.lstrip(_LEADING)
        if bare != first and bare.startswith(GZIP_MAGIC):
            self._notes.append(IssueCode.LEADING_BYTES)
            first = bare
        found = self._find_layer(first) or self._find_brotli(first)
        if found is None:
            self._check_codings(first)
            return first
        coding, layer, first = found
        if self._depth >= MAX_LAYERS:
            raise InflateError(IssueCode.GZIP_TOO_MANY_LAYERS)
        if self._depth and not self._codings:
            self._notes.append(IssueCode.GZIP_NESTED)
        rest = list(self._codings)
        if coding in rest:
            rest.remove(coding)
        self._layer = layer
        self._inner = Decompressor(
            self._limits, self._notes, codings=tuple(rest), depth=self._depth + 1
        )
        return first

    def _find_layer(self, first: bytes) -> tuple[str, _Layer, bytes] | None:
        """Return the coding that a body begins in, what decodes it, and what to feed to that."""
        members, notes = self._limits.gzip_members, self._notes
        if first.startswith(GZIP_MAGIC):
            return "gzip", Gunzip(members, notes), first
        if begins_as_zstd(first):
            return "zstd", ZstdDecoder(members, notes), first
        if "br" in self._codings and not _is_text(first):
            decoder = BrotliDecoder()
            rest = decoder.read_start(first)
            if rest is not None:
                return "br", decoder, rest
        if first.startswith(ZLIB_MAGICS) or (not self._depth and _is_zlib(first)):
            return "deflate", Unzlib(members, notes), first
        if not self._depth and _is_raw_deflate(first):
            return "deflate", RawInflate(members, notes), first
        return None

    def _find_brotli(self, first: bytes) -> tuple[str, _Layer, bytes] | None:
        """Find br data that no header speaks for, as in a file, by the sitemap that is in it."""
        if self._depth or self._codings or _is_text(first):
            return None
        with suppress(InflateError):  # the library is missing
            decoder = BrotliDecoder()
            rest = decoder.read_start(first)
            start = decoder.decoded_start.removeprefix(codecs.BOM_UTF8).lstrip().lower()
            if rest is not None and start.startswith(_CERTAIN_STARTS):
                return "br", decoder, rest
        return None

    def _check_codings(self, first: bytes) -> None:
        """Judge the codings that are named and were not found.

        Raises:
            InflateError: CONTENT_ENCODING, for what is no text.
        """
        if not self._codings or not first:
            return
        if not _is_text(first):
            raise InflateError(IssueCode.CONTENT_ENCODING, ", ".join(self._codings))
        # A client that takes gzip off by itself often leaves the header as it was
        if not GZIP_FAMILY.issuperset(self._codings):
            self._notes.append(IssueCode.WRONG_CONTENT_ENCODING)


def decode_start(data: bytes, codings: tuple[str, ...], max_bytes: int) -> bytes:
    """Return the beginning of a body of which only the beginning is at hand."""
    inflation, out = Decompressor(Limits(), [], codings=codings), bytearray()
    with suppress(InflateError):
        for pieces in (inflation.feed(data), inflation.close()):
            for piece in pieces:
                out += piece
                if len(out) >= max_bytes:
                    return bytes(out[:max_bytes])
    return bytes(out)


def _is_text(first: bytes) -> bool:
    """Tell whether the first bytes are of text, in UTF-8, UTF-16 or mostly ASCII.

    No br data begins with `<` or with a mark of UTF-16: the bits are reserved, or pad its end with
    ones (RFC 7932, sections 9.1 and 9.2).
    """
    if first.startswith((b"<", b"\0<", *_MARKS)):
        return True
    if _CONTROLS.search(first):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(first)
    except UnicodeDecodeError:
        return 4 * len(first.translate(None, _NOT_ASCII)) >= 3 * len(first)
    return True


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
