"""The law of unlisted URLs, where a site lists less than it did."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Changes, walk
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import Limits
from sitemapreader.changes import State
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.clock import DAY, SetClock
from tests.support.grouping import grouped
from tests.support.walking import (
    ROBOTS,
    SITE,
    Pages,
    Walked,
    at_once,
    fault,
    index,
    status,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOP, ONE, TWO, FEED = (
    f"{SITE}{name}" for name in ("top.xml", "one.xml", "two.xml", "feed")
)
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
    return urlset().replace(
        b"></urlset>", f' xmlns:n="{name}">{records}</urlset>'.encode()
    )


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


async def test_what_left_is_forgotten_in_the_end(told: Told, db: Path) -> None:
    """After 90 days a URL that left a feed is unknown; the state of a feed does not grow."""
    for day in range(0, 100, 5):
        assert await told.walk({TOP: rss(day, day + 5)}, 5 * DAY) == []
    (site,) = State(db).sites()
    assert 17 <= site.left <= 19


@pytest.mark.parametrize("broken", ["1", "12"])
async def test_a_list_whose_records_are_broken_proves_little(
    told: Told, broken: str
) -> None:
    """One notice of PHP in each loc removes no page for seven days; what is repaired is known."""
    good = urlset(*pages(1, 2, 3))
    bad = good
    for number in broken:
        loc = f"{SITE}{number}</loc>".encode()
        bad = bad.replace(loc, loc.replace(b"</", b"<br/>Notice</"))
    assert await told.walk({TOP: good}) == []
    for _ in range(7):
        assert await told.walk({TOP: bad}) == []
    assert await told.walk({TOP: good}) == []
    assert told.walked.locs == []


# -- stories of sites: what is served day by day, and the pages that become unlisted then

THREE = f"{SITE}three.xml"


def listing(**lists: Any) -> Pages:
    """Serve an index, and the lists below it: numbers of pages, or an answer."""
    urls = {f"{SITE}{name}.xml": each for name, each in lists.items()}
    bodies = {
        u: urlset(*pages(*each)) if isinstance(each, list) else each
        for u, each in urls.items()
    }
    return {TOP: index(*urls), **bodies}


def dated(day: int, *numbers: int) -> Pages:
    return {TOP: index((TWO, f"2023-11-0{day}")), TWO: urlset(*pages(*numbers))}


def constant(one: list[int], two: list[int]) -> Pages:
    """Serve two lists; the second has one ETag, whatever it lists, so it seems never to change."""
    tagged = StoredResponse(TWO, urlset(*pages(*two)), headers={"etag": '"x"'})
    return listing(one=one, two=tagged)


def named(*indexes: bytes, down: bool = False) -> Pages:
    """Serve one or two indexes by robots.txt, and three lists of a page each."""
    urls = [f"{SITE}{name}.xml" for name in "ab"][: len(indexes)]
    lists = {url: urlset(*pages(n)) for n, url in enumerate((ONE, TWO, THREE))}
    robots = "\n".join(f"Sitemap: {url}" for url in urls).encode()
    served: Pages = {ROBOTS: robots, **dict(zip(urls, indexes, strict=True)), **lists}
    return served | ({urls[0]: status(503)} if down else {})


SIX, MISSING = list(range(1, 7)), status(404, TWO)
HEAD = '<fh:complete xmlns:fh="http://purl.org/syndication/history/1.0"/>'
WHOLE, HALF = listing(one=[1, 2], two=[3, 4]), DAY / 2
STORIES: dict[str, list[tuple[Any, ...]]] = {
    "a complete feed is a list (RFC 5005, section 2)": [
        ({TOP: atom(1, 2, 3, head=HEAD)}, ""),
        ({TOP: rss(2, 3, head=HEAD)}, ""),
        ({TOP: rss(2, 3, head=HEAD)}, "1"),
    ],
    "that it left the feed says nothing, that a list has lost it does": [
        (listing(feed=rss(1, 2), one=SIX), ""),
        (listing(feed=rss(7, 8), one=[*SIX, 7, 8]), ""),
        (listing(feed=rss(7, 8), one=[*SIX[1:], 7, 8]), ""),
        (listing(feed=rss(7, 8), one=[*SIX[1:], 7, 8]), "1"),
    ],
    "the feed has it longer than its list": [
        (listing(feed=rss(1, 2), one=SIX), ""),
        *[(listing(feed=rss(1, 2), one=SIX[1:]), "")] * 3,
        (listing(feed=rss(2, 3), one=SIX[1:]), ""),
        (listing(feed=rss(2, 3), one=SIX[1:]), "1"),
    ],
    "it moves while its list is short": [
        (listing(one=list(range(40)), two=[90]), ""),
        (listing(one=list(range(1, 9)), two=[90]), ""),
        (listing(one=list(range(1, 40)), two=[90], three=[]), ""),
        *[(listing(one=list(range(1, 40)), two=[90], three=[0]), "")] * 3,
    ],
    "an index drops a child for a day, and then for good": [
        *[(WHOLE, ""), (WHOLE | {TOP: index(ONE)}, "")] * 2,
        (WHOLE | {TOP: index(ONE)}, "3 4"),
    ],
    "a child that was not named for a day comes back without a page": [
        (WHOLE, ""),
        (WHOLE | {TOP: index(ONE)}, ""),
        (listing(one=[1, 2], two=[3]), ""),
        (listing(one=[1, 2], two=[3]), "4"),
    ],
    "an index drops all children for a day, and then for good": [
        *[(WHOLE, ""), (WHOLE | {TOP: index()}, "")] * 2,
        (WHOLE | {TOP: index()}, "1 2 3 4"),
    ],
    "it moves into a new document that is empty at first": [
        (listing(one=[1, 2, 3]), ""),
        (listing(one=[1, 2], two=[]), ""),
        (listing(one=[1, 2], two=[]), "", HALF),
        (listing(one=[1, 2], two=[3]), "", HALF),
        (listing(one=[1, 2], two=[3]), ""),
    ],
    "a renamed document is half for a day, under a date that tells of each change": [
        (listing(one=[1, 2, 3]), ""),
        (dated(1, 1), ""),
        (dated(2, 1, 2), "", HALF),
        (dated(2, 1, 2, 3), "", HALF),
        (dated(2, 1, 2, 3), ""),
    ],
    "an empty list is waited for on its two days only": [
        (listing(two=[1, 2, 3]), ""),
        (listing(two=[2, 3], one=[]), ""),
        (listing(two=[2, 3], one=[]), "1"),
    ],
    "a child goes to an index that nothing names any more": [
        (named(index(ONE, THREE), index(TWO)), ""),
        (named(index(THREE)), ""),
        (named(index(THREE)), "", HALF),
        (named(index(ONE, THREE), index(TWO), down=True), "", HALF),
        (named(index(ONE, THREE), index(TWO)), ""),
    ],
    "before it is told, a document that was never seen to change is read in full": [
        (constant([1, 2, 3, 4, 5], [6]), ""),
        # 5 is gone; 4 has moved to the list that is not read again while its ETag is the same
        *[(constant([1, 2, 3], [6, 4]), "")] * 2,
        (constant([1, 2, 3], [6, 4]), "5"),
    ],
    "a child that is missing keeps its own for a week, and what others lost waits for it": [
        (listing(one=[1, 2], two=[8, 9]), ""),
        *[(listing(one=[2], two=MISSING), "")] * 7,
        (listing(one=[2], two=MISSING), "1 8 9"),
    ],
    "a child that fails keeps its own, and for a week what others lost waits for it": [
        (listing(one=[1, 2], two=[8, 9]), ""),
        *[(listing(one=[2], two=status(503, TWO)), "")] * 7,
        (listing(one=[2], two=status(503, TWO)), "1"),
        (listing(one=[2]), ""),
        (listing(one=[2]), "8 9"),
    ],
    "it moves while its old list fails": [
        (listing(one=[1, 2], two=[8]), ""),
        (listing(one=fault(IssueCode.TIMEOUT, ONE), two=[8, 2]), ""),
        *[(listing(one=[1], two=[8, 2]), "")] * 2,
        (listing(one=[1], two=[8]), ""),
        (listing(one=[1], two=[8]), "2"),
    ],
    "a list is read in part": [
        (listing(one=[1, 2], two=[8]), ""),
        *[(listing(one=urlset(*pages(1, 2))[:-60], two=[8]), "")] * 3,
        (listing(one=[1], two=[8]), ""),
        (listing(one=[1], two=[8]), "2"),
    ],
    "a new document that fails may be an index": [
        (listing(one=[1], two=[8]), ""),
        *[(listing(deep=fault(IssueCode.DNS, f"{SITE}deep.xml"), two=[8]), "")] * 3,
        (listing(deep=index(ONE), two=[8]) | {ONE: urlset(*pages(1))}, ""),
    ],
    "each day another new document fails, and the last one has it": [
        (listing(one=[1], two=[8]), ""),
        *[
            (listing(two=[8], **{name: status(503, f"{SITE}{name}.xml")}), "")
            for name in "abcdef"
        ],
        (listing(two=[8], g=[1]), ""),
    ],
    "a new document that fails is an index at last, of one that fails": [
        (listing(one=[1], two=[8]), ""),
        *[(listing(deep=status(503, f"{SITE}deep.xml"), two=[8]), "")] * 2,
        *[(listing(deep=index(THREE), two=[8]) | {THREE: status(503, THREE)}, "")] * 2,
        (listing(deep=index(THREE), two=[8]) | {THREE: urlset(*pages(1))}, ""),
    ],
}


@pytest.mark.cases(19)
@pytest.mark.parametrize("story", STORIES)
async def test_stories(told: Told, story: str) -> None:
    """Only what no document lists becomes unlisted, and on the second day."""
    for day, (served, unlisted, *later) in enumerate(STORIES[story]):
        assert await told.walk(served, *later) == unlisted.split(), f"on day {day}"


DEEP = f"{SITE}deep.xml"
BELOW: Pages = listing(deep=index(ONE), two=[8]) | {ONE: urlset(*pages(1))}


@pytest.mark.parametrize(
    ("other", "arguments"),
    [
        ({DEEP: status(404, DEEP)}, {}),
        ({}, {"follow": lambda entry: entry.loc != DEEP}),
        ({}, {"limits": Limits(depth=1)}),
        ({DEEP: index(THREE, ONE)[:-60], THREE: urlset()}, {}),
    ],
    ids=["missing", "follow", "depth", "cut"],
)
async def test_what_an_unread_index_listed_is_kept(
    told: Told, other: Pages, arguments: dict[str, Any]
) -> None:
    """The documents below an index that was not read are there until it says otherwise."""
    await told.walk(BELOW)
    for _ in range(3):
        assert await told.walk(BELOW | other, **grouped(arguments)) == []


# -- documents that shrink


@pytest.mark.parametrize(
    "lie",
    [urlset(), urlset(*pages(*range(9))), HTML, rss(1, 2), index()],
    ids=["empty", "few", "page", "feed", "index"],
)
async def test_a_fault_of_a_day_removes_nothing(told: Told, lie: bytes) -> None:
    """A list that is short, empty or something else for a day, is read twice: nothing is gone."""
    whole, bad = {TOP: urlset(*pages(*range(40)))}, {TOP: lie}
    for served, hours in (
        (whole, 24),
        (bad, 24),
        (bad, 12),
        (whole, 12),
        (bad, 24),
        (whole, 24),
    ):
        assert await told.walk(served, hours * HOUR) == []
    assert told.walked.locs == []


async def test_a_loss_that_stays_is_a_removal(told: Told) -> None:
    """A list that is as short a day later has lost what it no longer lists."""
    await told.walk({TOP: urlset(*pages(*range(40)))})
    assert await told.walk({TOP: urlset(*pages(*range(9)))}) == []
    (issue,) = told.walked.report.issues
    assert (issue.code, issue.sitemap, issue.value) == (
        "shrunk",
        TOP,
        "9 URLs listed, 31 missing",
    )
    assert len(await told.walk({TOP: urlset(*pages(*range(9)))})) == 31


async def test_how_long_a_loss_is_doubted(db: Path, clock: SetClock) -> None:
    """`confirm_after` says how far apart two readings are that tell of it."""
    told = Told(db, clock, confirm_after=timedelta(hours=1))
    for numbers, later in ((40, 0), (9, DAY)):
        assert await told.walk({TOP: urlset(*pages(*range(numbers)))}, later) == []
    assert len(await told.walk({TOP: urlset(*pages(*range(9)))}, 2 * HOUR)) == 31


async def test_a_url_that_moved_into_a_child_that_is_left_out(told: Told) -> None:
    """A walk that follows one child only cannot tell what moved into the other one."""
    await told.walk(
        {TOP: index(ONE, TWO), ONE: urlset(*pages(1, 2, 3)), TWO: urlset(*pages(4))}
    )
    moved = {TOP: index(ONE, TWO), ONE: urlset(*pages(1, 2)), TWO: urlset(*pages(4, 3))}
    assert await told.walk(moved, follow=lambda entry: entry.loc == ONE) == []
    assert await told.walk(moved) == []


async def test_a_walk_that_is_resumed_a_day_later(db: Path, clock: SetClock) -> None:
    """A loss that a resumed walk found is as old as the resumption, not as the walk."""
    whole, bad = {TOP: urlset(*pages(*range(1000)))}, {TOP: urlset(*pages(*range(20)))}
    told = Told(db, clock)
    await told.walk(whole)
    changed = urlset(*((url, "2026-01-01") for url in pages(*range(1000))))
    clock.now += DAY
    fetcher = MemoryFetcher({TOP: changed})
    async with walk(sitemaps=[TOP], state=Changes(db), fetcher=fetcher) as entries:
        async for _ in entries:
            break
    assert await told.walk(bad, 23.5 * HOUR) == []
    assert await told.walk(bad, HOUR) == []


# -- a site that is down, and says 200


@pytest.mark.parametrize("target", ["", "top.xml", "one.xml"])
async def test_children_that_redirect_to_one_page(told: Told, target: str) -> None:
    """Twenty children that all lead to one page for some days keep their URLs; one is lost."""
    children = {
        f"{SITE}c{k}.xml": urlset(*pages(10 * k, 10 * k + 1)) for k in range(20)
    }
    named = b"Sitemap: https://example.org/top.xml"
    whole = {
        ROBOTS: named,
        TOP: index(ONE, *children),
        ONE: urlset(*pages(1000)),
        **children,
    }
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


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    "robots",
    [
        HTML,
        b'{"status": "down"}',
        b"",
        status(404),
        status(503),
        fault(IssueCode.CONNECT),
    ],
    ids=["page", "json", "empty", "404", "503", "connect"],
)
async def test_a_robots_txt_that_names_nothing_for_a_day(
    told: Told, robots: Any
) -> None:
    """Sitemaps that only robots.txt names keep their URLs while it names none."""
    served: Pages = {ROBOTS: f"Sitemap: {ONE}\n".encode(), ONE: urlset(*pages(1, 2, 3))}
    assert await told.walk(served) == []
    assert await told.walk(served | {ROBOTS: robots}) == []
    assert (
        told.walked.report.waiting == 0
    )  # their sitemap was not read, so none is missing
    assert await told.walk(served) == []
    assert told.walked.locs == []


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    "start", [HTML, status(404), status(410)], ids=["page", "404", "410"]
)
@pytest.mark.parametrize("name", ["docs/sitemap.xml", "docs/v2/sitemap_index.xml"])
async def test_a_site_below_a_path_does_not_wait_for_its_start_page(
    start: Any, name: str, db: Path
) -> None:
    """The start page is tried as a sitemap first: it is none, so no loss waits for it."""
    site = SITE + name[: name.rindex("/") + 1]
    state = at_once(db)
    for numbers in ((1, 2, 3), (1,)):
        served = {
            site: start,
            SITE + name: urlset(*(f"{site}{number}" for number in numbers)),
        }
        walked = await walk_all(served, site, state=state, changes=True)
    assert sorted(row.loc for row in state.unlisted()) == [f"{site}2", f"{site}3"]
    assert walked.report.waiting == 0


# -- words that prove nothing


async def test_a_constant_etag_hides_nothing_for_ever(told: Told) -> None:
    """A server whose ETag never changes is asked for all bytes once a month, and then always."""

    def serve(*numbers: int) -> Pages:
        return {
            TOP: StoredResponse(TOP, urlset(*pages(*numbers)), headers={"etag": '"x"'})
        }

    await told.walk(serve(1))
    new = []
    for day in range(1, 40):
        await told.walk(serve(1, 2))
        new += [day for url in told.walked.locs if url == pages(2)[0]]
    assert new == [30]
    await told.walk(serve(1, 2, 3))
    assert told.walked.locs == pages(3)


async def test_a_fault_under_a_new_date_is_not_confirmed_by_that_date(
    told: Told,
) -> None:
    """The index dates a change of the day on which a list was wrong: its bytes are asked again."""

    def serve(day: int, *numbers: int) -> Pages:
        return {TOP: index((ONE, f"2020-01-{day:02}")), ONE: urlset(*pages(*numbers))}

    for day in (1, 2, 3):  # an honest index
        assert await told.walk(serve(day, *range(day, 40))) == (
            [] if day < 3 else ["1"]
        )
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
        async with walk(SITE, fetcher=fetcher, state=Changes(State(db))) as entries:
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


async def test_the_document_of_a_loss_is_the_last_one(told: Told, db: Path) -> None:
    """Two lists lose a URL, one after another: the later one is the last that listed it."""
    start = index(ONE, TWO)
    whole = {TOP: start, ONE: urlset(*pages(1, 2)), TWO: urlset(*pages(1, 3))}
    await told.walk(whole)
    await told.walk(whole | {ONE: urlset(*pages(2))})
    none = {TOP: start, ONE: urlset(*pages(2)), TWO: urlset(*pages(3))}
    await told.walk(none, 12 * HOUR)
    assert [row.document for row in State(db).waiting()] == [TWO]
    await told.walk(none, 12 * HOUR)
    assert await told.walk(none) == ["1"]
    assert [row.document for row in State(db).unlisted()] == [TWO]


@pytest.mark.cases(3)
@pytest.mark.parametrize("microseconds", range(1, 9))
async def test_a_document_that_has_confirmed_a_loss_is_not_waited_for(
    told: Told, db: Path, clock: SetClock, microseconds: int
) -> None:
    """A stamp has nanoseconds: what is as old as a loss is not older than it."""
    clock.now += microseconds / 1e6
    names = f"Sitemap: {ONE}\n".encode()
    await told.walk({ROBOTS: names, ONE: urlset(*pages(1, 2))})
    # what it may name beyond its end is not known
    cut = names + b"# " + b"x" * 512_000
    for _ in range(2):
        assert await told.walk({ROBOTS: cut, ONE: urlset(*pages(2))}) == []
        waits_for = [row.waits_for for row in State(db).waiting()]
    assert waits_for == [SITE]


async def test_an_absent_document_is_counted_and_its_pages_are_not_asked(
    told: Told, db: Path
) -> None:
    """Its URLs are counted as waiting, and listed by nothing, until they are unlisted."""
    whole = {TOP: index(ONE, TWO), ONE: urlset(*pages(1)), TWO: urlset(*pages(2))}
    await told.walk(whole)
    absent = whole | {ONE: status(404, ONE), pages(1)[0]: status(404, pages(1)[0])}
    for _ in range(7):
        assert await told.walk(absent, gone=10) == []
        assert told.walked.report.waiting == 1
        assert [*State(db).waiting()] == []
    assert await told.walk(absent, gone=10) == ["1"]
    assert [row.document for row in State(db).unlisted()] == [ONE]
