"""Texts cut out of markup that has been parsed once: nothing else is ever taken for one."""

from __future__ import annotations

from random import Random
from unittest import mock

import pytest
from reading import FEED, check_fast, locs, read, url, urlset

from sitemapreader.issues import Issue
from sitemapreader.readers import templates
from sitemapreader.readers.tokens import Tokenizer

LINK = '<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de/%d"/>'
IMAGE = "<image:image><image:loc>https://i.example/%d</image:loc></image:image>"
TEMPLATES = {
    "plain": "<url>\n <loc>https://a.example/%d</loc>\n <lastmod>2026-01-01</lastmod>\n</url>\n",
    "images": f"<url><loc>https://a.example/%d</loc>{IMAGE}<priority>0.5</priority></url>",
    "links": f"<url><loc>https://a.example/%d</loc>{LINK}{LINK}</url>\r\n",
    "sections": "<url><loc><![CDATA[https://a.example/?a=%d&b]]></loc></url>",
    "references": "<url><loc>https://a.example/&#x3f;a=%d&amp;b&#38;c&apos;</loc></url>",
}
UNCUT = {
    "xmlns": f"<url xmlns:x='urn:x'><loc>https://a.example/%d</loc>{LINK}</url>",
    "quotes": "<url><loc a='b'>https://a.example/%d</loc><xhtml:link href='https://a.example/'/></url>",
}
"""Whose values of attributes cannot be cut out."""


def document(template: str, count: int = 40) -> bytes:
    records = (template.replace("%d", str(number)) for number in range(count))
    return urlset("".join(records).encode())


@pytest.mark.parametrize("name", TEMPLATES)
def test_markup_is_parsed_once(name: str) -> None:
    """Of hundreds of batches that come out of a template, no more than its markup is parsed."""
    data = document(TEMPLATES[name], 20_000)
    with mock.patch.object(
        Tokenizer, "tokenize", autospec=True, side_effect=Tokenizer.tokenize
    ) as spy:
        events = read(data)
    assert len(locs(events)) == 20_000
    assert len(events) <= 20_000 + 1
    assert sum(len(call.args[1]) for call in spy.call_args_list) < 2_000


ODD = (
    b"<", b">", b"&", b'"', b"'", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"<!-- a -->", b"<?p?>",
    b"\x00", b"\x01", b"\x02", b"\x03", b"\x05", b"\x0b", b"\r", b"\n", b"\t", b"\x7f", b"\xff",
    b"\xc3\xa9", b"\xef\xbf\xbe", b"\xef\xbf\xbd", b"\xed\xa0\x80", b"&#1;", b"&#xFFFE;",
    b"&#xD800;", b"&#10;", b"&#9;", b"&#13;", b"&#65;", b"&#x41;", b"&#99999999;", b"&eacute;",
    b"&lt;", b"&gt;", b"&quot;", b"&amp;amp;", b"&amp", b"gap1", b"<loc>", b"</loc>", b"<x/>",
    b"</url><url>", b"<url/>", b"<url>", b"</url>", b"<![CDATA[<loc>]]>", b'<![CDATA[&amp;"]]>',
    b' a="b"', b" xmlns='urn:y'", b'="', b'">', b"<loc/>", b"<lastmod>2020</lastmod>", b"/", b"{{",
)  # fmt: skip


@pytest.mark.parametrize("name", [*TEMPLATES, *UNCUT])
@pytest.mark.parametrize("odd", ODD)
def test_one_odd_thing_anywhere(name: str, odd: bytes) -> None:
    """Whatever stands at whatever place of a record, what comes out is as the exact reader has it.

    It is put in, or in the place of as many bytes, in the middle of records that are all alike.
    """
    random = Random(f"{name} {odd!r}")
    data = document((TEMPLATES | UNCUT)[name], 12)
    begin, end = len(data) // 3, 2 * len(data) // 3
    for _ in range(4):
        place = random.randrange(begin, end)
        gone = random.choice((0, len(odd)))
        check_fast(data[:place] + odd + data[place + gone :])


def test_templates_are_many_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that all differ are read all the same, and their markup is not kept without end."""
    monkeypatch.setattr(templates, "_MAX_TEMPLATES", 20)
    records = [url(b"\n" * number + b"<priority>1</priority>") for number in range(400)]
    records += [url(b"<priority>1</priority>")] * 4_000
    records.append(url(b"<image:image><image:loc>http://i/</image:loc></image:image>" * 200))
    check_fast(urlset(b"".join(records)))


def test_a_name_with_another_meaning() -> None:
    """Once a root inside the root binds a prefix anew, the same markup is another."""
    records = url(b"<x:image><x:loc>https://i.example/</x:loc></x:image>") * 1_000
    image = b"http://www.google.com/schemas/sitemap-image/1.1"
    again = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="%b">' % image
    check_fast(urlset(records + again + records + b"</urlset>"))


@pytest.mark.parametrize("title", [b"&#8217;", b"<![CDATA[<b>]]>", b'say "no"', b"a > b", b"&x;"])
def test_titles_of_entries(title: bytes) -> None:
    """What a title says is nothing to the link beside it."""
    entry = b"<entry><title>%b</title><link href='https://a.example/'/></entry>" % title
    check_fast(FEED + entry * 50 + entry.replace(b"'", b'"') * 50 + b"</feed>")


@pytest.mark.parametrize("blank", [b"\t", b"\n", b"&#10;"])
def test_blanks_in_attributes(blank: bytes) -> None:
    """A line end in an attribute is a blank, but not if it is written as a reference."""
    check_fast(urlset(url(b'<xhtml:link rel="alternate" href="https://a/%b"/>' % blank) * 50))


def test_no_references_to_what_is_no_character() -> None:
    """Among many good references the one that XML forbids is found."""
    bad = url(b"").replace(b"/1<", b"/&#2;<")
    check_fast(urlset(url(b"") * 20 + bad + url(b"") * 20))
    assert any(isinstance(event, Issue) for event in read(urlset(bad)))


def test_an_empty_record_is_none_of_the_next() -> None:
    """A record without anything in it stands for itself, and has its Issue."""
    item = b"<item><link>https://a.example/</link></item>"
    check_fast(b"<rss><channel>" + item * 5 + b"<item/>" + item * 5 + b"</channel></rss>")
    check_fast(urlset(url(b"") * 5 + b"<url/>" + url(b"") * 5))
