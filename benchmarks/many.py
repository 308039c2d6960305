"""Read thousands of sites in one process: time, CPU, memory, correct counts.

    pip install -e '.[bench]'
    python benchmarks/many.py [--sites 1000 10000] [--only "walk_many" ...] [--rounds 1]

The sites are served over loopback by a process of its own (`many_server`): an index, 1 to 5
children and 100 URLs each; one of a hundred is poison. Each client is a process too; they take
turns, and read some sites first: what they import, and do once, does not count. "bare aiohttp"
requests the same documents, receives them to their end, and reads nothing: what the network costs.
"""

# ruff: noqa: PLC0415 (each client imports what it needs, in a process of its own)
from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from many_server import POISON_EVERY, URLS, find_poison, serve
from measuring import cpu_seconds, describe_machine, peak_mb
from tables import print_machine, print_table, write_json
from targets import judge, print_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AT_ONCE = 64
SECONDS_PER_SITE = 6
FIRST_SITES = 10
"""Sites that are read before the measurement; none is poison."""
HEAD = (
    "client",
    "sites",
    "wall s",
    "CPU ms/site",
    "peak MB",
    "URLs",
    "missing",
    "statuses",
)


def list_sites(count: int, port: int) -> Iterator[str]:
    """Yield the URLs of the sites."""
    return (f"http://s{number}.test:{port}/" for number in range(count))


def resolve_here() -> None:
    """Resolve all names to this machine, without DNS."""
    real = socket.getaddrinfo

    def answer(host: Any, *args: Any, **kwargs: Any) -> Any:
        return real(
            "127.0.0.1" if str(host).endswith(".test") else host, *args, **kwargs
        )

    socket.getaddrinfo = answer
    socket.gethostbyname = lambda _: "127.0.0.1"
    sys.modules.setdefault("aiodns", None)  # type: ignore[arg-type]


# -- the clients: each returns how many URLs every site gave, and how the sites ended


def make_options(port: int) -> Any:
    """Return options that give up a broken site after a few seconds."""
    from sitemapreader import FetchOptions

    return FetchOptions(
        allow_networks=("127.0.0.0/8",),
        per_address=1_000,  # all names are at one
        allow_ports=(port,),
        headers_seconds=SECONDS_PER_SITE,
        idle_seconds=SECONDS_PER_SITE,
        total_seconds=SECONDS_PER_SITE,
        max_attempts=1,
    )


def run_many(
    count: int, port: int, **arguments: Any
) -> tuple[Counter[str], Counter[str]]:
    """Read all sites with `walk_many`."""
    from sitemapreader import Limits, walk_many

    async def read() -> tuple[Counter[str], Counter[str]]:
        urls: Counter[str] = Counter()
        sites = list_sites(count, port)
        options = make_options(port)
        limits = Limits(sites_at_once=AT_ONCE)
        async with walk_many(sites, limits=limits, options=options, **arguments) as run:
            async for site, rows in run.rows():
                urls[site] += len(rows)
        return urls, Counter(str(outcome.status) for outcome in run.outcomes)

    return asyncio.run(read())


def run_with_state(count: int, port: int) -> tuple[Counter[str], Counter[str]]:
    """Read all sites with `walk_many` and a new state."""
    with tempfile.TemporaryDirectory() as folder:
        return run_many(count, port, state=Path(folder) / "all.db")


def run_with_changes(count: int, port: int) -> tuple[Counter[str], Counter[str]]:
    """Read all sites with `walk_many`, a new state and `Changes`."""
    from sitemapreader import Changes

    with tempfile.TemporaryDirectory() as folder:
        return run_many(count, port, state=Changes(Path(folder) / "all.db"))


def run_loop(count: int, port: int) -> tuple[Counter[str], Counter[str]]:
    """Read all sites with `walk`, in as many tasks."""
    from sitemapreader import walk

    async def read() -> tuple[Counter[str], Counter[str]]:
        urls: Counter[str] = Counter()
        statuses: Counter[str] = Counter()
        sites, options = list_sites(count, port), make_options(port)

        async def work() -> None:
            for site in sites:
                async with walk(site, options=options) as entries:
                    async for batch in entries.batches():
                        urls[site] += len(batch)
                statuses["complete" if entries.report.complete else "not complete"] += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
        return urls, statuses

    return asyncio.run(read())


def run_bare(count: int, port: int) -> tuple[Counter[str], Counter[str]]:
    """Request the same documents with aiohttp, and count what looks like a URL."""
    import aiohttp

    async def read() -> tuple[Counter[str], Counter[str]]:
        urls: Counter[str] = Counter()
        statuses: Counter[str] = Counter()
        sites = list_sites(count, port)
        timeout = aiohttp.ClientTimeout(total=SECONDS_PER_SITE)
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=1)
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout
        ) as session:

            async def fetch(url: str) -> bytes:
                async with session.get(url, max_redirects=5) as response:
                    return await response.read()

            async def work() -> None:
                for site in sites:
                    try:
                        await fetch(f"{site}robots.txt")
                        index = await fetch(f"{site}index.xml")
                        for child in re.findall(rb"<loc>([^<]+)", index):
                            data = await fetch(child.decode())
                            urls[site] += data.count(b"<loc>")
                        statuses["read"] += 1
                    except (aiohttp.ClientError, TimeoutError):
                        statuses["failed"] += 1

            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(work())
        return urls, statuses

    return asyncio.run(read())


def run_scrapy(count: int, port: int) -> tuple[Counter[str], Counter[str]]:
    """Crawl the robots.txt of all sites with one `SitemapSpider`."""
    from adapters.scrapy_sitemap import SETTINGS
    from scrapy.crawler import CrawlerProcess
    from scrapy.spiders import SitemapSpider

    urls: Counter[str] = Counter()

    class Spider(SitemapSpider):
        name = "many"

        def sitemap_filter(self, entries: Any) -> Any:
            if getattr(entries, "type", "") == "sitemapindex":
                yield from entries
            else:
                for entry in entries:
                    urls[entry["loc"].rpartition("/")[0] + "/"] += 1

    settings = {
        **SETTINGS,
        "CONCURRENT_REQUESTS": AT_ONCE * 2,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
        "DOWNLOAD_TIMEOUT": SECONDS_PER_SITE,
        "DOWNLOAD_MAXSIZE": 50_000_000,
    }
    process = CrawlerProcess(settings)
    process.crawl(
        Spider, sitemap_urls=[f"{site}robots.txt" for site in list_sites(count, port)]
    )
    process.start()
    return urls, Counter()


def run_usp(count: int, port: int) -> tuple[Counter[str], Counter[str]]:
    """Read all sites with ultimate-sitemap-parser in threads; leave those that never end."""
    from usp.tree import sitemap_tree_for_homepage
    from usp.web_client.requests_client import RequestsWebClient

    urls: Counter[str] = Counter()
    statuses: Counter[str] = Counter({"unfinished": count})
    logging.disable()
    sites = iter(list(list_sites(count, port)))

    def work() -> None:
        client = RequestsWebClient(verify=False)
        client.set_timeout(SECONDS_PER_SITE)
        for site in sites:
            tree = sitemap_tree_for_homepage(
                site.rstrip("/"),
                client,
                use_known_paths=False,
                normalize_homepage_url=False,
            )
            urls[site] += sum(1 for _ in tree.all_pages())
            statuses.update({"read": 1, "unfinished": -1})

    threads = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    # Whole sites take no more; a host that sends now and then keeps its thread for ever.
    until = time.monotonic() + SECONDS_PER_SITE
    while statuses["unfinished"] and time.monotonic() < until:
        before = statuses["unfinished"]
        time.sleep(0.1)
        if statuses["unfinished"] < before:
            until = time.monotonic() + SECONDS_PER_SITE
    return urls, +statuses


CLIENTS: dict[str, Callable[[int, int], tuple[Counter[str], Counter[str]]]] = {
    "walk_many": run_many,
    "walk_many, state": run_with_state,
    "walk_many, state, changes": run_with_changes,
    "a loop over walk": run_loop,
    "scrapy": run_scrapy,
    "usp": run_usp,
    "bare aiohttp": run_bare,
}


def load(client: str) -> None:
    """Import what a client needs: a crawl of any size does that once."""
    if client == "bare aiohttp":
        import aiohttp  # noqa: F401
    elif client not in ("scrapy", "usp"):
        import sitemapreader.fetch.session  # noqa: F401


def measure(client: str, count: int, port: int) -> dict[str, Any]:
    """Run a client in this process; return its figures."""
    resolve_here()
    load(client)
    if client != "scrapy":  # its reactor runs once
        CLIENTS[client](FIRST_SITES, port)
    begin, cpu = time.monotonic(), cpu_seconds()
    urls, statuses = CLIENTS[client](count, port)
    seconds, cpu = time.monotonic() - begin, cpu_seconds() - cpu
    whole = [number for number in range(count) if not find_poison(number)]
    missing = sum(
        abs(urls[f"http://s{number}.test:{port}/"] - URLS) for number in whole
    )
    return {
        "client": client,
        "sites": count,
        "wall": seconds,
        "cpu_ms": cpu / count * 1000,
        "peak": peak_mb(),
        "urls": urls.total(),
        "missing": missing,
        "statuses": dict(statuses),
    }


def main() -> None:
    """Measure all clients in turn, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sites", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--only", nargs="+", choices=CLIENTS, default=list(CLIENTS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        print(json.dumps(measure(arguments.client, arguments.sites[0], arguments.port)))
        return
    machine = describe_machine(("aiohttp", "scrapy"))
    print_machine(machine)
    results = []
    with serve() as port:
        for count in arguments.sites:
            rounds = [
                [run_client(client, count, port) for client in arguments.only]
                for _ in range(arguments.rounds)
            ]
            results += [
                min(runs, key=lambda each: float(each["cpu_ms"]))
                for runs in zip(*rounds, strict=True)
            ]
    keys = ("client", "sites", "wall", "cpu_ms", "peak", "urls", "missing", "statuses")
    title = f"sites of {URLS} URLs, one of {POISON_EVERY} is poison, {AT_ONCE} at once"
    print_table(title, HEAD, [[each[key] for key in keys] for each in results])
    figures = {f"cpu/{each['client']}": float(each["cpu_ms"]) for each in results}
    print_verdicts(judge("many", figures))
    write_json(arguments.json, {"machine": machine, "results": results})


def run_client(client: str, count: int, port: int) -> dict[str, Any]:
    """Run a client in a process of its own; return its figures."""
    command = [sys.executable, __file__, "--client", client, "--sites", str(count)]
    done = subprocess.run(
        [*command, "--port", str(port)], stdout=subprocess.PIPE, check=True
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


if __name__ == "__main__":
    main()
