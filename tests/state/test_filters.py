"""The law of the state: what passes the filters now, and never was handed over, comes."""

from __future__ import annotations

import asyncio
import re
import tempfile
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from sitemapreader import Changes, walk
from sitemapreader._types.models import UrlEntry
from sitemapreader._types.outcomes import FINISHED_BEFORE
from sitemapreader.changes import State, tracker as delivery
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.grouping import grouped
from tests.support.scale import SCALE
from tests.support.walking import Pages, Walked, at_once, index, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import Mapping

HOME = "https://example.org/maps/"
TOP = f"{HOME}top.xml"
MAPS = [f"{HOME}{name}.xml" for name in ("one", "two")]
DAYS = ["2020-01-01", "2020-02-01", "2020-03-01", ""]


def date(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def site(*items: str | tuple[str, str]) -> Pages:
    """Make a site of one sitemap below an index."""
    return {TOP: index(MAPS[0]), MAPS[0]: urlset(*items)}


async def come(pages: Pages, db: Path, **arguments: Any) -> list[str]:
    """Walk over a site; return the URLs, without what is the same in all."""
    walked = await walk_all(pages, None, sitemaps=[TOP], state=db, **arguments)
    assert walked.report.complete
    return [loc.removeprefix(HOME) for loc in walked.locs]


DATED = site(
    (f"{HOME}a", "2020-01-01"),
    (f"{HOME}b", "2020-02-01"),
    f"{HOME}c",
    "https://o.net/d",
)
NARROW: list[tuple[dict[str, Any], list[str]]] = [
    ({"include": "a$"}, ["a"]),
    ({"exclude": r"[abd]$"}, ["c"]),
    ({"since": date("2020-02-01")}, ["b", "c", "https://o.net/d"]),
    ({"since": date("2020-02-01"), "undated": "drop"}, ["b"]),
    ({"scope": "drop"}, ["a", "b", "c"]),
]


@pytest.mark.cases(10)
@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize(("narrow", "passing"), NARROW, ids=range(len(NARROW)))
async def test_what_a_filter_hid_comes_once_it_is_lifted(
    db: Path, narrow: dict[str, Any], passing: list[str], changes: bool
) -> None:
    """A document that has not changed is read once more for what was kept back of it."""
    assert await come(DATED, db, changes=changes, **narrow) == passing
    assert await come(DATED, db, changes=changes, **narrow) == []
    lifted = await come(DATED, db, changes=changes)
    everything = ["a", "b", "c", "https://o.net/d"]
    assert lifted == (
        [loc for loc in everything if loc not in passing] if changes else everything
    )
    assert await come(DATED, db, changes=changes) == []
    assert await come(DATED, db, changes=changes, **narrow) == []


@pytest.mark.parametrize("changes", [False, True])
async def test_a_since_that_moves_on_reads_nothing_anew(
    db: Path, changes: bool
) -> None:
    """A later `since` passes less, so an unchanged child stays unread; an earlier one reads it."""
    pages = dict(DATED) | {TOP: index((MAPS[0], "2020-02-02"))}
    first = {"since": date("2020-01-15"), "changes": changes, "prune": True}
    assert await come(pages, db, **first) == ["b", "c", "https://o.net/d"]
    later = first | {"since": date("2020-01-20")}
    walked = await walk_all(pages, None, sitemaps=[TOP], state=db, **later)
    assert MAPS[0] not in walked.requested
    assert walked.outcome(MAPS[0]) == ("unchanged", "same-lastmod")
    assert "a" in await come(pages, db, **(first | {"since": date("2019-01-01")}))


FILTERS: list[dict[str, Any]] = [
    {},
    {"include": "[abc]$"},
    {"include": ["a$", "[cd]$"]},
    {"exclude": "[ace]$"},
    {"since": date("2020-02-01")},
    {"until": date("2020-02-01")},
    {"until": date("2020-03-01"), "undated": "drop"},
    {"since": date("2020-02-15")},
    {"since": date("2020-02-01"), "undated": "drop"},
    {"scope": "drop"},
    {"unique": True},
    {"unique": True, "include": "[abc]$"},
]


def passes(url: str, day: str, arguments: Mapping[str, Any]) -> bool:
    """Tell whether a record passes filters, as their documentation has it."""
    include, exclude = arguments.get("include", ""), arguments.get("exclude", "$^")
    patterns = [include] if isinstance(include, str) else include
    since, until = arguments.get("since"), arguments.get("until")
    dated = (
        arguments.get("undated", "keep") == "keep"
        if not day
        else (not since or date(day) >= since) and (not until or date(day) <= until)
    )
    return (
        any(re.search(pattern, url) for pattern in patterns)
        and not re.search(exclude, url)
        and ((since or until) is None or dated)
        and ("scope" not in arguments or url.startswith(HOME))
    )


# -- random walks over a site that changes

LETTERS = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(DAYS), max_size=6)


@attrs.frozen
class Step:
    """One walk: what the documents list then, how they are served, and what is asked for."""

    documents: tuple[dict[str, str], dict[str, str]]
    filters: dict[str, Any]
    failing: int | None
    follows: int | None
    leaves_after: int | None
    dated: bool


STEPS = st.lists(
    st.builds(
        Step,
        documents=st.tuples(LETTERS, LETTERS),
        filters=st.sampled_from(FILTERS),
        failing=st.sampled_from([None, None, 0, 1]),
        follows=st.sampled_from([None, None, 0, 1]),
        leaves_after=st.sampled_from([None, None, 1, 2, 3]),
        dated=st.booleans(),
    ),
    min_size=2,
    max_size=5,
)


def address(letter: str) -> str:
    """Return a URL; one of them lies outside the folder of the sitemaps."""
    return "https://example.org/f" if letter == "f" else HOME + letter


def serve(step: Step) -> Pages:
    """Return a site as it is at one step, with validators, and lastmods that tell versions."""
    pages: Pages = {}
    children: list[Any] = []
    for number, (url, listed) in enumerate(zip(MAPS, step.documents, strict=True)):
        version = zlib.crc32(repr(listed).encode()) % 10**6
        items = [(address(letter), day) for letter, day in listed.items()]
        body = urlset(*items)
        pages[url] = StoredResponse(url, body, headers={"etag": f'"{version}"'})
        if step.failing == number:
            del pages[url]
        children.append(
            (url, f"2020-03-02T00:00:00.{version:06}Z") if step.dated else url
        )
    return pages | {TOP: index(*children)}


async def take(
    step: Step, db: Path, *, changes: bool
) -> tuple[set[str], Walked | None]:
    """Walk, to the end or not; return what was handed over, and the whole of a walk that ended."""
    fetcher = MemoryFetcher(serve(step))
    follow = None
    if step.follows is not None:
        wanted = MAPS[step.follows]
        follow = lambda entry: entry.loc == wanted  # noqa: E731 (as users write it)
    came: list[Any] = []
    async with walk(
        sitemaps=[TOP],
        state=Changes(db) if changes else db,
        fetcher=fetcher,
        follow=follow,
        **grouped(step.filters),
    ) as entries:
        batches = 0
        async for batch in entries.batches():
            came += batch
            batches += 1
            if batches == step.leaves_after:
                return {entry.loc for entry in came}, None
    locs = [entry.loc for entry in came]
    return set(locs), Walked(locs, came, entries.report, fetcher.requested)


async def check_sequence(steps: list[Step], *, changes: bool) -> None:
    """Check that each walk has delivered, with those before it, all entries that pass now."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "site.db"
        given: set[str] = set()
        last = attrs.evolve(
            steps[-1], filters={}, failing=None, follows=None, leaves_after=None
        )
        # the first `last` may resume an interrupted walk
        for step in [
            *steps,
            last,
            last,
        ]:
            came, walked = await take(step, db, changes=changes)
            given |= came
            if walked is None:
                continue
            for number, listed in enumerate(step.documents):
                if step.failing == number or step.follows not in (None, number):
                    continue
                if walked.outcome(MAPS[number])[1] == FINISHED_BEFORE:
                    continue  # read before the stop, so this walk does not fetch it again
                wanted = {
                    address(letter)
                    for letter, day in listed.items()
                    if passes(address(letter), day, step.filters)
                }
                assert wanted <= given


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "ACK_ENTRIES", 2)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("changes", [False, True])
def test_nothing_is_lost_in_any_sequence_of_walks(changes: bool) -> None:
    """After any walks, stopped, failed, filtered, each URL that passes now has been handed over."""

    @settings(max_examples=8 * SCALE)
    @given(STEPS)
    def check(steps: list[Step]) -> None:
        asyncio.run(check_sequence(steps, changes=changes))

    check()


async def check_fingerprints(steps: list[Step]) -> None:
    """Compare each walk with a model of what the consumer has been given."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "site.db"
        known: dict[
            str, str | None
        ] = {}  # None: handed over, but not as it was listed last
        before: set[str] = set()
        for step in steps:
            listed = {f"{HOME}1/{a}": d for a, d in step.documents[0].items()}
            listed |= {f"{HOME}2/{a}": d for a, d in step.documents[1].items()}
            pages: Pages = {TOP: index(*MAPS)}
            for number, url in enumerate(MAPS):
                prefix = f"{HOME}{number + 1}/"
                pages[url] = urlset(
                    *(
                        item
                        for item in listed.items()
                        if item[0] < prefix + "~" and item[0] > prefix
                    )
                )
            walked = await walk_all(
                pages,
                None,
                sitemaps=[TOP],
                state=at_once(db),
                changes=True,
                **step.filters,
            )
            expected = {}
            for url, day in listed.items():
                if url in known and known[url] == day:
                    continue
                if passes(url, day, step.filters):
                    expected[url] = "changed" if url in known else "new"
                    known[url] = day
                elif url in known:
                    known[url] = None
            found = {
                e.loc: str(e.change) for e in walked.events if isinstance(e, UrlEntry)
            }
            assert found == expected
            unlisted = known.keys() - listed.keys()
            assert unlisted == {row.loc for row in State(db).unlisted()}
            became = len(unlisted - before)
            assert (walked.report.unlisted, walked.report.waiting) == (became, 0)
            before = unlisted  # nobody was told of these, so they are not new when they come back


@settings(max_examples=8 * SCALE)
@given(STEPS)
def test_changes_are_told_as_a_model_tells_them(steps: list[Step]) -> None:
    """New, changed and removed are right against what was handed over, whatever the filters."""
    asyncio.run(check_fingerprints(steps))
