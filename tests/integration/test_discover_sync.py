"""`discover_sync`: what `discover` gives, for code without `await`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import package
import pytest

from sitemapreader import discover, discover_sync
from sitemapreader.fetch import FolderFetcher
from sitemapreader.fetch.local import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from sitemapreader.fetch import StoredResponse

SITE = "https://www.example.org/"
FOLDER = package.ROOT / "testdata" / "site"


def test_it_finds_what_discover_finds() -> None:
    """Without a running event loop it makes one."""
    found = discover_sync(SITE, fetcher=FolderFetcher(FOLDER))
    assert [entry.loc for entry in found.sitemaps] == [
        f"{SITE}sitemap_index.xml",
        f"{SITE}shop/sitemap.xml",
    ]


async def test_it_works_inside_a_running_event_loop() -> None:
    """In a notebook a loop runs already; the search runs beside it, in a thread."""
    found = discover_sync(SITE, fetcher=FolderFetcher(FOLDER))
    awaited = await discover(SITE, fetcher=FolderFetcher(FOLDER))
    assert found.sitemaps == awaited.sitemaps


async def test_wrong_arguments_raise_inside_a_running_event_loop() -> None:
    """What `discover` raises comes out of the thread as it is."""
    with pytest.raises(ValueError, match="must be a full URL"):
        discover_sync("example.org")


class StuckFetcher(MemoryFetcher):
    """A web that does not answer, and whose user loses patience."""

    was_cancelled = False

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Press Ctrl-C, and wait for ever."""
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        async with super().open(url, headers=headers) as response:
            yield response


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to itself: run it on Linux or macOS")
def test_ctrl_c_inside_a_running_event_loop() -> None:
    """Ctrl-C in a notebook, whose loop leaves signals alone, cancels the search and ends it."""
    fetcher = StuckFetcher({})

    async def run_cell() -> None:
        discover_sync(SITE, fetcher=fetcher)

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(run_cell())
    finally:
        loop.close()
    assert fetcher.was_cancelled
