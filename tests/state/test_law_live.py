"""The law of removal: a page that lives is not gone, whatever its server says for a minute."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from tests.support.clock import DAY, SetClock
from tests.support.diary import Diary, Host
from tests.support.serving import serve_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection
    from pathlib import Path

    from tests.support.serving import Site


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


@pytest.fixture
def diary(db: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Diary:
    return Diary(db, SetClock(monkeypatch), site=f"{site.base}/", base=site.base)


TURNS = cycle([True, False])


def is_spare_part(target: str) -> bool:
    return target.startswith("/spare-part-")


def is_of_the_catalogue(target: str) -> bool:
    return target.startswith("/catalogue.php?")


def is_on_the_second_node(target: str) -> bool:
    return target.startswith("/atlas/") and next(TURNS)


@pytest.mark.parametrize(
    ("stays", "live", "dead", "fails"),
    [
        (
            ["/journal/oil", "/journal/rust", "/journal/wax"],
            ["/spare-part-8", "/spare-part-9"],
            "/spare-part-7",
            is_spare_part,
        ),
        (
            ["/page.php?id=1", "/page.php?id=2", "/page.php?id=3"],
            ["/catalogue.php?sku=80", "/catalogue.php?sku=81"],
            "/catalogue.php?sku=79",
            is_of_the_catalogue,
        ),
        (
            ["/atlas/asia", "/atlas/africa", "/atlas/europe", "/about"],
            ["/atlas/ussr", "/atlas/yugoslavia", "/atlas/zaire"],
            "/atlas/prussia",
            is_on_the_second_node,
        ),
    ],
    ids=["the shop at the root", "one of two scripts", "one of two nodes"],
)
async def test_a_minute_of_404_proves_nothing(
    site: Site,
    diary: Diary,
    stays: list[str],
    live: list[str],
    dead: str,
    fails: Callable[[str], bool],
) -> None:
    """A deployment in the minute in which unlisted pages are asked makes none of them gone."""
    host = Host(listed=[*stays, *live, dead], live={*stays, *live})
    site.default = host.answer
    for day in range(15):
        if day == 2:
            host.listed = stays
            host.begins = set(live)
            host.fails = fails
        await diary.walk()
        host.in_trouble = False
    assert host.begins == set()
    assert diary.gone.keys() == {dead}
    assert diary.gone[dead] <= 12
    assert diary.unlisted.keys() == {*live, dead}


ROOT = [f"/page-{number}" for number in range(8)]
SCRIPT = [f"/shop.php?id={number}" for number in range(14)]
FOLDER = [f"/guide/city-{number}" for number in range(8)]
BELOW = [f"/guide/maps/{number}" for number in range(10)]


@pytest.mark.parametrize(
    ("section", "left", "others", "dead"),
    [
        (ROOT, ["/page-8", "/page-9"], SCRIPT, SCRIPT[1::3]),
        (FOLDER, ["/guide/city-8", "/guide/city-9"], BELOW, BELOW[:4]),
        (SCRIPT, ["/shop.php?id=20", "/shop.php?id=21"], ROOT, ROOT[::2]),
    ],
    ids=["the root", "a folder", "a script"],
)
async def test_an_outage_of_a_section_ends_none_of_its_pages(
    site: Site,
    diary: Diary,
    section: list[str],
    left: list[str],
    others: list[str],
    dead: list[str],
) -> None:
    """Where all listed pages of a section are 404 for three days, those elsewhere prove nothing.

    Some of those elsewhere are dead though they are listed.
    """
    host = Host(
        listed=[*section, *left, *others], live={*section, *left, *others} - {*dead}
    )
    host.fails = lambda target: target in section or target in left
    site.default = host.answer
    for half in range(18):
        if half == 4:
            host.listed = [*section, *others]
        host.in_trouble = 6 <= half < 12
        await diary.walk(later=DAY / 2)
    assert diary.gone == {}
    assert diary.unlisted.keys() == {*left}


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("later", "outages"),
    [(7, range(2, 7)), (1, [2, 3, 4, 13, 14, 15]), (1, range(2, 11))],
    ids=["each week for a minute", "twice for three days", "for nine days"],
)
async def test_a_section_that_is_down_in_every_walk_for_a_while_is_not_dead(
    site: Site, diary: Diary, later: int, outages: Collection[int]
) -> None:
    """Listed pages speak against their neighbours for nine days in a row, in seven walks."""
    stays = [f"/guide/city-{number}" for number in range(1, 5)]
    left = ["/guide/city-8", "/guide/city-9"]
    others = ["/about", "/press", "/jobs"]
    host = Host(listed=[*stays, *left, *others], live={*stays, *left, *others})
    host.fails = lambda target: target in stays or target in left
    site.default = host.answer
    for day in range(16):
        if day == 2:
            host.listed = [*stays, *others]
        host.in_trouble = day in outages
        await diary.walk(later=later * DAY, asks=day in outages)
    assert diary.gone == {}
    assert {row.loc for row in diary.state.unlisted()} == {
        site.base + path for path in left
    }


async def test_the_first_of_numbered_pages_is_a_neighbour_of_the_others(
    site: Site, diary: Diary
) -> None:
    """Number 0 alone is 404 with the page that left: it speaks, though the folder lives."""
    others = [f"/guide/{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    numbered = ["/guide/city-0", "/guide/city-8"]
    host = Host(listed=[*numbered, *others], live={*numbered, *others})
    host.fails = lambda target: target in numbered
    site.default = host.answer
    for day in range(8):
        if day == 2:
            host.listed.remove("/guide/city-8")
        host.in_trouble = 2 <= day < 6
        await diary.walk()
    assert diary.gone == {}
    assert diary.unlisted.keys() == {"/guide/city-8"}
