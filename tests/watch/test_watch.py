"""`watch`: rounds over sites, each of what is due within the pace."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Limits, State, watch, watch_sync
from sitemapreader._many.sources import find_source
from sitemapreader.changes import StateError
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.clock import DAY, PassingTime
from tests.support.grouping import grouped
from tests.support.walking import Pages, index, status, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sitemapreader._types.outcomes import SiteOutcome

HOUR = 3600.0
SITES = ["https://a.example/", "https://b.example/"]
A, B = (f"{site}map.xml" for site in SITES)


INITIAL = ("new", "gone", "initial")


class Watched(PassingTime):
    """Two sites in memory, and a watch over them with a clock of its own."""

    def __init__(self, db: Path) -> None:
        super().__init__()
        self.now = 1_790_000_000.0
        self.state = State(db, clock=lambda: self.now)
        self.pages: Pages = {}
        for site in SITES:
            self.pages[f"{site}robots.txt"] = f"Sitemap: {site}map.xml".encode()
            self.publish(site, 1, 2)
        self.fetcher = MemoryFetcher(self.pages)
        self.found: list[tuple[str, str]] = []
        self.outcomes: list[SiteOutcome] = []
        self.start: Any = watch

    def publish(self, site: str, *numbers: int) -> None:
        self.pages[f"{site}map.xml"] = urlset(
            *(f"{site}{number}" for number in numbers)
        )

    def watch(self, **more: Any) -> Any:
        arguments: Any = {"tick_seconds": 0.001, "on_site": self.outcomes.append} | more
        return self.start(
            SITES, state=self.state, fetcher=self.fetcher, **grouped(arguments)
        )

    async def sleep(self, seconds: float) -> None:
        """Let time pass between two rounds, as long as not enough was found."""
        await super().sleep(seconds)
        self.now += self._step
        if self._is_enough() or self.now > self._end:
            self._has_ended.set()
            await asyncio.Event().wait()

    async def until(
        self, is_enough: Callable[[], object], step: float = HOUR, **more: Any
    ) -> None:
        """Watch, with an hour between two rounds, until enough was found."""

        async def collect() -> None:
            async with self.watch(**grouped(more)) as changes:
                async for entry in changes:
                    self.found.append((str(entry.change), entry.loc))

        self._is_enough, self._step, self._end = (
            is_enough,
            step,
            self.now + 3_000 * step,
        )
        self._has_ended = asyncio.Event()
        with pytest.MonkeyPatch.context() as patch:
            self.take_over(patch)
            tasks = [
                asyncio.create_task(each)
                for each in (collect(), self._has_ended.wait())
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        assert is_enough(), self.found
        if not tasks[0].cancelled():
            tasks[0].result()

    def later(self, hours: float) -> Callable[[], bool]:
        end = self.now + hours * HOUR
        return lambda: self.now >= end

    async def meet(self) -> None:
        """Read the sites for the first time."""
        await self.until(lambda: len(self.outcomes) == 2, step=0)
        self.fetcher.requested.clear()


@pytest.fixture
def watched(db: Path) -> Watched:
    return Watched(db)


async def test_changes_come_once(watched: Watched) -> None:
    """The first reading is silent; then what is new and what is gone is delivered, once."""
    await watched.meet()
    assert watched.found == []
    watched.publish(SITES[0], 1, 2, 3)
    watched.publish(SITES[1], 2)
    watched.pages[f"{SITES[1]}2"] = (
        b""  # it answers, so that the answer of the other is believed
    )
    await watched.until(watched.later(72))
    assert sorted(watched.found) == [("gone", f"{SITES[1]}1"), ("new", f"{SITES[0]}3")]


def test_a_watch_without_await(watched: Watched) -> None:
    """`watch_sync` is entered with `with`, for `for`, and ends in time."""
    watched.start = watch_sync
    with watched.watch(
        kinds=INITIAL, limits=Limits(max_time=timedelta(seconds=0.3))
    ) as changes:
        found = [entry.loc for entry in changes]
    assert sorted(found) == [f"{site}{number}" for site in SITES for number in (1, 2)]


async def test_loops_go_on_where_others_stopped(watched: Watched) -> None:
    """What a loop leaves, and a wait that is over, lose nothing; unread URLs come again."""
    watched.publish(SITES[0], *range(20))
    watched.publish(SITES[1], *range(20))
    found: list[str] = []
    async with watched.watch(kinds=INITIAL) as changes:
        async for entry in changes:
            found.append(entry.loc)
            if len(found) == 5:
                break
        async for entry in changes:
            found.append(entry.loc)
            if len(found) == 10:
                break
        loop = aiter(changes)
        found.append((await anext(loop)).loc)
        while len(found) < 40:
            found.append((await anext(loop)).loc)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(loop), 0.02)
        watched.publish(SITES[0], *range(21))
        watched.now += DAY
        found.append((await anext(loop)).loc)
    assert len(found) == len(set(found)) == 41
    again: list[str] = []
    async with watched.watch() as changes:
        async for entry in changes:
            again.append(entry.loc)
            break
    assert again == found[-1:]


async def test_a_url_in_two_sitemaps(watched: Watched) -> None:
    """A URL that two sitemaps list, of which a round asks both, is delivered once."""
    archive = f"{SITES[0]}archive.xml"
    watched.pages[f"{SITES[0]}robots.txt"] = (
        f"Sitemap: {A}\nSitemap: {archive}".encode()
    )
    watched.pages[archive] = watched.pages[A]
    await watched.meet()
    watched.publish(SITES[0], 1, 2, 3)
    watched.pages[archive] = watched.pages[A]
    await watched.until(lambda: watched.found, HOUR)
    await watched.until(watched.later(24), HOUR)
    assert watched.found == [("new", f"{SITES[0]}3")]


@pytest.mark.slow
async def test_kinds(watched: Watched) -> None:
    """Only the kinds that were asked for are delivered."""
    await watched.meet()
    watched.pages[A] = urlset((f"{SITES[0]}1", "2026-02-03"), f"{SITES[0]}3")
    await watched.until(watched.later(72), kinds=["changed"])
    assert watched.found == [("changed", f"{SITES[0]}1")]


async def test_the_pace_holds(watched: Watched) -> None:
    """No hour has more requests than the pace allows, with what an hour has saved."""
    await watched.meet()
    at: list[float] = []
    taken = 0
    end = watched.later(24)

    def look() -> bool:
        nonlocal taken
        at.extend([watched.now] * (len(watched.fetcher.requested) - taken))
        taken = len(watched.fetcher.requested)
        return end()

    await watched.until(look, 400, pace=1.5)
    for since in at:
        assert sum(since <= each < since + HOUR for each in at) <= 2 * 1.5 * 2 + 2
    assert 24 < len(at) <= 25 * 1.5 * 2 + 2


async def test_sites_share_what_may_be_asked_of_pages(watched: Watched) -> None:
    """An eighth of the requests goes to pages of unlisted URLs, those of all sites together."""
    await watched.meet()
    for site in SITES:
        watched.publish(site, 1)
        watched.pages[f"{site}1"] = b"a page that lives"
    asked_at: dict[str, float] = {}

    def look() -> bool:
        dead = {f"{site}2" for site in SITES}.intersection(watched.fetcher.requested)
        asked_at.update(dict.fromkeys(dead - asked_at.keys(), watched.now))
        return len(asked_at) == len(SITES)

    await watched.until(look, pace=2)
    first, second = sorted(asked_at.values())
    assert second - first > 3 * HOUR


async def test_a_failure_is_asked_again_later(watched: Watched) -> None:
    """A site that is down holds nothing up, is asked ever more seldom, and loses nothing."""
    await watched.meet()
    up = dict(watched.pages)
    watched.pages[f"{SITES[1]}robots.txt"] = watched.pages[B] = status(503, B)
    watched.publish(SITES[0], 1, 2, 3)
    await watched.until(watched.later(24))
    assert watched.found == [("new", f"{SITES[0]}3")]
    assert (
        0
        < watched.fetcher.requested.count(B)
        + watched.fetcher.requested.count(f"{SITES[1]}robots.txt")
        <= 24
    )
    watched.pages.update(up)
    watched.publish(SITES[0], 1, 2, 3)
    watched.publish(SITES[1], 1, 2, 3)
    await watched.until(watched.later(72))
    assert watched.found == [("new", f"{site}3") for site in SITES]


async def test_a_site_that_was_down_at_first(watched: Watched) -> None:
    """A site that could not be read at first is read later, and that is its first reading."""
    up = dict(watched.pages)
    watched.pages[f"{SITES[1]}robots.txt"] = watched.pages[B] = status(503, B)
    await watched.meet()
    watched.pages.update(up)
    await watched.until(
        lambda: any(each.site == SITES[1] for each in watched.outcomes[2:])
    )
    watched.publish(SITES[1], 1, 2, 3)
    await watched.until(watched.later(24))
    assert watched.found == [("new", f"{SITES[1]}3")]


def _differ(site: str, look: int) -> Pages:
    """Make a sitemap that has other URLs each time, all of them of this moment."""
    urls = [(f"{site}{look}-{number}", "2026-11-23") for number in range(20)]
    return {f"{site}map.xml": urlset(*urls)}


def _grow(site: str, look: int) -> Pages:
    """Make an index with seven times as many new children as requests, all dated anew."""
    names = [f"{site}child-{number}.xml" for number in range(21 * (look + 1))]
    moment = f"2026-11-23T{look % 24:02}:00:00Z"
    children = {name: urlset(f"{name}-page") for name in names}
    return {f"{site}map.xml": index(*((name, moment) for name in names)), **children}


@pytest.mark.parametrize("change", [_differ, _grow])
async def test_a_site_that_wants_all_requests(
    watched: Watched,
    change: Callable[[str, int], Pages],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A site that always has news, or says so, costs another one neither a URL nor its turn."""
    quiet, loud = SITES
    published = [1, 2]
    passing = PassingTime()
    passing.take_over(monkeypatch)

    def tell() -> float:
        hour = int(passing.time() // HOUR)
        if f"{loud}{hour}" not in watched.pages:
            watched.pages.update({f"{loud}{hour}": b"", **change(loud, hour)})
            published.extend([hour] if hour % 4 == 3 else [])
            watched.publish(quiet, *published)
        return watched.now + passing.time()

    watched.state = State(watched.state.path, clock=tell)
    async with watched.watch(
        pace=1.5, tick_seconds=HOUR, limits=Limits(max_time=timedelta(hours=24))
    ) as changes:
        found = [entry.loc async for entry in changes if entry.loc.startswith(quiet)]
    assert found == [f"{quiet}{number}" for number in published[2 : 2 + len(found)]]
    assert len(found) >= len(published) - 4


@pytest.mark.parametrize("jump", [-365 * DAY, 7 * DAY])
async def test_a_clock_that_jumps(watched: Watched, jump: float) -> None:
    """A clock that is set, or a laptop that slept, costs no URL, and gives no burst."""
    await watched.meet()
    await watched.until(watched.later(2))
    watched.fetcher.requested.clear()
    watched.now += jump
    await watched.until(watched.later(0.2), 60)
    assert len(watched.fetcher.requested) <= 2 * 2 * 2
    watched.publish(SITES[0], 1, 2, 3)
    await watched.until(lambda: watched.found)
    assert watched.found == [("new", f"{SITES[0]}3")]


async def test_what_was_not_taken_comes_again(watched: Watched) -> None:
    """Entries are acknowledged by asking for more: a watch that ends before repeats them."""
    await watched.meet()
    for site in SITES:
        watched.publish(site, 1, 2, 3)
    watched.now += 5 * HOUR
    taken: list[str] = []
    for _ in range(2):
        async with watched.watch(limits=Limits(sites_at_once=1)) as changes:
            async for site, entries in changes.batches():
                taken.append(site)
                assert len(entries) == 1
                if len(taken) != 2:
                    break
        watched.now += HOUR / 2
    assert taken[0] == taken[1] != taken[2]


async def test_a_second_watch_is_refused(watched: Watched) -> None:
    """One state has one watch."""
    async with watched.watch():
        with pytest.raises(StateError, match="another") as error:
            async with watched.watch():
                pass
    assert error.value.is_locked
    await watched.meet()


async def test_it_ends_in_time(watched: Watched) -> None:
    """`max_time` is for how long to watch."""
    async with asyncio.timeout(9):
        async with watched.watch(
            limits=Limits(max_time=timedelta(seconds=0.2)), kinds=INITIAL
        ) as changes:
            found = [entry.loc async for entry in changes]
    assert len(found) == 4


@pytest.mark.cases(30)
@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        ({"pace": 0}, ValueError, "`pace` must be above 0"),
        ({"pace": -1}, ValueError, "`pace` must be above 0"),
        ({"pace": float("nan")}, ValueError, "`pace` must be above 0"),
        ({"pace": 3601}, ValueError, "at most 3600"),
        ({"tick_seconds": 0}, ValueError, "`tick_seconds` must be above 0"),
        ({"kinds": ["removed"]}, ValueError, "new, changed, unlisted, gone"),
        ({"kinds": []}, ValueError, "new, changed, unlisted, gone"),
        ({"kinds": "new"}, ValueError, "must be a list"),
        ({"changes": True}, TypeError, "no argument 'changes'"),
        ({"revisit": 3}, TypeError, "no argument 'revisit'"),
        ({"max_tiem": 3}, TypeError, "max_time"),
        ({"probe": "often"}, ValueError, "probe"),
    ],
)
def test_what_cannot_be_meant(
    watched: Watched, more: Any, kind: Any, said: str
) -> None:
    """Arguments that make no sense are refused at once, in words."""
    with pytest.raises(kind, match=said):
        watched.watch(**grouped(more))


@pytest.mark.parametrize(
    ("sites", "kind"),
    [("a.example", TypeError), ([], ValueError), (["a b"], ValueError)],
)
def test_sites_that_are_none(db: Path, sites: Any, kind: Any) -> None:
    """What is no list of sites is refused, too."""
    with pytest.raises(kind):
        watch(sites, state=db)


def test_a_file_is_no_site(db: Path) -> None:
    """Nothing in a single file says that it is all of a site."""
    db.with_name("a.xml").touch()
    task = find_source(str(db.with_name("a.xml")))
    with pytest.raises(ValueError, match=r"a\.xml is a single file: name its site"):
        watch([task], state=db)
