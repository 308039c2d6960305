"""Redirects of sitemaps: each hop is allowed by `hosts` and robots.txt, or not requested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from answering import Answer, Site, make_index, make_urlset, read_site, serve_site
from walking import index, moved, urlset, walk_all

from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.options import FetchOptions
from sitemapreader.walker import discover

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from walking import Pages

DISALLOW = Answer(b"User-agent: *\nDisallow: /private/\n")


def move(to: str) -> Answer:
    return Answer(status=302, headers={"Location": to})


def elsewhere(site: Site) -> str:
    """Return the address of a site under another name, which is another site."""
    return site.base.replace("127.0.0.1", "localhost")


def allow(*sites: Site) -> FetchOptions:
    """Allow what a document on loopback may lead to, as if it were public."""
    ports = tuple(int(site.base.rpartition(":")[2]) for site in sites)
    return FetchOptions(allow_networks=("127.0.0.0/8", "::1/128"), allow_ports=ports)


@pytest.fixture
async def ours() -> AsyncIterator[Site]:
    async with serve_site() as site:
        yield site


@pytest.fixture
async def other() -> AsyncIterator[Site]:
    async with serve_site() as site:
        site.pages["/map.xml"] = Answer(make_urlset(f"{site.base}/page"))
        site.pages["/private/map.xml"] = Answer(make_urlset(f"{site.base}/private/page"))
        yield site


def fill(ours: Site, *moves: str) -> None:
    """Give a site an index whose children redirect, each to another address."""
    children = [f"{ours.base}/c{number}.xml" for number in range(len(moves))]
    ours.pages["/index.xml"] = Answer(make_index(*children))
    ours.pages["/robots.txt"] = Answer(f"Sitemap: {ours.base}/index.xml\n".encode())
    ours.pages |= {f"/c{number}.xml": move(to) for number, to in enumerate(moves)}


@pytest.mark.parametrize(("hosts", "number"), [("host", 0), ("site", 0), ("any", 1)])
async def test_children_lead_no_further_than_hosts(
    hosts: str, number: int, ours: Site, other: Site
) -> None:
    """A child that redirects to another site is fetched where a child there would be."""
    fill(ours, f"{elsewhere(other)}/map.xml")
    read = await read_site(ours.base, hosts=hosts, options=allow(other))
    assert len(read.locs) == number
    assert other.times["/map.xml"] == number
    child = read.document("/c0.xml")
    if not number:
        assert (child.status, child.reason) == ("skipped", "cross-host-child")
        assert read.codes == {"cross-host-child"}
        assert not read.report.complete


async def test_a_target_that_its_own_robots_lists_is_proven(ours: Site, other: Site) -> None:
    """The proof of a cross-submit holds for the end of a redirect as for a child."""
    there = f"{elsewhere(other)}/map.xml"
    fill(ours, there)
    other.pages["/robots.txt"] = Answer(f"Sitemap: {there}\n".encode())
    read = await read_site(ours.base, options=allow(other))
    assert len(read.locs) == 1


@pytest.mark.parametrize("respect", [True, False])
async def test_children_lead_to_no_disallowed_path(respect: bool, ours: Site) -> None:
    """Not on their own host either, and not by way of a path that is allowed."""
    fill(ours, "/private/map.xml", "/hop.xml")
    ours.pages["/robots.txt"] = Answer(ours.pages["/robots.txt"].body + DISALLOW.body)  # type: ignore[union-attr]
    ours.pages["/hop.xml"] = move("/private/more.xml")
    ours.pages["/private/map.xml"] = Answer(make_urlset(f"{ours.base}/1"))
    ours.pages["/private/more.xml"] = Answer(make_urlset(f"{ours.base}/2"))
    read = await read_site(ours.base, respect_robots=respect)
    asked = [path for path in ours.requested if path.startswith("/private")]
    if respect:
        assert (asked, read.locs) == ([], [])
        for child in ("/c0.xml", "/c1.xml"):
            assert read.document(child).reason == "robots-disallowed"
        assert {issue.url for issue in read.report.issues} == {
            f"{ours.base}/private/map.xml",
            f"{ours.base}/private/more.xml",
        }
        assert read.report.complete  # the site asked for it
    else:
        assert (len(asked), len(read.locs)) == (2, 2)


async def test_a_stranger_is_asked_before_a_site_sends_us_there(ours: Site, other: Site) -> None:
    """What robots.txt names may lead to another site, by the rules and the pace of that one."""
    there = elsewhere(other)
    ours.pages["/robots.txt"] = Answer(
        f"Sitemap: {ours.base}/a.xml\nSitemap: {ours.base}/b.xml\n".encode()
    )
    ours.pages |= {"/a.xml": move(f"{there}/map.xml"), "/b.xml": move(f"{there}/private/map.xml")}
    other.pages["/robots.txt"] = Answer(DISALLOW.body + b"Crawl-delay: 0.01\n")
    delays = []

    class Recorder(HttpFetcher):
        def set_crawl_delay(self, host_url: str, seconds: float) -> None:
            delays.append((host_url.rpartition("/")[0], seconds))

    async with Recorder(allow(other)) as fetcher:
        read = await read_site(ours.base, fetcher=fetcher)
    assert read.locs == [f"{other.base}/page"]
    assert read.document("/b.xml").reason == "robots-disallowed"
    assert sorted(other.requested) == ["/map.xml", "/robots.txt"]
    assert other.requested[0] == "/robots.txt"
    assert [seconds for _, seconds in delays] == [0.01]
    assert delays[0][0].startswith(there)


async def test_the_callers_word_counts_on_the_origin_that_it_names(ours: Site, other: Site) -> None:
    """A given sitemap may lead to any path of its origin, but not of another one."""
    ours.pages |= {
        "/robots.txt": DISALLOW,
        "/a.xml": move("/private/map.xml"),
        "/b.xml": move(f"{elsewhere(other)}/private/map.xml"),
        "/private/map.xml": Answer(make_urlset(f"{ours.base}/1")),
    }
    other.pages["/robots.txt"] = DISALLOW
    given = [f"{ours.base}/a.xml", f"{ours.base}/b.xml"]
    read = await read_site(None, sitemaps=given, options=allow(other))
    assert read.locs == [f"{ours.base}/1"]
    assert read.document("/b.xml").reason == "robots-disallowed"
    assert "/robots.txt" not in ours.requested
    assert other.requested == ["/robots.txt"]


async def test_a_start_page_leads_to_no_disallowed_place(ours: Site, other: Site) -> None:
    """The page that a start page redirects to is not requested against its robots.txt."""
    ours.pages["/"] = move(f"{elsewhere(other)}/private/home")
    other.pages["/robots.txt"] = DISALLOW
    read = await read_site(ours.base, options=allow(other))
    assert other.requested == ["/robots.txt"]
    assert read.codes == {"robots-disallowed", "no-sitemap"}
    assert [
        (page.status, page.reason) for page in read.report.documents if page.role == "page"
    ] == [("skipped", "robots-disallowed")]


async def test_a_robots_txt_may_redirect_anywhere(ours: Site, other: Site) -> None:
    """RFC 9309, section 2.3.1.2: also to the robots.txt that a redirect of it has to ask for."""
    there = elsewhere(other)
    ours.pages |= {"/robots.txt": move(f"{there}/robots.txt"), "/sitemap.xml": move(f"{there}/x")}
    other.pages["/robots.txt"] = move(f"{there}/private/robots")
    other.pages["/private/robots"] = DISALLOW
    other.pages["/x"] = Answer(make_urlset(f"{there}/page"))
    read = await read_site(ours.base, options=allow(other))
    assert read.locs == [f"{there}/page"]


async def test_a_discovery_asks_as_well(ours: Site, other: Site) -> None:
    """`discover` follows no redirect that a walk would not follow."""
    ours.pages["/sitemap.xml"] = move(f"{elsewhere(other)}/private/map.xml")
    other.pages["/robots.txt"] = DISALLOW
    found = await discover(ours.base, options=allow(other), probe="few")
    assert found.sitemaps == ()
    assert "/private/map.xml" not in other.requested


async def test_a_fetcher_with_another_client_asks_as_well(ours: Site) -> None:
    """HttpxFetcher requests nothing that HttpFetcher would not."""
    httpx = pytest.importorskip("httpx", reason="no httpx: pip install .[httpx]")
    from sitemapreader.fetch.httpx import HttpxFetcher  # noqa: PLC0415 (it needs the extra)

    fill(ours, "/private/map.xml")
    ours.pages["/robots.txt"] = Answer(ours.pages["/robots.txt"].body + DISALLOW.body)  # type: ignore[union-attr]
    async with httpx.AsyncClient() as client:
        read = await read_site(ours.base, fetcher=HttpxFetcher(client))
    assert read.document("/c0.xml").reason == "robots-disallowed"
    assert "/private/map.xml" not in ours.requested


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("https://other.net/c.xml", "cross-host-child"),
        ("https://example.org/private/c.xml", "robots-disallowed"),
    ],
)
async def test_what_a_callers_fetcher_followed_is_not_read(to: str, reason: str) -> None:
    """A fetcher that asks nobody has made the request; its document is left alone."""
    top, child = "https://example.org/top.xml", "https://example.org/c.xml"
    pages: Pages = {
        "https://example.org/robots.txt": b"User-agent: *\nDisallow: /private/",
        top: index(child),
        child: moved(to, urlset("https://example.org/page")),
    }
    walked = await walk_all(pages, None, sitemaps=[top])
    assert walked.locs == []
    assert walked.outcome(child) == ("skipped", reason)
