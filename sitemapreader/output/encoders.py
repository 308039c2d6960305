"""Entries as text, one record a line: bare URLs, JSON lines, CSV, TSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.entry_columns import get_column
from sitemapreader.output import delimited as tables
from sitemapreader.output import jsonl
from sitemapreader.output.escaping import escape_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sitemapreader.entry_columns import OutputRows
    from sitemapreader.output.schema import Column


class TextEncoder:
    """Encoder of lines; characters outside the encoding get backslashes."""

    def __init__(self, write: Callable[[OutputRows], str], encoding: str, head: str = "") -> None:
        self._write = write
        self._encoding = encoding
        self._head = head

    def begin(self) -> bytes:
        """Return the header of a table."""
        return self._head.encode(self._encoding)

    def encode(self, rows: OutputRows) -> bytes:
        """Return the entries as whole lines."""
        return self._write(rows).encode(self._encoding, "backslashreplace")

    def end(self) -> bytes:
        """Return nothing: all has been written."""
        return b""


def make_encoder(
    format: str,  # noqa: A002 (as in open_output)
    columns: Sequence[Column],
    *,
    end: str,
    encoding: str,
    header: bool = True,
) -> TextEncoder:
    """Return an encoder of entries as text, whose records end with `end`."""
    if format == "urls":
        return TextEncoder(lambda rows: write_urls(rows, end), encoding)
    if format == "jsonl":
        return TextEncoder(jsonl.make_writer(columns, end), encoding)
    separator = tables.SEPARATORS[format]
    head = separator.join(column.name for column in columns) + "\n" if header else ""
    return TextEncoder(tables.make_writer(columns, separator), encoding, head)


def write_urls(rows: OutputRows, end: str) -> str:
    """Write the locs; characters that would break a line are percent-encoded."""
    return end.join([*escape_urls(get_column(rows, "loc")), ""])
