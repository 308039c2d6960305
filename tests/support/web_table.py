"""SECURITY.md's bad inputs of the web, by number: what is expected of each, and how it is tried.

A row is a function that tries the input and says in a few words what came of it. Faults of a server
are those of the fault matrix and of the fault server, so both are tried by the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs
from faults import FaultServer
from matrix_answers import FAULTS
from matrix_cells import Cell
from matrix_server import MatrixServer, failing_names
from matrix_verdicts import judge

from sitemapreader.models import UrlEntry
from sitemapreader.options import FetchOptions
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Attempt: TypeAlias = Callable[["Web"], Awaitable[str]]

QUICK = FetchOptions(max_attempts=2, retry_wait_seconds=0.01, headers_seconds=1, idle_seconds=1)


@attrs.frozen
class Web:
    """The servers that the rows use."""

    matrix: MatrixServer
    server: FaultServer

    async def cells(self, *names: str, cut: str = "50 %") -> str:
        """Walk over a urlset with each fault; say the codes, and how much came out."""
        said = []
        for name in names:
            fault = FAULTS[name]
            verdict = await judge(Cell(fault, "urlset", cut if fault.cut else ""), self.matrix)
            kept = "all" if verdict.delivered >= verdict.complete > 0 else str(verdict.delivered)
            problems = "".join(f" ({problem})" for problem in verdict.problems)
            said.append(f"{verdict.code or 'ok'}, keeps {kept}{problems}")
        return " / ".join(dict.fromkeys(said))

    async def visit(self, path: str, options: FetchOptions = QUICK) -> str:
        """Walk over a route of the fault server; say the code, the entries and the requests."""
        before = len(self.server.requests)
        async with walk(sitemaps=[self.server.url(path)], options=options) as entries:
            count = len([event async for event in entries.events() if isinstance(event, UrlEntry)])
        (document,) = [each for each in entries.report.documents if each.url.endswith(path)]
        asked = len(self.server.requests) - before
        return f"{document.reason or 'ok'}, {count} entries, {asked} requests"


@attrs.frozen
class Row:
    """One bad input; `expected` is what `attempt` has to say."""

    number: int
    what: str
    expected: str
    attempt: Attempt


ROWS: dict[int, Row] = {}


def row(number: int, what: str, expected: str) -> Callable[[Attempt], Attempt]:
    """Enter a function in the table."""

    def enter(attempt: Attempt) -> Attempt:
        if number in ROWS:
            raise ValueError(f"row {number} is there already")
        ROWS[number] = Row(number, what, expected, attempt)
        return attempt

    return enter


def faulty(number: int, what: str, expected: str, *names: str, cut: str = "50 %") -> None:
    """Enter a row that is a walk over faults of the matrix."""

    async def attempt(web: Web) -> str:
        return await web.cells(*names, cut=cut)

    row(number, what, expected)(attempt)


async def try_row(number: int) -> str:
    """Try one row with servers of its own."""
    async with MatrixServer() as matrix, FaultServer() as server:
        with failing_names():
            return await ROWS[number].attempt(Web(matrix, server))
