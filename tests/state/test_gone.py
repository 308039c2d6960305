"""Pages of missing URLs are requested: nothing that lives is gone, whatever its sitemaps do."""

from __future__ import annotations

import asyncio
import math
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import Changes, FetchOptions, Limits, walk, walk_sync
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader.changes import DocumentState, SiteState, State
from sitemapreader.fetch.local import FolderFetcher, MemoryFetcher, StoredResponse
from tests.support.clock import DAY, SetClock
from tests.support.grouping import grouped
from tests.support.serving import Page, answer, serve_site
from tests.support.walking import (
    ROBOTS,
    SITE,
    Pages,
    at_once,
    fault,
    index,
    status,
    urlset,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

MAP, ONE, TWO = (f"{SITE}{name}.xml" for name in ("sitemap", "one", "two"))
CDN, PRIVATE = "https://cdn.example/two.xml", f"{SITE}private/two.xml"
FEED = '<link rel="alternate" type="application/rss+xml" href="/feed">'


def lists(letters: str) -> bytes:
    return urlset(*(SITE + letter for letter in letters))


def rss(letters: str) -> bytes:
    items = "".join(f"<item><link>{SITE}{letter}</link></item>" for letter in letters)
    return (
        f'<rss version="2.0"><channel><title>F</title>{items}</channel></rss>'.encode()
    )


def names(*urls: str, rule: str = "") -> Pages:
    return {ROBOTS: "\n".join([rule, *(f"Sitemap: {url}" for url in urls)]).encode()}


@attrs.frozen
class Found:
    """What a day's walk asked, and what it told."""

    asked: list[str]
    gone: list[str]
    waiting: int
    unlisted: int


async def spend(
    pages: Pages, state: State, limit: int = 1_000, **arguments: Any
) -> Found:
    """Walk, and ask what is due."""
    fetcher = MemoryFetcher(pages)
    async with walk(
        SITE, fetcher=fetcher, state=Changes(state), **grouped(arguments)
    ) as entries:
        async for _ in entries:
            pass
        before = len(fetcher.requested)
        gone = [page.loc.removeprefix(SITE) async for page in entries.gone(limit)]
    report = entries.report
    assert report.gone == len(gone)
    asked = [url.removeprefix(SITE) for url in fetcher.requested[before:]]
    return Found(asked, sorted(gone), report.waiting or 0, report.unlisted or 0)


@attrs.frozen
class Case:
    """A site as it is on its first day, and from the second day on, or on the second alone."""

    first: Pages
    then: Pages
    between: Pages | None = None
    first_arguments: dict[str, Any] = attrs.field(factory=dict)
    unlisted: str = ""
    """Letters of the pages that no named document lists in the end."""


INDEX = index(ONE, TWO)
CHILDREN = {ONE: lists("a"), TWO: lists("bc")}
CASES = {
    "a guess, and then another one is named": Case(
        {MAP: lists("ab")},
        {**names(ONE), MAP: lists("ab"), ONE: lists("b")},
        unlisted="a",
    ),
    "a guess, while the named one is down": Case(
        {**names(ONE), ONE: lists("ab")},
        {**names(ONE), ONE: lists("ab"), MAP: lists("bc")},
        between={**names(ONE), ONE: status(503, ONE), MAP: lists("bc")},
        unlisted="c",
    ),
    "a guess that fails for two days": Case(
        {MAP: lists("ab"), f"{SITE}sitemap_index.xml": lists("b")},
        {
            f"{SITE}sitemap_index.xml": lists("b"),
            MAP: b"<html><body>Not found</body></html>",
        },
        unlisted="a",
    ),
    "a child that moves to another host": Case(
        {**names(MAP), MAP: INDEX, **CHILDREN},
        {**names(MAP), MAP: index(ONE, CDN), CDN: lists("bc"), **CHILDREN},
    ),
    "a child that moves where robots.txt forbids it": Case(
        {**names(MAP), MAP: INDEX, **CHILDREN},
        {
            **names(MAP, rule="User-agent: *\nDisallow: /private/"),
            MAP: index(ONE, PRIVATE),
            PRIVATE: lists("bc"),
            **CHILDREN,
        },
    ),
    "feeds, and then none": Case(
        {**names(ONE), ONE: lists("a"), SITE: FEED.encode(), f"{SITE}feed": rss("ab")},
        {**names(ONE), ONE: lists("a"), SITE: FEED.encode(), f"{SITE}feed": rss("ab")},
        first_arguments={"feeds": True},
    ),
    "all guesses, and then those that are needed": Case(
        {**names(ONE), ONE: lists("a"), MAP: lists("ab")},
        {**names(ONE), ONE: lists("a"), MAP: lists("ab")},
        first_arguments={"probe": "always"},
        unlisted="b",
    ),
    "paths of one's own, and then none": Case(
        {TWO: lists("ab")},
        {MAP: lists("a"), TWO: lists("ab")},
        first_arguments={"extra_paths": ["/two.xml"]},
        unlisted="b",
    ),
}


@pytest.mark.cases(16)
@pytest.mark.parametrize("is_dead", [False, True])
@pytest.mark.parametrize("name", CASES)
async def test_what_lives_is_not_gone(
    db: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_dead: bool
) -> None:
    """A page is unlisted only where no named document lists it, and gone if it is dead, too."""
    clock, case, state = SetClock(monkeypatch), CASES[name], State(db)
    dead = case.unlisted if is_dead else ""
    live: Pages = {SITE + letter: b"A page" for letter in {*"abc"} - {*dead}}
    gone: list[str] = []
    for day in range(5):
        pages = (
            case.first
            if not day
            else case.between
            if day == 1 and case.between
            else case.then
        )
        arguments = {} if day else case.first_arguments
        gone += (await spend({**live, **pages}, state, **arguments)).gone
        clock.now += DAY
    assert "".join(row.loc[-1] for row in state.unlisted()) == case.unlisted
    assert "".join(gone) == dead


# -- what a page answers


class Endless(StoredResponse):
    """A page that never ends."""

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            yield b"more"


MOVED = b'<html><head><meta http-equiv="refresh" content="0; url=/new"></head></html>'
CIRCLE = fault(IssueCode.TOO_MANY_REDIRECTS, f"{SITE}b")


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    ("answer", "is_gone", "told"),
    [
        (None, True, (404, None)),
        (status(410), True, (410, None)),
        (StoredResponse(f"{SITE}b", MOVED, status=404), True, (404, None)),
        *((status(code), False, (code, None)) for code in (401, 403, 429, 500, 503)),
        (b"A page", False, (200, None)),
        (Endless(f"{SITE}b", b""), False, (200, None)),
        (CIRCLE, False, (302, None)),
        (fault(IssueCode.TIMEOUT, f"{SITE}b"), False, (None, "timeout")),
    ],
    ids=[
        "404",
        "410",
        "404-that-leads-on",
        "401",
        "403",
        "429",
        "500",
        "503",
        "page",
        "endless",
        "circle",
        "silent",
    ],
)
async def test_what_is_gone(
    db: Path, answer: Any, is_gone: bool, told: tuple[int | None, str | None]
) -> None:
    """404 and 410 are, and nothing else: not a page that never ends, nor redirects in a circle."""
    live: Pages = {**names(MAP), SITE + "a": b"A page"}
    await spend({**live, MAP: lists("ab")}, at_once(db))
    found = await spend(
        {**live, MAP: lists("a")} | ({} if answer is None else {SITE + "b": answer}),
        at_once(db),
    )
    assert found.gone == (["b"] if is_gone else [])
    assert {*found.asked} == {*"ab"}
    # its neighbour again, where it is dead
    assert found.asked.count("a") == 1 + is_gone
    (row,) = State(db).unlisted()
    assert (row.http_status, row.no_status) == told


async def test_a_page_without_a_verdict_is_due_half_a_day_later(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a second before; a page that lives, a day later."""
    clock = SetClock(monkeypatch)
    live: Pages = {**names(MAP), SITE + "a": b"A", SITE + "c": b"C"}
    live[SITE + "b"] = status(403, SITE + "b")
    await spend({**live, MAP: lists("abc")}, at_once(db))
    pages = {**live, MAP: lists("a")}
    assert {*(await spend(pages, at_once(db))).asked} == {*"abc"}
    for seconds, asked in ((DAY / 2 - 1, ""), (1, "ab"), (DAY / 2 - 1, ""), (1, "abc")):
        clock.now += seconds
        assert {*(await spend(pages, at_once(db))).asked} == {*asked}


async def test_a_gone_page_is_requested_once_more(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three weeks later; if it is dead then, never again."""
    clock = SetClock(monkeypatch)
    pages: Pages = {**names(MAP), SITE + "a": b"A", MAP: lists("a")}
    await spend({**pages, MAP: lists("ab")}, at_once(db))
    assert (await spend(pages, at_once(db))).gone == ["b"]
    for days, asked in ((20.9, ""), (0.2, "ab"), (60, "")):
        clock.now += days * DAY
        found = await spend(pages, at_once(db))
        assert ({*found.asked}, found.gone) == ({*asked}, [])
    assert [page.http_status for page in State(db).gone()] == [404]


class Turning(dict[str, Any]):
    """Pages of which one responds in another way from its second request on."""

    turns = 0

    def get(self, url: str, default: Any = None) -> Any:
        if url == f"{SITE}a":
            self.turns += 1
            if self.turns > 1:
                return self["then"]
        return super().get(url, default)


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("then", "reason"), [(404, "dead-neighbor"), (403, "no-neighbor")]
)
async def test_a_neighbour_that_dies_meanwhile_proves_nothing(
    db: Path, then: int, reason: str
) -> None:
    """It is asked again behind a dead page, for a site may be deployed in that minute."""
    pages: Pages = {**names(MAP), SITE + "a": b"A page"}
    await spend({**pages, MAP: lists("ab")}, at_once(db))
    turning = Turning({**pages, MAP: lists("a"), "then": status(then, f"{SITE}a")})
    found = await spend(turning, at_once(db))
    assert (found.asked, found.gone) == ([*"aba"], [])
    (row,) = State(db).unlisted()
    assert (row.http_status, row.no_status) == (None, reason)


async def test_it_is_told_once_and_asked_again(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that lives is asked on another day, whatever the clock does; a gone one never."""
    clock, state = SetClock(monkeypatch), at_once(db)
    live: Pages = {**names(MAP), SITE + "a": b"A page"}
    await spend({**live, MAP: lists("abc")}, state)
    found = await spend({**live, MAP: lists("a"), SITE + "c": b"A page"}, state)
    assert ({*found.asked}, found.gone) == ({*"abc"}, ["b"])
    for hours in (1, -72, 12):  # of the clock, which is set back meanwhile
        clock.now += hours * DAY / 24
        assert (await spend({**live, MAP: lists("a")}, state)).asked == []
    clock.now += 3 * DAY
    found = await spend({**live, MAP: lists("a")}, state)
    assert ({*found.asked}, found.gone) == ({*"ac"}, ["c"])
    assert [page.loc[-1] for page in state.gone()] == ["b", "c"]
    assert [row.loc[-1] for row in state.unlisted()] == ["b", "c"]


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(404), "dead-neighbor"),
        (status(503), "no-neighbor"),
        (status(401), "no-neighbor"),
    ],
)
async def test_a_control_page_decides(
    db: Path, answer: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no listed page lives, nothing is gone that day; a later one asks again."""
    clock, pages = SetClock(monkeypatch), {**names(MAP), MAP: lists("a")}
    await spend({**pages, MAP: lists("ab")}, at_once(db))
    assert (await spend({**pages, SITE + "a": answer}, at_once(db))).gone == []
    (waiting,) = State(db).unlisted()
    assert (waiting.asked_at is None, waiting.http_status) == (False, None)
    assert waiting.no_status == reason
    clock.now += DAY
    assert (await spend({**pages, SITE + "a": b"A page"}, at_once(db))).gone == ["b"]
    (told,) = State(db).unlisted()
    assert (told.http_status, told.no_status) == (404, None)


@pytest.mark.parametrize("answer", [status(404), status(503)])
async def test_a_gone_page_keeps_its_status_where_a_later_one_proves_nothing(
    db: Path, answer: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is requested once more three weeks later, beside a neighbour that is down."""
    clock, pages = SetClock(monkeypatch), {**names(MAP), MAP: lists("a")}
    live = {SITE + "a": b"A page"}
    await spend({**pages, **live, MAP: lists("ab")}, at_once(db))
    assert (await spend({**pages, **live}, at_once(db))).gone == ["b"]
    clock.now += 22 * DAY
    assert "a" in (await spend({**pages, SITE + "a": answer}, at_once(db))).asked
    assert [page.http_status for page in State(db).gone()] == [404]
    assert [row.no_status for row in State(db).unlisted()] == [None]


async def list_request_days(
    db: Path, clock: SetClock, days: Sequence[Pages]
) -> list[int]:
    """Return the days on which walks request a page that goes missing on the first one."""
    pages = {**names(MAP), SITE + "a": b"A page"}
    await spend({**pages, MAP: lists("ab")}, at_once(db))
    found = []
    for day, changed in enumerate(days):
        clock.now += DAY
        walked = await spend({**pages, MAP: lists("a")} | changed, at_once(db))
        if "b" in walked.asked:
            found.append(day)
    return found


LIVING: Pages = {SITE + "b": b"A page"}


async def test_the_pause_of_a_page_that_lives_doubles(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to 32 days; it begins anew after a day without a verdict."""
    days: list[Pages] = [LIVING] * 80
    days[31] = {SITE + "b": status(503)}
    found = await list_request_days(db, SetClock(monkeypatch), days)
    assert found == [0, 1, 3, 7, 15, 31, 32, 33, 35, 39, 47, 63]


@pytest.mark.cases(1)
@pytest.mark.parametrize("answer", [401, 403, 429, 503])
async def test_a_page_without_a_verdict_is_requested_each_day_at_first(
    db: Path, answer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten days the pause grows to 32 days."""
    days: list[Pages] = [{SITE + "b": status(answer)}] * 80
    found = await list_request_days(db, SetClock(monkeypatch), days)
    assert found == [*range(11), 12, 16, 24, 40, 72]


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    "silent",
    [
        {SITE + "a": status(404)},
        {SITE + "a": status(503)},
        {SITE + "b": status(503)},
        {SITE + "b": status(403)},
        {SITE + "b": fault(IssueCode.TIMEOUT)},
        {ROBOTS: f"User-agent: *\nDisallow: /b\nSitemap: {MAP}".encode()},
    ],
    ids=["dead", "down", "error", "forbidden", "slow", "robots"],
)
async def test_days_without_a_verdict_make_no_pause_longer(
    db: Path, silent: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that lives for one day after them is requested, and gone, a day later."""
    clock = SetClock(monkeypatch)
    dead: Pages = {}
    found = await list_request_days(db, clock, [*[silent] * 7, LIVING, dead])
    assert found[-2:] == [7, 8]
    assert [page.loc for page in State(db).gone()] == [SITE + "b"]


async def test_robots_txt_forbids_asking(db: Path) -> None:
    """What may not be asked is not gone."""
    live: Pages = {SITE + "a": b"A page"}
    await spend({**live, **names(MAP), MAP: lists("ab")}, at_once(db))
    rules = names(MAP, rule="User-agent: *\nDisallow: /b")
    found = await spend({**live, **rules, MAP: lists("a")}, at_once(db))
    assert ("b" in found.asked, found.gone) == (False, [])
    assert [row.no_status for row in State(db).unlisted()] == ["robots-disallowed"]


@pytest.mark.parametrize("answer", [status(503), fault(IssueCode.TIMEOUT)])
async def test_a_robots_txt_that_cannot_be_read_forbids_asking(
    db: Path, answer: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows its rules, so no page is asked that day (RFC 9309), unless they do not count."""
    clock, live = SetClock(monkeypatch), {MAP: lists("a"), SITE + "a": b"A page"}
    await spend({**live, **names(MAP), MAP: lists("ab")}, at_once(db))
    assert (
        await spend({**live, **names(MAP), SITE + "b": b""}, at_once(db))
    ).gone == []
    clock.now += DAY
    assert (await spend({**live, ROBOTS: answer}, at_once(db))).asked == []
    clock.now += 2 * DAY
    found = await spend({**live, ROBOTS: answer}, at_once(db), respect_robots=False)
    assert found.gone == ["b"]


@pytest.mark.slow
async def test_thousands_at_once(db: Path) -> None:
    """So many are asked as the limit says, the rest by the next walks; all are counted."""
    state, live = at_once(db), {**names(MAP), SITE + "a": b"A page"}
    many = [f"{SITE}{number}" for number in range(10_000)]
    await spend({**live, MAP: "\n".join([SITE + "a", *many]).encode()}, state)
    found = [await spend({**live, MAP: lists("a")}, state, 70) for _ in range(2)]
    assert found[0].unlisted == 10_000
    assert [len(each.gone) for each in found] == [70, 70]
    assert all(len({*each.asked} - {"a"}) == 70 for each in found)
    assert sum(1 for _ in state.unlisted()) == 10_000
    assert sum(1 for _ in state.gone()) == 140


def test_a_folder_answers_as_its_host_will(tmp_path: Path) -> None:
    """`/about` is `about.html`, so it lives; and there is a loop without `await`."""
    (tmp_path / "about.html").write_text("About")
    (tmp_path / "index.html").write_text("Home")
    given: dict[str, Any] = {"state": at_once(tmp_path / "site.db"), "changes": True}
    for paths in (["", "about", "old"], [""]):
        (tmp_path / "sitemap.xml").write_bytes(urlset(*(SITE + path for path in paths)))
        with walk_sync(
            SITE, fetcher=FolderFetcher(tmp_path, SITE), **grouped(given)
        ) as entries:
            list(entries)
            gone = [(page.loc, page.http_status) for page in entries.gone()]
    assert gone == [(f"{SITE}old", 404)]


async def test_a_limit_is_a_number_of_pages(db: Path) -> None:
    """What is none is refused before anything is asked."""
    async with walk(SITE, state=Changes(db), fetcher=MemoryFetcher({})) as entries:
        for limit in (-1, 2.5, True, "all"):
            with pytest.raises((TypeError, ValueError), match="limit must be"):
                entries.gone(limit=limit)  # type: ignore[arg-type]


async def test_staging_says_nothing_of_production(db: Path) -> None:
    """With `map_hosts` no page can be asked."""
    with pytest.raises(ValueError, match="another server responds"):
        walk(
            SITE,
            state=Changes(db, gone=3),
            options=FetchOptions(map_hosts={"example.org": "staging.example"}),
        )


async def test_the_time_of_a_walk_ends_its_questions(db: Path) -> None:
    """A page that never answers ends with the time of the walk: nothing is gone by that."""

    class Slow(MemoryFetcher):
        @asynccontextmanager
        async def open(
            self, url: str, *, headers: Mapping[str, str] | None = None
        ) -> AsyncIterator[StoredResponse]:
            if url == f"{SITE}b":
                await asyncio.sleep(3_600)
            async with super().open(url, headers=headers) as response:
                yield response

    state, page = at_once(db), {f"{SITE}a": b"here"}
    await spend(names(MAP) | {MAP: lists("ab")} | page, state)
    fetcher = Slow(names(MAP) | {MAP: lists("a")} | page)
    limit = timedelta(seconds=1)
    async with walk(
        SITE, fetcher=fetcher, state=Changes(state), limits=Limits(max_time=limit)
    ) as entries:
        async for _ in entries:
            pass
        assert [gone async for gone in entries.gone()] == []
    assert (entries.report.unlisted, entries.report.gone) == (1, 0)


async def test_pages_are_asked_by_the_fetcher_of_the_walk(db: Path) -> None:
    """The one that a walk has made for itself is open until its context is left."""
    async with serve_site() as site:
        site.pages["/a"] = "<p>a"
        for letters in ("ab", "a"):
            site.pages["/sitemap.xml"] = urlset(
                *(f"{site.base}/{letter}" for letter in letters)
            )
            async with walk(site.base, state=Changes(at_once(db))) as entries:
                async for _ in entries:
                    pass
                gone = [page.loc async for page in entries.gone()]
    assert gone == [f"{site.base}/b"]


async def test_every_field_of_what_a_state_tells(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site, its documents, the URL that one has lost, and its page."""
    clock, state = SetClock(monkeypatch), at_once(db)
    for day, letters in (("2026-01-01", "abc"), ("2026-01-02", "ab")):
        clock.now += DAY
        sitemap = StoredResponse(ONE, lists(letters), headers={"etag": f'"{letters}"'})
        pages = names(MAP) | {MAP: index((ONE, day)), ONE: sitemap}
        pages |= {SITE + "a": b"here", SITE + "b": b"here"}
        await spend(pages, state)
    now, two = datetime.fromtimestamp(clock.now, UTC), ("2026-01-02", '"ab"')
    assert [*state.sites()] == [
        SiteState(SITE, 2, 2, clock.now, clock.now, True, 1, 0, 0, 1, 0, None)
    ]
    assert [*state.documents()] == [
        DocumentState(SITE, ONE, "complete", "", "urlset", 2, 0, clock.now, *two, None),
        DocumentState(
            SITE, MAP, "complete", "", "sitemapindex", 0, 1, clock.now, None, None, None
        ),
    ]
    assert [attrs.astuple(each) for each in state.unlisted()] == [
        (f"{SITE}c", now, ONE, "missing", SITE, now, 404, None, None, None, None)
    ]
    assert [attrs.astuple(each) for each in state.gone()] == [
        (f"{SITE}c", ONE, 404, now, now, SITE)
    ]


# -- a host that fails

THREADS = [
    f"{SITE}{word}/{number}" for number in range(9) for word in ("help", "news", "sell")
]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            FetchError(IssueCode.HTTP_STATUS, SITE, "", http_status=429), id="429"
        ),
        pytest.param(
            FetchError(IssueCode.HTTP_STATUS, SITE, "", http_status=503), id="503"
        ),
        pytest.param(FetchError(IssueCode.TIMEOUT, SITE), id="silence"),
    ],
)
async def test_a_host_that_fails_is_left_alone_until_the_next_walk(
    tmp_path: Path, error: FetchError
) -> None:
    """After five failures in a row no page is requested; all are due in the next walk."""
    listed = f"{SITE}sitemap.xml"
    pages: Pages = {listed: "\n".join(THREADS).encode()}
    site = MemoryFetcher(pages)
    options = FetchOptions(retry_wait_seconds=0.01)

    async def ask_pages() -> tuple[set[str], list[str]]:
        site.requested.clear()
        state = Changes(State(tmp_path / "site.db", confirm_after=timedelta(0)))
        async with walk(SITE, state=state, fetcher=site, options=options) as entries:
            [entry async for entry in entries]
            gone = [page.loc async for page in entries.gone(1000)]
        return {*site.requested} & {*THREADS}, gone

    await ask_pages()
    pages[listed] = "\n".join(THREADS[10:]).encode()
    pages.update(dict.fromkeys(THREADS, error))
    asked, gone = await ask_pages()
    assert 5 <= len(asked) <= 5 + options.concurrency
    assert gone == []
    pages.update(dict.fromkeys(THREADS[10:], b""))
    pages.update({url: status(404, url) for url in THREADS[:10]})
    _, gone = await ask_pages()
    assert {*gone} == {*THREADS[:10]}


GUIDES = [f"/guide/{number}" for number in range(12)]


@pytest.mark.cases(9)
@pytest.mark.parametrize("status_sent", [301, 302, 303, 307, 308])
async def test_a_page_that_redirects_is_a_response_and_names_its_target(
    db: Path, status_sent: int
) -> None:
    """Twelve in a row hide no dead page behind them; their targets are not requested."""
    async with serve_site() as site:
        await walk_site(db, site.base, site.pages, [*GUIDES, "/guide/dead", "/guide/x"])
        site.pages |= {
            path: answer(status_sent, Location=f"/new{path}") for path in GUIDES
        }
        gone = await walk_site(db, site.base, site.pages, ["/guide/x"])
        assert gone == [f"{site.base}/guide/dead"]
        assert {row.loc: row.redirects_to for row in State(db).unlisted()} == {
            f"{site.base}{path}": f"{site.base}/new{path}" for path in GUIDES
        } | {f"{site.base}/guide/dead": None}
        assert {row.http_status for row in State(db).unlisted()} == {status_sent, 404}
        assert [site.times[GUIDES[0]], site.times[f"/new{GUIDES[0]}"]] == [1, 0]


async def test_a_listed_page_that_redirects_is_a_living_neighbour(db: Path) -> None:
    """So a page beside it with 404 is gone, also beside seven of them."""
    async with serve_site() as site:
        listed = GUIDES[:7]
        await walk_site(db, site.base, site.pages, [*listed, "/guide/dead"])
        site.pages |= dict.fromkeys(listed, "/elsewhere")
        gone = await walk_site(db, site.base, site.pages, listed)
        assert gone == [f"{site.base}/guide/dead"]


@pytest.mark.cases(9)
@pytest.mark.parametrize("target", ["", "mailto:a@example.org", "http://[", "/guide/0"])
async def test_a_redirect_to_no_other_page_is_a_response_too(
    db: Path, target: str
) -> None:
    """No web address, none at all, or the page itself: dead pages behind it are found."""
    async with serve_site() as site:
        await walk_site(db, site.base, site.pages, [*GUIDES, "/guide/dead", "/guide/x"])
        site.pages |= dict.fromkeys(GUIDES, answer(301, Location=target))
        gone = await walk_site(db, site.base, site.pages, ["/guide/x"])
        assert gone == [f"{site.base}/guide/dead"]


async def walk_site(
    db: Path, base: str, pages: dict[str, Page], listed: list[str]
) -> list[str]:
    """Walk over a sitemap of some paths; return the pages that are gone."""
    pages |= {"/sitemap.xml": urlset(*(base + path for path in listed))}
    pages |= {"/guide/x": "<p>x"}
    state = Changes(at_once(db))
    async with walk(base, state=state) as entries:
        async for _ in entries:
            pass
        return [page.loc async for page in entries.gone()]


async def test_a_neighbour_that_is_listed_no_longer_says_nothing(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead page hides those beside it only while it is listed."""
    clock, state = SetClock(monkeypatch), at_once(db)
    live: Pages = {**names(MAP), SITE + "a": b"A", SITE + "b": b"B"}
    await spend({**live, MAP: lists("abcx")}, state)
    found = await spend({**live, MAP: lists("abc")}, state)
    assert (sorted(found.asked), found.gone) == ([*"abc"], [])
    clock.now += DAY
    found = await spend({**live, MAP: lists("ab")}, state, limit=1)
    assert ({*found.asked}, found.gone) == ({*"abx"}, ["x"])


def read_neighbors(db: Path) -> dict[str, float]:
    """Return the pages that a state knows as neighbours -> since when they are dead."""
    with closing(sqlite3.connect(db)) as opened:
        rows = opened.execute("SELECT loc, dead_at FROM neighbor ORDER BY loc")
        return {loc.removeprefix(SITE): dead_at for loc, dead_at in rows}


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("change", "since_now"),
    [
        ("UPDATE neighbor SET asked_at = asked_at", False),
        ("UPDATE neighbor SET dead_at = dead_at - 1", False),
        ("UPDATE neighbor SET dead_at = dead_at + 90000", True),  # by another clock
        ("UPDATE neighbor SET asked_at = 0", True),  # two short outages are no long one
    ],
)
async def test_neighbours_are_known_since_they_are_dead(
    db: Path, monkeypatch: pytest.MonkeyPatch, change: str, *, since_now: bool
) -> None:
    """The living ones beside a dead one, too; without a dead one there is nothing to know."""
    clock = SetClock(monkeypatch)
    live: Pages = {**names(MAP), SITE + "a": b"A", SITE + "b": b"B"}
    await spend({**live, MAP: lists("abcx")}, at_once(db))
    await spend({**live, MAP: lists("abc")}, at_once(db))
    began = clock.now
    assert read_neighbors(db) == {"a": math.inf, "b": math.inf, "c": began}
    with closing(sqlite3.connect(db)) as opened, opened:
        opened.execute(f"{change} WHERE loc = ?", [f"{SITE}c"])
    clock.now += DAY
    await spend({**live, MAP: lists("abc")}, at_once(db))
    found = read_neighbors(db)
    assert [*found] == [*"abc"]
    assert found["c"] in ({clock.now} if since_now else {began, began - 1})
    clock.now += DAY
    await spend({**live, SITE + "c": b"C", MAP: lists("abc")}, at_once(db))
    assert read_neighbors(db) == dict.fromkeys("abc", math.inf)


@pytest.mark.cases(2)
@pytest.mark.parametrize(("number", "is_gone"), [(11, True), (12, False)])
async def test_the_place_above_is_asked_where_one_has_few_pages(
    db: Path, number: int, is_gone: bool
) -> None:
    """Twelve that say nothing may have more beside them, and eleven are all."""
    silent = [f"g/{name}" for name in "abcdefghijkl"[:number]]
    live: Pages = {**names(MAP), f"{SITE}z": b"Z"}
    live |= {SITE + name: status(403, SITE + name) for name in silent}
    listed = [SITE + name for name in [*silent, "z"]]
    await spend({**live, MAP: urlset(*listed, f"{SITE}g/x")}, at_once(db))
    found = await spend({**live, MAP: urlset(*listed)}, at_once(db))
    assert found.gone == (["g/x"] if is_gone else [])
    assert ("z" in found.asked) is is_gone
    assert {*silent} <= {*found.asked}


async def test_three_living_neighbours_are_enough(db: Path) -> None:
    """No further one is asked, unless one of them is dead."""
    live: Pages = {SITE + name: b"A page" for name in "abcdef"}
    live |= names(MAP)
    await spend({**live, MAP: lists("abcdefx")}, at_once(db))
    found = await spend({**live, MAP: lists("abcdef")}, at_once(db))
    # the first one again, because a page was dead
    assert (len(found.asked), len({*found.asked} - {"x"}), found.gone) == (5, 3, ["x"])


async def test_the_start_page_is_the_neighbour_where_no_page_is_listed(
    db: Path,
) -> None:
    """It shows that the host responds, once no other URL of it is listed."""
    state, elsewhere = at_once(db), "https://else.example/"
    live: Pages = {**names(MAP), SITE: b"Home"}
    await spend({**live, MAP: urlset(SITE + "x", elsewhere)}, state)
    found = await spend({**live, MAP: urlset(elsewhere)}, state)
    assert (found.asked, found.gone) == (["", "x", ""], ["x"])
