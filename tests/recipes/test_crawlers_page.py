"""The crawlers of docs/crawlers.md, in processes of their own, against real servers on loopback."""

from __future__ import annotations

import ast
import asyncio
import gzip
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import package
import pages
import pytest
from aiohttp import web
from serving import listen, serve
from walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from serving import Page

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


async def run_block(word: str, base: str, folder: Path, *changes: tuple[str, str]) -> str:
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
    return int(number), {loc.replace(pages.SITE, "").replace(base, ""): found[loc] for loc in found}


def make_site(base: str) -> Mapping[str, Page]:
    """Make a site of good pages and of every kind of bad ones, all listed twice."""
    locs = [f"{base}/p/{number}" for number in range(COUNT)]
    bad = [f"{base}/{name}" for name in ("gone", "private", "hidden", "bomb", "damaged")]
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
        shown = ('print(len(visited), "pages', 'print(sum(map(len, visited.values())), "pages')
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
    assert [served.requested.count(f"/p/{number}") for number in range(1, COUNT)] == [1] * (
        COUNT - 1
    )
    assert served.most_at_once <= 2


async def test_the_crawl_delay_holds_for_pages(tmp_path: Path) -> None:
    """A Crawl-delay in robots.txt lies between the requests for pages too."""
    times: list[float] = []
    loop = asyncio.get_running_loop()

    async def answer(request: web.Request) -> web.Response:
        times.append(loop.time())
        base = f"http://{request.host}"
        robots = f"User-agent: *\nCrawl-delay: 0.2\nSitemap: {base}/s.xml".encode()
        site = {"/robots.txt": robots, "/s.xml": urlset(*(f"{base}/{n}" for n in range(3)))}
        return web.Response(body=site.get(request.path, b"<p>"))

    async with listen(answer) as base:
        printed = await run_block(PLAIN, base, tmp_path)
    assert printed == "3 pages; missed: {}\n"
    assert times[-1] - times[-4] > 3 * 0.19


async def test_a_bug_of_your_own_ends_the_crawl(tmp_path: Path) -> None:
    """What your code raises comes out, whatever is still to be fetched."""
    async with serve(make_site) as served:
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            await run_block(
                PLAIN,
                served.base,
                tmp_path,
                ("visited[entry.loc] = body", "print(1 / 0)"),
            )
    assert len(served.requested) < COUNT


async def test_the_walk_waits_for_the_pages(tmp_path: Path) -> None:
    """While the workers are busy, a long sitemap is not read on, and Ctrl-C ends all of it.

    The queue, the walk's buffer and the operating system hold some of it, but not 40 MB.
    """

    def make_pages(base: str) -> Mapping[str, Page]:
        robots = f"Sitemap: {base}/s.xml".encode()
        locs = (f"{base}/{'p' * 2_000}/{number}" for number in range(20_000))
        return {"/robots.txt": robots, "/s.xml": urlset(*locs)}

    code = find_block(PLAIN).code.replace("FetchError as error:", "FetchError as error:\n" + HOLD)
    async with serve(make_pages) as served:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code.replace(pages.SITE, served.base)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"held\n"
        await asyncio.sleep(0.5)
        assert "/s.xml" in served.requested
        assert served.running >= 1  # the sitemap is still being sent
        process.send_signal(signal.SIGINT)
        _, said = await process.communicate()
    assert b"KeyboardInterrupt" in said
    assert b"never" not in said  # "Task was destroyed", "was never awaited"


HOLD = '            print("held", flush=True)\n            await asyncio.sleep(60)'


async def test_a_page_in_our_own_network_is_missed(tmp_path: Path) -> None:
    """A listed page whose name resolves to a private address is never connected to.

    Neither is one to which a page redirects. The names are answered there, and no packet leaves.
    """
    inside: list[str] = []

    async def note(request: web.Request) -> web.Response:
        inside.append(request.path)
        return web.Response(status=404 if request.path == "/robots.txt" else 200)

    async with listen(note, "127.0.0.2") as private:
        port = int(private.rpartition(":")[2])
        async with serve(
            lambda base: {
                "/robots.txt": f"Sitemap: {base}/s.xml".encode(),
                "/s.xml": urlset(
                    f"http://inside.test:{port}/admin", f"{base}/moved", f"{base}/page"
                ),
                "/moved": f"http://router.test:{port}/",
                "/page": b"<p>",
            }
        ) as served:
            printed = await run_block(
                PLAIN,
                served.base,
                tmp_path,
                ("import asyncio\n", RESOLVE),
                ("user_agent=AGENT", f"allow_ports=({port},)"),
            )
    blocked = dict.fromkeys((f"http://inside.test:{port}/admin", "/moved"), "blocked-address")
    assert read_back(printed, served.base) == (1, blocked)
    assert inside == []


RESOLVE = f"""\
import asyncio, socket, sys
sys.modules["aiodns"] = None

def resolve(host, port, *_, **__):
    address = "127.0.0.1" if host == "127.0.0.1" else "127.0.0.2"
    return [({int(socket.AF_INET)}, {int(socket.SOCK_STREAM)}, 6, "", (address, port))]

socket.getaddrinfo = resolve
"""


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
        **dict.fromkeys(["/a", "/caf%C3%A9", "/café", "/last", *zipped], b"<p>A page.</p>"),
    }


@pytest.mark.slow
async def test_crawlee_requests_all_that_is_listed(tmp_path: Path) -> None:
    """Every URL of a walk is requested once, with its fields; one that is none is an Issue."""
    counts = ('"complete:", entries.report.complete', "*map(str, entries.report.counts)")
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


@pytest.mark.slow
async def test_crawlee_gets_all_of_several_sitemaps(tmp_path: Path) -> None:
    """The URLs of several sitemaps are as many requests, and the walk is complete."""
    paths = [f"/p/{number}" for number in range(500)]

    def make_pages(base: str) -> Mapping[str, Page]:
        parts = {f"/{n}.xml": urlset(*(base + p for p in paths[n::5])) for n in range(5)}
        children = index(*(base + name for name in parts))
        return {"/sitemap.xml": children, **parts, **dict.fromkeys(paths, b"<p>")}

    async with serve(make_pages) as served:
        printed = await run_block(CRAWLEE, served.base, tmp_path)
    assert printed.splitlines()[-1] == "500 URLs; complete: True"
    assert sorted(path for path in served.requested if "/p/" in path) == sorted(paths)
