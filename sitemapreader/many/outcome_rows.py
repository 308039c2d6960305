"""Outcomes of sites as rows: JSON lines, CSV, or Parquet."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import attrs

from sitemapreader.outcomes import SiteOutcome
from sitemapreader.output.text import neutralise_formulas

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

COLUMNS = tuple(field.name for field in attrs.fields(SiteOutcome))
"""The columns of a row: the fields of `SiteOutcome`, in their order."""
REPORT_FORMATS = ("jsonl", "csv", "parquet")
_ROWS = 4_096


class OutcomeEncoder:
    """Encoder of outcomes in one of `REPORT_FORMATS`, from lists of any length."""

    def __init__(self, form: str) -> None:
        self._form = form
        self._parquet = _ParquetRows() if form == "parquet" else None

    def begin(self) -> bytes:
        """Return the bytes before all rows."""
        return _write_csv([COLUMNS]) if self._form == "csv" else b""

    def encode(self, outcomes: Sequence[SiteOutcome]) -> bytes:
        """Return the bytes of rows, or those that are complete by now."""
        if self._parquet is not None:
            return self._parquet.add(outcomes)
        if self._form == "csv":
            return _write_csv([_make_cells(outcome) for outcome in outcomes])
        return "".join(json.dumps(attrs.asdict(each)) + "\n" for each in outcomes).encode()

    def end(self) -> bytes:
        """Return the remaining bytes."""
        return b"" if self._parquet is None else self._parquet.end()


def _make_cells(outcome: SiteOutcome) -> list[object]:
    values = attrs.astuple(outcome)
    cells = ["" if value is None else str(value) for value in values]
    return list(neutralise_formulas(cells))


def _write_csv(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _import_pyarrow() -> Any:
    import pyarrow as pa  # noqa: PLC0415 (after the line above)

    import sitemapreader.output.arrow  # noqa: F401, PLC0415 (it says how to get pyarrow)

    return pa


def make_outcome_schema() -> pa.Schema:
    """Return the schema of rows of outcomes; needs the extra `arrow`."""
    pa = _import_pyarrow()
    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    fields = []
    for name, hint in get_type_hints(SiteOutcome).items():
        alternatives = get_args(hint) or (hint,)
        base = next(kind for kind in kinds if issubclass(alternatives[0], kind))
        fields.append(pa.field(name, kinds[base], nullable=type(None) in alternatives))
    return pa.schema(fields)


def make_outcome_batch(outcomes: Sequence[SiteOutcome]) -> pa.RecordBatch:
    """Return outcomes as a record batch; needs the extra `arrow`."""
    pa = _import_pyarrow()
    schema = make_outcome_schema()
    columns: list[Any] = [
        pa.array([_plain(getattr(outcome, field.name)) for outcome in outcomes], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(value: object) -> object:
    """Return a text that UTF-8 can have, and an enum's as plain text."""
    if isinstance(value, str):
        return str(value).encode("utf-8", "backslashreplace").decode()
    return value


class _ParquetRows:
    """A Parquet file of outcomes, which wait until they fill a row group."""

    def __init__(self) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415 (needed for this format only)

        self._outcomes: list[SiteOutcome] = []
        self._made = io.BytesIO()
        self._writer = pq.ParquetWriter(self._made, make_outcome_schema(), compression="zstd")
        self._taken = 0

    def add(self, outcomes: Sequence[SiteOutcome]) -> bytes:
        self._outcomes += outcomes
        if len(self._outcomes) >= _ROWS:
            self._write()
        return self._take()

    def end(self) -> bytes:
        self._write()
        self._writer.close()
        return self._take()

    def _write(self) -> None:
        if self._outcomes:
            self._writer.write_batch(make_outcome_batch(self._outcomes))
            self._outcomes = []

    def _take(self) -> bytes:
        made = self._made.getvalue()[self._taken :]
        self._taken += len(made)
        return made
