"""The newest URLs of a site, and whether it is proven that no others are newer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs

from sitemapreader._event_loop import without_await
from sitemapreader._types.arguments import Follow
from sitemapreader._types.dates import TOLERANCE, latest_moment
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.models import SitemapEntry, UrlEntry
from sitemapreader._types.options import check_count
from sitemapreader._types.outcomes import NOT_NEWER, OVER_LIMIT
from sitemapreader._types.urls import url_key
from sitemapreader._walk.config import make_config
from sitemapreader._walk.walks import Walk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sitemapreader._types.arguments import Search, TakeChild
    from sitemapreader._types.dates import When
    from sitemapreader._types.options import FetchOptions, Limits
    from sitemapreader._walk.config import OnDocument, Sitemaps
    from sitemapreader._walk.report import Report
    from sitemapreader._walk.selection import Patterns, Scope, Undated
    from sitemapreader.fetch.client import Fetcher

_SPARE = 1_000
"""Entries that may wait to be compared."""
_WRITING_TIME = timedelta(minutes=2)
"""A file is made in less; dates of its making do not differ by more."""
_LEAST_URLS = 10
"""Fewer may be of one moment by chance."""


@attrs.frozen(eq=False)
class Newest:
    """The newest URLs of a site.

    Attributes:
        entries: newest first by their `date`, each URL once.
        proven: whether no other URL that has a date is newer: each sitemap that was not read is
            dated before the last of these, and none that was read had a URL newer than its own date
            in the index.
        reason: why it is not proven: "dates-exceeded", "undated-sitemaps", "equal-dates" (of all
            sitemaps), "documents-limit", "equal-lastmods" (of the newest URLs, of ten at least),
            "now-lastmods" (of all that were asked for), "future-lastmods" (of any),
            "undated-urls" (there are fewer with a date than were asked for), or the reason of the
            walk's outcome; "" if it is.
        documents: how many sitemaps were asked for.
        undated: how many URLs had no date, and are not among the entries.
        future: how many had one more than a day ahead; so they are not either.
        report: of the walk.
    """

    entries: tuple[UrlEntry, ...]
    proven: bool
    reason: str
    documents: int
    undated: int
    future: int
    report: Report


class _NewestEntries:
    """The newest entries so far, each URL once."""

    def __init__(self, number: int) -> None:
        self.best: list[UrlEntry] = []
        self.undated = 0
        self.future = 0
        self.floor: datetime | None = None
        """The date of the last one of the requested number."""
        self._number = number
        self._horizon = datetime.now(UTC) + TOLERANCE
        self._began = datetime.now(UTC) - _WRITING_TIME

    def add(self, entry: UrlEntry) -> None:
        """Compare an entry with the newest."""
        date = entry.date
        if date is None:
            self.undated += 1
        elif date > self._horizon:
            self.future += 1
        elif self.floor is None or date > self.floor:
            self.best.append(entry)
            if len(self.best) > self._number + _SPARE:
                self.sort()

    def sort(self) -> None:
        """Keep the newest."""
        ranked = sorted(self.best, key=attrgetter("date"), reverse=True)
        newest: dict[str, UrlEntry] = {}
        for entry in ranked:
            newest.setdefault(url_key(entry.loc), entry)
        kept = max(self._number, _LEAST_URLS)
        self.best = list(newest.values())[:kept]
        if len(self.best) >= self._number:
            self.floor = self.best[self._number - 1].date

    def find_doubt(self) -> str:
        """Return why their dates prove nothing, or ""."""
        if self.future:
            return "future-lastmods"
        if self.floor is None:
            return "undated-urls" if self.undated else ""
        dates = [entry.date for entry in self.best if entry.date is not None]
        if len(dates) >= _LEAST_URLS:
            span = dates[0] - dates[-1]
            if span <= _WRITING_TIME:
                return "equal-lastmods"
        if self.floor >= self._began:
            return "now-lastmods"
        return ""


class _NewestGate:
    """The gate that decides by the newest entries which sitemaps are read."""

    def __init__(self, newest: _NewestEntries, documents: int) -> None:
        self.documents = 0
        self._newest = newest
        self._most = documents
        self._bound: datetime | None = None
        """No URL of the sitemap that is read is newer, if its index is right."""
        self._is_exceeded = False
        self._has_skipped = False
        self._unread: list[datetime | None] = []

    async def check(self, entry: SitemapEntry) -> str:
        """Return why a sitemap is not read, or ""."""
        self._newest.sort()
        floor = self._newest.floor
        bound = latest_moment(entry.lastmod, entry.lastmod_text or "")
        is_older = bound is not None and floor is not None and bound < floor
        if is_older and not self._is_exceeded:
            self._has_skipped = True
            return NOT_NEWER
        if not entry.via.is_guess:
            if self.documents >= self._most:
                self._unread.append(bound)
                return OVER_LIMIT
            self.documents += 1
        self._bound = bound
        return ""

    def compare(self, date: datetime | None) -> None:
        """Compare the dates in a sitemap or a nested index with the date given for it."""
        if date is None or self._bound is None:
            return
        if date > self._bound:
            self._is_exceeded = True

    def find_doubt(self) -> str:
        """Return why a sitemap that was not read may have newer URLs, or ""."""
        unread = self._unread
        if self._is_exceeded and (self._has_skipped or unread):
            return "dates-exceeded"
        if None in unread:
            return "undated-sitemaps"
        if len(unread) > 1 and len(set(unread)) == 1:
            return "equal-dates"
        if unread:
            return "documents-limit"
        return ""


@answer_keywords()
async def newest(
    site: str | Path | None = None,
    number: int = 10,
    *,
    documents: int = 20,
    sitemaps: Sitemaps = (),
    since: When | None = None,
    until: When | None = None,
    undated: Undated = "keep",
    include: Patterns = (),
    exclude: Patterns = (),
    language: str | Iterable[str] = (),
    scope: Scope = "keep",
    search: Search | None = None,
    follow: Follow | TakeChild | None = None,
    on_document: OnDocument | None = None,
    trusted: bool = True,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
) -> Newest:
    """Find the newest URLs of a site; read only the sitemaps that may have them.

    ```python
    found = await newest("https://example.org/", 20)
    for entry in found.entries:
        print(entry.date, entry.loc)
    print(found.proven, found.reason)
    ```

    Args:
        site: URL of the site, as in `walk`.
        number: number of URLs.
        documents: maximum of sitemaps to read.
        sitemaps: sitemaps to read instead, as in `walk`.
        since: filter of entries, as in `walk`; and so are the next ones.
        until: as in `walk`.
        undated: as in `walk`.
        include: as in `walk`.
        exclude: as in `walk`.
        language: as in `walk`.
        scope: as in `walk`.
        search: as in `walk`.
        follow: as in `walk`; the newest sitemaps come first in any case.
        on_document: as in `walk`.
        trusted: as in `walk`.
        fetcher: as in `walk`.
        limits: as in `walk`, without `max_urls`.
        options: as in `walk`.

    One sitemap is read at a time, in the order of the dates in their index: the newest first, and
    of the undated ones the last. The search ends when no other sitemap can have a newer URL. Dates
    are compared as they are written, and a day lasts to its end in the last zone of the world.
    Raises the errors of `walk`.
    """
    check_count("number", number)
    check_count("documents", documents)
    best = _NewestEntries(number)
    gate = _NewestGate(best, documents)
    order = follow if isinstance(follow, Follow) else Follow(follow)
    config = make_config(
        site,
        gate=gate.check,
        sitemaps=sitemaps,
        since=since,
        until=until,
        undated=undated,
        include=include,
        exclude=exclude,
        language=language,
        scope=scope,
        search=search,
        follow=attrs.evolve(order, order="newest"),
        on_document=on_document,
        trusted=trusted,
        fetcher=fetcher,
        limits=limits,
        options=options,
    )
    if config.max_urls is not None:
        raise ValueError(
            "newest cannot be combined with Limits(max_urls=...): write the number of URLs as the "
            "second argument"
        )
    one_at_a_time = attrs.evolve(config.options, concurrency=1)
    config = attrs.evolve(config, options=one_at_a_time)
    async with Walk(config) as walk:
        async for event in walk.events():
            if isinstance(event, UrlEntry):
                gate.compare(event.date)
                best.add(event)
            elif isinstance(event, SitemapEntry):
                gate.compare(event.lastmod)
    best.sort()
    report = walk.report
    doubt = gate.find_doubt()
    if not doubt and not report.complete:
        doubt = report.outcome.reason or "incomplete"
    doubt = doubt or best.find_doubt()
    return Newest(
        entries=tuple(best.best[:number]),
        proven=not doubt,
        reason=doubt,
        documents=gate.documents,
        undated=best.undated,
        future=best.future,
        report=report,
    )


newest_sync = without_await(newest)
