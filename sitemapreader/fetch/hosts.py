"""Hosts: requests at once, the time between them, and which are down.

A slot is the right to one request; requests get theirs in the order in which they ask. A response
that is not read for a moment lends its slot to another requester, a walk or all other code
together: a reader that waits for its own consumer asks for nothing.

A host that fails several times in a row is paused for one walk. After the pause one document is
fetched as a trial. An answer ends that; another failure doubles the pause. After some failed trials
the host is given up until the next walk.
"""

# Without loans, a consumer that fetches pages with the fetcher of its walk would wait for a slot
# that a reader holds, and the reader for the consumer. Slots are not lent to the same requester:
# the workers of a walk that is held up have no need to open all that they could.

from __future__ import annotations

import asyncio
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
from sitemapreader._types.options import ROBOTS_MAX_CRAWL_DELAY_SECONDS
from sitemapreader._types.urls import host_of, origin_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sitemapreader._types.options import FetchOptions

_PAUSE = "%s: no request for %.0f s: %s"
LENT_AFTER_SECONDS = 0.2
"""Time that a response is unread before its slot is lent; a reader needs less for one step."""
MAX_IDLE_HOSTS = 1024
"""Number of hosts without requests that are kept; a crawl of the whole web meets millions."""
REMEMBERED_SECONDS = 600
"""Time that a Crawl-delay or a 429 is kept after the last request to a host: longer than a
walk is silent between two requests to it."""

_SLOW_DOWN_SECONDS = 1.0
_LEAST_DELAY = 0.5
_MOST_DELAY = 8.0
"""Bounds of the seconds between two requests to a host that answered 429."""
_GOOD_ANSWERS = 20
"""Number of good responses in a row that undo one step of `Host.slow_down`."""


@attrs.define(eq=False)
class Slot:
    """The right to one request at a host, and at its address, until it is released."""

    requester: object = None
    is_lent: bool = False
    """True if another requester may use its place: nothing is read from the server."""
    places: list[Host] = attrs.field(factory=list)
    _loan: asyncio.TimerHandle | None = None

    def pause(self) -> None:
        """Let the slot be lent soon: nothing is read from the server until `resume`."""
        if self.places and self._loan is None:
            self._loan = asyncio.get_running_loop().call_later(
                LENT_AFTER_SECONDS, self._lend
            )

    def _lend(self) -> None:
        self.is_lent = True
        for place in self.places:
            place.serve()

    def resume(self) -> None:
        """Read on. If the slot was lent, both go on, because the server responds to both anyway."""
        self.is_lent = False
        if self._loan is not None:
            self._loan.cancel()
            self._loan = None

    def release(self) -> None:
        """Free the slot for the next request; further calls do nothing."""
        self.resume()
        while self.places:
            self.places.pop().remove(self)


@attrs.define(eq=False)
class Host:
    """The slots of one host (or address), and the requests that wait for one."""

    name: str
    per_host: int
    least_delay: float
    delay: float = 0.0
    not_before: float = attrs.field(factory=time.monotonic)
    """Monotonic time before which no request starts; it never goes back."""
    slowed_at: float = 0.0
    """Monotonic time of the last 429."""
    steps: int = 0
    """Number of times that the rate was halved: first the requests at once, then the delay."""
    good_answers: int = 0
    """Number of good responses in a row since the last step."""
    keeps_step: bool = True
    """True if the host has sent only what was requested; else no connection to it is kept."""
    _slots: set[Slot] = attrs.field(factory=set, init=False)
    # Not a dict: after many deletions, a dict searches long for its first key.
    _queue: OrderedDict[Slot, asyncio.Future[None]] = attrs.field(
        factory=OrderedDict, init=False
    )
    _gate: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)
    """Held by the request that starts next, so that the delay lies between two starts."""

    # -- the rate

    @property
    def rate(self) -> tuple[int, float]:
        """Number of requests at once, and the seconds between two starts."""
        beyond = self.steps - self.per_host.bit_length()
        if beyond >= 0:
            extra = min(_LEAST_DELAY * 2.0**beyond, _MOST_DELAY)
        else:
            extra = 0.0
        return max(1, self.per_host >> self.steps), max(
            self.least_delay, self.delay, extra
        )

    def defer(self, seconds: float) -> None:
        """Start no request for `seconds` from now."""
        LOGGER.info(_PAUSE, show_url(self.name), seconds, "Retry-After")
        self.not_before = max(self.not_before, time.monotonic() + seconds)

    def slow_down(self) -> None:
        """Halve the rate after a 429; several of one moment count once."""
        now = time.monotonic()
        self.good_answers = 0
        if now >= self.slowed_at + _SLOW_DOWN_SECONDS:
            self.slowed_at = now
            self.steps += self.rate[1] < _MOST_DELAY

    def speed_up(self) -> None:
        """Count a good answer; after some in a row, take back one step of `slow_down`."""
        self.good_answers += 1
        if self.steps and self.good_answers >= _GOOD_ANSWERS:
            self.steps = self.steps - 1
            self.good_answers = 0

    # -- the slots

    async def admit(self, slot: Slot) -> None:
        """Wait until there is room for a slot; the first that fits is admitted first."""
        admitted = self._queue[slot] = asyncio.get_running_loop().create_future()
        self.serve()
        try:
            await admitted
        finally:
            self._queue.pop(slot, None)

    async def acquire(
        self,
        slot: Slot,
        join: Callable[[], Awaitable[object]] | None = None,
        check: Callable[[float], object] = math.isnan,
    ) -> None:
        """Wait for room, for the time of the next request, and for `join`, in this order.

        `check` gets the seconds that are left before each wait, and after it; it may raise.
        """
        # at once: who has more patience may be first, and hold a slot
        check(self._find_wait())
        await self.admit(slot)
        async with self._gate if self.rate[1] else nullcontext():
            check(wait := self._find_wait())
            while wait > 0:
                await asyncio.sleep(wait)
                check(wait := self._find_wait())  # it may have become longer
            if join is not None:
                await join()
            self.not_before = max(self.not_before, time.monotonic() + self.rate[1])

    def _find_wait(self) -> float:
        return self.not_before - time.monotonic()

    def remove(self, slot: Slot) -> None:
        """Take a slot away, and let others in."""
        self._slots.discard(slot)
        self.serve()

    def serve(self) -> None:
        """Admit all that there is room for."""
        while (slot := self._find_next()) is not None:
            self._queue.pop(slot).set_result(None)
            self._slots.add(slot)
            slot.places.append(self)

    def _find_next(self) -> Slot | None:
        limit, _ = self.rate
        if not self._queue or sum(not slot.is_lent for slot in self._slots) >= limit:
            return None
        waiting = (
            slot for slot, admitted in self._queue.items() if not admitted.done()
        )
        return next((slot for slot in waiting if self._count_for(slot) < limit), None)

    def _count_for(self, slot: Slot) -> int:
        """Return how many slots there are that are not lent to the requester of one."""
        return sum(not t.is_lent or t.requester is slot.requester for t in self._slots)

    def is_worth_keeping(self, now: float) -> bool:
        """Return whether there are requests, or a rate below the default."""
        is_slow = bool(self.steps) or self.delay > self.least_delay
        since = now - REMEMBERED_SECONDS if is_slow else now
        return bool(self._slots or self._queue) or self.not_before > since


class Hosts(dict[str, Host]):
    """The hosts of a fetcher by name: limits concurrency and request rate for each."""

    def __init__(self, per_host: int, delay_seconds: float) -> None:
        super().__init__()
        self._per_host = per_host
        self._delay = delay_seconds
        self._next_eviction = MAX_IDLE_HOSTS

    def __missing__(self, name: str) -> Host:
        """Make the record of a host."""
        if len(self) >= self._next_eviction:
            now = time.monotonic()
            for each in [
                each for each in self.values() if not each.is_worth_keeping(now)
            ]:
                del self[each.name]
            # Twice as many as are left: then an eviction costs each new host the same.
            self._next_eviction = max(MAX_IDLE_HOSTS, 2 * len(self))
        host = self[name] = Host(name, self._per_host, self._delay)
        return host


# -- hosts that refuse or are down

HOST_CODES = frozenset({IssueCode.HOST_REFUSES, IssueCode.HOST_DOWN})
"""Why a document is skipped after failures of other documents of its host."""

_REFUSING_STATUSES = LOGIN_STATUSES | {403, 429}
_VERDICTS = {
    IssueCode.HOST_REFUSES: "blocked-by-site login-required retry-later",
    IssueCode.HOST_DOWN: "bad-http body-cut connect dns redirect-loop stalled timeout tls "
    "too-many-redirects too-slow",
}
"""Verdicts of failures about the host; other failures are the document's alone."""
_STATUSES_OF_GUESSES = (403, 500)
"""Statuses of a missing path: object stores send 403, broken programs 500. Other servers
redirect in a loop."""
_TRIAL_SECONDS = 1.0
"""Seconds between two checks during a trial, because nobody reports its end."""


@attrs.define
class _Failures:
    """The failures of one origin since its last good answer."""

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

    `seconds_left` returns how long the walk may still take: no pause is longer. With `by_document`,
    one that answers 5xx counts once, however often it was tried: that may be its own fault.
    """

    # Only origins whose last document failed have a record, so most walks keep none.

    _options: FetchOptions
    _seconds_left: Callable[[], float] = lambda: math.inf
    _by_document: bool = attrs.field(default=False, kw_only=True)
    _failures: dict[str, _Failures] = attrs.field(factory=dict, init=False)
    _noted: WeakSet[FetchError] = attrs.field(factory=WeakSet, init=False)
    _guesses: set[str] = attrs.field(factory=set, init=False)

    def note_answer(self, url: str) -> None:
        """Forget the failures of a host that answered."""
        if self._failures:
            self._failures.pop(origin_of(url), None)

    def note_guess(self, url: str) -> None:
        """Remember that nobody named a URL: its failure may prove nothing."""
        self._guesses.add(url)

    def note_error(self, url: str, error: FetchError, *, is_last: bool = True) -> None:
        """Count the failure of a document, or of an attempt that is not its last.

        An error counts once, with all its attempts if they were not counted one by one.
        """
        reason = _classify(error)
        status = error.http_status or 0
        counts_once = self._by_document and 500 <= status < 600
        if error in self._noted or (counts_once and not is_last):
            return
        self._noted.add(error)
        is_of_path = (
            error.code is IssueCode.HTTP_STATUS and status in _STATUSES_OF_GUESSES
        )
        if url in self._guesses and (is_of_path or error.redirects):
            return
        if reason is not None:
            if is_last and not counts_once:
                count = error.tries
            else:
                count = 1
            self._note_failure(url, reason, error, count)
        elif error.code is IssueCode.HTTP_STATUS:
            self.note_answer(url)

    def _note_failure(
        self, url: str, reason: IssueCode, error: FetchError, count: int
    ) -> None:
        known = self._failures.setdefault(origin_of(url), _Failures())
        known.count += count
        known.reason = reason
        known.cause = error.cause
        if known.paused_until:
            if known.trial != url:
                return  # this request began before the pause
            known.trial = ""
            known.trials += 1
        elif known.count < self._options.failures_in_row:
            return
        seconds = self._options.host_pause_seconds * 2**known.trials
        known.paused_until = time.monotonic() + seconds
        if known.trials < self._options.host_trials:
            LOGGER.info(_PAUSE, show_url(host_of(url)), seconds, reason)

    def wait(self, url: str) -> float:
        """Return the seconds until the next request to a host; infinity if it is given up."""
        known = self._find(url)
        if not known.paused_until:
            return 0.0
        if known.trials >= self._options.host_trials:
            return math.inf
        if known.trial:
            left = _TRIAL_SECONDS
        else:
            left = known.paused_until - time.monotonic()
        return max(0.0, min(left, self._seconds_left()))

    def find_reason(self, url: str) -> tuple[IssueCode, str]:
        """Return the reason why a host is given up, and its last failure."""
        return self._find(url).reason, self._find(url).cause

    def begin_trial(self, url: str) -> None:
        """Let a URL, and no other of its host, be requested if there was a pause."""
        if (known := self._find(url)).paused_until:
            known.trial = url

    def end_trial(self, url: str) -> None:
        """End the trial of a URL; if nothing was requested, another one may begin."""
        if (known := self._find(url)).trial == url:
            known.trial = ""

    def check(self, url: str, wait: float) -> None:
        """Raise FetchError if a URL must not be requested, because its host is paused.

        A host that asks for a long `wait`, in seconds, is paused.
        """
        if wait > ROBOTS_MAX_CRAWL_DELAY_SECONDS:
            known = self._failures.setdefault(origin_of(url), _Failures())
            known.paused_until = max(known.paused_until, time.monotonic() + wait)
            raise FetchError(
                IssueCode.HOST_REFUSES, url, f"requested to wait for {wait:.0f} s"
            )
        if (known := self._find(url)).paused_until and known.trial != url:
            raise FetchError(
                known.reason, url, f"{known.count} failures in a row: {known.cause}"
            )

    def _find(self, url: str) -> _Failures:
        if self._failures:
            return self._failures.get(origin_of(url), _NONE)
        return _NONE


def _classify(error: FetchError) -> IssueCode | None:
    """Return the verdict of a failure about its host; `None` if it is the document's alone."""
    if error.code is not IssueCode.HTTP_STATUS:
        return next(
            (m for m, codes in _VERDICTS.items() if str(error.code) in codes.split()),
            None,
        )
    status = error.http_status or 0
    if status in _REFUSING_STATUSES:
        return IssueCode.HOST_REFUSES
    if 500 <= status < 600:
        return IssueCode.HOST_DOWN
    return None
