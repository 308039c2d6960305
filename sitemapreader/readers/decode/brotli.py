"""br: one layer of brotli data (RFC 7932), decoded by the library `brotli`, if it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sitemapreader.issues import IssueCode
from sitemapreader.readers.decode.gzip import InflateError

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING_BROTLI = "br: install the extra `speedups` (brotli 1.2 or later)"
_INPUT_BYTES = 64
"""What one call takes in. The library gives nothing for a call that fails: so little is lost."""
_TRIAL_BYTES = 512
_OUTPUT_BYTES = 32_768
"""What is handed over at once; one call gives at most three times as much."""


class _Stream(Protocol):
    def process(self, data: bytes, output_buffer_limit: int = ...) -> bytes: ...
    def can_accept_more_data(self) -> bool: ...
    def is_finished(self) -> bool: ...


def _make_stream() -> tuple[_Stream, type[Exception]]:
    """Return a decompressor and the exception that it raises; or raise InflateError."""
    try:
        import brotli  # noqa: PLC0415 (few bodies need it, and it may be missing)
    except ImportError:
        try:
            import brotlicffi as brotli  # noqa: PLC0415 (the same for PyPy)
        except ImportError:
            raise InflateError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI) from None
    stream = brotli.Decompressor()
    # SECURITY: older versions cannot bound the output of a call: 1 kB may become 600 MB at once
    if not hasattr(stream, "can_accept_more_data"):
        raise InflateError(IssueCode.CONTENT_ENCODING, MISSING_BROTLI)
    return stream, brotli.error


class BrotliDecoder:
    """One layer of br; there is no checksum and no second member in it.

    Raises:
        InflateError: CONTENT_ENCODING where the library is missing.
    """

    def __init__(self) -> None:
        self._stream, self._error = _make_stream()
        self._out = bytearray()

    def read_start(self, first: bytes) -> bytes | None:
        """Decode the first bytes of a body as a trial.

        Returns the part of them that is still to be fed; `None` if the body is not br.
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
        """What the trial gave."""
        return bytes(self._out)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` decodes to; raise InflateError."""
        yield from self._decode(b"")  # what is left of the trial
        for start in range(0, len(data), _INPUT_BYTES):
            yield from self._decode(data[start : start + _INPUT_BYTES])
        yield self._take_out()

    def close(self) -> None:
        """Raise InflateError if the data ended too early."""
        if not self._stream.is_finished():
            raise InflateError(IssueCode.GZIP_TRUNCATED, "br")

    def _decode(self, piece: bytes) -> Iterator[bytes]:
        """Decode a piece to its end; what is too little to be handed over stays for the next."""
        stream, has_more = self._stream, bool(piece) or len(self._out) >= _OUTPUT_BYTES
        while has_more:
            try:
                part = stream.process(piece, output_buffer_limit=_OUTPUT_BYTES)
            except self._error:
                yield self._take_out()
                raise InflateError(IssueCode.GZIP_CORRUPT, "br") from None
            self._out += part
            # all that was taken in may not be all that is to come out of it
            has_more = len(part) >= _OUTPUT_BYTES or not stream.can_accept_more_data()
            piece = b""
            if len(self._out) >= _OUTPUT_BYTES:
                yield self._take_out()

    def _take_out(self) -> bytes:
        out = bytes(self._out)
        self._out.clear()
        return out
