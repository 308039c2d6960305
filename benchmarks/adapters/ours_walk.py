"""sitemapreader on the network: walked in each of its ways."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import sitemapreader.fetch.session  # noqa: F401 (a walk would import it, and imports are not measured)
from adapters import collect_each
from sitemapreader import walk, walk_sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adapters import Collected, Found


def walk_batches(url: str, found: Found) -> None:
    """Walk in lists."""

    async def go() -> None:
        async with walk(sitemaps=[url]) as entries:
            async for batch in entries.batches():
                found(len(batch))

    asyncio.run(go())


def walk_entries(url: str, found: Found) -> None:
    """Walk one by one."""

    async def go() -> None:
        async with walk(sitemaps=[url]) as entries:
            async for _ in entries:
                found(1)

    asyncio.run(go())


def walk_blocking(url: str, found: Found) -> None:
    """Walk one by one without async."""
    with walk_sync(sitemaps=[url]) as entries:
        for _ in entries:
            found(1)


def collect(urls: Sequence[str]) -> Iterator[Collected]:
    """List the URLs of each sitemap."""
    return collect_each(urls, _collect)


def _collect(url: str, found: list[str]) -> None:
    with walk_sync(sitemaps=[url]) as entries:
        for entry in entries:
            found.append(entry.loc)  # noqa: PERF401 (what came before a failure has to stay)
