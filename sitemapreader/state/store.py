"""The state of a site, and of a document, as a walk reads and writes them."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.models import Change
from sitemapreader.outcomes import ALREADY_READ, SAME_BODY, SAME_LASTMOD, Status
from sitemapreader.state import law, schedule
from sitemapreader.state.kept import load_kept, save_kept
from sitemapreader.state.rows import (
    DocumentRow,
    Findings,
    Kind,
    ListingRules,
    Run,
    RunOutcome,
    digest,
    insert_document,
    load_document,
    nanoseconds,
    pack,
    read_clock,
    unpack,
    update_document,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from sitemapreader.fetch.local import StoredResponse
    from sitemapreader.outcomes import BodyDigest, Document
    from sitemapreader.state.database import StateFile

_RESUMABLE_SECONDS = 24 * 3600
"""Older interrupted walks are not resumed."""
_FEW_URLS = 5_000
"""URLs of a site that are merged and judged at once, in a few milliseconds."""
_ROWS = 1_000
_FINISHED = frozenset({Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED})


class SiteStore:
    """The state of one site, as one walk, its `run`, reads and writes it."""

    def __init__(
        self,
        file: StateFile,
        site: str,
        *,
        rules: ListingRules,
        changes: bool = False,
        clock: Callable[[], float] = read_clock,
    ) -> None:
        self.changes = changes
        self.run = Run()
        self.rules = rules
        self.seen = schedule.Observations()
        self.round: schedule.Round | None = None
        self.file = file
        self.db = file.connection
        self.transaction = file.transaction
        self._clock = clock
        self._site = site

    def may_take_long(self) -> bool:
        """Return whether beginning or finishing the walk may delay other work."""
        sql = "SELECT 1 FROM {} WHERE site = (SELECT id FROM site WHERE name = ?) LIMIT 1 OFFSET ?"
        with self.file.guard():
            return any(
                self.db.execute(sql.format(table), (self._site, _FEW_URLS)).fetchone()
                for table in ("url", "log")
            )

    def begin(self, revisit: int | Collection[str] | None = None) -> None:
        """Resume the walk that was interrupted within a day, or begin a new one.

        With `revisit`, so many documents, or these, are due of a site that the state knows.
        """
        db, began = self.db, self._clock()
        with self.transaction():
            db.execute("INSERT OR IGNORE INTO site (name) VALUES (?)", (self._site,))
            site, last, since, ended, stopped, looked = db.execute(
                "SELECT id, run, began, ended, complete, looked_run FROM site WHERE name = ?",
                (self._site,),
            ).fetchone()
            # One that a limit of URLs stopped goes on whenever the next one comes.
            is_resumed = bool(last) and ended is None
            is_resumed &= stopped is not None or 0 <= began - (since or 0) < _RESUMABLE_SECONDS
            stamp = max(round(began * 1_000_000) * 1_000, last + 1)
            if not is_resumed:
                db.execute(
                    "UPDATE site SET run = ?, began = ?, ended = NULL, complete = NULL,"
                    " unlisted = NULL, waiting = NULL WHERE id = ?",
                    (stamp, began, site),
                )
                db.execute("DELETE FROM batch WHERE site = ?", (site,))
            if self.changes:
                law.merge(db, site)  # what the last one saved
            self.run = Run(
                site=site,
                id=last if is_resumed else stamp,
                stamp=stamp,
                is_resumed=is_resumed,
                saves=self.changes,
                is_new=not self._has_rows("url", site),
                has_pending=law.has_pending(db, site) > 0,
                has_pages=self._has_rows("page", site),
                looked=looked,
            )
            if revisit is None:  # what it is answered now is newer than what is kept
                db.execute("DELETE FROM kept WHERE site = ?", (site,))
            elif schedule.is_scheduled(db, site, began):
                self.round = schedule.choose(db, site, revisit, began)
                self.run = attrs.evolve(self.run, is_round=True)

    def _has_rows(self, table: str, site: int) -> bool:
        sql = f"SELECT EXISTS (SELECT 1 FROM {table} WHERE site = ?)"
        return bool(self.db.execute(sql, (site,)).fetchone()[0])

    def stop(self) -> None:
        """Let any later walk resume this one, which a limit of URLs has stopped."""
        with self.transaction():
            self.db.execute("UPDATE site SET complete = 0 WHERE id = ?", (self.run.site,))

    def finish(self, outcome: RunOutcome) -> Findings | None:
        """End the walk; return what is missing, with `changes`."""
        db, run, now = self.db, self.run, self._clock()
        with self.transaction():
            db.execute("DELETE FROM batch WHERE site = ?", (run.site,))
            found = law.judge(db, run, self.rules, outcome)
            db.execute(
                "UPDATE site SET ended = ?, complete = ?, unlisted = ?, waiting = ? WHERE id = ?",
                (
                    now,
                    outcome.complete,
                    found and found.unlisted,
                    found and found.waiting,
                    run.site,
                ),
            )
            if found is not None:
                self._learn(found, now)
        return found

    def _learn(self, found: Findings, now: float) -> None:
        """Learn from the walk when to come back."""
        db, run, seen = self.db, self.run, self.seen
        seen.missed = dict(found.missed)
        if self.round is not None:
            seen.absent |= self.round.chosen - seen.askings.keys()
        for url in seen.unread:
            if (row := load_document(db, run, url)).id is None:
                insert_document(db, row)
        schedule.learn(db, run.site, seen, now, law.has_pending(db, run.site) / 1e9)

    def find_kept(self, url: str) -> StoredResponse | None:
        """Return the answer of an earlier run that a round may use for a URL."""
        if self.round is None:
            return None
        with self.file.guard():
            found = load_kept(self.db, self.run.site, url, self._clock())
        if found is None:
            return None
        self.run = attrs.evolve(self.run, kept=min(found[1], self.run.kept or found[1]))
        return found[0]

    def keep(self, url: str, answer: StoredResponse) -> None:
        """Keep an answer for the rounds of a day."""
        with self.transaction():
            save_kept(self.db, self.run.site, url, self.run.stamp, self._clock(), answer)

    def list_delivered(self) -> Iterator[str]:
        """Yield the URLs that the resumed walk had delivered before."""
        with self.file.guard():
            last = 0
            sql = "SELECT id, locs FROM batch WHERE site = ? AND id > ? ORDER BY id LIMIT 1"
            while row := self.db.execute(sql, (self.run.site, last)).fetchone():
                last = row[0]
                yield from unpack(row[1] or pack(()))
            sql = (
                "SELECT key, loc FROM url WHERE site = ? AND key > ? AND seen_run >= ?"
                f" AND length(record) > 0 ORDER BY key LIMIT {_ROWS}"
            )
            key = b""
            while rows := self.db.execute(sql, (self.run.site, key, self.run.id)).fetchall():
                key = rows[-1][0]
                yield from (loc for _, loc in rows)

    def open_document(self, url: str) -> DocumentStore:
        """Return the store of a document, by its `url_key`."""
        with self.file.guard():
            return DocumentStore(self, load_document(self.db, self.run, url))


class DocumentStore:
    """One document in the state; each save updates its `row`."""

    def __init__(self, site: SiteStore, row: DocumentRow) -> None:
        self.row = row
        self._site = site
        self._db = site.db

    @property
    def is_known(self) -> bool:
        """Whether the state has a row of it."""
        return self.row.id is not None

    @property
    def is_finished(self) -> bool:
        """Whether the resumed walk had finished the document before."""
        run, row = self._site.run, self.row
        return run.is_resumed and row.seen_run == run.id and row.status in _FINISHED

    @property
    def was_read_now(self) -> bool:
        """Whether the resumed walk had read the document, not only revalidated it."""
        return self.is_finished and self.row.read_run == self._site.run.id

    def believes(self, proof: int) -> bool:
        """Return whether the word that the document has not changed is believed.

        `proof` is what is known of that word: `row.validators`, or `row.dates` if an index says so.
        """
        # Where something is missing, a word that was never seen to change proves nothing: the
        # document may have what is missing. And a word that never changes may be a constant.
        run, row = self._site.run, self.row
        if run.id - row.body_run >= nanoseconds(self._site.rules.distrust_after):
            return False
        if run.has_pending and self._has_lost():  # only its bytes tell whether that was a fault
            return False
        return (proof > 0 and row.is_settled) if run.has_pending else proof >= 0

    def _has_lost(self) -> bool:
        """Return whether its last readings lack URLs, which none has confirmed."""
        with self._site.file.guard():
            return law.has_pending(self._db, self._site.run.site, self.row.id) > 0

    def load_schedule(self) -> schedule.ScheduleRow | None:
        """Return when to come back to it, if that is known."""
        with self._site.file.guard():
            return schedule.load_row(self._db, self._site.run.site, self.row.url)[1]

    def children(self) -> list[tuple[str, str | None]]:
        """Return loc and lastmod of each child of an index, in its order."""
        return [(loc, mark) for loc, mark in json.loads(self.row.child_list or "[]")]

    def compare(self, keys: Sequence[bytes], records: Sequence[bytes]) -> list[Change | None]:
        """Return the change of each entry of the document."""
        run = self._site.run
        if run.is_new and not run.has_pages:
            return [Change.NEW] * len(keys)
        known: dict[bytes, dict[int, bytes | None]] = {}
        marks = f"WHERE site = ? AND key IN ({', '.join('?' * len(keys))})"
        find = f"SELECT key, document, record FROM url {marks}"
        with self._site.file.guard():
            for key, document, record in self._db.execute(find, (run.site, *keys)):
                known.setdefault(key, {})[document] = record
            pages = f"SELECT key FROM page {marks}"
            rows = self._db.execute(pages, (run.site, *keys)) if run.has_pages else ()
            unlisted = {key for (key,) in rows}
        return [
            _compare(known.get(key, {}), self.row.id or 0, record, is_back=key in unlisted)
            for key, record in zip(keys, records, strict=True)
        ]

    def load_batches(self) -> list[tuple[int, bytes, str | None]]:
        """Return size, digest and filters of what the resumed walk has delivered of it."""
        if not self._site.run.is_resumed or self._site.changes or self.row.id is None:
            return []
        sql = "SELECT size, digest, filters FROM batch WHERE site = ? AND document = ? ORDER BY id"
        with self._site.file.guard():
            return self._db.execute(sql, (self._site.run.site, self.row.id)).fetchall()

    # -- to be called inside of a transaction

    def log(
        self,
        keys: Sequence[bytes],
        records: Sequence[bytes],
        locs: Sequence[str],
        marks: Sequence[tuple[Kind, bool]],
    ) -> None:
        """Save entries; `marks` say what became of each, and whether it is a window's."""
        number = self.row.id or insert_document(self._db, self.row)
        run, start = self._site.run, 0
        for (kind, is_window), group in groupby(marks):  # nearly always one
            end = start + len(list(group))
            self._db.execute(
                "INSERT INTO log (site, document, run, kind, window, keys, records, locs)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run.site, number, run.stamp, kind, is_window),
                    b"".join(keys[start:end]),
                    b"".join(records[start:end]),
                    pack(locs[start:end]),
                ),
            )
            start = end

    def log_batch(
        self, locs: Sequence[str], filters: str | None, *, keeps: bool, is_anew: bool
    ) -> None:
        """Save that a batch was handed over, `filters` having held some of it back.

        With `keeps`, its URLs are remembered until the walk ends; if it `is_anew`, what a resumed
        walk saved of the document is forgotten.
        """
        number = self.row.id or insert_document(self._db, self.row)
        if is_anew:
            self._db.execute("DELETE FROM batch WHERE document = ?", (number,))
        packed = pack(locs) if keeps else None
        self._db.execute(
            "INSERT INTO batch (site, document, size, digest, filters, locs)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (self._site.run.site, number, len(locs), digest(locs), filters, packed),
        )

    def save_outcome(self, outcome: Document) -> None:
        """Save how the document ended, and keep what is known of its last reading."""
        self._save(outcome, self._confirm(outcome))

    def save_confirmed(self, outcome: Document, lastmod: str | None, asked_at: float) -> None:
        """Save that the server, or the same bytes, confirmed the last reading."""
        confirmed = {
            "lastmod": lastmod,
            "read_at": asked_at,
            "etag": _text(outcome.etag) or self.row.etag,
            "last_modified": _text(outcome.last_modified) or self.row.last_modified,
        }
        self._save(outcome, self._confirm(outcome) | confirmed)

    def save_reading(
        self,
        outcome: Document,
        *,
        body: BodyDigest,
        lastmod: str | None,
        asked_at: float,
        filters: str | None,
        children: list[tuple[str, str | None]],
        is_window: bool,
        was_dated: bool,
        lastmods: str,
    ) -> None:
        """Save that the document was read, completely or in part; see schema.sql.

        `children` are loc and lastmod of each child; `was_dated` means that its index said that it
        had not changed.
        """
        row, run = self.row, self._site.run
        is_whole = outcome.status is Status.COMPLETE
        etag, last_modified = _text(outcome.etag), _text(outcome.last_modified)
        found: dict[str, Any] = {}
        if is_whole:
            found = self._vouch() | {"body_run": run.stamp}
        if is_whole and self._site.changes:
            found["listed_run"] = run.stamp
        if is_whole and row.complete and row.body != body:
            before, now = row.etag or row.last_modified, etag or last_modified
            found["validators"] = _weigh(row.validators, before, now, must_differ=True)
            found["dates"] = _weigh(row.dates, row.lastmod, lastmod, must_differ=was_dated)
        if outcome.status is Status.PARTIAL:  # children behind the error are still listed
            children = list({**dict(self.children()), **dict(children)}.items())
        found |= {
            "read_run": run.id,
            "complete": int(is_whole),
            "is_saved": int(self._site.changes or not outcome.listed),
            "final_url": outcome.final_url,
            "format": _text(outcome.format),
            "etag": etag,
            "last_modified": last_modified,
            "lastmod": lastmod,
            "size": body.size,
            "digest": body.digest,
            "entries": outcome.listed,
            "children": outcome.children,
            "child_list": json.dumps(children) if children else None,
            "read_at": asked_at,
            "filters": filters,
            "window": int(is_window),
            "lastmods": lastmods,
        }
        self._save(outcome, found)

    def _confirm(self, outcome: Document) -> dict[str, int]:
        """Return what an unchanged document proves; nothing on a doubtful word."""
        row, run = self.row, self._site.run
        if outcome.reason == ALREADY_READ and row.read_run is None:
            return self._vouch()  # another address of a document, and never more
        has_body = outcome.reason == SAME_BODY
        proof = row.dates if outcome.reason == SAME_LASTMOD else row.validators
        # A window proves no removal, and the pages of a feed say nothing of themselves.
        if outcome.status is not Status.UNCHANGED or not (has_body or proof > 0 or row.window):
            return {}
        return self._vouch() | ({"body_run": run.stamp} if has_body else {})

    def _vouch(self) -> dict[str, int]:
        row, run = self.row, self._site.run
        if not self._site.changes:  # what it lists is not known
            return {}
        candidate, proven = law.vouch(
            row.candidate_run, row.proven_run, run.stamp, self._site.rules
        )
        return {"vouched_run": run.stamp, "candidate_run": candidate, "proven_run": proven}

    def _save(self, outcome: Document, found: dict[str, Any]) -> None:
        ending = {
            "status": str(outcome.status),
            "reason": str(outcome.reason),
            "http_status": outcome.http_status,
            "seen_run": self._site.run.id,
        }
        update_document(self._db, self.row, found | ending)


def _compare(
    known: dict[int, bytes | None], document: int, record: bytes, *, is_back: bool
) -> Change | None:
    # Two sitemaps often say different things of one page, so the document's own record of a URL
    # counts. Another's counts only where this one has none, as when a URL has moved. One that was
    # unlisted is new again.
    own = known.get(document)
    if own == record or (not own and not is_back and record in known.values()):
        return None
    is_known = not is_back and any(each is not None for each in known.values())
    return Change.CHANGED if is_known else Change.NEW


def _weigh(proof: int, before: object, now: object, *, must_differ: bool) -> int:
    """Return what a changed document has shown about a word that tells of changes.

    `proof` was known of it before: 1, -1 or 0. If it `must_differ`, the same word again is false.
    """
    if proof < 0 or not before or not now:
        return proof
    if before == now:
        return -1 if must_differ else proof
    return 1


def _text(value: str | None) -> str | None:
    """Return a plain str of an enum or text."""
    return None if value is None else str(value)
