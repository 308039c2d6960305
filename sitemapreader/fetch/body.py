"""A body as it comes: the watch over its silence, its pace and its size.

The client's own time-outs are not enough. aiohttp's parser in C stops its timer at an error in the
chunk framing and tells nobody, so that a read can wait for ever; and a byte now and then satisfies
every time-out that is about silence.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from sitemapreader.options import FetchOptions

T = TypeVar("T")


class DeadlineClock:
    """The time that servers have for one document; it runs only while we wait for them.

    Neither our own pauses between requests count, nor the time that the reader of a body takes.
    """

    def __init__(self, total_seconds: float) -> None:
        self.waited = 0.0
        self._total = total_seconds

    @property
    def is_over(self) -> bool:
        """Whether the document has had its time."""
        return self.waited >= self._total

    async def wait(self, work: Awaitable[T], seconds: float) -> T:
        """Wait for `work`, for so long and within the whole; else raise TimeoutError."""
        begin = time.monotonic()
        seconds = max(0.0, min(seconds, self._total - self.waited))
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            if str(error):  # aiohttp's or the system's own, which says more
                raise
            raise TimeoutError(f"nothing for {seconds:g} s") from error
        finally:
            self.waited += time.monotonic() - begin


class Source(Protocol):
    """Where the bytes come from."""

    async def read(self) -> bytes:
        """Return the next piece, b"" at the end; raise FetchError where it breaks off."""
        ...

    def is_complete(self) -> bool:
        """Tell whether the end has been seen and nothing is left."""
        ...

    def take_rest(self) -> bytes:
        """Return what has arrived and was not read, also after a fault."""
        ...


async def read_start(source: Source, clock: DeadlineClock, max_bytes: int, seconds: float) -> bytes:
    """Return the beginning of a body, as much as comes within a time, and nothing of a fault."""
    data, until = bytearray(), time.monotonic() + seconds
    with suppress(FetchError, TimeoutError):
        while len(data) < max_bytes and (left := until - time.monotonic()) > 0:
            piece = await clock.wait(source.read(), left)
            if not piece:
                break
            data += piece
    return bytes(data[:max_bytes])


class Body:
    """The pieces of one body; whatever arrived before a fault comes before the fault."""

    def __init__(
        self,
        source: Source,
        url: str,
        *,
        clock: DeadlineClock,
        options: FetchOptions,
        max_bytes: int,
    ) -> None:
        self._source = source
        self._url = url
        self._clock = clock
        self._options = options
        self._left = max_bytes
        self._received = 0
        self._waited_before = clock.waited
        self._fault: FetchError | None = None

    async def next_piece(self) -> bytes:
        """Return the next piece, b"" at the end.

        Raises:
            FetchError: STALLED, TIMEOUT, TOO_SLOW, TOO_LARGE, BODY_CUT or BAD_HTTP.
        """
        if self._fault is not None:
            raise self._fault
        try:
            piece = await self._clock.wait(self._source.read(), self._options.idle_seconds)
        except (FetchError, TimeoutError) as error:
            self._fault = error if isinstance(error, FetchError) else self._silence(error)
            piece = self._source.take_rest()
            if not piece:
                raise self._fault from self._fault.__cause__
        return self._measure(piece)

    def _silence(self, error: TimeoutError) -> FetchError:
        code = IssueCode.TIMEOUT if self._clock.is_over else IssueCode.STALLED
        fault = self._make_fault(code)
        fault.__cause__ = error
        return fault

    def _measure(self, piece: bytes) -> bytes:
        """Count a piece; cut it at the limit. A fault that it shows is raised the next time."""
        self._received += len(piece)
        if len(piece) > self._left:
            self._fault = self._make_fault(IssueCode.TOO_LARGE)
            piece = piece[: self._left]
            if not piece:
                raise self._fault
        elif self._is_too_slow() and not self._source.is_complete():
            self._fault = self._fault or self._make_fault(IssueCode.TOO_SLOW)
        self._left -= len(piece)
        return piece

    def _is_too_slow(self) -> bool:
        waited = self._clock.waited - self._waited_before
        needed = waited * self._options.min_bytes_per_second
        return waited > self._options.slow_grace_seconds and self._received < needed

    def _make_fault(self, code: IssueCode) -> FetchError:
        return FetchError(code, self._url, f"after {self._received} bytes")
