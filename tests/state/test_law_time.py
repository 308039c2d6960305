"""The law of removal: time that runs out, clocks that are wrong, and dates without a time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import Limits
from tests.support.clock import DAY, HOUR, SetClock
from tests.support.diary import Diary, alive, lists, named
from tests.support.serving import serve_site
from tests.support.walking import ROBOTS, SITE, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiohttp import web

TOP = f"{SITE}top.xml"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


@pytest.fixture
def diary(db: Path, clock: SetClock) -> Diary:
    return Diary(db, clock)


# -- a slow site


@attrs.define
class SlowSite:
    """A site that answers four sitemaps a day, and then lets one wait for ever.

    Attributes:
        pages: what the documents are.
        left: how many sitemaps are answered yet today.
        read: the sitemaps that were answered.
    """

    pages: dict[str, Callable[[str], bytes]]
    left: int = 4
    read: list[str] = attrs.field(factory=list)

    async def answer(self, request: web.Request) -> Any:
        path = request.path
        if path not in self.pages:
            return 404
        if path.startswith("/list"):
            if self.left == 0:
                await asyncio.sleep(60)
            self.left -= 1
            self.read.append(path)
        return self.pages[path](f"http://{request.host}")


NAMES = [f"/list-{number}.xml" for number in range(8)]


def write_list(name: str) -> Callable[[str], bytes]:
    return lambda base: urlset(f"{base}/page-of{name}")


def name_in_robots(base: str) -> bytes:
    return "\n".join(f"Sitemap: {base}{name}" for name in NAMES).encode()


def name_index(base: str) -> bytes:
    return f"Sitemap: {base}/top.xml".encode()


def write_index(names: list[str]) -> Callable[[str], bytes]:
    return lambda base: index(*(base + name for name in names))


@pytest.mark.parametrize(
    "documents",
    [
        {"/robots.txt": name_in_robots},
        {"/robots.txt": name_index, "/top.xml": write_index(NAMES)},
        {
            "/robots.txt": name_index,
            "/top.xml": write_index(["/low.xml", "/high.xml"]),
            "/low.xml": write_index(NAMES[:4]),
            "/high.xml": write_index(NAMES[4:]),
        },
    ],
    ids=["robots.txt", "an index", "an index of indexes"],
)
async def test_a_run_that_ends_by_time_goes_on_where_it_stopped(
    db: Path, clock: SetClock, documents: dict[str, Any]
) -> None:
    """A site that is too slow for one run is read in turns, again and again."""
    slow = SlowSite(documents | {name: write_list(name) for name in NAMES})
    async with serve_site(default=slow.answer) as site:
        diary = Diary(db, clock, site=f"{site.base}/", base=site.base)
        for _ in range(2):
            slow.read = []
            full = 0
            seconds = 0.2
            while full < 3:
                slow.left = 4
                max_time = timedelta(seconds=seconds)
                await diary.walk(asks=False, limits=Limits(max_time=max_time))
                if slow.left == 0:
                    full += 1
                else:  # a busy machine held the walk up, which proves nothing
                    seconds *= 2
            assert {*slow.read} == {*NAMES}
    assert diary.new == {f"/page-of{name}": 1 for name in NAMES}


@pytest.mark.parametrize("refusal", [403, 429, 503])
async def test_a_run_that_is_refused_in_the_middle_begins_with_the_others_next_time(
    db: Path, clock: SetClock, refusal: int
) -> None:
    """A firewall that answers four sitemaps a day hides none of them for good."""
    left = 0

    def answer(request: web.Request) -> Any:
        nonlocal left
        if not request.path.startswith("/list"):
            return name_in_robots(f"http://{request.host}")
        left -= 1
        return (
            write_list(request.path)(f"http://{request.host}") if left >= 0 else refusal
        )

    async with serve_site(default=answer) as site:
        diary = Diary(db, clock, site=f"{site.base}/", base=site.base)
        for _ in range(4):
            left = 4
            await diary.walk(asks=False)
    assert diary.new == {f"/page-of{name}": 1 for name in NAMES}


# -- a clock that is wrong for one walk


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("wrong", "ahead"),
    [
        (0, 400 * DAY),
        (4, 31 * DAY),
        (6, 3_650 * DAY),
        (5, -200 * DAY),
        (4, -20_000 * DAY),
    ],
    ids=[
        "the first walk is ahead",
        "the walk that meets the loss is ahead",
        "a later walk is ahead",
        "the walk that confirms the loss is behind",
        "the walk that meets the loss is behind",
    ],
)
async def test_a_wrong_clock_of_one_walk_hides_no_loss(
    diary: Diary, clock: SetClock, wrong: int, ahead: float
) -> None:
    """The next walk with the right time goes on as if the clock had never been wrong."""
    for day in range(18):
        names = ["east", "west", "north", "south"][: 4 if day < 4 else 3]
        more = ["new-star"] if day >= 8 else []
        clock.now += ahead if day == wrong else 0
        await diary.walk(
            {
                ROBOTS: named("top.xml"),
                TOP: index(f"{SITE}sky.xml"),
                f"{SITE}sky.xml": lists(*names, *more),
                **alive([*names, *more]),
            }
        )
        clock.now -= ahead if day == wrong else 0
    assert diary.unlisted.keys() == diary.gone.keys() == {"south"}
    assert max(diary.unlisted["south"], diary.gone["south"]) <= 14
    assert "new-star" in diary.days[8].new
    assert set(diary.new.values()) == {1}


@pytest.mark.parametrize("ahead", [40 * DAY, 4_000 * DAY, -200 * DAY, -10_000 * DAY])
async def test_a_wrong_clock_does_not_use_up_the_patience(
    diary: Diary, clock: SetClock, ahead: float
) -> None:
    """A list without an end tag is cut shorter for three days; the clock is wrong in one walk."""
    names = [f"star-{number}" for number in range(8)]
    for day in range(30):
        is_cut = 20 <= day < 23
        body = lists(*(names[:4] if is_cut else names))
        clock.now += ahead if day == 22 else 0
        sky = body.removesuffix(b"</urlset>")
        await diary.walk(
            {ROBOTS: named("sky.xml"), f"{SITE}sky.xml": sky, **alive(names)}
        )
        clock.now -= ahead if day == 22 else 0
    assert diary.waits(20, 23) == [4, 4, 4]
    assert not diary.told
    assert set(diary.new.values()) == {1}


# -- dates without a time


def day_in(zone: timezone) -> Callable[[float], str]:
    return lambda moment: datetime.fromtimestamp(moment, zone).strftime("%Y-%m-%d")


def month_in(zone: timezone) -> Callable[[float], str]:
    return lambda moment: datetime.fromtimestamp(moment, zone).strftime("%Y-%m")


@pytest.mark.parametrize(
    ("hour", "changes", "write"),
    [
        (5, (-6, 3), day_in(timezone(-timedelta(hours=10)))),
        (2, (-1, 4), day_in(timezone(-timedelta(hours=7)))),
        (9, (-2, 30), month_in(UTC)),
    ],
    ids=["Honolulu", "Los Angeles", "the month alone"],
)
async def test_a_date_without_a_time_lasts_until_its_end(
    diary: Diary,
    clock: SetClock,
    hour: int,
    changes: tuple[float, float],
    write: Callable[[float], str],
) -> None:
    """A sitemap that changes twice on one date has changed for the walk after the second."""
    midnight = datetime(2026, 9, 22, tzinfo=UTC).timestamp()
    walked = midnight + hour * HOUR
    first, second = (walked + hours * HOUR for hours in changes)
    clock.now = walked - 5 * DAY
    for _ in range(9):
        names = ["rain", *(["wind"] if clock.now >= first else [])]
        names += ["snow"] if clock.now >= second else []
        changed = max(
            moment
            for moment in (first - 20 * DAY, first, second)
            if moment <= clock.now
        )
        child = (f"{SITE}weather.xml", write(changed))
        pages = {ROBOTS: named("top.xml"), TOP: index(child), child[0]: lists(*names)}
        await diary.walk(pages, later=0)
        clock.now += DAY
    delay = -(-(second - walked) // DAY)
    assert [day.number for day in diary.days if "snow" in day.new] == [5 + delay]
