"""The line of the progress: its figures, and what it has no room for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from sitemapreader._cli.console import Progress, RunSummary
from sitemapreader._types.outcomes import Status


def run(**figures: Any) -> RunSummary:
    """Make a run in which two documents are finished."""
    summary = attrs.evolve(RunSummary(noun="lines"), **figures)
    summary.statuses.update({Status.COMPLETE: 2})
    summary.sums["bytes_raw"] = 2_048
    return summary


def walk(*awaited: str, pending: int = 3) -> Any:
    """Make a walk that has read one document, and waits for hosts."""
    report = SimpleNamespace(statuses=run().statuses, bytes_raw=1_024)
    return SimpleNamespace(
        walk=SimpleNamespace(report=report, pending=pending, awaited_hosts=awaited)
    )


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    ("figures", "line"),
    [
        ({}, "0 lines, 2/2 documents, 0/s, 2.0 KiB, 1:05"),
        ({"printed": 6_540}, "6,540 lines, 2/2 documents, 100/s, 2.0 KiB, 1:05"),
        (
            {"pages": 4_000, "is_for_many": True, "done": 1_000},
            "pages visited: 4,000, sources done: 1,000, 0 lines, 2/2 documents, 0/s, 2.0 KiB, 1:05",
        ),
        (
            {"running": [walk(), walk(pending=4), SimpleNamespace(walk=None)]},
            "0 lines, 6/13 documents, 0/s, 4.0 KiB, 1:05",
        ),
    ],
)
def test_the_figures(figures: dict[str, Any], line: str) -> None:
    """They are sums over what has ended and what is under way, since the beginning."""
    progress = Progress(run(**figures), 100.0)
    assert progress.write(165.4, 200) == line
    assert progress.write(165.4, len(line)) == line
    shorter, _, _ = line.rpartition(", ")
    assert progress.write(165.4, len(line) - 1) == shorter


def test_a_host_that_is_waited_for_is_named_after_three_seconds() -> None:
    """It is named first for as long as no figure changes, and so is how many others there are."""
    summary = run(running=[walk("b.example", "a.example"), walk("c.example")])
    progress = Progress(summary, 100.0)
    lines = [progress.write(110.0 + seconds, 200) for seconds in (0, 3, 3.1)]
    assert [line.partition(",")[0] for line in lines] == [
        "0 lines",
        "0 lines",
        "waiting for a.example and 2 more",
    ]
    summary.printed += 1
    assert progress.write(113.2, 200).startswith("1 lines, ")
    assert progress.write(116.2, 200).startswith("1 lines, ")
    summary.running = ()
    assert progress.write(120.0, 200).startswith("1 lines, ")
    summary.fetcher = SimpleNamespace(awaited_hosts={"d.example"})  # type: ignore[assignment]
    assert progress.write(124.0, 200).startswith("waiting for d.example, 1 lines, ")
