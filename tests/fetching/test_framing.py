"""Answers that are out of step: no URL is invented, and none is lost without an Issue."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs
import pytest

from sitemapreader import walk
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch import HttpFetcher
from sitemapreader.fetch.connections import ChunkMerger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sitemapreader import Report

CHILDREN = 20
SECOND_ANSWER, REST, TIMED_OUT = "a second answer", "the rest of a body", "408"
SECONDS = (0.0, 0.001, 0.05)
PAUSES = FetchOptions(retry_wait_seconds=0.05, host_pause_seconds=0.05)


def write_answer(
    body: bytes, status: str = "200 OK", *, length: int | str | None = None
) -> bytes:
    said = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {said}\r\n\r\n".encode() + body


def list_urls(*urls: str, parent: str = "urlset", child: str = "url") -> bytes:
    places = "".join(f"<{child}><loc>{url}</loc></{child}>" for url in urls)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<{parent} xmlns="{space}">{places}</{parent}>\n'.encode()


@attrs.define
class Site:
    """A site of one index whose server sends something after each of its answers."""

    surplus: str = ""
    seconds: float = 0.0
    """How long after the answer; 0 is in the same packet."""
    children: int = CHILDREN
    states_less: int = 0
    """How much shorter its Content-Length is than its bodies."""
    maze: bool = False
    """Whether each child leads to another URL, without end."""
    child: bytes = b""
    """What a child is answered with, in place of a sitemap."""
    base: str = ""
    requested: list[str] = attrs.field(factory=list)
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Site]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield self
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def pages(self) -> set[str]:
        """The URLs that the site lists."""
        return {f"{self.base}/page/{number}" for number in range(self.children)}

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        # A callback, not a coroutine: asyncio would keep the tasks to itself.
        task = asyncio.get_running_loop().create_task(self._answer_all(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_all(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
                self.requested.append(path)
                answer, surplus = self._write(path), self._write_surplus(path)
                writer.write(answer if self.seconds else answer + surplus)
                if self.seconds:
                    await asyncio.sleep(self.seconds)
                    writer.write(surplus)
                if self.surplus == TIMED_OUT:  # and says so before it hangs up
                    await asyncio.sleep(0.05)
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    def _write(self, path: str) -> bytes:
        if path == "/robots.txt":
            return write_answer(f"Sitemap: {self.base}/index.xml\n".encode())
        if path == "/index.xml":
            urls = (f"{self.base}/{number}.xml" for number in range(self.children))
            return write_answer(
                list_urls(*urls, parent="sitemapindex", child="sitemap")
            )
        if self.maze:
            return write_answer(b"", f"302 Found\r\nLocation: {path}/1")
        body = list_urls(f"{self.base}/page{path.removesuffix('.xml')}")
        return self.child or write_answer(body, length=len(body) - self.states_less)

    def _write_surplus(self, path: str) -> bytes:
        if self.surplus == SECOND_ANSWER:
            return write_answer(list_urls(f"{self.base}/invented{path}"))
        if self.surplus == TIMED_OUT:
            return write_answer(b"too late", "408 Request Timeout")
        return b"</urlset>\n" if self.surplus else b""


async def read_site(site: Site, delay: float = 0.0) -> tuple[set[str], Report]:
    """Walk a site; return the URLs, and the report."""
    async with site.serve():
        fetcher = HttpFetcher(attrs.evolve(PAUSES, delay_seconds=delay))
        async with fetcher, walk(f"{site.base}/", fetcher=fetcher) as entries:
            found = {entry.loc async for entry in entries}
            return found, entries.report


def codes_of(report: Report) -> set[str]:
    return {issue.code for issue in report.issues}


@pytest.mark.parametrize("surplus", [SECOND_ANSWER, REST, TIMED_OUT])
async def test_what_arrives_on_an_idle_connection_is_no_answer(surplus: str) -> None:
    """After robots.txt, the index and each child, whenever it arrives: it is dropped."""
    sites = [Site(surplus, seconds, children=3) for seconds in SECONDS]
    results = await asyncio.gather(*(read_site(site, delay=0.2) for site in sites))
    for site, (found, report) in zip(sites, results, strict=True):
        assert found == site.pages, site.seconds
        assert report.complete
        if surplus != TIMED_OUT:  # a server may say so, and is not told
            assert codes_of(report) == {IssueCode.SURPLUS_BYTES}
        assert len(site.requested) == len(set(site.requested)), "nothing is asked twice"


@pytest.mark.parametrize("surplus", [REST, TIMED_OUT])
async def test_what_arrives_before_an_answer_is_none(surplus: str) -> None:
    """It comes while the next request is under way, which is sent again on a new connection."""
    sites = [Site(surplus, seconds, children=6) for seconds in SECONDS]
    results = await asyncio.gather(*map(read_site, sites))
    for site, (found, report) in zip(sites, results, strict=True):
        assert found == site.pages, site.seconds
        assert report.complete


async def test_a_second_answer_before_the_answer() -> None:
    """Of two answers to one request, neither is believed; the host keeps no connection again."""
    # Before a pause of some milliseconds, the first one may be taken for the answer, because it is
    # the only one: an Issue tells so, and it happens once a host at most.
    sites = [Site(SECOND_ANSWER, seconds) for seconds in (0.0, 0.05, 0.5)]
    results = await asyncio.gather(*map(read_site, sites))
    for site, (found, report) in zip(sites, results, strict=True):
        assert found == site.pages, site.seconds
        assert IssueCode.SURPLUS_BYTES in codes_of(report)


@pytest.mark.parametrize("less", [1, 2, 15], ids="{} bytes".format)
async def test_a_length_that_is_too_short(less: int) -> None:
    """As much is read as was stated, the rest is an Issue, and the next child is whole."""
    site = Site(states_less=less)
    found, report = await read_site(site)
    assert found == site.pages
    # A line end is nothing: the first byte that is missing is the next one.
    told = {
        issue.sitemap
        for issue in report.issues
        if issue.code is IssueCode.SURPLUS_BYTES
    }
    assert len(told) == (CHILDREN if less > 1 else 0)


@pytest.mark.parametrize(
    "child",
    [
        b"\0\1\2 no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<urls\r\nZZ\r\n",
        write_answer(b"", "302 Found\r\nLocation: /0.xml?"),
    ],
    ids=["garbage", "a cut body", "a redirect to itself"],
)
async def test_a_host_of_broken_answers_is_not_asked_for_all(child: bytes) -> None:
    """The breaker counts them as failures of the host; the rest is skipped, and said so."""
    site = Site(child=child, children=300)
    found, report = await read_site(site)
    assert not found
    assert not report.complete
    assert IssueCode.HOST_DOWN in codes_of(report)
    assert len(site.requested) < 40


async def test_redirects_that_lead_nowhere_count_as_documents() -> None:
    """A maze behind each child cannot make a walk of many more requests than its limit."""
    site = Site(maze=True, children=300)
    options = attrs.evolve(PAUSES, failures_in_row=10_000)
    async with (
        site.serve(),
        HttpFetcher(options, limits=Limits(documents=60)) as fetcher,
        walk(f"{site.base}/", fetcher=fetcher) as entries,
    ):
        assert [entry async for entry in entries] == []
        assert IssueCode.BUDGET_DOCUMENTS in codes_of(entries.report)
    assert 60 <= len(site.requested) < 100


async def test_a_length_that_is_too_long() -> None:
    """What has arrived is read, and each child says that it is cut."""
    body = list_urls("http://127.0.0.1/page")
    site = Site(child=write_answer(body, length=len(body) + 5), children=2)
    async with site.serve():
        options = attrs.evolve(PAUSES, idle_seconds=0.2)
        async with (
            HttpFetcher(options) as fetcher,
            walk(site.base, fetcher=fetcher) as entries,
        ):
            found = [entry.loc async for entry in entries]
    assert found == ["http://127.0.0.1/page"] * 2
    assert not entries.report.complete


@pytest.mark.parametrize("seed", range(3))
def test_merged_chunks_are_the_same_body(seed: int) -> None:
    """However chunks arrive, what is passed on has the same body, without their extensions."""
    chance = random.Random(seed)
    for _ in range(40):
        pieces = [chance.randbytes(chance.choice([1, 2, 15, 16, 40])) for _ in range(9)]
        ends = chance.choices([b"\r\n", b"\n"], [3, 1], k=20)
        lines = [
            b"%x" % len(piece) + chance.choice([b"", b"", b" ", b";a=1", b" ;b"])
            for piece in [*pieces, b""]
        ]
        wire = lines[0] + b"\r\n"
        for piece, line in zip(pieces, lines[1:], strict=True):
            wire += piece + ends.pop() + line + ends.pop()
        wire += b"X-A: b\r\n\r\n"
        cuts = sorted(chance.randrange(len(wire)) for _ in range(chance.randrange(9)))
        merger, passed = ChunkMerger(), b""
        for start, stop in pairwise([0, *cuts, len(wire)]):
            passed += merger.merge(wire[start:stop])
        assert unchunk(passed) == (b"".join(pieces), b"X-A: b\r\n\r\n")
        assert (merger.body_bytes, merger.has_ended) == (sum(map(len, pieces)), True)
        assert merger.merge(b"any") == b"any"


def unchunk(data: bytes) -> tuple[bytes, bytes]:
    """Return a body in chunks without extensions, and what follows it."""
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return body, data
        assert data[length : length + 2] == b"\r\n"
        body += data[:length]
        data = data[length + 2 :]


@pytest.mark.parametrize(
    ("wire", "passed", "body_bytes"),
    [
        (b"3\r\nabc\r\nx\r\n", b"3\r\nabc\r\nx\r\n", 3),
        (b"3\r\nabcd\r\n", b"3\r\nabc\r\n?d\r\n", 3),
        (b"z", b"", 0),
        (b"z\r\n", b"z\r\n", 0),
        (b"1" * 4_094, b"", 0),
        (b"1" * 4_095, b"1" * 4_095, 0),
    ],
)
def test_broken_chunks_are_passed_on(
    wire: bytes, passed: bytes, body_bytes: int
) -> None:
    """The first bytes that are no chunk are, as soon as they are seen to be none, and all after."""
    merger = ChunkMerger()
    assert merger.merge(wire) == passed
    assert merger.body_bytes == body_bytes
    if passed:
        assert merger.merge(b"3\r\nabc\r\n") == b"3\r\nabc\r\n"
    assert not merger.has_ended
