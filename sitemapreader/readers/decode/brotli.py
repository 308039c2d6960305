"""The decoder of br: one layer of brotli data (RFC 7932), by the library `brotli`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sitemapreader.issues import IssueCode
from sitemapreader.readers.decode.codings import DecompressionError

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING_BROTLI = "br: install the extra `speedups` (brotli 1.2 or later)"
_INPUT_BYTES = 64
"""Input of one call: a call that fails yields nothing, so a small one loses little output."""
_TRIAL_BYTES = 512
"""Input that must decode for a body to count as br, which has no magic number."""
_OUTPUT_BYTES = 32_768
"""Output of one step; one call of the library yields at most three times as much."""


class _Stream(Protocol):
    def process(self, data: bytes, output_buffer_limit: int = ...) -> bytes: ...
    def can_accept_more_data(self) -> bool: ...
    def is_finished(self) -> bool: ...


def _make_stream() -> tuple[_Stream, type[Exception]]:
    """Return a decompressor and its exception, or raise DecompressionError."""
    try:
        import brotli  # noqa: PLC0415 (few bodies need it, and it may be missing)
    except ImportError:
        try:
            import brotlicffi as brotli  # noqa: PLC0415 (the same for PyPy)
        except ImportError:
            raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI) from None
    stream = brotli.Decompressor()
    # SECURITY: older versions cannot bound the output of a call: 1 kB may become 600 MB at once
    if not hasattr(stream, "can_accept_more_data"):
        raise DecompressionError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI)
    return stream, brotli.error


class BrotliDecoder:
    """One layer of br, which has no checksum and no second member.

    Raises:
        DecompressionError: CONTENT_ENCODING if the library is missing.
    """

    def __init__(self) -> None:
        self._stream, self._error = _make_stream()
        self._out = bytearray()

    def read_start(self, first: bytes) -> bytes | None:
        """Decode the first bytes of a body as a trial.

        Returns the part of `first` that must still be fed; `None` if the body is not br.
        """
        taken = 0
        while taken < min(len(first), _TRIAL_BYTES) and len(self._out) < _OUTPUT_BYTES:
            piece = first[taken : taken + _INPUT_BYTES]
            taken += len(piece)
            try:
                self._out += self._stream.process(piece, output_buffer_limit=_OUTPUT_BYTES)
            except self._error:
                return None
        return first[taken:]

    @property
    def decoded_start(self) -> bytes:
        """The output of the trial."""
        return bytes(self._out)

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
        stream, has_more = self._stream, bool(piece) or len(self._out) >= _OUTPUT_BYTES
        while has_more:
            try:
                part = stream.process(piece, output_buffer_limit=_OUTPUT_BYTES)
            except self._error:
                yield self._drain_output()
                raise DecompressionError(IssueCode.COMPRESSION_CORRUPT, "br") from None
            self._out += part
            # The library may have consumed the whole piece and still hold back output.
            has_more = len(part) >= _OUTPUT_BYTES or not stream.can_accept_more_data()
            piece = b""
            if len(self._out) >= _OUTPUT_BYTES:
                yield self._drain_output()

    def _drain_output(self) -> bytes:
        out = bytes(self._out)
        self._out.clear()
        return out
