"""Content codings of a body: their detection, and their removal in bounded steps.

gzip is detected by its first bytes, because headers are often wrong. br and deflate have no magic
number, so for them the Content-Encoding header counts. The output of a step is bounded. A wrong
checksum, or wrong bytes after the data, lose no output.
"""

from __future__ import annotations

import codecs
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_STALE_CODINGS = frozenset({"gzip", "deflate"})
"""Codings that clients remove from the body, but leave in the header."""
_NO_CODINGS = frozenset({"identity", "none", "aws-chunked"})
"""Names for no coding; object stores keep the `aws-chunked` of an upload."""
_CODING_NAME = re.compile(r"(?:x-)?([\w.-]{1,40})", re.ASCII)
_MAX_CODINGS = 4
"""Codings of one header that are used; servers have no reason to apply more than two."""


def read_codings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the codings of a body by their lower-case names, the outermost first.

    The header lists them in the order in which they were applied (RFC 9110, section 8.4).
    """
    header = headers.get("content-encoding", "")[:1_024]
    codings: list[str] = []
    for name in reversed(header.lower().split(",")):
        match = _CODING_NAME.fullmatch(name.strip())
        if match and match[1] not in _NO_CODINGS:
            codings.append(match[1])
    return tuple(codings[:_MAX_CODINGS])


class DecompressionError(Exception):
    """Compressed data that is damaged; all output before the damage was yielded."""

    def __init__(self, code: IssueCode, detail: str = "") -> None:
        self.code = code
        self.detail = detail


# -- one layer

GZIP_MAGIC = b"\x1f\x8b\x08"
_ANY_HEADER = 32 + 15
"""Lets zlib detect a gzip or zlib header; HTTP means the latter by deflate."""
_STEP_BYTES = 65_536
"""Largest input or output of one step, which bounds memory and time for any ratio."""
_KEPT_BYTES = 4_096
"""Bytes after the compressed data that are kept, to see if they are a document."""
_TRAILING_DOCUMENT = re.compile(
    # blanks, the bytes of three byte order marks, and comments, which caches append
    rb"(?>(?:[ \t\r\n\0\xef\xbb\xbf\xff\xfe]|<!--.*?-->)*)(?!<!--)(?:<\0?[?!a-z]|https?://)",
    re.IGNORECASE | re.DOTALL,
)
"""The beginning of a document that is not compressed, also in UTF-16."""


@attrs.define
class ZlibStream:
    """Data that zlib inflates; gzip may have several members."""

    _max_members: int
    _notes: list[IssueCode]
    _members: int = 0
    _ended: bool = False
    _buffer: bytes = b""
    _stream: zlib._Decompress | None = None
    """The open member; `None` between two members."""

    @property
    def is_over(self) -> bool:
        """True if nothing more can come, because the bytes after the data are no member."""
        return self._ended and len(self._buffer) >= _KEPT_BYTES

    def feed(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        """Inflate `data`, perhaps the last; yield the output, or raise DecompressionError."""
        for start in range(0, len(data), _STEP_BYTES):
            self._buffer += data[start : start + _STEP_BYTES]
            while self._has_member():
                yield from self._inflate()
            if self._ended:
                self._buffer = self._buffer[:_KEPT_BYTES]
        if final and (self._stream is not None or not self._members):
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED)
        if final and self._buffer:
            code = IssueCode.COMPRESSION_TRAILING_BYTES
            if _TRAILING_DOCUMENT.match(self._buffer):
                code = IssueCode.COMPRESSION_TRAILING_DOCUMENT
            self._notes.append(code)

    def _has_member(self) -> bool:
        """Return whether the buffer has bytes of a member, which is then open."""
        if not self._buffer or self._ended:
            return False
        return self._stream is not None or self._open_member()

    def _open_member(self) -> bool:
        """Open the member at the start of the buffer; return whether there is enough of it."""
        if self._members:
            # tar and some servers pad the last block with zeros, which is neither error nor member
            self._buffer = self._buffer.lstrip(b"\0")
            self._ended = not GZIP_MAGIC.startswith(self._buffer[: len(GZIP_MAGIC)])
            if self._ended or len(self._buffer) < len(GZIP_MAGIC):
                return False
        self._members += 1
        if self._members > self._max_members:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_MEMBERS)
        self._stream = zlib.decompressobj(_ANY_HEADER)
        return True

    def _inflate(self) -> Iterator[bytes]:
        """Inflate the buffer, to the end of the member at most."""
        has_more = True
        while has_more and (stream := self._stream) is not None:
            # A failing call returns nothing and spoils the stream, even if only the end of its
            # input is damaged. The copy (40 KB) inflates the part before the damage again.
            copy = stream.copy()
            try:
                out = stream.decompress(self._buffer, _STEP_BYTES)
            except zlib.error as error:
                yield _recover_prefix(copy, self._buffer)
                code = IssueCode.COMPRESSION_CORRUPT
                raise DecompressionError(code, str(error)) from None
            # After a full step zlib may have more output, even with no input left.
            has_more = len(out) == _STEP_BYTES
            self._buffer = stream.unconsumed_tail
            if stream.eof:  # both attributes have the remaining input
                self._buffer = stream.unused_data
                self._stream = None
            yield out


def _recover_prefix(stream: zlib._Decompress, data: bytes) -> bytes:
    """Return the output of the bytes before the first damaged one, in a single step."""
    out = bytearray()
    with suppress(zlib.error):
        for byte in data:  # 0.2 us each
            out += stream.decompress(bytes((byte,)))
    return bytes(out)


MISSING_BROTLI = "br: install the extra `speedups` (brotli 1.2 or later)"
_INPUT_BYTES = 64
"""Input of one call. It is small because a failing call returns nothing.

Calls begin at multiples of it, so that the lost output does not depend on how the data is split."""
_OUTPUT_BYTES = 32_768
"""Output of one step; one call of the library returns at most three times as much."""


class BrotliStream:
    """Data in br (RFC 7932), which has no magic number, checksum or second member.

    Raises DecompressionError if there is no library.
    """

    def __init__(self) -> None:
        try:
            import brotli  # noqa: PLC0415 (few bodies need it, and it may be missing)
        except ImportError:
            try:
                import brotlicffi as brotli  # noqa: PLC0415 (the same for PyPy)
            except ImportError:
                code = IssueCode.CONTENT_ENCODING
                raise DecompressionError(code, MISSING_BROTLI) from None
        self._stream = brotli.Decompressor()
        self._error = brotli.error
        self._waiting = b""
        self.is_over = False
        """True if nothing more can come."""
        # SECURITY: older versions cannot bound the output of a call, so 1 kB may become 600 MB.
        if not hasattr(self._stream, "can_accept_more_data"):
            raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI)

    def feed(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        """Decode `data`, perhaps the last; yield the output, or raise DecompressionError."""
        data = self._waiting + data
        self._waiting = b""
        incomplete = len(data) % _INPUT_BYTES
        if incomplete and not final:
            self._waiting = data[-incomplete:]
            data = data[:-incomplete]
        out = bytearray()
        for start in range(0, len(data), _INPUT_BYTES):
            piece = data[start : start + _INPUT_BYTES]
            has_more = True
            while has_more:
                try:
                    part = self._stream.process(
                        piece, output_buffer_limit=_OUTPUT_BYTES
                    )
                except self._error:
                    yield bytes(out)
                    code = IssueCode.COMPRESSION_CORRUPT
                    raise DecompressionError(code, "br") from None
                out += part
                # The library may have consumed the whole piece and still have more output.
                piece = b""
                has_more = not self._stream.can_accept_more_data()
                has_more |= len(part) >= _OUTPUT_BYTES
                if len(out) >= _OUTPUT_BYTES:
                    yield bytes(out)
                    out.clear()
        yield bytes(out)
        self.is_over = self._stream.is_finished()
        if final and not self.is_over:
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED, "br")


# -- all layers

_LEADING = b" \t\r\n" + codecs.BOM_UTF8
"""Bytes that scripts print by mistake before the gzip data."""
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FRAME_BYTES = 65_536
"""Largest growth of a small document by compression."""
MAX_LAYERS = 2
"""Two layers occur in practice: a .gz file that the web server compresses again."""
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_PROOF_BYTES = 512
"""Bytes that suffice to tell text from data in the coding that the header names."""


@attrs.define
class Decompressor:
    """All layers of compression of one body: gzip by its bytes, others by the header.

    `notes` gets the codes of faults that lose no data. The limit of inflated bytes bounds the data
    that one layer passes to the next; the caller bounds the final output.
    """

    _limits: Limits
    _notes: list[IssueCode]
    _codings: tuple[str, ...] = ()
    _depth: int = 0
    _passed: int = 0
    _first: bytes | None = b""
    """The first bytes, until they suffice to choose the layer; then `None`."""
    layer: tuple[ZlibStream | BrotliStream, Decompressor] | None = None
    """Decoder of a coding, and the decompressor of its output; `None` for plain data."""

    @property
    def is_over(self) -> bool:
        """True if no bytes that follow can have output."""
        if self.layer is None:
            return False
        stream, inner = self.layer
        return stream.is_over or inner.is_over

    def leaves_unchanged(self, data: bytes) -> bool:
        """Return whether bytes are the beginning of a body that has no content coding."""
        is_first = self._first == b""
        return is_first and not self._codings and GZIP_MAGIC not in data[:_PROOF_BYTES]

    def decode(self, data: bytes, *, final: bool = False) -> Iterable[bytes]:
        """Decode bytes, perhaps the last, into pieces of at most 128 KiB.

        An empty piece is a step without output, so that the caller can pause between steps.
        Raises DecompressionError, at once or between pieces.
        """
        if self._first is not None:
            data = self._first + data
            self._first = data
            if len(data) < _PROOF_BYTES and not final:
                return ()
            if self._codings or GZIP_MAGIC in data[:_PROOF_BYTES]:
                data = self._strip_leading(data)
                self._open_layer(data)
            self._first = None
        if self.layer is not None:
            return self._remove(*self.layer, data, final=final)
        # no generator, which would take as long as reading a small document
        if data:
            return (data,)
        return ()

    def _strip_leading(self, data: bytes) -> bytes:
        """Remove bytes that a script has printed by mistake before gzip data."""
        stripped = data.lstrip(_LEADING)
        removed = len(data) - len(stripped)
        if stripped.startswith(GZIP_MAGIC) and 0 < removed < _PROOF_BYTES - 2:
            self._notes.append(IssueCode.LEADING_BYTES)
            return stripped
        return data

    def _remove(
        self,
        stream: ZlibStream | BrotliStream,
        inner: Decompressor,
        data: bytes,
        *,
        final: bool,
    ) -> Iterator[bytes]:
        """Remove the outermost layer, and all below it."""
        try:
            for piece in stream.feed(data, final=final):
                # SECURITY: without this bound, a bomb inside a layer would be inflated to its end
                # before the caller could count the output. The caller bounds plain data.
                room = max(0, self._limits.inflated_bytes + _FRAME_BYTES - self._passed)
                self._passed += len(piece)
                yield from inner.decode(piece[:room])
                if inner.layer or not piece:
                    yield b""
                if len(piece) > room:
                    if inner.layer:
                        raise DecompressionError(IssueCode.TOO_LARGE, "inflated_bytes")  # noqa: TRY301
                    yield from inner.decode(piece[room:])
        except DecompressionError:
            with suppress(DecompressionError):  # it follows from the first error
                yield from inner.decode(b"", final=True)
            raise
        if final:
            yield from inner.decode(b"", final=True)

    def _open_layer(self, first: bytes) -> None:
        """Set up the layer that begins with these bytes, if they are compressed."""
        coding = self._choose_coding(first)
        if not coding:
            return
        if self._depth >= MAX_LAYERS:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_LAYERS)
        if self._depth and not self._codings:
            self._notes.append(IssueCode.COMPRESSION_NESTED)
        stream: BrotliStream | ZlibStream
        if coding == "br":
            stream = BrotliStream()
        else:
            stream = ZlibStream(self._limits.gzip_members, self._notes)
        codings = list(self._codings)
        if coding in codings:
            codings.remove(coding)
        inner = Decompressor(
            self._limits,
            self._notes,
            codings=tuple(codings),
            depth=self._depth + 1,
        )
        self.layer = stream, inner

    def _choose_coding(self, first: bytes) -> str:
        """Return the coding of the outermost layer; "" for data that is not compressed."""
        if first.startswith(GZIP_MAGIC):
            return "gzip"
        if not self._codings or not first:
            return ""
        if _is_text(first[:_PROOF_BYTES]):
            # HTTP clients that decode gzip themselves often leave the header as it was.
            if not _STALE_CODINGS.issuperset(self._codings):
                self._notes.append(IssueCode.WRONG_CONTENT_ENCODING)
            return ""
        for coding in self._codings:
            if coding in ("br", "deflate"):
                return coding
        raise DecompressionError(IssueCode.CONTENT_ENCODING, ", ".join(self._codings))


def decode_start(
    data: bytes,
    codings: tuple[str, ...],
    max_bytes: int,
) -> bytes:
    """Decode the beginning of a body, which may be all that was received."""
    decompressor = Decompressor(Limits(), [], codings=codings)
    out = bytearray()
    with suppress(DecompressionError):
        if fill(out, decompressor.decode(data), max_bytes):
            fill(out, decompressor.decode(b"", final=True), max_bytes)
    return bytes(out[:max_bytes])


def fill(
    data: bytearray,
    pieces: Iterable[bytes],
    max_bytes: int,
) -> bool:
    """Append pieces of a body; return whether there is room for more."""
    for piece in pieces:
        data += piece
        if len(data) > max_bytes:
            return False
    return True


def _is_text(first: bytes) -> bool:
    """Return whether the first bytes are text: UTF-8, UTF-16 or mostly ASCII."""
    # br data cannot begin with these bytes, because their bits are reserved, or pad the end with
    # ones (RFC 7932, sections 9.1 and 9.2).
    if first.startswith((b"<", b"\0<", *_BYTE_ORDER_MARKS)):
        return True
    if _CONTROL_BYTES.search(first):
        return False
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(first)
        return True
    return 4 * sum(byte < 128 for byte in first) >= 3 * len(first)
