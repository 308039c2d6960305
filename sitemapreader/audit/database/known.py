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

from sitemapreader.audit.database.connection import SAFE
from sitemapreader.audit.database.loading import make_keys
from sitemapreader.audit.models import AuditInputError
from sitemapreader.issues import excerpt
from sitemapreader.output.arrow import make_array
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapreader.audit.database.connection import AuditDatabase

Known: TypeAlias = "str | PathLike[str] | Iterable[str]"
"""A file, or the URLs themselves."""
COLUMNS = ("url", "address", "page", "loc", "top pages")
"""Names of the column of URLs, in any case; the first that exists is read."""
_ROWS_AT_ONCE = 20_000
_LINE_BYTES = 2 * 1024 * 1024
_TEXT = """read_csv($path, columns = {'url': 'VARCHAR'}, auto_detect = false, header = false,
    delim = '\x01', quote = '', escape = '', max_line_size = $limit, encoding = $encoding)"""
_TABLE = """read_csv($path, header = true, all_varchar = true, null_padding = true,
    strict_mode = false, parallel = false, hive_partitioning = false, max_line_size = $limit,
    encoding = $encoding)"""
_FIELD = "json ->> list_filter(json_keys(json), lambda name: lower(trim(name)) = '{}')[1]"
_OBJECTS = f"""(
    SELECT CASE WHEN json_type(json) = 'VARCHAR' THEN json ->> '$'
                ELSE coalesce({", ".join(map(_FIELD.format, COLUMNS))}) END AS url
    FROM read_json_objects($path, format = 'newline_delimited', maximum_object_size = $limit)
)"""
_PARQUET = "read_parquet($path, hive_partitioning = false)"
_READERS = {
    **dict.fromkeys((".txt", ".urls", ".log", ".list", ""), _TEXT),
    **dict.fromkeys((".csv", ".tsv"), _TABLE),
    **dict.fromkeys((".jsonl", ".ndjson"), _OBJECTS),
    ".parquet": _PARQUET,
}
"""Suffix of a file -> what reads it in DuckDB."""


def load_known(database: AuditDatabase, source: Known) -> int:
    """Insert a list of known URLs, and return how many different ones it has.

    Args:
        database: takes them.
        source: a file, whose suffix names its format: .txt, .csv, .tsv, .jsonl or .parquet, all
            but the last with .gz behind it if they are compressed; or the URLs themselves.

    Raises:
        AuditInputError: the file cannot be read, has no column of URLs, or no URL.
    """
    name, urls = "the list of known URLs", source
    if isinstance(source, str | PathLike):
        name, urls = str(source), _read(Path(source))
    database.ask("CREATE OR REPLACE TEMP TABLE arrived (loc VARCHAR, key VARCHAR)")
    wanted = (url.strip() for url in urls if has_web_scheme(url.strip()))  # type: ignore[union-attr] # no path by now
    while batch := list(islice(wanted, _ROWS_AT_ONCE)):
        locs = make_array(batch, pa.string())
        database.insert("arrived", pa.table({"loc": locs, "key": make_keys(locs)}))
    database.ask("INSERT INTO known SELECT min(loc), key FROM arrived GROUP BY key")
    database.ask("DROP TABLE arrived")
    count: int = database.ask("SELECT count(*) FROM known")[0][0]
    if not count:
        raise AuditInputError(f"{name} has no URL that begins with http:// or https://")
    return count


def _read(path: Path) -> Iterator[str]:
    """Yield the texts of a file that may be URLs."""
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
            "encoding": _find_encoding(path, is_gzip=name != path.name.lower()),
        }
        passed = {key: value for key, value in given.items() if f"${key}" in reader}
        with duckdb.connect(config=SAFE) as connection:
            found = connection.execute(f"SELECT * FROM {reader} LIMIT 0", passed).description
            column = _find_column([each[0] for each in found], path)
            rows = connection.execute(f'SELECT "{column}" FROM {reader}', passed)
            while batch := rows.fetchmany(_ROWS_AT_ONCE):
                yield from (url for (url,) in batch if isinstance(url, str))
    except (duckdb.Error, OSError, EOFError, UnicodeError, zlib.error) as error:
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
