"""A limit with a state: each run goes on where the one before stopped, to the end, once each."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from typing import TYPE_CHECKING

import commands
import pytest
from aiohttp import web
from commands import serving
from walking import Pages, index, urlset

from sitemapreader import FetchOptions, walk_many
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from commands import Answer

pytestmark = pytest.mark.slow

PARTS, PER_PART = 3, 270
EVERYTHING = [f"https://shop.example/{p}/{n}" for p in range(PARTS) for n in range(PER_PART)]


def answer_pages(pages: Mapping[str, bytes]) -> Answer:
    """Return what answers with these pages, by path, and else with 404."""

    async def answer(request: web.Request) -> web.Response:
        body = pages.get(request.path)
        return web.Response(body=body, status=404 if body is None else 200)

    return answer


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "robots.txt").write_text("Sitemap: https://shop.example/sitemap.xml\n")
    names = [f"https://shop.example/part{number}.xml" for number in range(PARTS)]
    (folder / "sitemap.xml").write_bytes(index(*names))
    for number in range(PARTS):
        locs = EVERYTHING[number * PER_PART : (number + 1) * PER_PART]
        (folder / f"part{number}.xml").write_bytes(urlset(*locs))
    return folder


@pytest.mark.parametrize("limit", [1, 100, 270, 501])
@pytest.mark.parametrize("extra", [[], ["--changes"], ["--unique"], ["-c", "1", "--changes"]])
def test_runs_of_a_folder(site: Path, limit: int, extra: list[str]) -> None:
    """Each run prints as many as it may, and nothing that one before it printed."""
    found: list[str] = []
    runs = 3 if limit == 1 else len(EVERYTHING) // limit + 1
    for _ in range(runs):
        words = ["shop", "--state", "s.db", "--limit", str(limit), *extra]
        ran = commands.run(*words, cwd=site.parent)
        assert ran.returncode == 0
        lines = ran.stdout.splitlines()
        assert len(lines) == min(limit, len(EVERYTHING) - len(found))
        found += lines
    assert len(found) == len(set(found))
    assert limit == 1 or sorted(found) == sorted(EVERYTHING)


@pytest.mark.parametrize("output", ["-", "urls.txt", "pipe"])
def test_runs_of_a_server(tmp_path: Path, output: str) -> None:
    """The same for sites in the web, whatever the output is."""
    pages = {"/robots.txt": b"", "/sitemap.xml": urlset(*EVERYTHING[:270])}
    found: list[str] = []
    with serving(answer_pages(pages)) as (base,):
        for _ in range(4):
            words = [base, "--state", "s.db", "--limit", "100"]
            words += ["-o", output] if output == "urls.txt" else []
            if output == "pipe":
                line = f"sitemapreader {' '.join(words)} | sed -n p"
                text = commands.run_shell(line, tmp_path).stdout
            else:
                text = commands.run(*words, cwd=tmp_path).stdout
            path = tmp_path / "urls.txt"
            found += (path.read_text() if path.exists() else text).splitlines()
            path.unlink(missing_ok=True)
    assert found == EVERYTHING[:270]


def test_runs_of_several_sites(tmp_path: Path) -> None:
    """A limit is that of all sites together; none of them repeats or loses a URL."""
    hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    body = urlset(*(f"https://shop.example/{n}" for n in range(150)))
    with serving(answer_pages({"/sitemap.xml": body}), hosts) as bases:
        found: list[tuple[str, str]] = []
        for _ in range(6):
            words = [*bases, "--state", "s.db", "--limit", "90", "--format", "jsonl"]
            lines = commands.run(*words, cwd=tmp_path).stdout.splitlines()
            assert len(lines) <= 90
            rows = [json.loads(line) for line in lines]
            found += [(row["site"], row["loc"]) for row in rows]
    assert Counter(site for site, _ in found) == dict.fromkeys(bases, 150)
    assert len(set(found)) == 450


async def test_runs_of_many_sites(tmp_path: Path) -> None:
    """`max_urls` with a state: the next run begins where this one stopped, to the URL."""
    pages: Pages = {}
    for host in ("one.example", "two.example"):
        pages[f"https://{host}/robots.txt"] = f"Sitemap: https://{host}/top.xml".encode()
        parts = [f"https://{host}/{n}.xml" for n in range(3)]
        pages[f"https://{host}/top.xml"] = index(*parts)
        pages |= {url: urlset(*(f"{url}/{n}" for n in range(70))) for url in parts}
    found: list[str] = []
    for number in range(4):
        async with walk_many(
            ["one.example", "two.example"],
            fetcher=MemoryFetcher(pages),
            state=tmp_path / "s.db",
            max_urls=60,
            options=FetchOptions(concurrency=2),
        ) as run:
            async for _, batch in run.batches():
                found += [entry.loc for entry in batch]
                await asyncio.sleep(0)
        reasons = {outcome.reason for outcome in run.outcomes}
        assert reasons == ({"budget-urls"} if number < 3 else {""})
    assert len(found) == len(set(found)) == 420


async def test_runs_of_a_nightly_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a limit has stopped goes on however late the next run comes."""
    pages: Pages = {"https://one.example/sitemap.xml": urlset(*EVERYTHING)}
    found: list[str] = []
    now = time.time()
    for night in range(5):
        monkeypatch.setattr("sitemapreader.state.rows.time.time", lambda: now + night * 86_401)  # noqa: B023
        async with walk_many(
            ["one.example"], fetcher=MemoryFetcher(pages), state=tmp_path / "s.db", max_urls=200
        ) as run:
            async for _, batch in run.batches():
                found += [entry.loc for entry in batch]
    assert found == EVERYTHING
