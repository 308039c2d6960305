"""An audit whose disk fills up: one line that says what to do, and nothing half-written."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from sitemapreader.audit import audit_sync
from tests.support.auditing import HOST, limit_memory, page, urlset
from tests.support.commands import run, run_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

OUTPUTS = {
    "--database": (
        "d.duckdb",
        "make room on its disk, or name a database on another disk",
    ),
    "--output": ("r.html", "cannot write to"),
    "--hits": ("h.csv", "cannot write to"),
    "--write-baseline": ("b.json", "cannot write to"),
}
LIMITED = """
import resource, sys
from sitemapreader._cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
sys.exit(main(sys.argv[1:]))
"""
"""The command in a process whose files cannot grow."""


def write_site(folder: Path, urls: int) -> Path:
    (folder / "robots.txt").write_text(f"Sitemap: {HOST}/s.xml")
    records = "".join(
        page(f"/{number * number}?sid={number}#{number}") for number in range(urls)
    )
    (folder / "s.xml").write_bytes(urlset(records))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose outputs take more than half a megabyte."""
    return write_site(tmp_path_factory.mktemp("public"), 9_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte, where the system lets us mount one."""
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if sys.platform != "linux" or not mount or not unmount:
        pytest.skip(
            "no tmpfs, the small disk of this test: run it on Linux, with mount"
        )
    command = [mount, "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(tmp_path)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount a small disk: run it as root")
    yield tmp_path
    subprocess.run([unmount, "--lazy", str(tmp_path)], check=True)


def check_failure(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode == 1, done.stderr
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(
    sys.platform != "linux", reason="no RLIMIT_FSIZE as on Linux: run it there"
)
@pytest.mark.parametrize("option", OUTPUTS)
def test_a_file_that_cannot_grow(tmp_path: Path, option: str) -> None:
    """Each output that cannot grow is one line and exit code 1; no part of it stays behind."""
    place = tmp_path / "place"
    place.mkdir()
    name, words = OUTPUTS[option]
    arguments = [
        "audit",
        str(write_site(tmp_path, 900)),
        "-q",
        option,
        str(place / name),
    ]
    arguments += [] if option == "--output" else ["-o", "-"]
    done = run_code(LIMITED, tmp_path, *arguments)
    check_failure(done, words)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("option", ["--database", "--hits"])
def test_a_full_disk(folder: Path, small_disk: Path, option: str) -> None:
    """A disk without room for an output is one line and exit code 1, and is as empty as before."""
    name, words = OUTPUTS[option]
    done = run("audit", str(folder), "-q", option, str(small_disk / name))
    check_failure(done, words)
    assert "No space left on device" in done.stderr
    assert list(small_disk.iterdir()) == []


def test_a_disk_without_room_for_what_memory_cannot_hold(
    folder: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary database that cannot spill is an OSError that names TMPDIR; its folder goes."""
    limit_memory(monkeypatch, 4)
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    told = ""
    # memory may be short before the disk is: DuckDB leaves that to chance
    for _ in range(8):
        with pytest.raises(OSError, match=r"set TMPDIR|of memory") as failed:
            audit_sync(folder)
        assert list(small_disk.iterdir()) == []
        told += str(failed.value)
        if "set TMPDIR" in told:
            break
    assert "set TMPDIR to a folder on another disk" in told
