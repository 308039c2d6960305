"""The recipe for httpx, against the server that answers in every wrong way."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import attrs
import pytest
from certificates import make_server_context, write_certificate
from faults import DOCUMENT, FaultServer
from serving import serve
from test_http_faults import CASES, DEMANDING, SHORT, SMALL
from timing import retried
from walking import index, urlset

from sitemapreader.errors import FetchError
from sitemapreader.fetch import Fetcher
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.walker import walk

httpx = pytest.importorskip("httpx", reason="no httpx: pip install .[httpx]")
from sitemapreader.fetch.httpx import HttpxFetcher  # noqa: E402 (it needs the extra)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from serving import Page as ServedPage
    from test_http_faults import Case


OTHERWISE = {
    "length-and-chunks": None,  # h11 takes the chunks (RFC 9112, section 6.3)
    "headers-many": None,  # it bounds their bytes, not their number
    "http-0.9": IssueCode.CONNECT,  # a line without an end, and then no answer
    "status/000": IssueCode.BAD_HTTP,  # no status has this number
}
"""Where h11 judges otherwise than aiohttp's parser, and both can be defended."""
OPTIONS = FetchOptions(max_attempts=1)
SECRETS = {"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "x"}


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


async def test_there_is_one_clock_for_the_headers(server: FaultServer) -> None:
    """`headers_seconds` is all that a silent server gets; connecting is a part of it."""
    _, error = await read(server.url("silence"), FetchOptions(max_attempts=1, headers_seconds=0.2))
    assert error is not None
    assert (error.code, error.detail) == (IssueCode.TIMEOUT, "nothing for 0.2 s")


async def read(
    url: str, options: FetchOptions, limits: Limits = SMALL, *, seconds: float = 5
) -> tuple[bytes, FetchError | None]:
    delivered = bytearray()
    async with httpx.AsyncClient(timeout=seconds) as client:
        try:
            fetcher = HttpxFetcher(client, options, limits=limits)
            fetcher.trust(url)
            async with fetcher.open(url) as response:
                async for piece in response.chunks():
                    delivered += piece
        except FetchError as error:
            return bytes(delivered), error
    return bytes(delivered), None


@pytest.mark.parametrize("case", CASES, ids=str)
@retried
@pytest.mark.slow
async def test_every_fault_is_typed_and_follows_what_arrived(
    case: Case, server: FaultServer
) -> None:
    """A fault comes out as the code that HttpFetcher gives, after every byte that came before."""
    delivered, error = await read(server.url(case.path), case.options)
    code = error and error.code
    expected = OTHERWISE.get(case.path, case.code)
    assert code == expected or code in case.also
    assert delivered.startswith(case.delivered)
    if code == case.code:
        assert (error and error.http_status) == case.http_status


def test_every_difference_is_one() -> None:
    """The table of differences has no row that does not differ."""
    codes = {case.path: case.code for case in CASES}
    assert all(codes[path] != code for path, code in OTHERWISE.items())


@pytest.mark.parametrize(
    ("path", "options", "code"),
    [
        ("endless", OPTIONS, IssueCode.TOO_LARGE),
        ("drip", DEMANDING, IssueCode.TOO_SLOW),
        ("drip", SHORT, IssueCode.TIMEOUT),
    ],
)
async def test_a_body_is_watched(
    path: str, options: FetchOptions, code: IssueCode, server: FaultServer
) -> None:
    """An endless body is read up to the limit, and one that drips is given up."""
    delivered, error = await read(server.url(path), options)
    assert error is not None
    assert error.code == code
    assert 0 < len(delivered) <= SMALL.raw_bytes


async def test_nobody_listens(unused_tcp_port: int) -> None:
    """A refused connection, an unknown host and a URL that is none have their codes."""
    _, refused = await read(f"http://127.0.0.1:{unused_tcp_port}/", OPTIONS)
    _, unknown = await read("http://does-not-exist.invalid/", OPTIONS)
    _, invalid = await read("http://[::1/", OPTIONS)
    errors = [error for error in (refused, unknown, invalid) if error]
    assert [error.code for error in errors] == ["connect", "dns", "invalid-url"]


async def test_a_handshake_that_fails() -> None:
    """A server that speaks no TLS is `tls`, and one that says nothing is `timeout`."""
    mute = asyncio.Event()
    answered = asyncio.Semaphore(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if mute.is_set():
            await reader.read()
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        answered.release()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
    async with listener:
        _, no_tls = await read(url, OPTIONS)
        mute.set()
        _, nothing = await read(url, OPTIONS, seconds=0.2)
        for _ in range(2):
            await answered.acquire()
    assert [error and error.code for error in (no_tls, nothing)] == ["tls", "timeout"]


async def test_secrets_stay_at_home(server: FaultServer) -> None:
    """The client's headers, cookies and auth do not follow a redirect to another origin."""
    async with (
        FaultServer() as stranger,
        httpx.AsyncClient(headers=SECRETS, auth=("me", "word"), cookies={"c": "d"}) as client,
    ):
        target = quote(stranger.url("ok"), safe="")
        options = attrs.evolve(OPTIONS, user_agent="me/1", allow_ports=(stranger.port,))
        fetcher = HttpxFetcher(client, options)
        fetcher.trust(server.base)
        async with fetcher.open(server.url(f"to?url={target}")) as response:
            assert response.url == stranger.url("ok")
        at_home, elsewhere = server.requests[-1].headers, stranger.requests[-1].headers
    assert {"authorization", "cookie", "x-api-key"} <= at_home.keys()
    assert elsewhere.keys() == {
        *("host", "connection", "accept", "accept-encoding", "user-agent"),
    }
    assert at_home["user-agent"] == elsewhere["user-agent"] == "me/1"
    assert elsewhere["accept-encoding"] == "gzip"


async def test_the_clients_own_redirects_have_no_say(server: FaultServer) -> None:
    """A client that follows redirects by itself does not here: the options decide."""
    async with httpx.AsyncClient(follow_redirects=True) as client:
        fetcher = HttpxFetcher(client, attrs.evolve(OPTIONS, max_redirects=1))
        fetcher.trust(server.base)
        with pytest.raises(FetchError) as caught:
            async with fetcher.open(server.url("hops/3")):
                pass
    assert caught.value.code == IssueCode.TOO_MANY_REDIRECTS


async def test_what_passes_is_tried_again(server: FaultServer) -> None:
    """A server that fails once is asked again, as often as `options.max_attempts` says."""
    async with httpx.AsyncClient() as client:
        fetcher = HttpxFetcher(client, FetchOptions(max_attempts=2, retry_wait_seconds=0.01))
        fetcher.trust(server.base)
        async with fetcher.open(server.url("flaky?times=1&with=502")) as response:
            assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT
            assert response.tries == 2


async def test_a_version_that_is_known_is_304(server: FaultServer) -> None:
    """A validator makes 304 an answer."""
    async with httpx.AsyncClient() as client:
        fetcher = HttpxFetcher(client, OPTIONS)
        fetcher.trust(server.base)
        async with fetcher.open(server.url("versioned")) as response:
            etag = response.headers["etag"]
        async with fetcher.open(
            server.url("versioned"), headers={"If-None-Match": etag}
        ) as response:
            assert response.status == 304


async def test_a_walk_goes_through_a_client() -> None:
    """A site is walked through httpx, gzip and faults and all, and the client stays open."""

    def make_pages(base: str) -> Mapping[str, ServedPage]:
        return {
            "/robots.txt": f"User-agent: *\nDisallow: /no\nSitemap: {base}/i.xml".encode(),
            "/i.xml": index("a.xml", "gone.xml", "no.xml"),
            "/a.xml": gzip.compress(urlset(*(f"{base}/{number}" for number in range(5_000)))),
        }

    async with serve(make_pages) as served, httpx.AsyncClient() as client:
        fetcher = HttpxFetcher(client, OPTIONS)
        assert isinstance(fetcher, Fetcher)
        async with walk(served.base, fetcher=fetcher) as entries:
            found = len([entry async for entry in entries])
        assert not client.is_closed
    assert found == 5_000
    outcomes = {
        each.url.removeprefix(served.base): each.reason for each in entries.report.documents
    }
    assert outcomes["/gone.xml"] == "http-status"
    assert outcomes["/no.xml"] == "robots-disallowed"


async def test_leaving_early_gives_the_connection_back(server: FaultServer) -> None:
    """A body that is left, or cancelled, in the middle leaves the client's pool empty."""
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=1)) as client:
        fetcher = HttpxFetcher(client, OPTIONS)
        fetcher.trust(server.base)
        async with fetcher.open(server.url("endless")) as response:
            async for _ in response.chunks():
                break
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), fetcher.open(server.url("silence")):
                pass
        async with fetcher.open(server.url("ok")) as response:
            assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT


async def test_addresses_of_strangers_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listed name that resolves to a private address is not connected to, by no way."""

    def resolve(host: str, port: int, *_: object, **__: object) -> list[object]:
        answers = {"inside.test": "10.0.0.7", "metadata.test": "169.254.169.254"}
        place = (answers.get(host, "127.0.0.1"), port)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    names = ("inside.test", "metadata.test", "loop.test", "127.0.0.1:22", "localhost", "[::1]")
    async with (
        serve(
            lambda _: {
                "/i.xml": index(*(f"http://{name}/s.xml" for name in names), "moved.xml"),
                "/moved.xml": "http://inside.test/x.xml",
            }
        ) as served,
        httpx.AsyncClient() as client,
    ):
        fetcher = HttpxFetcher(client, OPTIONS)
        start = f"{served.base}/i.xml"
        arguments: dict[str, Any] = {"hosts": "any", "respect_robots": False}
        async with walk(sitemaps=[start], fetcher=fetcher, **arguments) as entries:
            assert [entry async for entry in entries] == []
    reasons = [d.reason for d in entries.report.documents if d.url != start and d.reason]
    assert sorted(reasons) == ["blocked-address"] * 6 + ["blocked-port"]
    assert served.requested == ["/i.xml", "/moved.xml"]


async def test_a_stranger_is_asked_by_its_name() -> None:
    """The request goes to the address that was checked, with the name in Host, and no secrets."""
    async with FaultServer() as server, httpx.AsyncClient(headers=SECRETS) as client:
        options = attrs.evolve(OPTIONS, allow_networks=("127.0.0.0/8",), allow_ports=(server.port,))
        fetcher = HttpxFetcher(client, options)
        with pytest.MonkeyPatch.context() as patch:
            place = ("127.0.0.1", server.port)
            info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place)
            patch.setattr(socket, "getaddrinfo", lambda *_, **__: [info])
            url = f"http://stranger.test:{server.port}/ok"
            async with fetcher.open(url) as response:
                assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT
                assert response.url == url
        (request,) = server.requests
    assert request.headers["host"] == f"stranger.test:{server.port}"
    assert SECRETS.keys().isdisjoint({name.title() for name in request.headers})


async def test_tls_goes_by_the_name_and_not_by_the_address(tmp_path: Path) -> None:
    """The certificate has to be the stranger's, though the request goes to an address."""
    certificate = write_certificate(tmp_path / "both.pem")
    context = ssl.create_default_context(cafile=certificate)
    async with (
        FaultServer("localhost", tls=make_server_context(certificate)) as server,
        httpx.AsyncClient(verify=context) as client,
    ):
        options = attrs.evolve(OPTIONS, allow_networks=("127.0.0.0/8",), allow_ports=(server.port,))
        fetcher = HttpxFetcher(client, options)
        async with fetcher.open(server.url("ok")) as response:
            assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT
        other = server.url("ok").replace("localhost", "a.localhost")
        with pytest.raises(FetchError) as caught:
            async with fetcher.open(other):
                pass
    assert caught.value.code == IssueCode.TLS


async def test_it_keeps_to_slots_and_delays(server: FaultServer) -> None:
    """A Crawl-delay, `per_host` and `delay_seconds` hold as for HttpFetcher."""
    async with httpx.AsyncClient() as client:
        fetcher = HttpxFetcher(client, FetchOptions(per_host=2))
        fetcher.trust(server.base)
        await asyncio.gather(*(open_once(fetcher, server.url("slow")) for _ in range(6)))
        assert max(request.at_once for request in server.requests) == 2
        server.requests.clear()
        fetcher.set_crawl_delay(server.base, 0.1)
        for _ in range(3):
            await open_once(fetcher, server.url("ok"))
    times = [request.at for request in server.requests]
    assert times[-1] - times[0] >= 0.15


async def open_once(fetcher: HttpxFetcher, url: str) -> None:
    async with fetcher.open(url) as response:
        assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT


async def test_a_walk_keeps_the_crawl_delay_of_a_site() -> None:
    """What robots.txt asks for reaches a client of httpx too."""

    def make_pages(base: str) -> Mapping[str, ServedPage]:
        robots = f"User-agent: *\nCrawl-delay: 0.15\nSitemap: {base}/i.xml"
        return {
            "/robots.txt": robots.encode(),
            "/i.xml": index("a.xml", "b.xml"),
            "/a.xml": urlset(f"{base}/1"),
            "/b.xml": urlset(f"{base}/2"),
        }

    loop = asyncio.get_running_loop()
    async with serve(make_pages) as served, httpx.AsyncClient() as client:
        begin = loop.time()
        async with walk(served.base, fetcher=HttpxFetcher(client, OPTIONS)) as entries:
            assert len([entry async for entry in entries]) == 2
    assert loop.time() - begin >= 0.28


@pytest.mark.parametrize("answers", [1, 2, 3])
async def test_each_address_of_a_stranger_is_tried(
    answers: int, unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address where nobody listens is passed over; without any left it is `connect`."""
    addresses = [f"127.0.0.{last}" for last in (2, 3, 4)]

    def resolve(host: str, port: int, *_: object, **__: object) -> list[object]:
        found = addresses if host.endswith(".test") else [host]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    async with FaultServer(addresses[answers - 1]) as server, httpx.AsyncClient() as client:
        ports = (server.port, unused_tcp_port)
        options = attrs.evolve(OPTIONS, allow_networks=("127.0.0.0/8",), allow_ports=ports)
        fetcher = HttpxFetcher(client, options)
        await open_once(fetcher, f"http://many.test:{server.port}/ok")
        with pytest.raises(FetchError) as caught:
            await open_once(fetcher, f"http://many.test:{unused_tcp_port}/ok")
    assert caught.value.code == IssueCode.CONNECT


async def test_a_cancelled_request_holds_nothing(server: FaultServer) -> None:
    """Wherever it is cancelled, the place in the pool and the slot are free again."""
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=1)) as client:
        fetcher = HttpxFetcher(client, FetchOptions(max_attempts=1, per_host=1))
        fetcher.trust(server.base)
        for path in ("ok", "hops/2", "status/404", "endless"):
            for steps in range(0, 60, 3):
                task = asyncio.create_task(open_once(fetcher, server.url(path)))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                with contextlib.suppress(asyncio.CancelledError):
                    task.exception()
            async with asyncio.timeout(30):
                await open_once(fetcher, server.url("ok"))
    assert not any(host.users for host in fetcher.network.throttle._hosts.values())
