"""Site maps for people in walks, discoveries and at the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from sitemapreader import Format
from tests.support.commands import run, serving
from tests.support.walking import ROBOTS, SITE, Pages, Walked, walk_all

if TYPE_CHECKING:
    from pathlib import Path

MAP = "https://example.org/site-map.html"
TOP = "https://example.org/sitemap.xml"
PAGE = b"""<!DOCTYPE html><html><body><a href="/a">A</a> <a href="/b#x">B</a>
<a href="https://other.example/">Elsewhere</a>
<a href="mailto:x@example.org">Mail</a></body></html>"""


def named(*urls: str) -> bytes:
    return "".join(f"Sitemap: {url}\n" for url in urls).encode()


async def walk_with(formats: set[str], pages: Pages, **arguments: Any) -> Walked:
    return await walk_all(pages, extra_formats=formats, **arguments)


async def test_a_page_that_robots_names() -> None:
    """A page named as sitemap is read where that is asked for, and its Issue says what it is."""
    pages: Pages = {ROBOTS: named(MAP), MAP: PAGE}
    walked = await walk_with({"html"}, pages)
    assert walked.locs == ["https://example.org/a", "https://example.org/b"]
    assert walked.codes == ["html-sitemap", "link-not-taken", "link-not-taken"]
    assert walked.document(MAP).format is Format.HTML
    assert walked.outcome(MAP) == ("complete", "")
    assert walked.report.complete


async def test_a_page_that_nobody_wants() -> None:
    """Without the option such a page is `html-not-sitemap`, and the advice names the option."""
    walked = await walk_with(set(), {ROBOTS: named(MAP), MAP: PAGE, SITE: PAGE})
    assert walked.locs == []
    assert walked.outcome(MAP) == ("failed", "html-not-sitemap")
    assert "html" in walked.report.issues[0].message


async def test_a_page_at_a_guessed_path_is_no_sitemap() -> None:
    """A server that answers every path with a page has no sitemap, asked for or not."""
    pages: Pages = {TOP: PAGE, SITE: PAGE}
    walked = await walk_with({"html"}, pages)
    assert walked.locs == []
    assert walked.codes == ["no-sitemap"]
    assert walked.outcome(TOP) == ("skipped", "html-not-sitemap")


def test_the_shell(tmp_path: Path) -> None:
    """`--html-sitemap` reads what is named; without it the message names it."""

    async def answer(request: web.Request) -> web.StreamResponse:
        base = f"http://{request.host}"
        bodies = {"/robots.txt": named(f"{base}/map"), "/map": PAGE}
        return web.Response(
            status=200 if request.path in bodies else 404,
            body=bodies.get(request.path, b""),
        )

    with serving(answer) as (url,):
        both = run(url, "--html-sitemap", "-q")
        page = run(f"{url}/map", "--html-sitemap", "-q")
        plain = run(url)
        found = run("discover", url, "--html-sitemap", "-q")
    assert both.returncode == 0
    assert both.stdout == page.stdout
    assert page.stdout.split() == [f"{url}/a", f"{url}/b"]
    assert plain.stdout == ""
    assert "--html-sitemap" in plain.stderr
    assert found.stdout.split()[-1] == f"{url}/map"
    file = tmp_path / "map.html"
    file.write_bytes(PAGE)
    read = run(
        "read", str(file), "--html-sitemap", "--base-url", "https://example.org/", "-q"
    )
    assert read.stdout.split() == ["https://example.org/a", "https://example.org/b"]
