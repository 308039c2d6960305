"""Hostile sites: how long they hold the event loop, and how much memory they take.

    python benchmarks/hostile.py [--case NAME ...] [--json FILE]

Each site is walked in a process of its own, from memory, and is at most 1 MB on the wire. `gap` is
the longest time that a probe beside the walk had to wait for its turn; `held` is what the loop's
own thread computed in such a wait, which other programs on the machine do not lengthen. Memory is
what the process had at most, over what it had before the walk.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import subprocess
import sys
import tempfile
import time
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import describe_machine, peak_mb
from tables import print_machine, write_json

sys.path.insert(0, str(Path(__file__).parent.parent))

from sitemapreader import walk
from sitemapreader._types.options import ROBOTS_MAX_BYTES
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from tests.support.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SITE = "https://www.example.com/"
WIRE_BYTES = 1_000_000
MAX_GAP_SECONDS = 0.05
MAX_CPU_SECONDS_A_CHILD = 0.001
MAX_MEMORY_MB = 60.0
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

Pages = dict[str, bytes | StoredResponse | Exception]


def fill(lines: Iterable[str], size: int = ROBOTS_MAX_BYTES) -> str:
    """Join lines to a text of nearly `size` bytes."""
    kept, length = [], 0
    for line in lines:
        length += len(line.encode()) + 1
        if length > size:
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


def write_index(locs: Iterable[str]) -> bytes:
    """Write a sitemap index, compressed."""
    return _write("sitemapindex", "sitemap", locs)


def write_urlset(locs: Iterable[str]) -> bytes:
    """Write a urlset, compressed."""
    return _write("urlset", "url", locs)


def _write(root: str, record: str, locs: Iterable[str]) -> bytes:
    records = "".join(f"<{record}><loc>{loc}</loc></{record}>" for loc in locs)
    return gzip.compress(f"<{root} {_NAMESPACE}>{records}</{root}>".encode(), 9)


def with_robots(rules: Iterable[str], children: Iterable[str]) -> Pages:
    """Make a site of a robots.txt, and an index whose children it judges."""
    head = f"Sitemap: {SITE}i.xml\nUser-agent: *\n"
    robots = head + fill(rules, ROBOTS_MAX_BYTES - len(head))
    return {
        f"{SITE}robots.txt": gzip.compress(robots.encode(), 9),
        f"{SITE}i.xml": write_index(children),
    }


# -- robots.txt: rules x URLs


def almost_matching() -> Pages:
    """Wildcards that match nearly everywhere in long URLs."""
    rules = (f"Disallow: /*{'a' * (n % 40 + 4)}b" for n in count())
    return with_robots(rules, (f"{SITE}{'a' * 8_000}/{n}.xml" for n in range(20_000)))


def short_urls() -> Pages:
    """As many rules, and 50,000 short URLs."""
    rules = (f"Disallow: /*{n}*b" for n in count())
    return with_robots(rules, (f"{SITE}{n}.xml" for n in range(50_000)))


def all_candidates() -> Pages:
    """Rules each part of which occurs in every URL, in another order."""
    words = [f"{a}{b}xy" for a in "cdefgh" for b in "ijklmn"]
    rules = (
        f"Disallow: /*{one}*{other}*{third}"
        for place, one in enumerate(words)
        for other in words[:place]
        for third in words
    )
    path = "/".join(words)
    return with_robots(rules, (f"{SITE}{path}/{n}.xml" for n in range(50_000)))


def single_letters() -> Pages:
    """Wildcards between single letters."""
    rules = (f"Disallow: /{'*'.join('abcdefghij'[: n % 9 + 1])}*{n}" for n in count())
    path = "abcdefghij" * 100
    return with_robots(rules, (f"{SITE}{path}/x{n}.xml" for n in range(20_000)))


def nested_prefixes() -> Pages:
    """Prefixes that begin with each other, and a million others."""
    rules = (f"{'Allow' if n % 2 else 'Disallow'}: /{'a' * n}" for n in range(1, 1_000))
    return with_robots(rules, (f"{SITE}{'a' * 999}b/{n}.xml" for n in range(50_000)))


def many_prefixes() -> Pages:
    """As many plain prefixes as there is room for, none of which matches."""
    rules = (f"Disallow: /x/{n}" for n in count())
    return with_robots(rules, (f"{SITE}x/y{n}.xml" for n in range(50_000)))


def escaped_urls() -> Pages:
    """URLs that are all percent-encoded, and forbidden."""
    rules = (f"Disallow: /*%61{n}" for n in count())
    path = "%41" * 2_700
    return with_robots(
        [*islice(rules, 20_000), "Disallow: /A"],
        (f"{SITE}{path}{n}" for n in range(20_000)),
    )


def many_robots() -> Pages:
    """A group for each of thousands of robots."""
    return with_robots(
        (f"User-agent: r{n}\nDisallow: /" for n in count()), [f"{SITE}a.xml"]
    )


def odd_lines() -> Pages:
    """Unknown lines, none of them ASCII."""
    return with_robots((f"Ünknown: {n}" for n in count()), [f"{SITE}a.xml"])


def sitemap_lines() -> Pages:
    """One Sitemap line, again and again."""
    return {
        f"{SITE}robots.txt": gzip.compress(fill("sitemap: a" for _ in count()).encode())
    }


def link_headers() -> Pages:
    """A start page with a megabyte of Link headers."""
    links = ", ".join(f'</{n}.xml>; rel="x{n}"; a="\\"b"' for n in range(40_000))
    page = StoredResponse(SITE, b"<html>", headers={"link": links[:WIRE_BYTES]})
    return {SITE: page}


# -- indexes and urlsets: memory


def long_children() -> Pages:
    """Two indexes, with children that no server takes."""
    pages: Pages = {
        f"{SITE}robots.txt": f"Sitemap: {SITE}i.xml\nSitemap: {SITE}j.xml".encode()
    }
    for name in "ij":
        locs = (f"{SITE}{name}/{'x' * 64_800}/{n}.xml" for n in range(3_500))
        pages[f"{SITE}{name}.xml"] = write_index(locs)
    return pages


def longest_children(character: str = "x", length: int = 8_100) -> Pages:
    """Indexes whose children are just short enough."""
    return _four_indexes(16_000, f"{character * length}/")


def wide_children() -> Pages:
    """The same, in characters that take four bytes each."""
    return longest_children("\U0001f600", 1_300)


def nested_indexes() -> Pages:
    """Indexes in an index, whose children wait until their index is known."""
    pages: Pages = {
        f"{SITE}robots.txt": f"Sitemap: {SITE}i.xml".encode(),
        f"{SITE}i.xml": write_index(f"{SITE}{n}.xml" for n in range(8)),
    }
    for name in range(8):
        locs = (f"{SITE}{name}/{'x' * 8_100}/{n}.xml" for n in range(9_900))
        pages[f"{SITE}{name}.xml"] = write_index(locs)
    return pages


def many_children() -> Pages:
    """Fifty thousand children of ordinary length, of each of four indexes."""
    return _four_indexes(50_000)


def _four_indexes(children: int, folder: str = "") -> Pages:
    """Four indexes, each with so many children, which lie in a folder."""
    pages: Pages = {
        f"{SITE}robots.txt": b"".join(b"Sitemap: /%d.xml\n" % n for n in range(4))
    }
    for name in range(4):
        locs = (f"{SITE}{name}/{folder}{n}.xml" for n in range(children))
        pages[f"{SITE}{name}.xml"] = write_index(locs)
    return pages


def long_entries() -> Pages:
    """URLs of pages, each as long as a field may be."""
    locs = (f"{SITE}{'x' * 65_000}/{n}" for n in range(3_800))
    return {
        f"{SITE}robots.txt": f"Sitemap: {SITE}s.xml".encode(),
        f"{SITE}s.xml": write_urlset(locs),
    }


def image_floods() -> Pages:
    """Records of thousands of images."""
    image = "<i:image><i:loc>a</i:loc></i:image>" * 4_900
    return _with_records(f"<url><loc>{SITE}%d</loc>{image}</url>")


def unknown_floods() -> Pages:
    """Records of thousands of unknown elements."""
    return _with_records(f"<url><loc>{SITE}%d</loc>{'<z/>' * 9_900}</url>")


def _with_records(record: str) -> Pages:
    records = "".join(record % n for n in range(240_000_000 // len(record)))
    head = f'<urlset {_NAMESPACE} xmlns:i="http://www.google.com/schemas/sitemap-image/1.1">'
    return {
        f"{SITE}robots.txt": f"Sitemap: {SITE}s.xml".encode(),
        f"{SITE}s.xml": gzip.compress(f"{head}{records}</urlset>".encode(), 9),
    }


CASES: tuple[Callable[[], Pages], ...] = (
    almost_matching,
    short_urls,
    all_candidates,
    single_letters,
    nested_prefixes,
    many_prefixes,
    escaped_urls,
    many_robots,
    odd_lines,
    sitemap_lines,
    link_headers,
    long_children,
    longest_children,
    wide_children,
    nested_indexes,
    many_children,
    long_entries,
    image_floods,
    unknown_floods,
)


async def measure(pages: Pages, *, slow_events: int = 50) -> dict[str, Any]:
    """Walk a site with a consumer that is slow at first, so that entries pile up."""
    async with walk(f"{SITE}warm/", fetcher=MemoryFetcher({})) as entries:
        async for _ in entries:
            pass
    probe = Probe()
    before, cpu = peak_mb(), time.process_time()
    watching = asyncio.create_task(probe.run())
    begin = time.perf_counter()
    async with walk(SITE, fetcher=MemoryFetcher(pages)) as entries:
        number = 0
        async for _ in entries.events():
            number += 1
            if number <= slow_events:
                await asyncio.sleep(0.01)
            elif number % 1_000 == 0:
                await asyncio.sleep(0)
    watching.cancel()
    report = entries.report
    children = sum(
        document.children for document in report.documents if document.format
    )
    cpu = time.process_time() - cpu
    return {
        "wire": sum(len(_body(page)) for page in pages.values()),
        "children": children,
        "seconds": time.perf_counter() - begin,
        "gap": probe.gap,
        "held": probe.held,
        "cpu_a_child": cpu / children if children else 0.0,
        "memory": peak_mb() - before,
        "codes": {str(code): number for code, number in report.counts.items()},
    }


def _body(page: bytes | StoredResponse | Exception) -> bytes:
    if isinstance(page, StoredResponse):
        return page.body + "".join(page.headers.values()).encode()
    return page if isinstance(page, bytes) else b""


def run_case(name: str, folder: Path) -> dict[str, Any]:
    """Make a site, and walk it in another process, which has not made it."""
    make = next(case for case in CASES if case.__name__ == name)
    for place, (url, page) in enumerate(make().items()):
        headers = page.headers if isinstance(page, StoredResponse) else {}
        (folder / f"{place}.json").write_text(
            json.dumps({"url": url, "headers": dict(headers)})
        )
        body = page.body if isinstance(page, StoredResponse) else page
        (folder / f"{place}.body").write_bytes(body if isinstance(body, bytes) else b"")
    command = [sys.executable, __file__, "--walk", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def load_pages(folder: Path) -> Pages:
    """Read the site that `run_case` has made."""
    pages: Pages = {}
    for path in folder.glob("*.json"):
        page = json.loads(path.read_text())
        body = path.with_suffix(".body").read_bytes()
        pages[page["url"]] = StoredResponse(page["url"], body, headers=page["headers"])
    return pages


def main() -> None:
    """Run the cases and print their figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [case.__name__ for case in CASES]
    parser.add_argument(
        "--case", nargs="+", choices=names, default=names, metavar="NAME"
    )
    parser.add_argument("--walk", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.walk:
        print(json.dumps(asyncio.run(measure(load_pages(arguments.walk)))))
        return
    print_machine(machine := describe_machine(["protego"]))
    results: dict[str, Any] = {}
    print(
        f"\n{'site':18}{'wire':>9}{'children':>9}{'s':>7}{'gap ms':>8}{'held ms':>8}",
        end="",
    )
    print(f"{'CPU ms/child':>13}{'MB':>7}  issues")
    for name in arguments.case:
        with tempfile.TemporaryDirectory() as folder:
            result = results[name] = run_case(name, Path(folder))
        codes = " ".join(f"{code}:{number}" for code, number in result["codes"].items())
        print(
            f"{name:18}{result['wire']:9,}{result['children']:9,}{result['seconds']:7.1f}"
            f"{1000 * result['gap']:8.1f}{1000 * result['held']:8.1f}"
            f"{1000 * result['cpu_a_child']:13.3f}{result['memory']:7.1f}  {codes}",
            flush=True,
        )
    write_json(arguments.json, {"machine": machine, "sites": results})


if __name__ == "__main__":
    main()
