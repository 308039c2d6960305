"""Tables of Arrow: all rows at once, or as a stream of batches."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

from sitemapreader.output.arrow import add_site_column, make_batch, make_schema
from sitemapreader.output.columns import COLUMNS
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
    schema = make_schema(COLUMNS)
    return add_site_column(schema) if rows.has_sites else schema


def _read_batches(rows: RowSource) -> Iterator[pa.RecordBatch]:
    """Yield the rows as batches; of several sites each row has its own."""
    schema = _schema_of(rows)
    with closing(rows):
        for site, entries in rows:
            yield make_batch(entries, schema, site if rows.has_sites else None)
