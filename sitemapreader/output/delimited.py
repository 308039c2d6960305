"""Entries as tables in text: comma-separated (RFC 4180) and tab-separated values.

Extensions are JSON in their cells, and absent values are empty cells. Control characters and blanks
in URLs are percent-encoded, so that a record is one line. A cell that a spreadsheet would run as a
formula begins with an apostrophe. In CSV, so does a formula behind a semicolon, except in the first
column. CSV quotes cells where needed; TSV has no quotes (IANA, text/tab-separated-values).
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
_HIDDEN_FORMULA = re.compile(";(?=[\\s\"']*[=+\\-@\uff1d\uff0b\uff0d\uff20])")


def make_writer(columns: Sequence[Column], separator: str) -> Callable[[OutputRows], str]:
    """Return a writer of entries as rows."""
    is_csv = separator == ","

    def write(rows: OutputRows) -> str:
        parts: list[Any] = []
        for place, column in enumerate(columns):
            cells = _write_cells(column, rows)
            if is_csv and place:
                cells = _neutralise_parts(column, cells)
            parts += quote(cells) if is_csv else cells, repeat(separator)
        parts[-1] = repeat("\n")
        return "".join(chain.from_iterable(zip(*parts, strict=False)))

    return write


def _neutralise_parts(column: Column, cells: list[str]) -> list[str]:
    """Escape semicolons before what a spreadsheet would run as a formula."""
    # Spreadsheets of many locales separate cells at semicolons, and quotes help only at the start
    # of what they take for a cell: there `a,"b;=1"` has two cells, of which one is a formula.
    if not any(";" in cell for cell in cells):
        return cells
    instead = r"\\u003b"  # of JSON, where it is the same text
    if column.is_url:
        instead = "%3B"
    elif column.type == str | None:
        instead = ";'"
    return [_HIDDEN_FORMULA.sub(instead, cell) for cell in cells]


def quote(cells: list[str]) -> list[str]:
    """Quote the cells that have a comma, a semicolon or a quote.

    None has a line break.
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
