"""Kill walks with a state by `kill -9`, and check that they lose nothing.

    python benchmarks/state_kills.py [--kills 200] [--children 6] [--urls 2000]

A site is read to its end, then it changes, and is read again. Each walk is a process of its own,
which is killed at a random moment and resumed by the next one; it writes what it takes into a file,
line by line. All URLs must be in the file, and each kill may repeat the batch in hand only.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from state import serve, write_child, write_small_site

WORKER = """
import asyncio, os, signal, sys, threading, time
from datetime import timedelta
from sitemapreader import Changes, State, walk

async def main(url, db, out, seconds, changes):
    state = State(db, confirm_after=timedelta(0))
    if changes == "True":
        state = Changes(state)
    async with walk(sitemaps=[url], state=state) as entries:
        kill = threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL))
        kill.daemon = True
        begin = time.monotonic()
        if float(seconds) > 0:
            kill.start()
        with open(out, "a", buffering=1) as lines:
            async for batch in entries.batches():
                for entry in batch:
                    print(entry.loc, file=lines)
        kill.cancel()
    assert entries.report.complete, entries.report.issues
    print(time.monotonic() - begin)

asyncio.run(main(*sys.argv[1:]))
"""
BATCH = 500
"""Entries of a batch: the most that a kill may repeat."""


class Result(NamedTuple):
    """The results of all walks over one site.

    Attributes:
        kills: how many walks were killed.
        lost: how many URLs were never delivered.
        most: the most URLs that one kill repeated.
    """

    kills: int
    lost: int
    most: int


def walk_until_killed(
    url: str, folder: Path, seconds: float, *, changes: bool
) -> float | None:
    """Walk in a process of its own; return the seconds it took, `None` if it was killed."""
    words = [url, folder / "site.db", folder / "out.txt", seconds, changes]
    command = [sys.executable, "-c", WORKER, *map(str, words)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    if done.returncode not in (0, -9):
        raise RuntimeError(f"a walk ended with {done.returncode}")
    return None if done.returncode else float(done.stdout)


def list_urls(child: int, day: int, urls: int) -> set[str]:
    """Return the URLs that a child of `state.write_child` lists."""
    return {
        f"https://www.example.org/{child}/{day}/page-{number}.html"
        for number in range(urls)
    }


def kill_site(
    kills: int, children: int, urls: int, seed: int, *, changes: bool
) -> Result:
    """Read a site, change it, and read it again, until this many walks were killed."""
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site").mkdir()
        write_small_site(folder / "site", children, urls)
        days = dict.fromkeys(range(children), 1)
        out = folder / "out.txt"
        killed = most = 0
        expected = Counter[str]()
        with serve(folder / "site") as url:
            longest = walk_until_killed(url, folder, 0, changes=changes) or 0.0
            (folder / "site.db").unlink()
            while killed < kills:
                out.write_text("")
                listed = set().union(
                    *(list_urls(child, day, urls) for child, day in days.items())
                )
                wanted = {each for each in listed if not expected[each]}
                before = Counter[str]()
                is_killed = True
                while is_killed:
                    seconds = choose.uniform(0.001, longest) if killed < kills else 0.0
                    took = walk_until_killed(url, folder, seconds, changes=changes)
                    is_killed = took is None
                    killed += is_killed
                    found = Counter(out.read_text().split())
                    repeated = sum(
                        number - max(1, before[each]) for each, number in found.items()
                    )
                    most = max(most, repeated)
                    before = found
                lost = len(wanted - before.keys())
                if lost:
                    return Result(killed, lost, most)
                expected.update(wanted)
                changed = choose.randrange(children)
                days[changed] += 1
                write_child(folder / "site", changed, urls, day=days[changed])
    return Result(killed, 0, most)


def main() -> None:
    """Kill walks with and without `changes`; exit with 1 if a URL is lost or repeated."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--children", type=int, default=6)
    parser.add_argument("--urls", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    is_right = True
    for changes in (False, True):
        result = kill_site(
            given.kills, given.children, given.urls, given.seed, changes=changes
        )
        print(f"changes={changes}: {result}", flush=True)
        is_right &= result.lost == 0 and result.most <= BATCH
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
