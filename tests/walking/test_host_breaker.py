"""Hosts that refuse or are down: asked a few times, left alone, tried again, and then given up."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import walk
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader._types.outcomes import Status
from sitemapreader.fetch.hosts import HostBreaker
from sitemapreader.fetch.http import HttpFetcher
from tests.support.grouping import grouped
from tests.support.serving import Answer, Site, serve_site
from tests.support.walking import (
    ROBOTS,
    SITE,
    fault,
    index,
    read_site,
    status,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

    from tests.support.serving import Page

QUICK = FetchOptions(retry_wait_seconds=0.01, host_pause_seconds=0.05)
"""All as it is by default, but for the pauses."""
FAILURES, TRIALS = int(QUICK.failures_in_row), int(QUICK.host_trials)


def fill(site: Site, children: int, page: Page) -> None:
    """Have an index with children that all give one answer."""
    locs = [f"{site.base}/c{number}.xml" for number in range(children)]
    site.pages |= {
        "/robots.txt": Answer(f"Sitemap: {site.base}/index.xml".encode()),
        "/index.xml": Answer(index(*locs)),
    }
    site.pages |= {f"/c{number}.xml": page for number in range(children)}


def answer_urls(request_path: str) -> Answer:
    return Answer(urlset(f"https://a.example{request_path}"))


def count_children(site: Site) -> int:
    return sum(path.startswith("/c") for path in site.requested)


async def hang(request: web.Request) -> Answer:
    del request
    await asyncio.sleep(600)
    return Answer()


@pytest.mark.parametrize("answer", [403, 503, hang])
async def test_a_host_that_refuses_all_is_asked_a_few_times(answer: Any) -> None:
    """150 children cost some ten requests, all counted; each has an outcome, the Issue says why."""
    options = FetchOptions(
        retry_wait_seconds=0.01,
        host_pause_seconds=0.05,
        headers_seconds=0.1,
        connect_seconds=0.1,
    )
    async with serve_site() as site:
        fill(site, 150, answer if answer is hang else Answer(status=answer))
        read = await read_site(
            site.base, options=QUICK if answer is not hang else options
        )
        # those in a row, one more that was under way, and the trials
        assert FAILURES <= count_children(site) <= FAILURES + 2 + TRIALS
        requests = len(site.requested)
    reason = "host-down" if answer in (hang, 500, 503) else "host-refuses"
    skipped = [each for each in read.report.documents if each.reason == reason]
    assert {each.status for each in skipped} == {Status.SKIPPED}
    failed = [each for each in read.report.documents if each.status is Status.FAILED]
    assert len(skipped) + len(failed) == 150
    said = "timeout: " if answer is hang else f"http-status: {answer} "
    assert read.value(reason).startswith(f"{len(skipped)} sitemaps skipped ({said}")
    assert read.report.outcome.requests == requests
    assert read.report.outcome.http_status == (None if answer is hang else answer)
    assert not read.report.complete


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        *((status(code), "host-refuses") for code in (403, 429)),
        *((status(code), "host-down") for code in (500, 523, 599)),
        *((status(code), "") for code in (404, 410)),
        *(
            (fault(IssueCode[name]), "host-refuses")
            for name in ("LOGIN_REQUIRED", "RETRY_LATER")
        ),
        *(
            (fault(IssueCode[name]), "host-down")
            for name in ("TIMEOUT", "STALLED", "TOO_SLOW")
        ),
        *(
            (fault(IssueCode[name]), "host-down")
            for name in ("CONNECT", "DNS", "TLS", "BODY_CUT")
        ),
        *(
            (fault(IssueCode[name]), "host-down")
            for name in ("BAD_HTTP", "TOO_MANY_REDIRECTS")
        ),
        *(
            (fault(IssueCode[name]), "")
            for name in ("BLOCKED_ADDRESS", "TOO_LARGE", "DOWNGRADE")
        ),
    ],
    ids=str,
)
async def test_what_counts_as_a_failure_of_the_host(
    error: FetchError, reason: str
) -> None:
    """Refusals and silence do; what is said of one document, and what we refuse, does not."""
    children = [f"{SITE}{number}.xml" for number in range(30)]
    options = FetchOptions(host_pause_seconds=0.001)

    def fail() -> FetchError:
        return FetchError(error.code, ROBOTS, http_status=error.http_status)

    pages = {
        f"{SITE}index.xml": index(*children),
        **{child: fail() for child in children},
    }
    walked = await walk_all(pages, None, sitemaps=[f"{SITE}index.xml"], options=options)
    assert (sum(map(children.count, walked.requested)) == 30) is (reason == "")
    assert (
        walked.report.left_out["host-refuses"] > 0 if reason == "host-refuses" else True
    )
    assert walked.report.left_out["host-down"] > 0 if reason == "host-down" else True


@pytest.mark.parametrize("is_there", [True, False])
async def test_an_answer_begins_a_new_row(*, is_there: bool) -> None:
    """Refusals never add up among documents, or among answers that there is none."""

    async def answer(request: web.Request) -> Answer:
        if int(request.path[2:-4]) % 5:
            return Answer(status=403)
        return answer_urls(request.path) if is_there else Answer(status=404)

    async with serve_site() as site:
        fill(site, 50, answer)
        read = await read_site(site.base, options=QUICK)
        assert count_children(site) == 50
    assert len(read.locs) == 10 * is_there
    assert read.report.left_out["host-refuses"] == 0


async def test_a_host_that_recovers_is_read_to_its_end() -> None:
    """A trial that is answered closes the breaker; what was put off is read, nothing is lost."""
    refusals = 0

    async def answer(request: web.Request) -> Answer:
        nonlocal refusals
        if refusals < 2 * FAILURES:
            refusals += 1
            return Answer(status=503)
        return answer_urls(request.path)

    async with serve_site() as site:
        fill(site, 40, answer)
        options = FetchOptions(
            retry_wait_seconds=0.01,
            host_pause_seconds=0.01,
            host_trials=10,
            max_attempts=10,
        )
        read = await read_site(site.base, options=options)
    assert len(read.locs) == 40
    assert read.report.complete


@pytest.mark.parametrize("code", [403, 503])
async def test_pauses_double_and_one_trial_is_made_at_a_time(code: int) -> None:
    """What the server sees: a row of refusals, then single requests, each later than the last."""
    times: list[float] = []

    async def refuse(request: web.Request) -> Answer:
        del request
        times.append(time.monotonic())
        return Answer(status=code)

    async with serve_site() as site:
        fill(site, 30, refuse)
        # a document with 503 is asked three times, and the fourth failure is that of the next one
        options = FetchOptions(
            retry_wait_seconds=0.01,
            host_pause_seconds=0.1,
            concurrency=1,
            failures_in_row=4,
        )
        await read_site(site.base, options=options)
    assert len(times) == 4 + TRIALS
    gaps = [later - earlier for earlier, later in pairwise(times[3:])]
    for gap, pause in zip(gaps, (0.1, 0.2, 0.4), strict=True):
        assert gap >= pause * 0.95


async def test_a_host_that_asks_for_a_long_wait_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Retry-After that is longer than a worker waits sends the others' slots on."""
    monkeypatch.setattr("sitemapreader.fetch.hosts.LONGEST_HELD_WAIT_SECONDS", 0.2)
    asked: set[str] = set()

    async def answer_later(request: web.Request) -> Answer:
        if request.path not in asked and len(asked) < 2:
            asked.add(request.path)
            return Answer(status=503, headers={"Retry-After": "600"})
        return answer_urls(request.path)

    async with serve_site() as slow, serve_site() as quick:
        slow.base = slow.base.replace("127.0.0.1", "localhost")
        locs = [f"{each.base}/c{n}.xml" for each in (slow, quick) for n in range(20)]
        quick.pages |= {f"/c{n}.xml": answer_urls(f"/q{n}") for n in range(20)}
        slow.pages |= {f"/c{n}.xml": answer_later for n in range(20)}
        quick.pages["/robots.txt"] = Answer(f"Sitemap: {quick.base}/index.xml".encode())
        quick.pages["/index.xml"] = Answer(index(*locs))
        port = int(slow.base.rpartition(":")[2])
        options = FetchOptions(allow_ports=(port,), allow_networks=("127.0.0.0/8",))
        locs = await read_some(quick.base, 20, hosts="any", options=options)
        assert len(asked) == len(slow.requested) - slow.times["/robots.txt"] == 2
    assert sum("/q" in loc for loc in locs) == 20


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("path", ["/robots.txt", "/sitemap.xml"])
async def test_no_wait_that_is_longer_than_the_walk(path: str, code: int) -> None:
    """A host that requests one is given up at once, with its status and the wait."""
    async with serve_site() as site:
        site.pages[path] = Answer(status=code, headers={"Retry-After": "500"})
        read = await read_site(site.base, limits=Limits(walk_seconds=400))
        assert site.times[path] == len(site.requested) - (path != "/robots.txt") == 1
    outcome = read.report.outcome
    assert (outcome.status, outcome.reason) == ("failed", "retry-later")
    assert (outcome.http_status, outcome.retry_after) == (code, 500)
    assert not read.report.complete


async def test_the_clock_of_a_walk_ends_the_wait_for_a_host() -> None:
    """The Issue says that the host requested the delay, and how long it would have been."""
    async with serve_site() as site:
        fill(site, 2, 404)
        robots = f"User-agent: *\nCrawl-delay: 50\nSitemap: {site.base}/index.xml\n"
        site.pages["/robots.txt"] = Answer(robots.encode())
        read = await read_site(site.base, limits=Limits(walk_seconds=0.5))
    said = [each.value or "" for each in read.report.issues if "seconds" in each.code]
    assert re.search(r"its host requested to wait for (49|50) s more", said[0])
    assert not read.report.complete


async def test_a_wait_is_that_of_one_server() -> None:
    """Another port of the same host is another server, which did not request it."""
    async with serve_site() as waiting, serve_site() as ready, HttpFetcher() as fetcher:
        waiting.default = Answer(status=503, headers={"Retry-After": "500"})
        ready.pages["/sitemap.xml"] = answer_urls("/1")
        limits = Limits(walk_seconds=400)
        for site, status_of_site in ((waiting, "failed"), (ready, "complete")):
            read = await read_site(site.base, fetcher=fetcher, limits=limits)
            assert read.report.outcome.status == status_of_site
        assert fetcher.seconds_until_free(ready.base) == 0
        assert fetcher.seconds_until_free(f"{waiting.base}/any") > 400


async def test_a_host_that_another_walk_was_told_to_leave_alone() -> None:
    """A later walk with less time gives it up without a request; one with more time waits."""
    async with serve_site() as site, HttpFetcher() as fetcher:
        site.pages["/robots.txt"] = Answer(status=503, headers={"Retry-After": "500"})
        for _ in range(2):
            read = await read_site(
                site.base, fetcher=fetcher, limits=Limits(walk_seconds=400)
            )
            assert read.report.outcome.reason == "retry-later"
            assert 490 < (read.report.outcome.retry_after or 0) <= 500
        assert len(site.requested) == 1
        limits = Limits(walk_seconds=1_000)
        async with walk(site.base, fetcher=fetcher, limits=limits) as waiting:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(aiter(waiting)), 0.1)
        assert len(site.requested) == 1


def test_a_host_that_requests_a_long_wait_is_no_host_that_failed() -> None:
    """Each sitemap that is not requested then has the wait as its cause."""
    breaker = HostBreaker(FetchOptions())
    for number, wait in enumerate((600.0, 0.0)):
        with pytest.raises(FetchError) as caught:
            breaker.check(f"{SITE}{number}.xml", wait)
        assert caught.value.code is IssueCode.HOST_REFUSES
        assert caught.value.detail == "requested to wait for 600 s"
    assert breaker.find_reason(SITE)[1] == "requested to wait for 600 s"


async def read_some(site: str, count: int, **arguments: Any) -> list[str]:
    """Return the first locs of a site, and leave its walk; fail if they wait for a pause."""
    locs = []
    async with asyncio.timeout(60), walk(site, **grouped(arguments)) as entries:
        async for entry in entries:
            locs.append(entry.loc)
            if len(locs) == count:
                break
    return locs


async def test_no_pause_outlasts_the_walk() -> None:
    """What waits when the time of the walk is over is named at once."""
    async with serve_site() as site:
        fill(site, 30, Answer(status=403))
        options = FetchOptions(host_pause_seconds=600)
        async with asyncio.timeout(60):
            read = await read_site(
                site.base, options=options, limits=Limits(walk_seconds=1.0)
            )
    assert read.report.left_out["budget-seconds"] >= 30 - FAILURES - 2


@pytest.mark.parametrize("code", [302, 403, 404, 500])
async def test_guessed_paths_do_not_trip_it(code: int) -> None:
    """403, 500 or a circle for what is not there says nothing; the last guess is as good."""
    async with serve_site(Answer(status=code, headers={"Location": "/round"})) as site:
        site.pages["/robots.txt"] = Answer(status=403)
        site.pages["/admin/config/search/xmlsitemap"] = Answer(urlset(f"{site.base}/1"))
        options = attrs.evolve(
            QUICK, failures_in_row=1, host_trials=1, host_pause_seconds=600
        )
        read = await read_site(
            site.base, options=options, limits=Limits(walk_seconds=20)
        )
    assert read.locs == [f"{site.base}/1"]


async def test_all_that_was_read_before_is_delivered_and_the_next_walk_reads_the_rest(
    tmp_path: Path,
) -> None:
    """A host that refuses after 20 of 100 children: 20 today, the other 80 tomorrow."""
    is_open, given = False, 0

    async def answer(request: web.Request) -> Answer:
        nonlocal given
        given += 1
        return (
            answer_urls(request.path) if is_open or given <= 20 else Answer(status=403)
        )

    async with serve_site() as site:
        fill(site, 100, answer)
        state = tmp_path / "state.db"
        first = await read_site(site.base, options=QUICK, state=state)
        assert len(first.locs) == 20
        assert count_children(site) <= 20 + FAILURES + 1 + TRIALS
        is_open = True
        second = await read_site(site.base, options=QUICK, state=state)
    assert len(second.locs) == 80
    assert len({*first.locs, *second.locs}) == 100
    assert second.report.complete


def test_a_failure_from_before_a_pause_is_no_trial() -> None:
    """Requests that were under way when a host was paused neither prolong that nor give it up."""
    breaker = HostBreaker(FetchOptions(host_pause_seconds=60, host_trials=1))
    for number in range(FAILURES + 3):
        url = f"https://a.example/{number}.xml"
        breaker.note_error(url, FetchError(IssueCode.HTTP_STATUS, url, http_status=503))
    assert 0 < breaker.wait("https://a.example/") <= 60


def test_a_trial_for_which_nothing_was_asked() -> None:
    """While one URL is tried no other is; when that is over without an answer, another one is."""
    breaker = HostBreaker(FetchOptions(host_pause_seconds=0.001, host_trials=9))
    first, second = "https://a.example/1", "https://a.example/2"
    for number in range(FAILURES):
        breaker.note_error(
            first,
            FetchError(IssueCode.HTTP_STATUS, f"{first}{number}", http_status=503),
        )
    time.sleep(0.002)
    assert breaker.wait(second) == 0
    breaker.begin_trial(first)
    breaker.end_trial(second)
    assert breaker.wait(second) > 0.5
    breaker.end_trial(first)
    assert breaker.wait(second) == 0


@pytest.mark.parametrize("code", [429, 503])
async def test_a_host_that_asks_to_wait_at_robots_txt_is_not_requested_again(
    code: int,
) -> None:
    """It has asked for two hours, so its start page is not requested a moment later."""
    busy = Answer(status=code, headers={"Retry-After": "7200"})
    async with serve_site(default=busy) as site:
        read = await read_site(site.base)
        assert site.requested == ["/robots.txt"]
    outcome = read.report.outcome
    assert (outcome.status, outcome.reason) == ("failed", "retry-later")
    assert outcome.retry_after == 7200


@pytest.mark.parametrize(("code", "requests"), [(429, 1), (503, 20)])
async def test_too_many_requests_are_those_to_the_host(
    code: int, requests: int
) -> None:
    """After a 429 with a long wait nothing more is requested; a 503 may be of one document."""
    busy = Answer(status=code, headers={"Retry-After": "7200"})
    async with serve_site() as site:
        fill(site, 20, answer_urls("/a"))
        site.pages["/c0.xml"] = busy
        read = await read_site(site.base, options=FetchOptions(concurrency=1))
        assert count_children(site) == requests
    assert read.report.outcome.retry_after == 7200
    reasons = {str(each.reason) for each in read.report.documents if each.reason}
    assert reasons == {"retry-later"} | ({"host-refuses"} if code == 429 else set())


async def test_sitemaps_of_a_host_that_asks_to_wait_are_left() -> None:
    """Other hosts are read meanwhile, and the Issue says for how long it asked."""
    busy = Answer(status=503, headers={"Retry-After": "7200"})
    async with serve_site(default=busy) as slow, serve_site() as quick:
        slow.base = slow.base.replace("127.0.0.1", "localhost")
        fill(quick, 3, answer_urls("/a"))
        urls = [f"{slow.base}/c{number}.xml" for number in range(5)]
        quick.pages["/index.xml"] = Answer(index(*urls, f"{quick.base}/c0.xml"))
        port = int(slow.base.rpartition(":")[2])
        options = FetchOptions(allow_ports=(port,), allow_networks=("127.0.0.0/8",))
        read = await read_site(quick.base, hosts="any", options=options)
        assert slow.requested == ["/robots.txt"]
    assert read.locs == ["https://a.example/a"]
    (said,) = (each.value for each in read.report.issues if each.code == "host-refuses")
    assert said is not None
    assert said.startswith("5 sitemaps skipped (requested to wait for 7200 s): ")


async def test_a_host_that_asks_to_wait_is_not_reached_by_redirects() -> None:
    """The rules of a site may be on another name of it, and so may its sitemaps."""
    busy = Answer(status=429, headers={"Retry-After": "7200"})
    async with serve_site(default=busy) as slow, serve_site() as site:
        slow.base = slow.base.replace("127.0.0.1", "localhost")
        port = int(slow.base.rpartition(":")[2])
        options = FetchOptions(
            allow_ports=(port,), allow_networks=("127.0.0.0/8",), concurrency=1
        )

        async def move(request: web.Request) -> Answer:
            location = {"Location": f"{slow.base}{request.path}"}
            return Answer(status=301, headers=location)

        site.pages["/robots.txt"] = move
        read = await read_site(site.base, options=options)
        assert (site.requested, slow.requested) == (["/robots.txt"], ["/robots.txt"])
        assert read.report.outcome.reason == "retry-later"
        fill(site, 5, move)
        slow.requested.clear()
        site.requested.clear()
        read = await read_site(site.base, hosts="any", options=options)
        assert slow.requested == ["/robots.txt"]
        assert count_children(site) == 5  # each of them once
    reasons = Counter(each.reason for each in read.report.documents)
    assert reasons["host-refuses"] == 5
    assert not read.report.complete


async def test_a_host_that_recovers_is_reached_by_redirects_again() -> None:
    """A sitemap waits for the host that it redirects to, and not for its own, which responds."""
    failures = FAILURES
    async with serve_site() as slow, serve_site() as site:
        slow.base = slow.base.replace("127.0.0.1", "localhost")
        port = int(slow.base.rpartition(":")[2])
        options = attrs.evolve(
            QUICK, allow_ports=(port,), allow_networks=("127.0.0.0/8",), max_attempts=1
        )

        async def move(request: web.Request) -> Answer:
            location = {"Location": f"{slow.base}{request.path}"}
            return Answer(status=301, headers=location)

        async def recover(request: web.Request) -> Answer:
            nonlocal failures
            failures -= 1
            if failures >= 0:
                return Answer(status=403)
            return answer_urls(request.path)

        children = 3 * FAILURES
        fill(site, children, move)
        fill(slow, children, recover)
        read = await read_site(site.base, hosts="any", options=options)
        assert count_children(slow) == children
        # each is requested once, and at most once more when the other host has paused
        assert count_children(site) <= 2 * children
    assert len(read.locs) == children - FAILURES
