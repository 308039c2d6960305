"""Files that a command names: none is written twice, or written and read."""

from __future__ import annotations

import os
import shutil
import signal
import time
from typing import TYPE_CHECKING

import package
import pytest
from commands import run, start, wait_for_handlers

if TYPE_CHECKING:
    from pathlib import Path

SITE = package.ROOT / "testdata" / "site"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a site in it, a list, and a link to what will be the state."""
    shutil.copytree(SITE, tmp_path / "site")
    (tmp_path / "sites.txt").write_text("http://127.0.0.1:9/\n", "utf-8")
    (tmp_path / "linked.csv").symlink_to(tmp_path / "s.db")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("site --state s.db -o s.db", "--output s.db: --state is the same file"),
        ("site --state s.db -o ./s.db", "--output ./s.db: --state is the same file"),
        ("site --state s.db -o linked.csv", "--output linked.csv: --state is the same file"),
        ("site -o a.csv --report a.csv", "--report a.csv: --output is the same file"),
        ("-i sites.txt -o sites.txt", "--output sites.txt: --input-file is the same file"),
        ("read site/sitemap_index.xml -o site/sitemap_index.xml --format urls", "what is read is"),
        ("tree site -o site/robots.txt", "it is a document of the folder that is read"),
        ("audit site -o a.html -o ./a.html", "--output ./a.html: --output is the same file"),
        ("audit site -o a.json --write-baseline a.json", "--write-baseline is the same file"),
        ("audit site --hits a.csv --database a.csv", "is the same file"),
        ("watch example.org --state s.atom -o s.atom", "--state is the same file"),
    ],
)
def test_one_file_for_two_things(folder: Path, words: str, said: str) -> None:
    """It is wrong usage, before anything is read or written."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    done = run(*words.split(), cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert before == {p: p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("words", ["--state", "-o", "-i", "--report"])
@pytest.mark.parametrize("value", ["", "file:///site.db"])
def test_a_name_that_is_none(words: str, value: str) -> None:
    """An empty name, as an unset variable gives one, and a URL of a file are wrong usage."""
    done = run(str(SITE), words, value)
    assert done.returncode == 2
    assert ("is empty: write one" if not value else "write the path of the file") in done.stderr


def test_a_list_that_nobody_writes(tmp_path: Path) -> None:
    """A named pipe without a writer is waited for, and a signal ends the wait."""
    pipe = tmp_path / "list"
    os.mkfifo(pipe)
    with start("-i", str(pipe), encoding="utf-8") as process:
        wait_for_handlers(process)
        time.sleep(0.2)  # until the pipe is opened; before that the signal has its effect, too
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
