"""When to ask each document again: where most news has waited longest.

News of a document are URLs that are new to the site, or that it no longer lists. `waiting = weight
* rate * t * t / 2`, in URL-hours, `t` hours after it was asked; the documents with the most waiting
are asked first. There are no due dates and no intervals. Children that a trusted index announces
come before all others; an eighth of the requests goes to what was asked longest ago.

For delay, the best rates go with the root of rate times weight (Sia, Cho and Cho 2007), and what
has waited most is what to ask next (Olston and Pandey 2008; Azar et al. 2018).
"""

# A clock may be wrong. What was asked in the future was asked a day ago, and no moment that
# something must wait for is more than 32 days away.

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

if TYPE_CHECKING:
    import sqlite3

R = TypeVar("R", bound="ScheduleRow | PaceRow")

HOUR = 3600.0
DAY = 24 * HOUR
_PRIOR_NEWS, _PRIOR_HOURS = 0.1, 24.0
_INHERITED_HOURS = 12.0
"""A new child begins with the rate of its site, as if it had been watched for so long."""
_HALF_LIFE_HOURS = MOST_HOURS = 60 * 24.0
"""What was seen that long ago counts half; nothing has waited longer."""
_QUIET_SECONDS, _QUIET_MARGIN = 7 * DAY, 5.0
_MOST_NEWS = 100
"""News of one answer that count: an import is one event."""
TRUSTED = 0.5
"""The least `trust` with which an index is believed."""
_LEAST_CHILDREN = 3
"""An index with fewer says nothing by announcing all of them."""
_FIRST_PAUSE, _LONGEST_PAUSE, LONGEST_RETRY_AFTER = HOUR / 2, DAY, 32 * DAY
LEAST_SECONDS = 600
"""Nothing is asked sooner than that after the last time."""
_SETTLING_SECONDS = 23 * HOUR
"""A loss that is still in doubt when all was asked is looked at again after that time."""
_MOST = 1e15


@attrs.define
class ScheduleRow:
    """A row of the table `schedule`: what was seen of a document."""

    site: int
    asked_at: float
    found_at: float
    news: float = 0.0
    hours: float = 0.0
    rate: float = 0.0
    failures: int = 0
    not_before: int = 0
    announced: int = 0
    is_first: int = 0
    said: float = 0.0
    """Which share of its children an index announces when it is read."""
    right: float = 0.0
    wrong: float = 0.0

    @property
    def trust(self) -> float:
        """How far an index is believed: it was right, and not about all at once."""
        return (1 - self.said) * (1 + self.right) / (2 + self.right + self.wrong)

    @property
    def is_quiet(self) -> bool:
        """Whether it had no news for a week, like the children of past months."""
        return self.asked_at - self.found_at > _QUIET_SECONDS

    def is_ready(self, now: float) -> bool:
        """Return whether the document may be asked for again."""
        is_early = 0 <= now - self.asked_at < LEAST_SECONDS
        return not is_early and not is_held(self.not_before, now)

    def judge(self, *, is_right: bool) -> None:
        """Record whether the index was right about a child."""
        self.right = self.right * 0.999 + is_right
        self.wrong = self.wrong * 0.999 + (not is_right)

    def credit(self, news: float) -> None:
        """Add the news of a child that the index has announced, or is the first to name."""
        self.news += news
        if news:
            self.found_at = self.asked_at


@attrs.define
class PaceRow:
    """A row of the table `pace`: what was seen of a site; see schedule.sql."""

    asked_at: float
    quiet_at: float
    news: float = 0.0
    hours: float = 0.0
    quiet_news: float = 0.0
    quiet_hours: float = 0.0
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
    is_changed: bool = False
    """Whether its bytes differ from those of the last time."""
    is_announced: bool = False
    """Whether its index says that it has changed since its last reading."""
    is_dated: bool = False
    """Whether its index says that it has not."""
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
    announced: dict[str, str] = attrs.field(factory=dict)
    """Children that were announced, and not asked -> the index that did it."""
    said: dict[str, list[int]] = attrs.field(factory=dict)
    """Indexes that were read -> how many children they announced, of how many."""
    missed: dict[int, int] = attrs.field(factory=dict)
    """Numbers of documents -> how many URLs they no longer list."""


def hours_between(asked_at: float, now: float) -> float:
    """Return the hours for which news may have waited."""
    return 24.0 if asked_at > now else min((now - asked_at) / HOUR, MOST_HOURS)


def _rate(news: float, hours: float) -> float:
    return (_PRIOR_NEWS + news) / (_PRIOR_HOURS + hours)


def _keep(since: float, now: float) -> float:
    return float(0.5 ** (hours_between(since, now) / _HALF_LIFE_HOURS))


def is_held(not_before: float, now: float) -> bool:
    """Return whether something must wait; a moment too far ahead does not count."""
    return now < not_before <= now + LONGEST_RETRY_AFTER


# -- rows


def _make_statements(kind: type[ScheduleRow | PaceRow]) -> tuple[str, str, Any]:
    table, key = ("pace", "site") if kind is PaceRow else ("schedule", "document")
    names = [field.name for field in attrs.fields(kind)]
    marks = ", ".join("?" * (len(names) + 1))
    return (
        f"SELECT {', '.join(names)} FROM {table} WHERE {key} = ?",
        f"INSERT OR REPLACE INTO {table} ({key}, {', '.join(names)}) VALUES ({marks})",
        attrgetter(*names),
    )


_STATEMENTS: dict[type, tuple[str, str, Any]] = {
    kind: _make_statements(kind) for kind in (ScheduleRow, PaceRow)
}
"""How a row is read, and how it is written; what returns its values."""


def load(db: sqlite3.Connection, kind: type[R], number: int) -> R | None:
    """Return the row of a document or a site; `None` if none can be meant."""
    values = db.execute(_STATEMENTS[kind][0], (number,)).fetchone()
    # Not NaN either, which is less than nothing.
    if values is None or not all(isinstance(v, int | float) and 0 <= v < _MOST for v in values):
        return None
    return kind(*values)


def _save(db: sqlite3.Connection, row: ScheduleRow | PaceRow, number: int) -> None:
    for name in ("asked_at", "found_at", "quiet_at", "missed_at"):
        if hasattr(row, name):
            setattr(row, name, int(getattr(row, name)))
    _, sql, get_values = _STATEMENTS[type(row)]
    db.execute(sql, (number, *get_values(row)))


# -- learning


class _Lesson:
    """What one walk teaches about the documents of a site."""

    def __init__(
        self, db: sqlite3.Connection, site: int, seen: Observations, now: float, *, is_first: bool
    ) -> None:
        self.rows: dict[int, ScheduleRow] = {}
        self.pace = load(db, PaceRow, site) or PaceRow(now, now)
        self._db, self._site, self._seen, self._now = db, site, seen, now
        self._is_first = is_first
        self._numbers: dict[str, int] = {}
        self._born = 0

    def number_of(self, url: str) -> int:
        if url not in self._numbers:
            sql = "SELECT id FROM document WHERE site = ? AND url = ?"
            found = self._db.execute(sql, (self._site, url)).fetchone()
            self._numbers[url] = found[0] if found else 0
        return self._numbers[url]

    def find(self, number: int) -> ScheduleRow | None:
        if number not in self.rows and number:
            row = load(self._db, ScheduleRow, number)
            if row is not None:
                self.rows[number] = row
        return self.rows.get(number)

    def learn(self, url: str, asking: Asking) -> None:
        number = self.number_of(url)
        if not number:  # a page that was guessed
            return
        row, now = self.find(number), asking.asked_at
        index = self.find(self.number_of(asking.index)) if asking.index else None
        is_new = row is None
        if row is None:
            row = self.rows[number] = self._make(now)
        if asking.is_failed:
            row.failures, row.not_before = pause(row.failures, now, asking.retry_after)
            row.rate = 0.0 if asking.has_no_turn else row.rate or self._bound(row)
            return
        row.failures = row.not_before = 0
        news = float(min(_MOST_NEWS, asking.news + self._seen.missed.get(number, 0)))
        if is_new and (self._is_first or index is None):
            news = 0.0  # it was there before anybody looked
        self._add(row, index if is_new or asking.is_announced else None, asking, news)
        said = self._seen.askings.get(asking.index)
        if index and said and not said.is_failed and asking.is_dated and asking.is_changed:
            index.judge(is_right=False)
        row.announced = row.is_first = 0
        row.rate = 0.0 if asking.has_no_turn else self._bound(row)

    def _make(self, now: float) -> ScheduleRow:
        if self._is_first:
            return ScheduleRow(self._site, now, now)
        # Of a thousand that come together none is likely to have all the news of its site.
        self._born = self._born or self._count_new()
        news = _INHERITED_HOURS * _rate(self.pace.news, self.pace.hours) / self._born
        return ScheduleRow(self._site, now - HOUR, now - HOUR, news, _INHERITED_HOURS)

    def _count_new(self) -> int:
        named = (self.number_of(url) for url in (*self._seen.askings, *self._seen.unread))
        return sum(bool(number) and self.find(number) is None for number in named) or 1

    def _add(
        self, row: ScheduleRow, index: ScheduleRow | None, asking: Asking, news: float
    ) -> None:
        """Add an answer to the document, its site, and the index that announced it."""
        now, pace = asking.asked_at, self.pace
        hours = hours_between(row.asked_at, now)
        if row.is_quiet and index is None:
            keep = _keep(pace.quiet_at, now)
            pace.quiet_news, pace.quiet_hours = (
                pace.quiet_news * keep + news,
                pace.quiet_hours * keep + hours,
            )
            pace.quiet_at = now
        own = news
        if index is not None and not self._is_first:
            # The index is credited with what the child's own rate did not lead to expect.
            surprise = max(0.0, news - _rate(row.news, row.hours) * hours) * (1 - index.said)
            index.credit(surprise)
            # A child that is new has changed in any case, and says nothing of the others' dates.
            if asking.is_announced:
                index.judge(is_right=bool(news) or asking.is_changed)
            index.rate = self._bound(index)
            own -= surprise
        keep = _keep(row.asked_at, now)
        row.news, row.hours = row.news * keep + own, row.hours * keep + hours
        row.asked_at, row.found_at = now, now if news else row.found_at
        keep = _keep(pace.asked_at, now)
        passed = 0.0 if pace.asked_at > now else (now - pace.asked_at) / HOUR
        pace.news, pace.hours = pace.news * keep + news, pace.hours * keep + passed
        pace.asked_at = now

    def _bound(self, row: ScheduleRow) -> float:
        """Return the rate; a quiet one is bounded by what all quiet ones of the site had."""
        rate, pace = _rate(row.news, row.hours), self.pace
        most = _QUIET_MARGIN * _rate(pace.quiet_news, pace.quiet_hours)
        return min(rate, most) if row.is_quiet else rate

    def meet(self) -> None:
        """Let what is absent rest, and what was never read have its turn."""
        for url in self._seen.absent:
            if (row := self.find(self.number_of(url))) is not None:
                row.failures, row.not_before = pause(row.failures, self._now)
        for url in self._seen.unread:
            number = self.number_of(url)
            if number and self.find(number) is None:
                row = self.rows[number] = self._make(self._now)
                row.rate = self._bound(row)

    def announce(self) -> None:
        """Record what the indexes announced, and which share of their children that was."""
        for url, (announced, children) in self._seen.said.items():
            index = self.find(self.number_of(url))
            asked = self._seen.askings.get(url)
            is_read = asked is not None and asked.is_changed and not self._is_first
            if index is not None and is_read and children >= _LEAST_CHILDREN:
                index.said += 0.1 * (announced / children - index.said)
        for url, by in self._seen.announced.items():
            row, index = self.find(self.number_of(url)), self.find(self.number_of(by))
            if row is not None and index is not None and not row.announced:
                row.announced, row.is_first = self.number_of(by), int(index.trust >= TRUSTED)


def pause(failures: int, now: float, retry_after: float = 0.0) -> tuple[int, int]:
    """Return the failures in a row with the present one, and when to ask again."""
    seconds = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(failures, 9))
    if 0 < retry_after < math.inf:
        seconds = max(seconds, min(retry_after, LONGEST_RETRY_AFTER))
    return failures + 1, int(now + seconds)


def learn(
    db: sqlite3.Connection,
    site: int,
    seen: Observations,
    now: float,
    *,
    is_first: bool = False,
    missed_at: float = 0.0,
) -> None:
    """Learn from a walk over a site, in a transaction.

    `is_first` says that nothing was known of the site; `missed_at` is when a URL was missed last
    whose removal is not decided, or 0.
    """
    lesson = _Lesson(db, site, seen, now, is_first=is_first)
    for url, asking in seen.askings.items():
        lesson.learn(url, asking)
    lesson.meet()
    lesson.announce()
    for number, row in lesson.rows.items():
        _save(db, row, number)
    pace = lesson.pace
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
        pace.failures, pace.not_before = pause(pace.failures, now, longest)
    elif answers:
        pace.failures = pace.not_before = 0
    _save(db, pace, site)
