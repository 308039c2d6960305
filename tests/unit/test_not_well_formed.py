"""What is not well-formed is said, also outside of all records; and nothing else is."""

from __future__ import annotations

from unittest import mock

import pytest
from reading import check_ways, issues, locs

from sitemapreader.issues import IssueCode
from sitemapreader.readers import reader as sitemap_reader

NAMESPACE = b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
RECORD = b"<url><loc>https://a.example/</loc></url>"
ITEM = b"<item><link>https://a.example/</link></item>"


def urlset(
    between: bytes = b"", *, before: bytes = b"", root: bytes = b"", end: bytes = b""
) -> bytes:
    """Write a urlset with something between its records, before its root, in it or behind it."""
    start = before + b"<urlset " + NAMESPACE + root + b">"
    return start + RECORD + between + RECORD + (end or b"</urlset>")


def rss(start: bytes, end: bytes) -> bytes:
    """Write a feed of two items."""
    return b"<rss>" + start + ITEM * 2 + end


BROKEN = {
    "attribute-twice": urlset(root=b" a='1' a='2'"),
    "namespace-twice": urlset(root=b" " + NAMESPACE),
    "attribute-without-quotes": urlset(root=b" version=1"),
    "attribute-without-value": urlset(root=b" version"),
    "attributes-without-blank": urlset(root=b" a='1'b='2'"),
    "bare-ampersand": urlset(root=b" a='x&y'"),
    "entity": urlset(root=b" a='&nbsp;'"),
    "name": urlset(root=b" 1a='x'"),
    "name-of-the-root": urlset(end=b"</?:urlset>")
    .replace(b"<urlset", b"<?:urlset")
    .replace(b"?", b"1"),
    "control-in-the-root": urlset(root=b" a='\x01'"),
    "control-before-the-root": urlset(before=b"<!-- \x02 -->"),
    "control-in-an-instruction": urlset(before=b"<?xml-stylesheet \x02 ?>"),
    "control-in-a-comment": urlset(b"<!-- \x03 -->"),
    "control-in-the-first-comment": urlset().replace(b"<url>", b"<!-- \x03 --><url>", 1),
    "control-in-the-last-comment": urlset(end=b"<!-- \x0b --></urlset>"),
    "control-behind-the-root": urlset(end=b"</urlset><!-- \x0b -->"),
    "character-in-a-comment": urlset(b"<!-- \xef\xbf\xbf -->"),
    "hyphens-in-a-comment": urlset(before=b"<!-- a -- b -->"),
    "hyphens-behind-the-root": urlset(end=b"</urlset><!-- a -- b -->"),
    "declaration-quotes": urlset(before=b"<?xml version=\"1.0' encoding='utf-8'?>"),
    "declaration-order": urlset(before=b"<?xml encoding='utf-8' version='1.0'?>"),
    "declaration-without-version": urlset(before=b"<?xml encoding='utf-8'?>"),
    "declaration-standalone": urlset(before=b"<?xml version='1.0' standalone='1'?>"),
    "declaration-capitals": urlset(before=b"<?XML version='1.0'?>"),
    "declaration-twice": urlset(before=b"<?xml version='1.0'?>" * 2),
    "declaration-behind-a-comment": urlset(before=b"<!-- a --><?xml version='1.0'?>"),
    "section-before-the-root": urlset(before=b"<![CDATA[ a ]]>"),
    "section-not-closed": urlset(b"<![CDATA[ a "),
    "section-behind-the-last": urlset(end=b"<![CDATA[ a </urlset>"),
    "section-behind-the-root": urlset(end=b"</urlset><![CDATA[ a ]]>"),
    "comment-behind-the-root": urlset(end=b"</urlset><!-- a"),
    "wrapper": urlset(b"<w>"),
    "wrapper-behind-the-last": urlset(end=b"<w></urlset>"),
    "wrappers-crossed": urlset(b"<w><v></w></v>"),
    "end-tag-with-attributes": urlset(end=b"</urlset a='1'>"),
    "end-tag-of-another": urlset(end=b"</URLSET>"),
    "end-tag-not-closed": urlset(end=b"</urlset"),
    "less-than": urlset(b"<"),
    "less-than-behind-the-last": urlset(end=b" < </urlset>"),
    "end-of-a-section": urlset(b"]]>"),
    "prefix-behind-the-last": urlset(end=b"<image:image/></urlset>"),
    "channel": rss(b"<channel>", b"</rss>"),
    "channel-with-a-title": rss(b"<channel><title>a</title>", b"</rss>"),
    "channel-not-opened": rss(b"", b"</channel></rss>"),
    "channel-crossed": rss(b"<channel><image>", b"</channel></image></rss>"),
}
"""Documents of which every record is well-formed, and the rest is not."""
SOUND = {
    "comments": urlset(
        b"<!-- a - b -->", before=b"<!-- & < -->", end=b"<!----></urlset><!-- > -->"
    ),
    "instructions": urlset(b"<?a?>", before=b"<?xml-stylesheet a?><?b?>", end=b"</urlset><?c d?>"),
    "declaration": urlset(before=b"<?xml version='1.1' encoding=\"gbk\" standalone='no' ?>\n"),
    "doctype": urlset(before=b"<?xml version='1.0'?><!DOCTYPE urlset SYSTEM 'a'><!-- a -->"),
    "sections": urlset(b"<![CDATA[ & ]]]]><![CDATA[> ]]>", end=b"<![CDATA[<]]></urlset>\n"),
    "wrappers": urlset(b"<w><v a='>'/></w>", end=b"<w>&amp;</w></urlset >"),
    "prefixes": urlset(
        b"<w xmlns:a='urn:a'><a:b/></w>", end=b"<b xmlns:a='urn:a' a:c=''/></urlset>"
    ),
    "brace": urlset(root=b" xmlns:b='{}'", end=b"<a xmlns='}'/></urlset>"),
    "brace-in-a-record": urlset(b"<url xmlns:a='}'><loc>https://a.example/</loc></url>"),
    "root": urlset(root=b"\n a='x>y' \t b = \"'\""),
    "deep": urlset(b"<w>" * 80 + b"</w>" * 80, end=b"<w>" * 80 + b"</w>" * 80 + b"</urlset>"),
    "channels": rss(b"<channel>" + ITEM + b"</channel><channel>", b"</channel></rss>"),
    "channel": rss(b"<channel><title>a</title><x/>", b"<y/></channel><z/></rss>"),
    "no-channel": rss(b"", b"</rss>"),
}
HINTS = {IssueCode.DOCTYPE, IssueCode.NAMESPACE}


@pytest.mark.parametrize("block", [64, 4_096])
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_outside_of_records_is_said(name: str, block: int) -> None:
    """Every record is read, by pattern or tree, and an Issue says that something is wrong."""
    with mock.patch.object(sitemap_reader, "BLOCK_BYTES", block):
        for data in (BROKEN[name], BROKEN[name].replace(RECORD, RECORD * 40)):
            events = check_ways(data)
            assert len(locs(events)) == data.count(b"https://a.example/")
            assert set(issues(events)) - HINTS, name


@pytest.mark.parametrize("name", SOUND)
def test_what_is_well_formed_has_no_issue(name: str) -> None:
    """Rare markup that is allowed outside of records is nothing to speak of."""
    for data in (SOUND[name], SOUND[name].replace(RECORD, RECORD * 40)):
        events = check_ways(data)
        assert len(locs(events)) == data.count(b"https://a.example/")
        assert set(issues(events)) <= HINTS
