"""The neighbours of a missing page: where they are looked for, and which of them are asked."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest

from sitemapreader.changes.database import StateFile
from sitemapreader.changes.gone import find_neighbors, list_places
from sitemapreader.changes.rows import DocumentRow, hash_url, insert_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.cases(50)  # nothing is walked
SITE = "https://a.example/"


@pytest.mark.parametrize(
    ("page", "places"),
    [
        ("", ["*", ""]),
        ("x", ["*", ""]),
        ("x/", ["*", ""]),
        ("page-12", ["page-0", "*", ""]),
        ("2026/01/page-12-3.html", ["2026/01/page-0-0.html", "2026/01/*"]),
        ("blog/x", ["blog/*", "blog/", ""]),
        ("blog/y/x/", ["blog/y/*", "blog/y/", "blog/", ""]),
        ("shop.php?id=1", ["shop.php?", ""]),
        ("blog/shop.php?", ["blog/shop.php?", "blog/", ""]),
        ("blog/?page=1", ["blog/?", ""]),
    ],
)
def test_places(page: str, places: list[str]) -> None:
    """The same script or numbers first, then the same folder, then those above it."""
    found = list_places(SITE + page)
    assert found[: len(places)] == [SITE + place for place in places]
    assert found[-1] == SITE
    assert len(found) == len(set(found))


def test_the_place_of_a_host_without_a_path() -> None:
    """It is that of its start page."""
    assert list_places("https://a.example") == [f"{SITE}*", SITE]


class Listed:
    """A state in which a document lists URLs, some of which are lost."""

    def __init__(self, path: Path) -> None:
        self.file = StateFile(path)
        self.db = self.file.connection
        self.db.execute("INSERT INTO site (id, name) VALUES (1, 'x'), (2, 'y')")

    def add(
        self, urls: Iterable[str], *, site: int = 1, lost: int | None = None
    ) -> None:
        row = DocumentRow(None, site, f"{SITE}{site}-{lost}.xml", 0)
        number = insert_document(self.db, row)
        self.db.executemany(
            "INSERT INTO url VALUES (?, ?, ?, NULL, ?, 1, 0, ?, 0)",
            [(site, hash_url(url), number, url, lost) for url in urls],
        )

    def find(
        self, *places: str, known: Mapping[str, float] | None = None, seed: int = 1
    ) -> dict[str, list[str]]:
        """Return the neighbours of places, all without the site."""
        told = {SITE + url: since for url, since in (known or {}).items()}
        named = [SITE + place for place in places]
        found = find_neighbors(self.db, 1, seed, named, told)
        return {
            place.removeprefix(SITE): [url.removeprefix(SITE) for url in urls]
            for place, urls in found.items()
        }


@pytest.fixture
def listed(tmp_path: Path) -> Iterator[Listed]:
    made = Listed(tmp_path / "site.db")
    yield made
    made.file.close()


def test_twelve_neighbours_of_each_place(listed: Listed) -> None:
    """Listed ones of this site, all that there are if they are fewer; others by another seed."""
    many = [f"blog/{letter}" for letter in "abcdefghijklmnopqrst"]
    few = [f"shop/{letter}" for letter in "abc"]
    listed.add(SITE + page for page in [*many, *few])
    listed.add([f"{SITE}blog/lost"], lost=5)
    listed.add([f"{SITE}blog/of-another"], site=2)
    found = listed.find("blog/*", "shop/*", "none/*", "")
    assert len(found["blog/*"]) == len({*found["blog/*"]} & {*many}) == 12
    assert sorted(found["shop/*"]) == few
    assert (found["none/*"], len(found[""])) == ([], 12)
    assert listed.find("blog/*")["blog/*"] == found["blog/*"]
    others = [listed.find("blog/*", seed=seed)["blog/*"] for seed in range(4)]
    assert len({tuple(each) for each in others}) > 1


def test_the_start_page_stands_for_a_host_without_a_listed_page(listed: Listed) -> None:
    """And for no folder of it."""
    assert listed.find("", "blog/*") == {"": [""], "blog/*": []}
    listed.add([f"{SITE}x"])
    assert listed.find("", "blog/*") == {"": ["x"], "blog/*": []}


DEAD = {f"blog/d{letter}": float(n) for n, letter in enumerate("cab")}
LIVING = {f"blog/l{letter}": inf for letter in "abc"}
REST = [f"blog/r{letter}" for letter in "abc"]


def test_known_dead_neighbours_come_first(listed: Listed) -> None:
    """The longest dead before the others, then the living ones; enough of these are all."""
    listed.add(SITE + page for page in [*DEAD, *LIVING, *REST])
    found = listed.find("blog/*", known=DEAD | LIVING)["blog/*"]
    assert found[:3] == ["blog/dc", "blog/da", "blog/db"]
    assert sorted(found[3:]) == [*LIVING]
    two = dict(list(LIVING.items())[:2])
    found = listed.find("blog/*", known=DEAD | two)["blog/*"]
    assert found[:3] == ["blog/dc", "blog/da", "blog/db"]
    assert {*found[3:5]} == {*two}
    assert sorted(found[5:]) == ["blog/lc", *REST]


def test_living_neighbours_count_beside_dead_ones_only(listed: Listed) -> None:
    """Otherwise other ones are asked in each walk; nor does one that is listed no longer."""
    listed.add(SITE + page for page in [*LIVING, *REST])
    listed.add([f"{SITE}blog/dc"], lost=5)
    found = listed.find("blog/*", known=DEAD | LIVING)["blog/*"]
    assert sorted(found) == [*LIVING, *REST]
    alone = [listed.find("blog/*", known=LIVING, seed=n)["blog/*"] for n in range(9)]
    assert {tuple(sorted(each)) for each in alone} == {(*LIVING, *REST)}
    assert len({each[0] for each in alone}) > 1


def test_twelve_known_neighbours_of_each_kind(listed: Listed) -> None:
    """Dead and living ones, and as many new ones where too few live."""
    dead = {f"blog/d{n:02}": float(n) for n in range(20)}
    living = {f"blog/l{letter}": inf for letter in "abcdefghijklmnopqrst"}
    new = [f"blog/n{letter}" for letter in "abcdefghijklmnopqrst"]
    listed.add(SITE + page for page in [*dead, *living, *new])
    found = listed.find("blog/*", known=dead | living)["blog/*"]
    assert found[:12] == sorted(dead)[:12]
    assert len({*found[12:]} & {*living}) == len(found[12:]) == 12
    found = listed.find("blog/*", known=dead)["blog/*"]
    assert found[:12] == sorted(dead)[:12]
    assert len(found) == len({*found}) == 24
