"""DueCheck: decides if a walk requests a document, and reports the request to the schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader._types.models import Via
from sitemapreader._types.outcomes import (
    FINISHED_BEFORE,
    FINISHED_STATUSES,
    NOT_DUE,
    Document,
    Status,
)
from sitemapreader.changes.schedule import DocumentRequest, is_ready
from sitemapreader.fetch.local import StoredResponse

if TYPE_CHECKING:
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.changes.rows import DocumentRow
    from sitemapreader.changes.state_writer import StateWriter

_NOT_FOUND = 404


class DueCheck:
    """The check of whether a document is due in one walk.

    Attributes:
        asked_at: when the walk came to the document, in seconds since 1970.
    """

    def __init__(
        self,
        row: DocumentRow,
        writer: StateWriter,
        sitemap: Sitemap,
    ) -> None:
        self.asked_at = writer.clock()
        self._row = row
        self._writer = writer
        self._parent = sitemap.parent
        self._is_unread_guess = sitemap.entry.via.is_guess and row.digest is None

    def find_outcome(self) -> tuple[Status, str] | None:
        """Return the outcome of a document that is finished or not due; else `None`."""
        run = self._writer.run
        row = self._row
        if (
            run.is_resumed
            and row.seen_stamp >= run.begin_stamp
            and row.status in FINISHED_STATUSES
        ):
            return Status(row.status), row.reason or FINISHED_BEFORE
        if self._decide_due():
            return None
        if row.status == Status.FAILED:
            return Status.SKIPPED, row.reason or Status.FAILED
        return Status.SKIPPED, NOT_DUE

    def note(self, document: Document, news: int) -> None:
        """Record the outcome of the request, with the number of URLs that are new."""
        is_failed = document.status is Status.FAILED
        self._writer.requests[self._row.url] = DocumentRequest(
            self.asked_at,
            self._index,
            is_unscheduled=self._is_unread_guess and is_failed,
            is_failed=is_failed,
            news=news,
            retry_after=document.retry_after_seconds or 0.0,
        )

    async def note_wrong_guess(self, document: Document) -> None:
        """Record for the rounds of a day that no sitemap is at a guessed path."""
        if self._writer.settings.revisit is None:
            return
        self._writer.requests[self._row.url] = DocumentRequest(
            self.asked_at, is_failed=True
        )
        if document.tries and document.via is Via.WELL_KNOWN:
            await self._writer.keep_response(
                document.url, StoredResponse(document.url, status=_NOT_FOUND)
            )

    @property
    def _index(self) -> str:
        return self._parent.key if self._parent else ""

    def _decide_due(self) -> bool:
        """Return whether the document is due; record one that waits for its first request."""
        chosen = self._writer.run.chosen
        row = self._row
        if chosen is None or row.url in chosen:
            return True
        if self._is_unread_guess:
            return is_ready(row, self.asked_at)
        if row.id is None and not (self._parent and self._parent.was_read_before):
            return True  # its index was read now, and lists it for the first time
        if row.asked_at is None:
            self._writer.requests[row.url] = DocumentRequest(index=self._index)
        return False
