"""What becomes of what a document of a walk holds: entries go to the consumer, children further."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from sitemapreader.dates import is_since
from sitemapreader.issues import IssueCode, make_issue
from sitemapreader.models import Format, Via
from sitemapreader.options import MAX_URL_CHARS
from sitemapreader.outcomes import ALREADY_READ, NOT_FOLLOWED, NOT_MODIFIED, Document
from sitemapreader.urls import folder_of, parse_url, url_key
from sitemapreader.walker.frontier import Frontier, Job, make_child
from sitemapreader.walker.queues import SitemapQueue

if TYPE_CHECKING:
    from sitemapreader.documents.context import WalkContext
    from sitemapreader.models import SitemapEntry, UrlEntry
    from sitemapreader.walker.config import WalkConfig
    from sitemapreader.walker.filters import EntryFilter
    from sitemapreader.walker.persistence import DocumentTracker


class WalkDocumentHandler:
    """The host of one visit; see `visit.Host`."""

    def __init__(
        self,
        job: Job,
        document: Document,
        *,
        context: WalkContext,
        config: WalkConfig,
        frontier: Frontier,
        entry_filter: EntryFilter,
        digests: set[bytes],
        tracker: DocumentTracker | None = None,
    ) -> None:
        self._job = job
        self._document = document
        self._context = context
        self._config = config
        self._frontier = frontier
        self._filter = entry_filter
        self._digests = digests
        self._tracker = tracker
        self._scope = job.scope
        self._outside = 0
        self._children = 0
        self._sent_bytes = 0
        self._held: SitemapQueue[SitemapEntry] = SitemapQueue(
            config.order, int(context.limits.documents)
        )
        self._is_held = bool(job.depth) or config.order == "newest"
        self._left: Counter[IssueCode] = Counter()
        self._first_left: dict[IssueCode, str] = {}

    async def check_redirect(self, url: str) -> str:
        """Refuse a document that its redirects have led to and that is read already."""
        job = self._job
        key = url_key(url)
        ancestor = key != url_key(job.entry.loc) and job.descends_from(key)
        known = self._frontier.register_redirect(job, url)
        self._scope = (*job.scope, folder_of(job.entry.loc), folder_of(url))
        if known is None and not ancestor:
            return ""
        job.duplicate_of = known
        if ancestor:
            await self._note(IssueCode.CYCLE, url)
        return ALREADY_READ

    async def accept_format(self, kind: Format) -> bool:
        """Tell those who wait for it that this is a sitemap."""
        self._job.resolve(is_sitemap=True)
        if self._job.entry.via is Via.WELL_KNOWN:  # what was only guessed is found now
            await self._context.emit((self._job.entry,))
        if kind is Format.INDEX and self._job.depth:
            await self._note(IssueCode.NESTED_INDEX)
        return True

    async def handle_entries(self, entries: list[UrlEntry]) -> None:
        """Send the entries that pass the filters, and those only that differ, if that is asked."""
        tracker = self._tracker
        if tracker is None:
            passed = self._select(entries)
            await self._send(self._filter.deduplicate(passed), len(entries))
            return
        for chunk in tracker.chunks(entries):
            differing, fingerprints = tracker.compare(chunk)
            self._document.known += len(chunk) - len(differing)
            passed = self._select(differing)
            kept = self._filter.deduplicate(passed)
            await self._send(kept, len(differing))
            tracker.record(chunk, fingerprints, passed, kept, len(differing) - len(kept))

    def _select(self, entries: list[UrlEntry]) -> list[UrlEntry]:
        passed, outside = self._filter.select(entries, self._scope)
        self._outside += outside
        return passed

    async def _send(self, entries: list[UrlEntry], offered: int) -> None:
        """Send the entries that are left of so many."""
        self._document.filtered += offered - len(entries)
        if entries:
            self._document.entries += len(entries)
            self._context.report.entries += len(entries)
            await self._context.emit(entries, self._new_bytes())

    async def handle_sitemaps(self, entries: list[SitemapEntry]) -> None:
        """Send the children, and have them fetched.

        They wait for the end of the index where the newest is wanted first, for it may stand last.
        Those of an index inside an index wait until its bytes are known not to be another one's,
        for an index whose relative children list itself again has no end.
        """
        fitting = [entry for entry in entries if len(entry.loc) <= MAX_URL_CHARS]
        if len(fitting) < len(entries):
            self._drop_long(entries)
            entries = fitting
        if self._tracker is not None:
            self._tracker.take_children(entries)
        await self._context.emit(tuple(entries), self._new_bytes())
        for entry in entries:
            await self._context.loop_share.yield_if_due()
            self._children += 1
            if self._children > self._context.limits.children:
                self._leave(entry, IssueCode.BUDGET_CHILDREN)
            elif not self._is_held:
                await self._offer(entry)
            else:
                self._hold(entry)

    def _drop_long(self, entries: list[SitemapEntry]) -> None:
        """Count the children that no server would answer for; their URLs are not kept."""
        for entry in entries:
            if len(entry.loc) > MAX_URL_CHARS:
                self._count_left(entry, IssueCode.CHILD_URL_TOO_LONG)
                self._frontier.skipped_uncounted[IssueCode.CHILD_URL_TOO_LONG] += 1

    def _hold(self, entry: SitemapEntry) -> None:
        if not self._frontier.reserve(entry):
            self._leave(entry, IssueCode.BUDGET_MEMORY)
            return
        for surplus in self._held.push(entry, entry):
            self._frontier.free(surplus)
            self._leave(surplus, IssueCode.BUDGET_DOCUMENTS)

    async def skip_entries(self, offset: int) -> None:
        """Take note of how many entries are not given again."""
        if self._tracker is not None:
            self._tracker.skip_entries(offset)

    async def reuse_children(self) -> None:
        """Walk on to the children that an unchanged index has."""
        if self._tracker is None:
            return
        self._tracker.recall(self._document)
        children = self._tracker.children()
        self._document.children = len(children)
        if children:
            await self.handle_sitemaps(children)
        is_index = self._document.format is Format.INDEX
        await self.end_document(self._tracker.known.digest if is_index else None)

    async def end_document(self, digest: bytes | None) -> None:
        """Offer the children that were held back, and say what was left out."""
        is_duplicate = bool(self._job.depth) and digest in self._digests
        if self._held and is_duplicate:
            await self._note(IssueCode.DUPLICATE_DOCUMENT)
        if digest is not None:
            self._digests.add(digest)
        while self._held:
            await self._context.loop_share.yield_if_due()
            entry = self._held.pop()
            self._frontier.free(entry)
            if is_duplicate:
                self._frontier.skip(entry, IssueCode.DUPLICATE_DOCUMENT)
            else:
                await self._offer(entry)
        if self._outside:
            await self._note(IssueCode.OUT_OF_SCOPE, value=f"{self._outside} entries")
        for code, number in self._left.items():
            await self._note(code, self._first_left[code], value=f"{number} children")

    async def _offer(self, entry: SitemapEntry) -> None:
        """Put a child in the frontier, or say why not."""
        entry = await self._without_userinfo(entry)
        if self._job.descends_from(url_key(entry.loc)):
            await self._note(IssueCode.CYCLE, entry.loc)
        elif self._frontier.find(entry.loc) is not None:
            return  # two ways to one document
        elif self._job.depth >= self._context.limits.depth:
            self._leave(entry, IssueCode.BUDGET_DEPTH)
        elif reason := self._unwanted(entry):
            self._frontier.skip(entry, reason)
        else:
            self._frontier.add(make_child(entry, self._job))

    async def _without_userinfo(self, entry: SitemapEntry) -> SitemapEntry:
        parsed = parse_url(entry.loc) if "@" in entry.loc else None
        if parsed is None or (parsed.raw_user is None and parsed.raw_password is None):
            return entry
        bare = str(parsed.with_user(None))
        await self._note(IssueCode.USERINFO_REMOVED, bare)
        return attrs.evolve(entry, loc=bare)

    def _unwanted(self, entry: SitemapEntry) -> str:
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

    def _leave(self, entry: SitemapEntry, code: IssueCode) -> None:
        self._count_left(entry, code)
        self._frontier.skip(entry, code)

    def _count_left(self, entry: SitemapEntry, code: IssueCode) -> None:
        self._left[code] += 1
        self._first_left.setdefault(code, entry.loc[:MAX_URL_CHARS])

    def _new_bytes(self) -> int:
        """Return how much of the document was read since this was asked last."""
        before, self._sent_bytes = self._sent_bytes, self._document.bytes_inflated
        return max(0, self._sent_bytes - before)

    async def _note(
        self, code: IssueCode, url: str | None = None, *, value: str | None = None
    ) -> None:
        issue = make_issue(code, self._document.final_url, url=url, value=value)
        await self._context.report_issue(issue, self._document)
