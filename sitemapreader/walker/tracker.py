"""DocumentTracker: the state of one document before, during and after its visit."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import attrs

from sitemapreader.dates import LastmodTally, is_since, parse_lastmod
from sitemapreader.discovery.download import PriorVersion
from sitemapreader.issues import without_userinfo
from sitemapreader.models import Change, SitemapEntry, UrlEntry, Via
from sitemapreader.outcomes import (
    FINISHED_BEFORE,
    NOT_DUE,
    SAME_FEED,
    SAME_LASTMOD,
    Document,
    Status,
)
from sitemapreader.state.kept import make_refusal
from sitemapreader.state.rows import Kind, digest, hash_record, hash_url
from sitemapreader.state.schedule import Asking
from sitemapreader.urls import folder_of
from sitemapreader.walker.filters import covers, mark_filters

if TYPE_CHECKING:
    from sitemapreader.outcomes import BodyDigest
    from sitemapreader.state.store import DocumentStore
    from sitemapreader.walker.frontier import Job
    from sitemapreader.walker.state_writer import StateWriter

_READ = frozenset({Status.COMPLETE, Status.PARTIAL})
_OFFERED = frozenset({Change.NEW, Change.CHANGED})
_ARCHIVE = "archive"
"""Stands in the place of a lastmod at the link to a page that never changes."""


@attrs.define(eq=False)
class Compared:
    """Some entries of a document, and how they compare with the state."""

    entries: list[UrlEntry]
    keys: list[bytes]
    records: list[bytes]
    changes: list[Change | None]
    offered: list[UrlEntry]
    """Those that are delivered, if they pass the filters."""

    def cut(self, end: UrlEntry) -> None:
        """Leave only the entries before one of them."""
        at = next(n for n, entry in enumerate(self.entries) if entry is end)
        before = set(map(id, self.entries[:at]))
        self.offered = [entry for entry in self.offered if id(entry) in before]
        for values in (self.entries, self.keys, self.records, self.changes):
            del values[at:]


class DocumentTracker:
    """The state of one document, and what this walk adds."""

    def __init__(
        self,
        writer: StateWriter,
        store: DocumentStore,
        job: Job,
    ) -> None:
        self.known = known = store.row
        self._writer = writer
        self._store = store
        self._config = writer.config
        self._entry = job.entry
        self._scope = job.scope
        self._parent_read = job.parent.last_read if job.parent else None
        is_child = job.parent is not None and job.entry.via is Via.INDEX
        self._index = job.parent.key if is_child and job.parent else ""
        self._is_doubtful = job.entry.via.is_guess and known.read_run is None
        self._asked_at = writer.clock()
        self._news = self._changed = 0
        self._lastmods = LastmodTally(self._asked_at)
        self._listed = 0
        self._withheld = False
        self._children: list[tuple[str, str | None]] = []
        self._batches = deque(store.load_batches())
        """What the resumed walk has delivered of the document."""
        self._waiting: list[UrlEntry] = []
        self._has_changed = False
        is_covered = self._covers(known.filters, known.final_url)
        if self._config.changes:  # one without them has not saved what it delivered
            is_covered &= bool(known.is_saved) or known.read_run is None
        self._is_usable = bool(known.complete) and is_covered
        self._is_dated = self._compare_lastmod()
        self.was_finished = store.is_finished and is_covered
        self.is_postponed = is_covered and not store.is_finished and not self._decide_due()

    @classmethod
    async def open(
        cls,
        writer: StateWriter,
        job: Job,
    ) -> Self:
        """Return the tracker of a sitemap."""
        async with writer.turn():
            return cls(writer, writer.open_document(job.entry.loc), job)

    def _covers(self, filters: str | None, final_url: str) -> bool:
        """Return whether earlier filters delivered all entries that pass now."""
        return filters is None or covers(filters, self._mark(final_url))

    def _mark(self, final_url: str) -> str:
        folders = (*self._scope, folder_of(self._entry.loc), folder_of(final_url))
        return mark_filters(self._config, folders)

    # -- when to come back

    def _decide_due(self) -> bool:
        """Return whether the document is due; record what a later round needs."""
        due, key, seen = self._writer.round, self.known.url, self._writer.seen
        if due is None or key in due.chosen:
            return True
        if self._entry.via is Via.PAGE:  # it changes with the page before it
            return self._parent_read is None
        row = self._store.load_schedule()
        if self._is_doubtful:
            return row is None or row.is_ready(self._asked_at)
        if row is None and not self._store.is_known and self._parent_read is None:
            return True  # its index was read now, and lists it for the first time
        if row is None:
            seen.unread[key] = self._index
        return False

    def _note_asking(self, document: Document) -> None:
        """Record the outcome of the request."""
        is_failed = document.status is Status.FAILED
        self._writer.seen.askings[self.known.url] = Asking(
            self._asked_at,
            self._index,
            has_no_turn=self._entry.via is Via.PAGE or (self._is_doubtful and is_failed),
            is_failed=is_failed,
            news=self._news,
            retry_after=document.retry_after_seconds or 0.0,
        )

    async def _note_wrong_guess(self, document: Document) -> None:
        """Record for the rounds of a day that no sitemap is at a guessed path."""
        if self._config.revisit is None:
            return
        self._writer.seen.absent.add(self.known.url)
        if document.tries and document.via is Via.WELL_KNOWN:
            answer = make_refusal(document.url, document.http_status)
            await self._writer.keep(document.url, answer)

    # -- before the visit

    @property
    def idle(self) -> frozenset[str]:
        """The children with which nothing is to be done, if the document is not asked."""
        due = self._writer.round
        if due is None or not self.is_postponed or self._writer.is_resumed:
            return frozenset()
        return due.idle

    @property
    def was_read(self) -> bool:
        """Whether the document was ever read under this address."""
        return self.known.read_run is not None

    @property
    def is_current(self) -> bool:
        """Whether its index, or the feed that it is a page of, shows that it is unchanged."""
        if not self._is_usable:
            return False
        if self._entry.via is Via.PAGE:
            return self._trusts_feed()
        is_chosen = self._writer.round is not None  # what is due is asked for
        return (
            self._config.prune
            and self._is_dated
            and self._is_recent()
            and not is_chosen
            and self._store.believes(self.known.dates)
        )

    def _trusts_feed(self) -> bool:
        """Return whether a page of a feed need not be fetched again.

        An archive never changes. Any other page is as it was while the page before it is, and if it
        was read since that has changed; but not for ever.
        """
        known, parent_read = self.known, self._parent_read
        return self._entry.is_archive or (
            parent_read is not None
            and (known.seen_run or 0) >= parent_read
            and known.status != Status.FAILED
            and self._is_recent()
        )

    def _is_recent(self) -> bool:
        """Return whether the document was confirmed recently enough to be trusted."""
        age = self._writer.clock() - (self.known.read_at or 0)
        return 0 <= age < self._writer.trust_seconds

    def _compare_lastmod(self) -> bool:
        """Return whether the lastmod in an index says that a child is unchanged."""
        # Not if the child was read within the day, or the second, that its lastmod names: it may
        # have been written again after that.
        entry, known = self._entry, self.known
        if (
            entry.via is not Via.INDEX
            or entry.lastmod is None
            or _lastmod_of(entry) != known.lastmod
            or known.read_at is None
        ):
            return False
        read_at = datetime.fromtimestamp(known.read_at, UTC)
        return not is_since(entry.lastmod, entry.lastmod_text, read_at)

    def outcome(self) -> tuple[Status, str]:
        """Return the outcome of a document that is not fetched."""
        if self.is_postponed and self.known.status == Status.FAILED:
            return Status.SKIPPED, self.known.reason or str(Status.FAILED)
        if self.is_postponed:
            return Status.SKIPPED, NOT_DUE
        if not self.was_finished:
            is_page = self._entry.via is Via.PAGE
            return Status.UNCHANGED, SAME_FEED if is_page else SAME_LASTMOD
        return Status(self.known.status), self.known.reason or FINISHED_BEFORE

    def make_prior_version(self) -> PriorVersion:
        """Return the prior version for the visit."""
        known = self.known
        if not self._is_usable:
            return PriorVersion()
        if not self._store.believes(known.validators):
            return PriorVersion({}, known.final_url, known.kind, known.body)
        headers = {
            name: value
            for name, value in (
                ("If-None-Match", known.etag),
                ("If-Modified-Since", known.last_modified),
            )
            if value
        }
        return PriorVersion(headers, known.final_url, known.kind, known.body)

    def restore(self, document: Document) -> None:
        """Fill in a document that is not fetched, from its last reading."""
        known = self.known
        document.final_url = known.final_url
        document.format = known.kind
        document.etag, document.last_modified = known.etag, known.last_modified
        document.listed = known.entries if self._store.was_read_now else 0

    async def list_children(self) -> list[SitemapEntry]:
        """Return the children that the document had."""
        sitemap, kind = self.known.final_url, self.known.kind
        async with self._writer.turn():
            known = self._store.children()
        if kind is not None and kind.is_feed:
            return [
                SitemapEntry(loc, None, Via.PAGE, sitemap, is_archive=mark == _ARCHIVE)
                for loc, mark in known
            ]
        return [
            SitemapEntry(
                loc,
                None if lastmod is None else parse_lastmod(lastmod),
                sitemap=sitemap,
                lastmod_text=lastmod,
            )
            for loc, lastmod in known
        ]

    # -- during the visit

    def add_children(self, entries: list[SitemapEntry]) -> None:
        """Remember children of the document, without passwords."""
        for entry in entries:
            mark = _ARCHIVE if entry.is_archive else _lastmod_of(entry)
            self._children.append((without_userinfo(entry.loc), mark))

    def drop_repeated(self, entries: list[UrlEntry]) -> list[UrlEntry]:
        """Return the entries that the resumed walk has not delivered.

        While that is not known of them, they wait; `take_rest` returns them at the end.
        """
        if not self._batches and not self._waiting:
            return entries
        self._waiting += entries
        while self._batches and len(self._waiting) >= self._batches[0][0]:
            size, expected, filters = self._batches.popleft()
            locs = [entry.loc for entry in self._waiting[:size]]
            if digest(locs) != expected or not self._covers(filters, self.known.final_url):
                self._batches.clear()  # the document has changed since
                self._has_changed = True
                break
            del self._waiting[:size]
            self._listed += size
            self._withheld |= filters is not None
        return [] if self._batches else self.take_rest()

    def take_rest(self) -> list[UrlEntry]:
        """Return the entries that wait, at the end of the document."""
        rest, self._waiting = self._waiting, []
        self._batches.clear()
        return rest

    async def compare(self, entries: list[UrlEntry]) -> Compared:
        """With `changes`, compare entries with the state, and set their `change`."""
        if not self._config.changes:
            return Compared(entries, [], [], [], entries)
        keys = [hash_url(entry.loc) for entry in entries]
        records = [hash_record(entry) for entry in entries]
        async with self._writer.turn():
            changes = self._store.compare(keys, records)
        self._changed += changes.count(Change.CHANGED)
        for entry, change in zip(entries, changes, strict=True):
            # What was deleted becomes unlisted at the end of the walk. Other words of a record say
            # what has happened since some day; the comparison, what has since the last walk.
            entry.change = entry.change if entry.change is Change.UNLISTED else change
        offered = [entry for entry in entries if entry.change in _OFFERED]
        return Compared(entries, keys, records, changes, offered)

    async def record(
        self, document: Document, compared: Compared, passed: list[UrlEntry], sent: list[UrlEntry]
    ) -> None:
        """Save entries when they are acknowledged.

        `passed` are those that passed the filters; `unique` may have dropped some of them.
        """
        entries, offered, store = compared.entries, compared.offered, self._store
        self._listed += len(entries)
        self._lastmods.add([entry.lastmod for entry in entries])
        self._news += [entry.change for entry in sent].count(Change.NEW)
        is_withheld = len(sent) < len(offered)
        self._withheld |= is_withheld
        locs = [entry.loc for entry in entries]
        if not self._config.changes:
            filters = self._mark(document.final_url) if is_withheld else None
            keeps, is_anew, self._has_changed = self._config.unique, self._has_changed, False
            await self._writer.commit_on_ack(
                lambda: store.log_batch(locs, filters, keeps=keeps, is_anew=is_anew)
            )
            return
        kinds = [
            Kind.DELETED if entry.change is Change.UNLISTED else Kind.SENT for entry in entries
        ]
        if is_withheld:
            given, met = set(map(id, sent)), set(map(id, passed))
            held = set(map(id, offered)) - given
            for n, entry in enumerate(entries):
                # What `unique` drops was handed over by another document, so its URL is known.
                if id(entry) in held:
                    is_known = compared.changes[n] is not Change.NEW or id(entry) in met
                    kinds[n] = Kind.OUTDATED if is_known else Kind.UNDELIVERED
        marks = [(kind, bool(entry.news)) for kind, entry in zip(kinds, entries, strict=True)]
        keys, records = compared.keys, compared.records
        await self._writer.commit_on_ack(lambda: store.log(keys, records, locs, marks))

    def _judge_lastmods(self, document: Document) -> str:
        """Return what the lastmods look like; what they did if not all of them were seen."""
        known, tally = self.known, self._lastmods
        if document.status is not Status.COMPLETE or tally.number != self._listed:
            return known.lastmods
        has_news = self._news or document.listed != known.entries
        kind = tally.judge(0 if has_news else self._changed)
        return kind.confirm(known.lastmods) if tally.number else ""

    def _filters(self, document: Document) -> str | None:
        """Return the filters if they left out entries of the document; else `None`."""
        return self._mark(document.final_url) if self._withheld else None

    # -- after the visit

    async def finish(
        self, document: Document, body: BodyDigest | None = None, *, is_window: bool = False
    ) -> None:
        """Save the outcome once it is acknowledged; `body` if the document was requested."""
        store = self._store
        lastmod, asked_at, children = _lastmod_of(self._entry), self._asked_at, self._children
        filters, lastmods = self._filters(document), self._judge_lastmods(document)
        if document.status is Status.SKIPPED and self._entry.via.is_guess:
            await self._note_wrong_guess(document)
            return
        if body is not None or document.status is Status.FAILED:
            self._note_asking(document)

        def write() -> None:
            if body is not None and document.status is Status.UNCHANGED:
                store.save_confirmed(document, lastmod, asked_at)
            elif body is not None and document.status in _READ:
                store.save_reading(
                    document,
                    body=body,
                    lastmod=lastmod,
                    asked_at=asked_at,
                    filters=filters,
                    children=children,
                    is_window=is_window,
                    was_dated=self._is_dated,
                    lastmods=lastmods,
                )
            else:
                store.save_outcome(document)

        await self._writer.commit_on_ack(write)


def _lastmod_of(entry: SitemapEntry) -> str | None:
    if entry.lastmod is None:
        return None
    return entry.lastmod_text or entry.lastmod.isoformat()
