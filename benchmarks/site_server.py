"""A web server in a process of its own, that has a whole site in memory.

`serve` starts it. Pages are served as they are given: body, headers, and nothing else.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Page(NamedTuple):
    """The answer for a path."""

    body: bytes
    headers: dict[str, str]


@contextmanager
def serve(
    make_site: Callable[[str], dict[str, Page]], *, host: str = "127.0.0.1"
) -> Iterator[str]:
    """Serve the site that is made for an origin; give that origin.

    A host other than the default is only a name that the origin has: who uses it has to know that
    it leads to this machine.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        origin = f"http://{host}:{listener.getsockname()[1]}"
        number = listener.fileno()
        server = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[number],
        )
    with server:
        try:
            if server.stdin is None or server.stdout is None:
                raise TypeError("the server was started without pipes")
            pickle.dump(
                {path: tuple(p) for path, p in make_site(origin).items()}, server.stdin
            )
            server.stdin.close()
            server.stdout.readline()  # it is ready
            yield origin
        finally:
            server.kill()


async def _answer_for_ever(listener: socket.socket, site: dict[str, Page]) -> None:
    async def answer(request: web.Request) -> web.Response:
        page = site.get(request.path)
        if page is None:
            return web.Response(status=404)
        return web.Response(body=page.body, headers=page.headers)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    print("ready", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serve the pages from standard input on the socket with the given number."""
    pages = pickle.load(sys.stdin.buffer)  # noqa: S301 (our own, from `serve`)
    site = {path: Page(*page) for path, page in pages.items()}
    asyncio.run(_answer_for_ever(socket.socket(fileno=int(sys.argv[1])), site))


if __name__ == "__main__":
    main()
