"""A damaged state file ends as `state-replaced` or StateError, and costs no URL."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest
from scale import SCALE
from walking import Pages, Walked, index, urlset, walk_all

from sitemapreader.errors import StateError
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions
from sitemapreader.state import State
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable
    from pathlib import Path

HOME = "https://example.org/"
TOP = f"{HOME}top.xml"
NAMES = ["one", "two", "three", "four"]
ATTACHED = ("", "-wal", "-shm", "-lock")


def serve(day: int) -> Pages:
    """Return a site as it is on a day: each document has URLs that stay, come and go."""
    pages: Pages = {TOP: index(*((f"{HOME}{name}.xml", f"2020-01-0{day}") for name in NAMES))}
    for name in NAMES:
        url = f"{HOME}{name}.xml"
        locs = [f"{HOME}{name}/{number}" for number in range(20 * day, 20 * day + 300)]
        pages[url] = StoredResponse(url, urlset(*locs), headers={"etag": f'"{day}"'})
    return pages


def locs_on(day: int) -> set[str]:
    return {
        f"{HOME}{name}/{number}" for name in NAMES for number in range(20 * day, 20 * day + 300)
    }


async def come(day: int, db: Path) -> Walked:
    return await walk_all(serve(day), None, sitemaps=[TOP], state=db, changes=True, unique=True)


async def collect(day: int, db: Path, came: set[str]) -> Counter[IssueCode]:
    """Add what a walk delivers, before an error too; return how many Issues it has of each code."""
    fetcher = MemoryFetcher(serve(day))
    async with walk(
        sitemaps=[TOP], state=db, changes=True, unique=True, fetcher=fetcher
    ) as entries:
        async for entry in entries:
            came.add(entry.loc)
    return entries.report.counts


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
        sitemaps=[TOP], state=db, changes=True, unique=True, fetcher=fetcher, options=options
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
    for read in (state.sites, state.documents, state.unlisted, state.gone):
        with suppress(StateError):
            list(read())


async def check_damage(db: Path, given: set[str]) -> str:
    """Walk over the next day's site with a damaged state; return how that ended."""
    look(db)
    came = set(given)
    ended = ""
    for _ in range(3):
        try:
            counts = await collect(4, db, came)
        except StateError:
            ended = ended or "error"
            continue
        ended = ended or ("replaced" if counts[IssueCode.STATE_REPLACED] else "used")
    assert locs_on(4) <= came
    look(db)
    return ended


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


def flip(path: Path, rng: random.Random) -> None:
    """Flip 1 to 60 bits of a file."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 60)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def flip_all(folder: Path, whole: tuple[Path, set[str]], trials: range) -> set[str]:
    """Flip bits in so many files, in the one without a log as well; return how it ended."""
    ended = set()
    for trial in trials:
        rng = random.Random(trial)
        db = copy(whole[0], folder)
        if trial % 3:
            with closing(sqlite3.connect(db)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        flip(db, rng)
        ended.add(asyncio.run(check_damage(db, whole[1])))
    return ended


def test_flipped_bits(tmp_path: Path, whole: tuple[Path, set[str]]) -> None:
    """No error is untyped and no URL is lost, whatever bits flip."""
    assert flip_all(tmp_path, whole, range(12)) <= {"replaced", "error", "used"}


@pytest.mark.slow
def test_many_files_with_flipped_bits(tmp_path: Path, whole: tuple[Path, set[str]]) -> None:
    """The same in many files, some of which have to be replaced."""
    assert "replaced" in flip_all(tmp_path, whole, range(60 * SCALE))


def damage_pages(path: Path, rng: random.Random) -> None:
    """Swap two pages."""
    data = bytearray(path.read_bytes())
    one, other = (4096 * number for number in rng.sample(range(1, len(data) // 4096), 2))
    data[one : one + 4096], data[other : other + 4096] = (
        data[other : other + 4096],
        data[one : one + 4096],
    )
    path.write_bytes(data)


def zero_page(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = 4096 * rng.randrange(len(data) // 4096)
    data[start : start + 4096] = bytes(4096)
    path.write_bytes(data)


def cut(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))])


@pytest.mark.parametrize("damage", [damage_pages, zero_page, cut])
@pytest.mark.parametrize("suffix", ATTACHED[:3])
def test_damaged_parts(
    tmp_path: Path,
    whole: tuple[Path, set[str]],
    suffix: str,
    damage: Callable[[Path, random.Random], None],
) -> None:
    """Pages that are swapped, zeroed or missing, in the file, its log, or the log's index."""
    for seed in range(2):
        db = copy(whole[0], tmp_path)
        damage(db.with_name(db.name + suffix), random.Random(seed))
        asyncio.run(check_damage(db, whole[1]))


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_flipped_bits_beside_the_file(
    tmp_path: Path, whole: tuple[Path, set[str]], suffix: str
) -> None:
    """Bits that flip in what lies beside the file: at worst the log's end is forgotten."""
    for seed in range(3):
        db = copy(whole[0], tmp_path)
        beside = db.with_name(db.name + suffix)
        flip(beside, random.Random(seed))
        asyncio.run(check_damage(db, whole[1]))


WRONG: dict[str, Any] = {
    "text that is no UTF-8": "UPDATE document SET final_url = CAST(x'ff' AS TEXT)",
    "a number as text": "UPDATE document SET etag = x'05'",
    "text as a number": "UPDATE document SET size = 'many'",
    "a blob as text": "UPDATE document SET url = x'00' WHERE id = 2",
    "children that are no JSON": "UPDATE document SET child_list = '['",
    "a time beyond all": "UPDATE site SET ended = 1e300",
    "URLs of nothing": "UPDATE log SET locs = x'ff00ff'",
}


@pytest.mark.parametrize("statement", WRONG.values(), ids=WRONG.keys())
def test_wrong_values(tmp_path: Path, whole: tuple[Path, set[str]], statement: str) -> None:
    """A value that no walk wrote is found when the file is opened, or when it is read."""
    db = copy(whole[0], tmp_path)
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)
        connection.commit()
    asyncio.run(check_damage(db, whole[1]))


async def walk_while_replaced(db: Path, other: Path, fetcher: MemoryFetcher) -> None:
    """Walk, and move another file into the place of the state when the first batch is there."""
    async with walk(sitemaps=[TOP], state=db, changes=True, fetcher=fetcher) as entries:
        async for _ in entries.batches():
            with suppress(FileNotFoundError):  # it is moved once
                shutil.move(other, db)


async def test_a_file_that_is_replaced_meanwhile(tmp_path: Path) -> None:
    """A walk whose file is not its own any more says so at its end, and the next one is sound."""
    db = tmp_path / "site.db"
    await come(1, db)
    other = tmp_path / "other.db"
    shutil.copy(db, other)
    fetcher = MemoryFetcher(serve(2))
    with pytest.raises(StateError, match="replaced or removed"):
        await walk_while_replaced(db, other, fetcher)
    given = set((await come(2, db)).locs) | locs_on(1)
    assert locs_on(2) <= given
    db.unlink()
    assert len((await come(2, db)).locs) == len(locs_on(2))
