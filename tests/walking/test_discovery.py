"""Discovery: what a site names and what is guessed, with await and without."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import package
import pytest
from serving import Page, serve
from walking import ROBOTS, SITE, Pages, Walked, fault, index, moved, status, urlset, walk_all

from sitemapreader import discover, discover_sync
from sitemapreader.discovery import WELL_KNOWN_PATHS, Probe
from sitemapreader.errors import FetchError
from sitemapreader.fetch import FolderFetcher
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions, Limits
from sitemapreader.outcomes import Role

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from sitemapreader.walker import Discovery

PAGE = b"<html><link rel=sitemap href=/hinted.xml></html>"
HTML = b"<!doctype html><html><title>Not found</title></html>"
LIST = urlset("https://example.org/page")
PROBES = [SITE + path for path in WELL_KNOWN_PATHS]


@attrs.frozen
class Found:
    discovery: Discovery
    requested: list[str]

    @property
    def urls(self) -> list[str]:
        return [entry.loc for entry in self.discovery.sitemaps]

    @property
    def codes(self) -> list[str]:
        return [str(issue.code) for issue in self.discovery.issues]

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        return {
            document.url: (str(document.status), document.reason)
            for document in self.discovery.documents
        }


async def search(pages: Pages, site: str = SITE, **arguments: Any) -> Found:
    fetcher = MemoryFetcher(pages)
    return Found(await discover(site, fetcher=fetcher, **arguments), fetcher.requested)


async def test_robots_comes_first_and_is_enough() -> None:
    """What robots.txt lists is taken, one of it looked at, and nothing else is asked for."""
    pages: Pages = {
        ROBOTS: b"Sitemap: https://example.org/a.xml\nSitemap: https://cdn.net/b.xml",
        "https://example.org/a.xml": LIST,
        "https://cdn.net/b.xml": LIST,
    }
    found = await search(pages)
    assert found.urls == ["https://example.org/a.xml", "https://cdn.net/b.xml"]
    assert found.requested == [ROBOTS, "https://example.org/a.xml"]
    assert found.codes == []
    assert found.outcomes == {
        ROBOTS: ("complete", ""),
        "https://example.org/a.xml": ("skipped", "not-read"),
    }
    assert found.discovery.robots.lists("https://cdn.net/b.xml")


async def test_the_well_known_paths_and_their_order() -> None:
    """Without robots.txt the well-known paths are tried by GET in their order, all of them."""
    found = await search({})
    assert found.requested == [ROBOTS, *PROBES, SITE]
    assert found.codes == ["http-status", "no-sitemap"]
    assert [reason for _, reason in found.outcomes.values()] == ["http-status"] * 17


async def test_probing_stops_at_the_first_sitemap() -> None:
    """The first path that holds a sitemap ends the search; those after it are not asked for."""
    pages: Pages = {PROBES[1]: index("https://example.org/a.xml"), PROBES[2]: LIST, SITE: PAGE}
    found = await search(pages)
    assert found.urls == [PROBES[1]]
    assert found.requested == [ROBOTS, *PROBES[:2]]
    assert found.codes == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (HTML, "html-not-sitemap"),
        (b'{"a": 1}', "not-a-sitemap"),
        (b"%PDF-1.7 ...", "not-a-sitemap"),
        (b"", "empty"),
        (status(404), "http-status"),
        (status(403), "http-status"),
        (status(410), "http-status"),
    ],
    ids=["html", "json", "pdf", "empty", "404", "403", "410"],
)
async def test_what_is_no_sitemap_is_no_error(body: bytes | Exception, reason: str) -> None:
    """A probed path that holds something else, or nothing, is skipped without an Issue."""
    found = await search({PROBES[0]: body, PROBES[1]: LIST})
    assert found.outcomes[PROBES[0]] == ("skipped", reason)
    assert found.urls == [PROBES[1]]
    assert found.codes == []


@pytest.mark.parametrize(
    "error",
    [status(500), status(429), fault(IssueCode.TIMEOUT), fault(IssueCode.DOWNGRADE)],
    ids=["500", "429", "timeout", "downgrade"],
)
async def test_what_may_be_a_sitemap_is_an_error(error: Exception) -> None:
    """A probed path that could not be judged has failed, with its Issue; the search goes on."""
    found = await search({PROBES[0]: error, PROBES[1]: LIST})
    assert found.outcomes[PROBES[0]][0] == "failed"
    assert found.codes == [found.outcomes[PROBES[0]][1]]
    assert found.urls == [PROBES[1]]


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(LIST),
        b"https://example.org/a\nhttps://example.org/b\n",
        b"<rss version='2.0'><channel><item><link>https://example.org/a</link></item></channel></rss>",
        urlset(),
        b"\xef\xbb\xbf\n" + LIST,
    ],
    ids=["gzip", "text", "rss", "empty urlset", "leading bytes"],
)
async def test_the_content_decides(body: bytes) -> None:
    """Every format that is read is a sitemap at a well-known path, whatever the path is called."""
    assert (await search({PROBES[0]: body})).urls == [PROBES[0]]


async def test_when_nothing_in_robots_answers() -> None:
    """If all that robots.txt lists is dead, the paths are tried; the dead ones stay listed."""
    pages: Pages = {ROBOTS: b"Sitemap: /dead.xml\nSitemap: /page.html", PROBES[3]: LIST}
    pages["https://example.org/page.html"] = HTML
    found = await search(pages)
    assert found.urls == [
        "https://example.org/dead.xml",
        "https://example.org/page.html",
        PROBES[3],
    ]
    assert found.outcomes["https://example.org/dead.xml"] == ("failed", "http-status")
    assert found.outcomes["https://example.org/page.html"] == ("failed", "html-not-sitemap")


async def test_a_site_below_a_path() -> None:
    """A URL with a path may be a sitemap; the site is searched below it, and then at the root."""
    page = "https://example.org/blog/?x=1"
    found = await search({}, f"{page}#top")
    below = ["https://example.org/blog/" + path for path in WELL_KNOWN_PATHS]
    assert found.requested == [page, ROBOTS, *below, *PROBES, page]


@pytest.mark.parametrize(
    ("site", "first"),
    [
        ("https://example.org", "https://example.org/sitemap.xml"),
        ("https://example.org/blog", "https://example.org/blog/sitemap.xml"),
        ("https://example.org/blog/index.html", "https://example.org/blog/sitemap.xml"),
        ("https://example.org/b%C3%A9/c/", "https://example.org/b%C3%A9/c/sitemap.xml"),
        ("https://example.org:8443/", "https://example.org:8443/sitemap.xml"),
    ],
)
async def test_the_first_probe(site: str, first: str) -> None:
    """The folder of a site is the one its URL means, with or without a final slash."""
    requested = (await search({}, site)).requested
    robots = [url for url in requested if url.endswith("/robots.txt")]
    assert requested[requested.index(robots[0]) + 1] == first


async def test_extra_paths() -> None:
    """The caller's paths are tried before the well-known ones, below the path and at the root."""
    found = await search({}, "https://example.org/blog/", extra_paths=["/all.xml", "maps/x.xml"])
    assert found.requested[2:4] == [
        "https://example.org/blog/all.xml",
        "https://example.org/blog/maps/x.xml",
    ]
    assert found.requested[19:21] == [
        "https://example.org/all.xml",
        "https://example.org/maps/x.xml",
    ]


async def test_probe_never() -> None:
    """With probe="never" no path is tried; the start page is still asked."""
    pages: Pages = {PROBES[0]: LIST, SITE: PAGE, "https://example.org/hinted.xml": LIST}
    found = await search(pages, probe="never")
    assert found.requested == [ROBOTS, SITE, "https://example.org/hinted.xml"]
    assert found.urls == ["https://example.org/hinted.xml"]


async def test_probe_always() -> None:
    """With probe="always" the paths are tried, and the start page asked, in any case."""
    pages: Pages = {ROBOTS: b"Sitemap: /listed.xml", "https://example.org/listed.xml": LIST}
    pages |= {PROBES[0]: LIST, SITE: PAGE, "https://example.org/hinted.xml": LIST}
    found = await search(pages, probe="always")
    assert found.urls == [
        "https://example.org/listed.xml",
        PROBES[0],
        "https://example.org/hinted.xml",
    ]


async def test_the_start_page() -> None:
    """If nothing else answers, the start page's link elements and Link header are followed."""
    header = '</headed.xml>; rel="sitemap", </headed.xml>; rel="sitemap"'
    pages: Pages = {
        SITE: StoredResponse(SITE, gzip.compress(PAGE), headers={"link": header}),
        "https://example.org/hinted.xml": LIST,
    }
    found = await search(pages)
    assert [(entry.loc, str(entry.via)) for entry in found.discovery.sitemaps] == [
        ("https://example.org/headed.xml", "header"),
        ("https://example.org/hinted.xml", "html"),
    ]
    assert found.outcomes["https://example.org/headed.xml"] == ("failed", "http-status")
    (page,) = [each for each in found.discovery.documents if each.role is Role.PAGE]
    assert (str(page.status), page.children) == ("complete", 2)


async def test_feeds() -> None:
    """With feeds=True the start page's feeds are found besides the sitemaps."""
    rss = b"<link rel=alternate type=application/rss+xml href=/rss>"
    pages: Pages = {ROBOTS: b"Sitemap: /a.xml", "https://example.org/a.xml": LIST, SITE: rss}
    assert (await search(pages)).urls == ["https://example.org/a.xml"]
    found = await search(pages, feeds=True)
    assert found.urls == ["https://example.org/a.xml", "https://example.org/rss"]


async def test_hints_on_another_site_need_proof() -> None:
    """A sitemap elsewhere that a page links to is looked at only if robots.txt there lists it."""
    page = b"<link rel=sitemap href=https://cdn.net/a.xml>"
    pages: Pages = {SITE: page, "https://cdn.net/a.xml": LIST}
    refused = await search(pages, probe="never")
    assert refused.codes == ["cross-host-child", "no-sitemap"]
    pages["https://cdn.net/robots.txt"] = b"Sitemap: https://cdn.net/a.xml"
    assert (await search(pages, probe="never")).codes == []


# -- robots.txt and its answers

CLASSES: list[tuple[str, Any, bool, list[str]]] = [
    ("404", status(404), True, []),
    ("401", status(401), True, []),
    ("403", status(403), True, []),
    ("410", status(410), True, []),
    ("302 without an address", status(302), True, []),
    ("429", status(429), False, ["robots-unreachable"]),
    ("500", status(500), False, ["robots-unreachable"]),
    ("503", status(503), False, ["robots-unreachable"]),
    ("407", status(407), False, ["robots-unreachable"]),
    ("timeout", fault(IssueCode.TIMEOUT), False, ["robots-unreachable"]),
    ("dns", fault(IssueCode.DNS), False, ["robots-unreachable"]),
    ("blocked", fault(IssueCode.BLOCKED_ADDRESS), False, ["robots-unreachable"]),
    ("too many redirects", fault(IssueCode.TOO_MANY_REDIRECTS), True, ["too-many-redirects"]),
    ("redirect loop", fault(IssueCode.REDIRECT_LOOP), True, ["redirect-loop"]),
    ("html", HTML, True, ["robots-not-text"]),
    ("empty", b"", True, []),
    ("gzip", gzip.compress(b"User-agent: *\nDisallow: /x"), True, []),
]


@pytest.mark.parametrize(
    ("answer", "probed", "codes"), [row[1:] for row in CLASSES], ids=[row[0] for row in CLASSES]
)
async def test_classes_of_answers(answer: Any, probed: bool, codes: list[str]) -> None:
    """RFC 9309: no file means no rules; a file that cannot be reached forbids all probing."""
    found = await search({ROBOTS: answer, PROBES[0]: LIST, SITE: b""})
    assert (PROBES[0] in found.requested) is probed
    why = answer.code if found.requested == [ROBOTS] else "no-sitemap"
    assert found.codes == (codes if probed else [*codes, why])


@pytest.mark.parametrize("code", [IssueCode.DNS, IssueCode.CONNECT, IssueCode.BLOCKED_ADDRESS])
async def test_a_host_that_is_silent_is_left_alone(code: IssueCode) -> None:
    """Where not even robots.txt is answered, nothing else is asked for, and the end says why."""
    found = await search({ROBOTS: fault(code)})
    assert found.requested == [ROBOTS]
    assert found.outcomes == {ROBOTS: ("failed", str(code))}
    last = found.discovery.issues[-1]
    assert (last.code, last.sitemap) == (code, ROBOTS)
    assert last.message.endswith(code.advice)
    assert found.discovery.documents[0].issues[-1] is last


async def test_a_host_in_need_is_asked_for_its_page() -> None:
    """Where robots.txt is answered with a fault of the server, the start page is asked for."""
    assert (await search({ROBOTS: status(503)})).requested == [ROBOTS, SITE]


LEADS_NOWHERE = [
    IssueCode.REDIRECT_LOOP,
    IssueCode.TOO_MANY_REDIRECTS,
    IssueCode.DOWNGRADE,
]


@pytest.mark.parametrize("code", LEADS_NOWHERE)
async def test_a_robots_txt_that_redirects_nowhere_is_no_silence(code: IssueCode) -> None:
    """The host has answered: its paths are tried and its start page is read, as without a file."""
    found = await search({ROBOTS: fault(code), SITE: PAGE, f"{SITE}hinted.xml": LIST})
    assert found.requested == [ROBOTS, *PROBES, SITE, f"{SITE}hinted.xml"]
    assert found.urls == [f"{SITE}hinted.xml"]
    assert found.codes == [str(code)]


@pytest.mark.parametrize("code", [IssueCode.DNS, IssueCode.CONNECT, IssueCode.BLOCKED_ADDRESS])
async def test_a_robots_txt_that_redirects_to_a_host_out_of_reach_is_no_silence(
    code: IssueCode,
) -> None:
    """The host has answered: nothing is guessed, for its rules are unknown; its page is read."""
    error = FetchError(code, "https://elsewhere.example/robots.txt")
    found = await search({ROBOTS: error, SITE: PAGE, f"{SITE}hinted.xml": LIST})
    assert found.requested == [ROBOTS, SITE, f"{SITE}hinted.xml"]
    assert found.urls == [f"{SITE}hinted.xml"]
    assert found.codes == ["robots-unreachable"]


@pytest.mark.parametrize("probe", ["auto", "never"])
async def test_no_sitemap_is_said_after_a_loop(probe: Probe) -> None:
    """Where there is none, the end says so, and not that the host gave no answer."""
    found = await search({ROBOTS: fault(IssueCode.REDIRECT_LOOP), SITE: HTML}, probe=probe)
    assert found.codes == ["redirect-loop", "no-sitemap"]
    assert found.requested[-1] == SITE


async def test_a_start_page_beside_a_robots_txt_that_redirects_to_itself() -> None:
    """The same with a server on loopback, which redirects its robots.txt in a circle."""

    def pages(base: str) -> dict[str, Page]:
        sitemap = urlset(f"{base}/page")
        return {"/robots.txt": "/r", "/r": "/robots.txt", "/": PAGE, "/hinted.xml": sitemap}

    async with serve(pages) as served:
        found = await discover(served.base, probe="never")
    assert served.requested == ["/robots.txt", "/r", "/", "/hinted.xml"]
    assert [entry.loc for entry in found.sitemaps] == [f"{served.base}/hinted.xml"]


# -- a login

BLOG = "https://example.org/blog/"
BELOW = [BLOG + path for path in WELL_KNOWN_PATHS]


def locked(*urls: str) -> Pages:
    return {url: status(401, url) for url in urls}


async def test_a_site_behind_a_login() -> None:
    """Two demands for a login and no other answer end the search, with one Issue that says so."""
    found = await search(locked(ROBOTS, *PROBES, SITE))
    assert found.requested == [ROBOTS, PROBES[0]]
    assert found.codes == ["login-required"]
    found = await search(locked(*PROBES, SITE) | {ROBOTS: b"User-agent: *\nDisallow: /x"})
    assert found.requested == [ROBOTS, *PROBES[:2]]
    assert found.codes == ["login-required"]


async def test_sitemaps_behind_a_login() -> None:
    """A listed sitemap that wants a login counts as a demand, and has its own Issue."""
    listed = "https://example.org/a.xml"
    pages = locked(listed, *PROBES, SITE) | {ROBOTS: f"Sitemap: {listed}".encode()}
    found = await search(pages)
    assert found.requested == [ROBOTS, listed, PROBES[0]]
    assert found.codes == ["http-status", "login-required"]


async def test_a_proxy_that_wants_a_login() -> None:
    """What a proxy says is no answer of the site: nothing else is asked for."""
    error = FetchError(IssueCode.LOGIN_REQUIRED, ROBOTS, "407", http_status=407)
    found = await search({ROBOTS: error})
    assert found.requested == [ROBOTS]
    assert found.codes == ["robots-unreachable", "login-required"]
    found = await search(dict.fromkeys([ROBOTS, *PROBES], error), respect_robots=False)
    assert found.requested == [ROBOTS, PROBES[0]]


async def test_a_folder_behind_a_login() -> None:
    """A folder that is locked is left for the root, which may be open, and is searched whole."""
    found = await search(locked(*BELOW) | {PROBES[3]: LIST}, BLOG)
    assert found.requested == [BLOG, ROBOTS, *BELOW[:2], *PROBES[:4]]
    assert (found.urls, found.codes) == ([PROBES[3]], [])
    found = await search(locked(ROBOTS, *BELOW, *PROBES, BLOG), BLOG)
    assert found.requested == [BLOG]
    assert found.codes == ["http-status"]


@pytest.mark.parametrize(
    "pages",
    [
        locked(ROBOTS) | {PROBES[0]: LIST},
        locked(PROBES[0]) | {PROBES[5]: LIST},
        locked(*PROBES[1:]) | {SITE: PAGE, "https://example.org/hinted.xml": LIST},
        locked(ROBOTS, *PROBES[2:10]) | {PROBES[14]: LIST},
    ],
    ids=["robots.txt", "the first path", "all paths but one", "a mixture"],
)
async def test_a_path_behind_a_login(pages: Pages) -> None:
    """A site that is locked in part is searched to its end, and what is open in it is found."""
    assert (await search(pages)).codes == []


async def test_respect_robots_false() -> None:
    """The caller may have probed what robots.txt forbids, or what it would if it could."""
    rules = b"User-agent: *\nDisallow: /"
    for answer in (rules, status(503)):
        pages: Pages = {ROBOTS: answer, PROBES[0]: LIST}
        assert (await search(pages)).urls == []
        assert (await search(pages, respect_robots=False)).urls == [PROBES[0]]


async def test_a_probe_that_is_disallowed() -> None:
    """A probed path that robots.txt forbids us is skipped with an Issue, the next one is tried."""
    rules = b"User-agent: sitemapreader\nDisallow: /sitemap.xml\nUser-agent: *\nDisallow: /"
    found = await search({ROBOTS: rules, PROBES[0]: LIST, PROBES[1]: LIST})
    assert found.urls == [PROBES[1]]
    assert found.outcomes[PROBES[0]] == ("skipped", "robots-disallowed")
    assert found.codes == ["robots-disallowed"]


async def test_the_rules_are_those_for_our_agent() -> None:
    """The User-Agent of the options is the one whose rules are kept."""
    pages: Pages = {ROBOTS: b"User-agent: spy\nDisallow: /", PROBES[0]: LIST}
    assert (await search(pages)).urls == [PROBES[0]]
    options = FetchOptions(user_agent="Mozilla/5.0 (compatible; Spy/2.0)")
    assert (await search(pages, options=options)).urls == []


async def test_what_robots_lists_is_always_allowed() -> None:
    """A sitemap that robots.txt lists is fetched though its rules forbid the path."""
    rules = b"User-agent: *\nDisallow: /\nSitemap: /a.xml"
    found = await search({ROBOTS: rules, "https://example.org/a.xml": LIST})
    assert found.outcomes["https://example.org/a.xml"] == ("skipped", "not-read")


async def test_robots_that_breaks_off() -> None:
    """Of a robots.txt that breaks off, the whole Sitemap lines count, and no path is probed."""

    class Cut(StoredResponse):
        async def chunks(self) -> Any:
            yield b"Sitemap: https://example.org/a.xml\nSitemap: https://example.org/b"
            raise fault(IssueCode.BODY_CUT)

    found = await search({ROBOTS: Cut(ROBOTS), SITE: b""})
    assert found.urls == ["https://example.org/a.xml"]
    assert found.codes == ["robots-unreachable", "http-status", "no-sitemap"]
    assert found.outcomes[ROBOTS] == ("partial", "body-cut")


async def test_a_page_that_breaks_off() -> None:
    """Of a start page that breaks off, the links that have come are followed."""

    class Cut(StoredResponse):
        async def chunks(self) -> Any:
            yield b"<link rel=sitemap href=/a.xml><link rel=sitemap hr"
            raise fault(IssueCode.BODY_CUT)

    found = await search({SITE: Cut(SITE), "https://example.org/a.xml": LIST})
    assert found.urls == ["https://example.org/a.xml"]
    assert found.codes == ["body-cut"]
    assert found.outcomes[SITE] == ("partial", "body-cut")


async def test_of_a_long_page_the_beginning_is_read() -> None:
    """A start page is read as far as its head can be, though it has no end."""
    served = 0

    class Endless(StoredResponse):
        async def chunks(self) -> Any:
            nonlocal served
            yield PAGE
            while True:
                served += 65_536
                yield b" " * 65_536

    found = await search({SITE: Endless(SITE), "https://example.org/hinted.xml": LIST})
    assert found.urls == ["https://example.org/hinted.xml"]
    assert served <= 5 * 65_536


async def test_relative_lines_follow_the_redirect() -> None:
    """A relative Sitemap line is resolved against where robots.txt came from in the end."""
    pages: Pages = {ROBOTS: moved("https://www.example.org/robots.txt", b"Sitemap: a.xml")}
    assert (await search(pages)).urls == ["https://www.example.org/a.xml"]


async def test_the_budget_ends_a_search() -> None:
    """A search keeps to the limits of a walk, and says which one ended it."""
    found = await search({}, limits=Limits(documents=3))
    assert found.requested == [ROBOTS, *PROBES[:2]]
    assert set(found.codes) == {"budget-documents", "no-sitemap"}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"site": "example.org"}, ValueError, "https://example.org/"),
        ({"site": "ftp://example.org"}, ValueError, "https://example.org/"),
        ({"site": "http://"}, ValueError, "https://example.org/"),
        ({"site": b"https://example.org"}, TypeError, "as text"),
        ({"site": None}, TypeError, "as text"),
        ({"probe": "yes"}, ValueError, "auto, few, always, deep, never"),
        ({"extra_paths": "/a.xml"}, TypeError, "write ('/a.xml',)"),
        ({"extra_paths": ["https://example.org/a.xml"]}, ValueError, "sitemaps="),
        ({"extra_paths": ["/"]}, ValueError, "/maps/all.xml"),
        ({"extra_paths": ["/a.xml"], "probe": "never"}, ValueError, "leave one of them out"),
    ],
)
async def test_misuse(arguments: Any, error: type[Exception], words: str) -> None:
    """An argument that cannot be meant raises, with what to write instead, before any request."""
    fetcher = MemoryFetcher({})
    with pytest.raises(error, match=words.replace("(", r"\(").replace(")", r"\)")):
        await discover(**{"site": SITE, "fetcher": fetcher, **arguments})
    assert fetcher.requested == []


FOLDER_SITE = "https://www.example.org/"
FOLDER = package.ROOT / "testdata" / "site"


async def test_it_works_inside_a_running_event_loop() -> None:
    """In a notebook a loop runs already; the search runs beside it, in a thread."""
    found = discover_sync(FOLDER_SITE, fetcher=FolderFetcher(FOLDER))
    awaited = await discover(FOLDER_SITE, fetcher=FolderFetcher(FOLDER))
    assert found.sitemaps == awaited.sitemaps


async def test_wrong_arguments_raise_inside_a_running_event_loop() -> None:
    """What `discover` raises comes out of the thread as it is."""
    with pytest.raises(ValueError, match="must be a full URL"):
        discover_sync("example.org")


class StuckFetcher(MemoryFetcher):
    """A web that does not answer, and whose user loses patience."""

    was_cancelled = False

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Press Ctrl-C, and wait for ever."""
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        async with super().open(url, headers=headers) as response:
            yield response


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to itself: run it on Linux or macOS")
def test_ctrl_c_inside_a_running_event_loop() -> None:
    """Ctrl-C in a notebook, whose loop leaves signals alone, cancels the search and ends it."""
    fetcher = StuckFetcher({})

    async def run_cell() -> None:
        discover_sync(FOLDER_SITE, fetcher=fetcher)

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(run_cell())
    finally:
        loop.close()
    assert fetcher.was_cancelled


STAGING = "https://staging.acme.example/"
LIVE = "https://www.acme.example"
CDN = "https://maps.cdn.example"


def pages_of(site: str, sitemap: str, *locs: str) -> Pages:
    return {f"{site}robots.txt": f"Sitemap: {sitemap}".encode(), sitemap: urlset(*locs)}


def said(walked: Walked) -> list[str | None]:
    """Return what each `other-site` says."""
    return [issue.value for issue in walked.report.issues if issue.code == "other-site"]


@pytest.mark.parametrize("sitemap", [f"{LIVE}/sitemap.xml", f"{STAGING}sitemap.xml"])
async def test_a_copy_that_names_the_original(sitemap: str) -> None:
    """Where robots.txt or the sitemap of a copy names the original's URLs, a warning says so."""
    locs = [f"{LIVE}/{number}" for number in range(78)]
    walked = await walk_all(pages_of(STAGING, sitemap, *locs), STAGING)
    assert len(walked.locs) == 78
    assert said(walked) == ["all 78 URLs are on www.acme.example"]


@pytest.mark.parametrize(
    ("site", "loc"),
    [
        ("https://acme.example/", "https://www.acme.example/1"),
        ("https://www.acme.example/", "http://acme.example/1"),
        ("https://acme.example:8443/blog/", "https://ACME.example/1"),
    ],
)
async def test_another_spelling_of_the_site(site: str, loc: str) -> None:
    """Neither `www.` nor scheme, port and case make another site."""
    robots = f"{site.removesuffix('blog/')}robots.txt"
    pages = {robots: f"Sitemap: {site}s.xml".encode(), f"{site}s.xml": urlset(loc)}
    assert said(await walk_all(pages, site)) == []


async def test_one_url_of_the_site_is_enough() -> None:
    """A site that lists others' URLs beside its own is not another site; nor are filters heeded."""
    locs = [*(f"{LIVE}/{number}" for number in range(9)), f"{STAGING}own"]
    pages = pages_of(STAGING, f"{STAGING}s.xml", *locs)
    assert said(await walk_all(pages, STAGING)) == []
    assert said(await walk_all(pages, STAGING, exclude="own")) == []


async def test_a_site_without_urls_and_sitemaps_without_a_site() -> None:
    """Without a URL, or without a site that was named, there is nothing to be said."""
    assert said(await walk_all(pages_of(STAGING, f"{STAGING}s.xml"), STAGING)) == []
    pages: Pages = {f"{STAGING}s.xml": urlset(f"{LIVE}/1")}
    assert said(await walk_all(pages, None, sitemaps=[f"{STAGING}s.xml"])) == []


def codes(walked: Walked) -> set[str]:
    return {str(issue.code) for issue in walked.report.issues}


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("how", ["child", "grandchild", "named"])
async def test_a_cross_submit_that_was_proven(how: str, *, lists: bool) -> None:
    """Entries of a site whose robots.txt lists their sitemap elsewhere are in its scope."""
    child, top = f"{CDN}/a.xml", f"{LIVE}/maps/index.xml"
    robots = f"Sitemap: {child}" if lists else "User-agent: *\nDisallow: /private"
    pages: Pages = {
        f"{LIVE}/robots.txt": robots.encode(),
        f"{CDN}/robots.txt": f"Sitemap: {child}".encode(),
        top: index(child),
        child: urlset(f"{LIVE}/1", f"{LIVE}/blog/2"),
    }
    arguments: dict[str, Any] = {"sitemaps": [top], "scope": "drop"}
    if how == "grandchild":
        pages[child] = index(f"{CDN}/b/c.xml")
        pages[f"{CDN}/b/c.xml"] = urlset(f"{LIVE}/1", f"{LIVE}/blog/2")
    walked = await walk_all(pages, None if how != "named" else f"{LIVE}/", **arguments)
    assert len(walked.locs) == (2 if lists else 0)
    assert ("out-of-scope" in codes(walked)) is not lists
