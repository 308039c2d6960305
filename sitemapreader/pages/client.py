"""PageClient: the one way in which pages are requested, which is polite."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.pages.robots import count_seconds_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sitemapreader.fetch.client import Client, Response
    from sitemapreader.fetch.hosts import HostBreaker
    from sitemapreader.fetch.urls import CheckRedirect
    from sitemapreader.pages.robots import RobotsCache

MAX_REDIRECTS = 10
"""Redirects that are followed to a page; search engines follow no more."""
ACCEPT_PAGES = "text/html, application/xhtml+xml;q=0.9, */*;q=0.5"
_PAUSE_CHECK_SECONDS = 1.0
"""Seconds between two checks whether the pause of a host has ended."""


@attrs.frozen(eq=False)
class PageClient:
    """A client that requests pages as robots.txt allows, and none of a paused host.

    Attributes:
        client: sends the requests, and waits for each Crawl-delay.
        robots: the robots.txt files that it obeys.
        breaker: pauses hosts that fail; `None` to ask them all the same.
        until: time of the event loop beyond which no host is waited for.
    """

    client: Client
    robots: RobotsCache
    breaker: HostBreaker | None = None
    until: float = inf

    @asynccontextmanager
    async def open(
        self,
        url: str,
        *,
        check_redirect: CheckRedirect | None = None,
        error_pages: frozenset[int] = frozenset(),
    ) -> AsyncIterator[Response]:
        """Request a page; redirects are followed to where robots.txt allows them.

        Args:
            url: of the page.
            check_redirect: check that is called before a redirect instead of robots.txt.
            error_pages: statuses whose page is given, and not raised as an error.

        Raises:
            FetchError: robots.txt forbids the page, its host is paused for too long, or there is
                no answer.
        """
        await self.robots.check(url)
        if self.breaker is not None:
            await self._wait_for_host(self.breaker, url)
        opening = self.client.open(
            url,
            headers={"Accept": ACCEPT_PAGES},
            check_redirect=check_redirect or self.robots.check,
            breaker=self.breaker,
            max_redirects=MAX_REDIRECTS,
            seconds_left=partial(count_seconds_until, self.until),
            error_pages=error_pages,
            is_page=True,
        )
        async with opening as response:
            yield response

    async def _wait_for_host(self, breaker: HostBreaker, url: str) -> None:
        """Wait while a host is paused, unless it is given up: then the request is refused."""
        # Polled, because a pause ends by the clock alone.
        while 0 < (wait := breaker.wait(url)) < inf:
            if count_seconds_until(self.until) < wait:
                raise FetchError(IssueCode.RETRY_LATER, url, f"in {wait:.0f} s")
            await asyncio.sleep(min(wait, _PAUSE_CHECK_SECONDS))
        if wait == 0:
            breaker.begin_trial(url)
