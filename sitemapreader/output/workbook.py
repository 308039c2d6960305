"""Workbooks for spreadsheets, written row by row; they need the extra `xlsx`."""

from __future__ import annotations

import math
from datetime import UTC, datetime, time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from sitemapreader._columns import ABSENT
from sitemapreader._columns.json import to_json
from sitemapreader._types.errors import name_extra
from sitemapreader.output.sink import Encoder
from sitemapreader.output.text import escape_texts, escape_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sitemapreader._columns import Column
    from sitemapreader._types.rows import OutputRows

    Escape: TypeAlias = Callable[[list[str]], list[str]]
    Cell: TypeAlias = str | float | datetime | None

MAX_ROWS = 1_048_576
"""Rows of a sheet in Excel; more rows go into another sheet."""
MAX_CHARS = 32_767
"""Characters of a cell in Excel; a longer text is cut, and ends with an ellipsis."""
_WORKBOOK_PIECE_BYTES = 1 << 20
_YEARS = range(1901, 9999)
"""Years whose moments are dates of Excel in every zone."""
_URL_CHARS = 60
_MOMENT_CHARS = 19
"""Widths of columns, in characters; the others are as wide as Excel makes them."""


class WorkbookEncoder(Encoder):
    """An encoder of records as a workbook; a full sheet is followed by another one.

    A text is always written as text, never as a formula, a number or a link. A moment is a date of
    Excel in UTC, because Excel knows no zones; without a time of day it is shown as a day.

    Raises ModuleNotFoundError: XlsxWriter is not installed.
    """

    def __init__(self, _path: str, columns: Sequence[Column]) -> None:
        with name_extra("xlsx needs", "xlsx"):
            from xlsxwriter import Workbook  # noqa: PLC0415 (an extra)
        self._folder = TemporaryDirectory(prefix="sitemapreader-")
        self._path = Path(self._folder.name) / "table.xlsx"
        options = {"constant_memory": True, "tmpdir": self._folder.name}
        self._book = Workbook(str(self._path), options)
        self._bold = self._book.add_format({"bold": True})
        self._day = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._moment = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._columns = columns
        self._name = ""

    def begin_sheet(self, name: str, columns: Sequence[Column]) -> None:
        """Begin a sheet for the next records; without it, they are in the sheet `urls`."""
        self._columns = columns
        self._name = name
        self._sheets_of_name = 0
        self._add_sheet()

    def _need_sheet(self) -> None:
        if not self._name:
            self.begin_sheet("urls", self._columns)

    def _add_sheet(self) -> None:
        self._sheets_of_name += 1
        name = self._name
        if self._sheets_of_name > 1:
            name += f" {self._sheets_of_name}"
        sheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        for index, column in enumerate(self._columns):
            sheet.write_string(0, index, column.name, self._bold)
            if column.is_url:
                sheet.set_column(index, index, _URL_CHARS)
            elif column.base is datetime:
                sheet.set_column(index, index, _MOMENT_CHARS)
        self._sheet = sheet
        self._row = 1

    def encode(self, rows: OutputRows) -> bytes:
        """Write records into the sheet, and return nothing until the end."""
        self._need_sheet()
        cells_by_column = [_list_cells(column, rows) for column in self._columns]
        for cells in zip(*cells_by_column, strict=True):
            if self._row == MAX_ROWS:
                self._add_sheet()
            sheet = self._sheet
            row = self._row
            for index, cell in enumerate(cells):
                if isinstance(cell, str):
                    sheet.write_string(row, index, cell)
                elif isinstance(cell, datetime):
                    form = self._moment
                    if cell.time() == time.min:
                        form = self._day
                    sheet.write_datetime(row, index, cell, form)
                elif cell is not None:
                    sheet.write_number(row, index, cell)
            self._row += 1
        return b""

    def end(self) -> Iterator[bytes]:
        """Yield the file in pieces."""
        self._need_sheet()
        self._book.close()
        with self._path.open("rb") as file:
            while piece := file.read(_WORKBOOK_PIECE_BYTES):
                yield piece

    def close(self) -> None:
        """Remove the temporary files."""
        # otherwise the workbook would write a file when it is freed
        self._book.fileclosed = True
        for sheet in self._book.worksheets():
            sheet.row_data_fh.close()
        self._folder.cleanup()


def _list_cells(column: Column, rows: OutputRows) -> list[Cell]:
    escape: Escape = escape_texts
    if column.is_url:
        escape = escape_urls
    values = column.read(rows)
    return [_make_cell(value, escape) for value in values]


def _make_cell(value: Any, escape: Escape) -> Cell:
    """Return a text, a number, a moment in UTC, or `None` for an empty cell."""
    if value in ABSENT or value == "":
        return None
    if isinstance(value, datetime):
        if value.year not in _YEARS:
            return value.isoformat()
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None)
    if isinstance(value, str):
        (text,) = escape([str(value)])
    elif _is_number(value):
        return value
    else:
        text = to_json(value)
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[: MAX_CHARS - 1]}\u2026"


def _is_number(value: object) -> TypeGuard[float]:
    """Return whether a cell can hold the value as a number; Excel has no infinity."""
    if isinstance(value, bool):
        return False
    if not isinstance(value, int | float):
        return False
    return math.isfinite(value)
