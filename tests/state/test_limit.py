"""A limit with a state: each run goes on where the one before stopped, to the end, once each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from sitemapreader import FetchOptions, Limits, walk_many
from sitemapreader.fetch import MemoryFetcher
from tests.support import commands
from tests.support.clock import DAY, SetClock
from tests.support.walking import Pages, index, urlset

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.slow

PARTS, PER_PART = 3, 270
EVERYTHING = [
    f"https://shop.example/{p}/{n}" for p in range(PARTS) for n in range(PER_PART)
]


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
@pytest.mark.parametrize(
    "extra", [[], ["--changes"], ["--unique"], ["-c", "1", "--changes"]]
)
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


async def test_runs_of_many_sites(tmp_path: Path) -> None:
    """`max_urls` with a state: the next run begins where this one stopped, to the URL."""
    pages: Pages = {}
    for host in ("one.example", "two.example"):
        pages[f"https://{host}/robots.txt"] = (
            f"Sitemap: https://{host}/top.xml".encode()
        )
        parts = [f"https://{host}/{n}.xml" for n in range(3)]
        pages[f"https://{host}/top.xml"] = index(*parts)
        pages |= {url: urlset(*(f"{url}/{n}" for n in range(70))) for url in parts}
    found: list[str] = []
    for number in range(4):
        async with walk_many(
            ["one.example", "two.example"],
            fetcher=MemoryFetcher(pages),
            state=tmp_path / "s.db",
            limits=Limits(max_urls=60),
            options=FetchOptions(concurrency=2),
        ) as run:
            async for _, batch in run.batches():
                found += [entry.loc for entry in batch]
                await asyncio.sleep(0)
        reasons = {outcome.reason for outcome in run.outcomes}
        assert reasons == ({"budget-urls"} if number < 3 else {""})
    assert len(found) == len(set(found)) == 420


async def test_runs_of_a_nightly_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a limit has stopped goes on however late the next run comes."""
    pages: Pages = {"https://one.example/sitemap.xml": urlset(*EVERYTHING)}
    found: list[str] = []
    clock = SetClock(monkeypatch)
    for _ in range(5):
        clock.now += DAY + 1
        async with walk_many(
            ["one.example"],
            fetcher=MemoryFetcher(pages),
            state=tmp_path / "s.db",
            limits=Limits(max_urls=200),
        ) as run:
            async for _, batch in run.batches():
                found += [entry.loc for entry in batch]
    assert found == EVERYTHING
