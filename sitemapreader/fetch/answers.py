"""Answers: the bounds of their bodies, and what one without a document means."""

# Time-outs of the client are not enough: one byte now and then satisfies every one for silence.

from __future__ import annotations

import asyncio
import re
import socket
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import attrs

from sitemapreader.bytes.codings import DecompressionError, Decompressor, fill, read_codings
from sitemapreader.dates import parse_http_date
from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.issues import IssueCode, excerpt, make_issue
from sitemapreader.options import FetchOptions, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from sitemapreader.fetch.client import Response
    from sitemapreader.fetch.hosts import Slot
    from sitemapreader.fetch.session import Answer
    from sitemapreader.fetch.urls import RedirectChain

T = TypeVar("T")


_TICKS = 4
_MOST_TICK_SECONDS = 1.0


class _WaitTimer:
    """The time of one wait, which ends the wait when it is over.

    It is measured in ticks. A tick that comes much too late shows that this process was stopped, or
    its event loop blocked: then it counts half. What has arrived meanwhile is read before the next.
    """

    def __init__(self, seconds: float, timeout: asyncio.Timeout) -> None:
        self._seconds = seconds
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._tick_seconds = min(seconds / _TICKS, _MOST_TICK_SECONDS)
        self._counted = 0.0
        self._ticked_at = time.monotonic()
        self._next = self._loop.call_later(self._tick_seconds, self._tick)

    def stop(self) -> float:
        """Stop the timer; return the seconds that count."""
        self._next.cancel()
        return self._counted + self._measure()

    def _measure(self) -> float:
        """Return the seconds since the last tick that count."""
        passed = time.monotonic() - self._ticked_at
        is_late = passed > 2 * self._tick_seconds
        return self._tick_seconds / 2 if is_late else passed

    def _tick(self) -> None:
        self._counted += self._measure()
        self._ticked_at = time.monotonic()
        if self._counted >= self._seconds:
            self._timeout.reschedule(self._loop.time())
        else:
            self._next = self._loop.call_later(self._tick_seconds, self._tick)


@attrs.define
class DeadlineClock:
    """The time that servers have for one document; it runs only during waits for them.

    Neither pauses between requests count, nor the time that a reader takes, nor time in which this
    process was stopped.

    Attributes:
        waited: how long it has run.
        tried_at: how long it had, when the last try began.
    """

    _total_seconds: float
    waited: float = 0.0
    tried_at: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the time has run out."""
        return self.waited >= self._total_seconds

    async def wait(
        self, work: Awaitable[T], seconds: float, make_error: Callable[[str], FetchError]
    ) -> T:
        """Wait for `work` at most `seconds`, within the total; else raise an error."""
        seconds = max(0.0, min(seconds, self._total_seconds - self.waited))
        try:
            async with asyncio.timeout(None) as timeout:
                timer = _WaitTimer(seconds, timeout)
                try:
                    return await work
                finally:
                    self.waited += timer.stop()
        except TimeoutError as error:
            fault = error
        # aiohttp's or the system's own words have more detail
        raise make_error(str(fault) or f"nothing for {seconds:.3g} s") from fault


@attrs.define(eq=False, repr=False, slots=False)
class HttpResponse:
    """A response whose headers have been read, and whose body has not.

    Attributes:
        headers: by lower-case name; several of one name are joined by a comma, those of
            X-Robots-Tag and Set-Cookie by a line feed.
        issues: repairs of URLs on the way here (`userinfo-removed`), and, at the latest at the end
            of the body, what the server sent besides (`surplus-bytes`).
        is_permanent: whether all redirects on the way were permanent (301, 308).
        tries: the number of attempts, redirects not counted.
        bytes_around: the bytes that have come around the body: interim responses, sizes and
            extensions of chunks, trailers. They count for `Limits.raw_bytes`.
        address: the one that was connected to; "" behind a proxy.
    """

    _answer: Answer
    _chain: RedirectChain
    _slot: Slot
    _clock: DeadlineClock
    _options: FetchOptions
    _left: int
    tries: int = 1
    _failure: FetchError | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        answer, chain = self._answer, self._chain
        self.url, self.status, self.headers = str(chain.name), answer.status, answer.fields
        self.issues, self.redirects = chain.issues, tuple(chain.redirects)
        self.is_permanent = chain.is_permanent
        self.address = "" if self._options.proxy else answer.address
        self._waited_before = self._clock.waited
        self._received = 0
        self._bytes_around = 0
        self._note_surplus()
        self._slot.pause()

    @property
    def wait_seconds(self) -> float:
        """The seconds of waiting for the server in the last try, redirects included."""
        return self._clock.waited - self._clock.tried_at

    @property
    def bytes_around(self) -> int:
        """The bytes that have come around the body."""
        return self._answer.around.count

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, never decompressed; iterate once only.

        Raises:
            FetchError: the body broke off; everything that had arrived was yielded before.
        """
        while True:
            self._slot.resume()
            try:
                piece = await self._next_piece()
            finally:
                self._slot.pause()
                self._note_surplus()
            if not piece:
                break
            yield piece
        await self.aclose()

    async def aclose(self) -> None:
        """Release the slot and the connection; leaving `open` does so too."""
        self._slot.release()
        self._answer.close()

    async def _next_piece(self) -> bytes:
        """Return the next bytes, b"" at the end; a failure comes after all that arrived."""
        while not (piece := self._answer.take_buffered()):  # a small body is there with its headers
            if self._failure is not None:
                raise self._failure
            reading = self._answer.read_piece()
            if self._answer.is_complete():
                return await reading
            try:
                seconds = self._options.idle_seconds
                return self._measure(await self._clock.wait(reading, seconds, self._time_out))
            except FetchError as error:
                self._failure = error
                self._answer.close()  # so that nothing more arrives
        return self._measure(piece)

    def _time_out(self, _: str) -> FetchError:
        return self._make_failure(IssueCode.TIMEOUT if self._clock.is_over else IssueCode.STALLED)

    def _measure(self, piece: bytes) -> bytes:
        """Count the bytes and cut them at the limit; the next call raises what is wrong."""
        self._received += len(piece)
        around = self.bytes_around
        self._left = max(0, self._left - (around - self._bytes_around))
        self._bytes_around = around
        if len(piece) > self._left:
            self._failure = self._failure or self._make_failure(IssueCode.TOO_LARGE)
            piece = piece[: self._left]
            if not piece:
                raise self._failure
        elif self._is_too_slow() and not self._answer.is_complete():
            self._failure = self._failure or self._make_failure(IssueCode.TOO_SLOW)
            self._left = len(piece)  # nothing more is taken
        self._left -= len(piece)
        return piece

    def _is_too_slow(self) -> bool:
        waited = self._clock.waited - self._waited_before
        needed = waited * self._options.min_bytes_per_second
        return waited > self._options.slow_grace_seconds and self._received < needed

    def _make_failure(self, code: IssueCode) -> FetchError:
        return FetchError(code, self.url, f"after {self._received} bytes")

    def _note_surplus(self) -> None:
        is_told = any(each.code is IssueCode.SURPLUS_BYTES for each in self.issues)
        if self._answer.has_surplus and not is_told:
            self.issues.append(make_issue(IssueCode.SURPLUS_BYTES, url=self.url))


async def read_body(response: Response, max_bytes: int, *, cut: bool = False) -> bytes:
    """Read the body of a response to its end, and decompress it.

    ```python
    async with HttpFetcher() as fetcher, fetcher.open("https://example.org/") as response:
        page = await read_body(response, 10_000_000)
    ```

    Args:
        response: of an open URL.
        max_bytes: how many it may decompress to.
        cut: return the beginning of a longer body, with one byte more than `max_bytes`.

    Raises:
        FetchError: the body breaks off, is damaged, or too long without `cut`.
    """
    body = bytearray()
    decompressor = Decompressor(Limits(), [], codings=read_codings(response.headers))
    try:
        async for chunk in response.chunks():
            if not fill(body, decompressor.decode(chunk), max_bytes):
                break
        else:
            fill(body, decompressor.decode(b"", final=True), max_bytes)
    except DecompressionError as error:
        raise FetchError(error.code, response.url, error.detail) from error
    if len(body) > max_bytes and not cut:
        raise FetchError(IssueCode.TOO_LARGE, response.url, f"{max_bytes} bytes")
    return bytes(body[: max_bytes + 1])


# -- answers without a document: bot protections, logins, errors

_PROTECTIONS = (
    # Sent with refusals only, so that the status does not matter. Documented: "Detect a challenge
    # page response" of developers.cloudflare.com, "How the CAPTCHA and Challenge actions work" of
    # docs.aws.amazon.com/waf
    ("cf-mitigated", "challenge", "Cloudflare", None),
    ("x-amzn-waf-action", "captcha|challenge", "AWS WAF", None),
    # Observed: challenge with 403 and 429, deny with 403; "FBP007"
    ("x-vercel-mitigated", "challenge|deny", "Vercel", None),
    ("x-sucuri-block", ".+", "Sucuri", None),
    # Sent with every answer of the vendor: a refusal beside a status that says so. All observed.
    ("x-datadome", ".+", "DataDome", {403, 429}),
    ("server", "akamaighost", "Akamai", {403, 429}),
    ("server", "sucuri/cloudproxy", "Sucuri", {403, 429}),
    ("server", "ddos-guard", "DDoS-Guard", {403, 429}),
)
"""How bot protections show: name of a header, its value, the vendor, statuses if not all."""

RETRY_AFTER_STATUSES = frozenset({429, 503})
"""The statuses whose Retry-After is an order (RFC 6585, section 4; RFC 9110, section 15.6.4)."""


SIGNATURE_STATUSES = frozenset({400, 401, 403, 429})
"""The statuses with which sites refuse unsigned requests and signatures (Web Bot Auth)."""
_MAX_CLOCK_SKEW_SECONDS = 5
"""Verifiers accept signatures of the future by 0 to 5 s."""
_MAX_SIGNATURE_ERROR = 120
"""Characters of a Signature-Error that are shown."""


def find_protection(status: int, headers: Mapping[str, str]) -> str:
    """Return the bot protection that refused a request, with the evidence, or ""."""
    for name, value, vendor, statuses in _PROTECTIONS:
        said = headers.get(name, "")
        if (not statuses or status in statuses) and re.fullmatch(value, said, re.IGNORECASE):
            return f"{vendor} ({name}: {said[:40]})"
    return ""


def make_refusal(answer: Answer, url: str, options: FetchOptions) -> FetchError:
    """Return the error for an answer; RETRY_LATER if its Retry-After is too long."""
    status, headers = answer.status, answer.fields
    detail = f"{status} {answer.reason}".rstrip()
    wait = None
    if status in SIGNATURE_STATUSES:
        detail += _explain_signature(answer, options)
    if status in RETRY_AFTER_STATUSES and "retry-after" in headers:
        wait = parse_retry_after(headers["retry-after"], datetime.now(UTC))
    code = IssueCode.HTTP_STATUS
    if status in SIGNATURE_STATUSES and "accept-signature" in headers:
        code = IssueCode.BLOCKED_BY_SITE
    elif status in LOGIN_STATUSES:
        code = IssueCode.LOGIN_REQUIRED
    elif vendor := find_protection(status, headers):
        code, detail = IssueCode.BLOCKED_BY_SITE, f"{detail}, {vendor}"
    elif wait is not None and wait > options.retry_after_seconds:
        code = IssueCode.RETRY_LATER
    return FetchError(code, url, detail, http_status=status, retry_after_seconds=wait)


def _explain_signature(answer: Answer, options: FetchOptions) -> str:
    """Explain what a refusal may have to do with signed requests (Web Bot Auth); "" if nothing."""
    headers = answer.fields
    explanation = ""
    agent = answer.request_info.headers.get("Signature-Agent")
    if agent is not None:
        explanation = f", though signed as {agent}"
        explanation += _explain_clock(headers.get("date", ""))
    elif options.identity is not None:
        explanation = ", not signed because it is http"
    elif "accept-signature" in headers:
        explanation = ", asks for a signed request (Accept-Signature)"
    if problem := headers.get("signature-error"):  # draft-hardt-httpbis-signature-key
        explanation += f"; Signature-Error: {excerpt(problem, _MAX_SIGNATURE_ERROR)}"
    return explanation


def _explain_clock(date: str) -> str:
    """Explain how far this clock is from the server's, if that makes signatures invalid."""
    moment = parse_http_date(date)
    if moment is None:
        return ""
    ahead_seconds = (datetime.now(UTC) - moment).total_seconds()
    if abs(ahead_seconds) <= _MAX_CLOCK_SKEW_SECONDS:
        return ""
    relation = "ahead of" if ahead_seconds > 0 else "behind"
    return f"; this clock is {abs(ahead_seconds):.0f} s {relation} the server's"


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Parse a Retry-After header: seconds from `now`, or `None`.

    RFC 9110, section 10.2.3.

    A date in the past is 0. Anything else, such as a negative or non-ASCII number, is ignored.
    """
    text = text.strip(" \t")
    if text.isascii() and text.isdigit():
        return min(float(text), 9_999_999_999.0)  # three hundred years: never
    moment = parse_http_date(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


# -- another try


def may_pass(error: FetchError) -> bool:
    """Return whether another try may help.

    Failures of the connection and of the server pass; a refusal of the request does not.
    """
    if error.code is IssueCode.HTTP_STATUS:
        status = error.http_status or 0
        return status in RETRY_AFTER_STATUSES or 500 <= status < 600
    if error.code is IssueCode.DNS:
        return getattr(error.__cause__, "errno", None) == socket.EAI_AGAIN
    # Not TIMEOUT: it has cost its time, and an overloaded server has no use for more requests.
    return error.code is IssueCode.CONNECT
