"""The run of a walk in the state: begun or resumed, then finished."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from sitemapreader.state import removals, url_index
from sitemapreader.state.database import DamageError
from sitemapreader.state.rows import Run, read_row
from sitemapreader.state.schema import seal_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from sitemapreader.state.removals import Removals, RunOutcome

_RESUMABLE_SECONDS = 24 * 3600
"""Older interrupted walks are not resumed."""


@attrs.frozen
class RunRow:
    """A row of the table `run`."""

    id: int
    site: int
    options: bytes
    filters: str
    began: float
    ended: float | None = None
    complete: int | None = None
    removed: int | None = None


@attrs.frozen
class RunOptions:
    """The options of a walk that decide which interrupted walk it resumes.

    Attributes:
        fingerprint: a hash of all options that must be the same.
        filters: the filters that decide which entries are delivered.
        resumes: tells whether filters of an interrupted walk pass all that these pass.
    """

    fingerprint: bytes
    filters: str
    resumes: Callable[[str], bool]


def read_run(db: sqlite3.Connection, site: int) -> RunRow | None:
    """Return the newest walk of a site."""
    sql = "SELECT {} FROM run WHERE site = ? ORDER BY id DESC LIMIT 1"
    return read_row(db, RunRow, sql, (site,))


def begin(db: sqlite3.Connection, run: Run, options: RunOptions) -> Run:
    """Begin a walk, or resume an interrupted one with the same options."""
    last = read_run(db, run.site)
    is_resumed = bool(
        last
        and last.ended is None
        and last.options == options.fingerprint
        and options.resumes(last.filters)
        # A run that a limit of URLs stopped goes on whenever the next one comes.
        and (last.complete is not None or 0 <= time.time() - last.began < _RESUMABLE_SECONDS)
    )
    if last is not None and is_resumed:
        # From here on it delivers what this walk's filters pass, which may be less.
        row = attrs.evolve(last, filters=options.filters)
    else:
        _discard_stopped(db, run)
        # No document of an older walk may seem to be of this one, so a number never comes twice,
        # even if the row that had the highest one is lost.
        number = max(time.time_ns(), last.id + 1 if last else 0)
        row = RunRow(number, run.site, options.fingerprint, options.filters, time.time())
    _write(db, row)
    is_new = url_index.is_empty(db, run.site)
    return attrs.evolve(
        run,
        id=row.id,
        stamp=max(row.id, time.time_ns()) if is_resumed else row.id,
        is_resumed=is_resumed,
        is_new=is_new,
        has_pending=removals.find_pending(db, run.site) > 0,
    )


def _discard_stopped(db: sqlite3.Connection, run: Run) -> None:
    if run.saves_urls:  # what the interrupted walk delivered is not new to the next walk
        url_index.merge(db, run.site)
    db.execute(
        "DELETE FROM delivered WHERE run IN (SELECT id FROM run WHERE site = ?)", (run.site,)
    )
    db.execute("DELETE FROM run WHERE site = ? AND ended IS NULL", (run.site,))


def _write(db: sqlite3.Connection, row: RunRow) -> None:
    values = attrs.astuple(row, recurse=False)
    db.execute(
        f"INSERT OR REPLACE INTO run VALUES (?{', ?' * len(values)})", (*values, seal_of(*values))
    )


def stop(db: sqlite3.Connection, run: Run) -> None:
    """Record that a limit of URLs has stopped a walk, which any later one resumes."""
    row = read_run(db, run.site)
    if row is not None and row.id == run.id:
        _write(db, attrs.evolve(row, complete=0))


def finish(db: sqlite3.Connection, run: Run, outcome: RunOutcome) -> Removals | None:
    """End a walk; return what was removed, or `None` if the walk saves no URLs."""
    found = None
    if run.saves_urls:
        found = removals.judge(db, run, outcome)
    else:
        db.execute("DELETE FROM removed WHERE site = ?", (run.site,))
        removals.forget_unlisted(db, run, outcome)
    db.execute("DELETE FROM delivered WHERE run = ?", (run.id,))
    row = read_run(db, run.site)
    if row is None or row.id != run.id:
        raise DamageError("the row of this walk is missing")
    removed = None if found is None else found.urls
    complete = int(outcome.complete)
    _write(db, attrs.evolve(row, ended=time.time(), complete=complete, removed=removed))
    db.execute("DELETE FROM run WHERE site = ? AND id < ?", (run.site, run.id))
    return found
