"""Where outputs go: files that are whole once they are there, and nothing that is left behind."""

from __future__ import annotations

import errno
import gzip
import os
import select
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sitemapreader import UrlEntry
from sitemapreader.output import FORMATS, open_output
from sitemapreader.output.sink import Output, write_whole_records
from tests.support.commands import run_code

NAMES = ["x.urls", "x.jsonl", "x.csv", "x.tsv", "x.parquet", "x.jsonl.gz", "x.xlsx"]
ENTRIES = [UrlEntry(f"https://a.example/{number}") for number in range(1000)]


def fail_after(output: Output) -> None:
    output.write(ENTRIES)
    raise ZeroDivisionError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_appears_when_it_is_whole(tmp_path: Path, name: str) -> None:
    """Until the context is left, nothing stands under the name, or what stood there before.

    Leaving it with an exception leaves that as it was.
    """
    path = tmp_path / name
    for is_there in (False, True):
        with open_output(path) as output:
            output.write(ENTRIES)
            assert path.exists() == is_there
            assert len(names(tmp_path)) == 1 + is_there
        first = path.read_bytes()
        assert len(gzip.decompress(first) if name.endswith(".gz") else first) > 1000
        for other in (path, tmp_path / f"new-{name}"):
            with pytest.raises(ZeroDivisionError), open_output(other) as output:
                fail_after(output)
        assert (path.read_bytes(), names(tmp_path)) == (first, [name])


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="no /dev/full: run it on Linux"
)
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_cannot_be_written_raises(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
    """It is an OSError, on entering or at the latest when the context is left; nothing is left."""
    for path, said in (
        ("/dev/full", "No space left"),
        (tmp_path / "nowhere" / "output", "No such file"),
        (tmp_path, "Is a directory"),
        (Path("/sys/x"), "denied|Read-only|not permitted"),
    ):
        with pytest.raises(OSError, match=said), open_output(path, format) as output:
            output.write(ENTRIES)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "given", ["https://a.example/", 3, [ENTRIES[0], "https://a.example/"]]
)
def test_other_values_than_entries_are_refused(tmp_path: Path, given: Any) -> None:
    """The message says what is wanted, and what came; nothing is written."""
    with (
        pytest.raises(TypeError, match="write takes one UrlEntry or several"),
        open_output(str(tmp_path / "x.csv")) as output,
    ):
        output.write(given)
    assert names(tmp_path) == []


def test_rights_links_and_long_names_are_kept(tmp_path: Path) -> None:
    """A new file has the umask's rights, an old one keeps its own; what a link points to is new.

    A link that has the name of what is written meanwhile goes.
    """
    new, old, link, long = (
        tmp_path / name for name in ("new", "old", "link", "\u00fc" * 127)
    )
    old.touch(mode=0o600)
    link.symlink_to(tmp_path / "target")
    (tmp_path / "new.part").symlink_to(tmp_path / "nowhere")
    for path in (new, old, link, long):
        with open_output(path, "urls") as output:
            output.write(ENTRIES[:1])
        assert path.read_text() == f"{ENTRIES[0].loc}\n"
    (tmp_path / "reference").touch()
    assert new.stat().st_mode == (tmp_path / "reference").stat().st_mode
    assert old.stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()


@pytest.mark.skipif(
    sys.platform != "linux", reason="no RLIMIT_FSIZE as on Linux: run it there"
)
@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_leaves_no_file(tmp_path: Path, format: str) -> None:  # noqa: A002 (as in open_output)
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


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd: run it on Linux")
def test_a_pipe_without_a_name_is_written_to() -> None:
    """So is `/dev/fd/63`, which a shell gives for `>(wc -l)`, and `/dev/stdout` into a pipe."""
    reader, writer = os.pipe()
    with open_output(f"/dev/fd/{writer}", "urls") as output:
        output.write(ENTRIES[:1])
    assert os.read(reader, 4_096).decode() == f"{ENTRIES[0].loc}\n"
    os.close(reader)
    os.close(writer)


def test_each_write_to_a_pipe_ends_with_a_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No write ends inside a record; one that a pipe may not take at once has a single record."""
    writes: list[bytes] = []

    def write(_descriptor: int, data: memoryview) -> int:
        writes.append(bytes(data))
        return len(data)

    monkeypatch.setattr(os, "write", write)
    records = b"".join(b"x" * (number * 7919 % 6000) + b"\0" for number in range(200))
    write_whole_records(1, records, b"\0")
    assert b"".join(writes) == records
    assert all(data.endswith(b"\0") for data in writes)
    assert all(
        len(data) <= select.PIPE_BUF or data.count(b"\0") == 1 for data in writes
    )
    assert len(writes) < 200


def test_the_content_is_on_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a power failure leaves under the name of a file is all of it."""
    fsync, replace, done = os.fsync, Path.replace, list[object]()

    def sync(descriptor: int) -> None:
        done.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    def rename(self: Path, target: Path) -> Path:
        done.append(target.name)
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", rename)
    with open_output(tmp_path / "a.txt") as output:
        output.write(UrlEntry("https://a.example/"))
    assert done == [len("https://a.example/\n"), "a.txt"]
