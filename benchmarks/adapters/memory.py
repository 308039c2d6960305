"""The same bytes without a network: the cost of a walk over reading."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING
from urllib.request import urlopen

from adapters import CHUNK_BYTES
from sitemapreader import SitemapReader, UrlEntry, walk
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import Iterable

    from adapters import Found

_LOC = re.compile(r"<loc>(.*?)</loc>")
_PAGES: dict[str, bytes] = {}


def prepare(url: str) -> None:
    """Fetch the index and its children."""
    _PAGES[url] = _fetch(url)
    for child in _LOC.findall(_PAGES[url].decode()):
        _PAGES[child] = _fetch(child)


def _fetch(url: str) -> bytes:
    with urlopen(url) as response:  # noqa: S310 (our own server)
        data: bytes = response.read()
    return data


def read_all(url: str, found: Found) -> None:
    """Feed each document to a reader of its own, in pieces as a network has them."""
    del url
    for sitemap, data in _PAGES.items():
        reader = SitemapReader(sitemap)
        for start in range(0, len(data), CHUNK_BYTES):
            found(_count(reader.feed(data[start : start + CHUNK_BYTES])))
        found(_count(reader.close()))


def _count(events: Iterable[object]) -> int:
    return sum(type(event) is UrlEntry for event in events)


def walk_batches(url: str, found: Found) -> None:
    """Walk in lists."""

    async def go() -> None:
        async with walk(sitemaps=[url], fetcher=MemoryFetcher(_PAGES)) as entries:
            async for batch in entries.batches():
                found(len(batch))

    asyncio.run(go())


def walk_entries(url: str, found: Found) -> None:
    """Walk one by one."""

    async def go() -> None:
        async with walk(sitemaps=[url], fetcher=MemoryFetcher(_PAGES)) as entries:
            async for _ in entries:
                found(1)

    asyncio.run(go())
