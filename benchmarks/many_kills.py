"""Kill runs over many sites with `kill -9`, and check the files that they write.

    python benchmarks/many_kills.py [--kills 60] [--sites 80]

All runs share a state; each writes its own output file. A run is killed at a random moment, unless
it ends before. The last run is not killed. Together, all files must hold every URL; those of a run
that was killed between its rename and its commit come twice.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from many import make_options, resolve_here
from many_server import URLS, serve

from sitemapreader import Search


class Result(NamedTuple):
    """The results of all runs."""

    kills: int
    ended: int
    outputs: int
    urls: int
    missing: int
    twice: int
    seconds: float


def read_once(sites: int, port: int, folder: Path, number: int) -> None:
    """Read all sites into a file, with the state that all runs share."""
    from sitemapreader import walk_many_sync  # noqa: PLC0415 (in a process of its own)
    from sitemapreader.output import write_sites_sync  # noqa: PLC0415 (the same)

    resolve_here()
    urls = (f"http://s{site}.test:{port}/" for site in range(sites))
    options = make_options(port)
    with walk_many_sync(
        urls, state=folder / "all.db", options=options, search=Search(probe="few")
    ) as run:
        write_sites_sync(
            run, folder / f"out-{number}.jsonl", report=folder / f"report-{number}.csv"
        )


def kill_runs(kills: int, sites: int, seed: int = 1) -> Result:
    """Kill runs, let the last one end, and compare the files with the expected URLs."""
    generator, begin, ended = random.Random(seed), time.monotonic(), 0
    with serve() as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        longest = _run(sites, port, folder / "trial", 0, None)
        for number in range(kills):
            # The last tenth of a run is where files get their names: half of the kills hit there.
            start = 0.0 if number % 2 else 0.9
            seconds = longest * generator.uniform(start, 1.1)
            ended += _run(sites, port, folder / "runs", number, seconds) < seconds
        _run(sites, port, folder / "runs", kills, None)
        outputs = sorted((folder / "runs").glob("out-*.jsonl"))
        found = Counter(
            json.loads(line)["loc"]
            for path in outputs
            for line in path.read_text().splitlines()
        )
        truth = {
            f"http://s{n}.test:{port}/{url}"
            for n in range(sites)
            for url in range(URLS)
        }
    return Result(
        kills,
        ended,
        len(outputs),
        found.total(),
        len(truth - found.keys()),
        sum(number - 1 for number in found.values()),
        time.monotonic() - begin,
    )


def _run(
    sites: int, port: int, folder: Path, number: int, seconds: float | None
) -> float:
    """Run once, and kill it after so many seconds; return how long it took."""
    folder.mkdir(exist_ok=True)
    begin = time.monotonic()
    words = [str(each) for each in (sites, port, folder, number)]
    process = subprocess.Popen([sys.executable, __file__, "--run", *words])
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return time.monotonic() - begin


def main() -> None:
    """Kill runs, and print the results; exit with 1 if a URL is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--sites", type=int, default=80)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        sites, port, folder, number = arguments.run
        read_once(int(sites), int(port), Path(folder), int(number))
        return
    result = kill_runs(arguments.kills, arguments.sites)
    print(result)
    sys.exit(1 if result.missing else 0)


if __name__ == "__main__":
    main()
