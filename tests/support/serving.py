"""A site on a real server on loopback, whose pages may change their mind; and walks over it."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from aiohttp import web

from sitemapreader.models import UrlEntry
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from ssl import SSLContext

    from sitemapreader.models import Event
    from sitemapreader.outcomes import Document
    from sitemapreader.report import Report


@attrs.frozen
class Answer:
    """What is sent for one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)


Page: TypeAlias = "Answer | bytes | int | str | Callable[[web.Request], Awaitable[Answer]]"
"""An answer, a body, a status, where a redirect leads, or what decides it."""


@attrs.define
class Site:
    """The site that is served: where it is, what it has, and what it was asked for."""

    base: str = ""
    pages: dict[str, Page] = attrs.field(factory=dict)
    default: Page = 404
    requested: list[str] = attrs.field(factory=list)
    running: int = 0
    most_at_once: int = 0

    @property
    def times(self) -> Counter[str]:
        """How often each path was asked for."""
        return Counter(self.requested)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, and count it until all is sent."""
        self.requested.append(request.path)
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            page = self.pages.get(request.path, self.default)
            response = _make_response(await page(request) if callable(page) else page)
            await response.prepare(request)
            await response.write_eof()
        finally:
            self.running -= 1
        return response


def _make_response(page: Answer | bytes | float | str) -> web.StreamResponse:
    if isinstance(page, Answer):
        return web.Response(body=page.body, status=page.status, headers=dict(page.headers))
    if isinstance(page, bytes):
        return web.Response(body=page, content_type="application/octet-stream")
    if isinstance(page, str):
        return web.Response(status=301, headers={"Location": page})
    return web.Response(status=int(page))


@asynccontextmanager
async def serve_site(
    default: Page = 404, make_pages: Callable[[str], Mapping[str, Page]] = lambda _: {}
) -> AsyncIterator[Site]:
    """Serve a site whose pages the test fills in, or `make_pages` for its base URL."""
    site = Site(default=default)
    async with listen(site.answer) as site.base:
        site.pages.update(make_pages(site.base))
        yield site


def serve(
    make_pages: Callable[[str], Mapping[str, Page]],
) -> AbstractAsyncContextManager[Site]:
    """Serve what `make_pages` makes of the server's base URL: pages by their path."""
    return serve_site(make_pages=make_pages)


@asynccontextmanager
async def listen(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
    address: str = "127.0.0.1",
    secure: SSLContext | None = None,
) -> AsyncIterator[str]:
    """Answer requests on a port of loopback; give the server's base URL."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0, ssl_context=secure).start()
        host, port = runner.addresses[0][:2]
        yield f"http{'s' if secure else ''}://{host}:{port}"
    finally:
        await runner.cleanup()


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
    return Reading([event.loc for event in events if isinstance(event, UrlEntry)], entries.report)
