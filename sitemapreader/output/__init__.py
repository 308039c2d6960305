"""Outputs for entries: URLs, JSON lines, CSV, TSV and Parquet (docs/columns.md).

Importing this module is cheap; the modules of a format are imported when it is opened.
"""

# ruff: noqa: PLC0415 (imports inside functions are slow ones)
from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterable,
        Callable,
        Collection,
        Iterable,
        Mapping,
        Sequence,
    )

    from sitemapreader._columns import ISSUE_COLUMNS, OUTCOME_COLUMNS, Column
    from sitemapreader._columns.arrow import make_array, make_schema
    from sitemapreader._types.arguments import FilePath
    from sitemapreader._types.outcomes import SiteOutcome
    from sitemapreader._types.rows import Rows
    from sitemapreader.output.sink import Output

__all__ = [
    "FORMATS",
    "ISSUE_COLUMNS",
    "OUTCOME_COLUMNS",
    "Column",
    "find_format",
    "make_array",
    "make_schema",
    "open_output",
    "write_file",
    "write_sites",
    "write_sites_sync",
]

_LAZY = {
    "Column": "sitemapreader._columns",
    "ISSUE_COLUMNS": "sitemapreader._columns",
    "OUTCOME_COLUMNS": "sitemapreader._columns",
    "make_array": "sitemapreader._columns.arrow",
    "make_schema": "sitemapreader._columns.arrow",
}
"""Public name -> the module that it is loaded from when it is first used."""


def __getattr__(name: str) -> Any:
    """Load a public name (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


FORMATS = ("urls", "jsonl", "json", "csv", "tsv", "parquet")
"""Names of the formats that can be written anywhere."""
FILE_FORMATS = ("atom", "xlsx")
"""Names of the formats that are always files."""
SUFFIXES = {f".{name}": name for name in (*FORMATS, *FILE_FORMATS)} | {
    ".txt": "urls",
    ".ndjson": "jsonl",
}
"""Suffix of a file -> the format that it names."""
_GZIP = ".gz"
_REPORT_SUFFIXES = (".jsonl", ".csv", ".parquet")
_ENCODERS = {
    "parquet": ("parquet", "ParquetEncoder"),
    "atom": ("atom", "AtomEncoder"),
    "xlsx": ("workbook", "WorkbookEncoder"),
}
"""Formats that are not text -> the module and the class that writes them."""


def open_output(
    path: FilePath | None,
    format: str | None = None,  # noqa: A002 (the option is `--format`)
    *,
    fields: Sequence[str] | None = None,
    null_terminated: bool = False,
    header: bool = True,
    has_sites: bool = False,
    columns: tuple[Column, ...] | None = None,
) -> Output:
    """Return an output, to be entered, in one of `FORMATS` or `FILE_FORMATS`.

    ```python
    with open_output("urls.csv.gz") as output, walk_sync("https://example.org/") as entries:
        for entry in entries:
            output.write(entry)
    ```

    `write` takes several entries as well, which is faster: `output.write(batch)` for each batch of
    `entries.batches()`.

    Args:
        path: of the file; `None` is standard output. A name that ends with `.gz` is compressed.
        format: "urls": a loc a line; "jsonl": an object a line; "csv" and "tsv": a row a line;
            "json": one array; "parquet": needs the extra `arrow`; "atom": a feed of the last 200
            entries, those of an older file included; "xlsx": a workbook, which needs the extra
            `xlsx`. Without it, the end of the name says so: `.urls` or `.txt`, `.jsonl` or
            `.ndjson`, or that of another format; to standard output go URLs.
        fields: names of the columns that are written, in their order; without it all but those that
            follow from others: `date`, `date_source`, `language`.
        null_terminated: end records with NUL instead of a newline; for "urls" and "jsonl".
        header: begin with the names of the columns; False is for "csv" and "tsv" that go on where
            another output has ended.
        has_sites: whether there is a column `site`, for rows of `SiteRun`.
        columns: of other records than entries: `OUTCOME_COLUMNS`, `ISSUE_COLUMNS` or your own; pass
            these records to `add` or `write_records`.

    Memory does not grow with what is written. A file appears under its name when it is complete.
    Raises ValueError for contradictory arguments; entering, writing and leaving raise OSError.
    """
    if path is not None:
        path = os.fspath(path)
    if format is None:
        format = find_format(path)  # noqa: A001 (as above)
    all_formats = (*FORMATS, *FILE_FORMATS)
    if format not in all_formats:
        raise ValueError(
            f"there is no format {format!r}: choose from {', '.join(all_formats)}"
        )
    has_columns = fields is not None and list(fields) != ["loc"]
    table_formats = [name for name in all_formats if name not in ("urls", "atom")]
    restrictions = (
        ("null_terminated", null_terminated, ["urls", "jsonl"]),
        ("header=False", not header, ["csv", "tsv"]),
        ("fields", has_columns, table_formats),
    )
    for argument, is_used, formats in restrictions:
        if is_used and format not in formats:
            raise ValueError(
                f"`{argument}` cannot be combined with {format}: leave it out, or "
                f"choose {', '.join(formats)}"
            )
    is_gzip = path is not None and path.lower().endswith(_GZIP)
    if format in _ENCODERS:
        _check_target(path, format, is_gzip=is_gzip)
    from sitemapreader._columns import choose_columns
    from sitemapreader.output.sink import GzipEncoder, Output, find_encoding

    chosen = columns or choose_columns(fields, has_sites=has_sites)
    if format in _ENCODERS:
        module, name = _ENCODERS[format]
        loaded = import_module(f"{__name__}.{module}")
        make_file_encoder = getattr(loaded, name)
        return Output(path, make_file_encoder(path, chosen), None)
    from sitemapreader.output.text import make_encoder

    end = "\0" if null_terminated else "\n"
    encoding = find_encoding(path)
    encoder = make_encoder(format, chosen, end, encoding, header=header)
    if is_gzip:
        return Output(path, GzipEncoder(encoder), None)
    if format == "json":  # useless without its end
        return Output(path, encoder, None)
    return Output(path, encoder, end.encode())


def _check_target(
    path: str | None,
    format: str,  # noqa: A002 (the same)
    *,
    is_gzip: bool,
) -> None:
    """Raise ValueError if the file or standard output is unfit for a binary format."""
    if format in FILE_FORMATS and path is None:
        raise ValueError(
            f"{format} requires a file: write a name that ends with .{format}"
        )
    if path is None and sys.stdout.isatty():
        raise ValueError(
            f"{format} cannot be shown in a terminal: name a file, or write to a pipe"
        )
    if is_gzip:
        raise ValueError(f"{format} is already compressed: end the name with .{format}")


def open_report(
    path: FilePath | None,
    entries: FilePath | None = None,
    columns: tuple[Column, ...] | None = None,
) -> Output | None:
    """Return the report, if there is a path; ValueError for its name.

    It has a row for each site, or rows of other `columns`.
    """
    if path is None:
        return None
    file = Path(path)
    if entries is not None and file.resolve() == Path(entries).resolve():
        raise ValueError(
            f"{str(path)!r} is named twice: for the entries, and for the report"
        )
    if file.suffix.lower() not in _REPORT_SUFFIXES:
        suffixes = ", ".join(_REPORT_SUFFIXES)
        raise ValueError(
            f"the name of a report must end with {suffixes}, got {str(path)!r}"
        )
    from sitemapreader._columns import OUTCOME_COLUMNS

    return open_output(path, columns=columns or OUTCOME_COLUMNS)


def find_format(path: str | None) -> str:
    """Return the format by a file's suffix; raise ValueError for an unknown suffix."""
    if path is None:
        return FORMATS[0]
    name = os.path.basename(path).lower()  # noqa: PTH119 (a text in, a text out)
    suffix = os.path.splitext(name.removesuffix(_GZIP))[1]  # noqa: PTH122 (the same)
    if suffix not in SUFFIXES:
        raise ValueError(
            f"the name {path!r} does not end with a known format: "
            f"end it with {', '.join(SUFFIXES)}, or pass one of {', '.join(FORMATS)}"
        )
    return SUFFIXES[suffix]


def make_columns(
    types: Mapping[str, Any],
    urls: Collection[str] = (),
    repetitive: Collection[str] = (),
) -> tuple[Column, ...]:
    """Return the columns of rows that are tuples, whose values have these names and types."""
    from sitemapreader._columns import Column

    return tuple(
        Column(
            name,
            kind,
            always=True,
            is_url=name in urls,
            is_repetitive=name in repetitive,
            get=itemgetter(place),
        )
        for place, (name, kind) in enumerate(types.items())
    )


def format_table(names: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of texts as CSV that is safe in spreadsheets; the column `url` has URLs."""
    from sitemapreader.output.text import make_encoder

    columns = make_columns(dict.fromkeys(names, str), urls=["url"])
    encoder = make_encoder("csv", columns, "\n", "utf-8", header=True)
    lines = encoder.encode(list(rows))
    return (encoder.head + lines).decode()


def write_file(path: FilePath, data: bytes) -> None:
    """Write a file, which appears when it is complete; raise OSError."""
    from sitemapreader.output.sink import Encoder, Output

    name = os.fspath(path)
    with Output(name, Encoder(), end=None) as output:
        output.put(data)


# -- many sites


class WritableRun(Protocol):
    """A run over many sites that was entered: a `SiteRun`."""

    def rows(self) -> AsyncIterable[tuple[str, Rows]]:
        """Yield the rows as they come, with their site."""
        ...

    def listen(self, on_site: Callable[[SiteOutcome], object]) -> None:
        """Call a function with each outcome, the earlier ones included."""
        ...

    async def hold_state(self) -> bool:
        """Hold back changes of the state; return whether there is a state."""
        ...

    async def commit_state(self, files: Iterable[tuple[Path, Path]] = ()) -> None:
        """Rename files, then commit the state."""
        ...

    def call(
        self,
        function: Callable[..., Any],
        *values: Any,
        **names: Any,
    ) -> Any:
        """Return the result of a coroutine function in the loop of the run."""
        ...


async def write_sites(
    run: WritableRun,
    path: FilePath,
    *,
    report: FilePath | None = None,
    fields: Sequence[str] | None = None,
) -> None:
    """Write the entries of a run over many sites into a file, and the outcomes of its sites.

    ```python
    async with walk_many(open("hosts.txt")) as run:
        await write_sites(run, "urls.parquet", report="sites.parquet")
    ```

    The entries have the column `site`. The state is committed after them: a run that is killed may
    repeat entries, and never loses one. A file `path` that exists is replaced; with a state, which
    lets each entry come once, FileExistsError is raised instead, before anything is delivered.

    Args:
        run: the run, which was entered with `async with`.
        path: its suffix selects the format, as in `open_output`.
        report: a name with .jsonl, .csv or .parquet, for a row per site.
        fields: as in `open_output`; with "site" among them.
    """
    from sitemapreader._types.rows import SiteRows

    outcomes = open_report(report, path)
    chosen = open_output(path, fields=fields, has_sites=True)
    with chosen as output, outcomes or nullcontext():
        if outcomes is not None:
            run.listen(outcomes.add)
        has_state = output.is_replaced and await run.hold_state()
        if has_state:
            output.check_new()
        async for pair in run.rows():
            output.write(SiteRows([pair]))
        if has_state:  # else leaving the outputs renames them
            files = output.prepare()
            if outcomes is not None:
                files += outcomes.prepare()
            await run.commit_state(files)


def write_sites_sync(
    run: WritableRun,
    path: FilePath,
    *,
    report: FilePath | None = None,
    fields: Sequence[str] | None = None,
) -> None:
    """Write the files as `write_sites` does, of a run that was entered with `with`."""
    run.call(write_sites, run, path, report=report, fields=fields)
