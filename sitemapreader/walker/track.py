"""What the state knows of one document of a walk, and how it learns what becomes of it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sitemapreader.dates import is_since, parse_lastmod
from sitemapreader.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader.report import FINISHED_BEFORE, SAME_LASTMOD, Document, Status
from sitemapreader.state.known import Progress
from sitemapreader.state.listing import pack_locs
from sitemapreader.state.marks import marks_of
from sitemapreader.visits.past import Past

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.state.account import Account
    from sitemapreader.visits.visit import Visit
    from sitemapreader.walker.recorder import Recorder

RECEIPT_ENTRIES = 500
"""Entries that are handed over at once, and so the most that come twice after a `kill -9`."""
_READ = frozenset({Status.COMPLETE, Status.PARTIAL})


class Track:
    """What the state knows of one document, and what it is to know.

    Attributes:
        known: what it knows.
    """

    def __init__(self, recorder: Recorder, account: Account, entry: SitemapEntry) -> None:
        self.known = known = account.known
        self._recorder = recorder
        self._account = account
        self._plan = recorder.plan
        self._entry = entry
        self._visit: Visit | None = None
        self._asked_at = time.time()
        self._offset = 0
        self._children: list[tuple[str, str | None]] = []
        self._is_usable = known.complete and (known.is_listed or not self._plan.changes)
        self._progress = account.progress() if recorder.is_resumed else None

    # -- before the visit

    @property
    def was_finished(self) -> bool:
        """Tell whether this walk was through with it before it was stopped."""
        return self._account.is_finished

    @property
    def is_current(self) -> bool:
        """Tell whether its index says that it is as it was, and may be believed."""
        return self._is_usable and not self._progress and self._is_believed()

    def _is_believed(self) -> bool:
        """Tell whether an index may say that a child is as it was when it was read.

        Not if it was written within the day, or the second, that its lastmod names: it may have
        been written once more after it was read. And not for ever.
        """
        entry, known = self._entry, self.known
        if (
            entry.via is not Via.INDEX
            or entry.lastmod is None
            or _stamp_of(entry) != known.lastmod
            or known.read_at is None
            or not self._plan.prune
        ):
            return False
        age = time.time() - known.read_at
        return 0 <= age < self._recorder.believed_seconds and not is_since(
            entry.lastmod, entry.lastmod_text, datetime.fromtimestamp(known.read_at, UTC)
        )

    def outcome(self) -> tuple[Status, str]:
        """Return the outcome of one that is not fetched."""
        if not self.was_finished:
            return Status.UNCHANGED, SAME_LASTMOD
        return Status(self.known.status), self.known.reason or FINISHED_BEFORE

    def past(self) -> Past:
        """Return what the visit has to know."""
        known, progress = self.known, self._progress
        if progress is not None:
            return Past(final_url=progress.final_url, start=progress.start, offset=progress.entries)
        if not self._is_usable:
            return Past()
        headers = {
            name: value
            for name, value in (
                ("If-None-Match", known.etag),
                ("If-Modified-Since", known.last_modified),
            )
            if value
        }
        return Past(headers, known.final_url, known.format, known.body)

    def follow(self, visit: Visit) -> None:
        """Take note of who visits it."""
        self._visit = visit

    def recall(self, document: Document) -> None:
        """Describe a document that is not fetched as it was."""
        known = self.known
        document.final_url = known.final_url
        document.format = known.format
        document.etag, document.last_modified = known.etag, known.last_modified
        document.listed = known.entries if self._account.was_read_now else 0

    def children(self) -> list[SitemapEntry]:
        """Return the children that it had."""
        sitemap = self.known.final_url
        return [
            SitemapEntry(
                loc,
                None if lastmod is None else parse_lastmod(lastmod),
                sitemap=sitemap,
                lastmod_text=lastmod,
            )
            for loc, lastmod in self._account.children()
        ]

    # -- during the visit

    def begin(self, offset: int) -> None:
        """Take note of how many entries are not given again, because they were handed over."""
        self._offset = offset
        if self._progress and not offset:
            self._recorder.post(self._account.restart)

    def take_children(self, entries: list[SitemapEntry]) -> None:
        """Remember children."""
        self._children += [(entry.loc, _stamp_of(entry)) for entry in entries]

    def portions(self, entries: list[UrlEntry]) -> Iterator[list[UrlEntry]]:
        """Yield entries in portions for each of which there is a receipt."""
        for start in range(0, len(entries), RECEIPT_ENTRIES):
            yield entries[start : start + RECEIPT_ENTRIES]

    def compare(self, entries: list[UrlEntry]) -> tuple[list[UrlEntry], bytes]:
        """Return the entries that are to be handed over, marked as what they are, and their marks.

        Without `changes` these are all, and there are no marks.
        """
        if not self._plan.changes:
            return entries, b""
        marks = marks_of(entries)
        found = self._account.compare(marks)
        for position, change in found.items():
            entries[position].change = change
        return [entries[position] for position in sorted(found)], marks

    def record(self, entries: list[UrlEntry], marks: bytes, kept: list[UrlEntry]) -> None:
        """Have a portion written down, of which `kept` was sent."""
        if self._visit is None:
            raise RuntimeError("a document is followed before it is recorded")
        self._offset += len(entries)
        progress = Progress(
            self._offset, self._visit.document.final_url, self._visit.imprint.body()
        )
        locs = pack_locs([entry.loc for entry in entries]) if marks else b""
        unique = pack_locs([entry.loc for entry in kept]) if self._plan.unique and kept else b""
        account = self._account

        def write() -> None:
            account.note_progress(progress)
            if marks:
                account.note_chunk(marks, locs)
            if unique:
                account.note_delivered(unique)

        self._recorder.post(write)

    # -- after the visit

    def finish(self, document: Document) -> None:
        """Have the outcome written down."""
        account, visit = self._account, self._visit
        lastmod, asked_at, children = _stamp_of(self._entry), self._asked_at, self._children

        def write() -> None:
            account.note_outcome(document)
            if visit is None:
                return
            if document.status is Status.UNCHANGED:
                account.note_confirmed(document, lastmod, asked_at)
            elif document.status in _READ:
                account.note_reading(
                    document,
                    body=visit.imprint.body(),
                    lastmod=lastmod,
                    asked_at=asked_at,
                    children=children if document.format is Format.INDEX else [],
                )

        self._recorder.post(write)


def _stamp_of(entry: SitemapEntry) -> str | None:
    if entry.lastmod is None:
        return None
    return entry.lastmod_text or entry.lastmod.isoformat()
