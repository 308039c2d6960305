"""The state as one walk has it open: what is known of a document, and what is written of it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from sitemapreader.models import Change, Format
from sitemapreader.report import Status
from sitemapreader.state import listing
from sitemapreader.state.file import StateFile, explaining
from sitemapreader.state.marks import MARK_BYTES
from sitemapreader.visits.past import Body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sitemapreader.report import Document

_RESUMABLE_SECONDS = 24 * 3600
"""A walk that was stopped longer ago is not gone on with: what it read is too old."""
_FINISHED = frozenset({Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED})


@attrs.frozen
class Known:
    """What is known of a document: see the table `document`."""

    id: int
    status: str
    reason: str
    http_status: int | None
    seen_run: int | None
    read_run: int | None
    complete: bool
    final_url: str
    format: Format | None = attrs.field(converter=attrs.converters.optional(Format))
    etag: str | None
    last_modified: str | None
    lastmod: str | None
    size: int | None
    digest: bytes | None
    entries: int
    children: int
    read_at: float | None
    listed_run: int | None

    @property
    def body(self) -> Body | None:
        """The bytes of the last reading."""
        return None if self.digest is None or self.size is None else Body(self.size, self.digest)

    @property
    def is_listed(self) -> bool:
        """Tell whether the state has the URLs of the last reading."""
        return self.read_run is not None and self.listed_run == self.read_run


_COLUMNS = ", ".join(field.name for field in attrs.fields(Known))


@attrs.frozen
class Progress:
    """How far a document came: so many entries, out of so many bytes."""

    entries: int
    final_url: str
    start: Body


class Book:
    """The state of one site, open for one walk.

    Attributes:
        renamed: what an unusable file in its place is called now.
        run: number of the walk.
        is_resumed: whether it goes on with one that was stopped.
        is_new: whether nothing of the site is listed yet, so that every entry is new.
    """

    def __init__(self, path: Path, site: str, options: bytes, *, lists: bool) -> None:
        self._lists = lists
        self._path = path
        self._options = options
        self._file = StateFile(path)
        self.renamed = self._file.renamed
        self._db = self._file.connection
        self.run = 0
        self.is_resumed = False
        self.is_new = False
        try:
            with explaining(path):
                self._db.execute("INSERT OR IGNORE INTO site (name) VALUES (?)", (site,))
                (self._site,) = self._db.execute(
                    "SELECT id FROM site WHERE name = ?", (site,)
                ).fetchone()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file; may be called again."""
        self._file.close()

    def sync(self) -> None:
        """Bring what was committed onto the disk; may be called from another thread."""
        self._file.sync()

    def interrupt(self) -> None:
        """End what goes on in another thread; it is undone."""
        self._db.interrupt()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that is written inside at once, or nothing of it."""
        with explaining(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # -- the walk as a whole

    def begin(self) -> None:
        """Go on with the walk that was stopped, or begin a new one. May take long."""
        with self.transaction():
            row = self._db.execute(
                "SELECT id, options, began FROM run WHERE site = ? AND ended IS NULL"
                " ORDER BY id DESC LIMIT 1",
                (self._site,),
            ).fetchone()
            if row and row[1] == self._options and 0 <= time.time() - row[2] < _RESUMABLE_SECONDS:
                self.run, self.is_resumed = row[0], True
            else:
                self._begin_anew()
            self.is_new = listing.is_empty(self._db, self._site)

    def _begin_anew(self) -> None:
        if self._lists:  # what a walk that was stopped had handed over is not new to this one
            listing.merge(self._db, self._site)
        self._db.execute(
            "DELETE FROM delivered WHERE run IN (SELECT id FROM run WHERE site = ?)", (self._site,)
        )
        self._db.execute("DELETE FROM run WHERE site = ? AND ended IS NULL", (self._site,))
        run = self._db.execute(
            "INSERT INTO run (site, options, began) VALUES (?, ?, ?)",
            (self._site, self._options, time.time()),
        ).lastrowid
        self.run = run or 0

    def finish(self, *, complete: bool, listed: Iterable[str]) -> int | None:
        """End the walk; return how many URLs are gone, if that is known. May take long.

        `listed` are the URLs (as `url_key` writes them) of all documents that the site still has.
        """
        with self.transaction():
            if complete:
                self._db.execute("CREATE TEMP TABLE alive (url TEXT PRIMARY KEY) WITHOUT ROWID")
                self._db.executemany(
                    "INSERT OR IGNORE INTO alive VALUES (?)", ((url,) for url in listed)
                )
                listing.forget_unlisted(self._db, self._site)
            removed = None
            if self._lists and not self.is_new:
                removed = listing.settle(self._db, self._site, complete=complete)
            elif self._lists and complete:
                removed = 0  # what is listed is merged by the next walk, before it compares
            self._db.execute("DROP TABLE IF EXISTS temp.alive")
            self._db.execute("DELETE FROM delivered WHERE run = ?", (self.run,))
            self._db.execute(
                "UPDATE run SET ended = ?, complete = ?, removed = ? WHERE id = ?",
                (time.time(), complete, removed, self.run),
            )
            self._db.execute("DELETE FROM run WHERE site = ? AND id < ?", (self._site, self.run))
        return removed

    # -- one document

    def find(self, url: str) -> Known:
        """Return what is known of a document, by its `url_key`; it is enrolled if it is new."""
        with explaining(self._path):
            sql = f"SELECT {_COLUMNS} FROM document WHERE site = ? AND url = ?"
            row = self._db.execute(sql, (self._site, url)).fetchone()
            if row is None:
                self._db.execute(
                    "INSERT INTO document (site, url) VALUES (?, ?)", (self._site, url)
                )
                row = self._db.execute(sql, (self._site, url)).fetchone()
            return Known(*row)

    def is_finished(self, known: Known) -> bool:
        """Tell whether this walk was through with the document before it was stopped."""
        return self.is_resumed and known.seen_run == self.run and known.status in _FINISHED

    def progress_of(self, document: int) -> Progress | None:
        """Return how far this walk came with a document before it was stopped."""
        with explaining(self._path):
            row = self._db.execute(
                "SELECT entries, final_url, size, digest FROM progress"
                " WHERE document = ? AND run = ?",
                (document, self.run),
            ).fetchone()
        return None if row is None else Progress(row[0], row[1], Body(row[2], row[3]))

    def children_of(self, document: int) -> list[tuple[str, str | None]]:
        """Return loc and lastmod of what an index listed, in its order."""
        with explaining(self._path):
            return self._db.execute(
                "SELECT loc, lastmod FROM child WHERE document = ? ORDER BY position", (document,)
            ).fetchall()

    def compare(self, document: int, marks: bytes) -> dict[int, Change]:
        """Return what is new or changed, by its position, of entries that a document lists."""
        if self.is_new:
            return dict.fromkeys(range(len(marks) // MARK_BYTES), Change.NEW)
        with explaining(self._path):
            return listing.compare(self._db, self._site, document, marks)

    def delivered(self) -> Iterator[list[str]]:
        """Yield the URLs that this walk had handed over before it was stopped."""
        with explaining(self._path):
            rows = self._db.execute("SELECT locs FROM delivered WHERE run = ?", (self.run,))
            for (locs,) in rows:
                yield listing.unpack_locs(locs)

    # -- what is written down, inside of a transaction

    def restart(self, document: int) -> None:
        """Note that a document is another one than that which was being read."""
        self._db.execute(
            "UPDATE chunk SET run = 0 WHERE document = ? AND run = ?", (document, self.run)
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (document,))

    def note_progress(self, document: int, progress: Progress) -> None:
        """Note how far a document has been handed over."""
        start = progress.start
        self._db.execute(
            "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?)",
            (
                document,
                self.run,
                progress.entries,
                progress.final_url,
                start.size,
                start.digest,
            ),
        )

    def note_chunk(self, document: int, marks: bytes, locs: bytes) -> None:
        """Note what a document lists."""
        self._db.execute(
            "INSERT INTO chunk (document, run, count, marks, locs) VALUES (?, ?, ?, ?, ?)",
            (document, self.run, len(marks) // MARK_BYTES, marks, locs),
        )

    def note_delivered(self, locs: bytes) -> None:
        """Note which URLs have been handed over."""
        self._db.execute("INSERT INTO delivered VALUES (?, ?)", (self.run, locs))

    def note_outcome(self, document: int, outcome: Document) -> None:
        """Note how a document ended; what is known of its last reading stays."""
        self._db.execute(
            "UPDATE document SET status = ?, reason = ?, http_status = ?, seen_run = ?"
            " WHERE id = ?",
            (outcome.status, outcome.reason, outcome.http_status, self.run, document),
        )

    def note_confirmed(
        self, document: int, outcome: Document, lastmod: str | None, asked_at: float
    ) -> None:
        """Note that the server vouches for the last reading once more."""
        self._db.execute(
            "UPDATE document SET lastmod = ?, read_at = ?, etag = coalesce(?, etag),"
            " last_modified = coalesce(?, last_modified) WHERE id = ?",
            (lastmod, asked_at, outcome.etag, outcome.last_modified, document),
        )

    def note_reading(
        self,
        document: int,
        outcome: Document,
        *,
        body: Body,
        lastmod: str | None,
        asked_at: float,
        children: list[tuple[str, str | None]],
    ) -> None:
        """Note that a document was read, wholly or in part."""
        self._db.execute(
            "UPDATE document SET read_run = ?, complete = ?, final_url = ?, format = ?, etag = ?,"
            " last_modified = ?, lastmod = ?, size = ?, digest = ?, entries = ?, children = ?,"
            " read_at = ?, listed_run = iif(?, ?, listed_run) WHERE id = ?",
            (
                self.run,
                outcome.status is Status.COMPLETE,
                outcome.final_url,
                outcome.format,
                outcome.etag,
                outcome.last_modified,
                lastmod,
                body.size,
                body.digest,
                outcome.entries,
                outcome.children,
                asked_at,
                self._lists,
                self.run,
                document,
            ),
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (document,))
        self._db.execute("DELETE FROM child WHERE document = ?", (document,))
        self._db.executemany(
            "INSERT INTO child VALUES (?, ?, ?, ?)",
            ((document, position, *child) for position, child in enumerate(children)),
        )
