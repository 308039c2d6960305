"""The documents, bytes and seconds that a walk may still spend."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from sitemapreader.options import Limits

T = TypeVar("T")


class Budget:
    """The budget of a walk; its clock starts when the object is made.

    A limit that stops a document raises FetchError, as any other failure of a fetch does.

    Attributes:
        exhausted: code of the first limit that was reached. From then on nothing is fetched.
    """

    def __init__(self, limits: Limits) -> None:
        self.exhausted: IssueCode | None = None
        self._documents = limits.documents
        self._bytes = limits.walk_bytes
        self._feedparser_runs = limits.feedparser_runs
        self._deadline = asyncio.get_running_loop().time() + limits.walk_seconds

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
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

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
        if self.exhausted in (IssueCode.BUDGET_BYTES, IssueCode.BUDGET_SECONDS):
            raise FetchError(self.exhausted, url)

    def take_feedparser_run(self) -> bool:
        """Count a run of feedparser before it starts; return whether it may start."""
        self._feedparser_runs -= 1
        return self._feedparser_runs >= 0

    async def within(self, awaitable: Awaitable[T], url: str) -> T:
        """Await a network operation, but not past the end of the walk's time."""
        try:
            async with asyncio.timeout_at(self._deadline) as timeout:
                return await awaitable
        except TimeoutError:
            if not timeout.expired():  # a timeout of the fetcher's own
                raise
            self._check_clock()
            raise FetchError(IssueCode.BUDGET_SECONDS, url) from None

    def _check_clock(self) -> None:
        if self.exhausted is None and asyncio.get_running_loop().time() >= self._deadline:
            self.exhausted = IssueCode.BUDGET_SECONDS
