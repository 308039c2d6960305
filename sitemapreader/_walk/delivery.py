"""The delivery of a document's events: to the consumer, the frontier, and the memory."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, cast

from sitemapreader._types.counts import inflect
from sitemapreader._types.dates import is_since
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader._types.rows import EntryColumns, Events, Rows, get_column
from sitemapreader._walk.children import Children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader._read.reader import SitemapReader
    from sitemapreader._types.arguments import TakeChild
    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.context import WalkContext
    from sitemapreader._walk.filters import EntryFilter
    from sitemapreader._walk.memory import DocumentMemory
    from sitemapreader._walk.parts import WalkParts
    from sitemapreader._walk.sitemap import Sitemap

_HARD_ENTRIES = 5
"""Entries on hosts beyond ASCII that are filtered in one step."""


class DocumentEntries:
    """The way of one document's entries to the consumer."""

    def __init__(
        self,
        context: WalkContext,
        entry_filter: EntryFilter,
        document: Document,
        memory: DocumentMemory,
    ) -> None:
        self.scope: tuple[str, ...] = ()
        self.outside = 0
        self.newest: datetime | None = None
        """The newest lastmod, with `since`; dates in the future do not count."""
        self._context = context
        self._filter = entry_filter
        self._document = document
        self._memory = memory
        self._sent_bytes = 0

    async def deliver(self, entries: Rows) -> bool:
        """Send the entries that pass the filters; with `changes`, only the changed ones.

        Return whether there may be more: not if the walk's limit of URLs is reached.
        """
        if not _has_many_hosts(get_column(entries, "loc")):
            return await self._sample_or_send(entries)
        for start in range(0, len(entries), _HARD_ENTRIES):
            if not await self._sample_or_send(entries[start : start + _HARD_ENTRIES]):
                return False
            await self._context.loop_share.yield_if_due()
        return True

    async def _sample_or_send(self, entries: Rows) -> bool:
        """Offer the entries to the sample of the walk; without one, send them."""
        self._document.listed += len(entries)
        self._context.report.tally.note_listed(entries)
        if self._filter.has_since:
            self._note_dates(entries)
        if (sample := self._filter.sample) is not None:
            sample.add(self._filter.deduplicate(self._select(entries)))
            self._document.filtered += len(entries)
            return True
        size = self._memory.batch_entries
        if len(entries) <= size:
            return await self._filter_and_emit(entries)
        for start in range(0, len(entries), size):
            if not await self._filter_and_emit(entries[start : start + size]):
                return False
        return True

    def _note_dates(self, entries: Rows) -> None:
        now = datetime.now(UTC)
        days = [self.newest, *get_column(entries, "lastmod")]
        past = (day for day in days if day is not None and day <= now)
        self.newest = max(past, default=None)

    async def _filter_and_emit(self, entries: Rows) -> bool:
        """Filter entries that one acknowledgement covers, and send the kept ones."""
        offered = await self._memory.select(entries)
        if self._context.budget.exhausted is IssueCode.BUDGET_URLS:
            return False
        passed = self._select(offered)
        unique = self._filter.deduplicate(passed)
        wanted = len(unique)
        granted = self._context.budget.take_urls(wanted)
        self._document.known += len(entries) - len(offered)
        self._document.filtered += len(offered) - wanted
        sent = unique if granted == wanted else unique[:granted]
        if sent:
            self._document.entries += granted
            self._filter.count_delivered(self._context.report, sent)
            await self._context.emit(sent, self.count_new_bytes())
        await self._memory.record(passed, unique, granted)
        return granted == wanted  # the others are for the next walk

    def _select(self, entries: Rows) -> Rows:
        passed, outside = self._filter.select(entries, self.scope)
        self.outside += outside
        self._context.report.without_language = self._filter.without_language
        return passed

    def count_new_bytes(self) -> int:
        """Return the bytes of the document that were read since the last call."""
        before = self._sent_bytes
        self._sent_bytes = self._document.bytes_inflated
        return max(0, self._sent_bytes - before)


def _has_many_hosts(locs: list[str]) -> bool:
    """Return whether URLs are on many hosts beyond ASCII, which take 1 ms each to encode."""
    if "".join(locs).isascii():
        return False
    begins = {loc[: loc.find("/", 8)] for loc in locs if not loc.isascii()}
    return sum(not begin.isascii() for begin in begins) > _HARD_ENTRIES


class Suspects:
    """The entries of a urlset that may list nothing but sitemaps, held back for `follow`."""

    def __init__(self, follow: TakeChild, limit: int) -> None:
        self._follow = follow
        self._limit = limit
        self._held: list[UrlEntry] = []

    def hold(self, events: Events, reader: SitemapReader) -> Events:
        """Hold the entries as long as all look like sitemaps; return the other events."""
        if not reader.lists_sitemaps or reader.stats.delivered > self._limit:
            held = self._held
            self._held = []
            return [*held, *events] if held else events
        self._held += [each for each in events if isinstance(each, UrlEntry)]
        return [each for each in events if not isinstance(each, UrlEntry)]

    def split(self) -> tuple[list[UrlEntry], list[SitemapEntry]]:
        """Return the pages and the sitemaps among the held entries, as the caller decides."""
        pages: list[UrlEntry] = []
        sitemaps: list[SitemapEntry] = []
        for entry in self._held:
            sitemap = SitemapEntry(
                entry.loc, entry.lastmod, Via.INDEX, entry.sitemap, entry.lastmod_text
            )
            if self._follow(sitemap):
                sitemaps.append(sitemap)
            else:
                pages.append(entry)
        self._held = []
        return pages, sitemaps


class Delivery:
    """The delivery of the events of one document."""

    def __init__(
        self,
        walk: WalkParts,
        sitemap: Sitemap,
        document: Document,
        memory: DocumentMemory,
    ) -> None:
        context = walk.context
        self.entries = DocumentEntries(context, walk.entry_filter, document, memory)
        self.children = Children(walk, sitemap, document)
        self._context = context
        self._frontier = walk.frontier
        self._sitemap = sitemap
        self._document = document
        self._memory = memory
        self._suspects: Suspects | None = None
        if (follow := walk.config.follow.only) is not None:
            self._suspects = Suspects(follow, context.limits.children)

    async def accept(self, kind: Format) -> None:
        """Announce that this is a sitemap, also to the search that waits for it."""
        self._sitemap.resolve(is_sitemap=True)
        # a guessed path becomes a find
        if self._sitemap.entry.via.is_guess:
            await self._context.emit((self._sitemap.entry,))
        if kind is Format.INDEX and self._sitemap.parent is not None:
            await self.children.report(IssueCode.NESTED_INDEX)

    async def deliver(
        self, events: Events, reader: SitemapReader | None = None
    ) -> bool:
        """Hand over events; return whether there may be more URLs.

        With the `reader` that they come from, entries that look like sitemaps are held back.
        """
        if self._suspects is not None and reader is not None:
            events = self._suspects.hold(events, reader)
        # nearly always: the fast way
        if isinstance(events, EntryColumns):
            return await self.entries.deliver(events)
        for kind, run in groupby(events, type):
            if kind is UrlEntry:
                if not await self.entries.deliver(cast("list[UrlEntry]", list(run))):
                    return False
            elif kind is SitemapEntry:
                await self.deliver_sitemaps(cast("list[SitemapEntry]", list(run)))
            else:
                for issue in cast("Iterator[Issue]", run):
                    await self._context.report_issue(issue, self._document)
        return True

    async def deliver_suspects(self) -> bool:
        """Hand over held entries, as sitemaps or pages; return whether there may be more."""
        if self._suspects is None:
            return True
        pages, sitemaps = self._suspects.split()
        may_go_on = not pages or await self.entries.deliver(pages)
        if sitemaps:
            self.children.are_wanted = True
            await self.deliver_sitemaps(sitemaps)
        return may_go_on

    async def deliver_sitemaps(self, entries: list[SitemapEntry]) -> None:
        """Hand over children."""
        self._document.children += len(entries)
        kept = tuple(entry for entry in entries if len(entry.loc) <= MAX_URL_CHARS)
        self._memory.add_children(kept)
        await self._context.emit(kept, self.entries.count_new_bytes())
        await self.children.add(entries)

    async def end(self, digest: bytes | None) -> None:
        """Add the held children, and report the entries outside the scope.

        `digest` is that of the document's bytes if it is an index.
        """
        await self.children.end(digest)
        entry = self._sitemap.entry
        newest = self.entries.newest
        day = entry.lastmod
        if day and newest and not is_since(day, entry.lastmod_text, newest):
            self._frontier.false_dates.setdefault(entry.sitemap, entry.loc)
        if outside := self.entries.outside:
            said = f"{outside} {inflect(outside, 'entries')}"
            await self.children.report(IssueCode.OUT_OF_SCOPE, value=said)
