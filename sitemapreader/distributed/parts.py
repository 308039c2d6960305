"""Parquet files of one attempt: bounded memory, the rows of a site together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.output.arrow import BATCH_ROWS, GroupWriter, make_site_batches
from sitemapreader.rows import RowBuffer, SiteRows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

    from sitemapreader.models import UrlEntry

OWN_FILE_ROWS = 50_000
"""Rows of one site that wait in memory; a site with more gets a file of its own."""
_BATCH_ROWS = 4_096
"""Entries of one site that wait before they become columns."""
_GROUP_ROWS = 65_536
"""Rows of a row group: what a query reads at least."""
_FILE_ROWS = 4_000_000
"""Rows after which the next file begins; about 100 MB."""


@attrs.frozen
class WrittenPart:
    """A file that is written: its path on the local disk, and its rows."""

    path: Path
    rows: int


class PartFile:
    """A Parquet file that is being written, in row groups of one size."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.rows = 0
        self._writer = GroupWriter(path, schema, rows=_GROUP_ROWS)

    def write(self, batches: list[pa.RecordBatch]) -> None:
        """Append rows; they reach the disk when a row group is full."""
        for batch in batches:
            self._writer.add(batch)
            self.rows += batch.num_rows

    def close(self) -> WrittenPart:
        """Write what waits and end the file."""
        self._writer.close()
        return WrittenPart(self.path, self.rows)


class PartWriter:
    """The Parquet files of the rows of many sites, which come interleaved.

    Attributes:
        parts: the files that are finished.
    """

    def __init__(self, folder: Path) -> None:
        self.parts: list[WrittenPart] = []
        self._folder = folder
        self._made = 0
        self._shared: PartFile | None = None
        self._ended = RowBuffer[SiteRows](BATCH_ROWS)
        self._entries: dict[str, list[UrlEntry]] = {}
        self._batches: dict[str, list[pa.RecordBatch]] = {}
        self._own: dict[str, PartFile] = {}

    def add(self, site: str, entries: list[UrlEntry]) -> None:
        """Add rows of a site; those of a large site become columns, which are smaller."""
        waiting = self._entries.setdefault(site, [])
        waiting += entries
        if len(waiting) >= _BATCH_ROWS:
            self._make_columns(site)

    def finish(self, site: str) -> None:
        """Write the rows of a site, of which no more come, into the file of all sites."""
        if site in self._batches or site in self._own:
            self._make_columns(site)
        if site in self._own:
            self.parts.append(self._own.pop(site).close())
        elif site in self._batches:
            self._write_shared(make_site_batches(self._ended.take()))
            self._write_shared(self._batches.pop(site))
        elif self._ended.add(SiteRows([(site, self._entries.pop(site, []))])):
            self._write_shared(make_site_batches(self._ended.take()))

    def close(self) -> list[WrittenPart]:
        """Finish all sites and files; return the files."""
        for site in {**self._entries, **self._batches, **self._own}:
            self.finish(site)
        self._write_shared(make_site_batches(self._ended.take()))
        self._close_shared()
        return self.parts

    def _make_columns(self, site: str) -> None:
        batches = make_site_batches([SiteRows([(site, self._entries.pop(site, []))])])
        if site not in self._own:
            waiting = self._batches.setdefault(site, [])
            waiting += batches
            if sum(batch.num_rows for batch in waiting) <= OWN_FILE_ROWS:
                return
            self._own[site] = self._make_file(waiting[0].schema)
            batches = self._batches.pop(site)
        self._own[site].write(batches)

    def _write_shared(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            if not batch.num_rows:
                continue
            if self._shared is None:
                self._shared = self._make_file(batch.schema)
            self._shared.write([batch])
            if self._shared.rows >= _FILE_ROWS:
                self._close_shared()

    def _close_shared(self) -> None:
        if self._shared is not None:
            self.parts.append(self._shared.close())
            self._shared = None

    def _make_file(self, schema: pa.Schema) -> PartFile:
        self._made += 1
        return PartFile(self._folder / f"{self._made - 1:04}.parquet", schema)
