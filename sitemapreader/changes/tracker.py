"""DocumentTracker: what is decided about a document by what the state knows of it.

Whether it is asked for, which of its entries were delivered before, and what its outcome says.
"""

from __future__ import annotations

import json
from itertools import compress, takewhile
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.changes.law import has_pending, prove
from sitemapreader.changes.rows import (
    as_moment,
    find_records,
    hash_record,
    hash_url,
    load_batches,
    load_document,
    log_entries,
    pack,
    save_batch,
    update_document,
)
from sitemapreader.changes.schedule import Asking, is_ready
from sitemapreader.dates import is_since, parse_last_modified, parse_lastmod
from sitemapreader.fetch.local import StoredResponse
from sitemapreader.issues import without_userinfo
from sitemapreader.models import Change, SitemapEntry, UrlEntry, Via
from sitemapreader.outcomes import (
    FINISHED_BEFORE,
    NOT_DUE,
    SAME_LASTMOD,
    BodyDigest,
    Document,
    Status,
)
from sitemapreader.rows import get_column, select_rows
from sitemapreader.urls import folder_of, url_key
from sitemapreader.walker.config import covers
from sitemapreader.walker.download import PriorVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.state_writer import StateWriter
    from sitemapreader.rows import Rows
    from sitemapreader.walker.frontier import Job

_READ = frozenset({Status.COMPLETE, Status.PARTIAL})
_FINISHED = _READ | {Status.UNCHANGED}
_ABSENT = 404


@attrs.define(eq=False)
class Compared:
    """Some entries of a document, and how they compare with the state."""

    offered: Rows
    """Those that are delivered, if they pass the filters."""
    entries: Sequence[UrlEntry] = ()
    """All of them; with `changes` only, as what follows."""
    keys: Sequence[bytes] = ()
    records: Sequence[bytes] = ()
    changes: Sequence[Change | None] = ()


class DocumentTracker:
    """The state of one document, and what this walk adds."""

    def __init__(self, db: Connection, writer: StateWriter, job: Job) -> None:
        run = writer.run
        self.row = row = load_document(db, run, url_key(job.entry.loc))
        self._has_lost = bool(row.id and run.has_pending and has_pending(db, run.site, row.id))
        """Its last readings lack URLs, which none has confirmed."""
        is_begun = run.is_resumed and not run.saves
        self._sent = load_batches(db, row) if is_begun else frozenset[bytes]()
        """Keys of what the resumed walk has delivered of it, without `changes`."""
        self._writer = writer
        self._config = writer.config
        self._entry = job.entry
        self._scope = job.scope
        self._parent_read = job.parent.last_read if job.parent else None
        self._index = job.parent.key if job.parent else ""
        self._is_doubtful = job.entry.via.is_guess and row.read_run is None
        self._asked_at = writer.clock()
        self._news = 0
        self._withheld = False
        self._children: list[tuple[str, str | None]] = []
        # whether earlier filters delivered all entries that pass now
        is_covered = row.filters is None or covers(row.filters, self._mark(row.final_url))
        if self._config.changes:  # one without them has not saved what it delivered
            is_covered &= bool(row.is_saved) or row.read_run is None
        self._is_usable = bool(row.complete) and is_covered
        self._is_dated = self._compare_lastmod()
        self.settled = self._find_outcome() if is_covered else None
        """The outcome of a document that is not asked for."""
        self._is_saved = self.settled is not None
        if not self._is_saved and self._is_current() and not job.leads_up(row.final_url):
            self.settled = Status.UNCHANGED, SAME_LASTMOD
        self.prior = self._make_prior_version() if self._is_usable else PriorVersion()
        """What it is compared with, if it is asked for."""

    def _mark(self, final_url: str) -> str:
        folders = (*self._scope, folder_of(self._entry.loc), folder_of(final_url))
        return self._config.mark_filters(folders)

    # -- when to come back

    def _find_outcome(self) -> tuple[Status, str] | None:
        """Return the outcome of what was finished before, or is not due; else `None`."""
        run, row = self._writer.run, self.row
        if run.is_resumed and row.seen_run == run.id and row.status in _FINISHED:
            return Status(row.status), row.reason or FINISHED_BEFORE
        if self._decide_due():
            return None
        is_failed = row.status == Status.FAILED
        return Status.SKIPPED, row.reason or Status.FAILED if is_failed else NOT_DUE

    def _decide_due(self) -> bool:
        """Return whether the document is due; record what a later round needs."""
        chosen, key = self._writer.run.chosen, self.row.url
        if chosen is None or key in chosen:
            return True
        if self._is_doubtful:
            return is_ready(self.row, self._asked_at)
        if self.row.id is None and self._parent_read is None:
            return True  # its index was read now, and lists it for the first time
        if self.row.asked_at is None:
            self._writer.askings[key] = Asking(index=self._index)
        return False

    def _note_asking(self, document: Document) -> None:
        """Record the outcome of the request."""
        is_failed = document.status is Status.FAILED
        self._writer.askings[self.row.url] = Asking(
            self._asked_at,
            self._index,
            has_no_turn=self._is_doubtful and is_failed,
            is_failed=is_failed,
            news=self._news,
            retry_after=document.retry_after_seconds or 0.0,
        )

    async def _note_wrong_guess(self, document: Document) -> None:
        """Record for the rounds of a day that no sitemap is at a guessed path."""
        if self._config.revisit is None:
            return
        self._writer.askings[self.row.url] = Asking(self._asked_at, is_failed=True)
        if document.tries and document.via is Via.WELL_KNOWN:
            await self._writer.keep(document.url, StoredResponse(document.url, status=_ABSENT))

    # -- before the visit

    def _is_current(self) -> bool:
        """Return whether its index shows that it is unchanged."""
        age = self._writer.clock() - (self.row.read_at or 0)
        return (
            self._is_usable
            and self._config.prune
            and self._is_dated
            and 0 <= age < self._writer.trust_seconds
            and self._writer.run.chosen is None  # what is due is asked for
            and self._believes(self.row.dates)
        )

    def _believes(self, proof: int) -> bool:
        """Return whether the word that the document has not changed is believed.

        `proof` is what is known of that word: `row.validators`, or `row.dates` if an index says so.
        """
        # Where something is missing, a word that was never seen to change proves nothing: the
        # document may have what is missing. And a word that never changes may be a constant.
        run, row = self._writer.run, self.row
        if run.id - row.body_run >= run.distrust_after:
            return False
        if self._has_lost:  # only its bytes tell whether that was a fault
            return False
        was_read_on_two_days = row.proven_run >= row.first_run
        return (proof > 0 and was_read_on_two_days) if run.has_pending else proof >= 0

    def _compare_lastmod(self) -> bool:
        """Return whether the lastmod in an index says that a child is unchanged."""
        # Not if the child was read within the day, or the second, that its lastmod names: it may
        # have been written again after that.
        entry, row = self._entry, self.row
        if (
            entry.via is not Via.INDEX
            or entry.lastmod is None
            or _lastmod_of(entry) != row.lastmod
            or row.read_at is None
        ):
            return False
        return not is_since(entry.lastmod, entry.lastmod_text, as_moment(row.read_at))

    def _make_prior_version(self) -> PriorVersion:
        row = self.row
        date = row.last_modified if parse_last_modified(row.last_modified or "") else None
        words = {"If-None-Match": row.etag, "If-Modified-Since": date}
        is_believed = self._believes(row.validators)
        headers = {name: value for name, value in words.items() if value and is_believed}
        if row.size is None or row.digest is None:
            return PriorVersion(headers, row.final_url)
        return PriorVersion(headers, row.final_url, BodyDigest(row.size, row.digest))

    def restore(self, document: Document) -> list[SitemapEntry]:
        """Fill in a document that is not read, from its last reading; return its children."""
        row = self.row
        document.final_url = row.final_url
        document.format = row.format
        document.etag, document.last_modified = row.etag, row.last_modified
        document.listed = row.entries if row.read_run == self._writer.run.id else 0
        via = Via.PAGE if row.format is not None and row.format.is_feed else Via.INDEX
        return [
            SitemapEntry(loc, parse_lastmod(mark or ""), via, row.final_url, lastmod_text=mark)
            for loc, mark in row.child_list
        ]

    # -- during the visit

    def add_children(self, entries: Iterable[SitemapEntry]) -> None:
        """Remember children of the document, without passwords."""
        self._children += [(without_userinfo(each.loc), _lastmod_of(each)) for each in entries]

    async def compare(self, rows: Rows) -> Compared:
        """Compare entries with what was delivered; with `changes`, set their `change`."""
        if not self._config.changes:
            sent = map(hash_url, get_column(rows, "loc")) if self._sent else ()
            return Compared(select_rows(rows, [key not in self._sent for key in sent]))
        entries = list(rows)
        keys = [hash_url(entry.loc) for entry in entries]
        records = [hash_record(entry) for entry in entries]
        known: dict[bytes, dict[int, bytes | None]] = {}
        if not self._writer.run.is_new:
            known = await self._writer.file.ask(lambda db: find_records(db, self.row, keys))
        changes = [
            _compare(known[key], self.row.id or 0, record) if key in known else Change.NEW
            for key, record in zip(keys, records, strict=True)
        ]
        # What a record says of itself happened since some day; this, since the last walk. What it
        # says was deleted is told at the end of the walk.
        listed = [entry.change is not Change.UNLISTED for entry in entries]
        for entry, change in compress(zip(entries, changes, strict=True), listed):
            entry.change = change
        offered = [entry for entry in compress(entries, listed) if entry.change is not None]
        return Compared(offered, entries, keys, records, changes)

    async def record(self, compared: Compared, passed: Rows, kept: Rows, most: int) -> None:
        """Save entries when they are acknowledged.

        `passed` are those that passed the filters; `unique` has `kept` some of them, of which so
        many were sent.
        """
        self._withheld |= most < len(compared.offered)
        if self._config.unique or not self._config.changes:
            locs = get_column(kept[:most], "loc")
            packed = pack(locs) if self._config.unique else None
            await self._writer.commit_on_ack(lambda db: save_batch(db, self.row, locs, packed))
        if not self._config.changes:
            return
        self._news += get_column(kept[:most], "change").count(Change.NEW)
        entries, rest = compared.entries, list(kept[most:])
        if rest:  # the next walk begins with this one
            entries = list(takewhile(lambda entry: entry is not rest[0], entries))
        # What `unique` drops was handed over by another document: it counts as sent.
        held = {*map(id, compared.offered)}.difference(map(id, passed))
        marks = ["S" if entry.news else "s" for entry in entries]
        for n, entry in enumerate(entries):
            if entry.change is Change.UNLISTED:
                marks[n] = "n" if compared.changes[n] is Change.NEW else "d"
            elif held and id(entry) in held:
                mark = "u" if compared.changes[n] is Change.NEW else "o"
                marks[n] = mark.upper() if entry.news else mark
        keys, records = compared.keys[: len(entries)], compared.records[: len(entries)]
        packed = pack(entry.loc for entry in entries)
        columns = b"".join(keys), b"".join(records), packed, "".join(marks)
        stamp = self._writer.run.stamp
        await self._writer.commit_on_ack(lambda db: log_entries(db, self.row, stamp, *columns))

    # -- after the visit

    async def finish(
        self, document: Document, body: BodyDigest | None = None, *, is_window: bool = False
    ) -> None:
        """Save the outcome once it is acknowledged; `body` if the document was requested."""
        if self._is_saved:
            return
        if document.status is Status.SKIPPED and self._entry.via.is_guess:
            await self._note_wrong_guess(document)
            return
        if body is not None or document.status is Status.FAILED:
            self._note_asking(document)
        found = self._list_columns(document, body, is_window=is_window)
        # A resumed walk does not read it again; but `unique` must know what came from it.
        is_read = document.status in _FINISHED and not self._config.unique
        await self._writer.commit_on_ack(
            lambda db: update_document(db, self.row, found, is_read=is_read)
        )

    def _list_columns(
        self, document: Document, body: BodyDigest | None, *, is_window: bool
    ) -> dict[str, Any]:
        """Return how the document ended, and what a request for it gave."""
        status, row, run = document.status, self.row, self._writer.run
        found: dict[str, Any] = {
            "status": str(status),
            "reason": str(document.reason),
            "http_status": document.http_status,
            "seen_run": run.id,
        }
        if body is not None and status in _FINISHED:
            is_same = status is Status.UNCHANGED
            found |= {
                "etag": _text(document.etag) or (row.etag if is_same else None),
                "last_modified": _text(document.last_modified)
                or (row.last_modified if is_same else None),
                "lastmod": _lastmod_of(self._entry),
                "read_at": self._asked_at,
            }
        if body is not None and status in _READ:
            children = self._children
            if status is not Status.COMPLETE:  # children behind the error are still listed
                children = list({**dict(row.child_list), **dict(children)}.items())
            found |= {
                "read_run": run.id,
                "complete": int(status is Status.COMPLETE),
                "is_saved": int(run.saves or not document.listed),
                "final_url": document.final_url,
                "format": _text(document.format),
                "size": body.size,
                "digest": body.digest,
                "entries": document.listed,
                "children": document.children,
                "child_list": json.dumps(children) if children else None,
                "filters": self._mark(document.final_url) if self._withheld else None,
                "window": int(is_window),
            }
        return found | prove(run, row, document, found, was_dated=self._is_dated)


def _lastmod_of(entry: SitemapEntry) -> str | None:
    if entry.lastmod is None:
        return None
    return entry.lastmod_text or entry.lastmod.isoformat()


def _compare(known: dict[int, bytes | None], document: int, record: bytes) -> Change | None:
    # Two sitemaps often say different things of one page, so the document's own record of a URL
    # counts. Another's counts only where this one has none, as when a URL has moved.
    own = known.get(document)
    if own == record or (not own and record in known.values()):
        return None
    is_known = any(known[number] is not None for number in known if number > 0)
    return Change.CHANGED if is_known else Change.NEW


def _text(value: str | None) -> str | None:
    """Return a plain str of an enum or text; a header may have what is no character."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()
