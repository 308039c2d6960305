"""Discovery: what a site names and what is guessed, with await and without."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import discover, discover_sync
from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader._walk.search import WELL_KNOWN_PATHS
from sitemapreader.fetch.local import MemoryFetcher, StoredResponse
from tests.support.grouping import grouped
from tests.support.walking import (
    ROBOTS,
    SITE,
    Pages,
    Walked,
    fault,
    index,
    status,
    urlset,
    walk_all,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sitemapreader import Discovery

PAGE = b"<html><link rel=sitemap href=/hinted.xml></html>"
HTML = b"<!doctype html><html><title>Not found</title></html>"
LIST = urlset("https://example.org/page")
PROBES = [SITE + path for path in WELL_KNOWN_PATHS]
A, HINTED, LISTED = f"{SITE}a.xml", f"{SITE}hinted.xml", f"{SITE}listed.xml"
BLOG = f"{SITE}blog/"
OWN = [
    f"{folder}{path}" for folder in (BLOG, SITE) for path in ("all.xml", "maps/x.xml")
]
BELOW = [BLOG + path for path in WELL_KNOWN_PATHS]


class Cut(StoredResponse):
    """A body that breaks off."""

    async def chunks(self) -> Any:
        yield self.body
        raise fault(IssueCode.BODY_CUT)


def locked(*urls: str) -> Pages:
    return {url: status(401, url) for url in urls}


async def search(
    pages: Mapping[str, Any], site: str = SITE, **arguments: Any
) -> tuple[Discovery, list[str]]:
    """Return what is found, and what was asked for."""
    fetcher = MemoryFetcher(pages)
    return await discover(
        site, fetcher=fetcher, **grouped(arguments)
    ), fetcher.requested


def outcomes_of(found: Discovery) -> dict[str, tuple[str, str]]:
    return {each.url: (str(each.status), each.reason) for each in found.documents}


def case(
    says: str,
    pages: Mapping[str, Any],
    *,
    asked: Sequence[str] | None = None,
    urls: Sequence[str] | None = None,
    codes: Sequence[str] | None = None,
    outcomes: Mapping[str, tuple[str, str]] | None = None,
    **arguments: Any,
) -> Any:
    """Make a row: what is proved, the site, what comes of its search, and its arguments."""
    return pytest.param(pages, arguments, (asked, urls, codes), outcomes or {}, id=says)


async def check(
    pages: Mapping[str, Any], arguments: Any, expected: Any, outcomes: Any
) -> None:
    found, requested = await search(pages, **arguments)
    codes = [str(issue.code) for issue in found.issues]
    seen = (requested, [entry.loc for entry in found.sitemaps], codes)
    for what, wanted in zip(seen, expected, strict=True):
        assert wanted is None or what == list(wanted)
    assert outcomes.items() <= outcomes_of(found).items()


TABLE = "pages, arguments, expected, outcomes"


@pytest.mark.parametrize(
    TABLE,
    [
        case(
            "what robots.txt lists is taken, one of it looked at, and nothing else is asked for",
            {ROBOTS: f"Sitemap: {A}\nSitemap: https://cdn.net/b.xml".encode(), A: LIST},
            urls=[A, "https://cdn.net/b.xml"],
            asked=[ROBOTS, A],
            codes=[],
            outcomes={ROBOTS: ("complete", ""), A: ("skipped", "not-read")},
        ),
        case(
            "without robots.txt the well-known paths are tried in their order, all of them",
            {},
            asked=[ROBOTS, *PROBES, SITE],
            codes=["http-status", "no-sitemap"],
            outcomes={PROBES[-1]: ("skipped", "http-status")},
        ),
        case(
            "the first path that holds a sitemap ends the search",
            {PROBES[1]: index(A), PROBES[2]: LIST, SITE: PAGE},
            urls=[PROBES[1]],
            asked=[ROBOTS, *PROBES[:2]],
            codes=[],
        ),
        case(
            "if all that robots.txt lists is dead, the paths are tried; the dead stay listed",
            {ROBOTS: b"Sitemap: /dead.xml\nSitemap: /p.html", f"{SITE}p.html": HTML}
            | {PROBES[3]: LIST},
            urls=[f"{SITE}dead.xml", f"{SITE}p.html", PROBES[3]],
            outcomes={
                f"{SITE}dead.xml": ("failed", "http-status"),
                f"{SITE}p.html": ("failed", "html-not-sitemap"),
            },
        ),
        case(
            "a URL with a path may be a sitemap; the site is searched below it, then at the root",
            {},
            site=f"{BLOG}?x=1#top",
            asked=[f"{BLOG}?x=1", ROBOTS, *BELOW, *PROBES, f"{BLOG}?x=1"],
        ),
        case(
            "the caller's paths are tried before the well-known ones, in both folders",
            {},
            site=BLOG,
            extra_paths=["/all.xml", "maps/x.xml"],
            asked=[BLOG, ROBOTS, *OWN[:2], *BELOW, *OWN[2:], *PROBES, BLOG],
        ),
        case(
            "with feeds=True they are found besides the sitemaps",
            {ROBOTS: b"Sitemap: /a.xml", A: LIST}
            | {SITE: b"<link rel=alternate type=application/rss+xml href=/rss>"},
            feeds=True,
            urls=[A, f"{SITE}rss"],
        ),
        case(
            "a page's link to another site is not followed without proof",
            {
                SITE: b"<link rel=sitemap href=https://cdn.net/a.xml>",
                "https://cdn.net/a.xml": LIST,
            },
            probe="never",
            codes=["cross-host-child", "no-sitemap"],
        ),
        case(
            "it is if robots.txt there lists it",
            {
                SITE: b"<link rel=sitemap href=https://cdn.net/a.xml>",
                "https://cdn.net/a.xml": LIST,
            }
            | {"https://cdn.net/robots.txt": b"Sitemap: https://cdn.net/a.xml"},
            probe="never",
            codes=[],
        ),
        case(
            "a probed path that robots.txt forbids us is skipped, the next one is tried",
            {
                ROBOTS: b"User-agent: sitemapreader\nDisallow: /sitemap.xml",
                PROBES[1]: LIST,
            },
            urls=[PROBES[1]],
            outcomes={PROBES[0]: ("skipped", "robots-disallowed")},
            codes=[],
        ),
        case(
            "the User-Agent of the options is the one whose rules are kept",
            {ROBOTS: b"User-agent: spy\nDisallow: /", PROBES[0]: LIST},
            options=FetchOptions(user_agent="Mozilla/5.0 (compatible; Spy/2.0)"),
            urls=[],
        ),
        case(
            "of a robots.txt that breaks off whole lines count, and no path is probed",
            {
                ROBOTS: Cut(ROBOTS, f"Sitemap: {A}\nSitemap: {SITE}b".encode()),
                SITE: b"",
            },
            urls=[A],
            codes=["robots-unreachable", "http-status", "no-sitemap"],
            outcomes={ROBOTS: ("partial", "body-cut")},
        ),
        case(
            "a search keeps to the limits of a walk, and says which one ended it",
            {},
            limits=Limits(documents=3),
            asked=[ROBOTS, *PROBES[:2]],
            codes=["budget-documents", "no-sitemap", "budget-documents"],
        ),
    ],
)
async def test_a_search(
    pages: Pages, arguments: Any, expected: Any, outcomes: Any
) -> None:
    """What a site names comes first; what is guessed, as far as was asked for and is allowed."""
    await check(pages, arguments, expected, outcomes)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (HTML, "html-not-sitemap"),
        (b'{"a": 1}', "not-a-sitemap"),
        (b"", "empty"),
        (status(404), "http-status"),
        (status(403), "http-status"),
    ],
    ids=["html", "json", "empty", "404", "403"],
)
async def test_what_is_no_sitemap_is_no_error(
    body: bytes | Exception, reason: str
) -> None:
    """A probed path that holds something else, or nothing, is skipped without an Issue."""
    outcomes = {PROBES[0]: ("skipped", reason)}
    await check(
        {PROBES[0]: body, PROBES[1]: LIST}, {}, (None, [PROBES[1]], []), outcomes
    )


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(LIST, mtime=0),
        b"https://example.org/a\nhttps://example.org/b\n",
        b"<rss version='2.0'><channel><item><link>https://example.org/a</link></item></channel></rss>",
        urlset(),
        b"\xef\xbb\xbf\n" + LIST,
    ],
    ids=["gzip", "text", "rss", "empty urlset", "leading bytes"],
)
async def test_the_content_decides(body: bytes) -> None:
    """Every format that is read is a sitemap at a well-known path, whatever the path is called."""
    await check({PROBES[0]: body}, {}, (None, [PROBES[0]], None), {})


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

    await check({SITE: Endless(SITE), HINTED: LIST}, {}, (None, [HINTED], None), {})
    assert served <= 5 * 65_536


async def test_a_start_page_that_breaks_off() -> None:
    """What it names so far is read; that it may name more is said, and nothing is complete."""
    walked = await walk_all({SITE: Cut(SITE, PAGE), HINTED: LIST})
    assert walked.locs == ["https://example.org/page"]
    assert [each.code for each in walked.report.issues] == ["body-cut"]
    assert (walked.outcome(SITE), walked.report.complete) == (
        ("partial", "body-cut"),
        False,
    )


# -- robots.txt and its answers

_LOST = ["robots-unreachable"]


@pytest.mark.parametrize(
    ("answer", "probed", "codes"),
    [
        *((status(code), True, []) for code in (302, 401, 403, 404, 410)),
        *((status(code), False, _LOST) for code in (407, 429, 500, 503)),
        (fault(IssueCode.TIMEOUT), False, _LOST),
        (fault(IssueCode.TOO_MANY_REDIRECTS), True, ["too-many-redirects"]),
        (fault(IssueCode.REDIRECT_LOOP), True, ["redirect-loop"]),
        (HTML, True, ["robots-not-text"]),
        (b"", True, []),
        (gzip.compress(b"User-agent: *\nDisallow: /x", mtime=0), True, []),
    ],
    ids=str,
)
async def test_classes_of_answers(answer: Any, probed: bool, codes: list[str]) -> None:
    """RFC 9309: no file means no rules; a file that cannot be reached forbids all probing."""
    found, requested = await search({ROBOTS: answer, PROBES[0]: LIST, SITE: b""})
    assert (PROBES[0] in requested) is probed
    http_status = getattr(answer, "http_status", 0)
    is_silent = http_status in (None, 407)
    why = answer.code if is_silent else "no-sitemap"
    assert not (http_status in (500, 503) and SITE in requested)
    assert [*found.counts] == (codes if probed else [*codes, why])


async def test_a_page_that_the_caller_names_is_read_without_rules() -> None:
    """If robots.txt fails, a start page is not read; a URL with a path is the caller's word."""
    shop = f"{SITE}shop/"
    pages: Pages = {ROBOTS: status(503), SITE: PAGE, shop: PAGE, HINTED: LIST}
    for site, urls, how in (
        (SITE, 0, {}),
        (SITE, 1, {"options": FetchOptions(respect_robots=False)}),
        (shop, 1, {}),
    ):
        walked = await walk_all(pages, site, **how)
        assert len(walked.locs) == urls


OUT_OF_REACH = [IssueCode.DNS, IssueCode.CONNECT, IssueCode.BLOCKED_ADDRESS]
LEADS_NOWHERE = [
    IssueCode.REDIRECT_LOOP,
    IssueCode.TOO_MANY_REDIRECTS,
    IssueCode.DOWNGRADE,
]


@pytest.mark.parametrize("code", OUT_OF_REACH)
async def test_a_host_that_is_silent_is_left_alone(code: IssueCode) -> None:
    """Where not even robots.txt is answered, nothing else is asked for, and the end says why."""
    found, requested = await search({ROBOTS: fault(code)})
    assert requested == [ROBOTS]
    assert outcomes_of(found) == {ROBOTS: ("failed", str(code))}
    last = found.issues[-1]
    assert (last.code, last.sitemap) == (code, ROBOTS)
    assert last.message.endswith(code.advice)
    assert found.documents[0].issues[-1] is last


@pytest.mark.parametrize(
    TABLE,
    [
        case(
            "a server's fault forbids all, also the start page",
            {ROBOTS: status(503)},
            asked=[ROBOTS],
        ),
        *(
            case(
                f"{code} means that there is no file",
                {ROBOTS: fault(code), SITE: PAGE, HINTED: LIST},
                asked=[ROBOTS, *PROBES, SITE, HINTED],
                urls=[HINTED],
                codes=[str(code)],
            )
            for code in LEADS_NOWHERE
        ),
        *(
            case(
                f"a redirect to {code} is an answer; nothing is guessed, the page is read",
                {
                    ROBOTS: FetchError(code, "https://elsewhere.example/robots.txt"),
                    SITE: PAGE,
                }
                | {HINTED: LIST},
                asked=[ROBOTS, SITE, HINTED],
                urls=[HINTED],
                codes=_LOST,
            )
            for code in OUT_OF_REACH
        ),
        *(
            case(
                f"respect_robots={not probed} with {name}",
                {ROBOTS: answer, PROBES[0]: LIST},
                respect_robots=not probed,
                urls=[PROBES[0]] if probed else [],
            )
            for probed in (False, True)
            for name, answer in (
                ("rules", b"User-agent: *\nDisallow: /"),
                ("503", status(503)),
            )
        ),
    ],
)
async def test_a_robots_txt_out_of_reach(
    pages: Pages, arguments: Any, expected: Any, outcomes: Any
) -> None:
    """A host that has answered in any way is asked for its page; what robots.txt says is kept."""
    await check(pages, arguments, expected, outcomes)


# -- a login

_PROXY = FetchError(IssueCode.LOGIN_REQUIRED, ROBOTS, "407", http_status=407)


@pytest.mark.parametrize(
    TABLE,
    [
        case(
            "two demands and no other answer end the search, with one Issue that says so",
            locked(ROBOTS, *PROBES, SITE),
            asked=[ROBOTS, PROBES[0]],
            codes=["login-required"],
        ),
        case(
            "a listed sitemap that wants a login counts as a demand, and has its own Issue",
            locked(A, *PROBES, SITE) | {ROBOTS: f"Sitemap: {A}".encode()},
            asked=[ROBOTS, A, PROBES[0]],
            codes=["http-status", "login-required"],
        ),
        case(
            "what a proxy says is no answer of the site: nothing else is asked for",
            {ROBOTS: _PROXY},
            asked=[ROBOTS],
            codes=["robots-unreachable", "login-required"],
        ),
        case(
            "a folder that is locked is left for the root, which may be open",
            locked(*BELOW) | {PROBES[3]: LIST},
            site=BLOG,
            asked=[BLOG, ROBOTS, *BELOW[:2], *PROBES[:4]],
            urls=[PROBES[3]],
            codes=[],
        ),
        case("only robots.txt is locked", locked(ROBOTS) | {PROBES[0]: LIST}, codes=[]),
        case(
            "all paths but one are",
            locked(*PROBES[1:]) | {SITE: PAGE, HINTED: LIST},
            codes=[],
        ),
    ],
)
async def test_a_login(
    pages: Pages, arguments: Any, expected: Any, outcomes: Any
) -> None:
    """What is locked is not asked again and again; what is open beside it is found."""
    await check(pages, arguments, expected, outcomes)


# -- without await, and misuse


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"site": "example.org"}, ValueError, "https://example.org/"),
        ({"site": "ftp://example.org"}, ValueError, "https://example.org/"),
        ({"site": "http://"}, ValueError, "https://example.org/"),
        ({"site": b"https://example.org"}, TypeError, "must be a text"),
        ({"probe": "yes"}, ValueError, "auto, few, always, never"),
        ({"extra_paths": "/a.xml"}, TypeError, r"write \('/a.xml',\)"),
        ({"extra_paths": ["https://example.org/a.xml"]}, ValueError, "sitemaps="),
        ({"extra_paths": ["/"]}, ValueError, "/maps/all.xml"),
        (
            {"extra_paths": ["/a.xml"], "probe": "never"},
            ValueError,
            "cannot be combined",
        ),
    ],
)
async def test_misuse(arguments: Any, error: type[Exception], words: str) -> None:
    """An argument that cannot be meant raises, with what to write instead, before any request."""
    fetcher = MemoryFetcher({})
    with pytest.raises(error, match=words):
        await discover(**grouped({"site": SITE, "fetcher": fetcher, **arguments}))
    with pytest.raises(error, match=words):
        discover_sync(**grouped({"site": SITE, "fetcher": fetcher, **arguments}))
    assert fetcher.requested == []


# -- copies of a site, and sitemaps elsewhere

STAGING, LIVE, CDN = (
    "https://staging.acme.example/",
    "https://www.acme.example",
    "https://maps.cdn.example",
)
MANY = [f"{LIVE}/{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("site", "locs", "arguments", "said"),
    [
        (STAGING, MANY, {}, ["all URLs are on www.acme.example"]),
        ("https://acme.example/", [f"{LIVE}/1"], {}, []),
        ("https://www.acme.example/", ["http://acme.example/1"], {}, []),
        ("https://acme.example:8443/", ["https://ACME.example/1"], {}, []),
        (STAGING, [*MANY, f"{STAGING}own"], {"exclude": "own"}, []),
        (STAGING, [], {}, []),
    ],
    ids=["a copy", "www", "scheme", "port", "one of its own is left out", "no URL"],
)
async def test_a_copy_that_names_the_original(
    site: str, locs: list[str], arguments: Any, said: list[str]
) -> None:
    """Where all URLs of a site are another's, a warning says so; a spelling makes no other site."""
    pages: Pages = {f"{site}robots.txt": f"Sitemap: {site}s.xml".encode()}
    pages[f"{site}s.xml"] = urlset(*locs)
    walked = await walk_all(pages, site, **arguments)
    assert [
        each.value for each in walked.report.issues if each.code == "other-site"
    ] == said
    named = await walk_all(pages, None, sitemaps=[f"{site}s.xml"])
    assert "other-site" not in named.codes


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
    if how == "grandchild":
        pages |= {f"{CDN}/b/c.xml": pages[child], child: index(f"{CDN}/b/c.xml")}
    site = f"{LIVE}/" if how == "named" else None
    walked: Walked = await walk_all(pages, site, sitemaps=[top], scope="drop")
    assert len(walked.locs) == (2 if lists else 0)
    assert ("out-of-scope" in walked.codes) is not lists
