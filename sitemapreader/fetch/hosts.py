"""Hosts: limits on concurrent requests and on their rate, and a breaker for failing hosts.

A slot is the right to one request; requests get their slots in order. A response that is not read
for a moment lends its slot to another requester, because its reader waits for its own consumer. A
walk is one requester, and all other code together is another one.

A host is paused for one walk after several failures in a row, or if it requests a wait of more than
a minute; for a longer wait than the walk waits, it is given up. After the pause one document is
fetched as a trial. A response ends the pauses; another failure doubles the next one. After some
failed trials the host is given up until the next walk.
"""

# Without loans, a consumer that fetches pages with the fetcher of its walk would wait for the slot
# of a reader, and the reader would wait for the consumer. Slots are not lent to the same requester,
# because a walk whose consumer is slow need not open more documents.

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from contextlib import nullcontext
from typing import TYPE_CHECKING
from weakref import WeakSet

import attrs

from sitemapreader._log import LOGGER
from sitemapreader._types.errors import LOGIN_STATUSES, FetchError
from sitemapreader._types.issues import IssueCode, show_url
from sitemapreader._types.options import (
    LONGEST_HELD_WAIT_SECONDS,
    ROBOTS_MAX_CRAWL_DELAY_SECONDS,
)
from sitemapreader._types.urls import host_of, is_robots_url, origin_of, server_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sitemapreader._types.options import FetchOptions

_PAUSE = "%s: no request for %.0f s: %s"
LONG_WAIT_SECONDS = 10.0
"""Longest wait for a host that is not worth a warning. The shell prints the warnings."""
LENT_AFTER_SECONDS = 0.2
"""Time without a read after which the slot of a response is lent; one step takes less."""
MAX_IDLE_HOSTS = 1024
"""Number of hosts without requests that are kept; a crawl of the whole web has millions."""
REMEMBERED_SECONDS = 600
"""Time that a Crawl-delay or a 429 is kept after the last request to a host. A walk is never silent
for as long between two requests to it."""

_STRANGER = object()
"""A requester that has no slot."""
_SLOW_DOWN_SECONDS = 1.0
_MIN_DELAY_SECONDS = 0.5
_MAX_DELAY_SECONDS = 8.0
"""Bounds of the time between two requests to a host that sent 429."""
_RECOVERY_RESPONSES = 20
"""Number of good responses in a row that undo one step of `Host.slow_down`."""


@attrs.define(eq=False)
class Slot:
    """The right to one request at a host, and at its address, until it is released."""

    requester: object = None
    hosts: list[Host] = attrs.field(factory=list)
    """The host and the address that count the slot."""
    lent_at: float = math.inf
    """Monotonic time from which another requester may use the slot, because nothing is read from
    the server."""

    @property
    def is_lent(self) -> bool:
        """True if another requester may use the slot."""
        return time.monotonic() >= self.lent_at

    def offer(self) -> None:
        """Lend the slot soon, because nothing is read from the server until `reclaim`."""
        if self.lent_at == math.inf:
            self.lent_at = time.monotonic() + LENT_AFTER_SECONDS
            for host in self.hosts:
                host.await_loan()

    def reclaim(self) -> None:
        """End the loan. If the slot was lent, both requests use it until one of them ends."""
        self.lent_at = math.inf

    def release(self) -> None:
        """Free the slot for the next request; further calls do nothing."""
        self.reclaim()
        while self.hosts:
            self.hosts.pop().remove(self)


@attrs.define(eq=False)
class Host:
    """The slots of one host (or address), and the requests that wait for one."""

    name: str
    per_host: int
    min_delay: float
    delay: float = 0.0
    not_before: float = attrs.field(factory=time.monotonic)
    """Monotonic time before which no request starts; it never goes back."""
    started_at: float = -math.inf
    """Monotonic time of the start of the last request."""
    slowed_at: float = 0.0
    """Monotonic time of the last 429."""
    steps: int = 0
    """Number of times that the rate was halved: first the requests at once, then the delay."""
    good_responses: int = 0
    """Number of good responses in a row since the last step."""
    is_in_sync: bool = True
    """False once the host has sent unsolicited bytes; its connections are then not reused."""
    _slots: set[Slot] = attrs.field(factory=set, init=False)
    # Not a dict, which needs a long time to find its first key after many deletions.
    _queue: OrderedDict[Slot, asyncio.Future[None]] = attrs.field(
        factory=OrderedDict, init=False
    )
    _gate: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)
    """Held by the request that starts next, so that two starts are a delay apart."""
    _loan: asyncio.TimerHandle | None = attrs.field(default=None, init=False)
    """Timer that serves the queue when a slot is lent."""

    # -- the rate

    @property
    def rate(self) -> tuple[int, float]:
        """Number of requests at once, and the seconds between two starts."""
        if not self.steps:
            return self.per_host, max(self.min_delay, self.delay)
        requests = max(1, self.per_host >> self.steps)
        delay = max(self.min_delay, self.delay)
        doublings = self.steps - self.per_host.bit_length()
        if doublings >= 0:
            slow_delay = _MIN_DELAY_SECONDS * 2.0**doublings
            delay = max(delay, min(slow_delay, _MAX_DELAY_SECONDS))
        return requests, delay

    def keep_delay(self, seconds: float) -> None:
        """Keep a Crawl-delay, also since the last request, which was for robots.txt."""
        self.delay = seconds
        self.not_before = max(self.not_before, self.started_at + seconds)

    def defer(self, seconds: float) -> None:
        """Start no request for `seconds` from now."""
        now = time.monotonic()
        level = logging.INFO
        # a run that nobody watches would seem to hang; a second document of the host is no news
        if now + seconds > max(self.not_before, now) + LONG_WAIT_SECONDS:
            level = logging.WARNING
        LOGGER.log(level, _PAUSE, show_url(self.name), seconds, "Retry-After")
        self.not_before = max(self.not_before, now + seconds)

    def slow_down(self) -> None:
        """Halve the rate after a 429; several at the same moment count once."""
        now = time.monotonic()
        self.good_responses = 0
        if now >= self.slowed_at + _SLOW_DOWN_SECONDS:
            self.slowed_at = now
            _, delay = self.rate
            if delay < _MAX_DELAY_SECONDS:
                self.steps += 1

    def note_refusal(
        self, error: FetchError, longest_wait: float, *, is_page: bool | None
    ) -> None:
        """Slow down after a 429; obey a Retry-After of up to `longest_wait` seconds.

        A page that is given up because of its own Retry-After delays no other one.
        """
        if error.http_status == 429:
            self.slow_down()
        elif is_page and error.code is IssueCode.RETRY_LATER:
            return
        wait = error.retry_after_seconds
        if wait is not None and wait <= longest_wait:
            self.defer(wait)

    def speed_up(self) -> None:
        """Count a good response; after some in a row, undo one step of `slow_down`."""
        self.good_responses += 1
        if self.steps and self.good_responses >= _RECOVERY_RESPONSES:
            self.steps -= 1
            self.good_responses = 0

    # -- the slots

    async def admit(self, slot: Slot) -> None:
        """Wait until there is room for a slot; the first that fits is admitted first."""
        if not self._queue and self._has_room(slot.requester):
            self._add(slot)
            return
        admitted = asyncio.get_running_loop().create_future()
        self._queue[slot] = admitted
        self.serve()
        try:
            await admitted
        finally:
            self._queue.pop(slot, None)

    async def acquire(
        self,
        slot: Slot,
        join: Callable[[], Awaitable[object]] | None = None,
        check: Callable[[float], object] | None = None,
    ) -> None:
        """Wait for room, for the time of the next request, and for `join`, in this order.

        `check` gets the remaining seconds before and after each wait; it may raise.
        """
        # before queueing, because a more patient request may be ahead, and hold a slot
        self._find_wait(check)
        await self.admit(slot)
        _, delay = self.rate
        async with self._gate if delay else nullcontext():
            wait = self._find_wait(check)
            while wait > 0:
                await asyncio.sleep(wait)
                wait = self._find_wait(check)  # it may have become longer
            if join is not None:
                await join()
            _, delay = self.rate
            self.started_at = time.monotonic()
            self.not_before = max(self.not_before, self.started_at + delay)

    def _find_wait(self, check: Callable[[float], object] | None) -> float:
        """Return the seconds until the next request may start, after a check of them."""
        wait = self.not_before - time.monotonic()
        if check is not None:
            check(wait)
        return wait

    def find_wait(self) -> float:
        """Return the seconds until a request might start; `math.inf` if there is no room."""
        if self._queue or not self._has_room(None):
            return math.inf
        return max(0.0, self.not_before - time.monotonic())

    def remove(self, slot: Slot) -> None:
        """Remove a slot, and admit others."""
        self._slots.discard(slot)
        if self._queue:
            self.serve()

    def serve(self) -> None:
        """Admit all waiting slots for which there is room."""
        while (slot := self._find_next()) is not None:
            self._queue.pop(slot).set_result(None)
            self._add(slot)
        self.await_loan()

    def await_loan(self) -> None:
        """Serve the queue again when a slot may be lent; an empty queue needs no timer."""
        if not self._queue or self._loan is not None:
            return
        now = time.monotonic()
        offered = [slot.lent_at for slot in self._slots if now < slot.lent_at]
        next_loan = min(offered, default=math.inf)
        if next_loan < math.inf:
            loop = asyncio.get_running_loop()
            self._loan = loop.call_later(next_loan - now, self._end_wait)

    def _end_wait(self) -> None:
        self._loan = None
        self.serve()

    def _add(self, slot: Slot) -> None:
        self._slots.add(slot)
        slot.hosts.append(self)

    def _find_next(self) -> Slot | None:
        if not self._queue or not self._has_room(_STRANGER):
            return None
        for slot, admitted in self._queue.items():
            if not admitted.done() and self._has_room(slot.requester):
                return slot
        return None

    def _has_room(self, requester: object) -> bool:
        """Return whether a requester may have another slot; it cannot borrow its own ones."""
        limit, _ = self.rate
        if len(self._slots) < limit:
            return True
        used = sum(
            not slot.is_lent or slot.requester is requester for slot in self._slots
        )
        return used < limit

    @property
    def is_busy(self) -> bool:
        """True if a request is under way, or waits."""
        return bool(self._slots or self._queue)

    def is_worth_keeping(self, now: float) -> bool:
        """Return whether there are requests, or a rate below the default."""
        if self.is_busy:
            return True
        if self.steps or self.delay > self.min_delay:
            return self.not_before > now - REMEMBERED_SECONDS
        return self.not_before > now


class HostThrottle(dict[str, Host]):
    """The hosts of a fetcher by name, each with its own concurrency and request rate."""

    def __init__(self, per_host: int, delay_seconds: float) -> None:
        super().__init__()
        self._per_host = per_host
        self._delay = delay_seconds
        self._next_eviction = MAX_IDLE_HOSTS

    def __missing__(self, name: str) -> Host:
        """Make the record of a host."""
        if len(self) >= self._next_eviction:
            now = time.monotonic()
            idle = [host for host in self.values() if not host.is_worth_keeping(now)]
            for host in idle:
                del self[host.name]
            # Twice the remaining number, so that the cost of evictions per new host is constant.
            self._next_eviction = max(MAX_IDLE_HOSTS, 2 * len(self))
        self[name] = Host(name, self._per_host, self._delay)
        return self[name]

    def set_delay(self, url: str, seconds: float) -> None:
        """Keep `seconds` between two requests to the host of a URL, up to a minute."""
        if server := server_of(url):
            self[server].keep_delay(min(seconds, ROBOTS_MAX_CRAWL_DELAY_SECONDS))

    def list_busy(self) -> list[str]:
        """Return the names of the hosts with a request that is under way or waits, sorted."""
        return sorted(name for name, host in self.items() if host.is_busy)


# -- hosts that refuse or are down

PAUSE_CODES = frozenset({IssueCode.HOST_REFUSES, IssueCode.HOST_DOWN})
"""Codes of a request that was not sent, because its host is paused. They are also the reasons of
the sitemaps that are left when the host is given up."""
UNSENT_CODES = PAUSE_CODES | {IssueCode.BLOCKED_ADDRESS, IssueCode.BLOCKED_PORT}
"""Codes of a request that was not sent; after a redirect, the one that led there was."""

_REFUSING_STATUSES = LOGIN_STATUSES | {403, 429}
_VERDICTS = {
    IssueCode.HOST_REFUSES: "blocked-by-site login-required retry-later",
    IssueCode.HOST_DOWN: "bad-http body-cut connect dns redirect-loop stalled timeout tls "
    "too-many-redirects too-slow",
}
"""Verdict about a host -> codes of failures; other failures concern only the document."""
_STATUSES_OF_GUESSES = (403, 500)
"""Statuses of a missing path: object stores send 403, and broken programs 500. Other servers
redirect in a loop."""
_TRIAL_SECONDS = 1.0
"""Seconds between two checks during a trial, because nobody reports its end."""


@attrs.define
class _Failures:
    """The failures of one origin since its last good response."""

    count: int = 0
    trials: int = 0
    """Number of failed trials."""
    reason: IssueCode = IssueCode.HOST_REFUSES
    cause: str = ""
    paused_until: float = 0.0
    """Monotonic time; 0 before the first pause."""
    trial: str = ""
    """The URL of the present trial."""


_NONE = _Failures()


@attrs.define(eq=False)
class HostBreaker:
    """Breaker of one walk: its failures by origin (scheme, host, port).

    `seconds_left` returns the remaining time of the walk, which limits each pause. With
    `by_document`, a document that returns 5xx counts once, however often it was tried, because the
    fault may be its own.
    """

    # Only origins whose last document failed have a record, so most walks keep none.

    _options: FetchOptions
    _seconds_left: Callable[[], float] = lambda: math.inf
    _by_document: bool = attrs.field(default=False, kw_only=True)
    _failures: dict[str, _Failures] = attrs.field(factory=dict, init=False)
    _noted: WeakSet[FetchError] = attrs.field(factory=WeakSet, init=False)
    _guesses: set[str] = attrs.field(factory=set, init=False)

    def note_response(self, url: str) -> None:
        """Forget the failures of a host that responded; a wait that it requested remains."""
        if self._failures and self._find(url).paused_until < math.inf:
            self._failures.pop(origin_of(url), None)

    def note_guess(self, url: str) -> None:
        """Remember that nobody named a URL, so that its failure may prove nothing."""
        self._guesses.add(url)

    def note_error(
        self,
        url: str,
        error: FetchError,
        *,
        is_last: bool = True,
    ) -> None:
        """Count the failure of a document, or of an attempt that is not its last.

        An error counts once, with all its attempts if they were not counted one by one.
        """
        reason = classify_failure(error)
        status = error.http_status or 0
        counts_once = self._by_document and 500 <= status < 600
        if error in self._noted or (counts_once and not is_last):
            return
        self._noted.add(error)
        # A 503 may be the fault of one document; a 429 is not, and robots.txt is about the host.
        speaks_for_host = status == 429 or is_robots_url(url)
        if error.code is IssueCode.RETRY_LATER and speaks_for_host:
            self._give_up(error)
            return
        is_of_path = (
            error.code is IssueCode.HTTP_STATUS and status in _STATUSES_OF_GUESSES
        )
        if url in self._guesses and (is_of_path or error.redirects):
            return
        if reason is not None:
            count = 1
            if is_last and not counts_once:
                count = error.tries
            self._note_failure(url, reason, error, count)
        elif error.code is IssueCode.HTTP_STATUS:
            self.note_response(url)

    def _give_up(self, error: FetchError) -> None:
        """Request nothing more from a host that requires a longer wait than the walk waits for."""
        failures = self._failures.setdefault(origin_of(error.url), _Failures())
        failures.reason = IssueCode.HOST_REFUSES
        failures.cause = error.cause
        if error.retry_after_seconds is not None:
            failures.cause = f"requested to wait for {error.retry_after_seconds:.0f} s"
        failures.paused_until = math.inf
        failures.trials = self._options.host_trials

    def _note_failure(
        self,
        url: str,
        reason: IssueCode,
        error: FetchError,
        count: int,
    ) -> None:
        failures = self._failures.setdefault(origin_of(url), _Failures())
        failures.count += count
        failures.reason = reason
        failures.cause = error.cause
        if failures.paused_until:
            if failures.trial != url:
                return  # this request began before the pause
            failures.trial = ""
            failures.trials += 1
        elif failures.count < self._options.failures_in_row:
            return
        seconds = self._options.host_pause_seconds * 2**failures.trials
        failures.paused_until = time.monotonic() + seconds
        if failures.trials < self._options.host_trials:
            LOGGER.info(_PAUSE, show_url(host_of(url)), seconds, reason)

    def wait(self, url: str) -> float:
        """Return the seconds until the next request to a host; infinity if it is given up."""
        failures = self._find(url)
        if not failures.paused_until:
            return 0.0
        if failures.trials >= self._options.host_trials:
            return math.inf
        if failures.trial:
            seconds = _TRIAL_SECONDS
        else:
            seconds = failures.paused_until - time.monotonic()
        return max(0.0, min(seconds, self._seconds_left()))

    def find_reason(self, url: str) -> tuple[IssueCode, str]:
        """Return the reason why a host is given up, and its last failure."""
        failures = self._find(url)
        return failures.reason, failures.cause

    def begin_trial(self, url: str) -> None:
        """After a pause, allow requests for this URL only, of all URLs of its host."""
        failures = self._find(url)
        if failures.paused_until:
            failures.trial = url

    def end_trial(self, url: str) -> None:
        """End the trial of a URL; if nothing was requested, another one may begin."""
        failures = self._find(url)
        if failures.trial == url:
            failures.trial = ""

    def check(self, url: str, wait: float) -> None:
        """Raise FetchError if a URL must not be requested, because its host is paused.

        A host that requests a long `wait`, in seconds, is paused for this time.
        """
        if wait > LONGEST_HELD_WAIT_SECONDS:
            failures = self._failures.setdefault(origin_of(url), _Failures())
            end = time.monotonic() + wait
            failures.paused_until = max(failures.paused_until, end)
            failures.reason = IssueCode.HOST_REFUSES
            failures.cause = f"requested to wait for {wait:.0f} s"
            raise FetchError(failures.reason, url, failures.cause)
        failures = self._find(url)
        if failures.paused_until and failures.trial != url:
            detail = failures.cause
            if failures.count >= self._options.failures_in_row:
                detail = f"{failures.count} failures in a row: {detail}"
            raise FetchError(failures.reason, url, detail)

    def check_wait(self, url: str) -> None:
        """Raise FetchError if the host requires a longer wait than the walk waits for."""
        failures = self._find(url)
        if failures.paused_until == math.inf:
            raise FetchError(failures.reason, url, failures.cause)

    def _find(self, url: str) -> _Failures:
        if self._failures:
            return self._failures.get(origin_of(url), _NONE)
        return _NONE


def classify_failure(error: FetchError) -> IssueCode | None:
    """Return the verdict of a failure about its host; `None` if it concerns only the document."""
    if error.code is not IssueCode.HTTP_STATUS:
        for verdict, codes in _VERDICTS.items():
            if str(error.code) in codes.split():
                return verdict
        return None
    status = error.http_status or 0
    if status in _REFUSING_STATUSES:
        return IssueCode.HOST_REFUSES
    if 500 <= status < 600:
        return IssueCode.HOST_DOWN
    return None
