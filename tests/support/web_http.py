"""Rows 83 to 85 and 89 to 120 of the table: what servers do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from unittest import mock
from urllib.parse import quote

from faults import FaultServer
from hosts import resolve
from web_table import QUICK, faulty, row

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import AddressPolicy, Trust
from sitemapreader.fetch.answers import parse_retry_after
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.urls import RedirectChain, parse_request_url
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from web_table import Web

faulty(89, "1 byte now and then", "too-slow, keeps all", "length, 1 byte a beat")
faulty(90, "headers dripped", "timeout, keeps 0", "head, 1 byte a beat")
faulty(91, "accept, silence", "timeout, keeps 0", "silence")
faulty(92, "headers, then silence", "stalled, keeps 0", "length, silence", cut="head")
faulty(93, "endless body", "too-large, keeps all", "body without end")
faulty(94, "length too big", "body-cut, keeps all", "length 10^18, closed", "length, closed")
faulty(95, "length too small, one segment", "truncated, keeps all", "length too small, at once")
faulty(
    96,
    "length negative, twice, with chunks",
    "bad-http, keeps 0",
    "length negative",
    "length twice",
    "length and chunks",
)
faulty(
    97,
    "chunk cut, no terminator, RST",
    "body-cut, keeps all",
    "chunk cut, closed",
    "no last chunk, closed",
    "no last chunk, reset",
    "length, reset",
    "no length, reset",
)
faulty(98, "bad chunk size late", "body-cut, keeps all", "chunk size bad, late")
faulty(
    99,
    "bad trailer, missing CRLF late",
    "body-cut, keeps all",
    "trailer bad, late",
    "chunk length wrong, late",
)
faulty(100, "chunks of 1 byte", "ok, keeps all", "chunks of 1 byte")
faulty(102, "garbage, HTTP 0.9", "bad-http, keeps 0", "garbage", "HTTP 0.9")
faulty(
    103,
    "100,000 headers, 4 MB header, 4 MB status",
    "bad-http, keeps 0",
    "100,000 headers",
    "header of 4 MB",
    "status of 4 MB",
)
faulty(105, "endless 1xx", "timeout, keeps 0", "1xx without end")
faulty(
    108,
    "redirect to itself, in a circle",
    "redirect-loop, keeps 0",
    "redirect: itself",
    "redirect: circle",
)
faulty(109, "6 redirects", "too-many-redirects, keeps 0", "redirect: further")
faulty(110, "redirect without Location", "http-status, keeps 0", "302")
faulty(
    112,
    "redirect to private addresses",
    "blocked-address, keeps 0",
    "redirect: private",
    "redirect: loopback-6",
    "redirect: metadata",
)
faulty(117, "unknown name", "dns, keeps 0", "redirect: none")


@row(83, ".gz URL, plain body", "ok, 200 entries, 1 requests")
async def unpacked(web: Web) -> str:
    return await web.visit("packed/urls.xml.gz?layers=0")


@row(84, "XML URL, gzip body", "ok, 200 entries, 1 requests")
async def packed(web: Web) -> str:
    return await web.visit("packed/urls.xml?layers=1")


@row(85, "Content-Encoding: x-gzip; gzip, gzip; UTF-8; foo", "ok, 200 entries, 1 requests")
async def labels(web: Web) -> str:
    codings = ("x-gzip", "gzip,%20gzip", "UTF-8", "foo", "br", "")
    paths = [f"packed/u?layers={layers}&coding={c}" for c in codings for layers in (0, 1, 2)]
    return " / ".join(dict.fromkeys([await web.visit(path) for path in paths]))


@row(101, "closed or RST before the headers", "connect, 0 entries, 2 requests")
async def close_early(web: Web) -> str:
    return " / ".join(dict.fromkeys([await web.visit("close"), await web.visit("reset")]))


@row(104, "200,000 x 100 Continue, then 200", "ok, 200 entries, 1 requests")
async def promises(web: Web) -> str:
    return await web.visit("continue?times=200000", FetchOptions(max_attempts=1))


@row(106, "101, 204, 206, 000, 999", "http-status, 0 entries, 1 requests")
async def odd_status(web: Web) -> str:
    said = [await web.visit(f"status/{code}") for code in ("203", "204", "206", "000", "999")]
    said.append(await web.visit("upgrade"))
    return " / ".join(dict.fromkeys(said))


@row(107, "304 unasked", "http-status, 0 entries, 1 requests")
async def unasked(web: Web) -> str:
    return await web.visit("status/304")


@row(111, "redirect to file, ftp, javascript, data, tcp, ws", "invalid-url, 0 entries, 1 requests")
async def schemes(web: Web) -> str:
    urls = ("file:///x", "ftp://a.org/", "javascript:1", "data:,x", "tcp://a.org/", "ws://a.org/")
    said = [await web.visit(f"to?url={quote(url, safe='')}") for url in urls]
    return " / ".join(dict.fromkeys(said))


@row(113, "redirect with a body of 64 MB", "ok, 200 entries, 2 requests, body left")
async def endless_redirect(web: Web) -> str:
    said = await web.visit("redirect-with-endless-body")
    return f"{said}, body {'left' if web.server.wasted_bytes < 12 * 2**20 else 'read'}"


@row(114, "redirect to another origin", "no secret arrives")
async def other_origin(web: Web) -> str:
    secrets = {"Authorization": "Basic x", "Cookie": "a=b", "X-Api-Key": "k"}
    async with (
        FaultServer() as other,
        HttpFetcher(FetchOptions(headers=secrets, allow_ports=(other.port,))) as fetcher,
    ):
        fetcher.trust(web.server.base)
        async with fetcher.open(web.server.url(f"to?url={quote(other.url('ok'))}")):
            pass
        sent = set(web.server.requests[-1].headers) & {name.lower() for name in secrets}
        arrived = set(other.requests[-1].headers) & {name.lower() for name in secrets}
    assert len(sent) == len(secrets)
    return "no secret arrives" if not arrived else f"{arrived} arrive"


@row(115, "https to http", "downgrade")
async def downgrade(_: Web) -> str:
    try:
        RedirectChain(parse_request_url("https://a.org/"), QUICK).follow("http://a.org/x")
    except FetchError as error:
        return str(error.code)
    return "followed"


@row(
    116,
    "names that resolve to private, mixed, and later to private",
    "blocked-address, blocked-address, blocked",
)
async def private_names(_: Web) -> str:
    said = []
    with mock.patch("socket.getaddrinfo", resolve):
        async with HttpFetcher(QUICK) as fetcher:
            for name in ("loopback.test", "both.test"):
                try:
                    async with fetcher.open(f"http://{name}/"):
                        said.append("opened")
                except FetchError as error:
                    said.append(str(error.code))
    policy, hosts = AddressPolicy(), Trust()
    hosts.add("a.org", 80)
    addresses = ("8.8.8.8", "127.0.0.1")
    rebound = all(policy.allows("a.org", address, (hosts,)) for address in addresses)
    return ", ".join([*said, "rebound" if rebound else "blocked"])


@row(
    119,
    "Retry-After: 120, a date, -5, 10^20, Arabic digits, garbage",
    "120, 60, None, 9999999999, None, None; retry-later, 0 entries, 1 requests",
)
async def retry_after(web: Web) -> str:
    now = datetime(2026, 3, 5, 12, 0, tzinfo=UTC)
    texts = ("120", "Thu, 05 Mar 2026 12:01:00 GMT", "-5", "1" + "0" * 20, "\u0661\u0662", "soon")
    waits = (parse_retry_after(text, now) for text in texts)
    said = ", ".join("None" if wait is None else f"{wait:.0f}" for wait in waits)
    return f"{said}; {await web.visit('later?status=503&after=' + '9' * 20)}"


@row(120, "503 three times", "http-status, 0 entries, 3 requests")
async def busy(web: Web) -> str:
    options = FetchOptions(max_attempts=3, retry_wait_seconds=0.01)
    return await web.visit("flaky?times=9&with=503", options)
