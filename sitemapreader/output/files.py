"""Outputs that are always files: feeds of changes (Atom), and workbooks (.xlsx)."""

from __future__ import annotations

import math
import re
from collections import deque
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import NAMESPACE_URL, uuid4, uuid5

from sitemapreader.errors import name_extra
from sitemapreader.output.columns import ABSENT
from sitemapreader.output.sink import Encoder, Output
from sitemapreader.output.text import escape_texts, escape_urls, to_json
from sitemapreader.rows import OutputRows, get_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemapreader.output.columns import Column

MAX_ENTRIES = 200
"""Changes that the feed has; the oldest leave it."""
_HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
    "<title>Changes of sitemaps</title><author><name>sitemapreader</name></author>"
)
_ID = re.compile(r"<id>(urn:uuid:[0-9a-f-]{36})</id>")
_UPDATED = re.compile(r"<updated>([0-9TZ:-]{20})</updated>")
_MAX_BYTES = 64 * 1024 * 1024
"""200 entries, each with a URL, a title and a sitemap of the longest that are read."""


class AtomEncoder(Encoder):
    """An encoder of entries as a feed (RFC 4287), behind those that the file has.

    The last one comes first. Each is one line, so what an earlier run has written stays as it is.

    Raises ValueError: the file is not such a feed.
    """

    def __init__(self, path: str) -> None:
        head, *lines = _read_lines(Path(path))
        self._now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        known = _ID.search(head)
        self._id = known[1] if known else f"urn:uuid:{uuid4()}"
        updated = _UPDATED.search(head)
        self._updated = updated[1] if updated else self._now
        self._lines = deque(lines, MAX_ENTRIES)

    def encode(self, rows: OutputRows) -> bytes:
        """Keep the last entries until the end."""
        names = ("loc", "change", "title", "lastmod", "sitemap")
        parts = [get_column(rows, name)[-MAX_ENTRIES:] for name in names]
        for loc, change, title, lastmod, sitemap in zip(*parts, strict=True):
            url, where = map(escape, escape_urls([loc, sitemap]))
            said = escape(escape_texts([title or ""])[0]) or url
            what = str(change or "listed")
            key = uuid5(NAMESPACE_URL, f"{what} {self._now} {url}")
            day = f", last changed {lastmod.isoformat()}" if lastmod else ""
            line = (
                f"<entry><id>urn:uuid:{key}</id><title>{what}: {said}</title>"
                f'<updated>{self._now}</updated><link href="{url}"/><category term="{what}"/>'
                f"<summary>{what}{day}, in {where}</summary></entry>"
            )
            if not any(str(key) in known for known in self._lines):
                self._lines.appendleft(line)
                self._updated = self._now
        return b""

    def end(self) -> bytes:
        """Return the feed."""
        head = f"{_HEAD}<id>{self._id}</id><updated>{self._updated}</updated>"
        text = "\n".join([head, *self._lines, "</feed>\n"])
        return text.encode("utf-8", "backslashreplace")


def _read_lines(path: Path) -> list[str]:
    """Return the head and the entries of a feed; an empty head if there is no file."""
    if not path.is_file():
        return [""]
    text = path.read_text("utf-8", "replace") if path.stat().st_size <= _MAX_BYTES else ""
    if not text.startswith(_HEAD):
        raise ValueError(
            f"{path} is not a feed that was written here: name another file, or remove it"
        )
    return text.removeprefix(_HEAD).splitlines()[:-1]


# -- workbooks, which need the extra `xlsx`

MAX_ROWS = 1_048_576
"""Of a sheet, in Excel; the rest goes on in another one."""
MAX_CHARS = 32_767
"""Of a cell; a longer text is cut, and ends with an ellipsis."""
_PIECE_BYTES = 1 << 20
SheetRows: TypeAlias = "tuple[str, Sequence[Column], Iterable[OutputRows | list[Any]]]"
"""The name of a sheet, its columns, and its records in portions."""


class WorkbookEncoder(Encoder):
    """An encoder of records as a workbook, whose sheets are begun one after another.

    A text is a text in its cell, whatever it looks like: never a formula, a number or a link.

    Raises ModuleNotFoundError: XlsxWriter is not installed.
    """

    def __init__(self, columns: Sequence[Column] = (), name: str = "urls") -> None:
        with name_extra("xlsx needs", "xlsx"):
            from xlsxwriter import Workbook  # noqa: PLC0415 (an extra)
        self._folder = TemporaryDirectory(prefix="sitemapreader-")
        self._path = Path(self._folder.name) / "table.xlsx"
        self._book = Workbook(
            str(self._path), {"constant_memory": True, "tmpdir": self._folder.name}
        )
        self._bold = self._book.add_format({"bold": True})
        if columns:
            self.begin_sheet(name, columns)

    def begin_sheet(self, name: str, columns: Sequence[Column], number: int = 1) -> None:
        """Begin a sheet; what is encoded from now on goes there."""
        self._name, self._columns, self._number, self._row = name, columns, number, 1
        self._sheet = self._book.add_worksheet(name if number == 1 else f"{name} {number}")
        self._sheet.freeze_panes(1, 0)
        for place, column in enumerate(columns):
            self._sheet.write_string(0, place, column.name, self._bold)

    def encode(self, rows: OutputRows | list[Any]) -> bytes:
        """Write records into the sheet, and return nothing until the end."""
        for cells in zip(*(_list_cells(column, rows) for column in self._columns), strict=True):
            if self._row == MAX_ROWS:
                self.begin_sheet(self._name, self._columns, self._number + 1)
            for place, cell in enumerate(cells):
                if isinstance(cell, str):
                    self._sheet.write_string(self._row, place, cell)
                elif cell is not None:
                    self._sheet.write_number(self._row, place, cell)
            self._row += 1
        return b""

    def finish(self) -> Iterator[bytes]:
        """Yield the file in pieces."""
        self._book.close()
        with self._path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece

    def close(self) -> None:
        """Remove the temporary files."""
        self._book.fileclosed = True  # else it would write a file when it is freed
        for sheet in self._book.worksheets():
            sheet.row_data_fh.close()
        self._folder.cleanup()


def _list_cells(column: Column, rows: OutputRows | list[Any]) -> list[str | float | None]:
    values = column.read(rows)
    escape = escape_urls if column.is_url else escape_texts
    return [_make_cell(value, escape) for value in values]


def _make_cell(value: Any, escape: Any) -> str | float | None:
    """Return a text, a number, or `None` for an empty cell."""
    if value in ABSENT or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    text: str = escape([str(value)])[0] if isinstance(value, str) else to_json(value)
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}\u2026"


def write_sheets(path: str, sheets: Iterable[SheetRows]) -> None:
    """Write a workbook as a file, which appears when it is complete."""
    encoder = WorkbookEncoder()
    with Output(path, encoder, end=None):
        for name, columns, portions in sheets:
            encoder.begin_sheet(name, columns)
            for rows in portions:
                encoder.encode(rows)
