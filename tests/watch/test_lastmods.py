"""What the lastmods of a document are worth, and what follows: for a state, a watch, the newest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import pytest
from clock import DAY, SetClock
from walking import ROBOTS, SITE, Pages, index, urlset, walk_all

from sitemapreader import State, newest, watch
from sitemapreader.cli.commands.state import format_plan
from sitemapreader.dates import LastmodKind, LastmodTally
from sitemapreader.fetch.local import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAP, TOP = f"{SITE}map.xml", f"{SITE}top.xml"
ASKED = datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)
Dates = list[datetime | None]


def days(*numbers: float) -> Dates:
    """Return moments so many days before the request."""
    return [ASKED - timedelta(days=number) for number in numbers]


@pytest.mark.parametrize(
    ("dates", "kind"),
    [
        ([None] * 20, "none"),
        (days(*[9] * 10), "equal"),
        (days(*(9 + n / 86_400 for n in range(100))), "equal"),  # a build that took its time
        ([*[None] * 5, *days(*[9] * 10)], "equal"),
        (days(*[9] * 9), "varied"),
        (days(*[9] * 9, 8.99), "varied"),
        (days(*[9] * 700, 8.99), "varied"),
        (days(8.99, *[9] * 700), "varied"),
        (days(3, 2, -1.1), "future"),
        (days(3, 2, -0.9), "varied"),
        (days(0.001, 0, 0), "now"),
        (days(*[0] * 9, 400), "now"),
        (days(*[0] * 8, 400, 300), "varied"),
        (days(0, *range(1, 900)), "varied"),  # a start page of today
        (days(400, 300, *[0] * 40), "now"),
        (days(*range(40, 2, -1), -1.1, 5), "future"),
    ],
)
def test_kinds(dates: Dates, kind: str) -> None:
    """One reading tells the kind, in whatever parts and zones it came."""
    zones = [timezone(timedelta(hours=hours)) for hours in range(-12, 15)]
    spread = [date and date.astimezone(zone) for date, zone in zip(dates, cycle(zones))]
    for size, given in product((1, 7, 500, 1000), (dates, spread)):
        tally = LastmodTally(ASKED.timestamp())
        for start in range(0, len(given), size):
            tally.add(given[start : start + size])
        assert tally.judge() == kind


def test_rebuilt() -> None:
    """Nine in ten others are a rebuilt file, if there are ten; as is known if it is found twice."""
    tally, small = LastmodTally(ASKED.timestamp()), LastmodTally(ASKED.timestamp())
    tally.add(days(*range(1, 21)))
    small.add(days(*range(1, 10)))
    assert (tally.judge(18), tally.judge(17), small.judge(9)) == ("rebuilt", "varied", "varied")
    told = [LastmodKind.REBUILT.confirm(before) for before in ("", "rebuilt?", "rebuilt", "now?")]
    assert told == ["rebuilt?", "rebuilt", "rebuilt", "rebuilt?"]
    assert LastmodKind.EQUAL.confirm("") == "equal"


class Site:
    """A site of one sitemap, whose records have the lastmods that a test gives them."""

    def __init__(self, db: Path, clock: SetClock) -> None:
        self.state, self.clock = State(db), clock
        self.pages: Pages = {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: index(MAP)}

    def serve(self, write: Callable[[int], str], number: int = 20) -> None:
        """Date each URL by its number."""
        self.pages[MAP] = urlset(*((f"{SITE}{n}", write(n)) for n in range(number)))

    async def walk(self, **more: Any) -> list[str]:
        """Walk a day later; return the changes."""
        self.clock.now += DAY
        walked = await walk_all(self.pages, state=self.state, changes=True, **more)
        return [str(event.change) for event in walked.events if hasattr(event, "change")]

    @property
    def kind(self) -> str:
        """What the state says of the sitemap, and not of its index."""
        kinds = {each.url: each.lastmods for each in self.state.documents()}
        assert kinds[TOP] == ""
        return kinds[MAP]

    def write_now(self, n: int) -> str:
        """Write the moment of the next request, some seconds apart."""
        moment = datetime.fromtimestamp(self.clock.now + DAY - n % 3, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def site(db: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(db, SetClock(monkeypatch))


async def test_the_state_tells_the_kind(site: Site) -> None:
    """What may be true once is in doubt until it is found again, without news in between."""
    told = []
    for turn in range(8):
        number = 20 if turn < 5 else 21
        site.serve(lambda n, turn=turn: f"20{10 + turn}-01-{n + 1:02}", number)  # type: ignore[misc]
        assert len(await site.walk()) == number  # it never changes what a walk delivers
        told.append(site.kind)
    assert told == ["varied", "rebuilt?", *["rebuilt"] * 3, "varied", "rebuilt?", "rebuilt"]
    for kind in ("now?", "now"):
        site.serve(site.write_now, 5)
        await site.walk()
        assert site.kind == kind
    site.serve(lambda _: "2020-02-02", 10)
    await site.walk()
    assert site.kind == "equal"
    assert await site.walk() == []
    assert site.kind == "equal"  # of the last reading, also where nothing was read


async def test_of_a_part_nothing_is_told(site: Site) -> None:
    """A reading that a limit has cut says nothing of the whole; the next one reads all of it."""
    site.serve(lambda n: f"2020-01-{1 + n // 12:02}")
    await site.walk(max_urls=12)  # equal, as far as it was read
    assert site.kind == ""
    assert await site.walk() == ["new"] * 8
    assert site.kind == "varied"


async def test_a_plan_shows_the_kind(site: Site) -> None:
    """`state FILE --plan` says it of each sitemap, and nothing of an index."""
    site.serve(lambda _: "2020-02-02")
    await site.walk()
    site.clock.now += DAY
    planned = {each.url: each.lastmods for each in site.state.plan(2)}
    assert planned == {MAP: "equal", TOP: ""}
    shown = dict(line.split(": ", 1) for line in format_plan(site.state.plan(2), ASKED))
    assert shown[MAP].endswith(" UTC, lastmods equal\n")
    assert shown[TOP].endswith(" UTC\n")


@pytest.mark.parametrize(("stamp", "found"), [(True, ["new"]), (False, ["changed", "new"])])
async def test_a_watch_is_silent_of_stamps(site: Site, stamp: bool, found: list[str]) -> None:
    """Other dates are no change where all are those of the file; new URLs are delivered."""

    def write(n: int, turn: int) -> str:
        return f"2020-01-{1 + turn:02}" if stamp else f"2020-{1 + n % 12:02}-{1 + turn:02}"

    site.serve(lambda n: write(n, 1))
    await site.walk()
    site.serve(lambda n: write(n, 2), 21)
    told: list[str] = []
    fetcher = MemoryFetcher(site.pages)
    async with watch(
        [SITE],
        state=site.state,
        fetcher=fetcher,
        kinds=["new", "changed"],
        tick_seconds=0.001,
        on_site=lambda _: None,
    ) as changes:
        site.clock.now += DAY
        async for entry in changes:
            told.append(str(entry.change))
            if entry.change == "new":
                break
    assert sorted({*told}) == found


def find(*pages: tuple[str, bytes], lastmods: tuple[str, ...]) -> Pages:
    """Make a site of sitemaps, each with its date in the index."""
    listed = [(url, lastmod) for (url, _), lastmod in zip(pages, lastmods, strict=True)]
    return {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: index(*listed), **dict(pages)}


def stamp(name: str, date: str) -> tuple[str, bytes]:
    """Make a sitemap of twelve URLs with one date."""
    return f"{SITE}{name}.xml", urlset(*((f"{SITE}{name}/{n}", date) for n in range(12)))


async def test_stamps_prove_nothing() -> None:
    """Which are the newest of twelve with one date is unknown; what is older proves as ever."""
    dated = (MAP, urlset(*((f"{SITE}{n}", f"2024-01-{n:02}") for n in range(1, 20))))
    pages = find(stamp("a", "2024-05-01"), dated, lastmods=("2024-05-01", "2024-01-19"))
    found = await newest(SITE, 5, fetcher=MemoryFetcher(pages))
    assert (found.proven, found.reason) == (False, "equal-lastmods")
    pages = find(stamp("a", "2023-05-01"), dated, lastmods=("2024-05-01", "2024-01-19"))
    found = await newest(SITE, 5, fetcher=MemoryFetcher(pages))
    assert (found.proven, found.documents) == (True, 3)
    found = await newest(SITE, 50, fetcher=MemoryFetcher(pages))
    assert (found.proven, len(found.entries)) == (True, 31)  # nothing was left out
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = urlset(*((f"{SITE}{n}", now) for n in range(5)))
    found = await newest(SITE, 2, fetcher=MemoryFetcher(find((MAP, body), lastmods=(now,))))
    assert (found.proven, found.reason) == (False, "now-lastmods")
