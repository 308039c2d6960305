"""SitePlaces: limits the sites that are walked at once, to one of each registrable domain."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sitemapreader._many.sources import SiteTask

_MAX_WAITING_SITES = 100_000
"""Sites that may wait for another one of their domain (10 MB of names). Above it, the list is not
read further, so later sites of other domains wait as well."""


class SitePlaces:
    """The places for sites that are walked, and the sites that wait for their domain."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._free = asyncio.Semaphore(number)
        self._waiting_sites: dict[str, deque[str | SiteTask]] = {}
        """Domain of a site that is walked -> the sites that wait for it."""
        self._room_to_wait = asyncio.Semaphore(_MAX_WAITING_SITES)

    async def take(self, domain: str, site: str | SiteTask) -> bool:
        """Take a place for a site; if its domain has one, let it wait there, and return False."""
        # only as it was named, because a hundred thousand may wait
        if domain in self._waiting_sites:
            self._waiting_sites[domain].append(site)
            await self._room_to_wait.acquire()
            return False
        await self._free.acquire()
        self._waiting_sites[domain] = deque()
        return True

    async def take_next(self, domain: str) -> str | SiteTask | None:
        """Take a place for the next site of a domain; `None` if there is no other one."""
        if not self._waiting_sites[domain]:
            self.leave(domain)
            return None
        self._room_to_wait.release()
        await self._free.acquire()
        return self._waiting_sites[domain].popleft()

    def free(self) -> None:
        """Give back the place of a site that has ended."""
        self._free.release()

    def leave(self, domain: str) -> None:
        """Let the next site of a domain take a place of its own."""
        del self._waiting_sites[domain]
