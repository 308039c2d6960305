"""Decoders of one layer each: gzip, zlib, bare deflate data and br.

The framing of gzip is read here, and the library gets the compressed data only. So its output is
bounded, and none is lost where a checksum, a length or the bytes behind are wrong.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    import zlib
    from collections.abc import Iterator
else:
    # The same interface and output in half the time. Damage too is reported at the same byte,
    # which tests/integration/test_speedups.py compares.
    try:
        from zlib_ng import zlib_ng as zlib
    except ImportError:
        import zlib

GZIP_MAGIC = b"\x1f\x8b\x08"
ZLIB_MAGICS = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
MAX_HEADER_BYTES = 65_536
_STEP_BYTES = 65_536
"""Bytes that one step consumes or yields at most: bounds memory and time whatever the ratio."""
TRAILING_BYTES = 4_096
"""Bytes behind the compressed data that are kept, to judge what they are."""
_TRAILING_BLANK = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"  # blanks, and the bytes of the three BOMs
_TRAILING_DOCUMENT = re.compile(rb"<\0?[?!a-z]|https?://", re.IGNORECASE)  # also in UTF-16
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16


class DecompressionError(Exception):
    """Compressed data that is damaged; all output before the damage was yielded."""

    def __init__(self, code: IssueCode, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(code, detail)


class GzipDecoder:
    """One layer of gzip (RFC 1952): members of header, deflate data and trailer."""

    trailer_bytes = 8

    def __init__(self, max_members: int, notes: list[IssueCode]) -> None:
        self._notes = notes
        self._max_members = max_members
        self._members = 0
        self._ended = False
        self._buffer = b""
        self._stream: zlib._Decompress | None = None
        """The deflate data of the open member; `None` between two members."""
        self._sum = 0
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Inflate `data`; yield the output, or raise DecompressionError."""
        for start in range(0, len(data), _STEP_BYTES):
            self._buffer += data[start : start + _STEP_BYTES]
            yield from self._inflate_members()

    def _inflate_members(self) -> Iterator[bytes]:
        while self._buffer and not self._ended:
            if self._stream is None and not self._open_member():
                break
            yield from self._inflate()
            if self._stream is None or not self._close_member(self._stream):
                break
        if self._ended:
            self._buffer = self._buffer[:TRAILING_BYTES]

    def close(self) -> None:
        """Raise DecompressionError if the data ended too early."""
        if self._stream is not None:
            if not self._stream.eof:
                raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED)
            # Only the trailer is cut, so all of the output was there.
            self._notes.append(IssueCode.COMPRESSION_CHECKSUM)
        elif not self._members:  # not even one whole header
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED)
        elif self._buffer:
            self._notes.append(judge_trailing(self._buffer))

    def _open_member(self) -> bool:
        if self._members:
            # tar on tapes, and some servers, pad the last block with zeros: no error, no member
            self._buffer = self._buffer.lstrip(b"\0")
        if not self._buffer.startswith(GZIP_MAGIC[: len(self._buffer)]):
            self._ended = True
            return False
        end = self._header_end(self._buffer)
        if end > MAX_HEADER_BYTES or (end < 0 and len(self._buffer) > MAX_HEADER_BYTES):
            raise DecompressionError(IssueCode.GZIP_HEADER_TOO_LONG)
        if end < 0:
            return False
        self._members += 1
        if self._members > self._max_members:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_MEMBERS)
        self._buffer = self._buffer[end:]
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        self._sum, self._size = self._checksum(b"", None), 0
        return True

    def _inflate(self) -> Iterator[bytes]:
        stream = self._stream
        has_more = True
        while stream and has_more and not stream.eof:
            # A failing call yields nothing and spoils the stream, even where most of its input was
            # sound. The copy, of 40 KB, lets the sound prefix be inflated a second time.
            before = stream.copy()
            try:
                out = stream.decompress(self._buffer, _STEP_BYTES)
            except zlib.error as error:
                yield from _recover_prefix(before, self._buffer)
                raise DecompressionError(IssueCode.COMPRESSION_CORRUPT, str(error)) from None
            # A full step means that zlib may hold back more output, even with no input left.
            has_more = len(out) == _STEP_BYTES
            self._buffer = _unused_input(stream)
            self._sum = self._checksum(out, self._sum)
            self._size += len(out)
            yield out

    def _close_member(self, stream: zlib._Decompress) -> bool:
        size = self.trailer_bytes
        if not stream.eof or len(self._buffer) < size:
            return False
        trailer, self._buffer = self._buffer[:size], self._buffer[size:]
        # The output was yielded long ago: a wrong checksum can only be reported.
        if trailer != self._trailer():
            self._notes.append(IssueCode.COMPRESSION_CHECKSUM)
        self._stream = None
        return True

    # -- what differs between gzip and zlib

    def _header_end(self, data: bytes) -> int:
        """Return where the deflate data begins, or -1 if the header is not complete yet."""
        if len(data) < 10:
            return -1
        flags, end = data[3], 10
        if flags & _FEXTRA:
            if len(data) < 12:
                return -1
            end += 2 + int.from_bytes(data[10:12], "little")
        for flag in (_FNAME, _FCOMMENT):
            if flags & flag:
                end = data.find(b"\0", end) + 1
                if not end:
                    return -1
        end += 2 if flags & _FHCRC else 0
        return end if end <= len(data) else -1

    def _checksum(self, data: bytes, so_far: int | None) -> int:
        return zlib.crc32(data, so_far or 0)

    def _trailer(self) -> bytes:
        return struct.pack("<II", self._sum, self._size & 0xFFFFFFFF)


class ZlibDecoder(GzipDecoder):
    """One layer of zlib (RFC 1950), which HTTP calls deflate."""

    header_bytes = 2
    trailer_bytes = 4

    def _open_member(self) -> bool:
        if self._members:
            self._ended = True
            return False
        self._members = 1
        self._buffer = self._buffer[self.header_bytes :]
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        self._sum = self._checksum(b"", None)
        return True

    def _checksum(self, data: bytes, so_far: int | None) -> int:
        return zlib.adler32(data, 1 if so_far is None else so_far)

    def _trailer(self) -> bytes:
        return struct.pack(">I", self._sum)


class DeflateDecoder(ZlibDecoder):
    """One layer of bare deflate data (RFC 1951), which some servers send as deflate."""

    header_bytes = 0
    trailer_bytes = 0

    def _trailer(self) -> bytes:
        return b""


def judge_trailing(start: bytes) -> IssueCode:
    """Return the code for the bytes behind compressed data, by their start."""
    bare = start.lstrip(_TRAILING_BLANK)
    # Caches append comments to what they serve.
    while bare.startswith(b"<!--"):
        bare = bare.partition(b"-->")[2].lstrip(_TRAILING_BLANK)
    if _TRAILING_DOCUMENT.match(bare):
        return IssueCode.COMPRESSION_TRAILING_DOCUMENT
    return IssueCode.COMPRESSION_TRAILING_BYTES


def inflate_start(first: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """Inflate the start of bare deflate data; return also if it is damaged."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        # On a copy, since the failing call would spoil the stream for the recovery.
        return stream.copy().decompress(first, max_bytes), False
    except zlib.error:
        return b"".join(_recover_prefix(stream, first))[:max_bytes], True


def _unused_input(stream: zlib._Decompress) -> bytes:
    # At the end of the data zlib leaves the rest in both attributes, so they must not be added.
    return stream.unused_data if stream.eof else stream.unconsumed_tail


def _recover_prefix(stream: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    # A bisection: each failure halves the input of the next call, each success moves on by that
    # much. The last sound byte is reached after some 17 failures for 64 KiB.
    size = len(data)
    while size:
        before = stream.copy()
        try:
            out = stream.decompress(data[:size], _STEP_BYTES)
        except zlib.error:
            stream, size = before, size // 2
        else:
            data = stream.unconsumed_tail + data[size:]
            yield out


MISSING_BROTLI = "br: install the extra `speedups` (brotli 1.2 or later)"
_INPUT_BYTES = 64
"""Input of one call: a call that fails yields nothing, so a small one loses little output."""
_TRIAL_BYTES = 512
"""Input that must decode for a body to count as br, which has no magic number."""
_OUTPUT_BYTES = 32_768
"""Output of one step; one call of the library yields at most three times as much."""


class BrotliDecoder:
    """One layer of br (RFC 7932), which has no checksum and no second member.

    Raises DecompressionError if there is no library.
    """

    def __init__(self) -> None:
        try:
            import brotli  # noqa: PLC0415 (few bodies need it, and it may be missing)
        except ImportError:
            try:
                import brotlicffi as brotli  # noqa: PLC0415 (the same for PyPy)
            except ImportError:
                raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI) from None
        self._stream, self._error = brotli.Decompressor(), brotli.error
        # SECURITY: older versions cannot bound the output of a call: 1 kB may become 600 MB at once
        if not hasattr(self._stream, "can_accept_more_data"):
            raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI)
        self.out = bytearray()
        """What was decoded and not handed on yet."""

    def read_start(self, first: bytes) -> bytes | None:
        """Decode the first bytes as a trial; return what must be fed, `None` if not br."""
        taken = 0
        while taken < min(len(first), _TRIAL_BYTES) and len(self.out) < _OUTPUT_BYTES:
            piece = first[taken : taken + _INPUT_BYTES]
            taken += len(piece)
            try:
                self.out += self._stream.process(piece, output_buffer_limit=_OUTPUT_BYTES)
            except self._error:
                return None
        return first[taken:]

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode `data`; yield the output, or raise DecompressionError."""
        yield from self._decode(b"")  # output of the trial that the library still holds back
        for start in range(0, len(data), _INPUT_BYTES):
            yield from self._decode(data[start : start + _INPUT_BYTES])
        yield self._drain_output()

    def close(self) -> None:
        """Raise DecompressionError if the data ended too early."""
        if not self._stream.is_finished():
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED, "br")

    def _decode(self, piece: bytes) -> Iterator[bytes]:
        """Decode a piece; output of less than one step waits for the next piece."""
        stream, has_more = self._stream, bool(piece) or len(self.out) >= _OUTPUT_BYTES
        while has_more:
            try:
                part = stream.process(piece, output_buffer_limit=_OUTPUT_BYTES)
            except self._error:
                yield self._drain_output()
                raise DecompressionError(IssueCode.COMPRESSION_CORRUPT, "br") from None
            self.out += part
            # The library may have consumed the whole piece and still hold back output.
            has_more = len(part) >= _OUTPUT_BYTES or not stream.can_accept_more_data()
            piece = b""
            if len(self.out) >= _OUTPUT_BYTES:
                yield self._drain_output()

    def _drain_output(self) -> bytes:
        out = bytes(self.out)
        self.out.clear()
        return out
