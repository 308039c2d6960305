"""Which hosts a walk goes to, over HTTP: those that belong, and those that are trusted."""

from __future__ import annotations

import gzip
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import FetchOptions, IssueCode, Search, Severity, discover, walk
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader.fetch import HttpFetcher
from sitemapreader.fetch.local import MemoryFetcher
from tests.support.faults import FaultServer
from tests.support.hosts import NamedAddresses
from tests.support.serving import serve
from tests.support.walking import ROBOTS, SITE, Pages, Walked, index, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.serving import Page

OPTIONS = FetchOptions(max_attempts=1)
LONG = [f"https://example.org/{'x' * 900}/{n}" for n in range(2_000)]
"""URLs of a document that takes its time."""
FEED = (
    "<rss version='2.0'><channel>"
    "<item><link>{base}/news</link><pubDate>Thu, 05 Mar 2026 12:00:00 GMT</pubDate></item>"
    "</channel></rss>"
)


def make_site(base: str) -> Mapping[str, Page]:
    """Make a site with every format, a redirect, an error, and a child that nobody may read."""
    return {
        "/robots.txt": f"User-agent: *\nDisallow: /private\nSitemap: {base}/i.xml".encode(),
        "/i.xml": index(
            "a.xml", "b.xml.gz", "c.txt", "d.rss", "e.xml", "gone.xml", "private.xml"
        ),
        "/a.xml": urlset(*(f"{base}/a/{n}" for n in range(5_000))),
        "/b.xml.gz": gzip.compress(urlset(*(f"{base}/b/{n}" for n in range(5_000)))),
        "/c.txt": f"{base}/c".encode(),
        "/d.rss": FEED.format(base=base).encode(),
        "/e.xml": "/moved/e.xml",
        "/moved/e.xml": urlset(f"{base}/moved/e"),
        "/gone.xml": 410,
        "/private.xml": urlset(f"{base}/private"),
    }


async def test_a_site_over_http() -> None:
    """A site of every format is walked, and what cannot be read is said, one request a document."""
    async with serve(make_site) as served:
        async with walk(served.base, options=OPTIONS) as entries:
            locs = {entry.loc.removeprefix(served.base) async for entry in entries}
        assert len(locs) == 10_003
        assert {"/a/0", "/b/4999", "/c", "/news", "/moved/e"} <= locs
        statuses = {
            document.url.removeprefix(served.base): (
                str(document.status),
                document.reason,
            )
            for document in entries.report.documents
        }
        assert statuses.pop("/gone.xml") == ("failed", "http-status")
        assert statuses.pop("/private.xml") == ("skipped", "robots-disallowed")
        assert set(statuses.values()) == {("complete", "")}
        assert len(served.requested) == len(set(served.requested)) == 9
        assert not entries.report.complete


async def test_a_server_that_goes_away() -> None:
    """A server that stops in the middle of a walk costs what it had still to say; each says so."""
    children = [f"{n}.xml" for n in range(20)]
    long = urlset(*LONG)
    pages = {"/i.xml": index(*children)} | {f"/{name}": long for name in children}
    count = 0
    options = attrs.evolve(OPTIONS, host_pause_seconds=0.05)
    async with AsyncExitStack() as server:
        served = await server.enter_async_context(serve(lambda _: pages))
        async with walk(sitemaps=[f"{served.base}/i.xml"], options=options) as entries:
            async for batch in entries.batches():
                count += len(batch)
                if count > 2_000:
                    await server.aclose()
    outcomes = Counter(
        (str(each.status), each.reason) for each in entries.report.documents
    )
    assert sum(outcomes.values()) == 22
    assert outcomes["failed", "connect"] + outcomes["skipped", "host-down"] >= 10
    assert (
        count
        == entries.report.entries
        == sum(each.entries for each in entries.report.documents)
    )
    assert not entries.report.complete


TOP = "https://www.example.co.uk/top.xml"


async def walk_top(pages: Pages, top: str = TOP, **arguments: Any) -> Walked:
    return await walk_all(pages, None, sitemaps=[top], **arguments)


@pytest.mark.parametrize(
    ("child", "on_host", "on_site"),
    [
        ("https://www.example.co.uk/c.xml", True, True),
        ("http://www.example.co.uk:8080/c.xml", True, True),
        ("https://www.example.co.uk./c.xml", True, True),
        ("https://example.co.uk/c.xml", False, True),
        ("https://a.b.example.co.uk/c.xml", False, True),
        ("https://other.co.uk/c.xml", False, False),
        ("https://example.com/c.xml", False, False),
        ("https://example.co.uk.evil.net/c.xml", False, False),
    ],
)
async def test_hosts(child: str, on_host: bool, on_site: bool) -> None:
    """Which children are fetched, by the policy; what is not says so and is not asked for."""
    pages: Pages = {TOP: index(child), child: urlset(f"{child}/page")}
    for policy, fetched in (("host", on_host), ("site", on_site), ("any", True)):
        walked = await walk_top(pages, hosts=policy)
        assert len(walked.locs) == fetched
        assert (child in walked.requested) is fetched
        assert ("cross-host-child" in walked.codes) is not fetched
        if not fetched:
            assert walked.outcome(child) == ("skipped", "cross-host-child")


@pytest.mark.parametrize("child", ["http://127.0.0.1/c.xml", "http://localhost/c.xml"])
async def test_hosts_that_nobody_reaches(child: str) -> None:
    """A child on a host that is not public is fetched only where any host is allowed."""
    pages: Pages = {TOP: index(child), child: urlset(f"{child}/page")}
    for policy in ("host", "site", "any"):
        walked = await walk_top(pages, hosts=policy)
        assert (child in walked.requested) is (policy == "any")
        assert ("host-not-public" in walked.codes) is (policy != "any")


@pytest.mark.parametrize(
    ("robots", "proven"),
    [
        ("https://other.net/robots.txt", True),
        ("https://www.example.co.uk/robots.txt", True),
        ("https://third.org/robots.txt", False),
    ],
)
async def test_cross_submits(robots: str, proven: bool) -> None:
    """A child elsewhere is fetched if robots.txt of its host, or of its parent's, lists it."""
    child = "https://other.net/c.xml"
    pages: Pages = {TOP: index(child), child: urlset("https://other.net/page")}
    pages[robots] = b"Sitemap: https://OTHER.net:443/c.xml"
    walked = await walk_top(pages)
    assert len(walked.locs) == proven
    assert walked.codes == ["cross-host-child"] * (not proven)


RULES = b"User-agent: *\nDisallow: /private/\nSitemap: https://example.org/private/listed.xml\n"
PRIVATE = "https://example.org/private/c.xml"


async def test_disallowed_children() -> None:
    """A child that robots.txt forbids is not fetched, unless the caller wants it all the same."""
    top = "https://example.org/t.xml"
    pages: Pages = {ROBOTS: RULES, top: index(PRIVATE, "https://example.org/c.xml")}
    pages |= {
        PRIVATE: urlset("https://x.y/1"),
        "https://example.org/c.xml": urlset("https://x.y/2"),
    }
    walked = await walk_top(pages, top)
    assert walked.locs == ["https://x.y/2"]
    assert walked.outcome(PRIVATE) == ("skipped", "robots-disallowed")
    (issue,) = [
        issue for issue in walked.report.issues if issue.code == "robots-disallowed"
    ]
    assert (issue.sitemap, issue.url) == (top, PRIVATE)
    assert walked.report.complete
    walked = await walk_top(pages, top, respect_robots=False)
    assert len(walked.locs) == 2
    assert ROBOTS not in walked.requested


async def test_what_is_named_is_allowed() -> None:
    """What robots.txt lists, and what the caller gives, is fetched whatever the rules say."""
    listed = "https://example.org/private/listed.xml"
    pages: Pages = {
        ROBOTS: RULES,
        PRIVATE: urlset("https://x.y/1"),
        listed: urlset("https://x.y/2"),
    }
    walked = await walk_all(pages, SITE, sitemaps=[PRIVATE])
    assert sorted(walked.locs) == ["https://x.y/1", "https://x.y/2"]


class Polite(MemoryFetcher):
    """Notes whom it is told to trust."""

    def __init__(self, pages: Pages) -> None:
        super().__init__(pages)
        self.trusted: list[str] = []

    def trust(self, url: str) -> None:
        self.trusted.append(url)


async def test_what_a_discovery_found_can_be_walked() -> None:
    """What `discover` returns can be given to `walk`; robots.txt still speaks for its host."""
    pages: Pages = {ROBOTS: b"Sitemap: https://cdn.net/a.xml"}
    pages["https://cdn.net/a.xml"] = urlset("https://example.org/x")
    found = await discover(SITE, fetcher=MemoryFetcher(pages))
    walked = await walk_all(pages, None, sitemaps=found.sitemaps)
    assert walked.locs == ["https://example.org/x"]
    assert walked.codes == []
    guessed = SitemapEntry("https://example.org/none.xml", via=Via.WELL_KNOWN)
    walked = await walk_all({}, None, sitemaps=[guessed])
    assert walked.outcome(guessed.loc) == ("failed", "http-status")


@pytest.mark.parametrize(
    ("entry", "outcome"),
    [
        (SitemapEntry(PRIVATE), ("complete", "")),
        (SitemapEntry(PRIVATE, via=Via.GIVEN, sitemap=TOP), ("complete", "")),
        (SitemapEntry(PRIVATE, via=Via.WELL_KNOWN), ("complete", "")),
        (SitemapEntry(PRIVATE, via=Via.ROBOTS, sitemap=ROBOTS), ("complete", "")),
        (
            SitemapEntry(PRIVATE, via=Via.INDEX, sitemap=SITE),
            ("skipped", "robots-disallowed"),
        ),
        (
            SitemapEntry(PRIVATE, via=Via.HTML, sitemap=SITE),
            ("skipped", "robots-disallowed"),
        ),
        (
            SitemapEntry(PRIVATE, via=Via.INDEX, sitemap=TOP),
            ("skipped", "cross-host-child"),
        ),
        (
            SitemapEntry(PRIVATE, via=Via.HEADER, sitemap=TOP),
            ("skipped", "cross-host-child"),
        ),
    ],
    ids=lambda value: (
        f"{value.via}-{bool(value.sitemap)}" if isinstance(value, SitemapEntry) else ""
    ),
)
async def test_an_entry_stays_what_it_is(
    entry: SitemapEntry, outcome: tuple[str, str]
) -> None:
    """An entry that a document gave has no more rights because the caller passes it on."""
    pages: Pages = {
        ROBOTS: b"User-agent: *\nDisallow: /private",
        PRIVATE: urlset("https://x.y/"),
    }
    fetcher = Polite(pages)
    async with walk(sitemaps=[entry], fetcher=fetcher) as entries:
        assert len([each async for each in entries]) == (outcome[0] == "complete")
    (document,) = [each for each in entries.report.documents if each.url == PRIVATE]
    assert (str(document.status), document.reason) == outcome
    own = not entry.sitemap or entry.via is Via.GIVEN
    assert fetcher.trusted == [PRIVATE] * own


URLSET = b"<urlset><url><loc>http://site.test/1</loc></url></urlset>"


def make_pages(base: str) -> dict[str, bytes]:
    """Return a site with one sitemap, which it names in robots.txt."""
    return {"/robots.txt": f"Sitemap: {base}/map.xml".encode(), "/map.xml": URLSET}


async def read(
    site: str, fetcher: HttpFetcher, *, trusted: bool
) -> tuple[int, set[IssueCode]]:
    """Walk a site; return the number of its URLs and the codes of its errors."""
    async with walk(
        site, fetcher=fetcher, trusted=trusted, search=Search(probe="never")
    ) as entries:
        count = len([entry async for entry in entries])
    codes = {code for code in entries.report.counts if code.severity is Severity.ERROR}
    return count, codes


async def test_a_walk_trusts_its_own_site_only() -> None:
    """Of two walks with one fetcher, the one that is not trusted gets nothing from loopback."""
    async with serve(make_pages) as served, HttpFetcher() as fetcher:
        assert await read(served.base, fetcher, trusted=True) == (1, set())
        asked = len(served.requested)
        count, codes = await read(served.base, fetcher, trusted=False)
        assert count == 0
        assert IssueCode.BLOCKED_PORT in codes
        assert len(served.requested) == asked


@pytest.mark.parametrize("name", ["site.test", "127.0.0.1"])
async def test_a_kept_connection_is_not_lent_to_strangers(name: str) -> None:
    """With the port allowed, a connection that a trusted walk left open is no way around."""
    async with serve(make_pages) as served:
        port = int(served.base.rpartition(":")[2])
        options = FetchOptions(allow_ports=(port,))
        async with HttpFetcher(options, resolver=NamedAddresses()) as fetcher:
            site = f"http://{name}:{port}/"
            assert (await read(site, fetcher, trusted=True))[0] >= 0
            asked = len(served.requested)
            assert asked
            count, codes = await read(site, fetcher, trusted=False)
            assert count == 0
            assert IssueCode.BLOCKED_ADDRESS in codes
            assert len(served.requested) == asked


async def test_headers_do_not_go_to_strangers() -> None:
    """A walk that is not trusted sends no header that may be a secret."""
    async with FaultServer() as server:
        options = FetchOptions(
            headers={"X-Key": "secret"},
            allow_ports=(server.port,),
            allow_networks=("127.0.0.0/8",),
        )
        for trusted in (False, True):
            server.requests.clear()
            async with walk(
                sitemaps=[server.url("ok")], options=options, trusted=trusted
            ) as found:
                assert [entry async for entry in found]
            assert ["x-key" in request.headers for request in server.requests] == [
                trusted
            ]
