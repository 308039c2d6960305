"""The servers of the torture tests, in a process of their own: with file descriptors of their own.

Run as a script, it prints three addresses: robots.txt is served, answered with 503, or reset.
"""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING

from faults import BEAT, CHUNKED, FaultServer, chunk, head
from walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faults import Line

CHILDREN = 4
URLS = 40
_RESTART_SECONDS = 0.02


class TortureServer(FaultServer):
    """A server of `/index/KIND` and its children `/KIND/N`.

    Args:
        robots: how robots.txt is answered: whole, busy or reset.
    """

    def __init__(self, robots: str) -> None:
        super().__init__()
        self._robots = robots
        self._asked = 0
        self._lines: set[Line] = set()

    async def _serve(self, line: Line) -> None:
        self._lines.add(line)
        try:
            while request := await line.read_request():
                line.keeps_open = False
                self._asked += 1
                _, kind, *rest = request.path.split("/")
                await self._answer(line, kind, rest)
                if not line.keeps_open:
                    break
        except ConnectionError:
            pass  # the client has closed the connection
        finally:
            self._lines.discard(line)
            await line.close()

    async def _answer(self, line: Line, kind: str, rest: list[str]) -> None:
        if kind == "robots.txt":
            await self._answer_robots(line)
        elif kind == "index":
            name, _, count = rest[0].partition("--")
            await line.answer(index(*(f"/{name}/{n}" for n in range(int(count or CHILDREN)))))
        elif kind == "hops" and rest[-1] != "end":
            await line.answer(b"", "302 Found", f"Location: /hops/{rest[0]}/end")
        elif kind == "flaky" and self._asked % 2:
            await line.answer(b"", "503 No")
        elif kind == "none":
            await line.answer(b"", "404 No")
        else:
            await self._play(line, kind, urlset(*(f"https://a.org/{n}" for n in range(URLS))))

    async def _answer_robots(self, line: Line) -> None:
        if self._robots == "reset":
            line.reset()
        elif self._robots == "busy":
            await line.answer(b"", "503 No")
        else:
            await line.answer(
                f"Sitemap: {self.base}/index/good\nSitemap: {self.base}/none".encode()
            )

    async def _play(self, line: Line, kind: str, body: bytes) -> None:
        half = len(body) // 2
        if kind == "gz":
            await line.answer(gzip.compress(body, mtime=0))
        elif kind == "cut":
            await line.send(head(length=len(body)) + body[:half])
        elif kind == "silence":
            await line.send(head(length=len(body)) + body[:half])
            await line.wait_for_end()
        elif kind == "bad-chunk":
            await line.send(CHUNKED, chunk(body[:half]), pause=BEAT / 10)
            await line.send(b"ZZZ\r\n")
            await line.wait_for_end()
        elif kind == "reset":
            line.reset()
        else:
            await line.answer(body)
        if kind == "restart":
            await self._restart()

    async def _restart(self) -> None:
        """Reset all connections, stop listening for a while, and listen again."""
        assert self._server is not None
        self._server.close()
        for line in self._lines:
            line.reset()
        await asyncio.sleep(_RESTART_SECONDS)
        self._server = await asyncio.start_server(self._accept, self.host, self.port)


async def run() -> None:
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(TortureServer(robots))
            for robots in ("whole", "busy", "reset")
        ]
        print(*(server.base for server in servers), flush=True)  # noqa: T201 (the client reads it)
        await asyncio.Event().wait()


@contextmanager
def serve() -> Iterator[list[str]]:
    """Run the servers in a process of their own; yield their addresses."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(iter(server.stdout or ())).split()
        finally:
            server.kill()


if __name__ == "__main__":
    asyncio.run(run())
