"""Entries by columns: the same rows, filters and counts as entries, and no object for each URL."""

from __future__ import annotations

import asyncio
import csv
import json
import re
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from sitemapreader import SitemapReader, UrlEntry, walk, walk_many
from sitemapreader._columns import COLUMNS, DERIVED_COLUMNS
from sitemapreader._columns.arrow import make_batch
from sitemapreader._types.dates import parse_lastmod
from sitemapreader._types.rows import (
    EntryColumns,
    get_column,
    join_rows,
    select_rows,
)
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.output import FORMATS, open_output
from tests.support.grouping import grouped
from tests.support.strategies import characters

import pyarrow.parquet as pq  # isort: skip (needs an extra, as the line above says)

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from sitemapreader import Walk
    from sitemapreader._walk.report import Report

SITE = "https://site.example/"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
IMAGE_NS = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
IMAGE = f"<image:image><image:loc>{SITE}i.jpg</image:loc></image:image>"


def make_urlset(number: int, *, name: str = "a", rest: str = "") -> bytes:
    records = "".join(
        f"<url><loc>{SITE}{name}/{each}</loc><lastmod>2026-01-{each % 28 + 1:02}</lastmod>"
        f"<priority>0.{each % 10}</priority>{rest}</url>"
        for each in range(number)
    )
    return f"<urlset {NS} {IMAGE_NS}>{records}</urlset>".encode()


PLAIN = {f"{SITE}a.xml": make_urlset(9_000), f"{SITE}b.xml": make_urlset(500, name="b")}
MIXED = {
    f"{SITE}a.xml": make_urlset(700),
    f"{SITE}b.xml": make_urlset(300, name="b", rest=IMAGE),
    f"{SITE}c.txt": f"{SITE}c/1\n{SITE}a/1\nhttps://other.example/\n".encode(),
    f"{SITE}d.xml": make_urlset(100, name="d", rest="<priority>high</priority>"),
    f"{SITE}e.xml": make_urlset(50) + b"<broken",
    f"{SITE}f.rss": f"""<rss version="2.0"><channel><title>t</title><item><title>One</title>
        <link>{SITE}f/1</link></item><item><link>{SITE}f/2</link>
        <pubDate>Sat, 03 Jan 2026 10:00:00 GMT</pubDate></item></channel></rss>""".encode(),
}


def make_walk(pages: dict[str, bytes], **arguments: Any) -> Walk:
    return walk(
        sitemaps=sorted(pages), fetcher=MemoryFetcher(dict(pages)), **grouped(arguments)
    )


def sort_rows(batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: (row["sitemap"], row["loc"], str(row)))


def count(report: Report) -> list[tuple[Any, ...]]:
    """Return the counts of a walk that have to be the same however it is consumed."""
    documents = sorted(
        (
            each.url,
            each.status,
            each.entries,
            each.listed,
            each.filtered,
            each.known,
            each.counts,
        )
        for each in report.documents
    )
    return [*documents, (report.entries, report.counts, report.complete)]


async def read_entries(
    walked: Walk,
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    async with walked as entries:
        found = [entry async for entry in entries]
    return sort_rows([make_batch(found)] if found else []), count(entries.report)


async def read_columns(
    walked: Walk,
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    async with walked as entries:
        found = [batch async for batch in entries.record_batches()]
    assert all(batch.num_rows for batch in found)
    return sort_rows(found), count(entries.report)


FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "include": {"include": [re.compile("[13]$")]},
    "exclude": {"exclude": [re.compile("/b/")], "include": [re.compile("site")]},
    "since": {"since": datetime(2026, 1, 20, tzinfo=UTC)},
    "dated": {"since": datetime(2026, 1, 20, tzinfo=UTC), "undated": "drop"},
    "unique": {"unique": True},
    "scope": {"scope": "drop"},
    "all": {"unique": True, "scope": "drop", "exclude": [re.compile("7")]},
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
async def test_record_batches_have_the_rows_of_entries(filters: dict[str, Any]) -> None:
    """Whatever filters there are, rows and counts are those of the walk with entries."""
    expected = await read_entries(make_walk(MIXED, **filters))
    assert await read_columns(make_walk(MIXED, **filters)) == expected
    if not filters:
        assert len(expected[0]) == 700 + 300 + 3 + 100 + 50 + 2


async def test_changes_are_in_the_rows(tmp_path: Path) -> None:
    """With a state, a second walk gives new and changed rows, as entries would be given."""
    later = {**MIXED, f"{SITE}a.xml": make_urlset(701).replace(b"0.3", b"0.4", 1)}
    both = []
    for name, read in (("entries", read_entries), ("columns", read_columns)):
        state = {"state": tmp_path / f"{name}.db", "changes": True}
        both.append(
            [await read(make_walk(pages, **state)) for pages in (MIXED, later, later)]
        )
    assert both[0] == both[1]
    first, second, third = (rows for rows, _ in both[0])
    assert {row["change"] for row in first} == {"new"}
    assert sorted(row["change"] for row in second) == ["changed", "new"]
    assert third == []


async def test_a_batch_is_acknowledged_by_the_next(tmp_path: Path) -> None:
    """Of a walk that is left, the batch that was handled last comes again, and nothing else."""
    async with make_walk(PLAIN, state=tmp_path / "s.db") as entries:
        batches = entries.record_batches()
        handled = [await anext(batches) for _ in range(3)]
    again, _ = await read_columns(make_walk(PLAIN, state=tmp_path / "s.db"))
    locs = {row["loc"] for row in again}
    assert handled[0].num_rows < 9_500
    assert {row["loc"] for row in handled[-1].to_pylist()} <= locs
    assert locs.isdisjoint(
        row["loc"] for batch in handled[:-1] for row in batch.to_pylist()
    )
    assert len(locs) == 9_500 - sum(batch.num_rows for batch in handled[:-1])


async def test_no_entry_is_made_for_a_plain_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows without extensions reach Arrow without a UrlEntry, and all entries are made of these."""

    def refuse(*_: object) -> UrlEntry:
        raise AssertionError("an entry was made")

    monkeypatch.setattr("sitemapreader._types.rows.UrlEntry", refuse)
    rows, _ = await read_columns(
        make_walk(PLAIN, exclude=[re.compile("/b/7$")], unique=True)
    )
    assert len(rows) == 9_499
    with pytest.raises(AssertionError, match="an entry was made"):
        await read_entries(make_walk(PLAIN))


async def test_a_batch_has_thousands_of_rows() -> None:
    """Many small documents make few batches."""
    pages = {
        f"{SITE}{name}.xml": make_urlset(100, name=str(name)) for name in range(200)
    }
    async with make_walk(pages) as entries:
        sizes = [batch.num_rows async for batch in entries.record_batches()]
    assert sum(sizes) == 20_000
    assert len(sizes) <= 3


async def test_a_timeout_loses_no_rows() -> None:
    """Rows that waited for more of a batch come with the next one, if the wait is cancelled."""
    release = asyncio.Event()

    class SlowFetcher(MemoryFetcher):
        """A fetcher that gives the second document when it is told to."""

        def open(self, url: str, **arguments: Any) -> Any:
            opening = super().open(url, **arguments)
            return _Delayed(opening, release) if url.endswith("b.xml") else opening

    pages = {f"{SITE}a.xml": make_urlset(10), f"{SITE}b.xml": make_urlset(10, name="b")}
    async with walk(
        sitemaps=sorted(pages), fetcher=SlowFetcher(dict(pages))
    ) as entries:
        while entries.report.entries < 10:  # noqa: ASYNC110 (the walk has no such event)
            await asyncio.sleep(0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(entries.record_batches()), 0.01)
        release.set()
        rows = sum([batch.num_rows async for batch in entries.record_batches()])
    assert rows == 20


class _Delayed:
    """A response that is opened only after an event."""

    def __init__(self, opening: Any, event: asyncio.Event) -> None:
        self._opening = opening
        self._event = event

    async def __aenter__(self) -> Any:
        await self._event.wait()
        return await self._opening.__aenter__()

    async def __aexit__(self, *error: object) -> Any:
        return await self._opening.__aexit__(*error)


OTHER = "https://other.example/"
SITES = {
    f"{SITE}robots.txt": f"Sitemap: {SITE}a.xml".encode(),
    f"{SITE}a.xml": make_urlset(3_000),
    f"{OTHER}robots.txt": f"Sitemap: {OTHER}b.xml".encode(),
    f"{OTHER}b.xml": make_urlset(3_000, name="b").replace(
        SITE.encode(), OTHER.encode()
    ),
}


async def read_sites(**arguments: Any) -> list[dict[str, Any]]:
    fetcher = MemoryFetcher(dict(SITES))
    async with walk_many([SITE, OTHER], fetcher=fetcher, **grouped(arguments)) as run:
        found = [batch async for batch in run.record_batches()]
    return sort_rows(found)


async def test_rows_of_many_sites_have_their_site() -> None:
    """The first column is the site."""
    rows = await read_sites()
    assert len(rows) == 6_000
    assert all(row["loc"].startswith(row["site"]) for row in rows)
    assert next(iter(rows[0])) == "site"


def test_a_long_list_is_read_by_columns_to_its_end() -> None:
    """What was learnt of its first records holds for all blocks: none of them makes entries."""
    reader = SitemapReader(f"{SITE}a.xml")
    steps = chain(reader.feed_steps(make_urlset(9_000)), reader.close_steps())
    batches = [events for events in steps if events]
    assert len(batches) > 20
    assert {type(events) for events in batches} == {EntryColumns}


async def test_rows_of_many_sites_are_acknowledged_by_the_next(tmp_path: Path) -> None:
    """With a state no rows wait for others: what the consumer was not given comes again."""
    arguments: dict[str, Any] = {"state": tmp_path / "all.db"}
    fetcher = MemoryFetcher(dict(SITES))
    async with walk_many([SITE, OTHER], fetcher=fetcher, **grouped(arguments)) as run:
        batches = run.record_batches()
        handled = [await anext(batches) for _ in range(4)]
    given = [row["loc"] for row in sort_rows(handled)]
    again = [row["loc"] for row in await read_sites(**arguments)]
    assert len(given) < 6_000
    assert len({*given, *again}) == 6_000
    assert len(given) + len(again) <= 6_000 + max(batch.num_rows for batch in handled)


MOMENTS = [  # in the forms that sitemaps have
    *(
        "2026",
        "2026-02",
        "2026-1-2",
        "2026-01-02",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05",
    ),
    *(
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05+05:30",
        "2026-01-02T03:04:05.25-08:00",
    ),
    *("2026-01-02T24:00:00Z", "2026-12-31T23:59:60Z", "1969-12-31T23:59:59.999999Z"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-02T03:04:05.1234567Z"),
    *("2026-01-02T03:04:05-0000", "2026-01-02T03:04:05+01", "2024-02-29T00:00:00Z"),
]


@pytest.mark.parametrize("first", MOMENTS)
def test_arrow_reads_dates_as_we_do(first: str) -> None:
    """By columns, dates are parsed by Arrow where it can: they equal those of the entries."""
    for second in ("", *MOMENTS):
        texts = [first, "", second]
        moments = [parse_lastmod(text) if text else None for text in texts]
        written = [text or None for text in texts]
        columns = EntryColumns([SITE] * 3, [SITE] * 3, moments, lastmod_text=written)
        assert make_batch(columns).equals(make_batch(list(columns))), second


TEXTS = (
    st.none()
    | st.text(characters, max_size=4)
    | st.sampled_from(["\ud800", "é", "\U0001f600", ""])
)


ROW = st.tuples(TEXTS, TEXTS, st.none() | st.floats(0, 1), st.booleans())


@given(st.lists(ROW, min_size=1, max_size=20))
def test_columns_are_entries(rows: list[tuple[Any, ...]]) -> None:
    """All that can be done with columns gives what it gives with entries."""
    columns = EntryColumns(
        [f"{SITE}{number}" for number in range(len(rows))],
        [SITE] * len(rows),
        changefreq=[row[0] for row in rows],
        title=[row[1] for row in rows],
        priority=[row[2] for row in rows],
    )
    entries, marks = list(columns), [row[3] for row in rows]
    names = [column.name for column in (*COLUMNS, *DERIVED_COLUMNS)]
    for name in names:
        assert get_column(columns, name) == get_column(entries, name)
    assert list(select_rows(columns, marks)) == select_rows(entries, marks)
    assert list(columns[:7]) == entries[:7]
    mixed: list[list[UrlEntry] | EntryColumns] = [entries, columns]
    assert list(join_rows([columns, columns])) == join_rows(mixed)
    batch = make_batch(entries)
    assert make_batch(columns).equals(batch)
    batch.validate(full=True)
    texts = [
        text and text.encode("utf-8", "backslashreplace").decode() for text, *_ in rows
    ]
    assert batch.column("changefreq").to_pylist() == texts
    assert batch.column("priority").to_pylist() == [row[2] for row in rows]


async def test_all_outputs_have_the_same_rows(tmp_path: Path) -> None:
    """URLs, JSON lines, CSV, Parquet and record batches have equal rows, in the same order."""
    async with make_walk(MIXED) as walked:
        parts = [rows async for rows in walked.rows()]
    for form in FORMATS:
        with open_output(tmp_path / f"x.{form}") as output:
            for rows in parts:
                output.write(rows)
    batches = [row for rows in parts for row in make_batch(rows).to_pylist()]
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == batches
    locs = [row["loc"] for row in batches]
    assert (tmp_path / "x.urls").read_text().splitlines() == locs
    lines = [
        json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()
    ]
    with (tmp_path / "x.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert [line["loc"] for line in lines] == [cell["loc"] for cell in cells] == locs
    for row, line, cell in zip(batches, lines, cells, strict=True):
        assert line["priority"] == row["priority"]
        assert cell["priority"] == (
            "" if row["priority"] is None else str(row["priority"])
        )
        day = row["lastmod"] and row["lastmod"].isoformat()
        assert line["lastmod"] == (cell["lastmod"] or None) == day
        assert len(line.get("images", [])) == len(row["images"])
        assert line.get("title") == row["title"] == (cell["title"] or None)
