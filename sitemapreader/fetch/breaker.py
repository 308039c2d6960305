"""Breakers of hosts that refuse or are down.

A host that fails several times in a row is paused. After the pause one document is fetched as a
trial. An answer closes the breaker; another failure doubles the pause. After some failed trials the
host is given up until the next walk. Each attempt counts; 404 and 410 are answers like any other.
"""

from __future__ import annotations

import asyncio
import time
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
"""Why a document is skipped after failures of other documents of its host."""

_REFUSING_STATUSES = LOGIN_STATUSES | {403, 429}
_DOWN_STATUSES = range(500, 600)
_STATUSES_OF_GUESSES = (403, 500)
"""What servers answer for a path that is not there: object stores 403, broken programs 500."""
_REFUSING = frozenset({IssueCode.BLOCKED_BY_SITE, IssueCode.RETRY_LATER})
_DOWN = frozenset(
    {
        IssueCode.TIMEOUT,
        IssueCode.STALLED,
        IssueCode.TOO_SLOW,
        IssueCode.CONNECT,
        IssueCode.DNS,
        IssueCode.TLS,
        IssueCode.BAD_HTTP,
        IssueCode.BODY_CUT,
        IssueCode.REDIRECT_LOOP,
        IssueCode.TOO_MANY_REDIRECTS,
    }
)
_ANSWERS = frozenset({IssueCode.HTTP_STATUS, IssueCode.SITEMAP_WITH_ERROR_STATUS})


@attrs.define
class _Circuit:
    """The failures of one origin since its last good answer."""

    failures: int = 0
    failed_trials: int = 0
    reason: IssueCode = IssueCode.HOST_DOWN
    paused_until: float = 0.0
    trial: asyncio.Task[Any] | None = None

    @property
    def is_open(self) -> bool:
        return self.paused_until > 0


class HostBreaker:
    """The breakers of all origins (scheme, host, port) of one walk.

    `seconds_left` returns how long the walk may still take: no pause is longer. With `by_document`,
    one that answers 5xx counts once, however often it was tried: that may be its own fault.
    """

    # Only origins whose last document failed have an entry, so most walks keep none.

    def __init__(
        self,
        options: FetchOptions,
        seconds_left: Callable[[], float] = lambda: float("inf"),
        *,
        by_document: bool = False,
    ) -> None:
        self._options = options
        self._by_document = by_document
        self._seconds_left = seconds_left
        self._circuits: dict[str, _Circuit] = {}
        self._noted: WeakSet[FetchError] = WeakSet()
        self._guesses: set[str] = set()

    @property
    def is_quiet(self) -> bool:
        """Whether no host has failed since its last good answer."""
        return not self._circuits

    # -- what happened to documents

    def note_answer(self, url: str) -> None:
        """Close the breaker of a host that answered."""
        if self._circuits:
            self._circuits.pop(origin_of(url), None)

    def note_guess(self, url: str) -> None:
        """Remember that nobody named a URL: its failure may prove nothing."""
        self._guesses.add(url)

    def note_error(self, url: str, error: FetchError) -> None:
        """Count the failure of a document."""
        if error in self._noted:
            return
        reason = _classify(error)
        if reason is not None:
            self._note_failure(url, error, reason, 1 if self._counts_once(error) else error.tries)
        elif error.code in _ANSWERS:
            self.note_answer(url)

    def note_attempt(self, url: str, error: FetchError) -> None:
        """Count a failed attempt that will be retried."""
        reason = _classify(error)
        if reason is not None and not self._counts_once(error):
            self._note_failure(url, error, reason, 1)
            self._noted.add(error)

    def _counts_once(self, error: FetchError) -> bool:
        return self._by_document and error.http_status in _DOWN_STATUSES

    def _note_failure(self, url: str, error: FetchError, reason: IssueCode, attempts: int) -> None:
        is_guess = url in self._guesses and error.code not in _REFUSING
        if is_guess and error.http_status in _STATUSES_OF_GUESSES:
            return
        origin = origin_of(url)
        circuit = self._circuits.setdefault(origin, _Circuit())
        circuit.failures += attempts
        circuit.reason = reason
        if circuit.is_open:
            if circuit.trial is not _current_task():
                return  # this request began before the pause
            circuit.trial = None
            circuit.failed_trials += 1
        elif circuit.failures < self._options.failures_in_row:
            return
        seconds = self._options.host_pause_seconds * 2**circuit.failed_trials
        circuit.paused_until = time.monotonic() + seconds
        if circuit.failed_trials < self._options.host_trials:
            log_pause(host_of(origin), seconds, str(reason))

    # -- what may be fetched

    def find_reason(self, url: str) -> IssueCode | None:
        """Return why the host of a URL was given up, or `None`."""
        circuit = self._find(url)
        if circuit is None or circuit.failed_trials < self._options.host_trials:
            return None
        return circuit.reason

    def get_wait(self, url: str) -> float:
        """Return the seconds until a host may be asked; infinity during a trial."""
        circuit = self._find(url)
        if circuit is None or not circuit.is_open:
            return 0.0
        if circuit.trial is not None:
            return float("inf")
        return max(0.0, min(circuit.paused_until - time.monotonic(), self._seconds_left()))

    def _find(self, url: str) -> _Circuit | None:
        return self._circuits.get(origin_of(url)) if self._circuits else None

    def begin_trial(self, url: str) -> None:
        """Let the current task, and no other, fetch from a host whose pause is over."""
        circuit = self._find(url)
        if circuit is not None and circuit.is_open:
            circuit.trial = _current_task()

    def end_trial(self, url: str) -> None:
        """End the trial of the current task; if it fetched nothing, another one may begin."""
        circuit = self._find(url)
        if circuit is not None and circuit.trial is _current_task():
            circuit.trial = None

    def postpone(self, url: str, seconds: float) -> None:
        """Pause a host for the seconds that it has asked for."""
        circuit = self._circuits.setdefault(origin_of(url), _Circuit())
        until = time.monotonic() + seconds
        circuit.paused_until = max(circuit.paused_until, until)

    def check(self, url: str) -> None:
        """Raise FetchError if the current task must not fetch from the host of a URL."""
        circuit = self._find(url)
        if circuit is not None and circuit.is_open and circuit.trial is not _current_task():
            detail = f"{circuit.failures} failures in a row"
            raise FetchError(circuit.reason, url, detail)


def _classify(error: FetchError) -> IssueCode | None:
    """Return what a failure means for the host; `None` if for the document alone."""
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
