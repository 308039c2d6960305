"""Content codings of a body: which there are, and their removal, bounded.

gzip is detected by its first bytes, because headers are often wrong. The Content-Encoding header
counts for br and deflate, which have no magic number.
"""

from __future__ import annotations

import codecs
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits
from sitemapreader.readers.decode.streams import (
    GZIP_MAGIC,
    BrotliStream,
    DecompressionError,
    ZlibStream,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OFTEN_LEFT = frozenset({"gzip", "deflate"})
"""Codings that clients take off and leave in the header."""
_ALIASES = {"x-gzip": "gzip", "x-compress": "compress"}  # RFC 9110, section 8.4.1
_NO_CODING = frozenset({"identity", "none", "aws-chunked"})
"""Names that stand for no coding; uploads to object stores leave `aws-chunked` behind."""
_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]{1,40}", re.ASCII)
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
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_NOT_ASCII = bytes(range(128, 256))
_PROOF_BYTES = 512
"""Bytes by which text is told from data in a coding that the header names."""


class Decompressor:
    """All layers of compression of one body: gzip by its bytes, others by the header.

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
        self._is_judged = False
        self._stream: ZlibStream | BrotliStream | None = None
        self._inner: Decompressor | None = None
        """What takes the output of the stream; both are there, or none."""

    @property
    def is_compressed(self) -> bool:
        """Whether a layer was found so far."""
        return self._stream is not None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode `data`; yield pieces of at most 128 KiB, or raise DecompressionError.

        An empty piece stands for work without output, so that the caller can pause between steps.
        """
        if not self._is_judged:
            self._first += data
            if not self._is_conclusive():
                return
            data = self._judge_first()
        yield from self._decode(data)

    def close(self) -> Iterator[bytes]:
        """Yield the remaining output; raise DecompressionError if data is missing."""
        if not self._is_judged:
            yield from self._decode(self._judge_first())
        if self._stream is not None and self._inner is not None:
            self._stream.close()
            yield from self._inner.close()

    def _decode(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None or self._inner is None:
            yield data
            return
        for piece in self._stream.feed(data):
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

    def _is_conclusive(self) -> bool:
        bare = self._first[:_PROOF_BYTES].lstrip(_LEADING)
        is_known = not self._codings or bare.startswith((GZIP_MAGIC, b"<"))
        return len(self._first) >= _PROOF_BYTES or (is_known and len(bare) >= len(GZIP_MAGIC))

    def _judge_first(self) -> bytes:
        """Set up the layer that the first bytes begin; return what must be fed to it."""
        first, self._first, self._is_judged = self._first, b"", True
        bare = first[:_PROOF_BYTES].lstrip(_LEADING) + first[_PROOF_BYTES:]
        if bare != first and bare.startswith(GZIP_MAGIC):
            self._notes.append(IssueCode.LEADING_BYTES)
            first = bare
        coding = self._choose_coding(first)
        if not coding:
            return first
        if self._depth >= MAX_LAYERS:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_LAYERS)
        if self._depth and not self._codings:
            self._notes.append(IssueCode.COMPRESSION_NESTED)
        self._stream = self._open_stream(coding, first)
        rest = list(self._codings)
        if coding in rest:
            rest.remove(coding)
        self._inner = Decompressor(
            self._limits, self._notes, codings=tuple(rest), depth=self._depth + 1
        )
        return first

    def _choose_coding(self, first: bytes) -> str:
        """Return the coding of the outermost layer; "" for data that is not compressed."""
        if first.startswith(GZIP_MAGIC):
            return "gzip"
        if not self._codings or not first:
            return ""
        if _is_text(first[:_PROOF_BYTES]):
            # HTTP clients that decode gzip themselves often leave the header as it was.
            if not _OFTEN_LEFT.issuperset(self._codings):
                self._notes.append(IssueCode.WRONG_CONTENT_ENCODING)
            return ""
        named = (coding for coding in self._codings if coding in ("br", "deflate"))
        if coding := next(named, ""):
            return coding
        raise DecompressionError(IssueCode.CONTENT_ENCODING, ", ".join(self._codings))

    def _open_stream(self, coding: str, first: bytes) -> ZlibStream | BrotliStream:
        if coding == "br":
            return BrotliStream()
        wbits = zlib.MAX_WBITS
        if coding == "gzip":
            wbits += 16
        # HTTP means zlib by deflate (RFC 9110, section 8.4.1.2), and some servers send bare data.
        # A zlib header is a multiple of 31, with 8 for its method (RFC 1950, section 2.2).
        elif int.from_bytes(first[:2], "big") % 31 or first[0] & 15 != 8:
            wbits = -wbits
        return ZlibStream(wbits, self._limits.gzip_members, self._notes)


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
