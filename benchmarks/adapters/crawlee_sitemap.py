"""crawlee: its `parse_sitemap`, from memory and with its own HTTP client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from crawlee._utils.sitemap import ParseSitemapOptions, SitemapSource, parse_sitemap
from crawlee.http_clients import ImpitHttpClient

from adapters import collect_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from adapters import Collected, Document, Found

URL = "https://www.example.com/sitemap.xml"


def read(document: Document) -> int:
    """Keep the items; of an index, its children, which are not fetched."""
    # without a URL it takes the digest of the whole content for every item
    source = SitemapSource(type="raw", content=document.data.decode(), url=URL)
    options = ParseSitemapOptions(
        enqueue_strategy="all", emit_nested_sitemaps=True, max_depth=0
    )

    async def go() -> list[Any]:
        return [item async for item in parse_sitemap([source], options=options)]

    return len(asyncio.run(go()))


def walk(url: str, found: Found) -> None:
    """Read an index and its children."""
    asyncio.run(_each(url, lambda _: found(1)))


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """List the URLs of each sitemap."""
    return collect_each(urls, lambda url, found: asyncio.run(_each(url, found.append)))


async def _each(url: str, take: Callable[[str], None]) -> None:
    source = SitemapSource(type="url", url=url)
    options = ParseSitemapOptions(enqueue_strategy="all", sitemap_retries=1)
    async with ImpitHttpClient() as client:
        async for item in parse_sitemap([source], client, options=options):
            take(item.loc)
