"""The law of unlisted URLs, where a site lists less than it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from clock import DAY, SetClock
from walking import ROBOTS, SITE, Pages, Walked, index, status, urlset, walk_all

from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.issues import IssueCode
from sitemapreader.state import State
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOP, ONE, TWO, FEED = (f"{SITE}{name}" for name in ("top.xml", "one.xml", "two.xml", "feed"))
HTML = b"<!DOCTYPE html><html><head><title>Log in</title></head><body><form></form></body></html>"
HOUR = 3600


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


def pages(*numbers: int) -> list[str]:
    return [f"{SITE}{number}" for number in numbers]


def rss(*numbers: int, head: str = "") -> bytes:
    items = "".join(f"<item><link>{url}</link></item>" for url in pages(*numbers))
    return f'<rss version="2.0"><channel><title>F</title>{head}{items}</channel></rss>'.encode()


def atom(*numbers: int, head: str = "") -> bytes:
    items = "".join(f'<entry><link href="{url}"/></entry>' for url in pages(*numbers))
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{head}{items}</feed>'.encode()


def news(*numbers: int) -> bytes:
    records = "".join(
        f"<url><loc>{url}</loc><n:news><n:title>T</n:title></n:news></url>"
        for url in pages(*numbers)
    )
    name = "http://www.google.com/schemas/sitemap-news/0.9"
    return urlset().replace(b"></urlset>", f' xmlns:n="{name}">{records}</urlset>'.encode())


class Told:
    """Walks over pages in memory, one after another, and what each told."""

    walked: Walked

    def __init__(self, db: Path, clock: SetClock, **options: Any) -> None:
        self._state, self._clock = State(db, **options), clock
        self._known: set[str] = set()

    async def walk(
        self, served: Mapping[str, Any], later: float = DAY, **arguments: Any
    ) -> list[str]:
        """Walk; return the URLs that became unlisted."""
        self._clock.now += later
        given: dict[str, Any] = {"sitemaps": [TOP]} if TOP in served else {}
        site = None if given else SITE
        self.walked = await walk_all(
            served, site, state=self._state, changes=True, **given, **arguments
        )
        before, self._known = self._known, {row.loc for row in self._state.unlisted()}
        return sorted(loc.removeprefix(SITE) for loc in self._known - before)


@pytest.fixture
def told(db: Path, clock: SetClock) -> Told:
    return Told(db, clock)


# -- windows


@pytest.mark.parametrize("write", [rss, atom, news])
async def test_what_leaves_a_window_is_not_removed(told: Told, write: Any) -> None:
    """Old items of a feed, and news that are some days old, leave; they are not new later."""
    assert await told.walk({TOP: write(1, 2, 3)}) == []
    assert await told.walk({TOP: write(3, 4, 5)}) == []
    assert told.walked.report.left == 2
    assert await told.walk({TOP: write(4, 5, 6)}) == []
    assert await told.walk({TOP: write(1, 5, 6)}) == []
    assert pages(1)[0] not in told.walked.locs


@pytest.mark.parametrize("write", [rss, atom])
async def test_a_complete_feed_is_a_list(told: Told, write: Any) -> None:
    """What a feed with `fh:complete` no longer lists is removed (RFC 5005, section 2)."""
    head = '<fh:complete xmlns:fh="http://purl.org/syndication/history/1.0"/>'
    assert await told.walk({TOP: write(1, 2, 3, head=head)}) == []
    assert await told.walk({TOP: write(2, 3, head=head)}) == []
    assert await told.walk({TOP: write(2, 3, head=head)}) == ["1"]


async def test_a_url_that_a_list_lost_too_is_removed(told: Told) -> None:
    """That it left the feed first says nothing of it; that a list no longer has it does."""
    listed = {TOP: index(FEED, ONE), FEED: rss(1, 2), ONE: urlset(*pages(1, 2, 3, 4, 5, 6))}
    assert await told.walk(listed) == []
    listed |= {FEED: rss(7, 8), ONE: urlset(*pages(1, 2, 3, 4, 5, 6, 7, 8))}
    assert await told.walk(listed) == []
    listed |= {ONE: urlset(*pages(2, 3, 4, 5, 6, 7, 8))}
    assert await told.walk(listed) == []
    assert await told.walk(listed) == ["1"]
    listed |= {ONE: urlset(*pages(1, 2, 3, 4, 5, 6, 7, 8))}
    await told.walk(listed)
    assert told.walked.locs == pages(1)  # new again


async def test_what_left_is_forgotten_in_the_end(told: Told, db: Path) -> None:
    """After 90 days a URL that left a feed is unknown; the state of a feed does not grow."""
    for day in range(95):
        assert await told.walk({TOP: rss(day, day + 1)}) == []
    (site,) = State(db).sites()
    assert 88 <= site.left <= 91


# -- documents that shrink


@pytest.mark.parametrize(
    "lie",
    [urlset(), urlset(*pages(*range(9))), b"", HTML, f"{SITE}\n".encode(), rss(1, 2), index()],
    ids=["empty", "few", "nothing", "page", "text", "feed", "index"],
)
async def test_a_fault_of_a_day_removes_nothing(told: Told, lie: bytes) -> None:
    """A list that is short, empty or something else for a day, is read twice: nothing is gone."""
    whole, bad = {TOP: urlset(*pages(*range(40)))}, {TOP: lie}
    for served, hours in ((whole, 24), (bad, 24), (bad, 12), (whole, 12), (bad, 24), (whole, 24)):
        assert await told.walk(served, hours * HOUR) == []
    assert told.walked.locs == []


async def test_a_loss_that_stays_is_a_removal(told: Told) -> None:
    """A list that is as short a day later has lost what it no longer lists."""
    await told.walk({TOP: urlset(*pages(*range(40)))})
    assert await told.walk({TOP: urlset(*pages(*range(9)))}) == []
    (issue,) = told.walked.report.issues
    assert (issue.code, issue.sitemap, issue.value) == ("shrunk", TOP, "9 URLs listed, 31 missing")
    assert len(await told.walk({TOP: urlset(*pages(*range(9)))})) == 31


async def test_a_url_that_moved_while_its_list_was_short(told: Told) -> None:
    """A short list says nothing of it: it is missing from the day on which the list is whole."""
    whole, others = pages(*range(1, 40)), {TWO: urlset(*pages(90))}
    await told.walk({TOP: index(ONE, TWO), ONE: urlset(*pages(0), *whole), **others})
    short = {TOP: index(ONE, TWO), ONE: urlset(*whole[:8]), **others}
    assert await told.walk(short) == []
    moved = {TOP: index(ONE, TWO, FEED), ONE: urlset(*whole), FEED: urlset(), **others}
    assert await told.walk(moved) == []
    for _ in range(3):
        assert await told.walk(moved | {FEED: urlset(*pages(0))}) == []


async def test_the_figures_are_options(db: Path, clock: SetClock) -> None:
    """How large a list must be to have shrunk, and how long its loss is doubted, can be said."""
    from datetime import timedelta  # noqa: PLC0415

    told = Told(db, clock, shrunk_from=50, confirm_after=timedelta(hours=1))
    for numbers, shrunk in ((40, 0), (9, 0), (60, 0), (9, 1)):
        await told.walk({TOP: urlset(*pages(*range(numbers)))})
        assert told.walked.report.counts[IssueCode.SHRUNK] == shrunk
    assert len(await told.walk({TOP: urlset(*pages(*range(9)))}, 2 * HOUR)) == 51


@pytest.mark.parametrize("kept", [0, 1])
async def test_an_index_that_drops_children_for_a_day(told: Told, kept: int) -> None:
    """Children that their index does not list keep their URLs until it omits them a day later."""
    children = {ONE: urlset(*pages(1, 2)), TWO: urlset(*pages(3, 4))}
    whole = {TOP: index(ONE, TWO), **children}
    short = {TOP: index(*[ONE, TWO][:kept]), **children}
    for served in (whole, short, whole, short):
        assert await told.walk(served) == []
    assert told.walked.report.waiting == (2 if kept else 4)
    gone = await told.walk(short)
    assert gone == (["3", "4"] if kept else ["1", "2", "3", "4"])


async def test_a_url_that_moved_into_a_new_document(told: Told) -> None:
    """A new document that is empty on its first day may have what the others lost."""
    await told.walk({TOP: index(ONE), ONE: urlset(*pages(1, 2, 3))})
    moved = {TOP: index(ONE, TWO), ONE: urlset(*pages(1, 2)), TWO: urlset()}
    assert await told.walk(moved) == []
    assert await told.walk(moved, 12 * HOUR) == []
    assert await told.walk(moved | {TWO: urlset(*pages(3))}, 12 * HOUR) == []
    assert await told.walk(moved | {TWO: urlset(*pages(3))}) == []


async def test_a_renamed_document_that_is_half_for_a_day(told: Told) -> None:
    """Its date, which tells of each change, does not tell that half of it was missing."""

    def renamed(day: int, *numbers: int) -> Pages:
        return {TOP: index((TWO, f"2023-11-0{day + 1}")), TWO: urlset(*pages(*numbers))}

    await told.walk({TOP: index(ONE), ONE: urlset(*pages(1, 2, 3))})
    assert await told.walk(renamed(0, 1)) == []
    assert await told.walk(renamed(1, 1, 2), 12 * HOUR) == []
    assert await told.walk(renamed(1, 1, 2, 3), 12 * HOUR) == []
    assert await told.walk(renamed(1, 1, 2, 3)) == []


async def test_a_new_list_that_stays_empty_is_not_waited_for(told: Told) -> None:
    """An empty sitemap holds up the removals of its site for a week, not for ever."""
    assert await told.walk({TOP: index(TWO), TWO: urlset(*pages(1, 2, 3))}) == []
    served = {TOP: index(TWO, ONE), ONE: urlset(), TWO: urlset(*pages(2, 3))}
    removed = [url for _ in range(10) for url in await told.walk(served)]
    assert removed == ["1"]


async def test_a_url_that_moved_into_a_child_that_is_left_out(told: Told) -> None:
    """A walk that follows one child only cannot tell what moved into the other one."""
    await told.walk({TOP: index(ONE, TWO), ONE: urlset(*pages(1, 2, 3)), TWO: urlset(*pages(4))})
    moved = {TOP: index(ONE, TWO), ONE: urlset(*pages(1, 2)), TWO: urlset(*pages(4, 3))}
    assert await told.walk(moved, follow=lambda entry: entry.loc == ONE) == []
    assert await told.walk(moved) == []


async def test_a_list_loses_a_url_before_the_feed_does(told: Told) -> None:
    """A page that a list lost is removed when the feed, which lags behind, no longer has it."""
    listed = {TOP: index(FEED, ONE), FEED: rss(1, 2), ONE: urlset(*pages(*range(1, 7)))}
    await told.walk(listed)
    listed |= {ONE: urlset(*pages(*range(2, 7)))}
    for _ in range(3):
        assert await told.walk(listed) == []
    listed |= {FEED: rss(2, 3)}
    assert "1" in await told.walk(listed) + await told.walk(listed)


async def test_a_child_that_goes_from_index_to_index(told: Told) -> None:
    """What nothing names is gone when two walks have asked all indexes, not each of them once."""
    a, b = (f"{SITE}{name}.xml" for name in "ab")
    lists = {name: urlset(*pages(k)) for k, name in enumerate((ONE, TWO, FEED))}
    named = {k: "\n".join(f"Sitemap: {name}" for name in (a, b)[:k]).encode() for k in (1, 2)}
    served = {ROBOTS: named[2], a: index(ONE, FEED), b: index(TWO), **lists}
    assert await told.walk(served) == []
    for later in (DAY, 12 * HOUR):  # `b` has ONE and TWO by now, but nothing names it
        assert await told.walk(served | {ROBOTS: named[1], a: index(FEED)}, later) == []
    assert await told.walk(served | {a: status(503)}, 12 * HOUR) == []
    assert await told.walk(served) == []


async def test_a_child_that_always_fails_hides_no_drop_for_ever(told: Told) -> None:
    """After a week what an index drops is removed, though a child was never read."""
    broken = f"{SITE}broken.xml"
    both: Pages = {TOP: index(ONE, TWO, broken), ONE: urlset(*pages(1)), TWO: urlset(*pages(2))}
    both |= {broken: status(500, broken)}
    await told.walk(both)
    gone = [await told.walk(both | {TOP: index(ONE, broken)}) for _ in range(12)]
    assert [url for day in gone for url in day] == ["2"]


async def test_a_walk_that_is_resumed_a_day_later(db: Path, clock: SetClock) -> None:
    """A loss that a resumed walk found is as old as the resumption, not as the walk."""
    whole, bad = {TOP: urlset(*pages(*range(1000)))}, {TOP: urlset(*pages(*range(20)))}
    told = Told(db, clock)
    await told.walk(whole)
    changed = urlset(*((url, "2026-01-01") for url in pages(*range(1000))))
    clock.now += DAY
    fetcher = MemoryFetcher({TOP: changed})
    async with walk(sitemaps=[TOP], state=db, changes=True, fetcher=fetcher) as entries:
        async for _ in entries:
            break
    assert await told.walk(bad, 23.5 * HOUR) == []
    assert await told.walk(bad, HOUR) == []


# -- a site that is down, and says 200


@pytest.mark.parametrize("target", ["", "robots.txt", "top.xml", "one.xml", "login"])
async def test_children_that_redirect_to_one_page(told: Told, target: str) -> None:
    """Twenty children that all lead to one page for some days keep their URLs; one is lost."""
    children = {f"{SITE}c{k}.xml": urlset(*pages(10 * k, 10 * k + 1)) for k in range(20)}
    named = b"Sitemap: https://example.org/top.xml"
    whole = {ROBOTS: named, TOP: index(ONE, *children), ONE: urlset(*pages(1000)), **children}
    bodies = {"robots.txt": named, "top.xml": whole[TOP], "one.xml": whole[ONE]}
    away = StoredResponse(SITE + target, bodies.get(target, HTML))
    down = whole | dict.fromkeys(children, away)
    days = (whole, down) if target == "one.xml" else (whole, down, down, down)
    for served in days:
        assert await told.walk(served) == []
    if target != "one.xml":  # which is a sitemap: each of them may have moved there
        assert any(each.is_lost for each in told.walked.report.documents)
    assert await told.walk(whole) == []
    assert told.walked.locs == []


@pytest.mark.parametrize(
    "robots",
    [HTML, b'{"status": "down"}', b"", b"User-agent: *\n", status(404), status(503)],
    ids=["page", "json", "empty", "rules only", "404", "503"],
)
async def test_a_robots_txt_that_names_nothing_for_a_day(told: Told, robots: Any) -> None:
    """Sitemaps that only robots.txt names keep their URLs while it names none."""
    served: Pages = {ROBOTS: f"Sitemap: {ONE}\n".encode(), ONE: urlset(*pages(1, 2, 3))}
    assert await told.walk(served) == []
    assert await told.walk(served | {ROBOTS: robots}) == []
    assert told.walked.report.waiting in (0, 3)  # where it is unreachable, nothing is missing
    assert await told.walk(served) == []
    assert told.walked.locs == []


# -- words that prove nothing


async def test_a_constant_etag_hides_nothing_for_ever(told: Told) -> None:
    """A server whose ETag never changes is asked for all bytes once a month, and then always."""

    def serve(*numbers: int) -> Pages:
        return {TOP: StoredResponse(TOP, urlset(*pages(*numbers)), headers={"etag": '"x"'})}

    await told.walk(serve(1))
    new = []
    for day in range(1, 40):
        await told.walk(serve(1, 2))
        new += [day for url in told.walked.locs if url == pages(2)[0]]
    assert new == [30]
    await told.walk(serve(1, 2, 3))
    assert told.walked.locs == pages(3)


async def test_a_url_that_moved_behind_a_constant_etag(told: Told) -> None:
    """Before a URL is removed, a document that was never seen to change is read in full."""

    def serve(one: list[str], two: list[str]) -> Pages:
        return {
            TOP: index(ONE, TWO),
            ONE: urlset(*one),
            TWO: StoredResponse(TWO, urlset(*two), headers={"etag": '"x"'}),
        }

    await told.walk(serve(pages(1, 2, 3, 4, 5), pages(6)))
    for _ in range(3):
        assert await told.walk(serve(pages(1, 2, 3), pages(6, 4))) == (["5"] if _ == 2 else [])


async def test_a_fault_under_a_new_date_is_not_confirmed_by_that_date(told: Told) -> None:
    """The index dates a change of the day on which a list was wrong: its bytes are asked again."""

    def serve(day: int, *numbers: int) -> Pages:
        return {TOP: index((ONE, f"2020-01-{day:02}")), ONE: urlset(*pages(*numbers))}

    for day in (1, 2, 3):  # an honest index
        assert await told.walk(serve(day, *range(day, 40))) == ([] if day < 3 else ["1"])
    whole = range(4, 40)
    assert await told.walk(serve(4, 99)) == ["2"]
    for _ in range(3):
        assert {*await told.walk(serve(4, *whole))} <= {"3", "99"}


async def test_another_notation_of_a_moment_is_no_change(told: Told) -> None:
    """The same moment in another zone or precision is the same record; another moment is not."""
    for lastmod, differs in (
        ("2026-01-02", True),
        ("2026-01-02T00:00:00Z", False),
        ("2026-01-02T00:00:00+00:00", False),
        ("2026-01-02T02:00:00+02:00", False),
        ("2026-01-02T02:00:00+01:00", True),
    ):
        await told.walk({TOP: urlset((pages(1)[0], lastmod))})
        assert bool(told.walked.locs) is differs


@pytest.mark.parametrize(("indexes", "events"), [(0, 1), (2, 4)])
async def test_walks_that_are_all_resumed(
    db: Path, clock: SetClock, indexes: int, events: int
) -> None:
    """A site whose every walk is stopped once loses what is gone, and no later than others."""
    lists = {ONE: urlset(*pages(1, 2, 3)), TWO: urlset(*pages(4, 5, 6))}
    roots = {TOP: index(ONE), FEED: index(TWO)} if indexes else {}

    def serve(*names: str) -> Pages:
        named = b"\n".join(f"Sitemap: {name}".encode() for name in (*roots, *names))
        return {ROBOTS: named, **roots, **lists}

    async def go(served: Pages) -> set[str]:
        clock.now += DAY
        fetcher = MemoryFetcher(served)
        async with walk(SITE, fetcher=fetcher, state=State(db), changes=True) as entries:
            stopped = 0
            async for _ in entries.events():
                stopped += 1
                if stopped == events:
                    break
        clock.now += 60
        await walk_all(served, state=State(db), changes=True)
        return {row.loc for row in State(db).unlisted()}

    await go(serve() if indexes else serve(ONE, TWO))
    lists[TWO] = urlset(*pages(4, 5))
    served = serve() if indexes else serve(ONE)
    assert any([await go(served) for _ in range(5)])
