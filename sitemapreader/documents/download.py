"""How the body of a response is read: event by event, or as a whole where it is small.

Every wait for the network is one for the budget too.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.refusals import find_protection
from sitemapreader.issues import IssueCode
from sitemapreader.readers.decode.codings import DecompressionError, read_codings
from sitemapreader.readers.decode.layers import Decompressor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping

    from sitemapreader.documents.budget import Budget
    from sitemapreader.documents.context import WalkContext
    from sitemapreader.documents.pace import Pace
    from sitemapreader.fetch import Response
    from sitemapreader.models import Event
    from sitemapreader.readers import SitemapReader

_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.ASCII | re.IGNORECASE)
_BATCH_EVENTS = 1_000
"""Events that are handed on at once: enough to make the handing on cheap, and 300 KB."""
_BATCH_BYTES = 262_144
"""... and markup, for a record may be as long as thousands of others."""
_ANSWERS = frozenset(
    {IssueCode.HTTP_STATUS, IssueCode.LOGIN_REQUIRED, IssueCode.SITEMAP_WITH_ERROR_STATUS}
)
_NOT_OF_THE_DOCUMENT = frozenset({407, 429})


@asynccontextmanager
async def open_document(
    context: WalkContext,
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    guessed: bool = False,
) -> AsyncIterator[Response]:
    """Open a URL, with `headers` in the request; raise FetchError.

    The breaker of the walk learns how it went, also of what the caller meets while it reads.
    `guessed` says that nobody named the URL.
    """
    try:
        async with AsyncExitStack() as stack:
            opener = (
                context.fetcher.open(url, headers=headers) if headers else context.fetcher.open(url)
            )
            opening = stack.enter_async_context(opener)
            yield await context.budget.within(opening, url)
    except FetchError as error:
        context.breaker.note_error(url, error, guessed=guessed)
        raise
    context.breaker.note_answer(url)


async def read_chunks(response: Response, budget: Budget) -> AsyncGenerator[bytes, None]:
    """Yield the body as it comes; raise FetchError where it breaks off or the budget ends."""
    chunks = response.chunks()
    try:
        while (chunk := await budget.within(anext(chunks, None), response.url)) is not None:
            budget.spend(response.url, len(chunk))
            yield chunk
    finally:
        if close := getattr(chunks, "aclose", None):  # a generator that is left has to be closed
            await close()


async def read_events(
    chunks: AsyncGenerator[bytes, None],
    reader: SitemapReader,
    see: Callable[[bytes], object],
    pace: Pace,
) -> AsyncGenerator[list[Event], None]:
    """Feed the body to a reader and yield its events; others get their turn in between.

    `see` is shown the body as it came. The first events come at once, the others in larger numbers.
    """
    enough = 1
    with pace.reading() as turn:
        async for chunk in chunks:
            see(chunk)
            batch: list[Event] = []
            begin = reader.stats.inflated_bytes
            await turn.begin()
            for events in reader.feed_steps(chunk):
                batch += events
                # A chunk of 64 KiB may inflate to 64 MiB, of which few records are made.
                if len(batch) >= enough or reader.stats.inflated_bytes - begin > _BATCH_BYTES:
                    if batch:
                        yield batch
                    batch, begin = [], reader.stats.inflated_bytes
                    enough = min(8 * enough, _BATCH_EVENTS)
                if turn.is_over:
                    await turn.pass_on()
            turn.rest()
            if batch:
                yield batch
            if reader.finished:
                return


async def next_step(reader: SitemapReader, steps: Iterator[list[Event]]) -> list[Event] | None:
    """Take a step of `close_steps`, `None` if there is no more; in a thread if it may wait.

    If the task is cancelled, the child process that the step waits for is killed first.
    """
    if not reader.may_block:
        return next(steps, None)
    step = asyncio.ensure_future(asyncio.to_thread(next, steps, None))
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:
        reader.cancel_fallback("cancelled")
        await asyncio.wait([step])  # soon: no process and no thread may outlive the caller
        raise


@attrs.frozen
class SmallBody:
    """A small document: as much of it as was asked for and came.

    `is_permanent` says that the redirects to it, if any, are there to stay; `fault` is what broke
    it off.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    data: bytes
    raw_bytes: int
    tries: int = 1
    is_permanent: bool = True
    fault: FetchError | None = None


async def fetch_body(context: WalkContext, url: str, max_bytes: int) -> SmallBody:
    """Fetch a document that is no sitemap; inflated, and up to `max_bytes` and one more.

    Raises FetchError if there is no answer, no budget, or a bot protection's page in its place;
    what breaks it off later is in the result.
    """
    context.budget.take_document(url)
    data = bytearray()
    raw_bytes = 0
    fault = None
    async with open_document(context, url, guessed=True) as response:
        inflation = Decompressor(context.limits, [], codings=read_codings(response.headers))
        try:
            async with aclosing(read_chunks(response, context.budget)) as chunks:
                async for chunk in chunks:
                    raw_bytes += len(chunk)
                    if not _fill(data, inflation, chunk, max_bytes):
                        break
                else:
                    _take_rest(data, inflation)
        except DecompressionError as error:
            fault = FetchError(error.code, response.url, error.detail)
        except FetchError as error:
            fault = error
            with suppress(DecompressionError):  # the fault says it all
                _take_rest(data, inflation)
        if blocked := find_blocking_page(response, bytes(data)):
            raise blocked
        return SmallBody(
            url=response.url,
            status=response.status,
            headers=response.headers,
            data=bytes(data[: max_bytes + 1]),
            raw_bytes=raw_bytes,
            tries=tries_of(response),
            is_permanent=getattr(response, "is_permanent", True),
            fault=fault,
        )


def find_blocking_page(response: Response, page: bytes) -> FetchError | None:
    """Return the error for a bot protection's page that came with status 200, if it is one."""
    vendor = find_protection(response.status, response.headers, page)
    if not vendor:
        return None
    return FetchError(IssueCode.BLOCKED_BY_SITE, response.url, vendor, http_status=response.status)


def tries_of(response: Response) -> int:
    """Return how often a fetcher asked for an answer; once, if it is none that says so."""
    return int(getattr(response, "tries", 1))


def _fill(data: bytearray, inflation: Decompressor, chunk: bytes, max_bytes: int) -> bool:
    """Inflate a chunk behind `data`; tell whether more is wanted."""
    for piece in inflation.feed(chunk):
        data += piece
        if len(data) > max_bytes:
            return False
    return True


def _take_rest(data: bytearray, inflation: Decompressor) -> None:
    """Put behind `data` what was held back until it could be told."""
    for piece in inflation.close():
        data += piece


def is_absent(error: FetchError) -> bool:
    """Tell whether the server says that there is no such document (RFC 9309, section 2.3.1.3).

    429 is what a server says that is overloaded, as 5xx is: Google reads it so as well. 407 is what
    a proxy says, and nothing of the server.
    """
    status = error.http_status
    return (
        error.code in _ANSWERS
        and status is not None
        and status < 500
        and status not in _NOT_OF_THE_DOCUMENT
    )


def charset_of(headers: Mapping[str, str]) -> str | None:
    """Return the charset of a Content-Type header, if it has one."""
    match = _CHARSET.search(headers.get("content-type", "")[:256])
    return match[1] if match else None
