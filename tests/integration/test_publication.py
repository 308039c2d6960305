"""Files and a state are published together: killed at any point, both are there or neither."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NoReturn

import pytest

from sitemapreader.errors import StateError
from sitemapreader.state import publication
from sitemapreader.state.database import StateFile
from sitemapreader.state.publication import Publication, PublishedFile

if TYPE_CHECKING:
    from pathlib import Path

POINTS = ("begin", "rename", "commit", "finish", "nowhere")
"""Before which step of a publication the process is killed."""


def die(*_: object) -> NoReturn:
    """End this process as `kill -9` does: nothing is cleaned up."""
    os._exit(9)


def publish(db: Path, files: list[tuple[Path, Path]], point: str) -> None:
    """Write a site into a state, publish that with files, and die on the way."""
    opened = StateFile(db)
    opened.hold()
    opened.connection.execute("INSERT INTO site (name) VALUES ('https://new.example/')")
    if point in {"begin", "rename", "finish"}:
        setattr(Publication, point, die)
    if point == "commit":
        opened.connection.set_trace_callback(lambda sql: die() if sql == "COMMIT" else None)
    opened.commit_held(files)
    die()


def has_site(db: Path) -> bool:
    """Tell whether the state knows the site, as whoever opens it next sees it."""
    opened = StateFile(db)
    try:
        return bool(opened.connection.execute("SELECT 1 FROM site").fetchone())
    finally:
        opened.close()


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_each_point(tmp_path: Path, point: str, *, is_there: bool) -> None:
    """After a kill before any step, the next one who opens the state finds both or neither."""
    db = tmp_path / "all.db"
    StateFile(db).close()
    outputs = [tmp_path / "urls.csv", tmp_path / "report.csv"]
    files = [(tmp_path / f".{path.name}.part", path) for path in outputs]
    for temporary, path in files:
        temporary.write_text("new", "utf-8")
        if is_there:
            path.write_text("old", "utf-8")
    child = os.fork()
    if not child:
        with suppress(BaseException):
            publish(db, files, point)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    is_new = has_site(db)
    assert is_new == (point in {"finish", "nowhere"})
    for path in outputs:
        expected = "new" if is_new else "old" if is_there else None
        found = path.read_text("utf-8") if path.exists() else None
        assert found == expected
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith(".")}
    assert left <= {f".{path.name}.part" for path in outputs if point == "begin"}
    assert not (tmp_path / "all.db-output").exists()


@pytest.mark.parametrize("step", ["rename", "commit"])
def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """What the disk refuses undoes all: the old file is there, and the state knows nothing new."""
    db, path, temporary = tmp_path / "all.db", tmp_path / "urls.csv", tmp_path / ".urls.part"
    path.write_text("old", "utf-8")
    temporary.write_text("new", "utf-8")
    opened = StateFile(db)
    opened.hold()
    opened.connection.execute("INSERT INTO site (name) VALUES ('https://new.example/')")
    if step == "rename":

        def refuse(_: PublishedFile) -> NoReturn:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(PublishedFile, "rename", refuse)
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
    assert not has_site(db)
    assert not (tmp_path / "all.db-output").exists()


def test_a_journal_that_was_cut(tmp_path: Path) -> None:
    """A journal that was killed while it was written names no file, and goes."""
    db, journal = tmp_path / "all.db", tmp_path / "all.db-output"
    StateFile(db).close()
    for text in ("", '{"token": "a', "[]", '{"token": "a", "files": [["x"]]}'):
        journal.write_text(text, "utf-8")
        StateFile(db).close()
        assert not journal.exists()
    with closing(sqlite3.connect(db)) as connection:
        assert publication.recover(db, connection) is None  # type: ignore[func-returns-value]
