"""Fetch a whole site with every library that can: time, first URL, memory.

    pip install -e '.[bench]' && npm install --prefix benchmarks
    python benchmarks/walk.py [--children 100] [--urls 10000] [--rounds 3] [--only batches ...]

The site is served over loopback by a process of its own, and each client is one too; they take
turns. `seconds` is wall time without imports, `first` the milliseconds to the first URL, `CPU` what
the client computed, `peak` the most memory that it had. What counts is the median of the rounds.
The clients "bytes in memory" have fetched everything before their clock runs: what they differ by
is what a walk adds to reading. trafilatura is not among them: it connects to no private address.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import targets
from contestants import FOLDER, WALKERS, make_command, version_of
from measuring import describe_machine, run_once
from parts import BASE, make_urlset
from site_server import Page, serve
from tables import print_machine, print_table, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_PER_WALK = 600
GZIPPED = {"Content-Type": "application/gzip"}
XML = {"Content-Type": "application/xml"}
HEAD = (
    "client",
    "URLs",
    "seconds",
    "URLs/s",
    "first ms",
    "CPU s",
    "peak MB",
    "x batches",
    "",
)


class Walked(NamedTuple):
    """One walk: URLs, seconds to the end and the first URL, CPU seconds, peak MB."""

    urls: int
    seconds: float
    first: float
    cpu: float
    peak: float


class Result(NamedTuple):
    """The result of a client: its walks, or why there are none."""

    client: str
    walks: list[Walked]
    fault: str = ""

    def median(self, field: str) -> float:
        """Return the median of a field."""
        figures: list[float] = [getattr(walk, field) for walk in self.walks]
        return median(figures)


def make_site(children: int, urls: int) -> Callable[[str], dict[str, Page]]:
    """Return a function that makes the site for an origin."""

    def make(origin: str) -> dict[str, Page]:
        site = {"/robots.txt": Page(f"Sitemap: {origin}/index.xml\n".encode(), {})}
        lines = []
        for number in range(children):
            path = f"/child-{number}.xml.gz"
            data = make_urlset(urls, number).data.replace(
                BASE.encode(), origin.encode()
            )
            site[path] = Page(gzip.compress(data, 6, mtime=0), GZIPPED)
            lines.append(f"<sitemap><loc>{origin}{path}</loc></sitemap>\n")
        index = f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{"".join(lines)}'
        site["/index.xml"] = Page(f"{index}</sitemapindex>\n".encode(), XML)
        return site

    return make


def run_client(name: str, url: str) -> tuple[Walked | None, str]:
    """Run a client to its end."""
    command = make_command("contestant.py", "walk", name, url)
    if name == "sitemapper":
        command = ["node", str(FOLDER / "adapters" / "sitemapper.mjs"), "walk", url]
    output, fault = run_once(command, seconds=SECONDS_PER_WALK)
    return (None, fault) if fault else (Walked(**json.loads(output)), "")


def run_rounds(
    url: str, clients: list[str], expected: int, rounds: int
) -> list[Result]:
    """Have each client walk in turn."""
    results = {name: Result(name, [], find_obstacle(name)) for name in clients}
    for _ in range(rounds):
        for name, result in results.items():
            if result.fault:
                continue
            walked, fault = run_client(name, url)
            if walked is not None and walked.urls != expected:
                fault = f"wrong: {walked.urls:,} of {expected:,} URLs"
            if walked is None or fault:
                results[name] = result._replace(fault=fault)
            else:
                result.walks.append(walked)
    return list(results.values())


def find_obstacle(name: str) -> str:
    """Return why a client cannot run; "" if it can."""
    return "not installed" if version_of(WALKERS[name].package) is None else ""


def print_results(title: str, results: list[Result]) -> None:
    """Print the table of one site."""
    ours = next(
        (r.median("seconds") for r in results if r.client == "batches" and r.walks),
        None,
    )
    rows: list[tuple[object, ...]] = []
    for result in results:
        if result.fault or not result.walks:
            rows.append((result.client, *[None] * 7, result.fault))
            continue
        urls, seconds = result.walks[0].urls, result.median("seconds")
        figures = (
            result.median("cpu"),
            result.median("peak"),
            seconds / ours if ours else None,
        )
        first = 1000 * result.median("first")
        rows.append(
            (result.client, urls, seconds, round(urls / seconds), first, *figures, "")
        )
    print_table(title, HEAD, rows)


def figures_of(results: list[Result], peak: str = "peak") -> dict[str, float]:
    """Name the medians as the targets do."""
    names = {"seconds": "seconds", "first": "first", "cpu": "cpu", "peak": peak}
    return {
        f"{name}/{result.client}": result.median(field)
        for result in results
        for field, name in names.items()
        if result.walks and not result.fault
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--children", type=int, default=100)
    parser.add_argument("--urls", type=int, default=10_000, help="URLs of each child")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=WALKERS, default=list(WALKERS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    machine = describe_machine([*dict.fromkeys(c.package for c in WALKERS.values())])
    print_machine(machine)
    ours = [name for name in arguments.only if WALKERS[name].package == "sitemapreader"]
    tenth = max(1, arguments.children // 10)
    results = {}
    for children, clients in ((tenth, ours), (arguments.children, arguments.only)):
        size = children * arguments.urls
        with serve(make_site(children, arguments.urls)) as origin:
            found = run_rounds(f"{origin}/index.xml", clients, size, arguments.rounds)
        print_results(f"{children:,} children, {size:,} URLs", found)
        results[children] = found
    figures = figures_of(results[arguments.children])
    for name, value in figures_of(results[tenth], "peak of a tenth").items():
        figures.setdefault(name, value)
    verdicts = targets.judge("walk", figures)
    targets.print_verdicts(verdicts)
    write_json(
        arguments.json,
        {
            "machine": machine,
            "results": [
                {"children": children, "client": r.client, "fault": r.fault}
                | {"walks": [walk._asdict() for walk in r.walks]}
                for children, found in results.items()
                for r in found
            ],
            "targets": targets.as_json(verdicts),
        },
    )


if __name__ == "__main__":
    main()
