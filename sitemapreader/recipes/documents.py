"""Search and RAG indexes: the changes and removals of a site's pages.

```python
pages = SiteDocuments("https://www.example.org/", state="site.db")
for batch in pages:                      # or: async for batch in pages.batches()
    index.delete([change.url for change in batch if change.kind == "delete"])
    index.add([change for change in batch if change.kind == "upsert"])
print(pages.report)
```
Asking for the next batch acknowledges this one as stored: after a kill the last one comes again.
No page is deleted because a sitemap was not read: see `SiteDocuments`. LangChain and LlamaIndex
take the pages through `make_langchain_loader` and `make_llama_index_reader`.

Requests go to public addresses only, whatever sitemaps list and pages redirect to; robots.txt and
Crawl-delay hold for pages too.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import aclosing, asynccontextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sitemapreader import Change, FetchError, FetchOptions, HttpFetcher, State, UrlEntry, walk
from sitemapreader.pages import PageRobots
from sitemapreader.recipes.crawler import Page, extract_text, fetch_page

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator

    from sitemapreader import Report
    from sitemapreader.fetch import Fetcher

BATCH_PAGES = 50
"""Changes in one batch, and so the most that come twice after a kill."""
_GONE = frozenset({404, 410})


@attrs.frozen(eq=False)
class PageChange:
    """One page's change, for an index to apply.

    Attributes:
        kind: "upsert": add the page, or replace the one with this id; "delete": remove it;
            "missed": it could not be fetched, so keep what is there.
        url: as the sitemap lists it; the id in the index.
        text: the text of the page.
        metadata: `source`, `title`, `lastmod`, `sitemap`, as far as they are known.
        reason: why it was missed: the code of an Issue, or "no-text".
    """

    kind: Literal["upsert", "delete", "missed"]
    url: str
    text: str = ""
    metadata: dict[str, str] = attrs.field(factory=dict)
    reason: str = ""


class SiteDocuments:
    """The changes of a site's pages since the last time, as a stream of batches.

    A page is deleted when its server answers 404 or 410: those that the sitemaps no longer list are
    asked, too. A page that could not be fetched is "missed", and tried again next time; one that
    answers, though no sitemap lists it, stays, and is asked again. A file beside the state, with
    the suffix `.missed`, remembers both.

    Args:
        site: its URL.
        state: the file that remembers what is in the index.
        extract: returns the text of a page, or ""; runs in a thread.
        workers: pages that are fetched at once; `options.per_host` of one host at most.
        options: how the network is used.
        fetcher: opens sitemaps and pages; it must check addresses itself, and is not closed.
            Without one, an HttpFetcher is made.
        arguments: arguments of `walk` that choose URLs, such as `include` and `exclude`.

    Attributes:
        report: the report of the last walk; `None` before the first.
    """

    def __init__(
        self,
        site: str,
        *,
        state: str | Path,
        extract: Callable[[Page], str] | None = None,
        workers: int = 8,
        options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
        fetcher: Fetcher | None = None,
        **arguments: Any,
    ) -> None:
        self.report: Report | None = None
        self._site = site
        self._state = Path(state)
        self._missed = _MissedPages(self._state.with_name(f"{self._state.name}.missed"))
        self._extract = extract or extract_text
        self._workers = workers
        self._options = options
        self._fetcher = fetcher
        self._arguments = arguments

    def __iter__(self) -> Iterator[list[PageChange]]:
        """Yield the batches without `await`, also where an event loop is running."""
        return iterate_blocking(self.batches())

    async def batches(self) -> AsyncGenerator[list[PageChange], None]:
        """Yield lists of changes; asking for the next list acknowledges this one."""
        async with self._open_fetcher() as fetcher, aclosing(self._changes(fetcher)) as parts:
            async for part in parts:
                async with aclosing(part) as batches:
                    async for batch in batches:
                        yield batch

    async def _changes(
        self, fetcher: Fetcher
    ) -> AsyncGenerator[AsyncGenerator[list[PageChange], None], None]:
        """Yield what an earlier walk left over, then the changes of this one."""
        rules = PageRobots(fetcher, self._options.user_agent)
        loader = _PageLoader(fetcher, rules, self._extract, self._workers)
        yield self._confirm(loader, self._begin())
        yield self._load(loader, self._missed.entries())
        # An HttpFetcher has options of its own.
        options = None if isinstance(fetcher, HttpFetcher) else self._options
        given = {"fetcher": fetcher, "options": options, **self._arguments}
        entries = walk(self._site, state=self._state, changes=True, **given)
        self.report = entries.report
        async with entries:
            async for found in entries.batches():
                yield self._confirm(loader, [e.loc for e in found if e.change is Change.REMOVED])
                yield self._load(loader, [e for e in found if e.change is not Change.REMOVED])
            if entries.report.removed:
                yield self._confirm(loader, entries.removed())

    @asynccontextmanager
    async def _open_fetcher(self) -> AsyncIterator[Fetcher]:
        if self._fetcher is not None:
            yield self._fetcher
            return
        async with HttpFetcher(self._options) as fetcher:
            fetcher.trust(self._site)
            yield fetcher

    def _begin(self) -> Iterator[str]:
        """Yield what the last walk, which may have been killed, found unlisted."""
        if self._state.exists():
            yield from State(self._state).removed(self._site)
        yield from self._missed.unlisted()

    async def _confirm(
        self, loader: _PageLoader, urls: Iterable[str]
    ) -> AsyncGenerator[list[PageChange], None]:
        """Ask pages that no sitemap lists; yield the deletions of those that are gone."""
        waiting = iter(urls)
        while entries := [UrlEntry(url) for url in islice(waiting, BATCH_PAGES)]:
            batch = []
            async with aclosing(loader.load(entries)) as changes:
                async for change in changes:
                    if change.kind == "delete":
                        self._missed.discard(change.url)
                        batch.append(change)
                    else:
                        self._missed.keep(change.url)
            self._missed.save()
            if batch:
                yield batch

    async def _load(
        self, loader: _PageLoader, entries: list[UrlEntry]
    ) -> AsyncGenerator[list[PageChange], None]:
        batch: list[PageChange] = []
        async with aclosing(loader.load(entries)) as changes:
            async for change in changes:
                self._missed.note(change)
                batch.append(change)
                if len(batch) == BATCH_PAGES:
                    yield batch
                    batch = []
        self._missed.save()  # before the walk takes these pages as acknowledged
        if batch:
            yield batch


@attrs.define
class _MissedPages:
    """The URLs that could not be fetched, and those that answer unlisted, in a file."""

    _path: Path
    _urls: dict[str, bool] | None = None
    _is_saved: bool = True

    def _known(self) -> dict[str, bool]:
        """Return the URLs -> whether a sitemap lists them."""
        if self._urls is None:
            text = self._path.read_text("utf-8") if self._path.exists() else "{}"
            self._urls = dict(json.loads(text))
        return self._urls

    def entries(self) -> list[UrlEntry]:
        return [UrlEntry(url) for url, is_listed in self._known().items() if is_listed]

    def unlisted(self) -> list[str]:
        return [url for url, is_listed in self._known().items() if not is_listed]

    def note(self, change: PageChange) -> None:
        if change.kind == "missed" and change.reason != "no-text":
            self._set(change.url, is_listed=True)
        else:
            self.discard(change.url)

    def keep(self, url: str) -> None:
        self._set(url, is_listed=False)

    def _set(self, url: str, *, is_listed: bool) -> None:
        self._is_saved &= self._known().get(url) is is_listed
        self._known()[url] = is_listed

    def discard(self, url: str) -> None:
        if url in self._known():
            del self._known()[url]
            self._is_saved = False

    def save(self) -> None:
        if self._is_saved:
            return
        part = self._path.with_name(f"{self._path.name}.part")
        part.write_text(json.dumps(self._known()), "utf-8")
        part.replace(self._path)
        self._is_saved = True


@attrs.frozen
class _PageLoader:
    """The loader of pages: fetches some at once, and makes a change of each."""

    _fetcher: Fetcher
    _rules: PageRobots
    _extract: Callable[[Page], str]
    _workers: int

    async def load(self, entries: Iterable[UrlEntry]) -> AsyncGenerator[PageChange, None]:
        """Yield a change for each entry, as they come; few pages wait for the consumer."""
        room = asyncio.Semaphore(self._workers)

        async def load_one(entry: UrlEntry) -> PageChange:
            await room.acquire()
            return await self._load(entry)

        tasks = [asyncio.create_task(load_one(entry)) for entry in entries]
        try:
            for task in asyncio.as_completed(tasks):
                yield await task
                room.release()
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _load(self, entry: UrlEntry) -> PageChange:
        try:
            page = await fetch_page(self._fetcher, self._rules, entry)
        except FetchError as error:
            if error.http_status in _GONE:
                return PageChange("delete", entry.loc)
            return PageChange("missed", entry.loc, reason=str(error.code))
        text = await asyncio.to_thread(self._extract, page)
        if not text.strip():
            return PageChange("missed", entry.loc, reason="no-text")
        return PageChange("upsert", entry.loc, text, _describe(page))


def _describe(page: Page) -> dict[str, str]:
    entry = page.entry
    known = {
        "source": page.url,
        "title": entry.title,
        "lastmod": entry.lastmod and entry.lastmod.isoformat(),
        "sitemap": entry.sitemap,
    }
    return {name: value for name, value in known.items() if value}


# -- other people's loaders


def make_langchain_loader(pages: SiteDocuments, on_delete: Callable[[str], object]) -> Any:
    """Return a LangChain `BaseLoader` of new and changed pages.

    `on_delete` is called with the id of each page that is gone, between the documents. Needs
    `langchain-core`.
    """
    from langchain_core.document_loaders import BaseLoader  # noqa: PLC0415 (not ours to need)
    from langchain_core.documents import Document  # noqa: PLC0415 (the same)

    class SiteLoader(BaseLoader):  # type: ignore[misc] # (a class without types, if it is there)
        def lazy_load(self) -> Iterator[Any]:
            for page in _apply(pages, on_delete):
                yield Document(page_content=page.text, metadata=page.metadata, id=page.url)

    return SiteLoader()


def make_llama_index_reader(pages: SiteDocuments, on_delete: Callable[[str], object]) -> Any:
    """Return a LlamaIndex `BaseReader` of the same; needs `llama-index-core`."""
    from llama_index.core.readers.base import BaseReader  # noqa: PLC0415 (not ours to need)
    from llama_index.core.schema import Document  # noqa: PLC0415 (the same)

    class SiteReader(BaseReader):  # type: ignore[misc] # (a class without types, if it is there)
        def lazy_load_data(self, *_args: Any, **_arguments: Any) -> Iterator[Any]:
            for page in _apply(pages, on_delete):
                yield Document(text=page.text, metadata=page.metadata, id_=page.url)

    return SiteReader()


def _apply(pages: SiteDocuments, on_delete: Callable[[str], object]) -> Iterator[PageChange]:
    for change in chain.from_iterable(pages):
        if change.kind == "delete":
            on_delete(change.url)
        elif change.kind == "upsert":
            yield change


# -- without await


def iterate_blocking(source: AsyncGenerator[list[PageChange], None]) -> Iterator[list[PageChange]]:
    """Yield what an asynchronous generator yields, from an event loop in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="sitemapreader.documents", daemon=True)
    thread.start()

    async def pull() -> list[PageChange] | None:
        return await anext(source, None)

    try:
        while (batch := asyncio.run_coroutine_threadsafe(pull(), loop).result()) is not None:
            yield batch
    finally:
        asyncio.run_coroutine_threadsafe(source.aclose(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
