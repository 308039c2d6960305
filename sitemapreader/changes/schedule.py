"""The schedule of requests: first the document where most news has waited longest.

News of a sitemap are URLs that are new to the site, or that it no longer lists; of an index, new
sitemaps. A document has one rate, its news by the hours of observation, and `waiting = weight *
rate * t * t / 2`, in URL-hours, `t` hours after it was asked. The documents with the most waiting
are asked first: there are no due dates and no intervals. A quarter of the requests is kept for the
documents that a missing URL waits for; half of them, if one was not requested for `verify_after`.
The document that was requested longest ago comes first.

For delay, the best rates go with the root of rate times weight (Sia, Cho and Cho 2007), and what
has waited most is what to ask next (Olston and Pandey 2008; Azar et al. 2018).
"""

# A clock may be wrong. What was asked in the future was asked a day ago, and no moment that
# something must wait for is more than 32 days away.

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.dates import DAY, HOUR
from sitemapreader.changes.database import read_script, read_value, read_values
from sitemapreader.changes.law import IS_INDEX, find_losses
from sitemapreader.changes.rows import (
    DocumentRow,
    WalkRun,
    as_moment,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from sitemapreader.changes.database import Connection

_PRIOR_NEWS = 0.1
_PRIOR_HOURS = 24.0
_SILENT_HOURS = 24.0
_LEAST_REST = HOUR / 2
_LONGEST_REST = DAY
_LONGEST_RETRY_AFTER = 32 * DAY
LEAST_SECONDS = 600
"""Least time between two requests of a document."""
_VERIFY_AFTER = 7 * DAY
_GOLDEN_SECTION = (math.sqrt(5) - 1) / 2
_HAS_SCHEDULED = "EXISTS (SELECT 1 FROM document WHERE site = site.id AND rate > 0)"
"""SQL condition: something of a site is due at some time."""
_FAR = f"(:now + {_LONGEST_RETRY_AFTER})"
"""SQL: a longer wait was written under another clock."""
_IS_RESTING = f"ended + rest > :now AND ended + rest <= {_FAR}"


@attrs.frozen
class DocumentRequest:
    """One request for a document, and its outcome."""

    asked_at: float | None = None
    """`None` for a sitemap that was never read, nor in this walk."""
    index: str = ""
    """Index that lists it, if any."""
    is_unscheduled: bool = False
    """True if only others lead to it: a later page of a feed, or a guess that was never read."""
    is_failed: bool = False
    news: int = 0
    retry_after: float = 0.0


# -- learning


def learn(
    db: Connection,
    run: WalkRun,
    requests: Mapping[str, DocumentRequest],
    new_losses: Mapping[int, int],
    now: float,
) -> None:
    """Learn from a walk over a site, in a transaction.

    `requests` are by URLs, as `url_key` writes them; `new_losses` says of numbers of documents
    how many URLs these no longer list.
    """
    sql = "SELECT count(asked_at) = 0 FROM document WHERE site = ?"
    is_first = read_value(db, sql, [run.site])
    found = _load_observations(db, run.site, requests)
    # One that was asked for and has no row was a wrong guess.
    observed = {
        url: found.get(url) or _Observations()
        for url, request in requests.items()
        if url in found or request.asked_at is None
    }
    new = {url for url, each in observed.items() if each.asked_at is None}
    born = Counter(requests[url].index for url in new)
    for url, each in observed.items():
        request = requests[url]
        asked_at = request.asked_at
        if each.asked_at is None:
            each.asked_at = asked_at or now
            if not is_first:
                each.asked_at -= HOUR
        if request.is_failed:
            each.not_before = now + _find_rest(each.asked_at, now, request.retry_after)
        elif asked_at is not None:
            was_there = is_first or (url in new and not request.index)
            news = request.news + new_losses.get(each.id, 0) + born[url]
            each.add(0 if was_there else news, asked_at)
        if request.is_unscheduled:
            each.rate = 0.0
        else:
            each.rate = _find_rate(each)
    # It may be as old as the last walk that knew all, as in `load_document`.
    rows = [
        (run.site, url, run.all_known_stamp - 1, *attrs.astuple(each)[1:])
        for url, each in observed.items()
    ]
    db.executemany(_SAVE_OBSERVATIONS, rows)
    answers = [
        request.is_failed
        for url, request in requests.items()
        if url in observed and request.asked_at is not None
    ]
    _rest_site(db, run.site, is_down=bool(answers) and all(answers))


@attrs.define
class _Observations:
    """The observations of a document: the columns of `document` of these names."""

    id: int = 0
    asked_at: float | None = None
    found_at: float | None = None
    news: float = 0.0
    hours: float = 0.0
    rate: float = 0.0
    not_before: float = 0.0

    def add(self, news: float, now: float) -> None:
        """Add a response."""
        self.news += news
        self.hours += _hours_between(self.asked_at, now)
        self.asked_at = now
        self.not_before = 0.0
        if news:
            self.found_at = now


_LEARNED = [field.name for field in attrs.fields(_Observations)][1:]
_SAVE_OBSERVATIONS = (
    f"INSERT INTO document (site, url, confirmed_stamp, {', '.join(_LEARNED)})"
    f" VALUES (?, ?, ?{', ?' * len(_LEARNED)}) ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _LEARNED)
)


def _load_observations(
    db: Connection,
    site: int,
    urls: Iterable[str],
) -> dict[str, _Observations]:
    """Return the observations of the documents of a site that have some of these URLs."""
    sql = (
        f"SELECT url, id, {', '.join(_LEARNED)} FROM document"
        " WHERE site = ? AND url IN (SELECT value FROM json_each(?))"
    )
    rows = db.execute(sql, (site, json.dumps([*urls])))
    return {url: _Observations(*columns) for url, *columns in rows}


def _find_rate(observed: _Observations) -> float:
    """Return the news that are expected in an hour."""
    # Less than one in the time without any: so sitemaps of past months retire, however busy they
    # were. But the silence of a day says nothing: a shop is filled at night.
    silent = _hours_between(observed.found_at, observed.asked_at or 0.0)
    rate = (_PRIOR_NEWS + observed.news) / (_PRIOR_HOURS + observed.hours)
    if silent > _SILENT_HOURS:
        return min(rate, 1 / silent)
    return rate


def _hours_between(since: float | None, now: float) -> float:
    since = now if since is None else since
    if since > now:
        return 24.0
    return (now - since) / HOUR


def _find_rest(
    since: float,
    now: float,
    retry_after: float,
) -> float:
    """Return how long to rest after a failure: as long as there was no response."""
    rest = min(max(_LEAST_REST, HOUR * _hours_between(since, now)), _LONGEST_REST)
    if 0 < retry_after < math.inf:
        return max(rest, min(retry_after, _LONGEST_RETRY_AFTER))
    return rest


def _rest_site(
    db: Connection,
    site: int,
    *,
    is_down: bool,
) -> None:
    """Let a site rest in which nothing is scheduled, for a day at most."""
    least = _LEAST_REST if is_down else _LONGEST_REST
    rest = f"iif({_HAS_SCHEDULED}, 0, min(max(?, 2 * rest), ?))"
    db.execute(
        f"UPDATE site SET rest = {rest} WHERE id = ?", (least, _LONGEST_REST, site)
    )


# -- planning


@attrs.frozen
class PlannedDocument:
    """A document that is requested next.

    Attributes:
        url: its URL.
        site: name of its site.
        due: from when it may be requested: nothing is requested twice in ten minutes, and what
            failed rests.
        news_waiting: how much news is expected to have waited how long: URLs times hours, weighed
            by site.
        rate: how many URLs an hour it is expected to publish or to drop.
        asked_at: when it last responded.
    """

    url: str
    site: str
    due: datetime = attrs.field(converter=as_moment)
    news_waiting: float
    rate: float
    asked_at: datetime = attrs.field(converter=as_moment)


def _find_planned(
    db: Connection,
    now: float,
    names: Iterable[str] | None = None,
    where: str = "TRUE",
    **values: object,
) -> list[PlannedDocument]:
    """Return the documents of some sites, or of all, that a condition chooses."""
    if names is None:
        names = read_values(db, "SELECT name FROM site")
    rows = db.execute(
        f"{read_script('planned.sql')}"
        f" SELECT url, name, due, waiting, rate, asked_at FROM planned WHERE {where}",
        {"now": now, "names": json.dumps([*names])} | values,
    )
    return [
        # damaged rates
        PlannedDocument(url, site, due, math.sqrt(abs(waiting or 0)) / 2, *rest)
        for url, site, due, waiting, *rest in rows
    ]


def plan(
    db: Connection,
    number: int,
    now: float,
    names: Collection[str] | None = None,
    verify_after: float = _VERIFY_AFTER,
) -> list[PlannedDocument]:
    """Return the documents to request now, of some sites or of all, most waiting first."""
    # One more than a quarter now and then: right on average, for one document at a time too, and
    # whatever the time between two runs.
    more = now // LEAST_SECONDS * _GOLDEN_SECTION % 1
    where = "due <= :now AND is_awaited ORDER BY asked_at LIMIT :limit"
    awaited = _find_planned(db, now, names, where, limit=int(number / 2 + more))
    late = as_moment(max(0.0, now - verify_after))
    quarter = int(number / 4 + more)
    first = [
        each for n, each in enumerate(awaited) if n < quarter or each.asked_at < late
    ]
    where = "due <= :now ORDER BY waiting DESC LIMIT :limit"
    waiting = _find_planned(db, now, names, where, limit=number)
    chosen = {(each.site, each.url): each for each in [*first, *waiting]}
    kept = [*chosen.values()][:number]
    return sorted(kept, key=lambda each: -each.news_waiting)


def plan_documents(
    db: Connection,
    number: int,
    now: float,
    verify_after: float = _VERIFY_AFTER,
) -> list[PlannedDocument]:
    """Return the documents that `plan` chooses, then the resting ones."""
    chosen = plan(db, number, now, verify_after=verify_after)
    where = "due > :now ORDER BY due, waiting DESC LIMIT :limit"
    return chosen + _find_planned(db, now, None, where, limit=number - len(chosen))


def plan_sites(
    db: Connection,
    number: int,
    now: float,
    names: Collection[str] | None = None,
    verify_after: float = _VERIFY_AFTER,
) -> dict[str, frozenset[str]]:
    """Return the URLs to request from each site, at most `number` in all, by site.

    `names` are those of the sites that count, if not all do.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for each in plan(db, number, now, names, verify_after):
        found[each.site].add(each.url)
    return {site: frozenset(urls) for site, urls in found.items()}


def find_next_due(
    db: Connection,
    name: str,
    now: float,
) -> dict[str, Any]:
    """Return when a site is due next, as fields of `SiteOutcome`."""
    if planned := _find_planned(db, now, [name]):
        return {
            "due": min(each.due for each in planned),
            "news_waiting": max(each.news_waiting for each in planned),
        }
    sql = f"SELECT ended + rest FROM site WHERE name = :name AND {_IS_RESTING}"
    due = read_value(db, sql, {"name": name, "now": now}) or now
    return {"due": as_moment(due), "news_waiting": 0.0}


def find_due(
    db: Connection,
    plan: Mapping[str, frozenset[str]],
    name: str,
    now: float,
) -> frozenset[str] | None:
    """Return the documents of a site that a plan requests; `None` for all of them."""
    is_unknown = name not in plan and find_unscheduled(db, [name], now)
    if is_unknown:
        return None
    return plan.get(name, frozenset())


def find_unscheduled(
    db: Connection,
    names: Iterable[str],
    now: float,
) -> dict[str, bool]:
    """Return the sites without a due date, each with whether it was read before."""
    unscheduled = (
        "SELECT value, ended IS NOT NULL"
        " AND EXISTS (SELECT 1 FROM document WHERE site = site.id AND digest IS NOT NULL)"
        " FROM json_each(:names) LEFT JOIN site ON name = value"
        f" WHERE NOT {_HAS_SCHEDULED} AND NOT ifnull({_IS_RESTING}, FALSE)"
    )
    values = {"names": json.dumps([*names]), "now": now}
    return {name: bool(was_read) for name, was_read in db.execute(unscheduled, values)}


# -- one walk


def is_ready(row: DocumentRow, now: float) -> bool:
    """Return whether a document may be requested again."""
    is_early = row.asked_at is not None and 0 <= now - row.asked_at < LEAST_SECONDS
    return not is_early and not now < row.not_before <= now + _LONGEST_RETRY_AFTER


def choose(
    db: Connection,
    run: WalkRun,
    revisit: int | Collection[str],
    now: float,
    verify_after: float = _VERIFY_AFTER,
) -> WalkRun:
    """Choose the documents that a walk over a site requests: these, or all that are due.

    If nothing is known of the site, it asks for everything.
    """
    if run.name in find_unscheduled(db, [run.name], now):
        return run
    if isinstance(revisit, int):
        planned = plan(db, revisit, now, [run.name], verify_after)
        revisit = [each.url for each in planned]
    chosen = {*revisit}
    of_site = "SELECT url FROM document WHERE site = :site AND asked_at IS NOT NULL"
    values = {"site": run.site, "now": now}
    # What is missing may be in a child that goes from index to index while they are requested one
    # by one.
    is_ready = f"{of_site} AND {IS_INDEX} AND NOT not_before BETWEEN :now AND {_FAR}"
    indexes = {*read_values(db, is_ready, values)}
    if not indexes.isdisjoint(chosen) and find_losses(db, run.site):
        chosen |= indexes
    # What a resumed walk has read before is not among those that are not due.
    idle: set[str] = set()
    if not run.is_resumed:
        is_idle = (
            f"{of_site} AND status IN ('complete', 'unchanged') AND children = 0"
            " AND filters IS NULL AND final_url = url"
        )
        idle.update(read_values(db, is_idle, values))
    return attrs.evolve(run, chosen=frozenset(chosen), idle=frozenset(idle - chosen))
