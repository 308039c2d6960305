"""When to ask each document again: where most news has waited longest.

News of a sitemap are URLs that are new to the site, or that it no longer lists; of an index, new
sitemaps. A document has one rate, its news by the hours of observation, and `waiting = weight *
rate * t * t / 2`, in URL-hours, `t` hours after it was asked. The documents with the most waiting
are asked first: there are no due dates and no intervals. A quarter of the requests is kept for
what was asked longest ago, where something is missing or a month has passed.

For delay, the best rates go with the root of rate times weight (Sia, Cho and Cho 2007), and what
has waited most is what to ask next (Olston and Pandey 2008; Azar et al. 2018).
"""

# A clock may be wrong. What was asked in the future was asked a day ago, and no moment that
# something must wait for is more than 32 days away.

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.dates import STAMPED
from sitemapreader.state.law import IS_INDEX, has_pending
from sitemapreader.state.rows import as_moment

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable
    from datetime import datetime

HOUR = 3600.0
DAY = 24 * HOUR
_PRIOR_NEWS, _PRIOR_HOURS = 0.1, 24.0
_INHERITED_HOURS = 12.0
"""A new child begins with its part of the rate of the site, as if watched for so long."""
_MOST_HOURS = 60 * 24.0
"""What was seen that long ago counts half; nothing has waited longer."""
_SILENT_HOURS = 24.0
_MOST_NEWS = 100
"""News of one answer that count: an import is one event."""
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_RETRY_AFTER = HOUR / 2, DAY, 32 * DAY
LEAST_SECONDS = 600
"""Nothing is asked sooner than that after the last time."""
_OLD_SECONDS = 30 * DAY
_SETTLING_SECONDS = 23 * HOUR
"""A loss that is still in doubt when all was asked is looked at again after that time."""


@attrs.define
class ScheduleRow:
    """A row of the table `schedule`: what was seen of a document; see schedule.sql."""

    site: int
    asked_at: float
    found_at: float
    news: float = 0.0
    hours: float = 0.0
    rate: float = 0.0
    failures: int = 0
    not_before: int = 0

    def is_ready(self, now: float) -> bool:
        """Return whether the document may be asked for again."""
        is_early = 0 <= now - self.asked_at < LEAST_SECONDS
        return not is_early and not _is_held(self.not_before, now)

    def add(self, news: float, now: float) -> None:
        """Add an answer; what was seen two months ago counts half."""
        hours = _hours_between(self.asked_at, now)
        keep = 0.5 ** (hours / _MOST_HOURS)
        self.news, self.hours = self.news * keep + news, self.hours * keep + hours
        self.asked_at, self.found_at = now, now if news else self.found_at
        self.failures = self.not_before = 0

    def find_rate(self) -> float:
        """Return the news that are expected in an hour."""
        # Less than one in the time without any: so sitemaps of past months retire, however busy
        # they were. But the silence of a day says nothing: a shop is filled at night.
        silent = _hours_between(self.found_at, self.asked_at)
        rate = (_PRIOR_NEWS + self.news) / (_PRIOR_HOURS + self.hours)
        return min(rate, 1 / silent) if silent > _SILENT_HOURS else rate

    def pause(self, now: float, retry_after: float = 0.0) -> None:
        """Let the document rest after a failure."""
        self.failures, self.not_before = _pause(self.failures, now, retry_after)


@attrs.define
class PaceRow:
    """A row of the table `pace`: what was seen of a site; see schedule.sql."""

    weight: float = 1.0
    missed_at: float = 0.0
    failures: int = 0
    not_before: int = 0


@attrs.frozen
class Asking:
    """One request for a document, and its outcome."""

    asked_at: float
    index: str = ""
    """What lists it, if that is an index."""
    has_no_turn: bool = False
    """Whether only others lead to it: a later page of a feed, or a guess that was never read."""
    is_failed: bool = False
    news: int = 0
    retry_after: float = 0.0


@attrs.define
class Observations:
    """What one walk saw of documents, by their URLs as `url_key` writes them."""

    askings: dict[str, Asking] = attrs.field(factory=dict)
    unread: dict[str, str] = attrs.field(factory=dict)
    """Sitemaps that were never read, nor now -> the index that lists them, or ""."""
    absent: set[str] = attrs.field(factory=set)
    """What was due, and was not asked (no longer named, or not wanted); guesses that failed."""
    missed: dict[int, int] = attrs.field(factory=dict)
    """Numbers of documents -> how many URLs they no longer list."""


def _hours_between(since: float, now: float) -> float:
    return 24.0 if since > now else min((now - since) / HOUR, _MOST_HOURS)


def _is_held(not_before: float, now: float) -> bool:
    """Return whether something must wait; a moment too far ahead does not count."""
    return now < not_before <= now + _LONGEST_RETRY_AFTER


def _pause(failures: int, now: float, retry_after: float = 0.0) -> tuple[int, int]:
    """Return the failures in a row with the present one, and when to ask again."""
    seconds = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(failures, 9))
    if 0 < retry_after < math.inf:
        seconds = max(seconds, min(retry_after, _LONGEST_RETRY_AFTER))
    return failures + 1, int(now + seconds)


# -- learning


def learn(
    db: sqlite3.Connection, site: int, seen: Observations, now: float, missed_at: float = 0.0
) -> None:
    """Learn from a walk over a site, in a transaction.

    `missed_at` is when a URL was missed last whose loss is not decided, or 0.
    """
    known_pace = load_pace(db, site)
    is_first, pace = known_pace is None, known_pace or PaceRow()
    named = {url: asking.index for url, asking in seen.askings.items()} | seen.unread
    known = {url: load_row(db, site, url) for url in (*named, *seen.absent)}
    new = [url for url in named if known[url][0] and known[url][1] is None]
    born = Counter(named[url] for url in new)
    # Of a thousand that come together none is likely to have all the news of its site.
    share = 0.0 if is_first else _INHERITED_HOURS * pace.weight**-2 / max(1, len(new))
    for url, (number, before) in known.items():
        asking = seen.askings.get(url)
        if number is None or (before is None and url not in named):
            continue  # a page that was guessed, and is no sitemap
        since = (asking.asked_at if asking else now) - (0 if is_first else HOUR)
        row = before or ScheduleRow(site, since, since, share, _INHERITED_HOURS if share else 0.0)
        if url in seen.absent or (asking and asking.is_failed):
            row.pause(now, asking.retry_after if asking else 0.0)
        elif asking:
            news = asking.news + seen.missed.get(number, 0) + born[url]
            was_there = is_first or (url in new and not asking.index)
            row.add(0 if was_there else min(_MOST_NEWS, news), asking.asked_at)
        row.rate = 0.0 if asking and asking.has_no_turn else row.find_rate()
        _save(db, "schedule", number, row)
    _learn_pace(db, site, pace, seen, now, missed_at)


def _learn_pace(
    db: sqlite3.Connection,
    site: int,
    pace: PaceRow,
    seen: Observations,
    now: float,
    missed_at: float,
) -> None:
    """Learn what concerns all documents of a site."""
    rate, oldest = db.execute(
        "SELECT total(rate), min(iif(rate > 0 AND NOT failures, schedule.asked_at, NULL))"
        " FROM document CROSS JOIN schedule ON schedule.document = document.id"
        " WHERE document.site = ?",
        (site,),
    ).fetchone()
    pace.weight = max(rate, 1e-9) ** -0.5
    if not missed_at:
        pace.missed_at = 0.0
    elif not pace.missed_at or pace.missed_at > now:
        pace.missed_at = now
    elif oldest is not None and oldest >= pace.missed_at:
        is_newer = missed_at > pace.missed_at
        if is_newer or now - pace.missed_at > _SETTLING_SECONDS:
            pace.missed_at = now
    answers = [asking.is_failed for asking in seen.askings.values()]
    longest = max((asking.retry_after for asking in seen.askings.values()), default=0.0)
    if oldest is None and not any(answers):  # a site without sitemaps
        pace.failures, pace.not_before = 0, int(now + _LONGEST_PAUSE)
    elif answers and all(answers):
        pace.failures, pace.not_before = _pause(pace.failures, now, longest)
    elif answers:
        pace.failures = pace.not_before = 0
    _save(db, "pace", site, pace)


def load_row(db: sqlite3.Connection, site: int, url: str) -> tuple[int | None, ScheduleRow | None]:
    """Return the number of a document, and what is known of when to ask it."""
    sql = (
        "SELECT document.id, schedule.* FROM document"
        " LEFT JOIN schedule ON schedule.document = document.id WHERE document.site = ? AND url = ?"
    )
    number, document, *values = db.execute(sql, (site, url)).fetchone() or (None, None)
    return number, None if document is None else ScheduleRow(*values)


def load_pace(db: sqlite3.Connection, site: int) -> PaceRow | None:
    """Return what is known of a site."""
    row = db.execute("SELECT * FROM pace WHERE site = ?", (site,)).fetchone()
    return None if row is None else PaceRow(*row[1:])


def _save(db: sqlite3.Connection, table: str, number: int, row: ScheduleRow | PaceRow) -> None:
    values = [number]
    for name, value in attrs.asdict(row).items():
        values.append(int(value) if name.endswith("_at") else value)
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)


# -- planning


@attrs.frozen
class PlannedDocument:
    """A document that is asked next.

    Attributes:
        url: its URL.
        site: name of its site.
        due: from when it may be asked: nothing is asked twice in ten minutes, and what failed
            rests.
        waiting: how much news is expected to have waited how long: URLs times hours, weighed by
            site.
        rate: how many URLs an hour it is expected to publish or to drop.
        asked_at: when it last answered.
        lastmods: what its own dates look like: see `DocumentState`.
    """

    url: str
    site: str
    due: datetime = attrs.field(converter=as_moment)
    waiting: float
    rate: float
    asked_at: datetime = attrs.field(converter=as_moment)
    lastmods: str


_HOURS = (
    f"iif(schedule.asked_at > :now, 24.0, min({_MOST_HOURS}, (:now - schedule.asked_at) / 3600.0))"
)
_WAITING = f"(weight * rate * {_HOURS} * {_HOURS} / 2)"
_DUE = (
    f"max(:now, iif(schedule.asked_at > :now, 0, schedule.asked_at + {LEAST_SECONDS}),"
    " iif(schedule.not_before > :far, 0, schedule.not_before),"
    " iif(pace.not_before > :far, 0, pace.not_before))"
)
"""SQL: when a document may be asked."""
_IS_OLD = f"(schedule.asked_at < missed_at OR schedule.asked_at < :now - {_OLD_SECONDS})"
"""SQL: a missed URL waits for this document to be asked, or it was not asked for a month."""
_ROWS = "schedule CROSS JOIN pace ON pace.site = schedule.site"
_OF_SITE = (
    "(SELECT id FROM document WHERE site = :site) AS chosen"
    " CROSS JOIN schedule ON schedule.document = chosen.id"
    " CROSS JOIN pace ON pace.site = schedule.site"
)


def plan(
    db: sqlite3.Connection,
    number: int,
    now: float,
    *,
    site: int | None = None,
    names: Collection[str] | None = None,
) -> list[PlannedDocument]:
    """Return the documents to ask now: of one site, of some by name, or of all."""
    values = _values(now, site) | {"number": number}
    source, among = _ROWS if site is None else _OF_SITE, ""
    if names is not None:
        values["sites"] = json.dumps([find_site(db, name) for name in names])
        among = " AND schedule.site IN (SELECT value FROM json_each(:sites))"
    # One more than a quarter now and then: right on average, for one document at a time too.
    old = number // 4 + (number % 4 > now // LEAST_SECONDS % 4)
    chosen: dict[int, None] = {}
    for room, where, order in (
        (old, f" AND {_IS_OLD}", "schedule.asked_at"),
        (number, "", f"{_WAITING} DESC"),
    ):
        rows = db.execute(
            f"SELECT document FROM {source}"
            f" WHERE rate > 0 AND {_DUE} <= :now{where}{among} ORDER BY {order} LIMIT :number",
            values,
        )
        for (document,) in rows:
            if len(chosen) < room:
                chosen[document] = None
    by_number = (values | {"document": each} for each in chosen)
    found = (db.execute(f"{_PLANNED} WHERE document.id = :document", each) for each in by_number)
    return [PlannedDocument(*rows.fetchone()) for rows in found]


_PLANNED = (
    f"SELECT url, name, {_DUE}, {_WAITING}, rate, schedule.asked_at, lastmods FROM {_ROWS}"
    " JOIN document ON document.id = schedule.document JOIN site ON site.id = document.site"
)


def _values(now: float, site: int | None = None) -> dict[str, Any]:
    return {"now": int(now), "far": int(now + _LONGEST_RETRY_AFTER), "site": site}


def plan_documents(db: sqlite3.Connection, number: int, now: float) -> list[PlannedDocument]:
    """Return what `plan` chooses, most waiting first; then what rests."""
    chosen = sorted(plan(db, number, now), key=lambda each: -each.waiting)
    rest = db.execute(
        f"{_PLANNED} WHERE rate > 0 AND {_DUE} > :now ORDER BY 3, 4 DESC LIMIT :left",
        _values(now) | {"left": number - len(chosen)},
    )
    return chosen + [PlannedDocument(*row) for row in rest]


def plan_sites(
    db: sqlite3.Connection, number: int, now: float, names: Collection[str] | None = None
) -> dict[str, frozenset[str]]:
    """Return name of a site -> the URLs that are to be asked of it, so many in all.

    `names` are those of the sites that count, if not all do.
    """
    found: dict[str, frozenset[str]] = {}
    for each in plan(db, number, now, names=names):
        found[each.site] = found.get(each.site, frozenset()) | {each.url}
    return found


def find_turn(db: sqlite3.Connection, name: str, now: float) -> tuple[float, float]:
    """Return when a site may be asked, and the most that waits in a sitemap."""
    site = find_site(db, name)
    due, waiting = db.execute(
        f"SELECT min({_DUE}), max({_WAITING}) FROM {_OF_SITE} WHERE rate > 0", _values(now, site)
    ).fetchone()
    pace = load_pace(db, site)
    rest = pace.not_before if pace and _is_held(pace.not_before, now) else now
    return due or rest, waiting or 0.0


def find_site(db: sqlite3.Connection, name: str) -> int:
    """Return the number of a site, or 0."""
    row = db.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
    return row[0] if row else 0


def is_scheduled(db: sqlite3.Connection, site: int, now: float) -> bool:
    """Return whether a site is known well enough to ask only what is due."""
    pace = load_pace(db, site)
    if pace is None:
        return False
    sql = (
        "SELECT EXISTS (SELECT 1 FROM document CROSS JOIN schedule"
        " ON schedule.document = document.id WHERE document.site = ? AND rate > 0)"
    )
    return _is_held(pace.not_before, now) or bool(db.execute(sql, (site,)).fetchone()[0])


def find_unscheduled(db: sqlite3.Connection, names: Iterable[str], now: float) -> dict[str, bool]:
    """Return the sites of which nothing is ever due -> whether they were read before."""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM site WHERE id = :site AND ended IS NOT NULL)"
        " AND EXISTS (SELECT 1 FROM document WHERE site = :site AND read_run > 0)"
    )
    sites = {name: find_site(db, name) for name in names}
    return {
        name: bool(db.execute(sql, {"site": site}).fetchone()[0])
        for name, site in sites.items()
        if not is_scheduled(db, site, now)
    }


def find_stamped(db: sqlite3.Connection, names: Iterable[str]) -> frozenset[str]:
    """Return the final URLs of documents whose lastmods say nothing of their pages."""
    sql = "SELECT final_url, lastmods FROM document JOIN site ON site.id = site WHERE name = ?"
    rows = (row for name in names for row in db.execute(sql, (name,)))
    return frozenset(url for url, kind in rows if kind in STAMPED)


# -- one walk


@attrs.frozen
class Round:
    """What one walk asks of a site that the state knows, by keys of URLs."""

    chosen: frozenset[str]
    idle: frozenset[str]
    """Lists that are as they were, if their index is not asked either: nothing is to be done."""


def choose(db: sqlite3.Connection, site: int, revisit: int | Collection[str], now: float) -> Round:
    """Return what a walk over a site asks: these documents, or so many as are due."""
    of_site = (
        "SELECT url, not_before FROM document"
        " CROSS JOIN schedule ON schedule.document = document.id WHERE document.site = :site"
    )
    values = {"site": site}
    if isinstance(revisit, int):
        revisit = {each.url for each in plan(db, revisit, now, site=site)}
    chosen = {*revisit}
    # What is missing may be in a child that goes from index to index while they are asked in turn.
    indexes = db.execute(
        f"{of_site} AND {IS_INDEX}",
        values,
    ).fetchall()
    if has_pending(db, site) and any(url in chosen for url, _ in indexes):
        chosen |= {url for url, not_before in indexes if not _is_held(not_before, now)}
    idle = db.execute(
        f"{of_site} AND status IN ('complete', 'unchanged') AND children = 0"
        " AND filters IS NULL AND final_url = url",
        values,
    )
    return Round(frozenset(chosen), frozenset(url for url, _ in idle) - chosen)
