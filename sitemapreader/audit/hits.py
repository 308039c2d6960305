"""All hits of an audit as a file - Parquet, CSV or JSON lines - in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from sitemapreader.audit.formats import find_hits_suffix
from sitemapreader.output.sink import Sink
from sitemapreader.output.text import escape_texts, escape_urls, neutralise_formulas, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import IO

    from sitemapreader.audit.database.connection import AuditDatabase

COLUMNS = ("code", "url", "detail", "document")
_SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
_ROWS_AT_ONCE = 20_000
_Columns = tuple[list[str], ...]
"""The hits of a batch, column by column."""


def write_hits(path: str | os.PathLike[str], database: AuditDatabase, codes: Iterable[str]) -> int:
    """Write the hits of rules, and return how many there are; raise OSError.

    Args:
        path: of the file; its suffix names the format.
        database: after the rules have run.
        codes: of rules that were run.
    """
    suffix, number = find_hits_suffix(path), 0
    is_gzip = os.fspath(path).lower().endswith(".gz")
    with Sink(os.fspath(path), end=None) as sink, ExitStack() as stack:
        file = cast("IO[bytes]", stack.enter_context(_SinkFile(sink)))
        if is_gzip:
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))  # type: ignore[arg-type] # it only writes
        write = _WRITERS[suffix](file, stack)
        for code in codes:
            rows = database.connection.execute(*database.hit_queries[code])
            while batch := rows.fetchmany(_ROWS_AT_ONCE):
                write(
                    tuple([value or "" for value in column] for column in zip(*batch, strict=True))
                )
                number += len(batch)
    return number


class _SinkFile(io.RawIOBase):
    """A sink as a file that can be written to."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def writable(self) -> bool:
        """Return True: it can be written to."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._sink.written

    def write(self, data: bytes, /) -> int:  # type: ignore[override] # of any kind of bytes
        """Write bytes."""
        self._sink.write(data)
        return len(data)


def _write_parquet(file: IO[bytes], stack: ExitStack) -> Callable[[_Columns], object]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (few hits are written as Parquet)

    writer = stack.enter_context(pq.ParquetWriter(file, _SCHEMA, compression="zstd"))
    return lambda columns: writer.write_batch(
        pa.RecordBatch.from_arrays(list(map(pa.array, columns)), schema=_SCHEMA)
    )


def _write_csv(file: IO[bytes], _stack: ExitStack) -> Callable[[_Columns], object]:
    def write(columns: _Columns) -> None:
        codes, urls, details, documents = columns
        cells = (
            codes,
            neutralise_formulas(escape_urls(urls)),
            neutralise_formulas(escape_texts(details)),
            neutralise_formulas(escape_urls(documents)),
        )
        rows = zip(*map(quote, cells), strict=True)
        file.write("".join(",".join(row) + "\n" for row in rows).encode())

    file.write((",".join(COLUMNS) + "\n").encode())
    return write


def _write_json_lines(file: IO[bytes], _stack: ExitStack) -> Callable[[_Columns], object]:
    def write(columns: _Columns) -> None:
        rows = (dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True))
        file.write("".join(json.dumps(row) + "\n" for row in rows).encode())

    return write


_WRITERS = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
}
