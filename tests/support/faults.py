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
from itertools import chain, cycle, repeat
from typing import TYPE_CHECKING, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

import attrs

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable

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
        earlier: how many came for the same path before.
    """

    path: str
    headers: dict[str, str]
    at: float
    at_once: int
    earlier: int

    @property
    def last(self) -> str:
        """The last segment of the path."""
        return self.path.rpartition("/")[2]

    @property
    def query(self) -> dict[str, str]:
        return {
            name: values[0]
            for name, values in parse_qs(urlsplit(self.path).query).items()
        }


Step: TypeAlias = "bytes | float | str"
"""What is sent, seconds to wait, "reset" (a RST ends the connection), "wait" (for the client to go)
or "keep" (the connection is not closed in the end, but stays for the next request)."""
Route: TypeAlias = "Callable[[Request], Iterable[Step]]"


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
    "coding-unknown": head("200 OK", "Content-Encoding: foo", length=len(DOCUMENT))
    + DOCUMENT,
    "empty": head(length=0),
    "links": head("200 OK", "Link: </a>", "Link: </b>", "X-Name: caf\xe9", length=2)
    + b"ok",
    # cut off
    "length-short": head(length=len(DOCUMENT)) + DOCUMENT[:HALF],
    "length-huge": head(length=10**18) + DOCUMENT,
    "chunk-cut": CHUNKED + b"%x\r\n" % len(DOCUMENT) + DOCUMENT[:HALF],
    "chunks-without-end": CHUNKED + chunk(DOCUMENT),
    # not HTTP
    "length-small": head(length=HALF) + DOCUMENT,
    "length-negative": head(length=-5) + DOCUMENT,
    "length-again": head(
        "200 OK", f"content-length: {len(DOCUMENT)}", length=len(DOCUMENT)
    )
    + DOCUMENT,
    "length-list": head(
        "200 OK", "Content-Length: " + ", ".join([str(len(DOCUMENT))] * 3)
    )
    + DOCUMENT,
    "length-twice": head("200 OK", "Content-Length: 5", length=len(DOCUMENT))
    + DOCUMENT,
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
        bytes([byte])
        for byte in head("200 OK", *(f"X-{n}: a" for n in range(100)), length=0)
    ),
}
"""After the last piece the connection stays open, and silent."""


def answered(body: bytes = DOCUMENT, status: str = "200 OK", *more: str) -> list[Step]:
    """Make a well-formed answer."""
    return [head(status, *more, length=len(body)) + body, "keep"]


def always(*steps: Step) -> Route:
    """Make a route that has one script."""
    return lambda _: steps


def beat(*pieces: bytes) -> list[Step]:
    """Send pieces that are to arrive one by one."""
    return [step for piece in pieces for step in (piece, BEAT)]


# -- all others: what is in the query of a request, if its route has parameters


def serve_a_version(request: Request) -> Iterable[Step]:
    """Answer 304 to who has version "1", with the headers of what is not sent (RFC 9110, 15.4.5).

    `?hop=1` redirects to it first; `?body=1` sends a body with the 304 all the same.
    """
    if "hop" in request.query:
        return answered(b"", "302 Found", "Location: /versioned")
    if request.headers.get("if-none-match") != '"1"':
        return answered(DOCUMENT, "200 OK", 'ETag: "1"')
    told = head("304 Not Modified", 'ETag: "1"', length=len(DOCUMENT))
    return [told + DOCUMENT * ("body" in request.query), "keep"]


def serve_endlessly(request: Request) -> Iterable[Step]:
    """Send chunks, or with `?until=close` a body without end."""
    block = b"<url><loc>http://site.example/</loc></url>" * 1024
    chunked = "until" not in request.query
    start = CHUNKED if chunked else head("200 OK", "Connection: close")
    pieces = repeat(chunk(block) if chunked else block, ENDLESS_BYTES // len(block))
    return chain([start], pieces)


def serve_in_bursts(request: Request) -> Iterable[Step]:
    """Send the document in four parts, and then what `?end=` says: cut, reset or bad-chunk."""
    quarter = len(DOCUMENT) // 4 + 1
    parts = [DOCUMENT[n : n + quarter] for n in range(0, len(DOCUMENT), quarter)]
    if request.query["end"] == "bad-chunk":
        return [*beat(CHUNKED, *map(chunk, parts), b"ZZZ\r\n"), "wait"]
    sent = beat(head(length=len(DOCUMENT) + 1), *parts)
    return [*sent, "reset"] if request.query["end"] == "reset" else sent


def fail_first(request: Request) -> Iterable[Step]:
    """Fail `?times=` times with `?with=` (a status, or reset), then answer; a count a path."""
    if request.earlier >= int(request.query["times"]):
        return answered()
    how = request.query["with"]
    return ["reset"] if how == "reset" else [head(f"{how} No", length=0)]


def ask_to_come_back(request: Request) -> Iterable[Step]:
    """Answer with `?status=`, and with `?after=` as Retry-After, the first time."""
    if request.earlier:
        return answered()
    query = request.query
    return answered(b"", f"{query['status']} Later", f"Retry-After: {query['after']}")


def pack(request: Request) -> Iterable[Step]:
    """Answer with as many `?layers=` of gzip, and whatever `?coding=` says that there are."""
    query, body = request.query, DOCUMENT
    for _ in range(int(query["layers"])):
        body = gzip.compress(body, mtime=0)
    coding = [f"Content-Encoding: {query['coding']}"] if "coding" in query else []
    return answered(body, "200 OK", *coding)


def redirect_onwards(request: Request) -> Iterable[Step]:
    """Redirect `/hops/3` to `/hops/2`, and answer `/hops/0`."""
    left = int(request.last)
    if not left:
        return answered()
    return answered(b"moved", "301 Moved", f"Location: /hops/{left - 1}")


def redirect_to(request: Request) -> Iterable[Step]:
    """Redirect to whatever is in `?url=`; with `?status=` in that way."""
    query = request.query
    status, url = query.get("status", "302"), query["url"].encode().decode("latin-1")
    return answered(b"moved", f"{status} Moved", f"Location: {url}")


_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
ROUTES: dict[str, Route] = {
    **{name: always(answer) for name, answer in ANSWERS.items()},
    **{name: always(*beat(*pieces), "wait") for name, pieces in PIECES.items()},
    "ok": always(*answered()),
    "status": lambda request: [head(f"{request.last} Said So", length=0)],
    "versioned": serve_a_version,
    "drip": lambda _: beat(
        head(length=len(DOCUMENT)), *(DOCUMENT[n : n + 1] for n in range(len(DOCUMENT)))
    ),
    "continue-for-ever": lambda _: cycle([_CONTINUE, BEAT]),
    "continue": lambda request: [_CONTINUE * int(request.query["times"]), *answered()],
    "endless": serve_endlessly,
    "reset": always("reset"),
    "reset-until-close": always(
        *beat(head("200 OK", "Connection: close") + DOCUMENT[:HALF]), "reset"
    ),
    "reset-mid": always(*beat(head(length=len(DOCUMENT)) + DOCUMENT[:HALF]), "reset"),
    "bursts": serve_in_bursts,
    "flaky": fail_first,
    "later": ask_to_come_back,
    "packed": pack,
    "slow": always(2 * BEAT, *answered()),
    "hops": redirect_onwards,
    "to": redirect_to,
    "circle": lambda request: answered(
        b"", "302 Found", f"Location: /circle/{'b' if request.last == 'a' else 'a'}"
    ),
    "redirect-with-endless-body": lambda _: chain(
        [head("302 Found", "Location: /ok", "Transfer-Encoding: chunked")],
        repeat(chunk(b"x" * 65_536), REDIRECT_BODY_BYTES // 65_536),
    ),
}
"""First segment of a path -> its script; other paths are not found."""

# -- the server


class FaultServer:
    """The server; use it as an async context manager.

    Attributes:
        requests: everything that was asked, in order.
        connections: how many there have been.
        running: requests that are being answered.
        sent_bytes: how much could be sent.
    """

    def __init__(
        self, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.host = host
        self.port = 0
        self.requests: list[Request] = []
        self.connections = 0
        self.running = 0
        self.sent_bytes = 0
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
        self._server = await asyncio.start_server(
            self._accept, self.host, 0, ssl=self._tls
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def answer(self, request: Request) -> Iterable[Step]:
        """Return the script for a request."""
        name = urlsplit(request.path).path.split("/")[1]
        return ROUTES.get(name, always(*answered(b"", "404 Not Found")))(request)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        # A callback, not a coroutine: asyncio would keep the tasks to itself.
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        keeps_open = True
        try:
            while keeps_open:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(
                    request := self._read_request(head.decode("latin-1"))
                )
                self.running += 1
                try:
                    keeps_open = await self._play(self.answer(request), reader, writer)
                finally:
                    self.running -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone, which is its right
        finally:
            if not writer.transport.is_closing():
                writer.close()

    def _read_request(self, head: str) -> Request:
        first, *lines = head.split("\r\n")
        path = first.split(" ")[1]
        pairs = (line.partition(":") for line in lines if line)
        return Request(
            path=path,
            headers={name.lower(): value.strip() for name, _, value in pairs},
            at=asyncio.get_running_loop().time(),
            at_once=self.running + 1,
            earlier=sum(each.path == path for each in self.requests),
        )

    async def _play(
        self,
        script: Iterable[Step],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Do what a script says, step by step; return whether the connection stays."""
        keeps_open = False
        for step in script:
            match step:
                case bytes():
                    writer.write(step)
                    await writer.drain()
                    self.sent_bytes += len(step)
                case float():
                    await asyncio.sleep(step)
                case "reset":
                    reset(writer)
                case "wait":
                    with contextlib.suppress(ConnectionError):
                        await reader.read()
                case _:
                    keeps_open = True
        return keeps_open


def reset(writer: asyncio.StreamWriter) -> None:
    """Break a connection off with a RST."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, linger
    )
    writer.transport.abort()
