"""The state of walks in one SQLite file: what each walk read, and how far it came.

For each document it holds the validators, the hash of its body, and the URLs that it listed.
Nothing here fetches or waits: the walker reads the state, and decides when to write.

The public `State` is a file's path, its rules, and queries of what the file holds.
"""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.errors import StateError
from sitemapreader.state.database import connect_reader, wrap_errors
from sitemapreader.state.rows import RemovalRules, as_moment, check_types, read_clock
from sitemapreader.state.schedule import PlannedDocument, plan_documents
from sitemapreader.state.url_index import hash_url
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "DocumentState",
    "PlannedDocument",
    "SiteState",
    "State",
    "name_of_sitemaps",
]

_WEEK = timedelta(days=7)
_RULES = RemovalRules()
_CENTURY = timedelta(days=36_525)
_ROWS = 1_000


_TEXT, _NUMBER, _MOMENT = str | None, int | None, float | None


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
        removed: how many URLs were removed; `None` without `changes`.
        unknown: how many documents hide or delay removals; `None` without `changes`.
        left: how many URLs are known that have left a window, such as a feed.
    """

    name: str
    documents: int
    urls: int
    walked: datetime | None = attrs.field(converter=attrs.converters.optional(as_moment))
    finished: datetime | None = attrs.field(converter=attrs.converters.optional(as_moment))
    complete: bool = attrs.field(converter=bool)
    removed: int | None
    unknown: int | None
    left: int


@attrs.frozen
class DocumentState:
    """The state of one document.

    Attributes:
        site: name of its site.
        url: its URL.
        status: its last status; "" if it is being read.
        reason: why it is not complete.
        format: its format.
        listed: how many URLs it listed.
        children: how many sitemaps it listed.
        read_at: when it was last read or revalidated.
        lastmod: what its index said of it then.
        lastmods: what those of its records look like: "none", "equal" (ten or more), "future" (more
            than a day ahead), "now" (the moment of the request), "rebuilt" (all others, and nothing
            new or gone), "varied"; "now?" and "rebuilt?" until that was seen twice; "" of an index.
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
    read_at: datetime | None = attrs.field(converter=attrs.converters.optional(as_moment))
    lastmod: str | None
    lastmods: str
    etag: str | None
    last_modified: str | None


class State:
    """The memory of walks, in one SQLite file: the argument `state` of `walk`.

    Attributes:
        path: the file; created by the first walk, readable by its owner only.
        revalidate_after: how long to trust an index that says that a child has not changed; then
            the child is revalidated with its server. 0 means always. An index that was wrong about
            more children than right is not trusted.
        rules: the figures of the law of removal, as given: `distrust_after`, how long a server that
            says that a document has not changed is believed before it is asked for all bytes;
            `confirm_after`, how much later a walk must find again that a document has shrunk or is
            named by nothing; `shrunk_from`, how many URLs a document needs to have shrunk by losing
            more than half of them; `left_for`, how long a URL that left a feed is known.
        clock: returns the seconds since 1970; for tests and simulations.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        revalidate_after: timedelta = _WEEK,
        distrust_after: timedelta = _RULES.distrust_after,
        confirm_after: timedelta = _RULES.confirm_after,
        shrunk_from: int = _RULES.shrunk_from,
        left_for: timedelta = _RULES.left_for,
        clock: Callable[[], float] = read_clock,
    ) -> None:
        for name, value in (
            ("revalidate_after", revalidate_after),
            ("distrust_after", distrust_after),
            ("confirm_after", confirm_after),
            ("left_for", left_for),
        ):
            if not timedelta(0) <= value <= _CENTURY:
                raise ValueError(f"{name} must be a timedelta from zero to a hundred years")
        if shrunk_from < 1:
            raise ValueError("shrunk_from must be a number of URLs, at least 1")
        self.path = Path(path)
        self.revalidate_after = revalidate_after
        self.clock = clock
        self.rules = RemovalRules(confirm_after, shrunk_from, left_for, distrust_after)

    def __repr__(self) -> str:
        return f"State({str(self.path)!r})"

    def sites(self) -> list[SiteState]:
        """Return what the state holds of each site; raise StateError if there is no file."""
        rows = self._read(
            (str, int, int, _MOMENT, _MOMENT, _NUMBER, _NUMBER, _NUMBER, int),
            "SELECT site.name,"
            " (SELECT count(*) FROM document WHERE document.site = site.id),"
            " (SELECT coalesce(sum(chunk.count), 0) FROM document JOIN chunk ON"
            "  chunk.document = document.id AND chunk.run = document.listed_run"
            "  WHERE document.site = site.id),"
            " run.began, run.ended, run.complete, run.removed,"
            " CASE WHEN run.removed IS NOT NULL THEN"
            "  (SELECT count(*) FROM document WHERE document.site = site.id"
            "   AND document.unknown IS NOT NULL) END,"
            " (SELECT count(*) FROM gone WHERE gone.site = site.id AND has_left)"
            " FROM site LEFT JOIN run ON run.id = (SELECT max(id) FROM run WHERE site = site.id)"
            " ORDER BY site.name",
        )
        with wrap_errors(self.path):
            return [SiteState(*row) for row in rows]

    def documents(self) -> Iterator[DocumentState]:
        """Yield what the state holds of each document, sorted by site and URL."""
        rows = self._read(
            (str, str, str, str, _TEXT, int, int, _MOMENT, _TEXT, str, _TEXT, _TEXT),
            "SELECT site.name, url, status, reason, format, entries, children, read_at, lastmod,"
            " lastmods, etag, last_modified FROM document JOIN site ON site.id = document.site"
            " ORDER BY site.name, url",
        )
        with wrap_errors(self.path):
            for row in rows:
                yield DocumentState(*row)

    def removed(self, site: str | None = None) -> Iterator[str]:
        """Yield the URLs that no document lists any more, as the last walk found.

        Needs a walk with `changes=True`. `site` chooses one site of several; for sitemaps that
        were walked without a site it is their `name_of_sitemaps`. Documents that were not read to
        their end have no removed URLs here: see `removals_unknown`.
        """
        key_of_site = None if site is None else url_key(site)
        for key, loc in self._read(
            (bytes, str),
            "SELECT key, loc FROM removed JOIN site ON site.id = removed.site"
            " WHERE :key IS NULL OR site.name IN (:key, :site) ORDER BY site.name, loc",
            {"key": key_of_site, "site": site},
        ):
            if key != hash_url(loc):
                raise StateError(self.path, "a URL in it is damaged: walk again, which replaces it")
            yield loc

    def removals_unknown(self, site: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield the documents whose removals the last walk could not determine, and why.

        The reason is that of the document's outcome, or "shrunk" (it lost too many URLs at once),
        "dropped" (nothing names it any more), "unconfirmed" (its server says that it has not
        changed; the next walk reads it) or "unread". `site` is as in `removed`.
        """
        key_of_site = None if site is None else url_key(site)
        yield from self._read(
            (str, str),
            "SELECT url, unknown FROM document JOIN site ON site.id = document.site"
            " JOIN run ON run.id = (SELECT max(id) FROM run WHERE site = site.id)"
            " WHERE (:key IS NULL OR site.name IN (:key, :site)) AND run.removed IS NOT NULL"
            " AND unknown IS NOT NULL ORDER BY site.name, url",
            {"key": key_of_site, "site": site},
        )

    def plan(self, number: int, now: float | None = None) -> list[PlannedDocument]:
        """Return the documents that `revisit` would request, most waiting first.

        If they are fewer, those that rest follow, and `due` says until when. Nothing is requested.
        `now` is in seconds since 1970; by default it is the present.
        """
        if number < 1:
            raise ValueError("number must be a number of documents, at least 1")
        with closing(connect_reader(self.path)) as db, wrap_errors(self.path):
            return plan_documents(db, number, self.clock() if now is None else now)

    def _read(
        self, kinds: tuple[Any, ...], sql: str, values: Mapping[str, object] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; raise StateError for values of wrong types."""
        with closing(connect_reader(self.path)) as connection, wrap_errors(self.path):
            cursor = connection.execute(sql, values or {})
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    check_types(row, kinds)
                    yield row


def name_of_sitemaps(urls: Iterable[str]) -> str:
    """Return the name in the state of sitemaps that are walked together."""
    return " ".join(sorted({url_key(url) for url in urls}))
