"""A server for thousands of sites, `sN.test`, in a process of its own.

Site N has a robots.txt, an index, 1 to 5 children and 100 URLs in all. One of a hundred is poison,
of eight kinds in turn. `expect_urls` is the truth.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

URLS = 100
POISON = ("hang", "drip", "endless", "reset", "loop", "error", "gzip", "noise")
POISON_EVERY = 100
_XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NOISE = bytes((n * 7919 + 13) % 256 for n in range(4_096))
_DRIP_SECONDS = 0.5


def find_poison(site: int) -> str:
    """Return how a site is poisoned, or ""."""
    number, rest = divmod(site, POISON_EVERY)
    return POISON[number % len(POISON)] if rest == POISON_EVERY - 1 else ""


def expect_urls(site: int) -> set[str]:
    """Return the URLs of a site, without its origin; a broken one loses some."""
    return set() if find_poison(site) else {f"/{n}" for n in range(URLS)}


def make_page(site: int, path: str, origin: str) -> bytes | None:
    """Return the body of a path of a site, or `None`."""
    children = site % 5 + 1
    if path == "/robots.txt":
        return f"User-agent: *\nDisallow: /private/\nSitemap: {origin}/index.xml\n".encode()
    if path == "/index.xml":
        rows = "".join(
            f"<sitemap><loc>{origin}/map-{n}.xml</loc></sitemap>"
            for n in range(children)
        )
        return f'<sitemapindex xmlns="{_XMLNS}">{rows}</sitemapindex>'.encode()
    if path.startswith("/map-"):
        first = int(path[len("/map-") : -len(".xml")])
        rows = "".join(
            f"<url><loc>{origin}/{n}</loc><lastmod>2026-11-{n % 28 + 1:02}</lastmod></url>"
            for n in range(first, URLS, children)
        )
        return f'<urlset xmlns="{_XMLNS}">{rows}</urlset>'.encode()
    return None


@contextmanager
def serve() -> Iterator[int]:
    """Serve all sites; give the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=4_096) as listener:
        port = int(listener.getsockname()[1])
        command = [sys.executable, str(Path(__file__)), str(listener.fileno())]
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, pass_fds=[listener.fileno()]
        )
    with server:
        try:
            if server.stdout is None:
                raise TypeError("the server was started without a pipe")
            server.stdout.readline()
            yield port
        finally:
            server.kill()


class _Connection(asyncio.Protocol):
    """One connection: requests without a body, one after another."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._pending = b""

    def connection_lost(self, error: Exception | None) -> None:
        del error
        self._transport.abort()  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._pending += data
        while b"\r\n\r\n" in self._pending:
            head, _, self._pending = self._pending.partition(b"\r\n\r\n")
            self._answer(head.decode("latin-1"))

    def _answer(self, head: str) -> None:
        lines = head.split("\r\n")
        path = lines[0].split(" ")[1]
        headers = {
            k.lower(): v.strip()
            for k, _, v in (line.partition(":") for line in lines[1:])
        }
        host = headers["host"]
        site = int(host[1 : host.index(".")])
        poison = find_poison(site)
        if poison:
            self._poison(poison, path)
            return
        body = make_page(site, path, f"http://{host}")
        tag = f'"{site}-{path}"'
        if body is None:
            self._send("404 Not Found", b"")
        elif headers.get("if-none-match") == tag:
            self._send("304 Not Modified", b"", f"ETag: {tag}")
        else:
            self._send("200 OK", body, f"ETag: {tag}")

    def _send(self, status: str, body: bytes, *headers: str) -> None:
        fields = "".join(f"{field}\r\n" for field in headers)
        head = f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)  # type: ignore[attr-defined]

    def _poison(self, kind: str, path: str) -> None:
        begin = b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n<urlset>"
        write = self._transport.write  # type: ignore[attr-defined]
        if kind == "drip":
            write(begin)
            asyncio.get_running_loop().create_task(self._drip(b" ", _DRIP_SECONDS))
        elif kind == "endless":
            write(begin)
            asyncio.get_running_loop().create_task(self._drip(b" " * 65_536, 0.01))
        elif kind == "reset":
            self._transport.abort()  # type: ignore[attr-defined]
        elif kind == "loop":
            self._send("302 Found", b"", f"Location: {path}")
        elif kind == "error":
            self._send("500 Internal Server Error", b"")
        elif kind == "gzip":
            self._send("200 OK", gzip.compress(b"<urlset>" * 100)[:-20])
        elif kind == "noise":
            self._send("200 OK", _NOISE)

    async def _drip(self, piece: bytes, seconds: float) -> None:
        while not self._transport.is_closing():
            self._transport.write(piece)  # type: ignore[attr-defined]
            await asyncio.sleep(seconds)


async def _serve_for_ever(listener: socket.socket) -> None:
    await asyncio.get_running_loop().create_server(
        _Connection, sock=listener, backlog=4_096
    )
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve_for_ever(socket.socket(fileno=int(sys.argv[1]))))
