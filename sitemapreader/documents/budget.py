"""The documents, bytes and seconds that a walk may still spend."""

# The seconds are the walk's own: a consumer that works for hours inside its loop would otherwise
# lose the rest of the site. So the clock stands still while the channel to the consumer is full,
# and while the consumer blocks the event loop. It runs while there is room in the channel, because
# then the walk reads on.

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.errors import FetchError
from sitemapreader.event_loop import LoopClock
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from sitemapreader.options import Limits

T = TypeVar("T")


class UrlAllowance:
    """The number of URLs that a walk, or several together, may deliver.

    Attributes:
        left: how many are left.
    """

    def __init__(self, most: float) -> None:
        self.left = most

    def take(self, wanted: int) -> int:
        """Return how many of the wanted URLs may be delivered."""
        granted = int(min(wanted, self.left))
        self.left -= granted
        return granted


class Budget:
    """The budget of a walk; its clock starts when the object is made.

    A limit that stops a document raises FetchError, as any other failure of a fetch does.

    Attributes:
        exhausted: code of the first limit that was reached. From then on nothing is fetched.
    """

    def __init__(self, limits: Limits, urls: UrlAllowance | None = None) -> None:
        self.exhausted: IssueCode | None = None
        self._documents = limits.documents
        self._bytes = limits.walk_bytes
        self._feedparser_runs = limits.feedparser_runs
        self._urls = urls or UrlAllowance(float("inf"))
        self._clock = LoopClock.of_running_loop()
        self._paused_at: float | None = None
        self._paused = 0.0
        self._deadline = self._time() + limits.walk_seconds
        self._waits: set[asyncio.Timeout] = set()
        self._alarm: asyncio.TimerHandle | None = None

    def check(self, url: str) -> None:
        """Raise FetchError if another document may not be fetched."""
        self._check_clock()
        if self.exhausted is None and self._documents < 1:
            self.exhausted = IssueCode.BUDGET_DOCUMENTS
        if self.exhausted is not None:
            raise FetchError(self.exhausted, url)

    def take_document(self, url: str) -> None:
        """Count a document before it is fetched; raise FetchError if it is one too many."""
        self.check(url)
        self._documents -= 1

    def seconds_left(self) -> float:
        """Return the seconds that the walk may still take."""
        return max(0.0, self._deadline - self._time())

    @property
    def held_seconds(self) -> float:
        """The seconds for which the consumer has held up the walk, from any beginning."""
        return asyncio.get_running_loop().time() - self._time()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock of the walk: it waits for its consumer."""
        self._paused_at = self._clock.time()
        self._stop_alarm()
        try:
            yield
        finally:
            self._paused += self._clock.time() - self._paused_at
            self._paused_at = None
            self._set_alarm()

    def _time(self) -> float:
        now = self._clock.time() if self._paused_at is None else self._paused_at
        return now - self._paused

    def return_document(self) -> None:
        """Uncount a document that was counted and not fetched."""
        self._documents += 1

    def spend_bytes(self, url: str, count: int) -> None:
        """Count received bytes; raise FetchError if they are too many, or too late."""
        # `within` sees no end of time while the next bytes are there already.
        self._check_clock()
        self._bytes -= count
        if self.exhausted is None and self._bytes < 0:
            self.exhausted = IssueCode.BUDGET_BYTES
        if self.exhausted not in (None, IssueCode.BUDGET_DOCUMENTS):
            raise FetchError(self.exhausted, url)

    def take_urls(self, wanted: int) -> int:
        """Count URLs before they are delivered; return how many may be."""
        granted = self._urls.take(wanted)
        if granted < wanted:
            self.exhausted = self.exhausted or IssueCode.BUDGET_URLS
            self._wake_all()
        return granted

    def take_feedparser_run(self) -> bool:
        """Count a run of feedparser before it starts; return whether it may start."""
        self._feedparser_runs -= 1
        return self._feedparser_runs >= 0

    async def within(self, awaitable: Awaitable[T], url: str) -> T:
        """Await a network operation, but not past the end of the walk's time."""
        try:
            async with asyncio.timeout(None) as timeout:
                self._waits.add(timeout)
                self._set_alarm()
                try:
                    return await awaitable
                finally:
                    self._waits.discard(timeout)
                    self._stop_alarm()
        except TimeoutError:
            if not timeout.expired():  # a timeout of the fetcher's own
                raise
            self._check_clock()
            raise FetchError(self.exhausted or IssueCode.BUDGET_SECONDS, url) from None

    def _set_alarm(self) -> None:
        """Wake the waits when the time is over; there is one timer for all of them."""
        if self._alarm is None and self._waits and self._paused_at is None:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(self.seconds_left(), self._on_alarm)

    def _stop_alarm(self) -> None:
        if self._alarm is not None and (self._paused_at is not None or not self._waits):
            self._alarm.cancel()
            self._alarm = None

    def _on_alarm(self) -> None:
        self._alarm = None
        if self.seconds_left():  # the consumer has blocked the loop meanwhile
            self._set_alarm()
        else:
            self._wake_all()

    def _wake_all(self) -> None:
        while self._waits:
            self._waits.pop().reschedule(0)

    def _check_clock(self) -> None:
        if self.exhausted is None and not self.seconds_left():
            self.exhausted = IssueCode.BUDGET_SECONDS
