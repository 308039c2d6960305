"""Hosts that drip or never end among the sites of a run: neither they nor others lose anything."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import chain, count, islice, repeat
from typing import TYPE_CHECKING

from resolving import NamedAddresses
from timing import retried
from walking import urlset

from sitemapreader import FetchOptions, HttpFetcher, Limits, walk_many

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

URLS = 5
OPENING = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
WHOLE = ("complete", "")
EXPECTED = {
    "drip": ("partial", "too-slow"),
    "endless": ("partial", "too-large"),
    "drip-robots": ("partial", "too-slow"),
    "endless-robots": WHOLE,  # nobody reads more than the first 500 KiB of a robots.txt
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
        return line, repeat(b"# nothing\n" * 5_000) if name == "endless-robots" else (), 0
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
            writer.write(f"HTTP/1.1 200 OK\r\n{length}Connection: close\r\n\r\n".encode())
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
    ended = [(sites[each.site], (str(each.status), each.reason)) for each in run.outcomes]
    assert len(ended) == len(EXPECTED)
    assert dict(ended) == EXPECTED
    for name, locs in found.items():
        number = len(locs) if name in NEVER_END else URLS
        assert locs == list(islice(list_locs(name), number))
    assert len(found["endless"]) > URLS
