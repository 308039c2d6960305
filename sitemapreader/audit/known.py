"""Known URLs from a crawl, a log or Search Console: rows of the table `known`."""

from __future__ import annotations

import gzip
import re
import zlib
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import duckdb
import pyarrow as pa

from sitemapreader.audit.database import DISK_ERRORS, read_queries
from sitemapreader.audit.loading import SIMPLE_URL, make_keys
from sitemapreader.audit.models import AuditInputError
from sitemapreader.issues import excerpt
from sitemapreader.output.arrow import make_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.audit.database import AuditDatabase

Known: TypeAlias = "str | PathLike[str] | Iterable[str]"
"""A file, or the URLs themselves."""
COLUMNS = ("url", "address", "page", "loc", "top pages")
"""Names of the column of URLs, in any case; the first that exists is read."""
_ROWS_AT_ONCE = 20_000
_LINE_BYTES = 2 * 1024 * 1024
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
_QUERIES = read_queries("known")
_READERS = {
    **dict.fromkeys((".txt", ".urls", ".log", ".list", ""), _QUERIES["text"]),
    **dict.fromkeys((".csv", ".tsv"), _QUERIES["table"]),
    **dict.fromkeys((".jsonl", ".ndjson"), _QUERIES["objects"]),
    ".parquet": _QUERIES["parquet"],
}
"""Suffix of a file -> what reads it in DuckDB."""


def load_known(database: AuditDatabase, source: Known) -> int:
    """Insert a list of known URLs, and return how many different ones it has.

    A file is .txt, .csv, .tsv, .jsonl or .parquet, all but the last with .gz behind it if they are
    compressed. Raises AuditInputError if it cannot be read, or has no column of URLs, or no URL.
    """
    name = "the list of known URLs"
    database.ask("CREATE OR REPLACE TABLE arrived (loc VARCHAR)")
    if isinstance(source, str | PathLike):
        name = str(source)
        _read(database, Path(source))
    else:
        urls = iter(source)
        while batch := list(islice(urls, _ROWS_AT_ONCE)):
            database.insert("arrived", pa.table({"loc": make_array(batch, pa.string())}))
    # nine of ten URLs are simple: only the others become objects of Python
    database.ask(_QUERIES["find_unusual"], simple=SIMPLE_URL, blanks=_BLANKS)
    database.ask(_QUERIES["keep_simple"], simple=SIMPLE_URL)
    for after in range(0, database.ask("SELECT count(*) FROM unusual")[0][0], _ROWS_AT_ONCE):
        rows = database.ask(_QUERIES["list_unusual"], after=after, until=after + _ROWS_AT_ONCE)
        locs = make_array([loc for (loc,) in rows], pa.string())
        database.insert("arrived", pa.table({"loc": locs, "key": make_keys(locs)}))
    database.ask(_QUERIES["add_known"])
    for table in ("arrived", "unusual"):
        database.ask(f"DROP TABLE {table}")
    count: int = database.ask("SELECT count(*) FROM known")[0][0]
    if not count:
        raise AuditInputError(f"{name} has no URL that begins with http:// or https://")
    return count


def _read(database: AuditDatabase, path: Path) -> None:
    """Insert the texts of a file that may be URLs."""
    if not path.is_file():
        raise AuditInputError(f"the list of known URLs cannot be read: there is no file {path}")
    name = path.name.lower().removesuffix(".gz")
    if (reader := _READERS.get(Path(name).suffix)) is None:
        suffixes = ".txt, .csv, .tsv, .jsonl or .parquet"
        raise AuditInputError(f"{path}: end the name with {suffixes}, or these with .gz")
    try:
        given: dict[str, object] = {
            # a name is no pattern, whatever characters it has
            "path": re.sub(r"([*?\[])", r"[\1]", str(path.resolve())),
            "limit": _LINE_BYTES,
            "names": COLUMNS,
            "encoding": _find_encoding(path, is_gzip=name != path.name.lower()),
        }
        passed = {key: value for key, value in given.items() if f"${key}" in reader}
        found = database.ask(f"SELECT column_name FROM (DESCRIBE SELECT * FROM {reader})", **passed)
        column = _find_column([each for (each,) in found], path)
        database.ask(f'INSERT INTO arrived SELECT "{column}"::VARCHAR FROM {reader}', **passed)
    except (duckdb.Error, OSError, EOFError, UnicodeError, zlib.error) as error:
        if isinstance(error, DISK_ERRORS) and "write" in str(error):
            raise  # our disk is full
        lines = (line for line in str(error).splitlines() if not line.startswith("Original Line"))
        reason = excerpt(" ".join(islice(lines, 2)))
        raise AuditInputError(f"the list of known URLs {path} cannot be read: {reason}") from None


def _find_encoding(path: Path, *, is_gzip: bool) -> str:
    """Return the encoding, UTF-16 if a mark says so; raise OSError or EOFError."""
    with (gzip.open if is_gzip else open)(path, "rb") as file:
        start = file.read(2)
        while is_gzip and file.read(_LINE_BYTES):
            pass  # DuckDB 1 takes the part of a file that was cut for all of it
    return "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def _find_column(names: list[str], path: Path) -> str:
    found = {name.strip().lower(): name for name in reversed(names)}
    for name in COLUMNS:
        if name in found:
            return found[name].replace('"', '""')
    raise AuditInputError(
        f"{path} has no column of URLs: name one of its columns ({', '.join(names) or 'none'}) "
        f"{', '.join(COLUMNS)}"
    )
