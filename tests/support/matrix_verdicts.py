"""The verdicts of the fault matrix: one walk over loopback for each cell."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import attrs
from matrix_cells import Cell
from matrix_faults import IDLE
from matrix_formats import LOCS
from matrix_server import SIBLINGS, MatrixServer, failing_names, good_loc

from sitemapreader.issues import Severity
from sitemapreader.models import SitemapEntry, UrlEntry, Via
from sitemapreader.options import Limits
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from matrix_faults import Fault

OVERRUN = 20.0
"""Seconds beyond its timeout that a walk may take on a busy machine; one that hangs takes 60."""
_AT_ONCE = (48, 12, 3, 1)
_TRIES = 5


@attrs.frozen
class Verdict:
    """The verdict on one cell.

    Attributes:
        cell: the cell.
        code: the reason of the outcome, "" for a document that was read to its end.
        delivered: the number of records that were delivered.
        complete: the number of records that arrived complete.
        over: seconds from the fault to the end of the walk, less the timeout.
        problems: what differs from what must be.
    """

    cell: Cell
    code: str
    delivered: int
    complete: int
    over: float
    problems: tuple[str, ...]


async def judge(cell: Cell, server: MatrixServer) -> Verdict:
    """Walk over the document of a cell, and judge the outcome."""
    url = server.base + cell.path
    fault = cell.fault
    limits = Limits(raw_bytes=cell.size) if fault.limited else Limits()
    locs = []
    begin = time.monotonic()
    async with walk(
        sitemaps=[url],
        follow=lambda _: False,
        limits=limits,
        options=attrs.evolve(fault.options, allow_ports=server.ports),
    ) as entries:
        async for event in entries.events():
            if isinstance(event, UrlEntry) or (
                isinstance(event, SitemapEntry) and event.via is Via.INDEX
            ):
                locs.append(event.loc)  # noqa: PERF401 (an async comprehension hides the loop)
    over = time.monotonic() - begin - cell.script.seconds - IDLE
    outcomes = [each for each in entries.report.documents if each.url == url]
    code = outcomes[0].reason if outcomes else "none"
    reported = [
        issue.code
        for each in outcomes
        for issue in each.issues
        if issue.severity is Severity.ERROR or issue.code == "empty"
    ]
    complete = cell.list_complete()
    checks = {
        "not one outcome": len(outcomes) != 1,
        f"code {code!r}": code not in cell.codes,
        "not one Issue": reported != ([code] if code else []),
        "records lost": locs[: len(complete)] != complete,
        # a record that is cut behind its URL is delivered as well
        "records invented": locs != LOCS[: len(cell.list_complete(fault.extra)) + 1][: len(locs)],
        "not over in time": over > OVERRUN,
    }
    problems = tuple(name for name, is_wrong in checks.items() if is_wrong)
    return Verdict(cell, code, len(locs), len(complete), over, problems)


async def judge_all(cells: list[Cell]) -> list[Verdict]:
    """Judge cells, many at once; return the verdicts in the order of the cells.

    Timeouts are half a second, which a busy machine may use up by itself. Cells with a problem are
    judged again, fewer at once each time; only a problem that stays counts.
    """
    verdicts: dict[int, Verdict] = {}
    failed = list(range(len(cells)))
    for at_once in _AT_ONCE:
        judged = await _judge_some([cells[number] for number in failed], at_once)
        verdicts.update(zip(failed, judged, strict=True))
        failed = [number for number in failed if verdicts[number].problems]
    return [verdicts[number] for number in range(len(cells))]


async def _judge_some(cells: list[Cell], at_once: int) -> list[Verdict]:
    gate = asyncio.Semaphore(at_once)
    async with MatrixServer() as server:

        async def judge_one(cell: Cell) -> Verdict:
            async with gate:
                return await judge(cell, server)

        with failing_names():
            return await asyncio.gather(*map(judge_one, cells))


@attrs.frozen
class IndexVerdict:
    """The verdict on an index with 100 children of which one has a fault."""

    code: str
    siblings: int
    problems: tuple[str, ...]


async def judge_index(fault: Fault, server: MatrixServer) -> IndexVerdict:
    """Walk over 99 good children and one that has the fault, and judge the outcomes.

    The good ones have the same short timeouts: only a problem that stays counts.
    """
    for _ in range(_TRIES):
        family = await _judge_family(fault, server)
        if not family.problems:
            break
    return family


async def _judge_family(fault: Fault, server: MatrixServer) -> IndexVerdict:
    cell = Cell(fault, "urlset", "50 %" if fault.cut else "")
    url = f"{server.base}/family{cell.path}"
    async with walk(
        sitemaps=[url],
        respect_robots=False,
        hosts="any",
        limits=Limits(raw_bytes=100_000) if fault.limited else Limits(),
        options=attrs.evolve(fault.options, allow_ports=server.ports, per_host=8),
    ) as entries:
        locs = {entry.loc async for entry in entries}
    bad = [each for each in entries.report.documents if each.url == server.base + cell.path]
    good = [each for each in entries.report.documents if "/good/" in each.url]
    siblings = len(locs & {good_loc(number) for number in range(SIBLINGS)})
    code = bad[0].reason if bad else "none"
    checks = {
        "siblings lost": siblings != SIBLINGS,
        "a sibling's outcome": [each.reason for each in good] != [""] * SIBLINGS,
        "not one outcome": len(bad) != 1,
        f"code {code!r}": code not in cell.codes,
    }
    return IndexVerdict(
        code, siblings, tuple(name for name, is_wrong in checks.items() if is_wrong)
    )
