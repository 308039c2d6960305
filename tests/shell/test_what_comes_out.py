"""What the options do to the URLs that come out."""

from __future__ import annotations

import csv
import io
import json
import os
import select
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from tests.support import package
from tests.support.commands import allow, run, serving, start, urlset
from tests.support.serving import Site
from tests.support.walking import index

if TYPE_CHECKING:
    from pathlib import Path


SITE = package.ROOT / "testdata" / "site"
FOLDER = str(SITE)


def test_include_and_exclude() -> None:
    """Regular expressions choose URLs; several of a kind are alternatives; files obey them too."""
    chosen = run(
        FOLDER, "-q", "--include", "/birds/b", "--include", "guide", "--exclude", "ow"
    )
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


def test_limit(tmp_path: Path) -> None:
    """--limit ends the run after so many URLs, over all sources, and that is no failure."""
    for name in "ab":
        (tmp_path / name).write_bytes(urlset(10))
    done = run("a", "b", "--limit", "13", "-o", "urls.txt", cwd=tmp_path)
    assert (done.returncode, len((tmp_path / "urls.txt").read_text().split())) == (
        0,
        13,
    )
    assert done.stderr.startswith("sitemapreader: 13 URLs")
    for limit in ("10", "11"):
        assert run("a", "--limit", limit, "-q", cwd=tmp_path).stdout.count("\n") == 10


def test_limit_stops_the_network() -> None:
    """Once the limit is reached, nothing more is asked for."""
    names = [f"/{number}.xml" for number in range(500)]
    pages = {"/index.xml": index(*(f"HOST{name}" for name in names))}
    site = Site(pages=pages | dict.fromkeys(names, urlset(10)))
    asked = site.requested
    with serving(site.answer) as (url,):
        done = run(f"{url}/index.xml", "-q", "--limit", "5")
    assert (done.returncode, len(done.stdout.split())) == (0, 5)
    assert len(asked) < 100


def test_unique(tmp_path: Path) -> None:
    """Each URL is printed once, over all sources; options stand anywhere between them."""
    copy = shutil.copytree(FOLDER, tmp_path / "copy")
    done = run("-q", FOLDER, "--unique", str(copy))
    assert len(done.stdout.split()) == 43


def test_unique_is_reported(tmp_path: Path) -> None:
    """The reports of a source count what --unique printed, and what it held back."""
    for number in range(2):
        shutil.copy(SITE / "sitemap-downloads.txt", tmp_path / f"{number}.txt")
    (tmp_path / "robots.txt").write_text(
        "".join(
            f"Sitemap: https://www.example.org/{number}.txt\n" for number in range(2)
        )
    )
    for name in ("all.json", "site.csv"):
        done = run(str(tmp_path), "--unique", "--report", name, cwd=tmp_path)
        assert "6 URLs" in done.stderr
    told = json.loads((tmp_path / "all.json").read_text())
    documents = [each for each in told["documents"] if each["listed"]]
    assert [
        sum(each[name] for each in documents) for name in ("listed", "filtered")
    ] == [12, 6]
    (row,) = csv.DictReader((tmp_path / "site.csv").read_text().splitlines())
    assert (told["entries"], row["entries"]) == (6, "6")


def test_formats() -> None:
    """--format and --fields make a table of the same entries; -0 ends each with NUL."""
    done = run(FOLDER, "-q", "--format", "csv", "--fields", "loc,lastmod")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0] == ["loc", "lastmod"]
    assert len(rows) == 44
    lines = run(
        FOLDER, "-q", "--format", "jsonl", "--fields", "lastmod,loc"
    ).stdout.splitlines()
    assert {tuple(json.loads(line)) for line in lines} == {("lastmod", "loc")}
    urls = run(FOLDER, "-q", "-0").stdout.split("\0")
    assert sorted(urls) == sorted(run(FOLDER, "-q", "-o", "-").stdout.split("\n"))


def test_any_locale(tmp_path: Path) -> None:
    """A terminal that knows no UTF-8 gets backslashes, and no traceback."""
    file = tmp_path / "sitemap.xml"
    file.write_text(
        "<urlset><url><loc>http://a.example/\u2603</loc></url></urlset>", "utf-8"
    )
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    done = run(str(file), "-q", env=environment)
    assert (done.returncode, done.stdout) == (0, "http://a.example/\\u2603\n")


def test_robots_feeds_and_probes() -> None:
    """--no-robots, --feeds and --probe do what `discover` and `walk` have them for."""
    link = (
        b'<!doctype html><link rel="alternate" type="application/rss+xml" href="/feed">'
    )
    pages = {
        "/robots.txt": b"User-agent: *\nDisallow: /sitemap\nDisallow: /news",
        "/sitemap.xml": urlset(2),
        "/": link,
        "/feed": b"<rss><channel><item><link>http://a.example/post</link></item></channel></rss>",
    }
    site = Site(pages=dict(pages))
    asked = site.requested
    with serving(site.answer) as (url,):
        assert run(url, "-q").returncode == 1
        assert len(run(url, "-q", "--no-robots").stdout.split()) == 2
        assert run(url, "-q", "--feeds").stdout == "http://a.example/post\n"
        asked.clear()
        run(url, "-q", "--probe", "never")
        assert asked == ["/robots.txt", "/"]


YEARS = {
    "/robots.txt": b"Sitemap: HOST/index.xml",
    "/index.xml": index(*(f"HOST/{name}" for name in ("2024", "2025", "2026", "old"))),
    "/old": index("HOST/old/1999", "HOST/old/2000"),
    **{f"/{year}": urlset(2, f"HOST/{year}") for year in (2024, 2025, 2026)},
    **{f"/old/{year}": urlset(2, f"HOST/old/{year}") for year in (1999, 2000)},
}
"""An archive with a sitemap a year, and one index inside the other."""


@pytest.mark.parametrize(
    ("words", "years", "left_out"),
    [
        ((), {"2024", "2025", "2026", "1999", "2000"}, 0),
        (("--follow", "202[56]"), {"2025", "2026"}, 2),
        (("--no-follow", "202[56]"), {"2024", "1999", "2000"}, 2),
        (
            ("--follow", "2024", "--follow", "old", "--no-follow", "1999"),
            {"2024", "2000"},
            3,
        ),
        (("--no-follow", "."), set(), 4),
    ],
)
@pytest.mark.parametrize("command", ["urls", "tree"])
def test_follow(
    command: str, words: tuple[str, ...], years: set[str], left_out: int
) -> None:
    """Children are chosen by their URL, and what was left out is counted and no failure."""
    with serving(YEARS) as (url,):
        done = run(command, url, *words)
    assert done.returncode == 0
    if command == "urls":
        assert {line.split("/")[-2] for line in done.stdout.split()} == years
    said = f"sitemapreader: skipped as configured: {left_out} not-followed"
    assert (said in done.stderr.splitlines()) is bool(left_out)
    assert "not read" not in done.stderr


def test_follow_and_a_state(tmp_path: Path) -> None:
    """What was not followed comes once it is followed, although the index is unchanged."""
    state = str(tmp_path / "site.db")
    with serving(YEARS) as (url,):
        first = run(url, "-q", "--state", state, "--no-follow", "2026")
        second = run(url, "-q", "--state", state)
    assert (len(first.stdout.split()), len(second.stdout.split())) == (8, 2)
    assert "/2026/" in second.stdout


def test_a_slow_list_holds_up_nobody() -> None:
    """While a list is waited for, the sites that it has named already are read."""

    async def answer(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(body=urlset(1))

    with (
        serving(answer) as (url,),
        start(
            "-q", "-i", "-", *allow(url), stdin=subprocess.PIPE, encoding="utf-8"
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{url}/map.xml\n")
        process.stdin.flush()
        assert select.select([process.stdout], [], [], 60)[0]
        assert process.stdout.readline() == "https://example.org/0\n"
        process.stdin.close()
        assert process.wait(60) == 0


def test_what_an_index_dates_too_early(tmp_path: Path) -> None:
    """The summary names sitemaps that --since skipped by their index; --no-prune reads them."""
    urls = [f"https://example.org/{number}.xml" for number in range(5)]
    dated = [(url, "2026-02-01") for url in urls]
    (tmp_path / "sitemap.xml").write_bytes(index(*dated))
    for number in range(5):
        (tmp_path / f"{number}.xml").write_bytes(
            b"<urlset><url><loc>https://example.org/</loc><lastmod>2026-04-01</lastmod></url></urlset>"
        )
    words = (".", "--since", "2026-03-01")
    done = run(*words, cwd=tmp_path)
    assert done.stdout == ""
    assert (
        "skipped as older than --since according to their index (its dates are often stale): "
        f"{', '.join(urls[:3])} and 2 more "
        "(--no-prune reads them)"
    ) in done.stderr
    again = run(*words, "--no-prune", cwd=tmp_path)
    assert (again.stdout.count("\n"), "older than" in again.stderr) == (5, False)
    wrong = run(".", "--no-prune", cwd=tmp_path).stderr
    assert "requires --since WHEN or --changes" in wrong


@pytest.mark.parametrize("dated", ["2026-05-01", "2026-02-01"])
def test_what_an_index_calls_unchanged(dated: str, tmp_path: Path) -> None:
    """--changes names the sitemaps whose date it believed, and believes none older than a page."""

    def publish(page: str) -> None:
        (tmp_path / "sitemap.xml").write_bytes(
            index(("https://example.org/1.xml", dated))
        )
        (tmp_path / "1.xml").write_text(
            f"<urlset><url><loc>https://example.org/{page}</loc>"
            "<lastmod>2026-04-01</lastmod></url></urlset>"
        )

    words = (".", "--changes", "--state", "s.db")
    publish("old")
    assert run(*words, cwd=tmp_path).stdout == "https://example.org/old\n"
    publish("new")
    second = run(*words, cwd=tmp_path)
    if dated < "2026-04":
        assert second.stdout == "https://example.org/new\n"
        return
    said = (
        "skipped as unchanged according to their index (its dates are often stale): "
        "https://example.org/1.xml (--no-prune reads them)"
    )
    assert (second.stdout, said in second.stderr) == ("", True)
    third = run(*words, "--no-prune", cwd=tmp_path)
    assert (third.stdout, said in third.stderr) == ("https://example.org/new\n", False)


@pytest.mark.parametrize("form", ["csv", "tsv"])
@pytest.mark.parametrize("options", [(), ("--no-header",)])
def test_our_own_table_is_no_sitemap(
    form: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    """No cell of a table that we have written becomes a URL, with names of columns or without."""
    table = tmp_path / f"urls.{form}"
    run(FOLDER, "-q", "-o", str(table), *options)
    again = run("read", str(table))
    assert "https://" in table.read_text("utf-8")
    assert again.stdout == ""
    expected = "not-a-url" if options else "error table-not-sitemap"
    assert expected in again.stderr
