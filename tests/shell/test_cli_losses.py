"""What the shell could not do: errors despite `-q`, and documents behind compressed data."""

from __future__ import annotations

import gzip
import json
import sqlite3
from typing import TYPE_CHECKING

import package
import pytest
from commands import run, urlset

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SITE = str(package.ROOT / "testdata" / "site")
FIRST, SECOND = (urlset(2, f"https://{name}.example") for name in ("first", "second"))
LOCS = "https://first.example/0\nhttps://first.example/1\n"


def read_bytes(data: bytes, *words: str) -> subprocess.CompletedProcess[str]:
    """Give bytes to `sitemapreader read`."""
    return run("read", *words, input=data)


@pytest.mark.slow
def test_quiet_names_the_state_that_another_run_writes(tmp_path: Path) -> None:
    """A second writer with -q exits with 1, and one line says why."""
    state = tmp_path / "site.db"
    assert run(SITE, "-q", "--state", str(state)).returncode == 0
    with sqlite3.connect(state, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        done = run(SITE, "-q", "--state", str(state))
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("sitemapreader: ")
    assert str(state) in done.stderr
    assert done.stderr.count("\n") == 1


def test_quiet_names_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    """With -q too, one line says that the file cannot be made."""
    place = tmp_path / "none" / "urls.txt"
    done = run(SITE, "-q", "-o", str(place))
    assert done.returncode == 1
    assert done.stderr.startswith(f"sitemapreader: cannot write to {place}: ")
    assert done.stderr.count("\n") == 1


def test_quiet_prints_no_issue_and_no_summary(tmp_path: Path) -> None:
    """What does not end the program is not printed with -q; the exit code tells it."""
    file = tmp_path / "map.xml"
    file.write_bytes(FIRST[:-20])
    done = run("read", str(file), "-q")
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize(
    "behind", [SECOND, b"\n" + SECOND, b"<!-- cached -->\n" + SECOND, b"https://second.example/\n"]
)
def test_a_document_behind_gzip_data_is_an_error(behind: bytes) -> None:
    """What `cat a.xml.gz b.xml` appends is named as not read, with exit code 3."""
    done = read_bytes(gzip.compress(FIRST) + behind)
    assert (done.returncode, done.stdout) == (3, LOCS)
    assert "error compression-trailing-document: standard input: " in done.stderr


@pytest.mark.parametrize("behind", [b"\n", b"\0" * 600, b"junk", b"<!-- served in 0.2 s -->\n"])
def test_junk_behind_gzip_data_is_no_error(behind: bytes) -> None:
    """Padding, junk and a cache's comment lose nothing: exit code 0."""
    done = read_bytes(gzip.compress(FIRST) + behind)
    assert (done.returncode, done.stdout) == (0, LOCS)
    assert "gzip-trailing" not in done.stderr


def test_two_compressed_documents_are_both_read() -> None:
    """`cat a.xml.gz b.xml.gz` is one file of two members."""
    done = read_bytes(gzip.compress(FIRST) + gzip.compress(SECOND), "-q")
    assert (done.returncode, done.stdout.count("\n")) == (0, 4)


@pytest.mark.parametrize("name", ["urls.ndjson", "urls.NDJSON", "urls.ndjson.gz"])
def test_ndjson_is_written_as_jsonl(name: str, tmp_path: Path) -> None:
    """The suffix .ndjson says the same as .jsonl."""
    output = tmp_path / name
    assert run(SITE, "-q", "-o", str(output)).returncode == 0
    data = output.read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).splitlines()
    assert len(lines) > 1
    assert all(json.loads(line)["loc"].startswith("https://") for line in lines)


def test_discover_writes_ndjson_and_tree_refuses_it(tmp_path: Path) -> None:
    """A list of sitemaps has a format of JSON lines; a tree has none, and names its own."""
    output = tmp_path / "sitemaps.ndjson"
    assert run("discover", SITE, "-q", "-o", str(output)).returncode == 0
    assert json.loads(output.read_text("utf-8").splitlines()[0])["loc"]
    done = run("tree", SITE, "-o", str(output))
    assert done.returncode == 2
    assert "-o: .ndjson cannot be written" in done.stderr
