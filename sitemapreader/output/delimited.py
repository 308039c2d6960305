"""Entries as tables in text: comma-separated (RFC 4180) and tab-separated values.

Extensions stand in their cells as JSON, absent values as empty cells. A URL has its control
characters and blanks percent-encoded, so that a record is a line; and what a spreadsheet would take
for a formula has an apostrophe before it. CSV has quotes where a cell needs them, TSV knows none
(IANA, text/tab-separated-values).
"""

from __future__ import annotations

import re
from datetime import datetime
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from sitemapreader.entry_columns import get_column
from sitemapreader.output.escaping import escape_texts, escape_urls, neutralise_formulas
from sitemapreader.output.jsonl import to_json
from sitemapreader.output.schema import ABSENT, has_nothing, write_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemapreader.entry_columns import OutputRows
    from sitemapreader.output.schema import Column

SEPARATORS = {"csv": ",", "tsv": "\t"}
_TO_QUOTE = re.compile('[,;"]')


def make_writer(columns: Sequence[Column], separator: str) -> Callable[[OutputRows], str]:
    """Return what writes entries as rows."""
    finish = quote if separator == "," else list

    def write(rows: OutputRows) -> str:
        parts: list[Any] = []
        for column in columns:
            parts += finish(_write_cells(column, rows)), repeat(separator)
        parts[-1] = repeat("\n")
        return "".join(chain.from_iterable(zip(*parts, strict=False)))

    return write


def quote(cells: list[str]) -> list[str]:
    """Put cells in quotes that have a comma, a semicolon or a quote; none has a line break.

    Spreadsheets of many locales separate cells at semicolons: an unquoted `a;=1` would be two
    cells there, of which one is a formula.
    """
    text = "".join(cells)
    if "," not in text and ";" not in text and '"' not in text:
        return cells
    return [_quote(cell) if _TO_QUOTE.search(cell) else cell for cell in cells]


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def _write_cells(column: Column, rows: OutputRows) -> list[str]:
    values: list[Any] = get_column(rows, column.name)
    if has_nothing(values):
        return [""] * len(values)
    if column.is_url:
        return neutralise_formulas(escape_urls(values))
    if column.type == datetime | None:
        return [day.isoformat() if day else "" for day in values]
    if column.type == str | None:
        return neutralise_formulas(escape_texts([value or "" for value in values]))
    return write_values(values, lambda value: "" if value in ABSENT else to_json(value))
