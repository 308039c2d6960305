"""The law of unlisted URLs.

**A URL is unlisted when no document lists it, and every document of its site was read on two days
since.** For a fault lasts a day at most: of two readings that are `confirm_after` apart at least
one shows what a document lists. So each document has a `proven_run`, the last reading that one a
day later has confirmed, and a loss is judged when it is not newer than the oldest of these.
Everything else follows:

- An index is a document, too, and so is what a robots.txt and the caller name: what nothing names
  any more is lost with all its URLs when that is seen, and judged like any loss.
- A document that cannot be read, or of which a server says what it was never seen to be right
  about, has no new reading, so it delays what it may list by now. After `_PATIENCE` it is not
  waited for.
- A document that is new may be as old as the last look before it, so it delays what was lost since
  until it was read on two days itself.
- A window (a feed, a record with `news:news`) lists recent items. What it no longer lists has left,
  and is known for 90 days, so that it is not new when it comes back.
- What says of itself that it was deleted (ResourceSync) is lost, and so judged at once.
"""

# Days are counted in numbers of runs, which only grow: a clock that is set back would make a
# reading look older than the loss that it has to confirm. The steps are the files of SQL beside.

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sitemapreader.changes.database import read_script
from sitemapreader.changes.rows import Findings, Run, nanoseconds
from sitemapreader.models import Format
from sitemapreader.outcomes import ALREADY_READ, SAME_BODY, SAME_LASTMOD, Status

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from sitemapreader.changes.rows import DocumentRow
    from sitemapreader.outcomes import Document

_PATIENCE, _PATIENCE_RUNS = timedelta(days=7), 7
"""A document that cannot be read for so long, in so many runs, is not waited for any more: else one
broken sitemap would hide all that is unlisted on its site for ever."""
_LEFT_FOR = nanoseconds(timedelta(days=90))
"""How long a URL that left a feed is known."""
_SHRUNK_FROM = 20
"""How many URLs a document needs to have shrunk by losing more than half of them."""
_READ = "(document.seen_run IS :run AND document.status IN ('complete', 'unchanged'))"
"""SQL condition: the run knows every URL that a document lists."""
IS_INDEX = f"(children > 0 OR format = '{Format.INDEX}')"
_IS_GIVEN_UP = (
    f"(missed >= {_PATIENCE_RUNS}"
    f" AND max(vouched_run, first_run) < :run - {nanoseconds(_PATIENCE)})"
)
_IS_WAITED_FOR = f"dropped_run IS NULL AND NOT {_IS_GIVEN_UP}"
_NAMED_BEFORE = f"""
    INSERT OR IGNORE INTO reachable WITH RECURSIVE named AS (SELECT url, is_wanted FROM reachable
        UNION SELECT url_key(json_extract(value, '$[0]')), is_wanted FROM named
        CROSS JOIN document ON document.site = :site AND document.url = named.url AND NOT {_READ}
        CROSS JOIN json_each(child_list))
    SELECT url, is_wanted FROM named"""
"""What indexes that the run has not read listed before is named."""
_IS_LOST = "site = :site AND lost_run IS NOT NULL AND NOT window"


def vouch(candidate: int, proven: int, run: int, least: int) -> tuple[int, int]:
    """Return which readings of a document are candidate and proven, after one more."""
    if not least:
        return run, run
    if not candidate:
        return run, proven
    return (run, candidate) if run - candidate >= least else (candidate, proven)


def prove(
    run: Run, row: DocumentRow, outcome: Document, read: Mapping[str, Any], *, was_dated: bool
) -> dict[str, int]:
    """Return the columns of `document` that say what its outcome proves.

    `read` has the others; if it `was_dated`, its index said that it had not changed.
    """
    found = {}
    is_whole = outcome.status is Status.COMPLETE
    if is_whole or _is_confirmed(row, outcome):
        if is_whole or outcome.reason == SAME_BODY:
            found["body_run"] = run.stamp
        if run.saves:  # else what it lists is not known
            vouched = vouch(row.candidate_run, row.proven_run, run.stamp, run.confirm_after)
            found["candidate_run"], found["proven_run"] = vouched
            found["vouched_run"] = run.stamp
            if is_whole:
                found["listed_run"] = run.stamp
    if is_whole and row.complete and row.digest != read["digest"]:
        words = row.etag or row.last_modified, read["etag"] or read["last_modified"]
        found["validators"] = _weigh(row.validators, *words, must_differ=True)
        words = row.lastmod, read["lastmod"]
        found["dates"] = _weigh(row.dates, *words, must_differ=was_dated)
    return found


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


def has_pending(db: sqlite3.Connection, site: int, document: int | None = None) -> int:
    """Return the oldest loss, of a document, that is not judged yet; 0 for none."""
    values = {"site": site, "document": document}
    own = "" if document is None else " AND document = :document"
    oldest = f"SELECT min(lost_run) FROM url INDEXED BY url_lost WHERE {_IS_LOST}{own}"
    return db.execute(oldest, values).fetchone()[0] or 0


def merge(db: sqlite3.Connection, site: int) -> None:
    """Write what documents listed into `url`; note what they no longer list."""
    _execute(db, "merge.sql", {"site": site})


def _execute(db: sqlite3.Connection, name: str, values: Mapping[str, Any]) -> int:
    """Execute the statements of a file; return how many rows the last one changed."""
    changed = 0
    for statement in read_script(name).split(";\n"):
        changed = db.execute(statement, values).rowcount
    return max(0, changed)


def judge(
    db: sqlite3.Connection, run: Run, listed: Mapping[str, bool], *, knows_all: bool
) -> Findings | None:
    """Judge what is missing, with `changes`; forget what nothing names.

    `listed` are the URLs, as `url_key` writes them, of all documents that were found -> whether the
    walk wanted them; others were left out because the caller or robots.txt asked for it.
    `knows_all` says that the site has no documents but these and those below them.
    """
    values: dict[str, Any] = {
        "site": run.site,
        "run": run.id,
        "now": run.stamp,
        "looked": run.looked,
        "before": run.id - _LEFT_FOR,
    }
    if run.saves and not run.is_new:  # the first walk has nothing to compare: the next one merges
        merge(db, run.site)
    db.execute("DELETE FROM reachable")
    db.executemany("INSERT INTO reachable VALUES (?, ?)", listed.items())
    db.execute(_NAMED_BEFORE, values)
    # A document that failed and was never read may name any other.
    unknown = (
        "SELECT 1 FROM document WHERE site = :site AND seen_run = :run AND status = 'failed'"
        f" AND read_run IS NULL AND ifnull(http_status, 0) NOT IN (404, 410) AND NOT {_IS_GIVEN_UP}"
    )
    values["drops"] = knows_all and not db.execute(unknown, values).fetchone()
    _execute(db, "name.sql", values)
    # In a round, what was not asked was left for another time.
    unwanted = "(SELECT url FROM reachable WHERE NOT is_wanted)"
    db.execute(
        f"UPDATE document SET missed = iif({_READ}, 0, missed + 1)"
        f" WHERE site = :site AND (missed > 0 OR NOT {_READ})"
        f" AND (NOT :is_round OR document.seen_run IS :run OR url IN {unwanted})",
        values | {"is_round": run.chosen is not None},
    )
    candidate, values["proven"] = run.looks
    if knows_all:
        asked = run.kept or run.stamp
        candidate, values["proven"] = vouch(*run.looks, asked, run.confirm_after)
        indexes = f"WHERE site = :site AND {IS_INDEX} AND {_IS_WAITED_FOR}"
        db.execute(
            "UPDATE site SET candidate_run = :candidate, proven_run = :proven, looked_run = max("
            " looked_run, (SELECT min(:asked, ifnull(min(vouched_run), :asked)) FROM document"
            f" {indexes})) WHERE id = :site",
            values | {"candidate": candidate, "asked": asked},
        )
    if not run.saves:
        _execute(db, "forget.sql", values)
        return None
    oldest = (
        "SELECT min(:proven, ifnull(min(proven_run), :proven)) FROM document"
        f" WHERE site = :site AND {_IS_WAITED_FOR}"
    )
    (values["proven"],) = db.execute(oldest, values).fetchone()
    missed, shrunk = _find_missed(db, values)
    unlisted = _execute(db, "unlist.sql", values)
    _execute(db, "forget.sql", values)
    left, waiting = db.execute(
        "SELECT count(DISTINCT iif(window = 1 AND lost_run >= :run, key, NULL)),"
        " count(DISTINCT iif(window, NULL, key)) FROM url AS lost INDEXED BY url_lost"
        " WHERE site = :site AND lost_run IS NOT NULL AND NOT EXISTS"
        "  (SELECT 1 FROM url WHERE site = :site AND key = lost.key AND lost_run IS NULL)",
        values,
    ).fetchone()
    return Findings(unlisted, waiting, left, shrunk, missed)


def _find_missed(
    db: sqlite3.Connection, values: Mapping[str, int]
) -> tuple[dict[int, int], tuple[tuple[str, int, int], ...]]:
    """Return what this walk missed, and the documents that lost more than half."""
    missed = (
        "SELECT document.id, document.url, count(*), entries, dropped_run IS NULL"
        " FROM url AS lost INDEXED BY url_lost JOIN document ON document.id = lost.document"
        " WHERE lost.site = :site AND lost_run = :now AND NOT lost.window GROUP BY document.id"
    )
    rows = db.execute(missed, values).fetchall()
    shrunk = (
        (url, lost, kept)
        for _, url, lost, kept, is_named in rows
        if is_named and lost > kept and lost + kept >= _SHRUNK_FROM
    )
    by_number = {number: lost for number, _, lost, _, _ in rows}
    return by_number, tuple(sorted(shrunk))
