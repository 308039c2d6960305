"""Every route of the fault server: which code it gives, and every byte that arrived before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs
import pytest

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch import read_body
from sitemapreader.fetch.http import HttpFetcher
from tests.support.faults import (
    ANSWERS,
    DOCUMENT,
    GZIPPED,
    HALF,
    PIECES,
    ROUTES,
    FaultServer,
)
from tests.support.timing import retried

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PATIENT = FetchOptions(max_attempts=1)
HASTY = FetchOptions(
    max_attempts=1, connect_seconds=0.2, headers_seconds=0.2, idle_seconds=0.4
)
DEMANDING = FetchOptions(
    max_attempts=1, slow_grace_seconds=0.3, min_bytes_per_second=1000
)
SHORT = FetchOptions(max_attempts=1, total_seconds=0.5, min_bytes_per_second=1)
SMALL = Limits(raw_bytes=1_000_000)


@attrs.frozen
class Case:
    """A route, and what comes of it.

    `also` are codes that a parser of another make gives: aiohttp has two, in C and in Python.
    """

    path: str
    code: str | None
    delivered: bytes = b""
    options: FetchOptions = PATIENT
    http_status: int | None = None
    also: frozenset[str | None] = frozenset()

    def __str__(self) -> str:
        return self.path


def refused(path: str, status: int) -> Case:
    return Case(path, IssueCode.HTTP_STATUS, http_status=status)


CASES = [
    # in order
    Case("ok", None, DOCUMENT),
    Case("stale", None, DOCUMENT),
    Case("slow", None, DOCUMENT),
    Case("continue?times=20", None, DOCUMENT),
    Case("continue?times=2000", IssueCode.BAD_HTTP),
    Case("versioned", None, DOCUMENT),
    Case("chunked", None, DOCUMENT),
    Case("chunks-of-one", None, b"x" * 20_000),
    Case("until-close", None, DOCUMENT),
    Case("early-hints", None, DOCUMENT),
    Case("gzipped", None, GZIPPED),
    Case("gzip-cut", None, GZIPPED[:40]),
    Case("coding-unknown", None, DOCUMENT),
    Case("packed/urls.xml?layers=1", None, GZIPPED),
    Case("empty", None),
    Case("links", None, b"ok"),
    Case("length-small-late", None, DOCUMENT[:HALF]),
    Case("length-small", None, DOCUMENT[:HALF]),
    Case("length-again", None, DOCUMENT),
    Case("length-list", None, DOCUMENT),
    Case("hops/5", None, DOCUMENT),
    Case("redirect-with-endless-body", None, DOCUMENT),
    Case("to?url=/ok", None, DOCUMENT),
    # cut off
    Case("length-short", IssueCode.BODY_CUT, DOCUMENT[:HALF]),
    Case("length-huge", IssueCode.BODY_CUT, DOCUMENT),
    Case("chunk-cut", IssueCode.BODY_CUT, DOCUMENT[:HALF]),
    Case("chunks-without-end", IssueCode.BODY_CUT, DOCUMENT),
    Case("chunk-bad", IssueCode.BODY_CUT, DOCUMENT),
    Case("reset-until-close", IssueCode.BODY_CUT, DOCUMENT[:HALF]),
    Case("reset-mid", IssueCode.BODY_CUT, DOCUMENT[:HALF]),
    Case("bursts?end=cut", IssueCode.BODY_CUT, DOCUMENT),
    Case("bursts?end=reset", IssueCode.BODY_CUT, DOCUMENT),
    # silence
    Case("silence", IssueCode.TIMEOUT, options=HASTY),
    Case("headers-drip", IssueCode.TIMEOUT, options=HASTY),
    Case("continue-for-ever", IssueCode.TIMEOUT, options=HASTY),
    Case("headers-then-silence", IssueCode.STALLED, options=HASTY),
    Case("half-then-silence", IssueCode.STALLED, DOCUMENT[:HALF], HASTY),
    Case("chunk-bad-late", IssueCode.BODY_CUT, DOCUMENT),
    Case("chunk-end-missing-late", IssueCode.BODY_CUT, DOCUMENT + b"hello"),
    Case("chunk-size-huge-late", IssueCode.BODY_CUT, DOCUMENT),
    Case("trailer-bad-late", IssueCode.BODY_CUT, DOCUMENT),
    Case("bursts?end=bad-chunk", IssueCode.BODY_CUT, DOCUMENT),
    # no HTTP
    Case("length-negative", IssueCode.BAD_HTTP),
    Case("length-twice", IssueCode.BAD_HTTP),
    Case("length-and-chunks", IssueCode.BAD_HTTP),
    Case("garbage", IssueCode.BAD_HTTP),
    Case("http-0.9", IssueCode.BAD_HTTP),
    Case("headers-many", IssueCode.BAD_HTTP),
    Case("header-long", IssueCode.BAD_HTTP),
    Case("status-long", IssueCode.BAD_HTTP),
    Case("header-nul", IssueCode.BAD_HTTP),
    # no answer
    Case("close", IssueCode.CONNECT),
    Case("reset", IssueCode.CONNECT),
    Case("flaky?times=1&with=reset", IssueCode.CONNECT),
    # an answer, but no document
    Case(
        "upgrade", "http-status", http_status=101, also=frozenset({IssueCode.BAD_HTTP})
    ),
    refused("no-location", 302),
    refused("no-content-with-body", 204),
    *(
        refused(f"status/{n:03d}", n)
        for n in (0, 203, 206, 300, 304, 403, 404, 429, 500, 999)
    ),
    *(Case(f"status/{n}", IssueCode.LOGIN_REQUIRED, http_status=n) for n in (401, 407)),
    refused("flaky?times=1&with=502", 502),
    Case("later?status=503&after=99999", IssueCode.RETRY_LATER, http_status=503),
    Case("circle/a", IssueCode.REDIRECT_LOOP),
    Case("hops/6", IssueCode.TOO_MANY_REDIRECTS),
]


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


async def read(
    url: str, options: FetchOptions, limits: Limits = SMALL, *, pause: float = 0.0
) -> tuple[bytes, FetchError | None]:
    """Return what was delivered, and how it ended; rest after the first piece."""
    delivered = bytearray()
    async with HttpFetcher(options, limits=limits) as fetcher:
        fetcher.trust(url)
        try:
            async with fetcher.open(url) as response:
                async for piece in response.chunks():
                    delivered += piece
                    if len(piece) == len(delivered):
                        await asyncio.sleep(pause)
        except FetchError as error:
            return bytes(delivered), error
    return bytes(delivered), None


@pytest.mark.parametrize("case", CASES, ids=str)
@retried
async def test_every_fault_is_typed_and_follows_what_arrived(
    case: Case, server: FaultServer
) -> None:
    """A fault comes out as its code, after every byte that came before it."""
    delivered, error = await read(server.url(case.path), case.options)
    code = error and error.code
    assert code == case.code or code in case.also
    if code == case.code:
        assert (error and error.http_status) == case.http_status
        assert delivered == case.delivered
    else:
        assert delivered.startswith(case.delivered)


@pytest.mark.parametrize(
    ("path", "detail"),
    {
        "close": "Server disconnected",
        "reset": "connection reset by peer",
        "silence": "nothing for 0.2 s",
        "status/999": "999 Said So",
        "garbage": "Bad status line: Expected",
        "bursts?end=bad-chunk": "Invalid character in chunk size",
        "length-short": "Not enough data",
    }.items(),
)
async def test_what_a_fault_says(path: str, detail: str, server: FaultServer) -> None:
    """Beside its code stands what the system, the library or the server said."""
    _, error = await read(server.url(path), HASTY)
    assert error is not None
    assert error.detail.startswith(detail)
    assert "400" not in error.detail


def test_every_route_of_the_fault_server_has_a_case() -> None:
    """The table above leaves nothing out that the server can do; the rest is tested by name."""
    by_name = {"drip", "endless"}
    tried = {case.path.partition("?")[0].split("/")[0] for case in CASES}
    assert tried | by_name == set(ROUTES)
    assert len(CASES) >= 60
    assert set(ANSWERS) | set(PIECES) <= tried


async def test_a_slow_reader_is_not_taken_for_a_slow_server(
    server: FaultServer,
) -> None:
    """Neither silence nor pace nor the whole time count what the reader takes for itself."""
    options = FetchOptions(
        idle_seconds=0.4,
        total_seconds=0.6,
        slow_grace_seconds=0.3,
        min_bytes_per_second=10**9,
    )
    delivered, error = await read(server.url("ok"), options, pause=0.8)
    assert (delivered, error) == (DOCUMENT, None)


@pytest.mark.parametrize(
    ("options", "code"),
    [(DEMANDING, IssueCode.TOO_SLOW), (SHORT, IssueCode.TIMEOUT)],
    ids=["pace", "total"],
)
@retried
async def test_a_byte_now_and_then_does_not_keep_us(
    options: FetchOptions, code: IssueCode, server: FaultServer
) -> None:
    """A drip, which no time-out for silence ends, ends by its pace and by the whole time."""
    delivered, error = await read(server.url("drip"), options)
    assert error is not None
    assert error.code == code
    assert 2 <= len(delivered) < 100
    assert DOCUMENT.startswith(delivered)


@pytest.mark.parametrize("path", ["endless", "endless?until=close"])
async def test_an_endless_body_is_read_up_to_the_limit(
    path: str, server: FaultServer
) -> None:
    """At the limit as many bytes have come out, sizes of chunks included, and then TOO_LARGE."""
    delivered, error = await read(server.url(path), PATIENT, Limits(raw_bytes=100_001))
    assert error is not None
    assert error.code == IssueCode.TOO_LARGE
    around = 0 if "close" in path else 100_001 - len(delivered)
    assert len(delivered) + around == 100_001
    assert around < 500


async def test_the_beginning_of_an_endless_body(server: FaultServer) -> None:
    """Who asks for the first bytes of a body waits for no more of them."""
    url = server.url("endless")
    async with HttpFetcher(PATIENT, limits=Limits(raw_bytes=10_000_000)) as fetcher:
        fetcher.trust(url)
        async with fetcher.open(url) as response:
            assert len(await read_body(response, 1_000, cut=True)) == 1_001


async def test_a_fault_stays_a_fault(server: FaultServer) -> None:
    """Reading on after a fault raises it again and never looks like an end."""
    url = server.url("length-short")
    async with HttpFetcher(PATIENT) as fetcher:
        fetcher.trust(url)
        async with fetcher.open(url) as response:
            for _ in range(2):
                with pytest.raises(FetchError, match="middle of the body") as caught:
                    [piece async for piece in response.chunks()]
                assert caught.value.__cause__ is not None
                assert caught.value.url == url


async def test_headers_arrive_by_lower_case_name_and_all_of_them(
    server: FaultServer,
) -> None:
    """Several headers of a name are joined, and bytes that are not UTF-8 are read as Latin-1."""
    url = server.url("links")
    async with HttpFetcher() as fetcher:
        fetcher.trust(url)
        async with fetcher.open(url) as response:
            assert response.headers["link"] == "</a>, </b>"
            assert response.headers["x-name"] == "caf\xe9"
            assert (response.url, response.status, response.issues) == (url, 200, [])


async def test_what_is_asked_for(server: FaultServer) -> None:
    """A request says who we are and takes gzip only."""
    await read(server.url("ok"), FetchOptions(user_agent="me/1"))
    headers = server.requests[0].headers
    assert headers["user-agent"] == "me/1"
    assert headers["accept-encoding"] == "gzip"
    assert headers["accept"].startswith("application/xml")
    assert set(headers) == {"host", "user-agent", "accept", "accept-encoding"}


@pytest.mark.parametrize(
    ("path", "requests"), [("versioned", 1), ("versioned?hop=1", 2)]
)
async def test_304_is_an_answer_without_a_body(
    path: str, requests: int, server: FaultServer
) -> None:
    """Whatever its headers say of a length, and after redirects; the connection stays in step."""
    async with HttpFetcher(PATIENT) as fetcher:
        fetcher.trust(server.base)
        async with fetcher.open(
            server.url(path), headers={"If-None-Match": '"1"'}
        ) as response:
            assert response.status == 304
            assert response.headers["etag"] == '"1"'
            assert [piece async for piece in response.chunks()] == []
        assert len(server.requests) == requests
        async with fetcher.open(server.url("ok")) as response:
            assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT
    assert server.connections == 1


async def test_nothing_of_a_body_that_comes_with_304_is_read(
    server: FaultServer,
) -> None:
    """Not for this answer, which says itself that it has none, nor for the next one."""
    async with HttpFetcher(PATIENT) as fetcher:
        fetcher.trust(server.base)
        url = server.url("versioned?body=1")
        async with fetcher.open(url, headers={"If-None-Match": '"1"'}) as response:
            assert response.status == 304
            assert [piece async for piece in response.chunks()] == []
            assert [issue.code for issue in response.issues] == [
                IssueCode.SURPLUS_BYTES
            ]
        async with fetcher.open(server.url("ok")) as response:
            assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT


async def test_a_body_of_just_the_limit_is_whole(server: FaultServer) -> None:
    """The limit itself is allowed; one byte more is not."""
    size = len(DOCUMENT)
    assert await read(server.url("ok"), PATIENT, Limits(raw_bytes=size)) == (
        DOCUMENT,
        None,
    )
    delivered, error = await read(server.url("ok"), PATIENT, Limits(raw_bytes=size - 1))
    assert delivered == DOCUMENT[:-1]
    assert error is not None
    assert error.code == IssueCode.TOO_LARGE
