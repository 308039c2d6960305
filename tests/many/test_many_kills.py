"""Runs over many sites that are killed: their files together hold every URL."""

from __future__ import annotations

import sys

import pytest

from tests.support import package

sys.path.insert(0, str(package.ROOT / "benchmarks"))

from many_kills import kill_runs

pytestmark = pytest.mark.slow


def test_kills_lose_nothing() -> None:
    """Killed at random, a run leaves no file, or a whole one that the next run may repeat."""
    result = kill_runs(kills=2, sites=10)
    assert result.missing == 0
    assert result.urls in range(1_000, 3_001, 1_000)
