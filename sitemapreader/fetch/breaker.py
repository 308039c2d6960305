"""A circuit breaker for each host: leave alone one that refuses or is down, and try again later.

A host that fails some times in a row is paused. After the pause one document is fetched as a trial.
An answer closes the breaker; another failure doubles the pause. After some trials the host is given
up, until a new walk begins.

Each attempt counts. 404 and 410 are answers like any other.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import attrs

from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.issues import IssueCode
from sitemapreader.logs import log_pause
from sitemapreader.urls import host_of, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader.options import FetchOptions

HOST_CODES = frozenset({IssueCode.HOST_REFUSES, IssueCode.HOST_DOWN})
"""Why a document is not fetched for what others of its host met."""

_REFUSING_STATUSES = LOGIN_STATUSES | {403, 429}
# Gateways without a server behind them; 520 to 530 are Cloudflare's
_DOWN_STATUSES = frozenset({502, 503, 504, *range(520, 531)})
_REFUSING = frozenset({IssueCode.BLOCKED_BY_SITE, IssueCode.RETRY_LATER})
_DOWN = frozenset(
    {
        IssueCode.TIMEOUT,
        IssueCode.STALLED,
        IssueCode.TOO_SLOW,
        IssueCode.CONNECT,
        IssueCode.DNS,
        IssueCode.TLS,
    }
)
_ANSWERS = frozenset({IssueCode.HTTP_STATUS, IssueCode.SITEMAP_WITH_ERROR_STATUS})


@attrs.define
class _Circuit:
    """What one origin has done since its last good answer."""

    failures: int = 0
    failed_trials: int = 0
    reason: IssueCode = IssueCode.HOST_DOWN
    paused_until: float = 0.0
    trial: asyncio.Task[Any] | None = None

    @property
    def is_open(self) -> bool:
        return self.paused_until > 0


class HostBreaker:
    """The breakers of all origins (scheme, host, port) that one walk meets.

    Only origins whose last document failed are remembered. `seconds_left` tells how long the walk
    may still take: no pause is longer.
    """

    def __init__(
        self, options: FetchOptions, seconds_left: Callable[[], float] = lambda: float("inf")
    ) -> None:
        self._options = options
        self._seconds_left = seconds_left
        self._circuits: dict[str, _Circuit] = {}
        self._noted: WeakSet[FetchError] = WeakSet()

    @property
    def is_quiet(self) -> bool:
        """Whether no host has failed since its last good answer."""
        return not self._circuits

    # -- what documents met

    def note_answer(self, url: str) -> None:
        """Take note that the host of a URL answered."""
        if self._circuits:
            self._circuits.pop(origin_of(url), None)

    def note_error(self, url: str, error: FetchError, *, guessed: bool = False) -> None:
        """Take note of how a document failed.

        A guessed path that is refused with 403 says nothing: object stores answer so for what is
        not there.
        """
        if error in self._noted:
            return
        reason = _judge(error)
        if reason is not None:
            if not (guessed and error.http_status == 403 and error.code not in _REFUSING):
                self._note_failure(origin_of(url), reason, error.tries)
        elif error.code in _ANSWERS:
            self.note_answer(url)

    def note_attempt(self, url: str, error: FetchError) -> None:
        """Take note of an attempt after which another one could help, before it is made."""
        reason = _judge(error)
        if reason is not None:
            self._note_failure(origin_of(url), reason, 1)
            self._noted.add(error)

    def _note_failure(self, origin: str, reason: IssueCode, attempts: int) -> None:
        circuit = self._circuits.setdefault(origin, _Circuit())
        circuit.failures += attempts
        circuit.reason = reason
        if circuit.is_open:
            if circuit.trial is not _current_task():
                return  # it had begun before the pause
            circuit.trial = None
            circuit.failed_trials += 1
        elif circuit.failures < self._options.failures_in_row:
            return
        seconds = self._options.host_pause_seconds * 2**circuit.failed_trials
        circuit.paused_until = time.monotonic() + seconds
        if circuit.failed_trials < self._options.host_trials:
            log_pause(host_of(origin), seconds, str(reason))

    # -- what may be asked

    def find_reason(self, url: str) -> IssueCode | None:
        """Return why the host of a URL has been given up, if it has."""
        circuit = self._circuits.get(origin_of(url))
        if circuit is None or circuit.failed_trials < self._options.host_trials:
            return None
        return circuit.reason

    def get_wait(self, url: str) -> float:
        """Return the seconds for which nothing of a host may be fetched; infinity for a trial."""
        circuit = self._circuits.get(origin_of(url))
        if circuit is None or not circuit.is_open:
            return 0.0
        if circuit.trial is not None:
            return float("inf")
        return max(0.0, min(circuit.paused_until - time.monotonic(), self._seconds_left()))

    def begin_trial(self, url: str) -> None:
        """Let the task that calls this fetch from a host whose pause is over, and no other task."""
        circuit = self._circuits.get(origin_of(url))
        if circuit is not None and circuit.is_open:
            circuit.trial = _current_task()

    def end_trial(self, url: str) -> None:
        """Take note that a trial is over; if it asked for nothing, another one may begin."""
        circuit = self._circuits.get(origin_of(url))
        if circuit is not None and circuit.trial is _current_task():
            circuit.trial = None

    def postpone(self, url: str, seconds: float) -> None:
        """Fetch nothing from a host for so long, as it has asked; then go on without a trial."""
        circuit = self._circuits.setdefault(origin_of(url), _Circuit())
        until = time.monotonic() + seconds
        circuit.paused_until = max(circuit.paused_until, until)

    def check(self, url: str) -> None:
        """Raise FetchError if nothing may be fetched from the host of a URL by this task."""
        circuit = self._circuits.get(origin_of(url))
        if circuit is not None and circuit.is_open and circuit.trial is not _current_task():
            said = f"{circuit.failures} failures in a row"
            raise FetchError(circuit.reason, url, said)


BREAKER: ContextVar[HostBreaker | None] = ContextVar("breaker", default=None)
"""Whose pauses a task keeps: of the walk that it fetches a sitemap for, which can wait."""


def _judge(error: FetchError) -> IssueCode | None:
    """Return what a failure says of the host; `None` for one of the document alone."""
    if error.code in _REFUSING or error.code is IssueCode.LOGIN_REQUIRED:
        return IssueCode.HOST_REFUSES
    if error.code in _DOWN:
        return IssueCode.HOST_DOWN
    if error.code is IssueCode.HTTP_STATUS:
        if error.http_status in _REFUSING_STATUSES:
            return IssueCode.HOST_REFUSES
        if error.http_status in _DOWN_STATUSES:
            return IssueCode.HOST_DOWN
    return None


def _current_task() -> asyncio.Task[Any] | None:
    return asyncio.current_task()
