"""The law of removal: which URLs that no document lists any more are gone.

**A URL is removed only if a document that is a list, and was read to its end as what it was before,
no longer has it, and every other document that may list it was seen since.** What is missing waits
in the table `gone` until that is known:

- A window (a feed, a record with `news:news`) lists recent items. What it no longer lists has left,
  and is known until `left_for` has passed, so that it is not new when it comes back.
- A document that lost more than half of its URLs, all of them, or its format may be a fault of one
  day (`shrunk`), and so may a document that nothing names any more (`dropped`): what they lost is
  judged when a walk at least `confirm_after` later finds the same, of a drop in all indexes.
- What a broken reading missed, or a short one, is missing from the next whole one on.
- A new document proves nothing until it was seen on two days; an empty one, for `PATIENCE`.
- A URL may have moved into a document that failed, or that a server or an index only says to be
  unchanged and has never been seen to tell the truth. Those are waited for, the second kind by
  asking for all bytes in the next walk.
"""

# "Since" is counted in runs, not in times: a clock that is set back would make a reading look older
# than the loss that it has to confirm. Numbers of runs are nanoseconds when the clock is right.

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from sitemapreader.models import Format
from sitemapreader.state import url_index
from sitemapreader.state.rows import (
    FULLY_READ,
    PATIENCE,
    DocumentRow,
    Removals,
    Run,
    RunOutcome,
    ShrunkDocument,
    insert_document,
    load_children,
    nanoseconds,
)
from sitemapreader.state.url_index import URL_HASH_BYTES
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

SHRUNK = "shrunk"
"""Why the removals of a document are unknown: it lost too much at once."""
_PATIENCE_RUNS = 7
"""A document that fails in as many runs, for `PATIENCE`, is not waited for any more: else one
broken sitemap would hide all removals of its site for ever."""

_ELSEWHERE = (
    "EXISTS (SELECT 1 FROM url_index WHERE site = :site"
    f" AND {url_index.same_url('url_index.fingerprint', 'gone.fingerprint')}"
    " AND NOT EXISTS (SELECT 1 FROM gone AS also WHERE also.site = :site"
    "  AND also.fingerprint = url_index.fingerprint AND also.document = url_index.document))"
)
"""SQL condition: a document lists the URL of a row of `gone`."""
_IN_WINDOW = (
    "EXISTS (SELECT 1 FROM url_index JOIN document AS other ON other.id = url_index.document"
    f" WHERE url_index.site = :site AND (window OR {url_index.is_news('url_index.fingerprint')})"
    f" AND {url_index.same_url('url_index.fingerprint', 'gone.fingerprint')}"
    " AND NOT EXISTS (SELECT 1 FROM gone AS also WHERE also.site = :site"
    "  AND also.fingerprint = url_index.fingerprint AND also.document = url_index.document))"
)
"""SQL condition: a window lists the URL of a row of `gone`; it may leave that later."""
_IS_GIVEN_UP = (
    f"(missed >= {_PATIENCE_RUNS} AND max(vouched_run, first_run) < :run - {nanoseconds(PATIENCE)})"
)
_IS_WAITED_FOR = (
    "(read_run IS NOT NULL OR url NOT IN (SELECT url FROM reachable WHERE NOT is_wanted))"
    f" AND NOT {_IS_GIVEN_UP}"
)
_WAS_READ_SINCE = "(gone.document < 0 OR document.vouched_run >= gone.run)"
"""SQL condition: the document of a row of `gone` was a whole list when it missed the URL."""
_GONE = (
    "gone LEFT JOIN document ON document.id = gone.document"
    f" WHERE gone.site = :site AND NOT has_left AND {_WAS_READ_SINCE}"
)
IS_INDEX = f"(children > 0 OR format = '{Format.INDEX}' OR format_run > 0)"
_NAMES = f"({IS_INDEX} AND dropped_run IS NULL)"
_WAS_ASKED = "(NOT :round OR document.seen_run IS :run)"
"""SQL condition: it was not left for another time."""
_SETTLING = f"iif(entries + children OR :now = :settled, :now - :settled, {nanoseconds(PATIENCE)})"
"""SQL: for how long a new document must have been seen; see `DocumentRow.has_settled`."""
_IS_CONFIRMED = "gone.run <= :settled AND document.vouched_run = :now"


def find_pending(db: sqlite3.Connection, site: int, *, is_ripe: bool = False) -> int:
    """Return the newest run with a loss that is not judged yet; 0 for none.

    `is_ripe` asks for one after which each document was seen.
    """
    ripe = " AND gone.run <= (SELECT min(sound_run) FROM document WHERE site = :site)" * is_ripe
    return _find(db, f"SELECT max(gone.run) FROM {_GONE}{ripe}", site) or 0


def find_dropped(db: sqlite3.Connection, site: int) -> int:
    """Return the newest run that found a list named by nothing; 0 for none."""
    listed = "WHERE site = :site AND listed_run IS NOT NULL"
    return _find(db, f"SELECT max(dropped_run) FROM document {listed}", site) or 0


def find_first(db: sqlite3.Connection, site: int) -> int:
    """Return the run that met the oldest document of a site; 0 without documents."""
    return _find(db, "SELECT min(first_run) FROM document WHERE site = :site", site) or 0


def _find(db: sqlite3.Connection, sql: str, site: int, run: int = 0) -> int | None:
    found: tuple[int | None] = db.execute(sql, {"site": site, "run": run}).fetchone()
    return found[0]


def judge(db: sqlite3.Connection, run: Run, outcome: RunOutcome) -> Removals:
    """Merge what a walk read; judge what is missing.

    Fills the tables `removed` and `gone`, and the column `unknown` of each document.
    """
    values = {
        "site": run.site,
        "run": run.id,
        "now": run.stamp,
        "settled": run.stamp - nanoseconds(run.rules.confirm_after),
        "from": run.rules.shrunk_from,
        "round": run.is_round,
        "kept": run.kept or run.stamp,
        "indexed": run.indexed,
        "since": min(run.indexed, run.stamp - 2) + 1,
    }
    for table in ("reachable", "doubted", "judged"):
        db.execute(f"DELETE FROM temp.{table}")
    _fill_reachable(db, run, outcome)
    db.execute("DELETE FROM removed WHERE site = :site", values)
    if not run.is_new:  # else the next walk merges
        url_index.merge(db, run.site)
    lost = "SELECT document, count(*) FROM gone WHERE site = :site AND NOT has_left AND run = :now"
    missed = dict(db.execute(f"{lost} GROUP BY document", values).fetchall())
    _add_unread(db, run)
    _note_dropped(db, run, outcome, values)
    _count_missed(db, values)
    _find_doubted(db, values)
    removed = _remove(db, {**values, "proven": _find_proven_run(db, values)})
    before = run.id - nanoseconds(run.rules.left_for)  # what left a window long ago
    _forget_gone(db, run.site, f"has_left AND run < {before}")
    db.execute(
        "DELETE FROM confirmed WHERE document NOT IN (SELECT id FROM document) OR document IN"
        " (SELECT id FROM document WHERE site = :site) AND NOT EXISTS (SELECT 1 FROM gone WHERE"
        "  site = :site AND gone.document = confirmed.document AND gone.run = confirmed.run)",
        values,
    )
    return Removals(
        removed,
        _count_left(db, run),
        _name_unknown(db, run, values),
        _list_shrunk(db),
        missed,
    )


def forget_unlisted(db: sqlite3.Connection, run: Run, outcome: RunOutcome) -> None:
    """Forget documents without URLs that nothing names any more."""
    db.execute("DELETE FROM temp.reachable")
    _fill_reachable(db, run, outcome)
    if outcome.knows_all and not _has_unknown_index(db, run):
        url_index.forget(
            db,
            "SELECT id FROM document WHERE site = ? AND listed_run IS NULL"
            " AND url NOT IN (SELECT url FROM reachable)",
            (run.site,),
        )


def _fill_reachable(db: sqlite3.Connection, run: Run, outcome: RunOutcome) -> None:
    """Fill `reachable` with what was found, and what unread indexes listed before."""
    insert = "INSERT OR IGNORE INTO reachable VALUES (?, ?)"
    db.executemany(insert, outcome.listed.items())
    unread = (
        "SELECT document.id, document.url, is_wanted FROM document"
        " JOIN child ON child.document = document.id JOIN reachable ON reachable.url = document.url"
        f" WHERE site = :site AND NOT ({FULLY_READ})"
    )
    waiting = db.execute(unread, {"site": run.site, "run": run.id}).fetchall()
    while waiting:
        number, url, is_wanted = waiting.pop()
        for loc, _ in load_children(db, number, url):
            key = url_key(loc)
            if db.execute(insert, (key, is_wanted)).rowcount:
                waiting += db.execute(
                    "SELECT id, url, ? FROM document WHERE site = ? AND url = ?",
                    (is_wanted, run.site, key),
                ).fetchall()


def find_indexed(db: sqlite3.Connection, run: Run) -> int | None:
    """Return the last run that had read all indexes; `None` if there are none."""
    known = f"site = :site AND {_NAMES} AND NOT {_IS_GIVEN_UP}"
    return _find(db, f"SELECT min(vouched_run) FROM document WHERE {known}", run.site, run.id)


def find_last_look(db: sqlite3.Connection, run: Run) -> int:
    """Return the last run before this one that had asked all that names documents."""
    seen = find_indexed(db, run)
    if seen is None:  # then robots.txt or the caller does, in each run
        seen = _find(db, "SELECT max(seen_run) FROM document WHERE site = :site", run.site)
    return run.stamp - 1 if seen is None else seen


def make_row(run: Run, url: str) -> DocumentRow:
    """Return the row of a document that a run is the first to meet."""
    return DocumentRow(run.site, url, first_run=run.stamp, found_after=run.indexed)


def _add_unread(db: sqlite3.Connection, run: Run) -> None:
    """Add the documents that were not fetched, and may have a URL that is missing."""
    # Such as those of another host, or beyond a limit. As rows they are waited for as others are.
    if not find_pending(db, run.site):
        return
    unread = db.execute(
        "SELECT url FROM reachable WHERE is_wanted"
        " AND url NOT IN (SELECT url FROM document WHERE site = ?)",
        (run.site,),
    ).fetchall()
    for (url,) in unread:
        insert_document(db, make_row(run, url))


def _has_unknown_index(db: sqlite3.Connection, run: Run) -> bool:
    """Return whether a document failed that was never read: it may list any other."""
    unknown = (
        "site = :site AND seen_run = :run AND status = 'failed' AND read_run IS NULL"
        f" AND ifnull(http_status, 0) NOT IN (404, 410) AND NOT {_IS_GIVEN_UP}"
    )
    return bool(_find(db, f"SELECT count(*) FROM document WHERE {unknown}", run.site, run.id))


def _note_dropped(
    db: sqlite3.Connection, run: Run, outcome: RunOutcome, values: Mapping[str, int]
) -> None:
    """Note which documents nothing names any more; forget the confirmed ones."""
    of_site, named = "document.site = :site", "url IN (SELECT url FROM reachable)"
    is_back = f"{of_site} AND dropped_run IS NOT NULL AND {named}"
    named_again = f"SELECT count(*) FROM document WHERE {is_back} AND {IS_INDEX}"
    values = {**values, "begins_anew": _find(db, named_again, run.site) or 0}
    db.execute(f"UPDATE document SET dropped_run = NULL WHERE {is_back}", values)
    if not outcome.knows_all or _has_unknown_index(db, run):
        return
    db.execute(
        f"UPDATE document SET dropped_run = :now WHERE {of_site} AND NOT {named}"
        " AND (dropped_run IS NULL OR :begins_anew)",
        values,
    )
    # An index that failed, was not asked or was named by nothing may name what no other one does.
    # So each of the two looks that it takes is at all of them, and the first may have been a fault.
    seen = find_indexed(db, run)
    if seen is not None and seen < run.id:
        return
    last = _find(db, "SELECT max(id) FROM run WHERE site = :site AND id < :run", run.site, run.id)
    if run.indexed < (last or 0):
        first = f"{of_site} AND dropped_run > :indexed"
        db.execute(f"UPDATE document SET dropped_run = :now WHERE {first}", values)
    confirmed = "dropped_run <= :kept - :now + :settled"
    url_index.forget_dropped(
        db, run.site, f"SELECT id FROM document WHERE {of_site} AND {confirmed}", values
    )


def _count_missed(db: sqlite3.Connection, values: Mapping[str, int]) -> None:
    db.execute(
        f"UPDATE document SET missed = CASE WHEN {FULLY_READ} THEN 0 ELSE missed + 1 END"
        f" WHERE site = :site AND (missed > 0 OR NOT ({FULLY_READ})) AND {_WAS_ASKED}",
        values,
    )


def _find_doubted(db: sqlite3.Connection, values: Mapping[str, int]) -> None:
    """Find the documents that may have lost URLs by a fault of the day."""
    kept = (
        "(SELECT coalesce(sum(count), 0) FROM chunk"
        " WHERE chunk.document = document.id AND chunk.run = document.listed_run)"
    )
    # By the walk that missed them: the losses of many days on which others failed are ordinary.
    losses = (
        f"SELECT document.id AS id, min(gone.run) FILTER (WHERE NOT ({_IS_CONFIRMED})) AS since,"
        f" count(*) AS lost, {kept} AS kept, max(NOT {_ELSEWHERE}) AS is_lost,"
        " document.format_run > document.vouched_run - :now + :settled AS is_other"
        f" FROM {_GONE} AND gone.document > 0 GROUP BY document.id, gone.run"
    )
    db.execute(
        f"INSERT INTO doubted SELECT id, min(since), max(lost), kept FROM ({losses})"
        " WHERE kept = 0 OR is_other OR (lost > kept AND lost + kept >= :from)"
        " GROUP BY id HAVING max(is_lost)",
        values,
    )
    # All sitemaps of a site may be wrong together, each too short to have shrunk.
    db.execute(
        f"WITH found AS ({losses}), lost (number) AS"
        " (SELECT sum(lost) FROM found WHERE is_lost AND since IS NOT NULL),"
        " kept (number) AS (SELECT ifnull(sum(count), 0) FROM chunk JOIN document"
        "  ON document.id = chunk.document AND chunk.run = listed_run"
        "  WHERE site = :site AND NOT window)"
        " INSERT OR IGNORE INTO doubted SELECT id, min(since), max(lost), kept FROM found"
        " WHERE is_lost AND (SELECT lost.number > kept.number"
        "  AND lost.number + kept.number >= :from FROM lost, kept) GROUP BY id",
        values,
    )
    # What a document still misses when it is itself again was not missing when it was not, unless a
    # sound reading had missed it before.
    db.execute(
        "UPDATE gone SET run = :now FROM document WHERE gone.site = :site AND NOT has_left"
        " AND document.id = gone.document AND gone.run > sound_run"
        f" AND unknown = '{SHRUNK}' AND vouched_run = :now"
        " AND document.id NOT IN (SELECT document FROM doubted)",
        values,
    )
    # The first look may have been a fault, and the loss be younger than the one before this.
    sure = "gone.document IN (SELECT document FROM doubted WHERE since IS NULL)"
    db.execute(
        "INSERT OR IGNORE INTO confirmed"
        f" SELECT DISTINCT gone.document, gone.run, :since FROM {_GONE} AND {sure}",
        values,
    )
    db.execute("DELETE FROM doubted WHERE since IS NULL")
    # A reading in doubt proves nothing about what has moved into its document, until a later one
    # has confirmed it.
    db.execute(
        "UPDATE document SET sound_run = vouched_run WHERE site = :site"
        " AND id NOT IN (SELECT document FROM doubted)",
        values,
    )
    db.execute(
        "UPDATE document SET sound_run = max(sound_run, ifnull((SELECT max(gone.run) FROM gone"
        f" WHERE gone.site = :site AND gone.document = document.id AND {_IS_CONFIRMED}), 0))"
        " WHERE id IN (SELECT document FROM doubted)",
        values,
    )


def _find_proven_run(db: sqlite3.Connection, values: Mapping[str, int]) -> int:
    """Return the newest run whose losses are proven by now; 0 if none are."""
    # Of several lists each must be seen in a later walk than the one that missed the URL: pages
    # that are deleted during a walk pull those of the next sitemap of a series into one that was
    # read already. It need not be one walk for all: of a thousand sitemaps one fails each day. What
    # is new on a site may be wrong on its first day: all its bytes must have been seen on another
    # one, because no date and no validator tells that half of them were missing. It may be as old
    # as the last run before it that asked all indexes, and took none of them for granted.
    seen = "max(first_run, format_run)"
    oldest, lists, is_split, new = db.execute(
        "SELECT min(sound_run), sum(children = 0),"
        f" min(:run, max(iif({_NAMES}, vouched_run, 0)))"
        f"  > min(iif({_NAMES}, vouched_run, NULL)),"
        f" min(iif({seen} > (SELECT min(first_run) FROM document WHERE site = :site)"
        f"  AND body_run - {seen} < {_SETTLING},"
        f"  min({seen} - 1, iif(first_run >= format_run, found_after, {seen})), NULL))"
        f" FROM document WHERE site = :site AND {_IS_WAITED_FOR}",
        values,
    ).fetchone()
    if is_split:  # a child may go from index to index while they are asked in turn
        return 0
    is_at_once = (lists or 0) < 2 or values["settled"] == values["now"]
    # A robots.txt that was asked for before the loss may name another sitemap by now.
    proven = min(values["now"] if oldest is None else oldest, values["kept"]) - (not is_at_once)
    return min(int(run) for run in (proven, new) if run is not None)


def _remove(db: sqlite3.Connection, values: Mapping[str, int]) -> int:
    """Judge what is proven to be missing; return how many URLs were removed."""
    db.execute(
        f"INSERT INTO judged SELECT gone.fingerprint, gone.document, gone.loc FROM {_GONE}"
        f" AND gone.run <= :proven AND NOT {_IN_WINDOW} AND NOT EXISTS (SELECT 1 FROM confirmed"
        "  WHERE document = gone.document AND run = gone.run AND since > :proven)"
        " AND (gone.document < 0"
        f"  OR document.id NOT IN (SELECT document FROM doubted) OR ({_IS_CONFIRMED}))",
        values,
    )
    if db.execute("SELECT 1 FROM judged LIMIT 1").fetchone() is None:
        return 0
    url_index.delete_listed(db, values["site"], "judged")
    db.execute(
        "DELETE FROM gone WHERE site = :site AND (fingerprint, document) IN"
        " (SELECT fingerprint, document FROM judged)",
        values,
    )
    # What has left a window is known, but not listed.
    removals = db.execute(
        f"SELECT substr(fingerprint, 1, {URL_HASH_BYTES}), min(loc) FROM judged WHERE NOT EXISTS ("
        " SELECT 1 FROM url_index WHERE site = :site"
        f" AND {url_index.same_url('url_index.fingerprint', 'judged.fingerprint')}"
        " AND NOT EXISTS (SELECT 1 FROM gone WHERE gone.site = :site AND has_left"
        "  AND gone.fingerprint = url_index.fingerprint AND gone.document = url_index.document))"
        " GROUP BY 1 ORDER BY 2",
        values,
    )
    # Closed, because after an interrupt SQLite refuses everything as long as a query is open.
    with closing(removals) as rows:
        removed = db.executemany(
            "INSERT INTO removed VALUES (?, ?, ?)",
            (
                (values["site"], url_hash, url_index.check_loc(loc, url_hash))
                for url_hash, loc in rows
            ),
        ).rowcount
    _forget_gone(
        db,
        values["site"],
        f"has_left AND substr(fingerprint, 1, {URL_HASH_BYTES}) IN"
        f" (SELECT key FROM removed WHERE site = {values['site']})",
    )
    return max(removed, 0)


def _forget_gone(db: sqlite3.Connection, site: int, condition: str) -> None:
    rows = f"gone WHERE site = {site} AND {condition}"
    if db.execute(f"SELECT 1 FROM {rows} LIMIT 1").fetchone() is not None:
        url_index.delete_listed(db, site, rows)
        db.execute(f"DELETE FROM {rows}")


def _count_left(db: sqlite3.Connection, run: Run) -> int:
    left = f"SELECT count(*) FROM gone WHERE site = :site AND has_left AND NOT {_ELSEWHERE}"
    return _find(db, f"{left} AND run >= :run", run.site, run.id) or 0


def _name_unknown(db: sqlite3.Connection, run: Run, values: Mapping[str, int]) -> int:
    """Save why the removals of each document are unknown; return of how many."""
    db.execute(
        "UPDATE document SET unknown = found.reason FROM (SELECT id, CASE"
        f" WHEN id IN (SELECT document FROM doubted) THEN '{SHRUNK}'"
        " WHEN dropped_run IS NOT NULL THEN iif(listed_run IS NULL OR window, NULL, 'dropped')"
        " WHEN id IN (SELECT document FROM gone WHERE gone.site = :site AND NOT has_left)"
        f"  AND (vouched_run >= :run OR NOT {_WAS_ASKED}) THEN 'waiting'"
        f" WHEN {FULLY_READ} OR vouched_run >= :run"
        "  THEN iif(vouched_run < :pending, 'unconfirmed', NULL)"
        f" WHEN NOT {_WAS_ASKED} AND status IN ('complete', 'unchanged') THEN NULL"
        f" WHEN listed_run IS NULL AND NOT (:pending AND {_IS_WAITED_FOR}) THEN NULL"
        " WHEN seen_run IS :run OR (:round AND status <> '') THEN iif(reason = '', status, reason)"
        " ELSE 'unread' END AS reason FROM document WHERE site = :site) AS found"
        " WHERE document.id = found.id AND document.unknown IS NOT found.reason",
        {**values, "pending": find_pending(db, run.site)},
    )
    unknown = "SELECT count(*) FROM document WHERE site = :site AND unknown IS NOT NULL"
    return _find(db, unknown, run.site) or 0


def _list_shrunk(db: sqlite3.Connection) -> tuple[ShrunkDocument, ...]:
    shrunk = "doubted JOIN document ON document.id = doubted.document ORDER BY url"
    return tuple(
        ShrunkDocument(*row) for row in db.execute(f"SELECT url, lost, kept FROM {shrunk}")
    )
