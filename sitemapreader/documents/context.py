"""What all parts of one walk, or of one discovery, share."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

import attrs

from sitemapreader.documents.pace import Pace
from sitemapreader.fetch import PoliteFetcher
from sitemapreader.fetch.breaker import HostBreaker
from sitemapreader.issues import Issue
from sitemapreader.models import Format, SitemapEntry, UrlEntry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from sitemapreader.documents.budget import Budget
    from sitemapreader.fetch import Fetcher
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.outcomes import Document
    from sitemapreader.report import Report

Batch: TypeAlias = list[UrlEntry] | tuple[SitemapEntry | Issue, ...]
"""What goes to the consumer at once: a list of entries, or a tuple of anything else."""


class Emit(Protocol):
    """Hands a batch to the consumer."""

    async def __call__(self, batch: Batch, size: int = 0, /) -> None:
        """Wait until there is room for a batch, which was made of `size` bytes of markup."""
        ...


@attrs.frozen(eq=False)
class WalkContext:
    """The fetcher, the limits, what is used up of them, the report, and the way to the consumer."""

    fetcher: Fetcher
    options: FetchOptions
    limits: Limits
    budget: Budget
    report: Report
    emit: Emit
    pace: Pace = attrs.field(factory=Pace)
    breaker: HostBreaker = attrs.field(
        default=attrs.Factory(
            lambda self: HostBreaker(self.options, self.budget.seconds_left), takes_self=True
        )
    )
    feedparser_lock: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    """Held while feedparser reads a feed: one process at a time."""
    extra_formats: frozenset[Format] = frozenset()

    async def report_issue(self, issue: Issue, document: Document | None = None) -> None:
        """Put an Issue in the report, and tell the consumer unless it is one of too many."""
        if self.report.add_issue(issue, document):
            await self.emit((issue,))

    def trust(self, urls: Iterable[str]) -> None:
        """Tell the fetcher which URLs the user named."""
        if isinstance(self.fetcher, PoliteFetcher):
            for url in urls:
                self.fetcher.trust(url)

    def set_crawl_delay(self, url: str, seconds: float) -> None:
        """Tell the fetcher how long the host of a URL wants it to wait."""
        if isinstance(self.fetcher, PoliteFetcher):
            self.fetcher.set_crawl_delay(url, seconds)


@asynccontextmanager
async def borrow_fetcher(
    fetcher: Fetcher | None, options: FetchOptions, limits: Limits
) -> AsyncIterator[Fetcher]:
    """Give the fetcher, or make one over HTTP that is closed in the end."""
    if fetcher is not None:
        yield fetcher
        return
    from sitemapreader.fetch.http import HttpFetcher  # noqa: PLC0415 (aiohttp takes 150 ms)

    async with HttpFetcher(options, limits=limits) as own:
        yield own
