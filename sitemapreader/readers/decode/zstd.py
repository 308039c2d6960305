"""The decoder of zstd: frames of Zstandard data (RFC 8878), one after the other.

The framing is read here, and the library gets one block a call. A block decodes to at most
128 KiB, which bounds the output of a call with any library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sitemapreader.issues import IssueCode
from sitemapreader.readers.decode.codings import DecompressionError
from sitemapreader.readers.decode.gzip import TRAILING_BYTES, judge_trailing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MISSING_ZSTD = "zstd: install the extra `speedups` (zstandard), or use Python 3.14 or later"
MAX_WINDOW_BYTES = 8 * 1024 * 1024
"""RFC 9659, section 3: the largest window that a zstd body on the web may ask for."""
_MAX_BLOCK_BYTES = 128 * 1024
_SKIPPABLE_MAGICS = frozenset((0x184D2A50 + number).to_bytes(4, "little") for number in range(16))
_RLE, _RESERVED = 1, 3
"""Types of blocks: one byte repeated, and the type that is not defined."""
_CHECKSUM_BYTES = 4


class _Stream(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...


def _find_library() -> tuple[Callable[[], _Stream], type[Exception]]:
    """Return a factory of decompressors and their exception.

    Raises:
        DecompressionError: CONTENT_ENCODING if no library is installed.
    """
    try:
        from compression import zstd  # noqa: PLC0415 (few bodies need it, and it may be missing)
    except ImportError:
        try:
            import zstandard  # noqa: PLC0415 (the same before Python 3.14)
        except ImportError:
            raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_ZSTD) from None
        maker = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        return maker.decompressobj, zstandard.ZstdError
    options = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW_BYTES.bit_length() - 1}
    return lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError


def begins_as_zstd(first: bytes) -> bool:
    """Return whether a body begins with a data frame or a skippable frame."""
    return first.startswith(ZSTD_MAGIC) or first[:4] in _SKIPPABLE_MAGICS


class ZstdDecoder:
    """One layer of zstd: data frames, and skippable frames between them.

    Raises:
        DecompressionError: CONTENT_ENCODING if no library is installed.
    """

    def __init__(self, max_frames: int, notes: list[IssueCode]) -> None:
        self._make_stream, self._error = _find_library()
        self._notes = notes
        self._max_frames = max_frames
        self._frames = 0
        self._buffer = bytearray()
        self._stream: _Stream | None = None
        """The decompressor of the open frame; `None` between two frames."""
        self._has_checksum = False
        self._is_last = False
        self._to_skip = 0
        self._ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode `data`; yield the output, or raise DecompressionError."""
        self._buffer += data
        while not self._ended:
            if self._stream is None:
                if not self._open_frame():
                    return
            elif self._is_last:
                if not self._close_frame(self._stream):
                    return
            else:
                size = self._measure_block()
                if len(self._buffer) < size:
                    return
                yield self._decompress(self._stream, size)
        del self._buffer[TRAILING_BYTES:]

    def close(self) -> None:
        """Raise DecompressionError if the data ended too early."""
        if self._stream is not None or self._to_skip or not self._frames:
            raise DecompressionError(IssueCode.COMPRESSION_TRUNCATED, "zstd")
        if self._buffer:
            self._notes.append(judge_trailing(bytes(self._buffer)))

    def _open_frame(self) -> bool:
        """Read up to the blocks of the next frame; return False if that needs more data."""
        buffer = self._buffer
        if self._to_skip and buffer:
            skipped = min(self._to_skip, len(buffer))
            self._to_skip -= skipped
            del buffer[:skipped]
            return True
        if len(buffer) < len(ZSTD_MAGIC):
            return False
        if buffer.startswith(ZSTD_MAGIC):
            return self._open_data_frame()
        if not begins_as_zstd(bytes(buffer[:4])):
            self._ended = True
            return True
        if len(buffer) < 8:
            return False
        self._count_frame()
        self._to_skip = int.from_bytes(buffer[4:8], "little")
        del buffer[:8]
        return True

    def _open_data_frame(self) -> bool:
        buffer = self._buffer
        size = _header_size(buffer)
        if len(buffer) < size:
            return False
        self._count_frame()
        window = _window_bytes(buffer)
        if window > MAX_WINDOW_BYTES:
            detail = f"zstd: a window of {window:,} bytes; {MAX_WINDOW_BYTES:,} are the most"
            raise DecompressionError(IssueCode.CONTENT_ENCODING, detail)
        self._has_checksum = bool(buffer[4] & 4)
        self._is_last = False
        self._stream = self._make_stream()
        self._decompress(self._stream, size)
        return True

    def _count_frame(self) -> None:
        self._frames += 1
        if self._frames > self._max_frames:
            raise DecompressionError(IssueCode.COMPRESSION_TOO_MANY_MEMBERS, "zstd")

    def _measure_block(self) -> int:
        """Measure the next block with its header, and record whether it is the last."""
        header = int.from_bytes(self._buffer[:3], "little")
        kind, size = header >> 1 & 3, header >> 3
        if len(self._buffer) < 3:
            return 3
        if size > _MAX_BLOCK_BYTES or kind == _RESERVED:
            raise DecompressionError(IssueCode.COMPRESSION_CORRUPT, "zstd")
        end = 3 + (1 if kind == _RLE else size)
        self._is_last = bool(header & 1) and len(self._buffer) >= end
        return end

    def _close_frame(self, stream: _Stream) -> bool:
        """Read the checksum, if there is one; return False if that needs more data."""
        if self._has_checksum:
            if len(self._buffer) < _CHECKSUM_BYTES:
                return False
            try:
                self._decompress(stream, _CHECKSUM_BYTES)
            except DecompressionError:
                self._notes.append(IssueCode.COMPRESSION_CHECKSUM)
        self._stream = None
        return True

    def _decompress(self, stream: _Stream, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        try:
            return stream.decompress(data)
        except self._error:
            raise DecompressionError(IssueCode.COMPRESSION_CORRUPT, "zstd") from None


def _header_size(frame: bytearray) -> int:
    """Return the size of a frame's header with its magic number (section 3.1.1.1)."""
    if len(frame) < 5:
        return 5
    flags = frame[4]
    is_single = bool(flags & 0x20)
    size_bytes = (int(is_single), 2, 4, 8)[flags >> 6]
    return 5 + (not is_single) + (0, 1, 2, 4)[flags & 3] + size_bytes


def _window_bytes(frame: bytearray) -> int:
    """Return the bytes of output that a frame's decoder must keep (3.1.1.1.2)."""
    flags = frame[4]
    if not flags & 0x20:
        base = 1 << (10 + (frame[5] >> 3))
        return base + (base >> 3) * (frame[5] & 7)
    size_flag = flags >> 6
    start = 5 + (0, 1, 2, 4)[flags & 3]
    size = int.from_bytes(frame[start : start + (1, 2, 4, 8)[size_flag]], "little")
    return size + 256 if size_flag == 1 else size
