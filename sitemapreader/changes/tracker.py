"""DocumentTracker: the state of one document, for the walk that comes to it.

Its parts: `decision` decides whether it is requested, and what it is compared with; `entries` which
of its entries are delivered; `reading` what is saved of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader._types.outcomes import (
    FINISHED_STATUSES,
    BodyDigest,
    Document,
    Status,
)
from sitemapreader._types.urls import url_key
from sitemapreader._walk.memory import DocumentMemory
from sitemapreader.changes.decision import RequestDecision
from sitemapreader.changes.entries import ChangedEntries, UnsentEntries
from sitemapreader.changes.reading import DocumentReading, make_last_reading
from sitemapreader.changes.rows import load_document, update_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sitemapreader._types.models import SitemapEntry
    from sitemapreader._types.rows import Rows
    from sitemapreader._walk.memory import LastReading
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.state_writer import StateWriter

ACK_ENTRIES = 500
"""Entries of one acknowledgement: the most of a document that come twice after a `kill -9`.

A batch that waited for room is saved with the batches that others have offered meanwhile."""


class DocumentTracker(DocumentMemory):
    """The state of one document, and the additions of this walk.

    Attributes:
        settled: the outcome of a document that is not requested; else `None`.
        known_version: the version that the response is compared with.
    """

    needs_digest = True

    def __init__(
        self,
        db: Connection,
        writer: StateWriter,
        sitemap: Sitemap,
    ) -> None:
        self._writer = writer
        self._row = row = load_document(db, writer.run, url_key(sitemap.entry.loc))
        self.batch_entries = ACK_ENTRIES
        self._is_guess = sitemap.entry.via.is_guess
        self._decision = decision = RequestDecision(row, writer, sitemap)
        self._reading = DocumentReading(
            row, writer.run, sitemap.entry, decision.asked_at
        )
        self._entries: UnsentEntries | ChangedEntries
        if writer.run.has_changes:
            self._entries = ChangedEntries(row, writer, self._reading)
        else:
            self._entries = UnsentEntries(db, row, writer)
        self.known_version = decision.known_version
        self.settled = decision.outcome

    @property
    def last_reading(self) -> LastReading:
        """The last reading of the document."""
        return make_last_reading(self._row, self._writer.run)

    def receive(self, headers: Mapping[str, str]) -> None:
        """Take the headers of the response whose body is read now."""
        self._reading.headers = headers

    def add_children(self, entries: Iterable[SitemapEntry]) -> None:
        """Remember children of the document."""
        self._reading.add_children(entries)

    async def select(self, rows: Rows) -> Rows:
        """Return the entries that were not delivered; with `changes`, set their `change`."""
        self._reading.add_entries(rows)
        return await self._entries.select(rows)

    async def record(
        self,
        passed: Rows,
        unique: Rows,
        sent: int,
    ) -> None:
        """Save the entries of the last `select` when they are acknowledged."""
        await self._entries.record(passed, unique, sent)

    async def finish(
        self,
        document: Document,
        body: BodyDigest | None,
        *,
        is_window: bool,
    ) -> None:
        """Save the outcome once it is acknowledged; `body` if the document was requested."""
        if self._decision.keeps_row:
            return
        if document.status is Status.SKIPPED and self._is_guess:
            await self._decision.note_wrong_guess(document)
            return
        entries = self._entries
        await entries.end()
        if body is not None or document.status is Status.FAILED:
            self._decision.note(document, entries.news)
        filters = None
        if entries.is_withheld:
            filters = self._decision.mark_filters(document.final_url)
        found = self._reading.list_columns(
            document,
            body,
            is_dated=self._decision.is_dated,
            is_window=is_window or (document.listed > 0 and entries.is_recent),
            filters=filters,
        )
        # A resumed walk does not read it again; but `unique` must know what came from it.
        is_read = (
            entries.has_batches
            and document.status in FINISHED_STATUSES
            and not self._writer.settings.selection.unique
        )
        await self._writer.commit_on_ack(
            lambda db: update_document(db, self._row, found, is_read=is_read)
        )
