"""What a source is: a site, a sitemap, a folder, a file, standard input; everywhere the same."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from sitemapreader import SiteTask, tables, walk_many_sync, walk_sync
from sitemapreader._many.sources import InvalidSiteError, check_task
from sitemapreader.fetch import MemoryFetcher
from tests.support import package
from tests.support.commands import run, serving, urlset
from tests.support.serving import Site
from tests.support.walking import index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SITE = "https://example.org"
FOLDER = package.ROOT / "testdata" / "site"


# -- files


def test_a_folder_is_a_site() -> None:
    """Every URL of the folder comes out, one a line, and nothing else on standard output."""
    done = run(str(FOLDER))
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 43
    assert all(
        line.startswith("https://www.example.org/") for line in done.stdout.splitlines()
    )
    assert done.stderr == "sitemapreader: 43 URLs; documents: 8 complete\n"


@pytest.mark.parametrize("command", ["urls", "read"])
def test_files_and_standard_input(tmp_path: Path, command: str) -> None:
    """A file is one sitemap, compressed or not; `-` is standard input, the default of `read`."""
    file, given = (
        tmp_path / "sitemap.xml.gz",
        urlset(1, "https://stdin.example").decode(),
    )
    file.write_bytes(gzip.compress(urlset(2)))
    done = run(command, str(file), "-", "-q", input=given)
    locs = ["https://example.org/0", "https://example.org/1", "https://stdin.example/0"]
    assert (done.returncode, done.stdout.split()) == (0, locs)
    assert run("read", "-q", input=given).stdout.split() == locs[2:]


def test_an_index_on_disk_is_not_complete(tmp_path: Path) -> None:
    """A file that lists sitemaps, which are not fetched, is not all read: 3 beside other URLs."""
    (tmp_path / "index.xml").write_bytes(index("http://a.example/a.xml"))
    (tmp_path / "a.xml").write_bytes(urlset(2))
    done = run("read", str(tmp_path / "index.xml"), str(tmp_path / "a.xml"))
    assert (done.returncode, len(done.stdout.split())) == (3, 2)
    assert "lists 1 sitemap or page of a feed, not fetched" in done.stderr
    alone = run("read", str(tmp_path / "index.xml"))
    assert (alone.returncode, alone.stdout) == (1, "")
    listed = b"<loc>http://a.example/l.xml</loc><rs:md capability='resourcelist'/>"
    rs = b"<urlset xmlns:rs='http://www.openarchives.org/rs/terms/'"
    mixed = (
        urlset(1)
        .replace(b"<urlset", rs)
        .replace(b"</urlset", b"<url>%s</url></urlset" % listed)
    )
    (tmp_path / "mixed.xml").write_bytes(mixed)
    part = run("read", "mixed.xml", cwd=tmp_path)
    assert (part.returncode, part.stdout) == (3, "https://example.org/0\n")
    assert part.stderr.endswith(": read in part: 1 unfetched children: mixed.xml\n")


def test_what_is_said_of_a_file_names_it(tmp_path: Path) -> None:
    """An Issue and the last line name a file as it was given, with a base URL too."""
    (tmp_path / "cut.xml").write_bytes(urlset(2)[:-20])
    said = run(
        "read", "cut.xml", "--base-url", "http://a.example/b/", cwd=tmp_path
    ).stderr.splitlines()
    assert any(
        line.startswith("sitemapreader: error truncated: cut.xml:") for line in said
    )
    assert said[-1] == "sitemapreader: read in part: 1 truncated: cut.xml"


def test_a_base_url() -> None:
    """It is what relative URLs are resolved against; without it they are lost, and that is said."""
    text = "<urlset><url><loc>/a</loc></url></urlset>"
    done = run("read", "-q", "--base-url", "http://a.example/b/", input=text)
    assert done.stdout == "http://a.example/a\n"
    assert "missing-base" in run("read", input=text).stderr


def test_a_command_is_the_first_word(tmp_path: Path) -> None:
    """A file that is called as a command is can be named with its folder."""
    (tmp_path / "tree").write_bytes(urlset(1))
    assert run("./tree", "-q", cwd=tmp_path).stdout == "https://example.org/0\n"


# -- URLs


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("word", "url"),
    [
        ("example.org", "https://example.org"),
        ("example.org:8080/sitemap.xml", "https://example.org:8080/sitemap.xml"),
        ("localhost:8008/map.xml?a=1", "https://localhost:8008/map.xml?a=1"),
        ("shop:8008", "https://shop:8008"),
        ("127.0.0.1:8008", "https://127.0.0.1:8008"),
        ("[::1]:8008", "https://[::1]:8008"),
        ("[::1]", "https://[::1]"),
        ("me:pw@localhost:8008/a", "https://localhost:8008/a"),
        ("http://localhost:8008", "http://localhost:8008"),
    ],
)
def test_a_host_and_its_port(word: str, url: str) -> None:
    """A host with a port and no scheme is one of https, as a host without a port is."""
    assert check_task(word).url == url


@pytest.mark.cases(20)
@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("", ""),
        ("shop", "shop"),
        ("nosuch.xml", "nosuch.xml"),
        ("urls.txt", "urls.txt"),
        (".example", ".example"),
        ("a b.example", "a b.example"),
        ("https://", "https://"),
        ("ftp://a.example/", "ftp://a.example/"),
        ("me:pw@nosuch.xml", "nosuch.xml"),
        ("ftp://me@a.example/b", "ftp://a.example/b"),
        ("me@nosuch.xml", "me@nosuch.xml"),
    ],
)
def test_what_is_no_source(word: str, told: str) -> None:
    """A word without a dot, or with the suffix of a file, is none; a login is not repeated."""
    with pytest.raises(InvalidSiteError) as caught:
        check_task(word)
    assert str(caught.value) == told


def test_a_checked_task() -> None:
    """It has the name that was given, a key that all spellings share, and its login apart."""
    task = check_task("http://me:pw@A.example:80/b?c")
    assert (task.url, task.login) == (
        "http://A.example:80/b?c",
        "http://me:pw@A.example:80/b?c",
    )
    assert (task.name, task.key) == ("http://A.example:80/b?c", "http://a.example/b?c")
    named = check_task(SiteTask("a.example", name="the shop", kind="sitemap"))
    assert (named.name, named.key, named.kind) == ("the shop", "the shop", "sitemap")
    assert (named.url, named.login) == ("https://a.example", "")


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("path", "first"),
    [
        *((path, "/robots.txt") for path in ("", "/", "/robots.txt")),
        *(
            (path, path)
            for path in ("/blog/", "/blog", "/a.xml", "/?map=1", "/b/robots.txt")
        ),
    ],
)
def test_what_is_tried_first(path: str, first: str) -> None:
    """A URL without a path is a site; any other one is fetched first, and may be a site then."""
    fetcher = MemoryFetcher({})
    with walk_sync(SITE + path, fetcher=fetcher) as entries:
        assert list(entries) == []
    assert fetcher.requested[0] == SITE + first


FEED = {
    "/robots.txt": b"Sitemap: HOST/all.xml\nUser-agent: *\nDisallow: /feed/",
    "/all.xml": urlset(9, "HOST"),
    "/feed/": b"""<rss version="2.0"><channel><title>News</title>
<item><link>https://example.org/1</link></item>
<item><link>https://example.org/2</link></item></channel></rss>""",
}
"""A site whose robots.txt forbids its feed, and names another sitemap."""


def walk_locs(url: str) -> list[str]:
    with walk_sync(url) as entries:
        return [entry.loc for entry in entries]


def walk_many_locs(url: str) -> list[str]:
    with walk_many_sync([SiteTask(url, trusted=True)]) as run:
        return [entry.loc for _, entries in run.batches() for entry in entries]


READERS: list[Callable[[str], list[str]]] = [
    walk_locs,
    walk_many_locs,
    lambda url: list(tables.to_dataframe(url)["loc"]),
    lambda url: run(url, "-q").stdout.split(),
]


@pytest.mark.parametrize("read", READERS)
def test_a_feed_is_a_feed_everywhere(read: Callable[[str], list[str]]) -> None:
    """The URL of a feed gives its items, and not the site, wherever it is written."""
    with serving(FEED) as (url,):
        assert read(f"{url}/feed/") == [
            "https://example.org/1",
            "https://example.org/2",
        ]
        assert len(read(f"{url}/news/")) == 9


ARCHIVE = {
    "/robots.txt": b"Sitemap: HOST/index.xml",
    "/index.xml": index(*(f"HOST/{number}.xml" for number in range(3))),
    **{f"/{number}.xml": urlset(340, f"HOST/{number}") for number in range(3)},
}
"""A site whose folders have no page of their own."""


@pytest.mark.cases(12)
@pytest.mark.parametrize("page", [b"<!doctype html><p>2026", 403, 404, 410])
@pytest.mark.parametrize("path", ["/2026/", "/2026", "/2026/11/22/"])
def test_a_folder_leads_to_the_site(page: object, path: str) -> None:
    """A path with any page or none gives what `walk` gives for it, in the shell and in a table."""
    with serving({**ARCHIVE, path: page}) as (url,):
        expected = sorted(walk_locs(url + path))
        done = run(url + path, "-q")
        table = tables.to_dataframe(url + path)["loc"]
    assert len(expected) == 1020
    assert (done.returncode, sorted(done.stdout.split())) == (0, expected)
    assert sorted(table) == expected


@pytest.mark.parametrize(
    ("page", "path", "code"),
    [
        (404, "/old.xml", 1),
        (404, "/a/b.xml.gz", 1),
        (401, "/2026/", 4),
        (0, "/2026/", 4),
    ],
)
def test_what_is_no_folder(page: int, path: str, code: int) -> None:
    """A sitemap that is missing, a login and a dead line are failures, and nothing is searched."""
    site = Site(pages={**ARCHIVE, path: page})
    asked = site.requested
    with serving(site.answer) as (url,):
        done = run(url + path, "-m", "5")
    assert (done.returncode, done.stdout) == (code, "")
    assert set(asked) == {path}


def test_the_kind_can_be_forced() -> None:
    """--site searches at once, and --sitemap never."""
    site = Site(pages=dict(ARCHIVE))
    asked = site.requested
    with serving(site.answer) as (url,):
        forced = run(f"{url}/2026/", "-q", "--site")
        assert "/2026/" not in asked
        alone = run(f"{url}/2026/", "-q", "--sitemap")
    assert (forced.returncode, len(forced.stdout.split())) == (0, 1020)
    assert (alone.returncode, alone.stdout) == (1, "")
