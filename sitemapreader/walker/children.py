"""WalkDocumentHandler: entries to the consumer, children to the frontier."""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING

import attrs

from sitemapreader.dates import count_odd, is_since
from sitemapreader.errors import FetchError
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.models import Format, Via
from sitemapreader.options import MAX_URL_CHARS
from sitemapreader.outcomes import NOT_FOLLOWED, NOT_MODIFIED, Document
from sitemapreader.rows import take_rows
from sitemapreader.urls import folder_of, origin_of, parse_url, resolve, same_hosts, url_key
from sitemapreader.walker.queues import PackedEntry, SitemapQueue, pack_entry, unpack_entry

if TYPE_CHECKING:
    from sitemapreader.discovery.context import WalkContext
    from sitemapreader.discovery.robots_rules import RobotsRules
    from sitemapreader.models import SitemapEntry, UrlEntry
    from sitemapreader.rows import Rows
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.filters import EntryFilter
    from sitemapreader.walker.frontier import Frontier, Job
    from sitemapreader.walker.tracker import DocumentTracker

_AT_BLOGGER = re.compile(r"https?://www\.blogger\.com/feeds/\d+(/[^?#]+)(\?[^#]+)")


def _cut(entries: list[UrlEntry], end: UrlEntry) -> list[UrlEntry]:
    """Return the entries before one of them."""
    return list(takewhile(lambda entry: entry is not end, entries))


class WalkDocumentHandler:
    """The handler of one document of a walk; see `visit.DocumentHandler`."""

    def __init__(
        self,
        job: Job,
        document: Document,
        *,
        context: WalkContext,
        config: WalkConfig,
        frontier: Frontier,
        permissions: RobotsRules,
        entry_filter: EntryFilter,
        digests: set[bytes],
        tracker: DocumentTracker | None = None,
    ) -> None:
        self._job = job
        self._document = document
        self._context = context
        self._config = config
        self._frontier = frontier
        self._permissions = permissions
        self._filter = entry_filter
        self._digests = digests
        self._tracker = tracker
        self._scope = job.scope
        self._outside = 0
        self._children = 0
        self._sent_bytes = 0
        self._held: SitemapQueue[PackedEntry] = SitemapQueue(config.order, context.limits.documents)
        self._is_held = bool(job.depth) or config.order == "newest"
        self._skipped: Counter[IssueCode] = Counter()
        self._first_skipped: dict[IssueCode, str] = {}

    async def find_refusal(self, url: str) -> IssueCode | None:
        """Return why a redirect to a URL must not be followed."""
        job = self._job
        return await self._permissions.check_redirect(
            job.entry, job.referrers, self._config.hosts, url
        )

    async def check_redirect(self, url: str) -> bool:
        """Return whether redirects led to a document that another sitemap reads.

        Raises FetchError: they led to what names the sitemap, as a site does that is down.
        """
        job = self._job
        if job.leads_up(url):
            raise FetchError(IssueCode.REDIRECTS_UP, url)
        job.duplicate_of = self._frontier.register_redirect(job, url)
        job.scope += self._find_proven()
        self._scope = (*job.scope, folder_of(job.entry.loc), folder_of(url))
        return job.duplicate_of is not None

    def _find_proven(self) -> tuple[str, ...]:
        """Return the origins above the document whose robots.txt lists it."""
        job, find = self._job, self._permissions.find_cached
        above = ((origin_of(url), find(url)) for url in dict.fromkeys(job.referrers))
        return tuple(f"{each}/" for each, robots in above if robots and robots.lists(job.entry.loc))

    async def accept_format(self, kind: Format) -> bool:
        """Record that this is a sitemap, for the discovery that waits for it."""
        self._job.resolve(is_sitemap=True)
        if self._job.entry.via.is_guess:  # a guessed path becomes a find
            await self._context.emit((self._job.entry,))
        if kind is Format.INDEX and self._job.depth:
            await self._report(IssueCode.NESTED_INDEX)
        return True

    async def handle_entries(self, entries: Rows) -> bool:
        """Emit the entries that pass the filters; with `changes`, only those that differ.

        Return whether there may be more.
        """
        tracker, budget = self._tracker, self._context.budget
        self._context.report.tally.note_listed(entries)
        if tracker is None:
            passed = self._filter.deduplicate(self._select(entries))
            most = budget.take_urls(len(passed))
            offered = len(entries) - len(passed) + most
            await self._emit_entries(take_rows(passed, most), offered)
            return most == len(passed) or await self._report_limit()
        for each in tracker.chunks(list(entries)):
            chunk = each
            differing, fingerprints = await tracker.compare(chunk)
            passed = list(self._select(differing))
            kept = list(self._filter.deduplicate(passed))
            most = budget.take_urls(len(kept))
            if is_cut := most < len(kept):  # what comes behind the last one is for the next walk
                chunk, passed = _cut(chunk, kept[most]), _cut(passed, kept[most])
                kept = kept[:most]
                differing, fingerprints = await tracker.compare(chunk)
            self._document.known += len(chunk) - len(differing)
            await self._emit_entries(kept, len(differing))
            await tracker.record(chunk, fingerprints, passed, kept, len(differing) - len(kept))
            if is_cut:
                return await self._report_limit()
        return True

    async def _report_limit(self) -> bool:
        """Report that no more URLs may be delivered; return False."""
        await self._report(IssueCode.BUDGET_URLS)
        return False

    def _select(self, entries: Rows) -> Rows:
        passed, outside = self._filter.select(entries, self._scope)
        self._outside += outside
        return passed

    async def _emit_entries(self, entries: Rows, offered: int) -> None:
        """Emit entries, and count those of the offered ones that the filters left out."""
        self._document.filtered += offered - len(entries)
        if entries:
            self._document.entries += len(entries)
            self._context.report.entries += len(entries)
            self._context.report.tally.note_entries(entries)
            if self._config.since is not None or self._config.until is not None:
                undated, future = count_odd(entries)
                self._context.report.undated += undated
                self._context.report.future += future
            await self._context.emit(entries, self._count_new_bytes())

    async def handle_sitemaps(self, entries: list[SitemapEntry]) -> None:
        """Emit the children; add them to the frontier, or hold them until the index ends."""
        # With order="newest" children are held because the newest may be the last one. Those of an
        # index in an index are held until its bytes are known to be new: an index with relative
        # children that lists itself under ever longer URLs has no end.
        fitting = [entry for entry in entries if len(entry.loc) <= MAX_URL_CHARS]
        if len(fitting) < len(entries):
            self._drop_long(entries)
            entries = fitting
        if self._tracker is not None:
            self._tracker.add_children(entries)
        await self._context.emit(tuple(entries), self._count_new_bytes())
        for entry in entries:
            await self._context.loop_share.yield_if_due()
            self._children += 1
            if self._children > self._context.limits.children:
                self._skip_child(entry, IssueCode.BUDGET_CHILDREN)
            elif not self._is_held:
                await self._add_child(entry)
            else:
                self._hold_child(entry)

    def _drop_long(self, entries: list[SitemapEntry]) -> None:
        """Count the children whose URLs are too long for any server, without keeping them."""
        for entry in entries:
            if len(entry.loc) > MAX_URL_CHARS:
                self._count_skipped(entry, IssueCode.CHILD_URL_TOO_LONG)
                self._frontier.skipped_unnamed[IssueCode.CHILD_URL_TOO_LONG] += 1

    def _hold_child(self, entry: SitemapEntry) -> None:
        if not self._frontier.reserve(entry.loc):
            self._skip_child(entry, IssueCode.BUDGET_MEMORY)
            return
        for surplus in map(unpack_entry, self._held.push(entry, pack_entry(entry))):
            self._frontier.free(surplus.loc)
            self._skip_child(surplus, IssueCode.BUDGET_DOCUMENTS)

    async def skip_entries(self, offset: int) -> None:
        """Tell the tracker how many entries are not delivered again."""
        if self._tracker is not None:
            await self._tracker.skip_entries(offset)

    async def reuse_children(self) -> None:
        """Handle the children that an unchanged index had."""
        if self._tracker is None:
            return
        self._job.last_read = self._tracker.known.read_run
        self._tracker.restore(self._document)
        children = await self._tracker.list_children()
        self._document.children = len(children)
        if children:
            await self.handle_sitemaps(children)
        is_index = self._document.format is Format.INDEX
        await self.end_document(self._tracker.known.digest if is_index else None)

    async def end_document(self, digest: bytes | None) -> None:
        """Add the children that were held to the frontier, and report what was skipped."""
        is_duplicate = bool(self._job.depth) and digest in self._digests
        if self._held and is_duplicate:
            await self._report(IssueCode.DUPLICATE_DOCUMENT)
        if digest is not None:
            self._digests.add(digest)
        while self._held:
            await self._context.loop_share.yield_if_due()
            entry = unpack_entry(self._held.pop())
            self._frontier.free(entry.loc)
            if is_duplicate:
                self._frontier.skip(entry, IssueCode.DUPLICATE_DOCUMENT)
            else:
                await self._add_child(entry)
        if self._outside:
            await self._report(IssueCode.OUT_OF_SCOPE, value=f"{self._outside} entries")
        for code, number in self._skipped.items():
            await self._report(code, self._first_skipped[code], value=f"{number} children")

    async def _add_child(self, entry: SitemapEntry) -> None:
        """Put a child in the frontier, or skip it with its reason."""
        entry = await self._without_userinfo(entry)
        is_page = entry.via is Via.PAGE
        if is_page:
            entry = _find_at_home(entry)
        if self._job.descends_from(url_key(entry.loc)):
            await self._report(IssueCode.CYCLE, entry.loc)
        elif entry.loc in self._frontier:
            return  # another index lists the same document
        elif self._job.depth >= self._context.limits.depth and not is_page:
            self._skip_child(entry, IssueCode.BUDGET_DEPTH)
        elif reason := self._find_skip_reason(entry):
            self._frontier.skip(entry, reason)
        elif is_page and not self._take_page(entry):
            self._frontier.skip(entry, IssueCode.FEED_HAS_MORE)
            await self._report(IssueCode.FEED_HAS_MORE, entry.loc)
        else:
            self._frontier.add_child(entry, self._job)

    def _take_page(self, entry: SitemapEntry) -> bool:
        """Count the next page of a feed; return whether it may be followed."""
        feed = self._job.feed or self._job
        is_near = same_hosts("host", entry.sitemap, entry.loc)
        if not is_near or feed.pages >= self._context.limits.feed_pages:
            return False
        feed.pages += 1
        return True

    async def _without_userinfo(self, entry: SitemapEntry) -> SitemapEntry:
        parsed = parse_url(entry.loc) if "@" in entry.loc else None
        if parsed is None or (parsed.raw_user is None and parsed.raw_password is None):
            return entry
        bare = str(parsed.with_user(None))
        await self._report(IssueCode.USERINFO_REMOVED, bare)
        return attrs.evolve(entry, loc=bare)

    def _find_skip_reason(self, entry: SitemapEntry) -> str:
        config = self._config
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

    def _skip_child(self, entry: SitemapEntry, code: IssueCode) -> None:
        self._count_skipped(entry, code)
        self._frontier.skip(entry, code)

    def _count_skipped(self, entry: SitemapEntry, code: IssueCode) -> None:
        self._skipped[code] += 1
        self._first_skipped.setdefault(code, entry.loc[:MAX_URL_CHARS])

    def _count_new_bytes(self) -> int:
        """Return the bytes of the document that were read since the last call."""
        before, self._sent_bytes = self._sent_bytes, self._document.bytes_inflated
        return max(0, self._sent_bytes - before)

    async def _report(
        self, code: IssueCode, url: str | None = None, *, value: str | None = None
    ) -> None:
        issue = make_issue(code, self._document.final_url, url=url, value=value)
        await self._context.report_issue(issue, self._document)


def _find_at_home(page: SitemapEntry) -> SitemapEntry:
    """Return a page of a Blogger feed under the host of the blog.

    Its link leads to Blogger's own host, whatever host the feed was read from.
    """
    at_blogger = _AT_BLOGGER.match(page.loc)
    if at_blogger and page.sitemap.partition("?")[0].endswith(f"/feeds{at_blogger[1]}"):
        url = resolve(page.sitemap, at_blogger[2])
        return page if url is None else attrs.evolve(page, loc=url)
    return page
