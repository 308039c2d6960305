"""Connections that reject all bytes beyond one response for each request."""

# HTTP/1.1 does not number responses: the first bytes after a request are taken for its response.
# aiohttp reuses a connection on which bytes have arrived in between (a second response, the end of
# a body that was longer than stated, a 408), so the next document would get the wrong body or none.
# RFC 9112, section 6.3: such bytes are not a response, and the connection must be closed.

from __future__ import annotations

import asyncio
import re
import select
from contextvars import ContextVar
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
"""Size of one header: policies and links of real sites take 8 to 20 KiB."""
MAX_HEAD_BYTES = 262_144
"""Size of all headers after one request: of its response and of interim responses (1xx)."""
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


# A line feed ends the previous chunk; like llhttp, accept one without its carriage return.
_CHUNK = re.compile(rb"\r?\n([0-9A-Fa-f]{1,15})[ \t]*+(?:;[^\r\n]*+)?\r?\n")
_CHUNK_EXTENSION = re.compile(rb"\r?\n[0-9A-Fa-f]{1,15}[ \t]*+;(?=[^\r\n]*+\r?\Z)")
_SMALL_CHUNK = rb"\r\n(?>%b)" % b"|".join(
    b"[%x%X]\r\n.{%d}" % (size, size, size) for size in range(1, 16)
)
_SMALL_CHUNKS = re.compile(rb"(?:%b)++" % _SMALL_CHUNK, re.DOTALL)
_ONE_SMALL_CHUNK = re.compile(_SMALL_CHUNK, re.DOTALL)
_SMALL_HEAD_BYTES = 5
"""Size of `\\r\\n1\\r\\n`, which precedes the body of a small chunk."""
_LINE_END = re.compile(rb"\r?\n")
_MAX_CHUNK_LINE = 4_096
"""Longest line with the size of a chunk, with blanks but without extensions."""


class ChunkMerger:
    """Merger of the chunks of a body that arrive together (RFC 9112, section 7.1).

    aiohttp takes several microseconds for each chunk, and a chunk may hold one byte. Extensions are
    removed. Bytes that break the rules of the RFC are passed on, and aiohttp decides about them.

    Attributes:
        body_bytes: the number of bytes of the body that have arrived.
        has_ended: True if the last chunk has arrived; trailers follow it.
    """

    def __init__(self) -> None:
        self.body_bytes = 0
        self.has_ended = False
        self._missing_bytes = 0
        """Number of bytes of the chunk that have not arrived."""
        self._line_start = b"\r\n"
        """The beginning of an unfinished line. The first chunk has no line end before it."""
        self._is_broken = False

    def merge(self, data: bytes) -> bytes:
        """Return the bytes that aiohttp gets in place of `data`."""
        if self.has_ended or self._is_broken:
            return data
        pieces = []
        remainder = b""
        data = self._line_start + data
        self._line_start = b""
        position = 0
        while True:
            if self._missing_bytes:
                piece = data[position : position + self._missing_bytes]
                pieces.append(piece)
                self._missing_bytes -= len(piece)
                position += len(piece)
            if position == len(data):
                break
            # all small chunks at once, which is six times as fast as one by one
            if small := _SMALL_CHUNKS.match(data, position):
                chunks = _ONE_SMALL_CHUNK.findall(data, position, small.end())
                pieces += [chunk[_SMALL_HEAD_BYTES:] for chunk in chunks]
                position = small.end()
                continue
            head = _CHUNK.match(data, position)
            if head is None:
                remainder = self._keep_line_start(data[position:])
                break
            position = head.end()
            self._missing_bytes = int(head[1], 16)
            if not self._missing_bytes:
                self.has_ended = True
                remainder = b"0\r\n" + data[position:]
                break
        body = b"".join(pieces)
        if not body:
            return remainder
        self.body_bytes += len(body)
        return b"%x\r\n%b\r\n%b" % (len(body), body, remainder)

    def _keep_line_start(self, line: bytes) -> bytes:
        """Keep an unfinished line until its end arrives; return the bytes of a broken one."""
        if extension := _CHUNK_EXTENSION.match(line):
            self._line_start = extension[0]
            if line.endswith(b"\r"):
                self._line_start += b"\r"
            return b""
        if b"\n" not in line[2:] and len(line) <= _MAX_CHUNK_LINE:
            self._line_start = line
            return b""
        self._is_broken = True
        # without a line end, the body is longer than its chunk
        if end := _LINE_END.match(line):
            return line[end.end() :]
        return b"?" + line


@attrs.define(eq=False)
class BytesAround:
    """Counter of the bytes of one response outside its headers and its body.

    They are interim responses, sizes and extensions of chunks, and trailers.
    """

    count: int = 0


@attrs.define(eq=False)
class Route:
    """The route of one request: the addresses that it may connect to."""

    target: RequestUrl
    trust: Trust
    addresses: Sequence[ResolveResult] | None = None
    """The addresses that may be connected to; `None` if a proxy resolves the name."""
    has_trailing_data: bool = False
    """True if unsolicited bytes had arrived on a kept connection."""

    def allows(self, connection: Connection) -> bool:
        """Return whether a kept connection leads to an allowed address."""
        if self.addresses is None or connection.transport is None:
            return True
        address, *_ = connection.transport.get_extra_info("peername") or ("",)
        if any(address == each["host"] for each in self.addresses):
            return True
        return self.trust.allows(self.target.host, address)


ROUTE: ContextVar[Route] = ContextVar("route")
"""The route of the request that a task sends, for the connector."""


async def _read_arrived(protocol: SingleResponseProtocol) -> None:
    """Let the event loop read the bytes that have arrived, which it does between steps."""
    if _may_have_arrived(protocol.transport):
        for _ in range(2):
            await asyncio.sleep(0)


def _may_have_arrived(transport: asyncio.BaseTransport | None) -> bool:
    """Return whether a transport may have bytes that its protocol has not got."""
    # TLS has buffers of its own, which no socket shows; and Windows has no `poll`.
    if transport is None or transport.get_extra_info("sslcontext") is not None:
        return True
    number = transport.get_extra_info("socket").fileno()
    if number < 0 or not hasattr(select, "poll"):
        return True
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    return bool(waiting.poll(0))


class SingleResponseProtocol(ResponseHandler):
    """The protocol of a connection, which gives aiohttp's parser one response for each request.

    Attributes:
        uses: the number of requests that were sent.
        has_trailing_data: True if more bytes have arrived than the responses to them.
        around: the bytes around the body of the response.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, max_bytes_around: int) -> None:
        super().__init__(loop)
        self.uses = 0
        self.has_trailing_data = False
        self.around = BytesAround()
        self._max_bytes_around = max_bytes_around
        self._body: aiohttp.StreamReader | None = None
        """Body of the response; set when its head has arrived."""
        self._merger: ChunkMerger | None = None
        self._head_bytes = 0
        self._head_end = b""
        """The last bytes of a head that has not ended."""
        self._interim_responses = 0

    def set_response_params(self, **parameters: Any) -> None:
        """Begin a request."""
        self.uses += 1
        self.around = BytesAround()
        self._body = None
        self._merger = None
        self._head_bytes = 0
        self._head_end = b""
        self._interim_responses = 0
        super().set_response_params(**parameters)

    def data_received(self, data: bytes) -> None:
        """Pass the bytes of the response to the parser."""
        if self.uses and self._body is None:
            data = self._receive_heads(data)
            if self.exception() is not None:
                return
        if not data and self._body is None:
            return
        if data and self._body is not None and self._body.is_eof():
            # Without a parser, aiohttp stores these bytes and does not reuse the connection.
            self._parser = None
            super().data_received(data)
            # A server may send 408 on a connection that is idle for long, which is allowed.
            self.has_trailing_data = not _TIMED_OUT.match(self._tail)
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
            self.has_trailing_data = True  # the bytes after the body are not HTTP
            return
        # aiohttp does not report this error to the body, whose reader would wait forever.
        error = fault
        if not isinstance(fault, aiohttp.ClientPayloadError):
            error = aiohttp.ClientPayloadError(str(fault))
        self._body.set_exception(error, fault)

    def _receive_heads(self, data: bytes) -> bytes:
        """Pass the headers of the response to the parser; return the bytes after them."""
        # The parser gets heads without the body, because it loses a response if the bytes that
        # follow it are not HTTP.
        while data and self._body is None:
            end = _END_OF_HEAD.search(self._head_end + data)
            if end is None:
                head = data
            else:
                head = data[: end.end() - len(self._head_end)]
            data = data[len(head) :]
            self._head_bytes += len(head)
            if self._head_bytes > MAX_HEAD_BYTES:
                problem = f"headers of more than {MAX_HEAD_BYTES} bytes"
                self._fail(HttpProcessingError(code=0, message=problem))
                return b""
            if end is None:
                self._head_end = (self._head_end + head)[-3:]
            else:
                self._head_end = b""
                head = _merge_lengths(head)
            super().data_received(head)
            if self.exception() is not None:
                return b""
        return data

    def _receive_chunks(self, merger: ChunkMerger, data: bytes) -> None:
        """Pass chunks to the parser, and count the bytes around the body."""
        before = merger.body_bytes
        merged = merger.merge(data)
        self.around.count += len(data) - (merger.body_bytes - before)
        if self.around.count > self._max_bytes_around:
            problem = f"more than {self._max_bytes_around} bytes around the body"
            self._fail(BodyTooLongError(problem))
        elif merged:
            super().data_received(merged)

    def _fail(self, fault: Exception) -> None:
        """End the response and the connection."""
        if self.transport is not None:
            self.transport.close()
        self.set_exception(fault)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Accept a message of the parser: the response, or an interim response (1xx)."""
        if self._body is not None:
            self.has_trailing_data = True
            self.force_close()
            return
        message, body = data
        if 100 <= message.code < 200 and message.code != 101:
            self._interim_responses += 1
            self.around.count = self._head_bytes
            if self._interim_responses > MAX_INTERIM_RESPONSES:
                problem = f"more than {MAX_INTERIM_RESPONSES} interim responses"
                self._fail(HttpProcessingError(code=0, message=problem))
            return
        self._body = body
        if message.chunked and not body.is_eof():
            self._merger = ChunkMerger()
        super().feed_data(data, size)

    async def read(self) -> Any:
        """Return the response when all bytes that arrived with it have been read."""
        message = await super().read()
        if self.uses > 1:  # there may be two responses
            await _read_arrived(self)
        return message

    def connection_lost(self, exc: BaseException | None) -> None:
        """Pass the cause to a truncated body."""
        # aiohttp takes a reset for the end of a body without a length, and half a line of a text
        # sitemap would become a URL.
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
    status, others = _LENGTH_HEADER.sub(b"", head).split(b"\n", 1)
    return b"%b\nContent-Length: %b\r\n%b" % (status, values[0], others)


class StrictConnector(aiohttp.TCPConnector):
    """A connector that connects only to addresses of the `Route` of a request.

    It reuses a connection only if that leads to such an address, and no bytes have arrived on it.
    """

    def __init__(self, max_bytes_around: int, **options: Any) -> None:
        super().__init__(**options)
        factory = partial(
            SingleResponseProtocol,
            loop=self._loop,
            max_bytes_around=max_bytes_around,
        )
        self._factory = cast("partial[ResponseHandler]", factory)

    async def look_up(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses of a name in the resolver's order, allowed or not."""
        # RFC 6761, section 6.3: all names below `localhost` are loopback.
        if host.lower().rstrip(".").endswith(".localhost"):
            host = "localhost"
        try:
            return await super()._resolve_host(host, port)
        except RuntimeError as error:
            # aiohttp takes the first address, even of an empty list
            if isinstance(error.__cause__, StopIteration):
                return []
            raise

    async def _resolve_host(
        self,
        host: str,
        port: int,
        traces: Sequence[Trace] | None = None,
    ) -> list[ResolveResult]:
        del traces
        route = ROUTE.get()
        if route.addresses is not None:
            return [*route.addresses]
        return await self.look_up(host, port)

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        route = ROUTE.get()
        while (connection := await super()._get(key, traces)) is not None:
            protocol = cast("SingleResponseProtocol", connection.protocol)
            try:
                await _read_arrived(protocol)
            except asyncio.CancelledError:
                connection.close()
                raise
            is_open = not (connection.closed or protocol.should_close)
            if is_open and route.allows(connection):
                return connection
            if protocol.has_trailing_data:
                route.has_trailing_data = True
            connection.close()
        return None
