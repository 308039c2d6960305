"""Pattern, tree, lenient parser: a record says the same whichever of them reads it."""

from __future__ import annotations

from random import Random

import pytest
from each_case import for_each
from reading import check_ways, issues, locs, read, url, urlset
from scale import SCALE

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import Alternate, Image, UrlEntry, Video

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


@for_each("seed", range(30))
def test_any_mixture_of_common_records(seed: int) -> None:
    """Records of all kinds, their fields in any order, are read as the tree reads them."""
    random = Random(seed)
    records = [record(random, number) for number in range(random.choice((2, 5, 60)))]
    document = urlset("\n".join(random.choices(records, k=120)).encode())
    events = check_ways(document)
    assert len(events) == 120
    assert all(isinstance(event, UrlEntry) for event in events)


LOC = "<loc>https://a.example/</loc>"


def test_limits_hold_for_patterns() -> None:
    """Attributes are counted, however a record is read."""
    document = urlset(f"<url a='1' b='2'>{LOC}</url>".encode() * 2)
    assert locs(check_ways(document)) == ["https://a.example/"] * 2
    assert any(isinstance(event, Issue) for event in check_ways(document, attributes=1))
    links = urlset(f"<url>{LOC}{LINKS[0] % 1}</url>".encode())
    assert any(isinstance(event, Issue) for event in check_ways(links, attributes=2))


def test_the_values_of_columns() -> None:
    """What the columns of one record with all kinds of extensions come to, written out."""
    fields = [*IMAGES, VIDEOS[0], *LINKS]
    text = "".join(field % 1 for field in fields)
    [entry] = read(urlset(f"<url><loc>https://a.example/</loc>{text}</url>".encode()))
    assert isinstance(entry, UrlEntry)
    assert entry.images == (
        Image("https://i.example/1.jpg"),
        Image("https://i.example/1", "a\n title", license="https://l.example/"),
        Image("https://i.example/1.png"),
    )
    assert entry.videos == (Video(id="t1", duration=12, tags=("a", "b")),)
    assert entry.alternates == (
        Alternate("https://a.example/de/1", "de"),
        Alternate("https://a.example/print/1", media="print"),
        Alternate("https://a.example/1", "fr"),
    )


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("link", ["rel='' href='https://a/'", "", "href=''", "rel='self'"])
def test_odd_links_many_times(link: str, quote: str) -> None:
    """A link that is odd in every record of many has its Issue in every one."""
    link = link.replace("'", quote)
    check_ways(urlset(f"<url>{LOC}<xhtml:link {link}/></url>".encode() * 30))
    entry = f"<entry><link {link}/><link href={quote}https://a.example/{quote}/></entry>"
    check_ways(f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry * 30}</feed>".encode())


ALTERNATE = '<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de/%d"/>'
PICTURE = "<image:image><image:loc>https://i.example/%d</image:loc></image:image>"
ALIKE = {
    "plain": "<url>\n <loc>https://a.example/%d</loc>\n <lastmod>2026-01-01</lastmod>\n</url>\n",
    "images": f"<url><loc>https://a.example/%d</loc>{PICTURE}<priority>0.5</priority></url>",
    "links": f"<url><loc>https://a.example/%d</loc>{ALTERNATE}{ALTERNATE}</url>\r\n",
    "sections": "<url><loc><![CDATA[https://a.example/?a=%d&b]]></loc></url>",
    "references": "<url><loc>https://a.example/&#x3f;a=%d&amp;b&#38;c&apos;</loc></url>",
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


@for_each("name", [*ALIKE, *ATTRIBUTED])
@for_each("odd", ODD)
def test_one_odd_thing_anywhere(name: str, odd: bytes) -> None:
    """Whatever stands at whatever place of a record, what comes out is as the tree has it.

    It is put in, or in the place of as many bytes, in the middle of records that are all alike.
    """
    random = Random(f"{name} {odd!r}")
    template = (ALIKE | ATTRIBUTED)[name]
    data = urlset("".join(template.replace("%d", str(n)) for n in range(12)).encode())
    begin, end = len(data) // 3, 2 * len(data) // 3
    for _ in range(2 * SCALE):
        place = random.randrange(begin, end)
        gone = random.choice((0, len(odd)))
        check_ways(data[:place] + odd + data[place + gone :])


def test_a_name_with_another_meaning() -> None:
    """Once a root inside the root binds a prefix anew, the same markup is another."""
    records = url(b"<x:image><x:loc>https://i.example/</x:loc></x:image>") * 1_000
    image = b"http://www.google.com/schemas/sitemap-image/1.1"
    again = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:x="%b">' % image
    check_ways(urlset(records + again + records + b"</urlset>"))


@pytest.mark.parametrize("blank", [b"\t", b"\n", b"&#10;"])
def test_blanks_in_attributes(blank: bytes) -> None:
    """A line end in an attribute is a blank, but not if it is written as a reference."""
    check_ways(urlset(url(b'<xhtml:link rel="alternate" href="https://a/%b"/>' % blank) * 50))


def test_no_references_to_what_is_no_character() -> None:
    """Among many good references the one that XML forbids is found."""
    bad = url(b"").replace(b"/1<", b"/&#2;<")
    check_ways(urlset(url(b"") * 20 + bad + url(b"") * 20))
    assert any(isinstance(event, Issue) for event in read(urlset(bad)))


def test_an_empty_record_is_none_of_the_next() -> None:
    """A record without anything in it stands for itself, and has its Issue."""
    item = b"<item><link>https://a.example/</link></item>"
    check_ways(b"<rss><channel>" + item * 5 + b"<item/>" + item * 5 + b"</channel></rss>")
    check_ways(urlset(url(b"") * 5 + b"<url/>" + url(b"") * 5))


@pytest.mark.parametrize("behind", ["<!-- a", "<!-- a -- b -->", "x<!-- a -->", "<!-- a --><url/>"])
def test_other_text_behind_the_root_is_no_comment(behind: str) -> None:
    """What is no whole comment behind the root is read as it is in long documents."""
    check_ways(urlset(url(b"")) + behind.encode())


def test_a_small_document_keeps_every_limit() -> None:
    """The short way takes no document whose record has more elements than the caller allows."""
    fields = b"<lastmod>2024-01-02</lastmod><priority>0.5</priority>"
    events = check_ways(urlset(url(fields)), record_elements=2)
    assert issues(events) == [IssueCode.TOO_MANY_ELEMENTS]
    assert locs(check_ways(urlset(url(fields)), record_elements=3)) == ["http://a.b/1"]


@pytest.mark.parametrize("record", ["", "<lastmod>odd</lastmod>", "<x:y/>", "<!-- </url> -->"])
def test_a_broken_comment_says_nothing_of_records(record: str) -> None:
    """A character that XML forbids, in a comment behind a record, is an Issue of the document."""
    comment = b"<!-- \x04 &nbsp; <url></url> -->"
    records = (url(record.encode()) + b"\n" + comment + b"\n") * 3
    for written in (records, records + url(b"<lastmod>odd</lastmod>")):
        events = check_ways(urlset(written))
        assert issues(events).count(IssueCode.NOT_WELL_FORMED) == 1
        assert len(locs(events)) == written.count(b"<loc>")
