"""The way of the data: how many modules work on one URL, and on one sitemap that is gone."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING

import package
import pytest
from serving import serve
from walking import index, urlset

from sitemapreader import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

WAYS = {
    "a URL": (urlset, "complete", 47),
    "an index whose child is gone": (index, "failed", 48),
}
"""What is served, how it ends, and how many modules run at most: 53 and 55 were too many."""


async def walk_over(write: Callable[[str], bytes]) -> str:
    """Walk over a site with one sitemap; return how its last document ended."""

    def make_pages(base: str) -> Mapping[str, bytes]:
        robots = f"Sitemap: {base}/s.xml\n".encode()
        return {"/robots.txt": robots, "/s.xml": write(f"{base}/a")}

    async with serve(make_pages) as served, walk(served.base) as entries:
        assert [entry.loc async for entry in entries] == [f"{served.base}/a"] * (write is urlset)
    return entries.report.documents[-1].status


@pytest.mark.parametrize("name", WAYS)
def test_few_modules_run(name: str) -> None:
    """The way of a URL, and of a sitemap that is gone, leads through no more modules than it did.

    They are printed: `pytest -s` shows them, and a failure does.
    """
    write, status, most = WAYS[name]
    assert asyncio.run(walk_over(write)) == status  # imports what it needs
    modules = {str(path): module for module, path in package.paths().items()}
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename in modules:
            ran.add(modules[code.co_filename])

    before = sys.getprofile()
    threading.setprofile(note)  # robots.txt is parsed in a thread
    sys.setprofile(note)
    try:
        assert asyncio.run(walk_over(write)) == status
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    print(f"{name}: {len(ran)} modules, {', '.join(sorted(ran))}")  # noqa: T201 (its second job)
    assert "walker.visit" in ran
    assert len(ran) <= most
