"""The database of an audit: DuckDB with bounded memory."""

from __future__ import annotations

import os
import re
import tomllib
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from importlib.resources import files
from inspect import signature
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import duckdb

from sitemapreader._event_loop import run_in_thread
from sitemapreader._types.issues import IssueCode, excerpt
from sitemapreader._types.urls import (
    ERROR_PATH,
    FIRST_FOLDER,
    NORMAL_URL,
    parse_url,
    url_key,
)
from sitemapreader.audit.models import AuditInputError
from sitemapreader.pages import explain_target, is_led_to_login, is_page_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from sitemapreader._types.arguments import FilePath
    from sitemapreader.robots import Robots

T = TypeVar("T")

MEMORY_MB = 100
"""Memory of DuckDB; beyond that it writes into the temporary folder, or beside the file."""
SAFE: dict[str, Any] = {
    "memory_limit": f"{MEMORY_MB}MB",
    "threads": 1,  # inserts are small: handing them over costs half as much again
    # SECURITY: nothing is fetched behind the user's back, and no extension is loaded.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""The configuration of each connection."""
_MOST_MEMORY = 8
"""Factor for a query that needs more memory: some need more than the disk."""
_IS_OURS = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'url_row'"
_THREADS = 4
"""Each takes some memory of its own, and most machines of CI have no more cores."""
_FEW_ROWS = 1_000
"""In all tables: with fewer, to plan a query well takes longer than to run it."""
DISK_ERRORS = (
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.TransactionException,
    duckdb.FatalException,
)
"""Errors of a full or failing disk, in the statement that writes or in later ones."""
_IS_DISK_FULL = "failed to offload"
"""Words of the error about too little memory if there is no room on the disk either."""


_FOLDER_PATTERN = "[a-z0-9_~-][a-z0-9_.~-]*"
SIMPLE_URL = rf"^https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+/(?:{_FOLDER_PATTERN}/)*(?:{_FOLDER_PATTERN})?$"
"""Normal URLs in which no rule about characters or parameters can find anything."""


# -- functions that queries call, for what SQL cannot say of URLs and languages


@cache
def _load_codes() -> tuple[
    frozenset[str], frozenset[str], frozenset[str], dict[str, str]
]:
    """Return languages, scripts and regions, and the meanings of wrong codes."""
    table = tomllib.loads(
        files(__package__).joinpath("languages.toml").read_text("utf-8")
    )
    languages, scripts, regions = (
        frozenset(table[name].split()) for name in ("languages", "scripts", "regions")
    )
    return languages, scripts, regions, table["meant"]


def judge_hreflang(code: str) -> tuple[bool, str]:
    """Return whether an hreflang, in lower case, is valid, and a hint if it is not.

    https://developers.google.com/search/docs/specialty/international/localized-versions
    """
    languages, scripts, regions, meant = _load_codes()
    if code == "x-default":
        return True, ""
    language, *others = code.split("-")
    if language not in languages:
        if "_" in code:
            hint = "write a hyphen, not an underscore"
        else:
            hint = meant.get(language, "")
        return False, hint
    if others and len(others[0]) == 4:
        if others[0] not in scripts:
            return False, f"{others[0]} is not a script of ISO 15924"
        others = others[1:]
    if len(others) > 1:
        return False, "only language, script and region are allowed"
    if not others or others[0] in regions:
        return True, ""
    return False, meant.get(others[0], f"{others[0]} is not a region of ISO 3166-1")


_URL_PART = re.compile(r"[^./?&]+")


def is_language_switch(url: str, final: str) -> bool:
    """Return whether a redirect only adds or swaps a part that is a language.

    That is a segment of the path, the value of a parameter, or a label of the host.
    """
    before, after = (
        _URL_PART.findall(each.lower().partition("://")[2]) for each in (url, final)
    )
    labels = len(urlsplit(url).netloc.split("."))
    for place, part in enumerate(after):
        rest = after[:place] + after[place + 1 :]
        if _is_language(part) and (
            rest == before
            or (
                rest == before[:place] + before[place + 1 :]
                and (place < labels or _is_language(before[place]))
            )
        ):
            return True
    return False


def _is_language(part: str) -> bool:
    code = part.rpartition("=")[2]
    return judge_hreflang(code)[0] and code != "x-default"


def usable_url(text: str) -> str:
    """Return a URL without blanks around it; "" if it cannot be requested."""
    if parse_url(text.strip()):
        return text.strip()
    return ""


FUNCTIONS: dict[Callable[..., object], str] = {
    url_key: "VARCHAR",
    usable_url: "VARCHAR",
    judge_hreflang: "STRUCT(is_valid BOOLEAN, hint VARCHAR)",
    is_language_switch: "BOOLEAN",
    explain_target: "VARCHAR",
    is_led_to_login: "BOOLEAN",
    is_page_empty: "BOOLEAN",
}
"""Function -> the type of its value in SQL."""
_SQL_TYPES = {"str": "VARCHAR", "int": "BIGINT", "bool": "BOOLEAN"}
"""Types of arguments in Python and in SQL."""


# -- the database


class AuditDatabase:
    """A DuckDB database, which a walk fills and rules ask.

    Without a path its tables are in memory, and spill into a temporary folder. Its one connection
    may be used in one thread at a time. Each rule that was run is a view, `rule."code"`, with all
    its hits, which `show_rules` makes; `codes` are those of the rules. `robots` are the robots.txt
    files that were read to their end, by origin. `is_small` is known at the end of loading.
    `is_http` is False if the sitemaps come from files and not from a server.
    """

    is_small: bool

    def __init__(
        self,
        path: FilePath | None = None,
        earlier: FilePath | None = None,
        *,
        is_http: bool = True,
    ) -> None:
        self.is_http = is_http
        self._folder = (
            TemporaryDirectory(prefix="sitemapreader-audit-") if path is None else None
        )
        self._path = None if path is None else Path(path)
        if earlier is None:
            self._earlier = None
        else:
            self._earlier = Path(earlier)
        if self._path is not None:
            if (
                self._earlier is not None
                and self._earlier.resolve() == self._path.resolve()
            ):
                raise AuditInputError(
                    f"{path} cannot be both `since_audit` and the new `database`: rename one"
                )
            _remove_old(self._path)
        config = {**SAFE, "preserve_insertion_order": False}
        if self._folder is not None:
            config["temp_directory"] = self._folder.name
        self.codes: list[str] = []
        self._unseen: dict[str, str] = {}
        """Code -> query of the hits, of rules that have no view yet."""
        self._hit_pages: set[str] | None = None
        """Rules whose hits on pages are in the table `page_hit`; `None` before there is one."""
        self._memory = 1
        self.robots: dict[str, Robots] = {}
        with self.map_disk_errors():
            self.connection = duckdb.connect(
                str(self._path or ":memory:"), config=config
            )
            try:
                self._define()
            except BaseException:
                self.discard()
                raise

    @property
    def has_earlier(self) -> bool:
        """Return whether the database of an earlier audit is there to compare with."""
        return self._earlier is not None

    @property
    def is_kept(self) -> bool:
        """Return whether the database stays after the audit, in a file of the caller."""
        return self._path is not None

    def _define(self) -> None:
        """Make the tables, functions and macros."""
        self.connection.execute(_read_file("schema"))
        for function, kind in {**FUNCTIONS, self.is_refused: "BOOLEAN"}.items():
            types = [
                _SQL_TYPES[each.annotation]
                for each in signature(function).parameters.values()
            ]
            self.connection.create_function(function.__name__, function, types, kind)  # type: ignore[arg-type]
        for name, pattern in (
            ("simple", SIMPLE_URL),
            ("keys", f"^(?:{NORMAL_URL.pattern})$"),
            ("first_folder", FIRST_FOLDER.pattern),
            ("error_path", ERROR_PATH.pattern),
        ):
            self.ask(_LOADING_QUERIES[f"define_{name}"].format(write_literal(pattern)))
        for name in ("define_key_of", "define_utc"):
            self.ask(_LOADING_QUERIES[name])

    def is_refused(
        self,
        origin: str,
        agent: str,
        loc: str,
    ) -> bool:
        """Return whether the robots.txt of an origin disallows a URL."""
        return (
            self.robots[origin].find_refusal(loc, agent) is IssueCode.ROBOTS_DISALLOWED
        )

    def drop_functions(self) -> None:
        """Forget the functions, so that an unclosed connection ends in silence."""
        for function in (*FUNCTIONS, self.is_refused):
            self.connection.remove_function(function.__name__)

    def load_earlier(self) -> None:
        """Load the texts of pages of the earlier audit, if any; raise AuditInputError."""
        if self._earlier is None:
            return
        queries = read_queries("pages")
        try:
            path = write_literal(str(self._earlier.resolve(strict=True)))
            self.ask(f"ATTACH {path} AS was (READ_ONLY)")
            try:
                self.ask(queries["load_earlier"])
            finally:
                self.ask("DETACH was")
        except (duckdb.Error, OSError, UnicodeError) as error:
            reason = str(error).partition("\n")[0]
            raise AuditInputError(
                f"`since_audit`: {self._earlier} is not a readable audit database "
                f"({excerpt(reason)}): "
                "name one that `database` kept"
            ) from None

    def end_loading(self) -> None:
        """Answer queries in threads, if that helps, and open no other file from now on."""
        self.is_small = self.ask_value(_LOADING_QUERIES["rows"]) < _FEW_ROWS
        threads = f"SET threads = {min(_THREADS, os.cpu_count() or 1)}"
        self.ask("PRAGMA disable_optimizer" if self.is_small else threads)
        # SECURITY: a rule may have come with a pull request. This cannot be set back.
        self.ask("SET enable_external_access = false")

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run work on the database in a thread; when cancelled, interrupt it first."""
        return await run_in_thread(work, self.connection.interrupt)

    def load(self, rows: pa.RecordBatch | pa.Table, queries: Iterable[str]) -> None:
        """Run queries on rows, which are the table `arriving` to them."""
        self.connection.register("arriving", rows)
        for query in queries:
            self.ask(query)
        self.connection.unregister("arriving")

    def insert_rows(
        self,
        table: str,
        rows: Iterable[Iterable[object]],
        names: Iterable[str] = (),
    ) -> None:
        """Append rows of the named columns of a table; by default of all columns."""
        columns = {
            f"c{n}": list(values) for n, values in enumerate(zip(*rows, strict=True))
        }
        if columns:
            into = f"({', '.join(names)})" if names else ""
            values = ", ".join(f"unnest(${name})" for name in columns)
            self.ask(f"INSERT INTO {table} {into} SELECT {values}", **columns)

    def insert_dicts(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Append rows, all with the same columns by name; missing ones get their default."""
        if rows:
            self.insert_rows(table, [row.values() for row in rows], rows[0])

    def ask(self, query: str, **parameters: object) -> list[tuple[Any, ...]]:
        """Run a query and return all its rows; give it more memory if it needs that."""
        return self._run_with_memory(
            lambda: self.connection.execute(query, parameters or None).fetchall()
        )

    def ask_batches(self, query: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """Run a query as `ask` does, and yield its rows, at most `size` at a time."""
        found = self._run_with_memory(lambda: self.connection.execute(query))
        while batch := found.fetchmany(size):
            yield batch

    def _run_with_memory(self, work: Callable[[], T]) -> T:
        """Run a query; run it again with more memory if it needs that."""
        while True:
            try:
                return work()
            except duckdb.OutOfMemoryException:
                if self._memory >= _MOST_MEMORY:
                    raise
                self._memory *= 2
                self.connection.execute(
                    f"SET memory_limit = '{self._memory * MEMORY_MB}MB'"
                )

    def ask_column(self, query: str, **parameters: object) -> list[Any]:
        """Run a query and return its first column."""
        return [row[0] for row in self.ask(query, **parameters)]

    def ask_value(self, query: str, **parameters: object) -> Any:
        """Run a query that has one row and return its first value."""
        return self.ask_column(query, **parameters)[0]

    def ask_rows(self, query: str, **parameters: object) -> list[dict[str, Any]]:
        """Run a query and return its rows by the names of their columns."""
        rows = self.ask(query, **parameters)
        names = [name for name, *_ in self.connection.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def define_rule(self, code: str, query: str) -> str:
        """Return the query of a rule's hits, whatever columns its own has besides theirs."""
        self._unseen[code] = hits = _RUNNER_QUERIES["hits_of"].format(query)
        if code not in self.codes:
            self.codes.append(code)
        return hits

    def show_rules(self, *codes: str) -> None:
        """Make the views of some rules, or of all, that are not there yet."""
        for code in codes or list(self._unseen):
            if code in self._unseen:
                self.ask(f'CREATE VIEW rule."{code}" AS {self._unseen[code]}')
                del self._unseen[code]

    def drop_rule(self, code: str) -> None:
        """Forget the view of a rule, and its places: it is broken."""
        self._unseen.pop(code, None)
        self.ask(f'DROP VIEW IF EXISTS rule."{code}"')
        self.ask("DELETE FROM place WHERE code = $code", code=code)
        self.codes = [each for each in self.codes if each != code]

    def query_page_hits(self, codes: Iterable[str]) -> str:
        """Return a query of the codes and URLs of visited pages that some rules hit.

        One rule after the other is asked, because a query of all needs the memory of all.
        """
        codes = list(codes)
        if self._hit_pages is None:
            self.ask(_RUNNER_QUERIES["define_page_hits"])
            self._hit_pages = set()
        for code in codes:
            if code not in self._hit_pages:
                self.show_rules(code)
                self.ask(_RUNNER_QUERIES["add_page_hits"].format(code))
                self._hit_pages.add(code)
        chosen = ", ".join(map(write_literal, ["", *codes]))
        return f"SELECT code, url FROM page_hit WHERE code IN ({chosen})"

    def query_hits(self, code: str) -> str:
        """Return the query of all hits of a rule; raise AuditInputError if it was not run."""
        if code not in self.codes:
            raise AuditInputError(
                f"the rule {code!r} was not run: choose one of {', '.join(self.codes)}"
            )
        self.show_rules(code)
        return _RUNNER_QUERIES["list_hits"].format(code)

    @contextmanager
    def map_disk_errors(self) -> Iterator[None]:
        """Raise OSError where DuckDB cannot write its file, or has no room to spill."""
        try:
            yield
        except DISK_ERRORS as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            if (
                isinstance(error, duckdb.OutOfMemoryException)
                and _IS_DISK_FULL not in reason
            ):
                raise OSError(
                    f"a query needs more than {self._memory * MEMORY_MB} MB of memory: "
                    f"{reason}; choose fewer rules with `select`, or fewer pages"
                ) from error
            place = self._path
            advice = "name a database on another disk"
            if self._folder is not None:
                place = Path(self._folder.name)
                advice = "set TMPDIR to a folder on another disk"
            raise OSError(
                f"the database of the audit cannot be written to {place}: {reason}; "
                f"make room on its disk, or {advice}"
            ) from error

    def discard(self) -> None:
        """Close the database, and delete it: the audit has failed."""
        self.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            Path(f"{self._path}.wal").unlink(missing_ok=True)
            rmtree(f"{self._path}.tmp", ignore_errors=True)

    def close(self) -> None:
        """Close the database, and delete it if it is a temporary one."""
        self.connection.close()
        if self._folder is not None:
            self._folder.cleanup()


@cache
def read_queries(name: str) -> dict[str, str]:
    """Return the queries of a file by their names, which lines like `-- name:` say."""
    _, *parts = re.split(r"^-- ([a-z_]+):.*\n", _read_file(name), flags=re.MULTILINE)
    return dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))


def _read_file(name: str) -> str:
    return files(__package__).joinpath("queries", f"{name}.sql").read_text("utf-8")


_SQL_PARAMETER = re.compile(r"\$([a-z_]+)")


def fill_values(query: str, values: Mapping[str, object]) -> str:
    """Return a query with the values of its parameters, as views and macros take none."""
    return _SQL_PARAMETER.sub(
        lambda name: write_literal(values[name[1]]) if name[1] in values else name[0],
        query,
    )


def write_literal(value: object) -> str:
    """Return a number, a moment or a text as a literal of SQL."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


_RUNNER_QUERIES = read_queries("runner")
_LOADING_QUERIES = read_queries("loading")


def _remove_old(path: Path) -> None:
    """Remove the database of an earlier audit; raise AuditInputError for other files."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise AuditInputError(
            f"DuckDB cannot open {str(path)!r}: choose a name in UTF-8"
        ) from None
    if not path.exists():
        return
    try:
        with duckdb.connect(str(path), read_only=True) as old:
            is_ours = bool(old.execute(_IS_OURS).fetchall())
    except duckdb.Error:
        is_ours = False
    if not is_ours:
        raise AuditInputError(
            f"{path} exists and is not an audit database: choose another name"
        )
    path.unlink()
