"""The law of removal: when a URL is unlisted, and which evidence proves it.

The life of one URL. The tables `page` and `url` of the state keep its position:

```
             a reading lacks it           confirmed
   listed ───────────────────► missing ──────────────► unlisted
     ▲                            │                        │
     └──── a reading lists it ────┴────────────────────────┘

                  404 or 410 in two walks a day apart
   page of a missing URL ─────────────────────────────► gone
   (unlisted or not)     ◄─────────────────────────────
                            it lives: returned
```

The two facts are independent: the page of a missing URL may be gone before the URL is unlisted.

**Only bytes prove absence.** A URL is unlisted when every document that its site names was read in
full since the loss, twice and `confirm_after` apart, and none lists it: a lie lasts a day at most,
so one of two such readings shows what a document lists.

```
evidence of a document             | its own URLs that it lacks     | URLs that other documents lost
-----------------------------------+--------------------------------+-------------------------------
full: all bytes were read; records | missing; a full reading a day  | the same two readings
  dropped with an Issue cost only  |   later confirms that          |   confirm them
  themselves                       |                                |
claim: a 304, or an unchanged date | stay listed                    | wait: it is read in full
  in its index                     |                                |   within `verify_after`
part: it was cut, or is damaged    | missing; confirmed when they   | wait for all of the patience,
                                   |   are for all of the patience  |   each loss anew
absent: 404, 410, a redirect to    | the same                       | the same
  what names it, another page      |                                |
none: no answer, it must not be    | stay listed                    | the same
  asked, or a limit of the walk    |                                |
nothing names it any more          | missing; confirmed by what     | wait until that is confirmed
                                   |   names documents              |
```

The patience is `_PATIENCE`, seven days in seven walks that are a day apart: a clock that is ahead
looks like days without a walk. A window (a feed, a change list, a news sitemap) lists recent items:
what it lacks has left. A record that says that its URL was deleted (ResourceSync) is confirmed at
once.

A document has four dates, which are stamps (nanoseconds): `seen_stamp`, its last outcome;
`read_stamp`, a full reading; `confirmed_stamp`, the last one that another has confirmed; and
`missing_stamp`, since when it cannot be read or is not named. Where the clock goes back, all that
lies in the future of a run is as old as the moment before it (recall.sql).

The steps at the end of a walk (`reconcile`), each a file of SQL beside:

1. mark_named.sql: documents that are named again, and their URLs
2. merge.sql: what documents listed comes from `log` into `url`; what a reading lacks is missing
3. mark_unnamed.sql: the URLs of documents that nothing names any more
4. respell.sql, if URLs are missing and each comes once: another spelling takes the place of one
5. unlist.sql: missing URLs get a row in `page`; what is confirmed becomes unlisted
6. forget.sql: what was told, and what is old

Steps 2, 4 and 5 are for walks with `changes`. After them, `gone.py` requests pages of `page`.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sitemapreader._types.issues import IssueCode, excerpt, list_errors
from sitemapreader._types.models import Format
from sitemapreader._types.outcomes import (
    ABSENT_STATUSES,
    ALREADY_READ,
    SAME_BODY,
    Status,
)
from sitemapreader._walk.memory import Findings
from sitemapreader.changes.database import DamageError, read_script
from sitemapreader.changes.rows import WalkRun, nanoseconds

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.memory import WalkEnd
    from sitemapreader.changes.rows import DocumentRow

_PATIENCE = timedelta(days=7)
"""Time to wait for a document that cannot be read: one broken sitemap would otherwise hide
all that is unlisted on its site for ever."""
_PATIENCE_RUNS = 7
_DEAD_AFTER = timedelta(days=10)
"""Time after which a site that names no readable sitemap counts as one without sitemaps. It is
longer than the patience, because a host that was down for a week may come back with another page
for a day."""
_KNOWN_FOR = nanoseconds(timedelta(days=90))
"""Time that a URL is kept after it left a window, or became unlisted."""
_SHRUNK_FROM = 20
"""Number of URLs from which the loss of more than half counts as shrunk."""
_VERIFIED_AT_ONCE = 10
"""Documents that one run may verify, however many are to be spread over `verify_after`."""


class Evidence(StrEnum):
    """The evidence in the outcome of a document: see the table at the top."""

    FULL = "full"
    CLAIM = "claim"
    PART = "part"
    ABSENT = "absent"
    NONE = "none"

    @property
    def is_list(self) -> bool:
        """True if a URL that the document lacks now is missing."""
        return self in (Evidence.FULL, Evidence.PART, Evidence.ABSENT)


_OF_ONE_RECORD = frozenset(
    {
        IssueCode.MALFORMED,
        IssueCode.TEMPLATE,
        IssueCode.RECORD_TOO_LONG,
        IssueCode.FIELD_TOO_LONG,
        IssueCode.TOO_DEEP,
        IssueCode.TOO_MANY_ELEMENTS,
        IssueCode.TOO_MANY_ATTRIBUTES,
        IssueCode.MISSING_BASE,
    }
)
"""Errors that cost one record: the rest of the document was read."""
_NO_LIST = frozenset(
    {
        IssueCode.EMPTY,
        IssueCode.HTML_NOT_SITEMAP,
        IssueCode.NOT_A_SITEMAP,
        IssueCode.TABLE_NOT_SITEMAP,
        IssueCode.REDIRECTS_UP,
    }
)
"""Reasons of a failed document that stand for a response without a list."""

_IS_KNOWN = (
    "(document.seen_stamp >= :begin_stamp AND document.evidence IN ('full', 'claim'))"
)
"""SQL condition: this walk knows what a document lists (full), or the site claims that it is
unchanged (claim)."""
IS_INDEX = f"(children > 0 OR format = '{Format.INDEX}')"
IS_GIVEN_UP = f"(missed >= {_PATIENCE_RUNS} AND missing_stamp <= :patient)"
_IS_WAITED_FOR = f"is_named AND NOT ifnull({IS_GIVEN_UP}, FALSE)"
_NAMING_PROVEN = f"iif({IS_INDEX} AND {_IS_WAITED_FOR}, confirmed_stamp, NULL)"
"""SQL: the stamp up to which an index proves what it names; NULL for another document."""
_PROVES = (
    f"CASE WHEN {_IS_WAITED_FOR} OR (NOT is_named AND missing_stamp > :naming_confirmed)"
    " THEN confirmed_stamp"
    f" WHEN is_named AND evidence = 'part' AND NOT {IS_INDEX}"
    " THEN max(confirmed_stamp, :patient) END"
)
"""SQL: the stamp up to which a document proves losses; NULL for one that nothing waits for. What a
list lacks of which a part is read is known a patience later. That nothing names a document must be
confirmed."""
_NAMED_BEFORE = f"""
    INSERT OR IGNORE INTO reachable WITH RECURSIVE named AS (SELECT url, is_wanted FROM reachable
        UNION SELECT url_key(json_extract(value, '$[0]')), is_wanted FROM named
        CROSS JOIN document ON document.site = :site AND document.url = named.url
            AND NOT {_IS_KNOWN}
            AND NOT (evidence IN ('part', 'absent') AND ifnull({IS_GIVEN_UP}, FALSE))
        CROSS JOIN json_each(child_list))
    SELECT url, is_wanted FROM named"""
"""SQL: the earlier children of indexes that the run has not read count as named, for as long as
the patience with an index lasts."""
_IS_LOST = "site = :site AND lost_stamp IS NOT NULL AND NOT kind"
OLDEST_LOSS = (
    "ifnull((SELECT min(lost_stamp) FROM url INDEXED BY url_lost"
    " WHERE site = site.id AND lost_stamp IS NOT NULL AND NOT kind), 0)"
)
"""SQL: the stamp of the oldest loss of a site that waits; 0 for none."""
_HAS_LOST = (
    "EXISTS (SELECT 1 FROM url INDEXED BY url_lost"
    " WHERE site = :site AND lost_stamp IS NOT NULL{})"
)
_MARK_UNNAMED = (
    "UPDATE document SET is_named = 0, missing_stamp = :stamp"
    " WHERE site = :site AND is_named AND url NOT IN (SELECT url FROM reachable)"
)
_IS_PENDING = (
    "SELECT EXISTS (SELECT 1 FROM log WHERE site = :site)"
    " OR EXISTS (SELECT 1 FROM document WHERE site = :site AND to_merge)"
    f" OR {_HAS_LOST.format(' AND record IS NULL')}"
)
"""SQL: whether merge.sql has anything to do."""
_IS_MISSING = (
    f"SELECT {_HAS_LOST.format('')}"
    " OR EXISTS (SELECT 1 FROM document WHERE site = :site AND NOT is_named)"
    " OR EXISTS (SELECT 1 FROM page WHERE site = :site)"
    " OR EXISTS (SELECT 1 FROM control WHERE site = :site)"
)
"""SQL: whether a URL, a page, or what names a document is missing, now or before."""


# -- one document


def weigh(row: DocumentRow, outcome: Document) -> Evidence:
    """Return the evidence in the outcome of a document; `row` is its earlier record."""
    is_absent = outcome.http_status in ABSENT_STATUSES or outcome.reason in _NO_LIST
    is_limited = outcome.reason.startswith("budget-")
    match outcome.status:
        case Status.COMPLETE:
            return Evidence.FULL
        case Status.UNCHANGED:
            if outcome.reason == SAME_BODY:
                return Evidence.FULL
            return Evidence.CLAIM
        case Status.SKIPPED if outcome.reason == ALREADY_READ and row.digest is None:
            return Evidence.FULL  # another address of a document, and never more
        case Status.PARTIAL if _OF_ONE_RECORD.issuperset(list_errors(outcome.counts)):
            return Evidence.FULL
        case Status.FAILED if is_absent:
            return Evidence.ABSENT
        case Status.PARTIAL | Status.FAILED if outcome.format and not is_limited:
            return Evidence.PART
    return Evidence.NONE


def confirm(
    read: int,
    confirmed: int,
    reading: int,
    least: int,
) -> tuple[int, int]:
    """Return which reading stands for a document, and which is confirmed, after another one."""
    if not least:
        return max(reading, read), max(reading, confirmed)
    if not read:
        return reading, confirmed
    if reading - read >= least:
        return (reading, read)
    return (read, confirmed)


def date_outcome(
    run: WalkRun,
    row: DocumentRow,
    evidence: Evidence,
    *,
    age: int,
    is_new: bool,
) -> dict[str, Any]:
    """Return the columns of `document` that date an outcome.

    `age` is how long a cache has had the response, in nanoseconds: the reading is as old. `is_new`
    is False where the site claims that the document is unchanged, and True without a body.
    """
    found: dict[str, Any] = {"seen_stamp": run.stamp, "evidence": str(evidence)}
    reading = run.stamp - age
    if evidence is Evidence.FULL:
        # what a walk without `changes` has read was not compared
        read = row.read_stamp if row.is_saved else 0
        least = run.confirm_after if run.saves else 0
        found["read_stamp"], confirmed = confirm(
            read, row.confirmed_stamp, reading, least
        )
        if run.saves:
            found["confirmed_stamp"] = confirmed
    if run.saves and evidence.is_list and is_new:
        if row.digest is None:
            found["to_merge"] = -reading
        else:
            found["to_merge"] = reading
        if evidence is not Evidence.FULL:  # as it comes back, it is read again
            found["complete"] = 0
    return found


# -- the patience


def read_days(text: str) -> tuple[int, ...]:
    """Return the stamps of the column `days`; raise DamageError."""
    try:
        return tuple(int(each) for each in json.loads(text))
    except (TypeError, ValueError):
        raise DamageError(f"{excerpt(str(text))} is not a list of stamps") from None


def add_day(
    days: tuple[int, ...],
    stamp: int,
    least: int,
) -> tuple[int, ...]:
    """Return the last stamps that are `least` apart, with another one."""
    if days and stamp - days[-1] < least:
        return days
    return (*days, stamp)[-_PATIENCE_RUNS:]


def find_patient(stamp: int, days: tuple[int, ...]) -> int:
    """Return the stamp since which the patience with a document or a loss has ended; 0 for none.

    Days without a walk are no days of patience: a clock that is ahead looks like them.
    """
    if len(days) < _PATIENCE_RUNS:
        return 0
    return min(days[0], stamp - nanoseconds(_PATIENCE))


# -- which documents are read in full


def find_losses(db: sqlite3.Connection, site: int) -> list[int]:
    """Return the stamps of the losses that wait, the oldest first."""
    sql = (
        "SELECT DISTINCT lost_stamp FROM url INDEXED BY url_lost"
        f" WHERE {_IS_LOST} ORDER BY lost_stamp"
    )
    return [lost for (lost,) in db.execute(sql, {"site": site})]


def find_waited(
    db: sqlite3.Connection,
    site: int,
    stamp: int,
    days: str,
    since: float,
) -> str:
    """Return a document that a URL waits for which is missing `since`; "" for none.

    `stamp` and `days` are of the last walk over the site.
    """
    patient = find_patient(stamp, read_days(days))
    values = {"site": site, "since": since, "patient": patient}
    look = "SELECT confirmed_stamp FROM site WHERE id = ?"
    (values["naming_confirmed"],) = db.execute(look, (site,)).fetchone()
    values["naming_confirmed"] = _find_oldest(db, _NAMING_PROVEN, values)
    return _name_waited(db, values)


def _name_waited(db: sqlite3.Connection, values: Mapping[str, Any]) -> str:
    sql = (
        f"SELECT url FROM document WHERE site = :site AND {_PROVES} < :since * 1e9"
        " ORDER BY missing_stamp IS NULL, confirmed_stamp LIMIT 1"
    )
    found = db.execute(sql, values).fetchone()
    return found[0] if found else ""


def find_unverified(
    db: sqlite3.Connection,
    run: WalkRun,
    losses: list[int],
    verify_after: int,
    elapsed: int,
) -> frozenset[str]:
    """Return the URLs of documents that this run reads in full, because losses wait for them.

    An index is read in every run. Of the others each is read within `verify_after`, those first
    that were read longest ago, and a second time a day after; `elapsed` since the last run. A round
    reads of the documents that it requests.
    """
    if not losses:
        return frozenset()
    sql = (
        f"SELECT url, read_stamp, confirmed_stamp, {IS_INDEX} FROM document"
        " WHERE site = :site AND is_named AND confirmed_stamp < :newest ORDER BY read_stamp, url"
    )
    rows = db.execute(sql, {"site": run.site, "newest": losses[-1]}).fetchall()
    (number,) = db.execute(
        "SELECT count(*) FROM document WHERE site = ?", (run.site,)
    ).fetchone()
    if elapsed >= verify_after:
        share = 1.0
    else:
        share = elapsed / verify_after
    room = max(_VERIFIED_AT_ONCE, math.ceil(number * share))
    chosen: set[str] = set()
    waiting: list[str] = []
    for url, read, confirmed, is_index in rows:
        if run.chosen is not None and url not in run.chosen:
            continue
        is_begun = bisect_right(losses, read) > bisect_right(losses, confirmed)
        if is_begun or is_index:
            if run.stamp - read >= run.confirm_after:
                chosen.add(url)
        else:
            waiting.append(url)
    return frozenset(chosen.union(waiting[:room]))


# -- one site


def merge(db: sqlite3.Connection, site: int) -> None:
    """Write the URLs of documents into `url`; note the ones that are no longer listed."""
    values = {"site": site}
    (is_pending,) = db.execute(_IS_PENDING, values).fetchone()
    if is_pending:
        _execute(db, "merge.sql", values)


def recall(
    db: sqlite3.Connection,
    site: int,
    stamp: int,
) -> None:
    """Forget that anything of a site lies in the future."""
    _execute(db, "recall.sql", {"site": site, "stamp": stamp})


def _execute(
    db: sqlite3.Connection,
    name: str,
    values: Mapping[str, Any],
) -> int:
    """Execute the statements of a file; return how many rows the last one changed."""
    changed = 0
    for statement in read_script(name).split(";\n"):
        changed = db.execute(statement, values).rowcount
    return max(0, changed)


def reconcile(
    db: sqlite3.Connection,
    run: WalkRun,
    end: WalkEnd,
) -> Findings | None:
    """Reconcile the state with a walk: return the missing URLs, with `changes`."""
    values: dict[str, Any] = {
        "site": run.site,
        "begin_stamp": run.id,
        "stamp": run.stamp,
        "last": run.last,
        "looked": run.looked,
        # What a run with a clock that is ahead forgets cannot be recalled: so each forgets only
        # what was old for the one before it.
        "before": min(run.id, run.last) - _KNOWN_FOR,
        # A clock that was behind dates losses too early, but not what is known for seven walks.
        "unlisted_before": min(run.id, run.last, *run.days) - _KNOWN_FOR,
        "patient": find_patient(run.stamp, run.days),
    }
    db.execute("DELETE FROM reachable")
    db.executemany("INSERT INTO reachable VALUES (?, ?)", end.listed.items())
    db.execute(_NAMED_BEFORE, values)
    if _has_missing(db, values):
        _execute(db, "mark_named.sql", values)
    # the first walk has nothing to compare: the next one merges
    if run.saves and not run.is_new:
        merge(db, run.site)
    # A document that failed and was never read may name any other.
    unknown = (
        "SELECT 1 FROM document WHERE site = :site AND seen_stamp >= :begin_stamp"
        " AND status = 'failed' AND digest IS NULL AND ifnull(http_status, 0) NOT IN (404, 410)"
        f" AND NOT ifnull({IS_GIVEN_UP}, FALSE)"
    )
    knows_all = end.knows_all or (end.names_none and _is_dead(db, values))
    if knows_all and not db.execute(unknown, values).fetchone():
        db.execute(_MARK_UNNAMED, values)
    has_missing = _has_missing(db, values)
    if has_missing:
        _execute(db, "mark_unnamed.sql", values)
    # In a round, what was not asked was left for another time.
    unwanted = "(SELECT url FROM reachable WHERE NOT is_wanted)"
    db.execute(
        f"UPDATE document SET missed = iif({_IS_KNOWN}, 0, missed + 1),"
        f" missing_stamp = iif({_IS_KNOWN}, NULL, ifnull(missing_stamp, :stamp))"
        f" WHERE site = :site AND is_named AND (missing_stamp > 0 OR NOT {_IS_KNOWN})"
        f" AND (NOT :is_round OR document.seen_stamp >= :begin_stamp OR url IN {unwanted})"
        # Nor does a limit of the walk count.
        f" AND ({_IS_KNOWN} OR NOT :is_cut"
        "  OR document.seen_stamp >= :begin_stamp AND reason NOT LIKE 'budget-%')",
        values | {"is_round": run.chosen is not None, "is_cut": end.is_cut},
    )
    naming_confirmed = _look(db, run, values, knows_all=end.knows_all)
    values["naming_confirmed"] = values["all_confirmed"] = naming_confirmed
    if not run.saves:
        if has_missing:
            _execute(db, "forget.sql", values)
        return None
    if not has_missing:
        return Findings(
            unlisted=0, waiting=0, waits_for="", left=0, shrunk=(), missed={}
        )
    values["naming_confirmed"] = _find_oldest(db, _NAMING_PROVEN, values)
    values["all_confirmed"] = _find_oldest(db, _PROVES, values)
    missed, shrunk = _find_missed(db, values)
    if missed and run.is_unique:
        _execute(db, "respell.sql", values)
    unlisted = _execute(db, "unlist.sql", values)
    _execute(db, "forget.sql", values)
    left, waiting = db.execute(
        "SELECT count(DISTINCT iif(kind = 1 AND lost_stamp >= :begin_stamp, key, NULL)),"
        " count(DISTINCT iif(kind, NULL, key)) FROM url AS lost INDEXED BY url_lost"
        " WHERE site = :site AND lost_stamp IS NOT NULL AND kind < 2 AND NOT EXISTS"
        "  (SELECT 1 FROM url WHERE site = :site AND key = lost.key AND lost_stamp IS NULL)",
        values,
    ).fetchone()
    waits_for = ""
    if waiting:
        oldest = find_losses(db, run.site)[0]
        waits_for = _name_waited(db, {**values, "since": oldest / 1e9})
    return Findings(unlisted, waiting, waits_for, left, shrunk, missed)


def _has_missing(db: sqlite3.Connection, values: Mapping[str, Any]) -> bool:
    """Return whether a site has anything that is missing; most have nothing to judge."""
    (has_missing,) = db.execute(_IS_MISSING, values).fetchone()
    return bool(has_missing)


def _find_oldest(
    db: sqlite3.Connection,
    stamp: str,
    values: Mapping[str, Any],
) -> int:
    """Return the oldest of `naming_confirmed` and a stamp of each document, in SQL."""
    sql = (
        f"SELECT min(:naming_confirmed, ifnull(min({stamp}), :naming_confirmed))"
        " FROM document WHERE site = :site"
    )
    (oldest,) = db.execute(sql, values).fetchone()
    return int(oldest)


def _is_dead(db: sqlite3.Connection, values: Mapping[str, Any]) -> bool:
    """Return whether no document that a site has named could be read for `_DEAD_AFTER`."""
    long = values["stamp"] - nanoseconds(_DEAD_AFTER)
    sql = (
        f"SELECT min(missed >= {_PATIENCE_RUNS} AND ifnull(missing_stamp <= {long}, FALSE))"
        " FROM document WHERE site = :site AND is_named"
    )
    (is_dead,) = db.execute(sql, values).fetchone()
    return bool(is_dead)


def _look(
    db: sqlite3.Connection,
    run: WalkRun,
    values: Mapping[str, Any],
    *,
    knows_all: bool,
) -> int:
    """Date this run's reading of the naming documents; return the last confirmed one."""
    read, confirmed = run.looks
    if not knows_all:
        sql = "UPDATE site SET missed = missed + 1 WHERE id = :site RETURNING missed"
        (missed,) = db.execute(sql, values).fetchone()
        is_given_up = missed >= _PATIENCE_RUNS and read <= values["patient"]
        return run.stamp if is_given_up else confirmed
    asked = run.kept or run.stamp
    read, confirmed = confirm(read, confirmed, asked, run.confirm_after)
    indexes = f"WHERE site = :site AND {IS_INDEX} AND {_IS_WAITED_FOR}"
    db.execute(
        "UPDATE site SET read_stamp = :read, confirmed_stamp = :confirmed, missed = 0,"
        " looked_stamp = max(looked_stamp, (SELECT min(:asked, ifnull(min(read_stamp), :asked))"
        f" FROM document {indexes})) WHERE id = :site",
        {**values, "read": read, "confirmed": confirmed, "asked": asked},
    )
    return confirmed


def _find_missed(
    db: sqlite3.Connection, values: Mapping[str, int]
) -> tuple[dict[int, int], tuple[tuple[str, int, int], ...]]:
    """Return the URLs missing in this walk, and the documents that lost more than half."""
    missed = (
        "SELECT document.id, document.url, count(*), entries, is_named"
        " FROM url AS lost INDEXED BY url_lost JOIN document ON document.id = lost.document"
        " WHERE lost.site = :site AND lost_stamp > :last AND NOT lost.kind"
        " AND (evidence <> 'absent' OR NOT is_named) GROUP BY document.id"
    )
    rows = db.execute(missed, values).fetchall()
    shrunk = (
        (url, lost, kept)
        for _, url, lost, kept, is_named in rows
        if is_named and lost > kept and lost + kept >= _SHRUNK_FROM
    )
    by_number = {number: lost for number, _, lost, _, _ in rows}
    return by_number, tuple(sorted(shrunk))
