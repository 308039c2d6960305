"""What a stranger's documents do to the event loop: no step of it takes 50 ms."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import aclosing
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from sitemapreader import walk
from sitemapreader._types.urls import load_suffixes
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from sitemapreader.pages import visit_pages
from tests.support.probe import measure_hold
from tests.support.timing import ROUNDS, is_within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SITE = "https://www.example.com/"
MAX_HELD_SECONDS = 0.05
HTML = {"content-type": "text/html"}
FLOODS = {
    "styles": "<style></style>",
    "links": "<link rel=sitemap href=/a.xml>",
    "attributes": f"<link {'a=&amp; ' * 900}>",
    "references": "&notit; ",
    "paragraphs": "<p>x</p>",
}


async def holds_shortly(work: Callable[[], Awaitable[object]]) -> bool:
    """Tell whether some work holds the event loop for moments only, on a busy machine too."""
    for _ in range(ROUNDS):
        if is_within(await measure_hold(work()), MAX_HELD_SECONDS):
            return True
    return False


async def walk_all(
    pages: dict[str, bytes | StoredResponse | Exception], *, unique: bool = False
) -> None:
    """Walk a site to its end."""
    async with walk(SITE, fetcher=MemoryFetcher(pages), unique=unique) as entries:
        async for _ in entries:
            pass


@pytest.mark.cases(2)
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_start_pages(flood: str) -> None:
    """The start page of a site is read aside if it is large."""
    page = StoredResponse(
        SITE, b"<html>" + flood.encode() * (700_000 // len(flood)), headers=HTML
    )
    assert await holds_shortly(lambda: walk_all({SITE: page}))


@pytest.mark.cases(2)
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_visited_pages(flood: str) -> None:
    """A page that is visited is read aside if it is large."""
    page = StoredResponse(
        SITE, b"<html>" + flood.encode() * (250_000 // len(flood)), headers=HTML
    )

    async def visit() -> None:
        async with aclosing(visit_pages([SITE], MemoryFetcher({SITE: page}))) as visits:
            assert [visit.facts is not None async for visit in visits] == [True]

    assert await holds_shortly(visit)


@pytest.mark.parametrize("name", ["robots.txt", ""])
@pytest.mark.parametrize(
    "inner",
    [
        gzip.compress(b"x") * 40_000,
        gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * 4_000_000,
    ],
    ids=["members", "empty blocks"],
)
async def test_nested_compression(name: str, inner: bytes) -> None:
    """A body that is compressed twice is inflated in steps, however little it comes to."""
    members = gzip.compress(inner, 1)
    assert await holds_shortly(lambda: walk_all({f"{SITE}{name}": members}))


@pytest.mark.parametrize(
    "host",
    [
        "\u00fc{n}.example",
        "{n}" + "\u00fc." * 100 + "example",
        "{n}" + "\u3042" * 50 + ".jp",
    ],
    ids=["short", "many labels", "long label"],
)
@pytest.mark.parametrize("unique", [False, True])
async def test_international_hosts(host: str, *, unique: bool) -> None:
    """URLs on as many hosts beyond ASCII, which take milliseconds each, are read in steps."""
    await asyncio.to_thread(load_suffixes)
    numbers = count()  # in each round other hosts: those of the last one may be known

    async def walk_hosts() -> None:
        locs = (f"https://{host.format(n=n)}/" for n in islice(numbers, 300))
        urls = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
        sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        robots = f"Sitemap: {SITE}s.xml".encode()
        await walk_all(
            {f"{SITE}robots.txt": robots, f"{SITE}s.xml": sitemap.encode()},
            unique=unique,
        )

    assert await holds_shortly(walk_hosts)
