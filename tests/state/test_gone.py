"""Pages of unlisted URLs are asked: what they answer, and when that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from clock import DAY, SetClock
from walking import ROBOTS, SITE, Pages, at_once, status, urlset

from sitemapreader.fetch.local import FolderFetcher, MemoryFetcher
from sitemapreader.state import State
from sitemapreader.walker import walk, walk_sync

if TYPE_CHECKING:
    from pathlib import Path

MAP = f"{SITE}sitemap.xml"


def serve(*listed: str, **answers: Any) -> Pages:
    """List pages; those that are listed live, and so do others with an answer."""
    live = {SITE + name: answers.get(name, b"A page") for name in {*listed, *answers}}
    return {ROBOTS: f"Sitemap: {MAP}".encode(), MAP: urlset(*(SITE + n for n in listed))} | live


async def ask(pages: Pages, db: Path, limit: int = 1_000) -> tuple[list[str], list[str]]:
    """Walk; return the pages that were asked, and those that are gone."""
    fetcher = MemoryFetcher(pages)
    async with walk(SITE, fetcher=fetcher, state=at_once(db), changes=True) as entries:
        async for _ in entries:
            pass
        before = len(fetcher.requested)
        gone = [page.loc.removeprefix(SITE) async for page in entries.gone(limit)]
    assert entries.report.gone == len(gone)
    return [url.removeprefix(SITE) for url in fetcher.requested[before:]], sorted(gone)


async def test_what_is_gone_is_told_once(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """404 and 410 of an unlisted page, and nothing else; the other pages are asked again."""
    clock = SetClock(monkeypatch)
    assert await ask(serve(*"abcde"), db) == ([], [])
    answers = {"c": status(410), "d": status(503)}
    asked, gone = await ask(serve("a", e=b"Alive", **answers), db)
    assert ({*asked}, gone) == ({*"abcde"}, ["b", "c"])
    assert await ask(serve("a"), db) == ([], [])  # not due
    clock.now += DAY
    asked, gone = await ask(serve("a", e=b"Alive"), db)
    assert ({*asked}, gone) == ({*"ade"}, ["d"])
    assert [page.loc[-1] for page in State(db).gone()] == ["b", "c", "d"]
    assert [row.loc[-1] for row in State(db).unlisted()] == ["b", "c", "d", "e"]


@pytest.mark.parametrize("answer", [status(404), status(503), status(401)])
async def test_a_control_page_decides(
    db: Path, answer: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no listed page lives, nothing is gone that day; a later one asks again."""
    clock = SetClock(monkeypatch)
    await ask(serve(*"ab"), db)
    pages = serve("a", a=answer)
    assert (await ask(pages, db))[1] == []
    clock.now += DAY
    assert (await ask(serve("a"), db))[1] == ["b"]


async def test_a_limit_of_pages(db: Path) -> None:
    """So many are asked, the rest by the next walks."""
    names = [f"p{number}" for number in range(25)]
    await ask(serve("a", *names), db)
    found = []
    for _ in range(3):
        asked, gone = await ask(serve("a"), db, 10)
        assert len({*asked} - {"a"}) <= 10
        found += gone
    assert sorted(found) == sorted(names)


async def test_robots_txt_forbids_asking(db: Path) -> None:
    """What may not be asked is not gone."""
    await ask(serve(*"ab"), db)
    rules = f"User-agent: *\nDisallow: /b\nSitemap: {MAP}".encode()
    asked, gone = await ask(serve("a") | {ROBOTS: rules}, db)
    assert ("b" in asked, gone) == (False, [])


def test_a_folder_answers_as_its_host_will(tmp_path: Path) -> None:
    """`/about` is `about.html`, so it lives; and there is a loop without `await`."""
    (tmp_path / "about.html").write_text("About")
    (tmp_path / "index.html").write_text("Home")
    given: dict[str, Any] = {"state": at_once(tmp_path / "site.db"), "changes": True}
    for names in (["", "about", "old"], [""]):
        (tmp_path / "sitemap.xml").write_bytes(urlset(*(SITE + name for name in names)))
        with walk_sync(SITE, fetcher=FolderFetcher(tmp_path, SITE), **given) as entries:
            list(entries)
            gone = [(page.loc, page.http_status) for page in entries.gone()]
    assert gone == [(f"{SITE}old", 404)]


async def test_staging_says_nothing_of_production(db: Path) -> None:
    """With `map_hosts` no page can be asked."""
    with pytest.raises(ValueError, match="another server answers"):
        walk(SITE, state=db, changes=True, gone=3, map_hosts={"example.org": "staging.example"})
