"""The URLs of a site as a DataFrame of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.installation import advise_extra

try:
    import pandas as pd
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"DataFrames need pandas; {advise_extra('pandas')}", name=error.name
    ) from error

from sitemapreader.dates import parse_lastmod
from sitemapreader.tables.arrow import collect
from sitemapreader.tables.rows import RowSource

import pyarrow as pa  # isort: skip (output.arrow says how to get it)
import pyarrow.compute as pc  # isort: skip (the same)

if TYPE_CHECKING:
    from typing import Unpack

    from sitemapreader.outcomes import Document
    from sitemapreader.tables.rows import Source
    from sitemapreader.walker.config import WalkArguments

_MIB = 1024 * 1024
_MOMENT = pa.timestamp("us", "UTC")


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
    rows = RowSource(source, arguments)
    table = _add_documents(collect(rows), rows)
    frame = _to_pandas(table)
    frame.attrs["walk"] = rows.summary
    rows.summary.warn("see frame.attrs['walk']")
    return frame


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    """Convert a table; lists and structs become plain objects that pandas can write.

    A column of pandas' own Arrow type for these could be written, and not be read again.
    """
    names = table.column_names
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    objects = {name: _to_objects(table[name]) for name in nested}
    table = table.drop_columns(nested)
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    for name, column in objects.items():
        frame.insert(names.index(name), name, pd.Series(column, frame.index, dtype=object))
    return frame


def _to_objects(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_list(column.type):
        present = pc.greater(pc.list_value_length(column), 0)
    else:
        present = pc.is_valid(column)
    objects = iter(column.filter(present).to_pylist())
    return [next(objects) if there else None for there in present.to_pylist()]


def _add_documents(table: pa.Table, rows: RowSource) -> pa.Table:
    """Add what is known of the sitemap of each row."""
    listed = rows.summary.report.documents
    documents = {document.final_url: document for document in listed if document.entries}
    found = [documents.get(url) for url in rows.first_seen]
    columns = {
        "etag": pa.array([document and document.etag for document in found], pa.string()),
        "sitemap_last_modified": pa.array([_last_modified(each) for each in found], _MOMENT),
        "sitemap_size_mb": pa.array([_size(document) for document in found], pa.float64()),
        "download_date": pa.array(rows.first_seen.values(), _MOMENT),
    }
    places = pc.index_in(table["sitemap"], pa.array(rows.first_seen, pa.string()))
    for name, values in columns.items():
        table = table.append_column(name, pc.take(values, places))
    return table


def _last_modified(document: Document | None) -> Any:
    return parse_lastmod(document.last_modified or "") if document else None


def _size(document: Document | None) -> float | None:
    return document.bytes_inflated / _MIB if document else None
