"""Inputs that once made the ways of reading differ, or held them up."""

from __future__ import annotations

import pytest
from each_case import for_each
from reading import FEED, check_ways, issues, locs, read, read_by_tree, read_with, url, urlset

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Image, UrlEntry

IMAGE = b"<image:image><image:loc>http://i/1</image:loc>"

PIECES = {
    "stray-text": urlset(b"<url>abcdefgh<loc>http://a.b/1</loc>ijklmnop</url>"),
    "child-in-a-date": urlset(url(b"<lastmod>20<b/>20</lastmod>")),
    "child-in-a-priority": urlset(url(b"<priority>0<b/>.5</priority>")),
    "child-in-an-image": urlset(url(IMAGE + b"<image:title>a<b/>b</image:title></image:image>")),
    "date-in-a-child": urlset(url(b"<lastmod><b>2020</b></lastmod>")),
    "record-in-a-video": urlset(
        url(b"<video:video><url/><video:title>t</video:title></video:video>")
    ),
    "tag-in-an-image": urlset(url(IMAGE + b"<video:tag>t</video:tag></image:image>")),
}


def test_stray_text_in_pieces() -> None:
    """Text that nobody asked for costs no record."""
    assert locs(read(PIECES["stray-text"], field_chars=12)) == ["http://a.b/1"]


@pytest.mark.parametrize("name", ["child-in-a-date", "child-in-a-priority", "child-in-an-image"])
def test_a_value_in_pieces_is_none(name: str) -> None:
    """What stands around a child of a field is joined to no value: it is noted, as of a loc."""
    entry, code = read(PIECES[name])[1], issues(read(PIECES[name]))
    assert isinstance(entry, UrlEntry)
    assert (entry.lastmod, entry.priority) == (None, None)
    assert [image.title for image in entry.images] == [None] * len(entry.images)
    assert code in ([IssueCode.LASTMOD], [IssueCode.PRIORITY], [IssueCode.EXTENSION])


def test_a_value_in_a_child() -> None:
    """The one text in a field is its value, as it is a loc's, whatever tags stand around it."""
    (entry,) = read(PIECES["date-in-a-child"])
    assert isinstance(entry, UrlEntry)
    assert entry.lastmod_text == "2020"


@pytest.mark.parametrize("field", [b"0" * 70_000, b"<?php date() ?>"], ids=["long", "template"])
def test_a_date_that_is_not_kept(field: bytes) -> None:
    """A date is not lost in silence where nothing of its text could be kept."""
    events = read(urlset(url(b"<lastmod>" + field + b"</lastmod>")))
    assert issues(events) in ([IssueCode.FIELD_TOO_LONG], [IssueCode.TEMPLATE])
    assert locs(events) == ["http://a.b/1"]


def test_an_empty_record_in_a_video() -> None:
    """An empty element with a record's name ends no record, be the batch sound or broken."""
    for broken in (b"", b"&"):
        (entry,) = (
            event
            for event in read(PIECES["record-in-a-video"].replace(b">t<", b">t" + broken + b"<"))
            if isinstance(event, UrlEntry)
        )
        assert [video.title for video in entry.videos] == ["t" + broken.decode()]


def test_depth_is_looked_at() -> None:
    """Who allows less depth than records have gets none of them, in silence neither."""
    assert locs(read(urlset(url(b"")), record_depth=1)) == []


def test_a_tag_is_a_video_s() -> None:
    """A video's tag inside of an image is an element that nobody knows."""
    (entry,) = read(PIECES["tag-in-an-image"])
    assert isinstance(entry, UrlEntry)
    assert entry.images == (Image("http://i/1"),)
    assert [extra.name for extra in entry.extras] == ["tag"]


def test_what_ends_before_a_record_binds_nothing() -> None:
    """A namespace that a title declares is not that of the records behind it."""
    feed = (
        FEED + b'<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><![CDATA[T]]></div>'
        b'</title><entry><link href="http://a.b/1"/><title>a & b</title></entry>'
        b'<entry><link href="http://a.b/2"/></entry></feed>'
    )
    assert locs(read(feed)) == ["http://a.b/1", "http://a.b/2"]


@pytest.mark.parametrize("lost", ["\ufffe", "\uffff", "&#xFFFF;", "\x1f\uffff"])
def test_what_is_no_character(lost: str) -> None:
    """A URL with a code in it that is no character is not handed over, however that is written."""
    events = read(urlset(f"<url><loc>http://a.b/{lost}</loc></url>".encode() + url(b"")))
    assert locs(events) == ["http://a.b/1"]
    assert IssueCode.MALFORMED in issues(events)


def test_records_in_a_namespace_of_their_own() -> None:
    """A url whose namespace nobody knows is a url, and it is said once that it should be known."""
    record = b'<url xmlns="urn:%d"><loc>http://a.b/%d</loc></url>'
    records = b"".join(record % (number, number) for number in range(5)) + url(b"")
    for data in (urlset(records), b"<urlset>" + records + b"</urlset>"):
        events = read_by_tree(data)
        assert locs(events) == [f"http://a.b/{number}" for number in (0, 1, 2, 3, 4, 1)]
        codes = [event.code for event in events if isinstance(event, Issue)]
        assert codes == [IssueCode.NAMESPACE]


def test_a_record_behind_an_empty_root_is_seen() -> None:
    """An empty root inside of a feed takes nothing away: a broken entry behind it is dropped."""
    events = read(b'<feed><title/><urlset a=""/><entry </entry>')
    codes = [IssueCode.NESTED_ROOT, IssueCode.MISSING_LOC, IssueCode.NOT_WELL_FORMED]
    assert issues(events) == codes


SECTIONS = (
    b"http://a.b/?x=1&<![CDATA[amp;]]>y=2",
    b"http://a.b/?x=1&am<![CDATA[p;]]>y=2",
    b"http://a.b/&#5<![CDATA[0;]]>",
    b"<![CDATA[http://a.b/]]>&<![CDATA[amp;]]>",
)


@pytest.mark.parametrize("loc", SECTIONS)
def test_no_reference_goes_on_in_a_section(loc: bytes) -> None:
    """What a CDATA section interrupts is no reference, to any reader."""
    record = b"<url><loc>" + loc + b"</loc></url>"
    check_ways(urlset(record * 5))


def test_records_behind_a_fast_batch_are_not_lost() -> None:
    """Whole records that wait with another end tag are no record that is too long."""
    events = check_ways(
        urlset(url(b"") * 1_200 + url(b"").replace(b"url>", b"URL>") * 8), record_bytes=200
    )
    assert len(locs(events)) == 1_208


@for_each("block_bytes", range(200, 600, 7))
def test_a_batch_ends_behind_the_last_record(block_bytes: int) -> None:
    """Where records of two kinds end each other, batches do not end where one of the kinds does."""
    odd = b"<url><loc xmlns='u'><sitemap>a</sitemap><sitemap><loc>b<loc>http://a/</loc></url>"
    with read_with(BLOCK_BYTES=block_bytes):
        check_ways(urlset(url(b"") * 9 + odd))


def test_the_protocol_s_limit_is_said_at_the_end() -> None:
    """The Issue is the last of all, however fast the document was read."""
    with read_with(PROTOCOL_MAX_ENTRIES=5_000):
        events = check_ways(urlset(b"<url><loc>http://a/</loc></url>" * 5_600))
    assert isinstance(events[-1], Issue)
    assert events[-1].code is IssueCode.OVER_PROTOCOL_LIMIT


PAGE = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Log in</title></head><body><form>'
DOCUMENTS = {
    "urlset": ("urlset", "<url><loc>{}</loc><lastmod>2026-01-01</lastmod></url>"),
    "sitemapindex": ("sitemapindex", "<sitemap><loc>{}</loc></sitemap>"),
    "rss": ("rss", "<item><link>{}</link></item>"),
    "feed": ("feed", '<entry><link href="{}"/></entry>'),
}


@for_each("end", ["", "</form></body></html>"])
@for_each("place", [0, 1, 2])
@for_each("kind", DOCUMENTS)
def test_records_around_a_page_that_is_cut_off(kind: str, place: int, end: str) -> None:
    """Records behind a page in a document are there, also if nothing closes the page."""
    root, record = DOCUMENTS[kind]
    urls = [f"http://a.b/{number}" for number in range(3)]
    records = [record.format(url) for url in urls]
    records.insert(place, PAGE + end)
    xmlns = ' xmlns="http://www.w3.org/2005/Atom"' if root == "feed" else ""
    events = check_ways(f"<{root}{xmlns}>{''.join(records)}</{root}>".encode())
    assert locs(events) == urls
    assert end or IssueCode.NAMESPACE in issues(events)


@pytest.mark.parametrize("attribute", ['xmlns::a="h"', 'xsi::=""', 'a:b:c="d"'])
def test_a_name_with_two_colons_at_the_root(attribute: str) -> None:
    """It is no name (Namespaces in XML, section 4), and is said, although no parser minds it."""
    events = check_ways(f"<urlset {attribute}><url><loc>http://a.b/</loc></url></urlset>".encode())
    assert locs(events) == ["http://a.b/"]
    assert IssueCode.NOT_WELL_FORMED in issues(events)
