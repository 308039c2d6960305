"""Unlisted URLs, and what their pages answered: the table `page`.

A page is asked when its URL is unlisted, and again after 1, 2, 4 ... 32 days, until it is gone or
listed again; what is due longest comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from sitemapreader.state.rows import as_moment

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from sitemapreader.state.rows import Run

_DAY = 86_400.0
_LAST_TRY = 5
"""Tries after which the pause grows no more: 32 days."""
GONE = frozenset({404, 410})
_ROWS = 500
_CONTROLS = 3


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


def find_folder(loc: str) -> str:
    """Return the beginning of a URL up to its first folder; else up to its host."""
    host = loc.find("/", 8) + 1
    if not host:
        return f"{loc}/"
    return loc[: loc.find("/", host) + 1 or host]


def _find_host(loc: str) -> str:
    return loc[: loc.find("/", 8) + 1]


Told: TypeAlias = Literal["unlisted", "gone"]
TELLING: dict[Told, tuple[type[UnlistedUrl | GonePage], str, str]] = {
    "unlisted": (UnlistedUrl, "loc, since, document, why", "TRUE"),
    "gone": (GonePage, "loc, document, status, asked_at, since", "due IS NULL"),
}
"""For each word what is told, in which columns it is, and the condition of its rows."""


def find_untold(db: sqlite3.Connection, run: Run, what: Told) -> list[tuple[bytes, Any]]:
    """Return some of what is unlisted or gone and was not delivered as such, by keys."""
    make, columns, condition = TELLING[what]
    rows = db.execute(
        f"SELECT key, {columns} FROM page WHERE site = ? AND {condition} AND NOT told_{what}"
        f" ORDER BY key LIMIT {_ROWS}",
        (run.site,),
    )
    return [(key, make(*values)) for key, *values in rows]


def tell(db: sqlite3.Connection, run: Run, what: Told, keys: Iterable[bytes]) -> None:
    """Record, in a transaction, that URLs were delivered as unlisted or gone."""
    sql = f"UPDATE page SET told_{what} = 1 WHERE site = ? AND key = ?"
    db.executemany(sql, ((run.site, key) for key in keys))


def find_due(db: sqlite3.Connection, run: Run, now: float, limit: int) -> list[DuePage]:
    """Return the pages that are due, the longest first."""
    sql = "SELECT key, loc FROM page WHERE site = ? AND due <= ? ORDER BY due, key LIMIT ?"
    return [DuePage(*row) for row in db.execute(sql, (run.site, now, limit))]


def find_controls(
    db: sqlite3.Connection, run: Run, folders: Collection[str]
) -> dict[str, list[str]]:
    """Return up to three listed URLs of each folder; else of its host, else its start."""
    of_folders: dict[str, list[str]] = {each: [] for each in folders}
    of_hosts: dict[str, list[str]] = {_find_host(each): [] for each in folders}
    rows = db.execute("SELECT loc FROM url WHERE site = ? AND lost_run IS NULL", (run.site,))
    for (loc,) in rows:
        for listed in (of_folders.get(find_folder(loc)), of_hosts.get(_find_host(loc))):
            if listed is not None and len(listed) < _CONTROLS and loc not in listed:
                listed.append(loc)
    return {
        each: listed or of_hosts[_find_host(each)] or [_find_host(each)]
        for each, listed in of_folders.items()
    }


def save_answers(
    db: sqlite3.Connection, run: Run, now: float, answers: Iterable[tuple[bytes, int | None]]
) -> None:
    """Record, in a transaction, what pages answered."""
    for key, status in answers:
        db.execute(
            "UPDATE page SET status = ?, asked_at = ?, tries = tries + 1,"
            f" due = iif(?, NULL, ? + (1 << min(tries, {_LAST_TRY})) * {_DAY})"
            " WHERE site = ? AND key = ?",
            (status, now, status in GONE, now, run.site, key),
        )
