"""What an earlier visit left of a document, and whether a body is the one that was read then."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Self

import attrs

from sitemapreader._digest import BodyHasher
from sitemapreader.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from types import TracebackType

    from sitemapreader._digest import BodyDigest
    from sitemapreader.models import Format

_MEMORY_BYTES = 1_048_576
"""Of a body that is kept back, so much is held in memory; the rest lies on disk."""
_PIECE_BYTES = 65_536


@attrs.frozen
class PriorVersion:
    """What is known of a document.

    Attributes:
        headers: validators for the request.
        final_url: where it was after redirects.
        format: what it was.
        body: its whole body; the same again means that nothing has changed.
        start: the beginning of the body that was being read when an earlier walk was stopped ...
        offset: ... and how many entries were taken from it.
    """

    headers: Mapping[str, str] = attrs.field(factory=dict)
    final_url: str = ""
    format: Format | None = None
    body: BodyDigest | None = None
    start: BodyDigest | None = None
    offset: int = 0


class ReplayBuffer:
    """The beginning of a body, kept back until one knows whether it is the one of an earlier visit.

    It holds no more bytes than that one had.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        expected: BodyDigest,
        *,
        whole: bool,
        declared: str,
    ) -> None:
        self._chunks = chunks
        self._expected = expected
        self._whole = whole
        self._declared = int(declared) if declared.isascii() and declared.isdigit() else None
        self._held = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115 (by __exit__)
        self._rest: list[bytes] = []
        self._fault: FetchError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._held.close()

    async def is_known(self) -> bool:
        """Read as much as it takes; tell whether the bytes are the same."""
        expected, declared = self._expected, self._declared
        if declared is not None and (
            declared < expected.size or (self._whole and declared != expected.size)
        ):
            return False
        hasher, missing = BodyHasher(), expected.size
        while missing:
            chunk = await self._next()
            if not chunk:
                return False
            part = chunk[:missing]
            hasher.add(part)
            self._held.write(part)
            missing -= len(part)
            if len(part) < len(chunk):
                self._rest.append(chunk[len(part) :])
        if hasher.snapshot() != expected:
            return False
        return not self._whole or not (self._rest or await self._has_more())

    async def replay(self) -> AsyncGenerator[bytes, None]:
        """Yield the body from its first byte; raise FetchError where it broke off."""
        self._held.seek(0)
        while piece := self._held.read(_PIECE_BYTES):
            yield piece
        for piece in self._rest:
            yield piece
        if self._fault is not None:
            raise self._fault
        async for chunk in self._chunks:
            yield chunk

    async def _has_more(self) -> bool:
        if chunk := await self._next():
            self._rest.append(chunk)
        return bool(chunk) or self._fault is not None

    async def _next(self) -> bytes:
        try:
            return await anext(self._chunks, b"")
        except FetchError as error:  # what came before it is read first
            self._fault = error
            return b""
