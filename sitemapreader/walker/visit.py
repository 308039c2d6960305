"""The visit to one sitemap: fetched, read, and ended with an outcome."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

from sitemapreader.discovery.download import (
    count_tries,
    find_blocking_page,
    next_step,
    open_document,
    read_events,
    read_patiently,
)
from sitemapreader.discovery.revalidation import ReplayBuffer
from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.fetch.answers import MAX_REFUSAL_BYTES, is_absent
from sitemapreader.fetch.request import charset_of, read_etag, select_validators
from sitemapreader.fetch.retries import HOST_CODES
from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader.outcomes import (
    ALREADY_READ,
    NOT_READ,
    REFUSALS,
    SAME_BODY,
    BodyHasher,
    Status,
    issue_from_error,
    judge_counts,
)
from sitemapreader.readers.decode.layers import decode_start, read_codings
from sitemapreader.readers.feedparser import FeedparserAnswer
from sitemapreader.readers.reader import SitemapReader
from sitemapreader.rows import EntryColumns
from sitemapreader.urls import has_suffixes, load_suffixes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from sitemapreader.discovery.context import WalkContext
    from sitemapreader.discovery.revalidation import PriorVersion
    from sitemapreader.fetch import Response
    from sitemapreader.fetch.retries import HostBreaker
    from sitemapreader.models import Event
    from sitemapreader.outcomes import Document
    from sitemapreader.rows import Events, Rows

_CONSEQUENCES = frozenset(
    {
        IssueCode.TRUNCATED,
        IssueCode.COMPRESSION_TRUNCATED,
        IssueCode.EMPTY,
        IssueCode.NOT_A_SITEMAP,
    }
)
"""Issues that follow from a body that was cut short; the fault that cut it is the Issue."""
_SITEMAP_SUFFIXES = (".xml", ".gz", ".txt", ".rss", ".atom")
"""Suffixes of sitemaps. Such a URL that is missing is the caller's mistake, not a site."""
_URL_ENTRIES_ONLY = {UrlEntry}


class DocumentHandler(Protocol):
    """The receiver of what a visit reads."""

    async def find_refusal(self, url: str) -> IssueCode | None:
        """Return why a redirect to `url` must not be followed; `None` if it may be."""
        ...

    async def check_redirect(self, url: str) -> bool:
        """Return whether another visit reads the document at `url`, after redirects."""
        ...

    async def accept_format(self, kind: Format) -> bool:
        """Receive the format of the document, a sitemap; return whether to read it."""
        ...

    async def skip_entries(self, offset: int) -> None:
        """Receive the number of entries that were delivered before and are skipped."""
        ...

    async def reuse_children(self) -> None:
        """Continue with the children that an unchanged document had."""
        ...

    async def handle_entries(self, entries: Rows) -> bool:
        """Receive URLs, in document order; return whether more may come."""
        ...

    async def handle_sitemaps(self, entries: list[SitemapEntry]) -> None:
        """Receive children, in document order."""
        ...

    async def end_document(self, digest: bytes | None) -> None:
        """Receive the end of the document, with the digest of its bytes if it is an index."""
        ...


class DocumentVisit:
    """The fetching and reading of one sitemap.

    A guessed path that turns out not to be a sitemap is skipped without an Issue. With a prior
    version, the document is requested only if it has changed.

    Attributes:
        document: has the outcome after `run`.
        hasher: has hashed what was read of the body, with a prior version or if it is an index.
        is_postponed: whether there is no outcome: its host must not be asked for a while.
        is_duplicate: whether redirects led to a document that another visit reads. Its outcome is
            this one's, too, and is not known yet.
    """

    def __init__(
        self,
        context: WalkContext,
        document: Document,
        handler: DocumentHandler,
        prior: PriorVersion | None = None,
        *,
        breaker: HostBreaker | None = None,
    ) -> None:
        self.document = document
        self.hasher = BodyHasher()
        self.is_postponed = False
        self.is_duplicate = False
        self._prior = prior
        self._known_entries = 0
        self._context = context
        self._handler = handler
        self._guessed = bool(document.via and document.via.is_guess)
        check = partial(_check_redirect, handler)  # not of this visit, which must leave no circle
        self._open = partial(
            open_document, context, document.url, check_redirect=check, breaker=breaker
        )
        if self._guessed:
            context.breaker.note_guess(document.url)
        self._reader: SitemapReader | None = None
        self._held: list[Event] = []
        self._outcome: tuple[Status, str] | None = None
        self._response: Response | None = None
        self._start = b""

    @property
    def is_window(self) -> bool:
        """Whether the document lists recent items only, as a feed does."""
        return self._reader is not None and self._reader.is_window

    async def run(self) -> None:
        """Fetch and read the document, hand over its events, and record its outcome."""
        with self._context.report.ensure_outcome(self.document):
            fault = None
            try:
                await self._fetch()
            except FetchError as error:
                if error.code in HOST_CODES and self._response is None:
                    self.is_postponed = True
                    return
                fault = error
            await self._close(fault)

    async def _fetch(self) -> None:
        validators = select_validators(self._prior.headers) if self._prior else None
        if not await self._request(validators):
            await self._request(None)

    async def _request(self, validators: Mapping[str, str] | None) -> bool:
        """Request and read the document; return False if the validators do not match it."""
        prior = self._prior
        async with self._open(headers=validators) as response:
            # Redirects may lead to another document than last time, which has other validators.
            if validators and prior and response.status == 304 and response.url != prior.final_url:
                return False
            await self._record_response(response)
            if self._outcome:
                return True
            stream = read_patiently(self._context, response, self.document, self._open)
            async with aclosing(stream) as chunks:
                if prior is not None and prior.final_url == response.url:
                    await self._read_if_changed(response, chunks, prior)
                else:
                    await self._handler.skip_entries(0)
                    await self._read(response, chunks)
        return True

    async def _read_if_changed(
        self, response: Response, chunks: AsyncGenerator[bytes, None], prior: PriorVersion
    ) -> None:
        """Read the part of the body that an earlier visit did not read, if there is one."""
        expected = prior.start or prior.body
        if expected is None:
            await self._read(response, chunks)
            return
        declared = response.headers.get("content-length", "")
        with ReplayBuffer(chunks, expected, whole=prior.start is None, declared=declared) as buffer:
            is_known = await buffer.is_known()
            if is_known and prior.start is None:
                self.document.bytes_raw = expected.size
                await self._end_unchanged(SAME_BODY)
                return
            self._known_entries = prior.offset if is_known else 0
            await self._handler.skip_entries(self._known_entries)
            async with aclosing(buffer.chunks()) as body:
                await self._read(response, body)

    async def _read(self, response: Response, chunks: AsyncGenerator[bytes, None]) -> None:
        self._reader = reader = SitemapReader(
            response.url,
            limits=self._context.limits,
            charset=charset_of(response.headers),
            codings=read_codings(response.headers),
            extra_formats=await self._choose_extra_formats(),
            keeps_deleted=self._context.keeps_deleted,
        )
        stream = read_events(chunks, reader, self._record_chunk, self._context.loop_share)
        async with aclosing(stream):
            async for events in stream:
                self.document.bytes_raw = reader.stats.raw_bytes
                self.document.bytes_inflated = reader.stats.inflated_bytes
                if not await self._handle_events(events):
                    return

    async def _choose_extra_formats(self) -> frozenset[Format]:
        """Return the formats that are read besides sitemaps."""
        # No pages at a guessed path: many servers answer any path with a page.
        formats = self._context.extra_formats - {
            Format.HTML if self.document.via is Via.WELL_KNOWN else None
        }
        if formats and not has_suffixes():  # they tell which links stay on the site
            await asyncio.to_thread(load_suffixes)
        return formats

    async def _end_unchanged(self, reason: str) -> None:
        self._outcome = Status.UNCHANGED, reason
        prior = self._prior
        if prior is not None and prior.format is not None:
            self.document.format = prior.format
            await self._handler.accept_format(prior.format)
            await self._handler.reuse_children()

    async def _record_response(self, response: Response) -> None:
        self._response = response
        document, headers = self.document, response.headers
        document.final_url, document.http_status = response.url, response.status
        document.tries = count_tries(response)
        document.etag = read_etag(headers)
        document.last_modified = headers.get("last-modified")
        document.content_type = headers.get("content-type")
        document.content_encoding = headers.get("content-encoding")
        document.first_byte_seconds = getattr(response, "wait_seconds", None)
        for issue in getattr(response, "issues", ()):
            issue.sitemap = document.url
            await self._context.report_issue(issue, document)
        if await self._handler.check_redirect(response.url):
            self.is_duplicate = True
            self._outcome = Status.SKIPPED, ALREADY_READ
        elif response.status == 304:
            await self._end_unchanged("")

    def _record_chunk(self, chunk: bytes) -> None:
        if self.document.format is None:
            self._start += chunk[: MAX_REFUSAL_BYTES - len(self._start)]
        if self._prior is not None or self.document.format in (None, Format.INDEX):
            self.hasher.add(chunk)

    async def _handle_events(self, events: Events) -> bool:
        """Hand over events; return whether more are wanted."""
        if self.document.format is None and self._reader is not None:
            self.document.format = kind = self._reader.format
            if kind is None:
                # Issues wait for the format: a page in place of a sitemap gets another Issue.
                self._held += events
                return True
            if self._held:
                events, self._held = [*self._held, *events], []
            if not await self._handler.accept_format(kind):
                self._outcome = Status.SKIPPED, NOT_READ
                return False
        if not await self._deliver(events):
            self._outcome = Status.PARTIAL, str(IssueCode.BUDGET_URLS)
        return self._outcome is None

    async def _deliver(self, events: Events) -> bool:
        """Hand over events; return whether there may be more URLs."""
        if isinstance(events, EntryColumns):  # nearly always: the fast way
            return await self._deliver_entries(events)
        if set(map(type, events)) == _URL_ENTRIES_ONLY:
            return await self._deliver_entries(cast("list[UrlEntry]", events))
        for kind_of_event, run in groupby(events, type):
            if not await self._deliver_run(kind_of_event, list(run)):
                return False
        return True

    async def _deliver_run(self, kind: type[Event], run: list[Event]) -> bool:
        if kind is UrlEntry:
            return await self._deliver_entries(cast("list[UrlEntry]", run))
        if kind is SitemapEntry:
            self.document.children += len(run)
            await self._handler.handle_sitemaps(cast("list[SitemapEntry]", run))
        else:
            for issue in cast("list[Issue]", run):
                await self._context.report_issue(issue, self.document)
        return True

    async def _deliver_entries(self, entries: Rows) -> bool:
        self.document.listed += len(entries)
        if self._known_entries:
            passed = min(self._known_entries, len(entries))
            self._known_entries -= passed
            entries = list(entries)[passed:]
        return not entries or await self._handler.handle_entries(entries)

    async def _close(self, fault: FetchError | None) -> None:
        """Deliver what the reader still holds, and only then report what went wrong."""
        document, reader = self.document, self._reader
        if reader is not None:
            if self._outcome is None:
                fault = await self._finish_reading(reader, fault)
            document.bytes_raw = reader.stats.raw_bytes
            document.bytes_inflated = reader.stats.inflated_bytes
        document.wait_seconds = getattr(self._response, "wait_seconds", None)
        if fault is not None:
            document.add_error(fault)
        if self._is_wrong_guess(fault):
            self._outcome = Status.SKIPPED, self._explain_wrong_guess(fault)
        elif fault is not None:
            if fault.code in REFUSALS:
                self._outcome = Status.SKIPPED, str(fault.code)
            await self._context.report_issue(issue_from_error(fault, document), document)
        if not self.is_duplicate:
            outcome = self._outcome or self._find_outcome(fault)
            self._context.report.end_document(document, *outcome)

    async def _finish_reading(
        self, reader: SitemapReader, fault: FetchError | None
    ) -> FetchError | None:
        """Deliver what the reader still holds; return the fault, if there is one."""
        steps = reader.close_by_columns(cut=fault is not None)
        while (events := await self._next_step(reader, steps)) is not None:
            if fault is not None and isinstance(events, list):
                events = [each for each in events if _code_of(each) not in _CONSEQUENCES]
            if not await self._handle_events(events):
                return fault
            await self._context.loop_share.yield_if_due()
        if self.document.format is None:
            fault = fault or self._find_blocking_page()
        is_blocked = fault is not None and fault.code is IssueCode.BLOCKED_BY_SITE
        if not self._is_wrong_guess(fault) and not is_blocked:
            await self._deliver(self._held)
            counts = reader.stats.counts.copy()
            for code in _CONSEQUENCES if fault else ():
                del counts[code]
            self._context.report.add_counts(counts, self.document)
        index = self.document.format is Format.INDEX
        await self._handler.end_document(self.hasher.snapshot().digest if index else None)
        return fault

    def _find_blocking_page(self) -> FetchError | None:
        response = self._response
        if response is None:
            return None
        page = decode_start(self._start, read_codings(response.headers), MAX_REFUSAL_BYTES)
        return find_blocking_page(response, page)

    async def _next_step(self, reader: SitemapReader, steps: Iterator[Events]) -> Events | None:
        """Run a step of the end, or return `None`; only one feedparser runs at a time."""
        if reader.beyond_repair:
            async with self._context.feedparser_lock:
                if self._context.budget.take_feedparser_run():
                    return await next_step(reader, steps)
                reader.salvage(FeedparserAnswer(limit="feedparser_runs"))
        return next(steps, None)

    def _is_wrong_guess(self, fault: FetchError | None) -> bool:
        if not self._guessed or self.document.format is not None or self._outcome:
            return False
        if self.document.via is Via.SITE:
            return self._is_page(fault)
        if fault is not None:
            return is_absent(fault) and fault.code is not IssueCode.SITEMAP_WITH_ERROR_STATUS
        # A body that cannot be decoded may be a sitemap.
        return IssueCode.CONTENT_ENCODING not in self._held_codes()

    def _is_page(self, fault: FetchError | None) -> bool:
        """Return whether a site may lie below a URL: a page, or a folder without one."""
        if fault is None:
            return IssueCode.HTML_NOT_SITEMAP in self._held_codes()
        # A site that demands a login is not searched: the password would be sent again.
        is_refused = fault.http_status is None or fault.http_status in LOGIN_STATUSES
        names_sitemap = urlsplit(self.document.url).path.lower().endswith(_SITEMAP_SUFFIXES)
        return fault.code is IssueCode.HTTP_STATUS and not is_refused and not names_sitemap

    def _explain_wrong_guess(self, fault: FetchError | None) -> str:
        if fault is not None:
            return str(fault.code)
        codes = self._held_codes()
        return str(max(codes, key=lambda code: code.severity, default=IssueCode.EMPTY))

    def _held_codes(self) -> list[IssueCode]:
        return [code for code in map(_code_of, self._held) if code]

    def _find_outcome(self, fault: FetchError | None) -> tuple[Status, str]:
        document = self.document
        status, reason = judge_counts(document.counts, document.listed + document.children)
        if fault is not None:
            return status, str(fault.code)
        if document.format is None and status is Status.COMPLETE:
            return Status.FAILED, str(IssueCode.EMPTY)
        return status, reason


async def _check_redirect(handler: DocumentHandler, url: str) -> None:
    if code := await handler.find_refusal(url):
        raise FetchError(code, url, "by a redirect")


def _code_of(event: Event) -> IssueCode | None:
    return event.code if isinstance(event, Issue) else None
