"""Hosts that refuse or are down: asked a few times, left alone, tried again, and then given up."""

from __future__ import annotations

import asyncio
import contextlib
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from answering import Answer, Site, make_index, make_urlset, read_site, serve_site
from timing import Clock

from sitemapreader.errors import FetchError
from sitemapreader.fetch import breaker as breakers
from sitemapreader.fetch.breaker import HostBreaker
from sitemapreader.fetch.hosts import HostThrottle, LongWaitError
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.outcomes import Status
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiohttp import web
    from answering import Page

QUICK = FetchOptions(retry_wait_seconds=0.01, host_pause_seconds=0.05)
"""All as it is by default, but for the pauses."""
FAILURES, TRIALS = int(QUICK.failures_in_row), int(QUICK.host_trials)


def fill(site: Site, children: int, page: Page) -> None:
    """Have an index with children that all give one answer."""
    locs = [f"{site.base}/c{number}.xml" for number in range(children)]
    site.pages |= {
        "/robots.txt": Answer(f"Sitemap: {site.base}/index.xml".encode()),
        "/index.xml": Answer(make_index(*locs)),
    }
    site.pages |= {f"/c{number}.xml": page for number in range(children)}


def answer_urls(request_path: str) -> Answer:
    return Answer(make_urlset(f"https://a.example{request_path}"))


def count_children(site: Site) -> int:
    return sum(path.startswith("/c") for path in site.requested)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503, 507])
async def test_a_host_that_refuses_all_is_asked_a_few_times(status: int) -> None:
    """150 children cost some ten requests; each has an outcome, and the Issue says how many."""
    async with serve_site() as site:
        fill(site, 150, Answer(status=status))
        read = await read_site(site.base, options=QUICK)
        # those in a row, one more that was under way, and the trials
        assert FAILURES <= count_children(site) <= FAILURES + 2 + TRIALS
    reason = "host-refuses" if status < 500 else "host-down"
    skipped = [each for each in read.report.documents if each.reason == reason]
    assert {each.status for each in skipped} == {Status.SKIPPED}
    failed = [each for each in read.report.documents if each.status is Status.FAILED]
    assert len(skipped) + len(failed) == 150
    assert read.value(reason).startswith(f"{len(skipped)} sitemaps not read: ")
    assert not read.report.complete


async def test_a_host_that_hangs_is_left_alone() -> None:
    """Time-outs count as refusals do."""

    async def hang(request: web.Request) -> Answer:
        del request
        await asyncio.sleep(600)
        return Answer()

    async with serve_site() as site:
        fill(site, 60, hang)
        options = FetchOptions(
            host_pause_seconds=0.05, headers_seconds=0.1, connect_seconds=0.1, total_seconds=5
        )
        read = await read_site(site.base, options=options)
        assert FAILURES <= count_children(site) <= FAILURES + 1 + TRIALS
    assert {"timeout", "host-down"} <= read.codes
    assert read.report.left_out["host-down"] >= 60 - FAILURES - 1 - TRIALS


async def test_bodies_that_stall_count_too() -> None:
    """Headers alone are no answer, if the body never comes."""

    async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ")[1].decode()
                if path == "/index.xml":
                    locs = (f"{base}/c{number}.xml" for number in range(40))
                    body, length = make_index(*locs), None
                elif path == "/robots.txt":
                    body, length = f"Sitemap: {base}/index.xml".encode(), None
                else:
                    asked.append(path)
                    body, length = b"<urlset><url>", 9_999
                size = len(body) if length is None else length
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + body)
                await writer.drain()
        writer.close()

    asked: list[str] = []
    server = await asyncio.start_server(stall, "127.0.0.1", 0)
    async with server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        options = FetchOptions(host_pause_seconds=0.05, idle_seconds=0.05)
        read = await read_site(base, options=options)
    assert FAILURES <= len(asked) <= FAILURES + 1 + TRIALS
    assert {"stalled", "host-down"} <= read.codes


@pytest.mark.parametrize("status", [404, 410])
async def test_answers_that_are_no_refusals_do_not_count(status: int) -> None:
    """A host that has nothing is asked for all the same."""
    async with serve_site() as site:
        fill(site, 30, Answer(status=status))
        options = FetchOptions(retry_wait_seconds=0.01, max_attempts=1)
        read = await read_site(site.base, options=options)
        assert count_children(site) == 30
    assert read.codes == {"http-status"}


async def test_a_good_answer_begins_a_new_row() -> None:
    """Refusals among answers never add up."""

    async def answer(request: web.Request) -> Answer:
        number = int(request.path[2:-4])
        return Answer(status=403) if number % 5 else answer_urls(request.path)

    async with serve_site() as site:
        fill(site, 50, answer)
        read = await read_site(site.base, options=QUICK)
        assert count_children(site) == 50
    assert len(read.locs) == 10
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
            retry_wait_seconds=0.01, host_pause_seconds=0.05, host_trials=10, max_attempts=10
        )
        read = await read_site(site.base, options=options)
    assert len(read.locs) == 40
    assert read.report.complete


async def test_pauses_double_and_one_trial_is_made_at_a_time() -> None:
    """What the server sees: a row of refusals, then single requests, each later than the last."""
    times: list[float] = []

    async def refuse(request: web.Request) -> Answer:
        del request
        times.append(time.monotonic())
        return Answer(status=403)

    async with serve_site() as site:
        fill(site, 30, refuse)
        options = FetchOptions(host_pause_seconds=0.1, host_trials=3, per_host=1)
        await read_site(site.base, options=options)
    assert len(times) == FAILURES + 3
    gaps = [later - earlier for earlier, later in pairwise(times[FAILURES - 1 :])]
    for gap, pause in zip(gaps, (0.1, 0.2, 0.4), strict=True):
        assert gap >= pause * 0.95


async def test_a_pause_is_twice_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial that fails doubles the pause, which is no longer than that."""
    clock, url = Clock(), "https://a.example/s.xml"
    monkeypatch.setattr(breakers, "time", clock)
    breaker = HostBreaker(FetchOptions(host_pause_seconds=10, host_trials=4))
    for _ in range(FAILURES):
        breaker.note_error(url, fail(403))
    for pause in (10, 20, 40, 80):
        assert breaker.get_wait(url) == pause
        clock.now += pause
        assert breaker.get_wait(url) == 0
        breaker.begin_trial(url)
        breaker.note_error(url, fail(403))


async def test_other_hosts_are_read_during_a_pause() -> None:
    """Neither the workers nor the others' documents wait for a host that is left alone."""
    async with serve_site() as dead, serve_site() as alive:
        locs = [f"{dead.base}/c{number}.xml" for number in range(40)]
        locs += [f"{alive.base}/c{number}.xml" for number in range(40)]
        alive.pages |= {f"/c{n}.xml": answer_urls(f"/{n}") for n in range(40)}
        dead.pages |= {f"/c{n}.xml": Answer(status=403) for n in range(40)}
        alive.pages |= {
            "/robots.txt": Answer(f"Sitemap: {alive.base}/index.xml".encode()),
            "/index.xml": Answer(make_index(*locs)),
        }
        port = int(dead.base.rpartition(":")[2])
        options = FetchOptions(host_pause_seconds=600, host_trials=1, allow_ports=(port,))
        assert len(await read_some(alive.base, 40, hosts="any", options=options)) == 40
        assert count_children(alive) == 40
        assert count_children(dead) < 40


async def read_some(site: str, count: int, **arguments: Any) -> list[str]:
    """Return the first locs of a site, and leave its walk; fail if they wait for a pause."""
    locs = []
    async with asyncio.timeout(60), walk(site, **arguments) as entries:
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
            read = await read_site(site.base, options=options, limits=Limits(walk_seconds=1.0))
    assert read.report.left_out["budget-seconds"] >= 30 - FAILURES - 2


@pytest.mark.parametrize("status", [403, 404, 500])
async def test_guessed_paths_do_not_trip_it(status: int) -> None:
    """403 or 500 for what is not there says nothing; the last guess is as good as the first."""
    async with serve_site(Answer(status=status)) as site:
        site.pages["/robots.txt"] = Answer(status=404)
        site.pages["/admin/config/search/xmlsitemap"] = Answer(make_urlset(f"{site.base}/1"))
        read = await read_site(site.base, options=QUICK)
    assert read.locs == [f"{site.base}/1"]


async def test_all_that_was_read_before_is_delivered_and_the_next_walk_reads_the_rest(
    tmp_path: Path,
) -> None:
    """A host that refuses after 20 of 100 children: 20 today, the other 80 tomorrow."""
    is_open, given = False, 0

    async def answer(request: web.Request) -> Answer:
        nonlocal given
        given += 1
        return answer_urls(request.path) if is_open or given <= 20 else Answer(status=403)

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


async def test_no_more_outcomes_are_kept_than_there_is_room_for() -> None:
    """What is past the limit is counted."""
    async with serve_site() as site:
        fill(site, 120, Answer(status=403))
        read = await read_site(site.base, options=QUICK, limits=Limits(documents=100))
    left = read.report.left_out
    assert left["host-refuses"] + left["budget-documents"] + FAILURES + TRIALS <= 121
    assert left["host-refuses"] > 80


async def test_a_host_that_asks_for_a_long_wait_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Retry-After that is longer than a Crawl-delay can be sends the others' slots on."""
    monkeypatch.setattr("sitemapreader.fetch.http.ROBOTS_MAX_CRAWL_DELAY_SECONDS", 0.2)
    asked: set[str] = set()

    async def answer_later(request: web.Request) -> Answer:
        if request.path not in asked and len(asked) < 2:
            asked.add(request.path)
            return Answer(status=503, headers={"Retry-After": "600"})
        return answer_urls(request.path)

    async with serve_site() as slow, serve_site() as quick:
        slow.base = slow.base.replace("127.0.0.1", "localhost")
        locs = [f"{slow.base}/c{number}.xml" for number in range(20)]
        locs += [f"{quick.base}/c{number}.xml" for number in range(20)]
        quick.pages |= {f"/c{n}.xml": answer_urls(f"/q{n}") for n in range(20)}
        slow.pages |= {f"/c{n}.xml": answer_later for n in range(20)}
        quick.pages["/robots.txt"] = Answer(f"Sitemap: {quick.base}/index.xml".encode())
        quick.pages["/index.xml"] = Answer(make_index(*locs))
        port = int(slow.base.rpartition(":")[2])
        options = FetchOptions(allow_ports=(port,), allow_networks=("127.0.0.0/8",))
        locs = await read_some(quick.base, 20, hosts="any", options=options)
    assert sum("/q" in loc for loc in locs) == 20


# -- the parts


def fail(status: int | None, code: IssueCode = IssueCode.HTTP_STATUS, tries: int = 1) -> FetchError:
    error = FetchError(code, "https://a.example/s.xml", http_status=status)
    error.tries = tries
    return error


@pytest.mark.parametrize(
    ("error", "opens"),
    [
        (fail(403), True),
        (fail(429), True),
        (fail(503), True),
        (fail(504), True),
        (fail(523), True),
        (fail(401, IssueCode.LOGIN_REQUIRED), True),
        (fail(403, IssueCode.BLOCKED_BY_SITE), True),
        (fail(429, IssueCode.RETRY_LATER), True),
        (fail(None, IssueCode.TIMEOUT), True),
        (fail(None, IssueCode.CONNECT), True),
        (fail(None, IssueCode.DNS), True),
        (fail(None, IssueCode.TLS), True),
        (fail(404), False),
        (fail(500), True),
        (fail(599), True),
        (fail(404, IssueCode.SITEMAP_WITH_ERROR_STATUS), False),
        (fail(None, IssueCode.BLOCKED_ADDRESS), False),
        (fail(None, IssueCode.INVALID_URL), False),
        (fail(None, IssueCode.BODY_CUT), True),
        (fail(None, IssueCode.BAD_HTTP), True),
        (fail(None, IssueCode.TOO_MANY_REDIRECTS), True),
        (fail(None, IssueCode.BUDGET_BYTES), False),
    ],
    ids=lambda value: f"{value.code}-{value.http_status}" if isinstance(value, FetchError) else "",
)
async def test_what_counts_as_a_failure_of_the_host(error: FetchError, opens: bool) -> None:
    """Refusals and silence do; what is said of one document, and what we refuse, does not."""
    breaker = HostBreaker(FetchOptions())
    for _ in range(FAILURES):
        breaker.note_error("https://a.example/s.xml", error)
    assert bool(breaker.get_wait("https://a.example/other.xml")) is opens
    assert breaker.get_wait("https://b.example/s.xml") == 0


async def test_attempts_count_each() -> None:
    """Two documents with three attempts each are six refusals."""
    breaker = HostBreaker(FetchOptions())
    url = "https://a.example/s.xml"
    breaker.note_error(url, fail(429, tries=3))
    assert not breaker.get_wait(url)
    breaker.note_error(url, fail(429, tries=3))
    assert breaker.get_wait(url) > 9


@pytest.mark.parametrize("guessed", [False, True])
async def test_a_guess_that_is_refused_says_nothing(guessed: bool) -> None:
    """403 and 500 for what nobody named are no refusal; 429 is one in any case."""
    breaker = HostBreaker(FetchOptions())
    for _ in range(FAILURES):
        for host, status in (("a", 403), ("b", 429), ("c", 500)):
            url = f"https://{host}.example/s.xml"
            if guessed:
                breaker.note_guess(url)
            breaker.note_attempt(url, fail(status))
    assert bool(breaker.get_wait("https://a.example/s.xml")) is not guessed
    assert bool(breaker.get_wait("https://c.example/s.xml")) is not guessed
    assert breaker.get_wait("https://b.example/s.xml")


async def run_in_task(work: Callable[[], object]) -> None:
    async def run() -> None:
        work()

    await asyncio.create_task(run())


async def test_only_the_trial_may_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tasks are told to wait; when the trial came to nothing, the next one may begin."""
    clock = Clock()
    monkeypatch.setattr(breakers, "time", clock)
    breaker, url = HostBreaker(FetchOptions(host_pause_seconds=10)), "https://a.example/s.xml"
    for _ in range(FAILURES):
        breaker.note_error(url, fail(403))
    clock.now += 10
    assert breaker.get_wait(url) == 0
    with pytest.raises(FetchError):
        breaker.check(url)
    breaker.begin_trial(url)
    breaker.check(url)
    assert breaker.get_wait(url) == float("inf")

    def check_elsewhere() -> None:
        with pytest.raises(FetchError) as caught:
            breaker.check(url)
        assert caught.value.code is IssueCode.HOST_REFUSES

    await run_in_task(check_elsewhere)
    await run_in_task(lambda: breaker.end_trial(url))  # not its own
    assert breaker.get_wait(url) == float("inf")
    breaker.end_trial(url)
    assert breaker.get_wait(url) == 0


async def test_429_halves_the_pace_and_good_answers_restore_it() -> None:
    """First fewer requests at once, then time between them; and back again."""
    politeness = HostThrottle(4, 0.0)
    place = politeness._queue_of("a.example")  # what it has no other way to show

    def slow_down() -> None:
        place.slowed_at = min(place.slowed_at, time.monotonic() - 1)
        politeness.slow_down("a.example")

    def pace() -> list[float]:
        return [place.limit, place.extra_delay]

    seen = []
    for _ in range(9):
        slow_down()
        seen.append(pace())
    assert seen[:4] == [[2, 0], [1, 0], [1, 0.5], [1, 1]]
    assert seen[-1] == [1, 8]
    politeness.slow_down("a.example")  # of the same moment
    assert pace() == [1, 8]
    for _ in range(20 * 5):
        politeness.speed_up("a.example")
    assert pace() == [1, 0]
    for _ in range(20 * 2):
        politeness.speed_up("a.example")
    assert pace() == [4, 0]
    politeness.speed_up("never.example")


async def test_a_long_wait_gives_the_slot_back() -> None:
    """Who does not wait leaves the slot to those who do."""
    politeness = HostThrottle(1, 0.0)
    politeness.defer("a.example", 30)
    with pytest.raises(LongWaitError, match="30 s"):
        await politeness.acquire("a.example", max_wait=5)
    politeness._queue_of("a.example").not_before = 0
    async with asyncio.timeout(20):  # not 30
        (await politeness.acquire("a.example")).release()
