"""What other projects' tests expect: met, or in a table that says why not.

Run as a script, or with `pytest -s`, it prints the figures.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache

import corpus
import peers
import pytest
from differences import DIFFERENCES, NOT_OURS, OPEN, Difference
from peers import CASES, Finding

pytestmark = corpus.needs_corpus
each_case = pytest.mark.parametrize("name", CASES)

KINDS = ("met", "not ours", "deliberate", "open", "unexplained")


def difference_of(case: str, name: str) -> Difference | None:
    return next((each for each in DIFFERENCES if name in each.where.get(case, ())), None)


def kind_of(case: str, finding: Finding) -> str:
    """Sort an assertion into one of `KINDS`."""
    if any(re.fullmatch(rule, finding.name) for rule in NOT_OURS):
        return "not ours"
    if finding.theirs == finding.ours:
        return "met"
    difference = difference_of(case, finding.name)
    if difference and difference.holds(finding.theirs, finding.ours):
        return "deliberate"
    _, names = OPEN.get(case, ("", ()))
    return "open" if finding.name in names else "unexplained"


@cache
def sort_all() -> list[tuple[str, Finding, str]]:
    """Return all assertions: case, assertion, kind."""
    return [
        (case, finding, kind_of(case, finding))
        for case in CASES
        for finding in peers.findings(case)
    ]


def rows() -> list[tuple[str, str]]:
    """Return all assertions that stand in a table: case, name."""
    tables = [each.where for each in DIFFERENCES]
    tables.append({case: names for case, (_, names) in OPEN.items()})
    return [(case, name) for table in tables for case, names in table.items() for name in names]


def write_figures() -> str:
    """Write the sums, and what is not met with its reason."""
    sums = Counter(kind for _, _, kind in sort_all())
    lines = [f"{len(CASES)} cases, {sums.total()} assertions"]
    lines += [f"{sums[kind]:6} {kind}" for kind in KINDS]
    for each in DIFFERENCES:
        lines += ["", f"{each.row}: {each.why}"]
        lines += [f"    {case}: {', '.join(names)}" for case, names in each.where.items()]
    lines += ["", "open:"]
    lines += [f"    {case}: {', '.join(names)}: {why}" for case, (why, names) in OPEN.items()]
    lines += ["", "unexplained:"]
    lines += [f"    {case}: {told}" for case, told, kind in sort_all() if kind == "unexplained"]
    return "\n".join(lines) + "\n"


def test_there_are_cases() -> None:
    """The cases of all projects are there, and each that asserts anything is checked."""
    projects = Counter(name.partition("/")[0] for name in CASES)
    assert (len(projects), projects.total()) == (15, 250)
    asserting = {name for name, case in CASES.items() if case.expect.keys() - peers.CONDITIONS}
    assert {name for name in CASES if peers.findings(name)} == asserting


@each_case
def test_case(name: str) -> None:
    """Every assertion of the case is met, or not ours, or in a table."""
    assert [each for each in peers.findings(name) if kind_of(name, each) == "unexplained"] == []


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.is_document])
def test_document(name: str) -> None:
    """The document of the case is read without raising, and no record is lost in silence."""
    reading = CASES[name].reading
    assert reading.records == reading.delivered + reading.dropped
    assert len(reading.locs) == reading.delivered
    assert reading.locs or reading.counts


def test_tables_have_no_idle_rows() -> None:
    """Each assertion in a table exists and is not met, so that no row outlives its reason."""
    kinds = {(case, finding.name): kind for case, finding, kind in sort_all()}
    assert {place for place in rows() if kinds.get(place) not in {"deliberate", "open"}} == set()
    assert len(rows()) == len(set(rows()))


def test_every_assertion_has_a_name_of_its_own() -> None:
    """No two assertions of a case share a name, so that a row of a table stands for one."""
    names = Counter((case, finding.name) for case, finding, _ in sort_all())
    assert [place for place, count in names.items() if count > 1] == []


@pytest.mark.parametrize("rule", NOT_OURS)
def test_rules_are_used(rule: str) -> None:
    """Each rule of what is not ours leaves something out."""
    assert any(re.fullmatch(rule, finding.name) for _, finding, _ in sort_all())


def test_no_expression_of_ours_is_left_out() -> None:
    """What is left out of feedparser's expressions names no field that we have."""
    left_out = [f.name for _, f, _ in sort_all() if f.name.startswith("feedparser_expr: ")]
    assert left_out
    for name in left_out:
        nodes = ast.walk(ast.parse(name.partition(": ")[2], mode="eval"))
        assert not any(peers.field_in(node) for node in nodes if isinstance(node, ast.expr)), name


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.row)
def test_rows_exist(difference: Difference) -> None:
    """The row of the table of behaviour that a difference names is there."""
    corpus.check_row(difference.row)


@pytest.mark.parametrize("name", ["crawlee/cross_host_urls", "crawlee-python/different_url"])
def test_their_default_is_our_option(name: str) -> None:
    """What crawlers leave out by default, being on another host, `scope="drop"` leaves out."""
    case = CASES[name]
    assert case.walk(scope="drop").locs == case.expect["locs"]


def test_figures() -> None:
    """No assertion is unexplained; `pytest -s` shows the sums and the differences."""
    text = write_figures()
    sys.stdout.write(f"\n{text}")
    assert "     0 unexplained\n" in text


if __name__ == "__main__":
    sys.stdout.write(write_figures())
