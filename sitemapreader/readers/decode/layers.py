"""Detection and removal of layers of compression: bytes in, bytes out, bounded.

A layer is detected by its first bytes, because headers are often wrong. The Content-Encoding header
counts for br, which has no magic number, and where a body cannot be read.
"""

from __future__ import annotations

import codecs
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits
from sitemapreader.readers.decode.decoders import (
    GZIP_MAGIC,
    ZLIB_MAGICS,
    BrotliDecoder,
    DecompressionError,
    DeflateDecoder,
    GzipDecoder,
    ZlibDecoder,
    inflate_start,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    _Layer = GzipDecoder | BrotliDecoder

GZIP_FAMILY = frozenset({"gzip", "deflate"})
"""Codings that are detected by the first bytes of the body, whatever the header says."""
_ALIASES = {"x-gzip": "gzip", "x-compress": "compress"}  # RFC 9110, section 8.4.1
_NO_CODING = frozenset({"identity", "none", "aws-chunked"})
"""Names that stand for no coding; uploads to object stores leave `aws-chunked` behind."""
_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]{1,40}", re.ASCII)
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""Not decoded: no server sends zstd that is asked for gzip, and no sitemap is stored so."""
_MAX_CODINGS = 4
"""Codings of one header that are used; servers have no reason to apply more than two."""


def read_codings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the codings of a body by their lower-case names, the outermost first.

    The header lists them in the order in which they were applied (RFC 9110, section 8.4).
    """
    value = headers.get("content-encoding", "")
    listed = [part.strip(" \t").lower() for part in value[:1_024].split(",")]
    named = [_ALIASES.get(name, name) for name in listed if _TOKEN.fullmatch(name)]
    codings = [name for name in named if name not in _NO_CODING]
    return tuple(reversed(codings[-_MAX_CODINGS:]))


_LEADING = b" \t\r\n" + codecs.BOM_UTF8
"""Bytes that scripts print by mistake before the gzip data."""
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FRAME_BYTES = 65_536
"""Bytes by which a small document may grow when it is compressed."""
MAX_LAYERS = 2
"""Two occur in practice: a .gz file that the web server compresses again."""
# Bare deflate data has no magic number: it is known by inflating to one of these. It is looked for
# in the outermost layer only, since it occurs in no other.
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
"""Starts so long that no accident makes them, even where the data is damaged right after."""
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_NOT_ASCII = bytes(range(128, 256))
_MAX_TRIALS = 64
"""Places in data that is not compressed where gzip data may begin."""
_PLAIN_BYTES = 32
"""So many bytes of compressed data are not all printable ASCII: once in 10 million million."""
_PROOF_BYTES = 512
"""Bytes that detection needs: more than the Huffman tables before the first character."""


class Decompressor:
    """All layers of compression of one body, each detected by its first bytes.

    `notes` gets the codes of faults that cost no data. The limit of inflated bytes bounds what one
    layer passes to the next; the caller bounds the final output.
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
        self._is_detected = False
        self._held = b""
        """Of data that is not compressed, the end that may begin gzip data."""
        self._trials = _MAX_TRIALS

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode `data`; yield pieces of at most 128 KiB, or raise DecompressionError.

        An empty piece stands for work without output, so that the caller can pause between steps.
        """
        if not self._is_detected:
            self._first += data
            if not self._can_detect():
                return
            data = self._detect_layer()
        yield from self._inflate(data)

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        if self._layer is None or self._inner is None:  # they come together
            yield from self._pass_on(data)
            return
        for piece in self._layer.feed(data):
            # SECURITY: without this bound, a bomb inside a layer would be inflated to its end to
            # reach output that the caller counts.
            room = max(0, self._room)
            self._room -= len(piece)
            yield from self._inner.feed(piece[:room])
            if self._inner.is_compressed or not piece:
                yield b""
            if len(piece) > room:
                if self._inner.is_compressed:
                    raise DecompressionError(IssueCode.TOO_LARGE, "inflated_bytes")
                yield from self._inner.feed(piece[room:])

    @property
    def is_compressed(self) -> bool:
        """Whether a layer was detected so far."""
        return self._layer is not None

    def close(self) -> Iterator[bytes]:
        """Yield the remaining output; raise DecompressionError if data is missing."""
        if not self._is_detected:
            yield from self._inflate(self._detect_layer())
        if self._layer is None:
            yield from self._pass_on(b"", final=True)
        else:
            self._layer.close()
        if self._inner is not None:
            yield from self._inner.close()

    def _pass_on(self, data: bytes, *, final: bool = False) -> Iterator[bytes]:
        """Yield data that is not compressed, and decode a sitemap in gzip data behind it.

        So `cat` joins files. What stands behind that, its decoder judges.
        """
        if self._inner is not None:
            yield from self._inner.feed(data)
            return
        data, self._held = self._held + data, b""
        place = -1 if self._depth else data.find(GZIP_MAGIC[:1])
        while place >= 0 and self._trials:
            rest = data[place : place + _PROOF_BYTES]
            if len(rest) < _PROOF_BYTES and not final:
                data, self._held = data[:place], data[place:]
                break
            if rest.startswith(GZIP_MAGIC):
                self._trials -= 1
                if _is_gzipped_sitemap(rest):
                    yield data[:place]
                    self._inner = Decompressor(self._limits, self._notes)
                    yield from self._inner.feed(data[place:])
                    return
            place = data.find(GZIP_MAGIC[:1], place + 1)
        yield data

    def _can_detect(self) -> bool:
        first = self._first
        if len(first) >= _PROOF_BYTES:
            return True
        if self._codings:  # br may begin with anything but these, and needs more for its trial
            is_enough = first.startswith((GZIP_MAGIC, b"<"))
        else:
            is_known = first.startswith((GZIP_MAGIC, *ZLIB_MAGICS, *_PLAIN_STARTS))
            is_enough = is_known or self._depth > 0
        return is_enough and len(first.lstrip(_LEADING)) >= len(GZIP_MAGIC)

    def _detect_layer(self) -> bytes:
        """Set up the layer that the first bytes begin; return what must be fed to it."""
        first, self._first, self._is_detected = self._first, b"", True
        bare = first.lstrip(_LEADING)
        if bare != first and bare.startswith(GZIP_MAGIC):
            self._notes.append(IssueCode.LEADING_BYTES)
            first = bare
        found = self._choose_decoder(first) or self._try_brotli(first)
        if found is None:
            self._check_codings(first)
            return first
        coding, layer, first = found
        if self._depth >= MAX_LAYERS:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_LAYERS)
        if self._depth and not self._codings:
            self._notes.append(IssueCode.COMPRESSION_NESTED)
        rest = list(self._codings)
        if coding in rest:
            rest.remove(coding)
        self._layer = layer
        self._inner = Decompressor(
            self._limits, self._notes, codings=tuple(rest), depth=self._depth + 1
        )
        return first

    def _choose_decoder(self, first: bytes) -> tuple[str, _Layer, bytes] | None:
        """Return the outermost coding, its decoder, and the bytes to feed to the decoder."""
        members, notes = self._limits.gzip_members, self._notes
        if first.startswith(GZIP_MAGIC):
            return "gzip", GzipDecoder(members, notes), first
        if first.startswith(_ZSTD_MAGIC):
            raise DecompressionError(IssueCode.CONTENT_ENCODING, "zstd")
        if "br" in self._codings and not _is_text(first):
            decoder = BrotliDecoder()
            rest = decoder.read_start(first)
            if rest is not None:
                return "br", decoder, rest
        if first.startswith(ZLIB_MAGICS) or (not self._depth and _is_zlib(first)):
            return "deflate", ZlibDecoder(members, notes), first
        if not self._depth and _is_raw_deflate(first):
            return "deflate", DeflateDecoder(members, notes), first
        return None

    def _try_brotli(self, first: bytes) -> tuple[str, _Layer, bytes] | None:
        """Detect br data that no header names, as in a file, by the sitemap inside."""
        if self._depth or self._codings or _is_text(first):
            return None
        with suppress(DecompressionError):  # the library is missing
            decoder = BrotliDecoder()
            rest = decoder.read_start(first)
            start = bytes(decoder.out).removeprefix(codecs.BOM_UTF8).lstrip().lower()
            if rest is not None and start.startswith(_CERTAIN_STARTS):
                return "br", decoder, rest
        return None

    def _check_codings(self, first: bytes) -> None:
        """Report codings that the header names and the body does not have."""
        if not self._codings or not first:
            return
        if not _is_text(first):
            raise DecompressionError(IssueCode.CONTENT_ENCODING, ", ".join(self._codings))
        # HTTP clients that decode gzip themselves often leave the header as it was.
        if not GZIP_FAMILY.issuperset(self._codings):
            self._notes.append(IssueCode.WRONG_CONTENT_ENCODING)


def decode_start(data: bytes, codings: tuple[str, ...], max_bytes: int) -> bytes:
    """Decode the beginning of a body, which may be all that was received."""
    decompressor, out = Decompressor(Limits(), [], codings=codings), bytearray()
    with suppress(DecompressionError):
        if fill(out, decompressor.feed(data), max_bytes):
            fill(out, decompressor.close(), max_bytes)
    return bytes(out[:max_bytes])


def fill(data: bytearray, pieces: Iterator[bytes], max_bytes: int) -> bool:
    """Append pieces of a body; return whether there is room for more."""
    for piece in pieces:
        data += piece
        if len(data) > max_bytes:
            return False
    return True


def _is_text(first: bytes) -> bool:
    """Return whether the first bytes are text: UTF-8, UTF-16 or mostly ASCII."""
    # No br data begins so: these bits are reserved, or pad the end with ones (RFC 7932, sections
    # 9.1 and 9.2).
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
    """Return whether the bytes are zlib data of any window (RFC 1950, section 2.2)."""
    header = int.from_bytes(first[:2], "big")  # deflate, window <= 32 KiB, no dictionary
    is_header = header % 31 == 0 and header & 0x8F20 == 0x0800
    return is_header and _inflates_to_sitemap(first[2:])


def _is_gzipped_sitemap(first: bytes) -> bool:
    with suppress(zlib.error):
        plain = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(first, _PROOF_BYTES)
        return plain.removeprefix(codecs.BOM_UTF8).lstrip().lower().startswith(_CERTAIN_STARTS)
    return False


def _is_raw_deflate(first: bytes) -> bool:
    if first.startswith(_PLAIN_STARTS):
        return False
    # As most robots.txt files, for which the trial would take longer than all else.
    proof = first[:_PROOF_BYTES]
    is_plain = len(proof) >= _PLAIN_BYTES and proof.isascii() and not _CONTROLS.search(proof)
    return not is_plain and _inflates_to_sitemap(first)


def _inflates_to_sitemap(first: bytes) -> bool:
    plain, is_damaged = inflate_start(first[:_PROOF_BYTES], _PROOF_BYTES)
    if not is_damaged:
        return plain.startswith(_PLAIN_STARTS)
    for mark in _MARKS:
        plain = plain.removeprefix(mark)
    return plain.replace(b"\0", b"").lstrip().lower().startswith(_CERTAIN_STARTS)
