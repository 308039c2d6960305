"""RequestDecision: the decision of a walk whether it requests a document, by its last reading.

It also reports the requests to the schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader._types.dates import is_over
from sitemapreader._types.models import Via
from sitemapreader._types.outcomes import (
    FINISHED_BEFORE,
    FINISHED_STATUSES,
    NOT_DUE,
    SAME_LASTMOD,
    BodyDigest,
    Document,
    Status,
)
from sitemapreader._types.urls import folder_of
from sitemapreader._walk.download import KnownVersion
from sitemapreader.changes.rows import as_moment, write_lastmod
from sitemapreader.changes.schedule import DocumentRequest, is_ready
from sitemapreader.fetch.local import StoredResponse
from sitemapreader.fetch.validators import make_validators

if TYPE_CHECKING:
    from sitemapreader._walk.sitemap import Sitemap
    from sitemapreader.changes.rows import DocumentRow
    from sitemapreader.changes.state_writer import StateWriter

_NOT_FOUND = 404


class RequestDecision:
    """The decision of one walk about the request of a document.

    Attributes:
        asked_at: when the walk came to the document, in seconds since 1970.
        is_dated: True if the date in its index is the one under which it was read.
        outcome: the outcome of a document that is not requested; else `None`.
        keeps_row: True if the row of the document stays as it is.
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
        self._sitemap = sitemap
        self._is_unread_guess = sitemap.entry.via.is_guess and row.digest is None
        self.is_dated = self._compare_lastmod()
        self._is_covered = self._covers_filters()
        self.outcome = self._find_outcome() if self._is_covered else None
        self.keeps_row = self.outcome is not None
        if self.outcome is None and self._is_current():
            self.outcome = Status.UNCHANGED, SAME_LASTMOD

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

    def mark_filters(self, final_url: str) -> str:
        """Return the filters of the walk for the document, as text."""
        loc = self._sitemap.entry.loc
        folders = (*self._sitemap.scope, folder_of(loc), folder_of(final_url))
        return self._writer.settings.selection.mark_filters(folders)

    @property
    def known_version(self) -> KnownVersion:
        """The version that the response is compared with."""
        row = self._row
        if not self._is_usable:
            return KnownVersion()
        if self._believes(lies=row.etag_lies):
            headers = make_validators(row.etag, row.last_modified)
        else:
            headers = {}
        if row.size is None or row.digest is None:
            return KnownVersion(headers, row.final_url)
        return KnownVersion(headers, row.final_url, BodyDigest(row.size, row.digest))

    # -- is it due?

    def _find_outcome(self) -> tuple[Status, str] | None:
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

    def _decide_due(self) -> bool:
        """Return whether the document is due; record one that waits for its first request."""
        chosen = self._writer.run.chosen
        parent = self._sitemap.parent
        row = self._row
        if chosen is None or row.url in chosen:
            return True
        if self._is_unread_guess:
            return is_ready(row, self.asked_at)
        if row.id is None and not (parent and parent.was_read_before):
            return True  # its index was read now, and lists it for the first time
        if row.asked_at is None:
            self._writer.requests[row.url] = DocumentRequest(index=self._index)
        return False

    @property
    def _index(self) -> str:
        parent = self._sitemap.parent
        return parent.key if parent else ""

    # -- what is believed of its last reading?

    def _covers_filters(self) -> bool:
        """Return whether the earlier walk delivered all entries that pass now."""
        row = self._row
        is_covered = row.filters is None or _covers(
            row.filters, self.mark_filters(row.final_url)
        )
        if self._writer.run.has_changes:
            # a walk without `changes` has not saved what it delivered
            is_covered &= bool(row.is_saved) or row.digest is None
        return is_covered

    def _is_current(self) -> bool:
        """Return whether its index shows that it is unchanged."""
        writer = self._writer
        age = writer.clock() - (self._row.read_at or 0)
        return (
            self._is_usable
            and writer.settings.follow.prune
            and self.is_dated
            and 0 <= age < writer.trust_seconds
            and writer.run.chosen is None  # what is due is asked for
            and self._believes(lies=self._row.lastmod_lies)
            and not self._sitemap.leads_up(self._row.final_url)
        )

    @property
    def _is_usable(self) -> bool:
        return bool(self._row.complete) and self._is_covered

    def _believes(self, *, lies: int) -> bool:
        """Return whether a word of the index or the server is believed; not one that has lied."""
        run = self._writer.run
        row = self._row
        is_old = run.begin_stamp - row.read_stamp >= run.distrust_after
        return not (lies or is_old or row.url in run.unverified)

    def _compare_lastmod(self) -> bool:
        # Not if the child was read within the day, the minute or the second of its lastmod: it may
        # have been written again after that.
        entry = self._sitemap.entry
        row = self._row
        if (
            entry.via is not Via.INDEX
            or entry.lastmod is None
            or write_lastmod(entry) != row.lastmod
            or row.read_at is None
        ):
            return False
        text = entry.lastmod_text or ""
        return is_over(entry.lastmod, text, as_moment(row.read_at))


def _covers(earlier: str, present: str) -> bool:
    """Return whether all that passes the present filters passed the earlier ones."""
    # A later `since` passes less, so one that moves with the days needs nothing read again.
    before, others = earlier.split(" ")
    now, same = present.split(" ")
    return others == same and before <= now
