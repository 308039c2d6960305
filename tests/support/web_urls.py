"""Rows 131 to 151 of the table: URLs in documents, and what indexes lead to.

An entry is delivered; what cannot or must not be requested is said where it is to be fetched.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from unittest import mock

from hosts import HOSTS, REFUSALS, open_and_fail, resolve
from matrix_answers import FAULTS
from matrix_server import SIBLINGS
from matrix_verdicts import judge_index
from walking import Pages, index, moved, urlset, walk_all
from web_table import QUICK, row

from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.models import UrlEntry
from sitemapreader.options import Limits
from sitemapreader.readers import read
from sitemapreader.urls import url_key
from sitemapreader.walker import walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from web_table import Web

TOP = "https://example.org/top.xml"
A = "https://example.org/a.xml"
PAGE = "https://example.org/page"
METADATA = ("100.100.100.200", "168.63.129.16", "192.0.0.192", "[fd00:ec2::254]")


async def open_hosts(*hosts: str) -> str:
    """Open strangers' URLs over HTTP and say which are refused."""
    codes = []
    with mock.patch("socket.getaddrinfo", resolve):
        async with HttpFetcher(QUICK) as fetcher:
            codes += [await open_and_fail(fetcher, f"http://{host}/") for host in hosts]
    opened = [host for host, code in zip(hosts, codes, strict=True) if code not in REFUSALS]
    return f"{len(codes)} refused" if not opened else f"not refused: {opened}"


def entries_of(*locs: str) -> str:
    """Say what a urlset of these locs gives."""
    events = list(read(urlset(*locs), "https://example.org/s.xml"))
    count = sum(isinstance(event, UrlEntry) for event in events)
    codes = dict.fromkeys(
        str(e.code) for e in events if not isinstance(e, UrlEntry) and hasattr(e, "code")
    )
    return " ".join([f"{count} entries", *codes])


async def child(url: str) -> str:
    """Say what becomes of a child of an index, when it is to be fetched over HTTP."""
    async with HttpFetcher(QUICK) as http:
        pages = MemoryFetcher({TOP: index(url)})

        class Both:
            """The index from memory, its child over HTTP."""

            def open(self, url: str, **more: Any) -> Any:
                return (pages if url == TOP or url.endswith("robots.txt") else http).open(
                    url, **more
                )

        async with walk(
            sitemaps=[TOP], fetcher=Both(), hosts="any", respect_robots=False
        ) as entries:
            async for _ in entries:
                pass
    outcomes = [str(e.status) for e in entries.report.documents if e.url != TOP and e.via]
    codes = [str(issue.code) for issue in entries.report.issues]
    return " ".join([*outcomes, *codes])


async def walked(pages: Mapping[str, Any], **arguments: Any) -> str:
    """Walk from the top and say what comes out, what is requested, and what is noted."""
    result = await walk_all(pages, None, **{"sitemaps": [TOP], **arguments})
    codes = dict.fromkeys(
        code for code in result.codes if code not in {"nested-index", "relative-loc"}
    )
    fetched = [url for url in result.requested if not url.endswith("/robots.txt")]
    return " ".join([f"{len(result.locs)} entries, {len(fetched)} fetched", *codes])


@row(131, "every spelling of loopback", f"{len(HOSTS)} refused")
async def loopback(_: Web) -> str:
    return await open_hosts(*HOSTS)


@row(132, "metadata services", "4 refused")
async def metadata(_: Web) -> str:
    return await open_hosts(*METADATA)


@row(133, "user:pw@ in a child", "1 entries, 2 fetched userinfo-removed")
async def userinfo(_: Web) -> str:
    return await walked({TOP: index("https://u:p@example.org/a.xml"), A: urlset(PAGE)})


@row(134, "http://a\\@b/", "1 entries; failed invalid-url")
async def two_hosts(_: Web) -> str:
    url = "http://example.org\\@b.org/"
    return f"{entries_of(url)}; {await child(url)}"


@row(135, "newline, bidi in loc", "2 entries url-characters; failed url-characters invalid-url")
async def characters(_: Web) -> str:
    url = "https://example.org/\u202ea"
    return f"{entries_of('https://example.org/a b', url)}; {await child(url)}"


@row(136, "10 MB loc", "1 entries record-too-long")
async def long_loc(_: Web) -> str:
    return entries_of("https://example.org/" + "a" * 10_000_000, PAGE)


@row(
    137,
    "javascript:, data:, mailto:, relative, empty, //h/x",
    "2 entries unsupported-scheme relative-loc missing-loc",
)
async def schemes(_: Web) -> str:
    return entries_of("javascript:alert(1)", "data:,x", "mailto:a@b.org", "x/y", "", "//h.org/x")


@row(138, "port 99999, 0, 22", "failed invalid-url / failed blocked-port / failed blocked-port")
async def ports(_: Web) -> str:
    return " / ".join([await child(f"http://example.org:{port}/") for port in (99999, 0, 22)])


@row(139, "IDN host of 2,000 characters", "1 entries; failed invalid-url")
async def long_host(_: Web) -> str:
    url = f"http://{'ü' * 2_000}.org/"
    return f"{entries_of(url)}; {await child(url)}"


@row(140, "homograph", "1 entries, key https://xn--pple-43d.com/")
async def homograph(_: Web) -> str:
    url = "https://\u0430pple.com/"
    return f"{entries_of(url)}, key {url_key(url)}"


@row(141, "surrogate", "1 entries malformed")
async def surrogate(_: Web) -> str:
    return entries_of("https://example.org/&#xD800;", PAGE)


@row(142, "3 million ../", "1 entries record-too-long")
async def dots(_: Web) -> str:
    return entries_of("https://example.org/" + "../" * 3_000_000, PAGE)


@row(143, "an index that lists itself", "0 entries, 1 fetched cycle")
async def itself(_: Web) -> str:
    return await walked({TOP: index(TOP)})


@row(144, "A lists B lists A", "0 entries, 2 fetched cycle")
async def circle(_: Web) -> str:
    return await walked({TOP: index(A), A: index(TOP)})


class Endless(dict[str, bytes]):
    """A site whose every folder has an index that leads one folder on."""

    def __init__(self, *, same: bool) -> None:
        super().__init__()
        self._same = same

    def get(self, url: str, default: Any = None) -> Any:
        if url.endswith("robots.txt"):
            return default
        if url.endswith("leaf.xml"):
            return urlset(f"{url}/page")
        depth = url.count("next/")
        return index("next/top.xml", "leaf.xml" if self._same else f"{depth}leaf.xml")


@row(145, "URLs without end, same body", "1 entries, 3 fetched duplicate-document")
async def trap(_: Web) -> str:
    return await walked(Endless(same=True), limits=Limits(depth=1_000))


@row(
    146,
    "URLs and bodies without end",
    "49 entries, 99 fetched budget-documents / 5 entries, 11 fetched budget-depth",
)
async def maze(_: Web) -> str:
    documents = await walked(Endless(same=False), limits=Limits(depth=1_000, documents=100))
    return f"{documents} / {await walked(Endless(same=False))}"


@row(147, "50,000 children", "less than 30 MB")
async def children(_: Web) -> str:
    command = [sys.executable, __file__]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)
    grown = float(done.stdout)
    return "less than 30 MB" if grown < 30 else f"{grown:.0f} MB"


@row(148, "a child that redirects to its parent", "0 entries, 2 fetched redirects-up")
async def to_parent(_: Web) -> str:
    return await walked({TOP: index(A), A: moved(TOP, index(A))})


@row(149, "a child in 6 spellings", "1 entries, 2 fetched")
async def spellings(_: Web) -> str:
    urls = (
        A,
        "HTTPS://EXAMPLE.org/a.xml",
        "https://example.org:443/a.xml",
        f"{A}#x",
        "https://example.org/./a.xml",
        "https://example.org/%61.xml",
    )
    return await walked({TOP: index(*urls), A: urlset(PAGE)})


@row(150, "a child on another host", "0 entries, 1 fetched cross-host-child")
async def cross_host(_: Web) -> str:
    return await walked({TOP: index("https://other.net/a.xml")})


@row(
    151,
    "1 of 100 children fails",
    "99, body-cut / 99, body-cut / 99, sitemap-with-error-status / 99, dns",
)
async def one_fails(web: Web) -> str:
    said = []
    for name in ("length, closed", "trailer bad, late", "500", "redirect: none"):
        verdict = await judge_index(FAULTS[name], web.matrix)
        assert verdict.siblings == SIBLINGS
        said.append(", ".join([str(verdict.siblings), verdict.code, *verdict.problems]))
    return " / ".join(said)


async def measure() -> float:
    """Return by how many MB a walk over an index of 50,000 children grows the process."""
    pages: Pages = {TOP: index(*(f"https://example.org/{n}.xml" for n in range(50_000)))}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await walk_all(pages, None, sitemaps=[TOP], limits=Limits(documents=300))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


if __name__ == "__main__":
    print(asyncio.run(measure()))  # noqa: T201 (row 147 reads it)
