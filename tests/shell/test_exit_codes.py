"""What complete means, and the exit code for it: one rule, in library, program and docs."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from sitemapreader import walk_sync
from sitemapreader._cli.console import RunSummary
from sitemapreader._cli.parser import MEANINGS
from sitemapreader._many.run import SiteWalk
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import Limits
from tests.support import package
from tests.support.commands import run, serving, urlset
from tests.support.serving import Site
from tests.support.walking import ROBOTS, fault, index, urlset as small_urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from aiohttp import web

PAGE = package.ROOT / "docs" / "exit-codes.md"
TOP, A, B = (f"https://example.org/{name}.xml" for name in ("top", "a", "b"))


def test_the_table() -> None:
    """docs/exit-codes.md and `--help --all` have the codes and their meanings, as the code has."""
    rows = re.findall(
        r"^\| ([\d, ]+) \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert dict(rows) == MEANINGS
    _, _, said = run("--help", "--all").stdout.partition("exit codes:\n")
    lines = [
        re.split(r"\s{2,}", line.strip(), maxsplit=1)
        for line in said.splitlines()
        if line
    ]
    assert dict(lines[: len(MEANINGS)]) == MEANINGS


# -- the library


STRANGER = "https://else.net/b.xml"
SECOND = small_urlset("https://example.org/2")


@pytest.mark.cases(30)
@pytest.mark.parametrize(
    ("extra", "arguments", "left_out"),
    [
        ({B: SECOND}, {}, ""),
        ({}, {}, None),
        ({B: fault(IssueCode.TIMEOUT, B)}, {}, None),
        ({B: SECOND[:-20]}, {}, None),
        ({B: small_urlset("https:///x", "https://example.org/2")}, {}, None),
        ({B: small_urlset("ftp://a.example/x", "", "https://example.org/2")}, {}, ""),
        ({}, {"follow": lambda e: e.loc != B}, "not-followed"),
        (
            {TOP: index(A, (B, "2020-01-01"))},
            {"since": datetime(2026, 1, 1, tzinfo=UTC)},
            "not-modified-since",
        ),
        ({TOP: index(A, STRANGER)}, {}, "cross-host-child, lost"),
        (
            {TOP: index(A, STRANGER)},
            {"follow": lambda e: "else" not in e.loc},
            "not-followed",
        ),
        (
            {ROBOTS: f"User-agent: *\nDisallow: /b.xml\nSitemap: {TOP}".encode()},
            {},
            "robots-disallowed",
        ),
        (
            {TOP: index(A), A: index(B)},
            {"limits": Limits(depth=1)},
            "budget-depth, lost",
        ),
        ({}, {"limits": Limits(children=1)}, "budget-children, lost"),
    ],
)
async def test_complete(
    extra: dict[str, Any], arguments: dict[str, Any], left_out: str | None
) -> None:
    """A walk is complete unless something listed was not read for a reason nobody asked for."""
    pages: dict[str, Any] = {
        ROBOTS: f"Sitemap: {TOP}".encode(),
        TOP: index(A, B),
        A: small_urlset("https://example.org/1"),
    }
    reason, _, is_lost = (left_out or "").partition(", ")
    report = (await walk_all(pages | extra, **arguments)).report
    assert report.complete is (left_out is not None and not is_lost)
    assert {r: n for r, n in report.left_out.items() if n} == (
        {reason: 1} if reason else {}
    )


# -- the program


HTML = b"<!doctype html><title>Hello</title>"
NAMED = b"Sitemap: HOST/i.xml"
TWO: dict[str, object] = {
    "/robots.txt": NAMED,
    "/i.xml": index("HOST/a.xml", "HOST/b.xml"),
    "/a.xml": urlset(2),
}
"""A site with two sitemaps, of which one is missing."""


@pytest.mark.cases(30)
@pytest.mark.parametrize(
    ("pages", "options", "code", "last"),
    [
        (
            {"/sitemap.xml": urlset(2)},
            (),
            0,
            r"2 URLs; documents: 1 complete, \d skipped",
        ),
        ({}, (), 1, r"failed: 1 no-sitemap: \S+"),
        ({"/": HTML}, (), 1, r"failed: 1 no-sitemap: \S+"),
        (
            {"/robots.txt": b"User-agent: *\nDisallow:", "/": HTML},
            (),
            1,
            r"failed: 1 no-sitemap: ",
        ),
        ({"/sitemap.xml": urlset(0)}, (), 1, r"0 URLs; documents: "),
        (
            {"/i.xml": HTML},
            ("--sitemap", "/i.xml"),
            1,
            r"failed: 1 html-not-sitemap: \S+",
        ),
        ({"/i.xml": 403}, ("--sitemap", "/i.xml"), 4, r"failed: 1 http-status: \S+"),
        (
            {"/i.xml": 503},
            ("--sitemap", "/i.xml", "-m", "1"),
            4,
            r"failed: 1 http-status: \S+",
        ),
        (
            dict.fromkeys(("/", "/robots.txt", "/sitemap.xml"), 401),
            (),
            4,
            r"failed: 1 login-required: ",
        ),
        (TWO, (), 3, r"not read: 1 http-status: http://\S+/b.xml"),
        (
            TWO | {"/i.xml": index("HOST/a.xml", "http://127.0.0.9:9/b.xml")},
            ("--hosts", "host"),
            3,
            r"not read: 1 cross-host-child: http://127.0.0.9:9/b.xml",
        ),
        (
            TWO | {"/robots.txt": b"User-agent: *\nDisallow: /b\n" + NAMED},
            (),
            0,
            r"skipped as configured: 1 robots-disallowed",
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
    with serving(pages) as (url,):
        path = next((word for word in options if word.startswith("/")), "")
        words = [word for word in options if not word.startswith("/")]
        done = run(command, url + path, *words)
    assert done.returncode == code, done.stderr
    assert re.search(last, done.stderr.splitlines()[-1]), done.stderr


@pytest.mark.parametrize("command", ["urls", "tree", "discover"])
def test_nothing_fetched_is_the_same_in_each_command(command: str) -> None:
    """A dead host is 4 and an empty site 1, whichever command asks."""
    assert run(command, "http://127.0.0.1:9/").returncode == 4
    with serving({}) as (url,):
        assert run(command, url).returncode == 1
    with serving({}) as (url,):
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
        return await Site(pages=pages[request.host.partition(":")[0]]).answer(request)

    with serving(answer, list(pages)) as urls:
        dead = "http://127.0.0.9:9/"
        done = run("-m", "2", *urls, dead)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert any("1 URL from 6 sources (5 failed)" in line for line in lines)
    assert "no sitemap was found" not in "".join(
        line for line in lines if urls[4] in line
    )
    failed = re.findall(
        r"^sitemapreader: failed: \d (\S+): (.+)$", done.stderr, re.MULTILINE
    )
    assert {reason: set(named.split(", ")) for reason, named in failed} == {
        "no-sitemap": {urls[1], urls[3]},
        "login-required": {urls[2]},
        "http-status": {urls[4]},
        "connect": {dead},
    }


@pytest.mark.parametrize(
    ("lastmods", "kept"),
    [
        (["", "2026-05-05"], "1 URL without a date (--undated drop excludes them)"),
        (["2999-01-01"], "1 URL with a date in the future"),
        (
            ["", "2999-01-01", "2999-01-02"],
            (
                "1 URL without a date (--undated drop excludes them) and 2 URLs with a "
                "date in the future"
            ),
        ),
    ],
)
def test_what_a_date_does_not_hold_back(lastmods: list[str], kept: str) -> None:
    """URLs without a date, and with one that cannot be, come with `--since`: it is said."""
    page = small_urlset(
        *((f"https://example.org/?{lastmod}", lastmod) for lastmod in lastmods)
    ).decode()
    done = run("-", "--since", "2026-01-01", input=page)
    assert (done.returncode, len(done.stdout.split())) == (0, len(lastmods))
    assert done.stderr.splitlines()[1:] == [f"sitemapreader: kept {kept}"]
    assert "kept " not in run("-", input=page).stderr


@pytest.mark.parametrize(
    "words", [("--include", "nowhere"), ("--since", "2030-01-01", "--undated", "drop")]
)
def test_what_nobody_wants_is_no_failure(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A run whose filters hold everything back is complete, says so, and writes its empty list."""
    file = tmp_path / "day.txt"
    file.write_text("of yesterday\n", "utf-8")
    with serving({"/sitemap.xml": urlset(3)}) as (url,):
        done = run(url, *words, "-o", str(file))
    assert (done.returncode, file.read_text("utf-8")) == (0, "")
    assert (
        done.stderr.splitlines()[-1] == "sitemapreader: excluded 3 URLs: your filters"
    )


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


# -- `--max-time` and `--exit-code`

SITE = "https://example.org/"


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer with a quick sitemap, and one that takes longer than anybody waits."""
    if request.path == "/slow.xml":
        await asyncio.sleep(60)
    pages = {
        "/top.xml": index("HOST/quick.xml", "HOST/slow.xml"),
        "/quick.xml": urlset(2, "HOST"),
    }
    return await Site(pages=pages).answer(request)


def test_the_time_of_a_run() -> None:
    """A run that is cut prints what it has, and exits with 3."""
    with serving(answer) as (base,):
        shown = run(f"{base}/top.xml", "--sitemap", "--max-time", "0.6s")
    assert (shown.returncode, len(shown.stdout.split())) == (3, 2)
    assert "budget-seconds" in shown.stderr


def test_there_are_changes(tmp_path: Path) -> None:
    """7 says that something is new, changed or gone; 0 that nothing is."""
    sitemap, site = tmp_path / "sitemap.xml", str(tmp_path)
    (tmp_path / "robots.txt").write_text(f"Sitemap: {SITE}sitemap.xml")
    words = [
        site,
        "--state",
        str(tmp_path.parent / "exit.db"),
        "--changes",
        "--exit-code",
        "-q",
    ]
    codes = []
    for urls in (["a", "b"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c"]):
        sitemap.write_bytes(small_urlset(*(SITE + url for url in urls)))
        codes.append(run(*words).returncode)
    assert codes == [7, 0, 7, 0]


@pytest.mark.parametrize("value", [timedelta(0), timedelta(-1), 30, "30m"])
def test_misuse(value: Any) -> None:
    """The time is a positive timedelta."""
    with pytest.raises((TypeError, ValueError), match="max_time must be"):
        walk_sync("https://example.org/", limits=Limits(max_time=value))


DROPPED = (
    b"https://example.org/1\nhttps://example.org/{{ page }}\nhttps://example.org/2\n"
)


def test_a_quiet_run_says_what_it_has_not_read(tmp_path: Path) -> None:
    """With -q, a run that has read everything is silent, and another one prints its summary."""
    (tmp_path / "whole.txt").write_bytes(b"https://example.org/1\nmailto:x\n")
    (tmp_path / "sites.txt").write_text("no site\n", "utf-8")
    assert run("whole.txt", "-q", cwd=tmp_path).stderr == ""
    (tmp_path / "part.txt").write_bytes(DROPPED)
    words = ("whole.txt", "part.txt", "-i", "sites.txt")
    done = run(*words, "-q", cwd=tmp_path)
    assert done.returncode == 3
    said = done.stderr.replace("sitemapreader: ", "").splitlines()
    assert said[0].startswith("sites.txt: 'no site' is not")
    assert said[1].startswith("3 URLs from 2 sources")
    assert said[2] == "read in part: 1 template: part.txt"
    assert len(said) == 4
    assert "warning" not in done.stderr
    assert "error template" in run(*words, cwd=tmp_path).stderr


def test_losses_that_are_allowed(tmp_path: Path) -> None:
    """A run that has lost something for these reasons alone exits with 0, and names it."""
    (tmp_path / "part.txt").write_bytes(DROPPED)
    (tmp_path / "cut.xml").write_bytes(urlset(3)[:-20])
    for words, code in (
        (("part.txt",), 3),
        (("part.txt", "--allow-loss", "template"), 0),
        (("part.txt", "--allow-loss", "dns, template"), 0),
        (("part.txt", "--allow-loss", "truncated"), 3),
        (("part.txt", "cut.xml", "--allow-loss", "template"), 3),
        (("part.txt", "cut.xml", "--allow-loss", "template,truncated"), 0),
        (("part.txt", "--allow-loss", "templates"), 2),
        (("part.txt", "--allow-loss", "leading-bytes"), 2),
    ):
        done = run(*words, cwd=tmp_path)
        assert done.returncode == code, (words, done.stderr)
        assert code == 2 or "read in part: 1 template: part.txt" in done.stderr
    assert (
        "did you mean template?" in run("part.txt", "--allow-loss", "templates").stderr
    )
