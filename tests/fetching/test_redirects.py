"""Redirects: followed, refused by their form, or by a robots.txt or host."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from sitemapreader import Search, discover
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions
from sitemapreader.fetch.http import HttpFetcher
from sitemapreader.fetch.urls import RedirectChain, parse_request_url
from tests.support.faults import DOCUMENT, REDIRECT_BODY_BYTES, FaultServer
from tests.support.serving import Answer, Site, serve_site
from tests.support.walking import index, moved, read_site, urlset, walk_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tests.support.walking import Pages

SECRETS = {
    "Authorization": "Bearer x",
    "Cookie": "a=b",
    "X-Api-Key": "x",
    "Referer": "http://intranet/",
    "From": "me@site.example",
}
OPEN_TO_ALL = {"Accept-Language": "de", "User-Agent": "me/1"}


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def stranger() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


async def fetch(
    fetcher: HttpFetcher, url: str, headers: Mapping[str, str] | None = None
) -> tuple[bytes, str, list[str]]:
    """Return body, final URL, and the codes of the response's issues."""
    async with fetcher.open(url, headers=headers) as response:
        body = b"".join([piece async for piece in response.chunks()])
        return body, response.url, [issue.code for issue in response.issues]


def sent(server: FaultServer, number: int = -1) -> dict[str, str]:
    headers = dict(server.requests[number].headers)
    del headers["host"]
    return headers


def make_trail(url: str, **options: object) -> RedirectChain:
    return RedirectChain(parse_request_url(url), FetchOptions(**options))  # type: ignore[arg-type]


async def test_the_body_of_a_redirect_is_not_read(server: FaultServer) -> None:
    """An endless body costs what fits into the buffers, and not more."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        body, _, _ = await fetch(fetcher, server.url("redirect-with-endless-body"))
    assert body == DOCUMENT
    assert server.sent_bytes < REDIRECT_BODY_BYTES / 4


async def test_headers_of_the_caller_stay_at_home(
    server: FaultServer, stranger: FaultServer
) -> None:
    """Only User-Agent, Accept and validators cross origins; nothing more comes back again."""
    options = FetchOptions(headers=SECRETS | OPEN_TO_ALL, allow_ports=(stranger.port,))
    async with HttpFetcher(options) as fetcher:
        fetcher.trust(server.base)
        back = stranger.url(f"to?url={quote(server.url('ok'))}")
        url = server.url(f"to?url={quote(back, safe='')}")
        await fetch(fetcher, url, {"X-Own": "x", "If-None-Match": '"1"'})
    first, came_back = sent(server, 0), sent(server, 1)
    assert (
        first.items()
        >= {name.lower(): value for name, value in SECRETS.items()}.items()
    )
    assert first["x-own"] == "x"
    allowed = {
        "user-agent",
        "accept",
        "accept-language",
        "accept-encoding",
        "if-none-match",
    }
    assert set(sent(stranger)) == allowed
    assert set(came_back) == allowed
    assert came_back["user-agent"] == "me/1"


async def test_headers_of_the_caller_are_for_the_origins_it_named(
    server: FaultServer, stranger: FaultServer
) -> None:
    """A child on another origin than the user's gets none of them, even if it is opened itself."""
    options = FetchOptions(headers=SECRETS, allow_ports=(stranger.port,))
    async with HttpFetcher(options) as fetcher:
        fetcher.trust(server.base)
        await fetch(fetcher, server.url("hops/2"))
        await fetch(fetcher, stranger.url("ok"))
    assert [request.headers.get("x-api-key") for request in server.requests] == [
        "x"
    ] * 3
    assert set(sent(stranger)) == {"user-agent", "accept", "accept-encoding"}


async def test_userinfo_that_the_user_gave_is_used_at_its_origin(
    server: FaultServer, stranger: FaultServer
) -> None:
    """It becomes Basic authentication for all of that origin, and is no part of any URL."""
    options = FetchOptions(allow_ports=(stranger.port,))
    async with HttpFetcher(options) as fetcher:
        named = server.url("ok").replace("//", "//me:p%C3%A4ss@")
        fetcher.trust(named)
        assert (await fetch(fetcher, named))[1:] == (server.url("ok"), [])
        await fetch(fetcher, server.url(f"to?url={quote(stranger.url('ok'))}"))
    expected = "Basic bWU6cMOkc3M="
    assert [request.headers["authorization"] for request in server.requests] == [
        expected
    ] * 2
    assert "authorization" not in sent(stranger)


async def test_userinfo_from_elsewhere_is_removed_with_an_issue(
    server: FaultServer,
) -> None:
    """Credentials in a child's URL or in a redirect are not sent; an Issue says so."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        child = server.url("ok").replace("//", "//me:pass@")
        _, url, issues = await fetch(fetcher, child)
        assert (url, issues) == (server.url("ok"), [IssueCode.USERINFO_REMOVED])
        _, url, issues = await fetch(fetcher, server.url(f"to?url={quote(child)}"))
        assert (url, issues) == (server.url("ok"), [IssueCode.USERINFO_REMOVED])
    assert all("authorization" not in request.headers for request in server.requests)


def test_as_many_redirects_as_are_allowed() -> None:
    """Exactly `redirects` are followed."""
    chain = make_trail("http://site.example/0", max_redirects=3)
    for number in range(1, 4):
        chain.follow(f"/{number}")
    with pytest.raises(FetchError) as caught:
        chain.follow("/4")
    assert caught.value.code == IssueCode.TOO_MANY_REDIRECTS
    assert caught.value.url == "http://site.example/3"


def test_https_stays_https() -> None:
    """A redirect from https to http is refused, unless that is allowed; the other way is fine."""
    with pytest.raises(FetchError) as caught:
        make_trail("https://site.example/").follow("http://site.example/")
    assert caught.value.code == IssueCode.DOWNGRADE
    chain = make_trail("https://site.example/", allow_downgrade=True)
    chain.follow("http://site.example/")
    assert str(chain.requested) == "http://site.example/"
    chain = make_trail("http://site.example/")
    chain.follow("https://site.example/")
    assert str(chain.requested) == "https://site.example/"
    assert not chain.same_origin


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/x", "http://site.example/x"),
        ("x", "http://site.example/a/x"),
        ("../x?y#z", "http://site.example/x?y"),
        ("//other.example/x", "http://other.example/x"),
        ("  /x\t", "http://site.example/x"),
        ("?page=2", "http://site.example/a/b?page=2"),
        ("HTTP://OTHER.example/x", "http://other.example/x"),
        ("http://b\xfccher.example/", "http://xn--bcher-kva.example/"),
        ("/caf\xe9", "http://site.example/caf%C3%A9"),
        ("site.example/x", "http://site.example/x"),
        ("www.site.example/x", "http://www.site.example/x"),
        ("\ufeffhttp://other.example/x\u200b", "http://other.example/x"),
        ("/a, b", "http://site.example/a,%20b"),
        ("/same\n/same", "http://site.example/same"),
    ],
)
def test_locations_are_resolved(location: str, target: str) -> None:
    """Relative references, other hosts, international names, and no fragments."""
    chain = make_trail("http://site.example/a/b")
    chain.follow(location)
    assert str(chain.requested) == target
    assert chain.same_origin == target.startswith("http://site.example/")


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://site.example/",
        "javascript:alert(1)",
        "http:/x",
        "http:///x",
        "http://[::1",
        "http://site.example:99999/",
        "/a\tb",
        "/\u202e",
        "/\udcff",
        "/a\n/b",
        "http%3A%2F%2Fsite.example%2Fx",
        "http//site.example/x",
    ],
)
def test_locations_that_are_not_followed(location: str) -> None:
    """Other schemes, and what cannot be requested."""
    with pytest.raises(FetchError) as caught:
        make_trail("http://site.example/a/b").follow(location)
    assert caught.value.code == IssueCode.INVALID_URL
    assert caught.value.url == "http://site.example/a/b"
    assert caught.value.detail.startswith("redirect to ")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://site.example/", "http://SITE.example:80/x", True),
        ("http://site.example/", "https://site.example/", False),
        ("http://site.example/", "http://site.example:81/", False),
        ("http://site.example/", "http://www.site.example/", False),
    ],
)
def test_what_another_origin_is(one: str, other: str, is_same: bool) -> None:
    """Scheme, port and host make an origin (RFC 6454); there is no way back to it."""
    chain = make_trail(one, allow_downgrade=True)
    chain.follow(other)
    assert chain.same_origin is is_same
    chain.follow("http://site.example/again")
    assert chain.same_origin is is_same


DISALLOW = b"User-agent: *\nDisallow: /private/\n"


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
        there = elsewhere(site)
        site.pages = {
            f"/{path}.xml": Answer(urlset(f"{there}/{path}"))
            for path in ("map", "proven", "private/map")
        }
        rules = DISALLOW + f"Crawl-delay: 0.01\nSitemap: {there}/proven.xml\n".encode()
        site.pages["/robots.txt"] = Answer(rules)
        yield site


def fill(site: Site, *moves: str) -> None:
    """Give a site an index whose children redirect, each to another address."""
    children = [f"{site.base}/c{number}.xml" for number in range(len(moves))]
    site.pages["/index.xml"] = Answer(index(*children))
    site.pages["/robots.txt"] = Answer(
        DISALLOW + f"Sitemap: {site.base}/index.xml\n".encode()
    )
    site.pages |= {f"/c{number}.xml": move(to) for number, to in enumerate(moves)}
    site.pages |= {"/hop.xml": move("/private/b.xml")}
    site.pages |= {
        f"/private/{x}.xml": Answer(urlset(f"{site.base}/{x}")) for x in "ab"
    }


@pytest.mark.parametrize("hosts", ["host", "site", "any"])
@pytest.mark.parametrize("respect", [True, False])
async def test_children_lead_no_further_than_children_would_be_read(
    hosts: str, respect: bool, ours: Site, other: Site
) -> None:
    """To another site only with leave or by its proof, to no disallowed path, by way of none."""
    there = elsewhere(other)
    fill(ours, f"{there}/map.xml", f"{there}/proven.xml", "/private/a.xml", "/hop.xml")
    read = await read_site(
        ours.base, hosts=hosts, respect_robots=respect, options=allow(other)
    )
    expected = {
        "/c0.xml": "" if hosts == "any" else "cross-host-child",
        "/c1.xml": "",
        "/c2.xml": "robots-disallowed" if respect else "",
        "/c3.xml": "robots-disallowed" if respect else "",
    }
    assert {path: read.document(path).reason for path in expected} == expected
    assert other.times["/map.xml"] == (hosts == "any")
    assert ours.times["/private/a.xml"] == ours.times["/private/b.xml"] == (not respect)
    assert len(set(read.locs)) == list(expected.values()).count("")
    # what robots.txt forbids is what the site wants
    assert read.report.complete is (hosts == "any")


async def test_a_stranger_is_asked_before_a_site_sends_us_there(
    ours: Site, other: Site
) -> None:
    """What robots.txt names may lead to another site, by the rules and the pace of that one."""
    there = elsewhere(other)
    names = "".join(f"Sitemap: {ours.base}/{name}.xml\n" for name in "ab")
    ours.pages["/robots.txt"] = Answer(names.encode())
    ours.pages |= {
        "/a.xml": move(f"{there}/map.xml"),
        "/b.xml": move(f"{there}/private/map.xml"),
    }
    async with HttpFetcher(allow(other)) as fetcher:
        read = await read_site(ours.base, fetcher=fetcher)
        assert fetcher.hosts[there.removeprefix("http://")].delay == 0.01
    assert read.locs == [f"{there}/map"]
    assert read.document("/b.xml").reason == "robots-disallowed"
    assert other.requested == ["/robots.txt", "/map.xml"]


async def test_a_search_leads_to_no_disallowed_place(ours: Site, other: Site) -> None:
    """Neither by the start page nor by a guessed path; in a discovery as in a walk."""
    there = f"{elsewhere(other)}/private"
    ours.pages |= {"/": move(f"{there}/home"), "/sitemap.xml": move(f"{there}/map.xml")}
    read = await read_site(ours.base, options=allow(other))
    assert {*read.codes} >= {"robots-disallowed", "no-sitemap"}
    found = await discover(ours.base, options=allow(other), search=Search(probe="few"))
    assert found.sitemaps == ()
    assert set(other.requested) == {"/robots.txt"}


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("https://other.net/c.xml", "cross-host-child"),
        ("https://example.org/private/c.xml", "robots-disallowed"),
    ],
)
async def test_what_a_callers_fetcher_followed_is_not_read(
    to: str, reason: str
) -> None:
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


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_every_redirect_status_is_followed(
    status: int, server: FaultServer
) -> None:
    """All five lead on, and the response tells where it came from."""
    async with HttpFetcher() as fetcher:
        fetcher.trust(server.base)
        url = server.url(f"to?status={status}&url=/ok%23part")
        assert await fetch(fetcher, url) == (DOCUMENT, server.url("ok"), [])


async def test_the_callers_word_counts_on_the_origin_that_it_names(
    ours: Site, other: Site
) -> None:
    """A given sitemap may lead to any path of its origin, but not of another one."""
    fill(ours)
    ours.pages |= {
        "/a.xml": move("/private/a.xml"),
        "/b.xml": move(f"{elsewhere(other)}/private/map.xml"),
    }
    given = [f"{ours.base}/a.xml", f"{ours.base}/b.xml"]
    read = await read_site(None, sitemaps=given, options=allow(other))
    assert len(read.locs) == 1
    assert read.document("/b.xml").reason == "robots-disallowed"
    assert "/robots.txt" not in ours.requested
    assert other.requested == ["/robots.txt"]
