"""The URLs of a site as a DataFrame of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.errors import advise_extra

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
    from sitemapreader.outcomes import Document
    from sitemapreader.tables.rows import Source
    from sitemapreader.walker.config import WalkArguments

_MIB = 1024 * 1024
_MOMENT = pa.timestamp("us", "UTC")


def make_frame(source: Source, arguments: WalkArguments) -> pd.DataFrame:
    """Return all rows as a DataFrame; see `to_dataframe`."""
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
