"""What comes over the wire is counted and limited, and what has arrived is never lost."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from yarl import URL

from sitemapreader import FetchError, FetchOptions, Limits, walk
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch import HttpFetcher, read_body
from sitemapreader.fetch.cookies import ChainCookies

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from sitemapreader import Report

BODY = b"<urlset>" + b"<url><loc>http://127.0.0.1/a</loc></url>" * 500 + b"</urlset>"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)
ONCE = FetchOptions(max_attempts=1)


@asynccontextmanager
async def serve(answer: Callable[[], Iterable[bytes]]) -> AsyncIterator[str]:
    """Answer each request with the same bytes; give the URL of a sitemap."""

    async def accept(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                for piece in answer():
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/sitemap.xml"


async def read(
    answer: Callable[[], Iterable[bytes]], limits: Limits | None = None
) -> tuple[bytes, FetchError | None, int]:
    """Fetch a document; return its body, what was wrong, and the bytes around it."""
    body = b""
    async with (
        serve(answer) as url,
        HttpFetcher(ONCE, limits=limits or Limits()) as fetcher,
    ):
        fetcher.trust(url)
        try:
            async with fetcher.open(url) as response:
                async for chunk in response.chunks():
                    body += chunk
        except FetchError as error:
            return body, error, response.bytes_around if body else 0
    return body, None, response.bytes_around


async def walk_over(answer: Callable[[], Iterable[bytes]], **limits: Any) -> Report:
    """Walk over one sitemap; return the report."""
    async with serve(answer) as url:
        entries = walk(
            sitemaps=[url],
            options=attrs.evolve(ONCE, respect_robots=False),
            limits=Limits(**limits),
        )
        async with entries:
            async for _ in entries:
                pass
    return entries.report


def write_chunks(size: int, *, extension: bytes = b"") -> bytes:
    """Write the body in chunks of one size."""
    pieces = [BODY[start : start + size] for start in range(0, len(BODY), size)]
    chunks = [b"%x%b\r\n%b\r\n" % (len(each), extension, each) for each in pieces]
    return CHUNKED + b"".join(chunks) + b"0\r\n\r\n"


def cut(data: bytes, size: int) -> list[bytes]:
    """Cut bytes into packets."""
    return [data[start : start + size] for start in range(0, len(data), size)]


# -- headers


@pytest.mark.parametrize(
    "fields",
    [
        b"Link: " + b"<https://example.org/a.css>; rel=preload, " * 1_000 + b"\r\n",
        b"Content-Security-Policy: " + b"a" * 65_000 + b"\r\n",
        b"".join(b"X-Field-%d: a\r\n" % number for number in range(900)),
        b"".join(
            b"X-Field-%d: %b\r\n" % (number, b"a" * 60_000) for number in range(4)
        ),
    ],
    ids=["one of 42 KB", "one of 65 KB", "900 fields", "four of 60 KB"],
)
async def test_long_headers_are_read(fields: bytes) -> None:
    """A field may have 64 KiB, all together 256 KiB, and there may be 1,000."""
    head, rest = PLAIN.split(b"\r\n", 1)
    body, error, _ = await read(
        lambda: cut(head + b"\r\n" + fields + rest + BODY, 50_001)
    )
    assert (body, error) == (BODY, None)


@pytest.mark.parametrize(
    "fields",
    [
        b"Link: " + b"a" * 66_000 + b"\r\n",
        b"".join(b"X-Field-%d: a\r\n" % number for number in range(1_100)),
        b"".join(
            b"X-Field-%d: %b\r\n" % (number, b"a" * 30_000) for number in range(9)
        ),
    ],
    ids=["one of 66 KB", "1,100 fields", "nine of 30 KB"],
)
async def test_headers_beyond_the_limits_are_an_error_with_a_code(
    fields: bytes,
) -> None:
    """Headers that are too long or too many are `bad-http`; no URL comes of them."""
    head, rest = PLAIN.split(b"\r\n", 1)
    report = await walk_over(lambda: cut(head + b"\r\n" + fields + rest + BODY, 50_001))
    assert [document.reason for document in report.documents] == [IssueCode.BAD_HTTP]
    assert report.entries == 0


async def test_a_head_may_come_in_packets_of_any_size() -> None:
    """Where the packets end does not matter, in headers, interim responses and chunks."""
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    wire = interim * 3 + write_chunks(700, extension=b";a=b")
    packets = [cut(wire, size) for size in (1, 2, 3, 7, 64, 100_000)]
    found = [await read(pieces.copy) for pieces in packets]
    assert {body for body, _, _ in found} == {BODY}
    assert {error for _, error, _ in found} == {None}
    assert len({around for _, _, around in found}) == 1


@pytest.mark.parametrize("status", [b"100 Continue", b"103 Early Hints", b"199 Own"])
async def test_interim_responses_are_counted_and_limited(status: bytes) -> None:
    """Twenty interim responses are read and counted; the next one ends the request."""
    interim = b"HTTP/1.1 %b\r\n\r\n" % status
    report = await walk_over(lambda: [interim * 20 + PLAIN + BODY])
    assert report.bytes_raw == len(interim) * 20 + len(BODY)
    assert report.documents[0].reason == ""
    report = await walk_over(lambda: [interim * 1_000 + PLAIN + BODY])
    assert report.documents[0].reason == IssueCode.BAD_HTTP
    assert "interim" in str(report.issues[-1])


# -- around a body


@pytest.mark.parametrize(
    "wire",
    [
        write_chunks(1),
        write_chunks(15),
        write_chunks(16),
        write_chunks(3, extension=b';name="value"'),
        write_chunks(9_000, extension=b";" + b"x" * 5_000),
        write_chunks(4_000).replace(b"fa0\r\n", b"000FA0 \t\r\n"),
        write_chunks(4_000).removesuffix(b"\r\n")
        + b"Digest: abc\r\nExpires: 0\r\n\r\n",
    ],
    ids=[
        "one",
        "fifteen",
        "sixteen",
        "extension",
        "long extensions",
        "zeros",
        "trailers",
    ],
)
async def test_what_is_around_a_body_is_counted(wire: bytes) -> None:
    """Sizes and extensions of chunks and trailers count as bytes; the body is the same."""
    size = len(wire) - len(CHUNKED)
    body, error, around = await read(lambda: cut(wire, 4_001))
    assert (body, error) == (BODY, None)
    assert len(body) + around == size
    report = await walk_over(lambda: cut(wire, 4_001))
    assert (report.entries, report.bytes_raw) == (500, size)


@pytest.mark.parametrize(
    "wire",
    [
        CHUNKED + b"5;" + b"x" * 300_000 + b"\r\n" + b"<url>" + b"\r\n0\r\n\r\n",
        write_chunks(1, extension=b";padding=" + b"x" * 20),
        write_chunks(900).removesuffix(b"\r\n")
        + (b"T: " + b"x" * 9_000 + b"\r\n") * 30
        + b"\r\n",
        (b"HTTP/1.1 102 Processing\r\nX: " + b"x" * 12_000 + b"\r\n\r\n") * 20
        + PLAIN
        + BODY,
    ],
    ids=["one extension", "extensions", "trailers", "interim responses"],
)
async def test_what_is_around_a_body_is_limited(wire: bytes) -> None:
    """Bytes around a body count for `raw_bytes`, and for the bytes of the walk."""
    report = await walk_over(lambda: cut(wire, 60_000), raw_bytes=100_000)
    assert report.documents[0].reason == IssueCode.TOO_LARGE
    report = await walk_over(lambda: cut(wire, 60_000), walk_bytes=100_000)
    assert report.bytes_raw > 100_000
    assert not report.complete or report.documents[0].status == "complete"


@pytest.mark.parametrize(
    "chunk",
    [b"x\r\nabc\r\n", b"-1\r\nabc\r\n", b"3\r\nabcdef\r\n", b"3\rabc\r\n", b"\r\n"],
)
async def test_broken_chunks_end_the_body_after_what_came_before(chunk: bytes) -> None:
    """What is no chunk is `body-cut`, as ever, and all whole chunks before it are delivered."""
    body, error, _ = await read(
        lambda: [CHUNKED + b"5\r\n<url>\r\n" + chunk + b"0\r\n\r\n"]
    )
    assert body.startswith(b"<url>")
    assert error is not None
    assert error.code is IssueCode.BODY_CUT


async def test_a_connection_closed_after_its_chunks_has_sent_nothing_more() -> None:
    """A server that hangs up while its body is being read has sent no surplus."""
    big = b"%x\r\n%b\r\n" % (len(BODY) * 40, BODY * 40)

    def answer() -> Iterable[bytes]:
        yield CHUNKED + big + b"0\r\n\r\n"
        raise ConnectionError

    report = await walk_over(answer)
    assert not report.counts[IssueCode.SURPLUS_BYTES]


# -- cookies


@asynccontextmanager
async def serve_redirects(
    answer: Callable[[str, str], bytes],
) -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """Answer by path and cookies; give the origin, and the list of requests."""
    requests: list[tuple[str, str]] = []

    async def accept(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                fields = dict(
                    line.split(": ", 1) for line in head.split("\r\n")[1:] if line
                )
                request = head.split(" ")[1], fields.get("Cookie", "")
                requests.append(request)
                writer.write(answer(*request))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", requests


def write(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    """Write an answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body


def send_back(path: str, *cookies: str) -> bytes:
    """Write a redirect that sets cookies."""
    fields = (f"Set-Cookie: {cookie}" for cookie in cookies)
    return write(b"", f"Location: {path}", *fields, status="302 Found")


@pytest.mark.parametrize(
    ("cookies", "sent"),
    [
        (("seen=1",), "seen=1"),
        (
            ("a=1; Path=/; HttpOnly", 'b="two words"; SameSite=Lax'),
            'a=1; b="two words"',
        ),
        (("id=x==; Domain=.example.org", "id=y; Max-Age=60"), "id=y"),
        (("old=; Max-Age=0", "new=%7B%22"), "new=%7B%22"),
    ],
)
@pytest.mark.parametrize("wall", ["/robots.txt", "/sitemap.xml", "/"])
async def test_cookies_of_a_redirect_go_back_to_its_origin(
    wall: str, cookies: tuple[str, ...], sent: str
) -> None:
    """A document that asks for its cookies by redirecting to itself is read."""

    def answer(path: str, cookie: str) -> bytes:
        if path == wall and not cookie:
            return send_back(path, *cookies)
        pages = {"/": b"<link rel=sitemap href=/map?1>", "/map?1": BODY}
        if wall != "/":
            pages = {"/robots.txt": b"Sitemap: /sitemap.xml", "/sitemap.xml": BODY}
        return (
            write(pages[path]) if path in pages else write(b"", status="404 Not Found")
        )

    async with (
        serve_redirects(answer) as (origin, requests),
        walk(origin, options=ONCE) as entries,
    ):
        found = [entry async for entry in entries]
    assert len(found) == 500
    assert (wall, sent) in requests
    others = [cookie for path, cookie in requests if path != wall]
    assert not any(others)


@pytest.mark.parametrize("path", ["/a%7Eb/s.xml", "/a%7Eb/s.xml?c=%7E/d"])
async def test_the_path_of_a_cookie_is_compared_as_it_was_requested(path: str) -> None:
    """Its escapes stay (RFC 6265, section 5.1.4), and a query is no part of it."""

    def answer(_: str, cookie: str) -> bytes:
        if cookie:
            return write(BODY)
        return send_back(path, "far=1; Path=/a~b", "near=2; Path=/a%7Eb", "own=3")

    options = attrs.evolve(ONCE, respect_robots=False)
    async with (
        serve_redirects(answer) as (origin, requests),
        walk(sitemaps=[f"{origin}{path}"], options=options) as entries,
    ):
        assert len([entry async for entry in entries]) == 500
    assert requests == [(path, ""), (path, "near=2; own=3")]


async def test_a_cookie_wall_without_end_is_a_loop() -> None:
    """The second identical round ends it; a wall with a new cookie each time ends as well."""
    async with serve_redirects(lambda path, _: send_back(path, "wall=1")) as (
        origin,
        requests,
    ):
        async with walk(
            sitemaps=[f"{origin}/s.xml"], options=FetchOptions(respect_robots=False)
        ) as entries:
            assert [entry async for entry in entries] == []
        assert entries.report.documents[0].reason == IssueCode.REDIRECT_LOOP
        assert requests == [("/s.xml", ""), ("/s.xml", "wall=1")]
    numbers = iter(range(100))

    def answer(path: str, _: str) -> bytes:
        return send_back(path, f"wall={next(numbers)}")

    async with serve_redirects(answer) as (origin, requests):
        async with walk(
            sitemaps=[f"{origin}/s.xml"], options=FetchOptions(respect_robots=False)
        ) as entries:
            assert [entry async for entry in entries] == []
        assert entries.report.documents[0].reason == IssueCode.TOO_MANY_REDIRECTS
        assert len(requests) == 6


@pytest.mark.parametrize("host", ["a.example", "127.0.0.1", "[::1]"])
async def test_the_cookies_of_a_chain(host: str) -> None:
    """A host may be an address; a path and another origin have their effect."""
    cookies, url = ChainCookies(), URL(f"https://{host}/maps/a.xml?b=%2F")
    assert cookies.write(url) == ""
    cookies.add(url, ["a=1; Path=/", 'b="2 3"', "c=4; Path=/x"])
    cookies.add(URL(f"http://{host}/"), ["d=5"])
    assert cookies.write(url) == 'a=1; b="2 3"'
    assert cookies.write(URL(f"https://{host}/")) == "a=1"
    assert cookies.write(URL(f"http://{host}/")) == "d=5"
    assert cookies.write(URL(f"https://{host}:8443/")) == ""


async def test_cookies_stay_with_their_origin_and_their_document() -> None:
    """Another origin gets none, nor does the next document; the caller's own cookie stays."""

    def answer(path: str, cookie: str) -> bytes:
        if path == "/a.xml" and "wall" not in cookie:
            return send_back("/a.xml", "wall=1; Path=/")
        return send_back(f"{other}/b.xml") if path == "/a.xml" else write(BODY)

    options = FetchOptions(headers={"Cookie": "own=2"}, allow_networks=("127.0.0.0/8",))
    async with (
        serve_redirects(lambda *_: write(BODY)) as (other, others),
        serve_redirects(answer) as (origin, requests),
        HttpFetcher(options) as fetcher,
    ):
        fetcher.trust(origin)
        fetcher.own_trust.ports.add(int(other.rpartition(":")[2]))
        for path in ("/a.xml", "/c.xml"):
            async with fetcher.open(origin + path) as response:
                await read_body(response, 1_000_000)
    assert requests == [
        ("/a.xml", "own=2"),
        ("/a.xml", "own=2; wall=1"),
        ("/c.xml", "own=2"),
    ]
    assert others == [("/b.xml", "")]


# -- a process that was stopped


@contextmanager
def answer_slowly(pieces: list[bytes], seconds: float) -> Iterator[str]:
    """Send an answer in pieces, from a thread: it goes on while the event loop stands still."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        line, _ = listener.accept()
        with line:
            line.recv(10_000)
            for piece in pieces:
                line.sendall(piece)
                time.sleep(seconds)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/sitemap.xml"
        thread.join(5)


@pytest.mark.parametrize(
    "pieces",
    [
        [PLAIN, BODY],
        [PLAIN + BODY[:999], BODY[999:]],
        [b"HTTP/1.1 200 OK\r\n", PLAIN.split(b"\r\n", 1)[1] + BODY],
        [PLAIN.replace(b"%d" % len(BODY), b"%d" % (len(BODY) * 20)) + BODY, BODY * 19],
    ],
    ids=["the body", "the rest of it", "the headers", "more than one read"],
)
async def test_what_arrived_while_the_process_stood_still_is_read(
    pieces: list[bytes],
) -> None:
    """Time in which this process was stopped is no silence of the server."""
    options = FetchOptions(idle_seconds=0.3, headers_seconds=0.3, max_attempts=1)
    with answer_slowly(pieces, 0.2) as url:
        async with HttpFetcher(options) as fetcher:
            fetcher.trust(url)
            asyncio.get_running_loop().call_later(0.1, time.sleep, 0.7)
            async with fetcher.open(url) as response:
                body = await read_body(response, 10_000_000)
    assert body == (BODY * 20)[: len(body)]
    assert len(body) % len(BODY) == 0
