"""The file of a state: whole or put aside, one writer, readable by its owner only."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import Changes, Limits, walk, walk_sync
from sitemapreader._many import walk_many
from sitemapreader._types.errors import StateError
from sitemapreader.changes import State
from sitemapreader.changes.database import VERSION, StateFile
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.walking import Pages, Walked, index, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import Callable

MAP = "https://example.org/map.xml"
PAGES: Pages = {
    MAP: urlset(*(f"https://example.org/{number}" for number in range(1_000)))
}


async def come(db: Path) -> Walked:
    return await walk_all(PAGES, None, sitemaps=[MAP], state=db, changes=True)


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def content(path: Path) -> bytes:
    return path.read_bytes()


async def test_only_its_owner_may_read_it(db: Path) -> None:
    """The file, and all beside it, has mode 0600, whatever the umask."""
    before = os.umask(0)
    try:
        async with walk(
            sitemaps=[MAP], state=db, fetcher=MemoryFetcher(PAGES)
        ) as entries:
            async for _ in entries:
                modes = {
                    path.name: stat.S_IMODE(path.stat().st_mode)
                    for path in db.parent.iterdir()
                }
    finally:
        os.umask(before)
    assert {"site.db", "site.db-wal", "site.db-lock"} <= modes.keys()
    assert set(modes.values()) == {0o600}


async def test_a_second_writer_is_refused(db: Path) -> None:
    """Two walks at once on one file: the second one is refused, and the first one not disturbed."""
    fetcher = MemoryFetcher(PAGES)
    async with walk(sitemaps=[MAP], state=db, fetcher=fetcher) as entries:
        with pytest.raises(StateError, match="another walk is writing it"):
            async with walk(sitemaps=[MAP], state=db, fetcher=fetcher):
                pass
        with (
            pytest.raises(StateError, match="another walk"),
            walk_sync(sitemaps=[MAP], state=db, fetcher=fetcher),
        ):
            pass
        assert len([entry async for entry in entries]) == 1_000
        # looking is allowed
        assert [site.documents for site in State(db).sites()] == [1]
    async with walk(sitemaps=[MAP], state=db, fetcher=fetcher) as entries:
        assert [entry async for entry in entries] == []


def test_the_lock_ends_with_the_process(db: Path) -> None:
    """A process that is killed leaves no lock behind."""
    code = (
        "import sys, time, pathlib\n"
        "from sitemapreader.changes.database import StateFile\n"
        "file = StateFile(pathlib.Path(sys.argv[1]))\n"
        "print('open', flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(db)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(StateError, match="another walk"):
            StateFile(db)
        process.kill()
    StateFile(db).close()


def damage_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:5_000]),
        lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(5_000)),
        lambda path: path.write_bytes(bytes(5_000)),
        damage_pages,
    ],
    ids=["cut", "empty header", "zeros", "damaged pages"],
)
async def test_an_unusable_file_is_put_aside(db: Path, damage: object) -> None:
    """A damaged file is renamed, which an Issue says, and all is read anew."""
    assert callable(damage)
    for number in (1, 2):
        await come(db)
        damage(db)
        kept = content(db)
        walked = await come(db)
        aside = db.with_name(f"site.db.corrupt-{number}")
        assert len(walked.locs) == 1_000
        assert walked.codes == ["state-replaced"]
        assert walked.report.issues[0].value == str(aside)
        assert content(aside) == kept
        assert walked.report.complete
    assert (await come(db)).codes == []


def make_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE document (id INTEGER)")


@pytest.mark.parametrize(
    "make",
    [
        make_database,
        lambda path: path.write_bytes(b"https://example.org/\n" * 99),
        lambda path: path.write_bytes(b"?"),
        lambda path: path.write_bytes(bytes(5_000)),
    ],
    ids=["database", "text", "short", "zeros"],
)
async def test_the_file_of_another_program_is_refused(db: Path, make: Any) -> None:
    """What no walk has made stays as it is and where it is, however often it is tried."""
    make(db)
    kept = content(db)
    for _ in range(2):
        with pytest.raises(
            StateError, match=r"not a state of walks: name another file$"
        ):
            await come(db)
        with pytest.raises(StateError, match="not a state of walks"):
            State(db).sites()
    assert [path.name for path in db.parent.iterdir()] == [db.name]
    assert content(db) == kept


async def test_a_newer_file_is_left_alone(db: Path) -> None:
    """A file that a later version wrote is neither used nor renamed."""
    await come(db)
    with closing(sqlite3.connect(db)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    kept = content(db)
    with pytest.raises(StateError, match="a newer sitemapreader wrote it"):
        await come(db)
    with pytest.raises(StateError, match="newer"):
        State(db).sites()
    assert content(db) == kept


@pytest.mark.parametrize("version", [1, VERSION - 1])
async def test_an_older_file_is_replaced(db: Path, version: int) -> None:
    """A file of an earlier version is put aside with an Issue, and everything is read again."""
    await come(db)
    with closing(sqlite3.connect(db)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    kept = content(db)
    with pytest.raises(
        StateError, match="an earlier sitemapreader wrote it: the next walk"
    ):
        State(db).sites()
    walked = await come(db)
    assert walked.codes == ["state-replaced"]
    assert walked.locs
    assert content(db.with_name(f"{db.name}.corrupt-1")) == kept
    assert (await come(db)).codes == []


async def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """No folder, a folder in its place: StateError says which file, and what is the matter."""
    for path in (tmp_path / "missing" / "site.db", tmp_path):
        with pytest.raises(StateError, match=str(path)):
            await come(path)
    assert not tmp_path.with_name(f"{tmp_path.name}-lock").exists()
    with pytest.raises(StateError, match="this is not a file"):
        State(tmp_path).sites()
    with pytest.raises(StateError, match="no such file"):
        State(tmp_path / "missing.db").sites()
    text = tmp_path / "text.db"
    text.write_text("no state", encoding="ascii")
    with pytest.raises(StateError, match="not a state of walks"):
        State(text).sites()
    assert text.read_text(encoding="ascii") == "no state"


async def test_a_full_disk(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full in the middle of a walk ends it with StateError; what was said stays."""
    await come(db)
    opened = StateFile.__init__

    def open_small(self: StateFile, path: Path) -> None:
        opened(self, path)
        (pages,) = self.connection.execute("PRAGMA page_count").fetchone()
        self.connection.execute(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(StateFile, "__init__", open_small)
    pages: Pages = {
        MAP: urlset(*(f"https://example.org/x/{number}" for number in range(9_000)))
    }
    with pytest.raises(StateError, match="full"):
        await walk_all(pages, None, sitemaps=[MAP], state=db, changes=True)
    monkeypatch.undo()
    again = await walk_all(pages, None, sitemaps=[MAP], state=db, changes=True)
    assert len(again.locs) == 9_000 or again.report.resumed
    assert again.report.complete


@pytest.mark.parametrize("kind", ["link", "dangling link", "full", "folder", "pipe"])
def test_a_lock_that_others_put_there(db: Path, kind: str) -> None:
    """What is in the place of the lock and is not ours is refused, and stays as it is."""
    lock, precious = db.with_name("site.db-lock"), db.with_name("precious")
    precious.write_text("precious", "utf-8")
    make: dict[str, Callable[[], object]] = {
        "link": lambda: lock.symlink_to(precious),
        "dangling link": lambda: lock.symlink_to(db.with_name("nothing")),
        "full": lambda: lock.write_text("precious", "utf-8"),
        "folder": lock.mkdir,
        "pipe": lambda: os.mkfifo(lock),
    }
    make[kind]()
    before = sorted(db.parent.iterdir())
    with pytest.raises(
        StateError,
        match=r"site\.db-lock beside it is not a lock of this program: remove it",
    ):
        StateFile(db)
    assert sorted(db.parent.iterdir()) == before
    assert precious.read_text("utf-8") == "precious"
    assert kind != "full" or lock.read_text("utf-8") == "precious"


@pytest.mark.parametrize("kind", ["device", "pipe", "link to a device"])
def test_only_a_file_is_a_state(db: Path, kind: str) -> None:
    """A device or a pipe is refused, and nothing is made beside it."""
    path = {"device": Path("/dev/full")}.get(kind, db)
    if kind == "pipe":
        os.mkfifo(db)
    elif kind == "link to a device":
        db.symlink_to("/dev/null")
    before = sorted(db.parent.iterdir())
    with pytest.raises(StateError, match="a device or a pipe: name a file"):
        StateFile(path)
    assert sorted(db.parent.iterdir()) == before


def test_another_program_writes_it(db: Path) -> None:
    """Its lock is waited for only as long as an event loop may stand still, and then named."""
    opened = StateFile(db)
    (wait,) = opened.connection.execute("PRAGMA busy_timeout").fetchone()
    assert wait <= 250
    try:
        with closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                StateError, match="another program is writing it"
            ) as caught:
                opened.hold()
            other.execute("ROLLBACK")
        assert caught.value.is_locked
        opened.hold()
    finally:
        opened.close()
    assert not list(db.parent.glob("*.corrupt-*"))


async def test_a_fault_within_one_site_costs_no_other(db: Path) -> None:
    """What a bug has broken off in the file is undone, and what comes after it is kept."""
    readings = iter([None])

    def clock() -> float:
        if next(readings, 0.0) is None:
            raise RuntimeError("the clock stands still")
        return time.time()

    names = [f"https://{name}.example/" for name in "abc"]
    pages: Pages = {}
    for name in names:
        pages |= {f"{name}robots.txt": f"Sitemap: {name}s.xml".encode()}
        pages |= {f"{name}s.xml": urlset(f"{name}page")}
    state, fetcher = State(db, clock=clock), MemoryFetcher(pages)
    async with walk_many(
        names, state=Changes(state), fetcher=fetcher, limits=Limits(sites_at_once=1)
    ) as run:
        assert [site async for site, _ in run.batches()] == names[1:]
    assert [outcome.status for outcome in run.outcomes] == [
        "error",
        "complete",
        "complete",
    ]
    assert [(site.name, site.documents) for site in State(db).sites()] == [
        (name, 1) for name in names[1:]
    ]


async def test_no_password_of_a_child_is_kept(db: Path) -> None:
    """The login in a child's URL is not in the file, and an index from the state lists the same."""
    logins = ("me:s3cret@", "s3cret@", "")
    pages: Pages = {}
    for number, login in enumerate(logins):
        bare = f"https://example.org/{number}.xml"
        answer = StoredResponse(bare, urlset(f"{bare}/page"))
        pages |= {bare: answer, bare.replace("//", f"//{login}"): answer}
    pages |= {
        MAP: index(
            *(f"https://{login}example.org/{n}.xml" for n, login in enumerate(logins))
        )
    }
    for count in (3, 0):
        walked = await walk_all(pages, None, sitemaps=[MAP], state=db, changes=True)
        assert len(walked.locs) == count
        assert walked.report.complete
    with closing(sqlite3.connect(db)) as connection:
        assert b"s3cret" not in connection.serialize()
    assert [document.url[-5:] for document in State(db).documents()] == [
        *("0.xml", "1.xml", "2.xml"),
        "p.xml",
    ]
