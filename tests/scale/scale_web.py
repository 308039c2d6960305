"""A web of many hosts on one port of loopback, and the truth about each of them.

It speaks as a proxy does: `GET http://www.d7.com/sitemap.xml`. So any number of hosts needs no
resolver, and any process can be sent there with `FetchOptions(proxy=...)`. What a host answers
follows from its number alone.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import sys
from collections import Counter, defaultdict
from functools import lru_cache
from hashlib import blake2b

POISON = (
    "hang",
    "error-500",
    "endless",
    "broken-gzip",
    "loop",
    "reset",
    "garbage",
    "drip",
)
"""What one host of a hundred does."""
URLS_PER_CHILD = 10_000
MAX_URLS = 20_000
_URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def _draw(what: str, number: int) -> int:
    """Return 32 bits that depend on nothing but these."""
    return int.from_bytes(
        blake2b(f"{what}{number}".encode(), digest_size=4).digest(), "big"
    )


def name_host(number: int) -> str:
    """Return the name of a host; each tenth one has the registrable domain of the one before."""
    return f"shop.d{number - 1}.com" if number % 10 == 9 else f"www.d{number}.com"


def name_site(number: int) -> str:
    """Return the URL of a host, as a line of a list."""
    return f"http://{name_host(number)}/"


def find_number(host: str) -> int:
    """Return the number of a host."""
    label, domain, _ = host.split(".")
    return int(domain[1:]) + (label == "shop")


def find_kind(number: int) -> str:
    """Return what a host is: "good", "none" (it has no sitemap) or a poison."""
    drawn = _draw("kind", number) % 1000
    if drawn < 10:
        return POISON[_draw("poison", number) % len(POISON)]
    return "none" if drawn < 60 else "good"


def has_changed(number: int, day: int) -> bool:
    """Tell whether a host's sitemap is another one since day 0: one of twenty is, from day 1 on."""
    return day > 0 and _draw("change", number) % 20 == 0


def count_urls(number: int) -> int:
    """Return how many URLs a good host has on day 0: few mostly, by Zipf's law."""
    if find_kind(number) != "good":
        return 0
    share = (_draw("size", number) + 1) / 2**32
    return min(MAX_URLS, int(5 * share ** (-1 / 1.05)))


def list_changes(number: int, day: int) -> tuple[int, int]:
    """Return how many URLs of a good host have changed since day 0, and how many are new."""
    if not has_changed(number, day) or find_kind(number) != "good":
        return 0, 0
    return -(-count_urls(number) // 10), 1


@lru_cache(maxsize=2_000)
def make_sitemap(number: int, part: int, changed: bool) -> bytes:
    """Return a child sitemap, or the sitemap of a host that has no index (part -1)."""
    host, total = name_host(number), count_urls(number)
    begin = max(part, 0) * URLS_PER_CHILD
    end = total if part < 0 else min(total, begin + URLS_PER_CHILD)
    dated = -(-total // 10) if changed else 0
    rows = [
        f"<url><loc>http://{host}/p/{each}</loc>"
        f"<lastmod>2026-{'02' if each < dated else '01'}-{1 + each % 28:02}</lastmod></url>\n"
        for each in range(begin, end)
    ]
    if changed and begin == 0:
        rows.append(
            f"<url><loc>http://{host}/new</loc><lastmod>2026-02-02</lastmod></url>\n"
        )
    return f"{_URLSET}{''.join(rows)}</urlset>".encode()


def make_index(number: int) -> bytes:
    """Return the index of a large host."""
    children = range(-(-count_urls(number) // URLS_PER_CHILD))
    host = name_host(number)
    rows = "".join(
        f"<sitemap><loc>http://{host}/s{each}.xml</loc></sitemap>" for each in children
    )
    name = "sitemapindex"
    return f"<{name}{_URLSET.removeprefix('<urlset')}{rows}</{name}>".encode()


class Web:
    """The state of the server, shared by its connections.

    Attributes:
        day: 0, or later, when some hosts have changed.
        latency: seconds before each answer.
        counts: requests, and bytes of bodies.
        clashes: registrable domains at which two different User-Agents were at the same time.
        asked: requests of each registrable domain.
        most: the most of them at a time.
    """

    def __init__(self, latency: float = 0.0) -> None:
        self.day = 0
        self.latency = latency
        self.counts: Counter[str] = Counter()
        self.clashes: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self._visitors: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def enter(self, domain: str, agent: str) -> None:
        """Count a request that begins."""
        self.counts["requests"] += 1
        visitors = self._visitors[domain]
        visitors[agent] += 1
        self.asked[domain] += 1
        self.most[domain] = max(self.most[domain], visitors.total())
        if len(visitors) > 1:
            self.clashes[domain] += 1

    def leave(self, domain: str, agent: str) -> None:
        """Count a request that has ended."""
        visitors = self._visitors[domain]
        visitors[agent] -= 1
        if not visitors[agent]:
            del visitors[agent]
        if not visitors:
            del self._visitors[domain]


class Connection(asyncio.Protocol):
    """One connection of a client to the proxy."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._buffer = b""
        self._at: tuple[str, str] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Count an answer that was not waited for."""
        del exc
        self._leave()

    def data_received(self, data: bytes) -> None:
        """Answer a request when its head is there."""
        self._buffer += data
        if self._at is not None or b"\r\n\r\n" not in self._buffer:
            return
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        target = first.split(" ")[1]
        if not target.startswith("http://"):  # a question of the test itself
            self._control(target)
            return
        host, _, path = target.removeprefix("http://").partition("/")
        headers = {
            key.lower(): value
            for key, _, value in (line.partition(": ") for line in lines)
        }
        number = find_number(host)
        self._at = (host.split(".", 1)[1], headers.get("user-agent", ""))
        self._web.enter(*self._at)
        asyncio.get_running_loop().call_later(
            self._web.latency, self._answer, number, host, f"/{path}", headers
        )

    def _answer(
        self, number: int, host: str, path: str, headers: dict[str, str]
    ) -> None:
        if self._transport.is_closing():
            return
        kind = find_kind(number)
        if kind == "hang":
            return
        if kind == "reset":
            self._transport.abort()
        elif kind in ("none", "error-500"):
            self._send(404 if kind == "none" else 500)
        elif kind == "loop":
            self._send(302, extra=f"Location: http://{host}{path[:60]}x\r\n")
        elif path == "/robots.txt":
            lines = f"User-agent: *\nSitemap: http://{host}/sitemap.xml\n"
            self._send(200, lines.encode(), "Content-Type: text/plain\r\n")
        elif kind == "good":
            self._answer_sitemap(number, path, headers)
        else:
            self._poison(kind, host)

    def _answer_sitemap(self, number: int, path: str, headers: dict[str, str]) -> None:
        changed = has_changed(number, self._web.day)
        tag = f'"{number}{path}-{changed:d}"'
        is_large = count_urls(number) > URLS_PER_CHILD
        child = path.removeprefix("/s").removesuffix(".xml")
        if path == "/sitemap.xml":
            body = make_index(number) if is_large else make_sitemap(number, -1, changed)
        elif is_large and child.isdecimal():
            body = make_sitemap(number, int(child), changed)
        else:
            self._send(404)
            return
        if headers.get("if-none-match") == tag:
            self._send(304, extra=f"ETag: {tag}\r\n")
        else:
            self._send(200, body, f"ETag: {tag}\r\nContent-Type: application/xml\r\n")

    def _poison(self, kind: str, host: str) -> None:
        if kind == "garbage":
            self._send(
                200,
                random.Random(7).randbytes(3_000),
                "Content-Type: application/xml\r\n",
            )
        elif kind == "broken-gzip":
            rows = f"<url><loc>http://{host}/lost</loc></url>" * 500
            self._send(200, gzip.compress(f"{_URLSET}{rows}".encode(), mtime=0)[:90])
        else:
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n"
                + _URLSET.encode()
            )
            self._forever = asyncio.ensure_future(self._send_forever(kind, host))

    async def _send_forever(self, kind: str, host: str) -> None:
        sent = 0
        while not self._transport.is_closing():
            if kind == "drip":
                self._transport.write(b" ")
                await asyncio.sleep(0.5)
            else:
                urls = range(sent, sent + 300)
                rows = (
                    f"<url><loc>http://{host}/e/{each}</loc></url>\n" for each in urls
                )
                self._transport.write("".join(rows).encode())
                sent += 300
                await asyncio.sleep(0.005)

    def _send(self, status: int, body: bytes = b"", extra: str = "") -> None:
        self._leave()
        self._web.counts["bytes"] += len(body)
        head = f"HTTP/1.1 {status} Answer\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        self._transport.write(head.encode() + body)

    def _leave(self) -> None:
        if self._at is not None:
            self._web.leave(*self._at)
            self._at = None

    def _control(self, path: str) -> None:
        """Set the day (`/day/1`), and tell the counts."""
        web = self._web
        if path.startswith("/day/"):
            web.day = int(path[5:])
        answer = {
            name: getattr(web, name) for name in ("counts", "clashes", "asked", "most")
        }
        self._send(200, json.dumps(answer).encode())


async def serve(port: int, latency: float) -> None:
    """Serve until cancelled; print the port when it is open."""
    web = Web(latency)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(web), "127.0.0.1", port, backlog=4096
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
