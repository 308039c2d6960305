"""The prior version of a document, and whether a body is still the same."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Self

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.outcomes import BodyHasher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from sitemapreader.models import Format
    from sitemapreader.outcomes import BodyDigest

_MEMORY_BYTES = 1_048_576
"""Bytes of a body that are buffered in memory; the rest is in a temporary file."""
_PIECE_BYTES = 65_536


@attrs.frozen
class PriorVersion:
    """The facts that an earlier visit recorded about a document."""

    headers: Mapping[str, str] = attrs.field(factory=dict)
    final_url: str = ""
    format: Format | None = None
    body: BodyDigest | None = None
    start: BodyDigest | None = None
    """Of what was read of the body before an earlier walk was interrupted."""
    offset: int = 0
    """How many entries of that beginning were delivered."""


class ReplayBuffer:
    """The beginning of a body, buffered until it is compared with the prior version.

    It buffers no more bytes than the prior version had.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        expected: BodyDigest,
        *,
        whole: bool,
        declared: str,
    ) -> None:
        self._incoming = chunks
        self._expected = expected
        self._whole = whole
        self._declared = int(declared) if declared.isascii() and declared.isdigit() else None
        self._buffer = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115 (by __exit__)
        self._beyond: list[bytes] = []
        self._fault: FetchError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._buffer.close()

    async def is_known(self) -> bool:
        """Read as much as is needed; return whether the bytes are the same."""
        expected, declared = self._expected, self._declared
        # A Content-Length that cannot fit saves the buffering.
        if declared is not None and (
            declared < expected.size or (self._whole and declared != expected.size)
        ):
            return False
        hasher, missing = BodyHasher(), expected.size
        while missing:
            chunk = await self._read_next()
            if not chunk:
                return False
            part = chunk[:missing]
            hasher.add(part)
            self._buffer.write(part)
            missing -= len(part)
            if len(part) < len(chunk):
                self._beyond.append(chunk[len(part) :])
        if hasher.snapshot() != expected:
            return False
        return not self._whole or not (self._beyond or await self._has_more())

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body from its first byte; raise FetchError where it is cut short."""
        self._buffer.seek(0)
        while piece := self._buffer.read(_PIECE_BYTES):
            yield piece
        for piece in self._beyond:
            yield piece
        if self._fault is not None:
            raise self._fault
        async for chunk in self._incoming:
            yield chunk

    async def _has_more(self) -> bool:
        if chunk := await self._read_next():
            self._beyond.append(chunk)
        return bool(chunk) or self._fault is not None

    async def _read_next(self) -> bytes:
        try:
            return await anext(self._incoming, b"")
        except FetchError as error:  # raised by `chunks`, after what arrived before it
            self._fault = error
            return b""
