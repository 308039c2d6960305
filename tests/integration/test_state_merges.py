"""Sites that share a state file: none leaves its errors to another, or makes it slower."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, TypeAlias

import pytest
from walking import Pages, at_once, index, urlset, walk_all

from sitemapreader.errors import StateError
from sitemapreader.state.database import StateFile
from sitemapreader.state.rows import RemovalRules
from sitemapreader.state.runs import RunOptions, SiteStore
from sitemapreader.walker.state_writer import StateAccess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

Tables: TypeAlias = dict[str, list[tuple[object, ...]]]
A, B = "https://a.example/", "https://b.example/"
OPTIONS = RunOptions(b"options", "", lambda _: True)
TABLES = {
    "url_index": "hex(fingerprint), url FROM url_index JOIN document ON id = document",
    "gone": "loc, url FROM gone JOIN document ON id = document",
    "removed": "name, loc FROM removed JOIN site ON site.id = site",
    "chunk": "url, count, hex(fingerprints) FROM chunk JOIN document ON document.id = document",
    "document": "url, listed_run IS merged_run FROM document",
}
"""Table -> columns that are the same in any file with the same content."""


def serve(home: str, day: int) -> Pages:
    """Return a site on a day: URLs stay, change, come and go, and a document vanishes."""
    names = ["one", "two"] if day < 3 else ["two"]
    pages: Pages = {f"{home}top.xml": index(*(f"{home}{name}.xml" for name in names))}
    for name in names:
        numbers = range(3 * day, 3 * day + 12)
        locs = [(f"{home}{name}/{n}", f"2020-01-{1 + n * day % 20:02}") for n in numbers]
        pages[f"{home}{name}.xml"] = urlset(*locs)
    return pages


async def come(home: str, day: int, db: Path) -> set[str]:
    walked = await walk_all(
        serve(home, day), None, sitemaps=[f"{home}top.xml"], state=at_once(db), changes=True
    )
    return set(walked.locs)


def read_tables(db: Path) -> Tables:
    with closing(sqlite3.connect(db)) as connection:
        return {
            name: sorted(connection.execute(f"SELECT {query}")) for name, query in TABLES.items()
        }


@asynccontextmanager
async def kept_open(db: Path) -> AsyncIterator[sqlite3.Connection]:
    """Give the connection that all walks of the block share."""
    access = StateAccess.open(db, "this test")
    try:
        yield access.file.connection
    finally:
        await access.close("this test")


async def make_expected(db: Path) -> Tables:
    """Walk over both sites on three days, one walk after another, each with its own connection."""
    await come_often(db, 1, 2, 3)
    return read_tables(db)


async def come_often(db: Path, *days: int) -> None:
    """Walk over both sites, one walk after another."""
    for day in days:
        for home in (A, B):
            await come(home, day, db)


class Interruption:
    """Interrupts SQLite after so many steps, as a walk that is left while it merges."""

    def __init__(self, connection: sqlite3.Connection, steps: int) -> None:
        self.steps = 0
        self._last = steps
        self._connection = connection
        connection.set_progress_handler(self._count, 1)

    def _count(self) -> None:
        self.steps += 1
        if self.steps == self._last:
            self._connection.interrupt()

    def end(self) -> None:
        self._connection.set_progress_handler(None, 1)


async def interrupt_walk(before: Path, steps: int) -> tuple[int, Tables]:
    """Interrupt a walk over A, and walk again; return the steps until then, and the tables."""
    db = before.with_name(f"{steps}.db")
    shutil.copy(before, db)
    async with kept_open(db) as connection:
        interruption = Interruption(connection, steps)
        is_interrupted = False
        try:
            await come(A, 3, db)
        except StateError:
            is_interrupted = True
        interruption.end()
        await come(B, 3, db)
        if is_interrupted:
            await come(A, 3, db)
    found = read_tables(db)
    if is_interrupted:  # what was read before the interruption is seen again
        await come(A, 3, db)
        again = read_tables(db)
        found = again | {"removed": sorted({*found["removed"], *again["removed"]})}
    return interruption.steps, found


async def test_a_merge_after_one_that_failed(tmp_path: Path) -> None:
    """Whatever statement of a walk fails, the next ones of its connection merge what is so."""
    expected = await make_expected(tmp_path / "expected.db")
    before = tmp_path / "before.db"
    await come_often(before, 1, 2)
    steps, found = await interrupt_walk(before, 1_000_000)
    assert steps > 2_000
    assert found == expected
    for number in range(1, steps, steps // 23):
        assert (await interrupt_walk(before, number))[1] == expected, number


async def test_merges_of_two_sites_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks that share a connection, and merge in threads, leave what single walks leave."""
    monkeypatch.setattr("sitemapreader.walker.state_writer._FEW_DOCUMENTS", 0)
    db = tmp_path / "both.db"
    async with kept_open(db):
        for day in (1, 2, 3):
            await asyncio.gather(come(A, day, db), come(B, day, db))
    assert read_tables(db) == await make_expected(tmp_path / "single.db")


@pytest.mark.parametrize("second", ["transaction", "commit"])
def test_an_error_that_undoes_what_is_held_back(tmp_path: Path, second: str) -> None:
    """After an error that undoes all that is held back, nothing more is committed, by anybody."""
    db, path, temporary = tmp_path / "all.db", tmp_path / "urls.csv", tmp_path / ".urls.part"
    temporary.write_text("new", "utf-8")
    file = StateFile(db)
    try:
        file.hold()
        SiteStore(file, A, saves_urls=True, rules=RemovalRules()).begin(OPTIONS)
        interruption = Interruption(file.connection, 8)
        with pytest.raises(StateError, match="interrupted"):
            SiteStore(file, A, saves_urls=True, rules=RemovalRules()).begin(OPTIONS)
        interruption.end()
        assert not file.connection.in_transaction
        store = SiteStore(file, B, saves_urls=True, rules=RemovalRules())
        steps = {
            "transaction": lambda: store.begin(OPTIONS),
            "commit": lambda: file.commit_held([(temporary, path)]),
        }
        with pytest.raises(StateError, match="run the same again"):
            steps[second]()
    finally:
        file.close()
    assert not path.exists()
    assert list(tmp_path.glob("*.corrupt-*")) == []
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("SELECT name FROM site").fetchall() == []


# -- what a site costs in a state of many: nothing of the others


def test_a_walk_of_a_new_site_that_was_stopped_is_resumed(tmp_path: Path) -> None:
    """The next walk finds what the first one has left."""
    file = StateFile(tmp_path / "all.db")
    try:
        stopped = SiteStore(file, A, saves_urls=True, rules=RemovalRules())
        stopped.begin(OPTIONS)
        store = SiteStore(file, A, saves_urls=True, rules=RemovalRules())
        store.begin(OPTIONS)
        assert not stopped.run.is_resumed
        assert store.run.is_resumed
        assert store.run.id == stopped.run.id
    finally:
        file.close()


async def test_a_walk_costs_no_more_for_the_other_sites_of_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite takes as many steps for later walks over a site beside 5 others as beside 50."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    class CountedFile(StateFile):
        """A state file whose steps are counted."""

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.connection.set_progress_handler(count, 1)

    monkeypatch.setattr("sitemapreader.walker.state_writer.StateFile", CountedFile)
    state, costs = tmp_path / "all.db", []

    async def come(number: int, day: int = 1) -> None:
        url = f"https://site-{number}.example/sitemap.xml"
        body = urlset(f"{url}/{day}")
        await walk_all({url: body}, None, sitemaps=[url], state=state, changes=True)

    for sites in (range(6), range(6, 51)):
        for number in sites:
            await come(number)
        steps = 0
        for day in (1, 2, 3, 3):  # merge, merge what has changed twice, and merge nothing
            await come(sites[3], day)
        costs.append(steps)
    few, many = costs
    assert few > 100
    assert many < 1.1 * few, costs
