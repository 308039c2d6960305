"""Write URLs to every output: rate, size of the file, peak memory.

    python benchmarks/outputs.py [--urls 1000000] [--only parquet] [--json FILE]

Entries come in batches of 500 as they do from a walk, each a new object with its lastmod and
sitemap, one of fifty with two images. Every output is a process of its own, whose peak memory is
the system's own figure. `nothing` makes the entries and throws them away; `URLs/s` is the rate of
the output alone, without that, in seconds of the processor, so that it can be compared between
machines that are busy with other things.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sitemapreader import UrlEntry
from sitemapreader.output import FORMATS, open_output
from sitemapreader.records import Image

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH = 500
IN_A_SITEMAP = 50_000
START = datetime(2020, 1, 1, tzinfo=UTC)
PATH = "https://www.example.com/garden/wooden-kitchen-table-with-leather-chairs-{}.html"


class Run(NamedTuple):
    """The figures of one output: URLs, seconds, CPU seconds, bytes, peak MB."""

    urls: int
    seconds: float
    busy: float
    size: int
    peak: float


def make_batches(urls: int) -> Iterator[list[UrlEntry]]:
    """Make entries, as a reader makes them."""
    for start in range(0, urls, BATCH):
        sitemap = (
            f"https://www.example.com/sitemaps/products-{start // IN_A_SITEMAP}.xml.gz"
        )
        yield [
            make_entry(number, sitemap)
            for number in range(start, min(start + BATCH, urls))
        ]


def make_entry(number: int, sitemap: str) -> UrlEntry:
    """Make one entry."""
    lastmod = START + timedelta(seconds=number * 7919 % 150_000_000)
    entry = UrlEntry(
        PATH.format(number),
        lastmod,
        "weekly",
        0.5,
        sitemap=sitemap,
        lastmod_text=str(lastmod),
    )
    if number % 50 == 0:
        entry.images = tuple(
            Image(f"https://img.example.com/{number}-{n}.jpg") for n in "ab"
        )
    return entry


# -- what is measured


def write_nothing(_path: str, urls: int) -> None:
    """Make the entries only."""
    for _ in make_batches(urls):
        pass


def write_file(format: str) -> Callable[[str, int], None]:  # noqa: A002 (as in open_output)
    """Return a function that writes a file in a format."""

    def write(path: str, urls: int) -> None:
        with open_output(path, format) as output:
            for batch in make_batches(urls):
                output.write(batch)

    return write


def stream_batches(_path: str, urls: int) -> None:
    """Make Arrow batches of all entries, and discard them."""
    from sitemapreader.tables import read_batches  # noqa: PLC0415 (needs an extra)

    events = (entry for batch in make_batches(urls) for entry in batch)
    rows = sum(batch.num_rows for batch in read_batches(events))
    if rows != urls:
        raise SystemExit(f"{rows} rows of {urls} URLs")


def make_frame(_path: str, urls: int) -> None:
    """Make a DataFrame, which holds everything."""
    from sitemapreader.tables import to_dataframe  # noqa: PLC0415 (needs an extra)

    rows = len(to_dataframe(entry for batch in make_batches(urls) for entry in batch))
    if rows != urls:
        raise SystemExit(f"{rows} rows of {urls} URLs")


OUTPUTS: dict[str, Callable[[str, int], None]] = {
    "nothing": write_nothing,
    **{name: write_file(name) for name in FORMATS},
    "read_batches": stream_batches,
    "to_dataframe": make_frame,
}


def check_file(name: str, path: Path, urls: int) -> None:
    """Count the records of a file."""
    if name == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 (needs an extra)

        count = pq.read_metadata(path).num_rows
    elif name in FORMATS:
        with path.open("rb") as file:
            count = sum(
                block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")
            )
        count -= name in {"csv", "tsv"}
    else:
        return
    if count != urls:
        raise SystemExit(f"{name}: {count} records of {urls} URLs")


def measure(name: str, urls: int) -> Run:
    """Run one output in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "output"
        start = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, __file__, "--run", name, str(path), str(urls)]
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{name} ended with {child.returncode}")
        check_file(name, path, urls)
        size = path.stat().st_size if path.exists() else 0
    kilobyte = 1 if sys.platform == "darwin" else 1024
    busy = usage.ru_utime + usage.ru_stime
    return Run(urls, seconds, busy, size, usage.ru_maxrss * kilobyte / 1e6)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--only", choices=OUTPUTS, action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        name, path, urls = arguments.run
        OUTPUTS[name](path, int(urls))
        return
    runs: dict[str, Run] = {}
    print(
        f"{'output':<13}{'URLs':>10}{'seconds':>9}{'CPU s':>8}{'URLs/s':>10}"
        f"{'file MB':>9}{'peak MB':>9}"
    )
    for name in dict.fromkeys(["nothing", *(arguments.only or OUTPUTS)]):
        run = runs[name] = measure(name, arguments.urls)
        own = run.busy - (runs["nothing"].busy if name != "nothing" else 0)
        print(
            f"{name:<13}{run.urls:>10}{run.seconds:>9.1f}{run.busy:>8.1f}"
            f"{run.urls / max(own, 1e-9):>10.0f}"
            f"{run.size / 1e6:>9.0f}{run.peak:>9.0f}",
            flush=True,
        )
    if arguments.json:
        rows = {name: run._asdict() for name, run in runs.items()}
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
