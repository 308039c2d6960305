"""Rows of URLs: the columns of every table, with the site before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sitemapreader.output.arrow import make_batch, make_schema
from sitemapreader.output.schema import COLUMNS

if TYPE_CHECKING:
    from sitemapreader.models import UrlEntry

_COLUMNS = make_schema(COLUMNS)
URL_SCHEMA = pa.schema(
    [pa.field("site", pa.string(), nullable=False), *_COLUMNS], _COLUMNS.metadata
)


def make_rows(site: str, entries: list[UrlEntry]) -> pa.RecordBatch:
    """Return the rows of some entries of a site."""
    columns = make_batch(entries, _COLUMNS).columns
    return pa.RecordBatch.from_arrays([pa.repeat(site, len(entries)), *columns], schema=URL_SCHEMA)
