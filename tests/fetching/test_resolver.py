"""Addresses: looked up, checked for each request, counted by server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web

from sitemapreader import FetchError, FetchOptions, IssueCode, Limits, walk, walk_many
from sitemapreader.fetch import HttpFetcher
from tests.support import package
from tests.support.faults import DOCUMENT, FaultServer
from tests.support.hosts import ANSWERS, HOSTS, NamedAddresses, resolve
from tests.support.serving import serve
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp.abc import ResolveResult

    from tests.support.serving import Page

PRIVATE = (
    "127.0.0.1",
    "::1",
    "10.0.0.1",
    "169.254.169.254",
    "::ffff:127.0.0.1",
    "fd00::1",
)


async def open_and_fail(fetcher: HttpFetcher, url: str) -> str:
    """Open a URL; return the code of the error, or "opened"."""
    try:
        async with fetcher.open(url):
            return "opened"
    except FetchError as error:
        return error.code


async def test_a_private_address_from_a_resolver_is_refused() -> None:
    """Whatever address a resolver makes up, no socket is made for one that is not public."""
    async with FaultServer() as server:
        options = FetchOptions(allow_ports=(server.port,), max_attempts=1)
        for address in PRIVATE:
            resolver = NamedAddresses(lambda _, address=address: address)  # type: ignore[misc]
            async with HttpFetcher(options, resolver=resolver) as fetcher:
                code = await open_and_fail(
                    fetcher, f"http://site.test:{server.port}/ok"
                )
            assert code == IssueCode.BLOCKED_ADDRESS, address
            assert resolver.asked == ["site.test"]
        assert server.connections == 0


class EmptyAnswers(NamedAddresses):
    """A resolver that answers for some names without an address, where others raise."""

    def __init__(self, *empty: str) -> None:
        super().__init__()
        self._empty = empty

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return no address for a name that is empty."""
        found = await super().resolve(host, port, family)
        return [] if host in self._empty else found


@pytest.mark.parametrize(
    ("empty", "expected"),
    [("site.test", []), ("child.site.test", ["b"]), ("www.site.test", ["a", "b"])],
)
async def test_a_name_without_an_address(empty: str, expected: list[str]) -> None:
    """A resolver that returns nothing is a failure of its name, twice as well; others are read."""

    def show(served_at: str) -> dict[str, Page]:
        base = f"site.test:{served_at.rpartition(':')[2]}"
        return {
            "/robots.txt": f"Sitemap: http://{base}/i.xml".encode(),
            "/i.xml": index(f"http://child.{base}/a.xml", f"http://{base}/b.xml"),
            "/a.xml": urlset(f"http://{base}/a"),
            "/b.xml": urlset(f"http://{base}/b"),
        }

    async with serve(show) as site:
        port = int(site.base.rpartition(":")[2])
        options = FetchOptions(
            allow_networks=("127.0.0.0/8",), allow_ports=(port,), max_attempts=1
        )
        async with HttpFetcher(options, resolver=EmptyAnswers(empty)) as fetcher:
            for _ in range(2):
                async with walk(
                    f"http://site.test:{port}/", fetcher=fetcher
                ) as entries:
                    locs = [entry.loc async for entry in entries]
                assert sorted(loc[-1] for loc in locs) == expected
                codes = {str(issue.code) for issue in entries.report.issues}
                assert ("dns" in codes) is (empty != "www.site.test")


NAMES = [f"www.n{number}.test" for number in range(40)]


class Server:
    """A server that answers slowly, and counts what it answers at once, by address."""

    def __init__(self) -> None:
        self.port = 0
        self.running: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.times: list[float] = []

    async def answer(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        self.times.append(asyncio.get_running_loop().time())
        address = request.transport.get_extra_info("sockname")[0]
        self.running[address] = self.running.get(address, 0) + 1
        self.most[address] = max(self.most.get(address, 0), self.running[address])
        try:
            await asyncio.sleep(0.01)
            body = (
                urlset(f"http://{request.host}/1")
                if request.path == "/sitemap.xml"
                else b""
            )
            return web.Response(body=body, status=200 if body else 404)
        finally:
            self.running[address] -= 1


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        for last in (1, 2, 3):  # the same port at each
            await web.TCPSite(runner, f"127.0.0.{last}", server.port).start()
            server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


@asynccontextmanager
async def open_fetcher(
    server: Server, resolver: NamedAddresses, **options: Any
) -> AsyncIterator[HttpFetcher]:
    made = FetchOptions(
        allow_networks=("127.0.0.0/8",), allow_ports=(server.port,), **options
    )
    async with HttpFetcher(made, resolver=resolver) as fetcher:
        yield fetcher


async def read_all(server: Server, fetcher: HttpFetcher, names: list[str]) -> int:
    """Walk over the sites of names; return how many URLs there are."""
    sites = [f"http://{name}:{server.port}/" for name in names]
    async with walk_many(
        sites, fetcher=fetcher, limits=Limits(sites_at_once=40)
    ) as run:
        return sum([len(entries) async for _, entries in run.batches()])


@pytest.mark.parametrize("most", [3, None])
async def test_many_names_of_one_address(server: Server, most: int | None) -> None:
    """They share the requests that one server gets at once, and all are read."""
    options = {} if most is None else {"per_address": most}
    async with open_fetcher(server, NamedAddresses(), **options) as fetcher:
        assert await read_all(server, fetcher, NAMES) == len(NAMES)
        assert server.most.keys() == {"127.0.0.1"}
        assert 1 < server.most["127.0.0.1"] <= (most or FetchOptions().per_address)


async def open_status(fetcher: HttpFetcher, url: str) -> IssueCode | None:
    try:
        async with fetcher.open(url):
            return None
    except FetchError as error:
        return error.code


async def test_an_unread_response_lends_its_place_at_the_address(
    server: Server,
) -> None:
    """A consumer's request to another name there need not wait for the walk that waits for it."""
    async with (
        asyncio.timeout(30),  # for ever, if the place is not lent
        open_fetcher(server, NamedAddresses(), per_address=1, per_host=1) as fetcher,
        fetcher.client().open(f"http://a.test:{server.port}/sitemap.xml") as unread,
    ):
        assert (
            await open_status(fetcher, f"http://b.test:{server.port}/sitemap.xml")
            is None
        )
        assert [piece async for piece in unread.chunks()]


async def test_names_are_resolved_once_and_failures_anew(server: Server) -> None:
    """One lookup serves the count and the connection; a failure is asked for again."""
    answers = {"a.test": "127.0.0.1", "b.test": ""}
    resolver = NamedAddresses(answers.__getitem__)
    async with open_fetcher(server, resolver, max_attempts=1) as fetcher:
        urls = [f"http://{name}:{server.port}/sitemap.xml" for name in answers]
        for _ in range(2):
            assert await open_status(fetcher, urls[0]) is None
            assert await open_status(fetcher, urls[1]) == IssueCode.DNS
        assert resolver.asked == ["a.test", "b.test", "b.test"]
        answers["b.test"] = "127.0.0.1"
        assert await open_status(fetcher, urls[1]) is None


async def test_a_lookup_without_an_end_is_left() -> None:
    """It takes no longer than a request may; the fetcher closes without it."""

    class Stuck(NamedAddresses):
        async def resolve(self, *_: object, **__: object) -> Any:
            await asyncio.Event().wait()

    options = FetchOptions(headers_seconds=0.05, max_attempts=1)
    async with HttpFetcher(options, resolver=Stuck()) as fetcher:
        assert await open_status(fetcher, "http://a.test/") == IssueCode.TIMEOUT


async def try_all() -> dict[str, Any]:
    """Open each spelling in both ways; return the codes, and the connects that were made."""
    ports: list[int] = []

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect":
            ports.append(args[1][1])

    sys.addaudithook(watch)
    codes: dict[str, list[str]] = {}
    async with FaultServer() as start, FaultServer() as target:
        options = FetchOptions(max_attempts=1, allow_ports=(target.port,))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", resolve)
            patch.setattr("aiohttp.connector.DefaultResolver", aiohttp.ThreadedResolver)
            async with HttpFetcher(options) as fetcher:
                home = f"http://start.test:{start.port}"
                fetcher.trust(home)
                for host in HOSTS:
                    url = f"http://{host}:{target.port}/ok"
                    ways = (url, f"{home}/to?url={quote(url)}")
                    codes[host] = [await open_and_fail(fetcher, way) for way in ways]
        return {
            "codes": codes,
            "connects_to_start": ports.count(start.port),
            "connects_elsewhere": sum(port != start.port for port in ports),
            "reached": target.connections,
            "asked": len(start.requests),
        }


@pytest.fixture(scope="module")
def report() -> Any:
    """What the script saw, in a process of its own: an audit hook cannot be taken back."""
    script = [sys.executable, "-X", "utf8", __file__]
    environment = {**os.environ, "PYTHONPATH": str(package.ROOT)}
    run = subprocess.run(
        script, capture_output=True, check=False, timeout=60, env=environment
    )
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


@pytest.mark.slow
def test_no_spelling_of_a_private_address_is_opened(
    report: Any, subtests: pytest.Subtests
) -> None:
    """As a start that the caller did not name, and as a redirect's target, it is refused."""
    for host in HOSTS:
        with subtests.test(host=host):
            assert len(report["codes"][host]) == 2
            assert set(report["codes"][host]) <= {
                IssueCode.BLOCKED_ADDRESS,
                IssueCode.INVALID_URL,
            }


def test_no_connection_was_made(report: Any) -> None:
    """The audit hook and the listening server saw nothing but the redirects' own server."""
    assert len(HOSTS) >= 60
    assert report["connects_to_start"] >= 1
    assert report["connects_elsewhere"] == 0
    assert report["reached"] == 0
    assert report["asked"] == len(HOSTS)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://8.8.8.8:22/", IssueCode.BLOCKED_PORT),
        ("https://8.8.8.8:8443/", IssueCode.BLOCKED_PORT),
        ("http://8.8.8.8:99999/", IssueCode.INVALID_URL),
        ("http://site .example/a", IssueCode.INVALID_URL),
        ("http://me\u3000@site.example/a", IssueCode.INVALID_URL),
        ("http://site.example\xa0/", IssueCode.INVALID_URL),
        ("http://site.example/a\r\nX: 1", IssueCode.INVALID_URL),
        ("http://site.example/\x9b", IssueCode.INVALID_URL),
        ("http://site.example/\u202egpj.exe", IssueCode.INVALID_URL),
        ("http://site.example/\udcff", IssueCode.INVALID_URL),
        ("http://a\\@b.example/", IssueCode.INVALID_URL),
        ("http://[::1", IssueCode.INVALID_URL),
        ("http:///ok", IssueCode.INVALID_URL),
        ("//site.example/", IssueCode.INVALID_URL),
        ("", IssueCode.INVALID_URL),
        ("file:///etc/passwd", IssueCode.INVALID_URL),
        ("ws://site.example/", IssueCode.INVALID_URL),
        ("http://" + "é" * 2000 + ".example/", IssueCode.INVALID_URL),
        ("http://site.example/" + "../" * 100_000, IssueCode.INVALID_URL),
        ("http://" + "a" * 64 + ".example/", IssueCode.INVALID_URL),
        ("http://a..example/", IssueCode.INVALID_URL),
        ("http://nowhere.invalid/", IssueCode.DNS),
    ],
)
async def test_urls_that_are_not_requested(
    url: str, code: IssueCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be requested, or not there, is a FetchError before any connection."""
    real = socket.getaddrinfo

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host == "nowhere.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "not known")
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "socket", None)
    async with HttpFetcher(FetchOptions(max_attempts=1)) as fetcher:
        with pytest.raises(FetchError) as caught:
            async with fetcher.open(url):
                pass
    assert caught.value.code == code
    assert set("\r\n\x00\x7f\x9b\u202e\u2066\udcff").isdisjoint(str(caught.value))


async def test_requests_that_were_not_sent_do_not_count() -> None:
    """A blocked port has no request; a redirect to one has the request for the redirect."""
    blocked = "http://127.0.0.1:22/"
    async with FaultServer() as server, HttpFetcher() as fetcher:
        redirect = server.url(f"to?url={blocked}")
        fetcher.trust(redirect)
        tries = []
        for url in (blocked, redirect):
            with pytest.raises(FetchError) as caught:
                async with fetcher.open(url):
                    pass
            assert caught.value.code is IssueCode.BLOCKED_PORT
            tries.append(caught.value.tries)
        assert (tries, len(server.requests)) == ([0, 1], 1)


async def test_a_private_address_by_leave() -> None:
    """A named start and `allow_networks` open what is refused otherwise."""
    async with FaultServer() as server:
        url = server.url("ok")
        options = FetchOptions(
            allow_networks=("127.0.0.0/8",), allow_ports=(server.port,)
        )
        refusing = HttpFetcher(FetchOptions(allow_ports=(server.port,)))
        for fetcher in (HttpFetcher(), HttpFetcher(options), refusing):
            if fetcher.options.allow_ports == ():
                fetcher.trust(url)
            async with fetcher:
                code = await open_and_fail(fetcher, url)
                assert code == (
                    "opened" if fetcher is not refusing else IssueCode.BLOCKED_ADDRESS
                )
        assert len(server.requests) == 2


async def test_an_address_that_nothing_connects_to() -> None:
    """One with a final dot is refused in our words, also where its network is allowed."""
    async with HttpFetcher(FetchOptions(allow_networks=("127.0.0.0/8",))) as fetcher:
        assert (
            await open_and_fail(fetcher, "http://127.0.0.1./") == IssueCode.INVALID_URL
        )


async def test_a_public_start_that_turns_private(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DNS rebinding: after a public answer, a private one for the same name is not connected to."""
    answers = {"rebound.test": ["8.8.8.8"]}
    monkeypatch.setitem(ANSWERS, "rebound.test", answers["rebound.test"])
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    loop = asyncio.get_running_loop()
    connected: list[str] = []
    connect = loop.sock_connect
    async with (
        FaultServer() as server,
        HttpFetcher(FetchOptions(max_attempts=1)) as fetcher,
    ):

        async def connect_here(made: socket.socket, place: Any) -> None:
            connected.append(place[0])
            await connect(made, (server.host, server.port))

        monkeypatch.setattr(loop, "sock_connect", connect_here)
        fetcher.trust("http://rebound.test/")
        async with fetcher.open("http://rebound.test/stale") as response:
            assert b"".join([piece async for piece in response.chunks()]) == DOCUMENT
        fetcher.session.connector.clear_dns_cache()
        ANSWERS["rebound.test"] = ["127.0.0.1"]
        await asyncio.sleep(0.05)
        with pytest.raises(FetchError) as caught:
            async with fetcher.open("http://rebound.test/ok"):
                pass
        assert caught.value.code == IssueCode.BLOCKED_ADDRESS
        assert "127.0.0.1" in caught.value.detail
        assert connected == ["8.8.8.8"]


async def test_a_kept_connection_is_for_those_who_may_go_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One to a private address, which a walk was trusted with, is given to no other walk."""
    connected: list[str] = []

    async def refuse(_: socket.socket, place: Any) -> None:
        connected.append(place[0])
        raise ConnectionRefusedError

    answers = {"site.test": "127.0.0.1"}
    async with FaultServer() as server:
        options = FetchOptions(allow_ports=(server.port,), max_attempts=1)
        resolver = NamedAddresses(answers.__getitem__)
        async with HttpFetcher(options, resolver=resolver) as fetcher:
            url = f"http://site.test:{server.port}/ok"
            walk, other = fetcher.client(), fetcher.client()
            walk.trust(url)
            async with walk.open(url) as response:
                assert (
                    b"".join([piece async for piece in response.chunks()]) == DOCUMENT
                )
                assert getattr(response, "address", "") == "127.0.0.1"
            answers["site.test"] = "8.8.8.8"
            fetcher.session.connector.clear_dns_cache()
            monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", refuse)
            with pytest.raises(FetchError, match="connect"):
                async with other.open(url):
                    pass
    assert connected == ["8.8.8.8"]
    assert len(server.requests) == 1


async def test_secrets_in_a_url_stay_out_of_the_message() -> None:
    """A URL that cannot be requested is reported without the password in it."""
    async with HttpFetcher() as fetcher:
        with pytest.raises(FetchError) as caught:
            async with fetcher.open("http://user:secret@site.example/a b"):
                pass
    assert "secret" not in str(caught.value)
    assert "secret" not in caught.value.url


if __name__ == "__main__":
    print(json.dumps(asyncio.run(try_all())))  # noqa: T201 (the report that the tests read)


async def test_addresses_are_counted_apart(server: Server) -> None:
    """Each of two servers gets as many at once."""
    resolver = NamedAddresses(lambda name: f"127.0.0.{2 + int(name[5:-5]) % 2}")
    async with open_fetcher(server, resolver, per_address=2) as fetcher:
        assert await read_all(server, fetcher, NAMES) == len(NAMES)
    assert server.most.keys() == {"127.0.0.2", "127.0.0.3"}
    assert max(server.most.values()) <= 2


async def test_a_literal_counts_with_the_names_of_its_address(server: Server) -> None:
    """So does a name in a redirect, and one host by itself gets no more than before."""
    async with open_fetcher(server, NamedAddresses(), per_address=3) as fetcher:
        assert await read_all(server, fetcher, ["127.0.0.1", *NAMES[:9]]) == 10
    assert server.most["127.0.0.1"] <= 3
    server.most.clear()
    async with open_fetcher(server, NamedAddresses()) as fetcher:
        await asyncio.gather(
            *(
                open_status(fetcher, f"http://a.test:{server.port}/{n}")
                for n in range(9)
            )
        )
    assert server.most["127.0.0.1"] <= FetchOptions().per_host
