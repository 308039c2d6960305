"""Many sites at once, and what the network is asked to do: logins, proxies, time-outs, headers."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from commands import allow, run, running, serving, urlset

from sitemapreader.cli.commands import COMMANDS
from sitemapreader.many.sources import check_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTS = [f"127.0.1.{number}" for number in range(1, 196)]
DEAD = [f"127.0.2.{number}" for number in range(1, 6)]
URLS = 3


class Watch:
    """What a server has seen."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: Counter[str] = Counter()
        self.most_sites = 0
        self.most_of_one = 0
        self.headers: list[tuple[str, str, str]] = []
        self.is_locked = False

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer for any site: its robots.txt names its sitemap."""
        with self.lock:
            self.running[request.host] += 1
            self.most_sites = max(self.most_sites, len(+self.running))
            self.most_of_one = max(self.most_of_one, self.running[request.host])
            self.headers += [(request.host, *header) for header in request.headers.items()]
        try:
            await asyncio.sleep(0.02)
            return self.page(request)
        finally:
            with self.lock:
                self.running[request.host] -= 1

    def page(self, request: web.Request) -> web.StreamResponse:
        if self.is_locked:
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


def free_port(host: str) -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as place:
        place.bind((host, 0))
        port: int = place.getsockname()[1]
    return port


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux",
    reason="no 200 loopback addresses: run it on Linux, where all of 127.0.0.0/8 is loopback",
)
@pytest.mark.parametrize("given", ["a file", "standard input"])
def test_two_hundred_sites_five_of_them_dead(tmp_path: Path, given: str) -> None:
    """All that live are read, several at once, in whole lines; the dead are named with a reason."""
    watch = Watch()
    with serving(watch.answer, HOSTS) as urls:
        dead = [f"http://{host}:{free_port(host)}" for host in DEAD]
        sites = [*urls[:90], *dead, *urls[90:]]
        text = "# sites\n\n" + "\r\n".join(sites)
        file = tmp_path / "sites.txt"
        file.write_text(text, "utf-8")
        source = str(file) if given == "a file" else "-"
        options = allow(*urls, *dead)
        done = run(
            "-i", source, "--delay", "0", *options, input=None if given == "a file" else text
        )
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert sorted(lines) == sorted(f"{url}/{n}" for url in urls for n in range(URLS))
    assert 1 < watch.most_sites <= 8
    last = done.stderr.splitlines()
    assert any("585 URLs from 200 sources, 5 of which failed" in line for line in last)
    assert {f"sitemapreader: failed: {url} (connect)" for url in dead} <= set(last)


def test_one_host_is_asked_by_one_source_at_a_time(tmp_path: Path) -> None:
    """Sources at the same host wait for each other, and each of them is read."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        file = tmp_path / "sites.txt"
        several = [f"{url}{path}" for path in ("", "/map.xml", "/map.xml?2", "/map.xml?3")]
        file.write_text("\n".join(several), "utf-8")
        done = run("-q", "-i", str(file), *allow(url))
    assert done.returncode == 0
    assert len(done.stdout.split()) == 4 * URLS
    assert watch.most_of_one <= 2


def test_a_list_names_no_files(tmp_path: Path) -> None:
    """A line of a list cannot have a file read: it may have been written by somebody else."""
    secret = tmp_path / "a.xml"
    secret.write_bytes(urlset(1))
    file = tmp_path / "sites.txt"
    file.write_text(f"{secret}\n", "utf-8")
    done = run("-i", str(file))
    assert (done.returncode, done.stdout) == (2, "")


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    """A list that cannot be read is named, and is wrong usage."""
    done = run("-i", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot read" in done.stderr
    assert "No such file" in done.stderr


async def guarded(request: web.Request) -> web.StreamResponse:
    """Answer those who say who they are."""
    expected = base64.b64encode(b"reader:s3cr3t").decode()
    if request.headers.get("Authorization") != f"Basic {expected}":
        raise web.HTTPUnauthorized
    return Watch().page(request)


@pytest.mark.parametrize("how", ["-u", "in the URL"])
def test_a_login(how: str) -> None:
    """A site behind a login is read with -u or a URL, and no output has the password."""
    with serving(guarded) as (url,):
        refused = run(url)
        arguments = [url, "-u", "reader:s3cr3t"]
        if how != "-u":
            arguments = [url.replace("//", "//reader:s3cr3t@")]
        done = run(*arguments, "-v")
        wrong = run(*(word.replace("s3cr3t", "s3cr3t!") for word in arguments), "-v")
    assert refused.returncode == 4
    assert "login-required" in refused.stderr
    assert "401" in refused.stderr
    assert (done.returncode, len(done.stdout.split())) == (0, URLS)
    assert wrong.returncode == 4
    for process in (done, wrong):
        assert "s3cr3t" not in process.stdout + process.stderr
        assert "reader" not in process.stdout + process.stderr.replace("sitemapreader", "")


@pytest.mark.parametrize("command", ["urls", "discover", "tree"])
def test_a_wrong_password_is_not_sent_again_and_again(command: str) -> None:
    """A site that does not take the password is asked twice, and the end says what to do."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        watch.is_locked = True
        done = run(command, url, "-u", "reader:s3cr3t")
    assert done.returncode == 4
    assert [key for _, key, _ in watch.headers].count("Authorization") == 2
    errors = [line for line in done.stderr.splitlines() if " error " in line]
    assert [line.partition(": ")[2].split(":")[0] for line in errors] == ["error login-required"]
    assert "give user and password: for a site in its URL or with --user" in errors[0]


def test_secrets_stay_where_they_were_meant_for() -> None:
    """-u and -H go to the site that is named, and not to where its sitemaps and redirects lead."""
    watch = Watch()

    async def lure(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(text=f"Sitemap: {other}/map.xml\nSitemap: http://{request.host}/r")
        if request.path == "/r":
            raise web.HTTPFound(f"{other}/map.xml")
        raise web.HTTPNotFound

    seen = Watch()

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.headers += [(request.host, *header) for header in request.headers.items()]
        return await lure(request)

    with serving(watch.answer) as (other,), serving(answer) as (url,):
        run(
            url,
            "-u",
            "me:pw",
            "-H",
            "X-Key: abc",
            "-A",
            "our-bot",
            "--allow-network",
            "127.0.0.0/8",
            "--allow-port",
            other.rpartition(":")[2],
        )
    assert {value for _, value in seen.values("X-Key")} == {"abc"}
    assert seen.values("Authorization")
    assert watch.values("X-Key") == watch.values("Authorization") == set()
    assert {value for _, value in watch.values("User-Agent")} == {"our-bot"}


@pytest.mark.parametrize("user", ["reader", "reader:"])
def test_nobody_is_asked_without_a_terminal(user: str) -> None:
    """Without a terminal a missing password is wrong usage, and an empty one is sent."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        done = run(url, "-u", user)
    if user.endswith(":"):
        assert done.returncode == 0
        sent = {value.removeprefix("Basic ") for _, value in watch.values("Authorization")}
        assert {base64.b64decode(value) for value in sent} == {b"reader:"}
    else:
        assert (done.returncode, done.stdout) == (2, "")
        assert "write USER:PASSWORD" in done.stderr


class Proxy:
    """A proxy for http and for CONNECT, which takes every name for a site of its own."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.authorization: set[str] = set()
        self.is_locked = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
        bodies = {"robots.txt": f"Sitemap: {base}/map.xml".encode(), "map.xml": urlset(URLS, base)}
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
        secure = run("https://shop.example/", "-v", "-x", f"http://us:pa%40ss@{address}")
    assert (plain.returncode, len(plain.stdout.split())) == (0, URLS)
    assert "GET http://shop.example/map.xml" in proxy.asked
    assert "CONNECT shop.example:443" in proxy.asked
    assert "Basic " + base64.b64encode(b"us:pa@ss").decode() in proxy.authorization
    assert secure.returncode == 4
    assert "the proxy answered 403" in secure.stderr
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


@pytest.mark.slow
def test_the_environment_names_no_proxy() -> None:
    """A proxy in the environment is not used, and is spoken of where it may be missed."""
    watch = Watch()
    with serving(watch.answer) as (url,), proxying() as (proxy, address):
        names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY")
        done = run(url, env=dict.fromkeys(names, f"http://{address}"))
        lost = run(f"http://127.0.0.1:{free_port('127.0.0.1')}/", env={"HTTPS_PROXY": "http://p"})
    assert done.returncode == 0
    assert proxy.asked == []
    assert "-x" not in done.stderr
    assert 'HTTPS_PROXY is set and was not used: to use this proxy, add -x "$HTTPS_PROXY"' in (
        lost.stderr
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("-x", "socks5://127.0.0.1:1080"),
        ("-x", "http://user:hidden@"),
        ("-H", "hidden"),
        ("-H", "X-\u00e4: hidden"),
        ("-H", "X-Key: hid\nden"),
        ("-A", "a\nb"),
        ("--allow-network", "everything"),
    ],
)
def test_what_the_network_cannot_be_asked(arguments: tuple[str, str]) -> None:
    """It is said before anything is asked, and what may be a secret is not repeated."""
    done = run("https://a.example/", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")
    said = done.stderr.partition("error: ")[2]
    assert said.startswith(("--", "argument -", "the value of the header", "no header is named"))
    assert "hidden" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_stalled_server() -> None:
    """--timeout gives up a document that stops coming; what had come is printed, exit code 3."""

    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(urlset(2000)[:-9])
        await asyncio.sleep(60)
        return response

    with serving(stall) as (url,):
        done = run("--sitemap", f"{url}/map.xml", "--timeout", "1", timeout=30)
    assert done.returncode == 3
    assert 1500 < len(done.stdout.split()) <= 2000
    assert "read in part: 1 " in done.stderr


def test_a_server_that_says_nothing() -> None:
    """--timeout bounds the wait for an answer, tries and all; exit code 4."""

    async def wait(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise web.HTTPNotFound(text=request.path)

    with serving(wait) as (url,):
        done = run("--sitemap", f"{url}/map.xml", "-m", "1", timeout=30)
    assert (done.returncode, done.stdout) == (4, "")
    assert "error timeout" in done.stderr


def test_delay_and_concurrency() -> None:
    """--delay is kept between two requests, and -c 1 asks for one document at a time."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        done = run(url, "--delay", "0.3", "-c", "1", "--format", "jsonl")
    assert done.returncode == 0
    assert {json.loads(line)["sitemap"] for line in done.stdout.splitlines()} == {f"{url}/map.xml"}
    assert watch.most_of_one == 1


def test_a_long_url_is_no_file() -> None:
    """A URL that is too long for the name of a file is a URL all the same."""
    watch = Watch()
    with serving(watch.answer) as (url,):
        done = run(f"{url}/map.xml?{'a' * 5000}")
        found = run("discover", f"{url}/{'a' * 5000}/")
    assert "Traceback" not in done.stderr + found.stderr
    assert (done.returncode, len(done.stdout.split())) == (0, URLS)
    assert found.stdout == f"{url}/map.xml\n"


@pytest.mark.parametrize(
    ("word", "url"),
    [
        ("example.org", "https://example.org"),
        ("example.org:8080/sitemap.xml", "https://example.org:8080/sitemap.xml"),
        ("localhost", "https://localhost"),
        ("localhost:8008", "https://localhost:8008"),
        ("localhost:8008/map.xml?a=1", "https://localhost:8008/map.xml?a=1"),
        ("shop:8008", "https://shop:8008"),
        ("127.0.0.1:8008", "https://127.0.0.1:8008"),
        ("[::1]:8008", "https://[::1]:8008"),
        ("[::1]", "https://[::1]"),
        ("me:pw@localhost:8008/a", "https://localhost:8008/a"),
        ("http://localhost:8008", "http://localhost:8008"),
    ],
)
def test_a_host_and_its_port(word: str, url: str) -> None:
    """A host with a port and no scheme is one of https, as a host without a port is."""
    assert check_task(word).url == url


def test_http_where_https_was_meant() -> None:
    """A server without TLS that is named without a scheme: the message says what to write."""
    with serving(Watch().answer) as (url,):
        done = run(url.removeprefix("http://"))
    assert done.returncode == 4
    assert "error tls: " in done.stderr
    assert "for a server without TLS, use a URL that begins with http://" in done.stderr


@pytest.mark.parametrize(
    "word",
    [
        "shop",
        "sitemap.xml",
        "site/../map.xml.gz",
        "./map.xml",
        "../a.b",
        "s:map.xml",
        "[::1",
        "a.b:99999",
    ],
)
def test_what_is_no_host(word: str) -> None:
    """What can be no host is neither asked for nor guessed at: it is wrong usage."""
    done = run(word)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{word!r} is neither an http(s) URL nor a file or folder that exists" in done.stderr


def test_a_command_that_is_none() -> None:
    """A word like no command is answered with those that there are."""
    done = run("walkabout")
    assert done.returncode == 2
    assert done.stderr.endswith(f"; the commands are {', '.join(COMMANDS)}\n")
