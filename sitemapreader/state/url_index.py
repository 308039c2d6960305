"""What all documents of a site list, as one set: what is new in it, what changed, what is gone.

A document's list is written down in portions while it is handed over (`chunk`), and merged into the
set (`listing`) when the walk ends, in the set's order: so a walk writes to the end of the file
only, and the set is gone through once. All of it is done by the database, in bounded memory.

Known is what was handed over. A URL that a filter kept back is listed, but not known: its mark says
so (`marks.UNDELIVERED`, `marks.OUTDATED`).
"""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from os.path import commonprefix
from typing import TYPE_CHECKING

from sitemapreader.models import Change
from sitemapreader.state.database import DamageError
from sitemapreader.state.fingerprints import (
    FIRST_PRINT,
    KEY_BYTES,
    MARK_BYTES,
    OUTDATED,
    PRINT_BYTES,
    UNDELIVERED,
    key_of,
)
from sitemapreader.state.rows import SETTLED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

_LAST_PRINT = b"\xff" * PRINT_BYTES
_PORTION = 1_000
"""Entries of a chunk; what is handed over at once has less."""


def _spans(mark: str, of: str, least: bytes = UNDELIVERED) -> str:
    """Return the condition that a row's mark is one of the same URL as another mark.

    With `least` it is one whose print is that or a higher one.
    """
    key = f"substr({of}, 1, {KEY_BYTES})"
    low, high = (f"CAST({key} || x'{end.hex()}' AS BLOB)" for end in (least, _LAST_PRINT))
    return f"{mark} BETWEEN {low} AND {high}"


# The document's own record of a URL counts, for two sitemaps often say different things of one
# page; that of another document only where it has none, as when a URL has moved.
_COMPARE = f"""
WITH RECURSIVE
    n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count),
    m (i, mark) AS (SELECT i, substr(:marks, 1 + {MARK_BYTES} * i, {MARK_BYTES}) FROM n)
SELECT i, EXISTS (
    SELECT 1 FROM listing WHERE site = :site AND {_spans("listing.mark", "m.mark", OUTDATED)}
)
FROM m
WHERE NOT EXISTS (
    SELECT 1 FROM listing WHERE site = :site AND mark = m.mark AND document = :document
) AND NOT (
    EXISTS (SELECT 1 FROM listing WHERE site = :site AND mark = m.mark)
    AND NOT EXISTS (
        SELECT 1 FROM listing
        WHERE site = :site AND {_spans("listing.mark", "m.mark", FIRST_PRINT)}
        AND document = :document
    )
)
"""


def is_empty(db: sqlite3.Connection, site: int) -> bool:
    """Tell whether nothing of a site is listed."""
    return db.execute("SELECT 1 FROM listing WHERE site = ? LIMIT 1", (site,)).fetchone() is None


def compare(db: sqlite3.Connection, site: int, document: int, marks: bytes) -> dict[int, Change]:
    """Return which of some entries of a document are new or changed, by their position."""
    values = {
        "site": site,
        "document": document,
        "marks": marks,
        "count": len(marks) // MARK_BYTES,
    }
    return {
        position: Change.CHANGED if is_known else Change.NEW
        for position, is_known in db.execute(_COMPARE, values)
    }


def forget_unlisted(db: sqlite3.Connection, site: int) -> None:
    """Forget documents that are not in `alive`, except where their URLs are to be settled."""
    condition = (
        "document.site = ? AND url NOT IN (SELECT url FROM alive)"
        " AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.document = document.id)"
    )
    _forget(db, f"SELECT id FROM document WHERE {condition}", (site,))


def _forget(db: sqlite3.Connection, ids: str, values: tuple[object, ...]) -> None:
    for table in ("child", "progress", "chunk"):
        db.execute(f"DELETE FROM {table} WHERE document IN ({ids})", values)
    db.execute(f"DELETE FROM document WHERE id IN ({ids})", values)


def merge(db: sqlite3.Connection, site: int) -> None:
    """Bring the set up to what the documents list; what none lists any more stays in it."""
    db.execute(
        "CREATE TEMP TABLE turn AS SELECT id AS document, listed_run AS run, EXISTS ("
        " SELECT 1 FROM chunk WHERE chunk.document = document.id AND chunk.run <> listed_run)"
        " AS replaces"
        " FROM document WHERE site = ? AND listed_run IS NOT merged_run",
        (site,),
    )
    _take_turns(db, site)


def settle(db: sqlite3.Connection, site: int, run: int, *, knows_all: bool) -> int:
    """Merge; list the URLs that are gone of documents that were read, and return how many.

    With `knows_all`, what is not in `alive` is gone too.
    """
    merge(db, site)
    db.execute("DELETE FROM removed WHERE site = ?", (site,))
    db.execute(
        f"CREATE TEMP TABLE settled AS SELECT id AS document FROM document"
        f" WHERE site = :site AND {SETTLED}",
        {"site": site, "run": run},
    )
    if knows_all:
        _take_vanished(db, site)
    settled = "gone WHERE site = :site AND document IN (SELECT document FROM settled)"
    _delete_listed(db, site, settled)
    rows = db.execute(
        f"SELECT substr(mark, 1, {KEY_BYTES}), min(loc) FROM {settled} AND NOT EXISTS ("
        f" SELECT 1 FROM listing WHERE site = :site AND {_spans('listing.mark', 'gone.mark')})"
        f" GROUP BY 1 ORDER BY 2",
        {"site": site},
    )
    removed = db.executemany(
        "INSERT INTO removed VALUES (?, ?, ?)",
        ((site, key, _check_loc(loc, key)) for key, loc in rows),
    ).rowcount
    db.execute(f"DELETE FROM {settled}", {"site": site})
    db.execute("DROP TABLE temp.settled")
    return max(removed, 0)


def _take_vanished(db: sqlite3.Connection, site: int) -> None:
    """Settle what the documents listed that are not in `alive`, and forget these."""
    db.execute(
        "CREATE TEMP TABLE turn AS SELECT id AS document, -1 AS run, 1 AS replaces"
        " FROM document WHERE site = ? AND url NOT IN (SELECT url FROM alive)",
        (site,),
    )
    db.execute("CREATE TEMP TABLE vanished AS SELECT document FROM turn")
    _take_turns(db, site)
    _forget(db, "SELECT document FROM vanished", ())
    db.execute("INSERT INTO settled SELECT document FROM vanished")
    db.execute("DROP TABLE temp.vanished")


def _check_loc(loc: str, mark: bytes) -> str:
    """Return a URL; raise DamageError if it is not the one that a mark stands for."""
    if key_of(loc) != mark[:KEY_BYTES]:
        raise DamageError("a URL is damaged")
    return loc


def _take_turns(db: sqlite3.Connection, site: int) -> None:
    """Merge the chunks of the documents in `turn`, and see what these list no more."""
    if db.execute(
        "SELECT 1 FROM chunk JOIN turn ON turn.document = chunk.document"
        " WHERE seal <> seal_chunk(chunk.document, chunk.run, count, marks) LIMIT 1"
    ).fetchone():
        raise DamageError("a list of URLs is damaged")
    _insert_marks(
        db,
        f"listing SELECT {site}, mark, document",
        "turn ON turn.document = chunk.document AND turn.run = chunk.run AND NOT turn.replaces",
    )
    if db.execute("SELECT 1 FROM turn WHERE replaces LIMIT 1").fetchone():
        db.execute(
            "CREATE TEMP TABLE fresh (mark BLOB, document INTEGER, PRIMARY KEY (mark, document))"
            " WITHOUT ROWID"
        )
        _insert_marks(
            db,
            "fresh SELECT mark, document",
            "turn ON turn.document = chunk.document AND turn.run = chunk.run AND turn.replaces",
        )
        _find_gone(db, site)
        db.execute(
            f"INSERT OR IGNORE INTO listing SELECT {site}, mark, document FROM fresh"
            " ORDER BY mark, document"
        )
        db.execute("DROP TABLE temp.fresh")
    db.execute(
        "UPDATE document SET merged_run = listed_run WHERE id IN (SELECT document FROM turn)"
    )
    db.execute("DROP TABLE temp.turn")


def _insert_marks(db: sqlite3.Connection, target: str, joined: str) -> None:
    """Insert the marks of chunks into a table, in its order."""
    db.execute(
        f"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {_PORTION}),"
        f" unpacked AS (SELECT substr(marks, 1 + {MARK_BYTES} * i, {MARK_BYTES}) AS mark,"
        f" chunk.document AS document FROM chunk JOIN {joined} CROSS JOIN n"
        " WHERE n.i < chunk.count)"
        f" INSERT OR IGNORE INTO {target} FROM unpacked ORDER BY mark, document"
    )


def _find_gone(db: sqlite3.Connection, site: int) -> None:
    """Move what the documents in `turn` listed, and do not any more, into `gone`."""
    db.execute(
        f"CREATE TEMP TABLE old AS WITH RECURSIVE"
        f" n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {_PORTION}),"
        f" unpacked AS (SELECT substr(marks, 1 + {MARK_BYTES} * i, {MARK_BYTES}) AS mark,"
        f"  chunk.document AS document, chunk.id AS chunk, n.i AS i, NULL AS loc"
        f"  FROM chunk JOIN turn ON turn.document = chunk.document AND turn.run <> chunk.run"
        f"   AND turn.replaces CROSS JOIN n WHERE n.i < chunk.count"
        f"  UNION ALL SELECT mark, document, 0, 0, loc FROM gone"
        f"  WHERE site = {site} AND document IN (SELECT document FROM turn WHERE replaces))"
        f" SELECT * FROM unpacked AS o WHERE NOT EXISTS ("
        f"  SELECT 1 FROM fresh WHERE mark = o.mark AND document = o.document)"
    )
    db.execute(
        "DELETE FROM gone WHERE site = ? AND document IN"
        " (SELECT document FROM turn WHERE replaces)",
        (site,),
    )
    still = (
        f"old WHERE EXISTS (SELECT 1 FROM fresh WHERE {_spans('fresh.mark', 'old.mark')}"
        " AND fresh.document = old.document)"
    )
    _delete_listed(db, site, still)  # the URL is there, its record is another one
    db.execute(f"DELETE FROM {still}")
    unknown = f"old WHERE substr(mark, {KEY_BYTES + 1}) = x'{UNDELIVERED.hex()}'"
    _delete_listed(db, site, unknown)  # what was never handed over is not missed
    db.execute(f"DELETE FROM {unknown}")
    rows = db.execute("SELECT chunk, i, mark, document, loc FROM old ORDER BY chunk, i")
    db.executemany(
        "INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?)",
        ((site, mark, document, loc) for mark, document, loc in _with_locs(db, rows)),
    )
    db.execute(
        "DELETE FROM chunk WHERE EXISTS (SELECT 1 FROM turn WHERE turn.document = chunk.document"
        " AND turn.run <> chunk.run AND turn.replaces)"
    )
    db.execute("DROP TABLE temp.old")


def _with_locs(
    db: sqlite3.Connection, rows: Iterable[tuple[int, int, bytes, int, str | None]]
) -> Iterator[tuple[bytes, int, str]]:
    """Look up the URLs of marks, a chunk at a time."""
    for chunk, group in groupby(rows, itemgetter(0)):
        locs: list[str] = []
        if chunk:
            (data,) = db.execute("SELECT locs FROM chunk WHERE id = ?", (chunk,)).fetchone()
            locs = unpack_locs(data)
        for _, position, mark, document, loc in group:
            if loc is None and position >= len(locs):
                raise DamageError("a list of URLs is too short")
            yield mark, document, _check_loc(locs[position] if loc is None else loc, mark)


def _delete_listed(db: sqlite3.Connection, site: int, rows: str) -> None:
    """Delete from the set what some rows with a mark and a document name."""
    db.execute(
        f"DELETE FROM listing WHERE site = :site AND (mark, document) IN"
        f" (SELECT mark, document FROM {rows})",
        {"site": site},
    )


def pack_locs(locs: list[str]) -> bytes:
    """Write URLs as what they begin with, and the rest of each; NUL, which is in none, between.

    Three times as large as if it were deflated, and three times as quick.
    """
    prefix = commonprefix(locs)  # noqa: RUF071 (characters are what is meant)
    start = len(prefix)
    text = "\0".join([prefix, *[loc[start:] for loc in locs]])
    if text.count("\0") != len(locs):
        return json.dumps(locs).encode()
    return text.encode("utf-8", "surrogatepass")


def unpack_locs(data: bytes) -> list[str]:
    """Read what `pack_locs` wrote; raise DamageError for what it cannot have written."""
    if data.startswith(b"["):
        try:
            locs: list[str] = json.loads(data)
        except ValueError as error:
            raise DamageError("a list of URLs is damaged") from error
        return locs
    prefix, *rest = data.decode("utf-8", "surrogatepass").split("\0")
    return [prefix + part for part in rest]
