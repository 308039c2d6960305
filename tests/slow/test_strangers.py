"""What strangers write and send costs time in proportion, and holds the event loop for moments."""

from __future__ import annotations

import asyncio

import pytest

from sitemapreader._types.urls import load_suffixes
from tests.support.strangers import SIZES, STRANGERS, Costs, Stranger, measure_costs
from tests.support.timing import slowness

pytestmark = pytest.mark.slow
MAX_GROWTH = 12.0
"""Four times the size: 4 if time is linear, 16 if it is square."""
LEAST_MS = 25.0
"""Less than this is cheap: what each walk needs is most of it."""
MAX_HELD_MS = 50.0
RECORDS = [each for each in STRANGERS if each.name.startswith("record: ")]
RECORD_SIZES = (300_000, 1_000_000)
"""Near the most elements of a record, and near its most bytes."""
FAR_BEYOND = 10_000_000
LONG_RECORDS = (
    "deep elements",
    "markup of a title",
    "locs",
    "media",
    "tags of a video",
)
"""Records that are also tried far beyond their most bytes, which are all passed alike."""
ROUNDS = 4


def judge(costs: list[Costs], slow: float = 1.0) -> list[str]:
    """List what is past its bound, on a machine that is `slow` times slower than it might be."""
    small, large = (max(each.milliseconds, LEAST_MS * slow) for each in costs)
    held = max(each.held for each in costs)
    checks = {
        f"growth {large / small}": large / small < MAX_GROWTH,
        f"held for {held} ms": held < MAX_HELD_MS * slow,
    }
    return [text for text, is_met in checks.items() if not is_met]


def test_there_are_many() -> None:
    """Each place in which a stranger's text is read has a flood, and each flood is told apart."""
    assert len({each.name for each in STRANGERS}) == len(STRANGERS) >= 40


@pytest.mark.parametrize("stranger", STRANGERS, ids=lambda stranger: stranger.name)
async def test_a_site_holds_the_loop_for_moments(stranger: Stranger) -> None:
    """Four times the flood takes four times as long, and no step of the event loop 50 ms."""
    await asyncio.to_thread(load_suffixes)
    least = [await measure_costs(stranger, size) for size in SIZES]
    for _ in range(ROUNDS):  # what else runs on the machine only adds to a time
        if not judge(least) or not judge(least, slowness()):
            break
        again = [await measure_costs(stranger, size) for size in SIZES]
        least = [
            Costs(*map(min, one, other))
            for one, other in zip(least, again, strict=True)
        ]
    assert not judge(least) or judge(least, slowness()) == []


@pytest.mark.parametrize(
    ("stranger", "size"),
    [
        pytest.param(stranger, size, id=f"{stranger.name}-{size}")
        for stranger in RECORDS
        for size in (*RECORD_SIZES, FAR_BEYOND)
        if size < FAR_BEYOND or stranger.name.removeprefix("record: ") in LONG_RECORDS
    ],
)
async def test_a_record_holds_the_loop_for_moments(
    stranger: Stranger, size: int
) -> None:
    """Reading one record pauses by itself, whatever it is full of, and however long it is."""
    await asyncio.to_thread(load_suffixes)
    held = (await measure_costs(stranger, size)).held
    for _ in range(ROUNDS):
        if held < MAX_HELD_MS:
            break
        held = min(held, (await measure_costs(stranger, size)).held)
    assert held < MAX_HELD_MS or held < MAX_HELD_MS * slowness()
