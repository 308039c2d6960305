"""The fault matrix: every fault of a server, in every format, at every cut, by a real walk."""

from __future__ import annotations

import pytest
from matrix_answers import FAULTS
from matrix_cells import CUTS, Cell, all_cells, some_cells
from matrix_formats import BODIES, COUNT, LOCS, complete_locs
from matrix_server import SIBLINGS, MatrixServer, failing_names
from matrix_verdicts import judge_all, judge_index
from scale import SCALE

CELLS = list(all_cells())
TRIED = CELLS if SCALE > 1 else list(some_cells())
ONE_OF_EACH_CODE = {fault.codes: name for name, fault in FAULTS.items()}


def test_the_matrix_is_whole() -> None:
    """Ninety faults, six formats, four cuts; and at each cut some records are complete."""
    assert len(FAULTS) >= 90
    assert len(BODIES) == 6
    assert len(CELLS) >= 1_100
    for kind in BODIES:
        counts = [len(Cell(FAULTS["length, closed"], kind, cut).list_complete()) for cut in CUTS]
        assert counts[0] == 0 < counts[1] < counts[2] < counts[3] <= COUNT


@pytest.mark.parametrize("kind", BODIES)
def test_the_reference_reads_whole_bodies(kind: str) -> None:
    """What judges the walks finds every URL of a whole body, in each format."""
    assert complete_locs(kind, BODIES[kind], ended=False) == LOCS


async def test_every_fault_is_typed_and_loses_nothing() -> None:
    """Each cell ends in time with one outcome and its code, and all complete records come out."""
    verdicts = await judge_all(TRIED)
    wrong = [(v.cell.fault.name, v.cell.kind, v.cell.cut, v.problems) for v in verdicts]
    assert [row for row in wrong if row[-1]] == []
    assert sum(each.delivered for each in verdicts) > 15 * len(TRIED)
    assert {each.code for each in verdicts} >= {"", "body-cut", "stalled", "too-slow", "bad-http"}


@pytest.mark.parametrize("name", ONE_OF_EACH_CODE.values())
async def test_one_of_a_hundred_children_fails(name: str) -> None:
    """A child with a fault costs its 99 siblings nothing, and its outcome says why."""
    async with MatrixServer() as server:
        with failing_names():
            verdict = await judge_index(FAULTS[name], server)
    assert verdict.problems == ()
    assert verdict.siblings == SIBLINGS
