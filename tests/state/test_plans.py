"""The statements at the end of a walk: twice as many missing URLs cost twice as much."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader.changes.database import StateFile, read_script

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = (
    *("mark_named.sql", "merge.sql", "mark_unnamed.sql", "respell.sql", "unlist.sql"),
    *("forget.sql", "recall.sql"),
)
FEW_ROWS = re.compile(
    r"\b(key|url|rowid|loc)=\?|FOR IN-OPERATOR|CONSTANT ROW|VIRTUAL TABLE|\(subquery"
)


def find_slow_steps(plan: list[tuple[int, int, int, str]]) -> list[str]:
    """Return the steps that are done for each row, and look at more than the rows of one key."""
    parents = {number: parent for number, parent, _, _ in plan}
    details = {number: detail for number, _, _, detail in plan}
    slow = []
    for number, detail in details.items():
        if not detail.startswith(("SEARCH", "SCAN")):
            continue
        above = parents[number]
        while above and "SUBQUERY" not in details[above]:
            above = parents[above]
        is_repeated = bool(above) and details[above].startswith("CORRELATED")
        if is_repeated and not FEW_ROWS.search(detail):
            slow.append(detail)
    return slow


async def test_no_statement_looks_for_each_row_at_many_others(tmp_path: Path) -> None:
    """For each missing URL, the end of a walk looks for keys, and not through other URLs."""
    file = StateFile(tmp_path / "state.db")
    slow = {}
    try:
        for name in SCRIPTS:
            for statement in read_script(name).split(";\n"):
                values = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
                query = f"EXPLAIN QUERY PLAN {statement}"
                plan = file.connection.execute(query, values).fetchall()
                slow[statement] = find_slow_steps(plan)
    finally:
        file.close()
    assert len(slow) > 20
    assert {statement: steps for statement, steps in slow.items() if steps} == {}
