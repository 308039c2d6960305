"""Parquet: what is read back is what was written, by Arrow, DuckDB and Polars alike."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, strategies as st

from sitemapreader import UrlEntry, walk_sync
from sitemapreader._columns import COLUMNS, SCHEMA_VERSION
from sitemapreader._types.models import Price, Restriction
from sitemapreader.fetch import FolderFetcher
from sitemapreader.output import open_output
from sitemapreader.records import Alternate, Extra, Image, News, Video
from tests.support import package
from tests.support.strategies import characters

pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")

import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader._columns.arrow import VERSION_KEY, make_batch, make_schema
from sitemapreader.output.parquet import GROUP_ROWS

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = make_schema(COLUMNS)
FULL = UrlEntry(
    "https://a.example/\u00fc",
    datetime(
        2026, 3, 13, 17, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=45))
    ),
    "weekly",
    0.0,
    (
        Image("https://a.example/1.png", "a", "b", "c", "d"),
        Image("https://a.example/2.png"),
    ),
    (
        Video(
            title="v",
            duration=3,
            rating=4.5,
            view_count=10**14,
            live=False,
            publication_date=datetime(2026, 3, 1, tzinfo=UTC),
            tags=("x", "y"),
            prices=(Price("1.00", "EUR"), Price("2.00")),
            restriction=Restriction(("DE", "FR"), "allow"),
        ),
        Video(),
    ),
    News(name="n", publication_date=datetime(1, 1, 1, tzinfo=UTC)),
    (
        Alternate("https://a.example/de", "de"),
        Alternate("https://a.example/m", media="print"),
    ),
    (
        Extra("urn:x", "y", "z"),
        Extra(
            "urn:x",
            "a",
            "",
            {"n": "\xfc", "{urn:y}m": ""},
            (Extra("", "b", "", {"c": "1"}),),
        ),
    ),
    "https://a.example/sitemap.xml",
    "2026-03-13T17:30:00.123456+05:45",
)
BARE = UrlEntry("https://a.example/bare")
ROWS = GROUP_ROWS + 10_000


list_hints = cache(get_type_hints)


def restored(value: Any, kind: Any) -> Any:
    """Make what a model's field holds of what Arrow gives for it."""
    arguments = [each for each in get_args(kind) if each not in {NoneType, Ellipsis}]
    hints = list_hints(Extra)
    if kind in (hints["attributes"], hints["children"]) and not isinstance(
        value, dict | list
    ):
        value = json.loads(value or "{}")
    if kind == hints["attributes"]:
        return value
    if get_origin(kind) is tuple:
        return tuple(restored(part, arguments[0]) for part in value)
    if arguments:
        return None if value is None else restored(value, arguments[0])
    if isinstance(value, dict):
        hints = list_hints(kind)
        return kind(
            **{name: restored(part, hints[name]) for name, part in value.items()}
        )
    return value


def entries_of(table: Any) -> list[UrlEntry]:
    return [restored(row, UrlEntry) for row in table.to_pylist()]


def write(path: Path, entries: list[UrlEntry], **options: Any) -> Path:
    with open_output(str(path), "parquet", **options) as output:
        for start in range(0, len(entries), 1000):
            output.write(entries[start : start + 1000])
    return path


def site() -> list[UrlEntry]:
    fetcher = FolderFetcher(str(package.ROOT / "testdata" / "site"))
    with walk_sync("https://www.example.org/", fetcher=fetcher) as entries:
        return list(entries)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two groups of rows and something in every column."""
    plain = [
        UrlEntry(f"https://a.example/{n}", priority=n % 10 / 10)
        for n in range(ROWS - 44)
    ]
    return write(
        tmp_path_factory.mktemp("parquet") / "urls.parquet", [FULL, *site(), *plain]
    )


def test_entries_read_back_are_equal(tmp_path: Path) -> None:
    """Every field of every class comes back as it was; moments as the same moments."""
    entries = [BARE, FULL, *site()]
    assert entries_of(pq.read_table(write(tmp_path / "x", entries))) == entries


def test_groups_are_of_a_size(file: Path) -> None:
    """Rows come in groups that a reader holds in memory one at a time."""
    directory = pq.read_metadata(file)
    assert directory.num_rows == ROWS
    assert directory.num_row_groups == 2
    assert GROUP_ROWS <= directory.row_group(0).num_rows < GROUP_ROWS + 8_192
    (locs,) = pq.read_table(file, columns=["loc"])
    assert [locs[n].as_py()[18:] for n in (44, ROWS - 1)] == ["0", str(ROWS - 45)]


texts = st.none() | st.text(characters, max_size=5)
moments = st.none() | st.datetimes(timezones=st.just(UTC))
images = st.lists(
    st.builds(Image, st.text(characters, max_size=3), texts, texts), max_size=2
).map(tuple)
videos = st.lists(
    st.builds(
        Video,
        title=texts,
        tags=st.lists(st.text(characters, max_size=3), max_size=2).map(tuple),
        live=st.none() | st.booleans(),
        restriction=st.none() | st.builds(Restriction, st.just(("DE",)), texts),
        expiration_date=moments,
    ),
    max_size=2,
).map(tuple)
entries_ = st.builds(
    UrlEntry,
    loc=st.text(characters, max_size=5),
    lastmod=moments,
    priority=st.none() | st.floats(0, 1),
    images=images,
    videos=videos,
    news=st.none() | st.builds(News, title=texts, publication_date=moments),
    lastmod_text=texts,
)


@given(st.lists(entries_, max_size=6))
def test_any_batch_is_sound(entries: list[UrlEntry]) -> None:
    """Whatever is there and is not, the arrays are valid by Arrow's own check, and equal."""
    batch = make_batch(entries)
    batch.validate(full=True)
    assert entries_of(batch) == entries


def test_duckdb_reads_it(file: Path) -> None:
    """DuckDB needs nothing of ours: nested fields, times with a zone, aggregates."""
    duckdb = pytest.importorskip("duckdb", reason="no duckdb: pip install duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(
            "SELECT count(*), max(len(images)), epoch_ms(max(lastmod)), "
            "max(videos[1].restriction.relationship), count(DISTINCT loc) FROM read_parquet(?)",
            [str(file)],
        ).fetchone()
    locs = len({*pq.read_table(file)["loc"].to_pylist()})
    last = max(entry.lastmod for entry in [FULL, *site()] if entry.lastmod)
    assert found == (ROWS, 2, int(last.timestamp() * 1000), "allow", locs)


@pytest.mark.slow
def test_polars_reads_it(file: Path) -> None:
    """Polars needs nothing of ours, its lazy reader included."""
    polars = pytest.importorskip("polars", reason="no polars: pip install polars")
    frame = polars.scan_parquet(file)
    assert frame.select(polars.len()).collect().item() == ROWS
    first = frame.head(1).collect()
    assert first["lastmod"][0] == FULL.lastmod
    assert first["videos"][0][0]["tags"] == ["x", "y"]
    assert first["videos"][0][0]["prices"][1]["amount"] == "2.00"
    assert first["alternates"].explode().struct.field("hreflang").to_list() == [
        "de",
        None,
    ]


def test_the_schema_follows_the_columns(tmp_path: Path) -> None:
    """Texts are strings, moments microseconds in UTC; what is always there is not null.

    The version is in the file, which has all columns without an entry, and else those chosen.
    """
    assert SCHEMA.field("loc") == pa.field("loc", pa.string(), nullable=False)
    assert SCHEMA.field("lastmod") == pa.field("lastmod", pa.timestamp("us", "UTC"))
    assert not SCHEMA.field("images").nullable
    table = pq.read_table(write(tmp_path / "x", []))
    assert (table.schema, table.num_rows) == (SCHEMA, 0)
    assert table.schema.metadata[VERSION_KEY] == str(SCHEMA_VERSION).encode()
    chosen = pq.read_table(write(tmp_path / "x", [FULL], fields=["news", "loc"]))
    assert chosen.column_names == ["news", "loc"]


def test_misuse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binary data is not written to a terminal, and a compressed file is not compressed again."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for words in ((None, "parquet"), ("x.parquet.gz",), ("x.gz", "parquet")):
        with pytest.raises(
            ValueError, match=r"name a file|end the name with \.parquet"
        ):
            open_output(*words)
