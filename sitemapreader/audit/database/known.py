"""Known URLs from a crawl, a log or Search Console: rows of the table `known`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from contextlib import contextmanager
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from sitemapreader.audit.database.columns import make_keys
from sitemapreader.audit.models import AuditInputError
from sitemapreader.output.arrow import make_array
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from sitemapreader.audit.database.connection import AuditDatabase

Known: TypeAlias = "str | PathLike[str] | Iterable[str]"
"""A file, or the URLs themselves."""
COLUMNS = ("url", "address", "page", "loc", "top pages")
"""Names of the column of URLs, in any case; the first that exists is read."""
_ROWS_AT_ONCE = 20_000
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SUFFIXES = ".txt, .csv, .tsv, .jsonl or .parquet"
_LINE_CHARS = 16 * 1024 * 1024
_UNREADABLE = (OSError, EOFError, UnicodeError, csv.Error, zlib.error, pa.ArrowException)
"""What damaged files raise in their readers."""


def load_known(database: AuditDatabase, source: Known) -> int:
    """Insert a list of known URLs, and return how many different ones it has.

    Args:
        database: takes them.
        source: a file, whose suffix names its format: .txt, .csv, .tsv, .jsonl or .parquet, all
            but the last with .gz behind it if they are compressed; or the URLs themselves.

    Raises:
        AuditInputError: the file cannot be read, has no column of URLs, or no URL.
    """
    name, urls = _open(source)
    database.ask("CREATE TEMP TABLE arrived (loc VARCHAR, key VARCHAR)")
    wanted = (url.strip() for url in urls if has_web_scheme(url.strip()))
    while batch := list(islice(wanted, _ROWS_AT_ONCE)):
        locs = make_array(batch, pa.string())
        database.insert("arrived", pa.table({"loc": locs, "key": make_keys(locs)}))
    database.ask("INSERT INTO known SELECT min(loc), key FROM arrived GROUP BY key")
    database.ask("DROP TABLE arrived")
    count: int = database.ask("SELECT count(*) FROM known")[0][0]
    if not count:
        raise AuditInputError(f"{name} has no URL that begins with http:// or https://")
    return count


def _open(source: Known) -> tuple[str, Iterator[str]]:
    """Return the name of a list in messages, and its texts."""
    if isinstance(source, str | PathLike):
        path = Path(source)
        if not path.is_file():
            raise AuditInputError(f"the list of known URLs cannot be read: there is no file {path}")
        return str(path), _read(path)
    return "the list of known URLs", iter(source)


def _read(path: Path) -> Iterator[str]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_gzip = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if is_gzip else suffixes)[-1:] or [".txt"]
    try:
        if suffix[0] == ".parquet":
            yield from _read_parquet(path)
            return
        with _open_text(path, is_gzip=is_gzip) as file:
            if suffix[0] in _DELIMITERS:
                yield from _read_table(file, path, _DELIMITERS[suffix[0]])
            elif suffix[0] in (".jsonl", ".ndjson"):
                yield from _read_json_lines(file, path)
            elif suffix[0] in (".txt", ".urls", ".log", ".list"):
                yield from _read_lines(file, path)
            else:
                raise AuditInputError(f"{path}: end the name with {_SUFFIXES}, or these with .gz")
    except _UNREADABLE as error:
        raise AuditInputError(f"the list of known URLs {path} cannot be read: {error}") from None


@contextmanager
def _open_text(path: Path, *, is_gzip: bool) -> Iterator[TextIO]:
    """Open a text in UTF-8, or in UTF-16 if a mark says so, as spreadsheets write it."""
    opener = gzip.open if is_gzip else open
    with opener(path, "rb") as file:
        start = file.read(2)
    encoding = "utf-16" if start in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    with opener(path, "rb") as file, io.TextIOWrapper(file, encoding, newline="") as text:
        yield text


def _read_lines(file: TextIO, path: Path) -> Iterator[str]:
    while line := file.readline(_LINE_CHARS):
        if len(line) == _LINE_CHARS:
            raise AuditInputError(f"{path} has a line of more than {_LINE_CHARS:,} characters")
        yield line


def _read_table(file: TextIO, path: Path, delimiter: str) -> Iterator[str]:
    lines = _read_lines(file, path)
    first = next(lines, "")
    # a spreadsheet writes semicolons or tabs in many countries, and calls it CSV
    guess = max((delimiter, ";", "\t"), key=lambda each: (first.count(each), each == delimiter))
    rows = csv.reader(chain([first], lines), delimiter=guess)
    names = next(rows, [])
    place = _find_column(names, path)
    return (row[place] for row in rows if len(row) > place)


def _find_column(names: list[str], path: Path) -> int:
    found = [name.strip().lower() for name in names]
    for name in COLUMNS:
        if name in found:
            return found.index(name)
    raise AuditInputError(
        f"{path} has no column of URLs: name one of its columns ({', '.join(names) or 'none'}) "
        f"{', '.join(COLUMNS)}"
    )


def _read_json_lines(file: TextIO, path: Path) -> Iterator[str]:
    for number, line in enumerate(_read_lines(file, path), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise AuditInputError(
                f"{path}, line {number}: not JSON; write one object on each line"
            ) from None
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            url = list(value.values())[_find_column(list(map(str, value)), path)]
            if isinstance(url, str):
                yield url


def _read_parquet(path: Path) -> Iterator[str]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (few lists are Parquet)

    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        column = names[_find_column(names, path)]
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=[column]):
            yield from (url for url in batch.column(0).to_pylist() if isinstance(url, str))
