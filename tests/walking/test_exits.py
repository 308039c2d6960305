"""Exits and cancellations in functions of the caller: they end the walk, and come out of it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from sitemapreader import (
    Document,
    FetchError,
    IssueCode,
    SiteRun,
    Walk,
    walk,
    walk_many,
    walk_many_sync,
    walk_sync,
)
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.grouping import grouped
from tests.support.walking import ROBOTS, SITE, index, urlset

CHILD = f"{SITE}child.xml"
PAGES = {
    ROBOTS: f"Sitemap: {SITE}i.xml".encode(),
    f"{SITE}i.xml": index(CHILD, f"{SITE}other.xml"),
    CHILD: urlset(f"{SITE}1"),
    f"{SITE}other.xml": urlset(f"{SITE}2"),
}
ERRORS = [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()]


class Raising(MemoryFetcher):
    """A fetcher that raises for one URL."""

    def __init__(self, url: str, error: BaseException) -> None:
        super().__init__(PAGES)
        self._fault = url, error

    def open(self, url: str, **how: Any) -> Any:
        if url == self._fault[0]:
            raise self._fault[1]
        return super().open(url, **how)


def make_arguments(place: str, error: BaseException) -> dict[str, Any]:
    """Return arguments of a walk in which one function of the caller raises."""

    def fail(given: Any) -> bool:
        if getattr(given, "url", CHILD) == CHILD:
            raise error
        return True

    if place in ("follow", "on_document"):
        return {place: fail, "fetcher": MemoryFetcher(PAGES)}
    return {"fetcher": Raising(place, error)}


PLACES = ["follow", "on_document", CHILD, ROBOTS]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("place", PLACES)
class TestAnExit:
    """It ends the walk at once and is raised as the very object; the report is not complete."""

    async def test_walk(self, place: str, error: BaseException) -> None:
        """The consumer of a walk gets it, and no task is left."""
        made = walk(SITE, **grouped(make_arguments(place, error)))
        with pytest.raises(type(error)) as caught:
            await drain(made)
        assert caught.value is error
        assert not made.report.complete
        assert asyncio.all_tasks() == {asyncio.current_task()}

    def test_walk_sync(self, place: str, error: BaseException) -> None:
        """The thread of the consumer gets it, and the walk's own thread ends."""
        made = walk_sync(SITE, **grouped(make_arguments(place, error)))
        with pytest.raises(type(error)) as caught, made as entries:
            list(entries)
        assert caught.value is error
        assert not made.report.complete
        assert not is_left_over()

    async def test_walk_many(self, place: str, error: BaseException) -> None:
        """It is no bug of one site: the run over many ends as well."""
        made = walk_many([SITE], **grouped(make_arguments(place, error)))
        with pytest.raises(type(error)) as caught:
            await drain(made)
        assert caught.value is error
        assert [
            str(each.status) in ("partial", "failed") for each in made.outcomes
        ] == [True]

    def test_walk_many_sync(self, place: str, error: BaseException) -> None:
        """The run's own thread ends."""
        with (
            pytest.raises(type(error)) as caught,
            walk_many_sync([SITE], **grouped(make_arguments(place, error))) as run,
        ):
            list(run.batches())
        assert caught.value is error
        assert not is_left_over()


@pytest.mark.parametrize(
    "error",
    [
        *ERRORS,
        ValueError("a bug"),
        OSError(),
        TimeoutError(),
        FetchError(IssueCode.BUDGET_BYTES, SITE),
    ],
    ids=repr,
)
@pytest.mark.parametrize("at", [ROBOTS, CHILD])
async def test_an_error_about_a_document(error: BaseException, at: str) -> None:
    """What `on_document` raises is the caller's, be it of a kind that the walk expects.

    It is not called again, and the walk is not complete, though all documents were read.
    """
    seen: list[str] = []

    def fail(document: Document) -> None:
        seen.append(document.url)
        if document.url == at:
            raise error

    pages = {ROBOTS: f"Sitemap: {CHILD}".encode(), CHILD: PAGES[CHILD]}
    made = walk(SITE, fetcher=MemoryFetcher(pages), on_document=fail)
    with pytest.raises(type(error)) as caught:
        await drain(made)
    assert caught.value is error
    assert seen == [ROBOTS, CHILD][: 1 + (at == CHILD)]
    assert not made.report.complete


async def test_a_cancellation_comes_out() -> None:
    """A consumer that is cancelled ends cancelled, also if it is cancelled again on its way out."""
    started = asyncio.Event()

    async def consume() -> None:
        async with walk(SITE, fetcher=MemoryFetcher(PAGES)) as w:
            async for _ in w:
                started.set()
                await asyncio.sleep(60)

    for again in range(4):
        started.clear()
        task = asyncio.create_task(consume())
        await asyncio.wait_for(started.wait(), 10)
        task.cancel("first")
        for _ in range(again):
            await asyncio.sleep(0)
            task.cancel("again")
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert {asyncio.current_task()} == asyncio.all_tasks()


async def drain(made: Walk | SiteRun) -> None:
    """Read a walk or a run to its end."""
    async with made as run:
        async for _ in run.batches():
            pass


def is_left_over() -> bool:
    """Return whether the thread of a walk is still there."""
    return any(thread.name == "sitemapreader.walk" for thread in threading.enumerate())
