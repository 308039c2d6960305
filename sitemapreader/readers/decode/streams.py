"""Streams of one content coding: gzip and deflate by zlib, br by brotli.

The output of a step is bounded, and none is lost where a checksum or the bytes behind are wrong.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    import zlib
    from collections.abc import Generator, Iterator
else:
    # The same interface and output in half the time. Damage too is reported at the same byte,
    # which tests/reading/test_speedups.py compares.
    try:
        from zlib_ng import zlib_ng as zlib
    except ImportError:
        import zlib

GZIP_MAGIC = b"\x1f\x8b\x08"
_STEP_BYTES = 65_536
"""Bytes that one step consumes or yields at most: bounds memory and time whatever the ratio."""
_KEPT_BYTES = 4_096
"""Bytes behind the compressed data that are kept, to judge what they are."""
_TRAILING_BLANK = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"  # blanks, and the bytes of the three BOMs
_TRAILING_DOCUMENT = re.compile(rb"<\0?[?!a-z]|https?://", re.IGNORECASE)  # also in UTF-16
_WRONG_CHECK = re.compile(r"incorrect (data|length) check")


class DecompressionError(Exception):
    """Compressed data that is damaged; all output before the damage was yielded."""

    def __init__(self, code: IssueCode, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(code, detail)


class ZlibStream:
    """Data in the frame that `wbits` means to zlib; gzip may have several members."""

    def __init__(self, wbits: int, max_members: int, notes: list[IssueCode]) -> None:
        self._wbits = wbits
        self._is_gzip = wbits > zlib.MAX_WBITS
        self._max_members = max_members
        self._notes = notes
        self._members = 0
        self._ended = False
        self._buffer = b""
        self._skipped = 0
        """Bytes of a trailer with a wrong checksum that are still to come."""
        self._stream: zlib._Decompress | None = None
        """The open member; `None` between two members."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Inflate `data`; yield the output, or raise DecompressionError."""
        for start in range(0, len(data), _STEP_BYTES):
            self._buffer += data[start : start + _STEP_BYTES]
            while self._buffer and not self._ended and (self._stream or self._open_member()):
                yield from self._inflate()
            if self._ended:
                self._buffer = self._buffer[:_KEPT_BYTES]

    def close(self) -> None:
        """Raise DecompressionError if the data ended too early."""
        if self._stream is not None or not self._members:
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED)
        if self._buffer:
            self._notes.append(judge_trailing(self._buffer))

    def _open_member(self) -> bool:
        """Begin what the buffer begins with; return whether there is enough of it."""
        skipped = min(self._skipped, len(self._buffer))
        self._skipped -= skipped
        self._buffer = self._buffer[skipped:]
        if self._members:
            # tar on tapes, and some servers, pad the last block with zeros: no error, no member
            self._buffer = self._buffer.lstrip(b"\0") if self._is_gzip else self._buffer
            self._ended = not (
                self._is_gzip and self._buffer.startswith(GZIP_MAGIC[: len(self._buffer)])
            )
            if self._ended or len(self._buffer) < len(GZIP_MAGIC):
                return False
        self._members += 1
        if self._members > self._max_members:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_MEMBERS)
        self._stream = zlib.decompressobj(self._wbits)
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
                self._buffer = yield from _recover_prefix(before, self._buffer)
                self._judge_error(str(error))
                return
            # A full step means that zlib may hold back more output, even with no input left.
            has_more = len(out) == _STEP_BYTES
            self._buffer = stream.unconsumed_tail
            if stream.eof:  # the rest is in both attributes
                self._buffer, self._stream = stream.unused_data, None
            yield out

    def _judge_error(self, message: str) -> None:
        """Go on behind a wrong checksum, since all of the data was there; else raise."""
        wrong = _WRONG_CHECK.search(message)
        if wrong is None:
            raise DecompressionError(IssueCode.COMPRESSION_CORRUPT, message)
        self._notes.append(IssueCode.COMPRESSION_CHECKSUM)
        # The last byte of the checksum was refused; behind it gzip has the length, in four.
        self._skipped = 5 if self._is_gzip and wrong[1] == "data" else 1
        self._stream = None


def judge_trailing(start: bytes) -> IssueCode:
    """Return the code for the bytes behind compressed data, by their start."""
    bare = start.lstrip(_TRAILING_BLANK)
    # Caches append comments to what they serve.
    while bare.startswith(b"<!--"):
        bare = bare.partition(b"-->")[2].lstrip(_TRAILING_BLANK)
    if _TRAILING_DOCUMENT.match(bare):
        return IssueCode.COMPRESSION_TRAILING_DOCUMENT
    return IssueCode.COMPRESSION_TRAILING_BYTES


def _recover_prefix(stream: zlib._Decompress, data: bytes) -> Generator[bytes, None, bytes]:
    """Yield what comes of the bytes before the first that is refused; return the rest."""
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
    return data


MISSING_BROTLI = "br: install the extra `speedups` (brotli 1.2 or later)"
_INPUT_BYTES = 64
"""Input of one call: a call that fails yields nothing, so a small one loses little output."""
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
                raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI) from None
        self._stream, self._error = brotli.Decompressor(), brotli.error
        # SECURITY: older versions cannot bound the output of a call: 1 kB may become 600 MB at once
        if not hasattr(self._stream, "can_accept_more_data"):
            raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode `data`; yield the output, or raise DecompressionError."""
        out = bytearray()
        for start in range(0, len(data), _INPUT_BYTES):
            piece, has_more = data[start : start + _INPUT_BYTES], True
            while has_more:
                try:
                    part = self._stream.process(piece, output_buffer_limit=_OUTPUT_BYTES)
                except self._error:
                    yield bytes(out)
                    raise DecompressionError(IssueCode.COMPRESSION_CORRUPT, "br") from None
                out += part
                # The library may have consumed the whole piece and still hold back output.
                piece, has_more = b"", not self._stream.can_accept_more_data()
                has_more |= len(part) >= _OUTPUT_BYTES
                if len(out) >= _OUTPUT_BYTES:
                    yield bytes(out)
                    out.clear()
        yield bytes(out)

    def close(self) -> None:
        """Raise DecompressionError if the data ended too early."""
        if not self._stream.is_finished():
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED, "br")
