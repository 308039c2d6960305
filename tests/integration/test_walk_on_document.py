"""`on_document`: each outcome as it comes; and what it raises is the caller's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from serving import serve
from walking import ROBOTS, SITE, Pages, index, status, urlset

from sitemapreader import (
    Document,
    FetchError,
    IssueCode,
    Limits,
    StateError,
    Status,
    walk,
    walk_sync,
)
from sitemapreader.fetch import MemoryFetcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from sitemapreader.fetch import Response

TOP = f"{SITE}sitemap.xml"
CHILDREN = [f"{SITE}{number}.xml" for number in range(5)]
GONE = f"{SITE}gone.xml"
PAGES: Pages = {
    ROBOTS: f"User-agent: *\nDisallow: /4\nSitemap: {TOP}".encode(),
    TOP: index(*CHILDREN, GONE),
    **{url: urlset(f"{url}/1", f"{url}/2") for url in CHILDREN},
    GONE: status(410, GONE),
}


class DeliberateError(Exception):
    """The test's own."""


async def collect(pages: Pages, **arguments: Any) -> tuple[list[Document], list[Document]]:
    """Walk to the end; return the outcomes that were announced, and those of the report."""
    seen: list[Document] = []
    fetcher = MemoryFetcher(pages)
    async with walk(SITE, fetcher=fetcher, on_document=seen.append, **arguments) as entries:
        async for _ in entries:
            pass
    return seen, entries.report.documents


@pytest.mark.parametrize("way", ["plain", "limited", "nothing", "unlisted"])
async def test_every_outcome_comes_once(way: str, tmp_path: Path) -> None:
    """What is announced is what the report holds, in its order, with the outcome set."""
    ways: dict[str, tuple[Pages, dict[str, Any]]] = {
        "plain": (PAGES, {}),
        "limited": (PAGES, {"limits": Limits(documents=4)}),
        "nothing": ({}, {}),
        "unlisted": ({TOP: PAGES[TOP]}, {"state": tmp_path / "x.db"}),
    }
    pages, arguments = ways[way]
    seen, documents = await collect(pages, **arguments)
    assert [document.url for document in seen] == [document.url for document in documents]
    assert all(document.status is not Status.SKIPPED or document.reason for document in seen)
    if way == "plain":
        found = {document.url: str(document.status) for document in seen}
        assert found[ROBOTS] == found[TOP] == found[CHILDREN[0]] == "complete"
        assert (found[CHILDREN[4]], found[GONE]) == ("skipped", "failed")


async def test_a_walk_that_finds_its_documents_unchanged(tmp_path: Path) -> None:
    """Documents that a state makes needless are announced as well."""
    db = tmp_path / "x.db"
    await collect(PAGES, state=db)
    seen, documents = await collect(PAGES, state=db)
    assert [document.url for document in seen] == [document.url for document in documents]
    assert {str(document.status) for document in seen} >= {"unchanged", "failed"}


async def test_outcomes_come_while_the_walk_goes_on() -> None:
    """The first document is announced while the last one is still to be fetched."""
    reached = asyncio.Event()
    fetcher = MemoryFetcher(PAGES)

    class Slow:
        def open(
            self, url: str, *, headers: Mapping[str, str] | None = None
        ) -> AbstractAsyncContextManager[Response]:
            return self._open(url, headers)

        def _open(
            self, url: str, headers: Mapping[str, str] | None
        ) -> AbstractAsyncContextManager[Response]:
            from contextlib import asynccontextmanager  # noqa: PLC0415 (this test only)

            @asynccontextmanager
            async def opened() -> AsyncIterator[Response]:
                if url == CHILDREN[3]:
                    await asyncio.wait_for(reached.wait(), 5)
                async with fetcher.open(url, headers=headers) as response:
                    yield response

            return opened()

    def see(document: Document) -> None:
        if document.url == CHILDREN[0]:
            reached.set()

    async with walk(SITE, fetcher=Slow(), on_document=see) as entries:
        assert len([entry async for entry in entries]) == 8


@pytest.mark.parametrize(
    "error",
    [
        DeliberateError(),
        FetchError(IssueCode.BUDGET_BYTES, SITE),
        StateError(__file__, "x"),  # type: ignore[arg-type] # (a path as text does)
        OSError("x"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("at", [ROBOTS, TOP, CHILDREN[1], GONE])
async def test_what_it_raises_is_the_callers(error: Exception, at: str) -> None:
    """It ends the walk and comes out as it is, though it be of a kind that the walk expects."""
    calls: list[str] = []

    def see(document: Document) -> None:
        calls.append(document.url)
        if document.url == at:
            raise error

    entries = walk(SITE, fetcher=MemoryFetcher(PAGES), on_document=see)

    async def read() -> None:
        async with entries:
            async for _ in entries:
                pass

    with pytest.raises(type(error)) as raised:
        await read()
    assert raised.value is error
    assert calls[-1] == at  # and it is not called again
    reported = [document.url for document in entries.report.documents]
    assert {ROBOTS, at} <= set(reported)
    assert len(set(reported)) == len(reported)
    assert not [task for task in asyncio.all_tasks() if "sitemapreader" in task.get_name()]


async def test_leaving_early_announces_the_rest() -> None:
    """A consumer that goes away still has an outcome of each document, and an error then counts."""
    many = urlset(*(f"{SITE}{number}" for number in range(30_000)))
    pages: Pages = {TOP: many, ROBOTS: f"Sitemap: {TOP}".encode()}
    seen: list[Document] = []

    async def leave(see: Callable[[Document], object]) -> None:
        async with walk(SITE, fetcher=MemoryFetcher(pages), on_document=see) as entries:
            async for _ in entries:
                break

    await leave(seen.append)
    assert [(each.url, each.reason) for each in seen] == [(ROBOTS, ""), (TOP, "left-early")]

    def fail(document: Document) -> None:
        if document.reason:
            raise DeliberateError

    with pytest.raises(DeliberateError):
        await leave(fail)


def test_it_works_without_await() -> None:
    """`walk_sync` calls it in the thread of the walk; what it raises reaches the consumer."""
    seen: list[Document] = []
    with walk_sync(SITE, fetcher=MemoryFetcher(PAGES), on_document=seen.append) as entries:
        assert len(list(entries)) == 8
    assert len(seen) == len(entries.report.documents) == 8

    def fail(document: Document) -> None:
        raise DeliberateError(document.url)

    with (
        pytest.raises(DeliberateError),
        walk_sync(SITE, fetcher=MemoryFetcher(PAGES), on_document=fail) as entries,
    ):
        list(entries)


async def test_over_http() -> None:
    """Against a real server the outcomes have their statuses, bytes and tries."""
    seen: list[Document] = []
    async with (
        serve(
            lambda base: {
                "/sitemap.xml": index(f"{base}/a", f"{base}/b"),
                "/a": urlset(f"{base}/1"),
            }
        ) as served,
        walk(served.base, on_document=seen.append) as entries,
    ):
        assert len([entry async for entry in entries]) == 1
    found = {each.url.removeprefix(served.base): (each.http_status, each.tries) for each in seen}
    assert found["/a"] == (200, 1)
    assert found["/b"] == (404, 1)


async def nothing(document: Document) -> None:
    """Do nothing, slowly."""
    del document


@pytest.mark.parametrize("wrong", [nothing, "print", 5])
def test_what_cannot_be_called_is_refused(wrong: Any) -> None:
    """A coroutine function would never run: it is refused, as what is no function is."""
    with pytest.raises(TypeError, match="on_document must be a function of a Document"):
        walk(SITE, on_document=wrong)
