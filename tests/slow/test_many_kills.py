"""Runs over many sites that are killed: their files together are the truth, and nothing twice."""

from __future__ import annotations

import sys

import package

sys.path.insert(0, str(package.ROOT / "benchmarks"))

from many_kills import kill_runs


def test_kills_leave_both_or_neither() -> None:
    """Killed at random, a run leaves its file and what the state knows of it, or neither."""
    result = kill_runs(kills=4, sites=20)
    assert (result.missing, result.twice) == (0, 0)
    assert result.urls == 2_000
