"""A server on loopback that answers in every wrong way there is: one route a fault.

    async with FaultServer() as server:
        await fetch(server.url("chunk-cut"))
        assert server.requests[0].path == "/chunk-cut"

Routes speak bytes over a raw socket, since no HTTP library can be made to lie. Those that never end
stop when the client goes, or after `ENDLESS_BYTES`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import struct
from typing import TYPE_CHECKING, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

import attrs

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

DOCUMENT = (
    b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    + b"".join(b"<url><loc>http://site.example/%d</loc></url>" % n for n in range(200))
    + b"</urlset>"
)
GZIPPED = gzip.compress(DOCUMENT, mtime=0)
HALF = len(DOCUMENT) // 2
ENDLESS_BYTES = 16 * 1024 * 1024
REDIRECT_BODY_BYTES = 64 * 1024 * 1024
BEAT = 0.05
"""Seconds between two pieces that are to arrive one by one."""


@attrs.frozen
class Request:
    """What a client sent.

    Attributes:
        path: with the query.
        headers: by lower-case name.
        at: loop time of its arrival.
        at_once: how many requests were being answered, this one included.
    """

    path: str
    headers: dict[str, str]
    at: float
    at_once: int

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}


class Line:
    """One connection, as a route sees it."""

    def __init__(
        self, server: FaultServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server = server
        self.keeps_open = False
        self._reader = reader
        self._writer = writer

    async def read_request(self) -> Request | None:
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return Request(
            path=first.split(" ")[1],
            headers={name.lower(): value.strip() for name, _, value in pairs},
            at=asyncio.get_running_loop().time(),
            at_once=self.server.running + 1,
        )

    async def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Send pieces, with a pause after each."""
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()
            if pause:
                await asyncio.sleep(pause)

    async def answer(self, body: bytes = DOCUMENT, status: str = "200 OK", *more: str) -> None:
        """Send a well-formed answer, and stay for the next request."""
        await self.send(head(status, *more, length=len(body)) + body)
        self.keeps_open = True

    async def wait_for_end(self) -> None:
        """Stay silent until the client hangs up."""
        with contextlib.suppress(ConnectionError):
            await self._reader.read()

    def reset(self) -> None:
        """Break the connection off with a RST."""
        linger = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self._writer.transport.abort()

    async def close(self) -> None:
        if not self._writer.transport.is_closing():
            self._writer.close()


Route: TypeAlias = "Callable[[Line, Request], Awaitable[None]]"
ROUTES: dict[str, Route] = {}


def route(name: str) -> Callable[[Route], Route]:
    """Put a function under the first segment of a path."""

    def register(function: Route) -> Route:
        ROUTES[name] = function
        return function

    return register


def head(status: str = "200 OK", *more: str, length: int | None = None) -> bytes:
    """Write the head of an answer."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/xml", *more]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """Write one chunk of the chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


CHUNKED = head("200 OK", "Transfer-Encoding: chunked")
LAST_CHUNK = b"0\r\n\r\n"

# -- answers in one piece, after which the connection is closed

ANSWERS: dict[str, bytes] = {
    # in order
    "chunked": CHUNKED + chunk(DOCUMENT[:HALF]) + chunk(DOCUMENT[HALF:]) + LAST_CHUNK,
    "stale": head(length=len(DOCUMENT)) + DOCUMENT,  # a promise to keep the connection
    "chunks-of-one": CHUNKED + chunk(b"x") * 20_000 + LAST_CHUNK,
    "until-close": head("200 OK", "Connection: close") + DOCUMENT,
    "early-hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    + head(length=len(DOCUMENT))
    + DOCUMENT,
    "gzipped": head("200 OK", "Content-Encoding: gzip", length=len(GZIPPED)) + GZIPPED,
    "gzip-cut": head("200 OK", "Content-Encoding: gzip", length=40) + GZIPPED[:40],
    "coding-unknown": head("200 OK", "Content-Encoding: foo", length=len(DOCUMENT)) + DOCUMENT,
    "empty": head(length=0),
    "links": head("200 OK", "Link: </a>", "Link: </b>", "X-Name: caf\xe9", length=2) + b"ok",
    # cut off
    "length-short": head(length=len(DOCUMENT)) + DOCUMENT[:HALF],
    "length-huge": head(length=10**18) + DOCUMENT,
    "chunk-cut": CHUNKED + b"%x\r\n" % len(DOCUMENT) + DOCUMENT[:HALF],
    "chunks-without-end": CHUNKED + chunk(DOCUMENT),
    # not HTTP
    "length-small": head(length=HALF) + DOCUMENT,
    "length-negative": head(length=-5) + DOCUMENT,
    "length-again": head("200 OK", f"content-length: {len(DOCUMENT)}", length=len(DOCUMENT))
    + DOCUMENT,
    "length-list": head("200 OK", "Content-Length: " + ", ".join([str(len(DOCUMENT))] * 3))
    + DOCUMENT,
    "length-twice": head("200 OK", "Content-Length: 5", length=len(DOCUMENT)) + DOCUMENT,
    "length-and-chunks": head("200 OK", "Transfer-Encoding: chunked", length=5)
    + chunk(DOCUMENT)
    + LAST_CHUNK,
    "chunk-bad": CHUNKED + chunk(DOCUMENT) + b"ZZZ\r\n",
    "garbage": b"\x00\x01\x02 no HTTP at all\r\n\r\n",
    "http-0.9": DOCUMENT,
    "headers-many": head("200 OK", *(f"X-{n}: a" for n in range(10_000)), length=0),
    "header-long": head("200 OK", "X-A: " + "a" * 1_000_000, length=0),
    "status-long": b"HTTP/1.1 200 " + b"a" * 1_000_000 + b"\r\n\r\n",
    "header-nul": b"HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 2\r\n\r\nok",
    "no-content-with-body": head("204 No Content", length=5) + b"hello",
    # a body that is none of our business
    "upgrade": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    + DOCUMENT,
    # a redirect to nowhere
    "no-location": head("302 Found", length=0),
    # nothing
    "close": b"",
}

# -- answers in pieces that arrive one by one

PIECES: dict[str, tuple[bytes, ...]] = {
    "chunk-bad-late": (CHUNKED, chunk(DOCUMENT), b"ZZZ\r\n"),
    "chunk-end-missing-late": (CHUNKED, chunk(DOCUMENT), b"5\r\nhelloXX5\r\n"),
    "chunk-size-huge-late": (CHUNKED, chunk(DOCUMENT), b"f" * 40 + b"\r\n"),
    "trailer-bad-late": (CHUNKED, chunk(DOCUMENT), b"0\r\n\x00\x00\r\n\r\n"),
    "length-small-late": (head(length=HALF), DOCUMENT[:HALF], DOCUMENT[HALF:]),
    "headers-then-silence": (head(length=1000),),
    "half-then-silence": (head(length=len(DOCUMENT)) + DOCUMENT[:HALF],),
    "silence": (),
    "headers-drip": tuple(
        bytes([byte]) for byte in head("200 OK", *(f"X-{n}: a" for n in range(100)), length=0)
    ),
}
"""After the last piece the connection stays open, and silent."""


async def serve_whole(line: Line, request: Request) -> None:
    await line.send(ANSWERS[request.path.strip("/")])


async def serve_pieces(line: Line, request: Request) -> None:
    await line.send(*PIECES[request.path.strip("/")], pause=BEAT)
    await line.wait_for_end()


async def serve_nothing(line: Line, request: Request) -> None:
    del request
    await line.answer(b"", "404 Not Found")


ROUTES.update(dict.fromkeys(ANSWERS, serve_whole))
ROUTES.update(dict.fromkeys(PIECES, serve_pieces))

# -- all others


@route("ok")
async def serve_document(line: Line, request: Request) -> None:
    del request
    await line.answer()


@route("status")
async def serve_status(line: Line, request: Request) -> None:
    """Answer `/status/404` with that."""
    await line.send(head(f"{request.path.rpartition('/')[2]} Said So", length=0))


@route("versioned")
async def serve_a_version(line: Line, request: Request) -> None:
    """Answer 304 to who has version "1", with the headers of what is not sent (RFC 9110, 15.4.5).

    `?hop=1` redirects to it first; `?body=1` sends a body with the 304 all the same.
    """
    query = request.query
    if "hop" in query:
        await line.answer(b"", "302 Found", "Location: /versioned")
    elif request.headers.get("if-none-match") != '"1"':
        await line.answer(DOCUMENT, "200 OK", 'ETag: "1"')
    else:
        told = head("304 Not Modified", 'ETag: "1"', length=len(DOCUMENT))
        await line.send(told + DOCUMENT * ("body" in query))
        line.keeps_open = True


@route("drip")
async def serve_drops(line: Line, request: Request) -> None:
    """Send one byte a beat."""
    del request
    pieces = (DOCUMENT[n : n + 1] for n in range(len(DOCUMENT)))
    await line.send(head(length=len(DOCUMENT)), *pieces, pause=BEAT)


@route("continue-for-ever")
async def serve_promises(line: Line, request: Request) -> None:
    del request
    while True:
        await line.send(b"HTTP/1.1 100 Continue\r\n\r\n", pause=BEAT)


@route("continue")
async def promise_and_serve(line: Line, request: Request) -> None:
    """Say `100 Continue` as often as `?times=` asks for, and answer."""
    for _ in range(int(request.query["times"]) // 1_000):
        await line.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)
    await line.answer()


@route("endless")
async def serve_endlessly(line: Line, request: Request) -> None:
    """Send chunks, or with `?until=close` a body without end."""
    block = b"<url><loc>http://site.example/</loc></url>" * 1024
    chunked = "until" not in request.query
    await line.send(CHUNKED if chunked else head("200 OK", "Connection: close"))
    for _ in range(ENDLESS_BYTES // len(block)):
        await line.send(chunk(block) if chunked else block)


@route("reset")
async def reset_at_once(line: Line, request: Request) -> None:
    del request
    line.reset()


@route("reset-mid")
async def reset_in_body(line: Line, request: Request) -> None:
    del request
    await line.send(head(length=len(DOCUMENT)), DOCUMENT[:HALF], pause=BEAT)
    line.reset()


@route("bursts")
async def serve_in_bursts(line: Line, request: Request) -> None:
    """Send the document in four parts, and then what `?end=` says: cut, reset or bad-chunk."""
    end = request.query["end"]
    quarter = len(DOCUMENT) // 4 + 1
    parts = [DOCUMENT[n : n + quarter] for n in range(0, len(DOCUMENT), quarter)]
    if end == "bad-chunk":
        await line.send(CHUNKED, *map(chunk, parts), b"ZZZ\r\n", pause=BEAT)
        await line.wait_for_end()
    else:
        await line.send(head(length=len(DOCUMENT) + 1), *parts, pause=BEAT)
    if end == "reset":
        line.reset()


@route("flaky")
async def fail_first(line: Line, request: Request) -> None:
    """Fail `?times=` times with `?with=` (a status, or reset), then answer; a count a path."""
    done = sum(earlier.path == request.path for earlier in line.server.requests)
    if done > int(request.query["times"]):
        await line.answer()
    elif request.query["with"] == "reset":
        line.reset()
    else:
        await line.send(head(f"{request.query['with']} No", length=0))


@route("later")
async def ask_to_come_back(line: Line, request: Request) -> None:
    """Answer with `?status=`, and with `?after=` as Retry-After, the first time."""
    if sum(earlier.path == request.path for earlier in line.server.requests) > 1:
        await line.answer()
    else:
        query = request.query
        await line.answer(b"", f"{query['status']} Later", f"Retry-After: {query['after']}")


@route("packed")
async def pack(line: Line, request: Request) -> None:
    """Answer with as many `?layers=` of gzip, and whatever `?coding=` says that there are."""
    query, body = request.query, DOCUMENT
    for _ in range(int(query["layers"])):
        body = gzip.compress(body, mtime=0)
    coding = [f"Content-Encoding: {query['coding']}"] if "coding" in query else []
    await line.answer(body, "200 OK", *coding)


@route("slow")
async def answer_after_a_while(line: Line, request: Request) -> None:
    del request
    await asyncio.sleep(2 * BEAT)
    await line.answer()


@route("hops")
async def redirect_onwards(line: Line, request: Request) -> None:
    """Redirect `/hops/3` to `/hops/2`, and answer `/hops/0`."""
    left = int(request.path.rpartition("/")[2])
    if left:
        await line.answer(b"moved", "301 Moved", f"Location: /hops/{left - 1}")
    else:
        await line.answer()


@route("to")
async def redirect_to(line: Line, request: Request) -> None:
    """Redirect to whatever is in `?url=`; with `?status=` in that way."""
    query = request.query
    status, url = query.get("status", "302"), query["url"].encode().decode("latin-1")
    await line.answer(b"moved", f"{status} Moved", f"Location: {url}")


@route("circle")
async def redirect_in_a_circle(line: Line, request: Request) -> None:
    """Redirect `/circle/a` to `/circle/b` and back."""
    other = "b" if request.path.endswith("a") else "a"
    await line.answer(b"", "302 Found", f"Location: /circle/{other}")


@route("redirect-with-endless-body")
async def redirect_and_talk(line: Line, request: Request) -> None:
    del request
    await line.send(head("302 Found", "Location: /ok", "Transfer-Encoding: chunked"))
    block = chunk(b"x" * 65_536)
    for _ in range(REDIRECT_BODY_BYTES // 65_536):
        await line.send(block)
        line.server.wasted_bytes += 65_536


# -- the server


class FaultServer:
    """The server; use it as an async context manager.

    Attributes:
        requests: everything that was asked, in order.
        connections: how many there have been.
        running: requests that are being answered.
        wasted_bytes: how much of a redirect's endless body could be sent.
    """

    def __init__(self, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self.port = 0
        self.requests: list[Request] = []
        self.connections = 0
        self.running = 0
        self.wasted_bytes = 0
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def base(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{self.host}:{self.port}"

    def url(self, path: str) -> str:
        return f"{self.base}/{path.lstrip('/')}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self.host, 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A callback, not a coroutine: asyncio would keep the tasks to itself.
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(Line(self, reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, line: Line) -> None:
        try:
            while request := await line.read_request():
                self.requests.append(request)
                line.keeps_open = False
                self.running += 1
                try:
                    name = urlsplit(request.path).path.split("/")[1]
                    await ROUTES.get(name, serve_nothing)(line, request)
                finally:
                    self.running -= 1
                if not line.keeps_open:
                    break
        except ConnectionError:
            pass  # the client has gone, which is its right
        finally:
            await line.close()
