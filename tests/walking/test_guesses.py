"""Guesses: what is no find, and where the software that a site names has its sitemaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader import FetchError, IssueCode, discover, walk
from sitemapreader.fetch import MemoryFetcher, StoredResponse
from tests.support.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from sitemapreader import Report

HOME = "https://www.example.org"
EMPTY = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'
EMPTY_INDEX = b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>'
EMPTY_FEED = b'<rss version="2.0"><channel><title>x</title></channel></rss>'
PAGE = b"<!doctype html><title>Not here</title><a href=/>Home</a>"


def list_page(name: str) -> bytes:
    """Write a sitemap of one page."""
    return f"<urlset><url><loc>{HOME}/{name}</loc></url></urlset>".encode()


async def read(
    pages: Mapping[str, object], **how: object
) -> tuple[set[str], Report, list[str]]:
    """Walk over a site; return the names of its pages, the report and what was asked for."""
    site: dict[str, object] = {"/robots.txt": b"", **pages}
    answers = {
        f"{HOME}{path}": StoredResponse(HOME + path, **page)
        if isinstance(page, dict)
        else page
        for path, page in site.items()
    }
    fetcher = MemoryFetcher(answers)  # type: ignore[arg-type]
    async with walk(f"{HOME}/", fetcher=fetcher, **grouped(how)) as entries:
        found = {entry.loc.removeprefix(f"{HOME}/") async for entry in entries}
    return found, entries.report, fetcher.requested


# -- guesses without a record


@pytest.mark.parametrize("empty", [EMPTY, EMPTY_INDEX, EMPTY_FEED])
@pytest.mark.parametrize(
    "real", ["/sitemap_index.xml", "/sitemap.txt", "/sitemap/0.xml"]
)
async def test_a_guess_without_a_record_is_no_find(empty: bytes, real: str) -> None:
    """The next guesses are tried, and the empty one has its Issue."""
    found, report, _ = await read({"/sitemap.xml": empty, real: list_page("a")})
    assert (found, report.complete) == ({"a"}, True)
    site = {
        f"{HOME}/robots.txt": b"",
        f"{HOME}/sitemap.xml": empty,
        HOME + real: list_page("a"),
    }
    discovery = await discover(HOME, fetcher=MemoryFetcher(site))
    assert [entry.loc for entry in discovery.sitemaps] == [HOME + real]


class CutResponse(StoredResponse):
    """A response that breaks off before the first record of a sitemap."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the beginning of the root element, and fail."""
        yield EMPTY.removesuffix(b"</urlset>")
        raise FetchError(IssueCode.BODY_CUT, self.url)


async def test_a_guess_that_breaks_off_before_its_records_is_a_find() -> None:
    """It may have had some: no other path is requested, and the sitemap is reported as lost."""
    pages = {
        "/sitemap.xml": CutResponse(f"{HOME}/sitemap.xml"),
        "/sitemap_index.xml": list_page("a"),
    }
    found, report, requested = await read(pages)
    assert (found, report.complete) == (set(), False)
    assert report.outcome.reason == "body-cut"
    assert requested[-1] == f"{HOME}/sitemap.xml"


async def test_an_empty_sitemap_alone_is_the_sitemap_of_the_site() -> None:
    """Where nothing else is found, its outcome is what it was: complete, with an Issue."""
    found, report, _ = await read({"/sitemap.xml": EMPTY})
    assert (found, report.complete) == (set(), True)
    assert {str(code) for code in report.counts} == {"empty"}
    site = {f"{HOME}/robots.txt": b"", f"{HOME}/sitemap.xml": EMPTY}
    discovery = await discover(HOME, fetcher=MemoryFetcher(site))
    assert [entry.loc for entry in discovery.sitemaps] == [f"{HOME}/sitemap.xml"]


@pytest.mark.parametrize("number", [1, 2, 11])
async def test_numbered_sitemaps_without_an_index_are_all_read(number: int) -> None:
    """After `/sitemap/0.xml` those that are numbered behind it are tried, up to the first gap."""
    pages = {f"/sitemap/{each}.xml": list_page(str(each)) for each in range(number)}
    found, report, requested = await read(pages)
    assert found == {str(each) for each in range(number)}
    assert report.complete
    assert requested[-1] == f"{HOME}/sitemap/{number}.xml"


# -- platforms


@pytest.mark.parametrize(
    ("head", "headers", "sitemap"),
    [
        ('<meta name="generator" content="WordPress 6.5.5" />', {}, "/?sitemap=index"),
        ("", {"x-pingback": f"{HOME}/xmlrpc.php"}, "/?sitemap=index"),
        (
            "",
            {"link": f'<{HOME}/?rest_route=/>; rel="https://api.w.org/"'},
            "/?sitemap=1",
        ),
        ("<META content='DokuWiki' name=Generator>", {}, "/doku.php?do=sitemap"),
        (
            '<meta name="generator" content="MediaWiki 1.39.1">',
            {},
            "/sitemap/sitemap-index-example.xml",
        ),
        (
            '<meta name="generator" content="Nikola (getnikola.com)">',
            {},
            "/sitemapindex.xml",
        ),
        ("", {"x-generator": "Drupal 10 (https://www.drupal.org)"}, "/?q=sitemap.xml"),
        ('<meta name="generator" content="TYPO3 CMS">', {}, "/?type=1533906435"),
        ("", {"powered-by": "PrestaShop"}, "/1_index_sitemap.xml"),
    ],
)
async def test_a_platform_tells_where_its_sitemap_is(
    head: str, headers: dict[str, str], sitemap: str
) -> None:
    """What the start page or its headers name as generator leads to the sitemap."""
    start = {"body": f"<head>{head}</head>".encode(), "headers": headers}
    found, report, _ = await read({"/": start, sitemap: list_page("a")})
    assert (found, report.complete) == ({"a"}, True)


@pytest.mark.parametrize("answer", [PAGE, b"", EMPTY, {"body": b"no", "status": 500}])
async def test_a_path_of_a_platform_that_answers_with_a_page_breaks_nothing(
    answer: object,
) -> None:
    """The next path is tried; a site without a sitemap is one, as before."""
    start = b'<meta name="generator" content="WordPress 6.5">'
    pages = {"/": start, "/?sitemap=index": answer}
    found, _, _ = await read({**pages, "/?sitemap=1": list_page("a")})
    assert found == {"a"}
    found, report, _ = await read(pages)
    assert found == set()
    assert {str(code) for code in report.counts} & {
        "no-sitemap",
        "empty",
        "http-status",
    }


async def test_generators_count_only_where_nothing_else_is_found() -> None:
    """No path of a platform is asked for where a sitemap is known, or with `probe="never"`."""
    start = b'<meta name="generator" content="WordPress"><meta content="WordPress">'
    linked = start + b"<link rel=sitemap href=/map.xml>"
    found, _, requested = await read({"/": linked, "/map.xml": list_page("a")})
    assert found == {"a"}
    assert f"{HOME}/?sitemap=index" not in requested
    _, _, requested = await read({"/": start}, probe="never")
    assert f"{HOME}/?sitemap=index" not in requested
    _, _, requested = await read(
        {"/": b'<meta name="description" content="WordPress">'}
    )
    assert f"{HOME}/?sitemap=index" not in requested


# -- feeds of comments


@pytest.mark.parametrize(
    "link",
    [
        'title="Blog &raquo; Comments Feed" href="/comments/feed/"',
        'title="Blog &raquo; Kommentar-Feed" href="/?feed=comments-rss2"',
        'title="Blog &raquo; Hello Comments Feed" href="/hello/feed/"',
        'title="Blog - Atom" href="/feeds/comments/default"',
        'title="RSS" href="/comments.xml"',
        'title="Flux des commentaires" href="/accueil/feed/"',
    ],
)
async def test_feeds_of_comments_are_no_lists_of_pages(link: str) -> None:
    """With `feeds=True` the feed of the posts is read, and that of the comments is not."""
    kind = 'rel="alternate" type="application/rss+xml"'
    page = f'<link {kind} {link}><link {kind} title="Comments-free life" href="/commentary/feed/">'
    item = f"<item><title>t</title><link>{HOME}/post</link></item>"
    comments = item.replace("/post", "/post/#comment-1")
    feeds = {
        path: f'<rss version="2.0"><channel>{comments}</channel></rss>'.encode()
        for path in (link.partition('href="')[2].removesuffix('"'),)
    }
    post = f'<rss version="2.0"><channel>{item}</channel></rss>'.encode()
    pages = {"/": page.encode(), **feeds, "/commentary/feed/": post}
    found, _, _ = await read(pages, feeds=True)
    assert found == {"post"}
