"""A search by itself: the sitemaps of a site, each looked at, none read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.discovery.robots_rules import RobotsRules
from sitemapreader.discovery.search import Probe, ProbeResult, Search, judge_failures, search_site
from sitemapreader.documents.budget import Budget
from sitemapreader.documents.context import Batch, WalkContext, borrow_fetcher
from sitemapreader.documents.visit import DocumentVisit
from sitemapreader.errors import FetchError
from sitemapreader.issues import Issue, make_issue
from sitemapreader.models import SitemapEntry, Via
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.outcomes import Document, Status, make_document
from sitemapreader.report import Report
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from sitemapreader.fetch import Fetcher
    from sitemapreader.issues import IssueCode
    from sitemapreader.models import Format, UrlEntry
    from sitemapreader.readers.formats import ExtraFormats
    from sitemapreader.readers.robots.rules import Robots


@attrs.frozen(eq=False)
class Discovery:
    """What a search has found.

    Attributes:
        sitemaps: those that the site names, whether they answer or not, and one that was guessed
            and answers.
        robots: its robots.txt.
        issues: what was wrong; the first of each kind.
        counts: how much of each kind there was.
        documents: the outcomes of what was fetched.
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
) -> Discovery:
    """Find the sitemaps of a site, and read none of them further than to see that it is one.

    Args:
        site: its URL; one with a path, such as `https://example.org/blog/`, is searched below that
            path first, then at the root.
        fetcher: opens URLs; it is not closed. Without one, an HttpFetcher is made.
        options: how the network is used.
        limits: how much is read.
        probe: whether the well-known paths are tried: "auto", if nothing that the site names
            answers; "always"; or "never".
        extra_paths: paths to try before those.
        feeds: take the RSS and Atom feeds that the start page links to as well.
        respect_robots: try no path that robots.txt forbids, and none at all where it cannot be
            fetched (RFC 9309, section 2.3.1.4). What the site names is always tried.
        extra_formats: what counts as a sitemap besides sitemaps and feeds: "html", pages that the
            site names as its sitemaps; "llms", an `llms.txt`, which is looked for as well.

    Raises TypeError or ValueError for arguments that cannot be meant.
    """
    search = Search(
        site=site,
        probe=probe,
        extra_paths=extra_paths,
        feeds=feeds,
        respect_robots=respect_robots,
        extra_formats=extra_formats,
    )
    async with borrow_fetcher(fetcher, options, limits) as opened:
        report = Report(limits.documents)
        context = WalkContext(
            opened,
            options,
            limits,
            Budget(limits),
            report,
            _discard_batch,
            extra_formats=search.extra_formats,
        )
        context.trust([site])
        rules = RobotsRules(context, respect=respect_robots)
        prober = DiscoveryProber(context, rules)
        await search_site(search, context, rules, prober.try_entries)
        return Discovery(
            tuple(prober.sitemaps.values()),
            rules.cached(site),
            tuple(report.issues),
            report.counts,
            tuple(report.documents),
        )


async def _discard_batch(_: Batch, __: int = 0, /) -> None:
    """Send nothing: a discovery has no consumer but its result."""


class DiscoveryProber:
    """Tries sitemaps by looking at their first bytes, one after the other, until one answers."""

    def __init__(self, context: WalkContext, rules: RobotsRules) -> None:
        self.sitemaps: dict[str, SitemapEntry] = {}
        self._context = context
        self._rules = rules

    async def try_entries(self, entries: Sequence[SitemapEntry]) -> ProbeResult:
        """Note what the site names, and look for one that is a sitemap."""
        guessed = [entry for entry in entries if entry.via is Via.WELL_KNOWN]
        for entry in entries:
            if entry not in guessed:
                self.sitemaps.setdefault(url_key(entry.loc), entry)
        looked_at = []
        for entry in entries:
            document = await self._probe_entry(entry)
            if document.format is not None:
                self.sitemaps.setdefault(url_key(entry.loc), entry)
                return ProbeResult.FOUND
            looked_at.append(document)
        return judge_failures(looked_at)

    async def _probe_entry(self, entry: SitemapEntry) -> Document:
        report, document = self._context.report, make_document(entry)
        try:
            refusal = await self._rules.check_fetch(entry, [entry.sitemap], "site")
            if refusal is None:
                self._context.budget.take_document(entry.loc)
        except FetchError as error:
            refusal = error.code
        if refusal is not None:
            await self._context.report_issue(make_issue(refusal, entry.sitemap, url=entry.loc))
            report.end_document(document, Status.SKIPPED, str(refusal))
            return document
        await DocumentVisit(self._context, document, _ProbeHandler()).run()
        return document


class _ProbeHandler:
    """A host who only wants to know whether a document is a sitemap."""

    async def check_redirect(self, url: str) -> str:
        del url
        return ""

    async def accept_format(self, kind: Format) -> bool:
        del kind
        return False

    async def skip_entries(self, offset: int) -> None:
        del offset

    async def reuse_children(self) -> None:
        """Nothing is known of it."""

    async def handle_entries(self, entries: list[UrlEntry]) -> None:
        """Not called: reading ends with the recognition."""

    async def handle_sitemaps(self, entries: list[SitemapEntry]) -> None:
        """Not called either."""

    async def end_document(self, digest: bytes | None) -> None:
        """Nothing is to be done."""
