"""The cost and the savings of a state, and ten million URLs with `changes`.

    python benchmarks/state.py cost [--children 50] [--urls 10000] [--runs 5]
    python benchmarks/state.py unchanged [--children 100] [--urls 100]
    python benchmarks/state.py changes [--children 200] [--urls 50000]

The site is made in a temporary folder and served over loopback by a process of its own, which knows
validators; each walk is a process of its own too, whose peak memory is the system's own figure.
`changes` walks several times: all is new, nothing is, all is sent once more, one child of ten
lists other URLs, each child has one more.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from parts import make_urlset

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

WORKER = """
import asyncio, resource, sys, time
from sitemapreader import Changes, FetchOptions, Limits, walk

async def main(url, *options):
    state = None
    for option in options:
        if option.startswith("state="):
            state = option[6:]
    if "changes" in options:
        state = Changes(state)
    limits, choices = Limits(walk_bytes=10**12), FetchOptions(per_host=8)
    count, start = 0, time.perf_counter()
    async with walk(sitemaps=[url], limits=limits, options=choices, state=state) as entries:
        async for batch in entries.batches():
            count += len(batch)
    seconds = time.perf_counter() - start
    assert entries.report.complete, entries.report.issues
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(count, seconds, peak, entries.report.unlisted)

asyncio.run(main(*sys.argv[1:]))
"""


class Walked(NamedTuple):
    """The figures of a walk: URLs, seconds, peak memory, unlisted URLs."""

    urls: int
    seconds: float
    peak: int
    unlisted: str


def write_site(folder: Path, children: int, urls: int) -> None:
    """Write an index and its children; each child has URLs of its own."""
    lines = []
    for number in range(children):
        body = make_urlset(urls, number).data
        (folder / f"child-{number}.xml.gz").write_bytes(gzip.compress(body, 6, mtime=0))
        lines.append(f"<sitemap><loc>child-{number}.xml.gz</loc></sitemap>")
    head = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    (folder / "index.xml").write_text(
        f"{head}{''.join(lines)}</sitemapindex>", encoding="ascii"
    )


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder; give the URL of its index."""
    command = [sys.executable, "-c", SERVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline()) if server.stdout else 0
        try:
            yield f"http://127.0.0.1:{port}/index.xml"
        finally:
            server.terminate()


def write_child(folder: Path, child: int, urls: int, *, day: int = 1) -> None:
    """Write a small gzip child; on another day its URLs are others."""
    records = "".join(
        f"<url><loc>https://www.example.org/{child}/{day}/page-{number}.html</loc>"
        f"<lastmod>2024-{number % 12 + 1:02d}-{number % 28 + 1:02d}</lastmod></url>"
        for number in range(urls)
    )
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{records}</urlset>'
    (folder / f"child-{child}.xml.gz").write_bytes(
        gzip.compress(body.encode(), 1, mtime=0)
    )


def write_small_site(folder: Path, children: int, urls: int) -> None:
    """Write an index and children that are made quickly, for there are many."""
    write_site(folder, children, 1)
    for child in range(children):
        write_child(folder, child, urls)


def walk_once(url: str, *options: str) -> Walked:
    """Walk in a process of its own."""
    command = [sys.executable, "-c", WORKER, url, *options]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="ascii")
    urls, seconds, peak, unlisted = done.stdout.split()
    return Walked(int(urls), float(seconds), int(peak), unlisted)


def show(name: str, walked: Walked, note: str = "") -> None:
    """Print a row."""
    print(
        f"{name:<24}{walked.urls:>9}{walked.seconds:>9.2f}{walked.peak / 1e6:>9.1f}"
        f"{walked.unlisted:>9}  {note}",
        flush=True,
    )


def measure_cost(folder: Path, url: str, runs: int) -> None:
    """Compare walks without a state with first walks with one, by medians."""
    ways = {
        "no state": (),
        "state": ("state",),
        "state and changes": ("state", "changes"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(runs):
        for name, options in ways.items():
            state = [f"state={folder}/{name}-{turn}.db"] if options else []
            walked = walk_once(url, *state, *options[1:])
            seconds[name].append(walked.seconds)
            calm = statistics.median(seconds["no state"])
            share = 1 - calm / statistics.median(seconds[name])
            show(name, walked, f"{share:.0%} of the throughput, by the medians so far")


def measure_unchanged(folder: Path, url: str) -> None:
    """Walk over a site that has not changed since."""
    state = f"state={folder}/unchanged.db"
    for name in ("first", "unchanged", "unchanged"):
        show(name, walk_once(url, state))


def measure_changes(folder: Path, url: str, children: int, urls: int) -> None:
    """Walk over a site whose URLs are all new, all the same, and in part others."""
    options = (f"state={folder}/changes.db", "changes")
    show("all new", walk_once(url, *options))
    show("nothing changed (304)", walk_once(url, *options))
    for child in range(children):
        touch(folder / f"child-{child}.xml.gz")
    show("all sent again", walk_once(url, *options))
    for child in range(0, children, 10):
        write_child(folder, child, urls, day=2)
    show("one child of ten", walk_once(url, *options))
    for child in range(children):
        append_page(folder / f"child-{child}.xml.gz", child)
    show("one URL more each", walk_once(url, *options))
    show("nothing changed (304)", walk_once(url, *options))
    size = (folder / "changes.db").stat().st_size
    print(f"the file has {size / 1e6:.0f} MB, {size / children / urls:.0f} bytes a URL")


def touch(path: Path) -> None:
    """Make a file look new, so that its server sends it."""
    later = time.time() + 10
    os.utime(path, (later, later))


def append_page(path: Path, child: int) -> None:
    """Put another URL before those of a child, so that all must be compared."""
    body = gzip.decompress(path.read_bytes())
    record = f"<url><loc>https://www.example.org/{child}/new.html</loc></url>".encode()
    at = body.index(b"<url>")
    path.write_bytes(gzip.compress(body[:at] + record + body[at:], 1, mtime=0))


def main() -> None:
    """Measure one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cost", "unchanged", "changes"])
    parser.add_argument("--children", type=int)
    parser.add_argument("--urls", type=int)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    defaults = {"cost": (50, 10_000), "unchanged": (100, 100), "changes": (200, 50_000)}
    children = arguments.children or defaults[arguments.what][0]
    urls = arguments.urls or defaults[arguments.what][1]
    print(f"{'walk':<24}{'URLs':>9}{'seconds':>9}{'peak MB':>9}{'unlisted':>9}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.what == "changes":
            write_small_site(folder, children, urls)
        else:
            write_site(folder, children, urls)
        with serve(folder) as url:
            if arguments.what == "cost":
                measure_cost(folder, url, arguments.runs)
            elif arguments.what == "unchanged":
                measure_unchanged(folder, url)
            else:
                measure_changes(folder, url, children, urls)


if __name__ == "__main__":
    main()
