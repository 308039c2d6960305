"""Connections: each gives one answer to one request, and nothing else counts."""

# HTTP/1.1 numbers no answers: what comes first after a request is taken for its answer. aiohttp
# hands out a kept connection on which something has arrived meanwhile (a second answer, the rest of
# a body that was longer than stated, a 408), and the next document would have the wrong body, or
# none. RFC 9112, section 6.3: such bytes are not an answer, and the connection is done for.

from __future__ import annotations

import re
import select
import socket
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from aiohttp.abc import ResolveResult
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace
    from yarl import URL

    from sitemapreader.fetch.client import Trust

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length[ \t]*:([^\r\n]*)\r?\n", re.IGNORECASE | re.MULTILINE)
_TIMED_OUT = re.compile(rb"HTTP/1\.[01] 408")
_MOST_HOSTS = 1_000
"""How many hosts are remembered that are out of step."""
_BYTES = getattr(select, "POLLIN", 1)
_END = getattr(select, "POLLHUP", 16) | getattr(select, "POLLRDHUP", 0)


class OneAnswer(ResponseHandler):
    """The protocol of a connection, which gives aiohttp's parser one answer a request.

    Attributes:
        uses: how many requests were sent.
        has_surplus: whether more has arrived than the answers to them.
        is_told: whether an Issue says so.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.uses = 0
        self.has_surplus = False
        self.is_told = False
        self._awaits_head = True
        self._body: aiohttp.StreamReader | None = None

    def set_response_params(self, **how: Any) -> None:
        """Begin a request."""
        self.uses += 1
        self._awaits_head = True
        self._body = None
        super().set_response_params(**how)

    def data_received(self, data: bytes) -> None:
        """Give to the parser what belongs to the answer."""
        # Heads apart from the body: the parser forgets an answer if anything after it is no HTTP.
        while self._awaits_head and self.uses and (end := _END_OF_HEAD.search(data)):
            super().data_received(_merge_lengths(data[: end.end()]))
            data = data[end.end() :]
            if not data or self.exception() is not None:
                return
        if data and self._is_complete():
            self._refuse(data)
            return
        super().data_received(data)
        if (fault := self.exception()) is None or self._body is None:
            return
        if self._is_complete():
            self.has_surplus = True  # what follows the body is no HTTP
        else:  # aiohttp tells nobody: a read would wait for ever
            self._body.set_exception(aiohttp.ClientPayloadError(str(fault)), fault)

    def _is_complete(self) -> bool:
        return self._body is not None and self._body.is_eof()

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take a message from the parser: the answer, or one before it (1xx)."""
        if not self._awaits_head:
            self.has_surplus = True
            return
        message, body = data
        self._awaits_head = 100 <= message.code < 200 and message.code != 101
        if not self._awaits_head:
            self._body = body
        super().feed_data(data, size)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give to a body without an end what cut it."""
        # aiohttp takes a reset for the end of a body that nothing else ends, and half a line of a
        # text sitemap would become a URL.
        if exc is not None and self._body is not None and not self._body.is_eof():
            self._body.set_exception(aiohttp.ClientPayloadError(str(exc)), exc)
        super().connection_lost(exc)

    def _refuse(self, data: bytes) -> None:
        """Read no more of a connection on which arrives what nobody has asked for."""
        # A server may say 408 to a connection that is idle for long: that is in order.
        self.has_surplus = not _TIMED_OUT.match(data)
        self.force_close()
        if self.transport is not None:
            self.transport.pause_reading()

    def has_two_answers(self) -> bool:
        """Return whether more than the last answer has arrived."""
        if self.has_surplus or not self._is_complete():
            return self.has_surplus
        # Twice: Linux counts the end of a connection as received before it says that it is one.
        return self._poll() == _BYTES == self._poll()

    def is_idle(self) -> bool:
        """Return whether nothing has arrived since the last answer, nor its end."""
        return not self.has_surplus and not self.should_close and not self._poll()

    def _poll(self) -> int:
        """Return what is in the socket and was not read yet; 0 for nothing."""
        line = self.transport.get_extra_info("socket") if self.transport is not None else None
        if line is None or line.fileno() < 0:
            return _END
        if not hasattr(select, "poll"):
            return _BYTES if select.select([line.fileno()], [], [], 0)[0] else 0
        poll = select.poll()
        poll.register(line.fileno(), _BYTES | _END)
        return sum(mask for _, mask in poll.poll(0))


def _merge_lengths(head: bytes) -> bytes:
    """Write equal Content-Lengths as one (RFC 9110, section 8.6)."""
    values = [value.strip(b" \t") for value in b",".join(_LENGTH.findall(head)).split(b",")]
    if len(values) == 1 or len(set(values)) > 1:
        return head
    status, rest = _LENGTH.sub(b"", head).split(b"\n", 1)
    return b"%b\nContent-Length: %b\r\n%b" % (status, values[0], rest)


class CleanConnector(aiohttp.TCPConnector):
    """A connector that hands out a kept connection only if nothing has arrived on it.

    A host that has once sent more than its answers gets a new connection for each request. Direct
    connections go to addresses that the request's `Trust` allows; others to a proxy.
    """

    def __init__(self, *, is_direct: bool, **how: Any) -> None:
        super().__init__(**how)
        self._is_direct = is_direct
        self._factory = cast("partial[ResponseHandler]", partial(OneAnswer, loop=self._loop))
        self._out_of_step: dict[tuple[str | None, int | None], OneAnswer] = {}
        """Hosts that have sent more than their answers, and the last connection where they did."""

    async def look_up(self, host: str, port: int) -> list[ResolveResult]:
        """Return the addresses of a name in the resolver's order, allowed or not."""
        # RFC 6761, section 6.3: all names below `localhost` are loopback.
        is_local = host.lower().rstrip(".").endswith(".localhost")
        return await super()._resolve_host("localhost" if is_local else host, port)

    async def _resolve_host(
        self, host: str, port: int, traces: Sequence[Trace] | None = None
    ) -> list[ResolveResult]:
        found = await self.look_up(host, port)
        if self._is_direct:  # again: the name may have another address than a moment ago
            name = host.lower().rstrip(".")
            (trace,) = traces or ()  # what a request carries has no public name on this way
            trust: Trust = trace._trace_config_ctx.trace_request_ctx  # noqa: SLF001 (as said)
            found = [each for each in found if trust.allows(name, each["host"])]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "no address of it is allowed")
        return found

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (line := await super()._get(key, traces)) is not None:
            is_in_step = (key.host, key.port) not in self._out_of_step
            if is_in_step and cast("OneAnswer", line.protocol).is_idle():
                return line
            line.close()
        return None

    def _release(
        self, key: ConnectionKey, protocol: ResponseHandler, *, should_close: bool = False
    ) -> None:
        place, known = (key.host, key.port), self._out_of_step
        if isinstance(protocol, OneAnswer) and protocol.has_surplus:
            known[place] = protocol
            if len(known) > _MOST_HOSTS:
                del known[next(iter(known))]
        super()._release(key, protocol, should_close=should_close or place in known)

    def take_surplus(self, url: URL, line: OneAnswer) -> bool:
        """Return once whether more than answers came on a line, or before."""
        told = False
        for each in (line, self._out_of_step.get((url.raw_host, url.port), line)):
            if each.has_surplus and not each.is_told:
                each.is_told = told = True
        return told
