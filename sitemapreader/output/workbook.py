"""Workbooks for spreadsheets, written row by row; they need the extra `xlsx`."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sitemapreader._columns import ABSENT
from sitemapreader._columns.json import to_json
from sitemapreader._types.errors import name_extra
from sitemapreader.output.sink import Encoder
from sitemapreader.output.text import escape_texts, escape_urls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sitemapreader._columns import Column
    from sitemapreader._types.rows import OutputRows

MAX_ROWS = 1_048_576
"""Rows of a sheet in Excel; further ones go on in another sheet."""
MAX_CHARS = 32_767
"""Characters of a cell in Excel; a longer text is cut, and ends with an ellipsis."""
_WORKBOOK_PIECE_BYTES = 1 << 20


class WorkbookEncoder(Encoder):
    """An encoder of records as a workbook, whose sheets are begun one after another.

    A text is a text in its cell, whatever it looks like: never a formula, a number or a link.

    Raises ModuleNotFoundError: XlsxWriter is not installed.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        with name_extra("xlsx needs", "xlsx"):
            from xlsxwriter import Workbook  # noqa: PLC0415 (an extra)
        self._folder = TemporaryDirectory(prefix="sitemapreader-")
        self._path = Path(self._folder.name) / "table.xlsx"
        self._book = Workbook(
            str(self._path), {"constant_memory": True, "tmpdir": self._folder.name}
        )
        self._bold = self._book.add_format({"bold": True})
        self._columns = columns
        self._begin_sheet("urls")

    def _begin_sheet(self, name: str) -> None:
        self._sheet = self._book.add_worksheet(name)
        self._row = 1
        self._sheet.freeze_panes(1, 0)
        for place, column in enumerate(self._columns):
            self._sheet.write_string(0, place, column.name, self._bold)

    def encode(self, rows: OutputRows | list[Any]) -> bytes:
        """Write records into the sheet, and return nothing until the end."""
        for cells in zip(
            *(_list_cells(column, rows) for column in self._columns), strict=True
        ):
            if self._row == MAX_ROWS:
                self._begin_sheet(f"urls {len(self._book.worksheets()) + 1}")
            for place, cell in enumerate(cells):
                if isinstance(cell, str):
                    self._sheet.write_string(self._row, place, cell)
                elif cell is not None:
                    self._sheet.write_number(self._row, place, cell)
            self._row += 1
        return b""

    def end(self) -> Iterator[bytes]:
        """Yield the file in pieces."""
        self._book.close()
        with self._path.open("rb") as file:
            while piece := file.read(_WORKBOOK_PIECE_BYTES):
                yield piece

    def close(self) -> None:
        """Remove the temporary files."""
        self._book.fileclosed = True  # else it would write a file when it is freed
        for sheet in self._book.worksheets():
            sheet.row_data_fh.close()
        self._folder.cleanup()


def _list_cells(
    column: Column, rows: OutputRows | list[Any]
) -> list[str | float | None]:
    values = column.read(rows)
    escape = escape_urls if column.is_url else escape_texts
    return [_make_cell(value, escape) for value in values]


def _make_cell(value: Any, escape: Any) -> str | float | None:
    """Return a text, a number, or `None` for an empty cell."""
    if value in ABSENT or value == "":
        return None
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    ):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    text: str = escape([str(value)])[0] if isinstance(value, str) else to_json(value)
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[: MAX_CHARS - 1]}\u2026"
