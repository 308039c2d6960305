"""The search for a site's sitemaps: robots.txt, well-known paths, the start page.

The search tries what the site names before it guesses. It stops at the first sitemap, or if every
answer demands a login or comes from a bot protection.
"""

# The search does not fetch sitemaps: it asks its caller to try them. A walk reads on where
# `discover` only probes, so that nothing is fetched twice.

from __future__ import annotations

import re
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

import attrs

from sitemapreader._event_loop import run_aside
from sitemapreader._read.html import find_generators, find_hints
from sitemapreader._types.arguments import Search
from sitemapreader._types.errors import LOGIN_STATUSES, FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.outcomes import (
    REFUSALS,
    Document,
    Role,
    Status,
)
from sitemapreader._types.urls import (
    check_url,
    folder_of,
    host_of,
    is_robots_url,
    name_as_site,
    origin_of,
    write_target,
)
from sitemapreader._walk.download import SmallBody, fetch_body
from sitemapreader._walk.platforms import list_platform_paths
from sitemapreader._walk.robots_rules import RobotsRules, belongs_to_any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from sitemapreader._walk.context import WalkContext

WELL_KNOWN_PATHS = (
    "sitemap.xml",
    "sitemap_index.xml",
    "sitemap-index.xml",
    "wp-sitemap.xml",
    "sitemap.xml.gz",
    "sitemap_index.xml.gz",
    "sitemap/sitemap.xml",
    "sitemap/index.xml",
    "sitemap/sitemap-index.xml",
    "sitemap.txt",
    "sitemap_news.xml",
    "news-sitemap.xml",
    "sitemap.php",
    "sitemap",
    "admin/config/search/xmlsitemap",
    "sitemap/0.xml",
)
"""Paths of sitemaps that are often not listed, the likeliest first."""
FEW_PATHS = 2
"""Number of them that `Search(probe="few")` tries: nearly all sites with a sitemap have one."""
MAX_START_PAGE_BYTES = 262_144
"""Size of the part of a start page that is searched for links; they are in its head."""
_NUMBERED = re.compile(r"(.*/sitemap/)0(\.xml)")
"""The first of several sitemaps that no index lists (Next.js, `generateSitemaps`)."""
_FORBIDDING = REFUSALS | {IssueCode.ROBOTS_UNREACHABLE}
"""Reasons for which a start page is not requested."""
_FORBIDDEN = 403
_REFUSALS = 2
"""Number of refusals that end the probing of a folder without another response."""


class ProbeResult(Enum):
    """The result of trying sitemaps."""

    FOUND = auto()
    """One of the documents is a sitemap."""
    REFUSED = auto()
    """None is a sitemap; a login was demanded, or a bot protection refused a request."""
    EMPTY = auto()
    """One of the documents is a sitemap without a record, and none has one."""
    NOT_FOUND = auto()
    """None is a sitemap."""


TryEntries: TypeAlias = "Callable[[Sequence[SitemapEntry]], Awaitable[ProbeResult]]"
"""Tries sitemaps that a site names, or one guessed path."""


def judge_failures(documents: Iterable[Document]) -> ProbeResult:
    """Return the result of a search in which no document is a sitemap."""
    for document in documents:
        if document.http_status in LOGIN_STATUSES:
            return ProbeResult.REFUSED
        if document.reason == IssueCode.BLOCKED_BY_SITE:
            return ProbeResult.REFUSED
    return ProbeResult.NOT_FOUND


def _site(value: str | None) -> str:
    if not value:
        return ""
    url, _, _ = check_url("site", value).partition("#")
    url = name_as_site(url)
    parts = urlsplit(url)
    if parts.path == "/robots.txt":
        return f"{parts.scheme}://{parts.netloc}/"
    return url


@attrs.frozen(kw_only=True, eq=False)
class SiteArguments(Search):
    """The search of one site, with its arguments checked: see `discover`.

    Raises TypeError or ValueError for arguments that make no sense.
    """

    site: str = attrs.field(default=None, converter=_site)
    """"" for none."""
    is_page: bool = False
    """True if the URL leads to a page; a URL with a path may be a sitemap's."""
    respect_robots: bool = True

    @property
    def page(self) -> str:
        """The URL of the start page; an empty path is "/" (RFC 9110, section 4.2.3)."""
        parts = urlsplit(self.site)
        if parts.path:
            return self.site
        return parts._replace(path="/").geturl()

    @property
    def names_host(self) -> bool:
        """True if the URL has neither a path nor a query."""
        parts = urlsplit(self.site)
        return not parts.path.strip("/") and not parts.query


@attrs.define(eq=False)
class SiteSearch:
    """The search of one site.

    `try_entries` tries sitemaps that the site names, or one guessed path.
    """

    search: SiteArguments
    context: WalkContext
    rules: RobotsRules
    try_entries: TryEntries
    _moved_to: str = ""
    """The URL of a start page that has moved."""
    _empty: list[SitemapEntry] = attrs.field(factory=list)
    """Guesses that are sitemaps without a record."""

    async def run(self) -> None:
        """Search the site for sitemaps and try them; report why if there is none.

        If there is none and the start page has moved to another origin, that is searched as well.
        """
        if not self.search.is_page and await self._try_site():
            return
        search = self.search
        site = search.site
        result = await self.try_all()
        if result is ProbeResult.NOT_FOUND and self._moved_to:
            site = self._moved_to
            if not await belongs_to_any("site", [search.site], site):
                await self.context.report_code(
                    IssueCode.SITE_MOVED, self.search.site, url=site
                )
            # Once only, so that moves in a circle end. The new URL is not trusted: the caller has
            # named the old one.
            there = attrs.evolve(search, site=site)
            moved = attrs.evolve(self, search=there)
            result = await moved.try_all(reads_page=False)
        if result is ProbeResult.FOUND:
            return
        if self._empty:
            await self.context.emit(tuple(self._empty))  # better than none
            return
        document, silence = self.rules.robots.find_failure(site)
        if silence is not None:
            await self.context.report_issue(silence, document)
        elif self.context.report.counts[IssueCode.BLOCKED_BY_SITE]:
            return  # it is reported with its evidence
        elif result is ProbeResult.REFUSED:
            await self._report_login()
        else:
            await self._report_none()

    async def _try_site(self) -> bool:
        """Try a URL with a path as a sitemap; return whether that was all there is to do."""
        # Only its content can tell: a feed's URL looks like that of a section.
        site = self.search.site
        if self.search.names_host:
            return False
        if is_robots_url(site):
            return await self._try_robots()
        if await self._try_url(site, Via.SITE) is ProbeResult.FOUND:
            return True
        for document in self.context.report.documents:
            if document.via is Via.SITE:
                return document.status is not Status.SKIPPED
        return True

    async def _try_robots(self) -> bool:
        """Try the sitemaps of a robots.txt in a folder; without a find the folder is searched."""
        url = self.search.site
        folder = folder_of(url)
        self.search = attrs.evolve(self.search, site=folder)
        try:
            robots = await self.rules.robots.read_named(url, Via.SITE)
        except FetchError:  # the budget, which the search of the folder reports
            return False
        return await self.try_entries(robots.sitemaps) is ProbeResult.FOUND

    async def _try_url(
        self,
        url: str,
        via: Via = Via.WELL_KNOWN,
    ) -> ProbeResult:
        entry = SitemapEntry(url, via=via)
        result = await self.try_entries([entry])
        if result is ProbeResult.EMPTY:
            self._empty.append(entry)
        return result

    async def _try_guess(self, url: str) -> ProbeResult:
        """Try a guessed URL, and the numbered ones behind it."""
        result = await self._try_url(url)
        numbered = _NUMBERED.fullmatch(url)
        if result is ProbeResult.FOUND and numbered:
            for number in range(1, self.context.limits.children):
                following = f"{numbered[1]}{number}{numbered[2]}"
                if await self._try_url(following) is not ProbeResult.FOUND:
                    break
        return result

    async def _report_login(self) -> None:
        """Report that the site demands a login."""
        report = self.context.report
        site = self.search.site
        page = None
        if not any(document.is_lost for document in report.documents):
            # The start page was not requested: that would be one more refusal.
            page = Document(site, role=Role.PAGE, via=Via.GIVEN)
            report.end_document(page, Status.FAILED, IssueCode.LOGIN_REQUIRED)
        await self.context.report_code(IssueCode.LOGIN_REQUIRED, site, page)

    async def _report_none(self) -> None:
        """Report that there is no sitemap, and why."""
        tried = []
        named = []
        for document in self.context.report.documents:
            if document.via is Via.WELL_KNOWN:
                tried.append(document)
            elif document.via is Via.ROBOTS:
                named.append(document)
        causes = []
        if named:
            causes.append(
                f"robots.txt names {named[0].url}, which could not be read as a "
                f"sitemap: {named[0].reason}"
            )
        folder = self.context.client.find_build()
        if folder:
            causes.append(f"{folder} has a sitemap: read that folder")
        forbidden = sum(document.http_status == _FORBIDDEN for document in tried)
        if forbidden:
            causes.append(f"{forbidden} of {len(tried)} guessed paths return 403")
        said = "; ".join(causes) or None
        await self.context.report_code(
            IssueCode.NO_SITEMAP, self.search.site, value=said
        )

    async def try_all(self, *, reads_page: bool = True) -> ProbeResult:
        """Try the sitemaps that the site names, then the guesses, until one is a sitemap."""
        search = self.search
        site = search.site
        rules = self.rules
        try:
            robots = await rules.robots.find(site, Via.GIVEN)
        except FetchError as error:  # the budget
            await self.context.report_code(
                error.code, site, url=error.url, value=error.detail or None
            )
            return ProbeResult.NOT_FOUND
        failed, silence = rules.robots.find_failure(site)
        named = await self.try_entries(robots.sitemaps)
        found = named is ProbeResult.FOUND
        probed = ProbeResult.NOT_FOUND
        may_probe = robots.complete or not search.respect_robots
        if may_probe and self._wants_probes(found=found):
            before = [named]
            if failed is not None:
                before.append(judge_failures([failed]))
            refusals = before.count(ProbeResult.REFUSED)
            probed = await self._probe(self._list_paths(), refusals)
            found |= probed is ProbeResult.FOUND
        is_out_of_reach = probed is ProbeResult.REFUSED or silence is not None
        wants_page = search.feeds or search.probe == "always" or not found
        if reads_page and wants_page and not is_out_of_reach:
            tried = await self._try_page(found=found)
            found |= tried is ProbeResult.FOUND
        return ProbeResult.FOUND if found else probed

    def _wants_probes(self, *, found: bool) -> bool:
        """Return whether paths are guessed, if a sitemap was `found` or not."""
        if self.search.probe == "always":
            return True
        return self.search.probe != "never" and not found

    def _list_paths(self) -> list[str]:
        """Return the paths to guess, the likeliest first."""
        paths: Sequence[str] = WELL_KNOWN_PATHS
        if self.search.probe == "few":
            paths = WELL_KNOWN_PATHS[:FEW_PATHS]
        return [*self.search.extra_paths, *paths]

    async def _probe(self, paths: Sequence[str], refusals: int) -> ProbeResult:
        """Try paths, folder by folder, until one is a sitemap; return the last result.

        A folder is left after some refusals without another answer.
        """
        # Each request would repeat a password that was not accepted, and some servers lock out
        # clients that do. A bot protection refuses the next path as it did the last one.
        result = ProbeResult.NOT_FOUND
        for urls in list_probes(self.search.site, paths):
            results = set()
            tried = refusals
            for url in urls:
                result = await self._try_guess(url)
                if result is ProbeResult.FOUND:
                    return result
                results.add(result)
                tried += 1
                if tried >= _REFUSALS and results == {ProbeResult.REFUSED}:
                    break
            else:
                result = ProbeResult.NOT_FOUND
        return result

    async def _check_page(self, url: str) -> None:
        """Raise FetchError if robots.txt forbids the start page, and nobody has named it."""
        # who names a host has not named its start page, as who names a URL has
        if not self.search.names_host:
            return
        failed, _ = self.rules.robots.find_failure(url)
        is_unavailable = failed is not None and (failed.http_status or 0) >= 500
        if is_unavailable and self.search.respect_robots:
            # RFC 9309, section 2.3.1.4: assume that everything is disallowed
            raise FetchError(IssueCode.ROBOTS_UNREACHABLE, url)
        if code := await self.rules.robots.find_refusal(url):
            raise FetchError(code, url)

    async def _end_failed_page(
        self, document: Document, error: FetchError
    ) -> ProbeResult:
        """Report a start page that could not be read."""
        document.add_error(error)
        is_forbidden = error.code in _FORBIDDING
        # The end reports a page that was not requested, with the guesses.
        is_own = is_forbidden and error.url == document.url
        is_needless = self._empty and error.is_absent  # because the site has a sitemap
        status = Status.SKIPPED
        if not is_own and not is_needless:
            await self.context.report_error(error, document)
            if not is_forbidden:
                status = Status.FAILED
        self.context.report.end_document(document, status, error.code)
        return judge_failures([document])

    async def _try_page(self, *, found: bool) -> ProbeResult:
        """Try the sitemaps that the start page links to, first in its Link header.

        If none is a sitemap and none was `found` before, an Issue points out feeds that were not
        requested.
        """
        search = self.search
        context = self.context
        url = search.page
        start = SitemapEntry(url, via=Via.GIVEN)
        check = partial(self.rules.check_redirect, start, ())
        document = Document(url, role=Role.PAGE, via=Via.GIVEN)
        with context.report.ensure_outcome(document):
            try:
                await self._check_page(url)
                page = await fetch_body(
                    context, document, MAX_START_PAGE_BYTES, check_redirect=check
                )
            except FetchError as error:
                return await self._end_failed_page(document, error)
            entries = await _find_hints(page, feeds=search.feeds)
            document.children = len(entries)
            status = Status.COMPLETE
            reason = ""
            if page.fault is not None:
                await context.report_error(page.fault, document)
                status = Status.PARTIAL
                reason = str(page.fault.code)
            context.report.end_document(document, status, reason)
        tried = await self.try_entries(list(entries.values()))
        has_none = tried is not ProbeResult.FOUND and not found
        if has_none and not search.feeds:
            links = await _find_hints(page, feeds=True)
            feeds = [link.loc for key, link in links.items() if key not in entries]
            await self._report_feeds(feeds)
        self._moved_to = await _find_move(search.site, page)
        if has_none and search.probe != "never":
            find = partial(find_generators, page.body, page.headers)
            generators = await run_aside(find, len(page.body))
            host = host_of(page.url)
            paths = list(list_platform_paths(generators, page.headers, host))
            if paths and await self._probe(paths, 0) is ProbeResult.FOUND:
                return ProbeResult.FOUND
        return tried

    async def _report_feeds(self, feeds: list[str]) -> None:
        """Report the feeds that the start page links to, and that are not read."""
        if not feeds:
            return
        said = None
        if len(feeds) > 1:
            said = f"{len(feeds)} feeds"
        await self.context.report_code(
            IssueCode.FEED_NOT_READ, self.search.site, url=feeds[0], value=said
        )


async def _find_hints(page: SmallBody, *, feeds: bool) -> dict[str, SitemapEntry]:
    """Return the sitemaps, and perhaps the feeds, that a page links to, by their keys."""
    find = partial(
        find_hints,
        page.body,
        page.url,
        page.headers,
        feeds=feeds,
    )
    size = len(page.body)
    size += len(page.headers.get("link", ""))
    return await run_aside(find, size)


def list_probes(site: str, paths: Sequence[str]) -> Iterator[list[str]]:
    """Yield lists of URLs to try: below the site's own path first, then at the root."""
    origin = origin_of(site)
    if not origin:
        return
    target, _, _ = write_target(site).partition("?")
    own, _, last = target.rpartition("/")
    # `/blog` is a folder, like `/blog/`; `/index.html` is none
    if last and "." not in last:
        own = f"{own}/{last}"
    listed: set[str] = set()
    for path in dict.fromkeys((f"{own}/", "/")):
        urls = [f"{origin}{path}{each}" for each in dict.fromkeys(paths)]
        yield [url for url in urls if url not in listed]
        listed.update(urls)


async def _find_move(site: str, page: SmallBody) -> str:
    """Return the URL that a start page has moved to, if its origin is another; or ""."""
    # Not by a temporary redirect to another site, nor to a URL with a query: those lead to login
    # pages, or to offers of the domain.
    url = page.url
    if origin_of(url) == origin_of(site) or "?" in url:
        return ""
    if page.is_permanent or await belongs_to_any("site", [site], url):
        return url
    return ""
