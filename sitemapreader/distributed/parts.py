"""Parquet files of one attempt: the rows of its URLs, and a row for each host."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader.distributed.storage import OutputError
from sitemapreader.issues import IssueCode
from sitemapreader.output.arrow import GroupWriter, make_batches
from sitemapreader.output.columns import SITE_COLUMNS
from sitemapreader.rows import BATCH_ROWS, RowBuffer, SiteRows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sitemapreader.distributed.storage import Storage
    from sitemapreader.models import UrlEntry

Row = dict[str, Any]

MAX_WAIT_DAYS = 32
"""The longest time until a host is due again, even if it asks for more or failed often."""
NO_SITEMAP_DAYS = 30
_SECONDS_PER_DAY = 24 * 3_600
_FAILED = frozenset({"failed", "error"})
_READ = frozenset({"complete", "unchanged"})
_REFUSED_BY_OPTIONS = frozenset(
    {
        IssueCode.BLOCKED_ADDRESS,
        IssueCode.BLOCKED_PORT,
        IssueCode.TOO_LARGE,
        IssueCode.BUDGET_BYTES,
        IssueCode.BUDGET_DEPTH,
        IssueCode.BUDGET_CHILDREN,
        IssueCode.BUDGET_DOCUMENTS,
        IssueCode.BUDGET_MEMORY,
        IssueCode.BUDGET_URLS,
    }
)
"""Reasons that are no fault of a host, as the next run may have other options. Time is a fault."""

OUTCOME_FIELDS = (
    pa.field("site", pa.string(), nullable=False),
    pa.field("status", pa.string(), nullable=False),
    pa.field("reason", pa.string()),
    pa.field("http_status", pa.int64()),
    pa.field("entries", pa.int64()),
    pa.field("changed", pa.int64()),
    pa.field("removed", pa.int64()),
    pa.field("documents", pa.int64()),
    pa.field("requests", pa.int64()),
    pa.field("bytes", pa.int64()),
    pa.field("seconds", pa.float64()),
    pa.field("crawl_delay", pa.float64()),
    pa.field("retry_after", pa.float64()),
    pa.field("address", pa.string()),
)
_TIME = pa.timestamp("ms", "UTC")
STATUS_SCHEMA = pa.schema(
    [
        *OUTCOME_FIELDS,
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("read", pa.bool_(), nullable=False),
        pa.field("read_at", _TIME),
        pa.field("failures", pa.int32(), nullable=False),
        pa.field("last_ok", _TIME),
        pa.field("not_before", _TIME),
    ]
)
"""`read` tells whether this run read the host, or carries its row over because it was not due."""


def make_row(outcome: Row, before: Row | None, partition: int, now: datetime) -> Row:
    """Return the row of a host that was read: its outcome, and its history."""
    before = before or {}
    status = outcome["status"]
    has_failed = status in _FAILED and outcome["reason"] not in _REFUSED_BY_OPTIONS
    failures = before.get("failures", 0) + 1 if has_failed else 0
    return outcome | {
        "partition": partition,
        "read": True,
        "read_at": now,
        "failures": failures,
        "last_ok": now if status in _READ else before.get("last_ok"),
        "not_before": _find_due(status, failures, outcome["retry_after"], now),
    }


def carry_row(before: Row) -> Row:
    """Return the row of a host that was not due: its last row."""
    return before | {"read": False}


def is_due(before: Row | None, now: datetime) -> bool:
    """Return whether a host may be read again, by its last row."""
    return before is None or before["not_before"] is None or before["not_before"] <= now


def _find_due(
    status: str, failures: int, retry_after: float | None, now: datetime
) -> datetime | None:
    days: list[float] = []
    if failures:
        days.append(2**failures)
    if status == "none":
        days.append(NO_SITEMAP_DAYS)
    if retry_after is not None:
        days.append(retry_after / _SECONDS_PER_DAY)
    return now + timedelta(days=min(max(days), MAX_WAIT_DAYS)) if days else None


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write rows to a local Parquet file."""
    pq.write_table(pa.Table.from_pylist(list(rows), STATUS_SCHEMA), path, compression="zstd")


def load_rows(storage: Storage, path: str) -> dict[str, Row]:
    """Load the rows of a partition by site.

    Raises OSError, where the storage fails, and OutputError if the file is damaged.
    """
    content = storage.read(path)
    if content is None:
        raise OutputError(f"{storage.output}/{path} is missing")
    try:
        rows: list[Row] = pq.read_table(io.BytesIO(content), schema=STATUS_SCHEMA).to_pylist()
    except (OSError, OverflowError, ValueError, pa.ArrowException) as error:
        raise OutputError(f"{storage.output}/{path} is damaged: {error}") from None
    return {row["site"]: row for row in rows}


def now_utc() -> datetime:
    """Return the time, in the precision of the rows."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def make_error(site: str, reason: str) -> Row:
    """Return the outcome of a host that could not be read because of a bug of ours."""
    return dict.fromkeys(field.name for field in OUTCOME_FIELDS) | {
        "site": site,
        "status": "error",
        "reason": reason,
    }


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
            self._write_shared(make_batches(self._ended.take(), SITE_COLUMNS))
            self._write_shared(self._batches.pop(site))
        elif self._ended.add(SiteRows([(site, self._entries.pop(site, []))])):
            self._write_shared(make_batches(self._ended.take(), SITE_COLUMNS))

    def close(self) -> list[WrittenPart]:
        """Finish all sites and files; return the files."""
        for site in {**self._entries, **self._batches, **self._own}:
            self.finish(site)
        self._write_shared(make_batches(self._ended.take(), SITE_COLUMNS))
        self._close_shared()
        return self.parts

    def _make_columns(self, site: str) -> None:
        entries = SiteRows([(site, self._entries.pop(site, []))])
        batches = make_batches([entries], SITE_COLUMNS)
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
