"""The run of a walk in the state: begun or resumed, then finished."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from sitemapreader.state import url_index
from sitemapreader.state.database import DamageError
from sitemapreader.state.rows import FULLY_READ, REMOVALS_UNKNOWN, load_children, read_row
from sitemapreader.state.schema import seal_of
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

_RESUMABLE_SECONDS = 24 * 3600
"""Older interrupted walks are not resumed."""


@attrs.frozen
class Run:
    """A walk over a site.

    Attributes:
        site: number of the site.
        saves_urls: whether it saves which URLs the documents list.
        id: number of the walk; 0 before it begins.
        is_resumed: whether it resumes an interrupted walk.
        is_new: whether the state has no URL of the site yet, so that every entry is new.
    """

    site: int
    saves_urls: bool
    id: int = 0
    is_resumed: bool = False
    is_new: bool = False


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


@attrs.frozen
class RunOutcome:
    """How a walk ended.

    Attributes:
        complete: whether everything was read.
        listed: the URLs, as `url_key` writes them, of all documents that were found.
        knows_all: whether the site has no documents but these and those below them.
    """

    complete: bool
    listed: Iterable[str]
    knows_all: bool


@attrs.frozen
class Removals:
    """The URLs that a walk found removed.

    Attributes:
        urls: how many URLs were removed.
        unknown: how many documents were not read to their end, so that their removed URLs are not
            known.
    """

    urls: int
    unknown: int


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
    return attrs.evolve(run, id=row.id, is_resumed=is_resumed, is_new=is_new)


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
    db.execute("DELETE FROM temp.reachable")
    db.executemany("INSERT OR IGNORE INTO reachable VALUES (?)", ((url,) for url in outcome.listed))
    _add_below_unread(db, run)
    knows_all = outcome.knows_all and not _has_unknown_index(db, run)
    if knows_all:
        url_index.forget_unlisted(db, run.site)
    removed = 0 if run.saves_urls else None
    if run.saves_urls and not run.is_new:  # else the next walk merges
        removed = url_index.finish_merge(db, run.site, run.id, knows_all=knows_all)
    else:
        db.execute("DELETE FROM removed WHERE site = ?", (run.site,))
    db.execute("DELETE FROM delivered WHERE run = ?", (run.id,))
    row = read_run(db, run.site)
    if row is None or row.id != run.id:
        raise DamageError("the row of this walk is missing")
    complete = int(outcome.complete)
    _write(db, attrs.evolve(row, ended=time.time(), complete=complete, removed=removed))
    db.execute("DELETE FROM run WHERE site = ? AND id < ?", (run.site, run.id))
    if removed is None:
        return None
    (unknown,) = db.execute(
        f"SELECT count(*) FROM document WHERE site = :site AND {REMOVALS_UNKNOWN}",
        {"site": run.site, "run": run.id},
    ).fetchone()
    return Removals(removed, unknown)


def _add_below_unread(db: sqlite3.Connection, run: Run) -> None:
    """Add what unread indexes listed before, and everything below, to `reachable`."""
    sql = (
        "SELECT document.id, document.url FROM document JOIN child ON child.document = document.id"
        f" WHERE site = :site AND url IN (SELECT url FROM reachable) AND NOT ({FULLY_READ})"
    )
    waiting = db.execute(sql, {"site": run.site, "run": run.id}).fetchall()
    while waiting:
        number, url = waiting.pop()
        for loc, _ in load_children(db, number, url):
            key = url_key(loc)
            if db.execute("INSERT OR IGNORE INTO reachable VALUES (?)", (key,)).rowcount:
                waiting += db.execute(
                    "SELECT id, url FROM document WHERE site = ? AND url = ?", (run.site, key)
                ).fetchall()


def _has_unknown_index(db: sqlite3.Connection, run: Run) -> bool:
    """Return whether a document failed that was never read: it may list any other."""
    row = db.execute(
        "SELECT 1 FROM document WHERE site = ? AND seen_run = ? AND status = 'failed'"
        " AND read_run IS NULL AND ifnull(http_status, 0) NOT IN (404, 410) LIMIT 1",
        (run.site, run.id),
    ).fetchone()
    return row is not None
