"""When to come back: what is learned of each document, and which are asked first."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from sitemapreader import State
from sitemapreader.state import planning, schedule
from sitemapreader.state.database import StateFile
from sitemapreader.state.rows import DocumentRow, insert_document
from sitemapreader.state.schedule import DAY, HOUR, Asking, Observations, ScheduleRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = 1_790_000_000.0
SITE = 1


@pytest.fixture
def file(tmp_path: Path) -> Iterator[StateFile]:
    found = StateFile(tmp_path / "site.db")
    for number in (1, 2):
        found.connection.execute("INSERT INTO site VALUES (?, ?)", (number, f"site {number}"))
    yield found
    found.close()


@pytest.fixture
def db(file: StateFile) -> sqlite3.Connection:
    return file.connection


def add(db: sqlite3.Connection, *urls: str, site: int = SITE, at: float = NOW) -> list[int]:
    """Add documents of a site that were read for the first time."""
    numbers = [insert_document(db, DocumentRow(site, url, "complete", read_run=1)) for url in urls]
    seen = Observations({url: Asking(at) for url in urls})
    schedule.learn(db, site, seen, at, is_first=True)
    return numbers


def learn(db: sqlite3.Connection, at: float, *, site: int = SITE, **askings: Asking) -> None:
    schedule.learn(db, site, Observations(dict(askings)), at)


def row(db: sqlite3.Connection, number: int) -> ScheduleRow:
    found = schedule.load(db, ScheduleRow, number)
    assert found is not None
    return found


def chosen(db: sqlite3.Connection, number: int, at: float) -> list[int]:
    return list(planning.plan(db, number, at))


def test_a_rate_is_news_by_hours(db: sqlite3.Connection) -> None:
    """The rate is the number of new URLs by the hours of observation, with a weak prior."""
    (a,) = add(db, "a")
    learn(db, NOW + 10 * HOUR, a=Asking(NOW + 10 * HOUR, news=5))
    assert row(db, a).rate == pytest.approx(5.1 / 34)
    learn(db, NOW + 60 * DAY, a=Asking(NOW + 60 * DAY, news=0))
    assert row(db, a).news == pytest.approx(5 / 2, rel=0.01)


def test_an_import_is_one_event(db: sqlite3.Connection) -> None:
    """Thousands of URLs at once count as a hundred."""
    (a,) = add(db, "a")
    learn(db, NOW + HOUR, a=Asking(NOW + HOUR, news=30_000))
    assert row(db, a).news == pytest.approx(100, rel=0.01)


def test_the_first_reading_is_no_news(db: sqlite3.Connection) -> None:
    """What a site lists when it is first met says nothing of its rate."""
    number = insert_document(db, DocumentRow(SITE, "a", "complete"))
    schedule.learn(db, SITE, Observations({"a": Asking(NOW, news=500)}), NOW, is_first=True)
    assert row(db, number).news == 0


def test_most_waiting_comes_first(db: sqlite3.Connection) -> None:
    """Of two documents the one with more news is asked first, and the other one later."""
    busy, dull = add(db, "busy", "dull")
    at = NOW + HOUR
    learn(db, at, busy=Asking(at, news=10), dull=Asking(at))
    assert chosen(db, 2, at + 60) == []
    assert chosen(db, 2, at + HOUR) == [busy, dull]
    learn(db, at + HOUR, busy=Asking(at + HOUR))
    assert chosen(db, 2, at + HOUR + 60) == [dull]


def test_a_trusted_announcement_comes_before_all(db: sqlite3.Connection) -> None:
    """What an index announces is asked first, unless the index always announces everything."""
    index, _, *others = add(db, "index", "busy", "c1", "c2", "c3")
    at = NOW + HOUR
    learn(db, at, busy=Asking(at, news=90), index=Asking(at, is_changed=True))

    def announce(at: float, *names: str) -> None:
        seen = Observations({"index": Asking(at, is_changed=True)})
        seen.announced = dict.fromkeys(names, "index")
        seen.said = {"index": [len(names), 3]}
        schedule.learn(db, SITE, seen, at)

    announce(at, "c1")
    assert row(db, others[0]).is_first == 0  # half of what is believed of nobody, less this third
    learn(db, at, c1=Asking(at, "index", is_announced=True, is_changed=True, news=1))
    for step in range(1, 8):
        announce(at + step * HOUR)
    announce(at + 8 * HOUR, "c2")
    assert row(db, index).trust > schedule.TRUSTED
    assert chosen(db, 1, at + 8 * HOUR + 601) == [others[1]]
    for step in range(9, 19):
        announce(at + step * HOUR, "c1", "c2", "c3")
    assert row(db, index).trust < schedule.TRUSTED


def test_an_index_that_was_silent_loses_trust(db: sqlite3.Connection) -> None:
    """A child that has changed though its line in the index has not costs the index its trust."""
    index, _ = add(db, "index", "child")
    before = row(db, index).trust
    at = NOW + DAY
    learn(
        db,
        at,
        index=Asking(at),
        child=Asking(at, "index", is_dated=True, is_changed=True, news=1),
    )
    assert row(db, index).trust < before


def test_a_new_child_begins_with_the_rate_of_its_site(db: sqlite3.Connection) -> None:
    """A child of today begins as if it had been watched, and its index is credited."""
    index, _ = add(db, "index", "old")
    at = NOW + DAY
    learn(db, at, old=Asking(at, news=48), index=Asking(at))
    new = insert_document(db, DocumentRow(SITE, "new", "complete"))
    learn(db, at, new=Asking(at, "index", news=60), index=Asking(at, is_changed=True))
    assert row(db, new).rate > 0.3
    assert row(db, index).news > 20


def test_children_that_come_together_share_the_rate_of_their_site(db: sqlite3.Connection) -> None:
    """Hundreds of new children are not each as busy as their site, nor do they prove its dates."""
    index, _ = add(db, "index", "old")
    at = NOW + DAY
    learn(db, at, old=Asking(at, news=48), index=Asking(at))
    names = [f"new{number}" for number in range(100)]
    new = [insert_document(db, DocumentRow(SITE, name, "complete")) for name in names]
    born = {name: Asking(at, "index", is_changed=True, news=1) for name in names}
    seen = Observations(born | {"index": Asking(at, is_changed=True)})
    schedule.learn(db, SITE, seen, at)
    assert sum(row(db, number).rate for number in new) < 1.5
    assert (row(db, index).right, row(db, index).wrong) == (0, 0)


def test_an_index_is_asked_for_what_it_is_credited_with(db: sqlite3.Connection) -> None:
    """A quiet index wakes up as soon as a child that it named has news, not at its next turn."""
    index, _ = add(db, "index", "old")
    at = NOW + 20 * DAY
    learn(db, at, index=Asking(at, is_changed=True), old=Asking(at))
    before = row(db, index).rate
    insert_document(db, DocumentRow(SITE, "new", "complete"))
    learn(db, at + HOUR, new=Asking(at + HOUR, "index", news=60))
    assert row(db, index).rate > 10 * before


def test_quiet_documents_retire_together(db: sqlite3.Connection) -> None:
    """Children of dead months are asked ever more rarely, however busy they once were."""
    dead, _ = add(db, "dead", "quiet")
    learn(db, NOW + HOUR, dead=Asking(NOW + HOUR, news=100))
    busy = row(db, dead).rate
    for day in range(1, 30):
        at = NOW + day * DAY
        learn(db, at, dead=Asking(at), quiet=Asking(at))
    assert row(db, dead).is_quiet
    assert row(db, dead).rate < busy / 200
    assert row(db, dead).rate < (row(db, dead).news + 0.1) / (24 + row(db, dead).hours) / 10


@pytest.mark.parametrize(
    ("retry_after", "least", "most"),
    [
        (0, 0.5, 0.5),
        (-1, 0.5, 0.5),
        (3 * HOUR, 3, 3),
        (365 * DAY, 32 * 24, 32 * 24),
        (float("inf"), 0.5, 0.5),
        (float("nan"), 0.5, 0.5),
    ],
)
def test_a_failure_backs_off(
    db: sqlite3.Connection, retry_after: float, least: float, most: float
) -> None:
    """A failed document rests half an hour, or as long as its server asks; a month at most."""
    a, b = add(db, "a", "b")
    failed = Asking(NOW + HOUR, is_failed=True, retry_after=retry_after)
    learn(db, NOW + HOUR, a=failed, b=Asking(NOW + HOUR))
    assert least <= (row(db, a).not_before - NOW) / HOUR - 1 <= most
    assert chosen(db, 2, NOW + HOUR + 20 * 60) == [b]
    assert a in chosen(db, 2, NOW + HOUR + 33 * DAY)


def test_failures_in_a_row_double_the_pause(db: sqlite3.Connection) -> None:
    """A site that is down for a day is asked seven times; one answer ends the pauses."""
    (a,) = add(db, "a")
    at, asked = NOW + HOUR, 0
    while at < NOW + 25 * HOUR:
        if chosen(db, 1, at):
            asked += 1
            learn(db, at, a=Asking(at, is_failed=True))
        at += 600
    assert asked == 6
    learn(db, at, a=Asking(at))
    assert row(db, a).not_before == row(db, a).failures == 0


def test_a_loss_has_all_documents_asked(db: sqlite3.Connection) -> None:
    """What stands between a missed URL and its removal gets an eighth of the requests."""
    busy, dull = add(db, "busy", "dull")
    at = NOW + 2 * HOUR
    learn(db, at, busy=Asking(at, news=100), dull=Asking(at - HOUR))
    span = at + HOUR
    first = [chosen(db, 1, span + 600 * step)[0] for step in range(8)]
    assert first == [busy] * 8
    seen = Observations({"busy": Asking(at, news=100)})
    schedule.learn(db, SITE, seen, at + 1, missed_at=at + 1)
    spans = [chosen(db, 1, span + 600 * step)[0] for step in range(8)]
    assert sorted(spans) == [busy] * 7 + [dull]
    learn(db, at + HOUR, dull=Asking(at + HOUR))
    schedule.learn(db, SITE, Observations({"busy": Asking(at + HOUR)}), at + HOUR)
    assert chosen(db, 1, span + 4800) == [busy]


@pytest.mark.parametrize("days", [-1, -365, 30, 3650])
def test_any_clock_asks(db: sqlite3.Connection, days: float) -> None:
    """A clock that jumps back or forward asks all the same, and learns."""
    (a,) = add(db, "a")
    at = NOW + days * DAY
    assert chosen(db, 1, at) == [a]
    learn(db, at, a=Asking(at, news=1))
    assert row(db, a).asked_at == at
    assert chosen(db, 1, at + HOUR) == [a]


@pytest.mark.parametrize("value", ["x", float("inf"), float("nan"), -5, 1e300, None])
def test_a_damaged_row_begins_anew(db: sqlite3.Connection, value: object) -> None:
    """Whatever a row says, planning and learning go on."""
    (a,) = add(db, "a")
    for column in ("news", "rate", "asked_at", "not_before"):
        try:
            db.execute(f"UPDATE schedule SET {column} = ?", (value,))  # noqa: S608 (constants)
        except sqlite3.IntegrityError:
            continue
        chosen(db, 3, NOW + DAY)
        learn(db, NOW + DAY, a=Asking(NOW + DAY, news=1))
        assert row(db, a).asked_at == NOW + DAY
    db.execute("DELETE FROM pace")
    assert chosen(db, 3, NOW + DAY) == []
    assert not planning.is_scheduled(db, SITE, NOW)


def test_a_state_without_a_schedule(db: sqlite3.Connection, file: StateFile) -> None:
    """A file of an earlier version has nothing to plan, and gets its tables when it is written."""
    db.execute("DROP TABLE schedule")
    db.execute("DROP TABLE pace")
    state = State(file.path)
    assert state.plan(5) == []
    file.close()
    other = StateFile(file.path)
    assert other.quarantined_as is None
    add(other.connection, "a")
    other.close()
    (planned,) = state.plan(5, NOW + DAY)
    assert (planned.url, planned.site, planned.asked_at.timestamp()) == ("a", "site 1", NOW)
    with pytest.raises(ValueError, match="at least 1"):
        state.plan(0)


def test_sites_share_a_plan(db: sqlite3.Connection) -> None:
    """A busy site does not starve a quiet one, and sites that are not meant are left out."""
    add(db, "a")
    add(db, "b", site=2)
    at = NOW
    for _ in range(20):
        at += HOUR
        learn(db, at, a=Asking(at, news=50))
    at += HOUR
    assert set(planning.plan_sites(db, 2, at)[0]) == {"site 1", "site 2"}
    assert set(planning.plan_sites(db, 2, at, ["site 2", "no site"])[0]) == {"site 2"}
    learn(db, at, b=Asking(at), site=2)
    assert set(planning.plan_sites(db, 1, at + HOUR)[0]) == {"site 1"}
    assert set(planning.plan_sites(db, 1, at + 20 * HOUR)[0]) == {"site 1"}
    learn(db, at + 20 * HOUR, a=Asking(at + 20 * HOUR))
    assert set(planning.plan_sites(db, 1, at + 20.2 * HOUR)[0]) == {"site 2"}


def test_the_next_turn_of_a_site(db: sqlite3.Connection) -> None:
    """It is when as much waits there as in the last one that had its turn; a failure rests."""
    add(db, "a")
    b, late = add(db, "b", "late", site=2)
    now = NOW + 9 * HOUR
    learn(db, now, b=Asking(now, news=9), late=Asking(now), site=2)
    learn(db, now, a=Asking(now), site=1)
    now += HOUR / 2
    _, least = planning.plan_sites(db, 1, now + DAY, ["site 1"])
    due, waiting = planning.find_next(db, "site 2", least, now)
    assert 0 < waiting < least
    assert planning.plan(db, 9, due)[b] == pytest.approx(least, rel=0.001)
    assert planning.plan(db, 9, due - 60)[b] < least
    assert planning.plan(db, 9, due)[late] < least
    assert planning.plan_sites(db, 9, now)[1] == 0
    assert planning.plan_sites(db, 0, now) == ({}, 0)
    assert planning.find_next(db, "site 2", 0, now)[0] == now
    assert planning.find_next(db, "site 2", 1e12, now)[0] == now - HOUR / 2 + 30 * DAY
    for asking in (Asking(now, is_failed=True, retry_after=5 * HOUR), Asking(now)):
        learn(db, now, a=asking)
        assert planning.find_next(db, "site 1", 0, now)[0] == now + (
            5 * HOUR if asking.is_failed else schedule.LEAST_SECONDS
        )
    assert planning.find_next(db, "no site", least, now) == (now, 0)


def test_a_row_is_small(file: StateFile) -> None:
    """What is known of when to come back takes less than 120 bytes a document."""
    db, number = file.connection, 20_000
    (before,) = db.execute("PRAGMA page_count").fetchone()
    row = (
        1_790_000_000,
        1_789_000_000,
        1.5,
        9.1,
        0.017,
        3,
        1_791_000_000,
        70_000,
        1,
        0.2,
        3.7,
        0.5,
    )
    marks = ", ".join("?" * (len(row) + 2))
    with file.transaction():
        for document in range(1, number + 1):
            insert = f"INSERT INTO schedule VALUES ({marks})"  # noqa: S608 (constants)
            db.execute(insert, (document, document // 100, *row))
    (after,) = db.execute("PRAGMA page_count").fetchone()
    (size,) = db.execute("PRAGMA page_size").fetchone()
    assert (after - before) * size < 120 * number
