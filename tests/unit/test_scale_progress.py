"""The lines of `sitemapreader scale` about a run that goes on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sitemapreader.cli.commands.scale import RunProgress
from sitemapreader.cli.console import Console
from sitemapreader.distributed.runs import Totals

if TYPE_CHECKING:
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
