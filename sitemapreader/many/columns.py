"""The entries of many sites as Arrow's record batches, `site` the first column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.entry_columns import SiteRows
from sitemapreader.output.arrow import make_batch, make_schema
from sitemapreader.output.schema import choose_columns

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

    import pyarrow as pa

    from sitemapreader.entry_columns import Rows

_ROWS = 8_192
"""Rows of a batch, of as many sites as it takes; about 3 MB."""
_SCHEMA = make_schema(choose_columns(None, has_sites=True))


class RowCollector:
    """Rows of several sites that wait to become a batch."""

    def __init__(self) -> None:
        self._waiting = SiteRows([])

    def add(self, site: str, rows: Rows) -> bool:
        """Add rows of a site; return whether there are enough for a batch."""
        self._waiting.parts.append((site, rows))
        return len(self._waiting) >= _ROWS

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows as one batch, if there are any."""
        waiting, self._waiting = self._waiting, SiteRows([])
        if waiting:
            yield make_batch(waiting, _SCHEMA)


def collect_batches(
    rows: Iterable[tuple[str, Rows]], *, gathers: bool = True
) -> Iterator[pa.RecordBatch]:
    """Yield rows and their sites as record batches.

    Without `gathers`, no rows wait for others.
    """
    collector = RowCollector()
    for pair in rows:
        if collector.add(*pair) or not gathers:
            yield from collector.take()
    yield from collector.take()


async def collect_batches_async(
    rows: AsyncIterable[tuple[str, Rows]], *, gathers: bool = True
) -> AsyncIterator[pa.RecordBatch]:
    """Do the work of `collect_batches` as the rows come."""
    collector = RowCollector()
    async for pair in rows:
        if collector.add(*pair) or not gathers:
            for batch in collector.take():
                yield batch
    for batch in collector.take():
        yield batch
