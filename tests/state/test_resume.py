"""A walk that was stopped goes on: nothing is lost, and at most one batch comes twice."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import walk, walk_sync
from sitemapreader._types.options import FetchOptions
from sitemapreader.changes import State
from sitemapreader.changes.tracker import ACK_ENTRIES
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.commands import start
from tests.support.grouping import grouped
from tests.support.scale import SCALE
from tests.support.walking import Pages, at_once, index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sitemapreader._walk.report import Report

TOP = "https://example.org/top.xml"
MAPS = [f"https://example.org/{number}.xml" for number in range(3)]
PER_MAP = 2_300
ONE_AT_A_TIME = FetchOptions(concurrency=1)
RANDOM = random.Random(9)


def locs_of(number: int, count: int = PER_MAP) -> list[str]:
    return [f"https://example.org/{number}/{entry}" for entry in range(count)]


def site() -> Pages:
    """Make three sitemaps below an index."""
    pages: Pages = {TOP: index(*MAPS)}
    return pages | {url: urlset(*locs_of(n)) for n, url in enumerate(MAPS)}


ALL = [loc for number in range(3) for loc in locs_of(number)]


@attrs.frozen
class Part:
    """What one of several runs of a walk gave."""

    locs: list[str]
    requested: list[str]
    report: Report
    is_over: bool


async def run(
    pages: Pages, db: Path, stop_after: int | None = None, **arguments: Any
) -> Part:
    """Walk, and leave when so many times 500 entries have come; the last batch has no receipt."""
    fetcher = MemoryFetcher(pages)
    locs: list[str] = []
    is_over = False
    options = {"state": db, "options": ONE_AT_A_TIME, "sitemaps": [TOP], **arguments}
    async with walk(fetcher=fetcher, **grouped(options)) as entries:
        async for batch in entries.batches():
            locs += [entry.loc for entry in batch]
            if stop_after and len(locs) >= stop_after * ACK_ENTRIES:
                break
        else:
            is_over = True
    requested = [url for url in fetcher.requested if url.endswith(".xml")]
    return Part(locs, requested, entries.report, is_over)


@pytest.mark.cases(6)
@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("stop_after", [1, 5, 11])
async def test_it_goes_on_where_it_stopped(
    db: Path, stop_after: int, changes: bool
) -> None:
    """The union of both parts is everything; what comes twice is the batch in hand, and no more."""
    first = await run(site(), db, stop_after, changes=changes)
    second = await run(site(), db, changes=changes)
    assert second.report.resumed
    assert second.report.complete
    assert set(first.locs) | set(second.locs) == set(ALL)
    assert len(first.locs) + len(second.locs) - len(ALL) <= ACK_ENTRIES
    third = await run(site(), db, changes=changes)
    assert (third.locs, third.report.resumed) == ([], False)


async def test_finished_documents_are_not_fetched_again(db: Path) -> None:
    """What was read to its end before the stop is not asked for again in the same walk."""
    await run(site(), db, 7)
    second = await run(site(), db)
    assert second.requested == MAPS[1:]
    outcomes = {
        each.url: (str(each.status), each.reason) for each in second.report.documents
    }
    assert outcomes[TOP] == outcomes[MAPS[0]] == ("complete", "finished-before")
    assert outcomes[MAPS[1]] == ("complete", "")
    assert {each.url: each.listed for each in second.report.documents}[
        MAPS[0]
    ] == PER_MAP


async def test_what_was_lost_before_the_stop_is_lost(db: Path) -> None:
    """A document that was cut off is not read again either, and its walk is not complete."""
    pages: Pages = site() | {
        MAPS[0]: urlset(*locs_of(0)).removesuffix(b"</url></urlset>")
    }
    await run(pages, db, 7)
    second = await run(pages, db)
    assert second.requested == MAPS[1:]
    report = second.report
    (cut,) = [each for each in report.documents if each.url == MAPS[0]]
    assert (str(cut.status), cut.reason, cut.entries) == ("partial", "truncated", 0)
    assert report.statuses == {"complete": 3, "partial": 1, "skipped": 1}  # robots.txt
    assert (report.complete, report.outcome.status) == (False, "partial")
    assert report.outcome.reason == "truncated"


async def test_urls_of_finished_documents_take_no_room(db: Path) -> None:
    """However many URLs came, the file keeps those of the documents in hand only."""
    locs = [
        f"https://example.org/{RANDOM.randbytes(40).hex()}"
        for _ in range(21 * ACK_ENTRIES)
    ]
    some, rest = locs[:ACK_ENTRIES], locs[ACK_ENTRIES:]
    sizes = []
    for number, those in enumerate((some, rest)):
        pages = site() | {MAPS[0]: urlset(*those)}
        state = db.with_name(f"{number}.db")
        await run(pages, state, len(those) // ACK_ENTRIES + 2)
        sizes.append(state.stat().st_size)
    assert sizes[1] < sizes[0] + 100_000 < len("".join(rest)) / 3


@pytest.mark.parametrize("changes", [False, True])
async def test_a_body_that_changed_meanwhile(db: Path, changes: bool) -> None:
    """Of a document that has other bytes by now, too, only what was not handed over comes."""
    first = await run(site(), db, 2, changes=changes)
    grown = site() | {MAPS[0]: urlset("https://example.org/new", *locs_of(0))}
    second = await run(grown, db, changes=changes)
    assert set(first.locs) < set(locs_of(0))
    assert second.locs[0] == "https://example.org/new"
    assert set(first.locs) | set(second.locs) == {*ALL, second.locs[0]}
    assert len(first.locs) + len(second.locs) - len(ALL) - 1 <= ACK_ENTRIES


@pytest.mark.parametrize("stop_after", [4, 8])
async def test_unique_holds_across_a_stop(db: Path, stop_after: int) -> None:
    """A URL that was handed over before the stop does not come again from another sitemap."""
    pages = site() | {MAPS[2]: urlset(*locs_of(0), *locs_of(1), *locs_of(2))}
    first = await run(pages, db, stop_after, unique=True)
    second = await run(pages, db, unique=True)
    assert set(first.locs) | set(second.locs) == set(ALL)
    assert len(first.locs) + len(second.locs) - len(ALL) <= ACK_ENTRIES


@pytest.mark.parametrize("changes", [False, True])
async def test_a_walk_goes_on_under_other_options(db: Path, changes: bool) -> None:
    """What was stopped is resumed, whatever else is asked for; another site is another walk."""
    first = await run(site(), db, 7, changes=changes)
    other = await run(site(), db, prune=False, changes=changes)
    assert other.report.resumed
    assert other.requested == MAPS[1:]
    assert len(first.locs) + len(other.locs) <= len(ALL) + ACK_ENTRIES
    assert {*first.locs, *other.locs} == {*ALL}
    await run(site(), db, 7, sitemaps=MAPS)
    assert not (await run(site(), db)).report.resumed


async def test_an_old_walk_is_not_gone_on_with(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read more than a day ago is asked for again."""
    await run(site(), db, 7)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 25 * 3600)
    later = await run(site(), db)
    assert not later.report.resumed
    assert later.requested == [TOP, *MAPS]


async def test_an_entry_that_was_not_taken_comes_again(db: Path) -> None:
    """Who iterates entry by entry gives the receipt with the last entry of a batch."""
    fetcher = MemoryFetcher(site())
    taken = []
    async with walk(
        sitemaps=[TOP], state=db, fetcher=fetcher, options=ONE_AT_A_TIME
    ) as entries:
        async for entry in entries:
            taken.append(entry.loc)
            if len(taken) == ACK_ENTRIES + 1:
                break
    rest = (await run(site(), db)).locs
    assert taken == ALL[: ACK_ENTRIES + 1]
    assert rest == ALL[-len(rest) :]
    assert 0 < len(taken) + len(rest) - len(ALL) <= ACK_ENTRIES


def test_a_blocking_walk_gives_its_receipts_one_by_one(db: Path) -> None:
    """Without `await`, too, at most one batch comes twice."""
    parts: list[list[list[str]]] = []
    for stop_after in (3, None):
        came: list[list[str]] = []
        fetcher = MemoryFetcher(site())
        with walk_sync(
            sitemaps=[TOP], state=db, fetcher=fetcher, options=ONE_AT_A_TIME
        ) as entries:
            for number, batch in enumerate(entries.batches(), 1):
                came.append([entry.loc for entry in batch])
                if number == stop_after:
                    break
        parts.append(came)
    first, second = parts
    assert max(map(len, first + second)) <= ACK_ENTRIES
    assert [*chain(*first[:2]), *chain(*second)] == ALL
    assert set(first[2]) <= set(chain(*second))


async def test_cancelling(db: Path, thorough: bool) -> None:
    """A walk that is cancelled at any await leaves a state from which another one goes on."""
    came: set[str] = set()

    async def go() -> None:
        async with walk(
            sitemaps=[TOP], state=db, fetcher=MemoryFetcher(site())
        ) as entries:
            async for batch in entries.batches():
                came.update(entry.loc for entry in batch)

    for steps in range(1, 400, 13 if thorough else 37):
        task = asyncio.create_task(go())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    await go()
    assert came == set(ALL)
    (known,) = State(db).sites()
    assert known.complete


@attrs.define
class _Waiting(StoredResponse):
    """A body whose end never comes."""

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body
        await asyncio.sleep(3600)


async def test_what_was_handed_over_is_written_before_the_next_batch_is(
    db: Path, tmp_path: Path
) -> None:
    """The receipt is in the file when the consumer has the next batch, not some time later."""
    pages: Pages = {TOP: _Waiting(TOP, urlset(*locs_of(0)).removesuffix(b"</urlset>"))}
    whole: Pages = {TOP: urlset(*locs_of(0))}
    received = 0
    async with walk(sitemaps=[TOP], state=db, fetcher=MemoryFetcher(pages)) as entries:
        batches = entries.batches()
        for number in range(3):
            batch = await anext(batches)
            killed = tmp_path / f"killed-{number}"
            for suffix in ("", "-wal"):  # what a kill at this moment leaves
                shutil.copy(f"{db}{suffix}", f"{killed}{suffix}")
            assert (await run(whole, killed)).locs == locs_of(0)[received:]
            received += len(batch)


@attrs.define
class _Gated(StoredResponse):
    """A body that comes when its gate is open."""

    gate: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def chunks(self) -> AsyncIterator[bytes]:
        await self.gate.wait()
        yield self.body


async def test_a_wait_that_timed_out_acknowledges_nothing(db: Path) -> None:
    """What a consumer gets after it once gave up waiting counts when it asks for more."""
    full, empty = _Gated(MAPS[0], urlset(*locs_of(0, 5))), _Gated(MAPS[1], urlset())
    pages: Pages = {MAPS[0]: full, MAPS[1]: empty}
    async with walk(
        sitemaps=MAPS[:2], state=db, fetcher=MemoryFetcher(pages)
    ) as entries:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await anext(entries.batches())
        full.gate.set()
        await _let_others_run()
        assert len(await anext(entries.batches())) == 5
        empty.gate.set()
        await _let_others_run()  # while this consumer is at work with the batch
    part = await run(pages, db, sitemaps=MAPS[:2])
    assert part.locs == locs_of(0, 5)


async def _let_others_run() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


KILLED_WALK = """
import asyncio, os, sys
from sitemapreader import Changes, walk
from sitemapreader.fetch import FolderFetcher

async def main(site, state, output, changes):
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    fetcher = FolderFetcher(site, "https://example.org/")
    memory = Changes(state) if changes else state
    sitemaps = ["https://example.org/top.xml"]
    async with walk(sitemaps=sitemaps, fetcher=fetcher, state=memory) as entries:
        async for batch in entries.batches():
            data = "".join([entry.loc + "\\n" for entry in batch]).encode()
            while data:
                data = data[os.write(file, data):]
    assert entries.report.complete, entries.report.issues

asyncio.run(main(*sys.argv[1:]))
"""


def live(
    site: Path, place: Path, changes: str, longest: float
) -> tuple[list[str], int]:
    """Walk to the end, killed at random moments; return what came, and the number of kills."""
    place.mkdir()
    state, output, kills = place / "site.db", place / "urls", 0
    output.touch()
    while True:
        words = (*map(str, (site, state, output)), changes)
        with start(*words, code=KILLED_WALK, stdout=None, stderr=None) as process:
            # more patience each time: on a busy machine some would never end
            wait = RANDOM.uniform(0, longest * (1 + kills / 10)) if longest else None
            try:
                assert process.wait(wait) == 0
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            else:
                return output.read_text().split(), kills
        whole = output.read_bytes().rpartition(b"\n")
        output.write_bytes(b"".join(whole[:2]))  # as who goes on with a file has to


@pytest.mark.slow
@pytest.mark.parametrize("changes", ["", "changes"])
def test_kill_minus_nine(changes: str, tmp_path: Path) -> None:
    """Killed at random moments, a walk gives each URL at least once, and few of them twice."""
    site = tmp_path / "site"
    site.mkdir()
    maps = [f"https://example.org/{number}.xml" for number in range(6)]
    locs = [locs_of(number, 5_000) for number in range(6)]
    (site / "top.xml").write_bytes(index(*maps))
    for number, each in enumerate(locs):
        (site / f"{number}.xml").write_bytes(
            urlset(*((loc, "2024-01-02") for loc in each))
        )
    began = time.perf_counter()
    came, _ = live(site, tmp_path / "calm", changes, 0)
    seconds = time.perf_counter() - began
    assert sorted(came) == sorted(chain(*locs))
    killed = 0
    while killed < 3 * SCALE:
        came, kills = live(site, tmp_path / f"{time.time_ns()}", changes, seconds)
        assert set(came) == set(chain(*locs))
        # one batch, rarely one of each document that is read at the same time
        assert len(came) <= 30_000 + ACK_ENTRIES * kills * len(maps)
        killed += kills


async def test_unlisted_urls_come_once(db: Path, tmp_path: Path) -> None:
    """A walk that is killed among unlisted URLs leaves the rest, and one batch, to the next."""
    pages, batches = site(), list[list[str]]()
    arguments: Any = {"sitemaps": [TOP], "changes": True, "unlisted": True}
    await run(pages, db, state=at_once(db), **arguments)
    pages[MAPS[0]] = urlset(*locs_of(0)[1_300:])
    async with walk(
        fetcher=MemoryFetcher(pages), **grouped({"state": at_once(db), **arguments})
    ) as entries:
        async for batch in entries.batches():
            batches.append([entry.loc for entry in batch])
            for suffix in ("", "-wal"):
                shutil.copy(
                    f"{db}{suffix}", tmp_path / f"killed-{len(batches)}{suffix}"
                )
    assert sorted(chain(*batches)) == sorted(locs_of(0)[:1_300])
    assert [len(batch) for batch in batches] == [500, 500, 300]
    for number in range(1, 4):
        killed = tmp_path / f"killed-{number}"
        rest = await run(pages, killed, state=at_once(killed), **arguments)
        assert rest.locs == [*chain(*batches[number - 1 :])]
        assert rest.report.unlisted == len(rest.locs)
        assert rest.report.outcome.unlisted == len(rest.locs)
    assert (await run(pages, db, state=at_once(db), **arguments)).locs == []
