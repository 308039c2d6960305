"""The entries of many sites as Arrow's record batches, with the column `site` first."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from sitemapreader.output.arrow import make_batch, make_schema
from sitemapreader.output.schema import COLUMNS

import pyarrow as pa  # isort: skip (output.arrow says how to get it)

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

    from sitemapreader.models import UrlEntry

_ROWS = 8_192
"""Rows of a batch, of as many sites as it takes; about 3 MB."""
SITE = pa.field("site", pa.string(), nullable=False)
"""The column that says where a row is from: the site as it was given."""


class SiteRows:
    """Rows of several sites that wait to become columns."""

    def __init__(self) -> None:
        self._schema = make_schema(COLUMNS)
        self._with_site = self._schema.insert(0, SITE)
        self._rows: list[tuple[str, list[UrlEntry]]] = []
        self._number = 0

    def add(self, site: str, entries: list[UrlEntry]) -> bool:
        """Add entries of a site; return whether there are enough for a batch."""
        self._rows.append((site, entries))
        self._number += len(entries)
        return self._number >= _ROWS

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows as one batch, if there are any."""
        rows, self._rows, self._number = self._rows, [], 0
        if not rows:
            return
        entries = list(chain.from_iterable(entries for _, entries in rows))
        sites = chain.from_iterable(repeat(site, len(entries)) for site, entries in rows)
        columns = [pa.array(sites, SITE.type), *make_batch(entries, self._schema).columns]
        yield pa.RecordBatch.from_arrays(columns, schema=self._with_site)


def collect_batches(
    batches: Iterable[tuple[str, list[UrlEntry]]],
) -> Iterator[pa.RecordBatch]:
    """Yield record batches of entries with their sites."""
    rows = SiteRows()
    for site, entries in batches:
        if rows.add(site, entries):
            yield from rows.take()
    yield from rows.take()


async def collect_batches_async(
    batches: AsyncIterable[tuple[str, list[UrlEntry]]],
) -> AsyncIterator[pa.RecordBatch]:
    """Yield record batches of entries with their sites, as they come."""
    rows = SiteRows()
    async for site, entries in batches:
        if rows.add(site, entries):
            for batch in rows.take():
                yield batch
    for batch in rows.take():
        yield batch
