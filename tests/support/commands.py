"""The command line as a real process, and servers in a thread for it to talk to."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

COMMAND = [sys.executable, "-W", "error", "-m", "sitemapreader"]
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    defaults = {"capture_output": True, "encoding": "utf-8", "timeout": 60}
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*COMMAND, *arguments], check=False, **{**defaults, **options}
    )


def urlset(count: int, host: str = "https://example.org") -> bytes:
    """Write a urlset."""
    records = "".join(f"<url><loc>{host}/{number}</loc></url>\n" for number in range(count))
    return f'<urlset xmlns="{NAMESPACE}">\n{records}</urlset>'.encode()


@contextmanager
def running(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Run a loop in a thread for as long as the context lasts."""
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@contextmanager
def serving(answer: Answer, hosts: Sequence[str] = ("127.0.0.1",)) -> Iterator[list[str]]:
    """Serve what `answer` gives at some addresses; give their URLs."""
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.router.add_get("/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    loop.run_until_complete(runner.setup())
    for host in hosts:
        loop.run_until_complete(web.TCPSite(runner, host, 0).start())
    try:
        with running(loop):
            yield ["http://{}:{}".format(*address[:2]) for address in runner.addresses]
    finally:
        loop.run_until_complete(runner.cleanup())
        loop.close()
