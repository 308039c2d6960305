"""Pattern and tree: a record says the same whichever of them reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING, TypeVar

import pytest

from sitemapreader import Issue, IssueCode, SitemapReader
from sitemapreader._read.xml.batches import find_record
from sitemapreader._types.models import UrlEntry
from sitemapreader.records import Extra
from tests.support.reading import (
    URLSET,
    check_ways,
    count_issues,
    locs,
    urlset,
)
from tests.support.scale import SCALE

if TYPE_CHECKING:
    from collections.abc import Generator

T = TypeVar("T")

IMAGES = (
    "<image:image><image:loc>https://i.example/%d.jpg</image:loc></image:image>",
    (
        "<image:image><image:title> a\n title </image:title><image:loc>https://i.example/%d</image:loc>"
        "<image:license>https://l.example/</image:license></image:image>"
    ),
    (
        "<image:image><image:loc>https://i.example/%d.png</image:loc><image:title> </image:title>"
        "</image:image>"
    ),
)
VIDEOS = (
    (
        "<video:video><video:tag>a</video:tag><video:id>t%d</video:id><video:tag> </video:tag>"
        "<video:tag>b</video:tag><video:duration>12</video:duration></video:video>"
    ),
    (
        "<video:video><video:publication_date>2026-01-0%d</video:publication_date><video:live/>"
        "<video:family_friendly>no</video:family_friendly><video:rating>4.5</video:rating></video:video>"
    ),
    "<video:video/>",
)
NEWS = (
    (
        "<news:news><news:publication><news:name>n</news:name><news:language>en</news:language>"
        "</news:publication><news:publication_date>2026-01-0%dT10:00Z</news:publication_date>"
        "<news:title>t</news:title></news:news>"
    ),
)
LINKS = (
    '<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de/%d"/>',
    '<xhtml:link rel="alternate" media="print" href="https://a.example/print/%d"/>',
    '<xhtml:link href="https://a.example/%d" hreflang="fr" rel="ALTERNATE"></xhtml:link>',
)
OWN = (
    "<lastmod>2026-02-0%d</lastmod>",
    "<lastmod> 2026-02-0%dT10:00:00+02:00 </lastmod>",
    "<changefreq>Daily</changefreq>",
    "<changefreq/>",
    "<priority> </priority>",
    "<priority>0.%d</priority>",
)


def record(random: Random, number: int) -> str:
    """Make a plain record with any of the fields, in any order."""
    digit = number % 9 + 1
    fields = [f"<loc>https://a.example/{number}</loc>"]
    fields += random.sample(OWN[:2], random.randrange(2))
    fields += random.sample(OWN[2:4], random.randrange(2))
    fields += random.sample(OWN[4:], random.randrange(2))
    fields += random.sample(NEWS, random.randrange(2))
    for many in (IMAGES, VIDEOS, LINKS):
        fields += random.choices(many, k=random.choice((0, 0, 1, 3)))
    random.shuffle(fields)
    blank = random.choice(("", "\n  "))
    text = blank.join(field % digit if "%d" in field else field for field in fields)
    return f"<url>{blank}{text}{blank}</url>"


@pytest.mark.cases(8)
@pytest.mark.parametrize("seed", range(30))
def test_any_mixture_of_common_records(seed: int) -> None:
    """Records of all kinds, their fields in any order, are read as the tree reads them."""
    random = Random(seed)
    records = [record(random, number) for number in range(random.choice((2, 5, 60)))]
    document = urlset("\n".join(random.choices(records, k=120)).encode())
    events = check_ways(document)
    assert len(events) == 120
    assert all(isinstance(event, UrlEntry) for event in events)


ALTERNATE = '<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de/%d"/>'
PICTURE = "<image:image><image:loc>https://i.example/%d</image:loc></image:image>"
ALIKE = {
    "plain": "<url>\n <loc>https://a.example/%d</loc>\n <lastmod>2026-01-01</lastmod>\n</url>\n",
    "images": f"<url><loc>https://a.example/%d</loc>{PICTURE}<priority>0.5</priority></url>",
    "links": f"<url><loc>https://a.example/%d</loc>{ALTERNATE}{ALTERNATE}</url>\r\n",
    "sections": "<url><loc><![CDATA[https://a.example/?a=%d&b]]></loc></url>",
    "references": "<url><loc>https://a.example/&#x3f;a=%d&amp;b&#38;c&apos;</loc></url>",
}
PLAIN = (
    "<url>\n <loc>https://a.example/%d</loc>\n <lastmod>2026-01-01</lastmod>\n</url>\n"
)
NEARLY_PLAIN = {
    "a day that no month has": "<url><loc>https://a.example/x</loc><lastmod>2026-02-30</lastmod></url>",
    "another order": "<url><priority>0.5</priority><loc>https://a.example/x</loc></url>",
    "a field twice": "<url><loc>https://a.example/x</loc><priority>1</priority><priority>1</priority></url>",
    "a priority above 1": "<url><loc>https://a.example/x</loc><priority>1.01</priority></url>",
    "a short priority": "<url><loc>https://a.example/x</loc><priority>.5</priority></url>",
    "a long priority": "<url><loc>https://a.example/x</loc><priority>0.500</priority></url>",
    "a word in capitals": "<url><loc>https://a.example/x</loc><changefreq>Daily</changefreq></url>",
    "an empty date": "<url><loc>https://a.example/x</loc><lastmod></lastmod></url>",
    "a year": "<url><loc>https://a.example/x</loc><lastmod>2026</lastmod></url>",
    "blanks in a date": "<url><loc>https://a.example/x</loc><lastmod> 2026-01-01 </lastmod></url>",
    "digits of another script": "<url><loc>https://a.example/x</loc><lastmod>\uff12026-01-01</lastmod></url>",
    "a blank in a URL": "<url><loc>https://a.example/x y</loc></url>",
    "blanks around a URL": "<url><loc>\n https://a.example/x </loc></url>",
    "a URL in capitals": "<url><loc>HTTPS://a.example/x</loc></url>",
    "a URL without a host": "<url><loc>https:///x</loc></url>",
    "a long URL": f"<url><loc>https://a.example/{'x' * 2030}</loc></url>",
    "a template": "<url><loc>https://a.example/{{ x }}</loc></url>",
    "a relative URL": "<url><loc>/x</loc></url>",
    "letters in a URL": "<url><loc>https://a.example/é</loc></url>",
    "lost letters in a URL": "<url><loc>https://a.example/\ufffd</loc></url>",
    "a control character": "<url><loc>https://a.example/\x01</loc></url>",
    "no character of XML": "<url><loc>https://a.example/\uffff</loc></url>",
    "the end of a section": "<url><loc>https://a.example/]]></loc></url>",
    "a section": "<url><loc><![CDATA[https://a.example/x]]></loc></url>",
    "a reference": "<url><loc>https://a.example/?x&amp;y</loc></url>",
    "an ampersand": "<url><loc>https://a.example/?x&y</loc></url>",
    "no URL": "<url><lastmod>2026-01-01</lastmod></url>",
    "an attribute": "<url id='1'><loc>https://a.example/x</loc></url>",
    "an image": "<url><loc>https://a.example/x</loc><image:image><image:loc>https://i.example/</image:loc></image:image></url>",
    "a comment in a record": "<url><!-- x --><loc>https://a.example/x</loc></url>",
    "a comment": "<!-- x -->",
    "hyphens in a comment": "<!-- a -- b -->",
    "a control character in a comment": "<!-- \x01 -->",
    "letters in a comment": "<!-- é -->",
    "a record in a comment": "<!-- <url><loc>https://a.example/x</loc></url> -->",
    "a text": "x",
    "an end tag": "</url>",
    "the end": "</urlset>",
}
ATTRIBUTED = {
    "xmlns": f"<url xmlns:x='urn:x'><loc>https://a.example/%d</loc>{ALTERNATE}</url>",
    "quotes": "<url><loc a='b'>https://a.example/%d</loc><xhtml:link href='https://a.example/'/></url>",
}


ODD = (
    b"<", b">", b"&", b'"', b"'", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"<!-- a -->", b"<?p?>",
    b"\x00", b"\x01", b"\x02", b"\x03", b"\x05", b"\x0b", b"\r", b"\n", b"\t", b"\x7f", b"\xff",
    b"\xc3\xa9", b"\xef\xbf\xbe", b"\xef\xbf\xbd", b"\xed\xa0\x80", b"&#1;", b"&#xFFFE;",
    b"&#xD800;", b"&#10;", b"&#9;", b"&#13;", b"&#65;", b"&#x41;", b"&#99999999;", b"&eacute;",
    b"&lt;", b"&gt;", b"&quot;", b"&amp;amp;", b"&amp", b"gap1", b"<loc>", b"</loc>", b"<x/>",
    b"</url><url>", b"<url/>", b"<url>", b"</url>", b"<![CDATA[<loc>]]>", b'<![CDATA[&amp;"]]>',
    b' a="b"', b" xmlns='urn:y'", b'="', b'">', b"<loc/>", b"<lastmod>2020</lastmod>", b"/", b"{{",
)  # fmt: skip


ANYWHERE = [(name, odd) for odd in ODD for name in (*ALIKE, *ATTRIBUTED)]


def test_one_odd_thing_anywhere(thorough: bool, subtests: pytest.Subtests) -> None:
    """Whatever stands at whatever place of a record, what comes out is as the tree has it.

    It is put in, or in the place of as many bytes, in the middle of records that are all alike.
    """
    for name, odd in ANYWHERE if thorough else ANYWHERE[::5]:
        with subtests.test(name=name):
            random = Random(f"{name} {odd!r}")
            template = (ALIKE | ATTRIBUTED)[name]
            data = urlset(
                "".join(template.replace("%d", str(n)) for n in range(12)).encode()
            )
            begin, end = len(data) // 3, 2 * len(data) // 3
            for _ in range(SCALE):
                place = random.randrange(begin, end)
                gone = random.choice((0, len(odd)))
                check_ways(data[:place] + odd + data[place + gone :])


# -- Issues that are counted, but not shown

SYSTEMATIC = {
    "bare ampersands": ("<loc>https://a.example/?a=%d&b&c</loc>", "bare-ampersand", 1),
    "ampersands in two fields": (
        "<loc>https://a.example/?a=%d&b</loc><lastmod>x&y</lastmod>",
        "bare-ampersand lastmod",
        1,
    ),
    "entities": ("<loc>https://a.example/&eacute;%d</loc>", "html-entity", 1),
    "bad dates": ("<loc>https://a.example/%d</loc><lastmod>0%d/0%d/2026</lastmod>", "lastmod", 1),
    "other values": (
        "<loc>https://a.example/%d</loc><changefreq>often</changefreq><priority>7</priority>",
        "changefreq priority",
        1,
    ),
    "relative": ("<loc>/%d</loc>", "relative-loc", 1),
    "blanks": ("<loc>https://a.example/%d x</loc>", "url-characters", 1),
    "no URL": ("<loc>https:///%d</loc><lastmod>never</lastmod>", "malformed", 0),
    "repeated": (
        "<loc>https://a.example/%d</loc><lastmod>x</lastmod><lastmod>y</lastmod>",
        "repeated-field lastmod",
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SYSTEMATIC)
def test_an_issue_of_each_record_is_counted_in_each(name: str) -> None:
    """Ten Issues of a code are shown, and the others are counted once a record."""
    fields, codes, entries = SYSTEMATIC[name]
    size = 1_000
    records = (
        f"<url>{fields.replace('%d', str(number % 9 + 1))}</url>"
        for number in range(size)
    )
    document = urlset("\n".join(records).encode())
    events = check_ways(document)
    assert len(events) == size * entries + 10 * len(codes.split())
    assert count_issues(document) == dict.fromkeys(codes.split(), size)


@pytest.mark.parametrize("number", [1, 3, 12, 150])
@pytest.mark.parametrize("base", ["", "https://b.example/c/", "../d/"])
@pytest.mark.parametrize("odd", ["", "<url><loc/></url>", "<url><loc>x y</loc></url>"])
def test_a_relative_url_has_its_line_and_base(odd: str, base: str, number: int) -> None:
    """Each of the first ten is told with its line, whatever stands between them."""
    record = f"<url><loc>https://a.example/</loc></url>\n\n<url>\n<loc> e </loc></url>{odd}\n"
    document = URLSET.replace(b">", f' xml:base="{base}">'.encode())
    document += record.encode() * number + b"</urlset>"
    events = check_ways(document)
    issues = [event for event in events if isinstance(event, Issue)]
    told = [issue.line for issue in issues if issue.code is IssueCode.RELATIVE_LOC]
    size = record.count("\n")
    first = document[: document.index(b"<loc> e")].count(b"\n")
    if "x y" not in odd:
        assert told == [first + size * place for place in range(min(number, 10))]
    assert count_issues(document)[IssueCode.RELATIVE_LOC] >= number


@pytest.mark.parametrize(
    "written",
    [
        "<description>%s</description>",
        "<description a='>'>%s</description>",
        "<description><![CDATA[%s]]></description>",
        "<description><!--%s--></description>",
    ],
)
def test_a_long_text_is_read_in_long_steps(written: str) -> None:
    """A record is not mended, in steps of 4 KiB, because a text in it is long."""
    text = "a long text, " * 10_000
    field = written.replace("%s", text)
    record = f"<item><link>https://a.example/1</link>{field}</item>"
    document = f"<rss><channel>{record}</channel></rss>".encode()
    reader = SitemapReader()
    steps = [*reader.feed_steps(document), *reader.close_steps()]
    assert len(steps) < len(text) / 6_000
    assert reader.stats.delivered == 1


def test_a_long_text_needs_no_issue_that_a_short_one_does_not() -> None:
    """An element in it closes nothing, because the record is well-formed."""
    field = "<description>%s<guid>https://a.example/2</guid></description>"
    for size in (1, 10_000):
        text = field.replace("%s", "text, " * size)
        record = f"<item>{text}<link>https://a.example/1</link></item>"
        document = f"<rss><channel>{record}</channel></rss>".encode()
        assert locs(check_ways(document)) == ["https://a.example/1"]
        assert count_issues(document) == {}


@pytest.mark.parametrize("written", ['<x a="%s">', "<x %s a='>'>", "<x a='%s>"])
def test_a_long_tag_is_mended(written: str) -> None:
    """It says the same as a short one that is broken, or not, in the same way."""
    for size in (10, 40_000):
        field = written.replace("%s", "b" * size)
        record = f"<item><link>https://a.example/1</link>{field}</x></item>"
        document = f"<rss><channel>{record}</channel></rss>".encode()
        assert locs(check_ways(document)) == ["https://a.example/1"]


def test_a_section_that_is_not_closed_ends_with_its_record() -> None:
    """Its record is mended, though its Issue is only counted by then."""
    record = (
        "<url><loc>https://a.example/%d</loc><lastmod><![CDATA[x]></lastmod></url>"
        "<url><loc>https://a.example/b</loc><lastmod><![CDATA[y]]></lastmod></url>"
    )
    records = "".join(record.replace("%d", str(number)) for number in range(500))
    document = urlset(records.encode())
    assert len(locs(check_ways(document))) == 1_000
    assert count_issues(document) == {"mismatched-tag": 500, "lastmod": 1_000}


@pytest.mark.parametrize("number", [1, 300])
@pytest.mark.parametrize(
    ("link", "loc"),
    [
        ("<link xml:base='https://b.example/c/' href='1'/>", "https://b.example/c/1"),
        ("<link href='https://b.example/1'><x/></link>", "https://b.example/1"),
        ("<link x='y' href='https://b.example/1'/>", "https://b.example/1"),
        (
            "<link href='https://b.example/1'/><link href='https://b.example/2'/>",
            "https://b.example/1",
        ),
        (
            "<link rel='self' href='/2'/><link href='https://b.example/1'/>",
            "https://b.example/1",
        ),
    ],
)
def test_an_entry_with_an_odd_link_has_its_url(
    link: str, loc: str, number: int
) -> None:
    """A base, another attribute or an element in a link is read as the tree reads it."""
    entry = f"<entry>{link}<updated>2026-01-01T00:00:00Z</updated></entry>"
    feed = f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry * number}</feed>"
    assert locs(check_ways(feed.encode())) == [loc] * number


@pytest.mark.parametrize("number", [1, 300])
@pytest.mark.parametrize(
    ("image", "issues"),
    [
        ("<image:loc>https://i.example/1</image:loc>", {}),
        ("<image:loc></image:loc>", {"extension": 1}),
        ("<image:loc> </image:loc><image:title>t</image:title>", {"extension": 1}),
        ("<image:loc>https://i.example/1</image:loc><image:license/>", {}),
        ("<image:title>t</image:title>", {"extension": 1}),
    ],
)
def test_an_image_needs_its_url_and_nothing_else(
    image: str, issues: dict[str, int], number: int
) -> None:
    """An empty loc is as none: the image is an Issue, and the URL of the page is delivered."""
    record = (
        f"<url><loc>https://a.example/1</loc><image:image>{image}</image:image></url>"
    )
    document = urlset((record * number).encode())
    assert len(locs(check_ways(document))) == number
    assert count_issues(document) == {
        code: count * number for code, count in issues.items()
    }


# -- the switch in the environment that turns the patterns off

TAGS = """<url ><loc>https://a.b/1</loc><x></url
   ><url><loc>https://a.b/2</loc><!-- <url> --><b/></x></url><url
   a='1' b = "2"><loc>https://a.b/3</loc><y><![CDATA[</url>]]></url><url c = '3'  d='4' />"""


def find_spans(text: str, step: int) -> list[object]:
    """Find the records of a text; return where each begins and ends, and whether it is cut."""
    spans: list[object] = []
    position = 0
    while True:
        found = run_to_end(find_record(text, position, frozenset({"url"}), step))
        if found is None:
            return spans
        spans.append(found)
        (_, position), _ = found


def run_to_end(steps: Generator[object, None, T]) -> T:
    """Return what a generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value


@pytest.mark.parametrize("step", [1, 2, 5, 11, 23, 47, 95])
def test_tags_are_found_wherever_a_step_of_the_search_ends(step: int) -> None:
    """A long record is searched by steps, and each may end inside of any tag."""
    usual = find_spans(TAGS, len(TAGS))
    assert find_spans(TAGS, step) == usual
    assert len(usual) == 4


def test_a_line_end_in_a_namespace_is_one_blank() -> None:
    """It is one character, however it is written (XML 1.0, sections 2.11 and 3.3.3)."""
    for end in (b"\n", b"\r", b"\r\n"):
        root = URLSET.replace(b">", b" xmlns:new='urn:a" + end + b"b'>")
        *_, entry = check_ways(
            root + b"<url><loc>https://a.example/</loc><new:y>z</new:y></url></urlset>"
        )
        assert isinstance(entry, UrlEntry)
        assert entry.extras == (Extra("urn:a b", "y", "z"),)


@pytest.mark.parametrize("name", NEARLY_PLAIN)
@pytest.mark.parametrize("places", [(0,), (3,), (6,), (1, 2, 5)])
def test_what_is_nearly_plain_among_plain_records(
    name: str, places: tuple[int, ...]
) -> None:
    """Plain records around one that is not plain change nothing of what the tree reads."""
    records = [PLAIN % number for number in range(6)]
    for place in reversed(places):
        records.insert(place, NEARLY_PLAIN[name])
    document = urlset("".join(records).encode())
    assert {f"https://a.example/{number}" for number in range(6)} <= {
        *locs(check_ways(document))
    } or name == "the end"
    index = document.replace(b"urlset", b"sitemapindex").replace(b"url>", b"sitemap>")
    check_ways(index)


CODE = """
from unittest import mock
from sitemapreader._read import SitemapReader
from sitemapreader._read.xml import patterns

take = patterns.take_plain_records
for count in (2, 3_000):
    records = "".join(f"<url><loc>https://a.b/{number}</loc></url>" for number in range(count))
    with mock.patch.object(patterns, "take_plain_records", side_effect=take) as tried:
        reader = SitemapReader("https://a.b/sitemap.xml")
        events = reader.feed(f"<urlset>{records}</urlset>".encode()) + reader.close()
    print(len(events) - 1, tried.called)
"""
"""The first event is the Issue of the missing namespace."""


@pytest.mark.parametrize(("switch", "is_used"), [("off", False), (None, True)])
def test_the_switch_has_all_records_read_by_the_tree(
    switch: str | None, *, is_used: bool
) -> None:
    """`SITEMAPREADER_PATTERNS=off` reads small and large documents, and tries no pattern."""
    variables = {n: v for n, v in os.environ.items() if n != "SITEMAPREADER_PATTERNS"}
    if switch:
        variables["SITEMAPREADER_PATTERNS"] = switch
    words = [sys.executable, "-c", CODE]
    done = subprocess.run(
        words, env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2", str(is_used), "3000", str(is_used)]
