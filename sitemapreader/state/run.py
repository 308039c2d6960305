"""One walk, from its beginning, or from where it was stopped, to its end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from sitemapreader.state import listing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_RESUMABLE_SECONDS = 24 * 3600
"""A walk that was stopped longer ago is not gone on with: what it read is too old."""


@attrs.frozen
class Run:
    """A walk over a site.

    Attributes:
        site: number of the site.
        lists: whether it writes down which URLs the documents list.
        id: number of the walk; 0 as long as it has not begun.
        is_resumed: whether it goes on with one that was stopped.
        is_new: whether nothing of the site is listed yet, so that every entry is new.
    """

    site: int
    lists: bool
    id: int = 0
    is_resumed: bool = False
    is_new: bool = False


def begin(db: sqlite3.Connection, run: Run, options: bytes) -> Run:
    """Return a walk that has begun; it goes on with one of the same options that was stopped."""
    row = db.execute(
        "SELECT id, options, began FROM run WHERE site = ? AND ended IS NULL"
        " ORDER BY id DESC LIMIT 1",
        (run.site,),
    ).fetchone()
    is_resumed = bool(row and row[1] == options and 0 <= time.time() - row[2] < _RESUMABLE_SECONDS)
    number = row[0] if is_resumed else _begin_anew(db, run, options)
    is_new = listing.is_empty(db, run.site)
    return attrs.evolve(run, id=number, is_resumed=is_resumed, is_new=is_new)


def _begin_anew(db: sqlite3.Connection, run: Run, options: bytes) -> int:
    if run.lists:  # what a walk that was stopped had handed over is not new to this one
        listing.merge(db, run.site)
    db.execute(
        "DELETE FROM delivered WHERE run IN (SELECT id FROM run WHERE site = ?)", (run.site,)
    )
    db.execute("DELETE FROM run WHERE site = ? AND ended IS NULL", (run.site,))
    number = db.execute(
        "INSERT INTO run (site, options, began) VALUES (?, ?, ?)",
        (run.site, options, time.time()),
    ).lastrowid
    return number or 0


def finish(
    db: sqlite3.Connection, run: Run, *, complete: bool, listed: Iterable[str]
) -> int | None:
    """End a walk; return how many URLs are gone, if that is known."""
    if complete:
        db.execute("CREATE TEMP TABLE alive (url TEXT PRIMARY KEY) WITHOUT ROWID")
        db.executemany("INSERT OR IGNORE INTO alive VALUES (?)", ((url,) for url in listed))
        listing.forget_unlisted(db, run.site)
    removed = None
    if run.lists and not run.is_new:
        removed = listing.settle(db, run.site, complete=complete)
    elif run.lists and complete:
        removed = 0  # what is listed is merged by the next walk, before it compares
    db.execute("DROP TABLE IF EXISTS temp.alive")
    db.execute("DELETE FROM delivered WHERE run = ?", (run.id,))
    db.execute(
        "UPDATE run SET ended = ?, complete = ?, removed = ? WHERE id = ?",
        (time.time(), complete, removed, run.id),
    )
    db.execute("DELETE FROM run WHERE site = ? AND id < ?", (run.site, run.id))
    return removed
