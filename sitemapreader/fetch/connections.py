"""Connections: each gives one answer to one request, and nothing else counts."""

# HTTP/1.1 numbers no answers: what comes first after a request is taken for its answer. aiohttp
# hands out a kept connection on which something has arrived meanwhile (a second answer, the rest of
# a body that was longer than stated, a 408), and the next document would have the wrong body, or
# none. RFC 9112, section 6.3: such bytes are not an answer, and the connection is done for.

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import aiohttp
import attrs
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp.abc import ResolveResult
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

    from sitemapreader.fetch.client import Trust
    from sitemapreader.fetch.urls import RequestUrl

MAX_FIELD_BYTES = 65_536
"""One header field: policies and links of real sites take 8 to 20 KiB."""
MAX_HEAD_BYTES = 262_144
"""All headers of one request: of its answer, and of the interim responses (1xx) before it."""
MAX_FIELDS = 1_000
"""Header fields of one response."""
MAX_INTERIM_RESPONSES = 20
"""Number of responses with a status of 1xx before the final one."""

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_LENGTH_HEADER = re.compile(
    rb"^content-length[ \t]*:([^\r\n]*)\r?\n", re.IGNORECASE | re.MULTILINE
)
_TIMED_OUT = re.compile(rb"HTTP/1\.[01] 408")


class BodyTooLongError(aiohttp.ClientPayloadError):
    """More bytes around a body than a whole body may have."""


# A line feed ends the chunk before; llhttp too takes one without its carriage return.
_CHUNK = re.compile(rb"\r?\n([0-9A-Fa-f]{1,15})[ \t]*+(?:;[^\r\n]*+)?\r?\n")
_CHUNK_EXTENSION = re.compile(rb"\r?\n[0-9A-Fa-f]{1,15}[ \t]*+;(?=[^\r\n]*+\r?\Z)")
_SMALL_CHUNK = rb"\r\n(?>%b)" % b"|".join(
    b"[%x%X]\r\n.{%d}" % (size, size, size) for size in range(1, 16)
)
_SMALL_CHUNKS = re.compile(rb"(?:%b)++" % _SMALL_CHUNK, re.DOTALL)
_ONE_SMALL_CHUNK = re.compile(_SMALL_CHUNK, re.DOTALL)
_SMALL_HEAD_BYTES = 5
"""Bytes of `\\r\\n1\\r\\n`, before the body of a small chunk."""
_LINE_END = re.compile(rb"\r?\n")
_MAX_CHUNK_LINE = 4_096
"""Bytes of the size of a chunk, with blanks but without extensions, before they count as broken."""


class ChunkMerger:
    """Join the chunks of a body that arrive together to one chunk (RFC 9112, section 7.1).

    aiohttp takes several microseconds for each chunk, and a chunk may hold one byte. Extensions
    are dropped. What is not written as the RFC says is passed on, and aiohttp judges it.

    Attributes:
        body_bytes: how many bytes of the body have come.
        has_ended: whether the last chunk has come; then trailers follow.
    """

    def __init__(self) -> None:
        self.body_bytes = 0
        self.has_ended = False
        self._left = 0
        """Number of bytes of the chunk that have not come."""
        self._rest = b"\r\n"
        """The beginning of a line; the first chunk stands behind none."""
        self._is_broken = False

    def merge(self, data: bytes) -> bytes:
        """Return the bytes that aiohttp gets in place of the next ones."""
        if self.has_ended or self._is_broken:
            return data
        pieces = []
        after = b""
        data = self._rest + data
        self._rest = b""
        position = 0
        while True:
            if self._left:
                piece = data[position : position + self._left]
                pieces.append(piece)
                self._left -= len(piece)
                position += len(piece)
            if position == len(data):
                break
            # six times as fast as one by one
            if small := _SMALL_CHUNKS.match(data, position):
                chunks = _ONE_SMALL_CHUNK.findall(data, position, small.end())
                pieces += [each[_SMALL_HEAD_BYTES:] for each in chunks]
                position = small.end()
                continue
            chunk = _CHUNK.match(data, position)
            if chunk is None:
                after = self._keep_rest(data[position:])
                break
            position = chunk.end()
            self._left = int(chunk[1], 16)
            if not self._left:
                self.has_ended = True
                after = b"0\r\n" + data[position:]
                break
        body = b"".join(pieces)
        self.body_bytes += len(body)
        return (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + after

    def _keep_rest(self, rest: bytes) -> bytes:
        """Keep the beginning of a line until its end comes; return the other bytes."""
        if extension := _CHUNK_EXTENSION.match(rest):
            self._rest = extension[0] + (b"\r" if rest.endswith(b"\r") else b"")
        elif b"\n" in rest[2:] or len(rest) > _MAX_CHUNK_LINE:
            self._is_broken = True
            end = _LINE_END.match(rest)
            # the body went on behind its chunk
            if end:
                return rest[end.end() :]
            return b"?" + rest
        else:
            self._rest = rest
        return b""


@attrs.define(eq=False)
class BytesAround:
    """Counter of the bytes of one response besides its headers and its body.

    They are interim responses, sizes and extensions of chunks, and trailers.
    """

    count: int = 0


@attrs.define(eq=False)
class Route:
    """The route of one request: the addresses that it may connect to."""

    target: RequestUrl
    trust: Trust
    answers: Sequence[ResolveResult] | None = None
    """The addresses that are connected to, and no others; `None` for a proxy's."""
    has_surplus: bool = False
    """True if something had arrived on a connection that was kept for it."""

    def allows(self, line: Connection) -> bool:
        """Return whether a kept connection leads where the request may go."""
        if self.answers is None or line.transport is None:
            return True
        peer = line.transport.get_extra_info("peername")
        return self.trust.allows(self.target.host, peer[0] if peer else "")


async def _read_arrived() -> None:
    """Let the event loop read the bytes that have arrived, which it does between turns."""
    for _ in range(2):
        await asyncio.sleep(0)


class OneAnswer(ResponseHandler):
    """The protocol of a connection, which gives aiohttp's parser one answer a request.

    Attributes:
        uses: how many requests were sent.
        has_surplus: whether more has arrived than the answers to them.
        around: the bytes around the body of the answer.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, max_bytes_around: int) -> None:
        super().__init__(loop)
        self.uses = 0
        self.has_surplus = False
        self.around = BytesAround()
        self._max_bytes_around = max_bytes_around
        self._body: aiohttp.StreamReader | None = None
        """Body of the response; set when its head has arrived."""
        self._merger: ChunkMerger | None = None
        self._head_bytes = 0
        self._head_end = b""
        """The last bytes of a head that has not ended."""
        self._interim_responses = 0

    def set_response_params(self, **how: Any) -> None:
        """Begin a request."""
        self.uses += 1
        self.around = BytesAround()
        self._body = None
        self._merger = None
        self._head_bytes = 0
        self._head_end = b""
        self._interim_responses = 0
        super().set_response_params(**how)

    def data_received(self, data: bytes) -> None:
        """Pass the bytes of the response to the parser."""
        if self.uses and self._body is None:
            data = self._receive_heads(data)
            if self.exception() is not None:
                return
        if not data and self._body is None:
            return
        if data and self._body is not None and self._body.is_eof():
            # aiohttp keeps apart what comes now, and the connection no longer
            self._parser = None
            super().data_received(data)
            # A server may say 408 to a connection that is idle for long: that is in order.
            self.has_surplus = not _TIMED_OUT.match(self._tail)
            return
        before = self.exception()
        if data and self._merger is not None:
            self._receive_chunks(self._merger, data)
        else:
            super().data_received(data)
        fault = self.exception()
        if fault is before or fault is None or self._body is None:
            return
        if self._body.is_eof():
            self.has_surplus = True  # what follows the body is no HTTP
        else:  # aiohttp tells nobody: a read would wait for ever
            is_of_body = isinstance(fault, aiohttp.ClientPayloadError)
            if is_of_body:
                told = fault
            else:
                told = aiohttp.ClientPayloadError(str(fault))
            self._body.set_exception(told, fault)

    def _receive_heads(self, data: bytes) -> bytes:
        """Pass the headers of the response to the parser; return the bytes behind them."""
        # Heads apart from the body: the parser forgets an answer if anything after it is no HTTP.
        while data and self._body is None:
            known = len(self._head_end)
            end = _END_OF_HEAD.search(self._head_end + data)
            head = data[: end.end() - known] if end else data
            data = data[len(head) :]
            self._head_bytes += len(head)
            if self._head_bytes > MAX_HEAD_BYTES:
                said = f"headers of more than {MAX_HEAD_BYTES} bytes"
                self._fail(HttpProcessingError(code=0, message=said))
                return b""
            if end:
                self._head_end = b""
            else:
                self._head_end = (self._head_end + head)[-3:]
            super().data_received(_merge_lengths(head) if end else head)
            if self.exception() is not None:
                return b""
        return data

    def _receive_chunks(self, merger: ChunkMerger, data: bytes) -> None:
        """Pass chunks to the parser, and count the bytes around the body."""
        before = merger.body_bytes
        merged = merger.merge(data)
        self.around.count += len(data) - (merger.body_bytes - before)
        if self.around.count > self._max_bytes_around:
            said = f"more than {self._max_bytes_around} bytes around the body"
            self._fail(BodyTooLongError(said))
        elif merged:
            super().data_received(merged)

    def _fail(self, fault: Exception) -> None:
        """End the response and the connection."""
        if self.transport is not None:
            self.transport.close()
        self.set_exception(fault)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take a message from the parser: the response, or one before it (1xx)."""
        if self._body is not None:
            self.has_surplus = True
            self.force_close()
            return
        message, body = data
        if 100 <= message.code < 200 and message.code != 101:
            self._interim_responses += 1
            self.around.count = self._head_bytes
            if self._interim_responses > MAX_INTERIM_RESPONSES:
                said = f"more than {MAX_INTERIM_RESPONSES} interim responses"
                self._fail(HttpProcessingError(code=0, message=said))
            return
        self._body = body
        if message.chunked and not body.is_eof():
            self._merger = ChunkMerger()
        super().feed_data(data, size)

    async def read(self) -> Any:
        """Return the response when all bytes that arrived with it were read."""
        answer = await super().read()
        if self.uses > 1:  # it may be one of two
            await _read_arrived()
        return answer

    def connection_lost(self, exc: BaseException | None) -> None:
        """Pass the cause to a body that was cut."""
        # aiohttp takes a reset for the end of a body that nothing else ends, and half a line of a
        # text sitemap would become a URL.
        if exc is not None and self._body is not None and not self._body.is_eof():
            self._body.set_exception(aiohttp.ClientPayloadError(str(exc)), exc)
        super().connection_lost(exc)


def _merge_lengths(head: bytes) -> bytes:
    """Write equal Content-Lengths as one (RFC 9110, section 8.6)."""
    values = [
        value.strip(b" \t")
        for value in b",".join(_LENGTH_HEADER.findall(head)).split(b",")
    ]
    if len(values) == 1 or len(set(values)) > 1:
        return head
    status, rest = _LENGTH_HEADER.sub(b"", head).split(b"\n", 1)
    return b"%b\nContent-Length: %b\r\n%b" % (status, values[0], rest)


class CleanConnector(aiohttp.TCPConnector):
    """A connector that connects where the `Route` of a request leads.

    It hands out a kept connection only if that leads there too, and nothing has arrived on it.
    """

    def __init__(self, max_bytes_around: int, **how: Any) -> None:
        super().__init__(**how)
        factory = partial(OneAnswer, loop=self._loop, max_bytes_around=max_bytes_around)
        self._factory = cast("partial[ResponseHandler]", factory)

    async def look_up(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses of a name in the resolver's order, allowed or not."""
        # RFC 6761, section 6.3: all names below `localhost` are loopback.
        is_local = host.lower().rstrip(".").endswith(".localhost")
        try:
            return await super()._resolve_host("localhost" if is_local else host, port)
        except RuntimeError as error:
            # aiohttp takes the first of the addresses, also where there is none
            if isinstance(error.__cause__, StopIteration):
                return []
            raise

    async def _resolve_host(
        self, host: str, port: int, traces: Sequence[Trace] | None = None
    ) -> list[ResolveResult]:
        answers = _route_of(traces).answers if traces else None
        if answers is None:
            return await self.look_up(host, port)
        return [*answers]

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        await _read_arrived()
        route = _route_of(traces)
        while (line := await super()._get(key, traces)) is not None:
            protocol = cast("OneAnswer", line.protocol)
            if not (line.closed or protocol.should_close) and route.allows(line):
                return line
            route.has_surplus = route.has_surplus or protocol.has_surplus
            line.close()
        return None


def _route_of(traces: Sequence[Trace]) -> Route:
    # What a request carries has no public name on this way.
    return cast("Route", traces[0]._trace_config_ctx.trace_request_ctx)  # noqa: SLF001 (as said)
