"""The law of removal: what is dead is told in the end, and waits openly until then."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.clock import DAY, SetClock
from tests.support.diary import Diary, Host, alive, lists, named
from tests.support.serving import Answer, serve_site
from tests.support.walking import ROBOTS, SITE, index, moved, status, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[[int], dict[str, Any]]

TOP = f"{SITE}top.xml"
DIED = 2
"""The day on which pages die."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


@pytest.fixture
def diary(db: Path, clock: SetClock) -> Diary:
    return Diary(db, clock)


# -- a sitemap that is named, and is no more


def forget_in_robots(day: int) -> dict[str, Any]:
    """Go on naming a sitemap in robots.txt that is 404."""
    events = {f"{SITE}events.xml": lists("fair", "ball")} if day < DIED else {}
    venues = {f"{SITE}venues.xml": lists("hall", "park")}
    return {ROBOTS: named("events.xml", "venues.xml"), **venues, **events}


def forget_in_the_index(day: int) -> dict[str, Any]:
    """Go on listing a child that is 410."""
    events = f"{SITE}events.xml"
    answer = lists("fair", "ball") if day < DIED else status(410, events)
    venues = {f"{SITE}venues.xml": lists("hall", "park")}
    return {
        ROBOTS: named("top.xml"),
        TOP: index(*venues, events),
        events: answer,
        **venues,
    }


def lead_to_the_start_page(day: int) -> dict[str, Any]:
    """Redirect an old sitemap to the start page."""
    page = b"<!DOCTYPE html><html><head><title>Welcome</title></head><body>Hello</body></html>"
    events = lists("fair", "ball") if day < DIED else moved(SITE, page)
    venues = {f"{SITE}venues.xml": lists("hall", "park")}
    robots = named("venues.xml", "events.xml")
    return {ROBOTS: robots, SITE: page, f"{SITE}events.xml": events, **venues}


@pytest.mark.parametrize(
    "serve", [forget_in_robots, forget_in_the_index, lead_to_the_start_page]
)
async def test_pages_of_a_dead_sitemap_wait_and_are_told(
    diary: Diary, serve: Serve
) -> None:
    """What cannot be read stops blocking after a week; until then its pages are counted."""
    await diary.live(18, lambda day: serve(day) | alive(["hall", "park"]))
    assert diary.unlisted.keys() == {"fair", "ball"}
    assert diary.gone.keys() == {"fair", "ball"}
    end = max([*diary.unlisted.values(), *diary.gone.values()])
    assert end <= DIED + 14
    assert all(
        waiting == 2 for waiting in diary.waits(DIED + 1, min(diary.told.values()))
    )


# -- a list in which something is always bad


def always_a_bad_record(body: bytes) -> bytes:
    too_deep = b"<url>" + b"<x>" * 40 + b"</x>" * 40 + b"</url>"
    return body.replace(b"<url>", too_deep + b"<url>", 1)


def always_without_its_end(body: bytes) -> bytes:
    return body.removesuffix(b"</urlset>")


def always_a_wrong_checksum(body: bytes) -> bytes:
    packed = gzip.compress(body)
    return packed[:-8] + b"\x01\x02\x03\x04" + packed[-4:]


@pytest.mark.parametrize(
    "spoil", [always_a_bad_record, always_without_its_end, always_a_wrong_checksum]
)
async def test_a_list_that_is_never_quite_right_loses_pages_all_the_same(
    diary: Diary, spoil: Callable[[bytes], bytes]
) -> None:
    """A bad record costs itself, and a bad end costs two weeks; what waits is counted."""
    trees = ["oak", "elm", "ash", "fir"]

    def serve(day: int) -> dict[str, Any]:
        listed = trees if day < DIED else trees[:3]
        body = spoil(lists(*listed))
        return {ROBOTS: named("list.xml"), f"{SITE}list.xml": body, **alive(trees[:3])}

    await diary.live(18, serve)
    assert diary.unlisted.keys() == {"fir"}
    assert diary.gone.keys() == {"fir"}
    assert max(diary.unlisted["fir"], diary.gone["fir"]) <= DIED + 14
    assert all(diary.waits(DIED, diary.told["fir"]))


@pytest.mark.parametrize("spoil", [always_without_its_end, always_a_wrong_checksum])
async def test_a_damaged_list_that_loses_its_last_page_loses_it(
    diary: Diary, spoil: Callable[[bytes], bytes]
) -> None:
    """A list of which no record can be read is as damaged as one with some."""

    def serve(day: int) -> dict[str, Any]:
        body = spoil(lists("fir") if day < DIED else lists())
        others = {f"{SITE}trees.xml": lists("oak")}
        robots = named("list.xml", "trees.xml")
        return {ROBOTS: robots, f"{SITE}list.xml": body, **others, **alive(["oak"])}

    await diary.live(18, serve)
    assert diary.unlisted.keys() == {"fir"}
    assert diary.gone.keys() == {"fir"}
    assert max(diary.unlisted["fir"], diary.gone["fir"]) <= DIED + 14
    assert all(diary.waits(DIED, diary.told["fir"]))


# -- an index that is always cut


def cut_in_a_record(body: bytes) -> bytes:
    return body[: body.index(b"old-1.xml")]


def cut_after_a_record(body: bytes) -> bytes:
    return body[: body.rindex(b"<sitemap>", 0, body.index(b"old-1.xml"))]


def cut_when_packed(body: bytes) -> bytes:
    return gzip.compress(cut_after_a_record(body), mtime=0)[:-8]


@pytest.mark.parametrize("cut", [cut_in_a_record, cut_after_a_record, cut_when_packed])
@pytest.mark.parametrize("are_dead", [True, False])
async def test_children_that_a_cut_index_no_longer_names_are_lost_after_a_week(
    diary: Diary, cut: Callable[[bytes], bytes], are_dead: bool
) -> None:
    """A cut index may name more, for a week; for good, it names what can be read of it."""
    urls = [f"{SITE}{name}.xml" for name in ("new", "old-1", "old-2")]
    bodies = [lists("hall", "park"), lists("fair"), lists("ball")]

    def serve(day: int) -> dict[str, Any]:
        whole = index(*urls)
        top = whole if day < DIED else cut(whole)
        children = dict(zip(urls, bodies, strict=True))
        if are_dead and day >= DIED:
            del children[urls[1]], children[urls[2]]
        live = ["hall", "park"] if are_dead else ["hall", "park", "fair", "ball"]
        return {ROBOTS: named("top.xml"), TOP: top, **children, **alive(live)}

    await diary.live(16, serve)
    assert diary.unlisted.keys() == {"fair", "ball"}
    assert diary.gone.keys() == ({"fair", "ball"} if are_dead else set())
    assert min(diary.told.values()) >= DIED + 7
    assert max([*diary.unlisted.values(), *diary.gone.values()]) <= DIED + 10


@pytest.mark.parametrize("cut", [cut_in_a_record, cut_after_a_record, cut_when_packed])
async def test_an_index_that_is_cut_for_six_days_loses_nothing(
    diary: Diary, cut: Callable[[bytes], bytes]
) -> None:
    """Children that a cut index does not name are named as before until it is whole."""
    urls = [f"{SITE}{name}.xml" for name in ("new", "old-1", "old-2")]
    bodies = [lists("hall", "park"), lists("fair"), lists("ball")]
    children = dict(zip(urls, bodies, strict=True))

    def serve(day: int) -> dict[str, Any]:
        whole = index(*urls)
        top = cut(whole) if DIED <= day < DIED + 6 else whole
        return {ROBOTS: named("top.xml"), TOP: top, **children}

    await diary.live(16, serve)
    assert diary.told == {}
    assert set(diary.new.values()) == {1}


# -- a site whose only index is dead


@pytest.mark.parametrize("end", ["404", "page", "unnamed"])
async def test_pages_of_a_site_without_any_sitemap_left_are_told(
    diary: Diary, end: str
) -> None:
    """The only index is 404 or a page for good, or nothing names it: its pages are told."""
    urls = [f"{SITE}{name}.xml" for name in ("a", "b")]
    tops = {"page": {TOP: b"<!doctype html><title>Hello</title>"}}

    def serve(day: int) -> dict[str, Any]:
        if day < DIED:
            children = dict(zip(urls, [lists("elm", "oak"), lists("fir")], strict=True))
            return {ROBOTS: named("top.xml"), TOP: index(*urls), **children}
        robots = b"User-agent: *" if end == "unnamed" else named("top.xml")
        return {ROBOTS: robots, **tops.get(end, {})}

    await diary.live(DIED + 15, serve)
    assert diary.unlisted.keys() == {"elm", "oak", "fir"}
    assert max(diary.unlisted.values()) <= DIED + 14


async def test_a_site_that_is_down_for_a_week_and_a_day_loses_nothing(
    diary: Diary,
) -> None:
    """After seven days of 503 a page in the place of everything proves nothing for a day."""
    whole = {
        ROBOTS: named("top.xml"),
        TOP: index(f"{SITE}a.xml"),
        f"{SITE}a.xml": lists("elm"),
    }

    def serve(day: int) -> dict[str, Any]:
        if DIED <= day < DIED + 7:
            return {url: status(503, url) for url in whole}
        if day == DIED + 7:
            return {TOP: b"<!doctype html><title>Coming soon</title>"}
        return whole

    await diary.live(DIED + 12, serve)
    assert diary.told == {}
    assert set(diary.new.values()) == {1}


# -- a full list with some news in it


def record(name: str, published: float = 0) -> str:
    news = (
        "<n:news><n:publication><n:name>P</n:name><n:language>en</n:language></n:publication>"
        f"<n:publication_date>{datetime.fromtimestamp(published, UTC).isoformat()}"
        "</n:publication_date><n:title>T</n:title></n:news>"
    )
    return f"<url><loc>{SITE}{name}</loc>{news if published else ''}</url>"


def write_list(records: list[str]) -> bytes:
    name = "http://www.google.com/schemas/sitemap-news/0.9"
    return urlset().replace(
        b"></urlset>", f' xmlns:n="{name}">{"".join(records)}</urlset>'.encode()
    )


@pytest.mark.parametrize(
    ("retracted", "is_fresh"),
    [("news-2", True), ("archive-7", True), ("news-1", False)],
    ids=[
        "a fresh article",
        "an old article",
        "a fresh one of a site that falls silent",
    ],
)
async def test_an_article_that_leaves_a_full_list_is_told(
    diary: Diary, clock: SetClock, retracted: str, is_fresh: bool
) -> None:
    """A list that keeps its old entries is no window, though its newest entries carry news."""

    def serve(day: int) -> dict[str, Any]:
        last = day + 3 if is_fresh else 3
        news = [f"news-{number}" for number in range(last)]
        entries = [f"archive-{number}" for number in range(30)] + news
        if day >= 3:
            entries.remove(retracted)
        records = [
            record(name, clock.now - age * DAY if age < 3 else 0)
            for age, name in enumerate(reversed(entries))
        ]
        pages = alive(entries)
        return {
            ROBOTS: named("all.xml"),
            f"{SITE}all.xml": write_list(records),
            **pages,
        }

    await diary.live(18, serve)
    assert diary.unlisted.keys() == {retracted}
    assert diary.gone.keys() == {retracted}
    assert diary.told[retracted] <= 13
    assert diary.days[-1].left == 0


# -- listed pages that are dead or forbidden

MEMBERS = [
    f"/members/{name}" for name in ("ann", "bob", "cid", "dan", "eve", "fay", "gus")
]
TOWN = ["/town/hall", "/town/pool", "/town/zoo", "/contact"]


@pytest.mark.parametrize(
    ("folder", "live", "answers", "rules"),
    [
        (MEMBERS, MEMBERS, {}, "\n".join(f"Disallow: {path}" for path in MEMBERS[1:])),
        (MEMBERS, [], {}, ""),
        (MEMBERS, MEMBERS[:2], {path: Answer(status=403) for path in MEMBERS[2:]}, ""),
    ],
    ids=["all but one are forbidden", "all are dead", "most are locked"],
)
async def test_dead_neighbours_do_not_hide_a_dead_page(
    db: Path,
    clock: SetClock,
    folder: list[str],
    live: list[str],
    answers: dict[str, Any],
    rules: str,
) -> None:
    """Other listed pages are tried as neighbours, and those of the folder above if none lives."""
    host = Host(
        listed=[*folder, "/members/zed", *TOWN], live={*live, *TOWN}, answers=answers
    )
    host.rules = rules
    async with serve_site(default=host.answer) as site:
        diary = Diary(db, clock, site=f"{site.base}/", base=site.base)
        for day in range(DIED + 12):
            if day == DIED:
                host.listed.remove("/members/zed")
            await diary.walk()
    assert diary.gone.keys() == {"/members/zed"}
    assert diary.gone["/members/zed"] <= DIED + 10
    assert diary.unlisted.keys() == {"/members/zed"}


@pytest.mark.cases(2)
@pytest.mark.parametrize("living", [3, 1], ids=["two of five", "four of five"])
async def test_a_list_with_many_dead_pages_hides_no_dead_page(
    diary: Diary, living: int
) -> None:
    """Listed pages that are dead for ever stop speaking, though a walk asks but a few."""
    listed = [f"item-{number}" for number in range(150)]
    live = [name for number, name in enumerate(listed) if number % 5 < living]
    died = {live[5]: DIED, live[9]: DIED + 3, live[7]: DIED + 15}

    def serve(day: int) -> dict[str, Any]:
        gone = {name for name, since in died.items() if day >= since}
        body = lists(*(name for name in listed if name not in gone))
        robots = {ROBOTS: named("list.xml"), f"{SITE}list.xml": body}
        return robots | alive(name for name in live if name not in gone)

    await diary.live(DIED + 26, serve)
    assert diary.gone.keys() == diary.unlisted.keys() == died.keys()
    assert all(day <= died[name] + 10 for name, day in diary.gone.items())
