"""A site on loopback whose pages have a status, headers and a body, and may change their mind."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
from aiohttp import web
from serving import listen

from sitemapreader.models import UrlEntry
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from sitemapreader.models import Event
    from sitemapreader.outcomes import Document
    from sitemapreader.report import Report

_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@attrs.frozen
class Answer:
    """What is sent for one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)


if TYPE_CHECKING:
    Page = Answer | Callable[[web.Request], Awaitable[Answer]]


@attrs.define
class Site:
    """The server: where it is, what it has, and what it was asked for."""

    base: str = ""
    pages: dict[str, Page] = attrs.field(factory=dict)
    default: Page = Answer(status=404)
    requested: list[str] = attrs.field(factory=list)

    @property
    def times(self) -> Counter[str]:
        """How often each path was asked for."""
        return Counter(self.requested)


@asynccontextmanager
async def serve_site(default: Page | None = None) -> AsyncIterator[Site]:
    """Serve a site whose pages are filled in by the test."""
    site = Site() if default is None else Site(default=default)

    async def answer(request: web.Request) -> web.Response:
        site.requested.append(request.path)
        page = site.pages.get(request.path, site.default)
        made = page if isinstance(page, Answer) else await page(request)
        return web.Response(body=made.body, status=made.status, headers=dict(made.headers))

    async with listen(answer) as site.base:
        yield site


@attrs.frozen
class Reading:
    """What came of a walk over real sockets."""

    locs: list[str]
    report: Report

    @property
    def codes(self) -> set[str]:
        """The codes of all Issues."""
        return {str(code) for code, number in self.report.counts.items() if number}

    def value(self, code: str) -> str:
        """Return what the first Issue of a code says."""
        return next(issue.value or "" for issue in self.report.issues if issue.code == code)

    def document(self, path: str) -> Document:
        """Return the outcome of a path; it must have exactly one."""
        (found,) = [each for each in self.report.documents if each.url.endswith(path)]
        return found


async def read_site(site: str | None, **arguments: Any) -> Reading:
    """Walk over a site to the end."""
    events: list[Event] = []
    async with walk(site, **arguments) as entries:
        async for event in entries.events():
            events.append(event)  # noqa: PERF401 (an async comprehension hides the loop)
    locs = [event.loc for event in events if isinstance(event, UrlEntry)]
    return Reading(locs, entries.report)


def make_urlset(*locs: str) -> bytes:
    """Write a urlset."""
    return _write("urlset", "url", locs)


def make_index(*locs: str) -> bytes:
    """Write a sitemap index."""
    return _write("sitemapindex", "sitemap", locs)


def _write(root: str, record: str, locs: tuple[str, ...]) -> bytes:
    records = "".join(f"<{record}><loc>{loc}</loc></{record}>" for loc in locs)
    return f"<{root} {_NAMESPACE}>{records}</{root}>".encode()
