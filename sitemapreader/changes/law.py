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
full since the loss, twice and `confirm_after` apart, and none of them lists it. We assume that a
server serves wrong content for less than a day. So at least one of two readings a day apart shows
what the document lists.

```
evidence of a document             | its own URLs that it lacks     | URLs that other documents lost
-----------------------------------+--------------------------------+-------------------------------
full: all bytes were read, with as | missing; a full reading a day  | the same two readings
  few flaws as the last time       |   later confirms that          |   confirm them
claim: a 304, or an unchanged date | stay listed                    | wait: it is read in full
  in its index                     |                                |   within `verify_after`
part: it was cut, or is damaged,   | missing; confirmed when they   | wait for all of the patience,
  most of its records were dropped,|   are for all of the patience  |   each loss anew
  or it has more flaws than before |                                |
absent: 404, 410, a redirect to    | the same                       | the same
  what names it, another page      |                                |
none: no response, it must not be  | stay listed                    | the same
  requested, or a limit of the walk|                                |
nothing names it any more          | missing; confirmed by what     | wait until that is confirmed
                                   |   names documents              |
```

The patience is `_PATIENCE`, seven days in seven walks that are a day apart: a clock that is ahead
looks like days without a walk. A window (a feed, a change list, a news sitemap) lists recent items:
what it lacks has left. A record that says that its URL was deleted (ResourceSync) is confirmed at
once.

A flaw is a record that was dropped, or whose URL was repaired. It may be any URL that was listed.
So a document with more flaws than its last full reading hides what it lacks, until as many flaws
were there for all of the patience. A flaw that was there before costs only itself.

A document has four dates, which are stamps (nanoseconds): `seen_stamp`, its last outcome;
`read_stamp`, a full reading; `confirmed_stamp`, the last one that another has confirmed; and
`unknown_stamp`, since when it cannot be read or is not named. Where the clock goes back, all that
lies in the future of a run is as old as the moment before it (recall.sql).

The steps at the end of a walk (`reconcile`), each a function here or a file of SQL beside:

1. `_collect_named`: the documents that are named, by this walk or before it
2. mark_named.sql: documents that are named again, and their URLs
3. merge.sql: what documents listed comes from `log` into `url`; what a reading lacks is missing:
   it has seen neither the URL nor the stretch in which the URL was listed
4. `_find_unnamed`: the documents that nothing names any more
5. mark_unnamed.sql: their URLs are missing
6. `_count_failed_runs`: the patience with the documents that this walk does not know
7. `_date_naming`: the reading of what names documents, and whether it is confirmed
8. `_PROOF`: up to which stamp all documents prove losses
9. `_find_new_losses`; respell.sql, if each URL comes once: another spelling takes the place of one
10. unlist.sql: missing URLs get a row in `page`; what is confirmed becomes unlisted
11. forget.sql: what was delivered, and what is old
12. `_count_waiting` and `_find_waited`: how many wait, and for which document until when

Steps 3, 8, 9, 10 and 12 are for walks with `changes`. Step 3 is also the first one of the next
walk, for what a first or an interrupted one has left in `log`. After them, `gone.py` requests pages
of `page`.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.issues import IssueCode, excerpt
from sitemapreader._types.models import Format
from sitemapreader._types.outcomes import (
    ABSENT_STATUSES,
    ALREADY_READ,
    SAME_BODY,
    Status,
    count_flaws,
    is_read_to_end,
)
from sitemapreader._walk.memory import Findings
from sitemapreader.changes.database import (
    DamageError,
    UrlKind,
    read_script,
    read_value,
    read_values,
)
from sitemapreader.changes.rows import Flaws, WalkRun, as_moment, nanoseconds

if TYPE_CHECKING:
    from datetime import datetime

    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.memory import WalkEnd
    from sitemapreader.changes.database import Connection, Values
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


_NO_LIST = frozenset(
    {
        IssueCode.EMPTY,
        IssueCode.HTML_NOT_SITEMAP,
        IssueCode.NOT_A_SITEMAP,
        IssueCode.REDIRECTS_UP,
    }
)
"""Reasons of a failed document that stand for a response without a list."""

_IS_KNOWN = (
    "(document.seen_stamp >= :begin_stamp AND document.evidence IN ('full', 'claim'))"
)
"""SQL condition: this walk knows what a document lists (full), or the site claims that it is
unchanged (claim)."""
IS_INDEX = f"(document.children > 0 OR document.format = '{Format.INDEX}')"
IS_GIVEN_UP = (
    f"ifnull(document.missed >= {_PATIENCE_RUNS}"
    " AND document.unknown_stamp <= :patience_since, FALSE)"
)
"""SQL condition: a document was not known for all of the patience."""
_PROOF = f"""
WITH standing AS NOT MATERIALIZED (
    SELECT document.id, document.url, document.is_named, document.evidence,
        document.read_stamp, document.confirmed_stamp, document.unknown_stamp,
        {IS_INDEX} AS is_index,
        {IS_GIVEN_UP} AS is_given_up
    FROM document WHERE document.site = :site
),
-- All names of documents are known up to :naming_confirmed, the last confirmed reading of
-- robots.txt, guesses and the start page, and up to the last confirmed reading of each index. A
-- sitemap that was named after that may list what others have lost.
naming AS (
    SELECT min(:naming_confirmed, ifnull(min(standing.confirmed_stamp), :naming_confirmed))
        AS naming_proven_until
    FROM standing WHERE standing.is_index AND standing.is_named AND NOT standing.is_given_up
),
-- A document proves the losses up to `document_proven_until`; NULL: no loss waits for the document.
-- The examples ask about /old, which a.xml lost on day 3: does it wait for b.xml?
proof AS (
    SELECT standing.*, CASE
        -- b.xml was read, or could not be read for less than the patience. It proves losses up to
        -- its last confirmed reading. That was on day 2, so b.xml may list /old since, and /old
        -- waits.
        WHEN standing.is_named AND NOT standing.is_given_up
            THEN standing.confirmed_stamp
        -- Nothing names b.xml since day 4, but robots.txt was only read once since. It may name
        -- b.xml again tomorrow, so /old waits as if b.xml were named.
        WHEN NOT standing.is_named AND standing.unknown_stamp > naming.naming_proven_until
            THEN standing.confirmed_stamp
        -- b.xml is cut after its first half, and was so for all of the patience. Its second half
        -- could list /old. So /old waits for one patience after its own loss, from day 3 to day 10.
        WHEN standing.is_named AND standing.evidence = 'part' AND NOT standing.is_index
            THEN max(standing.confirmed_stamp, :patience_since)
        -- b.xml was 404, or did not respond, for all of the patience; or nothing names it, and a
        -- second reading of robots.txt has confirmed that. /old does not wait for it.
        ELSE NULL END AS document_proven_until
    FROM standing CROSS JOIN naming
)
"""
"""SQL: the proof of each document from its evidence (the table at the top); a query follows."""
_IS_LOST = f"site = :site AND lost_stamp IS NOT NULL AND kind = {UrlKind.LIST:d}"
OLDEST_LOSS = (
    "ifnull((SELECT min(lost_stamp) FROM url INDEXED BY url_lost"
    f" WHERE site = site.id AND lost_stamp IS NOT NULL AND kind = {UrlKind.LIST:d}), 0)"
)
"""SQL: the stamp of the oldest loss of a site that waits; 0 for none."""
_HAS_LOST = (
    "EXISTS (SELECT 1 FROM url INDEXED BY {}"
    " WHERE site = :site AND lost_stamp IS NOT NULL{})"
)
_IS_PENDING = (
    "SELECT EXISTS (SELECT 1 FROM log WHERE site = :site)"
    " OR EXISTS (SELECT 1 FROM document WHERE site = :site AND reading_to_merge)"
    f" OR {_HAS_LOST.format('url_unsent', ' AND record IS NULL')}"
)
"""SQL: whether merge.sql has anything to do."""
_IS_MISSING = (
    f"SELECT {_HAS_LOST.format('url_lost', '')}"
    " OR EXISTS (SELECT 1 FROM document WHERE site = :site AND NOT is_named)"
    " OR EXISTS (SELECT 1 FROM page WHERE site = :site)"
    " OR EXISTS (SELECT 1 FROM neighbor WHERE site = :site)"
)
"""SQL: whether a URL was lost, nothing names a document, or a page was requested."""


# -- one document


def weigh(
    run: WalkRun,
    row: DocumentRow,
    outcome: Document,
) -> Evidence:
    """Return the evidence in the outcome of a document; `row` is its earlier record."""
    is_absent = outcome.http_status in ABSENT_STATUSES or outcome.reason in _NO_LIST
    is_limited = outcome.reason.startswith("budget-")
    match outcome.status:
        case Status.COMPLETE | Status.PARTIAL if row.read_stamp and hides_urls(
            run, row.flaws.add(count_flaws(outcome), run.stamp)
        ):
            return Evidence.PART
        case Status.COMPLETE:
            return Evidence.FULL
        case Status.UNCHANGED:
            if outcome.reason == SAME_BODY:
                return Evidence.FULL
            return Evidence.CLAIM
        case Status.SKIPPED if outcome.reason == ALREADY_READ and row.digest is None:
            return Evidence.FULL  # another address of a document, and never more
        case Status.PARTIAL if is_read_to_end(outcome) and not _is_broken(outcome):
            return Evidence.FULL
        case Status.FAILED if is_absent:
            return Evidence.ABSENT
        case Status.PARTIAL | Status.FAILED if outcome.format and not is_limited:
            return Evidence.PART
    return Evidence.NONE


def _is_broken(outcome: Document) -> bool:
    """Return whether most records of a document were dropped, which hides missing URLs."""
    return 2 * outcome.dropped > outcome.records


def hides_urls(run: WalkRun, flaws: Flaws) -> bool:
    """Return whether flaws may hide a URL that was listed: they are new, and not usual yet."""
    return flaws.since > find_patience_since(run.stamp, run.days)


def confirm(
    read: int,
    confirmed: int,
    reading: int,
    least: int,
) -> tuple[int, int]:
    """Return `read_stamp` and `confirmed_stamp` of a document after another reading.

    A reading at least `least` after the current one (`read`) confirms it, and takes its place; an
    earlier one changes nothing. With a `least` of 0, each reading confirms itself.
    """
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
    may_differ: bool,
    flaws: Flaws,
) -> dict[str, Any]:
    """Return the columns of `document` that date an outcome.

    `age` is how long a cache has had the response, in nanoseconds: the reading is as old.
    `may_differ` is False if a response claims that the document is unchanged.
    """
    found: dict[str, Any] = {"seen_stamp": run.stamp, "evidence": str(evidence)}
    reading = run.stamp - age
    if evidence is Evidence.FULL:
        # what a walk without `changes` has read was not compared
        # where its flaws are usual by now, it was read with them before
        read = (flaws.since or row.read_stamp) if row.is_saved else 0
        least = run.confirm_after if run.has_changes else 0
        found["read_stamp"], confirmed = confirm(
            read, row.confirmed_stamp, reading, least
        )
        if run.has_changes:
            found["confirmed_stamp"] = confirmed
    if run.has_changes and evidence.is_list and may_differ:
        if row.digest is None:
            found["reading_to_merge"] = -reading
        else:
            found["reading_to_merge"] = reading
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


def find_patience_since(stamp: int, days: tuple[int, ...]) -> int:
    """Return the stamp since which the patience lasts.

    Nothing that began by then is waited for any more. It is 0 for a site without seven walks that
    are a day apart.
    Days without a walk are no days of patience: a clock that is ahead looks like them.
    """
    if len(days) < _PATIENCE_RUNS:
        return 0
    return min(days[0], stamp - nanoseconds(_PATIENCE))


# -- which documents are read in full


def find_losses(db: Connection, site: int) -> list[int]:
    """Return the stamps of the losses that wait, the oldest first."""
    sql = (
        "SELECT DISTINCT lost_stamp FROM url INDEXED BY url_lost"
        f" WHERE {_IS_LOST} ORDER BY lost_stamp"
    )
    return read_values(db, sql, {"site": site})


def find_waited(
    db: Connection,
    site: int,
    stamp: int,
    days: str,
    lost_stamp: int,
    confirm_after: int,
) -> tuple[str, datetime]:
    """Return a document that a URL waits for, which was lost at a stamp, and until when.

    `stamp` and `days` are of the last walk over the site. See `_find_waited`.
    """
    sql = "SELECT confirmed_stamp FROM site WHERE id = ?"
    values = {
        "site": site,
        "stamp": stamp,
        "lost_stamp": lost_stamp,
        "patience_since": find_patience_since(stamp, read_days(days)),
        "naming_confirmed": read_value(db, sql, [site]),
    }
    return _find_waited(db, values, confirm_after)


def _find_waited(
    db: Connection,
    values: Values,
    confirm_after: int,
) -> tuple[str, datetime]:
    """Return the document that a loss waits for, and the earliest time of a walk that proves it.

    "" stands for what names documents. A reading since the loss is confirmed `confirm_after` later.
    Without one, the next reading that counts has to be confirmed.
    """
    query = (
        "SELECT proof.url, proof.read_stamp FROM proof"
        " WHERE proof.document_proven_until < :lost_stamp"
        " ORDER BY proof.unknown_stamp IS NULL, proof.confirmed_stamp LIMIT 1"
    )
    found = db.execute(_PROOF + query, values).fetchone()
    if found is None:
        naming = "SELECT '', read_stamp FROM site WHERE id = :site"
        found = db.execute(naming, values).fetchone()
    url, read = found
    if read < values["lost_stamp"]:
        read = max(read + confirm_after, values["stamp"])
    return url, as_moment((read + confirm_after) / 1e9)


def find_unverified(
    db: Connection,
    run: WalkRun,
    losses: list[int],
    verify_after: int,
    elapsed: int,
) -> frozenset[str]:
    """Return the URLs of documents that this run reads in full, because losses wait for them.

    An index is read in every run. Of the others each is read within `verify_after`, those first
    that were read longest ago, and a second time a day after; `elapsed` since the last run. A round
    (a walk with `revisit`) verifies only documents that it requests anyway.
    """
    if not losses:
        return frozenset()
    sql = (
        f"SELECT url, read_stamp, confirmed_stamp, {IS_INDEX} FROM document"
        " WHERE site = :site AND is_named AND confirmed_stamp < :newest ORDER BY read_stamp, url"
    )
    values = {"site": run.site, "newest": losses[-1]}
    rows = db.execute(sql, values).fetchall()
    count = "SELECT count(*) FROM document WHERE site = ?"
    number = read_value(db, count, [run.site])
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


def merge(db: Connection, site: int) -> None:
    """Write the URLs of documents into `url`; note the ones that are no longer listed."""
    values = {"site": site}
    if read_value(db, _IS_PENDING, values):
        _execute(db, "merge.sql", values)


def recall(
    db: Connection,
    site: int,
    stamp: int,
) -> None:
    """Forget that anything of a site lies in the future."""
    _execute(db, "recall.sql", {"site": site, "stamp": stamp})


def _execute(
    db: Connection,
    name: str,
    values: Values,
) -> int:
    """Execute the statements of a file; return how many rows the last one changed."""
    changed = 0
    for statement in read_script(name).split(";\n"):
        changed = db.execute(statement, values).rowcount
    return max(0, changed)


def reconcile(
    db: Connection,
    run: WalkRun,
    end: WalkEnd,
) -> Findings | None:
    """Reconcile the state with a walk: return the missing URLs, with `changes`."""
    values: dict[str, Any] = {
        "site": run.site,
        "begin_stamp": run.begin_stamp,
        "stamp": run.stamp,
        "last": run.last,
        "all_known_stamp": run.all_known_stamp,
        # What a run with a clock that is ahead forgets cannot be recalled: so each forgets only
        # what was old for the one before it.
        "before": min(run.begin_stamp, run.last) - _KNOWN_FOR,
        # A clock that was behind dates losses too early, but not what is known for seven walks.
        "unlisted_before": min(run.begin_stamp, run.last, *run.days) - _KNOWN_FOR,
        "patience_since": find_patience_since(run.stamp, run.days),
        "is_round": run.chosen is not None,
        "is_cut": end.is_cut,
        "flaws": end.naming_flaws,
    }
    read, _ = run.naming_readings
    flaws = run.naming_flaws.add(end.naming_flaws, run.stamp)
    values["flawed_stamp"] = flaws.since
    if read and hides_urls(run, flaws):
        end = attrs.evolve(end, knows_all=False, names_none=False)
    _collect_named(db, values, end)
    if _has_missing(db, values):
        _execute(db, "mark_named.sql", values)
    # the first walk has nothing to compare: the next one merges
    if run.has_changes and not run.is_new:
        merge(db, run.site)
    _find_unnamed(db, values, end)
    has_missing = _has_missing(db, values)
    if has_missing:
        _execute(db, "mark_unnamed.sql", values)
    _count_failed_runs(db, values)
    naming_confirmed = _date_naming(db, run, values, knows_all=end.knows_all)
    if not run.has_changes:
        if has_missing:
            values["forget_until"] = naming_confirmed
            _execute(db, "forget.sql", values)
        return None
    if not has_missing:
        return Findings(
            unlisted=0,
            waiting=0,
            waits_for="",
            waits_until=None,
            left=0,
            shrunk=(),
            new_losses={},
        )
    values["naming_confirmed"] = naming_confirmed
    values["proven_until"] = _find_proven_until(db, values)
    values["forget_until"] = values["proven_until"]
    new_losses, shrunk = _find_new_losses(db, values)
    if new_losses and run.is_unique:
        _execute(db, "respell.sql", values)
    unlisted = _execute(db, "unlist.sql", values)
    _execute(db, "forget.sql", values)
    left, waiting = _count_waiting(db, values)
    waits_for = ""
    waits_until = None
    if waiting:
        values["lost_stamp"] = find_losses(db, run.site)[0]
        waits_for, waits_until = _find_waited(db, values, run.confirm_after)
    return Findings(unlisted, waiting, waits_for, waits_until, left, shrunk, new_losses)


def _collect_named(
    db: Connection,
    values: Values,
    end: WalkEnd,
) -> None:
    """Fill `reachable` with the documents that are named.

    The earlier children of indexes that the run has not read count as named, for as long as the
    patience with an index lasts.
    """
    db.execute("DELETE FROM reachable")
    db.executemany("INSERT INTO reachable VALUES (?, ?)", end.listed.items())
    db.execute(
        f"""
        INSERT OR IGNORE INTO reachable
        WITH RECURSIVE named AS (
            SELECT url, is_wanted FROM reachable
            UNION
            SELECT url_key(json_extract(child.value, '$[0]')), named.is_wanted
            FROM named
            CROSS JOIN document ON document.site = :site AND document.url = named.url
                AND NOT {_IS_KNOWN}
                AND NOT (document.evidence IN ('part', 'absent') AND {IS_GIVEN_UP})
            CROSS JOIN json_each(document.child_list) AS child
        )
        SELECT url, is_wanted FROM named""",
        values,
    )


def _find_unnamed(
    db: Connection,
    values: Values,
    end: WalkEnd,
) -> None:
    """Note the documents that nothing names any more, if the walk knows all that names some."""
    if not (end.knows_all or (end.names_none and _is_dead(db, values))):
        return
    # A document that failed and was never read may name any other.
    unknown = (
        "SELECT 1 FROM document WHERE site = :site AND seen_stamp >= :begin_stamp"
        " AND status = 'failed' AND digest IS NULL AND ifnull(http_status, 0) NOT IN (404, 410)"
        f" AND NOT {IS_GIVEN_UP}"
    )
    if read_value(db, unknown, values):
        return
    db.execute(
        "UPDATE document SET is_named = 0, unknown_stamp = :stamp"
        " WHERE site = :site AND is_named AND url NOT IN (SELECT url FROM reachable)",
        values,
    )


def _count_failed_runs(db: Connection, values: Values) -> None:
    """Count the runs in which each document was not known, since when it is not."""
    db.execute(
        f"UPDATE document SET missed = iif({_IS_KNOWN}, 0, missed + 1),"
        f" unknown_stamp = iif({_IS_KNOWN}, NULL, ifnull(unknown_stamp, :stamp))"
        f" WHERE site = :site AND is_named AND (unknown_stamp > 0 OR NOT {_IS_KNOWN})"
        # In a round, what was not requested was left for another time.
        " AND (NOT :is_round OR document.seen_stamp >= :begin_stamp"
        "  OR url IN (SELECT url FROM reachable WHERE NOT is_wanted))"
        # Nor does a limit of the walk count.
        f" AND ({_IS_KNOWN} OR NOT :is_cut"
        "  OR document.seen_stamp >= :begin_stamp AND reason NOT LIKE 'budget-%')",
        values,
    )


def _find_proven_until(db: Connection, values: Values) -> int:
    """Return the stamp up to which all documents, and all that names them, prove losses."""
    query = (
        "SELECT min(naming.naming_proven_until, ifnull("
        "(SELECT min(proof.document_proven_until) FROM proof), naming.naming_proven_until))"
        " FROM naming"
    )
    return int(read_value(db, _PROOF + query, values))


def _count_waiting(db: Connection, values: Values) -> tuple[int, int]:
    """Return how many URLs have left a window in this walk, and how many lists have lost."""
    count = (
        "(SELECT count(DISTINCT key) FROM url AS lost INDEXED BY url_lost"
        " WHERE site = :site AND kind = {} AND lost_stamp >= {} AND NOT EXISTS (SELECT 1"
        "  FROM url WHERE site = :site AND key = lost.key AND lost_stamp IS NULL))"
    )
    left = count.format(int(UrlKind.WINDOW), ":begin_stamp")
    lost = count.format(int(UrlKind.LIST), "0")
    found: tuple[int, int] = db.execute(f"SELECT {left}, {lost}", values).fetchone()
    return found


def _has_missing(db: Connection, values: Values) -> bool:
    """Return whether a site has anything to judge; most have nothing."""
    return bool(read_value(db, _IS_MISSING, values))


def _is_dead(db: Connection, values: Values) -> bool:
    """Return whether no document that a site has named could be read for `_DEAD_AFTER`."""
    long = values["stamp"] - nanoseconds(_DEAD_AFTER)
    sql = (
        f"SELECT min(missed >= {_PATIENCE_RUNS} AND ifnull(unknown_stamp <= {long}, FALSE))"
        " FROM document WHERE site = :site AND is_named"
    )
    return bool(read_value(db, sql, values))


def _date_naming(
    db: Connection,
    run: WalkRun,
    values: Values,
    *,
    knows_all: bool,
) -> int:
    """Date this run's reading of the naming documents; return the last confirmed one."""
    read, confirmed = run.naming_readings
    if not knows_all:
        sql = (
            "UPDATE site SET missed = missed + 1, last_flaws = :flaws,"
            " flawed_stamp = :flawed_stamp"
            " WHERE id = :site RETURNING missed"
        )
        missed = read_value(db, sql, values)
        is_given_up = missed >= _PATIENCE_RUNS and read <= values["patience_since"]
        return run.stamp if is_given_up else confirmed
    asked = run.oldest_response_stamp or run.stamp
    read, confirmed = confirm(read, confirmed, asked, run.confirm_after)
    indexes = f"WHERE site = :site AND {IS_INDEX} AND is_named AND NOT {IS_GIVEN_UP}"
    db.execute(
        "UPDATE site SET read_stamp = :read, confirmed_stamp = :confirmed, missed = 0,"
        " last_flaws = :flaws, known_flaws = :flaws, flawed_stamp = 0,"
        " looked_stamp = max(looked_stamp, (SELECT min(:asked, ifnull(min(read_stamp), :asked))"
        f" FROM document {indexes})) WHERE id = :site",
        {**values, "read": read, "confirmed": confirmed, "asked": asked},
    )
    return confirmed


def _find_new_losses(
    db: Connection, values: Values
) -> tuple[dict[int, int], tuple[tuple[str, int, int], ...]]:
    """Return how many URLs each document has lost in this walk, and which lost more than half."""
    new_losses = (
        "SELECT document.id, document.url, count(*), entries, is_named"
        " FROM url AS lost INDEXED BY url_lost JOIN document ON document.id = lost.document"
        f" WHERE lost.site = :site AND lost_stamp > :last AND lost.kind = {UrlKind.LIST:d}"
        " AND (evidence <> 'absent' OR NOT is_named) GROUP BY document.id"
    )
    rows = db.execute(new_losses, values).fetchall()
    shrunk = (
        (url, lost, still_listed)
        for _, url, lost, still_listed, is_named in rows
        if is_named and lost > still_listed and lost + still_listed >= _SHRUNK_FROM
    )
    by_number = {number: lost for number, _, lost, _, _ in rows}
    return by_number, tuple(sorted(shrunk))
