"""Output of results: tables for people, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


def print_table(
    title: str, head: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Print columns: words to the left, numbers to the right."""
    cells = [[_write(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    numbers = [
        bool(cells) and all(_is_number(row[column]) for row in cells)
        for column in range(len(head))
    ]
    print(f"\n{title}")
    for row in (list(head), ["-" * width for width in widths], *cells):
        columns = zip(row, widths, numbers, strict=True)
        print(
            "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in columns).rstrip()
        )


def _write(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.2f}" if abs(cell) < 10 else f"{cell:,.1f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _is_number(text: str) -> bool:
    return (
        text == "-" or text.replace(",", "").replace(".", "", 1).lstrip("+-").isdigit()
    )


def print_machine(machine: Mapping[str, str]) -> None:
    """Print what the figures depend on."""
    print(", ".join(f"{name} {value}" for name, value in machine.items()))


def write_json(path: Path | None, result: Mapping[str, object]) -> None:
    """Write all figures, if a file is named for them."""
    if path is not None:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
