"""What a document lists: entries for the consumer, sitemaps for the frontier."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

import attrs

from sitemapreader.dates import count_odd, is_since
from sitemapreader.issues import IssueCode, make_issue, without_userinfo
from sitemapreader.models import SitemapEntry, UrlEntry, Via
from sitemapreader.options import MAX_URL_CHARS
from sitemapreader.outcomes import NOT_DUE, NOT_FOLLOWED, NOT_MODIFIED, Document
from sitemapreader.urls import resolve, same_hosts, url_key
from sitemapreader.walker.frontier import rank

if TYPE_CHECKING:
    from sitemapreader.discovery.context import WalkContext
    from sitemapreader.discovery.robots_rules import RobotsRules
    from sitemapreader.rows import Rows
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.filters import EntryFilter, Sample
    from sitemapreader.walker.frontier import Frontier, Job
    from sitemapreader.walker.tracker import DocumentTracker

ACK_ENTRIES = 500
"""Entries of one acknowledgement: the most that come twice after a `kill -9`."""
_AT_BLOGGER = re.compile(r"https?://www\.blogger\.com/feeds/\d+(/[^?#]+)(\?[^#]+)")


@attrs.frozen(eq=False)
class WalkParts:
    """What all visits of one walk share."""

    context: WalkContext
    config: WalkConfig
    frontier: Frontier
    rules: RobotsRules
    entry_filter: EntryFilter
    digests: set[bytes] = attrs.field(factory=set)


class Children:
    """The children of one document: added to the frontier at once, or when it ends."""

    # With order="newest" children are held because the newest may be the last one. Those of an
    # index in an index are held until its bytes are known to be new: an index with relative
    # children that lists itself under ever longer URLs has no end.

    def __init__(self, parts: WalkParts, job: Job, document: Document) -> None:
        self.idle: frozenset[str] = frozenset()
        """Keys of URLs that this walk has nothing to do with."""
        self._parts = parts
        self._job = job
        self._document = document
        self._number = 0
        self._held: list[SitemapEntry] = []
        self._is_held = bool(job.depth) or parts.config.order == "newest"
        self._skipped: dict[IssueCode, tuple[str, int]] = {}
        """Why children were skipped -> the first one, and how many."""

    def drop_long(self, entries: list[SitemapEntry]) -> list[SitemapEntry]:
        """Return the children without those whose URLs are too long for any server."""
        for entry in entries:
            if len(entry.loc) > MAX_URL_CHARS:  # counted, and not kept
                self._count_skipped(entry, IssueCode.CHILD_URL_TOO_LONG)
                self._parts.frontier.skipped_unnamed[IssueCode.CHILD_URL_TOO_LONG] += 1
        return [entry for entry in entries if len(entry.loc) <= MAX_URL_CHARS]

    async def add(self, entries: list[SitemapEntry]) -> None:
        """Add children to the frontier, or hold them until the document ends."""
        for entry in entries:
            await self._parts.context.loop_share.yield_if_due()
            self._number += 1
            if self._number > self._parts.context.limits.children:
                self._skip(entry, IssueCode.BUDGET_CHILDREN)
            elif not self._is_held:
                await self._add(entry)
            elif self._parts.frontier.reserve(entry.loc):
                self._held.append(entry)
            else:
                self._skip(entry, IssueCode.BUDGET_MEMORY)

    async def end(self, digest: bytes | None) -> None:
        """Add the children that were held, and report what was skipped.

        `digest` is that of the document's bytes if it is an index.
        """
        parts = self._parts
        is_duplicate = bool(self._job.depth) and digest in parts.digests
        if self._held and is_duplicate:
            await self.report(IssueCode.DUPLICATE_DOCUMENT)
        if digest is not None:
            parts.digests.add(digest)
        for entry in self._take_held():
            await parts.context.loop_share.yield_if_due()
            parts.frontier.free(entry.loc)
            if is_duplicate:
                parts.frontier.skip(entry, IssueCode.DUPLICATE_DOCUMENT)
            else:
                await self._add(entry)
        for code, (first, number) in self._skipped.items():
            await self.report(code, first, value=f"{number} children")

    def _take_held(self) -> list[SitemapEntry]:
        """Return the children that were held; of those without a date, the last first."""
        if self._parts.config.order == "document":
            return self._held
        undated = [entry for entry in self._held if entry.lastmod is None]
        dated = [entry for entry in self._held if entry.lastmod is not None]
        return sorted(dated, key=lambda entry: rank(entry, "newest")) + undated[::-1]

    async def report(
        self, code: IssueCode, url: str | None = None, *, value: str | None = None
    ) -> None:
        """Report an Issue of the document."""
        issue = make_issue(code, self._document.final_url, url=url, value=value)
        await self._parts.context.report_issue(issue, self._document)

    async def _add(self, entry: SitemapEntry) -> None:
        """Put a child in the frontier, or skip it with its reason."""
        frontier, job = self._parts.frontier, self._job
        if (bare := without_userinfo(entry.loc)) != entry.loc:
            await self.report(IssueCode.USERINFO_REMOVED, bare)
            entry = attrs.evolve(entry, loc=bare)
        is_page = entry.via is Via.PAGE
        if is_page:
            entry = _find_at_home(entry)
        if job.descends_from(url_key(entry.loc)):
            await self.report(IssueCode.CYCLE, entry.loc)
        elif entry.loc in frontier:
            return  # another index lists the same document
        elif job.depth >= self._parts.context.limits.depth and not is_page:
            self._skip(entry, IssueCode.BUDGET_DEPTH)
        elif reason := self._find_skip_reason(entry):
            frontier.skip(entry, reason)
        elif self.idle and not is_page and url_key(entry.loc) in self.idle:
            frontier.skip(entry, NOT_DUE)
        elif is_page and not self._take_page(entry):
            frontier.skip(entry, IssueCode.FEED_HAS_MORE)
            await self.report(IssueCode.FEED_HAS_MORE, entry.loc)
        else:
            frontier.add_child(entry, job)

    def _take_page(self, entry: SitemapEntry) -> bool:
        """Count the next page of a feed; return whether it may be followed."""
        feed = self._job.feed or self._job
        is_near = same_hosts("host", entry.sitemap, entry.loc)
        if not is_near or feed.pages >= self._parts.context.limits.feed_pages:
            return False
        feed.pages += 1
        return True

    def _find_skip_reason(self, entry: SitemapEntry) -> str:
        config = self._parts.config
        if (
            config.since is not None
            and config.prune
            and entry.lastmod is not None
            and not is_since(entry.lastmod, entry.lastmod_text, config.since)
        ):
            return NOT_MODIFIED
        if config.follow is not None and not config.follow(entry):
            return NOT_FOLLOWED
        return ""

    def _skip(self, entry: SitemapEntry, code: IssueCode) -> None:
        self._count_skipped(entry, code)
        self._parts.frontier.skip(entry, code)

    def _count_skipped(self, entry: SitemapEntry, code: IssueCode) -> None:
        first, number = self._skipped.get(code, (entry.loc[:MAX_URL_CHARS], 0))
        self._skipped[code] = first, number + 1


def _find_at_home(page: SitemapEntry) -> SitemapEntry:
    """Return a page of a Blogger feed under the host of the blog.

    Its link leads to Blogger's own host, whatever host the feed was read from.
    """
    at_blogger = _AT_BLOGGER.match(page.loc)
    if at_blogger and page.sitemap.partition("?")[0].endswith(f"/feeds{at_blogger[1]}"):
        url = resolve(page.sitemap, at_blogger[2])
        return page if url is None else attrs.evolve(page, loc=url)
    return page


class DocumentEntries:
    """The way of one document's entries to the consumer."""

    def __init__(
        self,
        parts: WalkParts,
        document: Document,
        tracker: DocumentTracker | None,
    ) -> None:
        self.scope: tuple[str, ...] = ()
        self.outside = 0
        self._parts = parts
        self._document = document
        self._tracker = tracker
        self._sent_bytes = 0

    async def deliver(self, entries: Rows) -> bool:
        """Emit the entries that pass the filters; with `changes`, only those that differ.

        Return whether there may be more.
        """
        self._document.listed += len(entries)
        self._parts.context.report.tally.note_listed(entries)
        if self._tracker is None:
            return await self._deliver_all(entries)
        return await self._deliver_tracked(self._tracker, list(entries))

    async def _deliver_all(self, entries: Rows) -> bool:
        passed = self._parts.entry_filter.deduplicate(self._select(entries))
        if (sample := self._parts.entry_filter.sample) is not None:
            sample.add(passed)
            self._document.filtered += len(entries)
            return True
        most = self._parts.context.budget.take_urls(len(passed))
        await self._emit(passed[:most], len(entries) - len(passed))
        return most == len(passed) or await self._report_limit()

    async def _deliver_tracked(self, tracker: DocumentTracker, entries: list[UrlEntry]) -> bool:
        for start in range(0, len(entries), ACK_ENTRIES):
            chunk = entries[start : start + ACK_ENTRIES]
            compared = await tracker.compare(chunk)
            passed = list(self._select(compared.offered))
            kept = list(self._parts.entry_filter.deduplicate(passed))
            most = self._parts.context.budget.take_urls(len(kept))
            if is_cut := most < len(kept):  # what comes behind the last one is for the next walk
                compared = await tracker.compare(_cut(chunk, kept[most]))
                passed, kept = _cut(passed, kept[most]), kept[:most]
            self._document.known += len(compared.entries) - len(compared.offered)
            await self._emit(kept, len(compared.offered) - len(kept))
            await tracker.record(compared, passed, kept)
            if is_cut:
                return await self._report_limit()
        return True

    def _select(self, entries: Rows) -> Rows:
        passed, outside = self._parts.entry_filter.select(entries, self.scope)
        self.outside += outside
        return passed

    async def _emit(self, entries: Rows, left_out: int) -> None:
        self._document.filtered += left_out
        if entries:
            self._document.entries += len(entries)
            _count_delivered(self._parts, entries)
            await self._parts.context.emit(entries, self.count_new_bytes())

    def count_new_bytes(self) -> int:
        """Return the bytes of the document that were read since the last call."""
        before, self._sent_bytes = self._sent_bytes, self._document.bytes_inflated
        return max(0, self._sent_bytes - before)

    async def _report_limit(self) -> bool:
        """Report that no more URLs may be delivered; return False."""
        issue = make_issue(IssueCode.BUDGET_URLS, self._document.final_url)
        await self._parts.context.report_issue(issue, self._document)
        return False


def _count_delivered(parts: WalkParts, entries: Rows) -> None:
    report, config = parts.context.report, parts.config
    report.entries += len(entries)
    report.tally.note_entries(entries)
    if config.since is not None or config.until is not None:
        undated, future = count_odd(entries)
        report.undated += undated
        report.future += future


async def deliver_sample(parts: WalkParts, sample: Sample) -> None:
    """Deliver what was drawn from the entries of all documents."""
    report, entries = parts.context.report, [entry for _, entry in sample.list_entries()]
    report.sampled_from = sample.total
    documents = {document.final_url: document for document in report.documents}
    for entry in entries:
        if document := documents.get(entry.sitemap):
            document.entries += 1
            document.filtered -= 1
    if entries:
        _count_delivered(parts, entries)
        await parts.context.emit(entries)


def _cut(entries: list[UrlEntry], end: UrlEntry) -> list[UrlEntry]:
    """Return the entries before one of them."""
    return list(takewhile(lambda entry: entry is not end, entries))
