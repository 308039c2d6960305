"""The robots.txt of each origin that pages are on, fetched when first needed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sitemapreader.errors import FetchError
from sitemapreader.fetch.answers import read_body
from sitemapreader.issues import IssueCode
from sitemapreader.options import ROBOTS_MAX_BYTES
from sitemapreader.readers.robots import Robots, parse_robots
from sitemapreader.urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader.fetch.client import Client

MAX_ORIGINS = 20
"""Origins whose robots.txt is fetched; pages of further ones are not visited."""

_TELLING = frozenset({IssueCode.BLOCKED_ADDRESS, IssueCode.BLOCKED_PORT, IssueCode.BLOCKED_BY_SITE})
"""What hinders the request for robots.txt hinders that for a page as well, and says more."""


class PageRobots:
    """What robots.txt files say about pages, to the crawler that a client names.

    Args:
        client: fetches them, and learns their Crawl-delay.
        known: origin -> its robots.txt, of those that were read before.
    """

    def __init__(self, client: Client, known: Mapping[str, Robots] | None = None) -> None:
        self._client = client
        self._agent = client.user_agent
        self._known = dict(known or {})
        self._fetching: dict[str, asyncio.Lock] = {}

    async def check(self, url: str) -> None:
        """Raise FetchError, mostly ROBOTS_DISALLOWED, if a page must not be visited.

        An unreachable robots.txt forbids all (RFC 9309, section 2.3.1.4).
        """
        origin = origin_of(url)
        robots = self._known.get(origin)
        if robots is None:
            if origin not in self._fetching and len(self._fetching) >= MAX_ORIGINS:
                raise FetchError(IssueCode.ROBOTS_DISALLOWED, url, "on too many hosts")
            async with self._fetching.setdefault(origin, asyncio.Lock()):
                robots = self._known.get(origin) or await self._fetch(origin)
        if not robots.complete or robots.find_refusal(url, self._agent):
            raise FetchError(IssueCode.ROBOTS_DISALLOWED, url)

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
        self._known[origin] = robots
        delay = robots.crawl_delay(self._agent)
        if delay is not None:
            self._client.set_crawl_delay(origin, delay)
        return robots
