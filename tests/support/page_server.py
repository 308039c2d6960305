"""A site on loopback that answers by path, and counts what it is asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import web
from serving import listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from ssl import SSLContext


class PageServer:
    """A site on loopback that answers by path, and counts what it is asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: Counter[str] = Counter()
        self.methods: Counter[str] = Counter()
        self.at_once = self.most_at_once = 0
        self.base = ""
        self.fallback: Any = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path] += 1
        self.methods[request.method] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0.002)
            found = self.answers.get(request.path, self.fallback)
            if callable(found):
                found = found(request)
            if asyncio.iscoroutine(found):
                found = await found
            if found is None:
                return web.Response(status=404)
            if isinstance(found, str):
                return web.Response(text=found, content_type="text/html")
            assert isinstance(found, web.StreamResponse)
            return found
        finally:
            self.at_once -= 1


@asynccontextmanager
async def serve_pages(
    secure: SSLContext | None = None, /, **answers: Any
) -> AsyncIterator[PageServer]:
    server = PageServer({f"/{name}": answer for name, answer in answers.items()})
    async with listen(server.answer, secure=secure) as base:
        server.base = f"{base}/"
        yield server


def answer(status: int, **headers: str) -> Callable[[web.Request], web.Response]:
    """Return what answers with a status and headers, whose names are written with `_`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: web.Response(status=status, headers=named)


def wall(status: int, text: str, **headers: str) -> Callable[[web.Request], web.Response]:
    """Return what answers with a short page, as a bot protection does."""
    html = f"<html><head>{text}</head></html>"
    return lambda _: web.Response(
        status=status, text=html, content_type="text/html", headers=headers
    )
