"""The run of a walk over a site: begun or resumed, then stopped or finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.state import removals, schedule, url_index
from sitemapreader.state.database import DamageError, StateFile, seal_of
from sitemapreader.state.kept import load_kept, save_kept
from sitemapreader.state.rows import (
    DocumentRow,
    RemovalRules,
    Removals,
    Run,
    RunOutcome,
    RunRow,
    insert_document,
    read_clock,
    read_row,
)
from sitemapreader.state.store import DocumentStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from sitemapreader.fetch.local import StoredResponse


_RESUMABLE_SECONDS = 24 * 3600
"""Older interrupted walks are not resumed."""
_HAS_MANY_CHUNKS = (
    "SELECT 1 FROM site JOIN document ON document.site = site.id"
    " JOIN chunk ON chunk.document = document.id WHERE site.name = ? LIMIT 1 OFFSET ?"
)
_FEW_CHUNKS = 8
"""Lists of URLs that are merged at once, in a few milliseconds."""
_ROWS = 1_000


@attrs.frozen
class RunOptions:
    """The options of a walk that decide which interrupted walk it resumes."""

    fingerprint: bytes  # a hash of all that must be the same
    filters: str
    resumes: Callable[[str], bool]  # whether an interrupted walk's filters pass all that these pass


class SiteStore:
    """The state of one site, as one walk, its `run`, reads and writes it."""

    def __init__(
        self,
        file: StateFile,
        site: str,
        *,
        saves_urls: bool,
        rules: RemovalRules,
        clock: Callable[[], float] = read_clock,
    ) -> None:
        self.seen = schedule.Observations()
        self.round: schedule.Round | None = None
        self._clock = clock
        self.run = Run(0, saves_urls, rules=rules)
        self._site = site
        self._file = file
        self._db = file.connection

    @property
    def transaction(self) -> Callable[[], AbstractContextManager[None]]:
        """Make a context that commits all changes of its block, or none if it raises."""
        return self._file.transaction

    def may_take_long(self) -> bool:
        """Return whether beginning or finishing the walk may delay other work."""
        if self.run.is_new:  # then there is nothing to be merged with
            return False
        with self._file.guard():
            row = self._db.execute(_HAS_MANY_CHUNKS, (self._site, _FEW_CHUNKS)).fetchone()
        return row is not None

    def begin(self, options: RunOptions, revisit: int | Collection[str] | None = None) -> None:
        """Resume the interrupted walk with the same options, or begin a new one.

        With `revisit`, so many documents, or these, are due of a site that the state knows.
        """
        with self.transaction():
            self._db.execute("INSERT OR IGNORE INTO site (name) VALUES (?)", (self._site,))
            (site,) = self._db.execute(
                "SELECT id FROM site WHERE name = ?", (self._site,)
            ).fetchone()
            last = self._read_last(site)
            if last is not None and _resumes(last, options, self._clock()):
                # From here on it delivers what this walk's filters pass, which may be less.
                row = attrs.evolve(last, filters=options.filters)
            else:
                self._discard_stopped(site)
                # No document of an older walk may seem to be of this one, so a number never comes
                # twice, even if the row that had the highest one is lost.
                number = max(self._stamp(), last.id + 1 if last else 0)
                while self._db.execute("SELECT 1 FROM run WHERE id = ?", (number,)).fetchone():
                    number += 1  # another site was begun in the same microsecond
                began = self._clock()
                row = RunRow(number, site, options.fingerprint, options.filters, began)
            self._write(row)
            is_resumed = last is not None and last.id == row.id
            has_pending = removals.find_pending(self._db, site) > 0
            self.run = attrs.evolve(
                self.run,
                site=site,
                id=row.id,
                stamp=max(row.id, self._stamp()) if is_resumed else row.id,
                is_resumed=is_resumed,
                is_new=url_index.is_empty(self._db, site),
                has_pending=has_pending,
                first=removals.find_first(self._db, site) if has_pending else 0,
            )
            self.run = attrs.evolve(self.run, indexed=removals.find_last_look(self._db, self.run))
            if revisit is None:  # what it is answered now is newer than what is kept
                self._db.execute("DELETE FROM kept WHERE site = ?", (site,))
            elif schedule.is_scheduled(self._db, site, self._clock()):
                self.round = schedule.choose(self._db, site, revisit, self._clock())
                self.run = attrs.evolve(self.run, is_round=True)

    def _read_last(self, site: int) -> RunRow | None:
        sql = "SELECT {} FROM run WHERE site = ? ORDER BY id DESC LIMIT 1"
        return read_row(self._db, RunRow, sql, (site,))

    def _discard_stopped(self, site: int) -> None:
        if self.run.saves_urls:  # what the interrupted walk delivered is not new to the next walk
            url_index.merge(self._db, site)
        self._db.execute(
            "DELETE FROM delivered WHERE run IN (SELECT id FROM run WHERE site = ?)", (site,)
        )
        self._db.execute("DELETE FROM run WHERE site = ? AND ended IS NULL", (site,))

    def _write(self, row: RunRow) -> None:
        values = attrs.astuple(row, recurse=False)
        self._db.execute(
            f"INSERT OR REPLACE INTO run VALUES (?{', ?' * len(values)})",
            (*values, seal_of(*values)),
        )

    def find_kept(self, url: str) -> StoredResponse | None:
        """Return the answer of an earlier run that a round may use for a URL."""
        if self.round is None:
            return None
        with self._file.guard():
            db, site = self._db, self.run.site
            # A loss that waits for other documents as well needs no newer robots.txt yet.
            since = max(
                removals.find_pending(db, site, is_ripe=True), removals.find_dropped(db, site)
            )
            found = load_kept(db, site, url, self._clock(), since)
        if found is None:
            return None
        self.run = attrs.evolve(self.run, kept=min(found[1], self.run.kept or found[1]))
        return found[0]

    def keep(self, url: str, answer: StoredResponse) -> None:
        """Keep an answer for the rounds of a day."""
        with self.transaction():
            save_kept(self._db, self.run.site, url, self.run.stamp, self._clock(), answer)

    def stop(self) -> None:
        """Let any later walk resume this one, which a limit of URLs has stopped."""
        with self.transaction():
            row = self._read_last(self.run.site)
            if row is not None and row.id == self.run.id:
                self._write(attrs.evolve(row, complete=0))

    def finish(self, outcome: RunOutcome) -> Removals | None:
        """End the walk; return what was removed, if it saves URLs."""
        db, run = self._db, self.run
        with self.transaction():
            found = None
            if run.saves_urls:
                found = removals.judge(db, run, outcome)
            else:
                db.execute("DELETE FROM removed WHERE site = ?", (run.site,))
                removals.forget_unlisted(db, run, outcome)
            db.execute("DELETE FROM delivered WHERE run = ?", (run.id,))
            row = self._read_last(run.site)
            if row is None or row.id != run.id:
                raise DamageError("the row of this walk is missing")
            removed = None if found is None else found.urls
            complete = int(outcome.complete)
            now = self._clock()
            self._write(attrs.evolve(row, ended=now, complete=complete, removed=removed))
            db.execute("DELETE FROM run WHERE site = ? AND id < ?", (run.site, run.id))
            db.execute("DELETE FROM told WHERE site = ?", (run.site,))
            if outcome.tells:
                self.tell("")
            if found is not None:
                self._learn(found, now)
            return found

    def _stamp(self) -> int:
        return round(self._clock() * 1_000_000) * 1_000

    def _learn(self, found: Removals, now: float) -> None:
        """Learn from the walk when to come back."""
        db, run = self._db, self.run
        lost = removals.find_pending(db, run.site) or removals.find_dropped(db, run.site)
        self.seen.missed = dict(found.missed)
        if self.round is not None:
            self.seen.absent |= self.round.chosen - self.seen.askings.keys()
        for url in self.seen.unread:
            where = (run.site, url)
            known = "SELECT 1 FROM document WHERE site = ? AND url = ?"
            if db.execute(known, where).fetchone() is None:
                insert_document(db, removals.make_row(run, where[1]))
        schedule.learn(db, run.site, self.seen, now, lost / 1e9)

    def list_removed(self, *, is_untold: bool = False) -> Iterator[str]:
        """Yield the URLs that no document lists any more, or those yet to be delivered."""
        sql = "SELECT loc AS text, '' FROM removed WHERE site = :site"
        if is_untold:
            sql += " AND loc > (SELECT told.loc FROM told WHERE told.site = :site)"
        for loc, _ in self._list_sorted(sql):
            yield loc

    def tell(self, last: str) -> None:
        """Record, in a transaction, up to which one the removed URLs are delivered."""
        self._db.execute("INSERT OR REPLACE INTO told VALUES (?, ?)", (self.run.site, last))

    def list_unknown(self) -> Iterator[tuple[str, str]]:
        """Yield the documents whose removals are unknown, and why."""
        return self._list_sorted(
            "SELECT url AS text, unknown FROM document WHERE site = :site AND unknown IS NOT NULL"
        )

    def _list_sorted(self, sql: str) -> Iterator[tuple[str, str]]:
        # Query by query: other walks write to the file between two rows.
        values = {"site": self.run.site, "last": "", "most": _ROWS}
        sql = f"SELECT * FROM ({sql}) WHERE text > :last ORDER BY text LIMIT :most"
        while True:
            with self._file.guard():
                rows = self._db.execute(sql, values).fetchall()
            if not rows:
                return
            yield from rows
            values["last"] = rows[-1][0]

    def open_document(self, url: str) -> DocumentStore:
        """Return the store of a document, by its `url_key`."""
        with self._file.guard():
            where = (self.run.site, url)
            row = read_row(
                self._db, DocumentRow, "SELECT {} FROM document WHERE site = ? AND url = ?", where
            )
            if row is None:
                row = removals.make_row(self.run, url)
                return DocumentStore(self._file, self.run, None, row)
            number, unknown = self._db.execute(
                "SELECT id, unknown FROM document WHERE site = ? AND url = ?", where
            ).fetchone()
            is_doubted = unknown == removals.SHRUNK
            return DocumentStore(self._file, self.run, number, row, is_doubted=is_doubted)

    def delivered(self) -> Iterator[list[str]]:
        """Yield the URLs that the resumed walk had delivered before."""
        with self._file.guard():
            for locs, seal in self._db.execute(
                "SELECT locs, seal FROM delivered WHERE run = ?", (self.run.id,)
            ):
                if seal != seal_of(self.run.id, locs):
                    raise DamageError("a list of delivered URLs is damaged")
                yield url_index.unpack_locs(locs)


def _resumes(last: RunRow, options: RunOptions, now: float) -> bool:
    # A run that a limit of URLs stopped goes on whenever the next one comes.
    is_fresh = last.complete is not None or 0 <= now - last.began < _RESUMABLE_SECONDS
    return (
        last.ended is None
        and last.options == options.fingerprint
        and options.resumes(last.filters)
        and is_fresh
    )
