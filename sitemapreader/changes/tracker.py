"""DocumentTracker: decides about a document by its record in the state.

Whether it is asked for, which of its entries were delivered before, and what its outcome says.
"""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from itertools import compress, takewhile
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.dates import is_over, parse_lastmod
from sitemapreader._types.issues import without_userinfo
from sitemapreader._types.models import Change, SitemapEntry, UrlEntry, Via
from sitemapreader._types.outcomes import (
    FINISHED_BEFORE,
    NOT_DUE,
    SAME_LASTMOD,
    BodyDigest,
    Document,
    Status,
)
from sitemapreader._types.rows import get_column, select_rows
from sitemapreader._types.urls import folder_of, url_key
from sitemapreader._walk.download import PriorVersion
from sitemapreader._walk.memory import PreviousReading
from sitemapreader.changes.law import Evidence, date_outcome, weigh
from sitemapreader.changes.rows import (
    as_moment,
    find_records,
    find_removed,
    has_record,
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
from sitemapreader.fetch.local import StoredResponse
from sitemapreader.fetch.validators import (
    choose_validators,
    is_older,
    make_validators,
    read_age,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sitemapreader._types.rows import Rows
    from sitemapreader._walk.memory import ListedSitemap
    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.state_writer import StateWriter

_READ_STATUSES = frozenset({Status.COMPLETE, Status.PARTIAL})
_FINISHED = _READ_STATUSES | {Status.UNCHANGED}
_NOT_FOUND = 404
ACK_ENTRIES = 500
"""Entries of one acknowledgement: the most that come twice after a `kill -9`."""
_COMPARED_URLS = 20_000
"""Number of URLs of a document whose second record is not another change; they take 2 MB."""
_NEWS_LAST = timedelta(days=3)
"""A news sitemap lists articles of the last two days (Google's guidelines); one that keeps older
ones is a list."""


@attrs.define(eq=False)
class _Compared:
    """Entries of a document that were compared with the state."""

    entries: Sequence[UrlEntry] = ()
    offered: Sequence[UrlEntry] = ()
    """Entries that are delivered, if they pass the filters."""
    keys: Sequence[bytes] = ()
    records: Sequence[bytes] = ()
    changes: Sequence[Change | None] = ()


class DocumentTracker:
    """The state of one document, and the additions of this walk."""

    needs_digest = True

    def __init__(self, db: Connection, writer: StateWriter, job: ListedSitemap) -> None:
        run = writer.run
        self.row = row = load_document(db, run, url_key(job.entry.loc))
        is_begun = run.is_resumed and not run.saves
        if is_begun:
            self._sent = load_batches(db, row)
        else:
            self._sent = frozenset[bytes]()
        """Keys of the URLs that the resumed walk has delivered, without `changes`."""
        self.batch_entries = ACK_ENTRIES
        self._writer = writer
        self._settings = writer.settings
        self._entry = job.entry
        self._scope = job.scope
        self._is_new_child = job.parent is None or not job.parent.is_restored
        self._index = job.parent.key if job.parent else ""
        self._is_doubtful = job.entry.via.is_guess and row.digest is None
        self._asked_at = writer.clock()
        self._headers: Mapping[str, str] = {}
        self._news = 0
        self._compared = _Compared()
        self._selected = 0
        """Number of entries that the last `select` has returned."""
        self._withheld = False
        self._children: list[tuple[str, str | None]] = []
        self._newest = ""
        """The newest lastmod of its entries, as text: W3C dates sort so."""
        self._offered: set[bytes] = set()
        """Keys of its URLs that were new or changed."""
        self._has_old = False
        """True if an entry is no recent news."""
        # whether earlier filters delivered all entries that pass now
        is_covered = row.filters is None or _covers(
            row.filters, self._mark(row.final_url)
        )
        if self._settings.changes:  # one without them has not saved what it delivered
            is_covered &= bool(row.is_saved) or row.digest is None
        self._is_usable = bool(row.complete) and is_covered
        self._is_dated = self._compare_lastmod()
        if is_covered:
            self.settled = self._find_outcome()
        else:
            self.settled = None
        """The outcome of a document that is not requested."""
        self._is_saved = self.settled is not None
        if (
            not self._is_saved
            and self._is_current()
            and not job.leads_up(row.final_url)
        ):
            self.settled = Status.UNCHANGED, SAME_LASTMOD
        if self._is_usable:
            self.prior = self._make_prior_version()
        else:
            self.prior = PriorVersion()
        """Prior version that the response is compared with."""

    def _mark(self, final_url: str) -> str:
        folders = (*self._scope, folder_of(self._entry.loc), folder_of(final_url))
        return self._settings.mark_filters(folders)

    # -- when to come back

    def _find_outcome(self) -> tuple[Status, str] | None:
        """Return the outcome of a document that is finished or not due; else `None`."""
        run = self._writer.run
        row = self.row
        if run.is_resumed and row.seen_run >= run.id and row.status in _FINISHED:
            return Status(row.status), row.reason or FINISHED_BEFORE
        if self._decide_due():
            return None
        is_failed = row.status == Status.FAILED
        return Status.SKIPPED, row.reason or Status.FAILED if is_failed else NOT_DUE

    def _decide_due(self) -> bool:
        """Return whether the document is due; record the columns for a later round."""
        chosen = self._writer.run.chosen
        key = self.row.url
        if chosen is None or key in chosen:
            return True
        if self._is_doubtful:
            return is_ready(self.row, self._asked_at)
        if self.row.id is None and self._is_new_child:
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
        if self._settings.revisit is None:
            return
        self._writer.askings[self.row.url] = Asking(self._asked_at, is_failed=True)
        if document.tries and document.via is Via.WELL_KNOWN:
            await self._writer.keep_response(
                document.url, StoredResponse(document.url, status=_NOT_FOUND)
            )

    # -- before the visit

    def _is_current(self) -> bool:
        """Return whether its index shows that it is unchanged."""
        age = self._writer.clock() - (self.row.read_at or 0)
        return (
            self._is_usable
            and self._settings.prune
            and self._is_dated
            and 0 <= age < self._writer.trust_seconds
            and self._writer.run.chosen is None  # what is due is asked for
            and self._believes(lies=self.row.lastmod_lies)
        )

    def _believes(self, *, lies: int) -> bool:
        """Return whether a word of the index or the server is believed; not one that has lied."""
        run = self._writer.run
        row = self.row
        is_old = run.id - row.read_run >= run.distrust_after
        return not (lies or is_old or row.url in run.unverified)

    def _compare_lastmod(self) -> bool:
        """Return whether the lastmod in an index says that a child is unchanged."""
        # Not if the child was read within the day, the minute or the second of its lastmod: it may
        # have been written again after that.
        entry = self._entry
        row = self.row
        if (
            entry.via is not Via.INDEX
            or entry.lastmod is None
            or _lastmod_of(entry) != row.lastmod
            or row.read_at is None
        ):
            return False
        text = entry.lastmod_text or ""
        return is_over(entry.lastmod, text, as_moment(row.read_at))

    def _make_prior_version(self) -> PriorVersion:
        row = self.row
        headers = make_validators(row.etag, row.last_modified)
        if not self._believes(lies=row.etag_lies):
            headers = {}
        if row.size is None or row.digest is None:
            return PriorVersion(headers, row.final_url)
        return PriorVersion(headers, row.final_url, BodyDigest(row.size, row.digest))

    @property
    def previous(self) -> PreviousReading:
        """The last reading of the document."""
        row = self.row
        run = self._writer.run
        if row.format is not None and row.format.is_feed:
            via = Via.PAGE
        else:
            via = Via.INDEX
        children = [
            SitemapEntry(
                loc, parse_lastmod(mark or ""), via, row.final_url, lastmod_text=mark
            )
            for loc, mark in row.child_list
        ]
        was_read_now = row.seen_run >= run.id and row.status in _READ_STATUSES
        return PreviousReading(
            was_read=row.digest is not None,
            has_records=bool(children or row.entries),
            final_url=row.final_url,
            format=row.format,
            etag=row.etag,
            last_modified=row.last_modified,
            listed=row.entries if was_read_now else 0,
            digest=row.digest,
            children=children,
        )

    # -- during the visit

    def receive(self, headers: Mapping[str, str]) -> None:
        """Take the headers of the response whose body is read now."""
        self._headers = headers

    @property
    def _age(self) -> int:
        """Age of the response in a cache, in nanoseconds."""
        return round(read_age(self._headers) * 1e9)

    def add_children(self, entries: Iterable[SitemapEntry]) -> None:
        """Remember children of the document, without passwords."""
        self._children += [
            (without_userinfo(each.loc), _lastmod_of(each)) for each in entries
        ]

    async def select(self, rows: Rows) -> Rows:
        """Return the entries that were not delivered; with `changes`, set their `change`."""
        texts = [
            text
            for text in get_column(rows, "lastmod_text")
            if text and text[0] in "12"
        ]
        self._newest = max([self._newest, *texts])
        if not self._settings.changes:
            sent = map(hash_url, get_column(rows, "loc")) if self._sent else ()
            rows = select_rows(rows, [key not in self._sent for key in sent])
            self._selected = len(rows)
            return rows
        entries = list(rows)
        recent = as_moment(self._asked_at) - _NEWS_LAST
        self._has_old |= any(
            not each.news or (each.date or recent) < recent for each in entries
        )
        keys = [hash_url(entry.loc) for entry in entries]
        if self._age:
            reading = self._writer.run.stamp - self._age
            find = partial(find_removed, row=self.row, keys=keys, reading=reading)
            removed = await self._writer.file.ask(find)
            entries = [
                each
                for each, key in zip(entries, keys, strict=True)
                if key not in removed
            ]
            keys = [key for key in keys if key not in removed]
        records = [hash_record(entry) for entry in entries]
        known: dict[bytes, dict[int, bytes | None]] = {}
        if not self._writer.run.is_new:
            known = await self._writer.file.ask(
                lambda db: find_records(db, self.row, keys)
            )
        changes = [
            _compare_entry(known[key], self.row.id or 0, record)
            if key in known
            else Change.NEW
            for key, record in zip(keys, records, strict=True)
        ]
        for n, key in enumerate(keys):  # several records of a URL are one
            if changes[n] is not None and len(self._offered) < _COMPARED_URLS:
                if key in self._offered:
                    changes[n] = None
                self._offered.add(key)
        # What a record says of itself happened since some day; this, since the last walk. What it
        # says was deleted is told at the end of the walk.
        listed = [entry.change is not Change.UNLISTED for entry in entries]
        for entry, change in compress(zip(entries, changes, strict=True), listed):
            entry.change = change
        offered = [
            entry for entry in compress(entries, listed) if entry.change is not None
        ]
        self._compared = _Compared(entries, offered, keys, records, changes)
        self._selected = len(offered)
        return offered

    async def record(self, passed: Rows, kept: Rows, sent: int) -> None:
        """Save the entries of the last `select` when they are acknowledged.

        `passed` has the entries that passed the filters, and `kept` the ones that `unique` left of
        them. The first `sent` of `kept` were delivered.
        """
        compared = self._compared
        self._withheld |= sent < self._selected
        if self._settings.unique or not self._settings.changes:
            locs = get_column(kept[:sent], "loc")
            packed = pack(locs) if self._settings.unique else None
            await self._writer.commit_on_ack(
                lambda db: save_batch(db, self.row, locs, packed)
            )
        if not self._settings.changes:
            return
        self._news += get_column(kept[:sent], "change").count(Change.NEW)
        entries = compared.entries
        rest = list(kept[sent:])
        if rest:  # the next walk begins with this one
            entries = list(takewhile(lambda entry: entry is not rest[0], entries))
        # What `unique` drops was handed over by another document: it counts as sent.
        held = {*map(id, compared.offered)}.difference(map(id, passed))
        withheld = {*map(id, passed)}.difference(map(id, kept))
        marks = ["s"] * len(entries)
        for n, entry in enumerate(entries):
            if entry.change is Change.UNLISTED:
                marks[n] = "n" if compared.changes[n] is Change.NEW else "d"
            elif held and id(entry) in held:
                marks[n] = "u" if compared.changes[n] is Change.NEW else "o"
            elif withheld and id(entry) in withheld:
                marks[n] = "w"
        keys = compared.keys[: len(entries)]
        records = compared.records[: len(entries)]
        packed = pack(entry.loc for entry in entries)
        columns = b"".join(keys), b"".join(records), packed, "".join(marks)
        reading = self._writer.run.stamp - self._age
        await self._writer.commit_on_ack(
            lambda db: log_entries(db, self.row, reading, *columns)
        )

    # -- after the visit

    async def finish(
        self, document: Document, body: BodyDigest | None, *, is_window: bool
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
        is_read = document.status in _FINISHED and not self._settings.unique
        await self._writer.commit_on_ack(
            lambda db: update_document(db, self.row, found, is_read=is_read)
        )

    def _list_columns(
        self, document: Document, body: BodyDigest | None, *, is_window: bool
    ) -> dict[str, Any]:
        """Return how the document ended, and the result of its request."""
        status = document.status
        row = self.row
        run = self._writer.run
        evidence = weigh(row, document)
        found: dict[str, Any] = {
            "status": str(status),
            "reason": str(document.reason),
            "http_status": document.http_status,
        }
        is_new = body is None or status is not Status.UNCHANGED
        if body is not None and status in _FINISHED:
            etag, date = choose_validators(
                _text(document.etag), document.last_modified, self._headers
            )
            if status is Status.UNCHANGED:
                etag = etag or row.etag
                date = date or row.last_modified
            found |= {
                "etag": etag,
                "last_modified": _text(date),
                "lastmod": _lastmod_of(self._entry),
                "read_at": self._asked_at - read_age(self._headers),
            }
        if body is not None and status in _READ_STATUSES:
            children = self._children
            # children behind the error are still listed
            if evidence is not Evidence.FULL:
                children = list({**dict(row.child_list), **dict(children)}.items())
            is_news = document.listed > 0 and run.saves and not self._has_old
            found |= {
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
                "window": int(is_window or is_news),
                "etag_lies": row.etag_lies or self._finds_stale_etag(found, body),
                "lastmod_lies": row.lastmod_lies
                or self._finds_stale_lastmod(found, body),
            }
        return found | date_outcome(run, row, evidence, age=self._age, is_new=is_new)

    def _finds_stale_etag(self, found: Mapping[str, Any], body: BodyDigest) -> int:
        """Return 1 if validators stay the same while the document changes, else 0."""
        row = self.row
        before = row.etag or row.last_modified
        now = found["etag"] or found["last_modified"]
        has_changed = bool(row.complete) and row.digest != body.digest
        if has_changed and before is not None and before == now:
            return 1
        # A file with entries that are newer than itself has a date that was made up.
        newest = parse_lastmod(self._newest)
        return int(newest is not None and is_older(self._headers, newest))

    def _finds_stale_lastmod(self, found: Mapping[str, Any], body: BodyDigest) -> int:
        """Return 1 if the lastmod in the index missed a change of the document, else 0."""
        row = self.row
        lastmod = self._entry.lastmod
        has_changed = bool(row.complete) and row.digest != body.digest
        if has_changed and self._is_dated and row.lastmod == found["lastmod"]:
            return 1
        # The date of its newest page stays the same when an older or undated one is added.
        return int(lastmod is not None and lastmod == parse_lastmod(self._newest))


def _covers(earlier: str, present: str) -> bool:
    """Return whether all that passes the present filters passed the earlier ones."""
    # A later `since` passes less, so one that moves with the days needs nothing read again.
    before, others = earlier.split(" ")
    now, same = present.split(" ")
    return others == same and before <= now


def _lastmod_of(entry: SitemapEntry) -> str | None:
    if entry.lastmod is None:
        return None
    return entry.lastmod_text or entry.lastmod.isoformat()


def _compare_entry(
    known: dict[int, bytes | None], document: int, record: bytes
) -> Change | None:
    # Two sitemaps often say different things of one page, so the document's own record of a URL
    # counts. Another's counts only where this one has none, as when a URL has moved.
    own = known.get(document)
    others = [own] if own else known.values()
    if any(each is not None and has_record(each, record) for each in others):
        return None
    is_known = any(known[number] is not None for number in known if number > 0)
    return Change.CHANGED if is_known else Change.NEW


def _text(value: str | None) -> str | None:
    """Return a plain str of an enum or text; a header may have invalid characters."""
    if value is None:
        return None
    return str(value).encode("utf-8", "replace").decode()
