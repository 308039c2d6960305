"""`--map-host` with all kinds of sources: sites, lists, files, folders, single pages."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from tests.support.commands import run, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

LIVE = "https://www.acme.example"
URLS = [f"{LIVE}/{number}" for number in range(3)]
SITEMAP = "".join(f"<url><loc>{url}</loc></url>" for url in URLS)
XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGE = "<html><head><title>{0}</title></head><body>Of number {0} nobody knows.</body></html>"


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer for a staging site whose second page is missing."""
    if request.path == "/robots.txt":
        return web.Response(text=f"Sitemap: {LIVE}/map.xml")
    if request.path == "/map.xml":
        return web.Response(text=f"<urlset {XMLNS}>{SITEMAP}</urlset>")
    if request.path in ("/0", "/2"):
        text = PAGE.format(request.path)
        return web.Response(text=text, content_type="text/html")
    raise web.HTTPNotFound


@contextmanager
def staging() -> Iterator[list[str]]:
    with serving(answer) as (url,):
        yield ["--map-host", f"{LIVE}={url.rstrip('/')}"]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The kinds of sources that have the same URLs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "five.txt").write_text("\n".join(URLS))
    (tmp_path / "map.xml").write_text(f"<urlset {XMLNS}>{SITEMAP}</urlset>")
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sitemap.xml").write_text(
        f"<urlset {XMLNS}>{SITEMAP}</urlset>"
    )
    return {"list": "five.txt", "file": "map.xml", "folder": "public", "site": LIVE}


@pytest.mark.parametrize("kind", ["list", "file", "folder", "site"])
def test_the_urls_of_a_source(places: dict[str, str], kind: str) -> None:
    """They are printed; a file requests nothing, so nothing of it is mapped."""
    with staging() as mapped:
        done = run(places[kind], "-q", *mapped)
        tree = run("tree", "public" if kind == "file" else LIVE, "-q", *mapped)
    assert (done.returncode, done.stdout.split()) == (0, URLS)
    assert tree.returncode == 0


@pytest.mark.parametrize("kind", ["list", "file", "folder", "site"])
def test_the_pages_of_a_source_are_judged(places: dict[str, str], kind: str) -> None:
    """An audit visits them on the host that stands for theirs."""
    with staging() as mapped:
        words = ("--pages", "all", "--json", "-q", "--fail-on", "never")
        done = run("audit", places[kind], *words, *mapped)
    assert done.returncode == 0, done.stderr
    found = {
        each["rule"]["code"]: each["count"]
        for each in json.loads(done.stdout)["findings"]
    }
    assert found["page-not-found"] == 1


@pytest.mark.parametrize(
    ("own", "foreign", "code", "exit_code"),
    [
        (0, 3, "base-url-elsewhere", 5),
        (2, 1, "host-not-public", 5),
        (3, 0, None, 0),
    ],
)
@pytest.mark.parametrize("is_stand_in", [True, False])
def test_a_staging_site_that_lists_its_own_urls_does_not_pass(
    *, own: int, foreign: int, code: str | None, exit_code: int, is_stand_in: bool
) -> None:
    """A build with the address of its staging host is an error, one URL or all of them."""
    hosts: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        there = hosts[0] if is_stand_in else "http://preview.acme.example"
        urls = [f"{LIVE}/{number}" for number in range(own)]
        urls += [f"{there}/{number}" for number in range(foreign)]
        if request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: {hosts[0]}/map.xml")
        if request.path == "/map.xml":
            listed = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
            return web.Response(text=f"<urlset {XMLNS}>{listed}</urlset>")
        text = PAGE.format(request.path)
        return web.Response(text=text, content_type="text/html")

    with serving(serve) as (url,):
        hosts.append(url.rstrip("/"))
        mapped = ["--map-host", f"{LIVE}={hosts[0]}"]
        words = ("--select", "base-url-elsewhere,host-not-public", "--json", "-q")
        done = run("audit", LIVE, *words, *mapped)
    findings = json.loads(done.stdout)["findings"]
    if own and not is_stand_in:
        assert findings == []  # another host of the site, as a blog has it
        return
    assert done.returncode == exit_code
    assert next((each["rule"]["code"] for each in findings), None) == code


def test_why_a_page_of_a_staging_site_is_missing(places: dict[str, str]) -> None:
    """A single page, and its robots.txt, are requested there as well."""
    with staging() as mapped:
        listed = run("why", URLS[0], *mapped)
        missing = run("why", f"{LIVE}/9", "--in", LIVE, *mapped)
        inside = run("why", URLS[1], "--in", places["list"], *mapped)
    assert (listed.returncode, missing.returncode, inside.returncode) == (0, 1, 0)
    assert f"listed by {LIVE}/map.xml, record 1" in listed.stdout
    assert "robots.txt" not in listed.stdout
    assert "the page returns 404" in missing.stdout


UNUSED = "not used: --map-host https://other.example"


@pytest.mark.parametrize("kind", ["list", "file", "folder", "site"])
@pytest.mark.parametrize("command", ["urls", "audit"])
def test_a_mapping_that_nothing_needs_is_told(
    places: dict[str, str], command: str, kind: str
) -> None:
    """The name may be mistyped; the one that is used is not told."""
    other = ("--map-host", "other.example=http://127.0.0.1:9")
    words = [places[kind]]
    if command == "audit":
        words += ["--pages", "all", "--fail-on", "never"]
    with staging() as mapped:
        done = run(command, *words, *mapped, *other)
    assert UNUSED in done.stderr
    is_used = command == "audit" or kind == "site"
    assert (f"--map-host {LIVE}," in done.stderr) is not is_used


def test_the_pages_of_a_folder_are_files_if_another_host_is_mapped(
    places: dict[str, str],
) -> None:
    """They are no pages of that host, so nothing is requested for them."""
    folder, other = places["folder"], "other.example=http://127.0.0.1:9"
    done = run("audit", folder, "--pages", "all", "--map-host", other)
    assert "3 judged" in done.stdout


@pytest.mark.parametrize("kind", ["list", "folder", "site"])
def test_every_report_is_headed_by_what_was_read(
    places: dict[str, str], kind: str
) -> None:
    """Nobody takes the report of a staging host for one of the site."""
    names = ["r.txt", "r.html", "r.md", "r.xml"]
    files = [word for name in names for word in ("-o", name)]
    with staging() as mapped:
        target = mapped[1].partition("=")[2]
        run("audit", places[kind], "--pages", "all", *files, *mapped)
        heads = [find_head(name, places[kind]) for name in names]
        run("audit", places["folder"], "--pages", "all", *files)
    assert all(f"read from {target}" in head for head in heads), heads
    assert not any("read from" in find_head(name, "public") for name in names)


def find_head(name: str, source: str) -> str:
    """Return the first line of a report that names the source."""
    text = Path(name).read_text(encoding="utf-8")
    return next(line for line in text.splitlines() if source in line)
