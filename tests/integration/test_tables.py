"""Tables of URLs: all that the entries have, what became of the walk, and nothing left running."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import package
import pytest
from walking import ROBOTS, SITE, Pages, index, status, urlset

from sitemapreader import (
    FolderFetcher,
    IncompleteWarning,
    IssueCode,
    MemoryFetcher,
    StoredResponse,
    read,
    walk,
    walk_sync,
)
from sitemapreader.output.columns import COLUMNS

pytest.importorskip("pyarrow", reason="no pyarrow: pip install .[arrow]")
pd = pytest.importorskip("pandas", reason="no pandas: pip install .[pandas]")

from sitemapreader import read_batches, to_arrow, to_dataframe  # noqa: E402 (they need these two)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = [column.name for column in COLUMNS]
OF_SITEMAPS = ["etag", "sitemap_last_modified", "sitemap_size_mb", "download_date"]
EXAMPLE = "https://www.example.org/"
SITEMAP = f"{SITE}sitemap.xml"
MANY = 50_000


def example() -> FolderFetcher:
    return FolderFetcher(str(package.ROOT / "testdata" / "site"))


def large() -> MemoryFetcher:
    return MemoryFetcher({SITEMAP: urlset(*(f"{SITE}{number}" for number in range(MANY)))})


def lossy() -> MemoryFetcher:
    """Return a site whose one child is there and whose other is not."""
    there, gone = f"{SITE}there.xml", f"{SITE}gone.xml"
    return MemoryFetcher(
        {SITEMAP: index(there, gone), there: urlset(f"{SITE}1"), gone: status(404, gone)}
    )


@pytest.fixture(scope="module")
def frame() -> Any:
    return to_dataframe(EXAMPLE, fetcher=example())


def walks() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "sitemapreader" in thread.name]


# -- pandas


def test_a_frame_has_all_urls_and_all_columns(frame: Any) -> None:
    """One row a URL; the schema's columns, and advertools' about the sitemap, always."""
    with walk_sync(EXAMPLE, fetcher=example()) as entries:
        locs = [entry.loc for entry in entries]
    assert sorted(frame["loc"]) == sorted(locs)
    assert list(frame.columns) == NAMES + OF_SITEMAPS


def test_moments_are_aware(frame: Any) -> None:
    """Every column of moments is in UTC, so that they can be compared."""
    for name in ("lastmod", "sitemap_last_modified", "download_date"):
        assert isinstance(frame[name].dtype, pd.DatetimeTZDtype)
        assert str(frame[name].dtype.tz) == "UTC"
    assert frame["lastmod"].max() == datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
    assert frame["priority"].dtype == float


def test_no_value_of_an_extension_is_lost(frame: Any) -> None:
    """Lists of dicts keep all images and languages of a record; a dict has its news."""
    with walk_sync(EXAMPLE, fetcher=example()) as walking:
        entries = {entry.loc: entry for entry in walking}
    for row in frame.itertuples():
        entry = entries[row.loc]
        assert [image["loc"] for image in row.images or []] == [i.loc for i in entry.images]
        assert [tuple(link.values()) for link in row.alternates or []] == list(entry.alternates)
        assert (row.news or {}).get("title") == (entry.news and entry.news.title)
    assert frame["images"].str.len().max() == 2
    assert frame["news"].str["title"].notna().sum() == 1


def test_each_row_knows_its_sitemap(frame: Any) -> None:
    """The columns about the sitemap are those of the document that lists the row."""
    with walk_sync(EXAMPLE, fetcher=example()) as entries:
        list(entries)
    documents = {document.final_url: document for document in entries.report.documents}
    for row in frame.itertuples():
        document = documents[row.sitemap]
        assert row.etag == document.etag
        assert row.sitemap_size_mb == document.bytes_inflated / 1024 / 1024 > 0
    assert frame["sitemap"].nunique() > 3
    assert (frame["download_date"] <= datetime.now(UTC)).all()
    assert frame["sitemap_last_modified"].notna().all()


def test_a_frame_can_be_saved(frame: Any, tmp_path: Path) -> None:
    """It goes into a Parquet file and comes out of it, with what became of the walk."""
    frame.to_parquet(tmp_path / "x")
    saved = pd.read_parquet(tmp_path / "x")
    assert saved["loc"].equals(frame["loc"])
    assert saved.attrs["walk"] == frame.attrs["walk"]
    assert saved["images"].str.len().sum() == frame["images"].str.len().sum()


def test_a_frame_of_nothing_has_its_columns() -> None:
    """A sitemap without records gives no rows, in columns of the same types."""
    empty = to_dataframe(read(urlset()))
    assert (len(empty), list(empty.columns)) == (0, NAMES + OF_SITEMAPS)
    assert isinstance(empty["lastmod"].dtype, pd.DatetimeTZDtype)


async def test_a_frame_inside_a_running_loop() -> None:
    """In a notebook, where a loop runs, it works as everywhere."""
    assert len(to_dataframe(EXAMPLE, fetcher=example())) == 43


# -- what became of the walk


@pytest.mark.parametrize("function", [to_dataframe, to_arrow])
def test_a_loss_is_said(function: Callable[..., Any]) -> None:
    """A child that cannot be fetched gives a warning, and is named in the outcome."""
    with pytest.warns(
        IncompleteWarning, match=r"1 document failed \(https.*\); 1 http-status"
    ) as warned:
        table = function(sitemaps=[SITEMAP], fetcher=lossy())
    assert len(table) == 1
    assert warned[0].filename == __file__
    if function is to_dataframe:
        outcome = table.attrs["walk"]
        assert outcome.report.documents[-1].url
        assert table.copy().attrs["walk"].report is outcome.report
    else:
        outcome = json.loads(table.schema.metadata[b"sitemapreader.walk"])
    assert outcome["complete"] is False
    assert [d["url"] for d in outcome["documents"]] == [f"{SITE}gone.xml"]
    assert [issue["code"] for issue in outcome["issues"]] == ["http-status"]


def test_a_loss_in_a_stream_is_said_at_its_end() -> None:
    """A reader of batches has no place for a report; it warns, and the walk's owner has it."""
    with pytest.warns(IncompleteWarning, match="walk_sync"):
        assert read_batches(sitemaps=[SITEMAP], fetcher=lossy()).read_all().num_rows == 1
    with (
        pytest.warns(IncompleteWarning),
        walk_sync(sitemaps=[SITEMAP], fetcher=lossy()) as entries,
    ):
        read_batches(entries).read_all()
    assert entries.report.counts[IssueCode.HTTP_STATUS] == 1


def test_children_of_an_index_that_is_read_are_no_silent_loss() -> None:
    """Events of an index have sitemaps that nobody fetches, which is said."""
    with pytest.warns(IncompleteWarning, match="2 sitemaps listed and not fetched"):
        frame = to_dataframe(read(index(f"{SITE}a.xml", f"{SITE}b.xml")))
    assert frame.attrs["walk"]["children"] == 2


def test_issues_of_events_are_kept() -> None:
    """What a reader mends is in the report, and is no loss."""
    frame = to_dataframe(read(urlset(f"{SITE}?a&b"), SITEMAP))
    assert frame["loc"].tolist() == [f"{SITE}?a&b"]
    assert frame.attrs["walk"]["counts"] == {"bare-ampersand": 1}
    assert frame.attrs["walk"].report.issues[0].sitemap == SITEMAP
    assert frame["etag"].isna().all()


# -- sources


@pytest.mark.parametrize("source", [SITE, SITEMAP, f"{SITE}blog/", ROBOTS])
def test_a_url_is_what_it_turns_out_to_be(source: str) -> None:
    """A site, a sitemap, a page of the site and robots.txt all lead to its URLs."""
    page = StoredResponse(f"{SITE}blog/", b"<!doctype html><title>x</title>")
    pages: Pages = {SITEMAP: urlset(f"{SITE}1"), f"{SITE}blog/": page, ROBOTS: b""}
    frame = to_dataframe(source, fetcher=MemoryFetcher(pages))
    assert frame["loc"].tolist() == [f"{SITE}1"]


def test_arguments_of_the_walk_are_passed_on() -> None:
    """Whatever `walk` takes is taken, and checked by it."""
    frame = to_dataframe(EXAMPLE, fetcher=example(), since=datetime(2026, 3, 13, tzinfo=UTC))
    assert len(frame) == 12
    functions: tuple[Any, ...] = (to_dataframe, to_arrow, read_batches)
    for function in functions:
        with pytest.raises(TypeError, match="nonsense"):
            function(EXAMPLE, nonsense=1)


@pytest.mark.parametrize(
    ("source", "arguments", "said"),
    [
        (b"<urlset/>", {}, "pass read"),
        (walk(SITE), {}, "pass walk_sync"),
        ([], {"unique": True}, "unique: give the arguments"),
    ],
)
def test_misuse_says_what_to_write(source: Any, arguments: dict[str, Any], said: str) -> None:
    """A source that cannot be meant raises TypeError, before anything is fetched."""
    with pytest.raises(TypeError, match=said):
        to_arrow(source, **arguments)


# -- Arrow


def test_a_table_has_the_schema_of_the_files() -> None:
    """Columns and types are those of the Parquet output."""
    table = to_arrow(EXAMPLE, fetcher=example())
    assert (table.num_rows, table.column_names) == (43, NAMES)
    assert json.loads(table.schema.metadata[b"sitemapreader.walk"])["entries"] == 43


def test_batches_stream() -> None:
    """The first batch is there while most is still to come, and all come."""
    with walk_sync(sitemaps=[SITEMAP], fetcher=large()) as entries:
        reader = read_batches(entries)
        first = reader.read_next_batch().num_rows
        assert 8_192 <= first < MANY / 2
        assert first + sum(batch.num_rows for batch in reader) == MANY


@pytest.mark.parametrize("end", ["close", "forget"])
def test_a_stream_that_is_left_ends_its_walk(end: str) -> None:
    """Closing a reader early, or forgetting it, leaves no thread."""
    reader = read_batches(sitemaps=[SITEMAP], fetcher=large())
    reader.read_next_batch()
    assert walks() == ["sitemapreader.walk"]
    if end == "close":
        reader.close()
    del reader
    assert walks() == []


def test_duckdb_queries_a_stream() -> None:
    """DuckDB takes the stream under its name, lists included."""
    duckdb = pytest.importorskip("duckdb", reason="no duckdb: pip install duckdb")
    stream = read_batches(EXAMPLE, fetcher=example())
    with duckdb.connect() as connection:
        connection.register("stream", stream)
        query = "SELECT count(*), sum(len(images)), max(priority) FROM stream"
        assert connection.execute(query).fetchone() == (43, 3, 1.0)


def test_polars_takes_a_stream() -> None:
    """Polars makes a frame of the stream, lists included."""
    polars = pytest.importorskip("polars", reason="no polars: pip install polars")
    frame = polars.from_arrow(read_batches(EXAMPLE, fetcher=example()))
    assert frame.shape == (43, len(NAMES))
    assert frame["images"].list.len().sum() == 3
    assert frame["lastmod"].dtype == polars.Datetime("us", "UTC")


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [("pandas", "to_dataframe", "pandas"), ("pyarrow", "to_arrow", "arrow")],
)
def test_what_is_not_installed_is_named(missing: str, name: str, extra: str) -> None:
    """Without a library the message names the extra to install."""
    script = (
        "import sys\n"
        f"sys.modules[{missing!r}] = None\n"
        "import sitemapreader\n"
        f"try: sitemapreader.{name}('https://example.org/')\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert f"the extra `{extra}`" in done.stdout
