"""Hostile markup takes time in proportion to its size, and holds the event loop up for moments."""

from __future__ import annotations

import re
from functools import partial
from unittest import mock

import pytest
from each_case import for_each
from shapes import (
    ENDS,
    GOOD,
    KIB,
    SHAPES,
    SIZES,
    URLSET,
    Shape,
    Timing,
    growth,
    measure,
    per_block,
    read_once,
)
from timing import is_linear, least_seconds, slowness

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


def test_there_are_as_many_shapes_as_names() -> None:
    """Each of at least 60 shapes has a name of its own, and is as large as it was asked to be."""
    assert len({shape.name for shape in SHAPES}) == len(SHAPES) >= 60
    for shape in SHAPES:
        assert len(shape.make(SIZES[0])) == pytest.approx(SIZES[0], rel=0.2), shape.name


@for_each("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_is_read_to_its_end(shape: Shape) -> None:
    """The healthy record before the flood is delivered, and something comes after it."""
    first, *others = read(shape.make(4096), "https://www.example.com/s.xml")
    entries = [e for e in (first, *others) if not isinstance(e, Issue)]
    assert entries[0].loc == "https://www.example.com/good"
    assert others


def test_growth_tells_square_from_linear() -> None:
    """The measure is not blind: a square shape is past the bound, a linear one is not."""
    square = [Timing(each**2, 1) for each in (20, 80, 320)]
    linear = [Timing(each, 1) for each in (20, 80, 320)]
    assert growth(square) == 16 > MAX_GROWTH
    assert growth(linear) == 4 < MAX_GROWTH
    assert per_block(linear) == 40
    assert judge(linear) == []
    assert judge(square)[0] == "growth 16.0"
    assert read_once(URLSET + GOOD[URLSET]).longest_step >= 0


@for_each(
    "shape", [shape for shape in SHAPES if " in a" in shape.name], ids=lambda shape: shape.name
)
def test_what_is_hidden_is_passed_once(shape: Shape) -> None:
    """Comments, sections and instructions that seem to begin inside of another cost no time."""
    assert is_linear(read_once, shape.make(16 * KIB), shape.make(64 * KIB))


def test_declarations_in_a_text_are_not_looked_into() -> None:
    """A text that is full of `xmlns` takes the time of any other text."""
    (shape,) = (shape for shape in SHAPES if shape.name == "record: declarations in a text")
    flood = shape.make(64 * KIB)
    other = flood.replace(b"xmlns" * 9, b"xmlnt" * 9)
    times = {data: least_seconds(partial(read_once, data)) for data in (flood, other)}
    assert times[flood] < 5 * times[other]


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
def test_time_is_linear_in_size(shape: Shape) -> None:
    """16, 64 and 256 KiB of it take time in proportion, in steps that are short."""
    judged: list[str] = []
    for _ in range(ROUNDS):  # what else runs on the machine makes some rounds slow
        judged = judge(measure(shape))
        if not judged:
            break
    assert judged == []
