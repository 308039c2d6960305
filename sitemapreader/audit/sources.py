"""The sources of an audit: sites, lists of URLs, and where in files the hits are."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections import defaultdict
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import quote
from xml.sax.saxutils import escape

import attrs
import duckdb
import pyarrow as pa

from sitemapreader.audit.database import DISK_ERRORS, AuditDatabase, read_queries
from sitemapreader.audit.loading import SIMPLE_URL, make_keys
from sitemapreader.audit.models import AuditInputError, Example, Finding, Place
from sitemapreader.errors import FetchError
from sitemapreader.fetch import FolderFetcher
from sitemapreader.issues import excerpt, show_url
from sitemapreader.many.sources import SiteTask
from sitemapreader.output.arrow import make_array
from sitemapreader.pages import HTML_TYPES, page_type_of
from sitemapreader.readers.reader import SitemapReader
from sitemapreader.urls import has_web_scheme, origin_of, parse_url, path_of, url_key
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.walker.config import WalkArguments
    from sitemapreader.walker.walks import Walk

T = TypeVar("T", Place, Example)

_START_BYTES = 65_536
_ROWS_AT_ONCE = 20_000
_GZIP_MAGIC = b"\x1f\x8b"
_BEHIND_A_URL = b"<]\"' \t\r\n"


def find_source(
    source: str | Path, base_url: str | None = None, *, is_sitemap: bool | None = None
) -> SiteTask:
    """Return how to read a URL, folder or file; raise AuditInputError.

    `is_sitemap` is whether a URL is that of a sitemap or of a site, where that is known.
    """
    text = str(source)
    if isinstance(source, str) and has_web_scheme(text):
        if parse_url(text) is None:
            raise AuditInputError(f"{show_url(text)!r} is not a URL that can be requested")
        name = show_url(text)
        if is_sitemap is None:
            return SiteTask(text, name=name)
        return SiteTask(text, "sitemap" if is_sitemap else "site", name=name)
    path = Path(path_of(text))
    if path.is_dir():
        folder = FolderFetcher(path, base_url)
        return SiteTask(folder.base_url, "site", fetcher=folder, name=text)
    if path.is_file():  # its folder may have the children of an index
        files = FolderFetcher(path.parent, base_url or _find_base_url(path))
        return SiteTask(files.base_url + quote(path.name), "sitemap", fetcher=files, name=text)
    raise AuditInputError(
        f"{show_url(text)!r} is neither an http(s) URL nor a file or folder that exists"
    )


def open_walk(source: SiteTask, arguments: WalkArguments) -> Walk:
    """Return the walk over a source; it or `arguments` have a fetcher."""
    is_sitemap = source.kind == "sitemap"
    passed: WalkArguments = {
        **arguments,
        "fetcher": source.fetcher or arguments.get("fetcher"),
        "sitemaps": [source.url] if is_sitemap else (),
    }
    entries = walk(None if is_sitemap else source.url, **passed)
    if source.kind == "site":
        entries.search_only()
    return entries


def _find_base_url(path: Path) -> str:
    """Return the origin of the first URL in a sitemap, or ""."""
    reader = SitemapReader("")
    try:
        with path.open("rb") as file:
            events = reader.feed(file.read(_START_BYTES))
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None
    events += reader.close()
    locs = (event.loc for event in events if not hasattr(event, "code"))
    first = next(locs, "")
    return origin_of(first)


@attrs.frozen
class OldSite:
    """Where the URLs of the old site are: in a list, or in the sitemaps of `task`."""

    source: Known
    task: SiteTask | None = None

    @property
    def is_http(self) -> bool:
        """Whether its sitemaps are requested from a server."""
        return self.task is not None and self.task.fetcher is None

    @classmethod
    def find(cls, source: Known) -> OldSite:
        """Return how to read a list, URL, folder or file; raise AuditInputError."""
        if not isinstance(source, str | os.PathLike) or is_list(source):
            return cls(source)
        return cls(source, find_source(source if isinstance(source, str) else Path(source)))

    async def load(self, database: AuditDatabase, arguments: WalkArguments) -> bool:
        """Insert the URLs, and return whether all sitemaps were read.

        `arguments` are those of a walk. Raises AuditInputError if there are no URLs.
        """
        urls = UrlList(database, "old")
        if self.task is None:
            await database.run_in_thread(lambda: urls.load(self.source))
            return True
        locs: list[str] = []
        # Its own sitemaps are meant, whatever hosts stand for it in the audit.
        async with open_walk(self.task, {**arguments, "map_hosts": {}}) as entries:
            async for entry in entries:
                locs.append(entry.loc)
                if len(locs) >= _ROWS_AT_ONCE:
                    urls.add(locs)
                    locs.clear()
        urls.add(locs)
        urls.end(f"the old site {self.task.name}")
        return entries.report.complete


def locate_findings(
    findings: Iterable[Finding], folder: FolderFetcher
) -> tuple[list[Finding], dict[str, str]]:
    """Find the lines of hits that stand in a file, and the files of their sitemaps."""
    findings = list(findings)
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        hits: list[Place | Example] = [*finding.places, *finding.examples]
        for hit in hits:
            wanted[hit.document] |= {hit.url} if hit.url and hit.line is None else set()
    files = {folder.base_url: _name_path(folder.folder)}
    lines: dict[tuple[str, str], int] = {}
    for document, urls in wanted.items():
        try:
            path = folder.find_file(document)
            files[document] = _name_path(path)
            lines |= {(document, url): n for url, n in _find_lines(path, urls).items()}
        except (FetchError, OSError):
            continue  # it is in no file, or gone meanwhile

    def add_lines(hits: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(
            attrs.evolve(hit, line=hit.line or lines.get((hit.document, hit.url))) for hit in hits
        )

    def name_file(example: Example) -> Example:
        file = _name_path(folder.folder / example.file) if example.file else ""
        return attrs.evolve(example, file=file)

    found = [
        attrs.evolve(
            each,
            places=add_lines(each.places),
            examples=tuple(map(name_file, add_lines(each.examples))),
        )
        for each in findings
    ]
    return found, files


def _name_path(path: Path) -> str:
    here = Path(os.path.realpath("."))
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _find_lines(path: Path, urls: Iterable[str]) -> dict[str, int]:
    """Return the first line of each URL that stands in a file, escaped for XML or not."""
    content = path.read_bytes()
    if content.startswith(_GZIP_MAGIC):
        return {}
    ends = {
        url: min(filter(None, (_find_end(content, form) for form in {url, escape(url)})), default=0)
        for url in urls
    }
    return {url: content.count(b"\n", 0, end) + 1 for url, end in ends.items() if end}


def _find_end(content: bytes, text: str) -> int:
    """Return where a URL ends that does not begin a longer one; 0 if it is not there."""
    wanted, end = text.encode("utf-8", "surrogatepass"), 0
    while (at := content.find(wanted, end)) >= 0:
        end = at + len(wanted)
        if end == len(content) or content[end] in _BEHIND_A_URL:
            return end
    return 0


# -- lists of URLs, of a crawl, a log or Search Console, known or old

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
