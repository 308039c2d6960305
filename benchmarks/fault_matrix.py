"""The fault matrix: every fault of a server, in every format, at every cut, and beside 99 children.

Prints a row for each fault: what the outcome said, and how many of the records that were complete
in the bytes that arrived came out, over all cuts. What is not as it should be is named below.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from matrix_answers import FAULTS
from matrix_cells import all_cells
from matrix_formats import BODIES, complete_locs
from matrix_server import SIBLINGS, MatrixServer, no_names
from matrix_verdicts import Family, Verdict, judge_all, judge_family


async def judge_families() -> dict[str, Family]:
    """Judge an index of 100 children for each fault."""
    async with MatrixServer() as server:
        with no_names():
            return {name: await judge_family(fault, server) for name, fault in FAULTS.items()}


def show(verdicts: list[Verdict]) -> str:
    """Return what one fault in one format came to, over all cuts."""
    codes = "/".join(dict.fromkeys(each.code or "ok" for each in verdicts))
    counts = f"{sum(v.delivered for v in verdicts)}/{sum(v.complete for v in verdicts)}"
    return f"{codes} {counts}{' !' if any(v.problems for v in verdicts) else ''}"


def print_table(verdicts: list[Verdict], families: dict[str, Family]) -> None:
    """Print a row for each fault."""
    rows: dict[str, dict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    for verdict in verdicts:
        rows[verdict.cell.fault.name][verdict.cell.kind].append(verdict)
    width = 26
    print(f"{'fault':<27}{''.join(f'{kind:<{width}}' for kind in BODIES)}1 of 100")
    for name, row in rows.items():
        family = families[name]
        cells = "".join(f"{show(row[kind]):<{width}}" for kind in BODIES)
        print(f"{name:<27}{cells}{family.siblings} + {family.code or 'ok'}")


def print_totals(verdicts: list[Verdict], families: dict[str, Family], seconds: float) -> bool:
    """Print the totals; return whether all is as it should be."""
    unseen = [each for each in verdicts if each.cell.is_unseen]
    lossy = [each for each in verdicts if each.cell.fault.codes != frozenset({""})]
    seen = [each for each in lossy if not each.cell.is_unseen]
    typed = sum(not any("code" in p or "Issue" in p for p in each.problems) for each in seen)
    complete = sum(each.complete for each in verdicts)
    lost = sum(max(0, each.complete - each.delivered) for each in verdicts)
    slowest = max(verdicts, key=lambda each: each.over)
    print(f"\n{len(FAULTS)} faults, {len(verdicts)} cells in {seconds:.0f} s")
    print(f"typed {typed} of {len(seen)}: {100 * typed / len(seen):.2f} %")
    print(
        f"cannot be told from a whole document: {len(unseen)} cells (a body without length or end "
        "mark: lines that end anywhere, or all but the last byte)"
    )
    given_up = [each.cell for each in verdicts if each.cell.fault.opaque and each.cell.cut]
    arrived = sum(
        len(complete_locs(cell.kind, cell.body[: cell.size], ended=False)) for cell in given_up
    )
    print(
        f"given up as a whole by aiohttp, and not counted below: {len(given_up)} cells "
        f"with {arrived} records"
    )
    print(f"delivered {complete - lost} of {complete}: {100 - 100 * lost / complete:.2f} %")
    print(
        f"latest: {slowest.over:+.2f} s over its patience "
        f"({slowest.cell.fault.name}, {slowest.cell.kind}, {slowest.cell.cut or 'whole'})"
    )
    siblings = sum(each.siblings for each in families.values())
    print(f"1 of 100 fails: {siblings} of {SIBLINGS * len(families)} siblings delivered")
    wrong = [
        f"{v.cell.fault.name}, {v.cell.kind}, {v.cell.cut or 'whole'}: {'; '.join(v.problems)}"
        for v in verdicts
        if v.problems
    ]
    wrong += [
        f"{name}, 1 of 100: {'; '.join(f.problems)}" for name, f in families.items() if f.problems
    ]
    print("\n".join([f"\nnot as it should be: {len(wrong)}", *wrong]))
    return not wrong


def main() -> None:
    """Print the table and the totals."""
    begin = time.perf_counter()
    verdicts = asyncio.run(judge_all(list(all_cells())))
    families = asyncio.run(judge_families())
    print_table(verdicts, families)
    if not print_totals(verdicts, families, time.perf_counter() - begin):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
