"""The reading of one body: its format is detected, and its events are delivered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import attrs

from sitemapreader._bytes.charset import charset_of
from sitemapreader._bytes.codings import read_codings
from sitemapreader._read.reader import SitemapReader
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import Format, Via
from sitemapreader._types.outcomes import NOT_READ, BodyHasher, Status
from sitemapreader._types.urls import has_suffixes, load_suffixes
from sitemapreader._walk.download import find_blocking_page, next_step, read_events
from sitemapreader._walk.states import SitemapState

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from sitemapreader._types.outcomes import Document
    from sitemapreader._types.rows import Events
    from sitemapreader._walk.delivery import Delivery
    from sitemapreader._walk.parts import WalkParts
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader._walk.verdict import DocumentVerdict
    from sitemapreader.fetch.client import Response

_SMALL_STEPS = 4
"""Steps in which the end of a small document is read."""


@attrs.frozen(eq=False)
class BodyReading:
    """The reading of the body of one response.

    Attributes:
        walk: the parts of the walk.
        sitemap: the sitemap that is read.
        delivery: takes the events.
        verdict: is told what ends the reading early.
        response: has the body.
        reader: makes events of the body.
        hasher: hashes the bytes of an index.
        needs_digest: whether it hashes the bytes of other formats, too.
    """

    walk: WalkParts
    sitemap: Sitemap
    delivery: Delivery
    verdict: DocumentVerdict
    response: Response
    reader: SitemapReader
    hasher: BodyHasher
    needs_digest: bool

    async def read(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """Deliver the events of a body as it arrives, as long as they are wanted."""
        reader = self.reader
        reader.on_block = self.hasher.add
        self.sitemap.enter(SitemapState.DETECTING)
        await read_events(chunks, reader, self.walk.context.loop_share, self._receive)

    async def _receive(self, events: Events) -> bool:
        """Hand over events of a body that arrives; return whether more are wanted."""
        self.verdict.document.bytes_inflated = self.reader.stats.inflated_bytes
        return await self._handle(events)

    async def finish(self) -> None:
        """Deliver the entries that the reader still holds, and the children."""
        reader = self.reader
        verdict = self.verdict
        context = self.walk.context
        document = verdict.document
        steps = reader.close_steps(cut=verdict.fault is not None)
        number = 0
        while (events := await next_step(reader, steps, context)) is not None:
            number += 1
            told_events = verdict.leave_out_consequences(events)
            if not await self._handle(told_events):
                return
            # else small documents would overtake one another
            if events or number > _SMALL_STEPS:
                await context.loop_share.yield_if_due()
        if not await self.delivery.deliver_suspects():
            verdict.decided = Status.PARTIAL, IssueCode.BUDGET_URLS
        if document.format is None:
            verdict.fault = verdict.fault or find_blocking_page(self.response)
        fault = verdict.fault
        is_blocked = fault is not None and fault.code is IssueCode.BLOCKED_BY_SITE
        if not verdict.is_wrong_guess() and not is_blocked:
            await self.delivery.deliver(verdict.held)
            consequences = verdict.list_consequences()
            counts = reader.stats.counts.items()
            told = {code: number for code, number in counts if code not in consequences}
            context.report.add_counts(told, document)
        digest = None
        if document.format is Format.INDEX:
            digest = self.hasher.snapshot().digest
        await self.delivery.end(digest)

    async def _handle(self, events: Events) -> bool:
        """Hand over events; return whether more are wanted."""
        verdict = self.verdict
        document = verdict.document
        if document.format is None:
            events = self._detect(events)
        kind = document.format
        if kind is None:
            return True
        is_detecting = self.sitemap.state is SitemapState.DETECTING
        if is_detecting and self._has_records():
            self.sitemap.enter(SitemapState.READING)
            await self.delivery.accept(kind)
            if not self.walk.config.reads:
                verdict.decided = Status.SKIPPED, NOT_READ
                return False
        if not await self.delivery.deliver(events, self.reader):
            verdict.decided = Status.PARTIAL, IssueCode.BUDGET_URLS
            await self.delivery.children.report(IssueCode.BUDGET_URLS)
        return verdict.decided is None

    def _detect(self, events: Events) -> Events:
        """Note the format if it is known now; return the events since the beginning."""
        verdict = self.verdict
        held = verdict.held
        verdict.document.format = kind = self.reader.format
        if kind is None:
            held += events
            return events
        if not self.needs_digest and kind is not Format.INDEX:
            self.reader.on_block = bytes  # nobody asks for their hash
        if not held:
            return events
        verdict.held = []
        return [*held, *events]

    def _has_records(self) -> bool:
        """Return whether this is a find: a guess that ends without a record is none."""
        is_guess = self.sitemap.entry.via is Via.WELL_KNOWN
        is_cut = self.verdict.fault is not None
        return not is_guess or is_cut or self.reader.stats.records > 0


async def make_reader(
    walk: WalkParts,
    document: Document,
    response: Response,
) -> SitemapReader:
    """Return a reader of the body of a response."""
    config = walk.config
    # No pages at a guessed path: many servers answer any path with a page.
    formats = config.search.extra_formats - {
        Format.HTML if document.via is Via.WELL_KNOWN else None
    }
    if formats and not has_suffixes():  # they tell which links stay on the site
        await asyncio.to_thread(load_suffixes)
    reader = SitemapReader(
        response.url if config.base_url is None else config.base_url,
        limits=walk.context.limits,
        charset=charset_of(response.headers),
        codings=read_codings(response.headers),
        extra_formats=formats,
    )
    reader.stats.shows_all = config.on_issue is not None
    reader.stats.keeps_deleted = config.changes
    return reader
