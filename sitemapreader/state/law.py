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
  and is known until `left_for` has passed, so that it is not new when it comes back.
"""

# Days are counted in numbers of runs, which only grow: a clock that is set back would make a
# reading look older than the loss that it has to confirm.

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from sitemapreader.models import Format
from sitemapreader.state.rows import (
    Findings,
    Kind,
    ListingRules,
    Run,
    RunOutcome,
    ShrunkDocument,
    add_documents,
    nanoseconds,
)
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

_PATIENCE, _PATIENCE_RUNS = timedelta(days=7), 7
"""A document that cannot be read for so long, in so many runs, is not waited for any more: else one
broken sitemap would hide all that is unlisted on its site for ever."""
_READ = "(document.seen_run IS :run AND document.status IN ('complete', 'unchanged'))"
"""SQL condition: the run knows every URL that a document lists."""
IS_INDEX = f"(children > 0 OR format = '{Format.INDEX}')"
_WAS_ASKED = (
    "(NOT :round OR document.seen_run IS :run"
    " OR url IN (SELECT url FROM reachable WHERE NOT is_wanted))"
)
"""SQL condition: it was not left for another time."""
_IS_GIVEN_UP = (
    f"(missed >= {_PATIENCE_RUNS}"
    f" AND max(vouched_run, first_run) < :run - {nanoseconds(_PATIENCE)})"
)
_IS_WAITED_FOR = f"dropped_run IS NULL AND NOT {_IS_GIVEN_UP}"
_LOST = "url INDEXED BY url_lost"
_IS_LOST = "site = :site AND lost_run IS NOT NULL AND NOT window"


def vouch(candidate: int, proven: int, run: int, rules: ListingRules) -> tuple[int, int]:
    """Return which readings of a document are candidate and proven, after one more."""
    least = nanoseconds(rules.confirm_after)
    if not least:
        return run, run
    if not candidate:
        return run, proven
    return (run, candidate) if run - candidate >= least else (candidate, proven)


def has_pending(db: sqlite3.Connection, site: int, document: int | None = None) -> int:
    """Return the oldest loss, of a document, that is not judged yet; 0 for none."""
    values = {"site": site, "document": document}
    own = "" if document is None else " AND document = :document"
    missing = f"{_LOST} WHERE {_IS_LOST} AND lost_run > 0{own}"
    return int(db.execute(f"SELECT ifnull(min(lost_run), 0) FROM {missing}", values).fetchone()[0])


def merge(db: sqlite3.Connection, site: int) -> None:
    """Write what documents listed into `url`; note what they no longer list."""
    values = {"site": site}
    # Sorted, because the rows lie in the order of their keys; and the last word on a URL counts.
    db.execute(
        "INSERT INTO url SELECT log.site, substr(keys, 10 * each.key + 1, 10) AS hash, document,"
        f" CASE log.kind WHEN {Kind.SENT} THEN substr(records, 6 * each.key + 1, 6)"
        f"  WHEN {Kind.OUTDATED} THEN x'' END,"
        " each.value, run, max(log.window, document.window),"
        f" iif(log.kind = {Kind.DELETED}, -run, NULL)"
        " FROM log CROSS JOIN document ON document.id = log.document"
        " CROSS JOIN json_each(inflate(locs)) AS each"
        " WHERE log.site = :site ORDER BY hash, document, log.id, each.key"
        " ON CONFLICT DO UPDATE SET seen_run = excluded.seen_run,"
        " lost_run = iif(excluded.lost_run AND url.lost_run > 0, url.lost_run, excluded.lost_run),"
        " window = excluded.window, record = iif(length(excluded.record) > 0, excluded.record,"
        "  coalesce(url.record, excluded.record))",
        values,
    )
    db.execute("DELETE FROM log WHERE site = :site", values)
    read = "document.site = :site AND listed_run IS NOT merged_run"
    its = "(SELECT its.{} FROM document AS its WHERE its.id = url.document)"
    if db.execute(f"SELECT 1 FROM document WHERE {read} AND merged_run > 0", values).fetchone():
        db.execute(
            f"UPDATE url SET window = max(window, {its.format('window')}),"
            f" lost_run = {its.format('listed_run')}"
            f" WHERE site = :site AND document IN (SELECT id FROM document WHERE {read})"
            f" AND lost_run IS NULL AND seen_run < {its.format('listed_run')}",
            values,
        )
    # What was never delivered cannot become unlisted.
    db.execute(
        f"DELETE FROM {_LOST} WHERE record IS NULL AND lost_run IS NOT NULL AND site = :site",
        values,
    )
    db.execute(f"UPDATE document SET merged_run = listed_run WHERE {read}", values)


def judge(
    db: sqlite3.Connection, run: Run, rules: ListingRules, outcome: RunOutcome
) -> Findings | None:
    """Judge what is missing, with `changes`; forget what nothing names."""
    values = {
        "site": run.site,
        "run": run.id,
        "now": run.stamp,
        "round": run.is_round,
        "from": rules.shrunk_from,
        "before": run.id - nanoseconds(rules.left_for),
    }
    if run.saves and not run.is_new:  # the first walk has nothing to compare: the next one merges
        merge(db, run.site)
    db.execute("DELETE FROM temp.reachable")
    _fill_reachable(db, outcome, values)
    _note_dropped(db, outcome, values)
    _add_unread(db, run)
    db.execute(
        f"UPDATE document SET missed = iif({_READ}, 0, missed + 1)"
        f" WHERE site = :site AND (missed > 0 OR NOT {_READ}) AND {_WAS_ASKED}",
        values,
    )
    values["proven"] = proven = _look(db, run, rules, outcome, values)
    if not run.saves:
        _forget(db, values)
        return None
    oldest = f"SELECT min(proven_run) FROM document WHERE site = :site AND {_IS_WAITED_FOR}"
    (found,) = db.execute(oldest, values).fetchone()
    values["proven"] = proven if found is None else min(found, proven)
    missed = (
        f"SELECT document, count(*) FROM {_LOST} WHERE {_IS_LOST} AND lost_run = :now GROUP BY 1"
    )
    missing = dict(db.execute(missed, values).fetchall())
    shrunk = _list_shrunk(db, missing, values)
    unlisted = _unlist(db, values)
    _forget(db, values)
    listed = "(SELECT 1 FROM url WHERE site = :site AND key = lost.key AND lost_run IS NULL)"
    left, waiting = db.execute(
        "SELECT count(DISTINCT iif(window AND lost_run >= :run, key, NULL)),"
        " count(DISTINCT iif(window, NULL, key)) FROM url AS lost INDEXED BY url_lost"
        f" WHERE site = :site AND lost_run IS NOT NULL AND NOT EXISTS {listed}",
        values,
    ).fetchone()
    return Findings(unlisted, waiting, left, shrunk, missing)


def _fill_reachable(db: sqlite3.Connection, outcome: RunOutcome, values: Mapping[str, int]) -> None:
    """Fill `reachable` with what was found, and what unread indexes listed before."""
    insert = "INSERT OR IGNORE INTO reachable VALUES (?, ?)"
    db.executemany(insert, outcome.listed.items())
    unread = (
        "SELECT child_list, is_wanted FROM document JOIN reachable ON reachable.url = document.url"
        f" WHERE site = :site AND child_list IS NOT NULL AND NOT {_READ}"
    )
    waiting = db.execute(unread, values).fetchall()
    while waiting:
        listed, is_wanted = waiting.pop()
        for loc, _ in json.loads(listed):
            if db.execute(insert, (url_key(loc), is_wanted)).rowcount:
                waiting += db.execute(
                    "SELECT child_list, ? FROM document WHERE site = ? AND url = ?"
                    " AND child_list IS NOT NULL",
                    (is_wanted, values["site"], url_key(loc)),
                ).fetchall()


def _add_unread(db: sqlite3.Connection, run: Run) -> None:
    """Add the documents that were never fetched, and may have a URL that is missing."""
    # Such as those of another host, those that robots.txt keeps us out of, or beyond a limit. As
    # rows they are waited for as others are.
    if has_pending(db, run.site):
        unread = (
            "SELECT url FROM reachable WHERE url NOT IN (SELECT url FROM document WHERE site = ?)"
        )
        add_documents(db, run, [url for (url,) in db.execute(unread, (run.site,))])


def _note_dropped(db: sqlite3.Connection, outcome: RunOutcome, values: Mapping[str, int]) -> None:
    """Note which documents nothing names any more.

    What they list is lost until they are named again.
    """
    known = "SELECT id, dropped_run FROM document WHERE site = :site AND dropped_run"
    named = "url IN (SELECT url FROM reachable)"
    for document, since in db.execute(f"{known} IS NOT NULL AND {named}", values).fetchall():
        db.execute("UPDATE document SET dropped_run = NULL WHERE id = ?", (document,))
        db.execute(
            "UPDATE url SET lost_run = NULL WHERE site = ? AND lost_run = ? AND document = ?",
            (values["site"], since, document),
        )
    # A document that failed and was never read may name any other.
    unknown = (
        "SELECT 1 FROM document WHERE site = :site AND seen_run = :run AND status = 'failed'"
        f" AND read_run IS NULL AND ifnull(http_status, 0) NOT IN (404, 410) AND NOT {_IS_GIVEN_UP}"
    )
    if not outcome.knows_all or db.execute(unknown, values).fetchone():
        return
    dropped = "UPDATE document SET dropped_run = :now WHERE site = :site AND dropped_run IS NULL"
    if db.execute(f"{dropped} AND NOT {named}", values).rowcount:
        db.execute(
            "UPDATE url SET lost_run = :now WHERE site = :site AND lost_run IS NULL AND document IN"
            " (SELECT id FROM document WHERE site = :site AND dropped_run = :now)",
            values,
        )


def _look(
    db: sqlite3.Connection,
    run: Run,
    rules: ListingRules,
    outcome: RunOutcome,
    values: Mapping[str, int],
) -> int:
    """Note that all was asked that names documents; return which look is proven."""
    where = "FROM site WHERE id = :site"
    looked, candidate, proven = db.execute(
        f"SELECT looked_run, candidate_run, proven_run {where}", values
    ).fetchone()
    if not outcome.knows_all:
        return int(proven)
    asked = run.kept or run.stamp
    candidate, proven = vouch(candidate, proven, asked, rules)
    (oldest,) = db.execute(
        "SELECT min(vouched_run) FROM document WHERE site = :site"
        f" AND {IS_INDEX} AND {_IS_WAITED_FOR}",
        values,
    ).fetchone()
    looked = max(looked, asked if oldest is None else min(asked, oldest))
    db.execute(
        "UPDATE site SET looked_run = ?, candidate_run = ?, proven_run = ? WHERE id = ?",
        (looked, candidate, proven, run.site),
    )
    return int(proven)


def _unlist(db: sqlite3.Connection, values: Mapping[str, int]) -> int:
    """Judge what is proven to be missing; return how many URLs became unlisted."""
    same = "site = :site AND key = judged.key"
    db.execute("DELETE FROM temp.judged")
    # What a window still lists may leave it later, which makes no URL unlisted; this does.
    db.execute(
        "INSERT INTO judged SELECT key, document, loc, lost_run FROM url AS judged"
        " WHERE site = :site AND lost_run <= :proven AND (lost_run < 0 OR NOT window AND NOT EXISTS"
        f"  (SELECT 1 FROM url WHERE {same} AND window AND lost_run IS NULL))",
        values,
    )
    unlisted = db.execute(
        "INSERT INTO page (site, key, loc, since, due, document, why)"
        " SELECT :site, key, loc, abs(lost) / 1e9, abs(lost) / 1e9, document.url,"
        "  CASE WHEN lost < 0 THEN 'deleted' WHEN lost = dropped_run THEN 'unnamed'"
        "   ELSE 'missing' END"
        " FROM (SELECT *, max(abs(lost)) FROM judged GROUP BY key) AS judged"
        "  JOIN document ON document.id = judged.document"
        f" WHERE lost < 0 OR NOT EXISTS (SELECT 1 FROM url WHERE {same}"
        "  AND (lost_run IS NULL OR (NOT window AND lost_run > :proven)))"
        " ON CONFLICT DO NOTHING",
        values,
    ).rowcount
    # A document that comes back unchanged does not list again what is forgotten here.
    db.execute(
        "UPDATE document SET complete = 0 WHERE site = :site AND dropped_run <= :proven", values
    )
    db.execute(
        "DELETE FROM url WHERE site = :site AND (key, document) IN"
        " (SELECT key, document FROM judged WHERE lost > 0)",
        values,
    )
    db.execute(  # what a record says of its own URL is newer than what other documents list
        "DELETE FROM url WHERE site = :site AND ifnull(lost_run, 0) >= 0"
        " AND key IN (SELECT key FROM judged WHERE lost < 0)",
        values,
    )
    db.execute(
        "DELETE FROM url WHERE site = :site AND lost_run > 0 AND window"
        " AND key IN (SELECT key FROM judged)",
        values,
    )
    db.execute(
        f"UPDATE {_LOST} SET lost_run = -lost_run WHERE site = :site AND lost_run < 0", values
    )
    return max(0, unlisted)


def _forget(db: sqlite3.Connection, values: Mapping[str, int]) -> None:
    """Forget what left long ago, pages that are listed again, unnamed documents."""
    db.execute(
        "DELETE FROM page WHERE site = :site AND EXISTS (SELECT 1 FROM url WHERE site = :site"
        " AND key = page.key AND lost_run IS NULL)",
        values,
    )
    db.execute(
        "DELETE FROM page WHERE site = :site AND told_gone AND asked_at < :before / 1e9", values
    )
    db.execute(f"DELETE FROM {_LOST} WHERE site = :site AND window AND lost_run < :before", values)
    for (document,) in db.execute(
        "SELECT id FROM document WHERE site = :site AND dropped_run <= :proven"
        " AND NOT EXISTS (SELECT 1 FROM url WHERE site = :site AND document = document.id)",
        values,
    ).fetchall():
        db.execute("DELETE FROM document WHERE id = ?", (document,))


def _list_shrunk(
    db: sqlite3.Connection, missing: Mapping[int, int], values: Mapping[str, int]
) -> tuple[ShrunkDocument, ...]:
    """Return the documents that list less than half of what they did."""
    found = []
    for document, lost in missing.items():
        url, listed, is_dropped = db.execute(
            "SELECT url, entries, dropped_run IS NOT NULL FROM document WHERE id = ?", (document,)
        ).fetchone()
        if lost > listed and lost + listed >= values["from"] and not is_dropped:
            found.append(ShrunkDocument(url, lost, listed))
    return tuple(sorted(found, key=lambda each: each.url))
