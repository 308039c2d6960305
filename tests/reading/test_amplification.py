"""Small documents stay small: no text is repeated by all records or media that share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader._read.html import find_hints, parse_links
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.models import UrlEntry
from tests.support.reading import FEED, issues, locs, read, urlset
from tests.support.timing import is_linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader._types.models import Event

PAGE = "https://example.org/"
MEDIA = b'<rss xmlns:media="http://search.yahoo.com/mrss/"><channel><item><link>https://a.b/</link>'
END = b"</item></channel></rss>"
LONG = b"https://a.b/" + b"x" * 3_000 + b"/"
Y = b"y" * 1_500 + b"/"
FEED_IN = b"%s<x xml:base='%s'><z xml:base='%s'>%s</z></x></feed>"


# -- bases


@pytest.mark.parametrize(
    "document",
    [
        b"<urlset xml:base='%s'><url><loc>1</loc></url><url><loc>/2</loc></url></urlset>"
        % LONG,
        b"<rss xml:base='%s'><channel xml:base='x/'><item><link>1</link></item></channel></rss>"
        % LONG,
        FEED + b"<entry xml:base='%s'><link href='1'/></entry></feed>" % LONG,
        FEED + b"<entry><link xml:base='%s' href='1'/></entry></feed>" % LONG,
        FEED_IN % (FEED, Y, Y, b"<entry><link href='1'/></entry>"),
    ],
    ids=["root", "root and channel", "entry", "link", "in all"],
)
def test_no_url_is_resolved_against_a_long_base(document: bytes) -> None:
    """A base that is too long for a URL, by itself or with others, gives none, but an Issue."""
    events = read(document)
    assert locs(events) == []
    assert issues(events)


@pytest.mark.parametrize("element", ["link", "entry", "feed"])
def test_absolute_urls_need_no_base(element: str) -> None:
    """A base that is too long takes only relative URLs; one of common length takes none."""
    link = "<link href='https://a.b/1'/>"
    document = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{link}</entry></feed>"
    with_base = document.replace(
        f"<{element}", f"<{element} xml:base='{LONG.decode()}'", 1
    )
    assert locs(read(with_base.encode())) == ["https://a.b/1"]
    relative = document.replace("https://a.b/1", "1")
    with_base = relative.replace(
        f"<{element}", f"<{element} xml:base='https://a.b/{'c' * 900}/'", 1
    )
    assert locs(read(with_base.encode())) == [f"https://a.b/{'c' * 900}/1"]


def test_records_do_not_repeat_a_base() -> None:
    """Time and events grow with the records, however long their base is."""

    def read_all(size: int) -> int:
        base = b"https://a.b/" + b"x" * size + b"/"
        records = b"<url><loc>1</loc></url>" * (size // 20)
        return len(read(b"<urlset xml:base='%s'>%s</urlset>" % (base, records)))

    assert is_linear(read_all, 16_000, 64_000)


def test_fields_that_are_attributes_have_the_same_limit() -> None:
    """An alternate is a field too: a URL in an attribute is not longer than a field may be."""
    url = f"https://a.b/{'x' * 70_000}"
    events = read(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
        " xmlns:xhtml='http://www.w3.org/1999/xhtml'"
        " xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'>"
        f"<url><loc>https://a.b/1</loc><xhtml:link rel='alternate' href='{url}'/>"
        f"<image:image><image:loc>{url}</image:loc></image:image></url></urlset>".encode()
    )
    (entry,) = (event for event in events if isinstance(event, UrlEntry))
    assert (entry.alternates, entry.images) == ((), ())
    assert issues(events).count(IssueCode.EXTENSION) >= 1


# -- media


def feed_with(shared: bytes, one: bytes) -> Callable[[int], list[Event]]:
    """Return what reads an item of so many media, and fields that they share."""

    def read_item(size: int) -> list[Event]:
        number = size // len(one)
        media = b"".join(one % place for place in range(number))
        # as much again in what they share
        return read(MEDIA + shared % (b"x" * size) + media + END)

    return read_item


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "shared",
    [
        b"<media:title>%s</media:title>",
        b"<media:description type='html'>&lt;p&gt;%s</media:description>",
        b"<media:thumbnail url='https://a.b/%s'/>",
        b"<media:player url='https://a.b/%s'/>",
    ],
    ids=["title", "description", "thumbnail", "player"],
)
@pytest.mark.parametrize(
    "one",
    [
        b"<media:content url='https://a.b/%d.mp4'/>",
        b"<enclosure url='https://a.b/%d.jpg'/>",
        b"<media:group><media:content url='https://a.b/%d.webm'/></media:group>",
    ],
    ids=["content", "enclosure", "group"],
)
def test_media_are_read_in_linear_time(shared: bytes, one: bytes) -> None:
    """Thousands of media of one record, with a long field for all, take time as they are many."""
    read_item = feed_with(shared, one)
    # both are longer than what is read at once
    assert is_linear(read_item, 48_000, 192_000)


def test_media_share_the_fields_of_their_record() -> None:
    """A short title of the record is that of all; a very long one only if they are few."""
    read_item = feed_with(
        b"<media:title>T%.9s</media:title>", b"<enclosure url='/%d.jpg'/>"
    )
    (entry,) = (event for event in read_item(2_000) if isinstance(event, UrlEntry))
    assert {image.title for image in entry.images} == {"Txxxxxxxxx"}
    long = feed_with(
        b"<media:title>%s</media:title>", b"<enclosure url='https://a.b/%d.jpg'/>"
    )
    (few,) = (event for event in long(200) if isinstance(event, UrlEntry))
    assert {image.title for image in few.images} == {"x" * 200}
    events = long(60_000)
    (many,) = (event for event in events if isinstance(event, UrlEntry))
    assert len(many.images) > 1_000
    assert {image.title for image in many.images} == {None}
    assert IssueCode.EXTENSION in issues(events)


# -- attributes of pages


@pytest.mark.parametrize(
    "fill", [" ", "/", "\n", "a ", "a= ", "a /", "=", '="" ', "'", "a='\" ", " ="]
)
def test_tags_of_pages_are_read_in_linear_time(fill: str) -> None:
    """A tag filled with blanks, slashes or attributes takes time as it is long."""

    def find(size: int) -> None:
        tag = f"<link{fill * (size // len(fill))}>"
        find_hints(tag.encode() + b"<link rel=sitemap href=/s.xml>", PAGE, {})

    assert is_linear(find, 20_000, 80_000)


@pytest.mark.parametrize(
    "fill", ["<a>;b", " ", ";", "<a>;b=", '<a>;b="', '<a>;b="\\"', ";a ", "<"]
)
def test_link_headers_are_read_in_linear_time(fill: str) -> None:
    """A header filled with one thing takes time as it is long."""
    assert is_linear(
        lambda size: parse_links("<a>;rel=b" + fill * (size // len(fill))),
        15_000,
        60_000,
    )


# -- sections


@pytest.mark.parametrize(
    "field", ["image:title", "image:caption", "image:geo_location"]
)
def test_sections_that_begin_in_each_other_are_searched_once(field: str) -> None:
    """Extensions whose sections begin before another ends take time as they are long."""
    start = f"<image:image> <{field}>x<![CDATA["

    def read_all(size: int) -> None:
        images = start * (size // len(start)) + f"]]></{field}></image:image>"
        read(urlset(f"<url><loc>https://a.b/1</loc>{images}</url>".encode()))

    assert is_linear(read_all, 15_000, 60_000)


# -- repeated fields


@pytest.mark.parametrize(
    ("field", "slot"),
    [
        (f"<video:tag>{'t' * 80}</video:tag>", "tags"),
        (f"<video:price currency='EUR'>{'1' * 80}</video:price>", "prices"),
    ],
)
def test_fields_that_repeat_are_collected_in_linear_time(field: str, slot: str) -> None:
    """Thousands of values of one field take time as they are many, and all of them are kept.

    They are so long that the tree reads even the fewer ones: the pattern leaves theirs unread.
    """

    def read_all(number: int) -> list[Event]:
        video = (
            f"<video:video><video:title>T</video:title>{field * number}</video:video>"
        )
        return read(urlset(f"<url><loc>https://a.b/1</loc>{video}</url>".encode()))

    (entry,) = (event for event in read_all(9) if isinstance(event, UrlEntry))
    assert len(getattr(entry.videos[0], slot)) == 9
    # both are too long for the pattern, which reads short ones ten times as fast
    assert is_linear(read_all, 6_000, 24_000)
