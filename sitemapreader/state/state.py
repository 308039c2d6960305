"""State: the file as its user names it, and what can be read in it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.errors import StateError
from sitemapreader.state.database import DamageError, connect_reader, wrap_errors
from sitemapreader.state.fingerprints import hash_url
from sitemapreader.state.rows import REMOVALS_UNKNOWN, check_types
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WEEK = timedelta(days=7)
_ROWS = 1_000


_UNKNOWN = REMOVALS_UNKNOWN.replace(":run", "run.id")
_TEXT, _NUMBER, _MOMENT = str | None, int | None, float | None


def _moment(seconds: float | None) -> datetime | None:
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OSError, OverflowError, ValueError):
        raise DamageError(f"{seconds} is no time") from None


@attrs.frozen
class SiteState:
    """What the state holds of one site, or of one set of sitemaps that is walked.

    Attributes:
        name: its URL, or those of the sitemaps.
        documents: how many are known of it.
        urls: how many URLs they list, each counted once a document; 0 if no walk asked for changes.
        walked: when the last walk began.
        finished: when it ended; `None` if it was stopped, and will be resumed.
        complete: whether it read all.
        removed: how many URLs it found to be gone; `None` if it did not compare.
        unknown: how many documents it did not read to their end, so that what is gone of these is
            not known; `None` if it did not compare.
    """

    name: str
    documents: int
    urls: int
    walked: datetime | None = attrs.field(converter=_moment)
    finished: datetime | None = attrs.field(converter=_moment)
    complete: bool = attrs.field(converter=bool)
    removed: int | None
    unknown: int | None


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
            (str, int, int, _MOMENT, _MOMENT, _NUMBER, _NUMBER, _NUMBER),
            "SELECT site.name,"
            " (SELECT count(*) FROM document WHERE document.site = site.id),"
            " (SELECT coalesce(sum(chunk.count), 0) FROM document JOIN chunk ON"
            "  chunk.document = document.id AND chunk.run = document.listed_run"
            "  WHERE document.site = site.id),"
            " run.began, run.ended, run.complete, run.removed,"
            " CASE WHEN run.removed IS NOT NULL THEN"
            f"  (SELECT count(*) FROM document WHERE document.site = site.id AND {_UNKNOWN}) END"
            " FROM site LEFT JOIN run ON run.id = (SELECT max(id) FROM run WHERE site = site.id)"
            " ORDER BY site.name",
        )
        with wrap_errors(self.path):
            return [SiteState(*row) for row in rows]

    def documents(self) -> Iterator[DocumentState]:
        """Yield what is held of each document, by its site and URL."""
        rows = self._read(
            (str, str, str, str, _TEXT, int, int, _MOMENT, _TEXT, _TEXT, _TEXT),
            "SELECT site.name, url, status, reason, format, entries, children, read_at, lastmod,"
            " etag, last_modified FROM document JOIN site ON site.id = document.site"
            " ORDER BY site.name, url",
        )
        with wrap_errors(self.path):
            for row in rows:
                yield DocumentState(*row)

    def removed(self, site: str | None = None) -> Iterator[str]:
        """Yield the URLs that the last walk found to be gone: no document lists them any more.

        `site` is the URL of one that was walked, where the file holds several; for sitemaps that
        were named, `name_of_sitemaps` of them. It takes a walk with `changes=True`. What is gone of
        documents that it could not read to their end is not known: see `removals_unknown`.
        """
        name = None if site is None else url_key(site)
        for key, loc in self._read(
            (bytes, str),
            "SELECT key, loc FROM removed JOIN site ON site.id = removed.site"
            " WHERE ?1 IS NULL OR site.name IN (?1, ?2) ORDER BY site.name, loc",
            (name, site),
        ):
            if key != hash_url(loc):
                raise StateError(self.path, "a URL in it is damaged; the next walk writes it anew")
            yield loc

    def removals_unknown(self, site: str | None = None) -> Iterator[str]:
        """Yield the documents of which the last walk does not know what is gone.

        It did not read them to their end: they failed, or were left out. `site` is as in `removed`.
        """
        name = None if site is None else url_key(site)
        for (url,) in self._read(
            (str,),
            "SELECT url FROM document JOIN site ON site.id = document.site"
            " JOIN run ON run.id = (SELECT max(id) FROM run WHERE site = site.id)"
            f" WHERE (?1 IS NULL OR site.name IN (?1, ?2)) AND run.removed IS NOT NULL"
            f" AND {_UNKNOWN} ORDER BY site.name, url",
            (name, site),
        ):
            yield url

    def _read(
        self, kinds: tuple[Any, ...], sql: str, values: tuple[object, ...] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield rows whose values have the types that they should."""
        with closing(connect_reader(self.path)) as connection, wrap_errors(self.path):
            cursor = connection.execute(sql, values)
            while rows := cursor.fetchmany(_ROWS):
                for row in rows:
                    check_types(row, kinds)
                    yield row


def name_of_sitemaps(urls: Iterable[str]) -> str:
    """Return the name under which a state holds a set of sitemaps that are walked together."""
    return " ".join(sorted({url_key(url) for url in urls}))
