"""Where outputs go: files that are whole once they are there, and nothing that is left behind."""

from __future__ import annotations

import errno
import os
import select
import sys
import threading
from pathlib import Path

import pytest
from commands import run_code

from sitemapreader import UrlEntry
from sitemapreader.output import FORMATS, open_output
from sitemapreader.output.sink import write_records

ENTRIES = [UrlEntry(f"https://a.example/{number}") for number in range(1000)]


class DeliberateError(Exception):
    """The test's own."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_appears_when_it_is_whole(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """Until the context is left nothing stands under the name, or what stood there before."""
    path = tmp_path / "output"
    with open_output(str(path), format) as output:
        output.write(ENTRIES)
        assert not path.exists()
        assert len(names(tmp_path)) == 1
    first = path.read_bytes()
    with open_output(str(path), format) as output:
        output.write(ENTRIES)
        assert path.read_bytes() == first
    assert names(tmp_path) == ["output"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_fault_leaves_nothing_behind(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """Leaving with an exception leaves no new file, nor half of one, and the old one as it was."""
    old = tmp_path / "old"
    old.write_text("old")

    def write(path: Path) -> None:
        with open_output(str(path), format) as output:
            output.write(ENTRIES)
            raise DeliberateError

    for name in ("old", "new"):
        with pytest.raises(DeliberateError):
            write(tmp_path / name)
    assert names(tmp_path) == ["old"]
    assert old.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full: run it on Linux")
@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk(format: str) -> None:  # noqa: A002 (as in open_output)
    """No space left is an OSError, at the latest when the context is left."""

    def write() -> None:
        with open_output("/dev/full", format) as output:
            output.write(ENTRIES)

    with pytest.raises(OSError, match="No space left") as raised:
        write()
    assert raised.value.errno == errno.ENOSPC


@pytest.mark.skipif(sys.platform != "linux", reason="no RLIMIT_FSIZE as on Linux: run it there")
@pytest.mark.parametrize("format", FORMATS)
def test_a_disk_that_fills_up(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """A file that cannot grow any further is an OSError, and leaves nothing behind."""
    script = (
        "import resource, signal, sys\n"
        "from sitemapreader import UrlEntry\n"
        "from sitemapreader.output import open_output\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "entries = [UrlEntry(f'https://a.example/{n * n * 7919}') for n in range(20_000)]\n"
        "try:\n"
        f"    with open_output({str(tmp_path / 'output')!r}, {format!r}) as output:\n"
        "        for start in range(0, 20_000, 500): output.write(entries[start : start + 500])\n"
        "except OSError as error: print(error.errno)\n"
    )
    done = run_code(script, tmp_path)
    assert (done.stdout, done.stderr) == (f"{errno.EFBIG}\n", "")
    assert names(tmp_path) == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_that_is_not_there(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """What cannot be opened is an OSError on entering, and so is a folder where a file is meant."""
    with (
        pytest.raises(FileNotFoundError),
        open_output(str(tmp_path / "nowhere" / "output"), format),
    ):
        pass
    with pytest.raises(IsADirectoryError), open_output(str(tmp_path), format):
        pass
    assert names(tmp_path) == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_that_may_not_be_written(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """Without the right to write, entering raises OSError."""
    tmp_path.chmod(0o500)
    folder = tmp_path if os.geteuid() else Path("/sys")  # where not even root makes files
    with pytest.raises(OSError, match=r"denied|Read-only"), open_output(f"{folder}/x", format):
        pass
    tmp_path.chmod(0o700)
    assert names(tmp_path) == []


def test_rights_are_those_of_a_new_file_or_of_the_old_one(tmp_path: Path) -> None:
    """A new file has the umask's rights; one that is replaced does not get more than it had."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch(mode=0o600)
    for path in (new, old):
        with open_output(str(path), "urls") as output:
            output.write(ENTRIES)
    reference = tmp_path / "reference"
    reference.touch()
    assert new.stat().st_mode == reference.stat().st_mode
    assert old.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What a link points to is replaced, not the link."""
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with open_output(str(link), "urls") as output:
        output.write(ENTRIES[:1])
    assert link.is_symlink()
    assert target.read_text() == f"{ENTRIES[0].loc}\n"


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    """The temporary name is no longer than the file's own."""
    path = tmp_path / ("\u00fc" * 127)
    with open_output(str(path), "urls") as output:
        output.write(ENTRIES[:1])
    assert path.read_text() == f"{ENTRIES[0].loc}\n"


@pytest.mark.parametrize("format", FORMATS)
def test_a_pipe_is_written_to(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """A named pipe gets what a file gets, and stays a pipe."""
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    for path in (pipe, file):
        with open_output(str(path), format) as output:
            output.write(ENTRIES)
    reader.join()
    assert pipe.is_fifo()
    assert read == [file.read_bytes()]


def test_each_write_to_a_pipe_ends_with_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """No write ends inside a record; one that a pipe may not take at once has a single record."""
    writes: list[bytes] = []

    def write(_descriptor: int, data: memoryview) -> int:
        writes.append(bytes(data))
        return len(data)

    monkeypatch.setattr(os, "write", write)
    records = b"".join(b"x" * (number * 7919 % 6000) + b"\0" for number in range(200))
    write_records(1, records, b"\0")
    assert b"".join(writes) == records
    assert all(data.endswith(b"\0") for data in writes)
    assert all(len(data) <= select.PIPE_BUF or data.count(b"\0") == 1 for data in writes)
    assert len(writes) < 200
