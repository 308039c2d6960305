"""RobotsCache: the robots.txt of each origin whose pages are requested."""

from __future__ import annotations

import asyncio
from functools import partial
from math import inf
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from sitemapreader._read.robots import Robots, parse_robots
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import ROBOTS_MAX_BYTES
from sitemapreader._types.urls import origin_of
from sitemapreader.fetch.client import Client
from sitemapreader.fetch.responses import read_body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader._types.models import Via
    from sitemapreader.fetch.client import Fetcher

LEAST_ROBOTS_BYTES = 4_096
"""Size at which each robots.txt counts at least, also one that does not exist."""
MAX_REMEMBERED_BYTES = 2 * ROBOTS_MAX_BYTES
"""Size of the kept robots.txt files; a forgotten one is fetched again."""
# Parsed rules take twenty times the size of their file, and pages may be on any host.

_TELLING = frozenset(
    {
        IssueCode.BLOCKED_ADDRESS,
        IssueCode.BLOCKED_PORT,
        IssueCode.BLOCKED_BY_SITE,
        IssueCode.DNS,
    }
)
"""Reasons that hold for a page if its robots.txt fails with them, and say more."""
_PARSED_AT_ONCE_BYTES = 4_096
"""Size of a robots.txt that takes some milliseconds. Nine of ten files are smaller."""


def count_seconds_until(until: float) -> float:
    """Return the seconds until a time of the event loop."""
    return max(0.0, until - asyncio.get_running_loop().time())


class RobotsCache:
    """Cache of the robots.txt of each origin (scheme, host, port), fetched when first needed.

    The ones that were not used for longest are forgotten.

    Args:
        fetcher: fetches them, and learns their Crawl-delay.
        user_agent: the crawler that is judged, if the fetcher has no name.
        known: origin -> its robots.txt, of those that were read before.
        respect: False to forbid nothing and to ignore each Crawl-delay.
        until: time of the event loop beyond which no host is waited for.
    """

    def __init__(
        self,
        fetcher: Fetcher | Client,
        user_agent: str,
        known: Mapping[str, Robots] | None = None,
        *,
        respect: bool = True,
        until: float = inf,
    ) -> None:
        if isinstance(fetcher, Client):
            self._client = fetcher
        else:
            self._client = Client(fetcher, user_agent)
        self.user_agent = self._client.user_agent
        self._known = known or {}
        self._respect = respect
        self._until = until
        self._files: dict[str, tuple[Robots, int]] = {}
        """Origin -> its robots.txt and the size of that; the one that was used last is last."""
        self._fetching = WeakValueDictionary[str, asyncio.Lock]()

    async def check(self, url: str) -> None:
        """Raise FetchError, mostly ROBOTS_DISALLOWED or ROBOTS_UNREACHABLE, if it forbids a page.

        An unreachable robots.txt forbids all (RFC 9309, section 2.3.1.4).
        """
        if self._respect:
            robots = await self.find(url)
            if not robots.complete:
                raise FetchError(IssueCode.ROBOTS_UNREACHABLE, url)
            if robots.find_refusal(url, self.user_agent):
                raise FetchError(IssueCode.ROBOTS_DISALLOWED, url)

    async def find_refusal(self, url: str) -> IssueCode | None:
        """Return why robots.txt forbids a URL that somebody has named, or `None`.

        An unreachable robots.txt forbids no such URL.
        """
        if not self._respect:
            return None
        robots = await self.find(url)
        return robots.find_refusal(url, self.user_agent)

    async def find(self, url: str, via: Via | None = None) -> Robots:
        """Return the robots.txt for a URL: not `complete` if it could not be read.

        `via` is given if the file is read for its Sitemap lines, and not only for its rules.

        Raises:
            FetchError: what hindered this request hinders those for pages as well.
        """
        origin = origin_of(url)
        if not origin:  # not a URL; opening it reports that
            return Robots()
        if origin in self._known:
            return self._known[origin]
        if origin not in self._files:
            async with self._fetching.setdefault(origin, asyncio.Lock()):
                if origin not in self._files:
                    await self._fetch(origin, url, via)
        file = self._files.pop(origin)
        self._files[origin] = file
        return file[0]

    async def _fetch(
        self,
        origin: str,
        url: str,
        via: Via | None,
    ) -> None:
        """Fetch the robots.txt of an origin, in place of the ones that were not used."""
        file = await self.fetch(f"{origin}/robots.txt", via)
        self._keep_delay(url, file[0])
        self._files[origin] = file
        self._forget()

    def find_cached(self, url: str) -> Robots | None:
        """Return the robots.txt for a URL if it was fetched, else `None`."""
        file = self._files.get(origin_of(url))
        if file is None:
            return None
        return file[0]

    async def fetch(self, url: str, via: Via | None) -> tuple[Robots, int]:
        """Fetch and parse a robots.txt; return it with its size."""
        del via
        size = LEAST_ROBOTS_BYTES
        try:
            async with self._client.open(
                url, seconds_left=partial(count_seconds_until, self._until)
            ) as response:
                body = await read_body(response, ROBOTS_MAX_BYTES, cut=True)
            size = max(size, len(body))
            robots = await parse_robots_aside(body, response.url, self.user_agent)
        except FetchError as error:
            if error.code in _TELLING:
                raise
            robots = Robots(url, complete=error.is_absent)
        return robots, size

    def set_delay(self, url: str, seconds: float) -> None:
        """Wait `seconds` between two requests to the host of a URL."""
        self._client.set_crawl_delay(url, seconds)

    def _keep_delay(self, url: str, robots: Robots) -> None:
        if self._respect:
            delay = robots.crawl_delay(self.user_agent)
            if delay is not None:
                self.set_delay(url, delay)

    def _forget(self) -> None:
        total = sum(size for _, size in self._files.values())
        while total > MAX_REMEMBERED_BYTES:
            oldest = next(iter(self._files))
            _, size = self._files.pop(oldest)
            total -= size


async def parse_robots_aside(
    body: bytes,
    url: str,
    agent: str,
    *,
    complete: bool = True,
) -> Robots:
    """Parse a robots.txt, and index its rules for an agent, in a thread if it is large."""

    def parse() -> Robots:
        robots = parse_robots(body, url, complete=complete)
        # the first question makes the index
        robots.can_fetch(f"{origin_of(url)}/", agent)
        return robots

    if len(body) <= _PARSED_AT_ONCE_BYTES:
        return parse()
    return await asyncio.to_thread(parse)
