"""RobotsRules: the rules, sitemaps and delays in the robots.txt of each host."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from sitemapreader._read.robots import Robots
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import Issue, IssueCode, make_issue
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.options import ROBOTS_MAX_BYTES
from sitemapreader._types.outcomes import (
    Document,
    Role,
    Status,
    issue_from_error,
    judge_counts,
)
from sitemapreader._types.urls import (
    Hosts,
    has_suffixes,
    host_of,
    load_suffixes,
    origin_of,
    same_hosts,
)
from sitemapreader._walk.download import fetch_body
from sitemapreader.fetch.addresses import is_public_host
from sitemapreader.pages.visit import parse_robots_aside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader._walk.context import WalkContext

MAX_REMEMBERED_BYTES = 2 * ROBOTS_MAX_BYTES
"""Size of the kept robots.txt files; an evicted one is fetched again."""
# Parsed rules take twenty times the size of their file, and a hostile site can have any number of
# hosts.
_LEAST_BYTES = 4_096

_ASKED_FOR = (Via.GIVEN, Via.SITE, Via.ROBOTS)
"""Ways of naming a sitemap that ask for it to be fetched."""
_LEADS_NOWHERE = frozenset(
    {IssueCode.TOO_MANY_REDIRECTS, IssueCode.REDIRECT_LOOP, IssueCode.DOWNGRADE}
)
"""Redirects without an end, which mean that there is no file (RFC 9309, section 2.3.1.2)."""
_NOT_OF_THE_HOST = (None, 407)
"""The status of a failure without a response of the host; 407 comes from a proxy."""
_BUDGET_REASONS = frozenset(
    {IssueCode.BUDGET_DOCUMENTS, IssueCode.BUDGET_BYTES, IssueCode.BUDGET_SECONDS}
)


class RobotsRules:
    """The robots.txt of each origin (scheme, host, port), fetched when first needed.

    With `respect=False` nothing is disallowed and Crawl-delay is ignored; Sitemap lines still
    count.
    """

    def __init__(self, context: WalkContext, hosts: Hosts, *, respect: bool) -> None:
        self._context = context
        self._hosts = hosts
        self._respect = respect
        self._agent = context.client.user_agent
        self._cache: dict[str, tuple[Robots, int]] = {}
        self._fetching: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._failed: dict[str, tuple[Document, Issue | None]] = {}
        """Origin -> the outcome of its robots.txt, and why its host did not respond."""

    async def check_fetch(
        self, entry: SitemapEntry, referrers: Sequence[str]
    ) -> IssueCode | None:
        """Return why a sitemap must not be fetched; raise FetchError without budget."""
        if entry.via is not Via.WELL_KNOWN and self._is_out_of_reach(
            entry.loc, referrers
        ):
            return IssueCode.HOST_NOT_PUBLIC
        if entry.via in _ASKED_FOR:
            return None
        return await self._check(entry, entry.loc, referrers)

    def _is_out_of_reach(self, url: str, referrers: Sequence[str]) -> bool:
        """Return whether a sitemap of a public site is on a host that nobody can reach."""
        host = host_of(url)
        return (
            bool(host and referrers)
            and self._hosts != "any"
            and not is_public_host(host)
            and all(is_public_host(host_of(each)) for each in referrers)
            and not self._context.client.is_allowed(url)
        )

    async def check_redirect(
        self, entry: SitemapEntry, referrers: Sequence[str], url: str
    ) -> None:
        """Raise FetchError if the redirect of a sitemap to `url` must not be followed.

        Who names a sitemap does not name what another origin has at the end of its redirects.
        """
        if entry.via in (Via.GIVEN, Via.SITE) and origin_of(url) == origin_of(
            entry.loc
        ):
            return
        if code := await self._check(entry, url, (entry.loc, *referrers)):
            raise FetchError(code, url, "by a redirect")

    async def _check(
        self, entry: SitemapEntry, url: str, referrers: Sequence[str]
    ) -> IssueCode | None:
        if (
            entry.via not in (*_ASKED_FOR, Via.WELL_KNOWN)
            and referrers
            and not await belongs_to_any(self._hosts, referrers, url)
            and not await self._is_listed(referrers[-1], url)
            and not await self._is_listed(url, url)
        ):
            return IssueCode.CROSS_HOST_CHILD
        return await self.find_refusal(url)

    async def find_refusal(
        self, url: str, *, is_named: bool = True
    ) -> IssueCode | None:
        """Return why robots.txt forbids a URL, or `None`.

        One that cannot be fetched forbids all that nobody has named (RFC 9309, 2.3.1.4).
        """
        if not self._respect:
            return None
        robots = await self.robots_of(url)
        if not (is_named or robots.complete):
            return IssueCode.ROBOTS_UNREACHABLE
        return robots.find_refusal(url, self._agent)

    async def robots_of(self, url: str, via: Via | None = None) -> Robots:
        """Return the robots.txt for a URL; raise FetchError when the budget is spent.

        `via` is given if the file is read for its Sitemap lines, and not only for its rules.
        """
        origin = origin_of(url)
        if not origin:  # not a URL; opening it reports that
            return Robots()
        async with self._fetching.setdefault(origin, asyncio.Lock()):
            known = self._cache.pop(origin, None)
            if known is None:
                known = await self._fetch(f"{origin}/robots.txt", via)
                self._apply_crawl_delay(url, known[0])
            self._cache[origin] = known  # now the most recently used
            self._evict()
        return known[0]

    async def read_named(self, url: str, via: Via) -> Robots:
        """Return a robots.txt that the caller names, in whatever folder, for its Sitemap lines.

        Raises FetchError when the budget is spent.
        """
        if url == f"{origin_of(url)}/robots.txt":
            return await self.robots_of(url, via)
        robots, _ = await self._fetch(url, via)
        return robots

    def find_cached(self, url: str) -> Robots | None:
        """Return the robots.txt of a URL if it was fetched, else `None`."""
        known = self._cache.get(origin_of(url))
        return None if known is None else known[0]

    def find_listing(self, referrers: Sequence[str], sitemap: str) -> tuple[str, ...]:
        """Return the origins of the URLs whose robots.txt lists a sitemap, with a slash."""
        found: dict[str, bool] = {}
        for url in referrers:
            if not url.startswith((*found,)):
                robots = self.find_cached(url)
                found[f"{origin_of(url)}/"] = robots is not None and robots.lists(
                    sitemap
                )
        return tuple(origin for origin, is_listing in found.items() if is_listing)

    def find_failure(self, url: str) -> tuple[Document | None, Issue | None]:
        """Return the outcome of a robots.txt that failed, and why its host did not respond."""
        return self._failed.get(origin_of(url), (None, None))

    async def _is_listed(self, place: str, url: str) -> bool:
        """Return whether the robots.txt of `place` lists `url`: a proven cross-submit.

        https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
        """
        return (await self.robots_of(place)).lists(url)

    def _apply_crawl_delay(self, url: str, robots: Robots) -> None:
        if self._respect:
            delay = robots.crawl_delay(self._agent)
        else:
            delay = None
        if delay is not None:
            tally = self._context.report.tally
            if tally.crawl_delay is None:
                tally.crawl_delay = delay
            self._context.client.set_crawl_delay(url, delay)

    def _evict(self) -> None:
        sizes = [size for _, size in self._cache.values()]
        while sum(sizes) > MAX_REMEMBERED_BYTES:
            del sizes[0], self._cache[next(iter(self._cache))]

    async def _fetch(self, url: str, via: Via | None) -> tuple[Robots, int]:
        report = self._context.report
        with report.ensure_outcome(
            Document(url, role=Role.ROBOTS, via=via)
        ) as document:
            try:
                body = await fetch_body(self._context, document, ROBOTS_MAX_BYTES)
            except FetchError as error:
                return await self._handle_failure(error, document), _LEAST_BYTES
            is_whole = body.fault is None
            robots = await parse_robots_aside(
                body.body, body.url, self._agent, complete=is_whole
            )
            document.children = len(robots.sitemaps)
            for issue in robots.issues:
                await self._context.report_issue(issue, document)
            report.add_counts(robots.counts, document)
            if body.fault is None:
                report.end_document(
                    document, *judge_counts(document.counts, document.children)
                )
            else:
                await self._note_unreachable(body.fault, document)
                report.end_document(document, Status.PARTIAL, str(body.fault.code))
            return robots, max(len(body.body), _LEAST_BYTES)

    async def _handle_failure(self, error: FetchError, document: Document) -> Robots:
        """Return the rules after a failed request: none, or everything disallowed."""
        if error.code in _BUDGET_REASONS:
            self._context.report.end_document(document, Status.SKIPPED, str(error.code))
            raise error
        document.add_error(error)
        absent = error.code in _LEADS_NOWHERE or error.is_absent
        origin = origin_of(document.url)
        # A redirect has no status of its own here, but is an answer of the host: whether it leads
        # in a circle, or to another host that is down or must not be asked.
        is_redirected = origin_of(error.url) != origin
        is_silent = (
            error.http_status in _NOT_OF_THE_HOST and not absent and not is_redirected
        )
        self._failed[origin] = (
            document,
            issue_from_error(error, document) if is_silent else None,
        )
        if error.code in _LEADS_NOWHERE:
            await self._context.report_issue(
                make_issue(error.code, document.url), document
            )
        elif not absent:
            await self._note_unreachable(error, document)
        status = Status.SKIPPED if absent else Status.FAILED
        self._context.report.end_document(document, status, str(error.code))
        return Robots(document.url, complete=absent)

    async def _note_unreachable(self, error: FetchError, document: Document) -> None:
        issue = make_issue(
            IssueCode.ROBOTS_UNREACHABLE, document.url, value=error.cause
        )
        await self._context.report_issue(issue, document)


async def belongs_to_any(hosts: Hosts, referrers: Sequence[str], url: str) -> bool:
    """Return whether a URL belongs to the host or site of a referrer."""
    if any(same_hosts("host", referrer, url) for referrer in referrers):
        return True
    if hosts == "site" and not has_suffixes():
        await asyncio.to_thread(load_suffixes)
    return any(same_hosts(hosts, referrer, url) for referrer in referrers)
