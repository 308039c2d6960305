"""The command line, as a real process: streams, files, exit codes, signals, pipes."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
from typing import TYPE_CHECKING

import package
import pytest
from aiohttp import web
from commands import run, serving, start, urlset, wait_until_full

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SITE = package.ROOT / "testdata" / "site"


async def serve_page(request: web.Request) -> web.StreamResponse:
    """Answer for a site with a sitemap, a page, a cut document and one that never ends."""
    host = f"http://{request.host}"
    match request.path:
        case "/robots.txt":
            return web.Response(text="User-agent: *\nDisallow:\n")
        case "/sitemap.xml" | "/blog/sitemap.xml":
            return web.Response(body=gzip.compress(urlset(5, host)))
        case "/blog/":
            return web.Response(text="<!doctype html><title>Blog</title>", content_type="text/html")
        case "/cut.xml":
            return web.Response(body=urlset(5)[:-60])
        case "/index.xml":
            locs = "".join(
                f"<sitemap><loc>{host}{p}</loc></sitemap>" for p in ("/sitemap.xml", "/404")
            )
            return web.Response(text=f"<sitemapindex>{locs}</sitemapindex>")
        case "/endless.xml":
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(urlset(3000)[:-9])
            await asyncio.sleep(60)
            return response
    raise web.HTTPNotFound


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Serve the pages from a thread."""
    with serving(serve_page) as (url,):
        yield url


def test_a_folder_is_a_site() -> None:
    """Every URL of the folder comes out, one a line, and nothing else on standard output."""
    done = run(str(SITE))
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 43
    assert all(line.startswith("https://www.example.org/") for line in done.stdout.splitlines())
    assert done.stderr == "sitemapreader: 43 URLs; documents: 8 complete\n"


def test_a_site_is_searched(origin: str) -> None:
    """A URL without a path is a site: its sitemap is found and read."""
    done = run(origin, "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [f"{origin}/{number}" for number in range(5)]


def test_a_page_is_searched_below(origin: str) -> None:
    """A URL that turns out to be a page starts a discovery below it."""
    done = run(f"{origin}/blog/", "-q")
    assert done.returncode == 0
    assert len(done.stdout.split()) == 5


def test_a_page_that_is_said_to_be_a_sitemap_is_an_error(origin: str) -> None:
    """With --sitemap nothing is searched."""
    done = run("--sitemap", f"{origin}/blog/")
    assert done.returncode in {1, 4}
    assert "html-not-sitemap" in done.stderr


def test_a_dead_child_is_a_partial_result(origin: str) -> None:
    """What can be read is printed, what failed is named, and the exit code is 3."""
    done = run(f"{origin}/index.xml")
    assert done.returncode == 3
    assert len(done.stdout.split()) == 5
    assert "error http-status" in done.stderr
    assert f"{origin}/404" in done.stderr


def test_a_cut_sitemap_is_a_partial_result(origin: str) -> None:
    """Records of a cut document whose loc is whole are printed; the exit code is 3."""
    done = run(f"{origin}/cut.xml")
    assert done.returncode == 3
    assert len(done.stdout.split()) == 4
    assert "error truncated" in done.stderr


def test_no_url_found(tmp_path: Path) -> None:
    """A sitemap without records gives exit code 1."""
    file = tmp_path / "empty.xml"
    file.write_bytes(urlset(0))
    done = run(str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert "warning empty" in done.stderr


def test_files_and_standard_input(tmp_path: Path) -> None:
    """A file is one sitemap, compressed or not, and `-` is standard input."""
    file = tmp_path / "sitemap.xml.gz"
    file.write_bytes(gzip.compress(urlset(2)))
    done = run(str(file), "-", "-q", input=urlset(1, "https://stdin.example").decode())
    assert done.returncode == 0
    assert done.stdout.split() == [
        "https://example.org/0",
        "https://example.org/1",
        "https://stdin.example/0",
    ]


def test_an_index_in_a_file_is_said_to_be_one() -> None:
    """The children of an index on disk are not fetched, and that is said."""
    done = run(str(SITE / "sitemap_index.xml"))
    assert done.returncode == 1
    assert "lists 5 sitemaps or pages of a feed, which were not fetched" in done.stderr


def test_json_lines() -> None:
    """Each line is an object in ASCII with the same keys first, in the same order."""
    lines = run(str(SITE), "--format", "jsonl", "-q").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 43
    assert all(line.isascii() for line in lines)
    assert {tuple(row)[:5] for row in rows} == {
        ("loc", "lastmod", "changefreq", "priority", "sitemap")
    }
    assert any(row.get("videos") for row in rows)
    assert any(row.get("alternates") for row in rows)


def test_since(tmp_path: Path) -> None:
    """A date, or a span before now, leaves out what is older."""
    file = tmp_path / "sitemap.xml"
    file.write_bytes(
        b"<urlset><url><loc>http://a.example/old</loc><lastmod>2020-01-01</lastmod></url>"
        b"<url><loc>http://a.example/none</loc></url></urlset>"
    )
    for when in ("2021", "7d", "12h"):
        assert run(str(file), "-q", "--since", when).stdout == "http://a.example/none\n"
    assert len(run(str(file), "-q", "--since", "2019-05").stdout.split()) == 2


def test_unique() -> None:
    """Each URL is printed once, over all sources."""
    assert len(run(str(SITE), str(SITE), "--unique", "-q").stdout.split()) == 43


def test_unsafe_urls_are_encoded(tmp_path: Path) -> None:
    """A URL is one line, and cannot speak to a terminal."""
    file = tmp_path / "sitemap.xml"
    file.write_text(
        "<urlset><url><loc>http://a.example/a\nb c\x9b31m\u202e\u2028c</loc></url></urlset>",
        "utf-8",
    )
    done = run(str(file))
    assert done.stdout == "http://a.example/a%0Ab%20c%C2%9B31m%E2%80%AE%E2%80%A8c\n"
    assert done.stderr.isascii()


def test_any_locale(tmp_path: Path) -> None:
    """A terminal that knows no UTF-8 gets backslashes, and no traceback."""
    file = tmp_path / "sitemap.xml"
    file.write_text("<urlset><url><loc>http://a.example/\u2603</loc></url></urlset>", "utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(str(file), "-q", env=environment)
    assert (done.returncode, done.stdout) == (0, "http://a.example/\\u2603\n")


def test_output_file(tmp_path: Path) -> None:
    """A file is there once it is whole, with the rights that a new file has."""
    output = tmp_path / "urls.txt"
    assert run(str(SITE), "-q", "-o", str(output)).returncode == 0
    assert len(output.read_text("utf-8").split()) == 43
    assert [path.name for path in tmp_path.iterdir()] == ["urls.txt"]
    mask = os.umask(0)
    os.umask(mask)
    assert output.stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("waiting", ["for the server", "for the reader"])
def test_signals(origin: str, tmp_path: Path, number: signal.Signals, waiting: str) -> None:
    """A signal ends the program with 128 and its number, and only whole lines were written."""
    file = tmp_path / "sitemap.xml"
    file.write_bytes(urlset(200_000))
    source = f"{origin}/endless.xml" if waiting == "for the server" else str(file)
    with start(source) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        if waiting == "for the reader":
            wait_until_full(process.stdout)
        process.send_signal(number)
        if waiting == "for the reader":
            assert process.wait(60) == 128 + number
        rest, errors = process.stdout.read(), process.stderr.read()
        assert process.wait(60) == 128 + number
    assert first == b"https://example.org/0\n"
    assert b"Traceback" not in errors
    assert (first + rest).endswith(b"\n")


def test_version() -> None:
    """--version names the package and its version."""
    assert run("--version").stdout.startswith("sitemapreader ")
