"""Where the rows of a table come from: a site, a sitemap, a walk under way, or events."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from sitemapreader.frames.outcome import Outcome
from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import SitemapEntry, UrlEntry, Via
from sitemapreader.report import Report
from sitemapreader.walker import Walk, walk_sync
from sitemapreader.walker.blocking import BlockingWalk

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from sitemapreader.models import Event
    from sitemapreader.walker.arguments import WalkArguments

Source: TypeAlias = "str | BlockingWalk | Iterable[Event] | None"
"""URL of a site or of a sitemap, a walk that was entered, or what `read` gives."""

_BATCH_ROWS = 8_192
"""Entries that are made columns of at once; about 3 MB."""
_MISTAKEN: dict[type, str] = {bytes: "read(...)", Walk: "walk_sync(...), entered"}


class Rows:
    """The entries of a source, to be iterated once, in lists of some thousands; and closed.

    Attributes:
        outcome: what became of them; there when the iteration is over.
        seen: URL of a sitemap -> when its first entries came.
    """

    def __init__(self, source: Source, arguments: WalkArguments) -> None:
        self.seen: dict[str, datetime] = {}
        self.outcome = Outcome(Report(0))
        self._batches = self._open(source, arguments)

    def __iter__(self) -> Iterator[list[UrlEntry]]:
        rows: list[UrlEntry] = []
        for batch in self._batches:
            now = datetime.now(UTC)
            for sitemap in {entry.sitemap for entry in batch}:
                self.seen.setdefault(sitemap, now)
            rows += batch
            if len(rows) >= _BATCH_ROWS:
                yield rows
                rows = []
        if rows:
            yield rows

    def close(self) -> None:
        """End a walk that was begun here."""
        self._batches.close()

    def _open(
        self, source: Source, arguments: WalkArguments
    ) -> Generator[list[UrlEntry], None, None]:
        if source is None or isinstance(source, str):
            return self._walk(*_plan_walks(source, arguments))
        if arguments:
            raise TypeError(
                f"{', '.join(arguments)}: give the arguments of a walk with the URL of a site, "
                "or to walk_sync, whose walk you pass"
            )
        if isinstance(source, BlockingWalk):
            return self._follow(source)
        for kind, instead in _MISTAKEN.items():
            if isinstance(source, kind):
                raise TypeError(f"{kind.__name__} is no source of rows: pass {instead}")
        return self._sort(iter(source))

    def _walk(
        self, walking: BlockingWalk, *others: BlockingWalk
    ) -> Generator[list[UrlEntry], None, None]:
        with walking as entries:
            yield from entries.batches()
        if others and _is_page(walking.report):
            yield from self._walk(*others)
        else:
            self.outcome = Outcome(walking.report)

    def _follow(self, walking: BlockingWalk) -> Generator[list[UrlEntry], None, None]:
        yield from walking.batches()
        self.outcome = Outcome(walking.report)

    def _sort(self, events: Iterator[Event]) -> Generator[list[UrlEntry], None, None]:
        report, children = Report(0), 0
        while chunk := list(islice(events, _BATCH_ROWS)):
            batch = [event for event in chunk if isinstance(event, UrlEntry)]
            report.entries += len(batch)
            children += sum(isinstance(event, SitemapEntry) for event in chunk)
            for event in chunk:
                if isinstance(event, Issue):
                    report.note(event)
            yield batch
        self.outcome = Outcome(report, children)


def _plan_walks(source: str | None, arguments: WalkArguments) -> list[BlockingWalk]:
    """Make the walk for a URL; for one that may be a page, another one below that page."""
    site = walk_sync(source, **arguments)
    if source is None or arguments.get("sitemaps"):
        return [site]
    parts = urlsplit(source)
    if parts.path == "/robots.txt":
        return [walk_sync(f"{parts.scheme}://{parts.netloc}/", **arguments)]
    if not parts.path.strip("/") and not parts.query:
        return [site]
    given: WalkArguments = {**arguments, "sitemaps": [source]}
    return [walk_sync(**given), site]


def _is_page(report: Report) -> bool:
    """Tell whether the one URL that a walk was given turned out to be an HTML page."""
    first = next((d for d in report.documents if d.via is Via.GIVEN), None)
    return first is not None and first.reason == IssueCode.HTML_NOT_SITEMAP
