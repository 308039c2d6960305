"""A URL with a path: the program, the tables and the library agree on what it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from commands import run, serving, urlset

import sitemapreader
from sitemapreader import walk_sync
from sitemapreader.walker.attempts import Attempt, list_attempts

if TYPE_CHECKING:
    from commands import Answer

SITE = "https://example.org"


@pytest.mark.parametrize(
    ("url", "attempts"),
    [
        (SITE, [Attempt(site=SITE)]),
        (f"{SITE}/", [Attempt(site=f"{SITE}/")]),
        (f"{SITE}/robots.txt", [Attempt(site=f"{SITE}/")]),
        *(
            (f"{SITE}{path}", [Attempt(sitemaps=(SITE + path,)), Attempt(site=SITE + path)])
            for path in ("/blog/", "/blog", "/a.xml", "/?map=1", "/blog/robots.txt")
        ),
    ],
)
def test_what_is_tried(url: str, attempts: list[Attempt]) -> None:
    """A URL without a path is a site; any other one is fetched first, and may be a site then."""
    assert list(list_attempts(url)) == attempts


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
