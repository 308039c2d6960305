"""The cost of hostile markup: CPU time for 32 KiB and for four times that.

    python benchmarks/hostile_shapes.py [--only NAME] [--sites]

Each shape of `tests/cases/floods.toml` is read in both sizes, or those with NAME in their name.
With `--sites`, each site of `tests/support/strangers.py` is walked or visited in 50 and 200 KB, and
the longest step is one of the event loop.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tables import print_table

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.floods import SHAPES, growth, measure, per_block
from tests.support.strangers import SIZES, STRANGERS, measure_costs

SITE_HEAD = ("site", "ms for 50 KB", "x for 4 x the size", "longest step, ms")
HEAD = ("shape", "ms for 32 KiB", "x for 4 x the size", "longest step, ms")


async def walk_sites(only: str) -> list[tuple[str, float, float, float]]:
    """Measure the sites with `only` in their name; the one that holds the loop longest first."""
    await measure_costs(STRANGERS[0], 1_000)  # imports and lists are loaded once
    rows = []
    for stranger in STRANGERS:
        if only in stranger.name:
            small, large = [await measure_costs(stranger, size) for size in SIZES]
            ratio = large.milliseconds / small.milliseconds
            held = max(small.held, large.held)
            rows.append((stranger.name, small.milliseconds, ratio, held))
    return sorted(rows, key=lambda row: -row[3])


def main() -> None:
    """Print a line for each shape, the costliest first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="shapes with this in their name")
    parser.add_argument(
        "--sites", action="store_true", help="walk sites in place of shapes"
    )
    arguments = parser.parse_args()
    only = arguments.only
    if arguments.sites:
        rows = asyncio.run(walk_sites(only))
        print_table(f"{len(rows)} hostile sites", SITE_HEAD, rows)
        return
    timings = {shape.name: measure(shape) for shape in SHAPES if only in shape.name}
    rows = [
        (
            name,
            per_block(each),
            growth(each),
            max(timing.longest_step for timing in each),
        )
        for name, each in timings.items()
    ]
    rows.sort(key=lambda row: -row[1])
    print_table(f"{len(rows)} hostile shapes", HEAD, rows)


if __name__ == "__main__":
    main()
