"""What a walk asks the state about one document, and what it has written down of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.models import Change
from sitemapreader.report import Status
from sitemapreader.state import listing
from sitemapreader.state.file import explaining
from sitemapreader.state.known import Progress
from sitemapreader.state.marks import MARK_BYTES
from sitemapreader.visits.past import Body

if TYPE_CHECKING:
    from sitemapreader.report import Document
    from sitemapreader.state.file import StateFile
    from sitemapreader.state.known import Known
    from sitemapreader.state.run import Run

_FINISHED = frozenset({Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED})


class Account:
    """One document in the state, for one walk.

    Attributes:
        known: what was known of it when the walk met it.
    """

    def __init__(self, file: StateFile, run: Run, known: Known) -> None:
        self.known = known
        self._id = known.id
        self._run = run
        self._path = file.path
        self._db = file.connection

    @property
    def is_finished(self) -> bool:
        """Tell whether this walk was through with the document before it was stopped."""
        run, known = self._run, self.known
        return run.is_resumed and known.seen_run == run.id and known.status in _FINISHED

    @property
    def was_read_now(self) -> bool:
        """Tell whether it was this walk that read it, before it was stopped."""
        return self.is_finished and self.known.read_run == self._run.id

    def progress(self) -> Progress | None:
        """Return how far this walk came with a document before it was stopped."""
        with explaining(self._path):
            row = self._db.execute(
                "SELECT entries, final_url, size, digest FROM progress"
                " WHERE document = ? AND run = ?",
                (self._id, self._run.id),
            ).fetchone()
        return None if row is None else Progress(row[0], row[1], Body(row[2], row[3]))

    def children(self) -> list[tuple[str, str | None]]:
        """Return loc and lastmod of what an index listed, in its order."""
        with explaining(self._path):
            return self._db.execute(
                "SELECT loc, lastmod FROM child WHERE document = ? ORDER BY position", (self._id,)
            ).fetchall()

    def compare(self, marks: bytes) -> dict[int, Change]:
        """Return what is new or changed, by its position, of entries that a document lists."""
        if self._run.is_new:
            return dict.fromkeys(range(len(marks) // MARK_BYTES), Change.NEW)
        with explaining(self._path):
            return listing.compare(self._db, self._run.site, self._id, marks)

    # -- what is written down, inside of a transaction

    def restart(self) -> None:
        """Note that a document is another one than that which was being read."""
        self._db.execute(
            "UPDATE chunk SET run = 0 WHERE document = ? AND run = ?", (self._id, self._run.id)
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (self._id,))

    def note_progress(self, progress: Progress) -> None:
        """Note how far a document has been handed over."""
        start = progress.start
        self._db.execute(
            "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._id,
                self._run.id,
                progress.entries,
                progress.final_url,
                start.size,
                start.digest,
            ),
        )

    def note_chunk(self, marks: bytes, locs: bytes) -> None:
        """Note what a document lists."""
        self._db.execute(
            "INSERT INTO chunk (document, run, count, marks, locs) VALUES (?, ?, ?, ?, ?)",
            (self._id, self._run.id, len(marks) // MARK_BYTES, marks, locs),
        )

    def note_delivered(self, locs: bytes) -> None:
        """Note which URLs have been handed over."""
        self._db.execute("INSERT INTO delivered VALUES (?, ?)", (self._run.id, locs))

    def note_outcome(self, outcome: Document) -> None:
        """Note how a document ended; what is known of its last reading stays."""
        self._db.execute(
            "UPDATE document SET status = ?, reason = ?, http_status = ?, seen_run = ?"
            " WHERE id = ?",
            (outcome.status, outcome.reason, outcome.http_status, self._run.id, self._id),
        )

    def note_confirmed(self, outcome: Document, lastmod: str | None, asked_at: float) -> None:
        """Note that the server vouches for the last reading once more."""
        self._db.execute(
            "UPDATE document SET lastmod = ?, read_at = ?, etag = coalesce(?, etag),"
            " last_modified = coalesce(?, last_modified) WHERE id = ?",
            (lastmod, asked_at, outcome.etag, outcome.last_modified, self._id),
        )

    def note_reading(
        self,
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
                self._run.id,
                outcome.status is Status.COMPLETE,
                outcome.final_url,
                outcome.format,
                outcome.etag,
                outcome.last_modified,
                lastmod,
                body.size,
                body.digest,
                outcome.listed,
                outcome.children,
                asked_at,
                self._run.lists,
                self._run.id,
                self._id,
            ),
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (self._id,))
        self._db.execute("DELETE FROM child WHERE document = ?", (self._id,))
        self._db.executemany(
            "INSERT INTO child VALUES (?, ?, ?, ?)",
            ((self._id, position, *child) for position, child in enumerate(children)),
        )
