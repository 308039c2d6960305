"""Files and a state that are published: a kill repeats entries, and never loses one."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from sitemapreader import Changes, walk
from sitemapreader._many import walk_many_sync
from sitemapreader._types.errors import StateError
from sitemapreader.changes import database
from sitemapreader.changes.database import StateFile
from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.output import write_sites_sync
from tests.support.walking import urlset

if TYPE_CHECKING:
    from collections.abc import Callable

POINTS = ("rename 0", "rename 1", "commit", "nowhere")
"""Before which step of a publication the process is killed; all but the last two undo it."""
HOST = "shop.example"


def die(*_: object) -> NoReturn:
    """End this process as `kill -9` does: nothing is cleaned up."""
    os._exit(9)


def set_trap(point: str) -> None:
    """Kill this process before a step of its next publication."""
    replace, sync, renamed = Path.replace, database._sync_folder, list[Path]()

    def rename(self: Path, target: Path) -> Path:
        if point == f"rename {len(renamed)}":
            die()
        renamed.append(target)
        return replace(self, target)

    def sync_folder(folder: Path) -> None:
        sync(folder)
        if point == "commit" and len(renamed) == 2:
            die()

    patch = pytest.MonkeyPatch()  # never undone: the process dies
    patch.setattr(Path, "replace", rename)
    patch.setattr(database, "_sync_folder", sync_folder)


def run_and_die(work: Callable[[], object], point: str) -> None:
    """Do work in a process that is killed at a point of it, or at its end."""
    child = os.fork()
    if not child:
        with suppress(BaseException):
            set_trap(point)
            work()
            die()
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_each_point(tmp_path: Path, point: str) -> None:
    """What the state knows after a kill is in the file; all else comes again with the next run."""
    report = tmp_path / "sites.csv"

    def read(day: int, *pages: str) -> list[str]:
        listed = "\n".join(f"https://{HOST}/{page}" for page in pages).encode()
        web = {
            f"https://{HOST}/robots.txt": f"Sitemap: https://{HOST}/map.txt".encode()
        }
        fetcher = MemoryFetcher(web | {f"https://{HOST}/map.txt": listed})
        state = tmp_path / "all.db"
        with walk_many_sync([HOST], state=Changes(state), fetcher=fetcher) as run:
            write_sites_sync(run, tmp_path / f"{day}.jsonl", report=report)
        return find_pages(day)

    def find_pages(day: int) -> list[str]:
        output = tmp_path / f"{day}.jsonl"
        if not output.exists():
            return []
        return [
            json.loads(line)["loc"][-1]
            for line in output.read_text("utf-8").splitlines()
        ]

    assert read(1, "1", "2") == ["1", "2"]
    run_and_die(lambda: read(2, "1", "2", "3", "4"), point)
    assert find_pages(2) == ([] if point == "rename 0" else ["3", "4"])
    is_known = point == "nowhere"
    assert read(3, "1", "2", "3", "4") == ([] if is_known else ["3", "4"])
    assert not list(tmp_path.glob("*.old"))


def test_a_repeated_run_loses_nothing(tmp_path: Path) -> None:
    """A run with a state into a file that has records is refused; an empty one is written."""
    fetcher = MemoryFetcher(
        {f"https://{HOST}/sitemap.xml": f"https://{HOST}/1".encode()}
    )
    output = tmp_path / "urls.csv"
    output.touch()
    for memory in (tmp_path / "all.db", Changes(tmp_path / "changes.db")):
        with walk_many_sync([HOST], state=memory, fetcher=fetcher) as run:
            write_sites_sync(run, output, fields=["site", "loc", "has_zone"])
        written = output.read_bytes()
        with (
            pytest.raises(FileExistsError, match="name another file"),
            walk_many_sync([HOST], state=memory, fetcher=fetcher) as run,
        ):
            write_sites_sync(run, output)
        assert output.read_bytes() == written
        output.unlink()
        assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("step", ["rename", "commit"])
def test_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """What the disk refuses is raised, and the state knows nothing new."""
    db, path, temporary = (
        tmp_path / "all.db",
        tmp_path / "urls.csv",
        tmp_path / ".urls.part",
    )
    path.write_text("old", "utf-8")
    temporary.write_text("new", "utf-8")
    opened = StateFile(db)
    opened.hold()
    opened.connection.execute("INSERT INTO site (name) VALUES ('https://new.example/')")
    if step == "rename":

        def refuse(_: Path, __: Path) -> NoReturn:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", refuse)
    else:
        pages = opened.connection.execute("PRAGMA page_count").fetchone()[0]
        opened.connection.execute(f"PRAGMA max_page_count = {pages}")
        name = "x" * 100_000
        with suppress(sqlite3.Error):
            opened.connection.execute("INSERT INTO site (name) VALUES (?)", (name,))
    try:
        error: type[Exception] = OSError if step == "rename" else StateError
        with pytest.raises(error):
            opened.commit_held([(temporary, path)])
    finally:
        opened.close()
    assert path.read_text("utf-8") == "old"
    opened = StateFile(db)
    assert opened.connection.execute("SELECT * FROM site").fetchall() == []
    opened.close()


async def test_one_run_at_a_time_holds_a_state(tmp_path: Path) -> None:
    """A state whose changes are held back until files are there is held by nobody else."""
    pages = {f"https://{HOST}/sitemap.xml": urlset(f"https://{HOST}/1")}
    async with walk(
        f"https://{HOST}", fetcher=MemoryFetcher(pages), state=tmp_path / "s"
    ) as entries:
        assert await entries.hold_state()
        with pytest.raises(
            StateError, match="writing it together with its files"
        ) as caught:
            await entries.hold_state()
        await entries.commit_state(holds=True)
        await entries.commit_state()
        assert await entries.hold_state()
    assert caught.value.is_locked
