"""Five days in the life of a site, on a real server: what each day asks, gives and says."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web
from clock import DAY, SetClock
from serving import listen
from walking import ROBOTS, SITE, Pages, at_once, fault, index, status, urlset, walk_all

from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.state import State
from sitemapreader.walker import walk

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
            status = 304 if headers and request.headers.get("If-None-Match") == tag else 200
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

    def _absolute(self, item: str | tuple[str, str], end: str = "") -> str | tuple[str, str]:
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
    async with walk(site.base, state=state, changes=True, options=IMPATIENT) as entries:
        async for entry in entries:
            given[entry.loc.removeprefix(f"{site.base}/")] = str(entry.change)
        unlisted = sorted(row.loc.removeprefix(f"{site.base}/") for row in entries.unlisted())
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
        site.put_index(1, ("blog", "2020-01-01"), "shop", ("docs", "2020-01-01"))
        site.put("blog", 1, ("b1", "2020-01-01"), ("b2", "2020-01-01"))
        site.put("shop", 1, "s1", "s2", "s3")
        site.put("docs", 1, "d1", "d2")
        assert await spend(site, state) == Day(
            [
                f"/{name} 200"
                for name in ("blog.xml", "docs.xml", "robots.txt", "shop.xml", "sitemap.xml")
            ],
            dict.fromkeys(["b1", "b2", "s1", "s2", "s3", "d1", "d2"], "new"),
            dict.fromkeys(["sitemap.xml", "blog.xml", "shop.xml", "docs.xml"], "complete"),
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
        assert await spend(site, state) == Day(
            ["/blog.xml 200", "/robots.txt 200", "/shop.xml 200", "/sitemap.xml 200"],
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
            ["s2"],  # all were read since; what is missing since today may be in the shop's
            complete=False,
        )

        # day 5: the shop is back as it was, and all that is missing is gone
        site.put("shop", 5, "s1", "s3", "s4")
        assert await spend(site, state) == Day(
            [
                "/docs.xml 200",  # it lost a page on day 4, which only its bytes confirm
                "/news.xml 200",
                "/robots.txt 200",
                "/shop.xml 200",
                "/sitemap.xml 304",
            ],
            {},
            {
                "sitemap.xml": "unchanged",
                "shop.xml": "unchanged same-body",
                "docs.xml": "unchanged same-body",
                "news.xml": "unchanged same-body",
            },
            ["b1", "d2"],
            complete=True,
        )


@pytest.mark.parametrize("changes", [False, True])
async def test_an_unchanged_site_costs_one_request_a_child(tmp_path: Path, changes: bool) -> None:
    """A hundred children without lastmod, unchanged: a hundred conditional requests, no body."""
    state = tmp_path / "site.db"
    async with serve() as site:
        names = [f"child{number}" for number in range(100)]
        site.put_index(1, *names)
        for name in names:
            site.put(name, 1, f"{name}/a", f"{name}/b")
        for turn in range(2):
            site.answers.clear()
            start = [f"{site.base}/sitemap.xml"]
            options = FetchOptions(per_host=8)
            async with walk(
                sitemaps=start, state=state, changes=changes, options=options
            ) as entries:
                count = sum([1 async for _ in entries])
            assert count == (0 if turn else 200)
        asked = [answer for answer in site.answers if "robots" not in answer]
        assert len(asked) == 101
        assert all(answer.endswith(" 304") for answer in asked)
        assert entries.report.complete
        assert sum(each.bytes_raw for each in entries.report.documents) == 0


# -- what is known to be gone: document by document, and never by an outage


TOP, DEEP = f"{SITE}top.xml", f"{SITE}deep.xml"
ONE, TWO = f"{SITE}one.xml", f"{SITE}two.xml"


def page(letters: str) -> bytes:
    return urlset(*(SITE + letter for letter in letters))


def unlisted_in(db: Path) -> set[str]:
    return {row.loc for row in State(db).unlisted()} if db.exists() else set()


async def come(pages: Pages, db: Path, **arguments: Any) -> tuple[str, int | None]:
    """Walk; return what became unlisted, and how many URLs wait."""
    common: dict[str, Any] = {"state": at_once(db), "changes": True, **arguments}
    site = None if "sitemaps" in common else SITE
    before = unlisted_in(db)
    report = (await walk_all(pages, site, **common)).report
    unlisted = unlisted_in(db) - before
    assert report.unlisted == len(unlisted)
    return "".join(sorted(loc.removeprefix(SITE) for loc in unlisted)), report.waiting


def site(one: str, two: str) -> Pages:
    return {TOP: index(ONE, TWO), ONE: page(one), TWO: page(two)}


@pytest.mark.parametrize("code", [404, 410])
async def test_a_child_that_is_missing_for_ever(
    db: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its URLs while it is listed; for a week what others lost waits for it."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    clock = SetClock(monkeypatch)
    assert await come(site("abc", "xy"), db, **top) == ("", 0)
    missing: Pages = {TWO: status(code, TWO)}
    for _ in range(7):  # "a" may have moved into the one that is missing
        clock.now += DAY
        assert await come(site("bc", "") | missing, db, **top) == ("", 1)
    clock.now += DAY
    assert await come(site("bc", "") | missing, db, **top) == ("a", 0)
    assert await come(site("c", "") | missing, db, **top) == ("b", 0)
    assert await come(site("c", "") | missing, db, **top) == ("", 0)
    assert await come({TOP: index(ONE), ONE: page("c")}, db, **top) == ("xy", 0)


async def test_a_url_that_moved_while_its_old_document_failed(db: Path) -> None:
    """It is listed by the other document when the old one is read again: it is not removed."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("ab", "xy"), db, **top)
    failing: Pages = {ONE: fault(IssueCode.TIMEOUT, ONE)}
    assert await come(site("", "xyb") | failing, db, **top) == ("", 0)
    assert await come(site("a", "xyb"), db, **top) == ("", 0)
    assert await come(site("a", "xy"), db, **top) == ("b", 0)


async def test_a_url_that_moved_and_is_kept_back_by_a_filter(db: Path) -> None:
    """A filter that hides it in its new document does not make it look removed."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("ab", "xy"), db, **top)
    assert await come(site("a", "xyb"), db, exclude="b$", **top) == ("", 0)
    assert await come(site("a", "xyb"), db, **top) == ("", 0)
    assert await come(site("a", "xyc"), db, exclude="c$", **top) == ("b", 0)
    assert await come(site("a", "xy"), db, **top) == ("", 0)  # c was never handed over


async def test_a_document_that_was_read_in_part(db: Path) -> None:
    """What was not reached is not gone; what it lacks when it is whole again is."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("abc", "x"), db, **top)
    cut: Pages = {ONE: page("abc")[:-60]}
    assert await come(site("", "") | cut, db, **top) == ("", 1)
    assert await come(site("ab", ""), db, **top) == ("cx", 0)


BELOW: Pages = {TOP: index(DEEP, TWO), DEEP: index(ONE), ONE: page("ab"), TWO: page("xy")}


@pytest.mark.parametrize(
    ("other", "arguments"),
    [
        ({DEEP: fault(IssueCode.CONNECT, DEEP)}, {}),
        ({DEEP: status(404, DEEP)}, {}),
        ({}, {"follow": lambda entry: entry.loc != DEEP}),
        ({}, {"limits": Limits(depth=1)}),
        ({}, {"limits": Limits(children=1), "follow": lambda entry: entry.loc != DEEP}),
        ({DEEP: index(f"{SITE}new.xml", ONE)[:-60], f"{SITE}new.xml": page("")}, {}),
    ],
    ids=["outage", "missing", "follow", "depth", "children", "cut"],
)
async def test_what_an_unread_index_listed_is_kept(
    db: Path, other: Pages, arguments: dict[str, Any]
) -> None:
    """The documents below an index that was not read are there until it says otherwise."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(BELOW, db, **top)
    assert (await come(BELOW | other, db, **top, **arguments))[0] == ""
    assert (
        await come(BELOW | {DEEP: index(f"{SITE}n.xml"), f"{SITE}n.xml": page("b")}, db, **top)
    )[0] == "a"


@pytest.mark.parametrize(
    "robots",
    [
        status(503),
        fault(IssueCode.CONNECT),
        status(403),
        b"<!doctype html><title>Home</title>",
        b'{"error": "maintenance"}',
        b"Service unavailable",
    ],
    ids=["503", "connect", "403", "page", "json", "text"],
)
async def test_a_robots_txt_that_cannot_be_read(db: Path, robots: Exception | bytes) -> None:
    """The documents that it names are kept; once it is there and names one less, that is gone."""
    named = f"Sitemap: {ONE}\nSitemap: {TWO}\n"
    pages: Pages = {ROBOTS: named.encode(), ONE: page("ab"), TWO: page("xy")}
    await come(pages, db)
    assert await come(pages | {ROBOTS: robots}, db) == ("", 0)
    assert await come(pages | {ROBOTS: f"Sitemap: {ONE}\n".encode()}, db) == ("xy", 0)


async def test_a_failed_newcomer_may_be_an_index(db: Path) -> None:
    """What the index lists no more may be listed by a new document that could not be read."""
    top: dict[str, Any] = {"sitemaps": [TOP]}
    await come(site("a", "x"), db, **top)
    pages: Pages = {TOP: index(DEEP, TWO), TWO: page("x"), DEEP: fault(IssueCode.DNS, DEEP)}
    assert await come(pages, db, **top) == ("", 0)
    assert await come(pages | {DEEP: index(ONE), ONE: page("a")}, db, **top) == ("", 0)
