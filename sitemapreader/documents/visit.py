"""One sitemap, from its URL to its outcome: opened, read, judged by what it holds."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, cast

from sitemapreader._digest import BodyHasher
from sitemapreader.documents.download import (
    charset_of,
    find_blocking_page,
    is_absent,
    next_step,
    open_document,
    read_chunks,
    read_events,
    tries_of,
)
from sitemapreader.documents.revalidation import ReplayBuffer
from sitemapreader.errors import FetchError
from sitemapreader.fetch.breaker import HOST_CODES
from sitemapreader.fetch.refusals import MAX_REFUSAL_BYTES
from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader.outcomes import NOT_READ, SAME_BODY, Status, issue_from_error, judge_counts
from sitemapreader.readers import SitemapReader
from sitemapreader.readers.decode.codings import read_codings
from sitemapreader.readers.decode.layers import decode_start
from sitemapreader.urls import has_suffixes, load_suffixes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping

    from sitemapreader.documents.context import WalkContext
    from sitemapreader.documents.revalidation import PriorVersion
    from sitemapreader.fetch import Response
    from sitemapreader.models import Event
    from sitemapreader.outcomes import Document

_CONSEQUENCES = frozenset(
    {
        IssueCode.TRUNCATED,
        IssueCode.GZIP_TRUNCATED,
        IssueCode.EMPTY,
        IssueCode.NOT_A_SITEMAP,
    }
)
"""What a reader must think of a body that broke off; the fault that broke it off says it all."""
_PLAIN = {UrlEntry}


class DocumentHandler(Protocol):
    """Who asked for the visit, and takes what it brings."""

    async def check_redirect(self, url: str) -> str:
        """Return why the document at `url`, after redirects, is not to be read, or ""."""
        ...

    async def accept_format(self, kind: Format) -> bool:
        """Take note that the document is a sitemap; return whether it is to be read."""
        ...

    async def skip_entries(self, offset: int) -> None:
        """Take note that so many entries were given before, and are not given again."""
        ...

    async def reuse_children(self) -> None:
        """Take note that the document is unchanged, and go on with what is known of it."""
        ...

    async def handle_entries(self, entries: list[UrlEntry]) -> None:
        """Take URLs, in document order."""
        ...

    async def handle_sitemaps(self, entries: list[SitemapEntry]) -> None:
        """Take children, in document order."""
        ...

    async def end_document(self, digest: bytes | None) -> None:
        """Take note that there is no more; `digest` stands for the bytes of an index."""
        ...


class DocumentVisit:
    """The way of one sitemap; `document` has its outcome after `run`.

    A path that was only tried is no sitemap as long as its content does not say so; then it is
    skipped, and what was wrong with it is nobody's fault.

    `is_postponed` says that nothing was fetched, because its host is left alone for a while; then
    there is no outcome.

    With `past`, it is asked for only if it has changed, and `hasher` has what came of its body.
    """

    def __init__(
        self,
        context: WalkContext,
        document: Document,
        handler: DocumentHandler,
        past: PriorVersion | None = None,
    ) -> None:
        self.document = document
        self.hasher = BodyHasher()
        self.is_postponed = False
        self._past = past
        self._known_entries = 0
        self._context = context
        self._handler = handler
        self._tried = document.via is Via.WELL_KNOWN
        self._reader: SitemapReader | None = None
        self._held: list[Event] = []
        self._outcome: tuple[Status, str] | None = None
        self._response: Response | None = None
        self._start = b""

    async def run(self) -> None:
        """Fetch and read the document, hand over what it holds, and record its outcome."""
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
        validators = self._past.headers if self._past else None
        if not await self._ask(validators):
            await self._ask(None)

    async def _ask(self, validators: Mapping[str, str] | None) -> bool:
        """Request and read the document; return whether the answer is one to what was asked.

        Redirects may have led to another document than last time, which validators are not of.
        """
        context, past = self._context, self._past
        opening = open_document(context, self.document.url, validators, guessed=self._tried)
        async with opening as response:
            if validators and past and response.status == 304 and response.url != past.final_url:
                return False
            await self._greet(response)
            if self._outcome:
                return True
            async with aclosing(read_chunks(response, context.budget)) as chunks:
                if past is not None and past.final_url == response.url:
                    await self._read_news(response, chunks, past)
                else:
                    await self._handler.skip_entries(0)
                    await self._read(response, chunks)
        return True

    async def _read_news(
        self, response: Response, chunks: AsyncGenerator[bytes, None], past: PriorVersion
    ) -> None:
        """Read what was not read of the body in an earlier visit, which may be nothing."""
        expected = past.start or past.body
        if expected is None:
            await self._read(response, chunks)
            return
        declared = response.headers.get("content-length", "")
        with ReplayBuffer(chunks, expected, whole=past.start is None, declared=declared) as hold:
            is_known = await hold.is_known()
            if is_known and past.start is None:
                self.document.bytes_raw = expected.size
                await self._leave_unchanged(SAME_BODY)
                return
            self._known_entries = past.offset if is_known else 0
            await self._handler.skip_entries(self._known_entries)
            async with aclosing(hold.replay()) as body:
                await self._read(response, body)

    async def _read(self, response: Response, chunks: AsyncGenerator[bytes, None]) -> None:
        self._reader = reader = SitemapReader(
            response.url,
            limits=self._context.limits,
            charset=charset_of(response.headers),
            codings=read_codings(response.headers),
            extra_formats=await self._choose_extra_formats(),
        )
        stream = read_events(chunks, reader, self._see, self._context.pace)
        async with aclosing(stream):
            async for events in stream:
                self.document.bytes_raw = reader.stats.raw_bytes
                self.document.bytes_inflated = reader.stats.inflated_bytes
                if not await self._take(events):
                    return

    async def _choose_extra_formats(self) -> frozenset[Format]:
        """Return the formats that are read besides sitemaps: at a guessed path no pages.

        Many servers answer any path with a page.
        """
        formats = self._context.extra_formats - {Format.HTML if self._tried else None}
        if formats and not has_suffixes():  # which tell the links that stay on the site
            await asyncio.to_thread(load_suffixes)
        return formats

    async def _leave_unchanged(self, reason: str) -> None:
        self._outcome = Status.UNCHANGED, reason
        past = self._past
        if past is not None and past.format is not None:
            self.document.format = past.format
            await self._handler.accept_format(past.format)
            await self._handler.reuse_children()

    async def _greet(self, response: Response) -> None:
        self._response = response
        document, headers = self.document, response.headers
        document.final_url, document.http_status = response.url, response.status
        document.tries = tries_of(response)
        document.etag = headers.get("etag")
        document.last_modified = headers.get("last-modified")
        for issue in getattr(response, "issues", ()):
            issue.sitemap = document.url
            await self._context.report_issue(issue, document)
        if reason := await self._handler.check_redirect(response.url):
            self._outcome = Status.SKIPPED, reason
        elif response.status == 304:
            await self._leave_unchanged("")

    def _see(self, chunk: bytes) -> None:
        if self.document.format is None:
            self._start += chunk[: MAX_REFUSAL_BYTES - len(self._start)]
        if self._past is not None or self.document.format in (None, Format.INDEX):
            self.hasher.add(chunk)

    async def _take(self, events: Iterable[Event]) -> bool:
        """Hand over events; return whether more are wanted.

        What comes before a document is known for a sitemap has to wait: of a page that stands in
        its place, another thing may have to be said.
        """
        events = list(events)
        if self.document.format is None and self._reader is not None:
            self.document.format = kind = self._reader.format
            if kind is None:
                self._held += events
                return True
            events, self._held = self._held + events, []
            if not await self._handler.accept_format(kind):
                self._outcome = Status.SKIPPED, NOT_READ
                return False
        await self._deliver(events)
        return True

    async def _deliver(self, events: list[Event]) -> None:
        if set(map(type, events)) == _PLAIN:  # nearly always, and then there is nothing to sort
            await self._take_entries(cast("list[UrlEntry]", events))
        else:
            for kind_of_event, run in groupby(events, type):
                await self._sort(kind_of_event, list(run))

    async def _sort(self, kind: type[Event], run: list[Event]) -> None:
        if kind is UrlEntry:
            await self._take_entries(cast("list[UrlEntry]", run))
        elif kind is SitemapEntry:
            self.document.children += len(run)
            await self._handler.handle_sitemaps(cast("list[SitemapEntry]", run))
        else:
            for issue in cast("list[Issue]", run):
                await self._context.report_issue(issue, self.document)

    async def _take_entries(self, entries: list[UrlEntry]) -> None:
        self.document.listed += len(entries)
        if self._known_entries:
            passed = min(self._known_entries, len(entries))
            self._known_entries -= passed
            entries = entries[passed:]
        if entries:
            await self._handler.handle_entries(entries)

    async def _close(self, fault: FetchError | None) -> None:
        """Read what the reader held back, deliver it, and only then say what went wrong."""
        document, reader = self.document, self._reader
        if reader is not None:
            if self._outcome is None:
                fault = await self._take_rest(reader, fault)
            document.bytes_raw = reader.stats.raw_bytes
            document.bytes_inflated = reader.stats.inflated_bytes
        if fault is not None:
            document.http_status = document.http_status or fault.http_status
            document.tries = document.tries or fault.tries
        if self._is_no_sitemap(fault):
            self._outcome = Status.SKIPPED, self._reason(fault)
        elif fault is not None:
            await self._context.report_issue(issue_from_error(fault, document), document)
        status, reason = self._outcome or self._judge(fault)
        self._context.report.end_document(document, status, reason)

    async def _take_rest(
        self, reader: SitemapReader, fault: FetchError | None
    ) -> FetchError | None:
        """Deliver what the reader held back; return what went wrong, as far as is known now."""
        steps = reader.close_steps(cut=fault is not None)
        while (events := await self._next_step(reader, steps)) is not None:
            if not await self._take(
                event
                for event in events
                if fault is None or not isinstance(event, Issue) or event.code not in _CONSEQUENCES
            ):
                return fault
        if self.document.format is None:
            fault = fault or self._find_blocking_page()
        if not self._is_no_sitemap(fault) and not _is_blocked(fault):
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

    async def _next_step(
        self, reader: SitemapReader, steps: Iterator[list[Event]]
    ) -> list[Event] | None:
        """Take a step, `None` if there is no more; feedparser reads one feed at a time."""
        if not reader.may_block:
            return next(steps, None)
        async with self._context.feedparser_lock:
            if not self._context.budget.take_feedparser_run():
                reader.cancel_fallback("feedparser_runs")
            return await next_step(reader, steps)

    def _is_no_sitemap(self, fault: FetchError | None) -> bool:
        if not self._tried or self.document.format is not None or self._outcome:
            return False
        if fault is not None:
            return is_absent(fault) and fault.code is not IssueCode.SITEMAP_WITH_ERROR_STATUS
        # nobody knows what is in a body that cannot be decoded
        return IssueCode.CONTENT_ENCODING not in self._held_codes()

    def _reason(self, fault: FetchError | None) -> str:
        if fault is not None:
            return str(fault.code)
        codes = self._held_codes()
        return str(max(codes, key=lambda code: code.severity, default=IssueCode.EMPTY))

    def _held_codes(self) -> list[IssueCode]:
        return [event.code for event in self._held if isinstance(event, Issue)]

    def _judge(self, fault: FetchError | None) -> tuple[Status, str]:
        document = self.document
        status, reason = judge_counts(document.counts, document.listed + document.children)
        if fault is not None:
            return status, str(fault.code)
        if document.format is None and status is Status.COMPLETE:
            return Status.FAILED, str(IssueCode.EMPTY)
        return status, reason


def _is_blocked(fault: FetchError | None) -> bool:
    return fault is not None and fault.code is IssueCode.BLOCKED_BY_SITE
