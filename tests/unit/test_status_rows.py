"""Status rows: when a host is due again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from each_case import for_each

from sitemapreader.distributed.hosts import (
    MAX_WAIT_DAYS,
    NO_SITEMAP_DAYS,
    is_due,
    make_error,
    make_row,
)
from sitemapreader.issues import IssueCode

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAY = 24 * 3_600


@for_each(
    "status, failures, retry_after, days",
    [
        ("complete", 0, None, None),
        ("complete", 0, 3 * DAY, 3),
        ("complete", 0, 0.0, 0),
        ("partial", 0, None, None),
        ("failed", 0, None, 2),
        ("failed", 3, None, 16),
        ("error", 4, None, 32),
        ("failed", 5, None, MAX_WAIT_DAYS),
        ("failed", 5_000, None, MAX_WAIT_DAYS),
        ("failed", 0, DAY / 2, 2),
        ("failed", 0, 5 * DAY, 5),
        ("failed", 0, 1e300, MAX_WAIT_DAYS),
        ("none", 0, None, NO_SITEMAP_DAYS),
        ("none", 0, 31 * DAY, 31),
    ],
)
def test_when_a_host_is_due_again(
    status: str, failures: int, retry_after: float | None, days: float | None
) -> None:
    """The longest of its waits counts: after failures, without a sitemap, and its Retry-After."""
    outcome = make_error("http://a.example/", "") | {"status": status, "retry_after": retry_after}
    row = make_row(outcome, {"failures": failures}, partition=0, now=NOW)
    assert row["not_before"] == (None if days is None else NOW + timedelta(days=days))
    assert is_due(row, NOW) is (not days)
    assert is_due(row, NOW + timedelta(days=days or 0))


@pytest.mark.parametrize(
    ("reason", "days"),
    [
        (IssueCode.BLOCKED_PORT, None),
        (IssueCode.BLOCKED_ADDRESS, None),
        (IssueCode.TOO_LARGE, None),
        (IssueCode.BUDGET_DOCUMENTS, None),
        (IssueCode.BUDGET_SECONDS, 2),
        (IssueCode.CONNECT, 2),
        (IssueCode.BLOCKED_BY_SITE, 2),
    ],
)
def test_what_our_options_refuse_is_not_put_off(reason: IssueCode, days: int | None) -> None:
    """A host that options refuse is due at once: the next run may allow it."""
    outcome = make_error("http://a.example/", reason) | {"status": "failed", "retry_after": None}
    row = make_row(outcome, None, partition=0, now=NOW)
    assert row["not_before"] == (None if days is None else NOW + timedelta(days=days))
    assert row["failures"] == (days is not None)


def test_a_wait_that_a_server_asks_for_holds_beside_a_refusal() -> None:
    """Retry-After of one document counts, though options refused another one of the host."""
    outcome = make_error("http://a.example/", IssueCode.BLOCKED_PORT)
    outcome |= {"status": "failed", "retry_after": 3.0 * DAY}
    assert make_row(outcome, None, 0, NOW)["not_before"] == NOW + timedelta(days=3)
