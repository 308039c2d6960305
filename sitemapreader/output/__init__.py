"""Entries as files and streams: URLs, JSON lines, CSV, TSV, Parquet; their columns: SCHEMA.md.

Importing this costs nothing; what a format needs is imported when it is opened.
"""

# ruff: noqa: PLC0415 (what is imported inside functions is not cheap)
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sitemapreader.output.output import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FORMATS", "Output", "open_output"]

FORMATS = ("urls", "jsonl", "csv", "tsv", "parquet")
"""Names of the formats."""
_MAY_END_WITH_NUL = ("urls", "jsonl")
_HAVE_HEADER = ("csv", "tsv")


def open_output(
    path: str | None,
    format: str,  # noqa: A002 (what it is called on the command line)
    *,
    fields: Sequence[str] | None = None,
    null_terminated: bool = False,
    header: bool = True,
) -> Output:
    """Return an output, to be entered, in one of `FORMATS`.

    ```python
    with open_output("urls.csv", "csv") as output, walk_sync(site) as entries:
        for batch in entries.batches():
            output.write(batch)
    ```

    Args:
        path: of the file; `None` is standard output.
        format: "urls": a loc a line; "jsonl": an object a line; "csv" and "tsv": a row a line;
            "parquet": needs the extra `arrow`.
        fields: names of the columns that are written, in their order; without it all but those that
            follow from others, `date` and `date_source`.
        null_terminated: end records with NUL instead of a newline; for "urls" and "jsonl".
        header: begin with the names of the columns; False is for "csv" and "tsv" that go on where
            another output has ended.

    Memory does not grow with what is written. Raises ValueError for arguments that cannot be meant;
    entering, writing and leaving raise OSError.
    """
    if format not in FORMATS:
        raise ValueError(f"there is no format {format!r}: choose from {', '.join(FORMATS)}")
    if null_terminated and format not in _MAY_END_WITH_NUL:
        raise ValueError(f"records of {format} cannot end with NUL: write urls or jsonl")
    if not header and format not in _HAVE_HEADER:
        raise ValueError(f"{format} has no header that could be left out: write csv or tsv")
    if format == "urls" and fields is not None and list(fields) != ["loc"]:
        raise ValueError("urls has no field but loc: write jsonl, csv or tsv")
    if format == "parquet" and path is None and sys.stdout.isatty():
        raise ValueError("parquet is nothing for a terminal: give a file, or write to a pipe")
    return _make_output(path, format, fields, end="\0" if null_terminated else "\n", header=header)


def _make_output(
    path: str | None,
    format: str,  # noqa: A002 (as above)
    fields: Sequence[str] | None,
    *,
    end: str,
    header: bool,
) -> Output:
    from sitemapreader.output.schema import choose_columns
    from sitemapreader.output.sink import Sink

    columns = choose_columns(fields)
    if format == "parquet":
        from sitemapreader.output.parquet import ParquetEncoder

        return Output(Sink(path, end=None), ParquetEncoder(columns))
    from sitemapreader.output.text import make_encoder

    sink = Sink(path, end.encode())
    encoder = make_encoder(format, columns, end=end, encoding=sink.encoding, header=header)
    return Output(sink, encoder)
