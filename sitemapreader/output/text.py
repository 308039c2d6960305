"""Entries as text, one record a line: bare URLs, JSON lines, CSV, TSV.

JSON lines (https://jsonlines.org) are objects in ASCII. In CSV (RFC 4180) and TSV, extensions are
JSON in their cells, and absent values are empty cells. Control characters and blanks in URLs are
percent-encoded, so that a record is one line. A cell that a spreadsheet would run as a formula
gets an apostrophe in front. In CSV, so does a formula after a semicolon, except in the first
column. CSV quotes cells where needed; TSV has no quotes (IANA, text/tab-separated-values).
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from sitemapreader._columns import ABSENT, Column, has_nothing
from sitemapreader._columns.json import to_json
from sitemapreader._types.rows import OutputRows, get_column
from sitemapreader._types.urls import INVISIBLE, percent_encode
from sitemapreader.output.sink import ArrayEncoder, Encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SEPARATORS = {"csv": ",", "tsv": "\t"}
_TO_QUOTE = re.compile('[,;"]')
_HIDDEN_FORMULA = re.compile(f";(?=[{INVISIBLE}\"']*[=+\\-@\uff1d\uff0b\uff0d\uff20])")
_encode = json.JSONEncoder().encode
# Characters that would end the line, or that a terminal obeys: C0, DEL, C1, bidi and line
# separators, lone surrogates. A URL must not contain them unescaped (RFC 3986). Also characters
# that XML 1.0 forbids (section 2.2), because they would make a feed or a workbook unreadable.
_UNSAFE_IN_TEXT = (
    "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufffe\uffff"
)
_UNSAFE_TEXT = re.compile(f"[{_UNSAFE_IN_TEXT}]")
_UNSAFE_URL = re.compile(f"[{_UNSAFE_IN_TEXT} \xa0]")
# The beginning of a formula for a spreadsheet (OWASP, "CSV Injection"), or of a quoted cell for a
# reader of tables. Invisible characters may come first: readers drop a byte order mark.
_FORMULA = re.compile(f'[{INVISIBLE}]*[=+\\-@\uff1d\uff0b\uff0d\uff20"]')


# -- lines


class TextEncoder(Encoder):
    """An encoder of lines; characters outside the encoding are written with backslashes."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding

    def write(self, rows: OutputRows) -> str:
        """Return the entries as whole lines."""
        raise NotImplementedError

    def encode(self, rows: OutputRows) -> bytes:
        """Return the entries as whole lines, in the encoding."""
        text = self.write(rows)
        return text.encode(self._encoding, "backslashreplace")


def make_encoder(
    format: str,  # noqa: A002 (as in open_output)
    columns: Sequence[Column],
    end: str,
    encoding: str,
    *,
    header: bool,
) -> Encoder:
    """Return an encoder of entries as text, whose records end with `end`."""
    if format == "urls":
        return UrlEncoder(end, encoding)
    if format == "jsonl":
        return JsonEncoder(columns, end, encoding)
    if format == "json":
        return ArrayEncoder(JsonEncoder(columns, end, encoding))
    separator = SEPARATORS[format]
    encoder = RowEncoder(columns, separator, encoding)
    if header:
        names = [column.name for column in columns]
        head = separator.join(names)
        encoder.head = f"{head}\n".encode(encoding)
    return encoder


class UrlEncoder(TextEncoder):
    """An encoder of bare URLs; characters that would break a line are percent-encoded."""

    def __init__(self, end: str, encoding: str) -> None:
        super().__init__(encoding)
        self._end = end

    def write(self, rows: OutputRows) -> str:
        """Return the URLs, each with its end."""
        urls = escape_urls(get_column(rows, "loc"))
        return self._end.join([*urls, ""])


def _join_parts(parts: list[Iterable[str]]) -> str:
    """Join the first text of each part, then the second of each, and so on."""
    records = zip(*parts, strict=False)
    return "".join(chain.from_iterable(records))


def _write_all(
    column: Column,
    values: list[Any],
    write: Callable[[Any], str],
) -> Iterable[str]:
    """Write the values of a column; where most are equal, each value only once."""
    if not column.is_repetitive:
        return map(write, values)
    different = set(values)
    texts = {value: write(value) for value in different}
    return [texts[value] for value in values]


# -- JSON lines


class JsonEncoder(TextEncoder):
    """An encoder of JSON lines, with keys in the order of the columns.

    A column without `always` is left out where its value is absent, and so are absent fields of
    extensions.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        end: str,
        encoding: str,
    ) -> None:
        super().__init__(encoding)
        self._columns = columns
        self._end = f"}}{end}"
        keys = [f"{_encode(column.name)}: " for column in columns]
        self._keys = ["{" + keys[0]]
        self._keys += [f", {key}" for key in keys[1:]]

    def write(self, rows: OutputRows) -> str:
        """Return an object for each entry."""
        parts: list[Iterable[str]] = []
        for column, key in zip(self._columns, self._keys, strict=True):
            values = column.read(rows)
            if column.always:
                write: Callable[[Any], str] = to_json
                if column.base is str:
                    write = _encode
                parts.append(repeat(key))
                parts.append(_write_all(column, values, write))
            elif not has_nothing(values):
                texts = [
                    "" if value in ABSENT else key + to_json(value) for value in values
                ]
                parts.append(texts)
        parts.append(repeat(self._end))
        return _join_parts(parts)


# -- tables


class RowEncoder(TextEncoder):
    """An encoder of entries as rows of CSV or TSV."""

    def __init__(
        self,
        columns: Sequence[Column],
        separator: str,
        encoding: str,
    ) -> None:
        super().__init__(encoding)
        self._columns = columns
        self._separator = separator

    def write(self, rows: OutputRows) -> str:
        """Return a row for each entry."""
        parts: list[Iterable[str]] = []
        for column in self._columns:
            values = column.read(rows)
            cells = list(_write_cells(column, values))
            if self._separator == SEPARATORS["csv"]:
                if parts:
                    cells = _neutralise_parts(column, cells)
                cells = quote(cells)
            parts.append(cells)
            parts.append(repeat(self._separator))
        parts[-1] = repeat("\n")
        return _join_parts(parts)


def _write_cells(column: Column, values: list[Any]) -> Iterable[str]:
    if has_nothing(values):
        return [""] * len(values)
    if column.is_url:
        return neutralise_formulas(escape_urls(values))
    if column.base is str:
        texts = [value or "" for value in values]
        return neutralise_formulas(escape_texts(texts))
    if column.base is datetime:
        return [day.isoformat() if day else "" for day in values]
    return _write_all(column, values, _write_cell)


def _write_cell(value: Any) -> str:
    if value in ABSENT:
        return ""
    return to_json(value)


def _neutralise_parts(column: Column, cells: list[str]) -> list[str]:
    """Escape semicolons before a part that a spreadsheet would run as a formula."""
    # Spreadsheets of many locales separate cells at semicolons, and a quote counts only at the
    # start of such a cell: they read `a,"b;=1"` as two cells, and the second one is a formula.
    if ";" not in "".join(cells):
        return cells
    if column.is_url:
        escaped = "%3B"
    elif column.base is str:
        escaped = ";'"
    else:  # JSON
        escaped = r"\\u003b"
    return [_HIDDEN_FORMULA.sub(escaped, cell) for cell in cells]


def quote(cells: list[str]) -> list[str]:
    """Quote the cells that have a comma, a semicolon or a quote."""
    text = "".join(cells)
    if "," not in text and ";" not in text and '"' not in text:
        return cells
    return [
        '"' + cell.replace('"', '""') + '"' if _TO_QUOTE.search(cell) else cell
        for cell in cells
    ]


# -- characters that a line or a cell must not contain

# Whole columns are tested at once, because nearly all of them are plain: one test of the joined
# text costs a fraction of a substitution in each value.


def escape_urls(urls: list[str]) -> list[str]:
    """Percent-encode characters that a URL or a line must not contain."""
    text = "".join(urls)
    if text.isprintable() and " " not in text:
        return urls
    return [_UNSAFE_URL.sub(percent_encode, url) for url in urls]


def escape_texts(texts: list[str]) -> list[str]:
    r"""Escape characters that a line must not contain, as `\x1b` or `\u2028`."""
    if "".join(texts).isprintable():
        return texts
    return [_UNSAFE_TEXT.sub(_escape_unsafe, text) for text in texts]


def neutralise_formulas(cells: list[str]) -> list[str]:
    """Put an apostrophe before a cell that a spreadsheet would run as a formula."""
    return [f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells]


def _escape_unsafe(match: re.Match[str]) -> str:
    escaped = match[0].encode("unicode_escape")
    return escaped.decode("ascii")
