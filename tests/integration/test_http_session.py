"""Sessions: our own, a caller's with all that it has, and TLS."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

import aiohttp
import pytest
from certificates import make_server_context, write_certificate
from faults import DOCUMENT, GZIPPED, ROUTES, FaultServer, Line, Request, head
from timing import retried

from sitemapreader.errors import FetchError
from sitemapreader.fetch import Fetcher
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ONCE = FetchOptions(max_attempts=1)


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


async def fetch(fetcher: HttpFetcher, url: str) -> bytes:
    async with fetcher.open(url) as response:
        return b"".join([piece async for piece in response.chunks()])


async def fail(fetcher: HttpFetcher, url: str) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await fetch(fetcher, url)
    return caught.value


def test_it_is_a_fetcher() -> None:
    """The class satisfies the seam's protocol."""
    assert isinstance(HttpFetcher(), Fetcher)


# -- our own


async def test_a_fetcher_without_a_context(server: FaultServer) -> None:
    """The session is made by the first request, and `aclose` may be called twice."""
    fetcher = HttpFetcher()
    fetcher.trust(server.base)
    await fetcher.aclose()
    fetcher = HttpFetcher()
    fetcher.trust(server.base)
    assert await fetch(fetcher, server.url("ok")) == DOCUMENT
    await fetcher.aclose()
    await fetcher.aclose()
    with pytest.raises(RuntimeError, match="closed; make a new one"):
        await fetch(fetcher, server.url("ok"))


async def test_what_is_no_url_is_passed_over() -> None:
    """Trusting or slowing down for nonsense does nothing; opening it says what is wrong."""
    async with HttpFetcher() as fetcher:
        fetcher.trust("http://[::1")
        fetcher.set_crawl_delay("http://[::1", 5)
        assert (await fail(fetcher, "http://[::1")).code == IssueCode.INVALID_URL


async def test_connections_are_kept(server: FaultServer) -> None:
    """Documents of one host come over one connection."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        for _ in range(5):
            assert await fetch(fetcher, server.url("ok")) == DOCUMENT
    assert (len(server.requests), server.connections) == (5, 1)


def test_one_fetcher_belongs_to_one_event_loop() -> None:
    """In another loop it says so, and does not hang on locks of the first."""

    async def use(fetcher: HttpFetcher) -> None:
        async with FaultServer() as server:
            fetcher.trust(server.base)
            await fetch(fetcher, server.url("ok"))

    fetcher = HttpFetcher()
    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(use(fetcher))
        with pytest.raises(RuntimeError, match="another event loop"):
            second.run(use(fetcher))
        first.run(fetcher.aclose())


async def test_cookies_are_not_kept(server: FaultServer) -> None:
    """One document's cookies do not go along with the next request."""

    async def set_cookie(line: Line, request: Request) -> None:
        del request
        await line.send(head("200 OK", "Set-Cookie: a=b; Path=/", length=0))

    base = server.base.replace("127.0.0.1", "localhost")  # of an address, no jar keeps cookies
    async with HttpFetcher() as fetcher:
        fetcher.trust(base)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(ROUTES, "cookie", set_cookie)
            await fetch(fetcher, f"{base}/cookie")
        await fetch(fetcher, f"{base}/ok")
    assert "cookie" not in server.requests[1].headers


async def test_the_environment_does_not_count(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither a proxy nor a .netrc of the environment is used."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    async with HttpFetcher(ONCE) as fetcher:
        fetcher.trust(server.base)
        assert await fetch(fetcher, server.url("ok")) == DOCUMENT
    assert "authorization" not in server.requests[0].headers


async def test_a_proxy_is_asked_for_everything(server: FaultServer) -> None:
    """Requests go to the proxy, by full URL; its own address needs no leave."""
    paths: list[str] = []

    async def stand_in(line: Line, request: Request) -> None:
        paths.append(request.path)
        await line.answer()

    async with HttpFetcher(FetchOptions(proxy=server.base)) as fetcher:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(ROUTES, "x", stand_in)
            assert await fetch(fetcher, "http://site.example/x") == DOCUMENT
            assert (await fail(fetcher, "http://10.0.0.1/x")).code == IssueCode.BLOCKED_ADDRESS
    assert paths == ["http://site.example/x"]


# -- a caller's


async def test_a_given_session_is_used_and_not_closed(server: FaultServer) -> None:
    """Its headers are sent, our own where it has none, and it is open afterwards."""
    async with aiohttp.ClientSession(headers={"X-Api-Key": "x", "User-Agent": "me/1"}) as session:
        async with HttpFetcher(session=session) as fetcher:
            fetcher.trust(server.base)
            assert await fetch(fetcher, server.url("ok")) == DOCUMENT
        assert not session.closed
        async with session.get(server.url("ok")) as response:
            assert await response.read() == DOCUMENT
    headers = server.requests[0].headers
    assert headers["x-api-key"] == "x"
    assert headers["user-agent"] == "me/1"
    assert headers["accept-encoding"] == "gzip"
    assert headers["accept"].startswith("application/xml")


@pytest.mark.parametrize("auto_decompress", [True, False])
async def test_bodies_come_as_they_were_sent(auto_decompress: bool, server: FaultServer) -> None:
    """A session that decompresses does not do so for us."""
    async with aiohttp.ClientSession(auto_decompress=auto_decompress) as session:
        fetcher = HttpFetcher(session=session)
        fetcher.trust(server.base)
        assert await fetch(fetcher, server.url("gzipped")) == GZIPPED
        assert await fetch(fetcher, server.url("gzip-cut")) == GZIPPED[:40]


async def test_a_given_session_that_raises_for_status(server: FaultServer) -> None:
    """It is we who judge a status."""
    async with aiohttp.ClientSession(raise_for_status=True) as session:
        fetcher = HttpFetcher(session=session)
        fetcher.trust(server.base)
        error = await fail(fetcher, server.url("status/404"))
        assert (error.code, error.http_status) == (IssueCode.HTTP_STATUS, 404)


async def test_headers_of_a_given_session_stay_at_home(server: FaultServer) -> None:
    """A session's secrets do not cross into another origin with a redirect."""
    secrets = {"X-Api-Key": "x", "Authorization": "Bearer x", "User-Agent": "me/1"}
    async with FaultServer() as stranger, aiohttp.ClientSession(headers=secrets) as session:
        options = FetchOptions(allow_ports=(stranger.port,))
        fetcher = HttpFetcher(options, session=session)
        fetcher.trust(server.base)
        await fetch(fetcher, server.url(f"to?url={stranger.url('ok')}"))
        await fetch(fetcher, stranger.url("ok"))
        assert server.requests[0].headers["x-api-key"] == "x"
        for request in stranger.requests:
            sent = set(request.headers)
            assert sent == {"host", "user-agent", "accept", "accept-encoding"}
            assert request.headers["user-agent"] == "me/1"
        assert session.headers["X-Api-Key"] == "x"


async def test_middlewares_of_a_given_session_run(server: FaultServer) -> None:
    """What a session does to each request, it does to ours."""

    async def sign(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        request.headers["X-Signature"] = "signed"
        return await handler(request)

    async with aiohttp.ClientSession(middlewares=[sign]) as session:
        fetcher = HttpFetcher(session=session)
        fetcher.trust(server.base)
        await fetch(fetcher, server.url("hops/1"))
    assert [request.headers["x-signature"] for request in server.requests] == ["signed"] * 2


async def test_literal_addresses_are_checked_with_a_given_session(server: FaultServer) -> None:
    """Its connector is not ours to guard; a URL with a private address in it is refused still."""
    async with aiohttp.ClientSession() as session:
        fetcher = HttpFetcher(FetchOptions(allow_ports=(server.port,)), session=session)
        for host in ("127.0.0.1", "localhost", "[::1]", "0x7f.1"):
            url = server.url("ok").replace("127.0.0.1", host)
            assert (await fail(fetcher, url)).code in {
                IssueCode.BLOCKED_ADDRESS,
                IssueCode.INVALID_URL,
            }
    assert server.connections == 0


@retried
async def test_a_given_session_in_time(server: FaultServer) -> None:
    """A session without time-outs of its own is bounded by ours."""
    options = FetchOptions(
        connect_seconds=0.1, headers_seconds=0.1, idle_seconds=0.2, max_attempts=1
    )
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        fetcher = HttpFetcher(options, session=session)
        fetcher.trust(server.base)
        assert (await fail(fetcher, server.url("silence"))).code == IssueCode.TIMEOUT
        assert (await fail(fetcher, server.url("half-then-silence"))).code == IssueCode.STALLED


# -- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and the certificate for `localhost` that it signed itself."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "both.pem")


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[FaultServer]:
    async with FaultServer("localhost", tls=make_server_context(certificate)) as server:
        yield server


async def test_a_certificate_that_nobody_knows(secure: FaultServer) -> None:
    """It is refused as TLS, with one connection and no request."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(secure.base)
        assert (await fail(fetcher, secure.url("ok"))).code == IssueCode.TLS
    assert secure.requests == []


async def test_a_given_tls_context(secure: FaultServer, certificate: Path) -> None:
    """A caller's context decides whom to believe; the name is checked still."""
    context = ssl.create_default_context(cafile=certificate)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector) as session:
        fetcher = HttpFetcher(ONCE, session=session)
        fetcher.trust(secure.base)
        assert await fetch(fetcher, secure.url("ok")) == DOCUMENT
        other = secure.base.replace("localhost", "127.0.0.1")
        fetcher.trust(other)
        assert (await fail(fetcher, other)).code == IssueCode.TLS


async def test_faults_over_tls(secure: FaultServer, certificate: Path) -> None:
    """A body cut off inside TLS is told like any other."""
    context = ssl.create_default_context(cafile=certificate)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector) as session:
        fetcher = HttpFetcher(ONCE, session=session)
        fetcher.trust(secure.base)
        for path in ("length-short", "reset-mid"):
            assert (await fail(fetcher, secure.url(path))).code == IssueCode.BODY_CUT


@pytest.mark.parametrize("how", ["plain", "reset"])
async def test_a_server_that_speaks_no_tls(how: str) -> None:
    """Plain HTTP, or a reset at the first byte, is TLS; nobody asks again, nor over http."""
    connections = 0

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if how == "reset":
            Line(FaultServer(), reader, writer).reset()
        else:
            writer.write(head("400 Bad Request", length=0))
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server, HttpFetcher() as fetcher:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        fetcher.trust(url)
        assert (await fail(fetcher, url)).code == IssueCode.TLS
    assert connections == 1
