"""Site maps for people and llms.txt in walks, discoveries and at the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from commands import run, serving
from serving import serve
from walking import ROBOTS, SITE, Pages, Walked, index, urlset, walk_all

from sitemapreader import FetchOptions, Format, discover, to_dataframe, walk
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from pathlib import Path

MAP = "https://example.org/site-map.html"
LLMS = "https://example.org/llms.txt"
TOP = "https://example.org/sitemap.xml"
PAGE = b"""<!DOCTYPE html><html><body><a href="/a">A</a> <a href="/b#x">B</a>
<a href="https://other.example/">Elsewhere</a>
<a href="mailto:x@example.org">Mail</a></body></html>"""
LIST = (
    b"# Example\n\n## Docs\n\n- [Guide](/guide.md): start here\n- [Away](https://other.example/)\n"
)


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


@pytest.mark.parametrize("formats", [set(), {"llms"}])
async def test_a_page_that_nobody_wants(formats: set[str]) -> None:
    """Without the option such a page is `html-not-sitemap`, and the advice names the option."""
    walked = await walk_with(formats, {ROBOTS: named(MAP), MAP: PAGE, SITE: PAGE})
    assert walked.locs == []
    assert walked.outcome(MAP) == ("failed", "html-not-sitemap")
    assert "html" in walked.report.issues[0].message


async def test_a_page_at_a_guessed_path_is_no_sitemap() -> None:
    """A server that answers every path with a page has no sitemap, asked for or not."""
    pages: Pages = {TOP: PAGE, SITE: PAGE, LLMS: PAGE}
    walked = await walk_with({"html", "llms"}, pages)
    assert walked.locs == []
    assert walked.codes == ["no-sitemap"]
    assert walked.outcome(TOP) == ("skipped", "html-not-sitemap")
    assert walked.outcome(LLMS) == ("skipped", "html-not-sitemap")


async def test_llms_is_looked_for() -> None:
    """An llms.txt is found beside the sitemaps of a site, and alone; its names are titles."""
    alone: Pages = {LLMS: LIST, SITE: PAGE}
    beside: Pages = {**alone, ROBOTS: named(TOP), TOP: urlset("https://example.org/x")}
    for pages, more in ((alone, set()), (beside, {"https://example.org/x"})):
        walked = await walk_with({"llms"}, pages)
        assert set(walked.locs) == {"https://example.org/guide.md"} | more
        assert "no-sitemap" not in walked.codes
        assert walked.document(LLMS).format is Format.LLMS
        assert LLMS not in (await walk_with(set(), pages)).requested


async def test_llms_of_a_folder() -> None:
    """For a site with a path the llms.txt of that path is looked for first, then the root's."""
    inner = "https://example.org/docs/llms.txt"
    pages: Pages = {LLMS: LIST, inner: b"# Docs\n- [In](in.md)\n", SITE: PAGE}
    walked = await walk_with({"llms"}, pages, site="https://example.org/docs/")
    assert walked.locs == ["https://example.org/docs/in.md", "https://example.org/guide.md"]


@pytest.mark.parametrize(
    ("robots", "arguments"),
    [
        (b"", {"probe": "never"}),
        (b"User-agent: *\nDisallow: /llms.txt\n", {}),
    ],
)
async def test_llms_is_not_fetched(robots: bytes, arguments: dict[str, Any]) -> None:
    """It is a guess as the well-known paths are: not with `probe="never"`, not if forbidden."""
    walked = await walk_with({"llms"}, {ROBOTS: robots, LLMS: LIST, SITE: PAGE}, **arguments)
    assert LLMS not in walked.requested


async def test_a_given_page_and_list() -> None:
    """What the caller names is read, and so is a child of an index."""
    pages: Pages = {TOP: index(MAP, LLMS), MAP: PAGE, LLMS: LIST}
    for given in ([MAP, LLMS], [TOP]):
        walked = await walk_all(pages, None, sitemaps=given, extra_formats={"html", "llms"})
        assert [loc.removeprefix(SITE) for loc in sorted(walked.locs)] == ["a", "b", "guide.md"]


async def test_discover() -> None:
    """A discovery finds them as well, and reads none of them."""
    fetcher = MemoryFetcher({ROBOTS: named(MAP), MAP: PAGE, LLMS: LIST})
    found = await discover(SITE, fetcher=fetcher, extra_formats={"html", "llms"})
    assert [entry.loc for entry in found.sitemaps] == [MAP, LLMS]
    plain = await discover(SITE, fetcher=MemoryFetcher({ROBOTS: named(MAP), MAP: PAGE, SITE: PAGE}))
    assert "html-not-sitemap" in plain.counts


async def test_a_state_tells_walks_with_other_formats_apart(tmp_path: Path) -> None:
    """A page that was refused is read once the format is asked for, with the same state."""
    pages: Pages = {ROBOTS: named(MAP), MAP: PAGE, SITE: PAGE}
    state = {"state": tmp_path / "site.db", "changes": True}
    assert (await walk_with(set(), pages, **state)).locs == []
    assert len((await walk_with({"html"}, pages, **state)).locs) == 2
    assert (await walk_with({"html"}, pages, **state)).locs == []


async def test_over_http() -> None:
    """On a real server, with its Content-Type and redirects, both formats are read."""

    def make_pages(base: str) -> dict[str, bytes | str]:
        return {
            "/robots.txt": named(f"{base}/map"),
            "/map": f"{base}/map/",
            "/map/": PAGE,
            "/llms.txt": LIST,
        }

    async with serve(make_pages) as served:
        options = FetchOptions(allow_ports=(int(served.base.rpartition(":")[2]),))
        async with walk(
            f"{served.base}/", extra_formats={"html", "llms"}, options=options
        ) as entries:
            found = {entry.loc.removeprefix(served.base): entry.title async for entry in entries}
    assert found == {"/a": "A", "/b": "B", "/guide.md": "Guide"}
    assert entries.report.complete


def test_frames_have_titles() -> None:
    """`to_dataframe` passes the formats on, and has the links' texts."""
    fetcher = MemoryFetcher({ROBOTS: named(MAP), MAP: PAGE})
    frame = to_dataframe(SITE, fetcher=fetcher, extra_formats={"html"})
    assert frame["title"].tolist() == ["A", "B"]


def test_the_shell(tmp_path: Path) -> None:
    """`--html-sitemap` and `--llms` read what they name; without them the message names them."""

    async def answer(request: web.Request) -> web.StreamResponse:
        base = f"http://{request.host}"
        bodies = {"/robots.txt": named(f"{base}/map"), "/map": PAGE, "/llms.txt": LIST}
        return web.Response(
            status=200 if request.path in bodies else 404, body=bodies.get(request.path, b"")
        )

    with serving(answer) as (url,):
        both = run(
            url, "--html-sitemap", "--llms", "-q", "--format", "jsonl", "--fields", "loc,title"
        )
        page = run(f"{url}/map", "--html-sitemap", "-q")
        plain = run(url)
        found = run("discover", url, "--llms", "-q")
    assert both.returncode == 0
    assert sorted(line.partition('"title": ')[2] for line in both.stdout.splitlines()) == [
        '"A"}',
        '"B"}',
        '"Guide"}',
    ]
    assert page.stdout.split() == [f"{url}/a", f"{url}/b"]
    assert plain.stdout == ""
    assert "--html-sitemap" in plain.stderr
    assert found.stdout.split()[-1] == f"{url}/llms.txt"
    file = tmp_path / "map.html"
    file.write_bytes(PAGE)
    read = run("read", str(file), "--html-sitemap", "--base-url", "https://example.org/", "-q")
    assert read.stdout.split() == ["https://example.org/a", "https://example.org/b"]
