"""Hostile markup takes time in proportion to its size, and holds the event loop up for moments."""

from __future__ import annotations

import pytest

from sitemapreader import Issue, read
from tests.support.floods import (
    KIB,
    SHAPES,
    Flood,
    Timing,
    growth,
    measure,
    per_block,
    read_once,
)
from tests.support.timing import is_linear, slowness

MAX_GROWTH = 12.0
"""Four times the size: 4 if time is linear, 16 if it is square; what is between is the machine, and
a record that comes over a limit meanwhile (in "atom: markup", 10 by itself)."""
MAX_MS_PER_BLOCK = 300.0
"""For 32 KiB; none takes more than 180."""
MAX_STEP_MS = 50.0
ROUNDS = 4


def judge(timings: list[Timing], slow: float = 1.0) -> list[str]:
    """List what is past its bound, on a machine that is so many times slower than it might be."""
    longest_step = max(timing.longest_step for timing in timings)
    checks = {
        f"growth {growth(timings, slow)}": growth(timings, slow) < MAX_GROWTH,
        f"{per_block(timings)} ms for 32 KiB": per_block(timings)
        < MAX_MS_PER_BLOCK * slow,
        f"a step of {longest_step} ms": longest_step < MAX_STEP_MS * slow,
    }
    return [text for text, is_met in checks.items() if not is_met]


def test_a_shape_is_read_to_its_end(subtests: pytest.Subtests) -> None:
    """The healthy record before the flood is delivered, and something comes after it."""
    for shape in SHAPES:
        with subtests.test(shape.name):
            first, *others = read(shape.write(4096), "https://www.example.com/s.xml")
            entries = [e for e in (first, *others) if not isinstance(e, Issue)]
            assert entries[0].loc == "https://www.example.com/good"
            assert others


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [shape for shape in SHAPES if " in a " in shape.name or " in an " in shape.name],
    ids=lambda shape: shape.name,
)
def test_what_is_hidden_is_passed_once(shape: Flood) -> None:
    """Comments, sections and instructions that seem to begin inside of another cost no time."""
    assert is_linear(read_once, shape.write(64 * KIB), shape.write(256 * KIB))


def test_a_long_record_is_searched_a_few_times() -> None:
    """The end of a record is looked for when twice as much of it has come, not in each block."""
    less_than = next(shape for shape in SHAPES if shape.name == "loc: less-than signs")
    assert is_linear(read_once, less_than.write(240 * KIB), less_than.write(960 * KIB))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_time_is_linear_in_size(shape: Flood) -> None:
    """32 and 128 KiB of it take time in proportion, in steps that are short."""
    least = measure(shape)
    for _ in range(ROUNDS):  # what else runs on the machine only adds to a time
        if not judge(least) or not judge(least, slowness()):
            break
        pairs = zip(least, measure(shape), strict=True)
        least = [Timing(*map(min, one, other)) for one, other in pairs]
    assert not judge(least) or judge(least, slowness()) == []
