"""What the robots.txt of each host allows, and what it proves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sitemapreader.documents.download import fetch_body, is_absent
from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.models import Via
from sitemapreader.options import ROBOTS_MAX_BYTES
from sitemapreader.outcomes import Document, Role, Status, issue_from_error, judge_counts
from sitemapreader.readers.robots.parser import parse_robots
from sitemapreader.readers.robots.rules import Robots, load_rules_parser
from sitemapreader.urls import has_suffixes, load_suffixes, origin_of, same_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.documents.context import WalkContext
    from sitemapreader.documents.download import SmallBody
    from sitemapreader.issues import Issue
    from sitemapreader.models import SitemapEntry
    from sitemapreader.urls import Hosts

MAX_REMEMBERED_BYTES = 2 * ROBOTS_MAX_BYTES
"""Robots files that are kept, by their size: rules take twenty times that, and a hostile site can
have any number of hosts. One that was forgotten is fetched again."""
_LEAST_BYTES = 4_096
_PARSED_AT_ONCE_BYTES = 16_384
"""A file of this size takes some milliseconds."""

_NAMED = (Via.GIVEN, Via.ROBOTS)
"""Whoever names a sitemap in these ways asks for it to be fetched."""
_LEADS_NOWHERE = frozenset(
    {IssueCode.TOO_MANY_REDIRECTS, IssueCode.REDIRECT_LOOP, IssueCode.DOWNGRADE}
)
"""RFC 9309, section 2.3.1.2: redirects without an end are as good as no file."""
_NOT_OF_THE_HOST = (None, 407)
"""The status where the host itself said nothing; a proxy on the way may have."""
_BUDGETS = frozenset({IssueCode.BUDGET_DOCUMENTS, IssueCode.BUDGET_BYTES, IssueCode.BUDGET_SECONDS})


class RobotsRules:
    """The robots.txt of each origin (scheme, host, port), fetched once, when it is asked for.

    With `respect=False` nothing is forbidden, and no Crawl-delay kept; what the files list still
    counts.
    """

    def __init__(self, context: WalkContext, *, respect: bool) -> None:
        self._context = context
        self._respect = respect
        self._agent = context.options.user_agent
        self._cache: dict[str, tuple[Robots, int]] = {}
        self._fetching: dict[str, asyncio.Lock] = {}
        self._unreachable: dict[str, tuple[Issue, Document]] = {}
        self._login_required: set[str] = set()
        self._blocked: set[str] = set()

    async def check_fetch(
        self, entry: SitemapEntry, referrers: Sequence[str], hosts: Hosts
    ) -> IssueCode | None:
        """Return why a sitemap is not to be fetched, or `None` if it may be.

        `referrers` are the URLs that led to it, the nearest last. Raises FetchError if the budget
        ends before the answer is known.
        """
        if entry.via in _NAMED:
            return None
        url = entry.loc
        if (
            entry.via is not Via.WELL_KNOWN
            and referrers
            and not await _belongs_to_any(hosts, referrers, url)
            and not await self._is_listed(referrers[-1], url)
            and not await self._is_listed(url, url)
        ):
            return IssueCode.CROSS_HOST_CHILD
        if not self._respect:
            return None
        robots = await self.robots_of(url)
        return robots.find_refusal(url, self._agent)

    async def robots_of(self, url: str, via: Via | None = None) -> Robots:
        """Return the robots.txt that a URL falls under; raise FetchError if the budget is at end.

        `via` says that the file is asked for what it lists, and not only for leave.
        """
        origin = origin_of(url)
        if not origin:  # no address at all: whoever opens it says so
            return Robots()
        async with self._fetching.setdefault(origin, asyncio.Lock()):
            known = self._cache.pop(origin, None)
            if known is None:
                known = await self._fetch(f"{origin}/robots.txt", via)
                self._apply_crawl_delay(url, known[0])
            self._cache[origin] = known  # now the one used last
            self._evict()
        return known[0]

    def cached(self, url: str) -> Robots:
        """Return the robots.txt of a URL if it is at hand, else one without rules."""
        return self._cache.get(origin_of(url), (Robots(), 0))[0]

    def is_unreachable(self, url: str) -> bool:
        """Tell whether the host of a URL gave no answer at all when it was asked for the file."""
        return origin_of(url) in self._unreachable

    async def note_unreachable_host(self, url: str) -> bool:
        """Say why the host of a URL gave no answer at all; return whether that is so."""
        silence = self._unreachable.get(origin_of(url))
        if silence is not None:
            await self._context.report_issue(*silence)
        return silence is not None

    def requires_login(self, url: str) -> bool:
        """Tell whether a login was asked for in the place of the file."""
        return origin_of(url) in self._login_required

    def is_blocked(self, url: str) -> bool:
        """Tell whether a bot protection answered in the place of the file."""
        return origin_of(url) in self._blocked

    async def _is_listed(self, place: str, url: str) -> bool:
        """Tell whether the robots.txt of a place names `url`: the proof for a cross-submit.

        https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
        """
        return (await self.robots_of(place)).lists(url)

    def _apply_crawl_delay(self, url: str, robots: Robots) -> None:
        delay = robots.crawl_delay(self._agent) if self._respect else None
        if delay is not None:
            self._context.set_crawl_delay(url, delay)

    def _evict(self) -> None:
        while len(self._cache) > 1 and self._size() > MAX_REMEMBERED_BYTES:
            origin = next(iter(self._cache))
            del self._cache[origin]
            if not self._fetching[origin].locked():
                del self._fetching[origin]

    def _size(self) -> int:
        return sum(size for _, size in self._cache.values())

    async def _fetch(self, url: str, via: Via | None) -> tuple[Robots, int]:
        report = self._context.report
        if self._respect:
            asyncio.get_running_loop().call_soon(load_rules_parser)
        with report.ensure_outcome(Document(url, role=Role.ROBOTS, via=via)) as document:
            try:
                whole = await fetch_body(self._context, url, ROBOTS_MAX_BYTES)
            except FetchError as error:
                return await self._judge(error, document), _LEAST_BYTES
            document.final_url, document.http_status = whole.url, whole.status
            document.tries = whole.tries
            document.bytes_raw, document.bytes_inflated = whole.raw_bytes, len(whole.data)
            robots = await self._parse(whole)
            document.children = len(robots.sitemaps)
            for issue in robots.issues:
                await self._context.report_issue(issue, document)
            report.add_counts(robots.counts, document)
            if whole.fault is None:
                report.end_document(document, *judge_counts(document.counts, document.children))
            else:
                await self._note_unreachable(whole.fault, document)
                report.end_document(document, Status.PARTIAL, str(whole.fault.code))
            return robots, max(len(whole.data), _LEAST_BYTES)

    async def _parse(self, whole: SmallBody) -> Robots:
        """Parse a robots.txt, in another thread if it is large: the loop is not held up."""

        def parse() -> Robots:
            robots = parse_robots(whole.data, whole.url, complete=whole.fault is None)
            if self._respect:
                robots.prepare(self._agent)
            return robots

        is_small = len(whole.data) <= _PARSED_AT_ONCE_BYTES
        return parse() if is_small else await asyncio.to_thread(parse)

    async def _judge(self, error: FetchError, document: Document) -> Robots:
        """Say what it means that there is no robots.txt: no rules, or nothing allowed."""
        if error.code in _BUDGETS:
            self._context.report.end_document(document, Status.SKIPPED, str(error.code))
            raise error
        document.http_status, document.tries = error.http_status, error.tries
        absent = error.code in _LEADS_NOWHERE or is_absent(error)
        origin = origin_of(document.url)
        # A loop of redirects has no status of its own, but is an answer of the host.
        if error.http_status in _NOT_OF_THE_HOST and not absent:
            self._unreachable[origin] = issue_from_error(error, document), document
        if error.code is IssueCode.BLOCKED_BY_SITE:
            self._blocked.add(origin)
        if error.http_status in LOGIN_STATUSES:
            self._login_required.add(origin)
        if error.code in _LEADS_NOWHERE:
            await self._context.report_issue(make_issue(error.code, document.url), document)
        elif not absent:
            await self._note_unreachable(error, document)
        status = Status.SKIPPED if absent else Status.FAILED
        self._context.report.end_document(document, status, str(error.code))
        return Robots(document.url, complete=absent)

    async def _note_unreachable(self, error: FetchError, document: Document) -> None:
        said = f"{error.code}: {error.detail}" if error.detail else str(error.code)
        issue = make_issue(IssueCode.ROBOTS_UNREACHABLE, document.url, value=said)
        await self._context.report_issue(issue, document)


async def _belongs_to_any(hosts: Hosts, referrers: Sequence[str], url: str) -> bool:
    """Tell whether a URL belongs to one of those that led to it."""
    if hosts == "site" and not has_suffixes() and not _matches_any("host", referrers, url):
        await asyncio.to_thread(load_suffixes)
    return _matches_any(hosts, referrers, url)


def _matches_any(hosts: Hosts, referrers: Sequence[str], url: str) -> bool:
    return any(same_hosts(hosts, referrer, url) for referrer in referrers)
