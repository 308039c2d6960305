"""Entries as text, one record a line: bare URLs, JSON lines, CSV, TSV.

JSON lines (https://jsonlines.org) are objects in ASCII. In CSV (RFC 4180) and TSV, extensions are
JSON in their cells, and absent values are empty cells. Control characters and blanks in URLs are
percent-encoded, so that a record is one line. A cell that a spreadsheet would run as a formula
begins with an apostrophe. In CSV, so does a formula behind a semicolon, except in the first column.
CSV quotes cells where needed; TSV has no quotes (IANA, text/tab-separated-values).
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from sitemapreader._columns import ABSENT, Column, has_nothing
from sitemapreader._columns.json import to_json
from sitemapreader._types.rows import OutputRows, get_column
from sitemapreader._types.urls import INVISIBLE
from sitemapreader.output.sink import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SEPARATORS = {"csv": ",", "tsv": "\t"}
_TO_QUOTE = re.compile('[,;"]')
_HIDDEN_FORMULA = re.compile(f";(?=[{INVISIBLE}\"']*[=+\\-@\uff1d\uff0b\uff0d\uff20])")
_encode = json.JSONEncoder().encode
# What would end the line, or be acted on by a terminal: C0, DEL, C1, bidi and line separators,
# lone surrogates. None of it may stand in a URL unescaped (RFC 3986). And what XML 1.0 has no
# character for (section 2.2): one in a URL would make a feed or a workbook unreadable.
_UNSAFE_IN_TEXT = (
    "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufffe\uffff"
)
_UNSAFE_TEXT = re.compile(f"[{_UNSAFE_IN_TEXT}]")
_UNSAFE_URL = re.compile(f"[{_UNSAFE_IN_TEXT} \xa0]")
# What a spreadsheet takes for a formula (OWASP, "CSV Injection"), and what a reader of tables takes
# for the begin of a quoted cell. Readers drop a byte order mark that stands before it.
_FORMULA = re.compile(f'[{INVISIBLE}]*[=+\\-@\uff1d\uff0b\uff0d\uff20"]')


# -- lines


class TextEncoder(Encoder):
    """Encoder of lines; characters outside the encoding get backslashes."""

    def __init__(
        self, write: Callable[[OutputRows], str], encoding: str, head: str = ""
    ) -> None:
        self._write = write
        self._encoding = encoding
        self.head = head.encode(encoding)

    def encode(self, rows: OutputRows) -> bytes:
        """Return the entries as whole lines."""
        return self._write(rows).encode(self._encoding, "backslashreplace")


def make_encoder(
    format: str,  # noqa: A002 (as in open_output)
    columns: Sequence[Column],
    end: str,
    encoding: str,
    *,
    header: bool,
) -> TextEncoder:
    """Return an encoder of entries as text, whose records end with `end`."""
    if format not in SEPARATORS:
        write = (
            make_json_writer(columns, end)
            if format == "jsonl"
            else partial(write_urls, end)
        )
        return TextEncoder(write, encoding)
    separator = SEPARATORS[format]
    if header:
        head = separator.join(column.name for column in columns) + "\n"
    else:
        head = ""
    return TextEncoder(make_row_writer(columns, separator), encoding, head)


def write_urls(end: str, rows: OutputRows) -> str:
    """Write the locs; characters that would break a line are percent-encoded."""
    return end.join([*escape_urls(get_column(rows, "loc")), ""])


# -- JSON lines


def make_json_writer(
    columns: Sequence[Column], end: str
) -> Callable[[OutputRows], str]:
    """Return a writer of JSON lines, with keys in the order of the columns.

    A column without `always` is left out where its value is absent, and so are absent fields of
    extensions.
    """
    keys = [f", {_encode(column.name)}: " for column in columns]
    keys[0] = "{" + keys[0].removeprefix(", ")

    def write(rows: OutputRows) -> str:
        parts: list[Iterable[str]] = []
        for column, key in zip(columns, keys, strict=True):
            values = column.read(rows)
            if column.always:
                write = _encode if column.base is str else to_json
                parts += repeat(key), _write_all(column, values, write)
            elif not has_nothing(values):
                parts.append(
                    ["" if each in ABSENT else key + to_json(each) for each in values]
                )
        return "".join(
            chain.from_iterable(zip(*parts, repeat(f"}}{end}"), strict=False))
        )

    return write


def _write_all(
    column: Column, values: list[Any], write: Callable[[Any], str]
) -> Iterable[str]:
    """Write the values of a column; where most are equal, each only once."""
    if not column.is_repetitive:
        return map(write, values)
    texts = {value: write(value) for value in set(values)}
    return [texts[value] for value in values]


# -- tables


def make_row_writer(
    columns: Sequence[Column], separator: str
) -> Callable[[OutputRows], str]:
    """Return a writer of entries as rows."""
    is_csv = separator == SEPARATORS["csv"]

    def write(rows: OutputRows) -> str:
        parts: list[Iterable[str]] = []
        for column in columns:
            cells = list(_write_cells(column, column.read(rows)))
            if is_csv:
                cells = quote(_neutralise_parts(column, cells) if parts else cells)
            parts += cells, repeat(separator)
        parts[-1] = repeat("\n")
        return "".join(chain.from_iterable(zip(*parts, strict=False)))

    return write


def _write_cells(column: Column, values: list[Any]) -> Iterable[str]:
    if has_nothing(values):
        return [""] * len(values)
    if column.is_url:
        return neutralise_formulas(escape_urls(values))
    if column.base is str:
        return neutralise_formulas(escape_texts([value or "" for value in values]))
    if column.base is datetime:
        return [day.isoformat() if day else "" for day in values]
    return _write_all(
        column, values, lambda value: "" if value in ABSENT else to_json(value)
    )


def _neutralise_parts(column: Column, cells: list[str]) -> list[str]:
    """Escape semicolons before a part that a spreadsheet would run as a formula."""
    # Spreadsheets of many locales separate cells at semicolons, and quotes help only at the start
    # of what they take for a cell: there `a,"b;=1"` has two cells, of which one is a formula.
    if ";" not in "".join(cells):
        return cells
    # in JSON
    if column.is_url:
        instead = "%3B"
    elif column.base is str:
        instead = ";'"
    else:
        instead = r"\\u003b"
    return [_HIDDEN_FORMULA.sub(instead, cell) for cell in cells]


def quote(cells: list[str]) -> list[str]:
    """Quote the cells that have a comma, a semicolon or a quote."""
    text = "".join(cells)
    if "," not in text and ";" not in text and '"' not in text:
        return cells
    return [
        '"' + cell.replace('"', '""') + '"' if _TO_QUOTE.search(cell) else cell
        for cell in cells
    ]


# -- what a line or a cell may hold

# Whole columns are tested at once, for nearly all are plain: one test of the joined text costs a
# fraction of a substitution in each value.


def escape_urls(urls: list[str]) -> list[str]:
    """Percent-encode characters that a URL or a line must not contain."""
    text = "".join(urls)
    if text.isprintable() and " " not in text:
        return urls
    return [_UNSAFE_URL.sub(_encode_match, url) for url in urls]


def escape_texts(texts: list[str]) -> list[str]:
    r"""Escape characters that a line must not contain, as `\x1b` or `\u2028`."""
    if "".join(texts).isprintable():
        return texts
    return [_UNSAFE_TEXT.sub(_escape_unsafe, text) for text in texts]


def neutralise_formulas(cells: list[str]) -> list[str]:
    """Put an apostrophe before a cell that a spreadsheet would run as a formula."""
    return [f"'{cell}" if _FORMULA.match(cell) else cell for cell in cells]


def _encode_match(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _escape_unsafe(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
