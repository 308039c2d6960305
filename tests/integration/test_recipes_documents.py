"""The recipe for search indexes: after each run the index is the site, whatever went wrong."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web
from serving import listen
from walking import index, urlset

from sitemapreader import FetchOptions, UrlEntry
from sitemapreader.recipes import documents
from sitemapreader.recipes.crawler import Page, extract_text
from sitemapreader.recipes.documents import (
    PageChange,
    SiteDocuments,
    make_langchain_loader,
    make_llama_index_reader,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

OPTIONS = FetchOptions(max_attempts=1)
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
    robots: str = ""
    requested: list[str] = attrs.field(factory=list)

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
            return web.Response(status=302, headers={"Location": answer})
        if path == "/robots.txt":
            return web.Response(text=f"{self.robots}\nSitemap: {self.base}/i.xml")
        if path == "/i.xml":
            return web.Response(body=index(*(f"{self.base}/{name}" for name in self.sitemaps)))
        if pages := self.sitemaps.get(path.removeprefix("/")):
            pairs = ((f"{self.base}{page}", lastmod) for page, lastmod in pages.items())
            return web.Response(body=urlset(*pairs))
        if path in self.hidden or path in self.lastmods():
            text = self.text_of(path) if path in self.lastmods() else "hidden"
            html = f"<title>x</title><script>no</script><p>{text}</p>"
            return web.Response(text=html.replace("<title>x</title>", ""), content_type="text/html")
        return web.Response(status=404)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    served = Site()
    async with listen(served.answer) as served.base:
        yield served


class Index:
    """An index of pages, and what it was told that was no page."""

    def __init__(self, site: Site, db: Path) -> None:
        self.pages: dict[str, str] = {}
        self.missed: dict[str, str] = {}
        self.told: list[PageChange] = []
        self._site = site
        self._db = db

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

    async def run(self, **arguments: Any) -> list[PageChange]:
        """Bring the index in step; return what it was told."""
        self.told, self.missed = [], {}
        async for batch in self.source(**arguments).batches():
            self.apply(batch)
        return self.told


@pytest.fixture
def told(site: Site, tmp_path: Path) -> Index:
    return Index(site, tmp_path / "site.db")


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


async def test_a_page_that_is_gone_is_deleted(site: Site, told: Index) -> None:
    """A page that is listed, and answers 404 or 410, leaves the index."""
    site.publish("a.xml", "/1", "/2", "/3")
    await told.run()
    site.publish("a.xml", "/1", "/2", "/3", lastmod="2026-05-02")
    site.answers |= {"/2": 404, "/3": 410}
    await told.run()
    assert told.pages == {f"{site.base}/1": site.text_of("/1")}


async def test_a_page_that_failed_comes_again(site: Site, told: Index, tmp_path: Path) -> None:
    """What could not be fetched stays as it was, is named, and is tried again next time."""
    site.publish("a.xml", "/1", "/2")
    await told.run()
    old = dict(told.pages)
    site.publish("a.xml", "/1", "/2", lastmod="2026-05-02")
    site.answers["/2"] = 503
    await told.run()
    assert told.missed == {"/2": "http-status"}
    assert told.pages[f"{site.base}/2"] == old[f"{site.base}/2"]
    await told.run()
    assert told.missed == {"/2": "http-status"}
    site.answers.clear()
    await told.run()
    assert told.pages == site.truth()
    assert await told.run() == []
    assert (tmp_path / "site.db.missed").read_text() == "{}"


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
    async for batch in told.source().batches():
        assert [each.kind for each in batch] == ["delete"]  # and the index dies of it
    assert len(told.pages) == 2
    await told.run()
    assert told.pages == site.truth()


async def test_a_page_that_answers_is_not_deleted(site: Site, told: Index) -> None:
    """A page that no sitemap lists is asked each time, and deleted once it is gone."""
    site.publish("a.xml", "/1", "/2")
    site.hidden |= {"/2": LASTMOD}
    await told.run()
    site.publish("a.xml", "/1")
    for _ in range(2):
        assert await told.run() == []
        assert len(told.pages) == 2
    site.hidden.clear()
    assert [each.kind for each in await told.run()] == ["delete"]
    assert told.pages == site.truth()
    assert await told.run() == []


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
    assert told.missed == {"/private/2": "robots-disallowed"}
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
    site.publish("a.xml", "/1", "/3")
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


def page_of(body: bytes, kind: str = "text/html") -> Page:
    return Page(UrlEntry("https://a.example/"), "https://a.example/", {"content-type": kind}, body)


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
    assert extract_text(page_of(body, kind)) == text


async def test_a_page_without_text_is_said(site: Site, told: Index) -> None:
    """It is missed with the reason, and not tried again before it changes."""
    site.publish("a.xml", "/1")
    await told.run(extract=lambda _: " \n")
    assert told.missed == {"/1": "no-text"}
    assert await told.run() == []
