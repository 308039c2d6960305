"""The bad inputs that are documents: number, input, what is expected, and what comes of it.

Each is read in a process of its own: `--only 13 --only 34` reads those of some numbers.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tables import print_table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from bombs import ALL_INPUTS, read_apart

if TYPE_CHECKING:
    from badinputs import BadInput
    from bombs import Reading

HEAD = ("input", "expected", "got", "wrong", "s", "gap ms", "+MB")


def tell(good: int, others: int, codes: frozenset[str]) -> str:
    """Say what comes of an input: how many good records, how many others, which Issues."""
    return f"{good}+{others} {' '.join(sorted(codes)) or 'no Issue'}"


def judge(bad: BadInput, reading: Reading) -> tuple[object, ...]:
    """Make a row of the table."""
    others = bad.others if isinstance(bad.others, int) else len(bad.others)
    good = len(reading.good)
    return (
        bad.id,
        tell(len(bad.good), others, frozenset(bad.issues)),
        tell(good, reading.count - good, reading.issues),
        "; ".join(reading.judge(bad)),
        reading.seconds,
        reading.gap_ms,
        reading.peak_mb,
    )


def main() -> None:
    """Print a line for each input, and how many came out as expected."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", type=int, action="append", help="the input of that number")
    only = parser.parse_args().only
    inputs = sorted(ALL_INPUTS, key=lambda bad: bad.id)
    rows = [judge(bad, read_apart(bad)) for bad in inputs if not only or bad.number in only]
    print_table("Good records + others, and the Issues", HEAD, rows)
    met = sum(not row[3] for row in rows)
    numbers = len({bad.number for bad in inputs if not only or bad.number in only})
    print(f"{met} of {len(rows)} as expected, of {numbers} numbers")
    if met < len(rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
