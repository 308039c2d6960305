"""Audit a folder of a million URLs: the cost over the walk alone.

    python benchmarks/audit.py [--urls 1000000] [--rounds 3] [--json FILE]

Each way runs in processes of its own, and the best of the rounds is the figure: seconds on the
clock, CPU seconds of all threads, and the most memory. The folder is made of the words that the
other benchmarks use. The report is made of as many URLs in 10,000 sitemaps; its seconds are those
of the report alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import targets
from contestants import make_command
from measuring import cpu_seconds, describe_machine, peak_mb, run_once
from parts import BASE, DECLARATION, PROTOCOL, make_urlset
from tables import print_machine, print_table, write_json

from sitemapreader import walk
from sitemapreader.fetch import FolderFetcher

_URLS_A_SITEMAP = 50_000
_SITEMAPS_OF_REPORT = 10_000
_SECONDS = 1_800.0


def make_folder(folder: Path, urls: int, urls_a_sitemap: int = _URLS_A_SITEMAP) -> None:
    """Write an index and its sitemaps."""
    children = []
    for number in range(0, urls, urls_a_sitemap):
        name = f"sitemap-{number // urls_a_sitemap}.xml"
        records = min(urls_a_sitemap, urls - number)
        (folder / name).write_bytes(make_urlset(records, number).data)
        children.append(f"<sitemap><loc>{BASE}/{name}</loc></sitemap>")
    index = f'{DECLARATION}<sitemapindex xmlns="{PROTOCOL}">{"".join(children)}</sitemapindex>'
    (folder / "sitemap.xml").write_text(index)
    robots = ("User-agent: *", "Disallow: /cart/", f"Sitemap: {BASE}/sitemap.xml")
    (folder / "robots.txt").write_text("\n".join(robots))


async def walk_folder(folder: Path) -> int:
    """Walk over a folder, and return how many URLs it has."""
    fetcher, urls = FolderFetcher(folder), 0
    async with walk(fetcher.base_url, fetcher=fetcher) as entries:
        async for batch in entries.batches():
            urls += len(batch)
    return urls


def measure(way: str, folder: Path) -> dict[str, Any]:
    """Do the work of one process, and return its figures."""
    begin, report = time.perf_counter(), dict[str, float]()
    if way == "walk":
        urls = asyncio.run(walk_folder(folder))
    else:
        from sitemapreader.audit import audit_sync  # noqa: PLC0415 (its import is part of its cost)

        with audit_sync(folder) as result:
            urls = result.facts.urls
            if way == "report":
                start = time.perf_counter()
                report["report_bytes"] = len(result.format("html").encode())
                report["report_seconds"] = time.perf_counter() - start
    return {
        "urls": urls,
        "seconds": time.perf_counter() - begin,
        "cpu": cpu_seconds(),
        "megabytes": peak_mb(),
        **report,
    }


def run_way(way: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Measure one way in processes of its own; return the best figures."""
    best: dict[str, Any] = {}
    for _ in range(rounds):
        printed, fault = run_once(
            make_command("audit.py", "--way", way, "--folder", str(folder)),
            seconds=_SECONDS,
        )
        if fault:
            raise SystemExit(f"{way}: {fault}")
        figures = json.loads(printed)
        for name, value in figures.items():
            best[name] = min(best.get(name, value), value)
    return best


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        json.dump(measure(arguments.way, arguments.folder), sys.stdout)
        return
    machine = describe_machine(("duckdb", "pyarrow"))
    print_machine(machine)
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        make_folder(Path(few), arguments.urls)
        make_folder(
            Path(many), arguments.urls, max(1, arguments.urls // _SITEMAPS_OF_REPORT)
        )
        folders = {"walk": few, "audit": few, "report": many}
        results = {
            way: run_way(way, Path(folder), arguments.rounds)
            for way, folder in folders.items()
        }
    names = ("urls", "seconds", "cpu", "megabytes")
    rows = [
        (way, *(round(each[name], 2) for name in names))
        for way, each in results.items()
    ]
    print_table(
        "an audit over its walk", ("way", "URLs", "seconds", "CPU s", "MB"), rows
    )
    figures = {
        f"{way}/{name}": value
        for way, each in results.items()
        for name, value in each.items()
    }
    figures["audit/megabytes over the walk"] = (
        results["audit"]["megabytes"] - results["walk"]["megabytes"]
    )
    verdicts = targets.judge("audit", figures)
    targets.print_verdicts(verdicts)
    write_json(
        arguments.json,
        {"machine": machine, "results": results, "targets": targets.as_json(verdicts)},
    )


if __name__ == "__main__":
    main()
