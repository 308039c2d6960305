"""Workers of a walk: one for each sitemap that waits, and no more than `concurrency`."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import walk
from sitemapreader.fetch import MemoryFetcher
from tests.support.grouping import grouped
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from pathlib import Path


SITE = "https://site.example/"


# -- walks leave no circles of objects, so that they are freed as soon as they are left


PAGES = {
    f"{SITE}robots.txt": f"User-agent: *\nDisallow: /private/\nSitemap: {SITE}index.xml".encode(),
    f"{SITE}index.xml": index(f"{SITE}1.xml", f"{SITE}2.xml"),
    f"{SITE}1.xml": urlset(f"{SITE}a", f"{SITE}b"),
    f"{SITE}2.xml": urlset(f"{SITE}c", "https://other.example/d"),
}
OF_THE_FILE = {"StateFile"}
"""Objects of a state: one a file, however many walks there are."""


async def walk_once(**arguments: Any) -> int:
    """Walk over the site; return the number of URLs."""
    async with walk(
        SITE, fetcher=MemoryFetcher(PAGES), **grouped(arguments)
    ) as entries:
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
