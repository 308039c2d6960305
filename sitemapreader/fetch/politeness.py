"""Manners towards one host: how many requests at once, and how long between two of them."""

from __future__ import annotations

import asyncio
import time

import attrs

MAX_IDLE_HOSTS = 1024
"""Hosts without requests that are remembered; a run over the whole web meets millions."""


@attrs.define(eq=False)
class _Host:
    slots: asyncio.Semaphore
    delay: float
    not_before: float = 0.0
    """Monotonic time of the next request."""
    users: int = 0
    """Requests that run or wait."""


@attrs.define(eq=False)
class Turn:
    """The right to one request; it lasts until `leave`."""

    _host: _Host | None

    def leave(self) -> None:
        """Give the slot to the next one. The second time, do nothing."""
        if self._host is not None:
            self._host.slots.release()
            self._host.users -= 1
            self._host = None


class Politeness:
    """Hand out turns: at most `per_host` at once, `delay_seconds` from one start to the next."""

    def __init__(self, per_host: int, delay_seconds: float) -> None:
        self._per_host = per_host
        self._delay = delay_seconds
        self._hosts: dict[str, _Host] = {}

    def set_delay(self, host: str, seconds: float) -> None:
        """Keep at least `seconds` between two starts at this host; never less than everywhere."""
        self._host(host).delay = max(self._delay, seconds)  # NaN loses

    def defer(self, host: str, seconds: float) -> None:
        """Start nothing at this host for so long from now, whoever asks."""
        place = self._host(host)
        place.not_before = max(place.not_before, time.monotonic() + seconds)

    async def enter(self, host: str) -> Turn:
        """Wait for a turn."""
        place = self._host(host)
        place.users += 1
        try:
            await place.slots.acquire()
        except BaseException:
            place.users -= 1
            raise
        turn = Turn(place)
        try:
            # Asked again after each sleep: another one may have started, or been told to stay away.
            while (wait := place.not_before - time.monotonic()) > 0:  # noqa: ASYNC110 (the time is known)
                await asyncio.sleep(wait)
        except BaseException:
            turn.leave()
            raise
        place.not_before = time.monotonic() + place.delay
        return turn

    def _host(self, host: str) -> _Host:
        place = self._hosts.get(host)
        if place is None:
            if len(self._hosts) >= MAX_IDLE_HOSTS:
                self._forget()
            place = _Host(asyncio.Semaphore(self._per_host), self._delay)
            self._hosts[host] = place
        return place

    def _forget(self) -> None:
        now = time.monotonic()
        self._hosts = {
            name: place
            for name, place in self._hosts.items()
            if place.users or place.not_before > now or place.delay > self._delay
        }
