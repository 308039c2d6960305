"""What is not well-formed is said, repaired, and costs its own record at most."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from each_case import for_each
from reading import URLSET, check_ways, issues, locs, read, read_with, url, urlset

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.readers import SitemapReader

if TYPE_CHECKING:
    from sitemapreader.models import Event


NAMESPACE = b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
RECORD = b"<url><loc>https://a.example/</loc></url>"
ITEM = b"<item><link>https://a.example/</link></item>"


def wrap(
    between: bytes = b"", *, before: bytes = b"", root: bytes = b"", end: bytes = b""
) -> bytes:
    """Write a urlset with something between its records, before its root, in it or behind it."""
    start = before + b"<urlset " + NAMESPACE + root + b">"
    return start + RECORD + between + RECORD + (end or b"</urlset>")


def rss(start: bytes, end: bytes) -> bytes:
    """Write a feed of two items."""
    return b"<rss>" + start + ITEM * 2 + end


BROKEN = {
    "attribute-twice": wrap(root=b" a='1' a='2'"),
    "namespace-twice": wrap(root=b" " + NAMESPACE),
    "attribute-without-quotes": wrap(root=b" version=1"),
    "attribute-without-value": wrap(root=b" version"),
    "attributes-without-blank": wrap(root=b" a='1'b='2'"),
    "bare-ampersand": wrap(root=b" a='x&y'"),
    "entity": wrap(root=b" a='&nbsp;'"),
    "name": wrap(root=b" 1a='x'"),
    "name-of-the-root": wrap(end=b"</?:urlset>")
    .replace(b"<urlset", b"<?:urlset")
    .replace(b"?", b"1"),
    "control-in-the-root": wrap(root=b" a='\x01'"),
    "control-before-the-root": wrap(before=b"<!-- \x02 -->"),
    "doctype-without-a-name": wrap(before=b'<!DOCTYPE ">'),
    "control-behind-an-instruction": wrap(before=b"<?a ?>\x0b"),
    "blank-of-no-xml-before-the-root": wrap(before="<!-- a -->\u00a0".encode()),
    "control-in-an-instruction": wrap(before=b"<?xml-stylesheet \x02 ?>"),
    "control-in-a-comment": wrap(b"<!-- \x03 -->"),
    "control-in-the-first-comment": wrap().replace(b"<url>", b"<!-- \x03 --><url>", 1),
    "control-in-the-last-comment": wrap(end=b"<!-- \x0b --></urlset>"),
    "control-behind-the-root": wrap(end=b"</urlset><!-- \x0b -->"),
    "character-in-a-comment": wrap(b"<!-- \xef\xbf\xbf -->"),
    "hyphens-in-a-comment": wrap(before=b"<!-- a -- b -->"),
    "hyphens-behind-the-root": wrap(end=b"</urlset><!-- a -- b -->"),
    "declaration-quotes": wrap(before=b"<?xml version=\"1.0' encoding='utf-8'?>"),
    "declaration-order": wrap(before=b"<?xml encoding='utf-8' version='1.0'?>"),
    "declaration-without-version": wrap(before=b"<?xml encoding='utf-8'?>"),
    "declaration-standalone": wrap(before=b"<?xml version='1.0' standalone='1'?>"),
    "declaration-capitals": wrap(before=b"<?XML version='1.0'?>"),
    "declaration-twice": wrap(before=b"<?xml version='1.0'?>" * 2),
    "declaration-behind-a-comment": wrap(before=b"<!-- a --><?xml version='1.0'?>"),
    "section-before-the-root": wrap(before=b"<![CDATA[ a ]]>"),
    "section-not-closed": wrap(b"<![CDATA[ a "),
    "section-behind-the-last": wrap(end=b"<![CDATA[ a </urlset>"),
    "section-behind-the-root": wrap(end=b"</urlset><![CDATA[ a ]]>"),
    "comment-behind-the-root": wrap(end=b"</urlset><!-- a"),
    "wrapper": wrap(b"<w>"),
    "wrapper-behind-the-last": wrap(end=b"<w></urlset>"),
    "wrappers-crossed": wrap(b"<w><v></w></v>"),
    "end-tag-with-attributes": wrap(end=b"</urlset a='1'>"),
    "end-tag-twice": wrap(end=b"</urlset></urlset>"),
    "end-tag-before-a-record": rss(b"<channel>" + ITEM + b"</rss>", b"</channel></rss>"),
    "end-tag-of-another": wrap(end=b"</URLSET>"),
    "end-tag-not-closed": wrap(end=b"</urlset"),
    "less-than": wrap(b"<"),
    "less-than-behind-the-last": wrap(end=b" < </urlset>"),
    "end-of-a-section": wrap(b"]]>"),
    "prefix-behind-the-last": wrap(end=b"<image:image/></urlset>"),
    "channel": rss(b"<channel>", b"</rss>"),
    "channel-with-a-title": rss(b"<channel><title>a</title>", b"</rss>"),
    "channel-not-opened": rss(b"", b"</channel></rss>"),
    "channel-crossed": rss(b"<channel><image>", b"</channel></image></rss>"),
}
"""Documents of which every record is well-formed, and the rest is not."""
SOUND = {
    "comments": wrap(b"<!-- a - b -->", before=b"<!-- & < -->", end=b"<!----></urlset><!-- > -->"),
    "instructions": wrap(b"<?a?>", before=b"<?xml-stylesheet a?><?b?>", end=b"</urlset><?c d?>"),
    "declaration": wrap(before=b"<?xml version='1.1' encoding=\"gbk\" standalone='no' ?>\n"),
    "doctype": wrap(before=b"<?xml version='1.0'?><!DOCTYPE urlset SYSTEM 'a'><!-- a -->"),
    "sections": wrap(b"<![CDATA[ & ]]]]><![CDATA[> ]]>", end=b"<![CDATA[<]]></urlset>\n"),
    "wrappers": wrap(b"<w><v a='>'/></w>", end=b"<w>&amp;</w></urlset >"),
    "prefixes": wrap(b"<w xmlns:a='urn:a'><a:b/></w>", end=b"<b xmlns:a='urn:a' a:c=''/></urlset>"),
    "brace": wrap(root=b" xmlns:b='{}'", end=b"<a xmlns='}'/></urlset>"),
    "brace-in-a-record": wrap(b"<url xmlns:a='}'><loc>https://a.example/</loc></url>"),
    "root": wrap(root=b"\n a='x>y' \t b = \"'\""),
    "deep": wrap(b"<w>" * 80 + b"</w>" * 80, end=b"<w>" * 80 + b"</w>" * 80 + b"</urlset>"),
    "channels": rss(b"<channel>" + ITEM + b"</channel><channel>", b"</channel></rss>"),
    "channel": rss(b"<channel><title>a</title><x/>", b"<y/></channel><z/></rss>"),
    "no-channel": rss(b"", b"</rss>"),
}
HINTS = {IssueCode.DOCTYPE, IssueCode.NAMESPACE}


@for_each("block", [256, 4_096], few=1)
@for_each("name", BROKEN)
def test_what_is_broken_outside_of_records_is_said(name: str, block: int) -> None:
    """Every record is read, by pattern or tree, and an Issue says that something is wrong."""
    with read_with(BLOCK_BYTES=block):
        for data in (BROKEN[name], BROKEN[name].replace(RECORD, RECORD * 40)):
            events = check_ways(data)
            assert len(locs(events)) == data.count(b"https://a.example/")
            assert set(issues(events)) - HINTS, name


@for_each("name", SOUND)
def test_what_is_well_formed_has_no_issue(name: str) -> None:
    """Rare markup that is allowed outside of records is nothing to speak of."""
    for data in (SOUND[name], SOUND[name].replace(RECORD, RECORD * 40)):
        events = check_ways(data)
        assert len(locs(events)) == data.count(b"https://a.example/")
        assert set(issues(events)) <= HINTS


# -- a broken record costs at most itself: what stands beside it is read as if it were not there


FRAMES = {
    "url": (URLSET, b"</urlset>"),
    "item": (b'<rss xmlns:x="urn:x"><channel>', b"</channel></rss>"),
    "entry": (b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:x="urn:x">', b"</feed>"),
}
LINKS = {
    "url": b"<loc>http://a.b/1</loc>",
    "item": b"<link>http://a.b/1</link>",
    "entry": b'<link href="http://a.b/1"/>',
}
HEALTHY = {
    "plain": b"",
    "blank-in-loc": b"",
    "an-element-named-like-a-record": b"<x:a><x:b><NAME><link>http://i/</link></NAME></x:b></x:a>",
    "accents": "<été>5</été><a·b>6</a·b>".encode(),
    "fields-in-fields": b"<x:category><x:title>t</x:title></x:category>",
    "a-date-in-a-date": b"<lastmod><date>2024-01-01</date></lastmod>",
    "a-loc-in-a-date": b"<lastmod><loc>x</loc></lastmod>",
    "no-namespace": b'<foo xmlns="">x</foo>',
    "a-prefix-that-is-always-bound": b"<x:y xml:lang='de'>z</x:y>",
    "sections": b"<x:y><![CDATA[</url></item></entry>]]><!-- </url> --></x:y>",
    "a-long-namespace": b"<y xmlns='" + b"u" * 2_000 + b"'>z</y>",
}
BROKEN_ERROR_ISOLATION = {
    "bare-ampersand": b"<NAME>LINK<x:y>a & b</x:y></NAME>",
    "no-end-tag": b"<NAME>LINK<x:y>a</NAME>",
    "end-tag-of-nothing": b"<NAME>LINK</x:y></NAME>",
    "not-utf-8": b"<NAME>LINK<x:y>\xff</x:y></NAME>",
    "unbound": b"<NAME>LINK<q:y/></NAME>",
    "control": b"<NAME>LINK<x:y>\x01</x:y></NAME>",
    "between": b"& \x02",
}


def record(kind: str, more: bytes, *, is_odd: bool = False) -> bytes:
    link = LINKS[kind].replace(b"/1", b"/1 2") if is_odd else LINKS[kind]
    name = kind.encode()
    return b"<" + name + b">" + link + more.replace(b"NAME", name) + b"</" + name + b">"


def events_of(kind: str, records: bytes) -> list[Event]:
    start, end = FRAMES[kind]
    return read(start + records + end)


def is_general(event: Event) -> bool:
    """Tell whether it says something of the document, and not of a record."""
    return isinstance(event, Issue) and event.code is IssueCode.NOT_WELL_FORMED


BESIDE = [*product(FRAMES, HEALTHY, BROKEN_ERROR_ISOLATION)]


@for_each("kind, healthy, broken", BESIDE, few=len(BESIDE) // 3)
def test_a_healthy_record_beside_a_broken_one(kind: str, healthy: str, broken: str) -> None:
    """Its events are the same, before the broken record and behind it."""
    sound = record(kind, HEALTHY[healthy], is_odd=healthy != "plain")
    damaged = BROKEN_ERROR_ISOLATION[broken].replace(b"LINK", LINKS[kind].replace(b"/1", b"/2"))
    damaged = damaged.replace(b"NAME", kind.encode())
    alone, beside = events_of(kind, sound), events_of(kind, damaged)
    assert locs(alone)
    assert beside
    for records in (sound + damaged, damaged + sound, sound + damaged + sound):
        others = [e for e in events_of(kind, records) if e not in beside and not is_general(e)]
        assert others == alone * records.count(sound)


@pytest.mark.parametrize("where", ["between", "within"])
@pytest.mark.parametrize("count", [2, 3_000])
def test_an_instruction_that_nothing_ends(where: str, count: int) -> None:
    """It costs what stands before the next tag, and is told."""
    odd = url(b"<?php echo $x; ") if where == "within" else b"<?php echo $x; "
    data = URLSET + odd + url(b"") * count + b"</urlset>"
    reader = SitemapReader("https://h.example/s.xml")
    events = reader.feed(data) + reader.close()
    assert len(locs(events)) == count + (where == "within")
    assert reader.stats.records == len(locs(events))
    assert set(reader.stats.counts) <= {IssueCode.NOT_WELL_FORMED, IssueCode.TEMPLATE}
    assert reader.stats.counts[IssueCode.NOT_WELL_FORMED] == 1


@pytest.mark.parametrize("typo", [b"<!-- x ->", b"<!-- x --!>", b"<!-- x"])
def test_a_comment_that_nothing_ends(typo: bytes) -> None:
    """If the root ends behind it, it ends before the next record; if not, the document was cut."""
    start = URLSET + url(b"") + typo
    assert locs(read(start + url(b"") + b"</urlset>")) == ["http://a.b/1"] * 2
    within = URLSET + url(typo) + url(b"") + b"</urlset>"
    assert locs(read(within)) == ["http://a.b/1"] * 2
    cut = read(start + url(b""))
    assert (locs(cut), issues(cut)) == (["http://a.b/1"], [IssueCode.TRUNCATED])


def test_end_tags_behind_an_empty_root_are_said() -> None:
    """A root that is closed at once is empty; what else ends behind it is not well-formed."""
    found = issues(read(FRAMES["entry"][0].replace(b">", b"/>") + b"</entry></feed>"))
    assert set(found) == {IssueCode.EMPTY, IssueCode.NOT_WELL_FORMED}


@pytest.mark.parametrize("reference", [b"&#0000000000101;", b"&#x0000000000065;"])
def test_a_reference_with_many_zeros(reference: bytes) -> None:
    """It means the same in a record that is mended."""
    record = b"<url><loc>https://a.example/" + reference + b"</loc>%b</url>"
    for broken in (b"", b"&b", b"<lastmod>"):
        assert locs(read(urlset(record % broken))) == ["https://a.example/e"]


@pytest.mark.parametrize("reference", [b"&#xD800;", b"&#xFFFE;", b"&#x110000;", b"&#0;"])
def test_a_reference_to_no_character_is_said(reference: bytes) -> None:
    """XML has no such reference."""
    events = read(urlset(url(b"<x>" + reference + b"</x>")))
    assert locs(events) == ["http://a.b/1"]
    assert issues(events)
