"""`discover_sync`: what `discover` gives, for code without `await`."""

from __future__ import annotations

import package
import pytest

from sitemapreader import FolderFetcher, discover, discover_sync

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
