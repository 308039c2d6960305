"""A record is what its own prefix says, wherever blocks, sections and other vocabularies end."""

from __future__ import annotations

import pytest
from each_case import for_each
from reading import URLSET, check_ways, issues, locs, read, read_by_tree, read_with, urlset

from sitemapreader import SitemapReader
from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Alternate, UrlEntry

OTHERS = {
    "urlset-meta": (
        b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:e="urn:e">',
        b"<url><loc>https://a.example/%d</loc><e:meta><e:url>https://cdn.example/%d</e:url></e:meta></url>",
        b"</urlset>",
    ),
    "urlset-bound-in-the-element": (
        URLSET,
        b"<url><loc>https://a.example/%d</loc><m xmlns='urn:m'><url>https://cdn.example/%d</url></m></url>",
        b"</urlset>",
    ),
    "index": (
        b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:e="urn:e">',
        b"<sitemap><loc>https://a.example/%d</loc><e:sitemap><e:loc>https://b.example/%d</e:loc></e:sitemap></sitemap>",
        b"</sitemapindex>",
    ),
    "prefixed-records": (
        b'<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns="urn:e">',
        b"<s:url><s:loc>https://a.example/%d</s:loc><x><url>https://b.example/%d</url></x></s:url>",
        b"</s:urlset>",
    ),
    "items": (
        b'<rss xmlns:x="urn:x"><channel>',
        b"<item><link>https://a.example/%d</link><x:items><x:item><x:link>https://b.example/%d</x:link></x:item></x:items></item>",
        b"</channel></rss>",
    ),
    "mod-content": (
        (
            b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
            b' xmlns="http://purl.org/rss/1.0/" xmlns:content="http://purl.org/rss/1.0/modules/content/">'
        ),
        (
            b'<item rdf:about="https://c.example/"><content:items><rdf:Bag><rdf:li><content:item>%d'
            b"</content:item></rdf:li></rdf:Bag></content:items><link>https://a.example/%d</link></item>"
        ),
        b"</rdf:RDF>",
    ),
    "entries": (
        b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:x="urn:x">',
        b'<entry><link href="https://a.example/%d"/><x:entry><x:link href="https://b.example/%d"/></x:entry></entry>',
        b"</feed>",
    ),
}
"""Records with elements in them that are called like records, in another vocabulary."""


@for_each("block", [499, 1_000, 4_096, 32_768], few=2)
@for_each("name", OTHERS)
def test_names_of_records_in_other_vocabularies(name: str, block: int) -> None:
    """No record is cut inside itself, wherever a block ends: none is lost, none is invented."""
    start, record, end = OTHERS[name]
    count = 400 if block > 4_000 else 60
    data = start + b"\n".join(record % (number, number) for number in range(count)) + end
    with read_with(BLOCK_BYTES=block):
        found = locs(read(data))
        assert locs(read_by_tree(data)) == found
    assert found == [f"https://a.example/{number}" for number in range(count)]


def test_a_record_without_an_end_tag() -> None:
    """A record ends where the next one begins, if its end tag is missing, in or out of a field."""
    records = (
        b"<url><loc>https://a.example/1</loc><url><loc>https://a.example/2</loc></url>"
        b"<url><loc>https://a.example/3</loc><image:image><image:loc>https://i.example/</image:loc>"
        b"<url><loc>https://a.example/4</loc></url><url><loc>https://a.example/5</loc></url>"
    )
    assert locs(check_ways(urlset(records))) == [f"https://a.example/{n}" for n in range(1, 6)]


# -- sections that do not end

SWALLOWING = {
    "rss": (
        b"<rss><channel>",
        b"<item><link><![CDATA[https://a.example/1]></link></item>",
        b"<item><link><![CDATA[https://a.example/2]]></link></item>",
        b"</channel></rss>",
    ),
    "urlset": (
        URLSET,
        b"<url><loc><![CDATA[https://a.example/1</loc></url>",
        b"<url><loc><![CDATA[https://a.example/2]]></loc></url>",
        b"</urlset>",
    ),
    "title": (
        b"<rss><channel>",
        b"<item><title><![CDATA[one</title><link>https://a.example/1</link></item>",
        b"<item><title><![CDATA[two]]></title><link>https://a.example/2</link></item>",
        b"</channel></rss>",
    ),
}


@for_each("before", [0, 3, 700])
@for_each("name", SWALLOWING)
def test_a_section_that_is_not_closed(name: str, before: int) -> None:
    """It costs no other record: the next one is delivered, no URL is glued, and it is said."""
    start, broken, healthy, end = SWALLOWING[name]
    events = check_ways(start + healthy * before + broken + healthy + end)
    found = locs(events)
    assert found.count("https://a.example/2") == before + 1
    assert set(found) <= {"https://a.example/1", "https://a.example/2"}
    assert IssueCode.MISMATCHED_TAG in issues(events)


@pytest.mark.parametrize(
    "text",
    [
        b"<![CDATA[https://a.example/<![CDATA[]]>",
        b"&lt;![CDATA[https://a.example/]]&gt;",
        b"<![CDATA[https://a.example/</loc></url><url><loc>]]>",
    ],
)
def test_markup_is_no_url(text: bytes) -> None:
    """A loc in which a section or a record's tag stands gives no URL."""
    events = check_ways(urlset(b"<url><loc>" + text + b"</loc></url>"))
    assert not any("[" in loc or "<" in loc for loc in locs(events))
    assert any(isinstance(event, Issue) for event in events)


HIDDEN_URL = b"<url><loc>https://hidden.example/</loc></url>"
HIDDEN_ITEM = b"<item><link>https://hidden.example/</link><title>%b</title></item>"
BETWEEN = {
    "record": b"<![CDATA[" + HIDDEN_URL + b"]]>",
    "records-and-text": b"x <![CDATA[ " + HIDDEN_URL * 3 + b" ]]> y",
    "in-a-wrapper": b"<w><![CDATA[" + HIDDEN_URL + b"]]></w>",
    "two": b"<![CDATA[" + HIDDEN_URL + b"]]>\n<![CDATA[" + HIDDEN_URL + b"]]>",
    "with-a-section": b"<![CDATA[<url><loc><![CDATA[https://hidden.example/]]]]><![CDATA[></loc></url>]]>",
}
"""Sections between records, all well-formed."""


@for_each("count", [1, 30])
@for_each("name", BETWEEN)
def test_a_section_between_records_holds_text(name: str, count: int) -> None:
    """A record in a closed section is none, wherever it stands, and nothing is wrong with it."""
    healthy = b"<url><loc><![CDATA[https://a.example/]]></loc></url>"
    section = BETWEEN[name]
    for records in (section + healthy, healthy + section, healthy + section + healthy):
        events = check_ways(urlset(records * count))
        assert set(locs(events)) == {"https://a.example/"}
        assert issues(events) == []
    assert locs(check_ways(urlset(section))) == []


def test_a_section_between_records_that_is_not_closed() -> None:
    """The records behind its beginning are read, up to where the document is cut, if it is."""
    healthy = b"<url><loc><![CDATA[https://a.example/%d]]></loc></url>"
    data = healthy % 1 + b"<![CDATA[" + HIDDEN_URL + healthy % 2 + healthy % 3
    found = locs(check_ways(urlset(data)))
    assert found[::2] == ["https://a.example/1", "https://a.example/2"]
    assert locs(check_ways(URLSET + healthy % 1 + b"<![CDATA[" + HIDDEN_URL)) == found[:1]


QUOTED = {
    "items": HIDDEN_ITEM * 2 % (b"one", b"two"),
    "escaped-with-a-reference": HIDDEN_ITEM % b"<![CDATA[one]]&gt;",
    "escaped-with-a-section": HIDDEN_ITEM % b"<![CDATA[one]]]]><![CDATA[>",
    "quoted-again": (
        b"<item><content:encoded><![CDATA["
        + HIDDEN_ITEM
        + b"]]]]><![CDATA[></content:encoded></item>"
    )
    % b"one",
}
"""Feeds in the text of an item, as generators escape them."""


@for_each("broken", [b"", b"<b>&", b"<author>a</auth>"])
@for_each("name", QUOTED)
def test_a_feed_that_is_quoted_in_a_feed(name: str, broken: bytes, thorough: bool) -> None:
    """It gives no items, in a broken item, one that is too long, or one that is cut."""
    link = b"<link>https://a.example/</link>"
    item = b"<item>" + link + broken + b"<content:encoded><![CDATA["
    item += QUOTED[name] + b"]]></content:encoded></item>"
    start = b'<rss xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>'
    start += b"<item>" + link + b"</item>"
    data = start + item * 2 + b"</channel></rss>"
    events = check_ways(data)
    assert locs(events) == ["https://a.example/"] * 3
    assert bool(issues(events)) == bool(broken)
    for size in range(len(start), len(data), 7 if thorough else 31):
        assert set(locs(check_ways(data[:size]))) <= {"https://a.example/"}
    for most in (80, 120, 200, 300):
        assert set(locs(check_ways(data, record_bytes=most))) <= {"https://a.example/"}
    with read_with(BLOCK_BYTES=101):
        assert check_ways(data) == events


def test_an_end_tag_in_a_section_of_a_broken_record() -> None:
    """It ends that record, as if the section were not closed; no URL is lost or invented."""
    link = b"<item><link>https://a.example/</link>"
    code = b"<description><![CDATA[close it by </item>, please]]></description>"
    for broken in (b"", b"<b></i>"):
        items = (link + broken + code + b"</item>") * 2
        events = read(b"<rss><channel>" + items + b"</channel></rss>")
        assert locs(events) == ["https://a.example/"] * 2
        assert bool(issues(events)) == bool(broken)


# -- attributes of other namespaces


@pytest.mark.parametrize("broken", [b"", b"&"], ids=["sound", "broken"])
@pytest.mark.parametrize("order", [1, -1])
def test_attributes_of_other_namespaces(order: int, broken: bytes) -> None:
    """Only attributes without a prefix are a link's own, in whatever order, leniently as well."""
    own = [b'rel="alternate"', b'href="https://a.example/de"', b'hreflang="de"']
    other = [b'x:rel="self"', b'x:href="https://evil.example/"', b'x:hreflang="en"']
    link = b"<xhtml:link " + b" ".join((own + other)[::order]) + b"/>"
    record = b"<url><loc>https://a.example/</loc>" + link + broken + b"</url>"
    (entry,) = (event for event in check_ways(urlset(record)) if isinstance(event, UrlEntry))
    assert entry.alternates == (Alternate("https://a.example/de", "de"),)


@for_each(
    "attributes, loc",
    [
        (b'xml:base="https://b.example/"', "https://b.example/1"),
        (b'base="https://b.example/"', "https://h.example/1"),
        (b'p:base="https://b.example/"', "https://h.example/1"),
        (b'p:base="https://c.example/" xml:base="https://b.example/"', "https://b.example/1"),
        (b'xml:base="https://b.example/" base="https://c.example/"', "https://b.example/1"),
    ],
)
@for_each("broken", [b"", b"&"])
def test_only_xml_base_is_a_base(attributes: bytes, loc: str, broken: bytes) -> None:
    """A base counts by its namespace, at the record and at its link."""
    start = b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:p="urn:p">'
    for record in (
        b"<entry " + attributes + b'><link href="1"/>' + broken + b"</entry>",
        b"<entry><link " + attributes + b' href="1"/>' + broken + b"</entry>",
    ):
        assert locs(check_ways(start + record + b"</feed>")) == [loc]


# -- prefixes

IMAGE = b"http://www.google.com/schemas/sitemap-image/1.1"
VIDEO = b"http://www.google.com/schemas/sitemap-video/1.1"


def test_a_wrapper_binds_a_prefix_anew() -> None:
    """What an element between root and record binds counts within it, and not behind it."""
    record = b"<url><loc>https://a.example/</loc><m:video><m:title>t</m:title></m:video></url>"
    data = (
        b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:m="urn:other">'
        + record
        + b'<group xmlns:m="'
        + VIDEO
        + b'">'
        + record * 2
        + b"</group>"
        + record
        + b"</urlset>"
    )
    entries = [event for event in check_ways(data) if isinstance(event, UrlEntry)]
    assert [len(entry.videos) for entry in entries] == [0, 1, 1, 0]
    assert [bool(entry.extras) for entry in entries] == [True, False, False, True]


def test_a_channel_binds_the_default_anew() -> None:
    """A prefix that is bound by the channel is known to its items, in each of several channels."""
    item = b"<item><link>https://a.example/</link><d:date>2026-01-02</d:date></item>"
    data = b'<rss xmlns:d="urn:d"><channel xmlns:d="http://purl.org/dc/elements/1.1/">' + item
    data += b"</channel><channel>" + item + b"</channel></rss>"
    entries = [event for event in check_ways(data) if isinstance(event, UrlEntry)]
    assert [entry.lastmod_text for entry in entries] == ["2026-01-02", None]


@pytest.mark.parametrize("prefix", ["é", "карта", "図", "a·b"])
@pytest.mark.parametrize("broken", ["", "&"], ids=["sound", "broken"])
def test_prefixes_beyond_ascii(prefix: str, broken: str) -> None:
    """A prefix may be written in any script, for the records as for an extension."""
    image = f"<i{prefix}:image><i{prefix}:loc>https://i.example/</i{prefix}:loc></i{prefix}:image>"
    record = f"<{prefix}:url><{prefix}:loc>https://a.example/</{prefix}:loc>{image}{broken}</{prefix}:url>"
    data = (
        f'<{prefix}:urlset xmlns:{prefix}="http://www.sitemaps.org/schemas/sitemap/0.9"'
        f' xmlns:i{prefix}="{IMAGE.decode()}">{record * 3}</{prefix}:urlset>'
    )
    entries = [event for event in check_ways(data.encode()) if isinstance(event, UrlEntry)]
    assert [entry.loc for entry in entries] == ["https://a.example/"] * 3
    assert all(len(entry.images) == 1 for entry in entries)


# -- documents that are cut


@for_each(
    "record, loc",
    [
        (b"<url><loc>https://a.example/2</loc>", "https://a.example/2"),
        (b"<url><loc>https://a.example/2</loc><lastmod>2026-01-0", "https://a.example/2"),
        (
            b"<url><lastmod>2026-01-01</lastmod><loc>https://a.example/2</loc></ur",
            "https://a.example/2",
        ),
        (b"<url><loc>https://a.example/2</loc><image:image><image:lo", "https://a.example/2"),
        (b"<url><loc>https://a.example/2</loc><![CDATA[x", "https://a.example/2"),
        (b"<url><loc>https://a.example/2", None),
        (b"<url>https://a.example/2", None),
        (b"<url><loc>https://a.example/2</lo", None),
        (b"<url><loc><![CDATA[https://a.example/2", None),
        (b"<url><loc", None),
    ],
)
def test_a_record_that_is_cut(record: bytes, loc: str | None) -> None:
    """It is delivered if its loc was closed before the cut, and dropped if not; either is said."""
    events = check_ways(URLSET + b"<url><loc>https://a.example/1</loc></url>" + record)
    assert locs(events) == ["https://a.example/1", *filter(None, [loc])]
    assert issues(events).count(IssueCode.TRUNCATED) == 1
    entry = [event for event in events if isinstance(event, UrlEntry)][-1]
    assert entry.lastmod_text in (None, "2026-01-01")


ATOM = b'<feed xmlns="http://www.w3.org/2005/Atom">'


@for_each(
    "start, record, loc",
    [
        (b"<rss><channel>", b"<item><title>t</title><link>https://a.example/2</link><desc", True),
        (b"<rss><channel>", b"<item><title>t</title><link>https://a.example/2", False),
        (ATOM, b'<entry><link href="https://a.example/2"/><ti', True),
        (ATOM, b'<entry><link href="https://a.example/2', False),
        (ATOM, b"<entry><link href=https://a.example/2", False),
    ],
)
def test_an_item_that_is_cut(start: bytes, record: bytes, loc: bool) -> None:
    """The same holds for feeds: half a URL is none."""
    events = check_ways(start + record)
    assert locs(events) == ["https://a.example/2"] * loc
    assert IssueCode.TRUNCATED in issues(events)


def test_a_reader_that_was_closed() -> None:
    """Closing it again gives nothing, and feeding it is refused with what to do."""
    for document in (urlset(b"<url><loc>https://a.b/1</loc></url>"), b"https://a.b/1\n", b"<html>"):
        reader = SitemapReader("https://a.b/s")
        first = [*reader.feed(document), *reader.close()]
        assert first
        assert reader.close() == []
        with pytest.raises(ValueError, match="make a new SitemapReader"):
            reader.feed(document)
