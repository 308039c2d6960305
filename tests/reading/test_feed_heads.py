"""The elements around the records of a feed: read at once if sound, else mended."""

from __future__ import annotations

import pytest

from sitemapreader import Issue, SitemapEntry, SitemapReader, UrlEntry

URL = "https://www.example.org/feed.xml"
ITEMS = """
<item><link>/first</link></item>
<item><link>https://www.example.org/second</link><a:updated>2026-01-02</a:updated></item>
"""
STRAY = "</stray>"
"""An end tag that closes nothing: so the mender reads the head."""
HEADS = {
    "plain": "<channel><title>News</title><link>https://www.example.org/</link>",
    "base in a channel": '<channel xml:base="https://base.example/"><title>News</title>',
    "base that ends": '<x xml:base="https://base.example/"><y/></x><channel>',
    "next page": '<channel><a:link rel="next" href="/page/2"/>',
    "next page of a base": (
        '<channel xml:base="https://base.example/"><a:link rel="next" href="2" xml:base="/b/"/>'
    ),
    "complete": '<channel><fh:complete xmlns:fh="http://purl.org/syndication/history/1.0"/>',
    "prefix for the records": '<channel xmlns:a="https://elsewhere.example/">',
    "no namespace inside": '<y xmlns=""><link/></y><channel>',
    "hidden tags": "<!-- <channel> --><?x <channel> ?><channel><![CDATA[ channel ]]>",
    "markup in a section": "<channel><description><![CDATA[<p>a</p>]]></description>",
    "root in the root": "<channel></channel><feed><link/></feed><channel>",
    "character of no ASCII": '<channel><größe wert="1 > 0"/><title>é</title>',
}


def read_feed(head: str) -> tuple[list[UrlEntry | SitemapEntry], bool]:
    """Return the entries of a feed, and whether it may leave out URLs."""
    reader = SitemapReader(URL)
    document = (
        f'<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom">{head}{ITEMS}'
        "</channel></rss>"
    )
    events = [*reader.feed(document.encode()), *reader.close()]
    entries = [event for event in events if not isinstance(event, Issue)]
    return entries, reader.is_window


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_sound_head_says_what_a_mended_one_says(head: str) -> None:
    """An end tag that closes nothing takes the head to the mender, and changes nothing else."""
    assert read_feed(head) == read_feed(STRAY + head)


def test_a_sound_head_has_its_facts() -> None:
    """Its bases, its next page and its prefixes count for the records."""
    based, is_window = read_feed(HEADS["base in a channel"])
    assert [entry.loc for entry in based] == [
        "https://base.example/first",
        "https://www.example.org/second",
    ]
    assert is_window
    *_, page = read_feed(HEADS["next page of a base"])[0]
    assert isinstance(page, SitemapEntry)
    assert page.loc == "https://base.example/b/2"
    assert not read_feed(HEADS["complete"])[1]
    *_, unbound = read_feed(HEADS["prefix for the records"])[0]
    assert unbound.lastmod is None


def test_titles_with_a_type_are_plain_text() -> None:
    """Jekyll writes so: the title of a record is HTML, whose tags are removed."""
    entry = (
        '<entry><title type="html">A &amp;lt;b&amp;gt; &lt;b&gt;c&lt;/b&gt;</title>'
        '<link href="https://www.example.org/%d"/></entry>'
    )
    reader = SitemapReader(URL)
    body = "".join(entry % number for number in range(3))
    document = f'<feed xmlns="http://www.w3.org/2005/Atom">{body}</feed>'
    events = [*reader.feed(document.encode()), *reader.close()]
    assert [getattr(event, "title", None) for event in events] == ["A <b> c"] * 3
