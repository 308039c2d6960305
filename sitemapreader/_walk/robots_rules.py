"""RobotsRules: the sitemaps that a walk may fetch, by the robots.txt of each host."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.urls import (
    HostScope,
    has_suffixes,
    host_of,
    load_suffixes,
    origin_of,
    same_hosts,
)
from sitemapreader.fetch.addresses import is_public_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader._walk.context import WalkContext
    from sitemapreader._walk.robots import WalkRobots

_NAMING_WAYS = (Via.GIVEN, Via.SITE, Via.ROBOTS)
"""Ways of naming a sitemap by which its host or the caller wants it to be fetched."""


class RobotsRules:
    """The rules by which a walk fetches a sitemap: by who names it, and by robots.txt."""

    def __init__(
        self,
        context: WalkContext,
        hosts: HostScope,
        robots: WalkRobots,
    ) -> None:
        self.robots = robots
        self._client = context.client
        self._breaker = context.breaker
        self._hosts = hosts

    async def check_fetch(
        self, entry: SitemapEntry, referrers: Sequence[str]
    ) -> IssueCode | None:
        """Return why a sitemap must not be fetched; raise FetchError without budget."""
        is_guess = entry.via is Via.WELL_KNOWN
        if not is_guess and self._is_out_of_reach(entry.loc, referrers):
            return IssueCode.HOST_NOT_PUBLIC
        if entry.via in _NAMING_WAYS:
            return None
        return await self._check(entry, entry.loc, referrers)

    def _is_out_of_reach(self, url: str, referrers: Sequence[str]) -> bool:
        """Return whether a sitemap of a public site is on a host that nobody can reach."""
        host = host_of(url)
        hosts = map(host_of, reversed(referrers))
        if not (host and referrers) or host in hosts:  # nearly always
            return False
        return (
            self._hosts != "any"
            and not is_public_host(host)
            and all(is_public_host(host_of(each)) for each in referrers)
            and not self._client.is_allowed(url)
        )

    async def check_redirect(
        self,
        entry: SitemapEntry,
        referrers: Sequence[str],
        url: str,
    ) -> None:
        """Raise FetchError if the redirect of a sitemap to `url` must not be followed.

        Who names a sitemap does not name what another origin has at the end of its redirects.
        """
        is_own = origin_of(url) == origin_of(entry.loc)
        is_named = is_own and entry.via in (Via.GIVEN, Via.SITE)
        if not is_named:
            code = await self._check(entry, url, (entry.loc, *referrers))
            if code is not None:
                raise FetchError(code, url, "by a redirect")
        # its robots.txt may have just asked for a wait
        self._breaker.check_wait(url)

    async def _check(
        self,
        entry: SitemapEntry,
        url: str,
        referrers: Sequence[str],
    ) -> IssueCode | None:
        if (
            entry.via not in (*_NAMING_WAYS, Via.WELL_KNOWN)
            and referrers
            and not await belongs_to_any(self._hosts, referrers, url)
            and not await self._is_listed(referrers[-1], url)
            and not await self._is_listed(url, url)
        ):
            return IssueCode.CROSS_HOST_CHILD
        return await self.robots.find_refusal(url)

    def find_listing(
        self,
        referrers: Sequence[str],
        sitemap: str,
    ) -> tuple[str, ...]:
        """Return the origins of the URLs whose robots.txt lists a sitemap, with a slash."""
        asked: tuple[str, ...] = ()
        listing: tuple[str, ...] = ()
        for url in referrers:
            if url.startswith(asked):
                continue
            origin = f"{origin_of(url)}/"
            asked += (origin,)
            robots = self.robots.find_cached(url)
            if robots is not None and robots.lists(sitemap):
                listing += (origin,)
        return listing

    async def _is_listed(self, place: str, url: str) -> bool:
        """Return whether the robots.txt of `place` lists `url`: a proven cross-submit.

        https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
        """
        return (await self.robots.find(place)).lists(url)


async def belongs_to_any(
    hosts: HostScope,
    referrers: Sequence[str],
    url: str,
) -> bool:
    """Return whether a URL belongs to the host or site of a referrer."""
    if any(same_hosts("host", referrer, url) for referrer in referrers):
        return True
    if hosts == "site" and not has_suffixes():
        await asyncio.to_thread(load_suffixes)
    return any(same_hosts(hosts, referrer, url) for referrer in referrers)
