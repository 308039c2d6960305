"""The law of removal: addresses are asked as they are written, and each counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.clock import SetClock
from tests.support.diary import Diary, Host, alive, lists, named
from tests.support.serving import Answer, serve_site
from tests.support.walking import ROBOTS, SITE, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Serve = Callable[[int], dict[str, Any]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


@pytest.fixture
def diary(db: Path, clock: SetClock) -> Diary:
    return Diary(db, clock)


# -- escaped characters that have a meaning when they are not

ELSEWHERE = "/maps%2Ball/x%2Cy%3B.xml"


@pytest.mark.parametrize(
    ("target", "sitemap"),
    [
        ("/wiki/C%3A%3Bdrive/a%2Cb%40home", "/map.xml"),
        ("/find?q=C%2B%2B%26Rust%3D1", "/map.xml"),
        ("/go/7", ELSEWHERE),
    ],
    ids=["in a path", "in a query", "in a Location"],
)
async def test_what_is_listed_is_what_is_asked(
    db: Path, clock: SetClock, target: str, sitemap: str
) -> None:
    """A page whose escapes are written otherwise is another page, whose 404 says nothing."""
    stays = ["/wiki/index", "/wiki/help", "/find?q=1", "/go/1"]
    host = Host(listed=[*stays, target], live={*stays, target}, sitemap=sitemap)
    if sitemap == ELSEWHERE:
        host.answers["/map.xml"] = Answer(b"", 302, {"Location": sitemap})
    async with serve_site(default=host.answer) as site:
        diary = Diary(db, clock, site=f"{site.base}/", base=site.base)
        for day in range(14):
            if day == 1:
                host.listed.remove(target)
            await diary.walk()
    assert diary.new == dict.fromkeys([*stays, target], 1)
    assert diary.gone == {}
    assert diary.unlisted.keys() == {target}
    assert {target, sitemap} <= {*host.asked}


# -- walks that begin at a page


@pytest.mark.parametrize("start", ["blog/", "de/start.html", "?lang=fr"])
async def test_a_page_as_the_beginning_delays_nothing(
    db: Path, tmp_path: Path, clock: SetClock, start: str
) -> None:
    """The page at which a walk begins is no list that has to be read first."""
    plain = Diary(db, clock)
    begun = Diary(tmp_path / "begun.db", clock, site=SITE + start)
    page = b"<!DOCTYPE html><html><head><title>Start</title></head><body>Hello</body></html>"
    for day in range(8):
        names = ["a", "b", "c"] if day < 2 else ["a", "b"]
        pages = {
            ROBOTS: named("map.xml"),
            f"{SITE}map.xml": lists(*names),
            SITE + start: page,
        }
        pages |= alive(names)
        await plain.walk(pages)
        await begun.walk(pages, later=0)
    assert plain.unlisted.keys() == {"c"}
    assert (begun.unlisted, begun.gone) == (plain.unlisted, plain.gone)


# -- two records of one URL


def dated(*records: tuple[str, str]) -> bytes:
    return urlset(*((SITE + name, date) for name, date in records))


@pytest.mark.parametrize(
    ("records", "then"),
    [
        ([("tour", "2026-01-01"), ("tour", "2026-02-02")], [("tour", "2026-03-03")]),
        (
            [("tour", "2026-02-02"), ("info", "2026-01-05"), ("tour", "2026-01-01")],
            [("tour", "")],
        ),
        (
            [("tour", "2026-01-01"), ("tour", ""), ("tour", "2026-02-02")],
            [("tour", "2026-01-01"), ("tour", "2026-02-03")],
        ),
    ],
    ids=["two dates", "the newer one first", "three records"],
)
async def test_records_of_one_url_are_one_record(
    diary: Diary, records: list[tuple[str, str]], then: list[tuple[str, str]]
) -> None:
    """A URL has changed when the set of its records has, not when its list has."""

    def serve(day: int) -> dict[str, Any]:
        listed = records if day % 2 else records[::-1]
        if day >= 6:
            listed = then + [each for each in records if each[0] != "tour"]
        more = [(f"more-{number}", "") for number in range(day)]
        return {
            ROBOTS: named("map.xml"),
            f"{SITE}map.xml": dated(*more[:3], *listed, *more[3:]),
        }

    await diary.live(6, serve)
    assert not diary.changed
    await diary.live(3, serve)
    assert {day.number for day in diary.days if "tour" in day.changed} == {6}
    assert set(diary.new.values()) == {1}


# -- spellings of one URL


@pytest.mark.parametrize(
    ("first", "second", "is_alone"),
    [
        ("menu#lunch", "menu", True),
        ("%7Emaria/", "~maria/", False),
        ("caf%c3%a9", "caf%C3%A9", True),
    ],
    ids=["a fragment", "an escape, in one list", "the case of an escape"],
)
async def test_the_spelling_that_stays_is_delivered(
    diary: Diary, first: str, second: str, is_alone: bool
) -> None:
    """With `unique` the spelling that was withheld is new when the delivered one leaves."""

    def serve(day: int) -> dict[str, Any]:
        leaving = [first] if day < 3 else []
        one = ["home", *leaving] if is_alone else ["home", *leaving, second]
        two = [second] if is_alone else []
        return {
            ROBOTS: named("one.xml", "two.xml"),
            f"{SITE}one.xml": lists(*one),
            f"{SITE}two.xml": lists("other", *two),
        }

    await diary.live(14, serve, unique=True, asks=False)
    assert diary.new == {"home": 1, "other": 1, first: 1, second: 1}
    (day,) = (day.number for day in diary.days if second in day.new)
    assert 3 <= day <= 12
