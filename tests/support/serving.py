"""A site of a few words on a real server on loopback."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

Page = bytes | int | str
"""A body, a status, or where a redirect leads."""


class Served:
    """The site that is served: its address, what was asked for, and how much of it at once."""

    def __init__(self) -> None:
        self.base = ""
        self.requested: list[str] = []
        self.running = 0
        self.most_at_once = 0


@asynccontextmanager
async def serve(make_pages: Callable[[str], Mapping[str, Page]]) -> AsyncIterator[Served]:
    """Serve what `make_pages` makes of the server's base URL: pages by their path."""
    served = Served()
    pages: dict[str, Page] = {}

    async def answer(request: web.Request) -> web.StreamResponse:
        served.requested.append(request.path)
        served.running += 1
        served.most_at_once = max(served.most_at_once, served.running)
        try:
            response = _make_response(pages.get(request.path, 404))
            await response.prepare(request)
            await response.write_eof()
        finally:
            served.running -= 1
        return response

    async with listen(answer) as served.base:
        pages.update(make_pages(served.base))
        yield served


@asynccontextmanager
async def listen(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]], address: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """Answer requests on a port of loopback; give the server's base URL."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def _make_response(page: Page) -> web.StreamResponse:
    if isinstance(page, int):
        return web.Response(status=page)
    if isinstance(page, str):
        return web.Response(status=301, headers={"Location": page})
    return web.Response(body=page, content_type="application/octet-stream")
