"""What a walk asks its state, and has it remember: of the site, and of each document."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.models import Change
from sitemapreader.outcomes import Status
from sitemapreader.state import run, url_index
from sitemapreader.state.database import DamageError, StateFile
from sitemapreader.state.fingerprints import FINGERPRINT_BYTES
from sitemapreader.state.rows import (
    DocumentRow,
    Progress,
    load_children,
    read_row,
    save_children,
)
from sitemapreader.state.schema import seal_chunk, seal_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemapreader._digest import BodyDigest
    from sitemapreader.outcomes import Document
    from sitemapreader.state.run import Ending, Removals, Request

_FINISHED = frozenset({Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED})
_COLUMNS = [field.name for field in attrs.fields(DocumentRow)]
_SAVE = (
    f"UPDATE document SET {', '.join(f'{name} = ?' for name in _COLUMNS)}, seal = ? WHERE id = ?"
)
_INSERT = f"INSERT INTO document ({', '.join(_COLUMNS)}, seal) VALUES (?{', ?' * len(_COLUMNS)})"


class SiteStore:
    """The state of one site, open for one walk.

    Attributes:
        quarantined_as: what an unusable file in its place is called now.
        run: the walk.
    """

    def __init__(self, path: Path, site: str, *, lists: bool) -> None:
        self._file = StateFile(path)
        self.quarantined_as = self._file.quarantined_as
        self._db = self._file.connection
        try:
            with self._file.guard():
                self._db.create_function("seal_chunk", 4, seal_chunk, deterministic=True)
                self._db.execute("INSERT OR IGNORE INTO site (name) VALUES (?)", (site,))
                (number,) = self._db.execute(
                    "SELECT id FROM site WHERE name = ?", (site,)
                ).fetchone()
        except BaseException:
            self._file.close()
            raise
        self.run = run.Run(number, lists)

    def close(self) -> None:
        """Close the file; may be called again."""
        self._file.close()

    def sync(self) -> None:
        """Bring what was committed onto the disk; may be called from another thread."""
        self._file.sync()

    def interrupt(self) -> None:
        """End what another thread does here; it is undone."""
        self._db.interrupt()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that is written inside at once, or nothing of it."""
        with self._file.guard():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def begin(self, request: Request) -> None:
        """Resume the walk that was stopped, or begin a new one. May take long."""
        with self.transaction():
            self.run = run.begin(self._db, self.run, request)

    def finish(self, ending: Ending) -> Removals | None:
        """End the walk; return what is known to be gone, if it compares. May take long."""
        with self.transaction():
            return run.finish(self._db, self.run, ending)

    def open_document(self, url: str) -> DocumentStore:
        """Return the store of a document, by its `url_key`; it is enrolled if it is new."""
        with self._file.guard():
            where = (self.run.site, url)
            sql = "SELECT {} FROM document WHERE site = ? AND url = ?"
            row = read_row(self._db, DocumentRow, sql, where)
            if row is None:
                row = DocumentRow(*where)
                values = attrs.astuple(row, recurse=False)
                self._db.execute(_INSERT, (*values, seal_of(*values)))
            (number,) = self._db.execute(
                "SELECT id FROM document WHERE site = ? AND url = ?", where
            ).fetchone()
            return DocumentStore(self._file, self.run, number, row)

    def delivered(self) -> Iterator[list[str]]:
        """Yield the URLs that this walk had handed over before it was stopped."""
        with self._file.guard():
            for locs, seal in self._db.execute(
                "SELECT locs, seal FROM delivered WHERE run = ?", (self.run.id,)
            ):
                if seal != seal_of(self.run.id, locs):
                    raise DamageError("a list of delivered URLs is damaged")
                yield url_index.unpack_locs(locs)


class DocumentStore:
    """One document in the state, for one walk.

    Attributes:
        row: what is known of it; what the walk writes down changes it.
    """

    def __init__(self, file: StateFile, walk: run.Run, number: int, row: DocumentRow) -> None:
        self.row = row
        self._id = number
        self._run = walk
        self._file = file
        self._db = file.connection

    @property
    def is_finished(self) -> bool:
        """Tell whether this walk was through with the document before it was stopped."""
        walk, row = self._run, self.row
        return walk.is_resumed and row.seen_run == walk.id and row.status in _FINISHED

    @property
    def was_read_now(self) -> bool:
        """Tell whether it was this walk that read it, before it was stopped."""
        return self.is_finished and self.row.read_run == self._run.id

    def progress(self) -> Progress | None:
        """Return how far this walk came with a document before it was stopped."""
        with self._file.guard():
            return read_row(
                self._db,
                Progress,
                "SELECT {} FROM progress WHERE document = ? AND run = ?",
                (self._id, self._run.id),
            )

    def children(self) -> list[tuple[str, str | None]]:
        """Return loc and lastmod of what an index listed, in its order."""
        with self._file.guard():
            return load_children(self._db, self._id, self.row.url)

    def compare(self, fingerprints: bytes) -> dict[int, Change]:
        """Return what is new or changed, by its position, of entries that a document lists."""
        if self._run.is_new:
            return dict.fromkeys(range(len(fingerprints) // FINGERPRINT_BYTES), Change.NEW)
        with self._file.guard():
            return url_index.compare(self._db, self._run.site, self._id, fingerprints)

    # -- what is written down, inside of a transaction

    def restart(self) -> None:
        """Forget how far this walk came: the document is read from its beginning."""
        self._db.execute(
            "UPDATE chunk SET run = 0, seal = seal_chunk(document, 0, count, fingerprints)"
            " WHERE document = ? AND run = ?",
            (self._id, self._run.id),
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (self._id,))

    def save_progress(
        self, entries: int, final_url: str, start: BodyDigest, filters: str | None
    ) -> None:
        """Write down how far a document has been handed over."""
        values = (self._id, self._run.id, entries, final_url, start.size, start.digest, filters)
        self._db.execute(
            "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, seal_of(*values)),
        )

    def save_chunk(self, fingerprints: bytes, locs: bytes) -> None:
        """Write down what a document lists."""
        values = (self._id, self._run.id, len(fingerprints) // FINGERPRINT_BYTES, fingerprints)
        self._db.execute(
            "INSERT INTO chunk (document, run, count, fingerprints, locs, seal)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (*values, locs, seal_chunk(*values)),
        )

    def save_delivered(self, locs: bytes) -> None:
        """Write down which URLs have been handed over."""
        self._db.execute(
            "INSERT INTO delivered (run, locs, seal) VALUES (?, ?, ?)",
            (self._run.id, locs, seal_of(self._run.id, locs)),
        )

    def save_outcome(self, outcome: Document) -> None:
        """Write down how a document ended; what is known of its last reading stays."""
        self._save(**self._ending(outcome))

    def save_confirmed(self, outcome: Document, lastmod: str | None, asked_at: float) -> None:
        """Write down that the server vouches for the last reading once more."""
        self._save(
            **self._ending(outcome),
            lastmod=lastmod,
            read_at=asked_at,
            etag=_text(outcome.etag) or self.row.etag,
            last_modified=_text(outcome.last_modified) or self.row.last_modified,
        )

    def save_reading(
        self,
        outcome: Document,
        *,
        body: BodyDigest,
        lastmod: str | None,
        asked_at: float,
        filters: str | None,
        children: list[tuple[str, str | None]],
    ) -> None:
        """Write down that a document was read, wholly or in part."""
        if outcome.status is Status.PARTIAL:  # what it listed behind the fault is not gone
            before = load_children(self._db, self._id, self.row.url)
            children = list({**dict(before), **dict(children)}.items())
        self._save(
            **self._ending(outcome),
            read_run=self._run.id,
            complete=int(outcome.status is Status.COMPLETE),
            final_url=outcome.final_url,
            format=_text(outcome.format),
            etag=_text(outcome.etag),
            last_modified=_text(outcome.last_modified),
            lastmod=lastmod,
            size=body.size,
            digest=body.digest,
            entries=outcome.listed,
            children=outcome.children,
            read_at=asked_at,
            filters=filters,
            listed_run=self._run.id if self._run.lists else self.row.listed_run,
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (self._id,))
        save_children(self._db, self._id, self.row.url, children)

    def _ending(self, outcome: Document) -> dict[str, Any]:
        return {
            "status": str(outcome.status),
            "reason": str(outcome.reason),
            "http_status": outcome.http_status,
            "seen_run": self._run.id,
        }

    def _save(self, **changes: Any) -> None:
        self.row = attrs.evolve(self.row, **changes)
        values = attrs.astuple(self.row, recurse=False)
        self._db.execute(_SAVE, (*values, seal_of(*values), self._id))


def _text(value: str | None) -> str | None:
    """Return a plain text, for a seal is made of what comes out of the file again."""
    return None if value is None else str(value)
