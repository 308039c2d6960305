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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp.abc import ResolveResult
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

    from sitemapreader.fetch.client import Trust
    from sitemapreader.fetch.urls import RequestUrl

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length[ \t]*:([^\r\n]*)\r?\n", re.IGNORECASE | re.MULTILINE)
_TIMED_OUT = re.compile(rb"HTTP/1\.[01] 408")


@attrs.define(eq=False)
class Route:
    """Where one request may go."""

    target: RequestUrl
    trust: Trust
    answers: Sequence[ResolveResult] | None = None
    """The addresses that are connected to, and no others; `None` for a proxy's."""
    has_surplus: bool = False
    """Whether something had arrived on a connection that was kept for it."""

    def allows(self, line: Connection) -> bool:
        """Return whether a kept connection leads where the request may go."""
        if self.answers is None or line.transport is None:
            return True
        peer = line.transport.get_extra_info("peername")
        return self.trust.allows(self.target.host, peer[0] if peer else "")


async def _read_arrived() -> None:
    """Let the event loop read what has arrived: it looks for that between two turns."""
    for _ in range(2):
        await asyncio.sleep(0)


class OneAnswer(ResponseHandler):
    """The protocol of a connection, which gives aiohttp's parser one answer a request.

    Attributes:
        uses: how many requests were sent.
        has_surplus: whether more has arrived than the answers to them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.uses = 0
        self.has_surplus = False
        self._body: aiohttp.StreamReader | None = None
        """Of the answer, from its head on."""

    def set_response_params(self, **how: Any) -> None:
        """Begin a request."""
        self.uses += 1
        self._body = None
        super().set_response_params(**how)

    def data_received(self, data: bytes) -> None:
        """Give to the parser what belongs to the answer."""
        # Heads apart from the body: the parser forgets an answer if anything after it is no HTTP.
        while self._body is None and self.uses and (end := _END_OF_HEAD.search(data)):
            super().data_received(_merge_lengths(data[: end.end()]))
            data = data[end.end() :]
            if not data or self.exception() is not None:
                return
        if data and self._body is not None and self._body.is_eof():
            self._parser = None  # aiohttp keeps apart what comes now, and the connection no longer
            super().data_received(data)
            # A server may say 408 to a connection that is idle for long: that is in order.
            self.has_surplus = not _TIMED_OUT.match(self._tail)
            return
        super().data_received(data)
        if (fault := self.exception()) is None or self._body is None:
            return
        if self._body.is_eof():
            self.has_surplus = True  # what follows the body is no HTTP
        else:  # aiohttp tells nobody: a read would wait for ever
            self._body.set_exception(aiohttp.ClientPayloadError(str(fault)), fault)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take a message from the parser: the answer, or one before it (1xx)."""
        if self._body is not None:
            self.has_surplus = True
            self.force_close()
            return
        message, body = data
        if not 100 <= message.code < 200 or message.code == 101:
            self._body = body
        super().feed_data(data, size)

    async def read(self) -> Any:
        """Return the answer when all that has arrived with it was read."""
        answer = await super().read()
        if self.uses > 1:  # it may be one of two
            await _read_arrived()
        return answer

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give to a body without an end what cut it."""
        # aiohttp takes a reset for the end of a body that nothing else ends, and half a line of a
        # text sitemap would become a URL.
        if exc is not None and self._body is not None and not self._body.is_eof():
            self._body.set_exception(aiohttp.ClientPayloadError(str(exc)), exc)
        super().connection_lost(exc)


def _merge_lengths(head: bytes) -> bytes:
    """Write equal Content-Lengths as one (RFC 9110, section 8.6)."""
    values = [value.strip(b" \t") for value in b",".join(_LENGTH.findall(head)).split(b",")]
    if len(values) == 1 or len(set(values)) > 1:
        return head
    status, rest = _LENGTH.sub(b"", head).split(b"\n", 1)
    return b"%b\nContent-Length: %b\r\n%b" % (status, values[0], rest)


class CleanConnector(aiohttp.TCPConnector):
    """A connector that connects where the `Route` of a request leads.

    It hands out a kept connection only if that leads there too, and nothing has arrived on it.
    """

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self._factory = cast("partial[ResponseHandler]", partial(OneAnswer, loop=self._loop))

    async def look_up(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses of a name in the resolver's order, allowed or not."""
        # RFC 6761, section 6.3: all names below `localhost` are loopback.
        is_local = host.lower().rstrip(".").endswith(".localhost")
        return await super()._resolve_host("localhost" if is_local else host, port)

    async def _resolve_host(
        self, host: str, port: int, traces: Sequence[Trace] | None = None
    ) -> list[ResolveResult]:
        answers = _route_of(traces).answers if traces else None
        return await self.look_up(host, port) if answers is None else [*answers]

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
