"""Links of a feed to its next page: where they may stand, and what they may look like."""

from __future__ import annotations

import pytest
from each_case import for_each

from sitemapreader import SitemapEntry, UrlEntry, Via, read
from sitemapreader.readers.reader import SitemapReader

FEED = "https://example.org/blog/feed.xml"
ATOM = "http://www.w3.org/2005/Atom"
ENTRY = "<entry><link href='https://example.org/1'/></entry>"
ITEM = "<item><link>https://example.org/1</link></item>"


def atom(head: str, tail: str = "", root: str = "") -> str:
    """Write an Atom feed of one entry."""
    return f"<feed xmlns='{ATOM}'{root}>{head}{ENTRY}{tail}</feed>"


def rss(head: str, tail: str = "", root: str = f" xmlns:atom='{ATOM}'") -> str:
    """Write an RSS feed of one item."""
    return f"<rss{root}><channel>{head}{ITEM}{tail}</channel></rss>"


def rdf(link: str) -> str:
    """Write an RSS 1.0 feed, whose items stand beside the channel."""
    names = f"xmlns='http://purl.org/rss/1.0/' xmlns:a='{ATOM}'"
    rdf_names = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
    return f"<rdf:RDF {rdf_names} {names}><channel>{link}</channel>{ITEM}</rdf:RDF>"


def pages_of(feed: str, *, url: str = FEED, blocks: int = 0) -> list[tuple[str, bool]]:
    """Return URL and mark of each page, after the check that nothing else is lost or invented."""
    padded = feed.replace(ENTRY, ENTRY + " " * blocks).replace(ITEM, ITEM + " " * blocks)
    events = list(read(padded.encode(), url))
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [
        "https://example.org/1"
    ]
    pages = [event for event in events if isinstance(event, SitemapEntry)]
    assert all(page.via is Via.PAGE and page.sitemap == url for page in pages)
    return [(page.loc, page.is_archive) for page in pages]


NEXT = "<link rel='next' href='?start-index=26&amp;max-results=25'/>"
SECOND = f"{FEED}?start-index=26&max-results=25"


@for_each("blocks", [0, 70_000])
@for_each(
    "feed, page",
    [
        (atom(NEXT), SECOND),
        (atom("", NEXT), SECOND),
        (atom(f"<title>A</title>{NEXT}<link rel='self' href='x'/>"), SECOND),
        (atom("<link rel='NEXT' href=' /2 '/>"), "https://example.org/2"),
        (atom("<link href='/2' rel='self next'></link>"), "https://example.org/2"),
        (atom("<link rel='&#110;ext' href='/2'/>"), "https://example.org/2"),
        (
            atom("<link rel='http://www.iana.org/assignments/relation/next' href='/2'/>"),
            "https://example.org/2",
        ),
        (atom("<link rel='next' href='2'/>", root=" xml:base='/b/'"), "https://example.org/b/2"),
        (atom("<link rel='next' href='2' xml:base='/c/'/>"), "https://example.org/c/2"),
        (
            atom("<link rel='next' xml:base='c/' href='2'/>", root=" xml:base='/b/'"),
            "https://example.org/b/c/2",
        ),
        (rss("<atom:link rel='next' href='/2'/>"), "https://example.org/2"),
        (rss("", "<atom:link rel='next' href='/2'/>"), "https://example.org/2"),
        (rss(f"<a:link xmlns:a='{ATOM}' rel='next' href='/2'/>"), "https://example.org/2"),
        (rss("<link>https://example.org/</link><link rel='next' href='/2'/>"), f"{FEED[:19]}/2"),
        (rdf("<a:link rel='next' href='/2'/>"), "https://example.org/2"),
        (rss("<atom:link rel='next' href='/2'/>", root=""), "https://example.org/2"),
        (rss("<title>A & B</title><atom:link rel=next href='/2'>"), "https://example.org/2"),
    ],
)
def test_a_page_is_found_wherever_its_link_stands(feed: str, page: str, blocks: int) -> None:
    """Before the items or behind them, in small feeds and large ones, in RSS, RDF and Atom."""
    assert pages_of(feed, blocks=blocks) == [(page, False)]


def test_an_archive_is_marked() -> None:
    """The target of `prev-archive` never changes; that of `next` may (RFC 5005)."""
    feed = atom("<link rel='prev-archive' href='/2003'/><link rel='next' href='/2'/>")
    assert pages_of(feed) == [("https://example.org/2003", True), ("https://example.org/2", False)]


@for_each(
    "feed",
    [
        atom("<link rel='previous' href='/0'/><link rel='prev' href='/0'/>"),
        atom("<link rel='first' href='/0'/><link rel='last' href='/9'/>"),
        atom("<link rel='next-archive' href='/9'/><link rel='current' href='/'/>"),
        atom("<link rel='nextish' href='/9'/>"),
        atom("<link rel='next'/><link rel='next' href=' '/>"),
        atom("<!-- <link rel='next' href='/2'/> -->"),
        rss("<description><![CDATA[<atom:link rel='next' href='/2'/>]]></description>"),
        rss("<x:link xmlns:x='urn:x' rel='next' href='/2'/>"),
        atom("<s><p xmlns='http://www.w3.org/1999/xhtml'><link rel='next' href='/2'/></p></s>"),
        atom("").replace("</entry>", "<link rel='next' href='https://example.org/9'/></entry>"),
    ],
)
def test_other_links_are_no_pages(feed: str) -> None:
    """Other relations, other vocabularies, links in texts and those of a post lead to no page."""
    assert pages_of(feed) == []


def test_a_urlset_has_no_pages() -> None:
    """A link of Atom in a urlset, as in ResourceSync, is not a page of a feed."""
    urlset = (
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        f"<link xmlns='{ATOM}' rel='next' href='/2'/>"
        "<url><loc>https://example.org/1</loc></url></urlset>"
    )
    assert pages_of(urlset) == []


@pytest.mark.parametrize("href", ["mailto:a@example.org", "http://[", "javascript:next()"])
def test_an_unusable_page_is_an_issue(href: str) -> None:
    """A next page whose address is no URL is named, because what it lists is missing."""
    events = list(read(atom(f"<link rel='next' href='{href}'/>").encode(), FEED))
    assert [getattr(event, "code", "") for event in events] == ["", "feed-has-more"]
    assert getattr(events[-1], "value", "") == href


def test_a_page_is_no_record() -> None:
    """The counts of a document hold its posts only, also where a limit cuts them."""
    reader = SitemapReader(FEED)
    events = reader.feed(atom(NEXT).encode()) + reader.close()
    assert len(events) == 2
    assert reader.stats.records == reader.stats.delivered == 1


def test_a_feed_that_is_cut_keeps_its_page() -> None:
    """What follows the link may be lost, but not the link."""
    reader = SitemapReader(FEED)
    events = reader.feed(atom(NEXT)[:-3].encode()) + reader.close(cut=True)
    assert [event.loc for event in events if isinstance(event, SitemapEntry)] == [SECOND]
