"""Inputs that once made the fast, the exact and the lenient reader differ, or held them up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Image, SitemapEntry, UrlEntry
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader
from sitemapreader.readers.batches import BatchReader
from sitemapreader.readers.fast import FastReader

if TYPE_CHECKING:
    from sitemapreader.models import Event

URLSET = (
    b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    b' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    b' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    b' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    b' xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:x="urn:x">'
)
FEED = b'<feed xmlns="http://www.w3.org/2005/Atom">'


def urlset(records: bytes) -> bytes:
    return URLSET + records + b"</urlset>"


def url(fields: bytes) -> bytes:
    return b"<url><loc>http://a.b/1</loc>" + fields + b"</url>"


def read(data: bytes, **limits: Any) -> list[Event]:
    reader = SitemapReader("https://h.example/s.xml", limits=Limits(**limits))
    return reader.feed(data) + reader.close()


def issues(events: list[Event]) -> list[IssueCode]:
    return [event.code for event in events if isinstance(event, Issue)]


def locs(events: list[Event]) -> list[str]:
    return [event.loc for event in events if isinstance(event, UrlEntry | SitemapEntry)]


IMAGE = b"<image:image><image:loc>http://i/1</image:loc>"
ALIKE = {
    "text-before-a-date": urlset(url(b"20<lastmod>20-01-01</lastmod>") * 2),
    "text-before-a-priority": urlset(url(b"0.<priority>5</priority>") * 2),
    "cdata-before-a-date": urlset(url(b"<![CDATA[20]]><lastmod>20-01-01</lastmod>") * 2),
    "reference-before-a-date": urlset(url(b"&#50;<lastmod>020-01-01</lastmod>") * 2),
    "tag-in-an-image": urlset(url(IMAGE + b"<video:tag>t</video:tag></image:image>")),
    "loc-before-its-image": urlset(url(b"<image:loc>http://i/1</image:loc><image:image/>")),
    "title-in-another": urlset(
        url(IMAGE + b"<video:title>t</video:title></image:image><video:video></video:video>")
    ),
    "publication-in-an-image": urlset(url(IMAGE + b"<news:publication/></image:image>")),
    "empty-field-of-none": urlset(url(b"<image:loc/>")),
    "upper-case-attribute": urlset(
        url(b'<xhtml:link rel="alternate" href="http://a/" HREF="http://b/"/>')
    ),
    "upper-case-relation": urlset(url(b'<xhtml:link REL="stylesheet" href="http://a/"/>')),
    "atom-relation": FEED
    + b'<entry><link REL="self" href="http://a.b/self"/><link href="http://a.b/1"/></entry></feed>',
    "pieces-of-stray-text": urlset(b"<url>abcdefgh<loc>http://a.b/1</loc>ijklmnop</url>"),
    "blanks-around-stray-text": urlset(
        b"<url>" + b" " * 9 + b"<![CDATA[q]]>   x<loc>a</loc></url>"
    ),
    "blanks": urlset(b"<url>" + b" " * 20 + b"<loc>http://a.b/1</loc><lastmod/></url>"),
    "child-in-a-date": urlset(url(b"<lastmod>20<b/>20</lastmod>")),
    "child-in-a-priority": urlset(url(b"<priority>0<b/>.5</priority>")),
    "child-in-an-image": urlset(url(IMAGE + b"<image:title>a<b/>b</image:title></image:image>")),
    "date-in-a-child": urlset(url(b"<lastmod><b>2020</b></lastmod>")),
    "record-in-a-video": urlset(
        url(b"<video:video><url/><video:title>t</video:title></video:video>")
    ),
    "namespaces-of-a-link": urlset(
        url(
            b'<xhtml:link href="http://a/" xmlns:href="b" xmlns:c="c" xmlns:d="d" xmlns:e="e"'
            b' xmlns:f="f" xmlns:g="g"/>'
        )
    ),
    "item-in-an-item": b"<rss><channel><item><link>http://a.b/1</link>"
    b"<item><link>http://a.b/2</link></item></item></channel></rss>",
}


LENIENT_TOO = (
    "pieces-of-stray-text",
    "blanks-around-stray-text",
    "blanks",
    "child-in-a-date",
    "child-in-a-priority",
    "child-in-an-image",
    "date-in-a-child",
    "record-in-a-video",
    "namespaces-of-a-link",
)
LIMITS = {
    "pieces-of-stray-text": {"field_chars": 12},
    "blanks-around-stray-text": {"field_chars": 12},
    "blanks": {"field_chars": 12},
    "namespaces-of-a-link": {"attributes": 6},
}


@pytest.mark.parametrize("name", ALIKE)
def test_fast_is_exact(name: str) -> None:
    """What the fast reader cannot read as the exact one does, it leaves to that one."""
    limits = LIMITS.get(name, {})
    events = read(ALIKE[name], **limits)
    with mock.patch.object(FastReader, "read", return_value=None):
        assert read(ALIKE[name], **limits) == events


@pytest.mark.parametrize("name", LENIENT_TOO)
def test_lenient_is_exact(name: str) -> None:
    """What is well-formed says the same in a batch that is broken elsewhere."""
    events = read(ALIKE[name], **LIMITS.get(name, {}))
    with (
        mock.patch.object(FastReader, "read", return_value=None),
        mock.patch.object(BatchReader, "_is_heavy", return_value=True),
    ):
        assert read(ALIKE[name], **LIMITS.get(name, {})) == events


def test_stray_text_in_pieces() -> None:
    """Text that nobody asked for costs no record unless a piece of it is longer than a field."""
    document = ALIKE["pieces-of-stray-text"]
    assert locs(read(document, field_chars=12)) == ["http://a.b/1"]
    long = urlset(b"<url>0123456789<!-- -->123<loc>http://a.b/1</loc></url>")
    assert issues(read(long, field_chars=12)) == [IssueCode.FIELD_TOO_LONG]


@pytest.mark.parametrize("name", ["child-in-a-date", "child-in-a-priority", "child-in-an-image"])
def test_a_value_in_pieces_is_none(name: str) -> None:
    """What stands around a child of a field is joined to no value: it is noted, as of a loc."""
    entry, code = read(ALIKE[name])[1], issues(read(ALIKE[name]))
    assert isinstance(entry, UrlEntry)
    assert (entry.lastmod, entry.priority) == (None, None)
    assert [image.title for image in entry.images] == [None] * len(entry.images)
    assert code in ([IssueCode.LASTMOD], [IssueCode.PRIORITY], [IssueCode.EXTENSION])


def test_a_value_in_a_child() -> None:
    """The one text in a field is its value, as it is a loc's, whatever tags stand around it."""
    (entry,) = read(ALIKE["date-in-a-child"])
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
            for event in read(ALIKE["record-in-a-video"].replace(b">t<", b">t" + broken + b"<"))
            if isinstance(event, UrlEntry)
        )
        assert [video.title for video in entry.videos] == ["t" + broken.decode()]


def test_a_salvaged_feed() -> None:
    """Of a feed that was salvaged it is not said as well that it is none."""
    items = b"<item><link>http://a.b/1</link></item>"
    events = read(b"<channel><title>T</title>" + items + b"</channel>")
    assert issues(events) == [IssueCode.FEED_SALVAGED]
    assert locs(events) == ["http://a.b/1"]


def test_depth_is_looked_at() -> None:
    """Who allows less depth than records have gets none of them, in silence neither."""
    assert locs(read(urlset(url(b"")), record_depth=1)) == []


def test_a_tag_is_a_video_s() -> None:
    """A video's tag inside of an image is an element that nobody knows."""
    (entry,) = read(ALIKE["tag-in-an-image"])
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


def test_a_blank_in_a_namespace() -> None:
    """A reference to a tab in the root's namespace is a tab in the records' too."""
    assert locs(read(b'<urlset xmlns="http://x&#9;y"><url><loc>http://a.b/1</loc></url></urlset>'))


@pytest.mark.parametrize(
    "record",
    [
        b"<url><loc>" + b"</x>" * 24_900 + b"</loc></url>",
        url(b"".join(b"<a%d>x</a%d>y" % (n, n) for n in range(7_500))),
        b'<url xmlns:p="'
        + b"u" * 60_000
        + b'"><loc>http://a.b/1</loc>'
        + b"<p:a/>" * 9_000
        + b"</url>",
    ],
    ids=["stray-end-tags", "many-pieces", "long-namespace"],
)
def test_time_is_linear(record: bytes) -> None:
    """100 KB of what once took a second or half a minute."""
    start = time.thread_time()
    read(urlset(record))
    assert time.thread_time() - start < 3


@pytest.mark.parametrize("is_heavy", [False, True])
def test_records_in_a_namespace_of_their_own(is_heavy: bool) -> None:
    """A url whose namespace nobody knows is a url, and it is said once that it should be known."""
    record = b'<url xmlns="urn:%d"><loc>http://a.b/%d</loc></url>'
    records = b"".join(record % (number, number) for number in range(5)) + url(b"")
    for data in (urlset(records), b"<urlset>" + records + b"</urlset>"):
        with mock.patch.object(BatchReader, "_is_heavy", return_value=is_heavy):
            events = read(data)
        assert locs(events) == [f"http://a.b/{number}" for number in (0, 1, 2, 3, 4, 1)]
        codes = [event.code for event in events if isinstance(event, Issue)]
        assert codes == [IssueCode.NAMESPACE]
