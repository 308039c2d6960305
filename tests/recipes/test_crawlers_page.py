"""The crawlers of docs/crawlers.md, in processes of their own, against real servers on loopback."""

from __future__ import annotations

import ast
import asyncio
import gzip
from typing import TYPE_CHECKING

import pytest

from tests.support import package, pages
from tests.support.serving import serve
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.support.serving import Page

PLAIN, CRAWLEE = "read_body", "RequestList"
"""A word of each block."""
COUNT = 30
BROKEN = """\
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>{base}/a?x=1&y=2</loc><lastmod>2026-01-05</lastmod></url>
  <url><loc>http://[::1/bad</loc></url>
  <url><loc>{base}/caf&eacute;</loc></url>
  <url><loc>{base}/last</loc></url>
</urlset>"""


def find_block(word: str) -> pages.Block:
    """Return the block of the page that has a word; skip where its library is missing."""
    page = package.ROOT / "docs" / "crawlers.md"
    (block,) = (each for each in pages.blocks(page, "python") if word in each.code)
    if word == CRAWLEE:
        pytest.importorskip("crawlee", reason="no crawlee: pip install crawlee")
    return block


async def run_block(
    word: str, base: str, folder: Path, *changes: tuple[str, str]
) -> str:
    """Run a block for a site, with a few changes; return what it prints."""
    block = find_block(word)
    for old, new in changes:
        assert old in block.code
        block = block._replace(code=block.code.replace(old, new))
    return await asyncio.to_thread(pages.run_python, block, folder, base)


def read_back(printed: str, base: str) -> tuple[int, dict[str, str]]:
    """Return what the plain crawler has printed: how many pages, and which were missed."""
    number, _, missed = printed.partition(" pages; missed: ")
    found: dict[str, str] = ast.literal_eval(missed)
    return int(number), {
        loc.replace(pages.SITE, "").replace(base, ""): found[loc] for loc in found
    }


def make_site(base: str) -> Mapping[str, Page]:
    """Make a site of good pages and of every kind of bad ones, all listed twice."""
    locs = [f"{base}/p/{number}" for number in range(COUNT)]
    bad = [
        f"{base}/{name}" for name in ("gone", "private", "hidden", "bomb", "damaged")
    ]
    good = [f"{base}/zipped", f"{base}/moved"]
    return {
        "/robots.txt": f"User-agent: *\nDisallow: /private\nSitemap: {base}/i.xml".encode(),
        "/i.xml": index("a.xml", "b.xml", "gone.xml"),
        "/a.xml": urlset(*locs, *bad),
        "/b.xml": urlset(*good, *bad, *locs),
        **{f"/p/{number}": f"<p>{number}</p>".encode() for number in range(COUNT)},
        "/zipped": gzip.compress(b"<p>zipped</p>"),
        "/moved": "/p/0",
        "/hidden": "/private",
        "/gone": 410,
        "/private": b"<p>private</p>",
        "/bomb": gzip.compress(bytes(20_000)),
        "/damaged": gzip.compress(b"<p>damaged</p>" * 100)[:25],
    }


async def test_every_page_is_visited_or_missed(tmp_path: Path) -> None:
    """Each page of a site comes once, inflated, or is missed with the reason."""
    async with serve(make_site) as served:
        shown = (
            'print(len(visited), "pages',
            'print(sum(map(len, visited.values())), "pages',
        )
        small = ("10_000_000", "10_000")
        printed = await run_block(PLAIN, served.base, tmp_path, small, shown)
    bodies = [f"<p>{number}</p>" for number in (*range(COUNT), 0, "zipped")]
    assert read_back(printed, served.base) == (
        sum(map(len, bodies)),
        {
            "/gone": "http-status",
            "/private": "robots-disallowed",
            "/hidden": "robots-disallowed",
            "/bomb": "too-large",
            "/damaged": "compression-truncated",
        },
    )
    assert "/private" not in served.requested
    assert [served.requested.count(f"/p/{number}") for number in range(1, COUNT)] == [
        1
    ] * (COUNT - 1)
    assert served.most_at_once <= 2


QUIET = ("import asyncio\n", "import asyncio, logging\nlogging.disable()\n")
"""Crawlee logs each URL that is none."""


def make_broken_site(base: str) -> Mapping[str, Page]:
    """Make a site whose sitemaps have a bare ampersand, an entity and a URL that is none."""
    zipped = [f"/z/{number}" for number in range(20)]
    return {
        "/robots.txt": f"Sitemap: {base}/index.xml".encode(),
        "/index.xml": index(f"{base}/broken.xml", f"{base}/zipped.xml"),
        "/broken.xml": BROKEN.format(base=base).encode(),
        "/zipped.xml": gzip.compress(urlset(*(base + path for path in zipped))),
        **dict.fromkeys(
            ["/a", "/caf%C3%A9", "/café", "/last", *zipped], b"<p>A page.</p>"
        ),
    }


@pytest.mark.slow
async def test_crawlee_requests_all_that_is_listed(tmp_path: Path) -> None:
    """Every URL of a walk is requested once, with its fields; one that is none is an Issue."""
    counts = (
        '"complete:", entries.report.complete',
        "*map(str, entries.report.counts)",
    )
    async with serve(make_broken_site) as served:
        printed = await run_block(CRAWLEE, served.base, tmp_path, counts, QUIET)
    *visited, last = printed.splitlines()
    assert f"{pages.SITE}/a?x=1&y=2 2026-01-05T00:00:00+00:00" in visited
    assert {line.split()[0].removeprefix(pages.SITE) for line in visited} == {
        *(f"/z/{number}" for number in range(20)),
        *("/a?x=1&y=2", "/café", "/last"),
    }
    assert len(visited) == 23
    assert last.startswith("24 URLs;")
    assert "invalid-url" in last
