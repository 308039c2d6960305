"""How soon the schedule sees what is new, beside other policies, in a simulation of sites."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import freshness
import package
import pytest
from scale import SCALE

pytestmark = pytest.mark.slow

SITES, DAYS, SEED = 60 * SCALE, 40, 515


@pytest.fixture
def simulator() -> Any:
    """Return the simulator, which lies beside the checkout."""
    path = package.ROOT.parent / "shared" / "reference" / "freshness_simulation.py"
    spec = spec_from_file_location("freshness_simulation", path)
    if spec is None or spec.loader is None or not path.exists():
        pytest.skip("there is no simulator beside the checkout")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_news_are_seen_soon(simulator: Any) -> None:
    """At equal requests: a sixth of a fixed interval's delay, 0.6 of StormCrawler's policy."""
    world = simulator.make_world(SITES, DAYS, SEED)
    makers = {"ours": freshness.make, "fixed": simulator.Fixed, "storm": simulator.Adaptive}
    delays = {
        name: simulator.simulate(world, DAYS, 1.0, make).new.describe()[0]
        for name, make in makers.items()
    }
    assert delays["ours"] <= delays["fixed"] / 6
    assert delays["ours"] <= delays["storm"] * 0.6
