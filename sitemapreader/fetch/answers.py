"""Answers: the bounds of their bodies, and what one without a document means."""

# Time-outs of the client are not enough: one byte now and then satisfies every one for silence.

from __future__ import annotations

import asyncio
import re
import time
import tomllib
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs

from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.fetch.retries import read_retry_after
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.readers.decode.codings import Decompressor, decode_start, fill, read_codings
from sitemapreader.readers.decode.streams import DecompressionError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from sitemapreader.fetch.client import Response

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


@attrs.define(eq=False)
class Body:
    """One body within its bounds; what arrives before a failure is given first."""

    _source: ByteSource
    _url: str
    clock: DeadlineClock
    _options: FetchOptions
    _left: int = attrs.field(alias="max_bytes")
    _received: int = attrs.field(default=0, init=False)
    _waited_before: float = attrs.field(init=False)
    _failure: FetchError | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._waited_before = self.clock.waited

    async def next_piece(self) -> bytes:
        """Return the next bytes, b"" at the end; raise FetchError where the body is cut."""
        if self._failure is not None:
            raise self._failure
        piece = self._source.take_buffered()  # a small body is there with its headers
        if piece:
            return self._measure(piece)
        try:
            reading = self._source.read()
            if self._source.is_complete():
                return await reading
            piece = await self.clock.wait(reading, self._options.idle_seconds)
        except (FetchError, TimeoutError) as error:
            self._failure = error if isinstance(error, FetchError) else self._time_out(error)
            piece = self._source.take_buffered()
            if not piece:
                raise self._failure from self._failure.__cause__
        return self._measure(piece)

    def _time_out(self, error: TimeoutError) -> FetchError:
        code = IssueCode.TIMEOUT if self.clock.is_over else IssueCode.STALLED
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
        waited = self.clock.waited - self._waited_before
        needed = waited * self._options.min_bytes_per_second
        return waited > self._options.slow_grace_seconds and self._received < needed

    def _make_failure(self, code: IssueCode) -> FetchError:
        return FetchError(code, self._url, f"after {self._received} bytes")


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
            if not fill(body, decompressor.feed(chunk), max_bytes):
                break
        else:
            fill(body, decompressor.close(), max_bytes)
    except DecompressionError as error:
        raise FetchError(error.code, response.url, error.detail) from error
    if len(body) > max_bytes and not cut:
        raise FetchError(IssueCode.TOO_LARGE, response.url, f"{max_bytes} bytes")
    return bytes(body[: max_bytes + 1])


# -- answers without a document: bot protections, logins, errors

MAX_REFUSAL_BYTES = 32_768
"""How much of an answer without a document is read; a challenge page has some 10 KB."""
REFUSAL_SECONDS = 1.0
"""How long to wait for the body of such an answer: it explains the failure, no more."""
MAX_PAGE_BYTES = 8_192
"""Longer pages with status 200 are not taken for a challenge."""

_REFUSING = frozenset({202, 403, 405, 406, 429, 503})
"""202 and 405 are AWS WAF's, by its documentation; the others are used by all vendors."""
_WEAK_REFUSING = frozenset({403, 429})
_EMPTY_PAGE_BYTES = 2_048
"""Longer pages have more than a script."""
_SITEMAP = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex)[\s>]", re.IGNORECASE)
_FIRST_TAGS_BYTES = 2_048


@cache
def load_protections() -> dict[str, list[list[str]]]:
    """Return the marks of bot protections: of headers, and of pages."""
    return tomllib.loads(files(__package__).joinpath("protections.toml").read_text("utf-8"))


def find_protection(status: int, headers: Mapping[str, str], page: bytes = b"") -> str:
    """Return the bot protection that refused a request, with the evidence, or ""."""
    marks = load_protections()
    is_weak = status in _WEAK_REFUSING
    for name, value, vendor in marks["headers"] + marks["headers-beside-a-status"] * is_weak:
        if re.fullmatch(value, headers.get(name, ""), re.IGNORECASE):
            return f"{vendor} ({name}: {headers[name][:40]})"
    if status not in _REFUSING and not (status == 200 and _is_short_html(page)):
        return ""
    text = page.decode("latin-1").lower()
    texts = marks["pages"] + marks["empty-pages"] * (len(page) <= _EMPTY_PAGE_BYTES)
    return next((f"{vendor} (its page)" for mark, vendor in texts if mark in text), "")


def _is_short_html(page: bytes) -> bool:
    start = page[:_FIRST_TAGS_BYTES].lstrip().lower()
    return len(page) <= MAX_PAGE_BYTES and start.startswith(b"<") and b"<html" in start


def holds_sitemap(page: bytes) -> bool:
    """Return whether a body begins as a sitemap does."""
    return _SITEMAP.search(page[:_FIRST_TAGS_BYTES]) is not None


def wants_page(status: int) -> bool:
    """Return whether the body of an answer can explain its status."""
    return (status >= 400 and status not in LOGIN_STATUSES) or status in _REFUSING


@attrs.frozen
class Refusal:
    """An answer without a document."""

    url: str
    status: int
    reason: str
    headers: Mapping[str, str]
    raw: bytes = b""

    def make_error(self, max_wait_seconds: float) -> FetchError:
        """Return the error for this answer; RETRY_LATER if its Retry-After is too long."""
        detail = f"{self.status} {self.reason}".rstrip()
        page = decode_start(self.raw, read_codings(self.headers), MAX_REFUSAL_BYTES)
        wait = read_retry_after(self.status, self.headers)
        code = IssueCode.HTTP_STATUS
        if self.status in LOGIN_STATUSES:
            code = IssueCode.LOGIN_REQUIRED
        elif holds_sitemap(page):
            # A Retry-After says more of the next request than the body does.
            is_late = wait is not None and wait > max_wait_seconds
            code = IssueCode.RETRY_LATER if is_late else IssueCode.SITEMAP_WITH_ERROR_STATUS
        elif vendor := find_protection(self.status, self.headers, page):
            code, detail = IssueCode.BLOCKED_BY_SITE, f"{detail}, {vendor}"
        elif wait is not None and wait > max_wait_seconds:
            code = IssueCode.RETRY_LATER
        return FetchError(code, self.url, detail, http_status=self.status, retry_after_seconds=wait)
