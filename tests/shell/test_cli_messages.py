"""What the program says while it works: once, in the words of a shell, with what to do."""

from __future__ import annotations

import re
import socket
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from certificates import make_server_context, write_certificate
from commands import allow, run, serving, urlset
from each_case import for_each

from sitemapreader.cli.commands import COMMANDS
from sitemapreader.cli.parser import _NAMES, name_options
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIBRARY = re.compile(r"\w+=|\bLimits\b(?! \(in Python)|_networks|_ports|_seconds|respect_robots")
"""What no message for a shell may have in it."""


@for_each("code", IssueCode)
def test_no_message_speaks_python(code: IssueCode) -> None:
    """Each meaning and each advice names options where the library's table names arguments."""
    said = name_options(f"{code.meaning}: {code.advice}")
    said = said.replace('encoding="', "")
    assert not re.search(r"\(in Python; no option does it\).*\(in Python", said)
    bare = re.sub(r"`?\w[\w.]*`? \(in Python; no option does it\)", "", said)
    assert not LIBRARY.search(bare), said


def test_each_option_of_the_table_is_one() -> None:
    """The options that stand for arguments are known to the commands."""
    parsers = [command.make_parser() for command in COMMANDS.values()]
    flags = {f for parser in parsers for a in parser.list_actions() for f in a.option_strings}
    assert {option.partition(" ")[0] for option in _NAMES.values()} <= flags


# -- feeds


@pytest.mark.parametrize("how", ["html", "header", "both"])
@pytest.mark.parametrize("command", ["urls", "tree", "discover"])
def test_a_site_with_only_a_feed(command: str, how: str) -> None:
    """The feed that the start page links to is named, with the option that reads it."""
    feed = "<rss><channel><item><link>http://a.example/post</link></item></channel></rss>"
    kind = "application/rss+xml"

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/feed.xml":
            return web.Response(text=feed)
        if request.path != "/":
            raise web.HTTPNotFound
        link = f'<link rel="alternate" type="{kind}" href="/feed.xml">' if how != "header" else ""
        headers = {"Link": f'</feed.xml>; rel="alternate"; type="{kind}"'} if how != "html" else {}
        return web.Response(
            text=f"<!doctype html>{link}", content_type="text/html", headers=headers
        )

    with serving(answer) as (url,):
        done = run(command, url)
        fed = run(command, url, "--feeds", "-q")
    (said,) = (line for line in done.stderr.splitlines() if " feed-not-read: " in line)
    assert f"[{url}/feed.xml]: use --feeds to read it" in said
    assert "use --sitemap" in done.stderr or "its URL with --sitemap" in done.stderr
    assert "sitemaps=" not in done.stderr
    assert (done.returncode, done.stdout.count("post")) == (1, 0)
    assert fed.returncode == 0
    assert ("post" if command == "urls" else "feed.xml") in fed.stdout


def test_a_site_with_a_sitemap_and_a_feed() -> None:
    """Where a sitemap was found nothing is said of feeds."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/sitemap.xml":
            return web.Response(body=urlset(1))
        raise web.HTTPNotFound

    with serving(answer) as (url,):
        assert "feed" not in run(url, "-v").stderr


# -- failures


@contextmanager
def listening(certificate: Path | None = None) -> Iterator[int]:
    """Listen on loopback, and answer with TLS or with what is no protocol at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                with line:
                    if certificate:
                        with suppress(OSError):
                            context = make_server_context(certificate)
                            context.wrap_socket(line, server_side=True).close()
                    else:
                        line.recv(65_536)
                        line.sendall(b"hello, I am no web server\r\n" * 10)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        port: int = server.getsockname()[1]
        yield port
        server.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.parametrize("command", ["urls", "tree", "discover"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_refused_connection(command: str, scheme: str) -> None:
    """A dead host takes one line of error, which says so in the words of the system, once."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        url = f"{scheme}://127.0.0.1:{place.getsockname()[1]}/"
        done = run(command, url)
    assert done.returncode == 4
    wrong = [line for line in done.stderr.splitlines() if re.search(" (error|warning) ", line)]
    assert len(wrong) == 1, done.stderr
    assert wrong[0].startswith(f"sitemapreader: error connect: {url}robots.txt: ")
    assert done.stderr.lower().count("connection refused") == 1
    assert "ssl" not in done.stderr
    assert "Errno" not in done.stderr
    assert done.stderr.splitlines()[-1] == f"sitemapreader: failed: {url} (connect)"


def test_a_server_without_tls() -> None:
    """The line says what the server lacks and what to write, without the names of OpenSSL."""
    with listening() as port:
        done = run(f"https://127.0.0.1:{port}/")
    (said,) = (line for line in done.stderr.splitlines() if " error " in line)
    assert " error tls: " in said
    assert "http://" in said
    assert not re.search(r"_ssl|SSL|\[\[|ssl:", said)


def test_a_certificate_that_nobody_knows(tmp_path: Path) -> None:
    """What is wrong with a certificate is said in the words for it."""
    with listening(write_certificate(tmp_path / "own.pem")) as port:
        done = run(f"https://127.0.0.1:{port}/", "-m", "5")
    (said,) = (line for line in done.stderr.splitlines() if " error " in line)
    assert re.search(r" error tls: .*\[(self-signed certificate|unable to get local issuer)", said)
    assert not re.search(r"_ssl|SSL|ssl:|CERTIFICATE_VERIFY_FAILED", said)


# -- trees


@pytest.mark.parametrize("page", [True, False])
def test_the_tree_of_a_site_without_sitemaps_is_short(page: bool) -> None:
    """Paths that were only guessed are counted in one line."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if page and request.path == "/":
            return web.Response(text="<!doctype html>", content_type="text/html")
        raise web.HTTPNotFound

    with serving(answer) as (url,):
        done = run("tree", url, "-q")
    lines = done.stdout.splitlines()
    assert lines[0] == url
    assert re.fullmatch(r"└── \d+ well-known paths tried, and no sitemap", lines[-1])
    assert len(lines) == 4
    assert any("robots.txt  robots, skipped (http-status 404)" in line for line in lines)


# -- what is followed


async def serve_years(request: web.Request) -> web.StreamResponse:
    """Answer for an archive with a sitemap a year, and one index inside the other."""
    base = f"http://{request.host}"
    if request.path == "/robots.txt":
        return web.Response(text=f"Sitemap: {base}/index.xml")
    if request.path in {"/index.xml", "/old/index.xml"}:
        names = ["2024.xml", "2025.xml", "2026.xml", "old/index.xml"]
        if "old" in request.path:
            names = ["old/1999.xml", "old/2000.xml"]
        locs = "".join(f"<sitemap><loc>{base}/{name}</loc></sitemap>" for name in names)
        return web.Response(text=f"<sitemapindex>{locs}</sitemapindex>")
    return web.Response(body=urlset(2, base + request.path.removesuffix(".xml")))


@pytest.mark.parametrize(
    ("words", "years", "left_out"),
    [
        ((), {"2024", "2025", "2026", "1999", "2000"}, 0),
        (("--follow", "202[56]"), {"2025", "2026"}, 2),
        (("--no-follow", "202[56]"), {"2024", "1999", "2000"}, 2),
        (("--follow", "2024", "--follow", "old", "--no-follow", "1999"), {"2024", "2000"}, 3),
        (("--no-follow", "."), set(), 4),
    ],
)
@pytest.mark.parametrize("command", ["urls", "tree"])
def test_follow(command: str, words: tuple[str, ...], years: set[str], left_out: int) -> None:
    """Children are chosen by their URL, and what was left out is counted and no failure."""
    with serving(serve_years) as (url,):
        done = run(command, url, *words)
    assert done.returncode == 0
    if command == "urls":
        assert {line.split("/")[-2] for line in done.stdout.split()} == years
    said = f"sitemapreader: left out as asked: {left_out} not-followed"
    assert (said in done.stderr.splitlines()) is bool(left_out)
    assert "not read" not in done.stderr


def test_follow_and_a_state(tmp_path: Path) -> None:
    """What was not followed comes once it is followed, although the index is unchanged."""
    state = str(tmp_path / "site.db")
    with serving(serve_years) as (url,):
        first = run(url, "-q", "--state", state, "--no-follow", "2026")
        second = run(url, "-q", "--state", state)
    assert (len(first.stdout.split()), len(second.stdout.split())) == (8, 2)
    assert "/2026/" in second.stdout


# -- as new users


def test_a_staging_server_that_forbids_everything() -> None:
    """Fifteen guesses that robots.txt forbids are not fifteen lines."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(text="User-agent: *\nDisallow: /\n")
        raise web.HTTPNotFound

    with serving(answer) as (url,):
        done = run(url)
    said = [line for line in done.stderr.splitlines() if " robots-disallowed: " in line]
    assert len(said) == 4
    assert said[-1].endswith(": and 12 more of these")
    assert "allow it, or pass --no-robots" in said[0]
    assert done.returncode == 1


def test_a_line_of_a_list_that_is_no_site(tmp_path: Path) -> None:
    """The list is named, commands are not spoken of, and the end counts it."""
    file = tmp_path / "sites.txt"
    with serving(serve_years) as (url,):
        file.write_text(f"tree\n{url}\n", "utf-8")
        done = run("-i", str(file), *allow(url))
    assert done.returncode == 3
    first, *_, last = done.stderr.splitlines()
    assert first.startswith(f"sitemapreader: {file}: 'tree' is neither an http(s) URL")
    assert "command" not in first
    assert last == "sitemapreader: not read: 1 named above, which are not sites or cannot be opened"


def test_a_file_that_is_cut_is_named_at_the_end(tmp_path: Path) -> None:
    """What was read in part from a file or a pipe has its line in the summary, with the reason."""
    file = tmp_path / "a.xml"
    file.write_bytes(urlset(5)[:-60])
    done = run("read", str(file))
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == f"sitemapreader: read in part: 1 truncated: {file}"
    piped = run("read", input=urlset(5)[:-60].decode())
    assert piped.stderr.splitlines()[-1] == (
        "sitemapreader: read in part: 1 truncated: standard input"
    )


@pytest.mark.parametrize("wrong", ["x", "example.org", "ftp://a.example/", "https://"])
def test_a_base_url_that_is_none(wrong: str) -> None:
    """It is wrong usage, and not a reason to drop relative URLs."""
    done = run("read", "--base-url", wrong, input="<urlset/>")
    assert (done.returncode, done.stdout) == (2, "")
    assert "write a full URL, such as https://example.org/" in done.stderr


def test_one_is_not_many() -> None:
    """A single URL is no plural."""
    assert run("read", input=urlset(1).decode()).stderr == "sitemapreader: 1 URL\n"


def test_a_state_that_is_not_there(tmp_path: Path) -> None:
    """The option that makes it is named, not the argument of the library."""
    done = run("state", str(tmp_path / "none.db"))
    assert done.returncode == 1
    assert "--state" in done.stderr
    assert "`" not in done.stderr


def test_a_robots_txt_that_leads_to_another_host() -> None:
    """One line says that all URLs are those of the other host, as on a copied staging site."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: {served[1]}/map.xml")
        return web.Response(body=urlset(3, served[1]))

    with serving(answer, ("127.0.0.1", "127.0.0.2")) as served:
        staging, production = (run(url, *allow(*served)) for url in served)
    assert "[all 3 URLs are on 127.0.0.2]" in staging.stderr
    assert "--map-host" in staging.stderr
    assert len(production.stderr.splitlines()) == 1
