"""Which documents are due: those in which most news has waited longest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from sitemapreader.dates import STAMPED
from sitemapreader.state.removals import IS_INDEX
from sitemapreader.state.rows import as_moment
from sitemapreader.state.schedule import (
    LEAST_SECONDS,
    LONGEST_RETRY_AFTER,
    MOST_HOURS,
    PaceRow,
    ScheduleRow,
    is_held,
    load,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable
    from datetime import datetime

_OLD_SECONDS = 30 * 86_400


@attrs.frozen
class PlannedDocument:
    """A document that is due.

    Attributes:
        url: its URL.
        site: name of its site.
        waiting: how much news is expected to have waited how long: URLs times hours, weighed by
            site.
        rate: how many URLs an hour it is expected to publish or to drop.
        asked_at: when it last answered.
        is_announced: whether an index says that it has changed since.
        trust: of an index: how far the dates that it gives its sitemaps are believed, from 0 to 1;
            from 0.5 on, what it announces comes first. `None` until they were put to the test, and
            for what is no index.
        lastmods: what its own dates look like: see `DocumentState`.
    """

    url: str
    site: str
    waiting: float
    rate: float
    asked_at: datetime = attrs.field(converter=as_moment)
    is_announced: bool = attrs.field(converter=bool)
    lastmods: str
    trust: float | None = None


_HOURS = (
    f"iif(schedule.asked_at > :now, 24.0, min({MOST_HOURS}, (:now - schedule.asked_at) / 3600.0))"
)
_WAITING = f"iif(is_first, 1e9, weight * rate * {_HOURS} / 2) * {_HOURS}"
_MAY_BE_ASKED = (
    f"rate > 0 AND NOT (schedule.asked_at BETWEEN :now - {LEAST_SECONDS - 1} AND :now)"
    " AND NOT (schedule.not_before > :now AND schedule.not_before <= :far)"
    " AND NOT (pace.not_before > :now AND pace.not_before <= :far)"
)
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
    among: Collection[int] | None = None,
) -> dict[int, float]:
    """Return the documents to ask now, the most waiting first, and how much that is.

    Args:
        db: the state.
        number: how many documents.
        now: seconds since 1970.
        site: the only site that counts.
        among: the sites that count.
    """
    return _choose(db, number, now, site=site, among=among)[0]


def _choose(
    db: sqlite3.Connection,
    number: int,
    now: float,
    *,
    site: int | None = None,
    among: Collection[int] | None = None,
) -> tuple[dict[int, float], float]:
    """Return what `plan` does, and how much waits in the last one of those."""
    values = {"now": int(now), "far": int(now + LONGEST_RETRY_AFTER), "site": site}
    source = _ROWS if site is None else _OF_SITE
    # One more than an eighth now and then: right on average, for one document at a time too.
    old = number // 8 + (number % 8 > now // LEAST_SECONDS % 8)
    chosen: dict[int, float] = {}
    least = 0.0
    for order, where, room in (
        (
            "schedule.asked_at",
            f" AND (schedule.asked_at < missed_at OR schedule.asked_at < :now - {_OLD_SECONDS})",
            old,
        ),
        (f"{_WAITING} DESC", "", number),
    ):
        rows = db.execute(
            f"SELECT document, schedule.site, {_WAITING} FROM {source}"
            f" WHERE {_MAY_BE_ASKED}{where} ORDER BY {order}"
            + (f" LIMIT {int(number)}" if among is None else ""),
            values,
        )
        for document, of, waiting in rows:
            if len(chosen) >= room:
                break
            if among is None or of in among:
                chosen.setdefault(document, waiting)
                least = waiting
        rows.close()
    return dict(sorted(chosen.items(), key=lambda pair: -pair[1])), least


def plan_documents(
    db: sqlite3.Connection, number: int, now: float, site: int | None = None
) -> list[PlannedDocument]:
    """Return what `plan` chooses, with what is known of it."""
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schedule'").fetchone() is None:
        return []  # an earlier version wrote the file
    sql = (
        "SELECT url, name, ?, rate, asked_at, announced, lastmods FROM schedule"
        " JOIN document ON document.id = schedule.document JOIN site ON site.id = document.site"
        " WHERE schedule.document = ?"
    )
    chosen = plan(db, number, now, site=site)
    return [
        PlannedDocument(*(*row, _find_trust(db, document)))
        for document, waiting in chosen.items()
        for row in db.execute(sql, (waiting, document))
    ]


def _find_trust(db: sqlite3.Connection, document: int) -> float | None:
    row = load(db, ScheduleRow, document)
    return row.trust if row and row.right + row.wrong else None


def plan_sites(
    db: sqlite3.Connection, number: int, now: float, names: Collection[str] | None = None
) -> tuple[dict[str, frozenset[str]], float]:
    """Return name of a site -> the URLs that are to be asked of it, so many in all.

    And how much waits in the last of them; 0 if there is room for more. `names` are those of the
    sites that count, if not all do.
    """
    among = None
    if names is not None:
        find = "SELECT id FROM site WHERE name = ?"
        among = {row[0] for name in names for row in db.execute(find, (name,))}
    sql = (
        "SELECT name, url FROM document JOIN site ON site.id = document.site WHERE document.id = ?"
    )
    found: dict[str, set[str]] = {}
    chosen, least = _choose(db, number, now, among=among)
    for document in chosen:
        name, url = db.execute(sql, (document,)).fetchone()
        found.setdefault(name, set()).add(url)
    urls_of = {name: frozenset(urls) for name, urls in found.items()}
    return urls_of, 0.0 if len(chosen) < number else least


def find_next(db: sqlite3.Connection, name: str, least: float, now: float) -> tuple[float, float]:
    """Return when `least` waits in a document of a site, and how much waits in it now.

    A site that has none to ask is due when it has rested.
    """
    site = find_site(db, name)
    pace = load(db, PaceRow, site)
    rest = pace.not_before if pace and is_held(pace.not_before, now) else now
    turns = [(rest, 0.0)]
    for asked_at, not_before, growth, waiting in db.execute(
        f"SELECT schedule.asked_at, schedule.not_before, weight * rate, {_WAITING} FROM {_OF_SITE}"
        " WHERE weight * rate > 0",
        {"now": int(now), "site": site},
    ):
        seconds = min(_OLD_SECONDS, 3600 * math.sqrt(2 * least / growth))
        held = not_before if is_held(not_before, now) else 0
        turns.append((max(rest, held, min(asked_at, now) + max(LEAST_SECONDS, seconds)), waiting))
    return min(turns[1:] or turns)


def find_unscheduled(db: sqlite3.Connection, names: Iterable[str], now: float) -> dict[str, bool]:
    """Return the sites of which nothing is ever due -> whether they were read before."""
    sites = {name: find_site(db, name) for name in names}
    return {
        name: is_read(db, site) for name, site in sites.items() if not is_scheduled(db, site, now)
    }


def find_site(db: sqlite3.Connection, name: str) -> int:
    """Return the number of a site, or 0."""
    row = db.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
    return row[0] if row else 0


def is_scheduled(db: sqlite3.Connection, site: int, now: float) -> bool:
    """Return whether a site is known well enough to ask only what is due."""
    pace = load(db, PaceRow, site)
    if pace is None:
        return False
    sql = (
        "SELECT EXISTS (SELECT 1 FROM document CROSS JOIN schedule"
        " ON schedule.document = document.id WHERE document.site = ? AND rate > 0)"
    )
    return is_held(pace.not_before, now) or bool(db.execute(sql, (site,)).fetchone()[0])


def find_doubted(db: sqlite3.Connection, site: int) -> frozenset[str]:
    """Return the indexes that were wrong about more children than right."""
    # Not by `trust`: to announce all children each time makes nothing of what is not announced.
    sql = (
        "SELECT url FROM document CROSS JOIN schedule ON schedule.document = document.id"
        " WHERE document.site = ? AND wrong > right"
    )
    return frozenset(url for (url,) in db.execute(sql, (site,)))


def find_stamped(db: sqlite3.Connection, names: Iterable[str]) -> frozenset[str]:
    """Return the final URLs of documents whose lastmods say nothing of their pages."""
    sql = "SELECT final_url, lastmods FROM document JOIN site ON site.id = site WHERE name = ?"
    rows = (row for name in names for row in db.execute(sql, (name,)))
    return frozenset(url for url, kind in rows if kind in STAMPED)


def is_read(db: sqlite3.Connection, site: int) -> bool:
    """Return whether a walk over a site has ended that read something."""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM run WHERE site = :site AND ended IS NOT NULL)"
        " AND EXISTS (SELECT 1 FROM document WHERE site = :site AND read_run > 0)"
    )
    return bool(db.execute(sql, {"site": site}).fetchone()[0])


# -- one walk


@attrs.define
class Round:
    """What one walk asks of a site that the state knows."""

    chosen: frozenset[str]
    """The documents, by their URLs as `url_key` writes them."""
    spare: int
    """How many others it may ask for besides."""
    idle: frozenset[str]
    """Lists that are as they were, if their index is not asked either: nothing is to be done."""

    def take(self) -> bool:
        """Count another document; return whether there is room for it."""
        self.spare -= 1
        return self.spare >= 0


def choose(db: sqlite3.Connection, site: int, revisit: int | Collection[str], now: float) -> Round:
    """Return what a walk over a site asks: these documents, or so many as are due."""
    if isinstance(revisit, int):
        chosen = {row.url for row in plan_documents(db, revisit, now, site)}
        spare = revisit - len(chosen)
    else:
        chosen, spare = {*revisit}, 0
    # What is missing may be in a child that goes from index to index while they are asked in turn.
    indexes = db.execute(
        "SELECT url, not_before FROM document JOIN schedule ON schedule.document = document.id"
        f" WHERE document.site = :site AND {IS_INDEX} AND (EXISTS"
        " (SELECT 1 FROM document WHERE site = :site AND dropped_run IS NOT NULL)"
        "  OR EXISTS (SELECT 1 FROM gone WHERE site = :site AND NOT has_left))",
        {"site": site},
    ).fetchall()
    if any(url in chosen for url, _ in indexes):
        chosen |= {url for url, not_before in indexes if not is_held(not_before, now)}
    idle = db.execute(
        "SELECT url FROM document CROSS JOIN schedule ON schedule.document = document.id"
        " WHERE document.site = ? AND status IN ('complete', 'unchanged') AND children = 0"
        " AND filters IS NULL AND final_url = url",
        (site,),
    )
    return Round(frozenset(chosen), spare, frozenset(url for (url,) in idle) - chosen)
