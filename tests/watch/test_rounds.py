"""Rounds: walks with a state that ask only for what is due."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Changes, State, walk, walk_many
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.clock import DAY, SetClock
from tests.support.grouping import grouped
from tests.support.serving import Answer, answer, serve_site
from tests.support.walking import (
    ROBOTS,
    SITE,
    Pages,
    index,
    read_site,
    status,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.walking import Walked


TOP, A, B, C = (f"{SITE}{name}.xml" for name in ("top", "a", "b", "c"))
HOUR = 3600


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


def pages(*numbers: int) -> list[str]:
    return [f"{SITE}{number}" for number in numbers]


def serve(**more: Any) -> Pages:
    return {
        ROBOTS: f"Sitemap: {TOP}\n".encode(),
        TOP: index(A, B),
        A: urlset(*pages(1, 2, 3)),
        B: urlset(*pages(11, 12, 13)),
    } | {f"{SITE}{name}.xml": body for name, body in more.items()}


class Rounds:
    """Walks over one site, a while after one another."""

    def __init__(self, db: Path, clock: SetClock) -> None:
        self.state, self._clock = State(db), clock

    async def walk(
        self, served: Pages, revisit: int | None = 1, hours: float = 1
    ) -> Walked:
        self._clock.now += hours * HOUR
        return await walk_all(served, state=self.state, changes=True, revisit=revisit)

    async def ask(self, served: Pages, *urls: str, hours: float = 24) -> Walked:
        """Make a round of these documents."""
        later = int(self._clock.now + hours * HOUR)
        with closing(sqlite3.connect(self.state.path)) as db, db:
            db.execute("UPDATE document SET asked_at = ?, not_before = 0", (later,))
            sql = "UPDATE document SET asked_at = 1 WHERE id = ?"
            known = db.execute("SELECT url, id FROM document").fetchall()
            db.executemany(sql, [(number,) for url, number in known if url in urls])
        return await self.walk(served, len(urls), hours)

    async def make_busy(self, url: str, number: int = 5) -> None:
        """Let one sitemap have news, so that its turn comes first."""
        for step in range(number):
            served = serve()
            served[url] = urlset(*pages(*range(100 * number, 100 * number + 10 * step)))
            await self.walk(served, None)


def find_waiting(rounds: Rounds) -> set[str]:
    return {row.loc for row in rounds.state.waiting()}


def find_unlisted(rounds: Rounds) -> set[str]:
    return {row.loc for row in rounds.state.unlisted()}


@pytest.fixture
def rounds(db: Path, clock: SetClock) -> Rounds:
    return Rounds(db, clock)


async def test_an_unknown_site_is_walked_in_full(rounds: Rounds) -> None:
    """The first walk asks for everything, whatever `revisit` says."""
    walked = await rounds.walk(serve())
    assert walked.locs == pages(1, 2, 3, 11, 12, 13)
    assert walked.report.complete


@pytest.mark.parametrize("before", [None, b"User-agent: *"])
async def test_a_robots_txt_that_was_kept_is_asked_for_a_day_later(
    rounds: Rounds, before: bytes | None
) -> None:
    """However often it was used meanwhile: what it names since is found."""
    served: Pages = {f"{SITE}sitemap.xml": urlset(*pages(1)), A: urlset(*pages(2))}
    first = served if before is None else served | {ROBOTS: before}
    assert (await rounds.walk(first)).locs == pages(1)
    later: Pages = served | {ROBOTS: f"Sitemap: {A}".encode()}
    found: list[str] = []
    for _ in range(26):
        found += (await rounds.walk(later)).locs
    assert found == pages(2)


async def test_only_what_is_due_is_asked(rounds: Rounds) -> None:
    """A round asks for so many sitemaps; the others are `not-due`, and the walk is complete."""
    await rounds.walk(serve())
    for _ in range(4):
        walked = await rounds.walk(serve(), 1)
        asked = [url for url in walked.requested if url != ROBOTS]
        assert len(asked) == 1
        assert walked.report.left_out == {"not-due": 2}
        assert walked.report.complete
        assert walked.report.waiting == 0
        assert walked.report.outcome.status == "unchanged"


async def test_nothing_is_due_at_once(rounds: Rounds) -> None:
    """Nothing is asked for twice within ten minutes."""
    await rounds.walk(serve())
    walked = await rounds.walk(serve(), 5, hours=0.1)
    assert walked.requested == []
    assert walked.report.left_out == {"not-due": 3}
    assert len((await rounds.walk(serve(), 5, hours=0.1)).requested) == 3


async def test_a_new_child_is_read_at_once(rounds: Rounds) -> None:
    """What an index lists for the first time is read in the same round, beyond its number."""
    await rounds.walk(serve())
    served = serve(c=urlset(*pages(21, 22)), top=index(A, B, C))
    found: list[str] = []
    for _ in range(4):
        walked = await rounds.walk(served, 1)
        found += walked.locs
        assert len(walked.requested) == (
            2 if TOP in walked.requested and walked.locs else 1
        )
    assert found == pages(21, 22)


async def test_a_url_that_moved_is_not_removed(rounds: Rounds) -> None:
    """What a sitemap no longer lists may be in one that was not asked for."""
    await rounds.walk(serve())
    await rounds.make_busy(A)
    await rounds.walk(serve(), None)
    moved = serve(a=urlset(*pages(2, 3)), b=urlset(*pages(1, 11, 12, 13)))
    for _ in range(20):
        walked = await rounds.walk(moved, 1)
        assert walked.report.unlisted == 0
        assert pages(1)[0] not in find_unlisted(rounds)


async def test_a_loss_is_told_when_all_was_asked(rounds: Rounds) -> None:
    """A URL is unlisted when every sitemap of its site was asked on two days since."""
    await rounds.walk(serve())
    gone = serve(a=urlset(*pages(2, 3)))
    asked: list[str] = []
    for _ in range(150):
        walked = await rounds.walk(gone, 1, hours=3)
        if asked or A in walked.requested:
            asked += {*walked.requested} - {ROBOTS}
        if walked.report.unlisted:
            break
    assert {*asked} == {TOP, A, B}
    assert min(map(asked.count, (TOP, A, B))) >= 2
    assert find_unlisted(rounds) == {*pages(1)}


@pytest.mark.cases(2)
@pytest.mark.parametrize("minutes", [0, 10, 20, 30])
async def test_a_loss_makes_quiet_sitemaps_due(rounds: Rounds, minutes: int) -> None:
    """Though others have news all day: a quarter of the requests, whenever these are made.

    A sitemap that answers 304 is read in full.
    """
    quiet = [f"{SITE}quiet-{number}.xml" for number in range(7)]
    busy = [f"{SITE}busy-{number}.xml" for number in range(3)]
    served: Pages = {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: index(*quiet, *busy)}
    lost = StoredResponse(quiet[0], urlset(*pages(1)), headers={"etag": '"less"'})
    number, day, waits, told = 100, 0.0, 99.0, 99.0
    await rounds.walk(served, None, minutes / 60)
    for url in quiet:
        body = urlset(*pages(1, 2) if url == quiet[0] else [f"{url}/page"])
        served[url] = StoredResponse(url, body, headers={"etag": '"same"'})
    while told == 99 and day < 30:
        number += 10
        served |= {url: urlset(f"{url}/{number}") for url in busy}
        if day >= 2:
            served[quiet[0]] = lost
        walked = await rounds.walk(served, None if day < 1 else 1, 4)
        if walked.report.waiting and pages(2)[0] in find_waiting(rounds):
            waits = min(day, waits)
        if pages(2)[0] in find_unlisted(rounds):
            told = day
        if day > 1:
            assert len({*walked.requested} - {ROBOTS, TOP}) <= 1
        day += 4 / 24
    assert told - waits <= 9 < 99 - waits


async def test_a_round_reads_in_full_what_it_asks_while_a_loss_waits(
    rounds: Rounds,
) -> None:
    """Of a hundred sitemaps the one that is due is read, though others were not for as long."""
    urls = [f"{SITE}{number}.xml" for number in range(100, 200)]
    served: Pages = {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: index(*urls)}
    for url in urls:
        body = urlset(f"{url}/page")
        served[url] = StoredResponse(url, body, headers={"etag": '"same"'})
    for hours in (0, 24):
        await rounds.walk(served, None, hours)
    assert (await rounds.ask(served, urls[-1])).outcome(urls[-1]) == ("unchanged", "")
    lost = StoredResponse(urls[0], urlset(), headers={"etag": '"less"'})
    assert (await rounds.ask(served | {urls[0]: lost}, urls[0])).report.waiting == 1
    asked = await rounds.ask(served | {urls[0]: lost}, urls[-1])
    assert asked.outcome(urls[-1]) == ("unchanged", "same-body")


async def test_a_list_that_is_whole_again_is_believed_when_it_is_asked(
    rounds: Rounds,
) -> None:
    """A round that does not ask a list tells what two full readings of it have shown."""
    await rounds.walk(serve(), None)
    await rounds.walk(serve(), None, 24)
    empty = serve(a=urlset())
    for _ in range(2):
        await rounds.ask(empty, A)
        assert find_unlisted(rounds) == set()
    for _ in range(2):
        await rounds.ask(serve(), B, TOP)
    assert find_unlisted(rounds) == {*pages(1, 2, 3)}
    await rounds.ask(serve(), A)
    assert find_unlisted(rounds) == set()


async def test_a_failure_keeps_its_reason(rounds: Rounds) -> None:
    """A sitemap whose last request failed counts as lost in each round, and is asked for later."""
    await rounds.walk(serve())
    down = serve(b=status(500, B))
    while B not in (walked := await rounds.walk(down, 1)).requested:
        pass
    walked = await rounds.walk(down, 3, hours=0.2)
    assert B not in walked.requested
    assert walked.outcome(B) == ("skipped", "http-status")
    assert not walked.report.complete
    assert B in (await rounds.walk(serve(), 3, hours=4)).requested
    assert (await rounds.walk(serve(), 1)).report.complete


async def test_robots_txt_is_asked_once_a_day(rounds: Rounds) -> None:
    """Rounds of a day use the robots.txt of the first, and count no request for it."""
    requests = asked = 0
    await rounds.walk(serve())
    for _ in range(15):
        walked = await rounds.walk(serve(), 1, hours=3)
        requests += walked.report.outcome.requests
        asked += len(walked.requested)
        assert walked.report.left_out["not-due"] == 2
    assert asked == requests == 15 + 1


async def test_a_loss_waits_for_robots_txt(rounds: Rounds) -> None:
    """A URL may have moved to a sitemap that only today's robots.txt names."""
    served: Pages = {ROBOTS: f"Sitemap: {A}\n".encode(), A: urlset(*pages(1, 2, 3))}
    await rounds.walk(served)
    await rounds.walk(served)
    served = {
        ROBOTS: f"Sitemap: {A}\nSitemap: {B}\n".encode(),
        A: urlset(*pages(2, 3)),
        B: urlset(*pages(1)),
    }
    asked: list[str] = []
    for _ in range(20):
        asked += (await rounds.walk(served, 1, hours=3)).requested
        assert not find_unlisted(rounds)
    assert B in asked
    gone = served | {B: urlset(*pages(9))}
    while not (unlisted := find_unlisted(rounds)):
        asked += (await rounds.walk(gone, 1, hours=3)).requested
    assert unlisted == {*pages(1)}


async def test_a_kept_robots_txt_is_as_old_as_its_request(rounds: Rounds) -> None:
    """However late it is used: what it did not name that day may have what is missing."""
    served: Pages = {ROBOTS: f"Sitemap: {A}\n".encode(), A: urlset(*pages(1, 2, 3))}
    for hours in (0, 24):
        await rounds.walk(served, None, hours)
    await rounds.walk(served, 1)
    served |= {A: urlset(*pages(2, 3)), C: urlset(*pages(1))}
    asked = []
    for later in (20, 3.9, 1.1, 23):
        walked = await rounds.walk(served, 1, later)
        asked.append(ROBOTS in walked.requested)
        assert (A in walked.requested, find_unlisted(rounds)) == (True, set())
    assert asked == [False, False, True, False]
    served[ROBOTS] = f"Sitemap: {A}\nSitemap: {C}\n".encode()
    assert C in (await rounds.walk(served, 1, 2)).requested
    assert find_unlisted(rounds) == set()


async def test_what_is_not_asked_is_not_missing(rounds: Rounds) -> None:
    """A sitemap that cannot be read is given up after a week; one that was not due never is."""
    await rounds.walk(serve(), None)
    await rounds.walk(serve(), None, 24)
    moved = serve(a=urlset(*pages(2, 3)), b=urlset(*pages(1, 11, 12, 13)))
    for _ in range(12):
        assert B not in (await rounds.ask(moved, A, TOP)).requested
        assert find_unlisted(rounds) == set()


@pytest.mark.parametrize("code", [404, 503])
async def test_what_is_not_there_is_kept(rounds: Rounds, code: int) -> None:
    """No robots.txt is a fact for a day, like wrong guesses; a server that is down is none."""
    home = f"{SITE}sitemap_index.xml"
    served: Pages = {ROBOTS: status(code), home: urlset(*pages(1, 2, 3))}
    first = await rounds.walk(served)
    later = [url for _ in range(5) for url in (await rounds.walk(served, 1)).requested]
    if code == 404:
        assert len(first.requested) > 2
        assert later == [home] * 5
    else:
        assert later.count(ROBOTS) == 5


async def test_a_kept_answer_that_is_damaged(rounds: Rounds) -> None:
    """It is asked for again."""
    await rounds.walk(serve(), None)
    assert ROBOTS in (await rounds.walk(serve())).requested
    assert ROBOTS not in (await rounds.walk(serve())).requested
    with closing(sqlite3.connect(rounds.state.path)) as db, db:
        db.execute("UPDATE cached_response SET body = x'00'")
    assert ROBOTS in (await rounds.walk(serve())).requested


SOFT = Answer(
    b"<!doctype html><title>Oops</title>", headers={"Content-Type": "text/html"}
)
LATE = "/sitemap-index.xml"


@pytest.mark.parametrize(
    ("default", "path", "page", "seldom", "often"),
    [
        (SOFT, "/map.xml", "/robots.txt", 0, 1),
        (SOFT, "/map.xml", "/", 16, 1),
        pytest.param(Answer(status=403), LATE, "", 2, 1, marks=pytest.mark.slow),
        pytest.param(answer(302, Location="/"), LATE, "", 2, 1, marks=pytest.mark.slow),
        (Answer(status=500), LATE, "", 2, 6),
        (SOFT, "", "", 16, 1),
    ],
    ids=["robots.txt", "link", "403", "redirected", "500", "none"],
)
async def test_guesses_are_asked_once_a_day(
    db: Path, default: Answer, path: str, page: str, seldom: int, often: int
) -> None:
    """In the rounds of a day only the sitemaps are asked for again, whatever a server says."""
    now = 1_790_000_000.0
    state = State(db, clock=lambda: now)
    async with serve_site(default) as site:
        names = (
            f"Sitemap: {site.base}{path}\n"
            if page == "/robots.txt"
            else "User-agent: *"
        )
        site.pages["/robots.txt"] = Answer(names.encode())
        link = f'<link rel="sitemap" href="{path}">' if page == "/" else ""
        site.pages["/"] = Answer(SOFT.body + link.encode(), headers=SOFT.headers)
        if path:
            site.pages[path] = Answer(urlset(f"{site.base}/1"))
        for _ in range(24):
            run = walk_many([site.base], state=Changes(state, revisit=1), trusted=True)
            async with run:
                assert (
                    len([entry async for _, batch in run.batches() for entry in batch])
                    <= 1
                )
            now += HOUR
        times = site.times
        assert times.pop(path, 24) == 24
        assert times.pop("/robots.txt") == 1
        assert times.pop("/", 0) <= (2 if default.status == 302 else 1)
        assert len(times) == seldom
        assert set(times.values()) <= {*range(1, often + 1)}
        assert max(times.values(), default=often) > often - 2


@pytest.mark.slow
async def test_a_dropped_child_is_forgotten_by_rounds(rounds: Rounds) -> None:
    """Only when its index was asked for a day later is what it dropped gone."""
    await rounds.walk(serve())
    without = serve(top=index(A))
    hours = 0
    while not (removed := find_unlisted(rounds)):
        hours += 1
        await rounds.walk(without, 1)
        assert hours < 24 * 10
    assert removed == {*pages(11, 12, 13)}
    assert hours >= 23


async def test_what_a_filter_held_back_is_asked_for(rounds: Rounds) -> None:
    """A wider filter reads what a narrower one kept back, whatever is due."""
    rounds_state = rounds.state
    fetcher = MemoryFetcher(serve())
    async with walk(
        SITE, state=Changes(rounds_state), include="/1", fetcher=fetcher
    ) as entries:
        assert [entry.loc async for entry in entries] == pages(1, 11, 12, 13)
    walked = await rounds.walk(serve(), 1, hours=0.1)
    assert set(walked.locs) == {*pages(2, 3)}


async def test_many_sites_share_the_number(db: Path, clock: SetClock) -> None:
    """A run asks for so many sitemaps of all sites together; a site with none is not asked."""
    sites = [f"https://s{number}.example/" for number in range(5)]
    served: Pages = {}
    for site in sites:
        served[f"{site}robots.txt"] = f"Sitemap: {site}map.xml".encode()
        served[f"{site}map.xml"] = urlset(f"{site}1")
    for revisit, names in ((2, sites), (2, sites), (2, sites[:1])):
        clock.now += DAY
        fetcher = MemoryFetcher(served)
        run = walk_many(names, state=Changes(db, revisit=revisit), fetcher=fetcher)
        async with run:
            entries = [entry async for _, batch in run.batches() for entry in batch]
        reasons = [outcome.reason for outcome in run.outcomes]
        maps = [url for url in fetcher.requested if url.endswith("map.xml")]
        if entries:  # the first one knows no site
            assert (len(entries), len(maps)) == (5, 5)
        else:
            assert len(maps) == min(2, len(names))
            assert reasons.count("not-due") == len(names) - len(maps)
            assert sum(outcome.requests for outcome in run.outcomes) == 2 * len(maps)
            for each in run.outcomes:
                assert each.due
                assert each.news_waiting or each.requests
                assert each.due.timestamp() >= clock.now + 600 * bool(each.requests)


@pytest.mark.parametrize(
    "headers", [{}, {"Retry-After": "1800"}], ids=["503", "Retry-After"]
)
async def test_rounds_never_wait(db: Path, headers: dict[str, str]) -> None:
    """A host that is down is asked once for each, without a pause; what failed is due later."""
    now = 1_790_000_000.0
    state = State(db, clock=lambda: now)
    async with (
        serve_site(Answer(status=503, headers=headers)) as site,
        asyncio.timeout(9),
    ):
        maps = [f"/{number}.xml" for number in range(7)]
        site.pages = {path: Answer(urlset(f"{site.base}{path}/1")) for path in maps}
        site.pages["/robots.txt"] = Answer(
            "".join(f"Sitemap: {site.base}{path}\n" for path in maps).encode()
        )
        arguments: Any = {"state": state, "changes": True, "revisit": 9}
        assert len((await read_site(site.base, **arguments)).locs) == 7
        for path in maps:
            del site.pages[path]
        site.requested.clear()
        now += HOUR
        async with walk_many([site.base], trusted=True, **grouped(arguments)) as run:
            assert [entry async for _, batch in run.batches() for entry in batch] == []
        assert max(site.times.values()) == 1
        now += HOUR / 4
        assert {each.due.timestamp() > now for each in state.plan(9)} == {True}
        now += HOUR
        assert [each.due.timestamp() for each in state.plan(9)] == [now] * 7


async def test_a_loss_is_as_old_as_the_round_that_saw_it(rounds: Rounds) -> None:
    """A child that is met later, and empty that day, may have it: its index was not asked since."""
    listed = pages(*range(50))
    await rounds.walk(serve(a=urlset(*listed)))
    for day in range(5):
        listed += pages(100 + day)
        await rounds.walk(serve(a=urlset(*listed)), None, 24)
    moved = serve(a=urlset(*listed[1:]), top=index(A, B, C), c=urlset(listed[0]))
    walked = await rounds.walk(moved, 1, 24)
    assert A in walked.requested
    assert TOP not in walked.requested
    for lie in ({C: urlset()}, {}, {}):
        await rounds.walk(moved | lie, None, 24)
        assert sorted(row.loc for row in rounds.state.unlisted()) == []


async def test_indexes_are_asked_together_where_something_is_missing(
    rounds: Rounds,
) -> None:
    """Else a child that goes from one to another is seen in neither, nor what moved there."""
    more, new = f"{SITE}more.xml", f"{SITE}new.xml"
    robots = {ROBOTS: f"Sitemap: {TOP}\nSitemap: {more}\n".encode(), more: index(C)}
    served = serve(c=urlset(*pages(21))) | robots
    await rounds.walk(served, None)
    await rounds.walk(served, None, 24)

    served |= {A: urlset(*pages(1, 2)), more: index(C, new), new: urlset(*pages(3))}
    assert more not in (await rounds.ask(served, A, TOP)).requested
    served |= {TOP: index(A, B, new), more: index(C)}
    assert {TOP, new} < {*(await rounds.ask(served, A, B, C, more)).requested}
    assert find_unlisted(rounds) == set()
