"""Sources of entries: a site, a sitemap, a folder, a file or standard input."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import attrs

from sitemapreader.cli.files import open_pieces
from sitemapreader.cli.options.sources import STANDARD_INPUT
from sitemapreader.dates import count_odd
from sitemapreader.discovery.download import next_step
from sitemapreader.fetch.local import FolderFetcher
from sitemapreader.issues import Issue, IssueCode, Severity
from sitemapreader.many.task import CheckedTask, InvalidSiteError, SiteTask, check_task
from sitemapreader.models import UrlEntry
from sitemapreader.outcomes import Document, SiteOutcome, SiteStatus, Status, has_errors
from sitemapreader.readers.reader import SitemapReader
from sitemapreader.rows import EntryColumns, without_removed
from sitemapreader.urls import SCHEMES, parse_url
from sitemapreader.walker import walk
from sitemapreader.walker.filters import EntryFilter

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Callable

    from sitemapreader.cli.config import RunConfig
    from sitemapreader.many.task import SiteKind
    from sitemapreader.options import FetchOptions
    from sitemapreader.readers.records.vocabulary import ExtraFormats
    from sitemapreader.report import Report
    from sitemapreader.rows import Events, Rows
    from sitemapreader.walker.walks import Walk


class UnknownSourceError(ValueError):
    """The source is neither a URL nor a file or folder."""


@attrs.define(eq=False)
class SourceResult:
    """The outcome of one source.

    Attributes:
        entries: number of URLs.
        undated: number of these without a date, with `--since` or `--until`.
        future: number of these with a date in the future, in the same case.
        issues: the first Issues of each code, in order.
        counts: number of Issues by code.
        statuses: number of documents by status.
        left_out: number of listed sitemaps that were skipped, by reason.
        documents: outcomes of the documents.
        children: number of sitemaps that a file lists, which were not read.
        complete: whether every listed sitemap was read, and nothing in it was lost.
        answered: whether anything could be fetched.
        removals_unknown: documents whose removed URLs are unknown, if `--removed` was given.
        walk: the walk that is under way.
    """

    entries: int = 0
    undated: int = 0
    future: int = 0
    issues: list[Issue] = attrs.field(factory=list)
    counts: Counter[IssueCode] = attrs.field(factory=Counter)
    statuses: Counter[Status] = attrs.field(factory=Counter)
    left_out: Counter[str] = attrs.field(factory=Counter)
    documents: list[Document] = attrs.field(factory=list)
    children: int = 0
    complete: bool = True
    answered: bool = False
    removals_unknown: list[str] = attrs.field(factory=list)
    walk: Walk | None = None

    def count_odd(self, rows: Rows) -> None:
        """Count entries without a date, and with one in the future."""
        undated, future = count_odd(rows)
        self.undated += undated
        self.future += future

    def make_outcome(self, label: str) -> SiteOutcome:
        """Return the outcome of a source on disk."""
        status = SiteStatus.COMPLETE if self.complete else SiteStatus.PARTIAL
        if not self.complete and not self.entries:
            status = SiteStatus.FAILED
        errors = [code for code in self.counts if code.severity is Severity.ERROR]
        reason = "" if self.complete else str(next(iter(errors), "cannot-be-read"))
        return SiteOutcome(label, status, reason, entries=self.entries)

    def add(self, report: Report) -> None:
        """Add the report of a walk."""
        self.undated += report.undated
        self.future += report.future
        self.issues += report.issues
        self.counts += report.counts
        self.statuses += report.statuses
        self.left_out += report.left_out
        self.documents += report.documents
        self.complete = report.complete
        self.answered = any(document.is_answered for document in report.documents)


@attrs.frozen
class FileSource:
    """One sitemap in a file or on standard input."""

    label: str
    host: str = attrs.field(default="", init=False)
    _path: str
    _base_url: str
    _make_filter: Callable[[], EntryFilter]
    _extra_formats: ExtraFormats

    async def open(self, result: SourceResult) -> AsyncGenerator[Rows, None]:
        """Yield the entries in batches; raise UnreadableError.

        The children of an index are counted, but not read.
        """
        reader = SitemapReader(self._base_url, extra_formats=self._extra_formats)
        entry_filter = self._make_filter()
        async with open_pieces(self._path) as pieces:
            result.answered = True
            async for piece in pieces:
                for events in reader.feed_by_columns(piece):
                    if batch := self._select_entries(events, entry_filter, result):
                        yield batch
                if reader.finished:
                    break
        steps = reader.close_by_columns()
        while (last := await next_step(reader, steps)) is not None:
            if batch := self._select_entries(last, entry_filter, result):
                yield batch
        result.counts += reader.stats.counts
        result.complete = not has_errors(result.counts) and not result.children

    def _select_entries(
        self, events: Events, entry_filter: EntryFilter, result: SourceResult
    ) -> Rows:
        rows: Rows
        if isinstance(events, EntryColumns):
            rows = events
        else:
            rows = [event for event in events if isinstance(event, UrlEntry)]
            issues = [event for event in events if isinstance(event, Issue)]
            result.issues += issues
            result.children += len(events) - len(rows) - len(issues)
        rows, _ = entry_filter.apply(rows, SCHEMES)
        if entry_filter.has_dates:
            result.count_odd(rows)
        result.entries += len(rows)
        return rows


@attrs.frozen
class FolderSource:
    """A folder that holds a site."""

    label: str
    host: str = attrs.field(default="", init=False)
    _walk: Callable[[], Walk]
    _gives_removed: bool = False

    async def open(self, result: SourceResult) -> AsyncGenerator[Rows, None]:
        """Yield the entries in batches."""
        async with self._walk() as entries:
            result.walk = entries
            async for found in entries.rows():
                rows = found if self._gives_removed else without_removed(found)
                result.entries += len(rows)
                yield rows
            if self._gives_removed and entries.report.removed is not None:
                result.removals_unknown += (
                    f"{url} ({why})" for url, why in entries.removals_unknown()
                )
        result.walk = None
        result.add(entries.report)


@attrs.frozen
class SiteSource:
    """A site, or a sitemap and its children, in the web."""

    label: str
    host: str
    task: SiteTask


Source: TypeAlias = FileSource | FolderSource | SiteSource


def make_source(text: str, arguments: argparse.Namespace, config: RunConfig) -> Source:
    """Make the source that a word names; raise UnknownSourceError."""
    is_folder = os.path.isdir(text)  # noqa: PTH112 (pathlib's raises for a URL of some length)
    if text == STANDARD_INPUT or (os.path.exists(text) and not is_folder):  # noqa: PTH110 (the same)
        return make_file_source(text, arguments, config)
    if is_folder:
        fetcher = FolderFetcher(text, arguments.base_url)
        common = config.walk | {"options": config.options, "limits": config.limits}

        def start() -> Walk:
            return walk(fetcher.base_url, fetcher=fetcher, **common)

        return FolderSource(text, start, bool(getattr(arguments, "removed", False)))
    return make_site_source(text, arguments, trusted=True)


def make_file_source(text: str, arguments: argparse.Namespace, config: RunConfig) -> FileSource:
    """Make the source for a file or standard input."""
    since, until, include, exclude = map(config.walk.get, ("since", "until", "include", "exclude"))
    keeps = config.walk.get("undated", "keep") == "keep"
    return FileSource(
        "standard input" if text == STANDARD_INPUT else text,
        text,
        arguments.base_url or "",
        lambda: EntryFilter(
            since=since,
            until=until,
            keep_undated=keeps,
            include=include or (),
            exclude=exclude or (),
        ),
        config.walk.get("extra_formats", ()),
    )


def make_site_source(text: str, arguments: argparse.Namespace, *, trusted: bool) -> SiteSource:
    """Make the source for a URL; raise UnknownSourceError.

    A line of a list is not `trusted`: somebody else may have written it.
    """
    kind: SiteKind = "site" if arguments.site else "sitemap" if arguments.sitemap else "auto"
    checked = check_site(text)
    url = checked.login if trusted and checked.login else checked.url
    return SiteSource(checked.url, checked.host, SiteTask(url, kind, trusted))


def parse_source_url(text: str, config: RunConfig) -> tuple[str, FetchOptions]:
    """Return a URL with its scheme, https by default, and the options for fetching it.

    A user and a password in the URL become a header, so that no message shows them. Raises
    UnknownSourceError.
    """
    checked = check_site(text)
    login = parse_url(checked.login) if checked.login else None
    return checked.url, config.with_login(login.user, login.password) if login else config.options


def check_site(text: str) -> CheckedTask:
    """Return a URL with its scheme, https by default; raise UnknownSourceError."""
    try:
        return check_task(text)
    except InvalidSiteError as error:
        raise UnknownSourceError(
            f"{str(error)!r} is neither an http(s) URL nor a file or folder that exists"
        ) from None
