"""The status row of a host: how its last reading ended, and when the next is due."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sitemapreader.distributed.layout import OutputError
from sitemapreader.issues import IssueCode

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
