"""A pipe whose reader dies: what was in it comes again, and a good reader gets each URL once."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import random
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest
from commands import run, start
from scale import SCALE
from walking import index, urlset

from sitemapreader.cli import pipe
from sitemapreader.cli.pipe import READER_BYTES, PipeDelivery, follow_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sitemapreader.output.sink import Output

pytestmark = pytest.mark.skipif(
    sys.platform == "win32",
    reason="pipes of Windows do not say what arrived: run it on Linux or macOS",
)
CLOSED_PIPE = 141


def make_site(folder: Path, documents: int, urls: int) -> set[str]:
    """Write a site in a folder; return its URLs."""
    folder.mkdir()
    home = f"https://{folder.name}.example/"
    (folder / "robots.txt").write_text(f"Sitemap: {home}sitemap.xml\n")
    (folder / "sitemap.xml").write_bytes(index(*(f"{home}{n}.xml" for n in range(documents))))
    everything: set[str] = set()
    for number in range(documents):
        locs = [f"{home}{number}/page-{entry:05}.html" for entry in range(urls)]
        (folder / f"{number}.xml").write_bytes(urlset(*locs))
        everything |= set(locs)
    return everything


def read_some(folder: Path, words: list[str], end: bytes, records: int, pause: float = 0) -> bytes:
    """Read so many records, as a program does that reads through a buffer, and go away."""
    taken = b""
    with start(*words, "-q", cwd=folder) as process:
        assert process.stdout is not None
        reading = process.stdout.fileno()
        rest = b""
        while taken.count(end) < records and (block := os.read(reading, 8_192)):
            *whole, rest = (rest + block).split(end)
            wanted = whole[: records - taken.count(end)]
            taken += b"".join(record + end for record in wanted)
            time.sleep(pause)
        process.stdout.close()
        process.wait()
    return taken


def read_all(folder: Path, words: list[str]) -> bytes:
    """Read to the end."""
    with start(*words, "-q", cwd=folder) as process:
        assert process.stdout is not None
        data: bytes = process.stdout.read()
    assert process.returncode == 0
    return data


def _locs_of_jsonl(data: bytes) -> list[str]:
    return [json.loads(line)["loc"] for line in data.splitlines()]


def _locs_of_csv(data: bytes) -> list[str]:
    rows = csv.reader(io.StringIO(data.decode()))
    return [row[0] for row in rows if row and row[0] != "loc"]


FORMATS: dict[str, tuple[list[str], bytes, Callable[[bytes], list[str]]]] = {
    "urls": ([], b"\n", lambda data: data.decode().split()),
    "nul": (["-0"], b"\0", lambda data: [loc for loc in data.decode().split("\0") if loc]),
    "jsonl": (["--format", "jsonl"], b"\n", _locs_of_jsonl),
    "csv": (["--format", "csv", "--fields", "loc,lastmod"], b"\n", _locs_of_csv),
}


def check_broken_pipe(
    folder: Path, sites: list[str], kind: str, records: int, *more: str, pause: float = 0
) -> int:
    """Break a pipe, read again to the end; return how many URLs came twice."""
    options, end, locs_of = FORMATS[kind]
    words = [*sites, "--state", "state.db", *options, *more]
    first = locs_of(read_some(folder, words, end, records, pause))
    second = locs_of(read_all(folder, words))
    everything = set().union(*(locs_in(folder / site) for site in sites))
    assert set(first) | set(second) == everything
    assert len(second) == len(set(second))
    assert read_all(folder, [*words, "--no-header"] if kind == "csv" else words) == b""
    return len(first) + len(second) - len(everything)


def locs_in(site: Path) -> set[str]:
    """Return the URLs of a site that `make_site` wrote."""
    text = b"".join(path.read_bytes() for path in site.glob("[0-9]*.xml")).decode()
    return {part.partition("<")[0] for part in text.split("<loc>")[1:]}


@pytest.mark.parametrize(("kind", "records"), [("urls", 3_000), ("csv", 1)])
def test_a_reader_that_goes_away_loses_nothing(tmp_path: Path, kind: str, records: int) -> None:
    """What a dead reader had not worked on comes with the next run, in each format."""
    make_site(tmp_path / "one", 3, 3_000)
    repeated = check_broken_pipe(tmp_path, ["one"], kind, records)
    assert repeated >= 0


def test_a_small_site_whose_reader_wants_five_lines(tmp_path: Path) -> None:
    """A reader that leaves with everything in its buffer breaks the pipe of a small site too."""
    everything = make_site(tmp_path / "one", 1, 41)
    words = ["one", "--state", "state.db"]
    with start(*words, "-q", cwd=tmp_path) as process:
        assert process.stdout is not None
        lines = 0
        while lines < 41:
            lines += os.read(process.stdout.fileno(), 65_536).count(b"\n")
        process.stdout.close()
        assert process.wait() == CLOSED_PIPE
    assert set(read_all(tmp_path, words).decode().split()) == everything
    assert read_all(tmp_path, words) == b""


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_many_broken_pipes(tmp_path: Path, kind: str) -> None:
    """Broken at random places, by quick and slow readers, one source or two: nothing is lost."""
    rng = random.Random(kind)
    make_site(tmp_path / "one", 4, 3_000)
    make_site(tmp_path / "two", 2, 200)
    for _ in range(4 * SCALE):
        for path in tmp_path.glob("state.db*"):
            path.unlink()
        sites = rng.choice([["one"], ["two"], ["two", "one"]])
        records = int(10 ** rng.uniform(0, 4))
        changes = rng.choice([[], ["--changes"]])
        check_broken_pipe(tmp_path, sites, kind, records, *changes, pause=rng.choice([0, 0.002]))


def test_parquet_and_a_state_are_wrong_usage(tmp_path: Path) -> None:
    """What cannot be read when it is cut off is refused before anything is fetched."""
    done = run(".", "--state", "s.db", "--format", "parquet", cwd=tmp_path)
    assert done.returncode == 2
    assert "needs -o FILE" in done.stderr


# -- what a pipe tells


@attrs.define
class Written:
    """An output, as far as a delivery looks at it."""

    descriptor: int
    written: int = 0

    def write(self, size: int) -> None:
        self.written += os.write(self.descriptor, bytes(size))


@contextmanager
def opened(*, is_socket: bool = False) -> Iterator[tuple[int, Written, PipeDelivery]]:
    """Give the reading end of a pipe, what writes to it, and its delivery."""
    ends = [end.detach() for end in socket.socketpair()] if is_socket else list(os.pipe())
    output = Written(ends[1])
    delivery = follow_output(cast("Output", output))
    assert delivery is not None
    try:
        yield ends[0], output, delivery
    finally:
        for end in ends:
            with suppress(OSError):  # the test may have closed it
                os.close(end)


def test_a_batch_arrives_when_enough_is_written_behind_it() -> None:
    """A pipe-full and a reader's buffer behind it, a batch has been worked on; not before."""
    with opened() as (reading, output, delivery):
        output.write(10_000)
        delivery.note(3)
        for taken in range(4, 100):
            assert delivery.arrived() == 0 or output.written >= 10_000 + READER_BYTES
            output.write(4_096)
            os.read(reading, 65_536)
            delivery.note(taken)
        behind = output.written - 65_536 - READER_BYTES
        assert 3 < delivery.arrived() <= 3 + (behind - 10_000) // 4_096 + 1


def test_what_was_taken_long_ago_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that has had its time and is there has worked on all; one that is gone has not."""
    monkeypatch.setattr(pipe, "_WORKED_ON_SECONDS", 0)
    with opened() as (reading, output, delivery):
        output.write(10)
        delivery.note(1)
        assert delivery.arrived() == 0
        os.read(reading, 10)
        assert delivery.arrived() == 1
        output.write(10)
        delivery.note(2)
        os.close(reading)
        assert delivery.arrived() == 1


@pytest.mark.parametrize("is_socket", [False, True])
async def test_settling(is_socket: bool) -> None:
    """All that was written is taken by a reader that stays: then it has arrived."""
    with opened(is_socket=is_socket) as (reading, output, delivery):
        await asyncio.wait_for(delivery.settle(), 1)  # nothing was written
        output.write(50_000)
        taker = threading.Timer(0.02, os.read, (reading, 65_536))
        taker.start()
        await delivery.settle()
        taker.join()
        output.write(10)
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            await delivery.settle()


async def test_a_reader_that_takes_nothing_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is there and stalls does not hold the program for ever."""
    monkeypatch.setattr(pipe, "_STALLED_SECONDS", 0.01)
    with opened() as (_, output, delivery):
        output.write(10)
        await asyncio.wait_for(delivery.settle(), 5)


def test_a_file_needs_no_delivery(tmp_path: Path) -> None:
    """What is written to a file has arrived."""
    with (tmp_path / "urls").open("wb") as file:
        output: Any = Written(file.fileno())
        assert follow_output(output) is None
