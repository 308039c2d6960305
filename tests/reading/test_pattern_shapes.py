"""Hostile markup takes time in proportion to its size, and holds the event loop up for moments."""

from __future__ import annotations

import re
from unittest import mock

import pytest
from each_case import for_each
from floods import (
    ENDS,
    GOOD,
    KIB,
    SHAPES,
    Flood,
    Timing,
    growth,
    measure,
    per_block,
    read_once,
)
from timing import is_linear, slowness

from sitemapreader import Issue, read
from sitemapreader.readers import reader
from sitemapreader.readers.xml import grammar

MAX_GROWTH = 9.0
"""Four times the size: 4 if time is linear, 16 if it is square; what is between is the machine."""
MAX_MS_PER_BLOCK = 400.0
"""For 32 KiB; none takes more than 144."""
MAX_STEP_MS = 150.0
ROUNDS = 4


def judge(timings: list[Timing]) -> list[str]:
    """List what is past its bound, on a machine as slow as this one is now."""
    slow = slowness()
    longest_step = max(timing.longest_step for timing in timings)
    checks = {
        f"growth {growth(timings, slow)}": growth(timings, slow) < MAX_GROWTH,
        f"{per_block(timings)} ms for 32 KiB": per_block(timings) < MAX_MS_PER_BLOCK * slow,
        f"a step of {longest_step} ms": longest_step < MAX_STEP_MS * slow,
    }
    return [text for text, is_met in checks.items() if not is_met]


@for_each("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_is_read_to_its_end(shape: Flood) -> None:
    """The healthy record before the flood is delivered, and something comes after it."""
    first, *others = read(shape.write(4096), "https://www.example.com/s.xml")
    entries = [e for e in (first, *others) if not isinstance(e, Issue)]
    assert entries[0].loc == "https://www.example.com/good"
    assert others


@for_each(
    "shape", [shape for shape in SHAPES if " in a" in shape.name], ids=lambda shape: shape.name
)
def test_what_is_hidden_is_passed_once(shape: Flood) -> None:
    """Comments, sections and instructions that seem to begin inside of another cost no time."""
    assert is_linear(read_once, shape.write(16 * KIB), shape.write(64 * KIB))


@pytest.mark.parametrize("root", ENDS, ids=["urlset", "rss", "atom"])
@pytest.mark.parametrize(("length", "most"), [(4, 40), (60, 0)])
def test_prefixes_of_strangers_make_few_patterns(root: bytes, length: int, most: int) -> None:
    """Long prefixes make no pattern, and short ones few, however often they are bound anew."""
    prefixes = "".join(f" xmlns:p{{0:0>{length}}}{number}='urn:p'" for number in range(10))
    wrapper = f"<w{prefixes}>{GOOD[root].decode() * 3}</w>"
    written = "".join(wrapper.format(number) for number in range(100)).encode()
    list(read(root + GOOD[root] + ENDS[root]))
    with (
        mock.patch.object(grammar, "re", wraps=re) as compiler,
        mock.patch.object(reader, "BLOCK_BYTES", len(written) // 100),
    ):
        entries = list(read(root + written + ENDS[root]))
    assert len(entries) >= 300
    assert len(compiler.compile.mock_calls) <= most
    assert all(len(call.args[0]) < 10_000 for call in compiler.compile.mock_calls)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_time_is_linear_in_size(shape: Flood) -> None:
    """16, 64 and 256 KiB of it take time in proportion, in steps that are short."""
    judged: list[str] = []
    for _ in range(ROUNDS):  # what else runs on the machine makes some rounds slow
        judged = judge(measure(shape))
        if not judged:
            break
    assert judged == []
