"""Walks with a state that are killed: they lose nothing, and repeat the batch in hand only."""

from __future__ import annotations

import sys

import pytest

from tests.support import package
from tests.support.scale import SCALE

sys.path.insert(0, str(package.ROOT / "benchmarks"))

from state_kills import BATCH, kill_site

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("changes", [False, True])
def test_kills_of_a_walk_lose_nothing(*, changes: bool) -> None:
    """All URLs of a site that changes are delivered, whenever a walk is killed."""
    result = kill_site(5 * SCALE, children=2, urls=2_000, seed=SCALE, changes=changes)
    assert result.kills >= 5 * SCALE
    assert result.lost == 0
    assert result.most <= BATCH
