"""The law of removal: a page that lives is not gone, whatever its server says for a minute."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest
from clock import SetClock
from diary import Diary, Host
from serving import serve_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from serving import Site


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
