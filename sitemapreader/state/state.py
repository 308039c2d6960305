"""State: the file as its user names it, and what can be read in it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.state.file import connect_reader, explaining
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WEEK = timedelta(days=7)
_ROWS = 1_000


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


@attrs.frozen
class SiteState:
    """What the state holds of one site, or of one set of sitemaps that is walked.

    Attributes:
        name: its URL, or those of the sitemaps.
        documents: how many are known of it.
        urls: how many URLs they list, each counted once a document; 0 if no walk asked for changes.
        walked: when the last walk began.
        finished: when it ended; `None` if it was stopped, and will be gone on with.
        complete: whether it read all.
        removed: how many URLs it found to be gone; `None` where that is not known.
    """

    name: str
    documents: int
    urls: int
    walked: datetime | None = attrs.field(converter=_moment)
    finished: datetime | None = attrs.field(converter=_moment)
    complete: bool = attrs.field(converter=bool)
    removed: int | None


@attrs.frozen
class DocumentState:
    """What the state holds of one document.

    Attributes:
        site: the name of the site that it belongs to.
        url: its address.
        status: how it ended when it was last met; "" if it is being read.
        reason: why, where it is not complete.
        format: what it was.
        listed: how many URLs it listed.
        children: how many sitemaps.
        read_at: when the server last vouched for this.
        lastmod: what its index said of it then.
        etag: its validator.
        last_modified: the other one.
    """

    site: str
    url: str
    status: str
    reason: str
    format: str | None
    listed: int
    children: int
    read_at: datetime | None = attrs.field(converter=_moment)
    lastmod: str | None
    etag: str | None
    last_modified: str | None


class State:
    """The memory of walks, in one SQLite file: give it to `walk` as `state`, or only its path.

    Attributes:
        path: the file; made by the first walk, readable by its owner only.
        revalidate_after: the longest time that an index is believed which says that a child has
            not changed; then the child's server is asked. 0 never believes it.
    """

    def __init__(self, path: str | Path, *, revalidate_after: timedelta = _WEEK) -> None:
        if revalidate_after < timedelta(0):
            raise ValueError("revalidate_after must be a timedelta of zero or more")
        self.path = Path(path)
        self.revalidate_after = revalidate_after

    def __repr__(self) -> str:
        return f"State({str(self.path)!r})"

    def sites(self) -> list[SiteState]:
        """Return what is held of each site; raise StateError if there is no such file."""
        rows = self._read(
            "SELECT site.name,"
            " (SELECT count(*) FROM document WHERE document.site = site.id),"
            " (SELECT coalesce(sum(chunk.count), 0) FROM document JOIN chunk ON"
            "  chunk.document = document.id AND chunk.run = document.listed_run"
            "  WHERE document.site = site.id),"
            " run.began, run.ended, run.complete, run.removed"
            " FROM site LEFT JOIN run ON run.id = (SELECT max(id) FROM run WHERE site = site.id)"
            " ORDER BY site.name"
        )
        return [SiteState(*row) for row in rows]

    def documents(self) -> Iterator[DocumentState]:
        """Yield what is held of each document, by its site and URL."""
        for row in self._read(
            "SELECT site.name, url, status, reason, format, entries, children, read_at, lastmod,"
            " etag, last_modified FROM document JOIN site ON site.id = document.site"
            " ORDER BY site.name, url"
        ):
            yield DocumentState(*row)

    def removed(self, site: str | None = None) -> Iterator[str]:
        """Yield the URLs that the last walk found to be gone: none lists them any more.

        `site` is the URL of one that was walked, where the file holds several; for sitemaps that
        were named, `name_of_sitemaps` of them. Only a complete walk with `changes=True` can tell,
        so after another one there are none; `SiteState.removed` says which it was.
        """
        name = None if site is None else url_key(site)
        for (loc,) in self._read(
            "SELECT loc FROM removed JOIN site ON site.id = removed.site"
            " WHERE ?1 IS NULL OR site.name IN (?1, ?2) ORDER BY site.name, loc",
            (name, site),
        ):
            yield loc

    def _read(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        with closing(connect_reader(self.path)) as connection, explaining(self.path):
            cursor = connection.execute(sql, values)
            while rows := cursor.fetchmany(_ROWS):
                yield from rows


def name_of_sitemaps(urls: Iterable[str]) -> str:
    """Return the name under which a state holds a set of sitemaps that are walked together."""
    return " ".join(sorted({url_key(url) for url in urls}))
