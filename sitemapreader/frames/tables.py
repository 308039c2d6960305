"""Tables of Arrow: all rows at once, or as a stream of batches."""

from __future__ import annotations

import inspect
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from sitemapreader.frames.sources import Rows
from sitemapreader.output.arrow import make_batch, make_schema
from sitemapreader.output.schema import COLUMNS
from sitemapreader.walker import walk

import pyarrow as pa  # isort: skip (output.arrow says how to get it)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sitemapreader.frames.sources import Source

Function = TypeVar("Function", bound="Callable[..., Any]")

WALK_KEY = b"sitemapreader.walk"
"""Key of a table's metadata that has what became of the walk, as JSON."""


def with_walk_arguments(function: Function) -> Function:
    """Show the arguments of `walk` in the signature of a function that passes them on."""
    own = inspect.signature(function)
    source = own.parameters["source"]
    passed = list(inspect.signature(walk).parameters.values())[1:]
    setattr(function, "__signature__", own.replace(parameters=[source, *passed]))  # noqa: B010 (help() looks for it)
    return function


@with_walk_arguments
def to_arrow(source: Source = None, **arguments: Any) -> pa.Table:
    """Return all URLs of a site as a `pyarrow.Table`, with the columns of SCHEMA.md.

    Takes what `to_dataframe` takes. What became of the walk is in the metadata of the schema, under
    "sitemapreader.walk", as JSON; an IncompleteWarning is given if something was lost. Needs the
    extra `arrow`.
    """
    rows = Rows(source, arguments)
    table = collect(rows)
    rows.outcome.warn("the schema's metadata has the Issues; walk_sync has the whole report")
    written = json.dumps(rows.outcome)
    return table.replace_schema_metadata({**table.schema.metadata, WALK_KEY: written})


@with_walk_arguments
def read_batches(source: Source = None, **arguments: Any) -> pa.RecordBatchReader:
    """Return the URLs of a site as a stream: a `pyarrow.RecordBatchReader`.

    ```python
    with walk_sync("https://example.org/") as entries:
        reader = read_batches(entries)
        duckdb.sql("SELECT sitemap, count(*) FROM reader GROUP BY sitemap").show()
    print(entries.report.counts)
    ```

    Polars, DuckDB and all others that know Arrow take it as it is, and memory does not grow. Takes
    what `to_dataframe` takes. A walk of your own is the way to its report; without one, an
    IncompleteWarning at the end tells that something was lost. Needs the extra `arrow`.
    """
    rows = Rows(source, arguments)
    return pa.RecordBatchReader.from_batches(make_schema(COLUMNS), _stream(rows))


def collect(rows: Rows) -> pa.Table:
    """Return all rows as a table."""
    schema = make_schema(COLUMNS)
    with closing(rows):
        return pa.Table.from_batches((make_batch(batch, schema) for batch in rows), schema)


def _stream(rows: Rows) -> Iterator[pa.RecordBatch]:
    schema = make_schema(COLUMNS)
    with closing(rows):
        for batch in rows:
            yield make_batch(batch, schema)
    rows.outcome.warn("pass walk_sync(...) to have its report")
