"""`--max-time` and `--exit-code`: how a run ends, and what it says by that."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from commands import run, serving
from serving import listen
from walking import index, urlset

from sitemapreader import SiteStatus, walk, walk_many, walk_sync

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SITE = "https://example.org/"


async def answer(request: web.Request) -> web.StreamResponse:
    """Answer with a quick sitemap, and one that takes longer than anybody waits."""
    base = f"http://{request.host}"
    if request.path == "/slow.xml":
        await asyncio.sleep(60)
    pages = {
        "/top.xml": index(f"{base}/quick.xml", f"{base}/slow.xml"),
        "/quick.xml": urlset(f"{base}/a", f"{base}/b"),
    }
    body = pages.get(request.path)
    return web.Response(body=body or b"", status=200 if body else 404)


async def test_a_walk_ends_in_time() -> None:
    """What was read until then is delivered, and the rest is named as cut by time."""
    async with listen(answer) as base:
        limit = timedelta(seconds=0.6)
        async with walk(sitemaps=[f"{base}/top.xml"], max_time=limit) as entries:
            assert [entry.loc async for entry in entries] == [f"{base}/a", f"{base}/b"]
    reasons = {each.url: each.reason for each in entries.report.documents if each.via}
    assert reasons[f"{base}/slow.xml"] == "budget-seconds"
    assert not entries.report.complete


async def test_a_run_ends_in_time() -> None:
    """All sites share the time; sites that were begun have outcomes, and an endless list ends."""

    async def endless(base: str) -> AsyncIterator[str]:
        yield f"{base}/quick.xml"
        yield f"{base.replace('127.0.0.1', 'localhost')}/slow.xml"
        await asyncio.sleep(60)
        yield f"{base}/top.xml"

    async with listen(answer) as base:
        limit = timedelta(seconds=0.6)
        async with walk_many(endless(base), trusted=True, max_time=limit) as sites:
            found = [entry.loc async for _, entries in sites.batches() for entry in entries]
    assert found == [f"{base}/a", f"{base}/b"]
    assert sites.is_cut
    assert [each.status for each in sites.outcomes] == [SiteStatus.COMPLETE, SiteStatus.FAILED]


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
    words = [site, "--state", str(tmp_path.parent / "exit.db"), "--changes", "--exit-code", "-q"]
    codes = []
    for urls in (["a", "b"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c"]):
        sitemap.write_bytes(urlset(*(SITE + url for url in urls)))
        codes.append(run(*words).returncode)
    assert codes == [7, 0, 7, 0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--max-time 0", "write a time above 0"),
        ("--max-time soon", "write a time above 0, such as 90s, 30m or 2h"),
        ("--max-time -5m", "write a time above 0"),
        ("--max-time nan", "write a time above 0"),
        ("--max-time 1e99d", "write a time above 0"),
        ("--exit-code", "add --changes and --state FILE"),
        ("--exit-code --state a.db", "add --changes"),
    ],
)
def test_wrong_options(words: str, said: str) -> None:
    """What cannot be meant is refused before anything is fetched."""
    shown = run(*words.split(), "http://127.0.0.1:9/")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert said in shown.stderr


@pytest.mark.parametrize("value", [timedelta(0), timedelta(-1), 30, "30m"])
def test_misuse(value: Any) -> None:
    """The time is a positive timedelta."""
    with pytest.raises((TypeError, ValueError), match="max_time must be"):
        walk_sync(SITE, max_time=value)
