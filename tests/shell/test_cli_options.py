"""What the options do to the URLs that come out, and how wrong ones are answered."""

from __future__ import annotations

import csv
import io
import json
import re
import select
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, cast

import package
import pytest
from aiohttp import web
from commands import allow, run, serving, start, urlset

from sitemapreader import walk
from sitemapreader.fetch import FolderFetcher

if TYPE_CHECKING:
    from pathlib import Path

SITE = package.ROOT / "testdata" / "site"
FOLDER = str(SITE)


def test_include_and_exclude() -> None:
    """Regular expressions choose URLs; several of a kind are alternatives; files obey them too."""
    chosen = run(FOLDER, "-q", "--include", "/birds/b", "--include", "guide", "--exclude", "ow")
    assert sorted(url.rpartition("/")[2] for url in chosen.stdout.split()) == [
        "bearded-tit",
        "bittern",
        "black-tailed-godwit",
        "bluethroat",
        "brent-goose",
        "field-guide-to-mud",
    ]
    file = SITE / "sitemap-birds.xml.gz"
    assert run("read", "-q", str(file), "--include", "wren$").stdout.count("\n") == 1


async def test_the_library_includes_and_excludes() -> None:
    """`walk` has the same filters, and its report says how many entries they kept back."""
    fetcher = FolderFetcher(SITE)
    async with walk(
        fetcher.base_url, fetcher=fetcher, include="/birds/", exclude=[re.compile("(?i)B"), "x"]
    ) as entries:
        assert [entry.loc async for entry in entries] == []
    async with walk(fetcher.base_url, fetcher=fetcher, include="/birds/", exclude="t$") as entries:
        found = [entry.loc async for entry in entries]
    assert len(found) == 8
    assert all("/birds/" in loc and not loc.endswith("t") for loc in found)
    assert sum(document.filtered for document in entries.report.documents) == 43 - 8


@pytest.mark.parametrize("wrong", ["(", b"a", ["(", "a"], [1]])
def test_the_library_refuses_what_is_no_pattern(wrong: object) -> None:
    """What cannot be searched for is said at once, with what to write instead."""
    with pytest.raises((ValueError, TypeError), match="regular expression"):
        walk("https://a.example/", include=cast("str", wrong))


def test_limit(tmp_path: Path) -> None:
    """--limit ends the run after so many URLs, over all sources, and that is no failure."""
    file = tmp_path / "map.xml"
    file.write_bytes(urlset(10))
    other = tmp_path / "other.xml"
    other.write_bytes(urlset(10))
    done = run(str(file), str(other), "--limit", "13")
    assert (done.returncode, len(done.stdout.split())) == (0, 13)
    assert done.stderr.startswith("sitemapreader: 13 URLs")
    assert run(str(file), "--limit", "10", "-q").stdout.count("\n") == 10
    assert run(str(file), "--limit", "11", "-q").stdout.count("\n") == 10


def test_limit_with_a_file(tmp_path: Path) -> None:
    """A file that is cut by --limit is whole: it is there."""
    output = tmp_path / "urls.txt"
    assert run(FOLDER, "-q", "--limit", "7", "-o", str(output)).returncode == 0
    assert len(output.read_text("utf-8").split()) == 7


def test_limit_stops_the_network() -> None:
    """Once the limit is reached, nothing more is asked for."""
    asked = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        if request.path == "/index.xml":
            locs = "".join(
                f"<sitemap><loc>http://{request.host}/{n}.xml</loc></sitemap>" for n in range(500)
            )
            return web.Response(text=f"<sitemapindex>{locs}</sitemapindex>")
        return web.Response(body=urlset(10))

    with serving(answer) as (url,):
        done = run(f"{url}/index.xml", "-q", "--limit", "5")
    assert (done.returncode, len(done.stdout.split())) == (0, 5)
    assert len(asked) < 100


def test_fields_and_formats() -> None:
    """--format and --fields make a table of the same entries."""
    done = run(FOLDER, "-q", "--format", "csv", "--fields", "loc,lastmod")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["loc", "lastmod"]
    assert len(rows) == 44
    lines = run(FOLDER, "-q", "--format", "jsonl", "--fields", "lastmod,loc").stdout.splitlines()
    assert {tuple(json.loads(line)) for line in lines} == {("lastmod", "loc")}


def test_nul() -> None:
    """-0 ends each URL with NUL and nothing else."""
    urls = run(FOLDER, "-q", "-0").stdout.split("\0")
    assert (len(urls), urls[-1]) == (44, "")
    assert not any("\n" in url for url in urls)


def test_depth() -> None:
    """--depth 1 reads an index and its children, but no index below."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if not request.path[1:].isdigit():
            raise web.HTTPNotFound
        level = int(request.path[1:])
        if level == 3:
            return web.Response(body=urlset(1))
        child = f"<sitemap><loc>http://{request.host}/{level + 1}</loc></sitemap>"
        return web.Response(text=f"<sitemapindex>{child}</sitemapindex>")

    with serving(answer) as (url,):
        deep = run("--sitemap", f"{url}/1")
        flat = run("--sitemap", f"{url}/1", "--depth", "1")
    assert (deep.returncode, deep.stdout) == (0, "https://example.org/0\n")
    assert (flat.returncode, flat.stdout) == (1, "")
    assert "not read: 1 budget-depth" in flat.stderr


def test_robots_feeds_and_probes() -> None:
    """--no-robots, --feeds and --probe do what `discover` and `walk` have them for."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        match request.path:
            case "/robots.txt":
                return web.Response(text="User-agent: *\nDisallow: /sitemap\nDisallow: /news")
            case "/sitemap.xml":
                return web.Response(body=urlset(2))
            case "/":
                link = '<link rel="alternate" type="application/rss+xml" href="/feed">'
                return web.Response(text=f"<!doctype html>{link}", content_type="text/html")
            case "/feed":
                item = "<item><link>http://a.example/post</link></item>"
                return web.Response(text=f"<rss><channel>{item}</channel></rss>")
        raise web.HTTPNotFound

    with serving(answer) as (url,):
        assert run(url, "-q").returncode == 1
        assert len(run(url, "-q", "--no-robots").stdout.split()) == 2
        assert run(url, "-q", "--feeds").stdout == "http://a.example/post\n"
        asked.clear()
        run(url, "-q", "--probe", "never")
        assert asked == ["/robots.txt", "/"]
        run(url, "-q", "--probe", "deep")
        assert "/.well-known/resourcesync" in asked


def test_options_may_stand_anywhere(tmp_path: Path) -> None:
    """Options stand before, between and behind sources."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    assert len(run("-q", FOLDER, "--limit", "50", str(copy)).stdout.split()) == 50


def test_messages_are_safe(tmp_path: Path) -> None:
    """What is wrong is repeated without what a terminal would act on."""
    evil = "\x1b]0;owned\x07\u202e\x9b31m"
    for arguments in (
        (f"{evil}.xml",),
        ("--include", f"({evil}"),
        (f"--{evil}",),
        ("--since", evil),
        ("tree", f"http://{evil}/"),
        ("-i", str(tmp_path / evil)),
        ("read", str(tmp_path / evil)),
        ("-o", str(tmp_path / evil / "x"), FOLDER),
        ("completion", evil),
    ):
        done = run(*arguments, errors="surrogateescape")
        assert done.returncode
        assert done.stderr.replace("\n", "").isprintable()


def test_help_is_cheap() -> None:
    """The help of a command imports nothing that only a walk needs: 127 modules in 60 ms of CPU."""
    script = (
        "import sys\n"
        "from sitemapreader.cli import main\n"
        "for command in ([], ['tree'], ['read']):\n"
        "    try: main([*command, '--help'])\n"
        "    except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    loaded = set(done.stderr.split())
    heavy = {"aiohttp", "asyncio", "feedparser", "json", "pyexpat", "sqlite3", "ssl", "tqdm"}
    assert not loaded & {*heavy, "yarl"}
    assert len(loaded) < 160


@pytest.mark.slow
def test_memory_does_not_grow_with_the_list() -> None:
    """A list of a hundred thousand lines takes no more room than one of a hundred."""
    script = (
        "import resource, sys\n"
        "from sitemapreader.cli import main\n"
        "code = main(['-q', '-i', '-'])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    pytest.importorskip("resource", reason="no module resource: run it on Linux or macOS")

    def peak(lines: int) -> int:
        done = subprocess.run(
            [sys.executable, "-c", script],
            input="no url\n" * lines,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        return int(done.stdout)

    assert peak(100_000) < 1.1 * peak(100)


def test_a_slow_list_holds_up_nobody() -> None:
    """While a list is waited for, the sites that it has named already are read."""

    async def answer(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(body=urlset(1))

    with (
        serving(answer) as (url,),
        start("-q", "-i", "-", *allow(url), stdin=subprocess.PIPE, encoding="utf-8") as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{url}/map.xml\n")
        process.stdin.flush()
        assert select.select([process.stdout], [], [], 60)[0]
        assert process.stdout.readline() == "https://example.org/0\n"
        process.stdin.close()
        assert process.wait(60) == 0
