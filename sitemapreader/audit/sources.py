"""The sources of an audit: sites, lists of URLs, and where in files the hits are."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections import defaultdict
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias
from urllib.parse import quote
from xml.sax.saxutils import escape

import attrs
import duckdb
import pyarrow as pa

from sitemapreader import FetchOptions, SiteTask, read, walk
from sitemapreader._bytes.lines import iterate_lines
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import Issue, Severity, excerpt, show_url
from sitemapreader._types.models import UrlEntry
from sitemapreader._types.outcomes import ABSENT_STATUSES, RECORD_ERRORS
from sitemapreader._types.urls import (
    has_web_scheme,
    origin_of,
    parse_url,
    path_of,
    trim,
)
from sitemapreader.audit.database import (
    DISK_ERRORS,
    AuditDatabase,
    read_queries,
    write_literal,
)
from sitemapreader.audit.models import (
    LEAST_SHARE,
    AuditInputError,
    check_file,
    is_array,
)
from sitemapreader.audit.values import Hit, Place
from sitemapreader.fetch import FolderFetcher, HttpFetcher
from sitemapreader.output import make_array
from sitemapreader.pages import PageFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from sitemapreader import Document, Follow, Limits, Search, SitemapEntry, Walk
    from sitemapreader._types.arguments import FilePath
    from sitemapreader.audit.values import Finding
    from sitemapreader.fetch import Fetcher

_ROWS_AT_ONCE = 20_000
_LIST_PIECE_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_BEHIND_A_URL = b"<]\"' \t\r\n"
_MOST_SEARCHED = 100
"""URLs that are searched for one by one; for more, all URLs of the file are looked at."""
_URL_TEXT = re.compile(rb"https?://[^<\]\"' \t\r\n]+", re.IGNORECASE)
"""The URLs that can be found in one pass over a file; few have a quote or a bracket."""


def find_audit_source(
    source: str | Path | SiteTask, base_url: str | None = None
) -> SiteTask:
    """Return how to read a URL, folder or file; raise AuditInputError."""
    task = source if isinstance(source, SiteTask) else SiteTask(str(source))
    text = task.url
    if not isinstance(source, Path) and has_web_scheme(text):
        if parse_url(text) is None:
            raise AuditInputError(
                f"{show_url(text)!r} is not a URL that can be requested"
            )
        return SiteTask(text, task.kind, name=show_url(text))
    path = Path(path_of(text))
    if path.is_dir():
        if not path.stat().st_nlink:
            raise AuditInputError("the current folder was removed: change to another")
        if not any(path.iterdir()):
            raise AuditInputError(
                f"the folder {show_url(text)!r} is empty: run the build first"
            )
        folder = FolderFetcher(path, base_url or PageFolder(path).find_base_url())
        return SiteTask(folder.base_url, "site", fetcher=folder, name=text)
    if path.is_file():  # its folder may have the children of an index
        files = FolderFetcher(path.parent, base_url or _find_base_url(path))
        return SiteTask(
            files.base_url + quote(path.name), "sitemap", fetcher=files, name=text
        )
    raise AuditInputError(
        f"{show_url(text)!r} is neither an http(s) URL nor an existing file or folder"
    )


@attrs.frozen
class ReadingOptions:
    """The arguments of the walks of an audit: see `walk`."""

    search: Search | None
    follow: Follow | Callable[[SitemapEntry], bool] | None
    on_document: Callable[[Document], object] | None
    trusted: bool
    fetcher: Fetcher | None
    limits: Limits | None
    options: FetchOptions | None

    @property
    def network(self) -> FetchOptions:
        """The options of requests."""
        if isinstance(self.fetcher, HttpFetcher):
            return self.fetcher.options
        return self.options or FetchOptions()

    def without_hosts(self) -> ReadingOptions:
        """Return the same without mapped hosts."""
        if isinstance(self.fetcher, HttpFetcher):
            return attrs.evolve(self, fetcher=self.fetcher.with_hosts({}))
        options = self.options and attrs.evolve(self.options, map_hosts={})
        return attrs.evolve(self, options=options)


def open_walk(source: SiteTask, reading: ReadingOptions) -> Walk:
    """Return the walk over a source; it or `reading` have a fetcher."""
    is_sitemap = source.kind == "sitemap"
    reading = attrs.evolve(reading, fetcher=source.fetcher or reading.fetcher)
    entries = walk(
        None if is_sitemap else source.url,
        sitemaps=[source.url] if is_sitemap else (),
        **attrs.asdict(reading, recurse=False),
    )
    if source.kind == "site":
        entries.search_only()
    return entries


def _find_base_url(path: Path) -> str:
    """Return the origin of the first URL in a sitemap, or ""."""
    try:
        with path.open("rb") as file:
            return origin_of(
                next((each.loc for each in read(file) if hasattr(each, "loc")), "")
            )
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None


def locate_findings(
    findings: Iterable[Finding], folder: FolderFetcher, parents: Mapping[str, str]
) -> dict[str, str]:
    """Give hits that stand in a file their lines; return the files of their sitemaps.

    `parents` are the documents that list others: a sitemap without a file is to be mended there.
    """
    hits: list[Hit | Place] = []
    for finding in findings:
        hits += [*finding.places, *finding.hits]
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for hit in hits:
        wanted[hit.document] |= {hit.url} if hit.url and hit.line is None else set()
    files = {folder.base_url: _name_path(folder.folder)}
    lines: dict[tuple[str, str], int] = {}
    for document, urls in wanted.items():
        # it may be in no file, or gone meanwhile
        with suppress(FetchError, OSError):
            path = folder.find_file(document)
            files[document] = _name_path(path)
            lines |= {
                (document, url): n for url, n in _number_lines(path, urls).items()
            }
    for hit in hits:
        hit.line = hit.line or lines.get((hit.document, hit.url))
        if isinstance(hit, Hit) and hit.file:
            hit.file = _name_path(folder.folder / hit.file)
        elif isinstance(hit, Hit) and hit.document not in files:
            with suppress(FetchError, OSError):
                path = folder.find_file(parents.get(hit.document, ""))
                hit.file = _name_path(path)
                hit.file_line = _number_lines(path, [hit.document]).get(hit.document)
    return files


def _name_path(path: Path) -> str:
    here = Path(os.path.realpath("."))
    if path.is_relative_to(here):
        return path.relative_to(here).as_posix()
    return str(path)


def _number_lines(path: Path, urls: Iterable[str]) -> dict[str, int]:
    """Return the first line of each URL that stands in a file, escaped for XML or not."""
    content = path.read_bytes()
    if content.startswith(_GZIP_MAGIC):
        return {}
    forms = {_encode_form(form): url for url in urls for form in (escape(url), url)}
    ends: dict[str, int] = {}
    if len(forms) > _MOST_SEARCHED:
        for match in _URL_TEXT.finditer(content):
            if url := forms.pop(match[0], ""):
                ends[url] = match.end()
        forms = {
            form: url for form, url in forms.items() if not _URL_TEXT.fullmatch(form)
        }
    for match in _match_any(forms).finditer(content) if forms else ():
        url = forms[match[0]]
        ends[url] = min(match.end(), ends.get(url, match.end()))
    lines: dict[str, int] = {}
    line = 1
    start = 0
    for url, end in sorted(ends.items(), key=itemgetter(1)):
        line += content.count(b"\n", start, end)
        start = end
        lines[url] = line
    return lines


def _encode_form(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _match_any(texts: Iterable[bytes]) -> re.Pattern[bytes]:
    """Return a pattern of any of some URLs, unless it begins a longer one."""
    either = b"|".join(map(re.escape, texts))
    return re.compile(b"(?:%b)(?=[%b]|\\Z)" % (either, re.escape(_BEHIND_A_URL)))


# -- lists of URLs, of a crawl, a log or Search Console, known or old

Known: TypeAlias = "str | PathLike[str] | Iterable[str]"
"""A file, or the URLs themselves."""
LIST_COLUMNS = ("url", "address", "page", "loc", "top pages")
"""Names of the column of URLs, in any case, also with `_`; the first that exists is read."""
OLD_COLUMNS = (
    "old",
    "old url",
    *LIST_COLUMNS,
    "from",
    "from url",
    "source",
    "source url",
)
"""The same of a list of old URLs."""
NEW_COLUMNS = (
    "new",
    "new url",
    "to",
    "to url",
    "target",
    "target url",
    "destination",
    "destination url",
)
"""Names of the column of the URLs that they are to lead to."""
ABOUT = {
    "status": ("status code", "http status code", "status", "http status"),
    "indexability": ("indexability", "indexable"),
    "why": ("indexability status", "indexable status", "index status"),
    "canonical": ("canonical link element 1", "canonical url", "canonical"),
    "redirect": (
        "redirect url",
        "redirect target",
        "redirected to url",
        "redirect destination",
    ),
    "content_type": ("content type", "content-type", "mime type"),
}
"""Facts of a crawl about a page -> names of its column in Screaming Frog, Sitebulb and others."""
_LINE_BYTES = 2 * 1024 * 1024
_ALL_BLANKS = "".join(
    mark for mark in map(chr, (*range(0x3001), 0xFEFF)) if not trim(mark)
)
_KNOWN_QUERIES = read_queries("known")
_TABLE_READERS = {
    **dict.fromkeys((".txt", ".urls", ".log", ".list", ""), _KNOWN_QUERIES["text"]),
    ".csv": _KNOWN_QUERIES["table"].format(""),
    ".tsv": _KNOWN_QUERIES["table"].format(r"delim = '\t',"),
    **dict.fromkeys((".jsonl", ".ndjson"), _KNOWN_QUERIES["objects"]),
    ".parquet": _KNOWN_QUERIES["parquet"],
}
"""Suffix of a file -> its reader in DuckDB."""
_BY_LINES = (_KNOWN_QUERIES["text"], _KNOWN_QUERIES["objects"])
"""Readers of the table `line`, which holds the lines of the file."""
_CREATE = "CREATE OR REPLACE TABLE arrived (loc VARCHAR, lastmod VARCHAR)"
_ARRIVE = "INSERT INTO arrived (loc) SELECT loc FROM arriving"
_ARRIVE_DATED = "INSERT INTO arrived SELECT loc, lastmod FROM arriving"


@attrs.frozen
class _ListKind:
    """A kind of list: its noun, the names of its column of URLs, and the table of its pages."""

    noun: str
    columns: tuple[str, ...] = LIST_COLUMNS
    crawled: str = ""


_KINDS = {
    "known": _ListKind("`urls`: the list of known URLs", LIST_COLUMNS, "crawled"),
    "old": _ListKind("`was`: the list of old URLs", OLD_COLUMNS, "old_crawled"),
    "listed": _ListKind("the list"),
}


def load_known(
    database: AuditDatabase,
    source: Known,
    table: str = "known",
    site: str = "",
) -> int:
    """Insert a list of URLs, "known" or "old"; return how many different ones it has.

    Paths, such as `/a`, are those of the `site`. A file is .txt, .csv, .tsv, .jsonl or .parquet,
    all but the last with .gz after it if they are compressed. Raises AuditInputError if it cannot
    be read, or has no column of URLs, or no URL.
    """
    if isinstance(source, str) and has_web_scheme(source):
        raise AuditInputError(
            f"the list of {table} URLs is a file: save {show_url(source)} as one"
        )
    _begin_list(database, site)
    if isinstance(source, str | PathLike):
        _read(database, Path(source), table)
        return _end_list(database, table, str(source))
    _load_urls(database, iter(source))
    return _end_list(database, table, f"the list of {table} URLs")


def load_listed(database: AuditDatabase, path: FilePath, table: str) -> None:
    """Make a table of the URLs in a table, text or sitemap, with their dates.

    Raises AuditInputError if it cannot be read to its end, or has no URL.
    """
    path = Path(path)
    _begin_list(database, "")
    if is_array(path):
        _load_array(database, path)
    elif _is_list(path) or not path.is_file():
        _read(database, path, "listed")
    else:
        _load_sitemap(database, path)
    database.ask(_KNOWN_QUERIES["add_listed"].format(table), blanks=_ALL_BLANKS)
    if not database.ask(f"SELECT 1 FROM {table} LIMIT 1"):
        raise AuditInputError(f"{path} has no URL that begins with http:// or https://")


def _load_array(database: AuditDatabase, path: Path) -> None:
    """Insert the objects, or the texts, of a JSON array; raise AuditInputError."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise AuditInputError(
            f"the list {path} cannot be read: {excerpt(str(error))}"
        ) from None
    rows: list[dict[str, str | None]] = []
    for value in values:
        found = value if isinstance(value, dict) else {"loc": value}
        names = {str(name).lower(): text for name, text in found.items()}
        loc = next((names[name] for name in LIST_COLUMNS if name in names), None)
        rows.append(
            {"loc": _text_or_none(loc), "lastmod": _text_or_none(names.get("lastmod"))}
        )
    _insert_dated(database, rows)


def _load_sitemap(database: AuditDatabase, path: Path) -> None:
    """Insert the URLs of a sitemap; raise AuditInputError if it cannot be read to its end."""
    rows: list[dict[str, str | None]] = []
    try:
        with path.open("rb") as file:
            for event in read(file):
                if isinstance(event, UrlEntry):
                    date = event.lastmod.isoformat() if event.lastmod else None
                    rows.append({"loc": event.loc, "lastmod": date})
                elif (
                    isinstance(event, Issue)
                    and event.severity is Severity.ERROR
                    and event.code not in RECORD_ERRORS
                ):
                    raise AuditInputError(f"{path} cannot be read: {event.message}")
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None
    _insert_dated(database, rows)


def _insert_dated(database: AuditDatabase, rows: list[dict[str, str | None]]) -> None:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        columns = [
            make_array([row[name] for row in part], pa.string())
            for name in ("loc", "lastmod")
        ]
        batch = pa.record_batch(columns, names=["loc", "lastmod"])
        database.load(batch, [_ARRIVE_DATED])


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def find_old(source: Known) -> SiteTask | None:
    """Return the old site, if its sitemaps are to be read; `None` for a list.

    Raises AuditInputError for what is neither.
    """
    if not isinstance(source, str | PathLike) or _is_list(source):
        return None
    return find_audit_source(source if isinstance(source, str) else Path(source))


def find_old_host(database: AuditDatabase) -> list[str]:
    """Return a URL of the host with most old URLs, if any: it may be private, as it was named."""
    return database.ask_column(_KNOWN_QUERIES["old_host"])


async def load_old(
    database: AuditDatabase,
    task: SiteTask,
    reading: ReadingOptions,
) -> bool:
    """Insert the URLs of the old sitemaps; return whether all of them were read.

    Raises AuditInputError if there are no URLs.
    """
    _begin_list(database, task.url)
    # Its own sitemaps are meant, whatever hosts stand for it in the audit.
    async with open_walk(task, reading.without_hosts()) as entries:
        async for batch in entries.record_batches():
            database.load(batch, [_ARRIVE])
    if not entries.report.entries and (reason := entries.report.outcome.reason):
        raise AuditInputError(f"no URL of the old site {task.name} was read: {reason}")
    if task.kind == "site" and isinstance(task.fetcher, FolderFetcher):
        site = PageFolder(task.fetcher.folder, task.fetcher.base_url)
        await database.run_in_thread(partial(_compare_build, database, site))
    _end_list(database, "old", f"the old site {task.name}")
    return entries.report.complete


def _compare_build(database: AuditDatabase, site: PageFolder) -> None:
    """Add the pages of an old build that it does not list, and drop URLs that had no page.

    A folder that has no file for nearly all URLs has sitemaps alone, and is left as it is.
    """
    listed = database.ask_column("SELECT DISTINCT loc FROM arrived")
    files = set()
    absent = []
    for visit in map(site.visit, listed):
        files.add(visit.file)
        if visit.status in ABSENT_STATUSES and not site.may_answer_more:
            absent.append(visit.url)
    files.discard("")
    if len(files) < LEAST_SHARE * len(listed):
        return
    drop = "DELETE FROM arrived WHERE loc IN (SELECT unnest($absent::VARCHAR[]))"
    database.ask(drop, absent=absent)
    _load_urls(database, _list_unlisted(site, files))


def _list_unlisted(site: PageFolder, files: Collection[str]) -> Iterator[str]:
    """Yield the canonical URLs of pages that may be indexed and are not among some files."""
    for file, url in site.list_pages():
        facts = None if file in files else site.visit(url).facts
        if facts is None or facts.refresh or facts.find_noindex():
            continue
        canonical = next(iter(facts.canonicals), url)
        if site.visit(canonical).file == file:
            yield canonical


def _load_urls(database: AuditDatabase, urls: Iterator[str]) -> None:
    """Insert URLs into the table of a list that is being read."""
    while batch := list(islice(urls, _ROWS_AT_ONCE)):
        locs = make_array(batch, pa.string())
        database.load(pa.record_batch([locs], names=["loc"]), [_ARRIVE])


def _is_list(path: FilePath) -> bool:
    """Return whether a file has a list of URLs by its suffix, and not a sitemap."""
    name = Path(path).name.lower().removesuffix(".gz")
    return Path(name).suffix in _TABLE_READERS.keys() - {""} and Path(path).is_file()


def _begin_list(database: AuditDatabase, site: str) -> None:
    origin = write_literal(origin_of(site))
    database.ask(_KNOWN_QUERIES["define_absolute"].format(origin))
    database.ask(_CREATE)


def find_moves(database: AuditDatabase) -> dict[str, str]:
    """Return where old URLs are to lead, by the list of old ones: key -> new URL."""
    return dict(database.ask("SELECT key, new FROM old_target"))


def read_moves(path: FilePath, site: str) -> dict[str, str]:
    """Return where old URLs are to lead, by a list; raise AuditInputError if it has none."""
    with closing(AuditDatabase()) as database:
        load_known(database, path, "old", site)
        moves = find_moves(database)
    if not moves:
        raise AuditInputError(
            f"{path} has no column of new URLs: name it one of {', '.join(NEW_COLUMNS)}"
        )
    return moves


def _end_list(
    database: AuditDatabase,
    table: str,
    name: str,
) -> int:
    """Fill a table with the collected URLs; return how many it has."""
    database.ask(_KNOWN_QUERIES["add_urls"].format(table), blanks=_ALL_BLANKS)
    database.ask("DROP TABLE arrived")
    count: int = database.ask_value(f"SELECT count(*) FROM {table}")
    if not count:
        raise AuditInputError(f"{name} has no URL that begins with http:// or https://")
    return count


def _read(
    database: AuditDatabase,
    path: Path,
    table: str,
) -> None:
    """Insert the texts of a file that may be URLs, and a crawl's columns about them."""
    kind = _KINDS[table]
    columns = kind.columns
    what = kind.noun
    check_file(path, f"{what} cannot be read: ")
    name = path.name.lower().removesuffix(".gz")
    if (reader := _TABLE_READERS.get(Path(name).suffix)) is None:
        suffixes = ".txt, .csv, .tsv, .jsonl or .parquet"
        raise AuditInputError(
            f"{path}: end the name with {suffixes}, or these with .gz"
        )
    try:
        given: dict[str, object] = {
            # a name is no pattern, whatever characters it has
            "path": re.sub(r"([*?\[])", r"[\1]", str(path.resolve())),
            "limit": _LINE_BYTES,
            "names": columns,
        }
        if reader in _BY_LINES:
            _load_lines(database, path)
        else:
            given["encoding"] = _find_encoding(path)
        passed = {key: value for key, value in given.items() if f"${key}" in reader}
        described = database.ask_column(
            f"SELECT column_name FROM (DESCRIBE SELECT * FROM {reader})", **passed
        )
        names = {
            trim(each).lower().replace("_", " "): each for each in reversed(described)
        }
        column = next((names[name] for name in columns if name in names), None)
        if column is None:
            raise AuditInputError(
                f"{path} has no column of URLs: name one of its columns "
                f"({', '.join(described) or 'none'}) {', '.join(columns)}"
            )
        date = "NULL"
        if "lastmod" in names:
            date = _quote_name(names["lastmod"])
        query = _KNOWN_QUERIES["read"].format(_quote_name(column), date, reader)
        database.ask(query, **passed)
        new = next((names[name] for name in NEW_COLUMNS if name in names), None)
        if table == "old" and new is not None:
            query = _KNOWN_QUERIES["add_targets"].format(
                _quote_name(column), _quote_name(new), reader
            )
            database.ask(query, **passed, blanks=_ALL_BLANKS)
        if kind.crawled and not names.keys().isdisjoint(ABOUT["status"]):
            sources = {"loc": column} | {
                field: next((names[name] for name in known if name in names), None)
                for field, known in ABOUT.items()
            }
            chosen = ", ".join(
                f"{'NULL' if each is None else _quote_name(each)}::VARCHAR AS {field}"
                for field, each in sources.items()
            )
            query = _KNOWN_QUERIES["add_crawled"].format(kind.crawled, chosen, reader)
            database.ask(query, **passed, blanks=_ALL_BLANKS)
        database.ask("DROP TABLE IF EXISTS line")
    except (duckdb.Error, OSError, EOFError, UnicodeError, zlib.error) as error:
        if isinstance(error, DISK_ERRORS) and "write" in str(error):
            raise  # our disk is full
        lines = (
            line
            for line in str(error).splitlines()
            if not line.startswith("Original Line")
        )
        reason = excerpt(" ".join(islice(lines, 2)))
        raise AuditInputError(f"{what} {path} cannot be read: {reason}") from None


def _load_lines(database: AuditDatabase, path: Path) -> None:
    """Fill the table `line`; raise AuditInputError, or the error of opening or decoding."""
    database.ask("CREATE OR REPLACE TABLE line (line VARCHAR)")
    with _open_list(path) as file:
        pieces = iter(partial(file.read, _LIST_PIECE_BYTES), b"")
        lines = iterate_lines(pieces, _LINE_BYTES, errors="strict")
        while batch := list(islice(lines, _ROWS_AT_ONCE)):
            if max(map(len, batch)) == _LINE_BYTES:
                raise AuditInputError(
                    f"{path} has a line of more than {_LINE_BYTES:,} characters"
                )
            rows = pa.record_batch([make_array(batch, pa.string())], names=["line"])
            database.load(rows, ["INSERT INTO line SELECT line FROM arriving"])


def _open_list(path: Path) -> BinaryIO | gzip.GzipFile:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path)
    return path.open("rb")


def _quote_name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _find_encoding(path: Path) -> str:
    """Return the encoding, UTF-16 if a mark says so; raise OSError or EOFError."""
    with _open_list(path) as file:
        start = file.read(2)
        while isinstance(file, gzip.GzipFile) and file.read(_LINE_BYTES):
            pass  # DuckDB 1 takes the part of a file that was cut for all of it
    if start in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    return "utf-8"
