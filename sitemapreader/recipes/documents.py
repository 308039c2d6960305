"""Search and RAG indexes: the changes and removals of a site's pages.

```python
pages = SiteDocuments("https://www.example.org/", state="site.db")
for batch in pages:                      # or: async for batch in pages.batches()
    index.delete([change.url for change in batch if change.kind == "delete"])
    index.add([change for change in batch if change.kind == "upsert"])
print(pages.report)
```
Asking for the next batch acknowledges this one as stored: after a kill the last one comes again.
Neither a sitemap nor one answer deletes a page: see `SiteDocuments`. LangChain and LlamaIndex take
the pages through `make_langchain_loader` and `make_llama_index_reader`.

Requests go to public addresses only, whatever sitemaps list and pages redirect to; robots.txt and
Crawl-delay hold for pages too.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from sitemapreader import Change, FetchOptions, HttpFetcher, State, StateError, UrlEntry, walk
from sitemapreader.event_loop import LoopThread
from sitemapreader.pages import PageVisitor, VisitOptions
from sitemapreader.recipes.asking import WEEK, PageAnswer, PageAsker, PageLaw
from sitemapreader.recipes.crawler import MAX_PAGE_BYTES
from sitemapreader.state import PageFile, PageRecord
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
    from datetime import timedelta
    from pathlib import Path

    from sitemapreader import Report
    from sitemapreader.fetch import Fetcher
    from sitemapreader.recipes.crawler import Page

_Part: TypeAlias = "list[tuple[PageRecord, UrlEntry | None]]"
"""Pages that are asked together, with what a sitemap that was just read says of them."""

BATCH_PAGES = 50
"""Pages that are asked for one batch, and so the most changes that come twice after a kill."""


@attrs.frozen(eq=False)
class PageChange:
    """One page's change, for an index to apply.

    Attributes:
        kind: "upsert": add the page, or replace the one with this id; "delete": remove it;
            "missed": it did not answer with its text, so keep what is there.
        url: as the sitemap lists it; the id in the index.
        text: the text of the page.
        metadata: `source`, `title`, `lastmod`, `sitemap`, as far as they are known.
        reason: why it was missed: "http-404" or another status, "no-text", "redirected", a word of
            `sitemapreader.pages.NotJudged`, or the code of an Issue.
    """

    kind: Literal["upsert", "delete", "missed"]
    url: str
    text: str = ""
    metadata: dict[str, str] = attrs.field(factory=dict)
    reason: str = ""


class SiteDocuments:
    """The changes of a site's pages since the last time, as a stream of batches.

    A page is asked when its lastmod moves, and comes again if its text has changed. One that does
    not answer with its text is "missed", and asked again by the next runs. A page is deleted if it
    said so itself, twice, a day apart: docs/search-indexes.md has the law. A file beside the state,
    with the suffix `.pages`, remembers what the pages said.

    Args:
        site: its URL.
        state: what remembers the sitemaps; its `confirm_after` is the day of the law.
        extract: returns the text of a page, or ""; runs in a thread. Without it, the main text is
            taken.
        workers: pages that are fetched at once; `options.per_host` of one host at most.
        options: how the network is used.
        fetcher: opens sitemaps and pages; it must check addresses itself, and is not closed.
            Without one, an HttpFetcher is made.
        confirm: whether pages that no sitemap lists any more are asked before they are deleted.
        revisit: how long a page is left alone whose lastmod does not move; `None`: for ever.
        revisit_pages: pages that one run asks at most, though no sitemap says that they changed.
        markdown: whether a version in Markdown is preferred; `extract` gets HTML alone.
        ignore: regular expressions; what they match, such as a counter, makes no other text.
        arguments: arguments of `walk` that choose URLs, such as `include` and `exclude`.

    Attributes:
        report: the report of the last walk; `None` before the first.
    """

    def __init__(
        self,
        site: str,
        *,
        state: str | Path | State,
        extract: Callable[[Page], str] | None = None,
        workers: int = 8,
        options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
        fetcher: Fetcher | None = None,
        confirm: bool = True,
        revisit: timedelta | None = None,
        revisit_pages: int = 1000,
        markdown: bool = True,
        ignore: Iterable[str] = (),
        **arguments: Any,
    ) -> None:
        self.report: Report | None = None
        self._site = site
        self._state = state if isinstance(state, State) else State(state)
        self._extract = extract
        self._workers = workers
        self._options = options
        self._fetcher = fetcher
        self._confirm = confirm
        self._revisit = None if revisit is None else revisit.total_seconds()
        self._revisit_pages = revisit_pages
        self._markdown = markdown and extract is None
        self._law = PageLaw(
            self._state.rules.confirm_after.total_seconds(),
            min(WEEK, WEEK if self._revisit is None else self._revisit),
            tuple(ignore),
        )
        self._arguments = arguments

    def __iter__(self) -> Iterator[list[PageChange]]:
        """Yield the batches without `await`, also where an event loop is running."""
        return iterate_blocking(self.batches())

    async def batches(self) -> AsyncGenerator[list[PageChange], None]:
        """Yield lists of changes; asking for the next list acknowledges this one."""
        path = self._state.path
        with PageFile(path.with_name(f"{path.name}.pages"), url_key(self._site)) as pages:
            async with self._open_fetcher() as fetcher:
                settler = self._make_settler(fetcher, pages)
                async with aclosing(self._choose(fetcher, pages)) as parts:
                    async for part in parts:
                        changes, records = await settler.settle(part)
                        if changes:
                            yield changes
                        pages.save(records)  # before the walk takes these pages as acknowledged

    async def _choose(self, fetcher: Fetcher, pages: PageFile) -> AsyncGenerator[_Part, None]:
        """Yield pages to ask: those that failed, that a walk finds, that are in doubt."""
        if self._knows_site():
            with suppress(StateError):  # then the walk replaces the file
                # What the last walk found, which may have been killed before it was noted here.
                pages.unlist(self._state.removed(self._site))
        else:
            pages.is_filled = True
        now, after = time.time(), ""
        while records := pages.list_failed(now, after, BATCH_PAGES):
            after = records[-1].url
            yield [(record, None) for record in records]
        # An HttpFetcher has options of its own.
        options = None if isinstance(fetcher, HttpFetcher) else self._options
        given = {"fetcher": fetcher, "options": options, **self._arguments}
        if pages.is_filled:
            given |= {"state": self._state, "changes": True}
        entries = walk(self._site, **given)
        self.report = entries.report
        async with entries:
            async for found in entries.batches():
                if gone := [each.loc for each in found if each.change is Change.REMOVED]:
                    pages.unlist(gone)
                listed = {each.loc: each for each in found if each.change is not Change.REMOVED}
                waiting = iter(listed.values())
                while some := list(islice(waiting, BATCH_PAGES)):
                    known = pages.find(each.loc for each in some)
                    yield [(known.get(each.loc, PageRecord(each.loc)), each) for each in some]
            if entries.report.removed:
                pages.unlist(entries.removed())
        pages.is_filled = True
        now = time.time()
        before = 0 if self._revisit is None else now - self._revisit
        doubted = pages.list_doubted(now, before, self._revisit_pages)
        for first in range(0, max(1, len(doubted)), BATCH_PAGES):
            yield [(record, None) for record in doubted[first : first + BATCH_PAGES]]

    def _knows_site(self) -> bool:
        """Return whether earlier walks delivered pages that these will not."""
        with suppress(StateError):
            names = (self._site, url_key(self._site))
            return any(site.name in names for site in self._state.sites())
        return False

    def _make_settler(self, fetcher: Fetcher, pages: PageFile) -> _Settler:
        options = VisitOptions(
            text=self._extract is None, body_bytes=MAX_PAGE_BYTES if self._extract else 0
        )
        trusted = [self._site]
        visitor = PageVisitor(fetcher, options, network=self._options, trusted=trusted)
        return _Settler(
            pages,
            PageAsker(visitor, self._extract, self._markdown),
            self._law,
            asyncio.Semaphore(self._workers),
            confirm=self._confirm,
            distrust_seconds=self._state.rules.distrust_after.total_seconds(),
        )

    @asynccontextmanager
    async def _open_fetcher(self) -> AsyncIterator[Fetcher]:
        if self._fetcher is not None:
            yield self._fetcher
            return
        async with HttpFetcher(self._options) as fetcher:
            fetcher.trust(self._site)
            yield fetcher


@attrs.frozen
class _Settler:
    """The pages of a part: asked, some at once, and judged."""

    _pages: PageFile
    _asker: PageAsker
    _law: PageLaw
    _room: asyncio.Semaphore
    _confirm: bool
    _distrust_seconds: float

    async def settle(self, part: _Part) -> tuple[list[PageChange], dict[str, PageRecord | None]]:
        """Return the changes of pages, and their records; `None` forgets a page."""
        tasks = [asyncio.create_task(self._settle_one(old, entry)) for old, entry in part]
        try:
            verdicts = await asyncio.gather(*tasks)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        changes = [change for change, _ in verdicts if change is not None]
        return changes, {old.url: new for (old, _), (_, new) in zip(part, verdicts, strict=True)}

    async def _settle_one(
        self, old: PageRecord, entry: UrlEntry | None
    ) -> tuple[PageChange | None, PageRecord | None]:
        url, lastmod = old.url, old.lastmod
        if entry is not None:
            lastmod = entry.lastmod.isoformat() if entry.lastmod else None
            old = attrs.evolve(old, is_listed=True)
        elif not old.is_listed and not self._confirm:
            return PageChange("delete", url), None
        is_old = time.time() - (old.read_at or 0) >= self._distrust_seconds
        fresh = is_old or not self._pages.trusts_validators
        async with self._room:
            answer = await self._asker.ask(old, entry or UrlEntry(url), fresh=fresh)
        final = answer.visit.final_url
        there = self._pages.find([final]).get(final) if answer.is_elsewhere else None
        is_held_there = there is not None and there.text_hash is not None
        verdict = self._law.judge(old, answer, lastmod, is_held_there=is_held_there)
        new = verdict.record
        if verdict.kind == "upsert":
            self._note_validators(old, new)
            return PageChange(
                "upsert", url, answer.text or "", _describe(url, answer, entry, lastmod)
            ), new
        if verdict.kind == "kept" or (verdict.kind == "missed" and not old.is_listed):
            return None, new
        return PageChange(verdict.kind, url, reason=verdict.reason), new

    def _note_validators(self, old: PageRecord, new: PageRecord | None) -> None:
        """Note whether a server's validators tell of a change of the text."""
        if new and old.text_hash and (old.markdown_url or None) == new.markdown_url:
            before = (old.etag, old.last_modified)
            if any(before):
                are_true = before != (new.etag, new.last_modified)
                self._pages.note_validators(are_true=are_true)


def _describe(
    url: str, answer: PageAnswer, entry: UrlEntry | None, lastmod: str | None
) -> dict[str, str]:
    facts = answer.visit.facts
    known = {
        "source": answer.visit.final_url if answer.visit.url == url else url,
        "title": (entry and entry.title) or (facts and facts.title),
        "lastmod": lastmod,
        "sitemap": entry and entry.sitemap,
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

    async def pull() -> list[PageChange] | None:
        return await anext(source, None)

    thread = LoopThread(aclosing(source))
    thread.begin()
    try:
        while (batch := thread.call(pull()).result()) is not None:
            yield batch
    finally:
        thread.end()
