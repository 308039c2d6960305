"""What complete means, and the exit code for it: one rule, in library, program and docs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import package
import pytest
from aiohttp import web
from commands import run, serving, urlset
from walking import ROBOTS, fault, index, status, walk_all
from walking import urlset as small_urlset

from sitemapreader.cli.parser import MEANINGS
from sitemapreader.cli.summary import RunSummary
from sitemapreader.issues import IssueCode
from sitemapreader.many.visitor import SiteWalk
from sitemapreader.options import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from commands import Answer

PAGE = package.ROOT / "docs" / "exit-codes.md"
TOP, A, B = (f"https://example.org/{name}.xml" for name in ("top", "a", "b"))


def test_the_page_has_the_table() -> None:
    """docs/exit-codes.md has the codes and their meanings, as the code has them."""
    rows = re.findall(r"^\| ([\d, ]+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert dict(rows) == MEANINGS


def test_help_has_the_table() -> None:
    """--help ends with the same table."""
    _, _, said = run("--help", "--all").stdout.partition("exit codes:\n")
    rows = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in said.splitlines() if line]
    assert dict(rows[: len(MEANINGS)]) == MEANINGS


# -- the library


@pytest.mark.parametrize(
    ("name", "extra", "arguments", "complete", "left_out"),
    [
        ("all read", {B: small_urlset("https://example.org/2")}, {}, True, {}),
        ("dead child", {}, {}, False, {}),
        ("child times out", {B: fault(IssueCode.TIMEOUT, B)}, {}, False, {}),
        ("cut child", {B: small_urlset("https://example.org/2")[:-20]}, {}, False, {}),
        ("not followed", {}, {"follow": lambda e: e.loc != B}, True, {"not-followed": 1}),
        (
            "pruned",
            {TOP: index(A, (B, "2020-01-01"))},
            {"since": datetime(2026, 1, 1, tzinfo=UTC)},
            True,
            {"not-modified-since": 1},
        ),
        (
            "elsewhere",
            {TOP: index(A, "https://else.net/b.xml")},
            {},
            False,
            {"cross-host-child": 1},
        ),
        (
            "elsewhere, and not wanted",
            {TOP: index(A, "https://else.net/b.xml")},
            {"follow": lambda e: "else" not in e.loc},
            True,
            {"not-followed": 1},
        ),
        (
            "disallowed",
            {ROBOTS: f"User-agent: *\nDisallow: /b.xml\nSitemap: {TOP}".encode()},
            {},
            True,
            {"robots-disallowed": 1},
        ),
        (
            "too deep",
            {TOP: index(A), A: index(B)},
            {"limits": Limits(depth=1)},
            False,
            {"budget-depth": 1},
        ),
        ("too many", {}, {"limits": Limits(children=1)}, False, {"budget-children": 1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_complete(
    name: str,
    extra: dict[str, bytes],
    arguments: dict[str, Any],
    complete: bool,
    left_out: dict[str, int],
) -> None:
    """A walk is complete unless something listed was not read for a reason nobody asked for."""
    pages: dict[str, Any] = {
        ROBOTS: f"Sitemap: {TOP}".encode(),
        TOP: index(A, B),
        A: small_urlset("https://example.org/1"),
    }
    walked = await walk_all(pages | extra, **arguments)
    assert walked.report.complete is complete, name
    assert {r: n for r, n in walked.report.left_out.items() if n} == left_out


async def test_guesses_are_not_listed() -> None:
    """Well-known paths that fail cost nothing: nobody has listed them."""
    pages = {
        ROBOTS: status(404),
        "https://example.org/sitemap_index.xml": small_urlset("https://example.org/1"),
    }
    walked = await walk_all(pages)
    assert walked.report.complete
    assert not walked.report.left_out


# -- the program


def answer_for(pages: Mapping[str, object]) -> Answer:
    """Return what answers for a site: bytes, or a status, by path; HOST in bytes is its origin."""

    async def answer(request: web.Request) -> web.StreamResponse:
        page = pages.get(request.path, 404)
        if isinstance(page, int):
            return web.Response(status=page, text="no")
        assert isinstance(page, bytes)
        body = page.replace(b"HOST", f"http://{request.host}".encode())
        kind = "text/html" if b"<!doctype" in body else "application/octet-stream"
        return web.Response(body=body, content_type=kind)

    return answer


HTML = b"<!doctype html><title>Hello</title>"
INDEX = b"<sitemapindex><sitemap><loc>HOST/a.xml</loc></sitemap>%s</sitemapindex>"
ELSEWHERE = b"<sitemap><loc>http://127.0.0.9:9/b.xml</loc></sitemap>"
NEIGHBOUR = b"<sitemap><loc>HOST/b.xml</loc></sitemap>"
NAMED = b"Sitemap: HOST/i.xml"


@pytest.mark.parametrize(
    ("pages", "options", "code", "last"),
    [
        ({"/sitemap.xml": urlset(2)}, (), 0, r"2 URLs; documents: 1 complete, \d skipped"),
        ({}, (), 1, r"failed: \S+ \(no-sitemap\)"),
        ({"/": HTML}, (), 1, r"failed: \S+ \(no-sitemap\)"),
        ({"/robots.txt": b"User-agent: *\nDisallow:", "/": HTML}, (), 1, r"\(no-sitemap\)"),
        ({"/sitemap.xml": urlset(0)}, (), 1, r"0 URLs; documents: "),
        ({"/i.xml": HTML}, ("--sitemap", "/i.xml"), 1, r"failed: \S+ \(html-not-sitemap\)"),
        ({"/i.xml": 403}, ("--sitemap", "/i.xml"), 4, r"failed: \S+ \(http-status\)"),
        ({"/i.xml": 503}, ("--sitemap", "/i.xml", "-m", "1"), 4, r"failed: \S+ \(http-status\)"),
        (dict.fromkeys(("/", "/robots.txt", "/sitemap.xml"), 401), (), 4, r"\(login-required\)"),
        (
            {"/robots.txt": NAMED, "/i.xml": INDEX % NEIGHBOUR, "/a.xml": urlset(2)},
            (),
            3,
            r"not read: 1 http-status: http://\S+/b.xml",
        ),
        (
            {"/robots.txt": NAMED, "/i.xml": INDEX % ELSEWHERE, "/a.xml": urlset(2)},
            ("--hosts", "host"),
            3,
            r"not read: 1 cross-host-child: http://127.0.0.9:9/b.xml",
        ),
        (
            {
                "/robots.txt": b"User-agent: *\nDisallow: /b\n" + NAMED,
                "/i.xml": INDEX % NEIGHBOUR,
                "/a.xml": urlset(2),
            },
            (),
            0,
            r"left out as asked: 1 robots-disallowed",
        ),
    ],
)
@pytest.mark.parametrize("command", ["urls", "tree"])
def test_the_exit_code(
    command: str,
    pages: dict[str, object],
    options: tuple[str, ...],
    code: int,
    last: str,
) -> None:
    """The exit code follows the rule, and the last line says what it means."""
    with serving(answer_for(pages)) as (url,):
        path = next((word for word in options if word.startswith("/")), "")
        words = [word for word in options if not word.startswith("/")]
        done = run(command, url + path, *words)
    assert done.returncode == code, done.stderr
    assert re.search(last, done.stderr.splitlines()[-1]), done.stderr


@pytest.mark.parametrize("command", ["urls", "tree", "discover"])
def test_nothing_fetched_is_the_same_in_each_command(command: str) -> None:
    """A dead host is 4 and an empty site 1, whichever command asks."""
    assert run(command, "http://127.0.0.1:9/").returncode == 4
    with serving(answer_for({})) as (url,):
        assert run(command, url).returncode == 1
    with serving(answer_for({})) as (url,):
        assert run(command, url, "http://127.0.0.1:9/").returncode == 1


def test_each_failed_site_is_named() -> None:
    """Of many sites the end names each that failed, with its reason, whatever that is."""
    pages: dict[str, dict[str, object]] = {
        "127.0.0.1": {"/sitemap.xml": urlset(1)},
        "127.0.0.2": {},
        "127.0.0.3": {"/": 401, "/robots.txt": 401, "/sitemap.xml": 401},
        "127.0.0.4": {"/": HTML},
        "127.0.0.5": {"/robots.txt": NAMED, "/i.xml": 500},
    }

    async def answer(request: web.Request) -> web.StreamResponse:
        return await answer_for(pages[request.host.partition(":")[0]])(request)

    with serving(answer, list(pages)) as urls:
        dead = "http://127.0.0.9:9/"
        done = run("-m", "2", *urls, dead)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert any("1 URL from 6 sources, 5 of which failed" in line for line in lines)
    assert "no sitemap was found" not in "".join(line for line in lines if urls[4] in line)
    failed = dict(re.findall(r"^sitemapreader: failed: (\S+) \((.+)\)$", done.stderr, re.MULTILINE))
    assert failed == {
        urls[1]: "no-sitemap",
        urls[2]: "login-required",
        urls[3]: "no-sitemap",
        urls[4]: "http-status",
        dead: "connect",
    }


@pytest.mark.parametrize(
    "words", [("--include", "nowhere"), ("--since", "2030-01-01", "--undated", "drop")]
)
def test_what_nobody_wants_is_no_failure(tmp_path: Any, words: tuple[str, ...]) -> None:
    """A run whose filters hold everything back is complete, says so, and writes its empty list."""
    file = tmp_path / "day.txt"
    file.write_text("of yesterday\n", "utf-8")
    with serving(answer_for({"/sitemap.xml": urlset(3)})) as (url,):
        done = run(url, *words, "-o", str(file))
    assert (done.returncode, file.read_text("utf-8")) == (0, "")
    assert done.stderr.splitlines()[-1] == "sitemapreader: held back as asked: 3 URLs"


def test_an_index_on_disk_is_not_complete(tmp_path: Any) -> None:
    """A file that lists sitemaps, which are not fetched, is not all read: 3 beside other URLs."""
    (tmp_path / "index.xml").write_bytes((INDEX % b"").replace(b"HOST", b"http://a.example"))
    (tmp_path / "a.xml").write_bytes(urlset(2))
    done = run("read", str(tmp_path / "index.xml"), str(tmp_path / "a.xml"))
    assert (done.returncode, len(done.stdout.split())) == (3, 2)
    assert "lists 1 sitemaps or pages of a feed, which were not fetched" in done.stderr
    alone = run("read", str(tmp_path / "index.xml"))
    assert (alone.returncode, alone.stdout) == (1, "")


async def test_what_has_no_room_is_counted() -> None:
    """Of more children than a report has room for, all are counted, with their reason."""
    strangers = [f"https://else.net/{number}.xml" for number in range(30)]
    pages = {
        ROBOTS: f"Sitemap: {TOP}".encode(),
        TOP: index(A, *strangers),
        A: small_urlset("https://example.org/1"),
    }
    walked = await walk_all(pages, limits=Limits(documents=12))
    report = walked.report
    assert len(report.documents) < 30
    assert not report.complete
    assert report.left_out.total() == 30
    summary = RunSummary(printed=1)
    summary.add(SiteWalk("https://example.org/"), report)
    said = " ".join(summary.format_lines())
    numbers = [int(number) for number in re.findall(r"not read: (\d+) ", said)]
    assert sum(numbers) == 30
    assert summary.find_exit_code() == 3
