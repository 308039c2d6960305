"""One document of a walk: its response, its body as events, its known version.

Every wait for the network is bounded by the budget.
"""

from __future__ import annotations

from contextlib import (
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, TypeVar, Unpack
from zlib import crc32

import attrs

from sitemapreader._bytes.codings import (
    DecompressionError,
    Decompressor,
    read_codings,
)
from sitemapreader._event_loop import run_in_thread
from sitemapreader._read.feedparser import (
    FeedparserAnswer,
    ask_feedparser,
    start_feedparser,
)
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.outcomes import (
    ABSENT_STATUSES,
    BodyDigest,
    BodyHasher,
    Document,
)
from sitemapreader._types.rows import Events, join_rows
from sitemapreader._types.urls import path_of
from sitemapreader.fetch.local import StoredResponse, open_file
from sitemapreader.fetch.refusals import find_protection
from sitemapreader.fetch.responses import fill_in_steps

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Iterator,
        Mapping,
    )
    from contextlib import AbstractAsyncContextManager

    from sitemapreader._read.reader import SitemapReader
    from sitemapreader._walk.context import Budget, LoopShare, WalkContext
    from sitemapreader.fetch.client import RequestOptions, Response
    from sitemapreader.fetch.urls import CheckRedirect

T = TypeVar("T")

_BATCH_EVENTS = 1_000
"""Events in one batch: enough that handing it over costs little; about 300 KB."""
_BATCH_BYTES = 262_144
"""Markup in one batch, because a record may be as long as thousands of others."""
_HELD_UP_SECONDS = 0.5
"""Time for which a consumer holds up a body before the end of the connection is its fault."""


@asynccontextmanager
async def open_document(
    context: WalkContext,
    url: str,
    **request_options: Unpack[RequestOptions],
) -> AsyncIterator[Response]:
    """Open a URL, and tell the walk's host breaker whether it worked.

    A FetchError that the caller meets while it reads the response counts too.

    `check_redirect` is also called here, with the final URL, because a caller's own fetcher may
    follow redirects without calling it. Raises FetchError if there is no response, or no budget.
    """
    check = request_options.get("check_redirect")
    context.opened[url] += 1
    try:
        opener = await _find_opener(context, url, request_options)
        async with AsyncExitStack() as stack:
            response = await context.budget.within(
                stack.enter_async_context(opener), url
            )
            if getattr(response, "wait_seconds", 0):
                context.loop_share.restart()
            if not _is_encodable(response.url):
                problem = "the response's URL is not valid text"
                raise FetchError(IssueCode.INVALID_URL, url, problem)  # noqa: TRY301
            if check is not None and response.url != url:
                await check(response.url)
            tally = context.report.tally
            tally.address = tally.address or str(getattr(response, "address", ""))
            yield response
    except FetchError as error:
        if error.code is IssueCode.BUDGET_SECONDS:
            wait = context.client.find_wait(url)
            if wait >= 1:
                error.add_detail(f"its host requested to wait for {wait:.0f} s more")
        context.breaker.note_error(url, error)
        context.budget.spend_documents(len(error.redirects))  # they led to no document
        raise
    finally:
        context.opened[url] -= 1
        if not context.opened[url]:
            del context.opened[url]
    context.breaker.note_response(url)


async def _find_opener(
    context: WalkContext, url: str, request_options: RequestOptions
) -> AbstractAsyncContextManager[Response]:
    """Return the context that opens a URL: of a kept response, of a file, or of a request."""
    if not request_options.get("headers"):
        kept = await context.responses.find_response(url)
        if kept is not None:
            return nullcontext(kept)
    if url in context.files:
        return open_file(url, Path(path_of(url)))
    context.breaker.check_wait(url)
    request_options["seconds_left"] = context.budget.seconds_left
    return context.client.open(url, **request_options)


def _is_encodable(url: str) -> bool:
    """Return whether a URL, of a caller's own fetcher, can be written down."""
    return url.isascii() or not any("\ud800" <= char <= "\udfff" for char in url)


class CountedChunks:
    """The body of a response as it arrives, counted in its document and in the budget.

    Iterating raises FetchError if the body or the budget ends early. To be closed.
    """

    def __init__(self, response: Response, budget: Budget, document: Document) -> None:
        self._response = response
        self._budget = budget
        self._document = document
        self._chunks = response.chunks()
        self._around = 0
        """Bytes around the body that were counted."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        url = self._response.url
        if getattr(self._response, "has_arrived", False):
            chunk = await self._read_next()
        else:
            chunk = await self._budget.within(self._read_next(), url)
        if chunk is None:
            raise StopAsyncIteration
        received = len(chunk) + self._take_around()
        self._document.bytes_raw += received
        self._budget.spend_bytes(url, received)
        return chunk

    async def aclose(self) -> None:
        """Count the last bytes, and end the reading."""
        # An answer that is cut off, or has no body, has bytes around it all the same.
        around = self._take_around()
        self._document.bytes_raw += around
        self._budget.count_bytes(around)
        # a generator that is left must be closed
        if close := getattr(self._chunks, "aclose", None):
            await close()

    def _take_around(self) -> int:
        """Return the bytes around the body since the last call."""
        before = self._around
        self._around = getattr(self._response, "bytes_around", 0)
        return self._around - before

    async def _read_next(self) -> bytes | None:
        """Return the next bytes of a body, `None` at its end."""
        try:
            return await anext(self._chunks, None)
        # of a caller's own client; TimeoutError is one of these
        except OSError as error:
            said = str(error) or type(error).__name__
            if isinstance(error, TimeoutError):
                code = IssueCode.STALLED
            else:
                code = IssueCode.BODY_CUT
            raise FetchError(code, self._response.url, said) from error


async def read_patiently(
    context: WalkContext,
    response: Response,
    document: Document,
    reopen: Callable[[], AbstractAsyncContextManager[Response]],
) -> AsyncGenerator[bytes, None]:
    """Yield a body; if it broke off while its consumer was slow, fetch the rest."""
    # Servers close a connection from which nothing is read for a while: nginx after 60 s. A body
    # that was fetched again is used only if it begins with the bytes that were yielded already.
    budget = context.budget
    url = response.url
    yielded_bytes = 0
    yielded_crc = 0
    fault: FetchError | None = None
    opener: AbstractAsyncContextManager[Response] = nullcontext(response)
    while True:
        async with opener as opened:
            held = budget.held_seconds
            bytes_before = yielded_bytes
            received_bytes = 0
            received_crc = 0
            try:
                async with aclosing(CountedChunks(opened, budget, document)) as chunks:
                    async for chunk in chunks:
                        known_bytes = yielded_bytes - received_bytes
                        new = chunk[known_bytes:]
                        received_bytes += len(chunk)
                        received_crc = crc32(chunk[:known_bytes], received_crc)
                        if new and received_crc == yielded_crc:
                            received_crc = crc32(new, received_crc)
                            yielded_bytes = received_bytes
                            yielded_crc = received_crc
                            yield new
                        elif new:
                            break
            except FetchError as error:
                is_slow = budget.held_seconds - held > _HELD_UP_SECONDS
                if (
                    error.code is not IssueCode.BODY_CUT
                    or not is_slow
                    or yielded_bytes == bytes_before
                ):
                    raise
                fault = error
            else:
                is_same_size = received_bytes == yielded_bytes
                if is_same_size and received_crc == yielded_crc:
                    return
                # it has changed meanwhile
                raise fault or FetchError(IssueCode.BODY_CUT, url)
            if close := getattr(opened, "aclose", None):  # its slot is needed
                await close()
        budget.take_document(url)
        opener = _open_again(reopen, document)


@asynccontextmanager
async def _open_again(
    reopen: Callable[[], AbstractAsyncContextManager[Response]], document: Document
) -> AsyncIterator[Response]:
    """Open a document once more, and count its tries."""
    async with reopen() as response:
        document.tries += getattr(response, "tries", 1)
        yield response


async def read_events(
    chunks: AsyncGenerator[bytes, None],
    reader: SitemapReader,
    loop_share: LoopShare,
    handle: Callable[[Events], Awaitable[bool]],
) -> None:
    """Feed a body to a reader, and hand over its events in batches, by columns if it can.

    `handle` returns whether more are wanted.
    """
    enough = 1  # the first event is yielded at once; the batches grow from there
    async for chunk in chunks:
        async with loop_share.reader_lock:
            parts: list[Events] = []
            begin = reader.stats.inflated_bytes
            size = 0
            for events in reader.feed_steps(chunk):
                if events:
                    parts.append(events)
                    size += len(events)
                # A chunk of 64 KiB may inflate to 64 MiB that hold few records.
                if size >= enough or reader.stats.inflated_bytes - begin > _BATCH_BYTES:
                    if parts and not await handle(join_rows(parts)):
                        return
                    parts = []
                    begin = reader.stats.inflated_bytes
                    size = 0
                    enough = min(8 * enough, _BATCH_EVENTS)
                await loop_share.yield_if_due()
            if parts and not await handle(join_rows(parts)):
                return
        if reader.finished:
            return


async def next_step(
    reader: SitemapReader,
    steps: Iterator[T],
    context: WalkContext,
) -> T | None:
    """Run a step of a reader's end; `None` at the end.

    Before it, a feed that is beyond repair is read by feedparser, in a child process. A walk runs
    one of these at a time, and `Limits.feedparser_runs` in all.
    """
    if feed := reader.beyond_repair:
        async with context.feedparser_lock:
            if context.budget.take_feedparser_run():
                reader.salvage(
                    await _ask_feedparser(feed, reader.limits.feedparser_seconds)
                )
            else:
                reader.salvage(FeedparserAnswer(limit="feedparser_runs"))
    return next(steps, None)


async def _ask_feedparser(data: bytes, cpu_seconds: int) -> FeedparserAnswer:
    """Run `run_feedparser` in a task; the process ends with it."""
    if (process := start_feedparser(cpu_seconds)) is None:
        return FeedparserAnswer()
    return await run_in_thread(
        partial(ask_feedparser, process, data, cpu_seconds), interrupt=process.kill
    )


@attrs.define
class SmallBody(StoredResponse):
    """A small document, whose body is cut at the requested size."""

    is_permanent: bool = True
    """True if all redirects to it, if any, were permanent."""
    fault: FetchError | None = None
    """The error that cut the body short."""


async def fetch_body(
    context: WalkContext,
    document: Document,
    max_bytes: int,
    *,
    check_redirect: CheckRedirect | None = None,
) -> SmallBody:
    """Fetch and decompress a document that is not a sitemap, and record its answer.

    With `revisit`, the response is cached for a day. Raises FetchError if there is no answer, no
    budget, or a bot protection's page instead. An error that cuts the body short is in the result.
    """
    url = document.url
    context.budget.take_document(url)
    context.breaker.note_guess(url)
    try:
        async with open_document(
            context, url, check_redirect=check_redirect
        ) as response:
            body = await _read_small(context, response, document, max_bytes)
    except FetchError as error:
        if error.http_status in ABSENT_STATUSES and error.tries:
            await context.responses.keep_response(
                url, StoredResponse(url, status=error.http_status)
            )
        raise
    if body.fault is None and document.tries:
        await context.responses.keep_response(url, body)
    return body


async def _read_small(
    context: WalkContext,
    response: Response,
    document: Document,
    max_bytes: int,
) -> SmallBody:
    data = bytearray()
    fault = None
    decompressor = Decompressor(
        context.limits, [], codings=read_codings(response.headers)
    )
    try:
        async with aclosing(
            CountedChunks(response, context.budget, document)
        ) as chunks:
            async for chunk in chunks:
                if not await fill_in_steps(data, decompressor.decode(chunk), max_bytes):
                    break
            else:
                await fill_in_steps(
                    data, decompressor.decode(b"", final=True), max_bytes
                )
    except DecompressionError as error:
        fault = FetchError(error.code, response.url, error.detail)
    except FetchError as error:
        fault = error
        with suppress(DecompressionError):  # a consequence of the fault
            await fill_in_steps(data, decompressor.decode(b"", final=True), max_bytes)
    if blocked := find_blocking_page(response):
        raise blocked
    record_response(document, response)
    del data[max_bytes + 1 :]  # one byte more shows that it is longer
    document.bytes_inflated = len(data)
    return SmallBody(
        response.url,
        bytes(data),
        headers=response.headers,
        is_permanent=getattr(response, "is_permanent", True),
        fault=fault,
    )


def record_response(document: Document, response: Response) -> None:
    """Record the response, and its number of tries if the fetcher counts them."""
    document.final_url = response.url
    document.http_status = response.status
    # to those before a pause of its host
    document.tries += getattr(response, "tries", 1)


def find_blocking_page(response: Response) -> FetchError | None:
    """Return the error for a page of a bot protection, also one with status 200."""
    vendor = find_protection(response.status, response.headers)
    if not vendor:
        return None
    return FetchError(
        IssueCode.BLOCKED_BY_SITE, response.url, vendor, http_status=response.status
    )


# -- the known version of a document, and whether a body is still the same

_MEMORY_BYTES = 1_048_576
"""Bytes of a body that are buffered in memory; the rest is in a temporary file."""
_PIECE_BYTES = 65_536


@attrs.frozen
class KnownVersion:
    """The facts that an earlier visit recorded about a document."""

    headers: Mapping[str, str] = attrs.field(factory=dict)
    final_url: str = ""
    body: BodyDigest | None = None


async def _is_known_page(
    context: WalkContext,
    chunks: AsyncGenerator[bytes, None],
    known: BodyDigest,
    headers: Mapping[str, str],
    buffer: IO[bytes],
) -> bool:
    """Buffer a body until it differs from the known one; return whether it is that."""
    # Decompressed: a server that compresses each answer may give it another date, or other blocks.
    decompressor = Decompressor(context.limits, [], codings=read_codings(headers))
    hasher = BodyHasher()
    try:
        async for chunk in chunks:
            buffer.write(chunk)
            for piece in decompressor.decode(chunk):
                hasher.add(piece)
                if hasher.size > known.size:
                    return False
                await context.loop_share.yield_if_due()
        for piece in decompressor.decode(b"", final=True):
            hasher.add(piece)
    except DecompressionError:  # the known one had none
        return False
    return hasher.snapshot() == known


@asynccontextmanager
async def open_changed(
    context: WalkContext,
    chunks: AsyncGenerator[bytes, None],
    known: BodyDigest,
    headers: Mapping[str, str],
) -> AsyncIterator[AsyncGenerator[bytes, None] | None]:
    """Give a body from its first byte; `None` if it is the one that is known.

    Until that is certain, it is buffered: hardly more bytes than the known one has.
    """
    import tempfile  # noqa: PLC0415 (5 ms, and few walks remember a page)

    is_same = False
    fault = None
    with tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES) as buffer:
        try:
            is_same = await _is_known_page(context, chunks, known, headers, buffer)
        except FetchError as error:  # raised again, after what arrived before it
            fault = error
        if is_same:
            yield None
            return

        async def replay() -> AsyncGenerator[bytes, None]:
            buffer.seek(0)
            while piece := buffer.read(_PIECE_BYTES):
                yield piece
            if fault is not None:
                raise fault
            async for chunk in chunks:
                yield chunk

        async with aclosing(replay()) as body:
            yield body
