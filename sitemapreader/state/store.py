"""One document in the state, as a walk reads and writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.models import Change
from sitemapreader.outcomes import ALREADY_READ, SAME_BODY, SAME_LASTMOD, Status
from sitemapreader.state import schedule, url_index
from sitemapreader.state.database import StateFile, seal_chunk, seal_of
from sitemapreader.state.rows import (
    DOCUMENT_COLUMNS,
    DocumentRow,
    Progress,
    Run,
    get_values,
    insert_document,
    load_children,
    nanoseconds,
    read_row,
    save_children,
)
from sitemapreader.state.url_index import FINGERPRINT_BYTES

if TYPE_CHECKING:
    from sitemapreader.outcomes import BodyDigest, Document

_FINISHED = frozenset({Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED})
_SAVE = "UPDATE document SET {}, seal = ? WHERE id = ?".format(
    ", ".join(f"{name} = ?" for name in DOCUMENT_COLUMNS)
)
_NO_DOCUMENT = 0
"""A number that no document has."""


class DocumentStore:
    """One document in the state; each save updates its `row`."""

    def __init__(
        self,
        file: StateFile,
        walk: Run,
        number: int | None,
        row: DocumentRow,
        *,
        is_doubted: bool = False,
    ) -> None:
        self.row = row
        self._is_doubted = is_doubted
        self._number = number
        self._is_new = number is None
        self._run = walk
        self._file = file
        self._db = file.connection

    @property
    def _id(self) -> int:
        """The number of the document; one that is new gets it with the first change."""
        return self._insert() if self._number is None else self._number

    def _insert(self) -> int:
        self._number = insert_document(self._db, self.row)
        return self._number

    def believes(self, proof: int) -> bool:
        """Return whether the word that the document has not changed is believed.

        `proof` is what is known of that word: `row.validators`, or `row.dates` if an index says so.
        """
        # Where something is missing, a word that was never seen to change proves nothing: the
        # document may have what is missing. And a word that never changes may be a constant.
        walk, row = self._run, self.row
        age = walk.id - row.body_run
        rules = walk.rules
        if self._is_doubted or age >= nanoseconds(rules.distrust_after):
            return False
        is_new = walk.has_pending and row.became_run > walk.first
        if is_new and not row.has_settled(rules.confirm_after):
            return False
        return proof > 0 or not (proof or walk.has_pending)

    @property
    def is_known(self) -> bool:
        """Whether the state has a row of it."""
        return self._number is not None

    def load_schedule(self) -> schedule.ScheduleRow | None:
        """Return when to come back to it, if that is known."""
        with self._file.guard():
            return schedule.load_row(self._db, self._run.site, self.row.url)[1]

    @property
    def is_finished(self) -> bool:
        """Whether the resumed walk had finished the document before."""
        walk, row = self._run, self.row
        return walk.is_resumed and row.seen_run == walk.id and row.status in _FINISHED

    @property
    def was_read_now(self) -> bool:
        """Whether the resumed walk had read the document, not only revalidated it."""
        return self.is_finished and self.row.read_run == self._run.id

    def progress(self) -> Progress | None:
        """Return how far the resumed walk had read the document."""
        if self._number is None:
            return None
        with self._file.guard():
            return read_row(
                self._db,
                Progress,
                "SELECT {} FROM progress WHERE document = ? AND run = ?",
                (self._id, self._run.id),
            )

    def children(self) -> list[tuple[str, str | None]]:
        """Return loc and lastmod of each child of an index, in its order."""
        if self._number is None:
            return []
        with self._file.guard():
            return load_children(self._db, self._id, self.row.url)

    def compare(self, fingerprints: bytes) -> dict[int, Change]:
        """Return the changes of the document's entries, by position."""
        if self._run.is_new:
            return dict.fromkeys(range(len(fingerprints) // FINGERPRINT_BYTES), Change.NEW)
        with self._file.guard():
            return url_index.compare(
                self._db, self._run.site, self._number or _NO_DOCUMENT, fingerprints
            )

    # -- to be called inside of a transaction

    def restart(self) -> None:
        """Forget how far the document was read: it is read from its beginning."""
        self._db.execute(
            "UPDATE chunk SET run = 0, seal = seal_chunk(document, 0, count, fingerprints)"
            " WHERE document = ? AND run = ?",
            (self._id, self._run.id),
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (self._id,))

    def save_progress(
        self, entries: int, final_url: str, start: BodyDigest, filters: str | None
    ) -> None:
        """Save how far the document has been delivered; for the values see schema.sql."""
        values = (self._id, self._run.id, entries, final_url, start.size, start.digest, filters)
        self._db.execute(
            "INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, seal_of(*values)),
        )

    def save_chunk(self, fingerprints: bytes, locs: bytes) -> None:
        """Save a part of what the document lists."""
        values = (self._id, self._run.id, len(fingerprints) // FINGERPRINT_BYTES, fingerprints)
        self._db.execute(
            "INSERT INTO chunk (document, run, count, fingerprints, locs, seal)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (*values, locs, seal_chunk(*values)),
        )

    def save_delivered(self, locs: bytes) -> None:
        """Save which URLs have been delivered."""
        self._db.execute(
            "INSERT INTO delivered (run, locs, seal) VALUES (?, ?, ?)",
            (self._run.id, locs, seal_of(self._run.id, locs)),
        )

    def save_outcome(self, outcome: Document) -> None:
        """Save how the document ended, and keep what is known of its last reading."""
        self._save(**self._ending(outcome), **self._vouch(outcome))

    def save_confirmed(self, outcome: Document, lastmod: str | None, asked_at: float) -> None:
        """Save that the server, or the same bytes, confirmed the last reading."""
        self._save(
            **self._ending(outcome),
            **self._vouch(outcome),
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
        is_window: bool,
        was_dated: bool,
        lastmods: str,
    ) -> None:
        """Save that the document was read, completely or in part; see schema.sql.

        `children` are loc and lastmod of each child; `was_dated` means that its index said that it
        had not changed.
        """
        row, walk = self.row, self._run
        is_whole = outcome.status is Status.COMPLETE
        window = int(is_window) | (row.window & 1) << 1
        etag, last_modified = _text(outcome.etag), _text(outcome.last_modified)
        proofs = {}
        if is_whole and row.complete and row.body != body:
            before, now = row.etag or row.last_modified, etag or last_modified
            proofs = {
                "validators": _weigh(row.validators, before, now, must_differ=True),
                "dates": _weigh(row.dates, row.lastmod, lastmod, must_differ=was_dated),
            }
        if outcome.status is Status.PARTIAL:  # children behind the error are still listed
            known = load_children(self._db, self._id, self.row.url)
            children = list({**dict(known), **dict(children)}.items())
        self._save(
            **self._ending(outcome),
            read_run=walk.id,
            complete=int(is_whole),
            final_url=outcome.final_url,
            format=_text(outcome.format),
            etag=etag,
            last_modified=last_modified,
            lastmod=lastmod,
            size=body.size,
            digest=body.digest,
            entries=outcome.listed,
            children=outcome.children,
            read_at=asked_at,
            filters=filters,
            listed_run=walk.id if walk.saves_urls else row.listed_run,
            vouched_run=walk.stamp if walk.saves_urls and is_whole else row.vouched_run,
            body_run=walk.stamp if is_whole else row.body_run,
            format_run=walk.stamp if row.format not in (None, outcome.format) else row.format_run,
            window=row.window | is_window if not walk.saves_urls else window,
            lastmods=lastmods,
            **proofs,
        )
        self._db.execute("DELETE FROM progress WHERE document = ?", (self._id,))
        if children or not self._is_new:
            save_children(self._db, self._id, self.row.url, children)

    def _vouch(self, outcome: Document) -> dict[str, int]:
        """Return what an unchanged document proves; nothing on a doubtful word."""
        row, walk = self.row, self._run
        has_body = outcome.reason == SAME_BODY
        proof = row.dates if outcome.reason == SAME_LASTMOD else row.validators
        if outcome.reason == ALREADY_READ and row.read_run is None:
            # Another address of a document, and never more.
            return {"vouched_run": walk.stamp, "body_run": walk.stamp}
        # A window proves no removal, and the pages of a feed say nothing of themselves.
        if outcome.status is not Status.UNCHANGED or not (has_body or proof > 0 or row.window):
            return {}
        found = {"body_run": walk.stamp} if has_body else {}
        return found | {"vouched_run": walk.stamp} if walk.saves_urls and row.is_listed else found

    def _ending(self, outcome: Document) -> dict[str, Any]:
        return {
            "status": str(outcome.status),
            "reason": str(outcome.reason),
            "http_status": outcome.http_status,
            "seen_run": self._run.id,
        }

    def _save(self, **changes: Any) -> None:
        # A third of the time of `attrs.evolve`.
        before = zip(DOCUMENT_COLUMNS, get_values(self.row), strict=True)
        values = (dict(before) | changes).values()
        self.row = DocumentRow(*values)
        if self._number is None:
            self._insert()
            return
        self._db.execute(_SAVE, (*values, seal_of(*values), self._number))


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
    # A seal is made of the repr of values as the file returns them.
    return None if value is None else str(value)
