"""The breaker of a host: what is counted, for how long it is paused, and when it is given up."""

from __future__ import annotations

import logging
import math
import time
from typing import Any

import attrs
import pytest

from sitemapreader._types.errors import FetchError, Redirect
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.hosts import Host, HostBreaker, classify_failure

A, B, OTHER = "https://a.example/1", "https://a.example/2", "https://b.example/1"
ROBOTS = "https://a.example/robots.txt"
OPTIONS = FetchOptions(failures_in_row=3, host_pause_seconds=8, host_trials=2)


class Clock:
    """A clock that a test sets, ahead of the one of the process."""

    def __init__(self) -> None:
        self.now = math.ceil(time.monotonic()) + 1_000.0

    def monotonic(self) -> float:
        """Return the time that was set."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    return clock


def fail(status: int | None = 503, url: str = A, tries: int = 1, **more: Any) -> Any:
    code = IssueCode.CONNECT if status is None else IssueCode.HTTP_STATUS
    error = FetchError(more.pop("code", code), url, http_status=status, **more)
    error.tries = tries
    return error


def test_the_life_of_a_breaker(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Three failures in a row pause a host, failed trials double the pause, two give it up."""
    caplog.set_level(logging.INFO, "sitemapreader")
    breaker = HostBreaker(OPTIONS)
    waits: list[float] = []
    for url, error in ((A, fail()), (B, fail(404)), (A, fail()), (B, fail(None))):
        breaker.note_error(url, error)
        waits.append(breaker.wait(B))
    assert waits == [0, 0, 0, 0]  # a 404 is a response, which begins a new row
    breaker.note_error(A, fail(403))
    assert (breaker.wait(A), breaker.wait(OTHER)) == (8, 0)
    assert breaker.find_reason(B) == (IssueCode.HOST_REFUSES, "http-status")
    breaker.note_error(B, fail())  # it was requested before the pause
    clock.now += 7.5
    assert breaker.wait(B) == 0.5
    clock.now += 9
    assert breaker.wait(B) == 0
    breaker.begin_trial(B)
    assert (breaker.wait(A), breaker.wait(B)) == (1, 1)
    breaker.check(B, 0)
    with pytest.raises(FetchError, match="4 failures in a row: http-status"):
        breaker.check(A, 0)
    breaker.note_error(B, fail(None))
    assert breaker.wait(A) == 16
    assert breaker.find_reason(A) == (IssueCode.HOST_DOWN, "connect")
    clock.now += 16
    breaker.begin_trial(A)
    breaker.note_error(A, fail())
    assert (breaker.wait(A), breaker.wait(B)) == (math.inf, math.inf)
    breaker.check_wait(A)  # it has failed, and has required no wait
    assert [record.getMessage() for record in caplog.records] == [
        "a.example: no request for 8 s: host-refuses",
        "a.example: no request for 16 s: host-down",
    ]


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        *((fail(status), IssueCode.HOST_REFUSES) for status in (401, 403, 407, 429)),
        *((fail(status), IssueCode.HOST_DOWN) for status in (500, 503, 599)),
        *((fail(status), None) for status in (404, 499, 600)),
        (fail(None), IssueCode.HOST_DOWN),
        (fail(None, code=IssueCode.BLOCKED_BY_SITE), IssueCode.HOST_REFUSES),
        (fail(503, code=IssueCode.TOO_LARGE), None),
    ],
    ids=str,
)
def test_what_a_failure_says_of_its_host(
    error: FetchError, verdict: IssueCode | None
) -> None:
    """A refusal, that it is down, or nothing: then it is about the document alone."""
    assert classify_failure(error) is verdict


def test_a_response_ends_the_pauses(clock: Clock) -> None:
    """After a trial that succeeds a host is as new: a failure more pauses nothing."""
    breaker = HostBreaker(OPTIONS)
    breaker.note_error(A, fail(tries=3))
    clock.now += 8
    breaker.begin_trial(A)
    breaker.note_response(A)
    assert breaker.wait(A) == 0
    breaker.note_error(A, fail(tries=2))
    assert breaker.wait(A) == 0
    breaker.note_error(B, fail())
    assert breaker.wait(A) == 8


def test_what_counts_once(clock: Clock) -> None:
    """An error counts once; by document, so does a 5xx with all its attempts, and no other one."""
    del clock
    each, by_document = HostBreaker(OPTIONS), HostBreaker(OPTIONS, by_document=True)
    error = fail()
    for _ in range(3):
        each.note_error(A, error)
    assert each.wait(A) == 0
    for status, waits in ((500, 0), (599, 0), (403, 8)):
        breaker = attrs.evolve(by_document)
        breaker.note_error(A, fail(status), is_last=False)
        breaker.note_error(A, fail(status), is_last=False)
        breaker.note_error(A, fail(status, tries=3))
        assert breaker.wait(A) == waits
    for tries, waits in ((2, 0), (3, 8)):
        breaker = HostBreaker(OPTIONS)
        breaker.note_error(A, fail(tries=9), is_last=False)
        breaker.note_error(A, fail(tries=tries - 1))
        assert breaker.wait(A) == waits


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (fail(403), False),
        (fail(500), False),
        (fail(404), False),
        (fail(429), True),
        (fail(503), True),
        (fail(None), True),
        (fail(403, code=IssueCode.BLOCKED_BY_SITE), True),
    ],
    ids=str,
)
def test_a_guess(error: FetchError, clock: Clock, *, counts: bool) -> None:
    """What servers answer for a path that is missing counts for URLs that were named."""
    del clock
    options = attrs.evolve(OPTIONS, failures_in_row=1)
    for is_guess, is_counted in ((True, counts), (False, error.http_status != 404)):
        breaker = HostBreaker(options)
        if is_guess:
            breaker.note_guess(A)
        breaker.note_error(A, attrs_free_copy(error))
        assert (breaker.wait(B) == 8) is is_counted


def attrs_free_copy(error: FetchError) -> FetchError:
    """Return the same error as another object."""
    return FetchError(error.code, error.url, http_status=error.http_status)


def test_a_guess_that_is_redirected_proves_nothing(clock: Clock) -> None:
    """Some servers redirect in a loop where nothing is."""
    del clock
    options = attrs.evolve(OPTIONS, failures_in_row=1)
    for redirects, waits in (((), 8), ((Redirect(A, B, 301),), 0)):
        breaker = HostBreaker(options)
        breaker.note_guess(A)
        error = fail(None, code=IssueCode.REDIRECT_LOOP)
        error.redirects = redirects
        breaker.note_error(A, error)
        assert breaker.wait(A) == waits


@pytest.mark.parametrize(
    ("url", "status", "is_left"),
    [(A, 429, True), (ROBOTS, 503, True), (A, 503, False), (A, None, False)],
)
def test_a_wait_that_is_too_long(
    url: str, status: int | None, clock: Clock, *, is_left: bool
) -> None:
    """A 429, or what robots.txt gets, is about the host, which is then left, response or not."""
    breaker = HostBreaker(OPTIONS)
    later = fail(status, code=IssueCode.RETRY_LATER, retry_after_seconds=7200)
    breaker.note_error(url, later)
    breaker.note_response(url)
    clock.now += 1e9
    assert breaker.wait(A) == (math.inf if is_left else 0)
    if is_left:
        cause = "requested to wait for 7200 s"
        assert breaker.find_reason(A) == (IssueCode.HOST_REFUSES, cause)
        with pytest.raises(FetchError, match=r"host-refuses|requested to wait"):
            breaker.check_wait(A)


def test_a_wait_of_more_than_a_minute_is_a_pause(clock: Clock) -> None:
    """It is as long as was requested, and not shortened by another one."""
    breaker = HostBreaker(OPTIONS)
    breaker.check(A, 60)
    for wait in (61, 90, 70):
        with pytest.raises(FetchError, match=f"requested to wait for {wait} s"):
            breaker.check(A, wait)
    assert breaker.wait(B) == 90
    clock.now += 30
    assert breaker.wait(B) == 60
    with pytest.raises(FetchError, match="requested to wait for 70 s"):
        breaker.check(B, 0)


def test_no_pause_is_longer_than_the_walk(clock: Clock) -> None:
    """What waits for a host is told when the time of the walk is over."""
    del clock
    breaker = HostBreaker(OPTIONS, lambda: 2.5)
    breaker.note_error(A, fail(tries=3))
    assert breaker.wait(A) == 2.5


# -- waits that a host requests


def test_when_a_host_may_be_requested(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A wait never goes back; one that is long is a warning, once."""
    caplog.set_level(logging.INFO, "sitemapreader")
    host = Host("a.example", 2, 0.5)
    waits = []
    for seconds in (10.0, 5.0, 30.0, 35.0, 41.0):
        host.defer(seconds)
        waits.append(host.find_wait())
    assert waits == [10, 10, 30, 35, 41]
    assert [record.levelno for record in caplog.records] == [
        logging.INFO,
        logging.INFO,
        logging.WARNING,
        logging.INFO,
        logging.INFO,
    ]
    clock.now += 100
    assert host.find_wait() == 0


@pytest.mark.parametrize(
    ("error", "longest", "is_page", "rate", "wait"),
    [
        (fail(429), 60, False, (1, 0.5), 0),
        (fail(429, retry_after_seconds=60), 60, False, (1, 0.5), 60),
        (fail(429, retry_after_seconds=61), 60, False, (1, 0.5), 0),
        (fail(503, retry_after_seconds=0), 60, True, (2, 0.5), 0),
        (fail(503, retry_after_seconds=9), 60, True, (2, 0.5), 9),
        (
            fail(503, code=IssueCode.RETRY_LATER, retry_after_seconds=9),
            60,
            True,
            (2, 0.5),
            0,
        ),
        (
            fail(503, code=IssueCode.RETRY_LATER, retry_after_seconds=9),
            60,
            False,
            (2, 0.5),
            9,
        ),
    ],
)
def test_what_a_refusal_asks_for(
    error: FetchError,
    longest: float,
    is_page: bool,
    rate: tuple[int, float],
    wait: float,
    clock: Clock,
) -> None:
    """A 429 halves the rate; a Retry-After that is not too long is kept, unless a page's own."""
    del clock
    host = Host("a.example", 2, 0.5)
    host.note_refusal(error, longest, is_page=is_page)
    assert (host.rate, host.find_wait()) == (rate, wait)


def test_what_is_remembered_of_a_host(clock: Clock) -> None:
    """A rate below the default for ten minutes, another one while it counts."""
    now = clock.now
    host = Host("a.example", 2, 0.5)
    assert not host.is_worth_keeping(now)
    host.defer(3)
    assert host.is_worth_keeping(now + 2.9)
    assert not host.is_worth_keeping(now + 3)
    host.keep_delay(0.5)
    assert not host.is_worth_keeping(now + 3)
    host.keep_delay(0.6)
    assert host.is_worth_keeping(now + 602.9)
    assert not host.is_worth_keeping(now + 603)
    host.keep_delay(0)
    host.slow_down()
    assert host.is_worth_keeping(now + 602.9)
    assert not host.is_worth_keeping(now + 603)
