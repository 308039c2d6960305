"""Unlisted URLs, and what their pages answered: the table `page`.

A page is asked when its URL is unlisted, and again after 1, 2, 4 ... 32 days, until it is gone or
listed again; what is due longest comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.state.rows import as_moment

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable
    from datetime import datetime

UNLISTED_COLUMNS = "loc, since, document, why"
GONE_COLUMNS = "loc, document, status, asked_at, since"
_DAY = 86_400.0
_LAST_TRY = 5
"""Tries after which the pause grows no more: 32 days."""
GONE = frozenset({404, 410})
_ROWS = 500


@attrs.frozen
class UnlistedUrl:
    """A URL that was delivered, and that no document lists any more.

    Attributes:
        loc: the URL.
        since: when the first reading without it began.
        document: the last document that listed it.
        why: "missing" (the document was read without it), "unnamed" (nothing names the document any
            more) or "deleted" (its record says so).
    """

    loc: str
    since: datetime = attrs.field(converter=as_moment)
    document: str
    why: str


@attrs.frozen
class GonePage:
    """A URL that is unlisted, and whose page answered that it is gone.

    Attributes:
        loc: the URL.
        document: the last document that listed it.
        http_status: what its page answered: 404 or 410.
        asked_at: when.
        unlisted_since: as `UnlistedUrl.since`.
    """

    loc: str
    document: str
    http_status: int
    asked_at: datetime = attrs.field(converter=as_moment)
    unlisted_since: datetime = attrs.field(converter=as_moment)


@attrs.frozen
class DuePage:
    """A page that is to be asked."""

    key: bytes
    loc: str
    since: float


_HOST = "8 + instr(substr(loc, 9), '/')"
_FOLDERS = f"substr(loc, 1, {_HOST} + instr(substr(loc, 1 + {_HOST}), '/'))"
_HOSTS = f"substr(loc, 1, {_HOST})"
"""SQL of the first folder of a URL, as `find_folder` gives it, and of its host."""


def find_folder(loc: str) -> str:
    """Return the beginning of a URL up to its first folder; else up to its host."""
    host = loc.find("/", 8) + 1
    if not host:
        return f"{loc}/"
    return loc[: loc.find("/", host) + 1 or host]


def find_untold(
    db: sqlite3.Connection, site: int, after: bytes = b""
) -> list[tuple[bytes, UnlistedUrl]]:
    """Return some of the URLs that became unlisted and were not delivered as such."""
    rows = db.execute(
        f"SELECT key, {UNLISTED_COLUMNS} FROM page"
        f" WHERE site = ? AND key > ? AND NOT told_unlisted ORDER BY key LIMIT {_ROWS}",
        (site, after),
    )
    return [(key, UnlistedUrl(*values)) for key, *values in rows]


def find_untold_gone(
    db: sqlite3.Connection, site: int, after: bytes = b""
) -> list[tuple[bytes, GonePage]]:
    """Return some of the pages that are gone and were not delivered as such."""
    rows = db.execute(
        f"SELECT key, {GONE_COLUMNS} FROM page"
        f" WHERE site = ? AND key > ? AND due IS NULL AND NOT told_gone ORDER BY key LIMIT {_ROWS}",
        (site, after),
    )
    return [(key, GonePage(*values)) for key, *values in rows]


def tell(db: sqlite3.Connection, site: int, what: str, keys: Iterable[bytes]) -> None:
    """Record, in a transaction, that URLs were delivered as `unlisted` or `gone`."""
    sql = f"UPDATE page SET told_{what} = 1 WHERE site = ? AND key = ?"
    db.executemany(sql, ((site, key) for key in keys))


def find_due(db: sqlite3.Connection, site: int, now: float, limit: int) -> list[DuePage]:
    """Return the pages that are due, the longest first."""
    sql = "SELECT key, loc, since FROM page WHERE site = ? AND due <= ? ORDER BY due, key LIMIT ?"
    return [DuePage(*row) for row in db.execute(sql, (site, now, limit))]


def find_controls(
    db: sqlite3.Connection, site: int, folders: Collection[str]
) -> dict[str, list[str]]:
    """Return up to three listed URLs of each folder; else of its host, else its start."""
    found = _find_listed(db, site, _FOLDERS, folders)
    missing = {each: each[: each.find("/", 8) + 1] for each in folders if each not in found}
    of_host = _find_listed(db, site, _HOSTS, set(missing.values())) if missing else {}
    return found | {each: of_host.get(host, [host]) for each, host in missing.items()}


def _find_listed(
    db: sqlite3.Connection, site: int, prefix: str, wanted: Collection[str]
) -> dict[str, list[str]]:
    db.execute("DELETE FROM temp.place")
    db.executemany("INSERT OR IGNORE INTO temp.place VALUES (?)", ((each,) for each in wanted))
    # By one scan: the least, the greatest, and the one that SQLite happens to see.
    rows = db.execute(
        "SELECT prefix, min(loc), max(loc), loc FROM url"
        f" CROSS JOIN temp.place ON prefix = {prefix}"
        " WHERE site = ? AND lost_run IS NULL GROUP BY prefix",
        (site,),
    )
    return {prefix: list(dict.fromkeys(locs)) for prefix, *locs in rows}


def save_answers(
    db: sqlite3.Connection, site: int, now: float, answers: Iterable[tuple[bytes, int | None]]
) -> None:
    """Record, in a transaction, what pages answered."""
    for key, status in answers:
        db.execute(
            "UPDATE page SET status = ?, asked_at = ?, tries = tries + 1,"
            f" due = iif(?, NULL, ? + (1 << min(tries, {_LAST_TRY})) * {_DAY})"
            " WHERE site = ? AND key = ?",
            (status, now, status in GONE, now, site, key),
        )
