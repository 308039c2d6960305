"""The set of all URLs that a site's documents list: what is new, changed or gone.

A document's list is written in chunks while its entries are delivered (table `chunk`). The chunks
are merged into the set (table `url_index`) when the walk ends. SQLite does all the work, in
bounded memory.

A URL is known once it was delivered. A URL that a filter kept back is listed but not known: its
fingerprint says so.

10 bytes of a fingerprint identify the URL, 6 the rest of its record. The URL is hashed as written:
another spelling is another URL. Three record hashes are reserved for entries that a filter kept
back: `UNDELIVERED`, `OUTDATED` and `OUTDATED_NEWS`. Those of news begin with `NEWS_MARK`.
"""

# Two of ten million URLs share a hash with a probability of 1 in 24 billion. A changed record keeps
# its hash with 1 in 281 million million.
#
# A walk only appends to `chunk`. Fingerprints are hashes: inserted one by one into `url_index` they
# would touch a random page each. Sorted, at the end, they go through it once.

from __future__ import annotations

import json
from contextlib import closing
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter, itemgetter
from os.path import commonprefix
from typing import TYPE_CHECKING

from sitemapreader.dates import parse_lastmod
from sitemapreader.models import PARTS, Change, UrlEntry
from sitemapreader.state.database import DamageError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence


URL_HASH_BYTES = 10
RECORD_HASH_BYTES = 6
FINGERPRINT_BYTES = URL_HASH_BYTES + RECORD_HASH_BYTES

UNDELIVERED = bytes(RECORD_HASH_BYTES)
"""Record hash of a URL that is listed and was never delivered."""
UNSEEN = 1 << 62
"""The run of a loss that only a reading has seen which broke off."""
OUTDATED = (1).to_bytes(RECORD_HASH_BYTES)
"""Record hash of a URL that was delivered, but not with the listed record."""
OUTDATED_NEWS = (2).to_bytes(RECORD_HASH_BYTES)
"""The same of news."""
NEWS_MARK = b"\xff"
"""First byte of the record hash of news: such a URL is listed for some days only."""
FIRST_RECORD_HASH = (3).to_bytes(RECORD_HASH_BYTES)
"""The lowest record hash of a delivered record."""

_KEY = blake2b(digest_size=URL_HASH_BYTES)
"""Copied for each URL, which takes half as long as making a new hash."""
_LAST_RECORD_HASH = b"\xff" * RECORD_HASH_BYTES


def fingerprint_entries(entries: Iterable[UrlEntry]) -> bytes:
    """Return the fingerprints of entries, joined."""
    copy = _KEY.copy
    parts = []
    for entry in entries:
        key = copy()
        key.update(entry.loc.encode("utf-8", "surrogatepass"))
        parts.append(key.digest())
        parts.append(_hash_record(entry))
    return b"".join(parts)


def hash_url(loc: str) -> bytes:
    """Return the hash of a URL, with which its fingerprint begins."""
    return blake2b(loc.encode("utf-8", "surrogatepass"), digest_size=URL_HASH_BYTES).digest()


_read_parts = attrgetter(*PARTS)


def _hash_record(entry: UrlEntry) -> bytes:
    # A new headline is a change of the record, as a new caption of an image is.
    parts = _read_parts(entry)
    if entry.title or any(parts):
        own = _read_moment(entry.lastmod_text), entry.changefreq, entry.priority
        found = _hash((entry.title, *own, *parts))
        return NEWS_MARK + found[1:] if entry.news else found
    # SECURITY: the cache outlives the walk, and a date may be written in 64 KiB
    written = entry.lastmod_text
    make = (
        _hash_plain_record
        if written is None or len(written) <= 64
        else _hash_plain_record.__wrapped__
    )
    return make(written, entry.changefreq, entry.priority)


@lru_cache(maxsize=16_384)
def _hash_plain_record(
    lastmod_text: str | None, changefreq: str | None, priority: float | None
) -> bytes:
    return _hash((_read_moment(lastmod_text), changefreq, priority))


def _read_moment(lastmod_text: str | None) -> float | str | None:
    """Return what a lastmod says: another notation of the same moment is no change."""
    found = None if lastmod_text is None else parse_lastmod(lastmod_text)
    return lastmod_text if found is None else found.timestamp()


def _hash(fields: tuple[object, ...]) -> bytes:
    found = blake2b(
        repr(fields).encode("utf-8", "surrogatepass"), digest_size=RECORD_HASH_BYTES
    ).digest()
    return found if found[0] < NEWS_MARK[0] else b"\xfe" + found[1:]


def same_url(fingerprint: str, other: str, least: bytes = UNDELIVERED) -> str:
    """Return the SQL condition that two columns hold fingerprints of one URL.

    `least` is the lowest record hash of `fingerprint` for which the condition holds.
    """
    # BETWEEN, not a comparison of substr(): only that uses the primary key.
    url_hash = f"substr({other}, 1, {URL_HASH_BYTES})"
    low, high = (
        f"CAST({url_hash} || x'{end.hex()}' AS BLOB)" for end in (least, _LAST_RECORD_HASH)
    )
    return f"{fingerprint} BETWEEN {low} AND {high}"


def is_news(fingerprint: str) -> str:
    """Return the SQL condition that a column holds the fingerprint of news."""
    return (
        f"(substr({fingerprint}, {URL_HASH_BYTES + 1}, 1) = x'{NEWS_MARK.hex()}'"
        f" OR substr({fingerprint}, {URL_HASH_BYTES + 1}) = x'{OUTDATED_NEWS.hex()}')"
    )


def _nth_fingerprint(fingerprints: str, position: str) -> str:
    """Return the SQL expression for one fingerprint of a column that holds many."""
    return f"substr({fingerprints}, 1 + {FINGERPRINT_BYTES} * {position}, {FINGERPRINT_BYTES})"


# Two sitemaps often say different things of one page, so the document's own record of a URL counts.
# Another document's record counts only where this one has none, as when a URL has moved.
_COMPARE = f"""
WITH RECURSIVE
    n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count),
    given (i, fingerprint) AS (SELECT i, {_nth_fingerprint(":fingerprints", "i")} FROM n)
SELECT i, EXISTS (
    SELECT 1 FROM url_index
    WHERE site = :site AND {same_url("url_index.fingerprint", "given.fingerprint", OUTDATED)}
)
FROM given
WHERE NOT EXISTS (
    SELECT 1 FROM url_index
    WHERE site = :site AND fingerprint = given.fingerprint AND document = :document
) AND NOT (
    EXISTS (SELECT 1 FROM url_index WHERE site = :site AND fingerprint = given.fingerprint)
    AND NOT EXISTS (
        SELECT 1 FROM url_index
        WHERE site = :site
        AND {same_url("url_index.fingerprint", "given.fingerprint", FIRST_RECORD_HASH)}
        AND document = :document
    )
)
"""
_POSITIONS = """
n (i) AS (
    SELECT 0
    UNION ALL
    SELECT i + 1 FROM n WHERE i + 1 < (
        SELECT max(count) FROM chunk WHERE document IN (SELECT document FROM merge_batch)
    )
)
"""
# CROSS JOIN keeps the order: SQLite would go through the chunks of all sites.
_CHUNKS_OF_BATCH = "merge_batch AS batch CROSS JOIN chunk ON chunk.document = batch.document"
_NTH_OF_CHUNK = _nth_fingerprint("fingerprints", "i")


def is_empty(db: sqlite3.Connection, site: int) -> bool:
    """Return whether the index has no URL of a site."""
    return db.execute("SELECT 1 FROM url_index WHERE site = ? LIMIT 1", (site,)).fetchone() is None


def compare(
    db: sqlite3.Connection, site: int, document: int, fingerprints: bytes
) -> dict[int, Change]:
    """Return the changes of a document's entries, by their position."""
    count = len(fingerprints) // FINGERPRINT_BYTES
    values = {"site": site, "document": document, "fingerprints": fingerprints, "count": count}
    return {
        position: Change.CHANGED if is_known else Change.NEW
        for position, is_known in db.execute(_COMPARE, values)
    }


def forget(
    db: sqlite3.Connection, ids: str, values: Mapping[str, object] | Sequence[object]
) -> None:
    """Forget the documents that a query names by their numbers."""
    if db.execute(f"{ids} LIMIT 1", values).fetchone() is None:
        return
    for table in ("child", "progress", "chunk", "schedule"):
        db.execute(f"DELETE FROM {table} WHERE document IN ({ids})", values)
    db.execute(f"DELETE FROM document WHERE id IN ({ids})", values)


def forget_dropped(
    db: sqlite3.Connection, site: int, ids: str, values: Mapping[str, object]
) -> None:
    """Forget documents; their URLs wait in `gone`, lost in run `since` or later."""
    # -1 is the number of no run: all chunks count as replaced
    db.execute(f"INSERT INTO merge_batch SELECT id, -1, 1 FROM ({ids})", values)
    _merge_batch(db, site)
    db.execute(
        f"UPDATE gone SET run = max(run, :since) WHERE site = :site AND document IN ({ids})",
        values,
    )
    # No other document gets a negative number, as it may get that of a forgotten one.
    for table in ("url_index", "gone"):
        db.execute(
            f"UPDATE OR REPLACE {table} SET document = -document"
            f" WHERE site = :site AND document IN ({ids})",
            values,
        )
    forget(db, ids, values)


def merge(db: sqlite3.Connection, site: int) -> None:
    """Merge all chunks of a site into the index.

    URLs that their document no longer lists go into `gone` too, and stay in the index.
    """
    db.execute(
        "INSERT INTO merge_batch SELECT id, listed_run, EXISTS ("
        " SELECT 1 FROM chunk WHERE chunk.document = document.id AND chunk.run <> listed_run)"
        " OR id IN (SELECT document FROM gone WHERE site = :site)"
        " FROM document WHERE site = :site AND listed_run IS NOT merged_run",
        {"site": site},
    )
    _merge_batch(db, site)


def check_loc(loc: str, fingerprint: bytes) -> str:
    """Return a URL; raise DamageError if a fingerprint is that of another URL."""
    if hash_url(loc) != fingerprint[:URL_HASH_BYTES]:
        raise DamageError("a URL is damaged")
    return loc


def _merge_batch(db: sqlite3.Connection, site: int) -> None:
    """Merge the chunks of the documents in `merge_batch`, and find what these dropped."""
    if db.execute("SELECT 1 FROM merge_batch LIMIT 1").fetchone() is None:
        return
    if db.execute(
        f"SELECT 1 FROM {_CHUNKS_OF_BATCH}"
        " WHERE seal <> seal_chunk(chunk.document, chunk.run, count, fingerprints) LIMIT 1"
    ).fetchone():
        raise DamageError("a list of URLs is damaged")
    _insert_fingerprints(db, f"url_index SELECT {site}, fingerprint, document", replaces=False)
    if db.execute("SELECT 1 FROM merge_batch WHERE replaces LIMIT 1").fetchone():
        _insert_fingerprints(db, "fresh SELECT fingerprint, document", replaces=True)
        _find_gone(db, site)
        db.execute(
            f"INSERT OR IGNORE INTO url_index SELECT {site}, fingerprint, document FROM fresh"
            " ORDER BY fingerprint, document"
        )
        db.execute("DELETE FROM temp.fresh")
    db.execute(
        "UPDATE document SET merged_run = listed_run WHERE id IN (SELECT document FROM merge_batch)"
    )
    db.execute("DELETE FROM temp.merge_batch")


def _insert_fingerprints(db: sqlite3.Connection, target: str, *, replaces: bool) -> None:
    """Insert the newest fingerprints of a merge batch into a table, in its order."""
    db.execute(
        f"WITH RECURSIVE {_POSITIONS},"
        f" unpacked AS (SELECT {_NTH_OF_CHUNK} AS fingerprint, chunk.document AS document"
        f"  FROM {_CHUNKS_OF_BATCH}"
        f"  AND batch.run = chunk.run AND {'' if replaces else 'NOT '}batch.replaces"
        "  CROSS JOIN n WHERE n.i < chunk.count)"
        f" INSERT OR IGNORE INTO {target} FROM unpacked ORDER BY fingerprint, document"
    )


def _find_gone(db: sqlite3.Connection, site: int) -> None:
    """Move the URLs that documents of the merge batch no longer list into `gone`."""
    replaced = "SELECT document FROM merge_batch WHERE replaces"
    db.execute(
        f"INSERT INTO old WITH RECURSIVE {_POSITIONS},"
        f" unpacked AS (SELECT {_NTH_OF_CHUNK} AS fingerprint,"
        "  chunk.document AS document, chunk.id AS chunk, n.i AS i, NULL AS loc, NULL AS run,"
        f"  NULL AS has_left FROM {_CHUNKS_OF_BATCH}"
        "   AND batch.run <> chunk.run AND batch.replaces CROSS JOIN n WHERE n.i < chunk.count"
        "  UNION ALL SELECT fingerprint, document, 0, 0, loc, run, has_left FROM gone"
        f"  WHERE site = {site} AND document IN ({replaced}))"
        " SELECT * FROM unpacked AS o WHERE NOT EXISTS ("
        "  SELECT 1 FROM fresh WHERE fingerprint = o.fingerprint AND document = o.document)"
    )
    db.execute(f"DELETE FROM gone WHERE site = ? AND document IN ({replaced})", (site,))
    changed = (
        "old WHERE EXISTS (SELECT 1 FROM fresh WHERE fresh.document = old.document"
        f" AND {same_url('fresh.fingerprint', 'old.fingerprint')})"
    )
    delete_listed(db, site, changed)  # the URL is still listed, with another record
    db.execute(f"DELETE FROM {changed}")
    unknown = f"old WHERE substr(fingerprint, {URL_HASH_BYTES + 1}) = x'{UNDELIVERED.hex()}'"
    delete_listed(db, site, unknown)  # what was never delivered cannot be reported as removed
    db.execute(f"DELETE FROM {unknown}")
    # Closed, because after an interrupt SQLite refuses everything as long as a query is open.
    with closing(
        db.execute(
            "SELECT chunk, i, fingerprint, document, loc,"
            f" coalesce(nullif(old.run, {UNSEEN}), CASE WHEN merge_batch.run = -1 THEN dropped_run"
            "  WHEN listed_run <= vouched_run THEN vouched_run"
            f"  WHEN window OR {is_news('fingerprint')} THEN listed_run ELSE {UNSEEN} END),"
            f" coalesce(has_left, window > 0 OR {is_news('fingerprint')})"
            " FROM old JOIN merge_batch USING (document) JOIN document ON document.id = document"
            " ORDER BY chunk, i"
        )
    ) as rows:
        db.executemany(
            "INSERT OR REPLACE INTO gone VALUES (?, ?, ?, ?, ?, ?)",
            ((site, *found) for found in _with_locs(db, rows)),
        )
    db.execute(
        f"DELETE FROM chunk WHERE id IN (SELECT chunk.id FROM {_CHUNKS_OF_BATCH}"
        " AND batch.run <> chunk.run AND batch.replaces)"
    )
    db.execute("DELETE FROM temp.old")


def _with_locs(
    db: sqlite3.Connection, rows: Iterable[tuple[int, int, bytes, int, str | None, int, int]]
) -> Iterator[tuple[bytes, int, str, int, int]]:
    """Look up the URLs of fingerprints, a chunk at a time."""
    for chunk, group in groupby(rows, itemgetter(0)):
        locs: list[str] = []
        if chunk:
            (data,) = db.execute("SELECT locs FROM chunk WHERE id = ?", (chunk,)).fetchone()
            locs = unpack_locs(data)
        for _, position, fingerprint, document, loc, run, has_left in group:
            if loc is None and position >= len(locs):
                raise DamageError("a list of URLs is too short")
            found = locs[position] if loc is None else loc
            yield fingerprint, document, check_loc(found, fingerprint), run, has_left


def delete_listed(db: sqlite3.Connection, site: int, rows: str) -> None:
    """Delete from the index what some rows with a fingerprint and a document name."""
    db.execute(
        f"DELETE FROM url_index WHERE site = :site AND (fingerprint, document) IN"
        f" (SELECT fingerprint, document FROM {rows})",
        {"site": site},
    )


def pack_locs(locs: list[str]) -> bytes:
    """Pack URLs into bytes: the common prefix, then the rest of each after a NUL."""
    # Three times as large as deflated, and three times as fast.
    prefix = commonprefix(locs)  # noqa: RUF071 (characters are what is meant)
    start = len(prefix)
    text = "\0".join([prefix, *[loc[start:] for loc in locs]])
    if text.count("\0") != len(locs):  # a URL has a NUL in it
        return json.dumps(locs).encode()
    return text.encode("utf-8", "surrogatepass")


def unpack_locs(data: bytes) -> list[str]:
    """Read URLs that `pack_locs` wrote; raise DamageError for other bytes."""
    if data.startswith(b"["):
        try:
            locs: list[str] = json.loads(data)
        except ValueError as error:
            raise DamageError("a list of URLs is damaged") from error
        return locs
    prefix, *rest = data.decode("utf-8", "surrogatepass").split("\0")
    return [prefix + part for part in rest]
