"""Bodies: bounds while one arrives, and `read_body`, which reads one whole."""

# Time-outs of the client are not enough. aiohttp's parser in C stops its timer at an error in the
# chunk framing without a report, so that a read can wait for ever. And one byte now and then
# satisfies every time-out for silence.

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode
from sitemapreader.options import Limits
from sitemapreader.readers.decode.decoders import DecompressionError
from sitemapreader.readers.decode.layers import Decompressor, read_codings

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from sitemapreader.fetch import Response
    from sitemapreader.options import FetchOptions

T = TypeVar("T")


class DeadlineClock:
    """The time that servers have for one document; it runs only during waits for them.

    Neither pauses between requests count, nor the time that a reader takes.
    """

    def __init__(self, total_seconds: float) -> None:
        self.waited = 0.0
        self._total = total_seconds

    @property
    def is_over(self) -> bool:
        """Whether the time has run out."""
        return self.waited >= self._total

    async def wait(self, work: Awaitable[T], seconds: float) -> T:
        """Wait for `work` at most `seconds`, within the total; else raise TimeoutError."""
        begin = time.monotonic()
        seconds = max(0.0, min(seconds, self._total - self.waited))
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError as error:
            if str(error):  # aiohttp's or the system's own, with more detail
                raise
            raise TimeoutError(f"nothing for {seconds:.3g} s") from error
        finally:
            self.waited += time.monotonic() - begin


class WaitTimer:
    """The part of a clock's time that has passed since this was made: that of one try."""

    def __init__(self, clock: DeadlineClock) -> None:
        self._clock = clock
        self._begin = clock.waited

    @property
    def seconds(self) -> float:
        """The seconds of waiting since the beginning."""
        return self._clock.waited - self._begin


class ByteSource(Protocol):
    """The bytes of a body, as the client gives them."""

    async def read(self) -> bytes:
        """Return the next bytes, b"" at the end; raise FetchError if the body breaks off."""
        ...

    def is_complete(self) -> bool:
        """Return whether the body has been read to its end."""
        ...

    def take_buffered(self) -> bytes:
        """Return what has arrived and was not read, also after a failure."""
        ...


async def read_start(
    source: ByteSource, clock: DeadlineClock, max_bytes: int, seconds: float
) -> bytes:
    """Return the beginning of a body, as much as arrives in time; ignore failures."""
    data, until = bytearray(), time.monotonic() + seconds
    with suppress(FetchError, TimeoutError):
        while len(data) < max_bytes and (left := until - time.monotonic()) > 0:
            piece = await clock.wait(source.read(), left)
            if not piece:
                break
            data += piece
    return bytes(data[:max_bytes])


class Body:
    """One body within its bounds; what arrives before a failure is given first."""

    def __init__(
        self,
        source: ByteSource,
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
        self._failure: FetchError | None = None

    async def next_piece(self) -> bytes:
        """Return the next bytes, b"" at the end.

        Raises:
            FetchError: STALLED, TIMEOUT, TOO_SLOW, TOO_LARGE, BODY_CUT or BAD_HTTP.
        """
        if self._failure is not None:
            raise self._failure
        piece = self._source.take_buffered()  # a small body is there with its headers
        if piece:
            return self._measure(piece)
        try:
            reading = self._source.read()
            if self._source.is_complete():
                return await reading
            piece = await self._clock.wait(reading, self._options.idle_seconds)
        except (FetchError, TimeoutError) as error:
            self._failure = error if isinstance(error, FetchError) else self._time_out(error)
            piece = self._source.take_buffered()
            if not piece:
                raise self._failure from self._failure.__cause__
        return self._measure(piece)

    def _time_out(self, error: TimeoutError) -> FetchError:
        code = IssueCode.TIMEOUT if self._clock.is_over else IssueCode.STALLED
        failure = self._make_failure(code)
        failure.__cause__ = error
        return failure

    def _measure(self, piece: bytes) -> bytes:
        """Count the bytes and cut them at the limit; the next call raises what is wrong."""
        self._received += len(piece)
        if len(piece) > self._left:
            self._failure = self._make_failure(IssueCode.TOO_LARGE)
            piece = piece[: self._left]
            if not piece:
                raise self._failure
        elif self._is_too_slow() and not self._source.is_complete():
            self._failure = self._failure or self._make_failure(IssueCode.TOO_SLOW)
        self._left -= len(piece)
        return piece

    def _is_too_slow(self) -> bool:
        waited = self._clock.waited - self._waited_before
        needed = waited * self._options.min_bytes_per_second
        return waited > self._options.slow_grace_seconds and self._received < needed

    def _make_failure(self, code: IssueCode) -> FetchError:
        return FetchError(code, self._url, f"after {self._received} bytes")


async def read_body(response: Response, max_bytes: int) -> bytes:
    """Read the body of a response to its end, and decompress it.

    ```python
    async with HttpFetcher() as fetcher, fetcher.open("https://example.org/") as response:
        page = await read_body(response, 10_000_000)
    ```

    Raises:
        FetchError: the body breaks off, is damaged, or decompresses to more than `max_bytes`.
    """
    body = bytearray()
    decompressor = Decompressor(Limits(), [], codings=read_codings(response.headers))
    try:
        async for chunk in response.chunks():
            for piece in decompressor.feed(chunk):
                body += piece
                _check_size(body, response, max_bytes)
        for piece in decompressor.close():
            body += piece
            _check_size(body, response, max_bytes)
    except DecompressionError as error:
        raise FetchError(error.code, response.url, error.detail) from error
    return bytes(body)


def _check_size(body: bytearray, response: Response, max_bytes: int) -> None:
    if len(body) > max_bytes:
        raise FetchError(IssueCode.TOO_LARGE, response.url, f"{max_bytes} bytes")
