"""What a walk reads and writes of its site, and of each document."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.fetch.local import StoredResponse
from sitemapreader.models import Change
from sitemapreader.outcomes import ALREADY_READ, SAME_BODY, SAME_LASTMOD, Status
from sitemapreader.state import TELLING, Told, law, schedule
from sitemapreader.state.rows import (
    DocumentRow,
    Findings,
    Run,
    digest,
    insert_document,
    load_document,
    pack,
    unpack,
    update_document,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sitemapreader.outcomes import Document

_RESUMABLE_SECONDS = 24 * 3600
"""Older interrupted walks are not resumed."""
_READ = frozenset({Status.COMPLETE, Status.PARTIAL})
_KNOWN = _READ | {Status.UNCHANGED}


# -- the walk over a site


def begin(
    db: sqlite3.Connection, run: Run, now: float, revisit: int | Collection[str] | None = None
) -> Run:
    """Resume the walk that was interrupted within a day, or begin a new one.

    With `revisit`, so many documents, or these, are due of a site that the state knows.
    """
    db.execute("INSERT OR IGNORE INTO site (name) VALUES (?)", (run.name,))
    site, last, since, ended, stopped, looked, *looks = db.execute(
        "SELECT id, run, began, ended, complete, looked_run, candidate_run, proven_run"
        " FROM site WHERE name = ?",
        (run.name,),
    ).fetchone()
    # One that a limit of URLs stopped goes on whenever the next one comes.
    is_resumed = bool(last) and ended is None
    is_resumed &= stopped is not None or 0 <= now - (since or 0) < _RESUMABLE_SECONDS
    stamp = max(round(now * 1_000_000) * 1_000, last + 1)
    if not is_resumed:
        db.execute(
            "UPDATE site SET run = ?, began = ?, ended = NULL, complete = NULL,"
            " unlisted = NULL, waiting = NULL WHERE id = ?",
            (stamp, now, site),
        )
        db.execute("DELETE FROM batch WHERE site = ?", (site,))
    if run.saves:
        law.merge(db, site)  # what the last one saved
    run = attrs.evolve(
        run,
        site=site,
        id=last if is_resumed else stamp,
        stamp=stamp,
        is_resumed=is_resumed,
        is_new=not db.execute("SELECT 1 FROM url WHERE site = ? LIMIT 1", (site,)).fetchone(),
        has_pending=law.has_pending(db, site) > 0,
        looked=looked,
        looks=tuple(looks),
    )
    if revisit is not None:
        return schedule.choose(db, run, revisit, now)
    db.execute("DELETE FROM kept WHERE site = ?", (site,))  # what it is answered now is newer
    return run


def stop(db: sqlite3.Connection, run: Run) -> None:
    """Let any later walk resume this one, which a limit of URLs has stopped."""
    db.execute("UPDATE site SET complete = 0 WHERE id = ?", (run.site,))


def finish(
    db: sqlite3.Connection,
    run: Run,
    listed: Mapping[str, bool],
    askings: Mapping[str, schedule.Asking],
    now: float,
    *,
    complete: bool,
    knows_all: bool,
) -> Findings | None:
    """End the walk, learn when to come back; return what is missing: see `law.judge`."""
    db.execute("DELETE FROM batch WHERE site = ?", (run.site,))
    found = law.judge(db, run, listed, knows_all=knows_all)
    unlisted, waiting = (found.unlisted, found.waiting) if found else (None, None)
    lost = law.has_pending(db, run.site)
    db.execute(
        "UPDATE site SET ended = ?, complete = ?, unlisted = ?, waiting = ?, lost_run = ?"
        " WHERE id = ?",
        (now, complete, unlisted, waiting, lost, run.site),
    )
    if found:
        schedule.learn(db, run, askings, found.missed, now)
    return found


def list_delivered(db: sqlite3.Connection, run: Run) -> Iterator[str]:
    """Yield the URLs that the resumed walk had delivered before."""
    kept = "SELECT locs FROM batch WHERE site = ? AND locs IS NOT NULL"
    for (locs,) in db.execute(kept, (run.site,)):
        yield from unpack(locs)
    sent = "SELECT loc FROM url WHERE site = ? AND seen_run >= ? AND length(record) > 0"
    for (loc,) in db.execute(sent, (run.site, run.id)):
        yield loc


# -- what was delivered as unlisted or gone


def find_untold(db: sqlite3.Connection, run: Run, what: Told) -> list[tuple[bytes, Any]]:
    """Return some of what is unlisted or gone and was not delivered as such, by keys."""
    make, columns, condition = TELLING[what]
    rows = db.execute(
        f"SELECT key, {columns} FROM page WHERE site = ? AND {condition} AND NOT told_{what}"
        " ORDER BY key LIMIT 500",
        (run.site,),
    )
    return [(key, make(*values)) for key, *values in rows]


def tell(db: sqlite3.Connection, run: Run, what: Told, keys: Iterable[bytes]) -> None:
    """Record that URLs were delivered as unlisted or gone."""
    sql = f"UPDATE page SET told_{what} = 1 WHERE site = ? AND key = ?"
    db.executemany(sql, ((run.site, key) for key in keys))


# -- a document


def open_document(
    db: sqlite3.Connection, run: Run, url: str
) -> tuple[DocumentRow, bool, list[tuple[int, bytes, str | None]]]:
    """Return what is known of a document, by its `url_key`.

    That is its row; whether its last readings lack URLs, which none has confirmed; and size, digest
    and filters of what the resumed walk has delivered of it, without `changes`.
    """
    row = load_document(db, run, url)
    has_lost = bool(row.id and run.has_pending and law.has_pending(db, run.site, row.id))
    sql = "SELECT size, digest, filters FROM batch WHERE site = ? AND document = ? ORDER BY id"
    is_begun = run.is_resumed and not run.saves
    return row, has_lost, db.execute(sql, (run.site, row.id)).fetchall() if is_begun else []


def compare(
    db: sqlite3.Connection,
    run: Run,
    row: DocumentRow,
    keys: Sequence[bytes],
    records: Sequence[bytes],
) -> list[Change | None]:
    """Return the change of each entry of a document."""
    if run.is_new:
        return [Change.NEW] * len(keys)
    known: dict[bytes, dict[int, bytes | None]] = {}
    marks = ", ".join("?" * len(keys))
    # What was deleted has a negative number: only another record of it is new.
    own = "iif(window = 2, -document, document)"
    find = f"SELECT key, {own}, record FROM url WHERE site = ? AND key IN ({marks})"
    for key, document, record in db.execute(find, (run.site, *keys)):
        known.setdefault(key, {})[document] = record
    return [
        _compare(known.get(key, {}), row.id or 0, record)
        for key, record in zip(keys, records, strict=True)
    ]


def _compare(known: dict[int, bytes | None], document: int, record: bytes) -> Change | None:
    # Two sitemaps often say different things of one page, so the document's own record of a URL
    # counts. Another's counts only where this one has none, as when a URL has moved.
    own = known.get(document)
    if own == record or (not own and record in known.values()):
        return None
    is_known = any(known[number] is not None for number in known if number > 0)
    return Change.CHANGED if is_known else Change.NEW


def log(
    db: sqlite3.Connection,
    run: Run,
    row: DocumentRow,
    keys: Sequence[bytes],
    records: Sequence[bytes],
    locs: Sequence[str],
    marks: str,
) -> None:
    """Save entries; `marks` say what became of each: see schema.sql."""
    number = insert_document(db, row)
    db.execute(
        "INSERT INTO log (site, document, run, keys, records, locs, marks)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            run.site,
            number,
            run.stamp,
            b"".join(keys),
            b"".join(records),
            pack(locs),
            marks.encode(),
        ),
    )


def log_batch(
    db: sqlite3.Connection,
    run: Run,
    row: DocumentRow,
    locs: Sequence[str],
    filters: str | None,
    *,
    keeps: bool,
    is_anew: bool,
) -> None:
    """Save that a batch was handed over, `filters` having held some of it back.

    With `keeps`, its URLs are remembered until the walk ends; if it `is_anew`, what a resumed walk
    saved of the document is forgotten.
    """
    number = insert_document(db, row)
    if is_anew:
        db.execute("DELETE FROM batch WHERE site = ? AND document = ?", (run.site, number))
    db.execute(
        "INSERT INTO batch (site, document, size, digest, filters, locs) VALUES (?, ?, ?, ?, ?, ?)",
        (run.site, number, len(locs), digest(locs), filters, pack(locs) if keeps else None),
    )


def save_outcome(
    db: sqlite3.Connection,
    run: Run,
    row: DocumentRow,
    outcome: Document,
    read: Mapping[str, Any],
    children: Sequence[tuple[str, str | None]],
    *,
    was_dated: bool,
) -> None:
    """Save how a document ended, and what was read of it.

    `read` has the columns that the outcome does not tell; it is empty if the document was not
    requested. `children` are pairs of loc and lastmod; if it `was_dated`, its index said that it
    had not changed.
    """
    status = outcome.status
    found: dict[str, Any] = {
        "status": str(status),
        "reason": str(outcome.reason),
        "http_status": outcome.http_status,
        "seen_run": run.id,
    }
    is_whole = bool(read) and status is Status.COMPLETE
    if is_whole or _is_confirmed(row, outcome):
        if is_whole or outcome.reason == SAME_BODY:
            found["body_run"] = run.stamp
        if run.saves:  # else what it lists is not known
            vouched = law.vouch(row.candidate_run, row.proven_run, run.stamp, run.confirm_after)
            found["candidate_run"], found["proven_run"] = vouched
            found["vouched_run"] = run.stamp
    if read and status in _KNOWN:
        before = row if status is Status.UNCHANGED else None
        found |= {
            "lastmod": read["lastmod"],
            "read_at": read["read_at"],
            "etag": _text(outcome.etag) or (before and before.etag),
            "last_modified": _text(outcome.last_modified) or (before and before.last_modified),
        }
    if read and status in _READ:
        if is_whole and run.saves:
            found["listed_run"] = run.stamp
        if is_whole and row.complete and row.digest != read["digest"]:
            words = row.etag or row.last_modified, found["etag"] or found["last_modified"]
            found["validators"] = _weigh(row.validators, *words, must_differ=True)
            words = row.lastmod, read["lastmod"]
            found["dates"] = _weigh(row.dates, *words, must_differ=was_dated)
        if not is_whole:  # children behind the error are still listed
            children = list({**dict(row.list_children()), **dict(children)}.items())
        found |= read
        found |= {
            "read_run": run.id,
            "complete": int(is_whole),
            "is_saved": int(run.saves or not outcome.listed),
            "final_url": outcome.final_url,
            "format": _text(outcome.format),
            "entries": outcome.listed,
            "children": outcome.children,
            "child_list": json.dumps(children) if children else None,
        }
    update_document(db, row, found)


def _is_confirmed(row: DocumentRow, outcome: Document) -> bool:
    """Return whether a document that was not read is known to list what it did."""
    if outcome.reason == ALREADY_READ:
        return row.read_run is None  # another address of a document, and never more
    proof = row.dates if outcome.reason == SAME_LASTMOD else row.validators
    # A window proves no removal, and the pages of a feed say nothing of themselves.
    is_believed = outcome.reason == SAME_BODY or proof > 0 or bool(row.window)
    return outcome.status is Status.UNCHANGED and is_believed


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
    """Return a plain str of an enum or text; a header may have what is no character."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()


# -- answers that are kept for a day: robots.txt, start pages, guesses that fail

_KEPT_SECONDS = 24 * 3600
"""How long a robots.txt may be used (RFC 9309, section 2.4)."""
_HEADERS = ("content-type", "link")


def save_kept(
    db: sqlite3.Connection, run: Run, url: str, now: float, answer: StoredResponse
) -> None:
    """Keep an answer of this run, in a transaction."""
    headers = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
    said = answer.status, answer.url, json.dumps(headers), zlib.compress(answer.body)
    db.execute(
        "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (run.site, url, run.stamp, now, *said),
    )


def load_kept(
    db: sqlite3.Connection, run: Run, url: str, now: float
) -> tuple[StoredResponse, int] | None:
    """Return an answer of the last day, and its run.

    `None` for a URL that the state knows as a document: the schedule says when to ask for it.
    """
    row = db.execute(
        "SELECT * FROM kept WHERE site = :site AND url = :url"
        " AND NOT EXISTS (SELECT 1 FROM document WHERE site = :site AND url = :url)",
        {"site": run.site, "url": url},
    ).fetchone()
    if row is None or not 0 <= now - row[3] < _KEPT_SECONDS:
        return None
    _, _, asked, _, status, final_url, headers, body = row
    answer = StoredResponse(final_url, zlib.decompress(body), status, json.loads(headers), tries=0)
    return answer, asked
