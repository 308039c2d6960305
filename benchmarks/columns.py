"""Entries against columns: a walk by each loop, and into each format.

    python benchmarks/columns.py [--urls 200000] [--rounds 3]

Each way is a process of its own, which reads the sitemaps from a folder. `CPU s` is what the
process computed during the walk, the least of several rounds in turn, without the start of Python;
importing pyarrow counts. The peak is the system's own figure.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from parts import make_urlset

from sitemapreader import walk
from sitemapreader.fetch import FolderFetcher
from sitemapreader.output import open_output

SITE = "https://www.example.com/"
IN_A_SITEMAP = 50_000
LOOPS = ("batches", "rows", "record_batches")
FORMATS = ("urls", "jsonl", "csv", "parquet")


def write_site(folder: Path, urls: int) -> None:
    """Write sitemaps, and a robots.txt that names them."""
    names = [f"{number}.xml" for number in range(-(-urls // IN_A_SITEMAP))]
    for number, name in enumerate(names):
        size = min(IN_A_SITEMAP, urls - number * IN_A_SITEMAP)
        (folder / name).write_bytes(make_urlset(size, number).data)
    lines = "".join(f"Sitemap: {SITE}{name}\n" for name in names)
    (folder / "robots.txt").write_text(lines, encoding="ascii")


async def run(way: str, folder: str) -> int:
    """Walk the folder in one way, and return how many URLs there were."""
    async with walk(SITE, fetcher=FolderFetcher(folder, SITE)) as entries:
        if way == "record_batches":
            return sum([batch.num_rows async for batch in entries.record_batches()])
        if way in LOOPS:
            return sum([len(rows) async for rows in getattr(entries, way)()])
        number = 0
        with open_output(os.devnull, way) as output:
            async for rows in entries.rows():
                output.write(rows)
                number += len(rows)
        return number


def measure(way: str, folder: str, urls: int) -> tuple[float, float]:
    """Return the seconds of one way and the peak of its process in MB."""
    command = [sys.executable, __file__, "--run", way, folder]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = child.stdout.read().split() if child.stdout else []
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode or int(said[0]) != urls:
        raise SystemExit(
            f"{way}: {said[:1]} of {urls} URLs, exit code {child.returncode}"
        )
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return float(said[1]), usage.ru_maxrss * kilobyte / 1e6


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--urls", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write_site(arguments.write, arguments.urls)
        return
    if arguments.run:
        begin = time.process_time()
        number = asyncio.run(run(*arguments.run))
        print(number, time.process_time() - begin)
        return
    found: dict[str, list[tuple[float, float]]] = {
        way: [] for way in (*LOOPS, *FORMATS)
    }
    with tempfile.TemporaryDirectory() as folder:
        # By a process of its own: the system counts the memory of this one for its children.
        write = [
            sys.executable,
            __file__,
            "--write",
            folder,
            "--urls",
            str(arguments.urls),
        ]
        subprocess.run(write, check=True)
        for _ in range(arguments.rounds):
            for way, measured in found.items():
                measured.append(measure(way, folder, arguments.urls))
    print(f"{'way':<16}{'URLs':>10}{'CPU s':>8}{'peak MB':>9}")
    for way, measured in found.items():
        seconds, peaks = zip(*measured, strict=True)
        print(f"{way:<16}{arguments.urls:>10}{min(seconds):>8.2f}{min(peaks):>9.0f}")


if __name__ == "__main__":
    main()
