"""The server of the soak: gzipped sitemaps with faults that a seed determines.

Client and server draw alike, each from the path of a document; so the client knows what was done to
it, and how much of it has to come out.
"""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import zlib
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import attrs
from defusedxml.ElementTree import fromstring
from parts import PROTOCOL, make_urlset

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.faults import CHUNKED, FaultServer, answered, beat, chunk, head
from tests.support.walking import index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.support.faults import Request, Step

CHILDREN = 20
URLS = 10_000
KINDS = 8
"""Different bodies; what differs more is only what the server does to them."""
WAYS = {
    "whole": 60,
    "chunked": 10,
    "moved": 5,
    "cut": 4,
    "reset": 4,
    "chunk-cut": 3,
    "bad-chunk": 2,
    "silence": 2,
    "damaged": 4,
    "missing": 2,
    "busy": 2,
    "closed": 2,
}
"""What is done to a body, and how often, of a hundred."""


@attrs.frozen
class Body:
    """One sitemap, compressed, and the URLs in it in order."""

    data: bytes
    locs: list[str]

    def count_within(self, size: int) -> int:
        """Return how many records have their URL within the first `size` bytes, by zlib."""
        return (
            zlib.decompressobj(wbits=31).decompress(self.data[:size]).count(b"</loc>")
        )


@cache
def make_body(kind: int) -> Body:
    """Make one of the bodies; its URLs are found without any reader of ours."""
    data = make_urlset(URLS, kind).data
    locs = [
        element.text or "" for element in fromstring(data).iter(f"{{{PROTOCOL}}}loc")
    ]
    return Body(gzip.compress(data, 6, mtime=0), locs)


@attrs.frozen
class Fate:
    """The fault of one child.

    Attributes:
        way: what is done to it.
        body: what it would be.
        cut: how many bytes of that are sent, or come before the damaged one.
    """

    way: str
    body: Body
    cut: int


def draw_ways(seed: int, walk: int) -> list[str]:
    """Choose the faults of the children of an index."""
    random = Random(f"{seed} {walk}")
    return random.choices(list(WAYS), list(WAYS.values()), k=CHILDREN)


def draw_fate(seed: int, way: str, place: str) -> Fate:
    """Draw the body of a child by its place (`walk/number`), and where it is cut."""
    random = Random(f"{seed} {place}")
    body = make_body(random.randrange(KINDS))
    return Fate(way, body, random.randrange(1, len(body.data)))


class SoakServer(FaultServer):
    """Serves `/index/WALK`, and children at `/WAY/WALK/NUMBER`."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def answer(self, request: Request) -> Iterable[Step]:
        """Return the script for a request."""
        _, way, *rest = request.path.split("/")
        place = "/".join(rest)
        if way == "index":
            ways = draw_ways(self._seed, int(place))
            return answered(
                index(*(f"/{way}/{place}/{n}" for n, way in enumerate(ways)))
            )
        if way == "robots.txt":
            return answered(b"", "404 No")
        fate = draw_fate(self._seed, way, place)
        return self._write_script(fate.way, place, fate.body.data, fate.cut)

    def _write_script(
        self, way: str, place: str, body: bytes, cut: int
    ) -> Iterable[Step]:
        match way:
            case "whole":
                return answered(body)
            case "moved":
                return answered(b"", "302 Found", f"Location: /whole/{place}")
            case "damaged":
                return answered(
                    body[:cut] + bytes([body[cut] ^ 0x10]) + body[cut + 1 :]
                )
            case "missing" | "busy":
                return answered(b"", "503 No" if way == "busy" else "404 No")
            case "chunked":
                pieces = (body[n : n + 9_999] for n in range(0, len(body), 9_999))
                return [CHUNKED, *map(chunk, pieces), b"0\r\n\r\n", "keep"]
            case "chunk-cut":
                return [CHUNKED + b"%x\r\n" % len(body) + body[:cut]]
            case "bad-chunk":
                return [*beat(CHUNKED, chunk(body[:cut]), b"ZZZ\r\n"), "wait"]
            case "cut" | "reset" | "silence":
                then = {"reset": ["reset"], "silence": ["wait"]}.get(way, [])
                return [*beat(head(length=len(body)) + body[:cut]), *then]
            case _:
                return []


async def run_server(seed: int) -> None:
    """Serve until the process is ended; the first line that is printed is the address."""
    for kind in range(KINDS):
        make_body(kind)
    async with SoakServer(seed) as server:
        print(server.base, flush=True)
        await asyncio.Event().wait()


@contextmanager
def serve(seed: int) -> Iterator[str]:
    """Have a server in a process of its own; give its address."""
    command = [sys.executable, __file__, str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(iter(server.stdout or ())).strip()
        finally:
            server.kill()


if __name__ == "__main__":
    asyncio.run(run_server(int(sys.argv[1])))
