"""The rows of a table, from sites, sitemaps, folders, a running walk, or events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sitemapreader.discovery.arguments import check_url
from sitemapreader.fetch.folder import FolderFetcher
from sitemapreader.issues import Issue
from sitemapreader.models import SitemapEntry, UrlEntry
from sitemapreader.report import Report
from sitemapreader.rows import Rows, join_rows, list_sitemaps
from sitemapreader.tables.summary import WalkSummary
from sitemapreader.urls import has_web_scheme, url_key
from sitemapreader.walker.api import walk_sync
from sitemapreader.walker.walk import BlockingWalk, Walk

if TYPE_CHECKING:
    from collections.abc import Generator

    from sitemapreader.models import Event
    from sitemapreader.walker.config import WalkArguments

Site: TypeAlias = "str | Path"
"""URL of a site, sitemap or page, or the path of a folder."""
Source: TypeAlias = "Site | Iterable[Site] | BlockingWalk | Iterable[Event] | None"
"""A site or several, a walk that was entered, or what `read` gives."""

_BATCH_ROWS = 8_192
"""Entries that are made columns of at once; about 3 MB."""
_EVENTS = (UrlEntry, SitemapEntry, Issue)
_USAGE = (
    "pass the URL of a site or a list of such URLs, the path of a folder, "
    "a walk_sync(...) that was entered, or entries, as read(...) gives them"
)
_MISTAKEN: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bytes, bytearray, memoryview), "pass read(...) of the bytes of a sitemap"),
    ((Walk,), "pass walk_sync(...), entered, or a list of the entries"),
    ((BlockingWalk,), "pass one walk alone, or a list of the URLs of sites"),
)
"""What is passed by mistake, and what to do instead."""
_NOTHING = object()


class RowSource:
    """The entries of a source, some thousands at once; iterated once, then closed.

    They come with its site as it was given, or "" for a single site.

    Attributes:
        has_sites: whether several sites were given, or could have been.
        summary: of the walks; complete once the iteration is over.
        first_seen: URL of a sitemap -> when its first entries came.
    """

    def __init__(self, source: Source, arguments: WalkArguments) -> None:
        self.has_sites = False
        self.first_seen: dict[str, datetime] = {}
        self.summary = WalkSummary(Report(0))
        self._batches = self._open(source, arguments)

    def __iter__(self) -> Iterator[tuple[str, Rows]]:
        site, parts, size = "", list[Rows](), 0
        for origin, rows in self._batches:
            now = datetime.now(UTC)
            for sitemap in list_sitemaps(rows):
                self.first_seen.setdefault(sitemap, now)
            if parts and (origin != site or size >= _BATCH_ROWS):
                yield site, join_rows(parts)
                parts, size = [], 0
            site = origin
            parts.append(rows)
            size += len(rows)
        if parts:
            yield site, join_rows(parts)

    def close(self) -> None:
        """End the walk, if one is running."""
        self._batches.close()

    def _open(self, source: object, arguments: WalkArguments) -> _Batches:
        if source is None or isinstance(source, str | Path):
            return self._read_site(_plan_walk(source, arguments))
        if isinstance(source, BlockingWalk):
            _refuse_arguments(arguments)
            return self._follow(source)
        if not isinstance(source, Iterable) or isinstance(source, Mapping | bytes | bytearray):
            raise _mistaken(source)
        items = iter(source)
        first = next(items, _NOTHING)
        if isinstance(first, str | Path):
            self.has_sites = True
            return self._read_sites(_check_sites([first, *items], arguments), arguments)
        _refuse_arguments(arguments)
        if first is _NOTHING:
            if not isinstance(source, Iterator):  # which may be a document without records
                self.summary.warn_empty(f"{type(source).__name__} is empty: {_USAGE}")
            return self._sort(iter(()))
        if not isinstance(first, _EVENTS):
            raise _mistaken(first, " in the list")
        return self._sort(chain([first], items))

    def _read_site(self, walking: BlockingWalk) -> _Batches:
        report = yield from _walk("", walking)
        self.summary = WalkSummary(report)

    def _read_sites(self, sites: list[Site], arguments: WalkArguments) -> _Batches:
        reports = {}
        for site in sites:
            reports[str(site)] = yield from _walk(str(site), _plan_walk(site, arguments))
        self.summary = WalkSummary.of_sites(reports)

    def _follow(self, walking: BlockingWalk) -> _Batches:
        for rows in walking.rows():
            yield "", rows
        self.summary = WalkSummary(walking.report)

    def _sort(self, events: Iterator[object]) -> _Batches:
        report, children = Report(0), 0
        while chunk := list(islice(events, _BATCH_ROWS)):
            batch = []
            for event in chunk:
                if isinstance(event, UrlEntry):
                    batch.append(event)
                elif isinstance(event, Issue):
                    report.add_issue(event)
                elif isinstance(event, SitemapEntry):
                    children += 1
                else:
                    raise _mistaken(event, " among entries")
            report.entries += len(batch)
            yield "", batch
        self.summary = WalkSummary(report, children)


_Batches: TypeAlias = "Generator[tuple[str, Rows], None, None]"


def _walk(name: str, walking: BlockingWalk) -> Generator[tuple[str, Rows], None, Report]:
    """Yield the entries of a walk; return its report."""
    with walking as entries:
        for rows in entries.rows():
            yield name, rows
    return walking.report


def _plan_walk(source: Site | None, arguments: WalkArguments) -> BlockingWalk:
    if source is None:
        if not arguments.get("sitemaps"):
            raise TypeError(f"there is not a source of rows: {_USAGE}, or sitemaps=[url]")
        return walk_sync(None, **arguments)
    if folder := _find_folder(source, arguments):
        passed: WalkArguments = {**arguments, "fetcher": folder}
        return walk_sync(folder.base_url, **passed)
    return walk_sync(str(source), **arguments)


def _find_folder(source: Site, arguments: WalkArguments) -> FolderFetcher | None:
    """Return the fetcher of a folder; `None` for a URL."""
    if isinstance(source, str) and has_web_scheme(source):
        return None
    path = Path(source)
    if not path.is_dir():
        if isinstance(source, Path) or path.exists():
            hint = "read a file with read(open(path, 'rb'))" if path.exists() else _USAGE
            raise ValueError(f"{str(path)!r} is not a folder: {hint}")
        return None  # the walk says what a URL looks like
    if arguments.get("fetcher"):
        raise TypeError("a folder is read by a fetcher of its own: leave out fetcher=")
    return FolderFetcher(str(path))


def _check_sites(sites: list[object], arguments: WalkArguments) -> list[Site]:
    """Return the sites without repeats; raise if one is invalid, before any request."""
    if arguments.get("sitemaps"):
        raise TypeError("sitemaps= goes with one site: walk several one by one, or leave it out")
    checked: dict[str, Site] = {}
    for site in sites:
        if not isinstance(site, str | Path):
            raise _mistaken(site, " among sites")
        if _find_folder(site, arguments) is None:
            check_url("each of the sites", str(site))
        checked.setdefault(url_key(str(site)), site)
    walk_sync("https://localhost/", **arguments)  # which checks the arguments
    return list(checked.values())


def _refuse_arguments(arguments: WalkArguments) -> None:
    if arguments:
        raise TypeError(
            f"{', '.join(arguments)}: give the arguments of a walk with the URL of a site, "
            "or to walk_sync, whose walk you pass"
        )


def _mistaken(source: object, place: str = "") -> TypeError:
    kind = type(source).__name__
    for kinds, instead in _MISTAKEN:
        if isinstance(source, kinds):
            return TypeError(f"{kind}{place} is not a source of rows: {instead}")
    return TypeError(f"{kind}{place} is not a source of rows: {_USAGE}")
