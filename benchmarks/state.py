"""The cost and the savings of a state, and ten million URLs with `changes`.

    python benchmarks/state.py cost [--children 50] [--urls 10000] [--runs 5]
    python benchmarks/state.py unchanged [--children 100] [--urls 100]
    python benchmarks/state.py changes [--children 200] [--urls 50000]
    python benchmarks/state.py month [--children 100] [--urls 10000] [--days 30] [--spread]

The site is made in a temporary folder and served over loopback by a process of its own, which knows
validators; each walk is a process of its own too, whose peak memory is the system's own figure.
`changes` walks several times: all is new, nothing is, all is sent once more, one child of ten
lists other URLs, each child has one more. `month` walks once on each of thirty simulated days, on
which one URL of a hundred is replaced: all in one child, or with `--spread` some in each child.
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
from targets import judge, print_verdicts

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
from sitemapreader.changes import State

async def main(url, *options):
    state = None
    for option in options:
        if option.startswith("state="):
            state = option[6:]
    for option in options:
        if option.startswith("clock="):
            state = State(state, clock=lambda: float(option[6:]))
            break
    if "changes" in options:
        state = Changes(state)
    limits, choices = Limits(walk_bytes=10**12), FetchOptions(per_host=8)
    count, start, cpu = 0, time.perf_counter(), time.process_time()
    async with walk(sitemaps=[url], limits=limits, options=choices, state=state) as entries:
        async for batch in entries.batches():
            count += len(batch)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert entries.report.complete, entries.report.issues
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(count, seconds, cpu, peak, entries.report.unlisted)

asyncio.run(main(*sys.argv[1:]))
"""


HOUR_SECONDS = 3600
DAY_SECONDS = 24 * HOUR_SECONDS


class Walked(NamedTuple):
    """The figures of a walk: URLs, seconds, seconds of CPU, peak memory, unlisted URLs."""

    urls: int
    seconds: float
    cpu: float
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
    urls, seconds, cpu, peak, unlisted = done.stdout.split()
    return Walked(int(urls), float(seconds), float(cpu), int(peak), unlisted)


def show(name: str, walked: Walked, note: str = "") -> None:
    """Print a row."""
    print(
        f"{name:<24}{walked.urls:>9}{walked.seconds:>9.2f}{walked.cpu:>9.2f}"
        f"{walked.peak / 1e6:>9.1f}{walked.unlisted:>9}  {note}",
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
    small = walk_once(url, *options)
    calm = walk_once(url)
    show("one URL more each", small, f"{small.cpu / calm.cpu:.2f} of the CPU below")
    show("the same, no state", calm)
    show("nothing changed (304)", walk_once(url, *options))
    size = (folder / "changes.db").stat().st_size
    print(f"the file has {size / 1e6:.0f} MB, {size / children / urls:.0f} bytes a URL")
    figures = {"one URL more each": small.cpu, "the same, no state": calm.cpu}
    print_verdicts(judge("state", figures))


def measure_month(
    folder: Path,
    url: str,
    children: int,
    urls: int,
    days: int,
    *,
    spread: bool,
) -> None:
    """Walk once a day over a site that replaces one URL in a hundred each day."""
    begin = time.time() - days * DAY_SECONDS
    state = folder / "month.db"
    for day in range(days + 1):
        now = begin + day * DAY_SECONDS
        changed = (
            range(children) if spread else range(day % children, day % children + 1)
        )
        for child in changed if day else ():
            path = folder / f"child-{child}.xml.gz"
            replaced = (
                range(day, urls, 100) if spread else range(children * urls // 100)
            )
            replace_pages(path, day, replaced)
        for path in folder.glob("*.xml*"):
            if path.stat().st_mtime > now:  # written just now
                os.utime(path, (now - HOUR_SECONDS, now - HOUR_SECONDS))
        walked = walk_once(url, f"state={state}", f"clock={now}", "changes")
        size = state.stat().st_size
        show(f"day {day}", walked, f"{size / 1e6:.1f} MB")


def replace_pages(path: Path, day: int, numbers: range) -> None:
    """Replace the URLs at some places of a child by new ones."""
    head, *records = gzip.decompress(path.read_bytes()).split(b"<url>")
    for number in numbers:
        loc = f"https://www.example.org/{path.name}/{day}/{number}".encode()
        end = b"</urlset>" if number == len(records) - 1 else b""
        records[number] = b"<loc>" + loc + b"</loc></url>" + end
    path.write_bytes(gzip.compress(b"<url>".join([head, *records]), 1, mtime=0))


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
    """Measure one of the four."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cost", "unchanged", "changes", "month"])
    parser.add_argument("--children", type=int)
    parser.add_argument("--urls", type=int)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--spread", action="store_true")
    arguments = parser.parse_args()
    defaults = {
        "cost": (50, 10_000),
        "unchanged": (100, 100),
        "changes": (200, 50_000),
        "month": (100, 10_000),
    }
    children = arguments.children or defaults[arguments.what][0]
    urls = arguments.urls or defaults[arguments.what][1]
    print(
        f"{'walk':<24}{'URLs':>9}{'seconds':>9}{'CPU s':>9}{'peak MB':>9}{'unlisted':>9}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.what in ("changes", "month"):
            write_small_site(folder, children, urls)
        else:
            write_site(folder, children, urls)
        with serve(folder) as url:
            if arguments.what == "cost":
                measure_cost(folder, url, arguments.runs)
            elif arguments.what == "unchanged":
                measure_unchanged(folder, url)
            elif arguments.what == "month":
                days = arguments.days
                measure_month(
                    folder, url, children, urls, days, spread=arguments.spread
                )
            else:
                measure_changes(folder, url, children, urls)


if __name__ == "__main__":
    main()
