"""`watch` over sites of the freshness simulator, on a real server: 60 days that pass at once."""

from __future__ import annotations

import asyncio
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import freshness
import package
import pytest
from clock import DAY
from replay import Replay
from scale import SCALE

from sitemapreader import StateError, watch

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

IS_WHOLE = SCALE > 1
SITES, DAYS, PACE, SEED = (40, 60, 0.3, 5) if IS_WHOLE else (1, 2, 1.0, 27)
KINDS = ("quiet", "blog", "shop", "docs", "forum", "news", "liar")
"""Sites of few documents, where not all kinds are replayed: `TEST_SCALE=2` takes minutes."""


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the simulator, which lies beside the checkout."""
    path = package.ROOT.parent / "shared" / "reference" / "freshness_simulation.py"
    spec = spec_from_file_location("freshness_simulation", path)
    if spec is None or spec.loader is None or not path.exists():
        pytest.skip("there is no simulator beside the checkout")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "WARM_UP", DAYS / 4 * 24)
    if not IS_WHOLE:
        monkeypatch.setattr(module, "KINDS", {kind: module.KINDS[kind] for kind in KINDS})
    return module


async def test_delays(simulator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """URLs are told once, none that lives is removed, and as soon as a simulation says."""
    world = simulator.make_world(SITES, DAYS, SEED)
    replay = Replay(simulator, world, DAYS, has_moves=IS_WHOLE)
    await replay.run(tmp_path / "state.db", monkeypatch, PACE)
    assert not replay.wrong, replay.wrong[:20]
    assert len(replay.told) > 100
    simulated = simulator.simulate(world, DAYS, PACE, freshness.make).new.describe()[0]
    found = replay.delays.describe()[0]
    assert found < simulated * (1.2 if IS_WHOLE else 1.5)


async def test_troubles(simulator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds with a clock that jumps, a sleep of a week, and a second watch."""
    world = simulator.make_world(SITES, DAYS + 7, 28)
    replay = Replay(simulator, world, DAYS + 7)
    time, woke, refused = replay.time, list[float](), list[bool]()

    async def set_back() -> None:
        time.wrong_by -= DAY

    async def set_forward() -> None:
        time.wrong_by += 30 * DAY

    async def sleep() -> None:
        time.passed += 7 * DAY
        woke.append(time.hour)

    async def enter() -> None:
        with pytest.raises(StateError) as error:
            async with watch(["example.org"], state=tmp_path / "state.db"):
                pass
        refused.append(error.value.is_locked)

    troubles = set_back, set_forward, sleep, lambda: asyncio.to_thread(asyncio.run, enter())
    time.planned = [(DAYS * number / 5, what) for number, what in enumerate(troubles, 1)]
    await replay.run(tmp_path / "state.db", monkeypatch, PACE)
    assert not replay.wrong, replay.wrong[:20]
    assert len(replay.told) > 100
    assert len(replay.removed) > 10
    assert refused == [True]
    (began,) = woke  # a site that has moved meanwhile has only new sitemaps
    soon = [host for at, host in replay.requests if began <= at < began + 1]
    assert 0 < sum(not host.startswith("moved") for host in soon) < 3 * len(world)
