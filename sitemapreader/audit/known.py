"""Lists of URLs, of a crawl, a log or Search Console, known or old."""

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

from sitemapreader.audit.database import DISK_ERRORS, AuditDatabase, read_queries
from sitemapreader.audit.loading import SIMPLE_URL, make_keys
from sitemapreader.audit.models import AuditInputError
from sitemapreader.issues import excerpt
from sitemapreader.output.arrow import make_array
from sitemapreader.pages import HTML_TYPES, page_type_of
from sitemapreader.urls import has_web_scheme, parse_url, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable


Known: TypeAlias = "str | PathLike[str] | Iterable[str]"
"""A file, or the URLs themselves."""
COLUMNS = ("url", "address", "page", "loc", "top pages")
"""Names of the column of URLs, in any case; the first that exists is read."""
ABOUT = {
    "status": ("status code", "http status code", "status", "http status"),
    "indexability": ("indexability", "indexable"),
    "why": ("indexability status", "indexable status", "index status"),
    "canonical": ("canonical link element 1", "canonical url", "canonical"),
    "redirect": ("redirect url", "redirect target", "redirected to url", "redirect destination"),
    "content_type": ("content type", "content-type", "mime type"),
}
"""What a crawl says of a page -> names of its column, of Screaming Frog, Sitebulb and others."""
_STATUS = re.compile(r"\s*([0-9]{1,3})(?:\.0*)?\s*")
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
    return UrlList(database, "known").load(source)


def is_list(path: str | PathLike[str]) -> bool:
    """Return whether a file has a list of URLs by its suffix, and is no sitemap."""
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix in _READERS.keys() - {""} and Path(path).is_file()


class UrlList:
    """URLs on their way into a table, "known" or "old"; `add` some, then `end`."""

    def __init__(self, database: AuditDatabase, table: str) -> None:
        self._database = database
        self._table = table
        database.ask("CREATE OR REPLACE TABLE arrived (loc VARCHAR)")

    def load(self, source: Known) -> int:
        """Insert a list, and return how many different URLs it has; raise AuditInputError."""
        if not isinstance(source, str | PathLike):
            urls = iter(source)
            while batch := list(islice(urls, _ROWS_AT_ONCE)):
                self.add(batch)
            return self.end(f"the list of {self._table} URLs")
        _read(self._database, Path(source), self._table)
        return self.end(str(source))

    def add(self, urls: list[str]) -> None:
        """Insert some URLs."""
        self._database.insert("arrived", pa.table({"loc": make_array(urls, pa.string())}))

    def end(self, name: str) -> int:
        """Fill the table, and return how many different URLs there are.

        Raises AuditInputError for none; `name` is what they came from.
        """
        ask = self._database.ask
        # nine of ten URLs are simple: only the others become objects of Python
        ask(_QUERIES["find_unusual"], simple=SIMPLE_URL, blanks=_BLANKS)
        ask(_QUERIES["keep_simple"], simple=SIMPLE_URL)
        for after in range(0, ask("SELECT count(*) FROM unusual")[0][0], _ROWS_AT_ONCE):
            rows = ask(_QUERIES["list_unusual"], after=after, until=after + _ROWS_AT_ONCE)
            locs = make_array([loc for (loc,) in rows], pa.string())
            self._database.insert("arrived", pa.table({"loc": locs, "key": make_keys(locs)}))
        ask(_QUERIES["add_urls"].format(self._table))
        for table in ("arrived", "unusual"):
            ask(f"DROP TABLE {table}")
        count: int = ask(f"SELECT count(*) FROM {self._table}")[0][0]
        if not count:
            raise AuditInputError(f"{name} has no URL that begins with http:// or https://")
        return count


def _read(database: AuditDatabase, path: Path, table: str) -> None:
    """Insert the texts of a file that may be URLs."""
    what = f"the list of {table} URLs"
    if not path.is_file():
        raise AuditInputError(f"{what} cannot be read: there is no file {path}")
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
        names = [each for (each,) in found]
        column = _find_column(names, path)
        database.ask(f'INSERT INTO arrived SELECT "{column}"::VARCHAR FROM {reader}', **passed)
        answers = "crawled" if table == "known" else "old_crawled"
        _read_answers(database, answers, names, column, reader, passed)
    except (duckdb.Error, OSError, EOFError, UnicodeError, zlib.error) as error:
        if isinstance(error, DISK_ERRORS) and "write" in str(error):
            raise  # our disk is full
        lines = (line for line in str(error).splitlines() if not line.startswith("Original Line"))
        reason = excerpt(" ".join(islice(lines, 2)))
        raise AuditInputError(f"{what} {path} cannot be read: {reason}") from None


def _read_answers(
    database: AuditDatabase,
    table: str,
    names: list[str],
    column: str,
    reader: str,
    passed: dict[str, object],
) -> None:
    """Insert what a crawl says of its pages, if the file has columns of that."""
    found = {name.strip().lower(): name.replace('"', '""') for name in reversed(names)}
    chosen = {
        field: next((found[name] for name in known if name in found), None)
        for field, known in ABOUT.items()
    }
    if chosen["status"] is None:
        return
    columns = ", ".join(
        f"NULL AS {field}" if name is None else f'"{name}"::VARCHAR AS {field}'
        for field, name in chosen.items()
    )
    query = f'SELECT "{column}"::VARCHAR AS loc, {columns} FROM {reader}'
    rows = database.connection.cursor().execute(
        query, passed
    )  # its own: rows are inserted meanwhile
    while batch := rows.fetchmany(_ROWS_AT_ONCE):
        database.insert_rows(table, [each for row in batch if (each := _describe_page(*row))])


def _describe_page(
    loc: str | None,
    status: str | None,
    indexability: str | None,
    why: str | None,
    canonical: str | None,
    redirect: str | None,
    content_type: str | None,
) -> tuple[object, ...] | None:
    """Return a row of `crawled`; `None` for what is no page that was asked for."""
    loc = (loc or "").strip()
    answered = _STATUS.fullmatch(status or "")
    if not has_web_scheme(loc) or answered is None:
        return None
    number = int(answered[1])
    said = f"{indexability or ''} {why or ''}".lower()
    is_indexable = None
    if indexability:
        is_indexable = indexability.strip().lower() in ("indexable", "yes", "true", "1")
    is_html = page_type_of(content_type) in HTML_TYPES
    target, chosen = (
        text.strip() if text and parse_url(text.strip()) else None for text in (redirect, canonical)
    )
    return (
        *(loc, url_key(loc), number, target, target and url_key(target)),
        *(chosen, chosen and url_key(chosen), "noindex" in said, "robots" in said),
        *(is_html, is_html and is_indexable is not False and number < 300),
    )


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
