"""Entries as tables in text: comma-separated (RFC 4180) and tab-separated values.

Extensions stand in their cells as JSON, absent values as empty cells. A URL has its control
characters and blanks percent-encoded, so that a record is a line; and what a spreadsheet would take
for a formula has an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sitemapreader.output.clean import clean_texts, clean_urls, disarm
from sitemapreader.output.jsonl import to_json
from sitemapreader.output.schema import ABSENT, is_absent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sitemapreader.models import UrlEntry
    from sitemapreader.output.schema import Column


def make_writer(
    columns: Sequence[Column], join: Callable[[Iterable[tuple[str, ...]]], str]
) -> Callable[[list[UrlEntry]], str]:
    """Return what writes entries as rows, which `join` makes a text of."""

    def write(entries: list[UrlEntry]) -> str:
        return join(zip(*(_write_cells(column, entries) for column in columns), strict=True))

    return write


def join_commas(rows: Iterable[tuple[str, ...]]) -> str:
    """Write rows as CSV, a cell in quotes where it needs them."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def join_tabs(rows: Iterable[tuple[str, ...]]) -> str:
    """Write rows as TSV, which knows no quotes (IANA, text/tab-separated-values)."""
    return "".join(["\t".join(row) + "\n" for row in rows])


JOINS = {"csv": join_commas, "tsv": join_tabs}


def _write_cells(column: Column, entries: list[UrlEntry]) -> list[str]:
    values: list[Any] = list(map(attrgetter(column.name), entries))
    if is_absent(values):
        return [""] * len(values)
    if column.is_url:
        return disarm(clean_urls(values))
    if column.type == datetime | None:
        return [day.isoformat() if day else "" for day in values]
    if column.type == str | None:
        return disarm(clean_texts([value or "" for value in values]))
    return ["" if value in ABSENT else to_json(value) for value in values]
