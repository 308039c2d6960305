"""Tables of URLs: of one site, several, a folder, a walk, entries; all columns; no loss unsaid."""

from __future__ import annotations

import io
import pkgutil
import threading
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import IssueCode, read, walk_many_sync, walk_sync, watch_sync
from sitemapreader._columns import COLUMNS
from sitemapreader.fetch import FolderFetcher, MemoryFetcher, StoredResponse
from sitemapreader.tables import IncompleteWarning, read_batches, to_dataframe
from tests.support import package
from tests.support.walking import ROBOTS, SITE, Pages, index, status, urlset

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(find_spec(name) is None, reason=f"no {name}: pip install .[dev]")
    for name in ("pyarrow", "pandas")
]
NAMES = [column.name for column in COLUMNS]
EXAMPLE = "https://www.example.org/"
SITEMAP = f"{SITE}sitemap.xml"
MANY = 50_000


def example() -> FolderFetcher:
    return FolderFetcher(str(package.ROOT / "testdata" / "site"))


def large() -> MemoryFetcher:
    return MemoryFetcher(
        {SITEMAP: urlset(*(f"{SITE}{number}" for number in range(MANY)))}
    )


def lossy() -> MemoryFetcher:
    """Return a site whose one child is there and whose other is not."""
    there, gone = f"{SITE}there.xml", f"{SITE}gone.xml"
    return MemoryFetcher(
        {
            SITEMAP: index(there, gone),
            there: urlset(f"{SITE}1"),
            gone: status(404, gone),
        }
    )


@pytest.fixture(scope="module")
def frame() -> Any:
    return to_dataframe(walk_sync(EXAMPLE, fetcher=example()))


# -- pandas


def test_a_frame_has_all_that_a_walk_has(frame: Any) -> None:
    """One row a URL, and no value lost."""
    with walk_sync(EXAMPLE, fetcher=example()) as walking:
        entries = {entry.loc: entry for entry in walking}
    assert sorted(frame["loc"]) == sorted(entries)
    for row in frame.itertuples():
        entry = entries[row.loc]
        assert [image["loc"] for image in row.images or []] == [
            i.loc for i in entry.images
        ]
        assert [tuple(link.values()) for link in row.alternates or []] == list(
            entry.alternates
        )
        assert (row.news or {}).get("title") == (entry.news and entry.news.title)
    assert frame["images"].str.len().max() == 2
    assert frame["sitemap"].nunique() > 3


def test_columns_are_the_same_whatever_is_in_them(frame: Any) -> None:
    """Also a sitemap without records has all, of the same types; moments are in UTC."""
    for each in (frame, to_dataframe(read(urlset()))):
        assert list(each.columns) == NAMES
        assert str(each["lastmod"].dtype.tz) == "UTC"
    assert frame["lastmod"].max() == datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
    assert frame["priority"].dtype == float


def test_a_frame_can_be_saved(frame: Any, tmp_path: Path) -> None:
    """It goes into a Parquet file and comes out of it, with what became of the walk."""
    frame.to_parquet(tmp_path / "x")
    import pandas as pd  # noqa: PLC0415 (many workers need none)

    saved = pd.read_parquet(tmp_path / "x")
    assert saved["loc"].equals(frame["loc"])
    assert saved.attrs["walk"] == frame.attrs["walk"]
    assert saved["images"].str.len().sum() == frame["images"].str.len().sum()


def urlset_of(fields: str) -> bytes:
    """Write a urlset with one record, which has these fields besides its loc."""
    space = "http://www.google.com/schemas/sitemap-image/1.1"
    record = f"<url><loc>{SITE}</loc>{fields}</url>"
    return f'<urlset xmlns:image="{space}">{record}</urlset>'.encode()


def test_files_of_several_days_have_the_same_types(tmp_path: Path) -> None:
    """With the schema of the frame, a column without a value has its type in Parquet."""
    import pyarrow.parquet as pq  # noqa: PLC0415 (the same)

    schemas = []
    for fields in (
        "",
        f"<image:image><image:loc>{SITE}1.jpg</image:loc></image:image>",
    ):
        day = to_dataframe(read(urlset_of(fields)))
        day.to_parquet(tmp_path / "day.parquet", schema=day.attrs["walk"].schema)
        schemas.append(pq.read_schema(tmp_path / "day.parquet"))
    assert schemas[0].equals(schemas[1])
    assert schemas[0].field("images").type.value_type.num_fields == 5


@pytest.mark.parametrize("is_entered", [False, True])
def test_a_run_over_many_sites(is_entered: bool) -> None:
    """Its rows have their site, and a site that was lost is warned of."""
    fetcher = MemoryFetcher({f"{SITE}sitemap.xml": urlset(f"{SITE}1", f"{SITE}2")})
    run = walk_many_sync([SITE, "other.example"], fetcher=fetcher)
    with (
        pytest.warns(IncompleteWarning, match="other.example failed"),
        run if is_entered else nullcontext(),
    ):
        frame = to_dataframe(run)
    assert list(frame.columns) == ["site", *NAMES]
    assert list(frame["site"]) == [SITE] * 2
    summary = frame.attrs["walk"]
    assert (summary["entries"], summary["complete"]) == (2, False)
    assert [document["reason"] for document in summary["documents"]] == ["no-sitemap"]
    again = walk_many_sync([SITE], fetcher=fetcher)
    assert read_batches(again).read_all().num_rows == 2


# -- what became of the walk


def test_a_loss_is_said() -> None:
    """A child that cannot be fetched gives a warning, and is named in the outcome."""
    with pytest.warns(
        IncompleteWarning, match=r"\(documents: https.* failed; Issues: 1 http-status\)"
    ) as warned:
        table = to_dataframe(walk_sync(sitemaps=[SITEMAP], fetcher=lossy()))
    assert len(table) == 1
    assert warned[0].filename == __file__
    outcome = table.attrs["walk"]
    assert outcome.report.documents[-1].url
    assert table.copy().attrs["walk"].report is outcome.report
    assert outcome["complete"] is False
    assert [d["url"] for d in outcome["documents"]] == [f"{SITE}gone.xml"]
    assert [issue["code"] for issue in outcome["issues"]] == ["http-status"]


def test_a_loss_in_a_stream_is_said_at_its_end() -> None:
    """A reader of batches has no place for a report; it warns, and the walk's owner has it."""
    with pytest.warns(IncompleteWarning, match="walk_sync"):
        assert (
            read_batches(walk_sync(sitemaps=[SITEMAP], fetcher=lossy()))
            .read_all()
            .num_rows
            == 1
        )
    with (
        pytest.warns(IncompleteWarning),
        walk_sync(sitemaps=[SITEMAP], fetcher=lossy()) as entries,
    ):
        read_batches(entries).read_all()
    assert entries.report.counts[IssueCode.HTTP_STATUS] == 1


def test_events_of_a_reader_become_rows() -> None:
    """What it mends is in the report and no loss; children that nobody fetches are one."""
    frame = to_dataframe(read(urlset(f"{SITE}?a&b"), SITEMAP))
    assert frame["loc"].tolist() == [f"{SITE}?a&b"]
    assert frame.attrs["walk"]["counts"] == {"bare-ampersand": 1}
    assert frame.attrs["walk"].report.issues[0].sitemap == SITEMAP
    with pytest.warns(IncompleteWarning, match="2 listed and not fetched"):
        frame = to_dataframe(read(index(f"{SITE}a.xml", f"{SITE}b.xml")))
    assert frame.attrs["walk"]["children"] == 2


# -- sources

BLOG = f"{SITE}blog/"


@pytest.mark.parametrize("source", [SITE, SITEMAP, BLOG, ROBOTS, f"{SITE}gone/"])
def test_a_url_is_what_it_turns_out_to_be(source: str) -> None:
    """A site, a sitemap, a page, what is not there, and robots.txt all lead to the URLs."""
    page = StoredResponse(BLOG, b"<!doctype html><title>x</title>")
    pages: Pages = {SITEMAP: urlset(f"{SITE}1"), BLOG: page, ROBOTS: b""}
    frame = to_dataframe(walk_sync(source, fetcher=MemoryFetcher(pages)))
    assert frame["loc"].tolist() == [f"{SITE}1"]


def test_arguments_of_the_walk_are_passed_on() -> None:
    """Whatever `walk` takes is taken, and checked by it."""
    frame = to_dataframe(
        walk_sync(EXAMPLE, fetcher=example(), since=datetime(2026, 3, 13, tzinfo=UTC))
    )
    assert len(frame) == 12
    functions: tuple[Any, ...] = (to_dataframe, read_batches)
    for function in functions:
        with pytest.raises(TypeError, match="nonsense"):
            function(EXAMPLE, nonsense=1)


# -- Arrow


def test_a_table_has_the_schema_of_the_files() -> None:
    """Columns and types are those of the Parquet output."""
    table = read_batches(walk_sync(EXAMPLE, fetcher=example())).read_all()
    assert (table.num_rows, table.column_names) == (43, NAMES)


def test_batches_stream() -> None:
    """The first batch is there while most is still to come, and all come."""
    with walk_sync(sitemaps=[SITEMAP], fetcher=large()) as entries:
        reader = read_batches(entries)
        first = reader.read_next_batch().num_rows
        assert 8_192 <= first < MANY / 2
        assert first + sum(batch.num_rows for batch in reader) == MANY


def test_a_stream_that_is_left_ends_its_walk() -> None:
    """Closing a reader early, or forgetting it, leaves no thread."""

    def walks() -> list[str]:
        return [
            each.name
            for each in threading.enumerate()
            if each.name == "sitemapreader.walk"
        ]

    for is_closed in (True, False):
        reader = read_batches(walk_sync(sitemaps=[SITEMAP], fetcher=large()))
        reader.read_next_batch()
        assert len(walks()) == 1
        if is_closed:
            reader.close()
        del reader
        assert walks() == []


async def test_polars_and_duckdb_accept_a_stream() -> None:
    """DuckDB and Polars take it with its lists, in a running loop as in notebooks."""
    polars = pytest.importorskip("polars", reason="no polars: pip install polars")
    frame = polars.from_arrow(read_batches(walk_sync(EXAMPLE, fetcher=example())))
    assert frame.shape == (43, len(NAMES))
    assert frame["images"].list.len().sum() == 3
    assert frame["lastmod"].dtype == polars.Datetime("us", "UTC")
    duckdb = pytest.importorskip("duckdb", reason="no duckdb: pip install duckdb")
    with duckdb.connect() as connection:
        connection.register(
            "stream", read_batches(walk_sync(EXAMPLE, fetcher=example()))
        )
        query = "SELECT count(*), sum(len(images)), max(priority) FROM stream"
        assert connection.execute(query).fetchone() == (43, 3, 1.0)


# -- what was lost

GONE = "https://gone.example/"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "to_dataframe": to_dataframe,
    "read_batches": lambda *args, **kwargs: read_batches(*args, **kwargs).read_all(),
}
PAGE = b"<!doctype html><title>x</title>"
FOLDER = package.ROOT / "testdata" / "site"


def test_a_warning_names_documents_and_issues() -> None:
    """It names the first of what was lost, and none that cost nothing; what is foreign, escaped."""

    def said(source: Any, fetcher: MemoryFetcher) -> str:
        with pytest.warns(IncompleteWarning) as warned:
            to_dataframe(walk_sync(source, fetcher=fetcher))
        return str(warned[0].message)

    nothing = said(SITE, MemoryFetcher({SITE: PAGE}))
    assert nothing.startswith("not everything was read (Issues: 1 no-sitemap): see")
    child, gone = f"{SITE}1.xml", f"{SITE}2.xml"
    odd = urlset(f"{SITE}?a&b") + b"<url><loc>"
    pages: Pages = {SITEMAP: index(child, gone), child: odd, gone: status(410, gone)}
    mixed = said(SITE, MemoryFetcher(pages))
    assert f"documents: {child} partial, {gone} failed; " in mixed
    assert "bare-ampersand" not in mixed
    several = [f"{SITE}{number}.xml" for number in range(4)]
    for number, more in ((3, ";"), (4, ", ...;")):
        lost = MemoryFetcher({SITEMAP: index(*several[:number])})
        named = ", ".join(f"{url} failed" for url in several[:3])
        assert f"(documents: {named}{more} " in said(SITE, lost)
    assert "\x1b" not in said(f"{GONE}\x1b[31m", MemoryFetcher({}))


# -- folders and pages


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_folder_is_a_source(
    function: Callable[..., Any], kind: Callable[[Path], Any]
) -> None:
    """The path of a folder is read as a site, without any network."""
    assert len(function(kind(FOLDER))) == 43


def test_a_folder_has_its_own_fetcher() -> None:
    """Another one beside it is refused."""
    with pytest.raises(TypeError, match="fetcher= cannot be combined"):
        to_dataframe(walk_sync(FOLDER, fetcher=MemoryFetcher({})))


# -- entries


def test_nothing_is_a_table_without_rows() -> None:
    """An empty document gives the columns, as an empty list does."""
    documents: list[Any] = [read(urlset()), iter(()), []]
    for nothing in documents:
        frame = to_dataframe(nothing)
        assert (len(frame), list(frame.columns)) == (0, NAMES)


@pytest.mark.parametrize("kind", ["list", "iter", "pandas.Series", "pyarrow.array"])
@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_several_sites(function: Callable[..., Any], kind: str, tmp_path: Path) -> None:
    """They are walked one after the other; the first column says which one a row is of."""
    make = pkgutil.resolve_name(kind if "." in kind else f"builtins.{kind}")
    files = [tmp_path / f"{name}.xml" for name in "ab"]
    for file in files:
        file.write_bytes(urlset(f"{SITE}{file.stem}"))
    table = function(make([str(file) for file in files]))
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    assert [*frame.columns] == ["site", *NAMES]
    assert [*frame["site"]] == [str(file) for file in files]
    assert [*frame["loc"]] == [f"{SITE}a", f"{SITE}b"]


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_several_walks(function: Callable[..., Any]) -> None:
    """Walks with arguments of their own are sources as well."""
    sites = [f"https://{name}.example/" for name in "ab"]
    pages = {f"{site}sitemap.xml": urlset(f"{site}1", f"{site}2") for site in sites}
    table = function(
        walk_sync(site, fetcher=MemoryFetcher(pages), include="/2$") for site in sites
    )
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    assert [*frame["site"]] == sites
    assert [*frame["loc"]] == [f"{site}2" for site in sites]


def test_a_loss_of_one_of_several_sites(tmp_path: Path) -> None:
    """A site and a file are in one table; the summary is of all, and a loss is said."""
    file = tmp_path / "s.xml"
    file.write_bytes(urlset(f"{SITE}1"))
    sources: list[Any] = [walk_sync(SITE, fetcher=lossy()), file]
    with pytest.warns(IncompleteWarning, match="gone.xml failed"):
        frame = to_dataframe(sources)
    assert [*frame["site"]] == [SITE, str(file)]
    assert (frame.attrs["walk"]["entries"], frame.attrs["walk"]["complete"]) == (
        2,
        False,
    )


# -- misuse

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "none": (lambda: None, "NoneType is not a source of rows: pass the URL"),
    "bytes": (
        lambda: b"<urlset/>",
        r"bytes is not a source of rows: .*the entries of read",
    ),
    "open file": (lambda: io.BytesIO(b"<urlset/>"), "bytes in the list"),
    "number": (lambda: 5, "int is not a source of rows"),
    "run over sites": (
        lambda: watch_sync([SITE], state="all.db"),
        r"Watch is not a source of rows: .*\[walk_sync\(site, ...\) for site in sites\]",
    ),
    "mapping": (lambda: {SITE: 1}, "dict is not a source of rows"),
    "list of lists": (lambda: [[SITE]], "list in the list"),
    "a number among sites": (lambda: [SITE, 5], "int among sites is not a source"),
    "entries among sites": (
        lambda: [SITE, *read(urlset(SITE))],
        "UrlEntry among sites",
    ),
    "entries and sites": (lambda: [*read(urlset(SITE)), SITE], "str among entries"),
}


@pytest.mark.parametrize("function", FUNCTIONS.values())
@pytest.mark.parametrize("name", MISTAKES)
def test_arguments_without_meaning_are_refused(
    name: str, function: Callable[..., Any]
) -> None:
    """It raises TypeError with what to pass, before anything is fetched; it is no empty table."""
    make, said = MISTAKES[name]
    with pytest.raises(TypeError, match=said):
        function(make())


@pytest.mark.parametrize("write", [str, Path, Path.as_uri])
def test_a_file_is_a_source(write: Callable[[Path], Any], tmp_path: Path) -> None:
    """Its path as text, as a Path or as a URL gives the rows of its URLs."""
    file = tmp_path / "a b.xml"
    file.write_bytes(urlset(SITE))
    assert [*to_dataframe(write(file))["loc"]] == [SITE]


def test_nothing_is_fetched_before_a_mistake_is_said() -> None:
    """What cannot be walked, or is given twice, is refused before the first request."""
    wrong: list[tuple[Any, type[Exception], str]] = [
        ("", ValueError, "no site was given: write one"),
        ("two.example", ValueError, "full URL"),
        ("nosuchfolder", ValueError, "there is no file or folder 'nosuchfolder'"),
        (["nosuchfolder"], ValueError, "there is no file or folder 'nosuchfolder'"),
        (Path("not-there"), FileNotFoundError, "not-there does not exist"),
    ]
    for source, kind, said in wrong:
        with pytest.raises(kind, match=said):
            to_dataframe(source)
    nested: Any = {"unique": True}
    with pytest.raises(
        TypeError, match=r"write the walk as the source: walk_sync\(site, unique"
    ):
        read_batches([], **nested)
