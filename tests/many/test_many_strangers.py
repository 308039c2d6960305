"""Lines of a list are strangers: no spelling of a private address among them is connected to.

Run as a script, this file reads all spellings in one run, under an audit hook that sees and refuses
each connect of the process, and prints the outcomes as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from itertools import chain, count, islice, repeat
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from sitemapreader import FetchOptions, Limits, Search, walk_many
from sitemapreader.fetch import HttpFetcher
from tests.support import package
from tests.support.faults import FaultServer
from tests.support.hosts import HOSTS, NamedAddresses, resolve
from tests.support.timing import retried
from tests.support.walking import urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

REASONS = {"blocked-address", "invalid-url"}


async def read_all() -> dict[str, Any]:
    """Read a list of all spellings, by their port and by the web's; return the outcomes."""
    connects: list[Any] = []

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            connects.append(str(args[1]))
            raise OSError("a test connects to nothing")

    async with FaultServer() as server:
        lines = [f"http://{host}:{server.port}/" for host in HOSTS]
        lines += [f"http://{host}/map.xml" for host in HOSTS]
        lines += [host for host in HOSTS if "%" not in host]
        sys.addaudithook(watch)
        options = FetchOptions(max_attempts=1, allow_ports=(server.port,))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", resolve)
            resolver = aiohttp.ThreadedResolver()
            async with HttpFetcher(options, resolver=resolver) as fetcher:
                run = walk_many(
                    lines,
                    fetcher=fetcher,
                    search=Search(probe="few"),
                    limits=Limits(sites_at_once=8),
                )
                async with run:
                    entries = [len(rows) async for _, rows in run.rows()]
        return {
            "outcomes": {outcome.site: outcome.reason for outcome in run.outcomes},
            "statuses": sorted({str(outcome.status) for outcome in run.outcomes}),
            "entries": entries,
            "connects": connects,
            "reached": server.connections,
            "lines": len(lines),
            "repeated": run.repeated,
        }


@pytest.fixture(scope="module")
def report() -> Any:
    """What the script saw, in a process of its own: an audit hook cannot be taken back."""
    environment = {**os.environ, "PYTHONPATH": str(package.ROOT)}
    script = [sys.executable, "-X", "utf8", __file__]
    run = subprocess.run(
        script, capture_output=True, check=False, timeout=60, env=environment
    )
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


@pytest.mark.slow
def test_nothing_is_connected_to(report: Any) -> None:
    """Neither the hook nor the listening server saw a connection, over 180 lines."""
    assert report["lines"] > 180
    assert report["connects"] == []
    assert report["reached"] == 0
    assert report["entries"] == []


def test_each_line_has_an_outcome(report: Any) -> None:
    """Every line failed for its address, or because it is no URL."""
    assert report["statuses"] == ["failed"]
    assert set(report["outcomes"].values()) <= REASONS
    assert len(report["outcomes"]) + report["repeated"] >= report["lines"] - len(HOSTS)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(read_all())))


# -- hosts that drip or never end among the sites of a run: neither they nor others lose anything


URLS = 5
OPENING = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
WHOLE = ("complete", "")
EXPECTED = {
    "drip": ("partial", "too-slow"),
    "endless": ("partial", "too-large"),
    "drip-robots": ("partial", "too-slow"),
    # what it names after 500 KiB, nobody knows
    "endless-robots": ("partial", "robots-too-large"),
} | {f"good{number}": WHOLE for number in range(8)}
NEVER_END = ("endless",)
"""Sites of which more than the `URLS` of the others is delivered."""


def list_locs(name: str) -> Iterator[str]:
    """Yield the URLs of a site, without end."""
    return (f"http://{name}.example/{number}" for number in count())


def answer(name: str, path: str, port: int) -> tuple[bytes, Iterable[bytes], float]:
    """Return what a host sends at once, what comes after it, and the seconds between pieces."""
    records = (f"<url><loc>{loc}</loc></url>".encode() for loc in list_locs(name))
    if path == "/robots.txt":
        line = f"Sitemap: http://{name}.example:{port}/map.xml\n".encode()
        if name == "drip-robots":
            return line, repeat(b"#"), 0.02
        return (
            line,
            repeat(b"# nothing\n" * 5_000) if name == "endless-robots" else (),
            0,
        )
    if name == "drip":
        return OPENING + b"".join(islice(records, URLS)), repeat(b" "), 0.02
    if name == "endless":
        return OPENING, (b"".join(islice(records, 100)) for _ in count()), 0
    return urlset(*islice(list_locs(name), URLS)), (), 0


@asynccontextmanager
async def serve() -> AsyncIterator[int]:
    """Serve all sites; yield the port."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            name = head.lower().partition("host: ")[2].partition(".")[0]
            first, others, seconds = answer(name, head.split(" ")[1], port)
            length = f"Content-Length: {len(first)}\r\n" if others == () else ""
            writer.write(
                f"HTTP/1.1 200 OK\r\n{length}Connection: close\r\n\r\n".encode()
            )
            for piece in chain([first], others):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(seconds)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client has read enough, or the test is over
        finally:
            writer.close()

    server = await asyncio.start_server(send, "127.0.0.1", 0)
    port = int(server.sockets[0].getsockname()[1])
    async with server:
        yield port


@retried
async def test_hosts_that_drip_or_never_end_cost_no_other_site_anything() -> None:
    """Neighbours are whole, what was sent of the others is delivered, and each has its reason."""
    found: dict[str, list[str]] = {name: [] for name in EXPECTED}
    limits = Limits(raw_bytes=600_000)
    async with serve() as port:
        options = FetchOptions(
            allow_networks=("127.0.0.0/8",), allow_ports=(port,), slow_grace_seconds=0.4
        )
        sites = {f"http://{name}.example:{port}/": name for name in EXPECTED}
        async with (
            HttpFetcher(options, resolver=NamedAddresses(), limits=limits) as fetcher,
            walk_many(sites, fetcher=fetcher) as run,
        ):
            async for site, entries in run.batches():
                found[sites[site]] += [entry.loc for entry in entries]
    ended = [
        (sites[each.site], (str(each.status), each.reason)) for each in run.outcomes
    ]
    assert len(ended) == len(EXPECTED)
    assert dict(ended) == EXPECTED
    for name, locs in found.items():
        number = len(locs) if name in NEVER_END else URLS
        assert locs == list(islice(list_locs(name), number))
    assert len(found["endless"]) > URLS
