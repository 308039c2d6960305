"""Workers of a walk: one for each sitemap that waits, and no more than `concurrency`."""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from walking import index, urlset

from sitemapreader import FetchOptions, walk
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from sitemapreader.fetch.local import StoredResponse

SITE = "https://site.example/"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def make_site(children: int) -> dict[str, bytes]:
    """Return the documents of a site: an index and its children, of one URL each."""
    urls = [f"{SITE}{number}.xml" for number in range(children)]
    rows = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    pages = {
        url: f"<urlset {NS}><url><loc>{SITE}of-{n}</loc></url></urlset>".encode()
        for n, url in enumerate(urls)
    }
    index = f"<sitemapindex {NS}>{rows}</sitemapindex>".encode()
    return {f"{SITE}robots.txt": f"Sitemap: {SITE}i.xml".encode(), f"{SITE}i.xml": index, **pages}


class TaskCounter(MemoryFetcher):
    """A fetcher that notes the tasks which open sitemaps, and how many do at once."""

    def __init__(self, pages: Mapping[str, bytes]) -> None:
        super().__init__(pages)
        self.tasks: set[object] = set()
        self.most = self._open = 0

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Open a URL, and let all others begin meanwhile."""
        if url.endswith(".xml"):
            self.tasks.add(asyncio.current_task())
        self._open += 1
        self.most = max(self.most, self._open)
        try:
            for _ in range(20):
                await asyncio.sleep(0)
            async with super().open(url, headers=headers) as response:
                yield response
        finally:
            self._open -= 1


@pytest.mark.parametrize(("children", "concurrency", "most"), [(1, 8, 1), (3, 8, 3), (40, 4, 4)])
async def test_sitemaps_are_read_at_once_as_far_as_options_allow(
    children: int, concurrency: int, most: int
) -> None:
    """All children of a small index are read at once, and `concurrency` of a large one."""
    fetcher = TaskCounter(make_site(children))
    options = FetchOptions(concurrency=concurrency)
    async with walk(SITE, fetcher=fetcher, options=options) as entries:
        locs = {entry.loc async for entry in entries}
    assert locs == {f"{SITE}of-{number}" for number in range(children)}
    assert entries.report.complete
    assert fetcher.most == most
    assert len(fetcher.tasks) <= children + 1


# -- walks leave no circles of objects, so that they are freed as soon as they are left


PAGES = {
    f"{SITE}robots.txt": f"User-agent: *\nDisallow: /private/\nSitemap: {SITE}index.xml".encode(),
    f"{SITE}index.xml": index(f"{SITE}1.xml", f"{SITE}2.xml"),
    f"{SITE}1.xml": urlset(f"{SITE}a", f"{SITE}b"),
    f"{SITE}2.xml": urlset(f"{SITE}c", "https://other.example/d"),
}
OF_THE_FILE = {"StateAccess", "StateFile"}
"""Objects of a state: one a file, however many walks there are."""


async def walk_once(**arguments: Any) -> int:
    """Walk over the site; return the number of URLs."""
    async with walk(SITE, fetcher=MemoryFetcher(PAGES), **arguments) as entries:
        return sum([len(batch) async for batch in entries.batches()])


@pytest.mark.parametrize("has_state", [False, True])
async def test_a_walk_leaves_no_garbage(tmp_path: Path, *, has_state: bool) -> None:
    """What only the garbage collector can free holds no object of a walk."""
    arguments = {"state": tmp_path / "all.db", "changes": True} if has_state else {}
    await walk_once(**arguments)  # imports, and what is made once
    gc.collect()
    gc.disable()
    try:
        number = await walk_once(**arguments)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(each).__name__ for each in gc.garbage if _is_ours(each)}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert number == (0 if has_state else 4)
    assert left <= OF_THE_FILE


def _is_ours(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == "sitemapreader"
