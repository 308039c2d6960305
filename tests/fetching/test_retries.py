"""Another try: when there is one, how many, and after which wait."""

from __future__ import annotations

import asyncio
import random
import socket
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import walk
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.hosts import Host
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.refusals import parse_retry_after
from sitemapreader.fetch.responses import may_pass
from sitemapreader.fetch.retries import check_wait, try_often
from tests.support.faults import DOCUMENT, FaultServer
from tests.support.timing import retried

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
SITE = "https://a.example/"
QUICK = FetchOptions(max_attempts=3, retry_wait_seconds=0.01)


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


async def fetch(server: FaultServer, path: str, options: FetchOptions = QUICK) -> bytes:
    async with HttpFetcher(options) as fetcher:
        fetcher.trust(server.base)
        async with fetcher.open(server.url(path)) as response:
            return b"".join([piece async for piece in response.chunks()])


async def fail(
    server: FaultServer, path: str, options: FetchOptions = QUICK
) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await fetch(server, path, options)
    return caught.value


@pytest.mark.parametrize(("code", "times"), [("EAI_AGAIN", 3), ("EAI_NONAME", 1)])
async def test_a_name(monkeypatch: pytest.MonkeyPatch, code: str, times: int) -> None:
    """A resolver that is busy is asked again, one that knows no such name is not."""
    asked = []

    def resolve(host: str, *_: object, **__: object) -> None:
        asked.append(host)
        raise socket.gaierror(getattr(socket, code), "not now")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    async with HttpFetcher(QUICK) as fetcher:
        with pytest.raises(FetchError) as caught:
            async with fetcher.open("http://site.test/"):
                pass
    assert (caught.value.code, caught.value.tries) == (IssueCode.DNS, times)
    assert asked == ["site.test"] * times


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 120\t", 120),
        ("99999999999999999999", 9_999_999_999),
        ("Sat, 21 Nov 2026 03:02:00 GMT", 120),
        ("Saturday, 21-Nov-26 03:02:00 GMT", 120),
        ("Sat Nov 21 03:02:00 2026", 120),
        ("Sat, 21 Nov 2026 04:02:00 +0100", 120),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        (
            "Fri, 31 Dec 9999 23:59:59 GMT",
            (datetime.max.replace(tzinfo=UTC) - NOW).total_seconds(),
        ),
        ("-5", None),
        ("5.5", None),
        ("1_0", None),
        ("١٢", None),
        ("120, 120", None),
        ("soon", None),
        ("", None),
        ("Sat, 21 Nov 2026 03:02:00 +9999999999", None),
        ("Sat, 21 Nov 2026 03:02:00 GMT" + " " * 5000 + "x", None),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    """Seconds or one of the three forms of a date; hostile forms are as if it were not there."""
    found = parse_retry_after(text, NOW)
    assert found == (None if seconds is None else pytest.approx(seconds, abs=1))


@pytest.mark.parametrize(
    ("longest", "waits"),
    [(100, [6, 10, 18, 34]), (20, [6, 10, 18, 20]), (1, [4, 4, 4, 4])],
)
async def test_a_wait_that_nobody_asked_for(
    longest: float, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It doubles, with a random part of the first, up to the longest; the first is our choice."""
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    async def request() -> None:
        raise FetchError(IssueCode.HTTP_STATUS, SITE, http_status=503)

    monkeypatch.setattr(random, "random", lambda: 0.5)
    monkeypatch.setattr(asyncio, "sleep", wait)
    options = FetchOptions(
        max_attempts=5, retry_wait_seconds=4, retry_after_seconds=longest
    )
    with pytest.raises(FetchError) as caught:
        await try_often(request, SITE, options, {})
    assert (waited, caught.value.tries) == (waits, 5)


@pytest.mark.parametrize(
    ("wait", "delay", "left", "is_refused"),
    [
        (0, 0, 0, False),
        (-1, 0, 0, False),
        (5, 0, 5, False),
        (5, 0, 4.9, True),
        (5, 5, 0, False),
        (5, 4.9, 0, True),
        (9e9, 0, None, False),
    ],
)
def test_a_wait_beyond_the_time_of_a_walk(
    wait: float, delay: float, left: float | None, *, is_refused: bool
) -> None:
    """Nobody waits for a response that comes too late; the delay between two requests is kept."""
    host = Host("a.example", 2, delay)
    arguments: Any = {} if left is None else {"seconds_left": lambda: left}
    if not is_refused:
        check_wait(host, SITE, arguments, wait)
        return
    with pytest.raises(FetchError) as caught:
        check_wait(host, SITE, arguments, wait)
    assert caught.value.code is IssueCode.RETRY_LATER
    assert caught.value.detail == f"requested to wait for {wait} s"
    assert caught.value.retry_after_seconds == wait


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        *((status, True) for status in (429, 500, 503, 599)),
        *((status, False) for status in (304, 400, 404, 499, 600)),
        (IssueCode.CONNECT, True),
        (IssueCode.TIMEOUT, False),
        (IssueCode.DNS, False),
        (IssueCode.TLS, False),
    ],
)
def test_what_may_pass(error: int | IssueCode, *, passes: bool) -> None:
    """Failures of the server and of the connection; no refusal of the request."""
    status = error if isinstance(error, int) else None
    code = IssueCode.HTTP_STATUS if isinstance(error, int) else error
    assert may_pass(FetchError(code, "", http_status=status)) is passes


async def test_pauses_double(server: FaultServer) -> None:
    """With as much again by chance, and up to the longest Retry-After."""
    options = FetchOptions(
        max_attempts=4, retry_wait_seconds=0.02, retry_after_seconds=0.05
    )
    assert (await fail(server, "reset", options)).tries == 4
    pauses = [after.at - before.at for before, after in pairwise(server.requests)]
    assert all(
        pause >= least for pause, least in zip(pauses, (0.02, 0.04, 0.05), strict=True)
    )


async def test_a_wait_of_no_seconds_is_a_retry(server: FaultServer) -> None:
    """Retry-After: 0 means at once, not never."""
    async with asyncio.timeout(20):  # not 30
        options = FetchOptions(retry_wait_seconds=30)
        assert await fetch(server, "later?status=503&after=0", options) == DOCUMENT


@pytest.mark.parametrize(
    ("path", "tries"),
    [
        ("ok", 1),
        ("hops/2", 1),
        ("flaky?times=2&with=reset", 3),
        ("status/500", 3),
        ("length-short", 1),
    ],
)
async def test_how_often_was_asked_is_in_the_report(
    path: str, tries: int, server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The outcome of a document says it, whatever the outcome is; retries are not logged."""
    caplog.set_level(0)
    async with walk(sitemaps=[server.url(path)], options=QUICK) as entries:
        async for _ in entries:
            pass
    (document,) = entries.report.documents
    assert document.tries == tries
    assert ("3 tries" in str(document)) is (tries == 3)
    assert {record.name for record in caplog.records} <= {"asyncio", "sitemapreader"}


@pytest.mark.parametrize(
    ("path", "requests"),
    [
        ("reset", 3),
        ("close", 3),
        *((f"status/{status}", 3) for status in (429, 500, 503, 599)),
    ]
    + [(f"status/{status}", 1) for status in (400, 401, 403, 404, 410, 451, 304, 999)]
    + [
        ("garbage", 1),
        ("length-short", 1),
        ("circle/a", 2),
        ("later?status=503&after=3601", 1),
    ],
)
async def test_how_often_is_asked(
    path: str, requests: int, server: FaultServer
) -> None:
    """At most `tries` requests, and only one where another cannot help."""
    await fail(server, path)
    assert len(server.requests) == requests
    server.requests.clear()
    await fail(server, path, FetchOptions(max_attempts=1))
    assert len(server.requests) == (2 if path == "circle/a" else 1)


@retried
async def test_silence_is_not_tried_again(server: FaultServer) -> None:
    """A time-out has cost its time once."""
    server.requests.clear()
    options = FetchOptions(max_attempts=3, connect_seconds=0.1, headers_seconds=0.1)
    assert (await fail(server, "silence", options)).code == IssueCode.TIMEOUT
    assert len(server.requests) == 1


@pytest.mark.parametrize("how", ["502", "429", "reset"])
async def test_another_try_helps(how: str, server: FaultServer) -> None:
    """Two failures and an answer make an answer."""
    assert await fetch(server, f"flaky?times=2&with={how}") == DOCUMENT
    assert len(server.requests) == 3


async def test_a_connection_that_went_stale_costs_no_try(server: FaultServer) -> None:
    """A server that closes kept connections without a word is asked again at once."""
    options = FetchOptions(max_attempts=1)
    async with HttpFetcher(options) as fetcher:
        fetcher.trust(server.base)
        for _ in range(5):
            async with fetcher.open(server.url("stale")) as response:
                assert (
                    b"".join([piece async for piece in response.chunks()]) == DOCUMENT
                )
    assert len(server.requests) == 5


async def test_retry_after_is_waited_for(server: FaultServer) -> None:
    """The server's number is kept to, whatever our own pauses are."""
    assert await fetch(server, "later?status=503&after=1") == DOCUMENT
    first, second = server.requests
    assert second.at - first.at >= 0.99


async def test_retry_after_beyond_our_patience(server: FaultServer) -> None:
    """It is given up at once, and the error says when to come back."""
    async with asyncio.timeout(60):
        error = await fail(server, "later?status=503&after=4000")
    assert error.code == IssueCode.RETRY_LATER
    assert (error.http_status, error.retry_after_seconds) == (503, 4000)


async def test_a_host_that_asks_for_time_gets_it_from_all(server: FaultServer) -> None:
    """Another document of the host waits for the same Retry-After."""
    async with HttpFetcher(FetchOptions(max_attempts=1)) as fetcher:
        fetcher.trust(server.base)
        with pytest.raises(FetchError):
            async with fetcher.open(server.url("later?status=429&after=1")):
                pass
        async with fetcher.open(server.url("ok")):
            pass
    first, second = server.requests
    assert second.at - first.at >= 0.99


async def test_retry_after_on_other_statuses_means_nothing(server: FaultServer) -> None:
    """Only 429 and 503 may tell us to wait; a 404 may not."""
    error = await fail(server, "later?status=404&after=3600")
    assert (error.code, error.retry_after_seconds) == (IssueCode.HTTP_STATUS, None)
