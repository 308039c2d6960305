"""What a source on the command line is: a site, a sitemap, a folder, a file or standard input."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urlsplit

import attrs

from sitemapreader.fetch.folder import FolderFetcher
from sitemapreader.issues import Issue, IssueCode, Severity
from sitemapreader.models import UrlEntry, Via
from sitemapreader.readers import read
from sitemapreader.report import Report, Role, Status
from sitemapreader.urls import has_web_scheme, parse_url
from sitemapreader.walker import walk

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Iterator

    from sitemapreader.walker import Walk

STANDARD_INPUT = "-"
_BATCH = 500
"""Entries of a file that are handed on at once."""


class UnknownSourceError(ValueError):
    """The source is neither a URL nor anything on disk."""


@attrs.define
class Result:
    """What came of one source.

    Attributes:
        entries: URLs that it gave.
        issues: what was wrong, in order.
        statuses: how many of its documents ended how.
        children: sitemaps that a file lists, which were not read.
        complete: whether nothing was lost.
        answered: whether anything could be read at all.
    """

    entries: int = 0
    issues: list[Issue] = attrs.field(factory=list)
    statuses: Counter[Status] = attrs.field(factory=Counter)
    children: int = 0
    complete: bool = True
    answered: bool = False

    def add(self, report: Report) -> None:
        """Take over what a walk reports."""
        self.issues += report.issues
        self.statuses += report.statuses
        self.complete = report.complete
        read = (Status.COMPLETE, Status.PARTIAL, Status.UNCHANGED)
        self.answered = any(
            document.status in read and document.role is Role.SITEMAP
            for document in report.documents
        )


def is_file(source: str) -> bool:
    """Tell whether a source is one sitemap that is at hand."""
    return source == STANDARD_INPUT or Path(source).is_file()


async def open_source(
    source: str, arguments: argparse.Namespace, result: Result
) -> AsyncGenerator[list[UrlEntry], None]:
    """Yield the entries of a source in batches, and fill in the result.

    Raises UnknownSourceError, and OSError for a file that cannot be read.
    """
    if is_file(source):
        for batch in _read_file(source, arguments, result):
            yield batch
    else:
        walks = _plan_walks(source, arguments)
        for number, entries in enumerate(walks, start=1):
            async with entries as walking:
                async for batch in walking.batches():
                    result.entries += len(batch)
                    yield batch
            if number == len(walks) or not _is_page(entries.report):
                result.add(entries.report)
                return


def _plan_walks(source: str, arguments: argparse.Namespace) -> list[Walk]:
    """Make the walk for a source; for a URL that may be a page, also the one below that page."""
    common = {"since": arguments.since, "respect_robots": not arguments.no_robots}
    if Path(source).is_dir():
        fetcher = FolderFetcher(source, arguments.base_url)
        return [walk(fetcher.base_url, fetcher=fetcher, **common)]
    url = _as_url(source)
    parts = urlsplit(url)
    if parts.path == "/robots.txt":
        return [walk(f"{parts.scheme}://{parts.netloc}/", **common)]
    walks = []
    if not arguments.site and (arguments.sitemap or parts.path.strip("/") or parts.query):
        walks.append(walk(sitemaps=[url], **common))
    if not arguments.sitemap:
        walks.append(walk(url, **common))
    return walks


def _as_url(source: str) -> str:
    """Return the URL that a source is; a bare host name is one at https."""
    url = source if "://" in source else f"https://{source}"
    parsed = parse_url(url) if has_web_scheme(url) else None
    if parsed is None or ("://" not in source and "." not in (parsed.host or "")):
        raise UnknownSourceError(
            f"{source!r} is neither an http(s) URL nor a file or folder that exists"
        )
    return url


def _is_page(report: Report) -> bool:
    """Tell whether the one URL that a walk was given turned out to be an HTML page."""
    first = next((d for d in report.documents if d.via is Via.GIVEN), None)
    return first is not None and first.reason == IssueCode.HTML_NOT_SITEMAP


def _read_file(
    source: str, arguments: argparse.Namespace, result: Result
) -> Iterator[list[UrlEntry]]:
    if source == STANDARD_INPUT:
        yield from _read(sys.stdin.buffer, arguments, result)
        return
    with Path(source).open("rb") as file:
        yield from _read(file, arguments, result)


def _read(
    file: BinaryIO, arguments: argparse.Namespace, result: Result
) -> Iterator[list[UrlEntry]]:
    """Read a file as one sitemap; the children of an index are counted, for they are elsewhere."""
    events = read(file, arguments.base_url or "", since=arguments.since)
    while chunk := list(islice(events, _BATCH)):
        batch = [event for event in chunk if isinstance(event, UrlEntry)]
        result.issues += [event for event in chunk if isinstance(event, Issue)]
        result.children += len(chunk) - len(batch) - sum(isinstance(e, Issue) for e in chunk)
        result.entries += len(batch)
        if batch:
            yield batch
    result.complete = all(issue.severity < Severity.ERROR for issue in result.issues)
    result.answered = True
