"""Manners towards one host: how many requests at once, and how long between two of them.

A slot is the right to one request. It counts while we ask something of the server, and for a moment
longer; then it is lent: a reader that its own consumer holds up asks for nothing. Otherwise a
consumer that fetches pages with the fetcher of its walk would wait for a slot that a reader has,
and the reader for the consumer.

It is lent to other requesters only (see `REQUESTER`). The workers of a walk that is held up have no
need to open all that they could; for them it counts until it is released.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from contextvars import ContextVar

import attrs

from sitemapreader.logs import log_pause

REQUESTER: ContextVar[object] = ContextVar("requester", default=None)
"""For whom a task fetches: a walk is a requester of its own, and everybody else is one together."""

LENT_AFTER_SECONDS = 0.2
"""How long a response goes unread before its slot is lent; a step of a reader takes a fraction."""
MAX_IDLE_HOSTS = 1024
"""Hosts without requests that are remembered; a run over the whole web meets millions."""

_SLOW_DOWN_SECONDS = 1.0
_LEAST_DELAY, _MOST_DELAY = 0.5, 8.0
"""Seconds between two requests to a host that had too many."""
_GOOD_ANSWERS = 20
"""... in a row, after which a host is asked twice as fast again."""


@attrs.define(eq=False)
class Slot:
    """The right to one request; it lasts until `release`.

    Attributes:
        requester: whose request it is.
        lent_at: monotonic time from which on another requester may have it.
    """

    _host: _Host | None
    requester: object
    lent_at: float = math.inf

    def pause(self) -> None:
        """Say that nothing is asked of the server until `resume`."""
        if self._host is not None:
            self.lent_at = time.monotonic() + LENT_AFTER_SECONDS
            self._host.expect_loan()

    async def resume(self) -> None:
        """Say that the server is asked again; wait, if the slot was lent, until there is room."""
        if self._host is not None and self.lent_at <= time.monotonic():
            await self._host.admit(self)
        self.lent_at = math.inf

    def release(self) -> None:
        """Give the slot to the next one. The second time, do nothing."""
        host, self._host = self._host, None
        if host is not None:
            host.dismiss(self)


@attrs.define(eq=False)
class _Host:
    limit: int
    delay: float
    not_before: float = 0.0
    """Monotonic time of the next request."""
    users: int = 0
    """Requests that run or wait."""
    slowed_at: float = 0.0
    """Monotonic time of the last 429; 0 where there was none, or all is as it was."""
    extra_delay: float = 0.0
    good_answers: int = 0
    """... since then."""
    _slots: set[Slot] = attrs.field(factory=set, init=False)
    # not a dict, which takes long to find its first key if many before it are gone
    _queue: OrderedDict[Slot, asyncio.Future[None]] = attrs.field(factory=OrderedDict, init=False)
    _alarm: asyncio.TimerHandle | None = attrs.field(default=None, init=False)

    async def admit(self, slot: Slot) -> None:
        """Wait until there is room for a slot. First come, first served, of those who can be."""
        admitted = self._queue[slot] = asyncio.get_running_loop().create_future()
        self._serve()
        try:
            await admitted
        finally:
            self._queue.pop(slot, None)

    def get_wait(self, max_wait: float) -> float:
        """Return the seconds until the next request; raise LongWaitError if they are too many."""
        wait = self.not_before - time.monotonic()
        if wait > max_wait:
            raise LongWaitError(wait)
        return wait

    def dismiss(self, slot: Slot) -> None:
        """Take a slot away for good."""
        self._slots.discard(slot)
        self.users -= 1
        self._serve()

    def expect_loan(self) -> None:
        """Look again when the next slot is lent, if somebody waits."""
        if self._queue and self._alarm is None:
            now = time.monotonic()
            moment = min((t.lent_at for t in self._slots if t.lent_at > now), default=math.inf)
            if moment < math.inf:
                loop = asyncio.get_running_loop()
                self._alarm = loop.call_later(moment - now, self._sound)

    def _sound(self) -> None:
        self._alarm = None
        self._serve()

    def _serve(self) -> None:
        """Let in all who can be."""
        now = time.monotonic()
        while (slot := self._next(now)) is not None:
            self._queue.pop(slot).set_result(None)
            self._slots.add(slot)
            slot.lent_at = math.inf
        self.expect_loan()

    def _next(self, now: float) -> Slot | None:
        if self._is_full(now):
            return None
        waiting = (slot for slot, admitted in self._queue.items() if not admitted.done())
        return next((slot for slot in waiting if self._has_room(slot, now)), None)

    def _is_full(self, now: float) -> bool:
        """Tell whether there is room for nobody."""
        return sum(slot.lent_at > now for slot in self._slots) >= self.limit

    def _has_room(self, slot: Slot, now: float) -> bool:
        """Tell whether there is room for a slot; a new one also counts its requester's others.

        One that returns does not wait for them: they may be as lent as it is, and wait for it.
        """
        if slot in self._slots:
            return not self._is_full(now)
        counting = (t.lent_at > now or t.requester is slot.requester for t in self._slots)
        return sum(counting) < self.limit


class LongWaitError(Exception):
    """A host is to be left alone for longer than somebody wants to wait.

    Attributes:
        seconds: how long.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"asked to wait for {seconds:.0f} s")


class HostThrottle:
    """Hand out slots: at most `per_host` at once, `delay_seconds` from one start to the next."""

    def __init__(self, per_host: int, delay_seconds: float) -> None:
        self._per_host = per_host
        self._delay = delay_seconds
        self._hosts: dict[str, _Host] = {}

    def set_delay(self, host: str, seconds: float) -> None:
        """Keep at least `seconds` between two starts at this host; never less than everywhere."""
        self._host(host).delay = max(self._delay, seconds)  # NaN loses

    def defer(self, host: str, seconds: float) -> None:
        """Start nothing at this host for so long from now, whoever asks."""
        log_pause(host, seconds, "Retry-After")
        place = self._host(host)
        place.not_before = max(place.not_before, time.monotonic() + seconds)

    def slow_down(self, host: str) -> None:
        """Halve the pace at a host that says that there are too many requests.

        First by fewer requests at once, then by the time between two. The refusals of one moment
        count once.
        """
        place, now = self._host(host), time.monotonic()
        place.good_answers = 0
        if now < place.slowed_at + _SLOW_DOWN_SECONDS:
            return
        place.slowed_at = now
        if place.limit > 1:
            place.limit //= 2
        else:
            place.extra_delay = min(max(2 * place.extra_delay, _LEAST_DELAY), _MOST_DELAY)

    def speed_up(self, host: str) -> None:
        """Take back one step of `slow_down` after some good answers in a row."""
        place = self._hosts.get(host)
        if place is None or not place.slowed_at:
            return
        place.good_answers += 1
        if place.good_answers < _GOOD_ANSWERS:
            return
        place.good_answers = 0
        if place.extra_delay:
            place.extra_delay = place.extra_delay / 2 if place.extra_delay > _LEAST_DELAY else 0.0
        elif place.limit < self._per_host:
            place.limit = min(2 * place.limit, self._per_host)
        else:
            place.slowed_at = 0.0

    async def acquire(self, host: str, *, max_wait: float = math.inf) -> Slot:
        """Wait for a slot; raise LongWaitError where the host wants to be left alone for longer."""
        place = self._host(host)
        place.users += 1
        slot = Slot(place, REQUESTER.get())
        try:
            await place.admit(slot)
            # Asked again after each sleep: another one may have started, or been told to stay away.
            while (wait := place.get_wait(max_wait)) > 0:  # noqa: ASYNC110 (the time is known)
                await asyncio.sleep(wait)
        except BaseException:
            slot.release()
            raise
        place.not_before = time.monotonic() + max(place.delay, place.extra_delay)
        return slot

    def _host(self, host: str) -> _Host:
        place = self._hosts.get(host)
        if place is None:
            if len(self._hosts) >= MAX_IDLE_HOSTS:
                self._forget()
            place = _Host(self._per_host, self._delay)
            self._hosts[host] = place
        return place

    def _forget(self) -> None:
        now = time.monotonic()
        self._hosts = {
            name: place
            for name, place in self._hosts.items()
            if place.users or place.slowed_at or place.not_before > now or place.delay > self._delay
        }
