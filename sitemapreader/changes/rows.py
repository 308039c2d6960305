"""The rows of a document and of its URLs: as values, and their statements."""

from __future__ import annotations

import json
import re
import time
import zlib
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_origin, get_type_hints

import attrs

from sitemapreader._types.dates import parse_lastmod
from sitemapreader._types.issues import excerpt
from sitemapreader._types.models import EXTENSION_ATTRIBUTES, Extra, Format
from sitemapreader._types.rows import EntryColumns
from sitemapreader._types.urls import url_key
from sitemapreader._walk.memory import GonePage, UnlistedUrl
from sitemapreader.changes.database import (
    DamageError,
    EntryMark,
    UrlKind,
    read_values,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Hashable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from pathlib import Path

    from sitemapreader._types.models import SitemapEntry, UrlEntry
    from sitemapreader._types.rows import Rows
    from sitemapreader._walk.memory import RemovalKind
    from sitemapreader.changes.database import Connection


def nanoseconds(length: timedelta) -> int:
    """Return a length of time in the unit of stamps."""
    return length // timedelta(microseconds=1) * 1_000


def read_clock() -> float:
    """Return the seconds since 1970."""
    return time.time()


def as_moment(seconds: float) -> datetime:
    """Return a moment; raise DamageError if it is invalid."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OSError, OverflowError, TypeError, ValueError):
        raise DamageError(f"{seconds} is not a time") from None


@attrs.frozen
class Flaws:
    """The flaws of a document, or of robots.txt.

    Attributes:
        last: how many its last reading had.
        known: how many its last full reading had.
        since: stamp of the reading since which it has more than that; 0 if it has not.
    """

    last: int = 0
    known: int = 0
    since: int = 0

    def add(self, number: int, stamp: int) -> Flaws:
        """Return the flaws after another reading."""
        if number <= self.known:
            since = 0
        elif self.since and number <= self.last:
            since = self.since
        else:
            since = stamp
        return Flaws(number, self.known, since)


@attrs.frozen
class WalkRun:
    """A walk over a site, in the state; a stamp is a date in nanoseconds.

    Attributes:
        name: name of the site.
        has_changes: whether it has `changes`, and so saves the URLs that documents list.
        confirm_after, distrust_after: as in `State`, in nanoseconds.
        is_unique: whether each URL is delivered once.
        site: number of the site; 0 until the walk begins, as all numbers below.
        begin_stamp: when it began.
        stamp: the same, or the time when the walk was resumed: the date of all that it sees.
        last: the walk before it.
        days: the last seven walks that are a day apart, this one too.
        is_resumed: whether it goes on with a walk that was stopped.
        is_new: whether the state knows no URL of the site, so that every entry is new.
        all_known_stamp: the last walk before it that knew all documents and indexes (the column
            `looked_stamp`).
        naming_readings: `read_stamp` and `confirmed_stamp` of what names documents.
        naming_flaws: the flaws of that.
        unverified: documents that are read in full, by keys of URLs.
        ranks: key of a URL -> when it was answered.
        chosen: documents that are due, by keys of URLs, if only those are requested.
        idle: documents that are neither due nor read for the sitemaps that they list.
        oldest_response_stamp: stamp of the oldest walk whose cached responses this walk uses; 0 if
            it uses none.
    """

    name: str
    has_changes: bool = False
    confirm_after: int = 0
    distrust_after: int = 0
    is_unique: bool = False
    site: int = 0
    begin_stamp: int = 0
    stamp: int = 0
    last: int = 0
    days: tuple[int, ...] = ()
    is_resumed: bool = False
    is_new: bool = False
    all_known_stamp: int = 0
    naming_readings: tuple[int, int] = (0, 0)
    naming_flaws: Flaws = Flaws()
    unverified: frozenset[str] = frozenset()
    ranks: Mapping[str, float] = attrs.field(factory=dict)
    chosen: frozenset[str] | None = None
    idle: frozenset[str] = frozenset()
    oldest_response_stamp: int = 0


@attrs.frozen
class Rules:
    """The rules of a `State`, for a walk; lengths of time in nanoseconds."""

    path: Path
    clock: Callable[[], float]
    revalidate_after: int
    distrust_after: int
    verify_after: int
    confirm_after: int


def name_of_sitemaps(urls: Iterable[str]) -> str:
    """Return the name in the state of sitemaps that are walked together."""
    return " ".join(sorted({url_key(url) for url in urls if url}))


def make_unlisted(
    loc: str,
    since: float,
    document: str,
    why: str,
    site: str,
    asked_at: float | None,
    *others: Any,
) -> UnlistedUrl:
    """Return a value for a row of `page`."""
    asked = None if asked_at is None else as_moment(asked_at)
    return UnlistedUrl(loc, as_moment(since), document, why, site, asked, *others)


def make_gone(
    loc: str,
    document: str,
    status: int,
    asked_at: float,
    since: float,
    site: str,
) -> GonePage:
    """Return a value for a row of `page`."""
    return GonePage(loc, document, status, as_moment(asked_at), as_moment(since), site)


UNLISTED_COLUMNS = (
    "loc, since, document, why, name, asked_at, status, NULL, no_status, redirects_to"
)
_GONE = "loc, document, status, asked_at, since, name"
Make: TypeAlias = "Callable[..., UnlistedUrl | GonePage]"
REMOVALS: dict[RemovalKind, tuple[Make, str, str, str]] = {
    "unlisted": (
        make_unlisted,
        UNLISTED_COLUMNS,
        "is_unlisted",
        "delivered_unlisted = 1",
    ),
    "gone": (make_gone, _GONE, "is_gone", "delivered_gone = 1"),
    "returned": (
        make_gone,
        _GONE,
        "delivered_gone AND NOT is_gone",
        "delivered_gone = 0",
    ),
}
"""Value, columns and condition of the rows for each kind of removal, and the mark of a delivery."""


def _as_format(name: str | None) -> Format | None:
    """Return a format by its name; raise DamageError if it is unknown."""
    try:
        return None if name is None else Format(name)
    except ValueError:
        raise DamageError(f"{name} is not a format") from None


_FILTERS = re.compile(r"\S* \S*")


def _as_filters(text: Any) -> str | None:
    """Return filters as `Selection.mark_filters` writes them; raise DamageError."""
    if text is None:
        return None
    if not (isinstance(text, str) and _FILTERS.fullmatch(text)):
        raise DamageError(f"{text!r} is not a list of filters")
    return text


def _as_children(text: Any) -> list[tuple[str, str | None]]:
    """Return loc and lastmod of each child of an index; raise DamageError."""
    try:
        pairs = [(loc, mark) for loc, mark in json.loads(text or "[]")]
    except (TypeError, ValueError):
        raise DamageError(f"{excerpt(str(text))} is not a list of children") from None
    if not all(
        isinstance(each, str) for loc, mark in pairs for each in (loc, mark or "")
    ):
        raise DamageError(f"{excerpt(str(text))} is not a list of children")
    return pairs


@attrs.define  # a frozen one takes three times as long to make
class DocumentRow:
    """A row of the table `document`, as a walk needs it; schema.sql explains the columns."""

    id: int | None
    site: int
    url: str
    confirmed_stamp: int
    status: str = ""
    reason: str = ""
    origin: str = ""
    seen_stamp: int = 0
    read_stamp: int = 0
    missed: int = 0
    complete: int = 0
    is_saved: int = 0
    final_url: str = ""
    format: Format | None = attrs.field(default=None, converter=_as_format)
    etag: str | None = None
    last_modified: str | None = None
    lastmod: str | None = None
    size: int | None = None
    digest: bytes | None = None
    entries: int = 0
    last_flaws: int = 0
    known_flaws: int = 0
    flawed_stamp: int = 0
    child_list: list[tuple[str, str | None]] = attrs.field(
        default=None, converter=_as_children
    )
    read_at: float | None = None
    filters: str | None = attrs.field(default=None, converter=_as_filters)
    is_window: int = 0
    etag_lies: int = 0
    lastmod_lies: int = 0
    asked_at: float | None = None
    not_before: float = 0.0

    @property
    def flaws(self) -> Flaws:
        """Its flaws until now."""
        return Flaws(self.last_flaws, self.known_flaws, self.flawed_stamp)


_DOCUMENT_COLUMNS = ", ".join(field.name for field in attrs.fields(DocumentRow))
_FIND = f"SELECT {_DOCUMENT_COLUMNS} FROM document WHERE site = ? AND url = ?"


def insert_document(db: Connection, row: DocumentRow) -> int:
    """Insert a document, unless it has a number; return that."""
    known = row.site, row.url, row.confirmed_stamp
    sql = "INSERT INTO document (site, url, confirmed_stamp) VALUES (?, ?, ?)"
    row.id = row.id or db.execute(sql, known).lastrowid or 0
    return row.id


def update_document(
    db: Connection,
    row: DocumentRow,
    changes: Mapping[str, Any],
    *,
    is_read: bool = False,
) -> None:
    """Change a document, or insert it; drop the batches of one that is read."""
    names = ", ".join(f"{name} = ?" for name in changes)
    number = insert_document(db, row)
    db.execute(f"UPDATE document SET {names} WHERE id = ?", (*changes.values(), number))
    if is_read:
        db.execute(
            "DELETE FROM batch WHERE site = ? AND document = ?", (row.site, number)
        )


def load_document(
    db: Connection,
    run: WalkRun,
    url: str,
) -> DocumentRow:
    """Return the row of a document; a new one if a run is the first to meet it."""
    found = db.execute(_FIND, (run.site, url)).fetchone()
    # It may be as old as the last walk that knew all: what was lost by then may be in it.
    new = None, run.site, url, run.all_known_stamp - 1
    return DocumentRow(*(found or new))


def write_lastmod(entry: SitemapEntry) -> str | None:
    """Return the lastmod of a document in its index as the column `lastmod` has it."""
    if entry.lastmod is None:
        return None
    return entry.lastmod_text or entry.lastmod.isoformat()


# -- entries of a document

LogColumns: TypeAlias = tuple[bytes, bytes, bytes, str]
"""Keys, records, locs and marks: see the table `log`."""


def find_own_records(
    db: Connection,
    row: DocumentRow,
    keys: Sequence[bytes],
) -> dict[bytes, bytes | None]:
    """Return key -> record of each URL that a document itself has listed until now."""
    marks = ", ".join("?" * len(keys))
    find = (
        f"SELECT key, record FROM url WHERE site = ? AND key IN ({marks})"
        " AND document = ? AND lost_stamp IS NULL"
    )
    return dict(db.execute(find, (row.site, *keys, row.id)))


def find_records(
    db: Connection,
    row: DocumentRow,
    keys: Sequence[bytes],
) -> dict[bytes, dict[int, bytes | None]]:
    """Return key of a known URL -> number of each document that lists it -> record.

    A record is that of several, one after another, if the document has several of the URL. The
    number is negative where the URL was deleted: only another record of it is new. What was
    delivered as unlisted or gone is not known.
    """
    known: dict[bytes, dict[int, bytes | None]] = {}
    if not keys:
        return known
    own = f"iif(kind = {UrlKind.DELETED:d}, -document, document)"
    marks = ", ".join("?" * len(keys))
    find = (
        f"SELECT key, {own}, record FROM url WHERE site = ? AND key IN ({marks})"
        f" AND NOT (lost_stamp IS NOT NULL AND kind <> {UrlKind.DELETED:d}"
        " AND EXISTS (SELECT 1 FROM page WHERE site = url.site AND key = url.key"
        "  AND (delivered_unlisted OR delivered_gone)))"
    )
    found = db.execute(find, [row.site, *keys])
    for key, document, record in found:
        known.setdefault(key, {})[document] = record
    return known


def find_removed(
    db: Connection,
    row: DocumentRow,
    keys: Sequence[bytes],
    reading: int,
) -> frozenset[bytes]:
    """Return the keys of URLs that were missing after a reading, which a cache had kept.

    A URL is missing since the document itself lost it, or since the first one did.
    """
    marks = ", ".join(f"?{number + 5}" for number in range(len(keys)))
    find = (
        f"SELECT key FROM page WHERE site = ?1 AND since > ?4 AND key IN ({marks})"
        f" UNION SELECT key FROM url WHERE site = ?1 AND document = ?2 AND lost_stamp > ?3"
        f" AND key IN ({marks})"
    )
    values = row.site, row.id, reading, reading / 1e9, *keys
    return frozenset(read_values(db, find, values))


_DELETED = f"{EntryMark.DELETED}{EntryMark.DELETED_UNKNOWN}".encode()


def find_documents(db: Connection, urls: Iterable[str]) -> dict[str, set[str]]:
    """Return for each URL the documents of all sites that listed it when they were read last."""
    locs = {hash_url(loc): loc for loc in urls}
    found: dict[str, set[str]] = {loc: set() for loc in locs.values()}
    sql = (
        "SELECT document.url FROM site JOIN url ON url.site = site.id AND url.key = ?"
        " JOIN document ON document.id = url.document"
        f" WHERE url.lost_stamp IS NULL AND url.kind = {UrlKind.LIST:d}"
    )
    for key, loc in locs.items():
        found[loc].update(read_values(db, sql, [key]))
    # what a first walk has read is merged by the next one
    sql = "SELECT keys, marks, document.url FROM log JOIN document ON document.id = log.document"
    for keys, marks, document in db.execute(sql):
        for key, mark in zip(split_keys(keys), marks, strict=True):
            if key in locs and mark not in _DELETED:
                found[locs[key]].add(document)
    return found


def save_seen(
    db: Connection,
    row: DocumentRow,
    stamp: int,
    seen: Iterable[int],
    logged: Iterable[LogColumns],
) -> None:
    """Save the results of a reading: the stretches that it has seen, and the log of the others."""
    see = "UPDATE stretch SET seen_stamp = max(seen_stamp, ?) WHERE id = ?"
    db.executemany(see, [(stamp, stretch) for stretch in seen])
    document = insert_document(db, row)
    begin = "UPDATE document SET origin = ? WHERE id = ? AND origin = ''"
    db.execute(begin, [row.origin, document])
    log = (
        "INSERT INTO log (site, document, stamp, keys, records, locs, marks)"
        " VALUES (?, ?, ?, ?, ?, ?, CAST(? AS BLOB))"
    )
    db.executemany(log, [(row.site, document, stamp, *each) for each in logged])


def find_stretch(
    db: Connection,
    row: DocumentRow,
    key: bytes,
) -> tuple[int, bytes, bytes] | None:
    """Return the stretch of a document that begins with a URL: its number, keys and records."""
    sql = (
        "SELECT id, keys, records FROM stretch"
        " WHERE document = ? AND substr(keys, 1, 10) = ? AND is_known"
    )
    found = db.execute(sql, [row.id, key])
    stretch: tuple[int, bytes, bytes] | None = found.fetchone()
    return stretch


def save_batch(
    db: Connection,
    row: DocumentRow,
    locs: Iterable[str],
    packed: bytes | None,
) -> None:
    """Save the delivered rows, in case the walk is interrupted.

    `packed` are the URLs, if these are needed too.
    """
    number = insert_document(db, row)
    keys = b"".join(map(hash_url, locs))
    values = row.site, number, keys, packed
    db.execute("INSERT INTO batch VALUES (?, ?, ?, ?)", values)


def load_batches(db: Connection, row: DocumentRow) -> frozenset[bytes]:
    """Return the keys of a document's URLs that were saved so."""
    sql = "SELECT keys FROM batch WHERE site = ? AND document = ?"
    batches = read_values(db, sql, [row.site, row.id])
    return frozenset(key for keys in batches for key in split_keys(keys))


# -- the hashes of a URL and of its record


def pack(locs: Iterable[str]) -> bytes:
    """Return URLs as they are kept for a while."""
    text = json.dumps([*locs])
    return zlib.compress(text.encode("ascii"), 1)


_BEGIN = 8
"""A key whose first byte is below this begins a stretch: one of 32, wherever it stands, so that a
URL more or less in a document shifts no other stretch."""


def strip_origin(locs: Sequence[str], row: DocumentRow) -> list[str]:
    """Return URLs of a document as the table `url` has them: most begin at their path."""
    if not row.origin:
        scheme, _, host, *_ = locs[0].split("/", 3)
        row.origin = f"{scheme}//{host}"
    start = f"{row.origin}/"
    size = len(row.origin)
    return [loc[size:] if loc.startswith(start) else loc for loc in locs]


URL_HASH_BYTES = 10
RECORD_HASH_BYTES = 6
_URL_HASH = blake2b(digest_size=URL_HASH_BYTES)
"""Copied for each URL, which takes half as long as making a new hash."""


def split_keys(keys: bytes) -> Iterator[bytes]:
    """Yield the keys of URLs, which follow one another."""
    return _split_hashes(keys, URL_HASH_BYTES)


def _split_hashes(hashes: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(hashes), size):
        yield hashes[start : start + size]


def begins_stretch(key: bytes) -> bool:
    """Return whether the entry of a URL begins a stretch."""
    return key[0] < _BEGIN


def hash_url(loc: str) -> bytes:
    """Return the key of a URL; another spelling is another URL."""
    key = _URL_HASH.copy()
    key.update(loc.encode("utf-8", "surrogatepass"))
    return key.digest()


def has_record(records: bytes, record: bytes) -> bool:
    """Return whether a record is among several, whose hashes follow one another."""
    return records == record or record in _split_hashes(records, RECORD_HASH_BYTES)


_read_extensions = attrgetter("title", *EXTENSION_ATTRIBUTES)


def hash_records(rows: Rows) -> list[bytes]:
    """Return a hash of each record, of all but the URL: a new headline is a change."""
    if isinstance(rows, EntryColumns) and rows.title is None:
        texts = rows.get("lastmod_text")
        if _are_short(texts):
            columns = rows.get("changefreq"), rows.get("priority")
            return [*map(_hash_plain, texts, *columns)]
    return [*map(hash_record, rows)]


def _are_short(written: Iterable[str | None]) -> bool:
    # SECURITY: the cache outlives the walk, and a date may be written in 64 KiB
    return max(map(len, filter(None, written)), default=0) <= 64


def hash_record(entry: UrlEntry) -> bytes:
    """Return the same hash of the record of an entry."""
    written = entry.lastmod_text
    extensions = _read_extensions(entry)
    if any(extensions):
        extensions = tuple(map(_write_unordered, extensions))
    if not any(extensions) and _are_short([written]):
        return _hash_plain(written, entry.changefreq, entry.priority)
    return _hash((_read_moment(written), entry.changefreq, entry.priority, *extensions))


def _write_unordered(value: object) -> object:
    """Write a value in a fixed order of elements and attributes, to compare it."""
    if isinstance(value, tuple):
        return sorted(map(_write_value, value))
    if value is None or isinstance(value, str):
        return value
    return _write_value(value)


def _write_value(value: object) -> str:
    """Write an image, video, alternate or extra, or the text of news."""
    if isinstance(value, Extra):
        children = list(map(_write_value, value.children))
        attributes = sorted(value.attributes.items())
        return repr((value.namespace, value.name, value.text, attributes, children))
    model = cast("Hashable", type(value))  # which mypy denies of types
    repeated = {
        name: tuple(sorted(values, key=_write_repeated))
        for name in _list_repeated_fields(model)
        if (values := getattr(value, name))
    }
    if repeated:
        value = attrs.evolve(cast("Any", value), **repeated)
    return repr(value)


@cache
def _list_repeated_fields(model: Any) -> tuple[str, ...]:
    """Return the fields of an extension that may come several times."""
    if not attrs.has(model):
        return ()
    return tuple(
        name
        for name, hint in get_type_hints(model).items()
        if get_origin(hint) is tuple
    )


def _write_repeated(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


@lru_cache(maxsize=16_384)
def _hash_plain(
    written: str | None,
    changefreq: str | None,
    priority: float | None,
) -> bytes:
    return _hash((_read_moment(written), changefreq, priority))


def _read_moment(written: str | None) -> float | str | None:
    """Return the moment of a lastmod, in which all its notations are equal."""
    found = None if written is None else parse_lastmod(written)
    if found is None:
        return written
    return found.timestamp()


def _hash(fields: tuple[object, ...]) -> bytes:
    text = repr(fields).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=RECORD_HASH_BYTES).digest()
