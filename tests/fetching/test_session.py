"""HTTP sessions: options, headers, and what is left when they are closed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from yarl import URL

from sitemapreader import Search, discover, walk
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.proxies import Proxies
from tests.support import package
from tests.support.certificates import believe, make_server_context, write_certificate
from tests.support.faults import (
    DOCUMENT,
    ROUTES,
    FaultServer,
    Request,
    Step,
    always,
    answered,
    head,
    reset,
)
from tests.support.serving import Answer, Site, serve_site
from tests.support.walking import urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from aiohttp import web

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


async def test_a_closed_fetcher_says_so(server: FaultServer) -> None:
    """Once it is closed it fetches nothing more, whether it has fetched anything or not."""
    for is_used in (True, False):
        async with HttpFetcher() as fetcher:
            fetcher.trust(server.base)
            if is_used:
                await fetch(fetcher, server.url("ok"))
        with pytest.raises(
            RuntimeError, match="this HttpFetcher is closed: make a new one"
        ):
            await fetch(fetcher, server.url("ok"))


async def test_cookies_are_not_kept(server: FaultServer) -> None:
    """One document's cookies do not go along with the next request."""
    cookie = head("200 OK", "Set-Cookie: a=b; Path=/", length=0)
    # of an address, no jar keeps cookies
    base = server.base.replace("127.0.0.1", "localhost")
    async with HttpFetcher() as fetcher:
        fetcher.trust(base)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(ROUTES, "cookie", always(cookie))
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
    """Requests go to the proxy, by full URL, over one line; its own address needs no leave."""
    paths: list[str] = []

    def stand_in(request: Request) -> list[Step]:
        paths.append(request.path)
        return answered()

    async with HttpFetcher(FetchOptions(proxy=server.base)) as fetcher:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(ROUTES, "x", stand_in)
            for _ in range(2):
                assert await fetch(fetcher, "http://site.example/x") == DOCUMENT
            assert (
                await fail(fetcher, "http://10.0.0.1/x")
            ).code == IssueCode.BLOCKED_ADDRESS
    assert (paths, server.connections) == (["http://site.example/x"] * 2, 1)


async def test_a_proxy_that_is_down_is_no_failing_site() -> None:
    """The error says that there is no way to the proxy, whatever the site does."""
    async with HttpFetcher(
        FetchOptions(proxy="http://127.0.0.1:9", max_attempts=1)
    ) as fetcher:
        for url in ("http://site.example/x", "https://site.example/x"):
            error = await fail(fetcher, url)
            assert error.code == IssueCode.CONNECT
            assert error.detail == "the proxy cannot be reached: connection refused"


# -- TLS


@pytest.mark.parametrize(
    ("status", "code"), [(407, IssueCode.LOGIN_REQUIRED), (502, IssueCode.CONNECT)]
)
async def test_a_proxy_that_opens_no_way_to_https(status: int, code: IssueCode) -> None:
    """It is the proxy that wants a login or fails, and no site."""

    async def refuse(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        place = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        async with HttpFetcher(FetchOptions(proxy=place, max_attempts=1)) as fetcher:
            error = await fail(fetcher, "https://site.example/")
    assert error.code == code
    assert f"the proxy responded with {status}" in error.detail


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and the certificate for `localhost` that it signed itself."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "both.pem")


@pytest.fixture
async def secure(certificate: Path) -> AsyncIterator[FaultServer]:
    async with FaultServer("localhost", tls=make_server_context(certificate)) as server:
        yield server


async def test_certificates(
    secure: FaultServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that nobody knows is refused unasked; of one that is believed the name is checked."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(secure.base)
        assert (await fail(fetcher, secure.url("ok"))).code == IssueCode.TLS
    assert secure.requests == []
    believe(monkeypatch, certificate)
    async with HttpFetcher(ONCE) as fetcher:
        fetcher.trust(secure.base)
        assert await fetch(fetcher, secure.url("ok")) == DOCUMENT
        for path in ("length-short", "reset-mid"):
            assert (await fail(fetcher, secure.url(path))).code == IssueCode.BODY_CUT
        other = secure.base.replace("localhost", "127.0.0.1")
        fetcher.trust(other)
        assert (await fail(fetcher, other)).code == IssueCode.TLS


@pytest.mark.parametrize("how", ["plain", "reset"])
async def test_a_server_that_speaks_no_tls(how: str) -> None:
    """Plain HTTP, or a reset at the first byte, is TLS; nobody asks again, nor over http."""
    connections = 0

    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if how == "reset":
            reset(writer)
        else:
            writer.write(head("400 Bad Request", length=0))
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server, HttpFetcher() as fetcher:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        fetcher.trust(url)
        assert (await fail(fetcher, url)).code == IssueCode.TLS
    assert connections == 1


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "dev", "-W", "error", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=package.environment(),
    )


def test_aiohttp_is_imported_by_its_transport_alone() -> None:
    """The seam and the other fetchers do without it."""
    code = "import sys"
    for name in ("fetch", "fetch.local", "fetch.http", "fetch.session"):
        code += f"\nimport sitemapreader.{name}\nprint('aiohttp' in sys.modules)"
    run = run_python("-c", code)
    assert (run.stdout.split(), run.stderr) == (["False"] * 3 + ["True"], "")


RULES = b"User-agent: named\nDisallow: /sitemap.xml\n"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serve_site() as site:
        site.pages |= {
            "/sitemap.xml": Answer(urlset(f"{site.base}/1")),
        }
        yield site


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (FetchOptions(), None),
        (FetchOptions(user_agent="other/1"), "other/1"),
        (FetchOptions(user_agent="named/1"), "named/1"),
        (FetchOptions(headers={"user-agent": "named/2"}), "named/2"),
    ],
    ids=["default", "other", "named", "header"],
)
async def test_the_name_is_what_servers_see(
    options: FetchOptions, name: str | None, site: Site
) -> None:
    """The fetcher's, or the header that replaces it; the rules for it are kept, and no others."""
    seen = []

    async def note(request: web.Request) -> Answer:
        seen.append(request.headers["User-Agent"])
        return Answer(RULES)

    site.pages["/robots.txt"] = note
    async with HttpFetcher(options) as fetcher:
        async with walk(
            site.base, fetcher=fetcher, search=Search(probe="few")
        ) as entries:
            number = len([entry async for entry in entries])
        found = await discover(site.base, fetcher=fetcher, search=Search(probe="few"))
        assert set(seen) == {fetcher.user_agent} == {name or fetcher.user_agent}
    assert number == len(found.sitemaps) == (not (name or "").startswith("named"))


PROXY = "http://127.0.0.1:9"
CHOSEN: list[tuple[dict[str, str], str, str | None, str]] = [
    ({}, "http://a.example/", None, ""),
    ({"http_proxy": PROXY}, "http://a.example/", PROXY, "http_proxy"),
    ({"HTTP_PROXY": PROXY}, "http://a.example/", PROXY, "HTTP_PROXY"),
    ({"HTTP_PROXY": PROXY}, "https://a.example/", None, ""),
    ({"https_proxy": "a.example"}, "https://b.example/", "http://a.example", "https_"),
    ({"ALL_PROXY": PROXY}, "https://a.example/", PROXY, "ALL_PROXY"),
    (
        {"ALL_PROXY": "http://all", "https_proxy": PROXY},
        "https://a.example/",
        PROXY,
        "https_proxy",
    ),
    ({"ALL_PROXY": PROXY, "no_proxy": "a.example"}, "http://a.example/", None, ""),
    ({"ALL_PROXY": PROXY, "no_proxy": "a.example:81"}, "http://a.example/", PROXY, "A"),
    ({"ALL_PROXY": PROXY, "no_proxy": "a.example:80"}, "http://a.example/", None, ""),
    ({"HTTP_PROXY": "", "ALL_PROXY": PROXY}, "http://a.example/", PROXY, "ALL_PROXY"),
]


@pytest.mark.parametrize(("variables", "url", "proxy", "name"), CHOSEN)
def test_the_proxy_of_a_url(
    variables: dict[str, str],
    url: str,
    proxy: str | None,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The environment's is used where it is wanted, and named as it is written where it is not."""
    for each in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(each, raising=False)
        monkeypatch.delenv(each.upper(), raising=False)
    for each, value in variables.items():
        monkeypatch.setenv(each, value)
    wanted, unwanted = Proxies("environment"), Proxies()
    wanted.check()
    assert (wanted.find(URL(url)), unwanted.find(URL(url))) == (proxy, None)
    assert Proxies("http://own:1").find(URL(url)) == "http://own:1"
    told = unwanted.describe_unused(URL(url))
    advice = 'is set and not used: write `proxy="environment"`'
    assert told.startswith(name)
    assert told.endswith(advice if proxy else "")
    assert Proxies("http://own:1").describe_unused(URL(url)) == ""
