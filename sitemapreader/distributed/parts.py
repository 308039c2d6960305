"""Parquet files of one attempt: the rows of its URLs, and a row for each host."""

from __future__ import annotations

import io
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader import IssueCode, SiteOutcome, SiteStatus
from sitemapreader.distributed.storage import OutputError
from sitemapreader.output.arrow import GroupWriter, make_schema
from sitemapreader.output.columns import OUTCOME_COLUMNS, SITE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sitemapreader.distributed.storage import Storage

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

_TIME = pa.timestamp("ms", "UTC")
STATUS_SCHEMA = pa.schema(
    [
        *make_schema(OUTCOME_COLUMNS),
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
    return attrs.asdict(SiteOutcome(site, SiteStatus.ERROR, reason))


OWN_FILE_ROWS = 50_000
"""Rows of one site that wait in memory; a site with more gets a file of its own."""
_GROUP_ROWS = 65_536
"""Rows of a row group: what a query reads at least."""
_FILE_ROWS = 4_000_000
"""Rows after which the next file begins; about 100 MB."""


class PartWriter:
    """The Parquet files of the rows of many sites, which come interleaved.

    Attributes:
        parts: the files, in the order in which they were begun.
        rows: how many rows each site has that is not finished.
    """

    def __init__(self, folder: Path) -> None:
        self.parts: list[Path] = []
        self.rows: Counter[str] = Counter()
        self._folder = folder
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._own: dict[str, GroupWriter] = {}
        self._shared: GroupWriter | None = None
        self._shared_rows = 0

    def add(self, batch: pa.RecordBatch) -> set[str]:
        """Add rows, whose first column is their site; return the sites."""
        sites, begin = set(), 0
        for site, group in groupby(batch.column(0).to_pylist()):
            rows = sum(1 for _ in group)
            self._add_rows(site, batch.slice(begin, rows))
            sites.add(site)
            begin += rows
        return sites

    def _add_rows(self, site: str, batch: pa.RecordBatch) -> None:
        self.rows[site] += len(batch)
        if site in self._own:
            self._own[site].add(batch)
            return
        self._waiting.setdefault(site, []).append(batch)
        if self.rows[site] > OWN_FILE_ROWS:
            self._own[site] = writer = self._begin_file()
            for each in self._waiting.pop(site):
                writer.add(each)

    def finish(self, site: str) -> None:
        """Write the rows of a site, of which no more come."""
        if site in self._own:
            self._own.pop(site).close()
        for batch in self._waiting.pop(site, ()):
            if self._shared is None:
                self._shared = self._begin_file()
            self._shared.add(batch)
            self._shared_rows += len(batch)
        if self._shared_rows >= _FILE_ROWS:
            self._close_shared()
        del self.rows[site]

    def close(self) -> list[Path]:
        """Finish all sites and files; return the files."""
        for site in list(self.rows):
            self.finish(site)
        self._close_shared()
        return self.parts

    def _close_shared(self) -> None:
        if self._shared is not None:
            self._shared.close()
        self._shared, self._shared_rows = None, 0

    def _begin_file(self) -> GroupWriter:
        self.parts.append(self._folder / f"{len(self.parts):04}.parquet")
        return GroupWriter(self.parts[-1], make_schema(SITE_COLUMNS), rows=_GROUP_ROWS)
