"""The lines of `sitemapreader scale` about a run that goes on."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
from commands import wait_until

from sitemapreader.cli import main
from sitemapreader.cli.commands.scale import RunProgress, describe_totals
from sitemapreader.cli.console import Console
from sitemapreader.distributed.planning import plan
from sitemapreader.distributed.runs import Totals
from sitemapreader.distributed.storage import Storage
from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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


def test_removed_urls_are_counted_apart() -> None:
    """The first line has a number of removed URLs only if there are some."""
    first = [next(iter(describe_totals(attrs.evolve(make_totals(8), removed=n)))) for n in (0, 5)]
    assert first[0].startswith("runs/0001: 48,000 URLs of 800 hosts")
    assert first[1].startswith("runs/0001: 48,000 URLs and 5 removed ones of 800 hosts")


def test_a_shard_reads_no_commit_for_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A commit is counted as it comes; a shard does not read all of the run each time."""
    hosts, output = tmp_path / "hosts.txt", tmp_path / "out"
    hosts.write_text("".join(f"http://127.0.0.{number}/\n" for number in range(1, 65)))
    plan(hosts, str(output), partitions=16)
    read, commits = Storage.read, Counter[str]()

    def count(storage: Storage, path: str) -> bytes | None:
        commits[path] += "/commits/" in path
        return read(storage, path)

    monkeypatch.setattr(Storage, "read", count)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(RunProgress, "SECONDS", 0.0)
    assert main(["scale", str(hosts), "-o", str(output), "--shard", "1/1"]) == 4
    said = capsys.readouterr().err
    assert "15/16 partitions" in said
    assert "not read: 64 blocked-address" in said
    assert max(commits.values()) <= 6
