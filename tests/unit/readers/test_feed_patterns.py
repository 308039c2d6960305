"""Feeds that are read by patterns: each odd thing in one gives the events of the tree."""

from __future__ import annotations

from random import Random
from unittest import mock

import pytest
from each_case import for_each
from reading import check_ways, issues, locs, read

from sitemapreader.issues import IssueCode
from sitemapreader.models import UrlEntry
from sitemapreader.readers import SitemapReader
from sitemapreader.readers.xml.patterns.reader import PatternReader

HEAD = (
    '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="urn:media"'
    ' xmlns:atom="http://www.w3.org/2005/Atom" xmlns:again="urn:media">\n'
)
CHANNEL = (
    "<channel>\n<title>A &amp; B</title><link>https://a.b/</link>\n<!-- a comment -->"
    '<atom:link href="https://a.b/feed" rel="self" type="application/rss+xml" />'
    "<image><url>https://a.b/i.png</url><title>A</title></image>\n"
)
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>A</title><id>a</id>'


def item(number: int, more: str = "") -> str:
    return (
        f"<item>\n <title>Item {number}</title>\n <link>https://a.b/{number}</link>\n"
        f'<guid isPermaLink="false">{number}</guid>{more}'
        f"<pubDate>Tue, 10 Mar 2026 09:00:{number % 60:02} +0000</pubDate>\n"
        "<description><![CDATA[<p>A & B</p>]]></description></item>\n"
    )


def rss(items: str, channel: str = CHANNEL) -> bytes:
    return f"{HEAD}{channel}{items}</channel>\n</rss>\n".encode()


PASSED_OVER = (
    "<category>c</category><category>d</category>",
    "<dc:creator><![CDATA[A & B <]]></dc:creator>",
    "<media:group><media:content a=''><media:title>T</media:title></media:content></media:group>",
    '<enclosure url="https://a.b/e.mp3" length="1" type="audio/mpeg"/>',
    "<author><name>N</name><!-- c --></author>",
    "<summary>&#8217;&#x2019;&#038;&lt;p&gt;&quot;&apos;</summary>",
    "<content xml:lang='en'>one<![CDATA[two]]>three</content>",
    "<media:title>another title</media:title>",
)
ODD = (
    "<category>A & B</category>",
    "<category>A &nbsp; B</category>",
    "<category>&#0;</category>",
    "<category>\x01</category>",
    "<category>\ufffe</category>",
    "<category>]]></category>",
    "<category>c</Category>",
    "<category a='1' a='2'>c</category>",
    "<category media:a='1' again:a='2'>c</category>",
    "<category a='<'>c</category>",
    "<category a=1>c</category>",
    "<category a>c</category>",
    "<category a='1'b='2'>c</category>",
    "<unbound:category>c</unbound:category>",
    "<category unbound:a='1'>c</category>",
    "<category>",
    "</category>",
    "<1category>c</1category>",
    "<category><![CDATA[one <![CDATA[two]]></category>",
    "<category><![CDATA[one</category>",
    "<!-- <![CDATA[ --><category>A &bad; B</category><!-- ]]> -->",
    "<!-- a -- b -->",
    "<a><b><c><d><e>deep</e></d></c></b></a>",
    "<div xmlns='http://www.w3.org/1999/xhtml'><p>p</p></div>",
    "<x:div xmlns:x='urn:x'><x:link>https://a.b/x</x:link></x:div>",
    "<media:item>no item</media:item>",
    "<link>https://a.b/second</link>",
    "<title>another title</title>",
    "<Title>another title</Title>",
    "<updated>2026-03-10</updated>",
    "<dc:date>2026-03-10</dc:date>",
    "<dc:modified>2026-03-10</dc:modified>",
    "<?php echo 1 ?>",
    "text",
    f"<category a='{'x' * 1_001}'>c</category>",
    f"<category {' '.join(f'a{n}={chr(39)}{chr(39)}' for n in range(9))}>c</category>",
)
HEADS = (
    "<channel>",
    "<channel><title>A &nbsp; B</title>",
    "<channel><title>A</title>text",
    '<channel rdf:about="x" xmlns:rdf="urn:r"><title>A</title>',
    "<channel><x:title xmlns:x='urn:x'>A</x:title>",
    "<channel><title>A</title><channel>",
    "<channel><title>A",
    "",
)


@pytest.mark.parametrize("more", PASSED_OVER)
def test_other_elements_are_passed_over(more: str) -> None:
    """An element that no entry needs changes nothing, and the pattern reads the record."""
    assert check_ways(rss(item(1, more) + item(2))) == check_ways(rss(item(1) + item(2)))


@for_each("more", ODD)
def test_an_odd_item_is_read_as_by_the_tree(more: str) -> None:
    """Whatever is odd or broken in one item, events and neighbours are those of the tree."""
    events = check_ways(rss(item(1) + item(2, more) + item(3)))
    assert {"https://a.b/1", "https://a.b/3"} <= set(locs(events))


@pytest.mark.parametrize("channel", HEADS)
def test_an_odd_head_is_read_as_by_the_tree(channel: str) -> None:
    """Whatever stands before the first item, the items are read."""
    events = check_ways(rss(item(1) + item(2), channel))
    assert locs(events) == ["https://a.b/1", "https://a.b/2"]


@pytest.mark.parametrize(
    "end",
    ["</channel></rss>", "</channel></rss> \n", "</rss>", "</channel>", "", "</channel></rss>junk"],
)
def test_an_odd_end_is_read_as_by_the_tree(end: str) -> None:
    """Whatever stands behind the last item, events are those of the tree."""
    check_ways(f"{HEAD}{CHANNEL}{item(1)}{end}".encode())


def test_records_behind_another_root_are_read() -> None:
    """Behind the root of another format, records of both formats come, whatever reads them."""
    other = "<urlset><url><loc>https://a.b/map</loc></url></urlset>"
    first, last = (locs(check_ways(rss(item(number)))) for number in (1, 2))
    assert locs(check_ways(rss(item(1) + other + item(2)))) == [*first, "https://a.b/map", *last]
    assert locs(check_ways(rss(item(1), "<channel><feed><title>A</title>"))) == first


def entry(number: int, links: str, title: str = "<title type='html'>T</title>") -> str:
    return f"<entry>{title}{links}<id>{number}</id><updated>2026-03-10T09:00:00Z</updated></entry>"


@pytest.mark.parametrize(
    "links",
    [
        '<link href="https://a.b/1"/>',
        '<link rel="alternate" type="text/html" href="https://a.b/1" title="x"></link>',
        '<link rel="self" href="https://a.b/s"/>\n<link rel="alternate" href="https://a.b/1"/>',
        '<link href="https://a.b/1"/><author><name/></author><link rel="self" href="x"/>',
        "<link href='https://a.b/1?a=1&amp;b=2'/>",
        "<link>https://a.b/1</link>",
        "",
    ],
)
def test_links_of_atom_are_chosen_as_by_the_tree(links: str) -> None:
    """One link, several, apart, or none: the entry has the URL that the tree chooses."""
    check_ways(f"{ATOM}{entry(1, links)}{entry(2, links)}</feed>".encode())


def test_rss_1_is_read_by_the_pattern() -> None:
    """The root of RSS 1.0 is RDF's, and its items are not: yet no item goes to the tree."""
    items = "".join(
        f'<item rdf:about="https://a.b/{n}"><title>T</title><link>https://a.b/{n}</link></item>'
        for n in range(3)
    )
    data = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        f' xmlns="http://purl.org/rss/1.0/"><channel rdf:about="c"><title>A</title></channel>'
        f"{items}</rdf:RDF>"
    ).encode()
    assert len(locs(check_ways(data))) == 3


def uniform_then_not(count: int) -> bytes:
    odd = item(count, "<category>A &nbsp; B</category>")
    other = "".join(item(n, "<category>c</category>") for n in range(count, 2 * count))
    return rss("".join(map(item, range(count))) + odd + other)


def test_a_long_feed_changes_its_shape() -> None:
    """Uniform items, an odd one, items of another shape: all are there, in order, and once."""
    data = uniform_then_not(400)
    events = check_ways(data)
    numbers = [*range(400), 400, *range(400, 800)]
    assert locs(events) == [f"https://a.b/{number}" for number in numbers]
    assert issues(events) == [IssueCode.HTML_ENTITY]


def test_a_long_feed_is_read_alike_in_any_chunks() -> None:
    """A document that comes at once, or byte by byte at its borders, gives the same events."""
    data = uniform_then_not(150)
    whole = read(data)
    for size in (1_000, 4_095, 4_096, 32_768, 65_535, 65_536):
        reader = SitemapReader("https://h.example/s.xml")
        events = [e for at in range(0, len(data), size) for e in reader.feed(data[at : at + size])]
        assert events + reader.close() == whole


def test_the_pattern_of_uniform_items_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most items of a long uniform feed are found by the pattern of their shape."""
    learnt = []
    learn = PatternReader._learn_uniform

    def spy(reader: PatternReader, *arguments: object) -> object:
        learnt.append(learn(reader, *arguments))  # type: ignore[arg-type]
        return learnt[-1]

    monkeypatch.setattr(PatternReader, "_learn_uniform", spy)
    assert len(read(rss("".join(map(item, range(1_000)))))) == 1_000
    assert sum(map(bool, learnt)) >= len(learnt) - 2 > 2


@pytest.mark.parametrize("count", [1, 40, 4_000])
def test_items_without_a_field_that_is_read(count: int) -> None:
    """Items that are alike and have no link, title or date are dropped, each with its Issue."""
    data = rss("<item><description>d</description></item>" * count + item(1))
    events = check_ways(data)
    assert locs(events) == ["https://a.b/1"]
    assert set(issues(events)) == {IssueCode.MISSING_LOC}


LINKS = (
    '<link href="https://a.b/{}"/>',
    '<link rel="self" href="https://a.b/s"/><link rel="alternate" href="https://a.b/{}&amp;"/>',
    "<link\trel='replies' href='https://a.b/r'/>\n<link title='a\tb' href='https://a.b/{}'></link>",
    '<link href="https://a.b/{}" type="text/plain"/><link href="https://a.b/h" type="text/html"/>',
    '<link rel="" href="https://a.b/{}"/>',
    '<link href="https://a.b/{}" rel="ALTERNATE" hreflang="de"/>',
    '<link x:href="https://a.b/x" href="https://a.b/{}"/>',
    '<link href="https://a.b/{}">text</link>',
    "",
)


@for_each("seed", range(20))
def test_any_mixture_of_links(seed: int) -> None:
    """The URLs of entries whose links differ in number and form are those that the tree finds."""
    random = Random(seed)
    forms = random.sample(LINKS, random.randint(1, len(LINKS)))
    entries = "".join(
        f"<entry><title>t</title>{random.choice(forms).format(number)}</entry>"
        for number in range(random.choice((1, 3, 60)))
    )
    check_ways(f'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:x="x:">{entries}</feed>'.encode())


def test_what_follows_a_root_without_content_is_no_head() -> None:
    """Elements behind a root that is closed at once are reported; the entries there are read."""
    entry = '<entry><link href="https://a.b/1"/></entry>'
    data = f'<feed xmlns="http://www.w3.org/2005/Atom"/><id>i</id><title>t</title>{entry}'
    events = check_ways(data.encode())
    assert locs(events) == ["https://a.b/1"]
    assert IssueCode.TRAILING_BYTES in issues(events)


def test_a_long_body_hides_no_item() -> None:
    """A body longer than several blocks is passed over; the items around it are there."""
    body = f"<content><![CDATA[{'<item>&' * 20_000}]]></content>"
    events = check_ways(rss(item(1) + item(2, body) + item(3)))
    assert locs(events) == [f"https://a.b/{number}" for number in (1, 2, 3)]


def test_a_long_title_is_left_out() -> None:
    """A title past the limit of a field is no title, though the pattern could read it."""
    title = f"<title>{'t' * 70_000}</title>"
    data = rss(item(1) + item(2).replace("<title>Item 2</title>", title))
    first, second = (event for event in check_ways(data) if isinstance(event, UrlEntry))
    assert first.title == "Item 1"
    assert second.title is None


@pytest.mark.parametrize("size", [4, 16])
def test_a_record_that_hides_end_tags_is_tried_once_a_block(size: int) -> None:
    """End tags in the body of a long record do not have it tried more often than blocks come."""
    body = f"<![CDATA[{'</item>' * 4_600}]]>" * size
    data = rss(item(1, f"<content>{body}</content>"))
    patched = mock.patch.object(
        PatternReader, "read", autospec=True, side_effect=PatternReader.read
    )
    with patched as tries:
        assert locs(read(data)) == ["https://a.b/1"]
    assert tries.call_count <= len(data) // 32_768 + 4
