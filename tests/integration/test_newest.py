"""`newest`: the N newest URLs of a site, and whether that is proven; the gate of a walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from walking import index, urlset

from sitemapreader import FetchOptions, Limits, Walk
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.walker.config import make_config

if TYPE_CHECKING:
    from sitemapreader import SitemapEntry

TOP = "https://example.org/top.xml"


def child(name: str) -> str:
    return f"https://example.org/{name}.xml"


def page(name: str) -> str:
    return f"https://example.org/{name}"


async def test_the_gate() -> None:
    """A gate is awaited before each request, roots included; its reason is that of the skip."""
    pages = {TOP: index(child("a"), child("b")), child("a"): urlset(page("x"))}
    asked = []

    async def gate(entry: SitemapEntry) -> str:
        asked.append(entry.loc)
        return "not-wanted" if entry.loc == child("b") else ""

    fetcher = MemoryFetcher(pages)
    config = make_config(None, sitemaps=[TOP], gate=gate)
    async with Walk(config, fetcher=fetcher, limits=Limits(), options=FetchOptions()) as entries:
        locs = [entry.loc async for entry in entries]
    assert (locs, asked) == ([page("x")], [TOP, child("a"), child("b")])
    assert child("b") not in fetcher.requested
    assert entries.report.left_out == {"not-wanted": 1}
