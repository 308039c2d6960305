"""Five days in the life of a site, on a real server: what each day asks, gives and says."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from sitemapreader import Changes, State, walk
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.clock import DAY, SetClock
from tests.support.serving import listen
from tests.support.walking import at_once, index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


IMPATIENT = FetchOptions(max_attempts=1)


@attrs.define
class Site:
    """A site that is served: its pages by path, with a version each; what was asked, how answered.

    A page is served with its version as its ETag, but for those in `untagged`; `None` is an outage.
    """

    base: str = ""
    pages: dict[str, tuple[str, bytes] | None] = attrs.field(factory=dict)
    untagged: set[str] = attrs.field(factory=set)
    answers: list[str] = attrs.field(factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        page = self.pages.get(request.path, ("", b""))
        status, body, headers = 200, b"", {}
        if page is None:
            status = 500
        elif not page[1]:
            status = 404
        else:
            tag = f'"{page[0]}"'
            headers = {} if request.path in self.untagged else {"ETag": tag}
            status = (
                304 if headers and request.headers.get("If-None-Match") == tag else 200
            )
            body = page[1] if status == 200 else b""
        self.answers.append(f"{request.path} {status}")
        return web.Response(status=status, body=body, headers=headers)

    def put(self, name: str, version: int, *items: str | tuple[str, str]) -> None:
        """Publish a list of pages."""
        locs = [self._absolute(item) for item in items]
        self.pages[f"/{name}.xml"] = (f"{name}{version}", urlset(*locs))

    def put_index(self, version: int, *items: str | tuple[str, str]) -> None:
        """Publish the index."""
        children = [self._absolute(item, ".xml") for item in items]
        self.pages["/sitemap.xml"] = (f"i{version}", index(*children))

    def _absolute(
        self, item: str | tuple[str, str], end: str = ""
    ) -> str | tuple[str, str]:
        if isinstance(item, str):
            return f"{self.base}/{item}{end}"
        return f"{self.base}/{item[0]}{end}", item[1]


@asynccontextmanager
async def serve() -> AsyncIterator[Site]:
    """Serve an empty site over loopback."""
    site = Site()
    async with listen(site.answer) as site.base:
        yield site


@attrs.frozen
class Day:
    """What a day's walk asked, gave and said."""

    asked: list[str]
    given: dict[str, str]
    outcomes: dict[str, str]
    unlisted: list[str] | None
    complete: bool


async def spend(site: Site, state: State) -> Day:
    """Walk over the site once, as a crawler does that comes back each day."""
    site.answers.clear()
    given = {}
    async with walk(site.base, state=Changes(state), options=IMPATIENT) as entries:
        async for entry in entries:
            given[entry.loc.removeprefix(f"{site.base}/")] = str(entry.change)
        unlisted = sorted(
            row.loc.removeprefix(f"{site.base}/") for row in entries.unlisted()
        )
    report = entries.report
    return Day(
        sorted(site.answers),
        given,
        {
            each.url.removeprefix(f"{site.base}/"): " ".join(
                filter(None, (each.status, each.reason))
            )
            for each in report.documents
            if each.via is not None and each.url.endswith(".xml")
        },
        unlisted,
        report.complete,
    )


async def test_five_days(tmp_path: Path) -> None:
    """Added, changed, removed, 304s, an outage, and an index that lies: each day to the letter."""
    state = at_once(tmp_path / "site.db")
    async with serve() as site:
        site.pages["/robots.txt"] = ("r", f"Sitemap: {site.base}/sitemap.xml".encode())
        site.untagged |= {"/robots.txt", "/shop.xml"}

        # day 1: all is new
        site.put_index(1, ("blog", "2020-01-02"), "shop", ("docs", "2020-01-01"))
        site.put("blog", 1, ("b1", "2020-01-01"), ("b2", "2020-01-01"))
        site.put("shop", 1, "s1", "s2", "s3")
        site.put("docs", 1, "d1", "d2")
        assert await spend(site, state) == Day(
            [
                f"/{name} 200"
                for name in (
                    "blog.xml",
                    "docs.xml",
                    "robots.txt",
                    "shop.xml",
                    "sitemap.xml",
                )
            ],
            dict.fromkeys(["b1", "b2", "s1", "s2", "s3", "d1", "d2"], "new"),
            dict.fromkeys(
                ["sitemap.xml", "blog.xml", "shop.xml", "docs.xml"], "complete"
            ),
            [],
            complete=True,
        )

        # day 2: nothing has happened; the shop's server knows no validators, and sends it all again
        unchanged = {
            "sitemap.xml": "unchanged",
            "blog.xml": "unchanged same-lastmod",
            "shop.xml": "unchanged same-body",
            "docs.xml": "unchanged same-lastmod",
        }
        assert await spend(site, state) == Day(
            ["/robots.txt 200", "/shop.xml 200", "/sitemap.xml 304"],
            {},
            unchanged,
            [],
            complete=True,
        )

        # day 3: a post changes, a product is new, one is gone; and the index lies about the docs,
        # which lost a page
        site.put_index(3, ("blog", "2020-01-03"), "shop", ("docs", "2020-01-01"))
        site.put("blog", 3, ("b1", "2020-01-01"), ("b2", "2020-01-03"))
        site.put("shop", 3, "s1", "s3", "s4")
        site.put("docs", 3, "d1")
        assert (
            await spend(site, state)
            == Day(
                [
                    "/blog.xml 200",
                    "/robots.txt 200",
                    "/shop.xml 200",
                    "/sitemap.xml 200",
                ],
                {"b2": "changed", "s4": "new"},
                {
                    "sitemap.xml": "complete",
                    "blog.xml": "complete",
                    "shop.xml": "complete",
                    "docs.xml": "unchanged same-lastmod",
                },
                [],  # the index says that docs.xml has not changed, which it was never seen to tell
                complete=True,
            )
        )

        # day 4: an outage; a sitemap is added, and the blog's is gone: b1 with it, b2 has moved
        site.put_index(4, "shop", ("docs", "2020-01-01"), "news")
        site.put("news", 4, "n1", ("b2", "2020-01-03"))
        site.pages["/shop.xml"] = None
        assert await spend(site, state) == Day(
            [
                "/docs.xml 200",
                "/news.xml 200",
                "/robots.txt 200",
                "/shop.xml 500",
                "/sitemap.xml 200",
            ],
            {"n1": "new"},
            {
                "sitemap.xml": "complete",
                "shop.xml": "failed http-status",
                "docs.xml": "complete",
                "news.xml": "complete",
            },
            # all were read since; what is missing since today may be in the shop's
            ["s2"],
            complete=False,
        )

        # day 5: the shop is back as it was, and all that is missing is gone
        site.put("shop", 5, "s1", "s3", "s4")
        assert await spend(site, state) == Day(
            [
                "/docs.xml 304",  # its bytes of day 4 have confirmed what it lost then
                "/news.xml 304",
                "/robots.txt 200",
                "/shop.xml 200",
                "/sitemap.xml 304",
            ],
            {},
            {
                "sitemap.xml": "unchanged",
                "shop.xml": "unchanged same-body",
                "docs.xml": "unchanged",
                "news.xml": "unchanged",
            },
            ["b1", "d2"],
            complete=True,
        )


@pytest.mark.parametrize(
    ("others", "confirm_after", "day"),
    [(0, 1, 4), (3, 1, 5), (0, 0, 3), (3, 0, 4)],
)
async def test_the_day_on_which_a_missing_url_is_unlisted(
    db: Path,
    monkeypatch: pytest.MonkeyPatch,
    others: int,
    confirm_after: int,
    day: int,
) -> None:
    """The table of docs/state.md: documents that responded with 304 are read twice after it."""
    clock = SetClock(monkeypatch)
    home = "https://a.example/"
    maps = [f"{home}{number}.xml" for number in range(others + 1)]
    robots = "\n".join(f"Sitemap: {url}" for url in maps).encode()
    pages: dict[str, Any] = {f"{home}robots.txt": robots}
    for url in maps:
        pages[url] = StoredResponse(url, urlset(f"{url}/a"), headers={"etag": '"1"'})
    state = State(db, confirm_after=confirm_after * timedelta(hours=23))
    told = []
    first = urlset(f"{maps[0]}/a", f"{maps[0]}/lost")
    second = pages[maps[0]]
    for today in range(1, 7):
        pages[maps[0]] = second
        if today < 3:
            pages[maps[0]] = StoredResponse(maps[0], first, headers={"etag": '"0"'})
        fetcher = MemoryFetcher(pages)
        async with walk(home, state=Changes(state), fetcher=fetcher) as entries:
            async for _ in entries:
                pass
            told += [(today, row.loc) for row in entries.unlisted()]
        clock.now += DAY
    assert told == [(day, f"{maps[0]}/lost")]
