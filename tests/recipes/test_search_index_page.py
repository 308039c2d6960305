"""The search index of docs/search-indexes.md, over days of a real server on loopback."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from tests.support import package, pages
from tests.support.clock import DAY, SetClock
from tests.support.launcher import shorten_waits
from tests.support.serving import listen
from tests.support.walking import urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow  # each test is days of a site

SOON = "We will be back soon. Our engineers work hard to improve this site for all of our birds."


@attrs.define
class Site:
    """A site whose pages have versions; on some days it answers something else.

    Attributes:
        versions: page -> number of its text.
        listed: pages that the sitemap lists.
        trouble: what each page answers instead: a status with a text.
        same: pages that have one text in common.
        moved: path of a page -> where it is now.
    """

    versions: dict[str, int]
    listed: set[str]
    trouble: tuple[int, str] | None = None
    same: set[str] = attrs.field(factory=set)
    moved: dict[str, str] = attrs.field(factory=dict)

    def write(self, name: str) -> str:
        if name in self.same:
            return "These birds are alike: each nests in reeds, and nobody tells them apart."
        number = self.versions[name]
        return f"The {name} is bird number {number}: it nests in reeds, and {number} eggs hatch."

    async def answer(self, request: web.Request) -> web.Response:
        name, base = request.path[1:], f"http://{request.host}"
        if name == "sitemap.xml":
            days = (
                (f"{base}/{each}", f"2026-01-{self.versions[each]:02}")
                for each in self.listed
            )
            return web.Response(body=urlset(*days))
        if name in self.moved:
            return web.Response(
                status=301, headers={"Location": f"/{self.moved[name]}"}
            )
        if name == "robots.txt" or (self.trouble is None and name not in self.versions):
            return web.Response(status=404)
        status, text = self.trouble or (200, self.write(name))
        title = name
        if self.trouble:
            title = "Maintenance"
        elif name in self.same:
            title = "Birds"
        head = f"<html><head><title>{title}</title></head>"
        body = f"{head}<body><nav>Home</nav><article><h1>{title}</h1><p>{text}</p></article></body>"
        return web.Response(
            status=status, text=f"{body}</html>", content_type="text/html"
        )


def load_page(base: str) -> dict[str, Any]:
    """Return the names of the page's block."""
    (block,) = pages.blocks(package.ROOT / "docs" / "search-indexes.md", "python")
    code, _, _ = block.code.rpartition("print(")
    names: dict[str, Any] = {}
    exec(code.replace(pages.SITE, base), names)  # noqa: S102 (our own page)
    return names


@pytest.fixture
def short_waits() -> Iterator[None]:
    with shorten_waits():
        yield


@pytest.mark.usefixtures("short_waits")
async def test_the_index_follows_the_days_of_a_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No live page is deleted, no text of maintenance stored, and each change is there at last."""
    pytest.importorskip("trafilatura", reason="no trafilatura: pip install trafilatura")
    monkeypatch.chdir(tmp_path)
    clock = SetClock(monkeypatch)
    names = ["avocet", "bittern", "crane", "dunlin", "egret", "finch"]
    site = Site(dict.fromkeys(names, 1), set(names))
    async with listen(site.answer) as base:
        page = load_page(base)

        async def live(
            *changed: str, trouble: tuple[int, str] | None = None
        ) -> set[str]:
            """Let a day pass; return the pages whose text in the index is today's."""
            for name in changed:
                site.versions[name] += 1
            site.trouble = trouble
            clock.now += DAY
            await asyncio.to_thread(lambda: asyncio.run(page["update"](f"{base}/")))
            index = {
                url.removeprefix(f"{base}/"): text
                for url, text in page["index"].items()
            }
            assert site.versions.keys() <= index.keys()
            assert not any("back soon" in text for text in index.values())
            return {name for name in site.versions if site.write(name) in index[name]}

        assert await live() == {*names}
        maintenance = (200, SOON)
        assert await live("avocet", "bittern", trouble=maintenance) == {*names} - {
            "avocet",
            "bittern",
        }
        assert await live() == {*names}
        assert await live("crane", trouble=maintenance) == {*names} - {"crane"}
        assert await live("dunlin", trouble=(503, "down")) == {*names} - {
            "crane",
            "dunlin",
        }
        assert await live() == {*names}
        site.listed -= {"egret", "finch"}
        del site.versions["finch"]
        assert await live(trouble=(404, "a deployment")) == site.versions.keys()
        assert f"{base}/finch" in page["index"]
        for _ in range(4):
            assert await live() == site.versions.keys()
        assert f"{base}/finch" not in page["index"]
        assert f"{base}/egret" in page["index"]  # not listed, and alive


@pytest.mark.usefixtures("short_waits")
async def test_pages_that_are_alike_are_stored_at_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program prints their URLs; a day of maintenance is no day as usual."""
    pytest.importorskip("trafilatura", reason="no trafilatura: pip install trafilatura")
    monkeypatch.chdir(tmp_path)
    clock = SetClock(monkeypatch)
    names = ["avocet", "bittern", "crane"]
    site = Site(dict.fromkeys(names, 1), set(names), same={"bittern", "crane"})
    async with listen(site.answer) as base:
        page = load_page(base)

        async def pass_day(trouble: tuple[int, str] | None = None) -> int:
            site.trouble = trouble
            clock.now += DAY
            await asyncio.to_thread(lambda: asyncio.run(page["update"](f"{base}/")))
            return len(page["index"])

        assert await pass_day() == 1
        printed = capsys.readouterr().out
        assert printed.startswith("not stored, because other pages say the same: 2 ")
        assert f"{base}/bittern" in printed
        assert await pass_day((200, SOON)) == 1
        stored = [await pass_day() for _ in range(page["PATIENCE"])]
        assert stored == [1] * (page["PATIENCE"] - 1) + [3]
        assert not page["to_visit"]


@pytest.mark.usefixtures("short_waits")
async def test_a_page_that_has_moved_is_kept_at_its_new_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old URL leaves the index, unless its target is no page of the index."""
    pytest.importorskip("trafilatura", reason="no trafilatura: pip install trafilatura")
    monkeypatch.chdir(tmp_path)
    clock = SetClock(monkeypatch)
    names = ["avocet", "bittern", "crane", "dunlin"]
    site = Site(dict.fromkeys(names, 1), set(names))
    async with listen(site.answer) as base:
        page = load_page(base)
        for day in range(5):
            if day == 1:
                site.versions["egret"] = 1
                site.listed = {"crane", "dunlin", "egret"}
                site.moved = {"avocet": "egret", "bittern": "login"}
            clock.now += DAY
            await asyncio.to_thread(lambda: asyncio.run(page["update"](f"{base}/")))
        kept = {url.removeprefix(f"{base}/") for url in page["index"]}
        assert kept == {"bittern", "crane", "dunlin", "egret"}
