"""When to come back: what is learned of each document, and which are asked first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import State
from sitemapreader._types.dates import DAY, HOUR
from sitemapreader.changes import schedule
from sitemapreader.changes.database import StateFile
from sitemapreader.changes.rows import DocumentRow, WalkRun, insert_document
from sitemapreader.changes.schedule import DocumentRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemapreader.changes import PlannedDocument

NOW = 1_790_000_000.0


class Learned:
    """A state in which rows are written as a walk writes them, at moments that a test chooses."""

    def __init__(self, path: Path) -> None:
        self.file = StateFile(path)
        self.db, self.state = self.file.connection, State(path)
        for number in (1, 2):
            name = f"site {number}"
            self.db.execute(
                "INSERT INTO site (id, name, ended) VALUES (?, ?, 0)", (number, name)
            )

    def add(self, *urls: str, site: int = 1, at: float = NOW) -> None:
        """Add documents that a first walk has read."""
        self.meet(*urls, site=site)
        seen = {url: DocumentRequest(at, news=500) for url in urls}
        schedule.learn(self.db, WalkRun(f"site {site}", site=site), seen, {}, at)

    def meet(self, *urls: str, site: int = 1) -> None:
        for url in urls:
            insert_document(self.db, DocumentRow(None, site, url, 0))

    def learn(
        self, at: float, *, site: int = 1, **requests: DocumentRequest | int
    ) -> None:
        """Learn from requests, or from so many news."""
        made = {
            url: each
            if isinstance(each, DocumentRequest)
            else DocumentRequest(at, news=each)
            for url, each in requests.items()
        }
        run = WalkRun(f"site {site}", site=site)
        schedule.learn(self.db, run, made, {}, at)
        self.db.execute("UPDATE site SET ended = ? WHERE id = ?", (at, site))

    def chosen(self, number: int, at: float) -> list[str]:
        """Return what is asked of all sites."""
        found = schedule.plan_sites(self.db, number, at)
        return sorted(url for urls in found.values() for url in urls)

    def planned(self, at: float) -> dict[str, PlannedDocument]:
        return {each.url: each for each in self.state.plan(99, at)}

    def rate(self, url: str) -> float:
        return self.planned(NOW)[url].rate


@pytest.fixture
def learned(tmp_path: Path) -> Iterator[Learned]:
    made = Learned(tmp_path / "site.db")
    yield made
    made.file.close()


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("hours", "news", "rate"),
    [
        (10, 5, 5.1 / 34),
        (60 * 24, 0, 0.1 / (24 + 60 * 24)),
        (10, 0, 0.1 / 34),  # what was there when it was first read is no news
    ],
)
def test_a_rate_is_news_by_hours(
    learned: Learned, hours: float, news: int, rate: float
) -> None:
    """The rate is the number of new URLs by the hours of observation, with a weak prior."""
    learned.add("a")
    learned.learn(NOW + hours * HOUR, a=news)
    assert learned.rate("a") == pytest.approx(rate, rel=0.001)


def test_most_waiting_comes_first(learned: Learned) -> None:
    """Of two documents the one with more news is asked first, nothing twice in ten minutes."""
    learned.add("busy", "dull")
    at = NOW + HOUR
    learned.learn(at, busy=10, dull=0)
    assert learned.chosen(2, at + 599) == []
    assert learned.chosen(2, at + 600) == ["busy", "dull"]
    assert learned.chosen(1, at + HOUR) == ["busy"]
    learned.learn(at + HOUR, busy=0)
    assert learned.chosen(2, at + HOUR + 60) == ["dull"]


def test_a_plan_says_when_what_rests_is_due(learned: Learned) -> None:
    """What is due comes first; then what rests, with the moment until which it does."""
    learned.add("a", "b", "c")
    learned.add("other", site=2)
    learned.learn(NOW + 1000, a=DocumentRequest(NOW + 1000, is_failed=True))
    learned.learn(NOW + 1200, b=9)
    planned = learned.state.plan(9, NOW + 1300)
    due = {each.url: each.due.timestamp() - NOW for each in planned}
    assert due == {"c": 1300, "other": 1300, "b": 1800, "a": 2800}
    assert [each.url for each in planned][2:] == ["b", "a"]
    assert [each.url for each in learned.state.plan(3, NOW + 1300)][2:] == ["b"]
    assert len(learned.state.plan(1, NOW + 1300)) == 1
    with pytest.raises(ValueError, match="at least 1"):
        learned.state.plan(0)


@pytest.mark.cases(2)
@pytest.mark.parametrize(("index", "news"), [("index", 60), ("", 0)])
def test_what_is_new_in_a_sitemap_that_is_new(
    learned: Learned, index: str, news: int
) -> None:
    """What a new child lists is news; a sitemap that nobody had named may be an old one."""
    learned.add("index", "old")
    at = NOW + DAY
    learned.meet("new")
    learned.learn(at, new=DocumentRequest(at, index, news=60))
    before = news / (24 + 1)
    assert before <= learned.rate("new") <= before + 0.1


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("silent", "most"), [(24, 2), (25, 1 / 25), (30 * 24, 1 / (30 * 24))]
)
def test_what_is_silent_retires(learned: Learned, silent: int, most: float) -> None:
    """However busy it was: in its silence there was less than one. A night says nothing."""
    learned.add("month")
    for hour in range(1, 400):
        learned.learn(NOW + hour * HOUR, month=2)
    assert learned.rate("month") > 1.8
    learned.learn(NOW + (399 + silent) * HOUR, month=0)
    assert min(most, 1.5) <= learned.rate("month") * 1.001
    assert learned.rate("month") <= most * 1.001


@pytest.mark.cases(10)
@pytest.mark.parametrize(
    ("retry_after", "hours"),
    [
        (0, 0.5),
        (-1, 0.5),
        (3 * HOUR, 3),
        (365 * DAY, 32 * 24),
        (float("inf"), 0.5),
        (float("nan"), 0.5),
    ],
)
def test_a_failure_rests(learned: Learned, retry_after: float, hours: float) -> None:
    """As long as it gave no answer, half an hour at least; or as its server asks, up to a month."""
    learned.add("a", "b")
    at = NOW + HOUR / 2
    learned.learn(
        at, a=DocumentRequest(at, is_failed=True, retry_after=retry_after), b=0
    )
    assert learned.chosen(2, at + hours * HOUR - 1) == ["b"]
    assert learned.chosen(2, at + hours * HOUR) == ["a", "b"]


def test_failures_in_a_row_double_the_pause(learned: Learned) -> None:
    """A site that is down for a day is asked five times; one answer ends the pauses."""
    learned.add("a")
    at, asked = NOW + HOUR, 0
    while at < NOW + 25 * HOUR:
        if learned.chosen(1, at):
            asked += 1
            learned.learn(at, a=DocumentRequest(at, is_failed=True))
        at += 600
    assert asked == 5
    learned.learn(at, a=0)
    assert learned.chosen(1, at + 600) == ["a"]


def test_a_loss_has_all_documents_asked(learned: Learned) -> None:
    """What a missed URL waits for gets a quarter of the requests, once a day until it is proven."""
    learned.add("busy", "dull")
    at = NOW + 2 * HOUR
    learned.learn(at, busy=100, dull=DocumentRequest(at - HOUR))
    turns = [at + HOUR + 600 * step for step in range(4)]
    assert [learned.chosen(1, turn) for turn in turns] == [["busy"]] * 4
    learned.learn(at + 1, busy=100)
    learned.db.execute(
        "UPDATE site SET lost_stamp = ? WHERE id = 1", (int((at + 1) * 1e9),)
    )
    assert sorted(learned.chosen(1, turn) for turn in turns) == [["busy"]] * 3 + [
        ["dull"]
    ]
    learned.learn(at + HOUR, dull=0, busy=0)
    assert [learned.chosen(1, turn + HOUR) for turn in turns] == [["busy"]] * 4
    learned.db.execute(
        "UPDATE document SET confirmed_stamp = ? WHERE url = 'busy'", (int(at * 2e9),)
    )
    later = [turn + DAY for turn in turns]
    assert sorted(learned.chosen(1, turn) for turn in later) == [["busy"]] * 3 + [
        ["dull"]
    ]


@pytest.mark.cases(10)
@pytest.mark.parametrize("days", [-1, -365, 30, 3650])
def test_any_clock_asks(learned: Learned, days: float) -> None:
    """A clock that jumps back or forward asks all the same, and learns."""
    learned.add("a")
    at = NOW + days * DAY
    assert learned.chosen(1, at) == ["a"]
    learned.learn(at, a=1)
    assert learned.planned(at)["a"].asked_at.timestamp() == at
    assert learned.chosen(1, at + HOUR) == ["a"]


def test_sites_share_a_plan(learned: Learned) -> None:
    """A busy site does not starve a quiet one, and sites that are not meant are left out."""
    learned.add("a")
    learned.add("b", site=2)
    at = NOW
    for _ in range(20):
        at += HOUR
        learned.learn(at, a=50)
    at += HOUR
    plan = schedule.plan_sites
    assert plan(learned.db, 2, at) == {"site 1": {"a"}, "site 2": {"b"}}
    assert plan(learned.db, 2, at, ["site 2", "no site"]) == {"site 2": {"b"}}
    learned.learn(at, b=0, site=2)
    assert plan(learned.db, 1, at + 20 * HOUR) == {"site 1": {"a"}}
    learned.learn(at + 20 * HOUR, a=50)
    assert plan(learned.db, 1, at + 20.2 * HOUR) == {"site 2": {"b"}}


def test_the_next_turn_of_a_site(learned: Learned) -> None:
    """It is when the first of its sitemaps may be asked; a failure rests."""
    learned.add("a", "late")
    learned.learn(NOW + 300, late=0)
    assert (
        schedule.find_next_due(learned.db, "site 1", NOW + 301)["due"].timestamp()
        == NOW + 600
    )
    found = schedule.find_next_due(learned.db, "site 1", NOW + HOUR)
    due, waiting = found["due"].timestamp(), found["news_waiting"]
    assert (due, 0 < waiting < 1) == (NOW + HOUR, True)
    failed = DocumentRequest(NOW + HOUR, is_failed=True, retry_after=5 * HOUR)
    learned.learn(NOW + HOUR, a=failed, late=failed)
    assert (
        schedule.find_next_due(learned.db, "site 1", NOW + 2 * HOUR)["due"].timestamp()
        == NOW + 6 * HOUR
    )
    assert schedule.find_next_due(learned.db, "no site", NOW)["due"].timestamp() == NOW


def test_a_site_in_which_nothing_is_scheduled_rests(learned: Learned) -> None:
    """It rests for a day, or while it is down for half an hour, which doubles up to a day."""

    def rest(at: float, **requests: Any) -> float:
        learned.learn(at, **requests)
        due = schedule.find_next_due(learned.db, "site 1", at + 1)["due"]
        return float(due.timestamp() - at) / HOUR

    guess = DocumentRequest(NOW, is_unscheduled=True)
    down = DocumentRequest(NOW, is_unscheduled=True, is_failed=True)
    assert rest(NOW, wrong=down) == 24
    learned.db.execute("UPDATE site SET rest = 0")
    learned.meet("a", "b")
    assert [rest(NOW + step, a=down, b=down) for step in range(7)] == [
        0.5,
        1,
        2,
        4,
        8,
        16,
        24,
    ]
    learned.db.execute("UPDATE site SET rest = 0")
    assert rest(NOW, a=down, b=guess) == 24
    unread = schedule.find_unscheduled
    assert unread(learned.db, ["site 1"], NOW + DAY - 1) == {}
    assert unread(learned.db, ["site 1"], NOW + DAY) == {"site 1": False}


def test_a_sitemap_that_was_never_read_waits_like_one_that_had_no_news(
    learned: Learned,
) -> None:
    """It was there an hour ago, at the latest; when only a guess leads to it, nothing waits."""
    learned.add("index")
    at = NOW + DAY
    learned.learn(at, child=DocumentRequest(index="index"))
    found = learned.planned(at)["child"]
    assert found.asked_at.timestamp() == at - HOUR
    assert found.rate == pytest.approx(0.1 / 24)
    learned.meet("other")
    failed = DocumentRequest(at - 600, is_failed=True)
    learned.learn(at, other=failed)
    due = learned.planned(at)["other"].due.timestamp()
    assert due == at + HOUR + 600
    learned.learn(
        at + 1, child=DocumentRequest(at + 1, is_unscheduled=True, is_failed=True)
    )
    assert "child" not in learned.planned(at + 2)


def test_news_wait_by_the_square_of_their_hours(learned: Learned) -> None:
    """Half a rate, times the time twice, by the root of the rates of the site."""
    learned.add("a", "b")
    at = NOW + 10 * HOUR
    learned.learn(at, a=5, b=0)
    found = learned.planned(at + 6 * HOUR)
    rates = {url: each.rate for url, each in found.items()}
    total = sum(rates.values())
    assert {url: each.news_waiting for url, each in found.items()} == pytest.approx(
        {url: rate * 6 * 6 / 2 / total**0.5 for url, rate in rates.items()}
    )


@pytest.mark.cases(3)
@pytest.mark.parametrize(("days", "share"), [(0.5, 1), (6.5, 1), (6.7, 2)])
def test_a_loss_that_waits_for_a_week_has_half_of_the_requests(
    learned: Learned, days: float, share: int
) -> None:
    """A quarter of them before; the ones that were asked longest ago are first."""
    busy, dull = [f"busy{n}" for n in range(4)], [f"dull{n}" for n in range(3)]
    learned.add(*busy, *dull)
    learned.learn(NOW + 1, **{url: n for n, url in enumerate(dull)} | {"dull0": 0})
    for hour in range(2, 9):
        learned.learn(NOW + hour * HOUR, **dict.fromkeys(busy, 500))
    learned.db.execute("UPDATE site SET lost_stamp = ?", (int((NOW + 9 * HOUR) * 1e9),))
    for turn in range(5):
        at = NOW + 9 * HOUR + days * DAY + 600 * turn
        chosen = learned.chosen(4, at)
        assert [url for url in chosen if url in dull] == dull[:share]
        assert len(chosen) == 4


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("asked", "rests", "is_ready"),
    [
        (None, -1, True),
        (0, -1, False),
        (-599, -1, False),
        (-600, -1, True),
        (1, -1, True),
        (None, 0, True),
        (None, 1, False),
        (None, 32 * DAY, False),
        (None, 32 * DAY + 1, True),
    ],
)
def test_a_document_is_ready(asked: float | None, rests: float, is_ready: bool) -> None:
    """Ten minutes after its request and after its rest; the future was another clock."""
    asked_at = None if asked is None else NOW + asked
    row = DocumentRow(1, 1, "a", 0, asked_at=asked_at, not_before=NOW + rests)
    assert schedule.is_ready(row, NOW) is is_ready


def test_the_part_of_a_plan_for_a_site(learned: Learned) -> None:
    """A site that is unknown is read whole; one that is not planned, not at all."""
    learned.add("a")
    plan = {"site 2": frozenset({"b"})}
    find = schedule.find_due
    assert find(learned.db, plan, "site 2", NOW) == frozenset({"b"})
    assert find(learned.db, plan, "site 1", NOW) == frozenset()
    assert find(learned.db, plan, "site 3", NOW) is None
    assert find(
        learned.db, plan | {"site 3": frozenset({"c"})}, "site 3", NOW
    ) == frozenset({"c"})


def test_a_walk_asks_for_what_is_chosen(learned: Learned) -> None:
    """Of a site that is not known, for everything; of another, for what is due or named."""
    learned.add("a", "b")
    run = WalkRun("site 1", site=1)
    choose = schedule.choose
    unknown = WalkRun("site 3", site=3)
    assert choose(learned.db, unknown, 5, NOW) is unknown
    assert choose(learned.db, run, ["b"], NOW).chosen == frozenset({"b"})
    assert choose(learned.db, run, 5, NOW).chosen == frozenset()
    assert choose(learned.db, run, 5, NOW + 600).chosen == frozenset({"a", "b"})
    assert len(choose(learned.db, run, 1, NOW + 600).chosen or ()) == 1


@pytest.mark.cases(2)
@pytest.mark.parametrize("is_resumed", [False, True])
def test_what_is_not_due_and_lists_no_sitemap_is_idle(
    learned: Learned, *, is_resumed: bool
) -> None:
    """Not after filters, redirects or faults; a resumed walk has read some of it."""
    learned.add("read", "due", "partial", "moved", "filtered", "index")
    learned.db.execute("UPDATE document SET status = 'complete', final_url = url")
    for change in (
        "UPDATE document SET status = 'partial' WHERE url = 'partial'",
        "UPDATE document SET final_url = 'x' WHERE url = 'moved'",
        "UPDATE document SET filters = 'x y' WHERE url = 'filtered'",
        "UPDATE document SET children = 2 WHERE url = 'index'",
    ):
        learned.db.execute(change)
    run = WalkRun("site 1", site=1, is_resumed=is_resumed)
    idle = schedule.choose(learned.db, run, ["due"], NOW).idle
    assert idle == (set() if is_resumed else {"read"})
