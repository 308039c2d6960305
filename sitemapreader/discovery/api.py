"""`discover` and `discover_sync`: find a site's sitemaps without reading them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.discovery.arguments import check_fetcher
from sitemapreader.discovery.robots_rules import RobotsRules
from sitemapreader.discovery.search import ProbeResult, Search, judge_failures, search_site
from sitemapreader.documents.budget import Budget
from sitemapreader.documents.context import Batch, WalkContext, borrow_fetcher
from sitemapreader.documents.visit import DocumentVisit
from sitemapreader.errors import FetchError
from sitemapreader.event_loop import run_blocking
from sitemapreader.fetch import make_client
from sitemapreader.issues import Issue, make_issue
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.outcomes import Document, Status, make_document
from sitemapreader.report import Report
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence
    from typing import Unpack

    from sitemapreader.discovery.arguments import DiscoverArguments, Probe
    from sitemapreader.fetch import Fetcher
    from sitemapreader.issues import IssueCode
    from sitemapreader.models import Format, SitemapEntry
    from sitemapreader.readers.records.vocabulary import ExtraFormats
    from sitemapreader.readers.robots import Robots
    from sitemapreader.rows import Rows
    from sitemapreader.urls import Hosts


@attrs.frozen(eq=False)
class Discovery:
    """The result of a search.

    Attributes:
        sitemaps: the sitemaps that the site names, whether they answer or not, and the first
            guessed path that is one.
        robots: its robots.txt.
        issues: the first Issues of each code.
        counts: the number of Issues by code.
        documents: the outcomes of all that was fetched.
    """

    sitemaps: tuple[SitemapEntry, ...]
    robots: Robots
    issues: tuple[Issue, ...]
    counts: Counter[IssueCode]
    documents: tuple[Document, ...]


async def discover(
    site: str,
    *,
    fetcher: Fetcher | None = None,
    options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
    limits: Limits = Limits(),  # noqa: B008 (a frozen value)
    probe: Probe = "auto",
    extra_paths: Iterable[str] = (),
    feeds: bool = False,
    respect_robots: bool = True,
    extra_formats: ExtraFormats = (),
    trusted: bool = True,
) -> Discovery:
    """Find the sitemaps of a site; read only the beginning of each.

    Args:
        site: its URL; one with a path, such as `https://example.org/blog/`, may be a sitemap or a
            feed, and is else searched below that path first, then at the root.
        fetcher: opens URLs; it is not closed. Without one, an HttpFetcher is made.
        options: how the network is used.
        limits: how much is read.
        probe: whether the well-known paths are tried: "auto", if no sitemap that the site names
            answers; "few", then only `/sitemap.xml` and `/sitemap_index.xml`, for long lists of
            sites of which many have no sitemap; "always"; "deep", always, and then the paths of the
            platform that the start page or a sitemap's name shows (see
            `sitemapreader.discovery.platforms`); or "never".
        extra_paths: paths to try before the well-known ones.
        feeds: also accept the feeds that the start page links to.
        respect_robots: do not try paths that robots.txt disallows, and none at all if robots.txt
            cannot be fetched (RFC 9309, section 2.3.1.4). What the site names is always tried.
        extra_formats: what else counts as a sitemap: "html", pages that the site names as its
            sitemaps; "llms", an `llms.txt`, which is then tried as well.
        trusted: whether you trust the site that you name, as in `walk`.

    Returns:
        The sitemaps, the robots.txt, and a report of what was fetched and what was wrong.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: an argument has a value that cannot be meant.
    """
    check_fetcher(fetcher)
    search = Search(
        site=site,
        probe=probe,
        extra_paths=extra_paths,
        feeds=feeds,
        respect_robots=respect_robots,
        extra_formats=extra_formats,
    )
    return await _discover(search, fetcher, options, limits, trusted=trusted)


def discover_sync(site: str, **arguments: Unpack[DiscoverArguments]) -> Discovery:
    """Find the sitemaps of a site as `discover` does, but without `await`.

    Args:
        site: its URL, as `discover` takes it.
        arguments: the keyword arguments of `discover`.

    Inside a running event loop, as in a notebook, it runs in a thread of its own. Raises what
    `discover` raises.
    """
    return run_blocking(discover(site, **arguments))


async def _discover(
    search: Search,
    fetcher: Fetcher | None,
    options: FetchOptions,
    limits: Limits,
    *,
    trusted: bool,
) -> Discovery:
    async with borrow_fetcher(fetcher, options, limits) as opened:
        report = Report(limits.documents)
        context = WalkContext(
            make_client(opened, options.user_agent),
            options,
            limits,
            Budget(limits),
            report,
            _discard_batch,
            extra_formats=search.extra_formats,
        )
        if trusted:
            context.client.trust(search.site)
        rules = RobotsRules(context, respect=search.respect_robots)
        prober = DiscoveryProber(context, rules)
        await search_site(search, context, rules, prober.try_entries)
        return Discovery(
            tuple(prober.sitemaps.values()),
            rules.cached(search.site),
            tuple(report.issues),
            report.counts,
            tuple(report.documents),
        )


_HOSTS: Hosts = "site"
"""Where the sitemaps that a start page links to may be."""


async def _discard_batch(_: Batch, __: int = 0, /) -> None:
    """Discard a batch: a discovery has no consumer but its result."""


class DiscoveryProber:
    """Prober of sitemaps by their first bytes, one at a time, until one is found."""

    def __init__(self, context: WalkContext, rules: RobotsRules) -> None:
        self.sitemaps: dict[str, SitemapEntry] = {}
        self._context = context
        self._rules = rules

    async def try_entries(self, entries: Sequence[SitemapEntry]) -> ProbeResult:
        """Record what the site names, and probe until one is a sitemap."""
        guessed = [entry for entry in entries if entry.via.is_guess]
        for entry in entries:
            if entry not in guessed:
                self.sitemaps.setdefault(url_key(entry.loc), entry)
        probed = []
        for entry in entries:
            document = await self._probe_entry(entry)
            if document.format is not None:
                self.sitemaps.setdefault(url_key(entry.loc), entry)
                return ProbeResult.FOUND
            probed.append(document)
        return judge_failures(probed)

    async def _probe_entry(self, entry: SitemapEntry) -> Document:
        report, document = self._context.report, make_document(entry)
        try:
            refusal = await self._rules.check_fetch(entry, [entry.sitemap], _HOSTS)
            if refusal is None:
                self._context.budget.take_document(entry.loc)
        except FetchError as error:
            refusal = error.code
        if refusal is not None:
            await self._context.report_issue(make_issue(refusal, entry.sitemap, url=entry.loc))
            report.end_document(document, Status.SKIPPED, str(refusal))
            return document
        await DocumentVisit(self._context, document, _ProbeHandler(self._rules, entry)).run()
        return document


class _ProbeHandler:
    """A DocumentHandler that stops reading once the format is known."""

    def __init__(self, rules: RobotsRules, entry: SitemapEntry) -> None:
        self._rules = rules
        self._entry = entry

    async def find_refusal(self, url: str) -> IssueCode | None:
        return await self._rules.check_redirect(self._entry, [self._entry.sitemap], _HOSTS, url)

    async def check_redirect(self, url: str) -> bool:
        del url
        return False

    async def accept_format(self, kind: Format) -> bool:
        del kind
        return False

    async def skip_entries(self, offset: int) -> None:
        del offset

    async def reuse_children(self) -> None:
        """Do nothing: there is no prior version."""

    async def handle_entries(self, entries: Rows) -> bool:
        """Do nothing: reading ends before entries."""
        del entries
        return False

    async def handle_sitemaps(self, entries: list[SitemapEntry]) -> None:
        """Do nothing: reading ends before entries."""

    async def end_document(self, digest: bytes | None) -> None:
        """Do nothing."""
