"""A damaged state file ends as `state-replaced` or StateError, and costs no URL."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Changes, walk
from sitemapreader._types.errors import StateError
from sitemapreader._types.options import FetchOptions
from sitemapreader.changes import State
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.scale import SCALE
from tests.support.walking import Pages, Walked, index, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOME = "https://example.org/"
TOP = f"{HOME}top.xml"
NAMES = ["one", "two", "three", "four"]
ATTACHED = ("", "-wal", "-shm", "-lock")


def serve(day: int) -> Pages:
    """Return a site as it is on a day: each document has URLs that stay, come and go."""
    pages: Pages = {
        TOP: index(*((f"{HOME}{name}.xml", f"2020-01-0{day}") for name in NAMES))
    }
    for name in NAMES:
        url = f"{HOME}{name}.xml"
        locs = [f"{HOME}{name}/{number}" for number in range(20 * day, 20 * day + 300)]
        pages[url] = StoredResponse(url, urlset(*locs), headers={"etag": f'"{day}"'})
    return pages


def locs_on(day: int) -> set[str]:
    return {
        f"{HOME}{name}/{number}"
        for name in NAMES
        for number in range(20 * day, 20 * day + 300)
    }


async def come(day: int, db: Path) -> Walked:
    return await walk_all(
        serve(day), None, sitemaps=[TOP], state=db, changes=True, unique=True
    )


async def collect(day: int, db: Path, came: set[str]) -> None:
    """Add what a walk delivers, before an error too."""
    fetcher = MemoryFetcher(serve(day))
    async with walk(
        sitemaps=[TOP], state=Changes(db), unique=True, fetcher=fetcher
    ) as entries:
        async for entry in entries:
            came.add(entry.loc)


async def make_state(db: Path) -> set[str]:
    """Make a state with all that there can be: a walk that was stopped, removals, a log.

    Returns what was handed over.
    """
    given: set[str] = set()
    for day in (1, 2):
        given |= set((await come(day, db)).locs)
    options = FetchOptions(concurrency=1)
    fetcher = MemoryFetcher(serve(3))
    async with walk(
        sitemaps=[TOP],
        state=Changes(db),
        unique=True,
        fetcher=fetcher,
        options=options,
    ) as entries:
        batches = entries.batches()
        for _ in range(3):
            given |= {entry.loc for entry in await anext(batches)}
        for suffix in ATTACHED:  # as after a kill: the log is not in the file yet
            shutil.copy(f"{db}{suffix}", f"{db}{suffix}.kept")
    for suffix in ATTACHED:
        shutil.copy(f"{db}{suffix}.kept", f"{db}{suffix}")
    return given


def look(db: Path) -> None:
    """Read all that a state can tell; only StateError may come of it."""
    state = State(db)
    for read in (
        state.sites,
        state.documents,
        state.unlisted,
        state.gone,
        lambda: state.plan(9),
    ):
        with suppress(StateError):
            list(read())


async def check_damage(db: Path, given: set[str]) -> None:
    """Walk over the next day's site with a damaged state."""
    look(db)
    came = set(given)
    for _ in range(3):
        with suppress(StateError):
            await collect(4, db, came)
    assert locs_on(4) <= came
    look(db)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """Make a state file once, and tell what was handed over with it."""
    db = tmp_path_factory.mktemp("whole") / "site.db"
    return db, asyncio.run(make_state(db))


def copy(whole: Path, folder: Path) -> Path:
    """Copy a state file and its log, without what an earlier trial has left."""
    for path in folder.iterdir():
        path.unlink()
    for suffix in ATTACHED:
        shutil.copy(f"{whole}{suffix}", folder / f"site.db{suffix}")
    return folder / "site.db"


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 60)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def swap_pages(data: bytearray, rng: random.Random) -> None:
    one, other = (
        4096 * number for number in rng.sample(range(1, len(data) // 4096), 2)
    )
    part = data[one : one + 4096]
    data[one : one + 4096] = data[other : other + 4096]
    data[other : other + 4096] = part


def zero_page(data: bytearray, rng: random.Random) -> None:
    start = 4096 * rng.randrange(len(data) // 4096)
    data[start : start + 4096] = bytes(4096)


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


@pytest.mark.cases(4)
@pytest.mark.parametrize("damage", [flip, swap_pages, zero_page, cut])
@pytest.mark.parametrize("suffix", ["alone", *ATTACHED[:3]])
def test_damaged_parts(
    tmp_path: Path,
    whole: tuple[Path, set[str]],
    suffix: str,
    damage: Callable[[bytearray, random.Random], None],
    thorough: bool,
) -> None:
    """Bits that flip, pages swapped, zeroed or missing, in the file, its log, or the log's index.

    No error is untyped and no URL is lost.
    """
    for seed in range(2 * SCALE if thorough else 1):
        db = copy(whole[0], tmp_path)
        if suffix == "alone":  # the whole of it
            with closing(sqlite3.connect(db)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path = db.with_name(db.name + suffix.replace("alone", ""))
        data = bytearray(path.read_bytes())
        damage(data, random.Random(seed))
        path.write_bytes(data)
        asyncio.run(check_damage(db, whole[1]))


WRONG: dict[str, Any] = {
    "text that is no UTF-8": "UPDATE document SET final_url = CAST(x'ff' AS TEXT)",
    "a number as text": "UPDATE document SET etag = x'05'",
    "children that are no JSON": "UPDATE document SET child_list = '['",
    "rates below zero": "UPDATE document SET rate = iif(id = 2, 1.0, -5.0)",
    "a time beyond all": "UPDATE site SET ended = 1e300",
    "a time of a reading beyond all": "UPDATE document SET read_at = 1e300",
    "filters that are none": "UPDATE document SET filters = 'x'",
    "filters of three words": "UPDATE document SET filters = '2026-01-01 a b'",
    "filters that are bytes": "UPDATE document SET filters = x'2031'",
    "children that are a number": "UPDATE document SET child_list = -5",
    "children that are no pairs": """UPDATE document SET child_list = '[["a"], 5]'""",
    "children without an address": """UPDATE document SET child_list = '[[5, null]]'""",
    "a format that is none": "UPDATE document SET format = 'x'",
    "a status that is none": "UPDATE document SET status = 'x', reason = 'x'",
    "a time of a page beyond all": "INSERT INTO page (site, key, loc, since, document, why,"
    " is_unlisted) VALUES (1, x'00', 'https://example.org/x', 1e300, '', 'missing', 1)",
    "URLs of nothing": "UPDATE log SET locs = x'ff00ff'",
}


@pytest.mark.cases(16)
@pytest.mark.parametrize("statement", WRONG.values(), ids=WRONG.keys())
def test_wrong_values(
    tmp_path: Path, whole: tuple[Path, set[str]], statement: str
) -> None:
    """A value that no walk wrote is found when the file is opened, or when it is read."""
    db = copy(whole[0], tmp_path)
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)
        connection.commit()
    asyncio.run(check_damage(db, whole[1]))


async def test_a_file_that_is_replaced_meanwhile(tmp_path: Path) -> None:
    """A walk whose file is not its own any more says so, and the next one is sound."""
    db, other = tmp_path / "site.db", tmp_path / "other.db"
    await come(1, db)
    shutil.copy(db, other)
    fetcher = MemoryFetcher(serve(2))

    async def replace() -> None:
        async with walk(sitemaps=[TOP], state=Changes(db), fetcher=fetcher) as entries:
            async for _ in entries.batches():
                with suppress(FileNotFoundError):  # it is moved once
                    shutil.move(other, db)

    with pytest.raises(StateError, match="replaced or removed"):
        await replace()
    assert locs_on(2) <= {*(await come(2, db)).locs} | locs_on(1)
    db.unlink()
    assert len((await come(2, db)).locs) == len(locs_on(2))
