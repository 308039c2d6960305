"""The delivery of a document's events: to the consumer, the frontier, and the memory."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sitemapreader._types.counts import inflect
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Event, Format, SitemapEntry, UrlEntry, Via
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader._types.rows import EntryColumns, Events, Rows, get_column
from sitemapreader._walk.children import Children, is_dated_before

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
        locs = get_column(entries, "loc")
        if not _has_many_hosts(locs):
            return await self._sample_or_send(entries)
        for part in _split_rows(entries, _HARD_ENTRIES):
            if not await self._sample_or_send(part):
                return False
            await self._context.loop_share.yield_if_due()
        return True

    async def _sample_or_send(self, entries: Rows) -> bool:
        """Offer the entries to the sample of the walk; without one, send them."""
        self._document.listed += len(entries)
        self._context.report.tally.note_listed(entries)
        if self._filter.has_since:
            self._note_dates(entries)
        sample = self._filter.sample
        if sample is not None:
            passed = self._select(entries)
            unique = self._filter.deduplicate(passed)
            sample.add(unique)
            self._document.filtered += len(entries)
            return True
        for part in _split_rows(entries, self._memory.batch_entries):
            if not await self._filter_and_emit(part):
                return False
        return True

    def _note_dates(self, entries: Rows) -> None:
        """Keep the newest date; none in the future."""
        now = datetime.now(UTC)
        for day in get_column(entries, "lastmod"):
            if day is None or day > now:
                continue
            if self.newest is None or day > self.newest:
                self.newest = day

    async def _filter_and_emit(self, entries: Rows) -> bool:
        """Filter entries that one acknowledgement covers, and send the kept ones."""
        context = self._context
        document = self._document
        # Each is a part of the one before: all entries, the ones that are not known (`offered`),
        # that pass the filters, that are no duplicates, and for which the budget is enough.
        offered = await self._memory.select(entries)
        if context.budget.exhausted is IssueCode.BUDGET_URLS:
            return False
        passed = self._select(offered)
        unique = self._filter.deduplicate(passed)
        wanted = len(unique)
        granted = context.budget.take_urls(wanted)
        document.known += len(entries) - len(offered)
        document.filtered += len(offered) - wanted
        sent = unique
        if granted < wanted:  # the others are for the next walk
            sent = unique[:granted]
        if sent:
            document.entries += granted
            self._filter.count_delivered(context.report, sent)
            size = self.count_new_bytes()
            await context.emit(sent, size)
        await self._memory.record(passed, unique, granted)
        return granted == wanted

    def _select(self, entries: Rows) -> Rows:
        """Return the entries that pass the filters; count the ones that do not."""
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
    begins = {loc[: loc.find("/", 8)] for loc in locs}
    hard = [begin for begin in begins if not begin.isascii()]
    return len(hard) > _HARD_ENTRIES


def _split_rows(entries: Rows, size: int) -> Iterator[Rows]:
    """Yield entries in parts of a size at most."""
    if len(entries) <= size:
        yield entries
        return
    for start in range(0, len(entries), size):
        stop = start + size
        yield entries[start:stop]


class Suspects:
    """The entries of a document that may list nothing but sitemaps, held back for `follow`."""

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
        others: list[Event] = []
        for event in events:
            if isinstance(event, UrlEntry):
                self._held.append(event)
            else:
                others.append(event)
        return others

    def split(self) -> tuple[list[UrlEntry], list[SitemapEntry]]:
        """Return the pages and the sitemaps among the held entries, as the caller decides."""
        pages: list[UrlEntry] = []
        sitemaps: list[SitemapEntry] = []
        for entry in self._held:
            sitemap = SitemapEntry(
                entry.loc,
                entry.lastmod,
                Via.INDEX,
                entry.sitemap,
                entry.lastmod_text,
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
        follow = walk.config.follow.only
        if follow is not None:
            self._suspects = Suspects(follow, context.limits.children)

    async def accept(self, kind: Format) -> None:
        """Announce that this is a sitemap, also to the search that waits for it."""
        sitemap = self._sitemap
        sitemap.resolve(is_sitemap=True)
        # a guessed path becomes a find
        if sitemap.entry.via.is_guess:
            await self._context.emit((sitemap.entry,))
        is_nested = sitemap.parent is not None
        if kind is Format.INDEX and is_nested:
            await self.children.report(IssueCode.NESTED_INDEX)

    async def deliver(
        self, events: Events, reader: SitemapReader | None = None
    ) -> bool:
        """Hand over events; return whether there may be more URLs.

        With the `reader` that they come from, entries that look like sitemaps are held back.
        """
        suspects = self._suspects
        if suspects is not None and reader is not None:
            events = suspects.hold(events, reader)
        # nearly always: the fast way
        if isinstance(events, EntryColumns):
            return await self.entries.deliver(events)
        for kind, run in groupby(events, type):
            several: Any = list(run)
            if kind is SitemapEntry:
                await self.deliver_sitemaps(several)
            elif kind is Issue:
                for issue in several:
                    await self._context.report_issue(issue, self._document)
            elif not await self.entries.deliver(several):
                return False
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
        size = self.entries.count_new_bytes()
        await self._context.emit(kept, size)
        await self.children.add(entries)

    async def end(self, digest: bytes | None) -> None:
        """Add the held children, and report the entries outside the scope.

        `digest` is that of the document's bytes if it is an index.
        """
        await self.children.end(digest)
        entry = self._sitemap.entry
        if is_dated_before(entry, self.entries.newest):
            self._frontier.false_dates.setdefault(entry.sitemap, entry.loc)
        outside = self.entries.outside
        if outside:
            said = f"{outside} {inflect(outside, 'entries')}"
            await self.children.report(IssueCode.OUT_OF_SCOPE, value=said)
