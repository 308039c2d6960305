"""Responses: the limits of their bodies, in bytes and time, and failures worth a retry."""

# The timeouts of the client are not enough, because they only end silence: a server could send one
# byte now and then.

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Self, TypeVar

import attrs

from sitemapreader._bytes.codings import DecompressionError, Decompressor, read_codings
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode, make_issue
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch.refusals import RETRY_AFTER_STATUSES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from sitemapreader.fetch.client import Response
    from sitemapreader.fetch.hosts import Slot
    from sitemapreader.fetch.session import CheckedResponse
    from sitemapreader.fetch.urls import RedirectChain

T = TypeVar("T")


_PIECES_OF_A_STEP = 8
"""Pieces that are inflated between two pauses; each has 128 KiB at most."""
_TICKS = 4
_MAX_TICK_SECONDS = 1.0


class WaitTimer:
    """Timer of a fetcher, which ends each wait when its time is over.

    The time is measured in ticks. A tick that comes much too late shows that this process was
    stopped, or its event loop blocked; it counts as half a tick. Bytes that have arrived in between
    are read before the next tick.
    """

    def __init__(self, options: FetchOptions) -> None:
        shortest = min(
            options.headers_seconds, options.idle_seconds, options.total_seconds
        )
        self._tick_seconds = min(shortest / _TICKS, _MAX_TICK_SECONDS)
        self._ends: dict[asyncio.Timeout, float] = {}
        """Wait -> the counted time at which it ends."""
        self._counted = 0.0
        self._ticked_at = 0.0
        self._next: asyncio.TimerHandle | None = None

    def begin(self, wait: asyncio.Timeout, seconds: float) -> float:
        """End a wait in `seconds`, unless `end` comes first; return the counted time."""
        if self._next is None:
            self._ticked_at = time.monotonic()
            self._plan_tick()
        now = self._count()
        self._ends[wait] = now + seconds
        return now

    def end(self, wait: asyncio.Timeout) -> float:
        """Forget a wait; return the counted time."""
        del self._ends[wait]
        return self._count()

    def _count(self) -> float:
        """Return the seconds that count up to now."""
        passed = time.monotonic() - self._ticked_at
        if passed > 2 * self._tick_seconds:
            passed = self._tick_seconds / 2
        return self._counted + passed

    def _plan_tick(self) -> None:
        loop = asyncio.get_running_loop()
        self._next = loop.call_later(self._tick_seconds, self._tick)

    def _tick(self) -> None:
        self._counted = self._count()
        self._ticked_at = time.monotonic()
        self._next = None
        for wait, end in self._ends.items():
            if self._counted >= end and not wait.expired():
                wait.reschedule(0)
        if self._ends:
            self._plan_tick()


@attrs.define
class DeadlineClock:
    """Clock of the time that servers have for one document; it runs only during waits for them.

    Pauses between requests, the time that a reader takes, and time in which this process was
    stopped do not count.

    Attributes:
        waited: the seconds that it has run.
        tried_at: the seconds that it had run when the last try began.
    """

    _total_seconds: float
    _timer: WaitTimer
    waited: float = 0.0
    tried_at: float = 0.0

    @property
    def is_over(self) -> bool:
        """True if the time has run out."""
        return self.waited >= self._total_seconds

    async def wait(
        self,
        work: Awaitable[T],
        seconds: float,
        make_error: Callable[[str], FetchError],
    ) -> T:
        """Wait for `work` at most `seconds`, within the total; raise an error after that."""
        seconds = max(0.0, min(seconds, self._total_seconds - self.waited))
        try:
            async with asyncio.timeout(None) as timeout:
                begun = self._timer.begin(timeout, seconds)
                try:
                    return await work
                finally:
                    self.waited += self._timer.end(timeout) - begun
        except TimeoutError as error:
            fault = error
        # the message of aiohttp or of the system has more detail
        raise make_error(str(fault) or f"nothing for {seconds:.3g} s") from fault


@attrs.frozen(eq=False)
class BodyChunks:
    """The pieces of a body, for one `async for`.

    A plain iterator: an asynchronous generator would have to be closed where it is left.
    """

    _read: Callable[[], Awaitable[bytes]]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if piece := await self._read():
            return piece
        raise StopAsyncIteration


@attrs.define(eq=False, repr=False, slots=False)
class HttpResponse:
    """A response whose headers have been read, and whose body has not.

    Attributes:
        headers: by lower-case name; several of one name are joined by a comma, those of
            X-Robots-Tag and Set-Cookie by a line feed.
        issues: repairs of URLs on the way here (`userinfo-removed`), and, at the latest at the end
            of the body, unsolicited bytes of the server (`surplus-bytes`).
        is_permanent: True if all redirects on the way were permanent (301, 308).
        tries: the number of attempts, redirects not counted.
        bytes_around: the bytes that have arrived around the body: interim responses, sizes and
            extensions of chunks, trailers. They count for `Limits.raw_bytes`.
        address: the address that was connected to; "" behind a proxy.
    """

    _checked: CheckedResponse
    _chain: RedirectChain
    _slot: Slot
    _clock: DeadlineClock
    _options: FetchOptions
    _remaining_bytes: int
    tries: int = 1
    _failure: FetchError | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        checked = self._checked
        chain = self._chain
        self.url = str(chain.name)
        self.status = checked.status
        self.headers = checked.joined_headers
        self.issues = chain.issues
        self.redirects = tuple(chain.redirects)
        self.is_permanent = chain.is_permanent
        self.address = ""
        if checked.route.addresses is not None:
            self.address = checked.address
        self._waited_before = self._clock.waited
        self._received = 0
        self._bytes_around = 0
        self._note_trailing_data()
        self._slot.offer()

    @property
    def wait_seconds(self) -> float:
        """The seconds of waiting for the server in the last try, redirects included."""
        return self._clock.waited - self._clock.tried_at

    @property
    def bytes_around(self) -> int:
        """The bytes that have arrived around the body."""
        return self._checked.around.count

    @property
    def has_arrived(self) -> bool:
        """True if the whole body has arrived, so that reading it waits for nothing."""
        return self._checked.has_arrived

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, never decompressed; iterate once only.

        Raises:
            FetchError: the body broke off; all bytes that had arrived were yielded before.
        """
        return BodyChunks(self._read_chunk)

    async def _read_chunk(self) -> bytes:
        """Return the next bytes; at the end release the response."""
        try:
            piece = await self._next_piece()
        finally:
            self._note_trailing_data()
        if not piece:
            await self.aclose()
        return piece

    async def aclose(self) -> None:
        """Release the slot and the connection; leaving `open` does so too."""
        self._slot.release()
        self._checked.close()

    async def _next_piece(self) -> bytes:
        """Return the next bytes, b"" at the end; raise a failure after all arrived bytes."""
        # a small body has arrived with its headers
        while not (piece := self._checked.take_buffered()):
            if self._failure is not None:
                raise self._failure
            if self._checked.is_complete():
                return b""
            reading = self._checked.read_piece()
            seconds = self._options.idle_seconds
            self._slot.reclaim()
            try:
                piece = await self._clock.wait(reading, seconds, self._time_out)
                return self._measure(piece)
            except FetchError as error:
                self._failure = error
                self._checked.close()  # so that no more bytes arrive
            finally:
                self._slot.offer()
        return self._measure(piece)

    def _time_out(self, _: str) -> FetchError:
        if self._clock.is_over:
            return self._make_failure(IssueCode.TIMEOUT)
        return self._make_failure(IssueCode.STALLED)

    def _measure(self, piece: bytes) -> bytes:
        """Count the bytes and cut them at the limit; the next call raises the error."""
        self._received += len(piece)
        around = self.bytes_around
        remaining = self._remaining_bytes - (around - self._bytes_around)
        self._remaining_bytes = max(0, remaining)
        self._bytes_around = around
        if len(piece) > self._remaining_bytes:
            self._failure = self._failure or self._make_failure(IssueCode.TOO_LARGE)
            piece = piece[: self._remaining_bytes]
            if not piece:
                raise self._failure
        elif self._is_too_slow() and not self._checked.is_complete():
            self._failure = self._failure or self._make_failure(IssueCode.TOO_SLOW)
            self._remaining_bytes = len(piece)  # no more bytes are accepted
        self._remaining_bytes -= len(piece)
        return piece

    def _is_too_slow(self) -> bool:
        waited = self._clock.waited - self._waited_before
        if waited <= self._options.slow_grace_seconds:
            return False
        return self._received < waited * self._options.min_bytes_per_second

    def _make_failure(self, code: IssueCode) -> FetchError:
        return FetchError(code, self.url, f"after {self._received} bytes")

    def _note_trailing_data(self) -> None:
        if not self._checked.has_trailing_data:
            return
        if all(issue.code is not IssueCode.SURPLUS_BYTES for issue in self.issues):
            self.issues.append(make_issue(IssueCode.SURPLUS_BYTES, url=self.url))


async def fill_in_steps(
    data: bytearray,
    pieces: Iterable[bytes],
    max_bytes: int,
) -> bool:
    """Append pieces of a body, with pauses; return whether there is room for more.

    A chunk that is compressed several times may take a second, and have no output.
    """
    for number, piece in enumerate(pieces, 1):
        data += piece
        if len(data) > max_bytes:
            return False
        if number % _PIECES_OF_A_STEP == 0:
            await asyncio.sleep(0)
    return True


async def read_body(
    response: Response,
    max_bytes: int,
    *,
    cut: bool = False,
) -> bytes:
    """Read the body of a response to its end, and decompress it.

    ```python
    async with HttpFetcher() as fetcher, fetcher.open("https://example.org/") as response:
        page = await read_body(response, 10_000_000)
    ```

    Args:
        response: of an open URL.
        max_bytes: largest size of the decompressed body.
        cut: return the beginning of a longer body, with one byte more than `max_bytes`.

    Raises:
        FetchError: the body breaks off, is damaged, or is too long without `cut`.
    """
    body = bytearray()
    decompressor = Decompressor(Limits(), [], codings=read_codings(response.headers))
    try:
        async for chunk in response.chunks():
            if not await fill_in_steps(body, decompressor.decode(chunk), max_bytes):
                break
        else:
            await fill_in_steps(body, decompressor.decode(b"", final=True), max_bytes)
    except DecompressionError as error:
        raise FetchError(error.code, response.url, error.detail) from error
    if len(body) > max_bytes and not cut:
        raise FetchError(IssueCode.TOO_LARGE, response.url, f"{max_bytes} bytes")
    return bytes(body[: max_bytes + 1])


# -- retries


def may_pass(error: FetchError) -> bool:
    """Return whether a retry may help.

    Failures of the connection and of the server pass; a refusal of the request does not.
    """
    if error.code is IssueCode.HTTP_STATUS:
        status = error.http_status or 0
        return status in RETRY_AFTER_STATUSES or 500 <= status < 600
    if error.code is IssueCode.DNS:
        return getattr(error.__cause__, "errno", None) == socket.EAI_AGAIN
    # Not TIMEOUT, because it has used up its time, and retries would overload the server more.
    return error.code is IssueCode.CONNECT
