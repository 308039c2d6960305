"""What the tests of discovery and of walks share: sites made of a few words, and their walks."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader import walk
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import UrlEntry
from sitemapreader.changes import State
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sitemapreader._types.models import Event
    from sitemapreader._types.outcomes import Document
    from sitemapreader._walk.report import Report

SITE = "https://example.org/"
ROBOTS = "https://example.org/robots.txt"
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

Pages = dict[str, bytes | StoredResponse | Exception]


def urlset(*locs: str | tuple[str, str]) -> bytes:
    """Write a urlset; a pair is a loc and its lastmod."""
    return _document("urlset", "url", locs)


def index(*locs: str | tuple[str, str]) -> bytes:
    """Write a sitemap index; a pair is a loc and its lastmod."""
    return _document("sitemapindex", "sitemap", locs)


def _document(root: str, record: str, locs: tuple[str | tuple[str, str], ...]) -> bytes:
    records = []
    for item in locs:
        loc, lastmod = item if isinstance(item, tuple) else (item, "")
        dated = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
        records.append(f"<{record}><loc>{loc}</loc>{dated}</{record}>")
    return f"<{root} {_NAMESPACE}>{''.join(records)}</{root}>".encode()


def status(code: int, url: str = ROBOTS) -> FetchError:
    """Return what a fetcher raises for an HTTP status."""
    return FetchError(IssueCode.HTTP_STATUS, url, str(code), http_status=code)


def fault(code: IssueCode, url: str = ROBOTS) -> FetchError:
    """Return what a fetcher raises when the network fails."""
    return FetchError(code, url, "as the test wants it")


def moved(to: str, body: bytes) -> StoredResponse:
    """Return a page that is served after a redirect."""
    return StoredResponse(to, body)


@attrs.frozen
class Walked:
    """What came of a walk."""

    locs: list[str]
    events: list[Event]
    report: Report
    requested: list[str]

    @property
    def codes(self) -> list[str]:
        """The codes of all Issues in the report, in order."""
        return [str(issue.code) for issue in self.report.issues]

    def outcome(self, url: str) -> tuple[str, str]:
        """Return the status and the reason of a document; it must have exactly one outcome."""
        document = self.document(url)
        return str(document.status), document.reason

    def document(self, url: str) -> Document:
        """Return the outcome of a URL, or of a path; it must have exactly one."""
        (document,) = [each for each in self.report.documents if each.url.endswith(url)]
        return document

    def value(self, code: str) -> str:
        """Return what the first Issue of a code says."""
        return next(
            issue.value or "" for issue in self.report.issues if issue.code == code
        )


def at_once(db: Path | str) -> State:
    """Return a state that believes each loss at once, as if a day had passed."""
    return State(db, confirm_after=timedelta(0))


async def walk_all(
    pages: Mapping[str, Any], site: str | None = SITE, **arguments: Any
) -> Walked:
    """Walk over pages in memory to the end."""
    return await read_site(site, fetcher=MemoryFetcher(pages), **arguments)


async def read_site(site: str | None, **arguments: Any) -> Walked:
    """Walk over a site to the end."""
    events: list[Event] = []
    async with walk(site, **grouped(arguments)) as entries:
        async for event in entries.events():
            events.append(event)  # noqa: PERF401 (an async comprehension hides the loop)
    locs = [event.loc for event in events if isinstance(event, UrlEntry)]
    return Walked(
        locs, events, entries.report, getattr(arguments.get("fetcher"), "requested", [])
    )
