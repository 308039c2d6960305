"""The part of a walk that remembers: asks the state what is known, and writes down what happens.

What was handed over is written down when the consumer asks for more, and not before: that is its
receipt. So a walk that is killed goes on with the batch that the consumer had in hand; this one
batch may come twice, and nothing is lost.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from sitemapreader.dates import is_since, parse_lastmod
from sitemapreader.errors import StateError
from sitemapreader.models import Format, SitemapEntry, UrlEntry, Via
from sitemapreader.report import FINISHED_BEFORE, SAME_LASTMOD, Document, Status
from sitemapreader.state.book import Book, Known, Progress
from sitemapreader.state.listing import pack_locs
from sitemapreader.state.marks import marks_of
from sitemapreader.state.state import name_of_sitemaps
from sitemapreader.urls import url_key
from sitemapreader.visits.past import Past

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sitemapreader.state import State
    from sitemapreader.visits.trip import Batch
    from sitemapreader.visits.visit import Visit
    from sitemapreader.walker.channel import Channel
    from sitemapreader.walker.plan import Plan

T = TypeVar("T")

RECEIPT_ENTRIES = 500
"""Entries that are handed over at once, and so the most that come twice after a `kill -9`."""
_SYNC_SECONDS = 1.0
_READ = frozenset({Status.COMPLETE, Status.PARTIAL})


class Recorder:
    """What one walk has to do with its state.

    Attributes:
        plan: what the walk is asked to do.
        name: under which the state has the site.
        book: the state.
    """

    def __init__(self, state: State, plan: Plan, channel: Channel[Batch]) -> None:
        self.plan = plan
        self.name = _name_of(plan)
        self._state = state
        self._channel = channel
        self.book = Book(state.path, self.name, _options_of(plan), lists=plan.changes)
        self._received = 0
        self._due: deque[tuple[int, Callable[[], None]]] = deque()
        self._is_synced = True

    @property
    def is_resumed(self) -> bool:
        """Whether the walk goes on where another one was stopped."""
        return self.book.is_resumed

    @property
    def renamed(self) -> str:
        """What an unusable file that was in the state's place is called now, or ""."""
        return str(self.book.renamed or "")

    def close(self) -> None:
        """Let go of the file."""
        self.book.close()

    # -- the walk

    async def begin(self) -> None:
        """Begin a walk, or go on with one that was stopped."""
        await self._elsewhere(self.book.begin)

    async def finish(self, *, complete: bool, listed: Iterable[str]) -> int | None:
        """Wait until the consumer has taken all; then settle, and return how many URLs are gone."""
        await self._channel.run_dry()
        self.receive()
        finish = functools.partial(self.book.finish, complete=complete, listed=listed)
        removed = await self._elsewhere(finish)
        await self._elsewhere(self.book.sync)
        return removed

    async def keep_synced(self) -> None:
        """Bring onto the disk what was written, once a second, until it is cancelled."""
        while True:
            await asyncio.sleep(_SYNC_SECONDS)
            if not self._is_synced:
                self._is_synced = True
                await self._elsewhere(self.book.sync)

    async def _elsewhere(self, work: Callable[[], T]) -> T:
        """Have something done in a thread; it is ended, and waited for, if nobody wants it more."""
        task = asyncio.create_task(asyncio.to_thread(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            while not task.done():
                self.book.interrupt()
                with suppress(asyncio.CancelledError, StateError):
                    await asyncio.wait([task], timeout=0.05)
            if not task.cancelled():
                task.exception()
            raise

    # -- receipts

    def receive(self) -> None:
        """Take note that the consumer asks for more: it is through with all that it was given."""
        self._received = self._channel.taken
        self._write_due()

    def post(self, write: Callable[[], None]) -> None:
        """Have something written down when the consumer is through with all that was sent."""
        self._due.append((self._channel.sent, write))
        if self._channel.sent <= self._received:
            self._write_due()

    def _write_due(self) -> None:
        due = self._due
        if not due or due[0][0] > self._received:
            return
        with self.book.transaction():
            while due and due[0][0] <= self._received:
                due.popleft()[1]()
        self._is_synced = False

    # -- documents

    def track(self, entry: SitemapEntry) -> Track:
        """Return what is known of a sitemap, and the one who writes down what becomes of it."""
        return Track(self, self.book.find(url_key(entry.loc)), entry)

    def believes(self, known: Known, entry: SitemapEntry) -> bool:
        """Tell whether an index may say that a child is as it was when it was read.

        Not if it was written within the day, or the second, that its lastmod names: it may have
        been written once more after it was read. And not for ever.
        """
        stamp = _stamp_of(entry)
        if (
            entry.via is not Via.INDEX
            or entry.lastmod is None
            or stamp != known.lastmod
            or known.read_at is None
            or not self.plan.prune
        ):
            return False
        age = time.time() - known.read_at
        return 0 <= age < self._state.revalidate_after.total_seconds() and not is_since(
            entry.lastmod, entry.lastmod_text, _moment(known.read_at)
        )

    def delivered(self) -> Iterator[list[str]]:
        """Yield the URLs that were handed over before the walk was stopped."""
        return self.book.delivered()


class Track:
    """What the state knows of one document, and what it is to know.

    Attributes:
        known: what it knows.
    """

    def __init__(self, recorder: Recorder, known: Known, entry: SitemapEntry) -> None:
        self.known = known
        self._recorder = recorder
        self._book = recorder.book
        self._plan = recorder.plan
        self._entry = entry
        self._visit: Visit | None = None
        self._asked_at = time.time()
        self._offset = 0
        self._children: list[tuple[str, str | None]] = []
        self._is_usable = known.complete and (known.is_listed or not self._plan.changes)
        self._progress = self._book.progress_of(known.id) if self._book.is_resumed else None

    # -- before the visit

    @property
    def was_finished(self) -> bool:
        """Tell whether this walk was through with it before it was stopped."""
        return self._book.is_finished(self.known)

    @property
    def is_current(self) -> bool:
        """Tell whether its index says that it is as it was, and may be believed."""
        return (
            self._is_usable
            and not self._progress
            and self._recorder.believes(self.known, self._entry)
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
        document.entries = (
            known.entries if self.was_finished and known.read_run == self._book.run else 0
        )

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
            for loc, lastmod in self._book.children_of(self.known.id)
        ]

    # -- during the visit

    def begin(self, offset: int) -> None:
        """Take note of how many entries are not given again, because they were handed over."""
        self._offset = offset
        if self._progress and not offset:
            self._recorder.post(functools.partial(self._book.restart, self.known.id))

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
        found = self._book.compare(self.known.id, marks)
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
        book, number = self._book, self.known.id

        def write() -> None:
            book.note_progress(number, progress)
            if marks:
                book.note_chunk(number, marks, locs)
            if unique:
                book.note_delivered(unique)

        self._recorder.post(write)

    # -- after the visit

    def finish(self, document: Document) -> None:
        """Have the outcome written down."""
        book, number, visit = self._book, self.known.id, self._visit
        lastmod, asked_at, children = _stamp_of(self._entry), self._asked_at, self._children

        def write() -> None:
            book.note_outcome(number, document)
            if visit is None:
                return
            if document.status is Status.UNCHANGED:
                book.note_confirmed(number, document, lastmod, asked_at)
            elif document.status in _READ:
                book.note_reading(
                    number,
                    document,
                    body=visit.imprint.body(),
                    lastmod=lastmod,
                    asked_at=asked_at,
                    children=children if document.format is Format.INDEX else [],
                )

        self._recorder.post(write)


def _name_of(plan: Plan) -> str:
    if plan.search is not None and not plan.sitemaps:
        return url_key(plan.search.site)
    named = [entry.loc for entry in plan.sitemaps]
    return name_of_sitemaps([plan.search.site, *named] if plan.search else named)


def _options_of(plan: Plan) -> bytes:
    """Return a hash of all that decides what a walk hands over."""
    search, follow = plan.search, plan.follow
    parts: list[Any] = [
        plan.since,
        plan.include,
        plan.exclude,
        plan.undated,
        plan.prune,
        plan.unique,
        plan.hosts,
        plan.scope,
        plan.respect_robots,
        plan.changes,
        search and (search.probe, search.extra_paths, search.feeds),
        follow and (getattr(follow, "__module__", ""), getattr(follow, "__qualname__", "")),
    ]
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _stamp_of(entry: SitemapEntry) -> str | None:
    if entry.lastmod is None:
        return None
    return entry.lastmod_text or entry.lastmod.isoformat()


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
