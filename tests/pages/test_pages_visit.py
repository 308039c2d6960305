"""Visits tell what pages answer, and of what says nothing about a page, why."""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from contextlib import aclosing, asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from sitemapreader._types.errors import FetchError, Redirect
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.pages import (
    NotJudged,
    PageVisit,
    RobotsCache,
    visit_pages,
)
from sitemapreader.pages.robots import LEAST_ROBOTS_BYTES, MAX_REMEMBERED_BYTES
from sitemapreader.pages.visit import _visit_of_error
from tests.support.serving import answer, serve_pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from tests.support.serving import Site

HTML = "<!doctype html><title>T</title><body><p>a page"
NETWORK = FetchOptions(max_attempts=1, host_pause_seconds=0.05)


async def visit(server: Site, *paths: str, **arguments: Any) -> dict[str, PageVisit]:
    """Visit paths of a server; return the visits by path."""
    urls = [server.base + path for path in paths]
    arguments = {"network": NETWORK, **arguments}
    async with HttpFetcher(arguments["network"]) as fetcher:
        fetcher.trust(server.base)
        async with aclosing(visit_pages(urls, fetcher, **arguments)) as visits:
            return {each.url.removeprefix(server.base): each async for each in visits}


async def test_answers() -> None:
    """Pages, redirects, errors and files are told as they are; each header line has its own say."""

    def tagged(_: web.Request) -> web.Response:
        response = web.Response(text=HTML, content_type="text/html")
        response.headers.add("X-Robots-Tag", "otherbot: noindex")
        response.headers.add("X-Robots-Tag", "nofollow")
        return response

    redirect = answer(301, Location="/page")
    pdf = web.Response(body=b"%PDF", content_type="application/pdf")
    async with serve_pages(
        page=tagged, old=redirect, gone=410, pdf=lambda _: pdf
    ) as server:
        found = await visit(server, "page", "old", "gone", "none", "pdf")
    assert {path: each.status for path, each in found.items()} == {
        "page": 200, "old": 200, "gone": 410, "none": 404, "pdf": 200
    }  # fmt: skip
    assert all(each.not_judged is None for each in found.values())
    page, old = found["page"], found["old"]
    assert page.facts is not None
    assert page.facts.title == "T"
    assert page.facts.robots == {"otherbot": {"noindex"}, "robots": {"nofollow"}}
    assert (page.seconds or 0) > 0
    assert [(each.url, each.target, each.status) for each in old.redirects] == [
        (f"{server.base}old", f"{server.base}page", 301)
    ]
    assert old.final_url == f"{server.base}page"
    assert found["pdf"].facts is not None
    assert found["pdf"].facts.text_hash is None
    assert server.methods == {"GET"}


async def test_redirects_are_followed_as_far_as_search_engines_do() -> None:
    """Ten redirects lead to a page, whatever the fetcher's own limit is; eleven are a fault."""
    answers: dict[str, Any] = {
        f"r{n}": answer(301, Location=f"/r{n - 1}") for n in range(1, 12)
    }
    async with serve_pages(r0=HTML, **answers) as server:
        found = await visit(server, "r10", "r11")
    assert found["r10"].status == 200
    assert len(found["r10"].redirects) == 10
    assert found["r11"].error.startswith("too-many-redirects")


def test_a_redirect_from_https_to_http_is_told() -> None:
    """It is not followed, and is no error: the page is elsewhere, and says so."""
    error = FetchError(
        IssueCode.DOWNGRADE, "https://a.example/", "to http://a.example/"
    )
    error.redirects = (Redirect("https://a.example/", "http://a.example/", 301),)
    found = _visit_of_error("https://a.example/", error)
    said = (found.final_url, found.status, found.error, found.not_judged)
    assert said == ("http://a.example/", None, "", None)


A, B, C = (f"https://a.example/{name}" for name in "abc")


@pytest.mark.parametrize(
    ("error", "values", "said"),
    [
        (FetchError(IssueCode.TIMEOUT, A, "silent"), {}, (A, "timeout: silent", None)),
        (FetchError(IssueCode.HTTP_STATUS, A, http_status=503), {}, (A, "", None)),
        (
            FetchError(IssueCode.HTTP_STATUS, A, http_status=503),
            {"retry_after_seconds": 0.0},
            (A, "", NotJudged.ASKED_TO_WAIT),
        ),
        (
            FetchError(IssueCode.HTTP_STATUS, A, http_status=500),
            {"retry_after_seconds": 1.0},
            (A, "", None),
        ),
        (
            FetchError(IssueCode.BLOCKED_BY_SITE, A, http_status=429),
            {},
            (A, "", NotJudged.PROTECTION),
        ),
        (
            FetchError(IssueCode.TIMEOUT, A, "x"),
            {"redirects": (Redirect(A, B, 301), Redirect(B, C, 301))},
            (C, "timeout: x", None),
        ),
        (
            FetchError(IssueCode.UNSUPPORTED_SCHEME, B, "x"),
            {"redirects": (Redirect(A, B, 301), Redirect(B, "mailto:x", 301))},
            (B, "unsupported-scheme: x", None),
        ),
        (
            FetchError(IssueCode.INVALID_URL, B, "x"),
            {"redirects": (Redirect(A, B, 301), Redirect(B, "http://[", 301))},
            (B, "invalid-url: x", None),
        ),
        (
            FetchError(IssueCode.REDIRECT_LOOP, A, "x"),
            {"redirects": (Redirect(A, B, 302, True), Redirect(B, A, 302))},
            (A, "redirect-loop: x", NotJudged.COOKIES),
        ),
        (
            FetchError(IssueCode.TIMEOUT, A, "x"),
            {"redirects": (Redirect(A, B, 302, True),)},
            (B, "timeout: x", None),
        ),
    ],
)
def test_what_a_failed_request_says(
    error: FetchError, values: dict[str, Any], said: tuple[str, str, NotJudged | None]
) -> None:
    """Where redirects led, why there is no answer, and whether that is evidence."""
    for name, value in values.items():
        setattr(error, name, value)
    found = _visit_of_error(A, error)
    assert (found.final_url, found.error, found.not_judged) == said
    assert (found.url, found.status) == (A, error.http_status)


COOKIE = {"Location": "/circle", "Set-Cookie": "a=1"}


SAYS_NOTHING: dict[str, tuple[Any, NotJudged | None]] = {
    "wall": (answer(403, cf_mitigated="challenge"), NotJudged.PROTECTION),
    "akamai": (answer(403, server="AkamaiGHost"), NotJudged.PROTECTION),
    "waf": (answer(202, x_amzn_waf_action="challenge"), NotJudged.PROTECTION),
    "vercel": (answer(429, x_vercel_mitigated="challenge"), NotJudged.PROTECTION),
    "busy": (answer(503, Retry_After="1"), NotJudged.ASKED_TO_WAIT),
    "cookies": (lambda _: web.Response(status=302, headers=COOKIE), NotJudged.COOKIES),
    "address": (answer(302, Location="http://10.0.0.1/"), NotJudged.NETWORK),
    "robots": (answer(302, Location="/private/x"), NotJudged.ROBOTS),
    "circle": (answer(302, Location="/circle"), None),
    **{str(status): (answer(status), None) for status in (401, 403, 500)},
    "429": (429, NotJudged.ASKED_TO_WAIT),
}


@pytest.mark.parametrize("path", SAYS_NOTHING)
async def test_what_says_nothing_about_a_page(path: str) -> None:
    """Bot walls, requests to wait, cookies and private addresses are no faults of a page."""
    found, reason = SAYS_NOTHING[path]
    robots = "User-agent: *\nDisallow: /private/"
    async with serve_pages(
        page=found, circle=found, **{"robots.txt": robots}
    ) as server:
        visits = await visit(server, "page")
    assert visits["page"].not_judged is reason


@pytest.mark.parametrize(("status", "judged"), [(503, 4), (429, 0)])
async def test_a_wait_beyond_the_time_that_is_left_is_not_begun(
    status: int, judged: int
) -> None:
    """A 503 may be of its page alone, and is not judged at once; a 429 speaks for its host."""
    names = [f"p{number}" for number in range(4)]
    busy = answer(status, Retry_After="3600")
    async with serve_pages(busy=busy, **dict.fromkeys(names, HTML)) as server:
        async with asyncio.timeout(60):
            found = await visit(
                server, "busy", *names, network=FetchOptions(per_host=1)
            )
    assert found.pop("busy").not_judged is NotJudged.ASKED_TO_WAIT
    reasons = Counter(each.not_judged for each in found.values())
    assert reasons[None] == judged
    assert reasons[NotJudged.ASKED_TO_WAIT] == len(names) - judged


async def test_no_robots_file_is_waited_for_beyond_the_time() -> None:
    """A page is forbidden while its robots.txt cannot be read."""
    busy = answer(503, Retry_After="600")
    async with serve_pages(page=HTML, **{"robots.txt": busy}) as server:
        async with asyncio.timeout(60):
            visits = await visit(server, "page", seconds=300, network=FetchOptions())
    assert visits["page"].not_judged is NotJudged.ROBOTS_UNREACHABLE


async def test_robots_and_crawl_delay() -> None:
    """A forbidden page is not asked for; robots.txt is read once; a broken one forbids all."""
    robots = "User-agent: *\nDisallow: /private/\nCrawl-delay: 0.05"
    async with serve_pages(
        page=HTML, **{"robots.txt": robots, "private/x": HTML}
    ) as server:
        loop = asyncio.get_running_loop()
        began = loop.time()
        found = await visit(server, "page", "private/x", "a", "b", "c")
        assert loop.time() - began >= 3 * 0.05
        assert found["private/x"].not_judged is NotJudged.ROBOTS
        assert server.times == {"/robots.txt": 1, "/page": 1, "/a": 1, "/b": 1, "/c": 1}
    async with serve_pages(page=HTML, **{"robots.txt": 500}) as server:
        found = await visit(server, "page")
        assert found["page"].not_judged is NotJudged.ROBOTS_UNREACHABLE
        assert "/page" not in server.times


async def test_a_fault_is_asked_again_at_the_end() -> None:
    """A page that failed once is fine; one that fails twice is not; each is asked twice at most."""
    order: list[str] = []

    def flaky(request: web.Request) -> Any:
        order.append(request.path)
        fails = request.path == "/down" or order.count(request.path) < 2
        return web.Response(status=500) if fails else HTML

    async with serve_pages(flaky=flaky, down=flaky, fine=HTML) as server:
        found = await visit(server, "flaky", "down", *(f"fine?{i}" for i in range(12)))
    assert (found["flaky"].status, found["down"].status) == (200, 500)
    assert (server.times["/flaky"], server.times["/down"], server.times["/fine"]) == (
        2,
        2,
        12,
    )


async def test_many_faults_are_no_failure_of_the_host() -> None:
    """A third of the pages fails, and is asked again in a row: each is a fault, no host is down."""
    network = attrs.evolve(NETWORK, max_attempts=3, retry_wait_seconds=0.001)
    bad = [f"bad{number}" for number in range(20)]
    paths = [each for n, name in enumerate(bad) for each in (f"a{n}", name, f"b{n}")]
    answers = {path: 500 if path in bad else HTML for path in paths}
    async with serve_pages(**answers) as server:
        found = await visit(server, *paths, network=network)
    assert {path for path in paths if found[path].status == 500} == set(bad)
    assert all(each.not_judged is None for each in found.values())
    assert {server.times[f"/{path}"] for path in bad} == {2 * 3}


async def test_few_pages_of_a_host_that_is_down_are_asked_for() -> None:
    """It is given up after some of them and three trials, and so are the others."""
    async with serve_pages() as server:
        server.pages["/robots.txt"], server.default = 404, 503
        found = await visit(server, *map(str, range(60)))
    assert len(server.requested) <= 20
    reasons = Counter(each.not_judged for each in found.values())
    assert reasons[NotJudged.GIVEN_UP] >= 45


async def test_redirects_of_a_host_are_responses() -> None:
    """Circles, and redirects to hosts that fail, are faults of the pages; no host is given up."""
    failing = {
        "loop": answer(301, Location="/loop"),
        "dead": answer(301, Location="http://nowhere.invalid/x"),
    }
    async with serve_pages(broken=500) as other, serve_pages(fine=HTML) as server:
        failing["to-broken"] = answer(301, Location=f"{other.base}broken")
        names = [f"{name}{number}" for number in range(9) for name in failing]
        server.pages |= {
            f"/{name}": failing[name.rstrip("0123456789")] for name in names
        }
        for number in range(9):
            server.pages[f"/loop{number}"] = answer(301, Location=f"/loop{number}")
        network = attrs.evolve(NETWORK, failures_in_row=3, host_trials=1)
        found = await visit(
            server, *names, "fine", network=network, trusted=[other.base, server.base]
        )
    assert Counter(each.not_judged for each in found.values()) == {None: len(names) + 1}
    assert found["fine"].status == 200
    assert found["to-broken0"].status == 500
    assert found["dead0"].error.startswith("dns: ")
    assert found["dead0"].final_url == "http://nowhere.invalid/x"


async def test_a_host_that_was_down_is_read_on() -> None:
    """Behind a pause one page is asked for by itself; it is there, and so are the others."""
    network, asked = (
        attrs.evolve(NETWORK, host_pause_seconds=0.001, host_trials=9),
        count(1),
    )
    async with serve_pages(**{"robots.txt": 404}) as server:
        # those that are asked for before the pause, and perhaps some trials
        server.default = lambda _: HTML if next(asked) > 12 else 503
        found = await visit(server, *map(str, range(60)), network=network)
    assert sum(each.status == 200 for each in found.values()) > 40


async def test_time_ends_before_a_second_visit() -> None:
    """A page that failed once, or was slow once, is not accused when the time is over."""
    asked: Counter[str] = Counter()

    async def wait(request: web.Request) -> Any:
        asked[request.path] += 1
        await asyncio.sleep(0.05 if asked[request.path] == 1 else 60)
        return HTML if request.path == "/slow" else web.Response(status=500)

    async with serve_pages(slow=wait, down=wait) as server:
        found = await visit(server, "slow", "down", seconds=1.0, slow_seconds=0.01)
    assert (found["slow"].status, found["slow"].seconds) == (200, None)
    assert found["down"].not_judged is NotJudged.TIME
    async with serve_pages(page=HTML) as server:
        found = await visit(server, "page", "other", seconds=0.0)
    assert {each.not_judged for each in found.values()} == {NotJudged.TIME}
    assert not server.times


def endless(start: str, unit: str, *, is_gzip: bool = False) -> Any:
    """Return a page that begins with a text, and has a unit without an end behind it."""

    async def send(request: web.Request) -> web.StreamResponse:
        packed = {"Content-Encoding": "gzip"} if is_gzip else {}
        response = web.StreamResponse(headers={"Content-Type": "text/html", **packed})
        await response.prepare(request)
        packer = zlib.compressobj(9, wbits=31)

        def pack(data: bytes) -> bytes:
            return (
                packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
                if is_gzip
                else data
            )

        data = (unit * 20_000).encode()
        await response.write(pack(start.encode()))
        while True:
            await response.write(pack(data))
            await asyncio.sleep(0)  # a write of little data does not yield

    return send


async def test_bodies_are_cut() -> None:
    """Of a text or a head that never ends, or a bomb, 2 MiB are read, and the head counts."""
    pages = {
        "text": endless(HTML, "word "),
        "head": endless(
            "<!doctype html><title>T</title>", "<meta name=robots content=noindex>"
        ),
        "bomb": endless(HTML, "word ", is_gzip=True),
    }
    async with serve_pages(**pages) as server:
        found = await visit(server, *pages)
    for path in pages:
        facts = found[path].facts
        assert facts is not None, found[path]
        assert (facts.title, facts.text_hash) == ("T", None)
        assert (facts.find_noindex() is not None) == (path == "head")


async def test_leaving_early_cancels_what_is_under_way() -> None:
    """After a break no request goes on, and no task is left."""
    async with serve_pages(page=HTML) as server:
        async with HttpFetcher(NETWORK) as fetcher:
            fetcher.trust(server.base)
            urls = (f"{server.base}page?{number}" for number in range(1_000))
            async with aclosing(visit_pages(urls, fetcher, network=NETWORK)) as visits:
                async for each in visits:
                    assert each.status == 200
                    break
        assert server.times["/page"] < 20
        names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]  # a coroutine
        assert "_Visits.visit" not in names


async def test_any_number_of_hosts_is_asked() -> None:
    """No page is forbidden because others are on many hosts: the oldest rules are forgotten."""
    asked: list[str] = []
    most = MAX_REMEMBERED_BYTES // LEAST_ROBOTS_BYTES

    class Hosts(MemoryFetcher):
        def open(self, url: str, **_: object) -> Any:
            asked.append(url)
            return super().open(url)

    rules = RobotsCache(
        Hosts({"https://no.example/robots.txt": b"User-agent: *\nDisallow: /"}), "us"
    )
    for number in (*range(most), 0, most, 1, 0):
        await rules.check(f"https://{number}.example/page")
    with pytest.raises(FetchError):
        await rules.check("https://no.example/page")
    hosts = [str(number) for number in (*range(most + 1), 1)]
    assert [url[8:].partition(".")[0] for url in asked] == [*hosts, "no"]


async def test_a_site_without_rules() -> None:
    """Nothing is asked where nothing is obeyed, and of what is no URL there are no rules."""
    url = "https://a.example/private/x"
    fetcher = MemoryFetcher(
        {"https://a.example/robots.txt": b"User-agent: *\nDisallow: /"}
    )
    free = RobotsCache(fetcher, "us", respect=False)
    assert await free.find_refusal(url) is None
    await free.check(url)
    rules = RobotsCache(fetcher, "us")
    assert (await rules.find("nonsense")).complete
    assert rules.find_cached(url) is None
    assert fetcher.requested == []
    assert await rules.find_refusal(url) is IssueCode.ROBOTS_DISALLOWED
    known = rules.find_cached(url)
    assert known is not None
    other = MemoryFetcher({})
    again = RobotsCache(other, "us", {"https://a.example": known})
    assert await again.find_refusal(url) is IssueCode.ROBOTS_DISALLOWED
    assert (fetcher.requested, other.requested) == (
        ["https://a.example/robots.txt"],
        [],
    )


async def test_the_beginning_of_a_long_robots_file_counts() -> None:
    """What is behind 500 KiB is not read, and forbids nothing."""
    rules = b"User-agent: *\nDisallow: /a\n"
    padding = b"#" * (512_000 - len(rules)) + b"\nDisallow: /b"
    cache = RobotsCache(
        MemoryFetcher({"https://a.example/robots.txt": rules + padding}), "us"
    )
    assert await cache.find_refusal(A) is IssueCode.ROBOTS_DISALLOWED
    assert await cache.find_refusal(B) is None


# -- the order and the number of requests, without a network


@attrs.define
class TimedResponse(StoredResponse):
    """A response that says how long it took."""

    wait_seconds: float | None = None


class CountingFetcher(MemoryFetcher):
    """A fetcher that knows how many requests were open at once."""

    running = 0
    most = 0

    @asynccontextmanager
    async def open(self, url: str, **_: Any) -> AsyncIterator[StoredResponse]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for _turn in range(50):
                await asyncio.sleep(0)
            async with super().open(url) as response:
                yield response
        finally:
            self.running -= 1


async def visit_stored(
    fetcher: MemoryFetcher, urls: Iterable[str], **arguments: Any
) -> dict[str, PageVisit]:
    async with aclosing(
        visit_pages(urls, fetcher, network=NETWORK, **arguments)
    ) as found:
        return {visit.url: visit async for visit in found}


async def test_eight_pages_are_requested_at_once() -> None:
    """No more, and no fewer as long as some wait."""
    urls = [f"https://a.example/{number}" for number in range(40)]
    fetcher = CountingFetcher(dict.fromkeys(urls, b"A page"))
    found = await visit_stored(fetcher, urls)
    assert {url: visit.status for url, visit in found.items()} == dict.fromkeys(
        urls, 200
    )
    assert fetcher.most == 8


@pytest.mark.parametrize(
    ("seconds", "times"), [(None, 1), (0.25, 1), (0.5, 1), (0.51, 2), (9.0, 2)]
)
async def test_a_slow_page_is_requested_twice(
    seconds: float | None, times: int
) -> None:
    """One that takes longer than allowed; the second answer counts."""
    fetcher = MemoryFetcher({A: TimedResponse(A, b"A page", wait_seconds=seconds)})
    found = await visit_stored(fetcher, [A], slow_seconds=0.5)
    assert fetcher.requested.count(A) == times
    assert (found[A].seconds, found[A].status) == (seconds, 200)


@pytest.mark.parametrize(
    ("status", "is_read"),
    [(400, True), (404, True), (500, True), (599, True)]
    + [(status, False) for status in (401, 407, 429, 503)],
)
async def test_the_page_of_an_error_is_read_of_probes(
    status: int, is_read: bool
) -> None:
    """Of a made-up path it is, unless its host asks to log in or to wait; of others never."""
    pages = {url: StoredResponse(url, HTML.encode(), status) for url in (A, B)}
    found = await visit_stored(MemoryFetcher(pages), [A, B], probes=[A])
    assert [found[url].status for url in (A, B)] == [status, status]
    assert [found[url].facts is not None for url in (A, B)] == [is_read, False]


async def test_a_bot_wall_in_place_of_a_made_up_page_is_no_error_page() -> None:
    """It is not what the site says of pages that do not exist."""
    wall = StoredResponse(A, HTML.encode(), 403, {"server": "AkamaiGHost"})
    found = await visit_stored(MemoryFetcher({A: wall}), [A], probes=[A])
    assert (found[A].not_judged, found[A].facts) == (NotJudged.PROTECTION, None)
    assert found[A].error == "Akamai (server: AkamaiGHost)"


async def test_pages_that_never_answer_are_left_at_once() -> None:
    """Whoever leaves does not wait for them, and no task is left."""

    class Silent(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **_: Any) -> AsyncIterator[StoredResponse]:
            if url == B:
                await asyncio.sleep(3_600)
            async with super().open(url) as response:
                yield response

    async with asyncio.timeout(30):
        async with aclosing(
            visit_pages([B, A], Silent({A: b""}), network=NETWORK)
        ) as visits:
            async for visit in visits:
                assert visit.url == A
                break
    assert asyncio.all_tasks() == {asyncio.current_task()}
