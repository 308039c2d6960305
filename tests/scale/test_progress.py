"""The lines of `sitemapreader scale` about a run that goes on."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from commands import wait_until
from each_case import for_each

from sitemapreader.cli import main
from sitemapreader.cli.commands.scale import RunProgress, describe_totals
from sitemapreader.cli.console import Console
from sitemapreader.distributed.hosts import (
    MAX_WAIT_DAYS,
    NO_SITEMAP_DAYS,
    is_due,
    make_error,
    make_row,
)
from sitemapreader.distributed.planning import plan
from sitemapreader.distributed.runs import Totals
from sitemapreader.distributed.storage import Storage
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from pathlib import Path


def make_totals(committed: int) -> Totals:
    """Return the sums of a run of 8 partitions, of which each has 100 hosts and 6,000 URLs."""
    return Totals(
        run="runs/0001",
        started=datetime(2026, 11, 22, tzinfo=UTC),
        finished=False,
        partitions=8,
        committed=committed,
        hosts=100 * committed,
        urls=6_000 * committed,
        statuses={"complete": 98 * committed, "failed": committed, "error": committed},
    )


def test_progress_counts_from_the_beginning_of_this_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rate and time left are of what this call has read; a finished run needs no such line."""
    clock = 1_000.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    progress = RunProgress(Console(), make_totals(3))
    for seconds, committed in ((2, 4), (60, 4), (62, 5), (120, 5), (180, 8)):
        clock = 1_000.0 + seconds
        progress.show(make_totals(committed))
    lines = [line.split(" partitions, ") for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        ["sitemapreader: 4/8", "400 hosts (8 failed), 24,000 URLs, 100/s, about 4 min left"],
        ["sitemapreader: 5/8", "500 hosts (10 failed), 30,000 URLs, 100/s, about 3 min left"],
    ]


def test_a_run_in_which_nothing_ends_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line comes though no partition was committed since the last one."""
    lines: list[str] = []
    console = Console()
    monkeypatch.setattr(console, "print_line", lines.append)
    monkeypatch.setattr(RunProgress, "SILENT_SECONDS", 0.05)
    progress = RunProgress(console, make_totals(0))
    progress.show(make_totals(3))
    assert lines == []
    with progress.remind():
        wait_until(lambda: bool(lines))
    assert lines[0].startswith("3/8 partitions, 300 hosts (6 failed), 18,000 URLs")
    assert lines[0].endswith("; none ended for 0 s, waiting for slow hosts")


def describe(**given: Any) -> list[str]:
    """Return the lines below the first one."""
    return list(describe_totals(attrs.evolve(make_totals(8), **given)))[1:]


def test_the_summary_says_why_hosts_were_not_read() -> None:
    """The three most frequent reasons come first, with the option that helps; then --retry."""
    reasons = {"dns": 4, "blocked-port": 2_000, "tls": 4, "http-status": 1, "no-sitemap": 90}
    meaning = IssueCode.BLOCKED_PORT.meaning
    assert describe(reasons=reasons, put_off=99) == [
        f"not read: 2,000 blocked-port: {meaning}: allow it with --allow-port if you trust it",
        "not read: 90 no-sitemap: no sitemap was found",
        "not read: 4 dns: the host name could not be resolved",
        "not read: 4 tls, 1 http-status; `scale status --failed` names the hosts",
        "99 hosts are not due yet, as they failed or have no sitemap: --retry reads them now",
    ]


def test_a_reason_that_is_no_issue_is_named_alone() -> None:
    """A reason of ours has no meaning to quote; without reasons nothing is said."""
    assert describe(reasons={"killed its process": 1}) == ["not read: 1 killed its process"]
    assert describe() == []


def test_unlisted_urls_are_counted_apart() -> None:
    """The first line has a number of unlisted URLs only if there are some."""
    first = [next(iter(describe_totals(attrs.evolve(make_totals(8), unlisted=n)))) for n in (0, 5)]
    assert first[0].startswith("runs/0001: 48,000 URLs of 800 hosts")
    assert first[1].startswith("runs/0001: 48,000 URLs and 5 unlisted ones of 800 hosts")


def test_a_shard_reads_no_commit_for_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A commit is counted as it comes; a shard does not read all of the run each time."""
    hosts, output = tmp_path / "hosts.txt", tmp_path / "out"
    hosts.write_text("".join(f"http://127.0.0.{number}/\n" for number in range(1, 65)))
    plan(hosts, str(output), partitions=16)
    read, commits = Storage.read, Counter[str]()

    def count(storage: Storage, path: str, last: int | None = None) -> bytes | None:
        commits[path] += "/status/" in path
        return read(storage, path, last)

    monkeypatch.setattr(Storage, "read", count)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(RunProgress, "SECONDS", 0.0)
    assert main(["scale", str(hosts), "-o", str(output), "--shard", "1/1"]) == 4
    said = capsys.readouterr().err
    assert "15/16 partitions" in said
    assert "not read: 64 blocked-address" in said
    assert max(commits.values()) <= 6


# -- status rows: when a host is due again


NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAY = 24 * 3_600


@for_each(
    "status, failures, retry_after, days",
    [
        ("complete", 0, None, None),
        ("complete", 0, 3 * DAY, 3),
        ("complete", 0, 0.0, 0),
        ("partial", 0, None, None),
        ("failed", 0, None, None),
        ("failed", 1, None, 2),
        ("failed", 3, None, 8),
        ("error", 5, None, 32),
        ("failed", 6, None, MAX_WAIT_DAYS),
        ("failed", 5_000, None, MAX_WAIT_DAYS),
        ("failed", 1, DAY / 2, 2),
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
    row = make_row(outcome, {"failures": 1}, partition=0, now=NOW)
    assert row["not_before"] == (None if days is None else NOW + timedelta(days=days))
    assert row["failures"] == 2 * (days is not None)


def test_a_wait_that_a_server_asks_for_holds_beside_a_refusal() -> None:
    """Retry-After of one document counts, though options refused another one of the host."""
    outcome = make_error("http://a.example/", IssueCode.BLOCKED_PORT)
    outcome |= {"status": "failed", "retry_after": 3.0 * DAY}
    assert make_row(outcome, None, 0, NOW)["not_before"] == NOW + timedelta(days=3)
