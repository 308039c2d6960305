"""Fetchers of a caller's own: any client, sync or async, and what it may raise or hand over."""

from __future__ import annotations

import asyncio
import copy
import email.message
import pickle
import threading
import urllib.error
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from sitemapreader import (
    FetchError,
    FetchOptions,
    IssueCode,
    SitemapReaderError,
    walk,
)
from sitemapreader.changes import StateError
from sitemapreader.fetch import FunctionFetcher, StoredResponse
from sitemapreader.recipes.indexnow import IndexNowError
from tests.support.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from sitemapreader import Document, Report

HOME = "https://www.example.org"
URLS = [f"{HOME}/{number}" for number in range(3)]
SITEMAP = f"<urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in URLS)}</urlset>".encode()
PAGES = {
    f"{HOME}/robots.txt": b"User-agent: *",
    f"{HOME}/sitemap.xml": SITEMAP,
}


QUICK = FetchOptions(retry_wait_seconds=0.01)


async def fetch_one(fetcher: Any) -> Document:
    """Walk over one sitemap with a fetcher; return its outcome."""
    async with walk(
        sitemaps=[f"{HOME}/sitemap.xml"], fetcher=fetcher, options=QUICK
    ) as entries:
        assert [entry async for entry in entries] == []
    (document,) = [each for each in entries.report.documents if each.via is not None]
    return document


async def read(fetcher: Any, **how: Any) -> tuple[list[str], Report]:
    """Walk with a fetcher; return the URLs and the report."""
    how = {"options": QUICK} | grouped(how)
    async with walk(HOME, fetcher=fetcher, **how) as entries:
        found = [entry.loc async for entry in entries]
    return found, entries.report


class Own:
    """A fetcher that answers, or raises, what a test says of the sitemap."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    @asynccontextmanager
    async def open(self, url: str, **_: object) -> AsyncIterator[StoredResponse]:
        answer = self.answer if url.endswith("sitemap.xml") else PAGES.get(url)
        if answer is None:
            raise FetchError(IssueCode.HTTP_STATUS, url, "404", http_status=404)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            answer = StoredResponse(url, answer)
        assert isinstance(answer, StoredResponse)
        yield answer


# -- names that are no hooks


@pytest.mark.parametrize(
    "value", [None, 7, "text", {"a": 1}, object(), asyncio.Lock, print]
)
async def test_attributes_of_any_name_are_no_hooks(value: object) -> None:
    """A walk never calls an attribute of a caller's fetcher because of its name alone."""
    fetcher = Own(SITEMAP)
    for name in ("client", "limits", "options", "user_agent", "hosts", "session"):
        setattr(fetcher, name, value)
    for name in ("turn", "set_crawl_delay", "trust"):
        setattr(fetcher, name, None if callable(value) else value)
    found, report = await read(fetcher)
    assert (found, report.complete) == (URLS, True)


async def test_hooks_are_used_by_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method `set_crawl_delay` is told the delay; options of its own are the walk's."""
    robots = b"User-agent: *\nCrawl-delay: 3\nUser-agent: OwnBot\nCrawl-delay: 5"
    monkeypatch.setitem(PAGES, f"{HOME}/robots.txt", robots)
    told: list[tuple[str, float]] = []

    class Polite(Own):
        options = FetchOptions(concurrency=1)
        user_agent = "OwnBot"

        def set_crawl_delay(self, host_url: str, seconds: float) -> None:
            told.append((host_url, seconds))

    await read(Polite(SITEMAP), options=None)
    assert [seconds for _, seconds in told] == [5]


# -- errors and statuses


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError("reset by peer"),
        TimeoutError(),
        OSError(101, "Network is unreachable"),
        BrokenPipeError(),
    ],
    ids=repr,
)
async def test_errors_of_the_system_are_failures_to_connect(error: Exception) -> None:
    """What a client's `open` raises from the system ends the document, not the walk."""
    _, report = await read(Own(error), probe="few")
    assert report.counts[IssueCode.CONNECT]
    assert any(document.reason == IssueCode.CONNECT for document in report.documents)
    assert not report.complete


@pytest.mark.parametrize(
    "error", [KeyError("x"), RuntimeError("bug"), ValueError("no")]
)
async def test_bugs_of_a_fetcher_come_to_the_caller(error: Exception) -> None:
    """All other exceptions are bugs, and are not hidden."""
    with pytest.raises(type(error)):
        await read(Own(error))


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConnectionAbortedError("gone"), "body-cut", "gone"),
        (ConnectionAbortedError(), "body-cut", "ConnectionAbortedError"),
        (TimeoutError("slow"), "stalled", "slow"),
        (TimeoutError(), "stalled", "TimeoutError"),
    ],
)
async def test_a_body_that_breaks_off_loses_only_its_rest(
    error: Exception, code: str, said: str
) -> None:
    """URLs read before an error of the system are delivered, and the error is reported."""

    class Broken(StoredResponse):
        async def chunks(self) -> AsyncIterator[bytes]:
            yield SITEMAP[:80]
            raise error

    found, report = await read(Own(Broken(f"{HOME}/sitemap.xml")))
    assert found == URLS[:1]
    told = {str(issue.code): issue.value for issue in report.issues}
    assert told[code] == said


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, "http-status"),
        (500, "http-status"),
        (301, "http-status"),
        (206, "http-status"),
        (304, "http-status"),
        (403, "http-status"),
        (401, "login-required"),
    ],
)
async def test_a_status_that_is_no_success_is_a_failure(
    status: int, reason: str
) -> None:
    """A document that a fetcher hands over with such a status is not read."""
    response = StoredResponse(f"{HOME}/sitemap.xml", SITEMAP, status)
    async with walk(sitemaps=[f"{HOME}/sitemap.xml"], fetcher=Own(response)) as entries:
        assert [entry async for entry in entries] == []
    (document,) = [each for each in entries.report.documents if each.via is not None]
    assert (document.reason, document.http_status) == (reason, status)
    assert not entries.report.complete


async def test_retry_after_of_a_handed_over_status_is_kept() -> None:
    """The wait that a server asks for stands in the outcome, whoever fetched the answer."""
    response = StoredResponse(f"{HOME}/sitemap.xml", b"", 503, {"retry-after": "99999"})
    document = await fetch_one(Own(response))
    assert (document.reason, document.retry_after_seconds) == (
        IssueCode.RETRY_LATER,
        99_999,
    )


def make_urllib_error(status: int) -> Exception:
    headers = email.message.Message()
    headers["Retry-After"] = "99999"
    return urllib.error.HTTPError(HOME, status, "reason", headers, None)


def make_httpx_error(status: int) -> Exception:
    request = httpx2.Request("GET", HOME)
    response = httpx2.Response(
        status, headers={"Retry-After": "99999"}, request=request
    )
    return httpx2.HTTPStatusError("reason", request=request, response=response)


def make_requests_error(status: int) -> Exception:
    """Make an error as requests does: an OSError with the response."""
    error = OSError("reason")
    error.response = SimpleNamespace(  # type: ignore[attr-defined]
        status_code=status, headers={"Retry-After": "99999"}
    )
    return error


def make_aiohttp_error(status: int) -> Exception:
    info = aiohttp.RequestInfo(URL(HOME), "GET", CIMultiDictProxy(CIMultiDict()))
    headers = CIMultiDict({"Retry-After": "99999"})
    return aiohttp.ClientResponseError(info, (), status=status, headers=headers)


MAKERS = [make_urllib_error, make_httpx_error, make_requests_error, make_aiohttp_error]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, "http-status"),
        (400, "http-status"),
        (500, "http-status"),
        (599, "http-status"),
        (401, "login-required"),
        (503, "retry-later"),
    ],
)
async def test_an_error_with_a_status_counts_as_that_status(
    make: Callable[[int], Exception], status: int, reason: str
) -> None:
    """It is no lost connection, and it ends no walk: its status and Retry-After are known."""
    document = await fetch_one(Own(make(status)))
    assert (document.reason, document.http_status) == (reason, status)


@pytest.mark.parametrize("make", MAKERS)
async def test_a_robots_txt_for_which_a_client_raises_404_forbids_nothing(
    make: Callable[[int], Exception],
) -> None:
    """A site without robots.txt is read, and not taken for one that cannot be reached."""

    def get(url: str) -> bytes:
        if url.endswith("robots.txt"):
            raise make(404)
        return PAGES[url]

    found, report = await read(FunctionFetcher(get))
    assert (found, report.complete) == (URLS, True)


async def test_an_error_for_304_leaves_a_document_unchanged(tmp_path: Path) -> None:
    """The urllib of Python raises it for the answer to a conditional request."""
    version = {"etag": '"1"'}
    answer = StoredResponse(f"{HOME}/sitemap.xml", SITEMAP, 200, version)

    class Versioned(Own):
        @asynccontextmanager
        async def open(self, url: str, **given: Any) -> AsyncIterator[StoredResponse]:
            if given.get("headers") and url.endswith("sitemap.xml"):
                raise make_urllib_error(304)
            async with super().open(url) as response:
                yield response

    for status in ("complete", "unchanged"):
        async with walk(
            sitemaps=[f"{HOME}/sitemap.xml"],
            fetcher=Versioned(answer),
            state=tmp_path / "a.db",
        ) as entries:
            _ = [entry async for entry in entries]
        (document,) = [
            each for each in entries.report.documents if each.via is not None
        ]
        assert document.status == status


class HeldStatusError(Exception):
    """An error with a status."""

    def __init__(self, status: object) -> None:
        super().__init__()
        self.status = status


@pytest.mark.parametrize("status", [200, 303, 305, 399, 600, "404"])
async def test_an_error_beside_a_success_reaches_the_caller(status: object) -> None:
    """Only the status of a refusal explains an error."""
    with pytest.raises(HeldStatusError):
        await read(Own(HeldStatusError(status)))


# -- functions


def get(url: str) -> bytes | None:
    assert threading.current_thread() is not threading.main_thread()
    return PAGES.get(url)


async def get_later(url: str) -> bytes | None:
    await asyncio.sleep(0)
    return PAGES.get(url)


def get_response(url: str, headers: object = None) -> StoredResponse:
    assert not headers
    status = 200 if url in PAGES else 404
    return StoredResponse(
        url, PAGES.get(url, b"no"), status, {"Content-Type": "text/xml"}
    )


class Getter:
    """An object that is called."""

    async def __call__(self, url: str, **how: object) -> bytearray | None:
        return bytearray(PAGES[url]) if url in PAGES and "headers" in how else None


@pytest.mark.parametrize("function", [get, get_later, get_response, Getter()])
async def test_a_function_is_a_fetcher(function: Callable[..., Any]) -> None:
    """Sync or async, of bytes or responses: its pages are read, and what is missing is a 404."""
    found, report = await read(FunctionFetcher(function))
    assert (found, report.complete) == (URLS, True)


async def test_a_sync_function_holds_up_nothing() -> None:
    """While it waits, the event loop runs."""
    ran = threading.Event()

    def wait(url: str) -> bytes | None:
        assert ran.wait(5)
        return PAGES.get(url)

    asyncio.get_running_loop().call_later(0.05, ran.set)
    assert (await read(FunctionFetcher(wait)))[0] == URLS


@pytest.mark.parametrize("got", ["text", 7, [b"bytes"]])
async def test_a_function_that_returns_something_else_is_misuse(got: object) -> None:
    """The error says what to return."""
    with pytest.raises(TypeError, match="return bytes"):
        await read(FunctionFetcher(lambda _: got))  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="requires a function"):
        FunctionFetcher(got)  # type: ignore[arg-type]


FAILED = FetchError(
    IssueCode.HTTP_STATUS,
    "https://example.org/",
    "busy",
    http_status=503,
    retry_after_seconds=9,
)
FAILED.tries = 3
ERRORS = [
    FAILED,
    StateError(Path("site.db"), "another run is writing it", is_locked=True),
    IndexNowError("example.org", "refused", 403),
    SitemapReaderError("something"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "clone",
    [copy.copy, lambda error: pickle.loads(pickle.dumps(error))],  # noqa: S301 (our own)
)
def test_an_error_comes_whole_from_another_process(
    error: SitemapReaderError, clone: Callable[[Any], Any]
) -> None:
    """Pools of processes pickle what is raised in them; nothing of it is lost."""
    found = clone(error)
    assert type(found) is type(error)
    assert (str(found), vars(found)) == (str(error), vars(error))
