"""Lists of sites in the shell: a column, a report, parts of a list, and output with a state."""

from __future__ import annotations

import asyncio
import csv
import json
from typing import TYPE_CHECKING

import attrs
import pytest
from aiohttp import web

from sitemapreader import Limits
from sitemapreader._cli.run import read_lines
from tests.support import walking
from tests.support.commands import allow, run, serving, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

HOSTS = [f"127.0.3.{number}" for number in range(1, 7)]
URLS = 3


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer for any site but the last one, which has no sitemap."""
    base = f"http://{request.host}"
    if request.host.startswith(f"{HOSTS[-1]}:"):
        raise web.HTTPNotFound
    if request.path == "/robots.txt":
        return web.Response(text=f"Sitemap: {base}/map.xml")
    if request.path == "/map.xml":
        return web.Response(body=urlset(URLS, base), headers={"ETag": '"1"'})
    raise web.HTTPNotFound


@pytest.fixture(scope="module")
def sites() -> Iterator[list[str]]:
    with serving(answer, HOSTS) as urls:
        yield urls


@pytest.fixture
def listed(tmp_path: Path, sites: list[str]) -> Path:
    """Return a list of the sites, with what is no site among them."""
    file = tmp_path / "sites.txt"
    lines = [f"{url}  # a comment" for url in sites]
    file.write_text("\n".join(["# sites", *lines, "not a site", sites[0]]), "utf-8")
    return file


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table in CSV."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_table_and_a_report_of_many_sites(
    tmp_path: Path, listed: Path, sites: list[str]
) -> None:
    """Each row says which site it is from, and the report how each site ended and why."""
    table, report = tmp_path / "urls.csv", tmp_path / "sites.jsonl"
    done = run(
        "-i", str(listed), "-o", str(table), "--report", str(report), "--probe", "few",
        *allow(*sites),
    )  # fmt: skip
    assert done.returncode == 3
    rows = read_rows(table)
    assert next(iter(rows[0])) == "site"
    whole = sites[:-1]
    assert {(row["site"], row["loc"]) for row in rows} == {
        (site, f"{site}/{number}") for site in whole for number in range(URLS)
    }
    outcomes = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    said = {
        row["site"]: (row["status"], row["reason"], row["entries"]) for row in outcomes
    }
    assert said == {
        **dict.fromkeys(whole, ("complete", "", URLS)),
        sites[-1]: ("none", "no-sitemap", 0),
        "not a site": ("failed", "invalid-url", 0),
    }
    assert all(
        row["address"] in HOSTS for row in outcomes if row["status"] == "complete"
    )
    assert "not a site" in done.stderr


def test_the_issues_of_many_sites(tmp_path: Path) -> None:
    """Each record that is dropped has a row with its site, in a file that no later run replaces."""
    locs = [*(f"mailto:{number}" for number in range(12)), "/1"]
    pages = {"/sitemap.xml": walking.urlset(*locs)}
    issues = tmp_path / "issues.csv"
    with serving(pages) as (one,), serving(pages) as (two,):
        command = [one, two, "--state", "all.db", "--issues", issues.name]
        done = run(*command, "-o", "urls.csv", cwd=tmp_path)
        assert done.returncode == 0
        again = run(*command, "-o", "next.csv", cwd=tmp_path)
        assert again.returncode == 2
        assert "issues.csv: it exists" in again.stderr
    rows = read_rows(issues)
    assert {(row["site"], row["sitemap"]) for row in rows if row["dropped"]} == {
        (site, f"{site}/sitemap.xml") for site in (one, two)
    }
    dropped = [row["value"] for row in rows if row["dropped"] == "true"]
    assert sorted(dropped) == sorted(locs[:-1] * 2)


@attrs.frozen(kw_only=True)
class ShortLimits(Limits):
    """Limits whose time for each site is over soon."""

    site_seconds: float = 0.1


def test_time_for_each_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of several sites has a quarter of an hour, if no other time is given; one has a day."""
    assert Limits().site_seconds == 900
    monkeypatch.setattr("sitemapreader._cli.config.Limits", ShortLimits)

    async def answer_slowly(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.2)
        return await answer(request)

    with serving(answer_slowly, HOSTS[:2]) as slow:
        (tmp_path / "sites.txt").write_text("\n".join(slow), "utf-8")
        words = ["-i", str(tmp_path / "sites.txt"), *allow(*slow)]
        for given, number in (
            (words, 0),
            ([*words, "--site-timeout", "60"], 2),
            (slow[:1], 1),
        ):
            assert len(run(*given).stdout.split()) == number * URLS, given


def test_a_list_without_a_site(tmp_path: Path) -> None:
    """An empty list is 1, and leaves the file."""
    (tmp_path / "none.txt").write_text("# nobody\n", "utf-8")
    (tmp_path / "urls.txt").write_text("of yesterday\n", "utf-8")
    done = run("-i", str(tmp_path / "none.txt"), "-o", str(tmp_path / "urls.txt"))
    assert (done.returncode, (tmp_path / "urls.txt").read_text("utf-8")) == (
        1,
        "of yesterday\n",
    )
    assert done.stderr.splitlines()[-1] == "sitemapreader: the list names no source"


def test_a_folder_in_a_list_is_no_source(tmp_path: Path) -> None:
    """A list, which anybody may have written, names no files: the message says so."""
    (tmp_path / "sites.txt").write_text(f"{tmp_path}\n", "utf-8")
    done = run("-i", str(tmp_path / "sites.txt"))
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        f"{str(tmp_path)!r} is not an http(s) URL; a list may contain only URLs"
        in done.stderr
    )


def test_private_lines_of_a_list_are_refused(tmp_path: Path, sites: list[str]) -> None:
    """What a person types may be loopback; a line of a list may not, and says why."""
    file, report = tmp_path / "sites.txt", tmp_path / "report.jsonl"
    port = sites[0].rpartition(":")[2]
    file.write_text(
        f"{sites[0]}\nhttp://127.0.0.1/\nhttp://localhost:{port}\n", "utf-8"
    )
    done = run("-i", str(file), "--report", str(report), "--allow-port", port)
    assert done.stdout == ""
    rows = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    assert [row["reason"] for row in rows] == ["blocked-address"] * 3
    assert run("-q", sites[0]).stdout.split() == [
        f"{sites[0]}/{n}" for n in range(URLS)
    ]


@pytest.mark.parametrize("suffix", ["urls", "jsonl", "csv.gz"])
def test_output_and_state_go_together(
    tmp_path: Path, listed: Path, sites: list[str], suffix: str
) -> None:
    """The first run writes all, the second one what is new: nothing; each says so in its report."""
    options = [
        "--state",
        str(tmp_path / "all.db"),
        "-q",
        *allow(*sites),
        "-i",
        str(listed),
    ]
    first, second = tmp_path / f"first.{suffix}", tmp_path / f"second.{suffix}"
    assert run(*options, "-o", str(first)).returncode == 3
    report = tmp_path / "report.csv"
    assert run(*options, "-o", str(second), "--report", str(report)).returncode == 3
    statuses = {row["site"]: row["status"] for row in read_rows(report)}
    assert set(statuses.values()) == {"unchanged", "none", "failed"}
    if suffix == "urls":
        assert len(first.read_text("utf-8").split()) == 5 * URLS
        assert second.read_text("utf-8") == ""
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("is_list", [True, False])
def test_a_site_may_take_so_long(tmp_path: Path, *, is_list: bool) -> None:
    """`--site-timeout` ends what never answers, in a list or not; the others are printed."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            raise web.HTTPNotFound
        if request.url.host == "127.0.0.2":
            await asyncio.sleep(60)
        return web.Response(body=urlset(3))

    with serving(answer, ["127.0.0.1", "127.0.0.2"]) as (fast, slow):
        words = [f"{fast}/s.xml", f"{slow}/s.xml"]
        (tmp_path / "sites.txt").write_text("\n".join(words), "utf-8")
        words = ["-i", "sites.txt", *allow(fast, slow)] if is_list else words
        done = run(*words, "--site-timeout", "0.7", cwd=tmp_path)
    assert (done.returncode, len(done.stdout.splitlines())) == (3, 3)
    assert "budget-seconds" in done.stderr
    assert "raise --site-timeout" in done.stderr


def test_a_run_may_take_so_long(tmp_path: Path) -> None:
    """`--max-time` ends a list in the middle, and says that there was more."""

    async def answer(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise web.HTTPNotFound

    with serving(answer, ["127.0.0.1", "127.0.0.2"]) as places:
        (tmp_path / "sites.txt").write_text("\n".join(places), "utf-8")
        words = ("-i", "sites.txt", "--parallel", "1", "--max-time", "0.5s")
        done = run(*words, *allow(*places), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert "skipped the rest of the list: --max-time was reached" in done.stderr


@pytest.mark.parametrize("size", [1, 7, 1_000])
async def test_comments_in_a_list(size: int) -> None:
    """A comment begins a line or stands behind a blank; the fragment of a URL is none."""
    text = (
        b"# sites\n  # more\nhttps://a.example/ # ours\nhttps://b.example/#top\r\n"
        b"https://c.example/\t#theirs # too\nd.example#x # y\n\n#\n"
    )

    async def cut() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(text), size):
            yield text[start : start + size]

    assert [line async for line in read_lines(cut())] == [
        "https://a.example/",
        "https://b.example/#top",
        "https://c.example/",
        "d.example#x",
    ]


def test_a_source_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """On the command line and in a list, in any spelling of a URL; the last lines count it."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitemap.xml").write_bytes(urlset(1))
    (tmp_path / "list").write_text(
        "http://localhost:1\nHTTP://LOCALHOST:1/ # again\nhttp://localhost:1/#top\n"
    )
    words = ["site", "site", "-i", "list", "--base-url", "https://example.org/"]
    done = run(*words, cwd=tmp_path)
    assert done.stdout.splitlines() == ["https://example.org/0"]
    assert "from 2 sources (1 failed)" in done.stderr
    assert "skipped 3 sources: duplicate" in done.stderr
