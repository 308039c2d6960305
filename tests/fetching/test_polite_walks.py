"""Politeness of walks: it is the same with a fetcher of the caller's own, which has none."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import FetchOptions, walk, walk_many
from sitemapreader.fetch import (
    FunctionFetcher,
    HttpFetcher,
    MemoryFetcher,
    StoredResponse,
)
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOME = "https://www.example.org"
CHILDREN = [f"{HOME}/{number}.xml" for number in range(6)]
QUICK = FetchOptions(retry_wait_seconds=0.01, host_pause_seconds=0.01)


class Server:
    """A site that counts its requests, as the function of a FunctionFetcher."""

    def __init__(self, rules: str = "") -> None:
        self.pages: dict[str, bytes] = {
            f"{HOME}/robots.txt": f"{rules}\nSitemap: {HOME}/index.xml".encode(),
            f"{HOME}/index.xml": index(*CHILDREN),
        }
        self.pages |= {url: urlset(f"{url}/page") for url in CHILDREN}
        self.failures: dict[str, list[StoredResponse | Exception]] = {}
        """URL -> the responses before the good one."""
        self.times: list[float] = []
        self.requested: list[str] = []
        self.running = 0
        self.most = 0
        """Number of requests that were under way at once."""

    async def get(self, url: str) -> StoredResponse | bytes | None:
        """Answer a request."""
        self.times.append(time.monotonic())
        self.requested.append(url)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        if failures := self.failures.get(url):
            failure = failures.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return failure
        return self.pages.get(url)


def refuse(status: int, wait: str = "") -> StoredResponse:
    headers = {"Retry-After": wait} if wait else {}
    return StoredResponse(HOME, b"", status, headers)


async def read(fetcher: Any, **arguments: Any) -> tuple[int, Any]:
    """Walk over the site; return the number of URLs, and the report."""
    async with asyncio.timeout(60), walk(HOME, fetcher=fetcher, **arguments) as walked:
        locs = [entry.loc async for entry in walked]
    return len(locs), walked.report


@pytest.mark.parametrize("per_host", [1, 2, 4])
async def test_a_host_gets_so_many_requests_at_once(per_host: int) -> None:
    """As many as the options say, and no more, with any client."""
    server = Server()
    options = FetchOptions(per_host=per_host)
    urls, report = await read(FunctionFetcher(server.get), options=options)
    assert (urls, report.complete, server.most) == (6, True, per_host)


async def test_a_streaming_fetcher_keeps_its_turn_until_the_body_was_read() -> None:
    """A response whose body still arrives is a request that is under way."""
    server = Server()
    open_bodies = most = 0

    class Body(StoredResponse):
        async def chunks(self) -> Any:
            nonlocal open_bodies, most
            open_bodies += 1
            most = max(most, open_bodies)
            await asyncio.sleep(0.01)
            async for chunk in super().chunks():
                yield chunk
            open_bodies -= 1

    class Streaming:
        @asynccontextmanager
        async def open(self, url: str, **_: object) -> AsyncIterator[StoredResponse]:
            status = 200 if url in server.pages else 404
            yield Body(url, server.pages.get(url, b""), status)

    urls, report = await read(Streaming(), options=FetchOptions(per_host=1))
    assert (urls, report.complete, most) == (6, True, 1)


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ("User-agent: *\nCrawl-delay: 0.1", FetchOptions()),
        ("", FetchOptions(delay_seconds=0.1)),
    ],
)
async def test_requests_are_a_delay_apart(rules: str, options: FetchOptions) -> None:
    """A Crawl-delay holds from the request for robots.txt on."""
    server = Server(rules)
    urls, _ = await read(FunctionFetcher(server.get), options=options)
    gaps = [after - before for before, after in pairwise(server.times)]
    assert (urls, min(gaps) > 0.09) == (6, True)


@pytest.mark.parametrize(
    "failure",
    [refuse(503), refuse(429, "0"), refuse(500), ConnectionResetError("reset")],
)
async def test_what_may_pass_is_requested_again(failure: Any) -> None:
    """A failure that does not last loses nothing; the document counts its requests."""
    server = Server()
    server.failures[CHILDREN[2]] = [failure, failure]
    urls, report = await read(FunctionFetcher(server.get), options=QUICK)
    assert (urls, report.complete) == (6, True)
    tries = {each.url: each.tries for each in report.documents}
    assert (tries[CHILDREN[2]], tries[CHILDREN[1]]) == (3, 1)


async def test_what_does_not_pass_is_requested_once() -> None:
    """A refusal of the request stays one."""
    server = Server()
    server.failures[CHILDREN[2]] = [refuse(403)]
    urls, report = await read(FunctionFetcher(server.get), options=QUICK)
    assert (urls, report.complete) == (5, False)
    assert server.requested.count(CHILDREN[2]) == 1


async def test_a_retry_after_holds_for_the_whole_host() -> None:
    """No document of the host is requested before it is over."""
    server = Server()
    server.failures[f"{HOME}/index.xml"] = [refuse(503, "1")]
    urls, _ = await read(FunctionFetcher(server.get), options=QUICK)
    waits = [after - before for before, after in pairwise(server.times)]
    assert (urls, max(waits) > 0.9) == (6, True)


async def test_a_host_that_asks_to_wait_too_long_is_left() -> None:
    """Its start page is not requested a moment after its robots.txt."""
    server = Server()
    server.failures[f"{HOME}/robots.txt"] = [refuse(503, "7200")]
    urls, report = await read(FunctionFetcher(server.get))
    assert (urls, server.requested) == (0, [f"{HOME}/robots.txt"])
    assert report.outcome.reason == "retry-later"
    assert report.outcome.retry_after == 7200


async def test_a_client_that_follows_redirects_waits_for_no_turn_of_its_own() -> None:
    """The robots.txt of another name of the host is needed while the response is there."""
    server = Server("User-agent: *\nDisallow: /private/")
    moved = HOME.replace("https:", "http:")

    async def get(url: str) -> Any:
        found = await server.get(url)
        if url != CHILDREN[0] or not isinstance(found, bytes):
            return found
        return StoredResponse(f"{moved}/0.xml", found)

    urls, report = await read(
        FunctionFetcher(get), options=FetchOptions(per_host=1, allow_downgrade=False)
    )
    assert (urls, report.complete) == (6, True)
    assert f"{moved}/robots.txt" in server.requested


async def test_many_walks_are_polite() -> None:
    """A run over many sites is one of walks."""
    server = Server()
    server.failures[CHILDREN[0]] = [refuse(503)]
    options = FetchOptions(per_host=1, retry_wait_seconds=0.01)
    async with walk_many(
        [HOME], fetcher=FunctionFetcher(server.get), options=options
    ) as run:
        locs = [each.loc async for _, batch in run.batches() for each in batch]
    assert (len(locs), server.most) == (6, 1)


class OwnTurns:
    """A fetcher that keeps the Crawl-delay, and so its own turns."""

    open = FunctionFetcher(Server().get).open

    def set_crawl_delay(self, host_url: str, seconds: float) -> None:
        """Keep nothing."""


@pytest.mark.parametrize(
    ("fetcher", "option"),
    [
        (FunctionFetcher(Server().get), {"proxy": "http://proxy.example:3128"}),
        (FunctionFetcher(Server().get), {"headers": {"X-Key": "1"}}),
        (FunctionFetcher(Server().get), {"total_seconds": 1}),
        (FunctionFetcher(Server().get), {"allow_ports": (8080,)}),
        (OwnTurns(), {"per_host": 1}),
        (OwnTurns(), {"max_attempts": 1}),
    ],
)
def test_an_option_without_an_effect_is_refused(fetcher: Any, option: Any) -> None:
    """The error names the option, and where to set it instead."""
    name = next(iter(option))
    with pytest.raises(TypeError, match=f"`{name}` has no effect .* your own client"):
        walk(HOME, fetcher=fetcher, options=FetchOptions(**option))


def test_what_requests_no_host_takes_any_option() -> None:
    """A test of a walk from memory may have the options of the walk."""
    walk(HOME, fetcher=MemoryFetcher({}), options=FetchOptions(total_seconds=1))
    walk(HOME, fetcher=FunctionFetcher(Server().get), options=QUICK)
    with pytest.raises(TypeError, match="which has its own"):
        walk(HOME, fetcher=HttpFetcher(), options=QUICK)
