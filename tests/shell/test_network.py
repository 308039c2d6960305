"""What the network is asked to do: logins, proxies, time-outs, headers, many sites at once."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from sitemapreader import FetchError, FetchOptions
from sitemapreader.fetch import HttpFetcher
from tests.support.commands import allow, run, running, serving, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

URLS = 3


def test_a_host_that_asks_for_a_long_wait_is_named() -> None:
    """A wait that is longer than the time of a site is not begun; it is named with its host."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "3600"})

    with serving(answer) as (base,):
        done = run(base, "--max-time", "1000")
        named = run(f"{base}/sitemap.xml", "--max-time", "1000")
    assert done.returncode == 4
    assert "[503 Service Unavailable, requested to wait for 3600 s]" in named.stderr
    server = base.removeprefix("http://")
    assert done.stderr.count(f"{server}: no request for 3600 s: Retry-After") == 1
    assert "failed: 1 retry-later" in done.stderr


class Watch:
    """What a server has seen."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: Counter[str] = Counter()
        self.most_sites = 0
        self.most_of_one = 0
        self.headers: list[tuple[str, str, str]] = []
        self.key = ""
        """The login that it wants."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer for any site: its robots.txt names its sitemap."""
        with self.lock:
            self.running[request.host] += 1
            self.most_sites = max(self.most_sites, len(+self.running))
            self.most_of_one = max(self.most_of_one, self.running[request.host])
            self.headers += [
                (request.host, *header) for header in request.headers.items()
            ]
        try:
            await asyncio.sleep(0.02)
            return self.page(request)
        finally:
            with self.lock:
                self.running[request.host] -= 1

    def page(self, request: web.Request) -> web.StreamResponse:
        login = f"Basic {base64.b64encode(self.key.encode()).decode()}"
        if self.key and request.headers.get("Authorization") != login:
            raise web.HTTPUnauthorized
        base = f"http://{request.host}"
        if request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: {base}/map.xml")
        if request.path == "/map.xml":
            return web.Response(body=urlset(URLS, base))
        raise web.HTTPNotFound

    def values(self, name: str) -> set[tuple[str, str]]:
        """Return the hosts that a header was sent to, with its values."""
        return {(host, value) for host, key, value in self.headers if key == name}


@pytest.mark.parametrize("path", ["", "/map.xml"])
def test_a_login_in_the_url_of_an_audit(path: str) -> None:
    """It is sent, and stands in no report."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        watch.key = "reader:s3cr3t"
        named = f"{url.replace('//', f'//{watch.key}@')}{path}"
        done = run("audit", named, "--format", "json", "-v", "--fail-on", "never")
    assert done.returncode == 0
    assert json.loads(done.stdout)["facts"]["urls"] == URLS
    assert "s3cr3t" not in done.stdout + done.stderr


def test_one_host_is_asked_by_one_source_at_a_time(tmp_path: Path) -> None:
    """Sources at the same host wait for each other, and each of them is read."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        file = tmp_path / "sites.txt"
        several = [
            f"{url}{path}" for path in ("", "/map.xml", "/map.xml?2", "/map.xml?3")
        ]
        file.write_text("\n".join(several), "utf-8")
        done = run("-q", "-i", str(file), *allow(url))
    assert done.returncode == 0
    assert len(done.stdout.split()) == 4 * URLS
    assert watch.most_of_one <= 2


def test_a_list_names_no_files(tmp_path: Path) -> None:
    """A line of a list cannot have a file read: it may have been written by somebody else."""
    (tmp_path / "a.xml").write_bytes(urlset(1))
    (tmp_path / "sites.txt").write_text(f"{tmp_path / 'a.xml'}\n", "utf-8")
    done = run("-i", str(tmp_path / "sites.txt"))
    assert (done.returncode, done.stdout) == (2, "")
    missing = run("-i", str(tmp_path / "none"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert f"cannot read {tmp_path / 'none'}: No such file" in missing.stderr


@pytest.mark.parametrize("command", ["urls", "discover", "tree"])
@pytest.mark.parametrize("how", ["-u", "in the URL"])
def test_a_login(command: str, how: str) -> None:
    """It goes with -u or a URL, is in no output, and if it is wrong is not sent again and again."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        watch.key = "reader:s3cr3t"
        refused = run(command, url)
        words = (
            [url, "-u", watch.key]
            if how == "-u"
            else [url.replace("//", f"//{watch.key}@")]
        )
        done = run(command, *words, "-v")
        watch.headers.clear()
        wrong = run(
            command, *(word.replace("s3cr3t", "s3cr3t!") for word in words), "-v"
        )
    assert (refused.returncode, done.returncode, wrong.returncode) == (4, 0, 4)
    assert done.stdout
    assert [key for _, key, _ in watch.headers].count("Authorization") == 2
    errors = [line for line in wrong.stderr.splitlines() if " error " in line]
    assert [line.partition(": ")[2].split(":")[0] for line in errors] == [
        "error login-required"
    ]
    assert (
        "give a user and a password: for a site in its URL or with --user" in errors[0]
    )
    for said in (done.stdout, done.stderr, wrong.stdout, wrong.stderr):
        assert not re.search("s3cr3t|reader", said.replace("sitemapreader", ""))


def test_secrets_stay_where_they_were_meant_for() -> None:
    """-u and -H go to the site that is named, and not to where its sitemaps and redirects lead."""
    named, other = Watch(), Watch()

    async def lure(request: web.Request) -> web.StreamResponse:
        await named.answer(request)
        if request.path == "/robots.txt":
            return web.Response(
                text=f"Sitemap: {place}/map.xml\nSitemap: http://{request.host}/r"
            )
        raise web.HTTPFound(f"{place}/map.xml")

    secrets = ("-u", "me:pw", "-H", "X-Key: abc", "-A", "our-bot")
    with serving(other.answer) as (place,), serving(lure) as (url,):
        run(url, *secrets, *allow(place))
    assert {value for _, value in named.values("X-Key")} == {"abc"}
    assert named.values("Authorization")
    assert other.values("X-Key") == other.values("Authorization") == set()
    assert {value for _, value in other.values("User-Agent")} == {"our-bot"}


class Proxy:
    """A proxy for http and for CONNECT, which takes every name for a site of its own."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.authorization: set[str] = set()
        self.is_locked = False

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().split("\r\n")
                method, target, _ = first.split()
                self.asked.append(f"{method} {target}")
                fields = dict(line.split(": ", 1) for line in lines if line)
                self.authorization.add(fields.get("Proxy-Authorization", ""))
                writer.write(self.answer(method, target))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(self, method: str, target: str) -> bytes:
        if self.is_locked:
            return b"HTTP/1.1 407 Who Are You\r\nContent-Length: 0\r\n\r\n"
        if method == "CONNECT":
            return b"HTTP/1.1 403 Not that one\r\nContent-Length: 0\r\n\r\n"
        base, _, path = target.rpartition("/")
        bodies = {
            "robots.txt": f"Sitemap: {base}/map.xml".encode(),
            "map.xml": urlset(URLS, base),
        }
        body = bodies.get(path)
        if body is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@contextmanager
def proxying() -> Iterator[tuple[Proxy, str]]:
    loop, proxy = asyncio.new_event_loop(), Proxy()
    server = loop.run_until_complete(asyncio.start_server(proxy.serve, "127.0.0.1", 0))
    with running(loop):
        yield proxy, "127.0.0.1:{1}".format(*server.sockets[0].getsockname())
    server.close()
    loop.run_until_complete(server.wait_closed())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()


def test_a_proxy() -> None:
    """With -x all goes through the proxy, which resolves the names; its password is not shown."""
    with proxying() as (proxy, address):
        plain = run("http://shop.example/", "-x", address)
        secure = run(
            "https://shop.example/", "-v", "-x", f"http://us:pa%40ss@{address}"
        )
    assert (plain.returncode, len(plain.stdout.split())) == (0, URLS)
    assert "GET http://shop.example/map.xml" in proxy.asked
    assert "CONNECT shop.example:443" in proxy.asked
    assert "Basic " + base64.b64encode(b"us:pa@ss").decode() in proxy.authorization
    assert secure.returncode == 4
    assert "the proxy responded with 403" in secure.stderr
    assert "pa%40ss" not in secure.stderr


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_login(scheme: str) -> None:
    """A proxy that does not take the password is asked once, and the end says what to do."""
    with proxying() as (proxy, address):
        proxy.is_locked = True
        done = run(f"{scheme}://shop.example/", "-x", f"http://us:pass@{address}")
    assert (done.returncode, len(proxy.asked)) == (4, 1)
    (error,) = (line for line in done.stderr.splitlines() if " error " in line)
    assert " error login-required: " in error
    assert "for a proxy in the proxy's URL" in error
    assert "407 Who Are You" in error


async def demand_login(_: web.Request) -> web.StreamResponse:
    raise web.HTTPUnauthorized


def test_the_status_of_a_site_that_demands_a_login(tmp_path: Path) -> None:
    """The report of a run has the 401, and the tree shows it, though no page was requested."""
    report = tmp_path / "r.jsonl"
    with serving(demand_login) as (url,):
        run(url, "-q", "--report", str(report))
        tree = run("tree", url, "-q").stdout
    row = json.loads(report.read_text("utf-8"))
    assert (row["reason"], row["http_status"]) == ("login-required", 401)
    assert "login-required 401" in tree


VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.usefixtures("no_proxies")
def test_a_proxy_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that is out of reach may be behind a proxy, which is not used without a word."""
    monkeypatch.setenv("HTTPS_PROXY", "http://me:s3cr3t@127.0.0.1:9")
    said = "HTTPS_PROXY is set and not used: write --proxy environment"
    for host in ("nowhere.invalid", "127.0.0.1:9"):
        assert said in run(f"https://{host}/").stderr
    assert "s3cr3t" not in run("https://nowhere.invalid/", "-v").stderr
    with pytest.raises(FetchError, match='not used: write `proxy="environment"`'):
        asyncio.run(_open("https://nowhere.invalid/"))
    for url in ("http://nowhere.invalid/", "https://us.invalid/"):
        monkeypatch.setenv("NO_PROXY", "us.invalid")
        assert "PROXY" not in run(url).stderr
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert "ALL_PROXY is set and not used" in run("http://nowhere.invalid/").stderr


async def _open(url: str) -> None:
    async with HttpFetcher() as fetcher, fetcher.open(url):
        pass


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_proxies_of_the_environment(name: str) -> None:
    """They are used where the option says so, and not for the names in NO_PROXY."""
    with (
        proxying() as (proxy, address),
        serving(Watch().answer) as (url,),
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv(name, address)
        environment.setenv("NO_PROXY", "127.0.0.1")
        there = run("http://shop.example/", "-x", "environment")
        here = run(url, "-x", "environment")
        unused = run(url)
    assert (there.returncode, len(there.stdout.split())) == (0, URLS)
    assert (here.returncode, unused.returncode) == (0, 0)
    assert {urlsplit(each.split()[1]).hostname for each in proxy.asked} == {
        "shop.example"
    }


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.cases(5)
@pytest.mark.parametrize(
    "value", ["socks5://127.0.0.1:9", "ftp://a.example", "http://", "a b", "http://a/b"]
)
def test_wrong_proxies(value: str) -> None:
    """They are refused before anything is fetched; the value may hold a password."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HTTPS_PROXY", value)
        done = run("https://a.example/", "-x", "environment")
        with pytest.raises(ValueError, match="HTTPS_PROXY in the environment must be"):
            HttpFetcher(FetchOptions(proxy="environment"))
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "HTTPS_PROXY in the environment must be the URL of an HTTP proxy" in done.stderr
    )
    option = run("https://a.example/", "-x", value)
    assert option.returncode == 2
    assert "--proxy must be the URL of an HTTP proxy" in option.stderr
    assert value not in (done.stderr + option.stderr).replace("http://proxy", "")


def test_delay_and_concurrency() -> None:
    """--delay is kept between two requests, and -c 1 asks for one document at a time."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        done = run(url, "--delay", "0.3", "-c", "1", "--format", "jsonl")
    assert done.returncode == 0
    assert {json.loads(line)["sitemap"] for line in done.stdout.splitlines()} == {
        f"{url}/map.xml"
    }
    assert watch.most_of_one == 1


@pytest.mark.parametrize("begun", [True, False])
def test_a_server_that_stalls(*, begun: bool) -> None:
    """--timeout gives up a document that stops coming, tries and all; what had come is printed."""

    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if begun:
            await response.prepare(request)
            await response.write(urlset(2000)[:-9])
        await asyncio.sleep(60)
        return response

    with serving(stall) as (url,):
        done = run("--sitemap", f"{url}/map.xml", "-m", "1", timeout=30)
    assert done.returncode == (3 if begun else 4)
    assert (1500 if begun else -1) < len(done.stdout.split()) <= 2000 * begun
    assert ("read in part: 1 " if begun else "error timeout") in done.stderr


@pytest.mark.parametrize(
    ("user", "sent"),
    [("stage", "stage:a s3cr3t"), ("stage:own", "stage:own"), ("key:", "key:")],
)
def test_the_password_of_the_environment(
    user: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without a password has the one that the environment names, and no other has it."""
    asked: set[str] = set()

    async def serve(request: web.Request) -> web.StreamResponse:
        asked.add(request.headers.get("Authorization", ""))
        raise web.HTTPNotFound

    monkeypatch.setenv("SITEMAPREADER_PASSWORD", "a s3cr3t")
    with serving(serve) as (url,):
        run(url, "-u", user)
    assert asked == {f"Basic {base64.b64encode(sent.encode()).decode()}"}
