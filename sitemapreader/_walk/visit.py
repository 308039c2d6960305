"""The visit to one sitemap, from its request to its outcome, which it judges."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from sitemapreader._bytes.charset import charset_of
from sitemapreader._bytes.codings import read_codings
from sitemapreader._read.reader import SitemapReader
from sitemapreader._types.errors import LOGIN_STATUSES, FetchError
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Event, Format, SitemapEntry, UrlEntry, Via
from sitemapreader._types.options import MAX_URL_CHARS
from sitemapreader._types.outcomes import (
    ALREADY_READ,
    NOT_READ,
    REFUSALS,
    SAME_BODY,
    BodyHasher,
    Status,
    issue_from_error,
    judge_counts,
    make_document,
)
from sitemapreader._types.rows import EntryColumns, Events
from sitemapreader._types.urls import (
    folder_of,
    has_suffixes,
    is_file_url,
    load_suffixes,
)
from sitemapreader._walk.children import Children
from sitemapreader._walk.download import (
    find_blocking_page,
    next_step,
    open_changed,
    open_document,
    read_events,
    read_patiently,
    record_answer,
)
from sitemapreader._walk.filters import DocumentEntries
from sitemapreader._walk.states import EVENTS_BY_STATUS, SitemapEvent, SitemapState
from sitemapreader.fetch.hosts import HOST_CODES
from sitemapreader.fetch.urls import read_etag
from sitemapreader.fetch.validators import is_confirmed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from sitemapreader._walk.config import Follow
    from sitemapreader._walk.memory import DocumentMemory
    from sitemapreader._walk.parts import WalkParts
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.fetch.client import Response

_TRUNCATIONS = {IssueCode.TRUNCATED, IssueCode.COMPRESSION_TRUNCATED}
_CONSEQUENCES = frozenset(_TRUNCATIONS | {IssueCode.EMPTY, IssueCode.NOT_A_SITEMAP})
"""Issues that follow from a body that was cut short; the fault that cut it is the Issue."""
_SITEMAP_SUFFIXES = (".xml", ".gz", ".txt", ".rss", ".atom")
"""Suffixes of sitemaps. Such a URL that is missing is the caller's mistake, not a site."""


_SMALL_STEPS = 4
"""Steps in which the end of a small document is read."""


class Visit:
    """The visit to one sitemap of a walk.

    A guessed path that turns out not to be a sitemap is skipped without an Issue. With a state, the
    document is requested only if it may have changed.
    """

    def __init__(
        self, walk: WalkParts, sitemap: Sitemap, memory: DocumentMemory
    ) -> None:
        self.document = document = sitemap.document or make_document(sitemap.entry)
        self._walk = walk
        self._context = context = walk.context
        self._config = config = walk.config
        self._sitemap = sitemap
        self._memory = memory
        self._prior = memory.prior
        self._children = Children(walk, sitemap, document)
        self._hasher = BodyHasher()
        self._entries = DocumentEntries(context, walk.entry_filter, document, memory)
        self._reader: SitemapReader | None = None
        self._held: list[Event] = []
        self._suspects: list[UrlEntry] = []
        """All entries of a urlset as long as they look like sitemaps, for `follow`."""
        self._outcome: tuple[Status, str] | None = None
        self._fault: FetchError | None = None
        self._response: Response | None = None
        if sitemap.entry.via.is_guess:
            context.breaker.note_guess(document.url)
        # Not of this visit, which must leave no circle: see `Frontier.end`.
        check = partial(walk.rules.check_redirect, sitemap.entry, sitemap.referrers)
        # a search tries few documents
        breaker = context.breaker if config.reads else None
        self._open = partial(
            open_document, context, document.url, check_redirect=check, breaker=breaker
        )

    async def run(self) -> None:
        """Fetch and read the document, hand over its entries, and record its outcome."""
        document = self.document
        report = self._context.report
        sitemap = self._sitemap
        sitemap.document = document
        with report.ensure_outcome(document):
            try:
                if settled := self._memory.settled:
                    await self._settle(*settled)
                elif not await self._request(self._prior.headers):
                    await self._request(None)
            except FetchError as error:
                is_requested = sitemap.state is SitemapState.REQUESTED
                if error.code in HOST_CODES and is_requested:
                    self._context.budget.spend_documents(-1)
                    document.add_error(error)
                    sitemap.process(SitemapEvent.PARK)
                    return
                self._fault = error
            await self._close()
            is_duplicate = sitemap.state is SitemapState.DUPLICATE
            if not is_duplicate:
                sitemap.process(SitemapEvent.CLOSE)
            status, reason = await self._judge()
            if not is_duplicate:
                sitemap.process(EVENTS_BY_STATUS[status])
            report.end_document(document, status, reason)
        await self._save()

    async def _save(self) -> None:
        """Give the outcome to the memory."""
        document = self.document
        if document.reason != IssueCode.BUDGET_URLS:
            if self._response is None:
                body = None
            else:
                body = self._hasher.snapshot()
            is_window = self._reader is not None and self._reader.is_window
            await self._memory.finish(document, body, is_window=is_window)

    # -- the request

    async def _request(self, validators: Mapping[str, str] | None) -> bool:
        """Request and read the document; return False if the validators do not match it."""
        prior = self._prior
        self._sitemap.process(SitemapEvent.REQUEST)
        async with self._open(headers=validators) as response:
            # Redirects may lead to another document than last time, and a cache may have another
            # version of it: both have other validators.
            is_answered = validators is not None and response.status == 304
            if is_answered and not self._is_of_prior(response, validators or {}):
                return False
            self._sitemap.process(SitemapEvent.ANSWER)
            self._record_response(response)
            if self._is_read_elsewhere(response.url):
                return True
            if response.status == 304:
                await self._take_over(Status.UNCHANGED, "")
                return True
            stream = read_patiently(self._context, response, self.document, self._open)
            async with aclosing(stream) as chunks:
                if prior.body is None or prior.final_url != response.url:
                    await self._read(response, chunks)
                    return True
                opened = open_changed(
                    self._context, chunks, prior.body, response.headers
                )
                async with opened as body:
                    if body is not None:
                        await self._read(response, body)
                    else:
                        await self._take_over(Status.UNCHANGED, SAME_BODY)
        return True

    def _is_of_prior(self, response: Response, sent: Mapping[str, str]) -> bool:
        """Return whether a 304 is about the version that the validators were of."""
        is_same_url = response.url == self._prior.final_url
        return is_same_url and is_confirmed(sent, response.headers)

    def _record_response(self, response: Response) -> None:
        self._response = response
        document = self.document
        headers = response.headers
        self._memory.receive(headers)
        record_answer(document, response)
        document.etag = read_etag(headers)
        document.last_modified = headers.get("last-modified")
        document.content_type = headers.get("content-type")
        document.content_encoding = headers.get("content-encoding")
        document.first_byte_seconds = getattr(response, "wait_seconds", None)

    def _is_read_elsewhere(self, url: str) -> bool:
        """Return whether redirects led to a document that another sitemap reads.

        Raises FetchError: they led to what names the sitemap, as a site does that is down.
        """
        sitemap = self._sitemap
        if sitemap.leads_up(url):
            raise FetchError(IssueCode.REDIRECTS_UP, url)
        is_read = self._walk.frontier.register_redirect(sitemap, url)
        listing = self._walk.rules.find_listing(sitemap.referrers, sitemap.entry.loc)
        sitemap.scope += listing
        folders = folder_of(sitemap.entry.loc), folder_of(url)
        self._entries.scope = (*sitemap.scope, *folders)
        if is_file_url(url):  # nobody knows where it was
            self._entries.scope = ("",)
        if is_read:
            sitemap.was_read = self._memory.previous.was_read
            self._outcome = Status.SKIPPED, ALREADY_READ
        return is_read

    # -- what was read before

    async def _settle(self, status: Status, reason: str) -> None:
        """Use the state of a document that need not be fetched."""
        final_url = self._memory.previous.final_url
        if not final_url or not self._is_read_elsewhere(final_url):
            await self._take_over(status, reason)

    async def _take_over(self, status: Status, reason: str) -> None:
        """Take format and children of the last reading, which still holds."""
        self._outcome = status, reason
        document = self.document
        previous = self._memory.previous
        self._sitemap.process(SitemapEvent.RESTORE)
        self._sitemap.was_read = previous.was_read
        if previous.was_read:
            document.final_url = previous.final_url
            document.format = previous.format
            document.etag = previous.etag
            document.last_modified = previous.last_modified
            document.listed = previous.listed
        is_find = self._sitemap.entry.via is not Via.WELL_KNOWN or previous.has_records
        if document.format is not None and is_find:
            await self._accept_format(document.format)
        if previous.children:
            await self._deliver_sitemaps(list(previous.children))
        await self._end_listed(
            previous.digest if document.format is Format.INDEX else None
        )

    # -- the body

    async def _read(
        self, response: Response, chunks: AsyncGenerator[bytes, None]
    ) -> None:
        base_url = self._config.base_url
        self._reader = reader = SitemapReader(
            response.url if base_url is None else base_url,
            limits=self._context.limits,
            charset=charset_of(response.headers),
            codings=read_codings(response.headers),
            extra_formats=await self._choose_extra_formats(),
        )
        self._sitemap.process(SitemapEvent.READ)
        reader.stats.keeps_deleted = self._config.changes
        reader.on_block = self._hasher.add
        stream = read_events(chunks, reader, self._context.loop_share)
        async with aclosing(stream):
            async for events in stream:
                self.document.bytes_inflated = reader.stats.inflated_bytes
                if not await self._handle_events(events):
                    return

    async def _choose_extra_formats(self) -> frozenset[Format]:
        """Return the formats that are read besides sitemaps."""
        # No pages at a guessed path: many servers answer any path with a page.
        formats = self._config.extra_formats - {
            Format.HTML if self.document.via is Via.WELL_KNOWN else None
        }
        if formats and not has_suffixes():  # they tell which links stay on the site
            await asyncio.to_thread(load_suffixes)
        return formats

    async def _handle_events(self, events: Events) -> bool:
        """Hand over events; return whether more are wanted."""
        if self.document.format is None and self._reader is not None:
            self.document.format = kind = self._reader.format
            if kind is None:
                # Issues wait for the format: a page in place of a sitemap gets another Issue.
                self._held += events
                return True
            if self._held:
                events = [*self._held, *events]
                self._held = []
            if not self._memory.needs_digest and kind is not Format.INDEX:
                self._reader.on_block = bytes  # nobody asks for their hash
        kind = self.document.format
        is_detecting = self._sitemap.state is SitemapState.DETECTING
        if kind is not None and is_detecting and self._has_records():
            self._sitemap.process(SitemapEvent.RECOGNIZE)
            await self._accept_format(kind)
            if not self._config.reads:
                self._outcome = Status.SKIPPED, NOT_READ
                return False
        if not await self._deliver(events):
            self._outcome = Status.PARTIAL, str(IssueCode.BUDGET_URLS)
            await self._children.report(IssueCode.BUDGET_URLS)
        return self._outcome is None

    def _has_records(self) -> bool:
        """Return whether this is a find: a guess without a record is none."""
        is_guess = self._sitemap.entry.via is Via.WELL_KNOWN
        return not is_guess or (
            self._reader is not None and self._reader.stats.records > 0
        )

    async def _accept_format(self, kind: Format) -> None:
        """Record that this is a sitemap, for the discovery that waits for it."""
        self._sitemap.resolve(is_sitemap=True)
        if self._sitemap.entry.via.is_guess:  # a guessed path becomes a find
            await self._context.emit((self._sitemap.entry,))
        if kind is Format.INDEX and self._sitemap.depth:
            await self._children.report(IssueCode.NESTED_INDEX)

    async def _deliver(self, events: Events) -> bool:
        """Hand over events; return whether there may be more URLs."""
        if self._config.follow is not None and self._reader is not None:
            events = self._hold_suspects(events, self._reader)
        if isinstance(events, EntryColumns):  # nearly always: the fast way
            return await self._entries.deliver(events)
        for kind, run in groupby(events, type):
            if kind is UrlEntry:
                if not await self._entries.deliver(cast("list[UrlEntry]", list(run))):
                    return False
            elif kind is SitemapEntry:
                await self._deliver_sitemaps(cast("list[SitemapEntry]", list(run)))
            else:
                for issue in cast("Iterator[Issue]", run):
                    await self._context.report_issue(issue, self.document)
        return True

    def _hold_suspects(self, events: Events, reader: SitemapReader) -> Events:
        """Hold the entries of a urlset that may list nothing but sitemaps; return the others."""
        held = self._suspects
        if not (
            reader.lists_sitemaps
            and reader.stats.delivered <= self._context.limits.children
        ):
            self._suspects = []
            return [*held, *events] if held else events
        self._suspects = [
            *held,
            *(each for each in events if isinstance(each, UrlEntry)),
        ]
        return [each for each in events if not isinstance(each, UrlEntry)]

    async def _offer_suspects(self, follow: Follow) -> None:
        """Read those sitemaps of a urlset that the caller wants; the others are pages."""
        pages: list[UrlEntry] = []
        sitemaps: list[SitemapEntry] = []
        for entry in self._suspects:
            sitemap = SitemapEntry(
                entry.loc, entry.lastmod, Via.INDEX, entry.sitemap, entry.lastmod_text
            )
            if follow(sitemap):
                sitemaps.append(sitemap)
            else:
                pages.append(entry)
        self._suspects = []
        if pages and not await self._entries.deliver(pages):
            self._outcome = Status.PARTIAL, str(IssueCode.BUDGET_URLS)
        if sitemaps:
            self._children.are_wanted = True
            await self._deliver_sitemaps(sitemaps)

    async def _deliver_sitemaps(self, entries: list[SitemapEntry]) -> None:
        self.document.children += len(entries)
        told = tuple(entry for entry in entries if len(entry.loc) <= MAX_URL_CHARS)
        self._memory.add_children(told)
        await self._context.emit(told, self._entries.count_new_bytes())
        await self._children.add(entries)

    async def _end_listed(self, digest: bytes | None) -> None:
        await self._children.end(digest)
        if outside := self._entries.outside:
            await self._children.report(
                IssueCode.OUT_OF_SCOPE, value=f"{outside} entries"
            )

    # -- the end

    async def _close(self) -> None:
        """Report the Issues of the response, and deliver the reader's entries."""
        document = self.document
        # all of them: the body has ended
        for issue in getattr(self._response, "issues", ()):
            issue.sitemap = document.url
            await self._context.report_issue(issue, document)
        if self._reader is not None:
            if self._outcome is None:
                await self._finish_reading(self._reader)
            document.bytes_inflated = self._reader.stats.inflated_bytes
        document.wait_seconds = getattr(self._response, "wait_seconds", None)

    async def _judge(self) -> tuple[Status, str]:
        """Return the outcome; report the fault, after the entries."""
        document = self.document
        if (fault := self._fault) is not None:
            document.add_error(fault)
        if self._is_wrong_guess():
            codes = self._held_codes()
            gravest = max(
                codes, key=lambda code: code.severity, default=IssueCode.EMPTY
            )
            return Status.SKIPPED, str(fault.code if fault is not None else gravest)
        if fault is not None:
            await self._context.report_issue(
                issue_from_error(fault, document), document
            )
            if fault.code in REFUSALS:
                return Status.SKIPPED, str(fault.code)
        if self._outcome:
            return self._outcome
        status, reason = judge_counts(
            document.counts, document.listed + document.children
        )
        if fault is None and document.format is None and status is Status.COMPLETE:
            status = Status.FAILED
            reason = str(IssueCode.EMPTY)
        return status, str(fault.code) if fault is not None else reason

    async def _finish_reading(self, reader: SitemapReader) -> None:
        """Deliver the entries that the reader still holds."""
        steps = reader.close_steps(cut=self._fault is not None)
        number = 0
        while (events := await next_step(reader, steps, self._context)) is not None:
            number += 1
            if self._fault is not None and isinstance(events, list):
                events = [
                    each
                    for each in events
                    if _find_status_code(each) not in _CONSEQUENCES
                ]
            if not await self._handle_events(events):
                return
            # else small documents would overtake one another
            if events or number > _SMALL_STEPS:
                await self._context.loop_share.yield_if_due()
        if self._suspects and self._config.follow is not None:
            await self._offer_suspects(self._config.follow)
        if self.document.format is None and self._response is not None:
            self._fault = self._fault or find_blocking_page(self._response)
        is_blocked = (
            self._fault is not None and self._fault.code is IssueCode.BLOCKED_BY_SITE
        )
        if not self._is_wrong_guess() and not is_blocked:
            await self._deliver(self._held)
            counts = reader.stats.counts.copy()
            for code in _CONSEQUENCES if self._fault else ():
                del counts[code]
            self._context.report.add_counts(counts, self.document)
        is_index = self.document.format is Format.INDEX
        await self._end_listed(self._hasher.snapshot().digest if is_index else None)

    def _is_wrong_guess(self) -> bool:
        is_guess = self._sitemap.entry.via.is_guess
        if not is_guess or self.document.format is not None or self._outcome:
            return False
        if self.document.via is Via.SITE:
            return self._is_page(self._fault)
        if self._fault is not None:
            return self._fault.is_absent
        # A body that cannot be decoded may be a sitemap.
        return IssueCode.CONTENT_ENCODING not in self._held_codes()

    def _is_page(self, fault: FetchError | None) -> bool:
        """Return whether a site may lie below a URL: a page, or a folder without one."""
        if fault is None:
            return IssueCode.HTML_NOT_SITEMAP in self._held_codes()
        # A site that demands a login is not searched: the password would be sent again.
        is_refused = fault.http_status is None or fault.http_status in LOGIN_STATUSES
        names_sitemap = (
            urlsplit(self.document.url).path.lower().endswith(_SITEMAP_SUFFIXES)
        )
        return (
            fault.code is IssueCode.HTTP_STATUS and not is_refused and not names_sitemap
        )

    def _held_codes(self) -> list[IssueCode]:
        return [code for code in map(_find_status_code, self._held) if code]


def _find_status_code(event: Event) -> IssueCode | None:
    if isinstance(event, Issue):
        return event.code
    return None
