"""The visit to one sitemap, from its request to its outcome."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Format, Via
from sitemapreader._types.outcomes import (
    ALREADY_READ,
    SAME_BODY,
    BodyHasher,
    Status,
    make_document,
)
from sitemapreader._types.urls import folder_of, is_file_url
from sitemapreader._walk.delivery import Delivery
from sitemapreader._walk.download import (
    open_changed,
    open_document,
    read_patiently,
    record_response,
)
from sitemapreader._walk.reading import BodyReading, make_reader
from sitemapreader._walk.states import SitemapState
from sitemapreader._walk.verdict import DocumentVerdict
from sitemapreader.fetch.hosts import PAUSE_CODES
from sitemapreader.fetch.urls import read_etag
from sitemapreader.fetch.validators import is_confirmed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from sitemapreader._walk.memory import DocumentMemory
    from sitemapreader._walk.parts import WalkParts
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.fetch.client import Response


class Visit:
    """The visit to one sitemap of a walk; one that was parked is visited again.

    A guessed path that turns out not to be a sitemap is skipped without an Issue. With a state, the
    document is requested only if it may have changed.
    """

    def __init__(
        self,
        walk: WalkParts,
        sitemap: Sitemap,
        memory: DocumentMemory,
    ) -> None:
        document = sitemap.document or make_document(sitemap.entry)
        self.document = document
        self._walk = walk
        self._sitemap = sitemap
        self._memory = memory
        self._delivery = Delivery(walk, sitemap, document, memory)
        self._verdict = DocumentVerdict(document)
        self._hasher = BodyHasher()
        self._response: Response | None = None
        self._reading: BodyReading | None = None
        context = walk.context
        if sitemap.entry.via.is_guess:
            context.breaker.note_guess(document.url)
        # `check` knows nothing of this visit: no circle of objects (see `SitemapQueue.end`).
        check = partial(
            walk.rules.check_redirect,
            sitemap.entry,
            sitemap.referrers,
        )
        # a search tries few documents
        breaker = context.breaker if walk.config.reads else None
        self._open = partial(
            open_document,
            context,
            document.url,
            check_redirect=check,
            breaker=breaker,
        )

    async def run(self) -> None:
        """Fetch and read the document, hand over its entries, and record its outcome."""
        document = self.document
        context = self._walk.context
        report = context.report
        sitemap = self._sitemap
        sitemap.document = document
        with report.ensure_outcome(document):
            try:
                if settled := self._memory.settled:
                    await self._settle(*settled)
                elif not await self._request(self._memory.known_version.headers):
                    await self._request(None)
            except FetchError as error:
                is_requested = sitemap.state is SitemapState.REQUESTED
                if error.code in PAUSE_CODES and is_requested:
                    context.budget.spend_documents(-1)
                    document.add_error(error)
                    self._walk.frontier.queue.note_refusal(sitemap, error.url)
                    sitemap.enter(SitemapState.PARKED)
                    return
                self._verdict.fault = error
            # Below 32 KiB, as most documents are, all their entries come here.
            await self._read_rest()
            is_duplicate = sitemap.state is SitemapState.DUPLICATE
            if not is_duplicate:
                sitemap.enter(SitemapState.ENDING)
            status, reason = await self._verdict.judge(context)
            if not is_duplicate:
                sitemap.enter(SitemapState[status.name])
            report.end_document(document, status, reason)
        await self._save()

    async def _save(self) -> None:
        """Give the outcome to the memory."""
        document = self.document
        if document.reason == IssueCode.BUDGET_URLS:  # the next walk goes on with it
            return
        body = None  # without a response; a 304 has one, whose body is empty
        if self._response is not None and self._memory.needs_digest:
            body = self._hasher.snapshot()
        reading = self._reading
        is_window = reading is not None and reading.reader.is_window
        await self._memory.finish(document, body, is_window=is_window)

    # -- the request

    async def _request(self, validators: Mapping[str, str] | None) -> bool:
        """Request and read the document; return False if the validators do not match it."""
        known = self._memory.known_version
        context = self._walk.context
        self._sitemap.enter(SitemapState.REQUESTED)
        async with self._open(headers=validators) as response:
            is_confirmation = response.status == 304
            # Redirects may lead to another document than last time, and a cache may have another
            # version of it: both have other validators.
            if is_confirmation and not self._is_of_known_version(response, validators):
                return False
            self._sitemap.enter(SitemapState.RESPONDED)
            self._record_response(response)
            if self._follow_to(response.url):
                return True
            if is_confirmation:
                await self._take_over(Status.UNCHANGED, "")
                return True
            stream = read_patiently(context, response, self.document, self._open)
            async with aclosing(stream) as chunks:
                if known.body is None or known.final_url != response.url:
                    await self._read(response, chunks)
                    return True
                opened = open_changed(context, chunks, known.body, response.headers)
                async with opened as body:
                    if body is not None:
                        await self._read(response, body)
                    else:
                        await self._take_over(Status.UNCHANGED, SAME_BODY)
        return True

    def _is_of_known_version(
        self, response: Response, sent: Mapping[str, str] | None
    ) -> bool:
        """Return whether a 304 is about the version that the validators were of, if any were."""
        if sent is None:
            return True
        is_same_url = response.url == self._memory.known_version.final_url
        return is_same_url and is_confirmed(sent, response.headers)

    def _record_response(self, response: Response) -> None:
        self._response = response
        document = self.document
        headers = response.headers
        self._memory.receive(headers)
        record_response(document, response)
        document.etag = read_etag(headers)
        document.last_modified = headers.get("last-modified")
        document.content_type = headers.get("content-type")
        document.content_encoding = headers.get("content-encoding")
        document.first_byte_seconds = getattr(response, "wait_seconds", None)

    def _follow_to(self, url: str) -> bool:
        """Record where redirects led, and set the scope of the entries.

        Only one sitemap reads the document there: this one, or another that has a worker already.
        Return True if this one is the duplicate. Raises FetchError if redirects led up, to what
        names the sitemap, as a site does that is down.
        """
        sitemap = self._sitemap
        walk = self._walk
        loc = sitemap.entry.loc
        if sitemap.leads_up(url):
            raise FetchError(IssueCode.REDIRECTS_UP, url)
        is_duplicate = walk.frontier.register_redirect(sitemap, url)
        sitemap.scope += walk.rules.find_listing(sitemap.referrers, loc)
        folders = [folder_of(loc)]
        if url != loc:
            folders.append(folder_of(url))
        entries = self._delivery.entries
        entries.scope = (*sitemap.scope, *folders)
        if is_file_url(url):  # nobody knows where it was
            entries.scope = ("",)
        if is_duplicate:
            sitemap.was_read_before = self._memory.last_reading.was_read
            self._verdict.decided = (Status.SKIPPED, ALREADY_READ)
        return is_duplicate

    # -- what was read before

    async def _settle(self, status: Status, reason: str) -> None:
        """Use the state of a document that need not be fetched."""
        final_url = self._memory.last_reading.final_url
        if not final_url or not self._follow_to(final_url):
            await self._take_over(status, reason)

    async def _take_over(self, status: Status, reason: str) -> None:
        """Take format and children of the last reading, which still holds."""
        self._verdict.decided = (status, reason)
        document = self.document
        sitemap = self._sitemap
        last = self._memory.last_reading
        sitemap.enter(SitemapState.REUSED)
        sitemap.was_read_before = last.was_read
        if last.was_read:
            document.final_url = last.final_url
            document.format = last.format
            document.etag = last.etag
            document.last_modified = last.last_modified
            document.listed = last.listed
        is_find = sitemap.entry.via is not Via.WELL_KNOWN or last.has_records
        delivery = self._delivery
        if document.format is not None and is_find:
            await delivery.accept(document.format)
        if last.children:
            await delivery.deliver_sitemaps(list(last.children))
        digest = None
        if document.format is Format.INDEX:
            digest = last.digest
        await delivery.end(digest)

    # -- the body

    async def _read(
        self, response: Response, chunks: AsyncGenerator[bytes, None]
    ) -> None:
        self._reading = BodyReading(
            walk=self._walk,
            sitemap=self._sitemap,
            delivery=self._delivery,
            verdict=self._verdict,
            response=response,
            reader=await make_reader(self._walk, self.document, response),
            hasher=self._hasher,
            needs_digest=self._memory.needs_digest,
        )
        await self._reading.read(chunks)

    # -- the end

    async def _read_rest(self) -> None:
        """Report the Issues of the response, and deliver the last events of the reader."""
        document = self.document
        # all of them: the body has ended
        for issue in getattr(self._response, "issues", ()):
            issue.sitemap = document.url
            await self._walk.context.report_issue(issue, document)
        reading = self._reading
        if reading is not None:
            if self._verdict.decided is None:
                await reading.finish()
            stats = reading.reader.stats
            document.records = stats.records
            document.dropped = stats.dropped
            document.bytes_inflated = stats.inflated_bytes
        document.wait_seconds = getattr(self._response, "wait_seconds", None)
