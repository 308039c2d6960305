"""A pipe whose reader dies: what was in it comes again, and a good reader gets each URL once."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.commands import start
from tests.support.scale import SCALE
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    (folder / "sitemap.xml").write_bytes(
        index(*(f"{home}{n}.xml" for n in range(documents)))
    )
    everything: set[str] = set()
    for number in range(documents):
        locs = [f"{home}{number}/page-{entry:05}.html" for entry in range(urls)]
        (folder / f"{number}.xml").write_bytes(urlset(*locs))
        everything |= set(locs)
    return everything


def read_some(
    folder: Path, words: list[str], end: bytes, records: int, pause: float = 0
) -> bytes:
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
    "nul": (
        ["-0"],
        b"\0",
        lambda data: [loc for loc in data.decode().split("\0") if loc],
    ),
    "jsonl": (["--format", "jsonl"], b"\n", _locs_of_jsonl),
    "csv": (["--format", "csv", "--fields", "loc,lastmod"], b"\n", _locs_of_csv),
}


def check_broken_pipe(
    folder: Path,
    sites: list[str],
    kind: str,
    records: int,
    *more: str,
    pause: float = 0,
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


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "records"), [("urls", 3_000), ("csv", 1)])
def test_a_reader_that_goes_away_loses_nothing(
    tmp_path: Path, kind: str, records: int
) -> None:
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
    for _ in range(2 * SCALE):
        for path in tmp_path.glob("state.db*"):
            path.unlink()
        sites = rng.choice([["one"], ["two"], ["two", "one"]])
        records = int(10 ** rng.uniform(0, 4))
        changes = rng.choice([[], ["--changes"]])
        check_broken_pipe(
            tmp_path, sites, kind, records, *changes, pause=rng.choice([0, 0.002])
        )
