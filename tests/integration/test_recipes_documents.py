"""The recipe for search indexes: after each run the index is the site, whatever went wrong."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web
from clock import DAY, SetClock
from serving import listen
from walking import index, urlset

from sitemapreader import FetchOptions
from sitemapreader.pages import read_page
from sitemapreader.recipes import documents
from sitemapreader.recipes.documents import (
    PageChange,
    SiteDocuments,
    make_langchain_loader,
    make_llama_index_reader,
)
from sitemapreader.state import PageFile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from sitemapreader.recipes.crawler import Page

OPTIONS = FetchOptions(max_attempts=1, host_pause_seconds=0.01)
LASTMOD = "2026-05-01"


@attrs.define
class Site:
    """A site on loopback: sitemaps of pages, and what is wrong with some."""

    base: str = ""
    sitemaps: dict[str, dict[str, str]] = attrs.field(factory=dict)
    """Name of a sitemap -> path of a page -> lastmod."""
    answers: dict[str, int | str] = attrs.field(factory=dict)
    """Path -> status, or where it leads."""
    hidden: dict[str, str] = attrs.field(factory=dict)
    """The same of pages that no sitemap needs to list."""
    texts: dict[str, str] = attrs.field(factory=dict)
    """Path -> HTML in place of what is made from the lastmod."""
    markdown: dict[str, str] = attrs.field(factory=dict)
    """Path -> Markdown."""
    tags: dict[str, str] = attrs.field(factory=dict)
    """Path -> ETag."""
    status: int = 302
    """Of redirects."""
    robots: str = ""
    requested: list[str] = attrs.field(factory=list)
    unchanged: list[str] = attrs.field(factory=list)
    """Paths that were answered with 304."""

    def publish(self, name: str, *paths: str, lastmod: str = LASTMOD) -> None:
        self.sitemaps[name] = dict.fromkeys(paths, lastmod)

    def text_of(self, path: str) -> str:
        return f"Page {path} of {self.lastmods()[path]}"

    def lastmods(self) -> dict[str, str]:
        return {path: each for pages in self.sitemaps.values() for path, each in pages.items()}

    def truth(self) -> dict[str, str]:
        """Return what an index of the whole site holds."""
        return {f"{self.base}{path}": self.text_of(path) for path in self.lastmods()}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        self.requested.append(path)
        answer = self.answers.get(path)
        if isinstance(answer, int):
            return web.Response(status=answer)
        if isinstance(answer, str):
            return web.Response(status=self.status, headers={"Location": answer})
        if path == "/robots.txt":
            return web.Response(text=f"{self.robots}\nSitemap: {self.base}/i.xml")
        if path == "/i.xml":
            return web.Response(body=index(*(f"{self.base}/{name}" for name in self.sitemaps)))
        if pages := self.sitemaps.get(path.removeprefix("/")):
            pairs = ((f"{self.base}{page}", lastmod) for page, lastmod in pages.items())
            return web.Response(body=urlset(*pairs))
        if path in self.markdown:
            return web.Response(text=self.markdown[path], content_type="text/markdown")
        if path in self.hidden or path in self.lastmods():
            tag = self.tags.get(path, "")
            if tag and request.headers.get("If-None-Match") == f'"{tag}"':
                self.unchanged.append(path)
                return web.Response(status=304)
            text = self.text_of(path) if path in self.lastmods() else "hidden"
            text = self.texts.get(path, text)
            html = text if text[0] == "<" else f"<script>no</script><p>{text}</p>"
            headers = {"ETag": f'"{tag}"'} if tag else {}
            return web.Response(text=html, content_type="text/html", headers=headers)
        return web.Response(status=404)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    served = Site()
    async with listen(served.answer) as served.base:
        yield served


class Index:
    """An index of pages, and what it was told that was no page."""

    def __init__(self, site: Site, db: Path, clock: SetClock) -> None:
        self.pages: dict[str, str] = {}
        self.missed: dict[str, str] = {}
        self.told: list[PageChange] = []
        self._site = site
        self._db = db
        self.clock = clock

    def apply(self, batch: Iterable[PageChange]) -> None:
        for change in batch:
            self.told.append(change)
            if change.kind == "upsert":
                self.pages[change.url] = change.text
            elif change.kind == "delete":
                self.pages.pop(change.url, None)
            else:
                self.missed[change.url.removeprefix(self._site.base)] = change.reason

    def source(self, **arguments: Any) -> SiteDocuments:
        return SiteDocuments(
            f"{self._site.base}/", state=self._db, **{"options": OPTIONS, **arguments}
        )

    async def run(self, *, days: float = 1, **arguments: Any) -> list[PageChange]:
        """Let days pass, then bring the index in step; return what it was told."""
        self.clock.now += days * DAY
        self.told, self.missed = [], {}
        async for batch in self.source(**arguments).batches():
            self.apply(batch)
        return self.told


@pytest.fixture
def told(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    return Index(site, tmp_path / "site.db", SetClock(monkeypatch))


# -- in step


async def test_an_index_follows_its_site(site: Site, told: Index) -> None:
    """New pages, changed ones and those that are gone: after each run the index is the site."""
    site.publish("a.xml", "/1", "/2")
    site.publish("b.xml", "/3")
    await told.run()
    assert told.pages == site.truth()
    assert await told.run() == []
    site.sitemaps["a.xml"] = {"/1": "2026-05-02", "/4": LASTMOD}
    changes = await told.run()
    changes += await told.run()  # what one list lost may be in the other, which is looked at again
    changes += await told.run()  # it has said twice that it is gone
    assert told.pages == site.truth()
    assert sorted((each.kind, each.url.removeprefix(site.base)) for each in changes) == [
        ("delete", "/2"),
        ("upsert", "/1"),
        ("upsert", "/4"),
    ]


async def test_what_an_index_is_given(site: Site, told: Index) -> None:
    """Text without scripts, and flat metadata that says where it is from."""
    site.publish("a.xml", "/1")
    (change,) = await told.run()
    assert change.text == site.text_of("/1")
    assert change.metadata == {
        "source": f"{site.base}/1",
        "lastmod": f"{LASTMOD}T00:00:00+00:00",
        "sitemap": f"{site.base}/a.xml",
    }


async def test_a_partial_walk_deletes_nothing_that_it_has_not_read(site: Site, told: Index) -> None:
    """A sitemap that fails, or is cut off from the index, takes none of its pages with it."""
    site.publish("a.xml", "/1", "/2")
    site.publish("b.xml", "/3", "/4")
    await told.run()
    before = dict(told.pages)
    for trouble in (500, 403, 404):
        site.answers["/b.xml"] = trouble
        changes = await told.run()
        assert [each for each in changes if each.kind == "delete"] == []
        assert told.pages == before
    site.answers["/i.xml"] = 500
    await told.run()
    assert told.pages == before
    site.answers.clear()
    await told.run()
    assert told.pages == site.truth()


@pytest.mark.parametrize("status", [404, 410])
async def test_a_listed_page_is_deleted_a_day_later(site: Site, told: Index, status: int) -> None:
    """One that says that it is gone is missed, deleted after a day, and added when it is back."""
    site.publish("a.xml", "/1", "/2")
    await told.run()
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-02")
    site.answers |= {"/2": status}
    await told.run()
    assert told.missed == {"/2": f"http-{status}"}
    assert [each.kind for each in await told.run(days=0.5)] == ["missed"]
    assert len(told.pages) == 2
    assert [each.kind for each in await told.run(days=0.5)] == ["delete"]
    assert await told.run(days=3) == []
    site.answers.clear()
    assert [each.kind for each in await told.run(days=7)] == ["upsert"]
    assert told.pages == site.truth()
    assert await told.run() == []


async def test_a_server_that_lies_for_a_day_deletes_nothing(site: Site, told: Index) -> None:
    """404 of all pages on one day costs no page, also where no lastmod moves afterwards."""
    paths = [f"/{number}" for number in range(60)]
    site.publish("a.xml", *paths)
    await told.run()
    site.publish("a.xml", *paths, lastmod="2026-05-02")
    site.answers |= dict.fromkeys(paths, 404)
    await told.run()
    await told.run(days=0.6)
    assert told.missed.keys() == set(paths)
    assert len(told.pages) == 60
    site.answers.clear()
    await told.run()
    assert told.pages == site.truth()
    site.answers |= dict.fromkeys(paths, 404)  # what was said before the good answer is void
    site.publish("a.xml", *paths, lastmod="2026-05-03")
    assert {each.kind for each in await told.run()} == {"missed"}
    site.answers |= dict.fromkeys(paths, 503)  # and so is what was said before an outage
    await told.run()
    site.answers |= dict.fromkeys(paths, 404)
    await told.run()
    assert len(told.pages) == 60


async def test_a_page_that_leads_elsewhere_for_now_is_kept(site: Site, told: Index) -> None:
    """A temporary redirect to another page does not replace a text, before it has lasted a day."""
    site.publish("a.xml", "/1", "/2")
    site.hidden |= {"/wait": ""}
    await told.run()
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-02")
    site.answers |= {"/2": "/wait"}
    await told.run()
    assert told.missed == {"/2": "redirected"}
    assert told.pages[f"{site.base}/2"].endswith(LASTMOD)
    await told.run()
    assert told.pages[f"{site.base}/2"] == "hidden"
    site.answers.clear()
    await told.run()
    assert told.pages == site.truth()


async def test_a_page_that_failed_comes_again(site: Site, told: Index, tmp_path: Path) -> None:
    """What could not be fetched stays as it was, is named, and is tried again next time."""
    site.publish("a.xml", "/1", "/2")
    await told.run()
    old = dict(told.pages)
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-02")
    site.answers["/2"] = 503
    await told.run()
    assert told.missed == {"/2": "http-503"}
    assert told.pages[f"{site.base}/2"] == old[f"{site.base}/2"]
    await told.run()
    assert told.missed == {"/2": "http-503"}
    site.answers.clear()
    await told.run()
    assert told.pages == site.truth()
    assert await told.run() == []
    with PageFile(tmp_path / "site.db.pages", f"{site.base}/") as pages:
        assert pages.list_failed(told.clock.now + 100 * DAY, "", 10) == []


@pytest.mark.parametrize("stops", [1, 2, 3])
async def test_a_run_that_is_left_is_made_up_for(
    site: Site, told: Index, stops: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that stops after some batches, again and again, is the site in the end."""
    monkeypatch.setattr(documents, "BATCH_PAGES", 10)
    site.publish("a.xml", *(f"/{number}" for number in range(60)))
    for _ in range(3):
        batches = told.source().batches()
        for _ in range(stops):
            told.apply(await anext(batches, []))
        await anext(batches, [])  # asked for, and lost: it comes again
        await batches.aclose()
    await told.run()
    assert told.pages == site.truth()


async def test_a_deletion_that_was_lost_comes_again(site: Site, told: Index) -> None:
    """A kill between the walk's end and the deletion is made up for by the next run."""
    site.publish("a.xml", "/1", "/2")
    await told.run()
    site.publish("a.xml", "/1")
    assert await told.run() == []  # it is gone, but has said so once only
    told.clock.now += DAY
    batches = told.source().batches()
    assert [each.kind for each in await anext(batches)] == ["delete"]  # and the index dies of it
    await batches.aclose()
    assert len(told.pages) == 2
    await told.run()
    assert told.pages == site.truth()


async def test_a_page_that_answers_is_not_deleted(site: Site, told: Index) -> None:
    """A page that no sitemap lists is asked each week, kept in step, and deleted once gone."""
    site.publish("a.xml", "/1", "/2")
    site.hidden |= {"/2": LASTMOD}
    await told.run()
    site.publish("a.xml", "/1")
    assert [(each.kind, each.text) for each in await told.run()] == [("upsert", "hidden")]
    site.requested.clear()
    for _ in range(6):
        assert await told.run() == []
    assert "/2" not in site.requested
    assert await told.run() == []
    assert site.requested.count("/2") == 1
    site.hidden.clear()
    for days in (7, 0.5):
        assert await told.run(days=days) == []
    assert [each.kind for each in await told.run(days=0.5)] == ["delete"]
    assert told.pages == site.truth()
    assert await told.run(days=30) == []


@pytest.mark.parametrize(("status", "runs"), [(301, 3), (308, 3), (302, 0)])
async def test_an_unlisted_page_that_has_moved(
    site: Site, told: Index, status: int, runs: int
) -> None:
    """A permanent redirect to another page deletes a page; a temporary one keeps it."""
    site.publish("a.xml", "/1", "/2")
    await told.run()
    site.publish("a.xml", "/1")
    site.hidden |= {"/new": ""}
    site.answers |= {"/2": "/new"}
    site.status = status
    kinds = [each.kind for _ in range(4) for each in await told.run()]
    assert kinds == ["delete"] * bool(runs)
    assert len(told.pages) == (1 if runs else 2)


async def test_a_listed_page_that_has_moved(site: Site, told: Index) -> None:
    """One that redirects to a page of the index is deleted; else what is there is its text."""
    site.publish("a.xml", "/1", "/2", "/3")
    await told.run()
    site.status = 301
    site.hidden |= {"/new": ""}
    site.answers |= {"/2": "/1", "/3": "/new"}
    site.publish("a.xml", "/1", "/2", "/3", lastmod="2026-05-02")
    await told.run()
    assert told.missed == {"/2": "redirected", "/3": "redirected"}
    changes = await told.run()
    assert {(each.kind, each.url.removeprefix(site.base)) for each in changes} == {
        ("delete", "/2"),
        ("upsert", "/3"),
    }
    site.texts |= {"/new": "newer"}
    site.publish("a.xml", "/1", "/2", "/3", lastmod="2026-05-03")
    await told.run()
    assert told.missed == {}  # a text that was found there before is not doubted
    assert told.pages[f"{site.base}/3"] == "newer"


async def test_a_text_that_is_gone_for_a_day(site: Site, told: Index) -> None:
    """An empty page does not replace a text, and is asked again."""
    site.publish("a.xml", "/1")
    await told.run()
    site.publish("a.xml", "/1", lastmod="2026-05-02")
    site.texts |= {"/1": "<p></p>"}
    await told.run()
    assert told.missed == {"/1": "no-text"}
    assert len(told.pages) == 1
    site.texts.clear()
    await told.run()
    assert told.pages == site.truth()


async def test_removals_can_be_believed(site: Site, told: Index) -> None:
    """With `confirm=False` what the lists have lost is deleted, and not asked."""
    site.publish("a.xml", "/1", "/2")
    site.hidden |= {"/2": LASTMOD}
    await told.run()
    site.publish("a.xml", "/1")
    site.requested.clear()
    assert [each.kind for each in await told.run(confirm=False)] == ["delete"]
    assert "/2" not in site.requested


# -- what is asked, and what is added again


async def test_the_same_text_is_not_added_again(site: Site, told: Index) -> None:
    """A lastmod that moves alone, or a counter that is to be ignored, adds nothing."""
    site.publish("a.xml", "/1", "/2")
    site.texts |= {"/1": "A page. 1 view"}
    await told.run(ignore=[r"\d+ views?"])
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-02")
    site.texts |= {"/1": "A page. 7 views", "/2": f"Page /2 of {LASTMOD}"}
    assert await told.run(ignore=[r"\d+ views?"]) == []
    assert site.requested.count("/2") == 2


async def test_pages_are_revisited(site: Site, told: Index) -> None:
    """With `revisit` a change is found though no date tells of it, the most doubted pages first."""
    revisit = timedelta(days=10)
    paths = [f"/{number}" for number in range(6)]
    site.publish("a.xml", *paths)
    site.sitemaps["a.xml"] |= {"/0": "", "/1": ""}
    site.texts |= dict.fromkeys(paths, "old")
    await told.run(revisit=revisit)
    site.texts |= dict.fromkeys(paths, "new")
    assert await told.run(days=9, revisit=revisit) == []
    site.requested.clear()
    told_ = await told.run(revisit=revisit, revisit_pages=4)
    assert {each.url.removeprefix(site.base) for each in told_} > {"/0", "/1"}
    assert len(told_) == 4
    await told.run(revisit=revisit, revisit_pages=4)
    assert set(told.pages.values()) == {"new"}
    assert await told.run(revisit=revisit) == []


async def test_validators_are_believed_once_proven(site: Site, told: Index) -> None:
    """A 304 counts after an ETag has told of a change; one that hides a change never again."""
    site.publish("a.xml", "/1", "/2")
    site.tags |= {"/1": "a", "/2": "a"}

    async def change(**tags: str) -> list[str]:
        day = f"2026-05-{len(days):02}"
        days.append(day)
        site.publish("a.xml", "/1", "/2", lastmod=day)
        site.tags |= {f"/{name[1]}": tag for name, tag in tags.items()}
        site.unchanged.clear()
        return [each.url.removeprefix(site.base) for each in await told.run()]

    days = ["", "", ""]
    await told.run()
    site.texts |= {"/2": "two"}
    assert await change(p1="b") == ["/1", "/2"]  # /2 has changed behind its ETag
    site.texts |= {"/1": "one", "/2": "zwei"}
    assert await change() == ["/1", "/2"]
    assert site.unchanged == []


async def test_a_page_that_says_304(site: Site, told: Index) -> None:
    """Pages whose ETag is known to tell of changes are not sent again for a month."""
    site.publish("a.xml", "/1", "/2")
    site.tags |= {"/1": "a", "/2": "a"}
    await told.run()
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-02")
    site.tags |= {"/1": "b"}
    site.texts |= {"/2": f"Page /2 of {LASTMOD}"}
    assert [each.url for each in await told.run()] == [f"{site.base}/1"]
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-03")
    site.texts |= {"/1": site.text_of("/1"), "/2": "hidden by the ETag"}
    assert await told.run() == []
    assert site.unchanged == ["/1", "/2"]
    changes = await told.run(days=31, revisit=timedelta(days=30))
    assert {each.text for each in changes} == {"Page /1 of 2026-05-03", "hidden by the ETag"}


async def test_another_page_may_have_the_same_tag(site: Site, told: Index) -> None:
    """A 304 of the page to which one redirects says nothing about the text of the first."""
    site.publish("a.xml", "/1", "/2")
    site.hidden |= {"/other": ""}
    site.texts |= {"/1": "one", "/2": "two"}
    site.tags |= {"/1": "a", "/2": "a", "/other": "a"}
    await told.run()
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-02")
    site.texts |= {"/1": "eins"}
    site.tags |= {"/1": "b"}
    await told.run()
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-03")
    site.answers |= {"/2": "/other"}
    await told.run()
    assert site.unchanged == ["/1", "/other"]
    assert told.missed == {"/2": "redirected"}


@pytest.mark.parametrize(
    ("html", "markdown", "taken"),
    [
        ("one two three", "# One two three", "# One two three"),
        ("many " * 19 + "words", "# One", "many " * 19 + "words"),
        ("one two three", None, "one two three"),
    ],
)
async def test_markdown_is_preferred(
    site: Site, told: Index, html: str, markdown: str | None, taken: str
) -> None:
    """The version that a page names in Markdown is its text, and is asked for itself from then on.

    One with a fraction of the words, or that is not there, is no version.
    """
    site.publish("a.xml", "/1")
    link = '<link rel="alternate" type="text/markdown" href="/1.md">'
    site.texts |= {"/1": f"{link}<p>{html}"}
    if markdown is not None:
        site.markdown |= {"/1.md": markdown}
    await told.run()
    assert [*told.pages.values()] == [taken]
    site.publish("a.xml", "/1", lastmod="2026-05-02")
    site.requested.clear()
    assert await told.run() == []
    used = taken == markdown
    assert [path for path in site.requested if path[1] == "1"] == ["/1.md" if used else "/1"]
    site.markdown.clear()
    site.hidden |= {"/1.md": "an error page in HTML with the status 200"}
    site.publish("a.xml", "/1", lastmod="2026-05-03")
    changes = await told.run()
    assert [each.text for each in changes] == ([html] if used else [])


async def test_a_server_may_send_markdown_itself(site: Site, told: Index) -> None:
    """A page that answers `Accept: text/markdown` is asked once."""
    site.publish("a.xml", "/1")
    site.markdown |= {"/1": "# Title"}
    await told.run()
    assert [*told.pages.values()] == ["# Title"]
    assert site.requested.count("/1") == 1


async def test_a_lost_page_file_deletes_nothing(site: Site, told: Index, tmp_path: Path) -> None:
    """A damaged file is renamed, and all pages are asked again; then all is as it was."""
    site.publish("a.xml", "/1", "/2")
    await told.run()
    (tmp_path / "site.db.pages").write_bytes(b"damaged" * 1000)
    assert {each.kind for each in await told.run()} == {"upsert"}
    assert (tmp_path / "site.db.pages.corrupt-1").exists()
    assert await told.run() == []
    site.publish("a.xml", "/1")
    changes = [each.kind for _ in range(3) for each in await told.run()]
    assert changes == ["delete"]
    assert told.pages == site.truth()


async def test_two_sites_share_a_state(site: Site, told: Index, tmp_path: Path) -> None:
    """What one site missed is not asked for in the run of another."""
    site.publish("a.xml", "/1", "/2")
    site.answers |= {"/2": 503}
    await told.run()
    site.requested.clear()
    other = Site()
    other.publish("b.xml", "/3")
    async with listen(other.answer) as other.base:
        source = SiteDocuments(f"{other.base}/", state=tmp_path / "site.db", options=OPTIONS)
        assert [each.url async for batch in source.batches() for each in batch] == [
            f"{other.base}/3"
        ]
    assert site.requested == []
    site.answers.clear()
    other = Site()
    other.publish("b.xml", "/4")
    async with listen(other.answer) as other.base:

        async def run(base: str) -> int:
            source = SiteDocuments(f"{base}/", state=tmp_path / "site.db", options=OPTIONS)
            return sum([len(batch) async for batch in source.batches()])

        found = await asyncio.gather(run(site.base), run(other.base))  # at once, too
        assert sum(found) == 2


async def test_few_pages_wait(site: Site, told: Index) -> None:
    """While a batch is being stored, no more pages are fetched than there are workers."""
    site.publish("a.xml", *(f"/{number}" for number in range(100)))
    batches = told.source(workers=4).batches()
    await anext(batches)
    await asyncio.sleep(0.3)
    pages = [path for path in site.requested if path[1:].isdigit()]
    assert documents.BATCH_PAGES <= len(pages) <= documents.BATCH_PAGES + 4
    await batches.aclose()


# -- where requests go


async def test_robots_txt_holds_for_pages(site: Site, told: Index) -> None:
    """A page that is disallowed is missed, and never requested."""
    site.robots = "User-agent: *\nDisallow: /private"
    site.publish("a.xml", "/1", "/private/2")
    await told.run()
    assert told.missed == {"/private/2": "robots"}
    assert "/private/2" not in site.requested


async def test_a_bug_in_extract_comes_out(site: Site, told: Index) -> None:
    """What `extract` raises ends the run; the pages come again."""
    site.publish("a.xml", "/1", "/2")

    def fail(page: Page) -> str:
        raise ZeroDivisionError(page.url)

    with pytest.raises(ZeroDivisionError):
        await told.run(extract=fail)
    await told.run()
    assert told.pages == site.truth()


# -- without await, and for others


def collect(source: Iterable[list[PageChange]]) -> list[str]:
    return [change.url for batch in source for change in batch]


async def test_it_iterates_without_await(site: Site, told: Index) -> None:
    """A loop without `await` gets the same, and leaves no thread, also when it is left."""
    before = {*threading.enumerate()}
    site.publish("a.xml", *(f"/{number}" for number in range(120)))
    found = await asyncio.to_thread(collect, told.source())
    assert set(found) == site.truth().keys()

    def leave() -> None:
        site.sitemaps["a.xml"] = dict.fromkeys(site.sitemaps["a.xml"], "2026-05-03")
        for _ in told.source():
            break

    await asyncio.to_thread(leave)
    for _ in range(200):  # a thread may take a moment to end
        left = [each for each in {*threading.enumerate()} - before if "sitemapreader" in each.name]
        if not left:
            break
        await asyncio.sleep(0.05)
    assert left == []


async def test_langchain_takes_it(site: Site, told: Index) -> None:
    """A loader of LangChain gives documents with ids, and deletions to the callback."""
    loaders = pytest.importorskip(
        "langchain_core.document_loaders", reason="no langchain-core: pip install langchain-core"
    )
    site.publish("a.xml", "/1", "/2")
    deleted: list[str] = []
    loader = make_langchain_loader(told.source(), deleted.append)
    assert isinstance(loader, loaders.BaseLoader)
    found = await asyncio.to_thread(loader.load)
    assert {each.id: each.page_content for each in found} == site.truth()
    assert found[0].metadata["sitemap"] == f"{site.base}/a.xml"
    site.publish("a.xml", "/1")
    await told.run()
    site.publish("a.xml", "/1", "/3")
    told.clock.now += DAY
    again = make_langchain_loader(told.source(), deleted.append)
    assert [each.id async for each in again.alazy_load()] == [f"{site.base}/3"]
    assert deleted == [f"{site.base}/2"]


async def test_llama_index_takes_it(site: Site, told: Index) -> None:
    """A reader of LlamaIndex gives documents with ids, and deletions to the callback."""
    base = pytest.importorskip(
        "llama_index.core.readers.base", reason="no llama-index-core: pip install llama-index-core"
    )
    site.publish("a.xml", "/1", "/2")
    deleted: list[str] = []
    reader = make_llama_index_reader(told.source(), deleted.append)
    assert isinstance(reader, base.BaseReader)
    found = await asyncio.to_thread(reader.load_data)
    assert {each.doc_id: each.text for each in found} == site.truth()
    site.publish("a.xml", "/1")
    await told.run()
    told.clock.now += DAY
    again = make_llama_index_reader(told.source(), deleted.append)
    assert await asyncio.to_thread(lambda: list(again.lazy_load_data())) == []
    assert deleted == [f"{site.base}/2"]


def test_neither_is_needed() -> None:
    """The recipe imports without LangChain and LlamaIndex; asking for them names the package."""
    script = (
        "import sys\n"
        "sys.modules['langchain_core'] = sys.modules['llama_index'] = None\n"
        "from sitemapreader.recipes import documents\n"
        "pages = documents.SiteDocuments('https://a.example/', state='x.db')\n"
        "for make in (documents.make_langchain_loader, documents.make_llama_index_reader):\n"
        "    try: make(pages, print)\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "langchain_core" in done.stdout
    assert "llama_index" in done.stdout


# -- text


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"<title>T</title><p>a <b>b</b>&amp;c<p>d", "text/html", "a b&c\nd"),
        (b"<nav>menu</nav><p>a<footer>end</footer>", "text/html", "a"),
        (b"<style>x</style>a<script>if (1<2) x</script>b", "text/html", "a\nb"),
        (b"<p>unclosed <div>tags", "text/html", "unclosed\ntags"),
        ("<p>Grüße".encode("latin-1"), "text/html; charset=iso-8859-1", "Grüße"),
        ('<meta charset="windows-1252"><p>Grüße'.encode("cp1252"), "text/html", "Grüße"),
        ("<p>Grüße".encode(), "text/html; charset=no-such-thing", "Grüße"),
        (b"<p>a", "text/html; charset=rot13", "a"),
        (b"plain <b>", "text/plain", "plain <b>"),
        (b"%PDF-1.7", "application/pdf", ""),
        (b"", "text/html", ""),
    ],
)
def test_the_text_of_a_page(body: bytes, kind: str, text: str) -> None:
    """What people see, a block a line, in the encoding that the page names."""
    assert read_page(body, "https://a.example/", {"content-type": kind}).text == text


async def test_a_page_without_text_is_said(site: Site, told: Index) -> None:
    """It is missed with the reason, and not tried again before it changes."""
    site.publish("a.xml", "/1")
    await told.run(extract=lambda _: " \n")
    assert told.missed == {"/1": "no-text"}
    assert await told.run() == []
