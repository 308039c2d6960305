"""The robots.txt of each origin that pages are on, fetched when first needed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.answers import read_body
from sitemapreader.fetch.client import Fetcher, PlainClient
from sitemapreader.issues import IssueCode
from sitemapreader.options import ROBOTS_MAX_BYTES
from sitemapreader.readers.robots import Robots, parse_robots
from sitemapreader.urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping


MAX_ORIGINS = 100
"""Origins whose robots.txt is remembered: rules take megabytes, and pages may be on any host."""

_TELLING = frozenset({IssueCode.BLOCKED_ADDRESS, IssueCode.BLOCKED_PORT, IssueCode.BLOCKED_BY_SITE})
"""What hinders the request for robots.txt hinders that for a page as well, and says more."""


@attrs.define
class _Origin:
    """The robots.txt of an origin, `None` until somebody has fetched it."""

    robots: Robots | None = None
    fetching: asyncio.Lock = attrs.field(factory=asyncio.Lock)


class PageRobots:
    """What robots.txt files say about pages.

    That of any origin is asked for, for no page may be called forbidden that is not; the one that
    was not needed for longest is forgotten.

    Args:
        fetcher: fetches them, and learns their Crawl-delay.
        user_agent: the crawler that is judged, if the fetcher has no name.
        known: origin -> its robots.txt, of those that were read before.
    """

    def __init__(
        self, fetcher: Fetcher, user_agent: str, known: Mapping[str, Robots] | None = None
    ) -> None:
        self._client = PlainClient(fetcher, user_agent)
        self._known = known or {}
        self._origins: dict[str, _Origin] = {}

    async def check(self, url: str) -> None:
        """Raise FetchError, mostly ROBOTS_DISALLOWED, if a page must not be visited.

        An unreachable robots.txt forbids all (RFC 9309, section 2.3.1.4).
        """
        robots = await self.find(origin_of(url))
        if not robots.complete or robots.find_refusal(url, self._client.user_agent):
            raise FetchError(IssueCode.ROBOTS_DISALLOWED, url)

    async def find(self, origin: str) -> Robots:
        """Return the robots.txt of an origin: not `complete` if it could not be read.

        Raises:
            FetchError: what hindered this request hinders those for pages as well.
        """
        if origin in self._known:
            return self._known[origin]
        place = self._origins[origin] = self._origins.pop(origin, _Origin())
        if len(self._origins) > MAX_ORIGINS:
            del self._origins[next(iter(self._origins))]
        async with place.fetching:
            if place.robots is None:
                place.robots = await self._fetch(origin)
        return place.robots

    async def _fetch(self, origin: str) -> Robots:
        url = f"{origin}/robots.txt"
        try:
            async with self._client.open(url) as response:
                body = await read_body(response, ROBOTS_MAX_BYTES, cut=True)
                robots = parse_robots(body, response.url)
        except FetchError as error:
            if error.code in _TELLING:
                raise
            robots = Robots(url, complete=error.is_absent)
        delay = robots.crawl_delay(self._client.user_agent)
        if delay is not None:
            self._client.set_crawl_delay(origin, delay)
        return robots
