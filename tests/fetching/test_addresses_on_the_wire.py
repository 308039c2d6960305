"""What goes onto the wire is what was listed, byte for byte, by each way to a request."""

from __future__ import annotations

import asyncio
import string
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sitemapreader import Changes, walk
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions
from sitemapreader.audit import audit
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.urls import parse_request_url
from sitemapreader.pages import visit_pages
from tests.support.commands import find_program
from tests.support.faults import FaultServer, answered, head
from tests.support.walking import at_once, index, read_site, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping
    from pathlib import Path

    from tests.support.faults import Request, Step

ODD_TARGETS = (
    "/m.xml?sig=AB%2FCD%3D",
    "/m.xml?time=12%3A30&user=me%40example.org&q=%27a%27",
    "/%7Euser/a%2Db.xml",
    "/caf%c3%a9.xml",
    "/a%3Bb.xml",
    "/a;v=1/b.xml?x=1+2&y=%2B",
    "/a%2Fb.xml",
    "//a//b.xml?",
    "/a.xml??x=1&&y=/?",
    "/a.xml?next=https://www.example.org/%2525",
    "/%41%5f.xml?%61=%5F",
    "/x/%2e%2e/%2E/y.xml",
    "/(a)*'$!,.xml",
)
"""Paths and queries that a client is tempted to write otherwise."""

_PIECES = st.one_of(
    st.sampled_from(string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@/"),
    st.integers(0x20, 0xFF).map("%{:02X}".format),
    st.integers(0x20, 0xFF).map("%{:02x}".format),
)
_PATHS = st.lists(_PIECES, max_size=12).map("".join)
_QUERIES = st.one_of(
    st.just(""),
    st.lists(st.one_of(_PIECES, st.just("?")), max_size=12).map(
        lambda q: f"?{''.join(q)}"
    ),
)
valid_targets = st.builds("/{}{}".format, _PATHS, _QUERIES)
"""Each path and query that RFC 3986 allows."""


class Listing(FaultServer):
    """A server that answers what the test says, and a sitemap to all else."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}

    def answer(self, request: Request) -> Iterable[Step]:
        """Return what is under exactly this request target."""
        if location := self.redirects.get(request.path):
            return answered(b"", "302 Found", f"Location: {location}")
        if (page := self.pages.get(request.path)) is not None:
            return answered(page)
        if request.path == "/robots.txt":
            return [head("404 Not Found", length=0), "keep"]
        return answered(urlset(f"{self.base}/page"))

    @property
    def targets(self) -> list[str]:
        """The request targets, in their order."""
        return [request.path for request in self.requests]


@asynccontextmanager
async def listing(
    pages: Mapping[str, bytes] | None = None,
) -> AsyncIterator[Listing]:
    """Serve pages by their exact request targets."""
    async with Listing() as server:
        server.pages = dict(pages or {})
        yield server


async def run_beside(*words: str) -> str:
    """Run the command beside the server; return what it prints."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *find_program(), *words, stdout=pipe, stderr=pipe
    )
    return (await process.communicate())[0].decode()


def escape(target: str) -> str:
    return target.replace("&", "&amp;")


@given(valid_targets)
def test_a_valid_url_is_requested_as_it_is_written(target: str) -> None:
    """The client gets path and query byte for byte, and so does the report."""
    asked = parse_request_url(f"https://www.example.org{target}#part")
    assert asked.url.raw_path_qs == target
    assert str(asked) == f"https://www.example.org{target}"


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(valid_targets, min_size=1, max_size=20, unique=True))
def test_what_the_server_is_asked_for(targets: list[str]) -> None:
    """A raw server sees the targets of all valid URLs as they were given."""

    async def ask() -> list[str]:
        async with listing() as server, HttpFetcher() as fetcher:
            fetcher.trust(server.base)
            for target in targets:
                async with fetcher.open(server.base + target):
                    pass
            return server.targets

    assert asyncio.run(ask()) == targets


@settings(max_examples=15)
@given(st.lists(valid_targets, min_size=2, max_size=6, unique=True))
def test_where_redirects_lead(targets: list[str]) -> None:
    """Each `Location` is asked for as the server has written it, absolute or not."""

    async def ask() -> list[str]:
        async with (
            listing() as server,
            HttpFetcher(FetchOptions(max_redirects=9)) as fetcher,
        ):
            fetcher.trust(server.base)
            for place, target in enumerate(targets[1:]):
                # the dots of a relative path are resolved
                is_path = (
                    place % 2 and not target.startswith("//") and "/." not in target
                )
                server.redirects[targets[place]] = (
                    target if is_path else server.base + target
                )
            async with fetcher.open(server.base + targets[0]) as response:
                assert response.url == server.base + targets[-1]
            return server.targets

    assert asyncio.run(ask()) == targets


@pytest.mark.parametrize("target", ODD_TARGETS)
async def test_odd_targets_are_asked_for_as_listed(target: str) -> None:
    """robots.txt, an index, a redirect and the command line lead to the listed bytes."""
    async with listing() as server:
        url = server.base + target
        server.pages["/robots.txt"] = f"Sitemap: {url}".encode()
        await read_site(f"{server.base}/")
        assert server.targets[:2] == ["/robots.txt", target]
        server.requests.clear()

        server.pages["/index.xml"] = index(escape(url))
        await read_site(None, sitemaps=[f"{server.base}/index.xml"])
        assert target in server.targets
        server.requests.clear()

        server.redirects["/moved.xml"] = url
        await read_site(None, sitemaps=[f"{server.base}/moved.xml"])
        assert server.targets[-1] == target
        server.requests.clear()

        await read_site(None, sitemaps=[url])
        assert server.targets[0] == target


async def test_the_command_line_asks_for_what_is_typed() -> None:
    """A sitemap, a site with a login and a site with a path are asked for as they are typed."""
    async with listing() as server:
        target, site = "/m%7E.xml?sig=AB%2FCD%3D", "/%7Euser/x%2Fy/"
        url = server.base + target
        assert (
            await run_beside("urls", f"\ufeff{url}\u200b ") == f"{server.base}/page\n"
        )
        await run_beside(
            "urls", "--site", server.base.replace("//", "//me:secret@") + site
        )
        assert server.targets[0] == target
        assert f"{site}sitemap.xml" in server.targets


async def test_a_redirect_between_spellings_is_no_loop() -> None:
    """Servers redirect from one spelling of an address to another, which has the same key."""
    async with listing() as server:
        server.redirects = {"/%7Ea/m.xml": "/~a/m.xml", "/a%3bb.xml": "/a%3Bb.xml"}
        for start, end in server.redirects.items():
            walked = await read_site(None, sitemaps=[server.base + start])
            assert walked.locs == [f"{server.base}/page"]
            assert server.targets[-2:] == [start, end]


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://www.example.org", "/"),
        ("https://www.example.org?a=%2f", "/?a=%2f"),
        ("https://www.example.org/a b.xml", "/a%20b.xml"),
        ("https://www.example.org/a\xa0b\u3000c.xml", "/a%C2%A0b%E3%80%80c.xml"),
        ("https://www.example.org/caf\xe9?x=\xfc", "/caf%C3%A9?x=%C3%BC"),
        ('https://www.example.org/"<a>"\\^`{|}', "/%22%3Ca%3E%22%5C%5E%60%7B%7C%7D"),
        ("https://www.example.org/[a]?b[]=1", "/%5Ba%5D?b%5B%5D=1"),
        ("https://www.example.org/100%.xml?a=%zz&b=%2", "/100%25.xml?a=%25zz&b=%252"),
        ("\ufeff https://www.example.org/a\u200b ", "/a"),
    ],
)
def test_what_no_request_may_contain_is_encoded(url: str, target: str) -> None:
    """Characters that are no part of a URL are percent-encoded in UTF-8, and no others."""
    assert parse_request_url(url).url.raw_path_qs == target


@pytest.mark.parametrize("blank", [" ", "\xa0", "\u3000"])
async def test_a_blank_is_asked_for_encoded_and_said(blank: str) -> None:
    """A blank in the address of a child, of a Sitemap line and of a redirect loses no sitemap."""
    async with listing() as server:
        url, target = (
            f"{server.base}/a{blank}b.xml",
            parse_request_url(f"http://x/a{blank}b.xml"),
        )
        asked = target.url.raw_path_qs
        server.pages["/robots.txt"] = f"Sitemap: {url}".encode()
        walked = await read_site(f"{server.base}/")
        assert asked in server.targets
        assert walked.locs
        assert IssueCode.URL_CHARACTERS in walked.codes
        server.pages["/index.xml"] = index(url)
        walked = await read_site(None, sitemaps=[f"{server.base}/index.xml"])
        assert walked.locs
        assert IssueCode.URL_CHARACTERS in walked.codes
        server.redirects["/moved.xml"] = url.encode().decode("latin-1")
        walked = await read_site(None, sitemaps=[f"{server.base}/moved.xml"])
        assert walked.locs
        assert IssueCode.URL_CHARACTERS in walked.codes


async def test_revalidation_and_gone_ask_for_the_listed_bytes(tmp_path: Path) -> None:
    """A conditional request, and the question whether a page is gone, go to the listed bytes."""
    async with listing() as server:
        target, lost = "/m%7E.xml?sig=AB%2FCD%3D", "/p%3Bq?x=%2F"
        kept, state = f"{server.base}/kept", at_once(tmp_path / "state.db")
        server.pages[target] = urlset(kept, server.base + lost)
        for _ in range(3):
            named = [server.base + target]
            async with walk(None, sitemaps=named, state=Changes(state)) as entries:
                async for _ in entries:
                    pass
                assert [page async for page in entries.gone(9)] == []
            server.pages[target] = urlset(kept)
        assert server.targets.count(target) == 3
        assert lost in server.targets


async def test_visits_ask_for_the_listed_bytes() -> None:
    """Pages are visited as they are listed, by an audit too."""
    pages = ("/p%3Bq", "/%7Euser/", "/x?y=%2F&z=%40")
    async with listing() as server:
        urls = [server.base + page for page in pages]
        async with HttpFetcher() as fetcher:
            async for _ in visit_pages(urls, fetcher, trusted=[server.base]):
                pass
        assert {*pages} <= {*server.targets}
        server.requests.clear()
        server.pages["/s%7E.xml"] = urlset(*map(escape, urls))
        with await audit(f"{server.base}/s%7E.xml", pages="all"):
            pass
        assert {*pages, "/s%7E.xml"} <= {*server.targets}
