"""A broken record costs at most itself: what stands beside it is read as if it were not there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest
from reading import URLSET, issues, locs, read, url

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.readers import SitemapReader
from sitemapreader.readers.xml.tree import TreeReader

if TYPE_CHECKING:
    from sitemapreader.models import Event

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
BROKEN = {
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


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("healthy", HEALTHY)
@pytest.mark.parametrize("kind", FRAMES)
def test_a_healthy_record_beside_a_broken_one(kind: str, healthy: str, broken: str) -> None:
    """Its events are the same, before the broken record and behind it."""
    sound = record(kind, HEALTHY[healthy], is_odd=healthy != "plain")
    damaged = BROKEN[broken].replace(b"LINK", LINKS[kind].replace(b"/1", b"/2"))
    damaged = damaged.replace(b"NAME", kind.encode())
    alone, beside = events_of(kind, sound), events_of(kind, damaged)
    assert locs(alone)
    assert beside
    for records in (sound + damaged, damaged + sound, sound + damaged + sound):
        others = [e for e in events_of(kind, records) if e not in beside and not is_general(e)]
        assert others == alone * records.count(sound)


def test_many_broken_records_among_healthy_ones() -> None:
    """Every healthy record is read exactly, wherever the broken ones stand."""
    odd = b"<url><loc>http://a.b/1 2</loc><lastmod><loc>x</loc></lastmod></url>"
    for distance in (2, 3, 7, 30):
        records = [url(b"<q:y/>") if at % distance == 0 else odd for at in range(120)]
        events = read(URLSET + b"".join(records) + b"</urlset>")
        assert len(locs(events)) == 120
        assert locs(events).count("http://a.b/1 2") == records.count(odd)


def test_broken_records_are_found_in_linear_time() -> None:
    """However many records are broken, each is tried a bounded number of times."""
    records = b"<url>&</url><url/><url></url>" * 1_000
    with mock.patch.object(TreeReader, "parse", autospec=True, side_effect=TreeReader.parse) as spy:
        events = read(URLSET + records + b"</urlset>")
    assert sum(len(call.args[1]) for call in spy.call_args_list) < 20 * len(records)
    assert {event.code for event in events if isinstance(event, Issue)} == {
        IssueCode.MALFORMED,
        IssueCode.BARE_AMPERSAND,
        IssueCode.MISSING_LOC,
    }


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


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_from_the_first(line_end: str) -> None:
    """The head has lines as well, however they end."""
    lines = ["<?xml version='1.0'?>", "<urlset>", "<url><loc>/a</loc></url>", "</urlset>"]
    events = read(line_end.join(lines).encode())
    assert {event.line for event in events if isinstance(event, Issue)} == {None, 3}
