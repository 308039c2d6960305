"""Inputs that once made the fast, the exact and the lenient reader differ, or held them up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from sitemapreader.models import Image, SitemapEntry, UrlEntry
from sitemapreader.options import Limits
from sitemapreader.readers import SitemapReader
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
    "item-in-an-item": b"<rss><channel><item><link>http://a.b/1</link>"
    b"<item><link>http://a.b/2</link></item></item></channel></rss>",
}


@pytest.mark.parametrize("name", ALIKE)
def test_fast_is_exact(name: str) -> None:
    """What the fast reader cannot read as the exact one does, it leaves to that one."""
    events = read(ALIKE[name])
    with mock.patch.object(FastReader, "read", return_value=None):
        assert read(ALIKE[name]) == events


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
