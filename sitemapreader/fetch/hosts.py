"""Hosts: how many requests there are at once, how far apart, and in which order.

A slot is the right to one request; requests get theirs in the order in which they ask. A response
that is not read for a moment lends its slot to another requester, a walk or all other code
together: a reader that waits for its own consumer asks for nothing.
"""

# Without loans, a consumer that fetches pages with the fetcher of its walk would wait for a slot
# that a reader holds, and the reader for the consumer. Slots are not lent to the same requester:
# the workers of a walk that is held up have no need to open all that they could.

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import attrs

from sitemapreader.logs import log_pause

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LENT_AFTER_SECONDS = 0.2
"""How long a response goes unread before its slot is lent; a reader takes less for one step."""
MAX_IDLE_HOSTS = 1024
"""How many hosts without requests are kept; a crawl of the whole web meets millions."""
REMEMBERED_SECONDS = 600
"""How long a Crawl-delay or a 429 is remembered after the last request to a host: longer than a
walk is silent between two requests to it."""

_SLOW_DOWN_SECONDS = 1.0
_LEAST_DELAY, _MOST_DELAY = 0.5, 8.0
"""Bounds of the seconds between two requests to a host that answered 429."""
_GOOD_ANSWERS = 20
"""How many good answers in a row take back one step of `HostThrottle.slow_down`."""


@attrs.define(eq=False)
class Slot:
    """The right to one request, until it is released."""

    _host: _Host | None
    requester: object
    max_wait: float = math.inf
    is_lent: bool = False
    """Whether another requester may use the slot meanwhile."""
    beside: Slot | None = None
    """The slot of the server's address, which shares the life of this one."""
    _loan: asyncio.TimerHandle | None = None

    def pause(self) -> None:
        """Let the slot be lent soon: nothing is read from the server until `resume`."""
        if self.beside is not None:
            self.beside.pause()
        if self._host is not None and self._loan is None:
            loop = asyncio.get_running_loop()
            self._loan = loop.call_later(LENT_AFTER_SECONDS, self._lend, self._host)

    def _lend(self, host: _Host) -> None:
        self.is_lent = True
        host.serve()

    async def resume(self) -> None:
        """Take the slot back before reading on; wait for room if it was lent."""
        self._keep()
        if self._host is not None and self.is_lent:
            await self._host.admit(self)
        if self.beside is not None:
            await self.beside.resume()

    def release(self) -> None:
        """Free the slot for the next request; further calls do nothing."""
        self._keep()
        host, self._host = self._host, None
        if host is not None:
            host.users -= 1
            host.remove(self)
        if self.beside is not None:
            self.beside.release()

    def _keep(self) -> None:
        if self._loan is not None:
            self._loan.cancel()
            self._loan = None


class LongWaitError(Exception):
    """The next request to a host must wait longer than the caller allows."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"asked to wait for {seconds:.0f} s")


@attrs.define(eq=False)
class _Host:
    """The slots of one host, and the requests that wait for one."""

    limit: int
    delay: float
    not_before: float = 0.0
    """Monotonic time before which no request starts."""
    users: int = 0
    """How many requests run or wait."""
    used_at: float = attrs.field(factory=time.monotonic)
    """Monotonic time of the last request, or of the last change of the delay."""
    slowed_at: float = 0.0
    """Monotonic time of the last 429; 0 if there was none, or its effect has been taken back."""
    extra_delay: float = 0.0
    good_answers: int = 0
    """How many good answers there were since then, in a row."""
    _slots: set[Slot] = attrs.field(factory=set, init=False)
    # Not a dict: after many deletions, a dict searches long for its first key.
    _queue: OrderedDict[Slot, asyncio.Future[None]] = attrs.field(factory=OrderedDict, init=False)
    _starting: Slot | None = attrs.field(default=None, init=False)
    """The slot whose request starts as soon as its address has room."""
    _alarm: asyncio.TimerHandle | None = attrs.field(default=None, init=False)

    async def admit(self, slot: Slot) -> None:
        """Wait for the turn of a slot; the first that fits is admitted first."""
        if not self._queue and not self._is_full() and self._fits(slot, time.monotonic()):
            self._let_in(slot)
            return
        admitted = self._queue[slot] = asyncio.get_running_loop().create_future()
        self.serve()
        try:
            await admitted
        finally:
            self._queue.pop(slot, None)

    def start(self, slot: Slot) -> bool:
        """Start the request of a slot, unless the host has asked for a pause meanwhile."""
        self._starting = None
        now = time.monotonic()
        if now < self.not_before:
            self.remove(slot)
            return False
        self.not_before = now + max(self.delay, self.extra_delay)
        self.serve()
        return True

    def remove(self, slot: Slot) -> None:
        """Take a slot away, and let others in."""
        self._slots.discard(slot)
        if self._starting is slot:
            self._starting = None
        self.serve()

    def serve(self) -> None:
        """Admit all that there is room and time for, and look again when it is time."""
        if not self._queue:
            return
        now = time.monotonic()
        wait = self.not_before - now
        for slot, admitted in self._queue.items() if wait > 0 else ():
            if wait > slot.max_wait and slot not in self._slots and not admitted.done():
                admitted.set_exception(LongWaitError(wait))
        while (first := self._find_next(now)) is not None:
            self._queue.pop(first).set_result(None)
            self._let_in(first)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._queue and wait > 0:
            self._alarm = asyncio.get_running_loop().call_later(wait, self.serve)

    def _let_in(self, slot: Slot) -> None:
        if slot not in self._slots and (self.delay or self.extra_delay):
            self._starting = slot
        self._slots.add(slot)
        slot.is_lent = False

    def _find_next(self, now: float) -> Slot | None:
        if self._is_full():
            return None
        waiting = (slot for slot, admitted in self._queue.items() if not admitted.done())
        return next((slot for slot in waiting if self._fits(slot, now)), None)

    def _is_full(self) -> bool:
        """Return whether no slot is free or lent."""
        return sum(not slot.is_lent for slot in self._slots) >= self.limit

    def _fits(self, slot: Slot, now: float) -> bool:
        """Return whether there are room and time for a slot, where not all is full."""
        if slot in self._slots:
            # A slot that is taken back does not wait for its requester's others: they may be lent
            # as well, and wait for this one.
            return True
        if self._starting is not None or now < self.not_before:
            return False
        counting = (not t.is_lent or t.requester is slot.requester for t in self._slots)
        return sum(counting) < self.limit


class HostThrottle:
    """Slots for requests to each host: so many at once, and so far apart."""

    def __init__(self, per_host: int, delay_seconds: float) -> None:
        self._per_host = per_host
        self._delay = delay_seconds
        self._hosts: dict[str, _Host] = {}
        self._next_eviction = MAX_IDLE_HOSTS

    def set_delay(self, host: str, seconds: float) -> None:
        """Set the seconds between two starts at a host; the general delay is the minimum."""
        self._queue_of(host).delay = max(self._delay, seconds)  # in this order, NaN loses

    def defer(self, host: str, seconds: float) -> None:
        """Start no request to a host for `seconds` from now."""
        log_pause(host, seconds, "Retry-After")
        queue = self._queue_of(host)
        queue.not_before = max(queue.not_before, time.monotonic() + seconds)
        queue.serve()  # some may not wait for so long

    def slow_down(self, host: str) -> None:
        """Halve the rate at a host that answered 429.

        Fewer requests at once come first, then a longer delay. Several 429 of one moment count
        once.
        """
        queue, now = self._queue_of(host), time.monotonic()
        queue.good_answers = 0
        if now < queue.slowed_at + _SLOW_DOWN_SECONDS:
            return
        queue.slowed_at = now
        if queue.limit > 1:
            queue.limit //= 2
        else:
            queue.extra_delay = min(max(2 * queue.extra_delay, _LEAST_DELAY), _MOST_DELAY)

    def speed_up(self, host: str) -> None:
        """Count a good answer; after some in a row, take back one step of `slow_down`."""
        queue = self._hosts.get(host)
        if queue is None or not queue.slowed_at:
            return
        queue.good_answers += 1
        if queue.good_answers < _GOOD_ANSWERS:
            return
        queue.good_answers = 0
        if queue.extra_delay:
            queue.extra_delay = queue.extra_delay / 2 if queue.extra_delay > _LEAST_DELAY else 0.0
        elif queue.limit < self._per_host:
            queue.limit = min(2 * queue.limit, self._per_host)
        else:
            queue.slowed_at = 0.0

    async def acquire(
        self,
        host: str,
        requester: object = None,
        *,
        max_wait: float = math.inf,
        join: Callable[[], Awaitable[Slot | None]] | None = None,
    ) -> Slot:
        """Wait for a slot of a host; raise LongWaitError if `max_wait` is not enough.

        `requester` is the walk that asks. `join` waits for a slot of the address that the host has,
        if that is counted too.
        """
        queue = self._queue_of(host)
        queue.users += 1
        slot = Slot(queue, requester, max_wait)
        try:
            while True:
                await queue.admit(slot)
                slot.beside = await join() if join is not None else None
                if queue.start(slot):
                    return slot
                if slot.beside is not None:
                    slot.beside.release()
        except BaseException:
            slot.release()
            raise

    def _queue_of(self, host: str) -> _Host:
        queue = self._hosts.get(host)
        if queue is None:
            if len(self._hosts) >= self._next_eviction:
                self._evict_idle()
            queue = _Host(self._per_host, self._delay)
            self._hosts[host] = queue
        queue.used_at = time.monotonic()
        return queue

    def _evict_idle(self) -> None:
        now = time.monotonic()
        long_ago = now - REMEMBERED_SECONDS
        self._hosts = {
            name: queue
            for name, queue in self._hosts.items()
            if queue.users
            or queue.not_before > now
            # those that have asked for fewer requests than others get
            or ((queue.slowed_at or queue.delay > self._delay) and queue.used_at > long_ago)
        }
        # Twice as many as are left: then an eviction costs each new host the same.
        self._next_eviction = max(MAX_IDLE_HOSTS, 2 * len(self._hosts))
