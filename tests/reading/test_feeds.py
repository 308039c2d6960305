"""Feeds in detail: titles, media types of links, bases, images and videos."""

from __future__ import annotations

from typing import Any

import pytest
from each_case import for_each
from reading import FEED, check_ways, issues, locs, read

from sitemapreader import Image, IssueCode, UrlEntry, Video

PAGE = "https://a.example/1"


def title(written: str) -> str | None:
    """Return the title of an entry."""
    entry = f"<entry>{written}<link href='{PAGE}'/></entry>".encode()
    (found,) = read(FEED + entry + b"</feed>")
    assert isinstance(found, UrlEntry)
    return found.title


@for_each(
    "written, expected",
    [
        ('<title type="html">&lt;b&gt;Bold&lt;/b&gt; &amp;#8211; it</title>', "Bold \u2013 it"),
        ('<title type="html"><![CDATA[<i>Caf&eacute;</i>]]></title>', "Caf\xe9"),
        ('<title type="html">Plain</title>', "Plain"),
        ('<title type="text/html" mode="escaped">A&amp;amp;B</title>', "A&B"),
        ('<title type="html">1 &lt; 2</title>', "1 < 2"),
        ('<title type="html">&lt;br/&gt;</title>', None),
        ('<title type="text">AT&amp;amp;T &lt;b&gt;</title>', "AT&amp;T <b>"),
        ('<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A <b>B</b></div></title>',
         "A B"),
    ],
)  # fmt: skip
def test_a_title_is_text(written: str, expected: str | None) -> None:
    """A title in HTML loses its tags and references; one in text keeps what looks like them."""
    assert title(written) == expected


CHANNEL = "<rss{}><channel{}><title>t</title>{}</channel></rss>"
ITEM = "<item><link>one</link></item>"


@pytest.mark.parametrize(
    ("root", "channel", "items", "expected"),
    [
        ("", ' xml:base="https://b.example/x/"', ITEM, ["https://b.example/x/one"]),
        (' xml:base="https://c.example/"', ' xml:base="z/"', ITEM, ["https://c.example/z/one"]),
        (
            "",
            ' xml:base="https://b.example/"',
            '<item xml:base="w/"><link>one</link></item>' + ITEM,
            ["https://b.example/w/one", "https://b.example/one"],
        ),
        (
            "",
            ' xml:base="https://b.example/"',
            ITEM + "</channel><channel>" + ITEM,
            ["https://b.example/one", "https://h.example/one"],
        ),
    ],
)
def test_the_base_of_a_channel_holds(
    root: str, channel: str, items: str, expected: list[str]
) -> None:
    """An xml:base on a channel holds for its items, relative to the one around it."""
    assert locs(check_ways(CHANNEL.format(root, channel, items).encode())) == expected


# -- media of feeds: elements of Media RSS and enclosures become images and videos


RSS = (
    '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"'
    ' xmlns:m="http://search.yahoo.com/mrss"><channel><title>t</title>'
    '<media:thumbnail url="https://a.example/feed.png"/>{}</channel></rss>'
)
ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:yt="http://www.youtube.com/xml/schemas/2015"'
    ' xmlns:media="http://search.yahoo.com/mrss/"><title>t</title>{}</feed>'
)

ITEM_MEDIA = f"<item><title>T</title><link>{PAGE}</link>{{}}</item>"
ENTRY = f'<entry><title>T</title><link href="{PAGE}"/>{{}}</entry>'


def read_media(feed: str, record: str, media: str) -> tuple[Any, Any, list[IssueCode]]:
    """Return images, videos and Issues of a record, which are the same for each of two."""
    events = read(feed.format(record.format(media) * 2).encode())
    first, second = (each for each in events if isinstance(each, UrlEntry))
    assert first == second
    assert (first.loc, first.title) == (PAGE, "T")
    return first.images, first.videos, sorted(set(issues(events)))


A_VIDEO = "https://a.example/v.mp4"
THUMBNAIL = '<media:thumbnail url="https://a.example/v.jpg" width="120"/>'


@for_each(
    "media, images, videos",
    [
        ('<media:content url="/p.jpg" medium="image"/>', [Image("/p.jpg")], []),
        ('<media:content url="/p.jpg?w=1&amp;h=2"/>', [Image("/p.jpg?w=1&h=2")], []),
        (
            '<media:content url="/p.jpg" medium="image"><media:title type="html">A &amp;amp; B'
            "</media:title><media:description>D</media:description></media:content>" + THUMBNAIL,
            [Image("/p.jpg", "A & B", "D")],
            [],
        ),
        (
            (
                f'<media:content url="{A_VIDEO}" type="video/mp4" duration="61"/>{THUMBNAIL}'
                "<media:title>V</media:title>"
                "<media:description><![CDATA[D & E]]></media:description>"
                '<media:player url="/play"/>'
            ),
            [],
            [
                Video(
                    thumbnail_loc="https://a.example/v.jpg",
                    title="V",
                    description="D & E",
                    content_loc=A_VIDEO,
                    player_loc="/play",
                    duration=61,
                )
            ],
        ),
        (
            (
                '<media:group><media:content url="/low.mp4"/><media:content url="/high.mp4"'
                ' isDefault="true"/><media:content url="/sound.mp3"/><media:title>G</media:title>'
                "</media:group><media:title>outside</media:title>"
            ),
            [],
            [Video(content_loc="/high.mp4", title="G")],
        ),
        (
            '<media:content url="/v/1" type="application/x-shockwave-flash"/>',
            [],
            [Video(player_loc="/v/1")],
        ),
        (
            f"<enclosure url='{A_VIDEO}' length='1' type='video/mp4'></enclosure>",
            [],
            [Video(content_loc=A_VIDEO)],
        ),
        ('<enclosure url="/a.mp3" length="1" type="audio/mpeg"/>', [], []),
        (
            f'<enclosure url="{A_VIDEO}" type="video/mp4"/><media:content url="{A_VIDEO}"/>',
            [],
            [Video(content_loc=A_VIDEO)],
        ),
        (
            (
                '<media:content url="/1.png"/><guid isPermaLink="false">g</guid>'
                '<media:content url="/2.png"/>'
            ),
            [Image("/1.png"), Image("/2.png")],
            [],
        ),
    ],
)
def test_media_of_an_item(media: str, images: list[Image], videos: list[Video]) -> None:
    """Each kind of media becomes what it is, whichever way its record is read."""
    assert read_media(RSS, ITEM_MEDIA, media) == (tuple(images), tuple(videos), [])


def test_media_of_an_entry() -> None:
    """A group of YouTube and an enclosure of Atom are read in Atom."""
    group = (
        "<yt:videoId>x</yt:videoId><media:group><media:title>V</media:title>"
        '<media:content url="https://www.youtube.com/v/x?version=3"'
        ' type="application/x-shockwave-flash" width="640"/>'
        '<media:thumbnail url="https://i.ytimg.com/vi/x/hqdefault.jpg"/>'
        '<media:community><media:statistics views="9"/></media:community></media:group>'
    )
    video = Video(
        "https://i.ytimg.com/vi/x/hqdefault.jpg",
        "V",
        player_loc="https://www.youtube.com/v/x?version=3",
    )
    assert read_media(ATOM, ENTRY, group) == ((), (video,), [])
    link = f'<link rel="enclosure" type="video/mp4" length="1" href="{A_VIDEO}"/>'
    assert read_media(ATOM, ENTRY, link) == ((), (Video(content_loc=A_VIDEO),), [])


@pytest.mark.parametrize(
    ("media", "images", "videos"),
    [
        ('<media:content url="{{ x }}" medium="image"/>', [], []),
        (
            f'<media:content url="https://" medium="image"/>{THUMBNAIL}',
            [Image("https://a.example/v.jpg")],
            [],
        ),
        (
            '<media:content url="/v.mp4" duration="1:02"/>',
            [],
            [Video(content_loc="/v.mp4")],
        ),
        (
            '<media:content url="/v.mp4"/><media:thumbnail url="https://?"/>',
            [],
            [Video(content_loc="/v.mp4")],
        ),
    ],
)
def test_a_value_that_cannot_be_read_has_an_issue(
    media: str, images: list[Image], videos: list[Video]
) -> None:
    """What is no URL, or no number of seconds, is left out, and that is said."""
    found = read_media(RSS, ITEM_MEDIA, media)
    assert found == (tuple(images), tuple(videos), [IssueCode.EXTENSION])


def rss(items: str) -> bytes:
    return f"<rss><channel><title>A</title>{items}</channel></rss>".encode()


def item(number: int, more: str = "") -> str:
    return f"<item><title>Item {number}</title><link>https://a.b/{number}</link>{more}</item>"


def test_a_long_body_hides_no_item() -> None:
    """A body longer than several blocks is passed over; the items around it are there."""
    body = f"<content><![CDATA[{'<item>&' * 20_000}]]></content>"
    events = read(rss(item(1) + item(2, body) + item(3)))
    assert locs(events) == [f"https://a.b/{number}" for number in (1, 2, 3)]
