"""The bad inputs of the web: number, input, what is expected, and what comes of it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

import web_http  # noqa: F401 (enters its rows in the table)
import web_process  # noqa: F401 (the same)
import web_robots  # noqa: F401 (the same)
import web_tls  # noqa: F401 (the same)
import web_urls  # noqa: F401 (the same)
from web_table import ROWS, try_row


def main() -> None:
    """Print a line for each number, and how many came out as expected."""
    met = 0
    for number, row in sorted(ROWS.items()):
        got = asyncio.run(try_row(number))
        met += got == row.expected
        mark = "" if got == row.expected else f"\n{'':<6}EXPECTED: {row.expected}"
        print(f"{number:<5} {row.what}\n{'':<6}got: {got}{mark}")
    print(f"{met} of {len(ROWS)} as expected")
    if met < len(ROWS):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
