"""The URLs of a site as a table of pandas or Arrow.

The functions import what they need when they are called: their names are there without the extras.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Unpack

    import pandas as pd
    import pyarrow as pa

    from sitemapreader.tables.rows import Source
    from sitemapreader.walker.config import WalkArguments


def to_dataframe(source: Source = None, **arguments: Unpack[WalkArguments]) -> pd.DataFrame:
    """Return all URLs of one or several sites as a DataFrame; in notebooks too.

    ```python
    frame = to_dataframe("https://example.org/", since=datetime(2026, 1, 1, tzinfo=UTC))
    frame = to_dataframe(["https://example.org/", "https://example.com/"])
    frame = to_dataframe(sitemaps=["https://example.org/sitemap.xml"])
    frame = to_dataframe(read(data))
    ```

    Args:
        source: one of these.

            - URL of a site, or of a sitemap, page or robots.txt. What turns out to be a page, or
              is not there, is searched below.
            - Path of a folder, which is read as `FolderFetcher` reads it.
            - Several of these: a list, a column of a DataFrame, any iterable. They are walked one
              after the other, each once, and the first column, `site`, says which a row is of.
            - A walk that was entered, made by `walk_sync`.
            - Entries, or all events, as `read` gives them. The children of an index among those
              are counted, not fetched.
        arguments: the keyword arguments of `walk`, with sites or instead of one.

    Raises TypeError for anything else, and what `walk` raises.

    One row a URL, columns as in docs/columns.md: `lastmod` is aware (UTC); `images`, `videos`,
    `alternates` and `extras` hold lists of dicts and `news` a dict, or `None` where the record has
    none (`frame.images.str.len()`, `frame.news.str["title"]`). Behind these stand what is known of
    the row's sitemap, under the names that advertools gave it: `etag`, `sitemap_last_modified`,
    `sitemap_size_mb` (MiB, after inflating), `download_date`.

    `frame.attrs["walk"]` is a `WalkSummary`; its `report` has the outcome of each sitemap. An
    IncompleteWarning is given if something was lost. Needs the extra `pandas`.
    """
    from sitemapreader.tables.pandas import make_frame  # noqa: PLC0415 (it needs the extra)

    return make_frame(source, arguments)


def to_arrow(source: Source = None, **arguments: Unpack[WalkArguments]) -> pa.Table:
    """Return all URLs of a site as a `pyarrow.Table`, with the documented columns.

    Takes what `to_dataframe` takes. The outcome of the walk is in the metadata of the schema, under
    "sitemapreader.walk", as JSON; an IncompleteWarning is given if something was lost. Needs the
    extra `arrow`.
    """
    from sitemapreader.tables.arrow import make_table  # noqa: PLC0415 (it needs the extra)

    return make_table(source, arguments)


def read_batches(source: Source = None, **arguments: Unpack[WalkArguments]) -> pa.RecordBatchReader:
    """Return the URLs of a site as a stream: a `pyarrow.RecordBatchReader`.

    ```python
    with walk_sync("https://example.org/") as entries:
        reader = read_batches(entries)
        duckdb.sql("SELECT sitemap, count(*) FROM reader GROUP BY sitemap").show()
    print(entries.report.counts)
    ```

    Polars, DuckDB and other tools that read Arrow accept it, and memory does not grow. Takes
    what `to_dataframe` takes. Pass a walk of your own to get its report; otherwise an
    IncompleteWarning at the end says that something was lost. Needs the extra `arrow`.
    """
    from sitemapreader.tables.arrow import make_reader  # noqa: PLC0415 (it needs the extra)

    return make_reader(source, arguments)
