"""Tables of Arrow: all rows at once, or as a stream of batches."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

from sitemapreader.output.arrow import make_batch, make_schema
from sitemapreader.output.columns import choose_columns
from sitemapreader.rows import SiteRows
from sitemapreader.tables.rows import RowSource

import pyarrow as pa  # isort: skip (output.arrow says how to get it)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.tables.rows import Source
    from sitemapreader.walker.config import WalkArguments

WALK_KEY = b"sitemapreader.walk"
"""Key of a table's metadata; its value is the outcome of the walk, as JSON."""


def make_table(source: Source, arguments: WalkArguments) -> pa.Table:
    """Return all rows as a table, with the outcome of the walk; see `to_arrow`."""
    rows = RowSource(source, arguments)
    table = collect(rows)
    rows.summary.warn("the schema's metadata has the Issues; walk_sync has the whole report")
    written = json.dumps(rows.summary)
    return table.replace_schema_metadata({**table.schema.metadata, WALK_KEY: written})


def make_reader(source: Source, arguments: WalkArguments) -> pa.RecordBatchReader:
    """Return the rows as a stream; see `read_batches`."""
    rows = RowSource(source, arguments)
    return pa.RecordBatchReader.from_batches(_schema_of(rows), _stream(rows))


def collect(rows: RowSource) -> pa.Table:
    """Return all rows as a table."""
    return pa.Table.from_batches(_read_batches(rows), _schema_of(rows))


def _stream(rows: RowSource) -> Iterator[pa.RecordBatch]:
    yield from _read_batches(rows)
    rows.summary.warn("pass walk_sync(...) to have its report", stacklevel=3)


def _schema_of(rows: RowSource) -> pa.Schema:
    return make_schema(choose_columns(None, has_sites=rows.has_sites))


def _read_batches(rows: RowSource) -> Iterator[pa.RecordBatch]:
    """Yield the rows as batches; of several sites each row has its own."""
    columns = choose_columns(None, has_sites=rows.has_sites)
    with closing(rows):
        for pair in rows:
            yield make_batch(SiteRows([pair]) if rows.has_sites else pair[1], columns)
