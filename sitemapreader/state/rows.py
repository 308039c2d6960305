"""Rows of a state file as values: decoded and checked in this module only.

A row with values of wrong types, or that do not match its seal, raises DamageError.
"""

from __future__ import annotations

import json
import time
import typing
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from sitemapreader.models import Format
from sitemapreader.outcomes import BodyDigest
from sitemapreader.state.database import DamageError, seal_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

R = TypeVar("R")

FULLY_READ = "document.seen_run IS :run AND document.status IN ('complete', 'unchanged')"
"""SQL condition: the run knows every URL that a document lists."""


def nanoseconds(time: timedelta) -> int:
    """Return a length of time in the unit of the numbers of runs."""
    return time // timedelta(microseconds=1) * 1_000


PATIENCE = timedelta(days=7)
"""So long a document that fails, or that is new and lists nothing, is waited for."""


def read_clock() -> float:
    """Return the seconds since 1970."""
    return time.time()


def as_moment(seconds: float) -> datetime:
    """Return a moment; raise DamageError if there is no such one."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OSError, OverflowError, ValueError):
        raise DamageError(f"{seconds} is not a time") from None


@attrs.frozen
class RemovalRules:
    """The figures of the law: `State` describes them."""

    confirm_after: timedelta = timedelta(hours=23)
    shrunk_from: int = 20
    left_for: timedelta = timedelta(days=90)
    distrust_after: timedelta = timedelta(days=30)


@attrs.frozen
class Run:
    """A walk over a site."""

    site: int
    saves_urls: bool
    id: int = 0  # until it begins
    is_resumed: bool = False
    is_new: bool = False  # the state has no URL of the site: every entry is new
    rules: RemovalRules = attrs.field(factory=RemovalRules)
    stamp: int = 0  # `id`, or when it was resumed, in the same unit: what it sees is dated by it
    has_pending: bool = False  # a URL is missing of which nothing is known yet
    first: int = 0  # the run that met the site first; 0 if nothing is pending
    indexed: int = 0  # the run before it that had last read all indexes
    is_round: bool = False  # it asks only for what is due, of a site that it knows
    kept: int = 0  # the oldest run of which it uses an answer; 0 if it has asked for all


@attrs.frozen
class RunOutcome:
    """How a walk ended.

    Attributes:
        complete: whether everything was read.
        listed: the URLs, as `url_key` writes them, of all documents that were found -> whether the
            walk wanted them; others were left out because the caller or robots.txt asked for it.
        knows_all: whether the site has no documents but these and those below them.
        tells: whether removed URLs are delivered.
    """

    complete: bool
    listed: Mapping[str, bool]
    knows_all: bool
    tells: bool = False


@attrs.frozen
class ShrunkDocument:
    """A document that lost so many URLs that they are not believed to be removed."""

    url: str
    lost: int  # URLs that neither it lists any more nor another document
    kept: int


@attrs.frozen
class Removals:
    """What a walk found out about URLs that are no longer listed."""

    urls: int  # were removed
    left: int  # left a window
    unknown: int  # documents that hide removals, or delay them
    shrunk: tuple[ShrunkDocument, ...]  # those of them that may be a fault of the day
    missed: Mapping[int, int]  # number of a document -> how many URLs this walk missed in it


@attrs.frozen
class RunRow:
    """A row of the table `run`."""

    id: int
    site: int
    options: bytes
    filters: str
    began: float
    ended: float | None = None
    complete: int | None = None
    removed: int | None = None


@attrs.define  # a frozen one takes three times as long to make
class DocumentRow:
    """A row of the table `document`; schema.sql says what is in the columns."""

    site: int
    url: str
    status: str = ""
    reason: str = ""
    http_status: int | None = None
    seen_run: int | None = None
    read_run: int | None = None
    complete: int = 0
    final_url: str = ""
    format: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    lastmod: str | None = None
    size: int | None = None
    digest: bytes | None = None
    entries: int = 0
    children: int = 0
    read_at: float | None = None
    filters: str | None = None
    listed_run: int | None = None
    first_run: int = 0
    found_after: int = 0
    vouched_run: int = 0
    body_run: int = 0
    format_run: int = 0
    window: int = 0
    validators: int = 0
    dates: int = 0
    lastmods: str = ""

    @property
    def body(self) -> BodyDigest | None:
        """The bytes of the last reading."""
        return (
            None if self.digest is None or self.size is None else BodyDigest(self.size, self.digest)
        )

    @property
    def kind(self) -> Format | None:
        """What the document was."""
        return None if self.format is None else Format(self.format)

    @property
    def became_run(self) -> int:
        """The run that met the document first, or in another format than before."""
        return max(self.first_run, self.format_run)

    def has_settled(self, confirm_after: timedelta) -> bool:
        """Return whether all its bytes were seen long enough after it was new."""
        # A fault of two days leaves a list empty that somebody fills with the URLs of another one.
        is_sure = self.entries + self.children or not confirm_after
        least = confirm_after if is_sure else PATIENCE
        return self.body_run - self.became_run >= nanoseconds(least)

    @property
    def is_listed(self) -> bool:
        """Return whether the state has the URLs of the last reading."""
        return self.read_run is not None and self.listed_run == self.read_run


DOCUMENT_COLUMNS = [field.name for field in attrs.fields(DocumentRow)]
get_values = attrgetter(*DOCUMENT_COLUMNS)
"""Return the values of a `DocumentRow`; a twentieth of the time of `attrs.astuple`."""
_INSERT = "INSERT INTO document ({}, seal) VALUES (?{})".format(
    ", ".join(DOCUMENT_COLUMNS), ", ?" * len(DOCUMENT_COLUMNS)
)


def insert_document(db: sqlite3.Connection, row: DocumentRow) -> int:
    """Insert a document; return its number."""
    values = get_values(row)
    return db.execute(_INSERT, (*values, seal_of(*values))).lastrowid or 0


@attrs.frozen
class Progress:
    """A row of the table `progress`."""

    document: int
    run: int
    entries: int
    final_url: str
    size: int
    digest: bytes
    filters: str | None

    @property
    def start(self) -> BodyDigest:
        """The bytes that were read."""
        return BodyDigest(self.size, self.digest)


def read_row(
    db: sqlite3.Connection, kind: Callable[..., R], sql: str, values: Sequence[object]
) -> R | None:
    """Return the first row of a query, with `{}` for its columns, or `None`."""
    columns, checks = _describe(kind)
    row = db.execute(sql.format(columns), values).fetchone()
    if row is None:
        return None
    *fields, seal = row
    check_types(fields, checks)
    if seal != seal_of(*fields):
        raise DamageError("a row is damaged")
    return kind(*fields)


def check_types(fields: Sequence[object], kinds: Sequence[Any]) -> None:
    """Raise DamageError unless each value is of its type."""
    if not all(map(isinstance, fields, kinds)):
        raise DamageError("a value has another type than its column")


@lru_cache
def _describe(kind: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the columns of a class, then the seal, and the types of its fields."""
    hints = typing.get_type_hints(kind)
    names = [field.name for field in attrs.fields(kind)]
    return ", ".join([*names, "seal"]), tuple(hints[name] for name in names)


def load_children(db: sqlite3.Connection, document: int, url: str) -> list[tuple[str, str | None]]:
    """Return loc and lastmod of each child of an index, in its order."""
    row = db.execute("SELECT listed, seal FROM child WHERE document = ?", (document,)).fetchone()
    if row is None:
        return []
    listed, seal = row
    if seal != seal_of(url, listed):
        raise DamageError("a list of children is damaged")
    return [(loc, lastmod) for loc, lastmod in json.loads(listed)]


def save_children(
    db: sqlite3.Connection, document: int, url: str, children: Sequence[tuple[str, str | None]]
) -> None:
    """Save the children of an index."""
    if not children:
        db.execute("DELETE FROM child WHERE document = ?", (document,))
        return
    listed = json.dumps(children)
    db.execute(
        "INSERT OR REPLACE INTO child VALUES (?, ?, ?)", (document, listed, seal_of(url, listed))
    )
