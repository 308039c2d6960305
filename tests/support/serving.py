"""A site on a real server on loopback, whose pages may change their mind."""

from __future__ import annotations

import inspect
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from ssl import SSLContext


@attrs.frozen
class Answer:
    """What is sent for one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=dict)


Page: TypeAlias = (
    "Answer | bytes | int | str | web.StreamResponse"
    " | Callable[[web.Request], Any] | None"
)
"""An answer, a body (HOST in it is the origin), a status (0: the line is closed), where one is led
(`/` or `http`), the text of a page, what decides it, or nothing (404)."""


@attrs.define
class Site:
    """The site that is served: where it is, what it has, and what it was asked for."""

    base: str = ""
    pages: dict[str, Any] = attrs.field(factory=dict)
    default: Page = 404
    requested: list[str] = attrs.field(factory=list)
    methods: set[str] = attrs.field(factory=set)
    running: int = 0
    most_at_once: int = 0

    @property
    def times(self) -> Counter[str]:
        """How often each path was asked for."""
        return Counter(self.requested)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, and count it until all is sent."""
        self.requested.append(request.path)
        self.methods.add(request.method)
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            page = self.pages.get(request.path, self.default)
            while callable(page):
                page = page(request)
                page = await page if inspect.isawaitable(page) else page
            response = _make_response(page, request)
            await response.prepare(request)
            await response.write_eof()
        finally:
            self.running -= 1
        return response


def _make_response(page: Any, request: web.Request) -> web.StreamResponse:
    match page:
        case Answer():
            return web.Response(
                body=page.body, status=page.status, headers=dict(page.headers)
            )
        case bytes():
            if not page.startswith(b"\x1f\x8b"):
                page = page.replace(b"HOST", f"http://{request.host}".encode())
            kind = "text/html" if b"<!doctype" in page else "application/octet-stream"
            return web.Response(body=page, content_type=kind)
        case str() if page.startswith(("/", "http")):
            return web.Response(status=301, headers={"Location": page})
        case str():
            return web.Response(text=page, content_type="text/html")
        case web.StreamResponse():
            return page
    if page == 0 and request.transport is not None:
        request.transport.close()
    return web.Response(status=page or (404 if page is None else 500))


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
async def serve_pages(
    secure: SSLContext | None = None, /, **pages: Page
) -> AsyncIterator[Site]:
    """Serve pages by their names; the base URL ends with a slash."""
    site = Site(pages={f"/{name}": page for name, page in pages.items()})
    async with listen(site.answer, secure=secure) as base:
        site.base = f"{base}/"
        yield site


def answer(status: int, **headers: str) -> Answer:
    """Make an answer of a status and headers, whose names are written with `_`."""
    return Answer(
        b"", status, {name.replace("_", "-"): text for name, text in headers.items()}
    )


@asynccontextmanager
async def listen(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
    address: str = "127.0.0.1",
    secure: SSLContext | None = None,
) -> AsyncIterator[str]:
    """Answer requests on a port of loopback; give the server's base URL."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(
        application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0, ssl_context=secure).start()
        host, port = runner.addresses[0][:2]
        yield f"http{'s' if secure else ''}://{host}:{port}"
    finally:
        await runner.cleanup()
