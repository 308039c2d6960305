"""A walk as a stream: bounded, in order, and to be left and taken up again."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import Walk, walk
from sitemapreader._types.models import SitemapEntry, UrlEntry
from sitemapreader._walk.walks import BUFFERED_EVENTS
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.grouping import grouped
from tests.support.walking import ROBOTS, Pages, index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOP = "https://example.org/top.xml"
LOCS = [f"https://example.org/page/{n}" for n in range(2_000)]
MAPS = [f"https://example.org/{name}.xml" for name in "abc"]
MANY: Pages = {
    url: urlset(*(LOCS if url == MAPS[0] else (f"{url}/{n}" for n in range(2_000))))
    for url in MAPS
}


@attrs.define
class Late(StoredResponse):
    """A response whose body comes when `release` is set."""

    release: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def chunks(self) -> AsyncIterator[bytes]:
        await self.release.wait()
        yield self.body


def start(pages: Pages | None = None, **arguments: Any) -> Walk:
    stored = {TOP: urlset(*LOCS)} if pages is None else pages
    return walk(
        fetcher=MemoryFetcher(stored), **grouped({"sitemaps": [TOP], **arguments})
    )


async def test_entries_come_in_order() -> None:
    """The entries of one document come in its order, one by one as in lists as among events."""
    async with start() as entries:
        assert [entry.loc async for entry in entries] == LOCS
    async with start() as entries:
        batches = [batch async for batch in entries.batches()]
    assert [entry.loc for batch in batches for entry in batch] == LOCS
    assert all(batches)
    async with start() as entries:
        events = [event async for event in entries.events()]
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == LOCS


@pytest.mark.parametrize(
    "kind", ["__aiter__", "batches", "rows", "record_batches", "events"]
)
async def test_a_loop_can_be_left_and_taken_up(kind: str) -> None:
    """The next loop of the same kind goes on where the last one stopped."""
    locs: list[str] = []
    more = True
    async with start(MANY, sitemaps=MAPS) as entries:
        make = getattr(entries, kind)
        while more:
            more, loop = False, make()
            for _ in range(7):
                async for item in loop:
                    more = True
                    locs += list_locs(item)
                    break
    assert len(locs) == len(set(locs)) == 3 * len(LOCS)
    assert [loc for loc in locs if "/page/" in loc] == LOCS


def list_locs(item: Any) -> list[str]:
    """Return the URLs in an item of a loop of any kind."""
    if isinstance(item, UrlEntry):
        return [item.loc]
    if hasattr(item, "to_pydict"):
        return list(item.to_pydict()["loc"])
    return [entry.loc for entry in item]


async def test_a_walk_has_one_kind_of_loop() -> None:
    """Another kind is refused at once, with what to do; nothing is lost by trying."""
    async with start() as entries:
        async for _ in entries:
            break
        for misuse in (
            entries.batches,
            entries.rows,
            entries.events,
            entries.record_batches,
        ):
            with pytest.raises(
                ValueError, match="another kind of loop: continue with that one"
            ):
                misuse()
        assert [entry.loc async for entry in entries] == LOCS[1:]


async def test_a_time_out_of_the_consumer_loses_nothing() -> None:
    """A consumer may give up waiting for the next entry, and then go on with it."""
    late = Late(TOP, urlset(*LOCS))
    async with start({TOP: late}) as entries:
        kept = aiter(entries)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(kept), 0.05)
        late.release.set()
        assert [entry.loc async for entry in kept] == LOCS


async def test_tasks_may_share_a_walk() -> None:
    """Several tasks that loop over one walk get each entry once together."""
    locs: list[str] = []

    async def work(entries: Walk) -> None:
        async for entry in entries:
            locs.append(entry.loc)
            if len(locs) % 7 == 0:
                await asyncio.sleep(0)

    async with start(MANY, sitemaps=MAPS) as entries, asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(work(entries))
    assert len(locs) == len(set(locs)) == 3 * len(LOCS)


async def test_a_walk_that_is_left_by_another_task_does_not_look_complete() -> None:
    """Who waits for the next entry when another task leaves the walk is told that it is over."""
    fetcher = MemoryFetcher({TOP: Late(TOP, urlset(*LOCS))})
    async with walk(sitemaps=[TOP], fetcher=fetcher) as entries:
        waiting = asyncio.ensure_future(anext(aiter(entries)))
        await asyncio.sleep(0.02)
    with pytest.raises(ValueError, match="the walk is over"):
        await waiting


@attrs.define
class Endless(StoredResponse):
    """A list of URLs without an end; `served` counts what was taken of it."""

    served: int = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            lines = range(self.served, self.served + 1_000)
            self.served += 1_000
            yield b"".join(b"https://example.org/%d\n" % n for n in lines)


async def test_a_slow_consumer_slows_the_reading() -> None:
    """What is read ahead of the consumer is bounded, however many documents are read at once."""
    maps = [f"https://example.org/{n}.txt" for n in range(8)]
    pages = {url: Endless(url) for url in maps}
    async with walk(sitemaps=maps, fetcher=MemoryFetcher(pages)) as entries:
        count = 0
        for pause in (0.2, 0.1):
            async for _ in entries:
                count += 1
                if count % 20_000 == 0:
                    break
            await asyncio.sleep(pause)
            served = sum(page.served for page in pages.values())
            # what waits, and for each reader what it holds: a batch, a block and a chunk
            assert served <= count + BUFFERED_EVENTS + len(maps) * 5_000


async def test_leaving_early_gives_everything_its_outcome() -> None:
    """What was being read is partial or skipped, what waited is skipped, because the user left."""
    children = [f"https://example.org/{n}.txt" for n in range(30)]
    pages: Pages = {TOP: index(*children)}
    pages |= {url: Endless(url) for url in children}
    async with start(pages) as entries:
        async for _ in entries:
            break
        assert repr(entries.report).startswith("<Report: under way; ")
    outcomes = {
        each.url: (str(each.status), each.reason) for each in entries.report.documents
    }
    assert {outcomes[url] for url in children} <= {
        ("partial", "left-early"),
        ("skipped", "left-early"),
    }
    assert len(entries.report.documents) == len(outcomes) == 32
    assert not entries.report.complete


async def test_leaving_before_a_request_skips_the_sitemap() -> None:
    """A sitemap whose robots.txt is still awaited has an outcome as well."""

    class SilentRobots(MemoryFetcher):
        asked = asyncio.Event()

        @asynccontextmanager
        async def wait(self) -> AsyncIterator[Any]:
            self.asked.set()
            yield await asyncio.Event().wait()

        def open(self, url: str, **how: Any) -> Any:
            return self.wait() if url == ROBOTS else super().open(url, **how)

    child = "https://example.org/child.xml"
    fetcher = SilentRobots({TOP: index(child)})
    async with walk(sitemaps=[TOP], fetcher=fetcher) as entries:
        await fetcher.asked.wait()
    ended = {each.url: each.reason for each in entries.report.documents}
    assert ended == {TOP: "", ROBOTS: "left-early", child: "left-early"}


# -- misuse


async def test_a_walk_that_has_not_begun_waits_for_nothing() -> None:
    """It knows of no sitemap, and asks no host; at its end neither."""
    made = start()
    assert (made.pending, made.awaited_hosts) == (0, [])
    async with made:
        assert [each async for each in made]
    assert (made.pending, made.awaited_hosts) == (0, [])


async def test_iterating_without_entering() -> None:
    """Whoever forgets the `async with` is told to write it, before anything is begun."""
    fetcher = MemoryFetcher({})
    entries = walk(sitemaps=[TOP], fetcher=fetcher)
    for misuse in (entries.__aiter__, entries.batches, entries.events):
        with pytest.raises(TypeError, match="async with walk"):
            misuse()
    assert fetcher.requested == []


async def test_iterating_after_leaving() -> None:
    """A walk that was left is over; entering it again is refused as well."""
    async with start() as entries:
        pass
    with pytest.raises(ValueError, match="the walk is over"):
        aiter(entries)
    with pytest.raises(ValueError, match="walk\\(\\.\\.\\.\\) again"):
        await entries.__aenter__()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"sitemaps": ()}, ValueError, "no site was given"),
        ({"sitemaps": TOP}, TypeError, "write sitemaps=\\[url\\]"),
        ({"sitemaps": [b"https://example.org/"]}, TypeError, "must be a text"),
        ({"sitemaps": ["/top.xml"]}, ValueError, "full URL"),
        ({"site": "example.org"}, ValueError, "https://example.org/"),
        ({"since": "2026-01-01"}, TypeError, "datetime"),
        ({"undated": "maybe"}, ValueError, "keep, drop"),
        ({"scope": "strict"}, ValueError, "keep, drop"),
        ({"hosts": "all"}, ValueError, "host, site, any"),
        ({"probe": True}, ValueError, "auto, few, always, never"),
        ({"site": TOP, "extra_paths": "/a.xml"}, TypeError, "must be a tuple"),
        ({"follow": "yes"}, TypeError, "function"),
    ],
)
def test_arguments_that_cannot_be_meant(
    arguments: Any, error: type[Exception], words: str
) -> None:
    """A wrong argument raises at once, with what to write instead; nothing has to be entered."""
    with pytest.raises(error, match=words):
        start(**arguments)


# -- bugs


async def drain(made: Walk) -> None:
    async with made as entries:
        async for _ in entries:
            pass


async def test_a_bug_comes_out_as_it_is() -> None:
    """An exception of the caller's function reaches the consumer unchanged, after what was read."""

    def follow(entry: SitemapEntry) -> bool:
        raise ZeroDivisionError(entry.loc)

    first = "https://example.org/first.xml"
    pages: Pages = {TOP: index("https://example.org/a.xml"), first: urlset(*LOCS)}
    with pytest.raises(ZeroDivisionError, match=r"a\.xml") as caught:
        await drain(start(pages, sitemaps=[first, TOP], follow=follow))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


async def test_a_bug_of_the_fetcher() -> None:
    """What a fetcher raises besides FetchError is a bug, and not an outcome."""
    with pytest.raises(KeyError):
        await drain(start({TOP: KeyError("x")}))


async def test_the_users_exception_wins() -> None:
    """An exception in the body of the `async with` comes out as the very object it was."""
    mine = RuntimeError("mine")

    async def fail() -> None:
        async with start({TOP: Endless(TOP)}) as entries:
            async for _ in entries:
                raise mine

    with pytest.raises(RuntimeError) as caught:
        await fail()
    assert caught.value is mine
    assert caught.value.__context__ is None
