"""The statements at the end of a walk: twice as many missing URLs cost twice as much."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from sitemapreader.changes.database import StateFile, read_script
from tests.support.clock import SetClock
from tests.support.diary import Diary, named
from tests.support.walking import ROBOTS, SITE, urlset

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = (
    *("mark_named.sql", "merge.sql", "mark_unnamed.sql", "respell.sql", "unlist.sql"),
    *("forget.sql", "recall.sql"),
)
FEW_ROWS = re.compile(
    r"\b(key|url|rowid|loc)=\?|rowid>\? AND rowid<\?|FOR IN-OPERATOR|CONSTANT ROW|VIRTUAL TABLE"
    r"|\(subquery"
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


def count_steps(db: Path) -> int:
    """Return how many steps SQLite takes at the end of a walk that has lost nothing."""
    file = StateFile(db)
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    try:
        file.connection.set_progress_handler(count, 1)
        for name in SCRIPTS:
            if name in ("respell.sql", "recall.sql"):  # for other days
                continue
            for statement in read_script(name).split(";\n"):
                values = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
                file.connection.execute(statement, values)
    finally:
        file.close()
    return steps


@pytest.mark.cases(2)
@pytest.mark.parametrize("asks", [True, False], ids=["told", "untold"])
async def test_unlisted_urls_that_are_kept_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, asks: bool
) -> None:
    """They are kept for 90 days, and no walk in between looks at them."""
    clock = SetClock(monkeypatch)
    steps = []
    for number in (20, 500):
        db = tmp_path / f"{number}.db"
        diary = Diary(db, clock, confirm_after=timedelta(0))
        many = urlset(*(f"{SITE}{each}" for each in range(number + 10)))
        few = urlset(*(f"{SITE}{each}" for each in range(10)))
        for body in (many, few, few):
            pages = {ROBOTS: named("list.xml"), f"{SITE}list.xml": body}
            await diary.walk(pages, asks=asks)
        assert len([*diary.state.unlisted()]) == number
        steps.append(count_steps(db))
    assert steps[0] == steps[1]
