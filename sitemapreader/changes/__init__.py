"""The state of walks in one SQLite file: the documents of each walk, and its progress.

For each document it holds the validators, the hash of its body, and the URLs that it listed.
`gone.py` alone requests pages, by the client of the walk; nothing else here fetches. The walk reads
the state, and decides when to write.

The public `State` is a file's path, its rules, and queries of what the file holds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from sitemapreader._types.errors import StateError
from sitemapreader._types.fields import bounded
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.urls import url_key
from sitemapreader._walk.memory import GonePage, UnlistedUrl
from sitemapreader.changes.database import UrlKind, open_reader
from sitemapreader.changes.law import find_waited
from sitemapreader.changes.rows import (
    REMOVALS,
    UNLISTED_COLUMNS,
    Rules,
    as_moment,
    find_documents,
    make_unlisted,
    name_of_sitemaps,
    nanoseconds,
    read_clock,
)
from sitemapreader.changes.schedule import PlannedDocument, plan_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sitemapreader._walk.config import WalkConfig
    from sitemapreader._walk.context import Batch
    from sitemapreader._walk.memory import RemovalKind, WalkMemory
    from sitemapreader._walk.stream import Channel

__all__ = [
    "DocumentState",
    "GonePage",
    "PlannedDocument",
    "SiteState",
    "State",
    "StateError",
    "UnlistedUrl",
    "name_of_sitemaps",
]

T = TypeVar("T")

_length = bounded(timedelta(0), timedelta(days=36_525), "timedelta(days=1)")
_ROWS_OF_PAGE = 1_000


_IS_DEAD_ONCE = "page.site = site.id AND dead_at IS NOT NULL AND NOT is_gone"


@attrs.frozen
class SiteState:
    """The state of one site, or of one set of sitemaps that are walked together.

    Attributes:
        name: its URL, or those of the sitemaps.
        documents: how many documents are known.
        urls: how many URLs they list, summed over documents; 0 without a walk with `changes`.
        walked: when the last walk began.
        finished: when it ended; `None` if it was interrupted and can be resumed.
        complete: whether it read everything.
        unlisted: how many URLs are known to be so; `None` if the last walk had no `changes`.
        waiting: how many may become so: they wait for a second day, or for a document that cannot
            be read; `None` without `changes`.
        left: how many URLs are known that have left a window, such as a feed.
        gone: how many missing URLs are known whose page is gone; some may be unlisted, too.
        dead_once: how many missing URLs have a page that responded with 404 or 410, and is not yet
            known to be gone.
        dead_once_due: from when the first of these pages is requested again; `None` if there is
            none.
    """

    name: str
    documents: int
    urls: int
    walked: datetime | None = attrs.field(
        converter=attrs.converters.optional(as_moment)
    )
    finished: datetime | None = attrs.field(
        converter=attrs.converters.optional(as_moment)
    )
    complete: bool = attrs.field(converter=bool)
    unlisted: int | None
    waiting: int | None
    left: int
    gone: int
    dead_once: int
    dead_once_due: datetime | None = attrs.field(
        converter=attrs.converters.optional(as_moment)
    )


@attrs.frozen
class DocumentState:
    """The state of one document.

    Attributes:
        site: name of its site.
        url: its URL.
        status: its last status; "" if no walk has come to its end.
        reason: why it is not complete.
        format: its format.
        listed: how many URLs it listed.
        children: how many sitemaps it listed.
        read_at: when it was last read or revalidated.
        lastmod: what its index said of it then.
        etag: validator, as sent.
        last_modified: the other validator, as sent.
    """

    site: str
    url: str
    status: str
    reason: str
    format: str | None
    listed: int
    children: int
    read_at: datetime | None = attrs.field(
        converter=attrs.converters.optional(as_moment)
    )
    lastmod: str | None
    etag: str | None
    last_modified: str | None


@attrs.define(eq=False, repr=False)
class State:
    """The memory of walks, in one SQLite file: the argument `state` of `walk`.

    Attributes:
        path: the file; created by the first walk, readable by its owner only.
        revalidate_after: how long to trust an index that says that a child has not changed; then
            the child is revalidated with its server. 0 means always. An index that was wrong about
            more children than right is not trusted.
        distrust_after: how long a server that says that a document has not changed is believed
            before it is asked for all bytes.
        verify_after: within which time a document that is believed unchanged is read in full while
            a missing URL waits for it.
        confirm_after: how far apart the two readings of each document are by which a URL is
            unlisted.
        clock: returns the seconds since 1970; for tests and simulations.
    """

    path: Path = attrs.field(converter=Path)
    revalidate_after: timedelta = attrs.field(
        default=timedelta(days=7), kw_only=True, validator=_length
    )
    distrust_after: timedelta = attrs.field(
        default=timedelta(days=30), kw_only=True, validator=_length
    )
    verify_after: timedelta = attrs.field(
        default=timedelta(days=7), kw_only=True, validator=_length
    )
    confirm_after: timedelta = attrs.field(
        default=timedelta(hours=23), kw_only=True, validator=_length
    )
    clock: Callable[[], float] = attrs.field(default=read_clock, kw_only=True)

    def __repr__(self) -> str:
        return f"State({str(self.path)!r})"

    def sites(self) -> list[SiteState]:
        """Return the recorded sites; raise StateError if there is no file."""
        return list(
            self._read(
                SiteState,
                "SELECT name,"
                " (SELECT count(*) FROM document WHERE document.site = site.id),"
                " (SELECT ifnull(sum(entries), 0) FROM document"
                "  WHERE document.site = site.id AND is_saved),"
                " began, ended, ifnull(complete, 0), iif(unlisted IS NULL, NULL,"
                "  (SELECT count(*) FROM page WHERE page.site = site.id AND is_unlisted)), waiting,"
                " (SELECT count(*) FROM url WHERE url.site = site.id AND kind IN"
                f" ({UrlKind.WINDOW:d}, {UrlKind.DELETED:d})"
                "  AND lost_stamp IS NOT NULL),"
                " (SELECT count(*) FROM page WHERE page.site = site.id AND is_gone),"
                f" (SELECT count(*) FROM page WHERE {_IS_DEAD_ONCE}),"
                f" (SELECT min(due) FROM page WHERE {_IS_DEAD_ONCE})"
                " FROM site ORDER BY name",
            )
        )

    def documents(self) -> Iterator[DocumentState]:
        """Yield the recorded documents, sorted by site and URL."""
        return self._read(
            DocumentState,
            "SELECT site.name, url, status, reason, format, entries, children, read_at, lastmod,"
            " etag, last_modified FROM document JOIN site ON site.id = document.site"
            " ORDER BY site.name, url",
        )

    def unlisted(self, site: str | None = None) -> Iterator[UnlistedUrl]:
        """Yield the URLs that no document lists any more, sorted; nothing is requested.

        Needs walks with `Changes`. `site` chooses one site of several; for sitemaps that were
        walked without a site it is their `name_of_sitemaps`.
        """
        return self._list_pages("unlisted", site)

    def gone(self, site: str | None = None) -> Iterator[GonePage]:
        """Yield the missing URLs whose page is known to be gone; else as `unlisted`."""
        return self._list_pages("gone", site)

    def waiting(self, site: str | None = None) -> Iterator[UnlistedUrl]:
        """Yield the URLs that are missing and wait to be unlisted, with the reason of the wait."""
        sql = (
            f"SELECT {UNLISTED_COLUMNS}, site.id,"
            " begin_stamp, days, confirm_after, (SELECT ifnull(max(lost_stamp), 0) FROM url"
            "  WHERE url.site = page.site AND url.key = page.key"
            f" AND +kind = {UrlKind.LIST:d})"
            " FROM page JOIN site ON site.id = page.site WHERE NOT is_unlisted"
            " AND (:key IS NULL OR site.name IN (:key, :site)) ORDER BY site.name, loc"
        )
        values = {"key": site and url_key(site), "site": site}
        with open_reader(self.path) as db:
            waited: dict[tuple[int, int], tuple[str, datetime]] = {}
            for *row, number, run, days, least, lost in db.execute(sql, values):
                name = row[4]
                if (number, lost) not in waited:
                    found = find_waited(db, number, run, days, lost, least)
                    waited[number, lost] = found
                url, until = waited[number, lost]
                yield attrs.evolve(
                    make_unlisted(*row), waits_for=url or name, waits_until=until
                )

    def _list_pages(self, what: RemovalKind, site: str | None) -> Iterator[Any]:
        make, columns, condition, _ = REMOVALS[what]
        return self._read(
            make,
            f"SELECT {columns} FROM page JOIN site ON site.id = page.site WHERE {condition}"
            " AND (:key IS NULL OR site.name IN (:key, :site)) ORDER BY site.name, loc",
            key=site and url_key(site),
            site=site,
        )

    def find_documents(self, urls: Iterable[str]) -> dict[str, set[str]]:
        """Return for each URL the documents that listed it when they were read last.

        Needs walks with `Changes`. URLs are compared as they are written.
        """
        with open_reader(self.path) as db:
            return find_documents(db, urls)

    def plan(self, number: int, now: float | None = None) -> list[PlannedDocument]:
        """Return the documents that `revisit` would request, most waiting first.

        If they are fewer, those that rest follow, and `due` says until when. Nothing is requested.
        `now` is in seconds since 1970; by default it is the present.
        """
        if number < 1:
            raise ValueError("number must be at least 1")
        with open_reader(self.path) as db:
            moment = self.clock() if now is None else now
            return plan_documents(db, number, moment, self.verify_after.total_seconds())

    def open_memory(self, settings: WalkConfig, channel: Channel[Batch]) -> WalkMemory:
        """Open the memory of a walk; raise StateError if the file cannot be used."""
        from sitemapreader.changes.state_memory import StateMemory  # noqa: PLC0415 (for walks)

        rules = Rules(
            self.path,
            self.clock,
            nanoseconds(self.revalidate_after),
            nanoseconds(self.distrust_after),
            nanoseconds(self.verify_after),
            nanoseconds(self.confirm_after),
        )
        return StateMemory(rules, settings, channel)

    def _read(
        self,
        make: Callable[..., T],
        sql: str,
        **values: object,
    ) -> Iterator[T]:
        """Yield the rows of a query as values."""
        with open_reader(self.path) as connection:
            cursor = connection.execute(sql, values)
            while rows := cursor.fetchmany(_ROWS_OF_PAGE):
                yield from [make(*row) for row in rows]


_OF_WALKS = {
    name: f"walk(site, state=state, {name}=...)"
    for name in ("options", "limits", "changes")
}
"""Arguments of a walk, which are none of its memory."""
State.__init__ = answer_keywords(_OF_WALKS)(State.__init__)  # type: ignore[method-assign]
