"""What the program says while it works: once, in the words of a shell, with what to do."""

from __future__ import annotations

import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from sitemapreader._cli.commands import COMMANDS
from sitemapreader._cli.parser import _NAMES, name_options
from sitemapreader._types.issues import IssueCode
from tests.support import package
from tests.support.certificates import make_server_context, write_certificate
from tests.support.commands import allow, run, run_shell, serving, urlset
from tests.support.walking import index

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = "https://a.example/"
SITE = str(package.ROOT / "testdata" / "site")
LIBRARY = re.compile(
    r"\w+=|\bLimits\b(?! \(in Python)|_networks|_ports|_seconds|respect_robots"
)
"""What no message for a shell may have in it."""


def test_no_message_speaks_python() -> None:
    """Each meaning and each advice names options where the library's table names arguments."""
    for code in IssueCode:
        said = name_options(f"{code.meaning}: {code.advice}").replace('encoding="', "")
        assert not re.search(r"\(in Python; no option does it\).*\(in Python", said)
        bare = re.sub(r"`?\w[\w.]*`? \(in Python; no option does it\)", "", said)
        assert not LIBRARY.search(bare), said


def test_each_option_of_the_table_is_one() -> None:
    """The options that stand for arguments are known to the commands."""
    parsers = [command.make_parser() for command in COMMANDS.values()]
    flags = {
        f for parser in parsers for a in parser.list_actions() for f in a.option_strings
    }
    assert {option.partition(" ")[0] for option in _NAMES.values()} <= flags


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs datagrams")
@pytest.mark.parametrize("words", [[SITE, "--since", "7d"], ["tree", SITE]])
def test_each_message_is_one_write(words: list[str]) -> None:
    """The newline is not written alone, so that lines of two programs are not mixed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    command = [sys.executable, "-u", "-m", "sitemapreader", *words]
    with ours, theirs:
        ours.setblocking(False)
        nowhere = subprocess.DEVNULL
        subprocess.run(command, stdout=nowhere, stderr=theirs.fileno(), check=True)
        writes = []
        with suppress(BlockingIOError):
            while True:
                writes.append(ours.recv(65_536))
    assert writes
    assert all(re.fullmatch(rb"sitemapreader: .+\n", each) for each in writes), writes


# -- -q, and streams that are closed


def test_quiet_names_what_ends_the_program(tmp_path: Path) -> None:
    """With -q too, it is said why nothing was done."""
    place, state = tmp_path / "none" / "urls.txt", tmp_path / "site.db"
    assert run(SITE, "-q", "--state", str(state)).returncode == 0
    with sqlite3.connect(state, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        locked = run(SITE, "-q", "--state", str(state))
    other.close()
    unwritten = run(SITE, "-q", "-o", str(place))
    assert (locked.returncode, unwritten.returncode) == (6, 2)
    assert str(state) in locked.stderr
    assert unwritten.stderr.endswith(
        f"the folder {place.parent} does not exist: make it first\n"
    )
    assert [done.stderr.count("\n") for done in (locked, unwritten)] == [1, 2]
    assert locked.stdout + unwritten.stdout == ""


@pytest.mark.slow
def test_streams_may_be_closed(tmp_path: Path) -> None:
    """Without standard error the URLs come; without output that is said, unless a file is named."""

    def run_closed(words: str) -> tuple[int, str, str]:
        done = run_shell(f"sitemapreader {SITE} {words}", tmp_path, forks=False)
        return done.returncode, done.stdout, done.stderr

    code, output, _ = run_closed("2>&-")
    assert (code, output.count("\n")) == (0, 43)
    code, _, said = run_closed(">&-")
    assert (code, "standard output is closed" in said) == (2, True)
    assert run_closed("-o urls >&-")[0] == 0


# -- Issues


@pytest.mark.parametrize("number", [1, 2, 25])
def test_a_repair_is_one_line_with_a_count(tmp_path: Path, number: int) -> None:
    """However often a document needs the same repair, one line says so; another has its own."""
    entity = "<url><loc>http://a.example/&eacute;</loc></url>\n"
    for name in ("one.xml", "two.xml"):
        others = "<url><loc>x:y</loc></url>" * 2
        (tmp_path / name).write_text(
            f"<urlset>{entity * number}{others}</urlset>", "utf-8"
        )
    done = run("one.xml", "two.xml", cwd=tmp_path)
    lines = [line for line in done.stderr.splitlines() if " html-entity: " in line]
    more = f" (and {number - 1} more)" if number > 1 else ""
    assert [line.partition("[http://a.example/é]")[2] for line in lines] == [
        f"{more}: write the character itself"
    ] * 2
    assert done.stderr.count("unsupported-scheme") == 2


def test_errors_are_counted(tmp_path: Path) -> None:
    """One error of a kind is printed, with file and line; then the number of the others."""
    records = (
        f"<url><loc>https://e.org/{{{{ {n} }}}}</loc></url>\n" for n in range(500)
    )
    path = tmp_path / "unfilled.xml"
    path.write_text(f"<urlset>{''.join(records)}</urlset>", encoding="utf-8")
    said = run("read", f"{SITE}/sitemap_index.xml", str(path)).stderr
    assert said.count("error template: ") == 1
    assert f"error template: {path}:1: " in said
    assert " (and 499 more): " in said


def test_what_a_report_has_no_room_for_is_counted(tmp_path: Path) -> None:
    """Where several documents have more Issues of a kind than are kept, one line has the rest."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(
            b"<urlset>%s</urlset>" % (b"<url><loc>x:y</loc></url>" * 12)
        )
    (tmp_path / "sitemap.xml").write_bytes(index(f"{HERE}a", f"{HERE}b"))
    (tmp_path / "robots.txt").write_text(f"Sitemap: {HERE}sitemap.xml")
    lines = run(str(tmp_path), "--base-url", HERE).stderr.splitlines()
    kind = "sitemapreader: warning unsupported-scheme: "
    assert [
        line.partition(kind)[2].partition(" [")[0] for line in lines if kind in line
    ] == [
        f"{HERE}{name}:1: {IssueCode.UNSUPPORTED_SCHEME.meaning}" for name in ("a", "b")
    ] + [f"{tmp_path}: and 4 more of these"]


def test_a_file_that_breaks_off() -> None:
    """What can be opened but not read is said, and is not a bug; nothing was fetched."""
    memory = "/proc/self/mem"
    if not Path(memory).exists():
        pytest.skip("no file fails when it is read: run it on Linux")
    done = run("read", memory)
    assert (done.returncode, done.stdout) == (4, "")
    assert (
        f"sitemapreader: cannot read {memory}: Input/output error"
        in done.stderr.splitlines()
    )


def test_a_staging_server_that_forbids_everything() -> None:
    """Sixteen guesses that robots.txt forbids are not sixteen lines."""
    with serving({"/robots.txt": b"User-agent: *\nDisallow: /\n"}) as (url,):
        done = run(url)
    (said,) = (
        line
        for line in done.stderr.splitlines()
        if " warning robots-disallowed: " in line
    )
    assert (
        "/sitemap.xml 16 guessed paths and the start page]: allow the URL in robots.txt. "
        in said
    )
    assert "To fetch it all the same, pass --no-robots" in said
    assert done.returncode == 1


@pytest.mark.parametrize("in_header", [True, False])
@pytest.mark.parametrize("command", ["urls", "tree", "discover"])
def test_a_site_with_only_a_feed(command: str, *, in_header: bool) -> None:
    """The feed that the start page links to is named, with the option that reads it."""
    feed = (
        "<rss><channel><item><link>http://a.example/post</link></item></channel></rss>"
    )
    kind = "application/rss+xml"

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/feed.xml":
            return web.Response(text=feed)
        if request.path != "/":
            raise web.HTTPNotFound
        link = f'<link rel="alternate" type="{kind}" href="/feed.xml">' * (
            not in_header
        )
        headers = (
            {"Link": f'</feed.xml>; rel="alternate"; type="{kind}"'}
            if in_header
            else {}
        )
        return web.Response(
            text=f"<!doctype html>{link}", content_type="text/html", headers=headers
        )

    with serving(answer) as (url,):
        done = run(command, url)
        fed = run(command, url, "--feeds", "-q")
    (said,) = (line for line in done.stderr.splitlines() if " feed-not-read: " in line)
    assert f"[{url}/feed.xml]: use --feeds to read the feed" in said
    assert "its URL with --sitemap" in done.stderr
    assert (done.returncode, done.stdout.count("post")) == (1, 0)
    assert fed.returncode == 0
    assert ("post" if command == "urls" else "feed.xml") in fed.stdout


def test_a_robots_txt_that_leads_to_another_host() -> None:
    """One line says that all URLs are those of the other host, as on a copied staging site."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: {served[1]}/map.xml")
        return web.Response(body=urlset(3, served[1]))

    with serving(answer, ("127.0.0.1", "127.0.0.2")) as served:
        staging, production = (run(url, *allow(*served)) for url in served)
    assert "[all URLs are on 127.0.0.2]" in staging.stderr
    assert "--map-host" in staging.stderr
    assert len(production.stderr.splitlines()) == 1


# -- failures of the network


@contextmanager
def listening(certificate: Path | None = None) -> Iterator[int]:
    """Listen on loopback, and answer with TLS or with what is no protocol at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    line, _ = server.accept()
                    with line, suppress(OSError):
                        if certificate:
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
    (wrong,) = (
        line
        for line in done.stderr.splitlines()
        if re.search(" (error|warning) ", line)
    )
    assert wrong.startswith(f"sitemapreader: error connect: {url}robots.txt: ")
    assert done.stderr.lower().count("connection refused") == 1
    assert not re.search("ssl|Errno", done.stderr)
    assert done.stderr.splitlines()[-1] == f"sitemapreader: failed: 1 connect: {url}"


@pytest.mark.parametrize(
    ("has_certificate", "wanted"),
    [
        (False, "http://"),
        (True, r"\[(self-signed certificate|unable to get local issuer)"),
    ],
)
def test_tls(tmp_path: Path, wanted: str, *, has_certificate: bool) -> None:
    """The line says what the server lacks and what to write, without the names of OpenSSL."""
    certificate = write_certificate(tmp_path / "own.pem") if has_certificate else None
    with listening(certificate) as port:
        done = run(f"127.0.0.1:{port}/", "-m", "5")
    (said,) = (line for line in done.stderr.splitlines() if " error " in line)
    assert re.search(f" error tls: .*{wanted}", said)
    assert not re.search(r"_ssl|SSL|\[\[|ssl:|CERTIFICATE_VERIFY_FAILED", said)


# -- the end
