"""The cost of hostile markup: CPU time for 32 KiB and for four times that.

    python benchmarks/hostile_shapes.py [--only NAME]

Each shape of `tests/cases/floods.toml` is read in both sizes, or those with NAME in their name.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tables import print_table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from floods import SHAPES, growth, measure, per_block

HEAD = ("shape", "ms for 32 KiB", "x for 4 x the size", "longest step, ms")


def main() -> None:
    """Print a line for each shape, the costliest first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="shapes with this in their name")
    only = parser.parse_args().only
    timings = {shape.name: measure(shape) for shape in SHAPES if only in shape.name}
    rows = [
        (name, per_block(each), growth(each), max(timing.longest_step for timing in each))
        for name, each in timings.items()
    ]
    rows.sort(key=lambda row: -row[1])
    print_table(f"{len(rows)} hostile shapes", HEAD, rows)


if __name__ == "__main__":
    main()
