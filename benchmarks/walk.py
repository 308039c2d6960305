"""Walk over a served site of an index and its gzip children: time, first URL, memory.

    python benchmarks/walk.py [--children 100] [--urls 10000] [--json FILE]

The site is made in a temporary folder and served over loopback by a process of its own; each
client is a process of its own too, whose peak memory is the system's own figure.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from corpora import make_urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = """
import asyncio, sys
from aiohttp import web

async def main():
    app = web.Application()
    app.router.add_static("/", sys.argv[1])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""

# each prints the count and the seconds to the first URL
BATCHES = """
import asyncio, sys, time
from sitemapreader import walk

async def main():
    start, first, count = time.perf_counter(), 0.0, 0
    async with walk(sitemaps=[sys.argv[1]]) as entries:
        async for batch in entries.batches():
            first = first or time.perf_counter() - start
            count += len(batch)
    print(count, first)

asyncio.run(main())
"""
ENTRIES = BATCHES.replace("batch in entries.batches()", "entry in entries").replace(
    "len(batch)", "1"
)
BLOCKING = """
import sys, time
from sitemapreader import walk_sync

start, first, count = time.perf_counter(), 0.0, 0
with walk_sync(sitemaps=[sys.argv[1]]) as entries:
    for entry in entries:
        first = first or time.perf_counter() - start
        count += 1
print(count, first)
"""


class Run(NamedTuple):
    """What one client did: URLs, seconds in all and to the first URL, peak memory in MB."""

    urls: int
    seconds: float
    first: float
    peak: float


def write_site(folder: Path, children: int, urls: int) -> None:
    """Write an index and its children; each child has URLs of its own."""
    lines = []
    for number in range(children):
        (folder / f"child-{number}.xml.gz").write_bytes(
            gzip.compress(make_urlset(urls, number).data, 6, mtime=0)
        )
        lines.append(f"<sitemap><loc>child-{number}.xml.gz</loc></sitemap>")
    (folder / "index.xml").write_text(
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        + "\n".join(lines)
        + "</sitemapindex>"
    )


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder; give the URL of its index."""
    command = [sys.executable, "-c", SERVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline()) if server.stdout else 0
        yield f"http://127.0.0.1:{port}/index.xml"
        server.terminate()


def run_client(command: list[str]) -> Run:
    """Run a client to its end and read what it printed, and what the system says of it."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        client = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(client.pid, 0)
        seconds = time.perf_counter() - start
        client.returncode = os.waitstatus_to_exitcode(status)
        if client.returncode:
            raise SystemExit(f"{command[:3]} ended with {client.returncode}")
        output.seek(0)
        words = output.readline().split()
        if len(words) == 2:
            urls, first = int(words[0]), float(words[1])
        else:  # the command line prints the URLs themselves
            urls, first = 1 + sum(1 for _ in output), float("nan")
    return Run(urls, seconds, first, usage.ru_maxrss / 1024)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=100)
    parser.add_argument("--urls", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    clients = {
        "batches": [sys.executable, "-c", BATCHES],
        "async for": [sys.executable, "-c", ENTRIES],
        "walk_sync": [sys.executable, "-c", BLOCKING],
        "command line": [sys.executable, "-m", "sitemapreader", "--sitemap"],
    }
    rows = []
    for children in (1, arguments.children):
        with tempfile.TemporaryDirectory() as name:
            write_site(Path(name), children, arguments.urls)
            with serve(Path(name)) as url:
                rows += [
                    (children * arguments.urls, client, run_client([*command, url]))
                    for client, command in clients.items()
                ]
    print(
        f"{'site':>9}  {'client':<13}{'URLs':>9}{'seconds':>9}{'URLs/s':>9}"
        f"{'first ms':>9}{'peak MB':>9}"
    )
    for size, client, run in rows:
        print(
            f"{size:>9}  {client:<13}{run.urls:>9}{run.seconds:>9.2f}{run.urls / run.seconds:>9.0f}"
            f"{run.first * 1000:>9.1f}{run.peak:>9.1f}"
        )
        if run.urls != size:
            raise SystemExit(f"{client}: {run.urls} URLs instead of {size}")
    if arguments.json:
        arguments.json.write_text(
            json.dumps([{"site": s, "client": c, **r._asdict()} for s, c, r in rows], indent=1)
        )


if __name__ == "__main__":
    main()
