"""Feeds in detail: titles in HTML, media types of links, and bases on a channel."""

from __future__ import annotations

import pytest
from reading import FEED, check_ways, locs, read_by_tree

from sitemapreader import UrlEntry

PAGE = "https://a.example/1"
PADDING = b"".join(
    b"<entry><title>%d</title><link href='https://a.example/x%d'/></entry>" % (n, n)
    for n in range(200)
)


def title(written: str) -> str | None:
    """Return the title of an entry, alone and among many."""
    entry = f"<entry>{written}<link href='{PAGE}'/></entry>".encode()
    found = {
        event.title
        for data in (entry, PADDING + entry, entry * 200)
        for event in check_ways(FEED + data + b"</feed>")
        if isinstance(event, UrlEntry) and event.loc == PAGE
    }
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('<title type="html">AT&amp;amp;T</title>', "AT&T"),
        ('<title type="html">Less &amp;lt; more</title>', "Less < more"),
        ('<title type="html">&lt;b&gt;Bold&lt;/b&gt; &amp;#8211; it</title>', "Bold \u2013 it"),
        ('<title type="html"><![CDATA[<i>Caf&eacute;</i>]]></title>', "Caf\xe9"),
        ('<title type="html"><![CDATA[Plain]]></title>', "Plain"),
        ('<title type="html">Plain</title>', "Plain"),
        ("<title type='html'>A&amp;amp;B</title>", "A&B"),
        ('<title type="HTML">A&amp;amp;B</title>', "A&B"),
        ('<title type="text/html" mode="escaped">A&amp;amp;B</title>', "A&B"),
        ('<title type="html">1 &lt; 2</title>', "1 < 2"),
        ('<title type="html">&lt;br/&gt;</title>', None),
        ('<title type="text">AT&amp;amp;T &lt;b&gt;</title>', "AT&amp;T <b>"),
        ("<title>AT&amp;amp;T</title>", "AT&amp;T"),
        ('<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A <b>B</b></div></title>',
         "A B"),
    ],
)  # fmt: skip
def test_a_title_is_text(written: str, expected: str | None) -> None:
    """A title in HTML loses its tags and references; one in text keeps what looks like them."""
    assert title(written) == expected


def test_titles_of_both_kinds_in_one_feed() -> None:
    """Each title is read as what it says it is, however alike the records are."""
    entry = "<entry><title type='{}'>A&amp;amp;B</title><link href='{}'/></entry>"
    written = "".join(entry.format(kind, PAGE) for kind in ("html", "text", "html") * 60)
    for data in (written, written.replace("'", '"')):
        events = check_ways(FEED + data.encode() + b"</feed>")
        titles = [event.title for event in events if isinstance(event, UrlEntry)]
        assert titles == ["A&B", "A&amp;B", "A&B"] * 60


PDF = '<link type="application/pdf" href="https://a.example/1.pdf"/>'


@pytest.mark.parametrize(
    "media_type",
    ["text/html", "text/html; charset=utf-8", "TEXT/HTML", " Text/Html;charset=x", "html"],
)
@pytest.mark.parametrize("links", ["{}" + PDF, PDF + "{}"])
def test_a_page_comes_before_other_types(media_type: str, links: str) -> None:
    """HTML is preferred in any spelling of its media type."""
    page = f'<link rel="alternate" type="{media_type}" href="{PAGE}"/>'
    entry = f"<entry>{links.format(page)}</entry>".encode()
    assert locs(check_ways(FEED + entry * 2 + b"</feed>")) == [PAGE, PAGE]


CHANNEL = "<rss{}><channel{}><title>t</title>{}</channel></rss>"
ITEM = "<item><link>one</link></item>"


@pytest.mark.parametrize(
    ("root", "channel", "items", "expected"),
    [
        ("", ' xml:base="https://b.example/x/"', ITEM, ["https://b.example/x/one"]),
        ("", " xml:base='y/'", ITEM, ["https://h.example/y/one"]),
        (' xml:base="https://c.example/"', ' xml:base="z/"', ITEM, ["https://c.example/z/one"]),
        (' xml:base="https://c.example/"', "", ITEM, ["https://c.example/one"]),
        (
            "",
            ' xml:base="https://b.example/"',
            '<item xml:base="w/"><link>one</link></item>' + ITEM,
            ["https://b.example/w/one", "https://b.example/one"],
        ),
        ("", ' xml:base=""', ITEM, ["https://h.example/one"]),
        ("", ' version="1"', ITEM, ["https://h.example/one"]),
    ],
)
def test_the_base_of_a_channel_holds(
    root: str, channel: str, items: str, expected: list[str]
) -> None:
    """An xml:base on a channel holds for its items, relative to the one around it."""
    assert locs(check_ways(CHANNEL.format(root, channel, items).encode())) == expected


def test_a_base_ends_with_its_element() -> None:
    """Behind a channel its base no longer holds."""
    first = CHANNEL.format("", ' xml:base="https://b.example/"', ITEM).removesuffix("</rss>")
    data = f"{first}<channel>{ITEM}</channel></rss>".encode()
    assert locs(read_by_tree(data)) == ["https://b.example/one", "https://h.example/one"]
    assert locs(check_ways(data)) == ["https://b.example/one", "https://h.example/one"]
