"""A URL with a path: the program, the tables and the library agree on what it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from commands import run, serving, urlset

import sitemapreader
from sitemapreader import SiteTask, discover_sync, walk_many_sync, walk_sync
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from commands import Answer

SITE = "https://example.org"


@pytest.mark.parametrize(
    ("url", "first"),
    [
        (SITE, "/robots.txt"),
        (f"{SITE}/", "/robots.txt"),
        (f"{SITE}/robots.txt", "/robots.txt"),
        *(
            (SITE + path, path)
            for path in ("/blog/", "/blog", "/a.xml", "/?map=1", "/b/robots.txt")
        ),
    ],
)
def test_what_is_tried_first(url: str, first: str) -> None:
    """A URL without a path is a site; any other one is fetched first, and may be a site then."""
    fetcher = MemoryFetcher({})
    with walk_sync(url, fetcher=fetcher) as entries:
        assert list(entries) == []
    assert fetcher.requested[0] == SITE + first


FEED = """<rss version="2.0"><channel><title>News</title>
<item><link>https://example.org/1</link></item>
<item><link>https://example.org/2</link></item></channel></rss>"""


async def answer_feed(request: web.Request) -> web.StreamResponse:
    """Answer for a site whose robots.txt forbids its feed, and names another sitemap."""
    base = f"http://{request.host}"
    if request.path == "/robots.txt":
        return web.Response(text=f"Sitemap: {base}/all.xml\nUser-agent: *\nDisallow: /feed/")
    if request.path == "/all.xml":
        return web.Response(body=urlset(9, base))
    if request.path == "/feed/":
        return web.Response(text=FEED, content_type="application/rss+xml")
    return web.Response(text="<!doctype html><p>", content_type="text/html", status=404)


def walk_locs(url: str) -> list[str]:
    with walk_sync(url) as entries:
        return [entry.loc for entry in entries]


def walk_many_locs(url: str) -> list[str]:
    with walk_many_sync([SiteTask(url, trusted=True)]) as run:
        return [entry.loc for _, entries in run.batches() for entry in entries]


def make_table(url: str) -> list[str]:
    return list(sitemapreader.to_dataframe(url)["loc"])


def run_shell(url: str) -> list[str]:
    return run(url, "-q").stdout.split()


def find_and_walk(url: str) -> list[str]:
    found = [entry.loc for entry in discover_sync(url).sitemaps]
    with walk_sync(sitemaps=found) as entries:
        return [entry.loc for entry in entries]


@pytest.mark.parametrize("read", [walk_locs, walk_many_locs, make_table, run_shell, find_and_walk])
def test_a_feed_is_a_feed_everywhere(read: Callable[[str], list[str]]) -> None:
    """The URL of a feed gives its items, and not the site, wherever it is written."""
    with serving(answer_feed) as (url,):
        assert read(f"{url}/feed/") == ["https://example.org/1", "https://example.org/2"]
        assert len(read(f"{url}/news/")) == 9


def test_a_site_that_is_a_sitemap_in_its_report() -> None:
    """The document says how it was found, and nothing else was asked for."""
    with serving(answer_feed) as (url,), walk_sync(f"{url}/feed/") as entries:
        assert len(list(entries)) == 2
    (document,) = entries.report.documents
    assert (document.via, document.format, document.status) == ("site", "rss", "complete")
    assert entries.report.complete


def archive(status: int, asked: list[str]) -> Answer:
    """Return what answers for an archive whose folders have no page of their own."""

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        base = f"http://{request.host}"
        if request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: {base}/index.xml")
        if request.path == "/index.xml":
            locs = "".join(f"<sitemap><loc>{base}/{n}.xml</loc></sitemap>" for n in range(3))
            return web.Response(text=f"<sitemapindex>{locs}</sitemapindex>")
        if request.path in {"/0.xml", "/1.xml", "/2.xml"}:
            return web.Response(body=urlset(340, base + request.path))
        if status == 200:
            return web.Response(text="<!doctype html><p>2026", content_type="text/html")
        if status == 0:
            await asyncio.sleep(0)
            assert request.transport is not None
            request.transport.close()
        return web.Response(status=status or 500)

    return answer


@pytest.mark.parametrize("status", [200, 403, 404, 410])
@pytest.mark.parametrize("path", ["/2026/", "/2026", "/2026/11/22/"])
def test_a_folder_leads_to_the_site(status: int, path: str) -> None:
    """A path with any page or none gives what `walk` gives for it, in the shell and in a table."""
    with serving(archive(status, [])) as (url,):
        done = run(url + path, "-q")
        with walk_sync(url + path) as entries:
            expected = sorted(entry.loc for entry in entries)
        table = sitemapreader.to_dataframe(url + path)["loc"]
    assert len(expected) == 1020
    assert (done.returncode, sorted(done.stdout.split())) == (0, expected)
    assert sorted(table) == expected


@pytest.mark.parametrize(
    ("status", "path", "code"),
    [(404, "/old.xml", 1), (404, "/a/b.xml.gz", 1), (401, "/2026/", 4), (0, "/2026/", 4)],
)
def test_what_is_no_folder(status: int, path: str, code: int) -> None:
    """A sitemap that is missing, a login and a dead line are failures, and nothing is searched."""
    asked: list[str] = []
    with serving(archive(status, asked)) as (url,):
        done = run(url + path, "-m", "5")
    assert (done.returncode, done.stdout) == (code, "")
    assert set(asked) == {path}


def test_the_kind_can_be_forced() -> None:
    """--site searches at once, and --sitemap never."""
    asked: list[str] = []
    with serving(archive(404, asked)) as (url,):
        forced = run(f"{url}/2026/", "-q", "--site")
        assert "/2026/" not in asked
        alone = run(f"{url}/2026/", "-q", "--sitemap")
    assert (forced.returncode, len(forced.stdout.split())) == (0, 1020)
    assert (alone.returncode, alone.stdout) == (1, "")
