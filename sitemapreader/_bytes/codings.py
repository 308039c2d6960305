"""Content codings of a body: which there are, and their removal, bounded.

gzip is detected by its first bytes, because headers are often wrong. The Content-Encoding header
counts for br and deflate, which have no magic number. The output of a step is bounded, and none is
lost where a checksum or the bytes behind are wrong.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import Limits

if TYPE_CHECKING:
    import zlib
    from collections.abc import Iterable, Iterator, Mapping
else:
    # The same interface and output in half the time. Damage too is reported at the same byte,
    # which tests/reading/test_speedups.py compares.
    try:
        from zlib_ng import zlib_ng as zlib
    except ImportError:
        import zlib

_OFTEN_LEFT = frozenset({"gzip", "deflate"})
"""Codings that clients take off and leave in the header."""
_NO_CODING = frozenset({"identity", "none", "aws-chunked"})
"""Names that stand for no coding; uploads to object stores leave `aws-chunked` behind."""
_CODING_NAME = re.compile(r"(?:x-)?([\w.-]{1,40})", re.ASCII)
_MAX_CODINGS = 4
"""Codings of one header that are used; servers have no reason to apply more than two."""


def read_codings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the codings of a body by their lower-case names, the outermost first.

    The header lists them in the order in which they were applied (RFC 9110, section 8.4).
    """
    listed = headers.get("content-encoding", "")[:1_024].lower().split(",")
    names = [
        found[1] for text in listed if (found := _CODING_NAME.fullmatch(text.strip()))
    ]
    return tuple(
        reversed([name for name in names if name not in _NO_CODING][-_MAX_CODINGS:])
    )


class DecompressionError(Exception):
    """Compressed data that is damaged; all output before the damage was yielded."""

    def __init__(self, code: IssueCode, detail: str = "") -> None:
        self.code = code
        self.detail = detail


# -- one layer

GZIP_MAGIC = b"\x1f\x8b\x08"
_ANY_HEADER = 32 + 15
"""Has zlib tell gzip from a zlib header, which is what HTTP means by deflate."""
_STEP_BYTES = 65_536
"""Bytes that one step consumes or yields at most: bounds memory and time whatever the ratio."""
_KEPT_BYTES = 4_096
"""Bytes behind the compressed data that are kept, to judge what they are."""
_TRAILING_DOCUMENT = re.compile(
    # blanks, the bytes of three byte order marks, and comments, which caches append
    rb"(?>(?:[ \t\r\n\0\xef\xbb\xbf\xff\xfe]|<!--.*?-->)*)(?!<!--)(?:<\0?[?!a-z]|https?://)",
    re.IGNORECASE | re.DOTALL,
)
"""A document that is not compressed, also in UTF-16."""


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
        """True if nothing more can come, because the bytes behind the data are no member."""
        return self._ended and len(self._buffer) >= _KEPT_BYTES

    def feed(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        """Inflate `data`, perhaps the last; yield the output, or raise DecompressionError."""
        for start in range(0, len(data), _STEP_BYTES):
            self._buffer += data[start : start + _STEP_BYTES]
            while (
                self._buffer
                and not self._ended
                and (self._stream or self._open_member())
            ):
                yield from self._inflate()
            if self._ended:
                self._buffer = self._buffer[:_KEPT_BYTES]
        if final and (self._stream is not None or not self._members):
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED)
        if final and self._buffer:
            is_document = _TRAILING_DOCUMENT.match(self._buffer)
            self._notes.append(
                IssueCode.COMPRESSION_TRAILING_DOCUMENT
                if is_document
                else IssueCode.COMPRESSION_TRAILING_BYTES
            )

    def _open_member(self) -> bool:
        """Open the member at the start of the buffer; return whether there is enough of it."""
        if self._members:
            # tar on tapes, and some servers, pad the last block with zeros: no error, no member
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
            # A failing call yields nothing and spoils the stream, even where most of its input was
            # sound. The copy, of 40 KB, lets the sound prefix be inflated a second time.
            before = stream.copy()
            try:
                out = stream.decompress(self._buffer, _STEP_BYTES)
            except zlib.error as error:
                yield _recover_prefix(before, self._buffer)
                raise DecompressionError(
                    IssueCode.COMPRESSION_CORRUPT, str(error)
                ) from None
            # A full step means that zlib may hold back more output, even with no input left.
            has_more = len(out) == _STEP_BYTES
            self._buffer = stream.unconsumed_tail
            if stream.eof:  # the rest is in both attributes
                self._buffer = stream.unused_data
                self._stream = None
            yield out


def _recover_prefix(stream: zlib._Decompress, data: bytes) -> bytes:
    """Return the output of the bytes before the first refused one: not a step."""
    out = bytearray()
    with suppress(zlib.error):
        for byte in data:  # 0.2 us each
            out += stream.decompress(bytes((byte,)))
    return bytes(out)


MISSING_BROTLI = "br: install the extra `speedups` (brotli 1.2 or later)"
_INPUT_BYTES = 64
"""Input of one call: a call that fails yields nothing, so a small one loses little output.

Calls begin at multiples of it, so that what is lost does not depend on how the data comes."""
_OUTPUT_BYTES = 32_768
"""Output of one step; one call of the library yields at most three times as much."""


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
                raise DecompressionError(
                    IssueCode.CONTENT_ENCODING, MISSING_BROTLI
                ) from None
        self._stream = brotli.Decompressor()
        self._error = brotli.error
        self._waiting = b""
        self.is_over = False
        """True if nothing more can come."""
        # SECURITY: older versions cannot bound the output of a call: 1 kB may become 600 MB at once
        if not hasattr(self._stream, "can_accept_more_data"):
            raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI)

    def feed(self, data: bytes, *, final: bool) -> Iterator[bytes]:
        """Decode `data`, perhaps the last; yield the output, or raise DecompressionError."""
        data = self._waiting + data
        out = bytearray()
        whole = len(data) - (0 if final else len(data) % _INPUT_BYTES)
        data, self._waiting = data[:whole], data[whole:]
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
                    raise DecompressionError(
                        IssueCode.COMPRESSION_CORRUPT, "br"
                    ) from None
                out += part
                # The library may have consumed the whole piece and still hold back output.
                piece = b""
                has_more = not self._stream.can_accept_more_data()
                has_more |= len(part) >= _OUTPUT_BYTES
                if len(out) >= _OUTPUT_BYTES:
                    yield bytes(out)
                    out.clear()
        yield bytes(out)
        self.is_over = self._stream.is_finished()
        if final and not self._stream.is_finished():
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED, "br")


# -- all layers

_LEADING = b" \t\r\n" + codecs.BOM_UTF8
"""Bytes that scripts print by mistake before the gzip data."""
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_FRAME_BYTES = 65_536
"""Bytes by which a small document may grow when it is compressed."""
MAX_LAYERS = 2
"""Two occur in practice: a .gz file that the web server compresses again."""
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_PROOF_BYTES = 512
"""Bytes that distinguish text from data in the coding that the header names."""


@attrs.define
class Decompressor:
    """All layers of compression of one body: gzip by its bytes, others by the header.

    `notes` gets the codes of faults that cost no data. The limit of inflated bytes bounds what one
    layer passes to the next; the caller bounds the final output.
    """

    _limits: Limits
    _notes: list[IssueCode]
    _codings: tuple[str, ...] = ()
    _depth: int = 0
    _passed: int = 0
    _first: bytes | None = b""
    """Bytes that have come, until they are judged; refused ones stay so."""
    layer: tuple[ZlibStream | BrotliStream, Decompressor] | None = None
    """Decoder of a coding, and the taker of its output; `None` for plain data."""

    @property
    def is_over(self) -> bool:
        """True if nothing more can come, whatever bytes follow."""
        if self.layer is None:
            return False
        stream, inner = self.layer
        return stream.is_over or inner.is_over

    def decode(self, data: bytes, *, final: bool = False) -> Iterable[bytes]:
        """Decode bytes, perhaps the last, into pieces of at most 128 KiB.

        An empty piece stands for work without output, so that the caller can pause between steps.
        Raises DecompressionError, at once or between pieces.
        """
        if self._first is not None:
            self._first = data = self._first + data
            if len(data) < _PROOF_BYTES and not final:
                return ()
            bare = data.lstrip(_LEADING)
            if (
                bare.startswith(GZIP_MAGIC)
                and 0 < len(data) - len(bare) < _PROOF_BYTES - 2
            ):
                self._notes.append(IssueCode.LEADING_BYTES)
                data = bare
            self._judge(data)
            self._first = None
        # without a generator, which would take as long as small documents
        if self.layer is None:
            return (data,) if data else ()
        return self._remove(*self.layer, data, final=final)

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
                # to reach output that the caller counts. The caller bounds what is plain.
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
            with suppress(DecompressionError):  # which follows from the first
                yield from inner.decode(b"", final=True)
            raise
        if final:
            yield from inner.decode(b"", final=True)

    def _judge(self, first: bytes) -> None:
        """Set up the layer that the first bytes begin, if they do."""
        coding = self._choose_coding(first)
        if not coding:
            return
        if self._depth >= MAX_LAYERS:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_LAYERS)
        if self._depth and not self._codings:
            self._notes.append(IssueCode.COMPRESSION_NESTED)
        members = self._limits.gzip_members
        stream = BrotliStream() if coding == "br" else ZlibStream(members, self._notes)
        rest = list(self._codings)
        if coding in rest:
            rest.remove(coding)
        depth = self._depth + 1
        inner = Decompressor(
            self._limits, self._notes, codings=tuple(rest), depth=depth
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
            if not _OFTEN_LEFT.issuperset(self._codings):
                self._notes.append(IssueCode.WRONG_CONTENT_ENCODING)
            return ""
        named = (coding for coding in self._codings if coding in ("br", "deflate"))
        if coding := next(named, ""):
            return coding
        raise DecompressionError(IssueCode.CONTENT_ENCODING, ", ".join(self._codings))


def decode_start(data: bytes, codings: tuple[str, ...], max_bytes: int) -> bytes:
    """Decode the beginning of a body, which may be all that was received."""
    decompressor = Decompressor(Limits(), [], codings=codings)
    out = bytearray()
    with suppress(DecompressionError):
        if fill(out, decompressor.decode(data), max_bytes):
            fill(out, decompressor.decode(b"", final=True), max_bytes)
    return bytes(out[:max_bytes])


def fill(data: bytearray, pieces: Iterable[bytes], max_bytes: int) -> bool:
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
    if first.startswith((b"<", b"\0<", *_BYTE_ORDER_MARKS)):
        return True
    if _CONTROL_BYTES.search(first):
        return False
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(first)
        return True
    return 4 * sum(byte < 128 for byte in first) >= 3 * len(first)
