"""Records as generators and templates write them, and as nobody should."""

from __future__ import annotations

from typing import Any

import pytest

from sitemapreader import SitemapReader, read
from sitemapreader._types.issues import Issue, IssueCode, make_issue
from sitemapreader._types.models import Event, Format, SitemapEntry, UrlEntry
from tests.support.reading import read_by_tree

PROTOCOL = "http://www.sitemaps.org/schemas/sitemap/0.9"
GOOGLE = "http://www.google.com/schemas/sitemap-"
PAGE = "https://www.example.org/a"


def write_map(*records: str, image: str = f"{GOOGLE}image/1.1") -> str:
    """Write a sitemap with usual namespaces, and one of a generator."""
    root = (
        f'<urlset xmlns="{PROTOCOL}" xmlns:image="{image}" xmlns:video="{GOOGLE}video/1.1"'
        f' xmlns:news="{GOOGLE}news/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"'
        ' xmlns:x="urn:generator">'
    )
    return f"{root}{''.join(records)}</urlset>"


def write_record(fields: str = "", loc: str = PAGE) -> str:
    """Write a record."""
    return f"<url><loc>{loc}</loc>{fields}</url>"


def read_events(text: str) -> list[Event]:
    """Return all events, which do not depend on chunks, and account for all records."""
    data = text.encode()
    reader = SitemapReader("https://www.example.org/map.xml")
    events = [*reader.feed(data), *reader.close()]
    by_bytes = SitemapReader("https://www.example.org/map.xml")
    assert events == [
        *(
            event
            for place in range(len(data))
            for event in by_bytes.feed(data[place : place + 1])
        ),
        *by_bytes.close(),
    ]
    assert reader.stats.records == reader.stats.delivered + reader.stats.dropped
    return events


def read_entry(fields: str) -> tuple[UrlEntry, list[tuple[IssueCode, str | None]]]:
    """Return the only entry of a sitemap with these fields, and its Issues."""
    events = read_events(write_map(write_record(fields)))
    (entry,) = (event for event in events if isinstance(event, UrlEntry))
    return entry, list_issues(events)


def list_issues(events: list[Event]) -> list[tuple[IssueCode, str | None]]:
    """Return codes and values of Issues."""
    return [(event.code, event.value) for event in events if isinstance(event, Issue)]


def list_locs(events: list[Event]) -> list[str]:
    """Return the URLs of entries."""
    return [event.loc for event in events if isinstance(event, UrlEntry)]


# -- numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.7000000000000001", 0.7000000000000001),
        ("0.80000000000000004440892098500626", 0.8),
        ("1.00000000", 1.0),
        (".1234567890", 0.123456789),
        ("5e-7", 5e-7),
        ("1.1102230246251565e-16", 1.1102230246251565e-16),
    ],
)
def test_a_priority_may_have_many_decimals(text: str, value: float) -> None:
    """JavaScript prints 17 digits, and small numbers with an exponent."""
    entry, issues = read_entry(f"<priority>{text}</priority>")
    assert entry.priority == value
    assert issues == []


@pytest.mark.parametrize(
    "text", ["1.0000000000000002", "0.5.5", "1e7", "e-7", "-0.3000000000004"]
)
def test_what_is_no_priority_stays_none(text: str) -> None:
    """More decimals allow no other numbers."""
    entry, issues = read_entry(f"<priority>{text}</priority>")
    assert entry.priority is None
    assert issues == [(IssueCode.PRIORITY, text)]


@pytest.mark.parametrize(
    "text", ["4.699999999999999", "5.0000000", "0.1000000000000000055511151"]
)
def test_a_rating_may_have_many_decimals(text: str) -> None:
    """The same holds for videos."""
    entry, issues = read_entry(
        f"<video:video><video:rating>{text}</video:rating></video:video>"
    )
    assert entry.videos[0].rating == float(text)
    assert issues == []


# -- markup in texts

IMAGE = (
    "<image:image><image:loc>https://www.example.org/a.jpg</image:loc>{}</image:image>"
)
MARKED = [
    ("Five <em>small</em> boats", "Five small boats"),
    ("First<br/>second", "First second"),
    ("<p>One.</p><p>Two <a href='/x'>links</a>.</p>", "One. Two links."),
    ("H<sub>2</sub>O", "H2O"),
    ("<span><strong>all</strong></span>", "all"),
]


@pytest.mark.parametrize(("written", "text"), MARKED)
@pytest.mark.parametrize("field", ["title", "caption"])
def test_markup_in_a_field_of_an_image_leaves_its_text(
    field: str, written: str, text: str
) -> None:
    """It is the text's, and no element of the record."""
    entry, issues = read_entry(
        IMAGE.format(f"<image:{field}>{written}</image:{field}>")
    )
    assert getattr(entry.images[0], field) == text
    assert entry.extras == ()
    assert issues == [(IssueCode.BARE_LESS_THAN, None)]


@pytest.mark.parametrize(("written", "text"), MARKED)
def test_markup_in_a_description_or_a_title_of_news_leaves_its_text(
    written: str, text: str
) -> None:
    """Every extension goes through the same place."""
    video = (
        f"<video:video><video:description>{written}</video:description></video:video>"
    )
    entry, _ = read_entry(
        f"{video}<news:news><news:title>{written}</news:title></news:news>"
    )
    assert (entry.videos[0].description, entry.title, entry.extras) == (text, text, ())


def test_a_field_in_a_field_is_no_markup() -> None:
    """An end tag is missing: neither text is given to the other."""
    fields = "<image:title>one<image:caption>two</image:caption></image:title>"
    entry, issues = read_entry(IMAGE.format(fields))
    assert (entry.images[0].title, entry.images[0].caption) == (None, "two")
    assert [code for code, _ in issues] == [IssueCode.EXTENSION]


# -- elements of others


@pytest.mark.parametrize(
    "other",
    [
        "<x:tool><x:url>https://tool.example/</x:url></x:tool>",
        "<x:url>https://tool.example/</x:url>",
        "<x:tool><x:url><x:loc>https://tool.example/</x:loc></x:url></x:tool>",
        "<y:meta xmlns:y='urn:y'><y:by><y:url>https://tool.example/</y:url></y:by></y:meta>",
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_an_element_of_another_vocabulary_makes_no_entry(
    other: str, *, is_first: bool
) -> None:
    """A generator names its own address."""
    records = [other, write_record()] if is_first else [write_record(), other]
    assert list_locs(read_events(write_map(*records))) == [PAGE]


@pytest.mark.parametrize(
    "other",
    [
        "<z:tool><z:url>https://tool.example/</z:url></z:tool>",
        "<z:url>https://tool.example/</z:url>",
        "<z:tool><z:url><z:loc>https://tool.example/</z:loc></z:url></z:tool>",
        "<image:url><image:loc>https://tool.example/</image:loc></image:url>",
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_an_undeclared_prefix_makes_no_entry(other: str, *, is_first: bool) -> None:
    """Nobody has declared that the element belongs to the sitemap's vocabulary."""
    records = [other, write_record()] if is_first else [write_record(), other]
    events = read_events(f"<urlset xmlns='{PROTOCOL}'>{''.join(records)}</urlset>")
    assert list_locs(events) == [PAGE]
    assert list_issues(events) == [(IssueCode.NOT_WELL_FORMED, None)]


@pytest.mark.parametrize(
    "document",
    [
        f"<urlset xmlns='{PROTOCOL}'><z:url><z:loc>{PAGE}</z:loc></z:url></urlset>",
        f"<z:urlset><z:url>{PAGE}</z:url></z:urlset>",
        f"<rss><channel><z:item><z:link>{PAGE}</z:link></z:item></channel></rss>",
        f"<z:rss><z:channel><z:item><z:link>{PAGE}</z:link></z:item></z:channel></z:rss>",
    ],
)
def test_records_with_an_undeclared_prefix_are_read(document: str) -> None:
    """They stand where records do, and have a field for a URL; or the root has the prefix, too."""
    events = read_events(document)
    assert list_locs(events) == [PAGE]
    assert IssueCode.UNBOUND_PREFIX in [code for code, _ in list_issues(events)]


def test_unclosed_records_with_an_undeclared_prefix_end_at_the_next() -> None:
    """A missing end tag does not hide the next record."""
    open_record = f"<z:url><z:loc>{PAGE}</z:loc>"
    records = f"{open_record}{open_record}</z:url>"
    assert (
        list_locs(read_events(f"<urlset xmlns='{PROTOCOL}'>{records}</urlset>"))
        == [PAGE] * 2
    )


@pytest.mark.parametrize("uri", ["urn:mine", "http://example.org/sitemap", "x"])
def test_records_in_a_namespace_of_their_own_are_read(uri: str) -> None:
    """They have a loc, and stand in the root itself."""
    records = f"<url xmlns='{uri}'><loc>{PAGE}</loc></url>"
    events = read_events(f"<urlset xmlns='{PROTOCOL}'>{records}</urlset>")
    assert list_locs(events) == [PAGE]
    assert list_issues(events) == [(IssueCode.NAMESPACE, uri)]


@pytest.mark.parametrize(
    "uri",
    [
        f"{GOOGLE}image/0.9",
        f"{GOOGLE}image/1.0",
        f"{GOOGLE}image/1.1".replace("http:", "https:"),
    ],
)
def test_a_wrong_namespace_of_an_extension_is_told(uri: str) -> None:
    """Search engines do not read such images; we do."""
    events = read_events(write_map(write_record(IMAGE.format("")), image=uri))
    assert [len(event.images) for event in events if isinstance(event, UrlEntry)] == [1]
    assert list_issues(events) == [(IssueCode.NAMESPACE, uri)]


def test_a_wrong_namespace_on_the_element_itself_is_told() -> None:
    """Once for a document."""
    news = f"<n:news xmlns:n='{GOOGLE}news/1.0'><n:title>x</n:title></n:news>"
    events = read_events(write_map(write_record(news), write_record(news)))
    assert list_issues(events) == [(IssueCode.NAMESPACE, f"{GOOGLE}news/1.0")]


# -- tags without their end


@pytest.mark.parametrize(
    ("record", "locs"),
    [
        (f"<url><loc {PAGE}</loc></url>", [PAGE]),
        (f"<url><loc {PAGE}?x=1&amp;y=2</loc></url>", [f"{PAGE}?x=1&y=2"]),
        (f"<url><LOC\n{PAGE}/\n</LOC></url>", [f"{PAGE}/"]),
        (f"<url><loc {PAGE}<lastmod>2026-01-01</lastmod></url>", [PAGE]),
        ("<url><loc disabled</loc></url>", []),
        ("<url><loc x='https://www.example.org/b'</loc></url>", []),
    ],
)
def test_a_url_is_read_behind_a_start_tag_without_its_end(
    record: str, locs: list[str]
) -> None:
    """What is no attribute is the text; nothing but a URL is taken for one."""
    first, last = write_record(loc=f"{PAGE}1"), write_record(loc=f"{PAGE}2")
    events = read_events(write_map(first, record, last))
    assert list_locs(events) == [f"{PAGE}1", *locs, f"{PAGE}2"]
    assert IssueCode.NOT_WELL_FORMED in [code for code, _ in list_issues(events)]


# -- arguments


@pytest.mark.parametrize("url", [5, b"https://www.example.org/", None, []])
def test_a_url_that_is_no_text_is_refused_at_once(url: Any) -> None:
    """Not at the first Issue, and not by what it lacks."""
    with pytest.raises(TypeError, match="url must be a text, got"):
        SitemapReader(url)
    with pytest.raises(TypeError, match="url must be a text, got"):
        read(b"", url=url)


# -- links


ATOM = "xmlns:atom='http://www.w3.org/2005/Atom'"
RDF = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"


@pytest.mark.parametrize(
    ("fields", "locs"),
    [
        (f"<atom:link href='{PAGE}'/>", [PAGE]),
        (f"<atom:link rel='alternate' href=' {PAGE} '/>", [PAGE]),
        ("<atom:link rel='self' href='https://www.example.org/feed'/>", []),
        ("<atom:link href=''/>", []),
        (f"<link>{PAGE}</link><atom:link href='https://www.example.org/b'/>", [PAGE]),
        (f"<guid>{PAGE}</guid><atom:link href='https://www.example.org/b'/>", [PAGE]),
    ],
)
def test_an_item_of_rss_may_have_its_url_as_a_link_of_atom(
    fields: str, locs: list[str]
) -> None:
    """Only where neither a link nor a permalink says it."""
    rss = f"<rss {ATOM}><channel><item><title>A</title>{fields}</item></channel></rss>"
    assert list_locs(read_events(rss)) == locs


@pytest.mark.parametrize(
    ("about", "fields", "locs"),
    [
        (PAGE, "", [PAGE]),
        ("urn:uuid:1", "", []),
        ("https://www.example.org/b", f"<link>{PAGE}</link>", [PAGE]),
    ],
)
def test_an_item_of_rss_1_may_have_its_url_as_its_address(
    about: str, fields: str, locs: list[str]
) -> None:
    """RSS 1.0 says that it should be the text of the link."""
    rdf = (
        f"<rdf:RDF {RDF} xmlns='http://purl.org/rss/1.0/'>"
        f"<item rdf:about='{about}'><title>A</title>{fields}</item></rdf:RDF>"
    )
    assert list_locs(read_events(rdf)) == locs


@pytest.mark.parametrize("attribute", ["ref", "src", "link"])
def test_a_link_without_href_says_so(attribute: str) -> None:
    """The Issue names what is missing."""
    link = f"<xhtml:link rel='alternate' hreflang='de' {attribute}='https://www.example.org/de'/>"
    entry, issues = read_entry(link)
    assert entry.alternates == ()
    assert issues == [(IssueCode.EXTENSION, "<link> has no href")]


@pytest.mark.parametrize(
    "link",
    [
        "type='application/rss+xml' href='https://www.example.org/de'",
        "type='application/atom+xml; charset=utf-8' href='https://www.example.org/de'",
        "href='https://www.example.org/de/feed.xml'",
    ],
)
def test_a_feed_is_no_language_version(link: str) -> None:
    """It stays among what is not known."""
    entry, issues = read_entry(f"<xhtml:link rel='alternate' hreflang='de' {link}/>")
    assert (entry.alternates, len(entry.extras), issues) == ((), 1, [])


def test_a_link_with_a_broken_host_raises_nothing() -> None:
    """Its brackets are no IPv6 address, and its path may be that of a feed."""
    href = "http://[de.example.org/feed"
    entry, issues = read_entry(f"<xhtml:link hreflang='de' href='{href}'/>")
    assert [alternate.href for alternate in entry.alternates] == [href]
    assert issues == []


# -- sitemaps in the place of pages


@pytest.mark.parametrize(
    "paths", [["a.xml"], ["a.xml.gz", "b.XML"], ["map.xml?page=1", "map.xml?page=2"]]
)
def test_a_urlset_of_sitemaps_is_told(paths: list[str]) -> None:
    """Its entries are delivered as they stand."""
    locs = [f"https://www.example.org/{path}" for path in paths]
    events = read_events(write_map(*(write_record(loc=loc) for loc in locs)))
    assert list_locs(events) == locs
    assert list_issues(events) == [(IssueCode.SITEMAPS_AS_PAGES, None)]


@pytest.mark.parametrize("path", ["page", "a.xml/page", "page?map=a.xml"])
def test_one_page_among_sitemaps_makes_them_pages(path: str) -> None:
    """A page may be XML."""
    locs = ["https://www.example.org/a.xml", f"https://www.example.org/{path}"]
    assert not list_issues(
        read_events(write_map(*(write_record(loc=loc) for loc in locs)))
    )


# -- feeds

ENTRY = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>t</title>'
    f'<link href="{PAGE}"/><link rel="enclosure" {{}}/></entry></feed>'
)


@pytest.mark.parametrize(
    ("link", "kind"),
    [
        ('type="image/m4a" href="https://www.example.org/a.m4a"', ""),
        ('type="image/docx" href="https://www.example.org/a.docx?v=1"', ""),
        ('type="image/zip" href="https://www.example.org/download"', ""),
        ('type="image/webm" href="https://www.example.org/a.webm"', "videos"),
        ('type="image/mp4" href="https://www.example.org/download"', "videos"),
        ('type="image/png" href="https://www.example.org/show?id=1"', "images"),
        ('type="image/unheard" href="https://www.example.org/a.JPG"', "images"),
        ('type="image/unheard" href="https://www.example.org/a"', "images"),
        ('type="audio/mp4" href="https://www.example.org/a.mp4"', ""),
        ('href="https://www.example.org/a.pdf"', ""),
    ],
)
def test_an_enclosure_is_judged_by_type_and_suffix(link: str, kind: str) -> None:
    """A library writes `image/` before the suffix of every file."""
    (entry,) = (
        each for each in read_events(ENTRY.format(link)) if isinstance(each, UrlEntry)
    )
    assert [name for name in ("images", "videos") if getattr(entry, name)] == [kind][
        : bool(kind)
    ]


@pytest.mark.parametrize(
    "number", ["https://www.example.org/id/1", "urn:uuid:1", "tag:example,1"]
)
def test_an_entry_of_a_broken_feed_without_a_page_has_none(number: str) -> None:
    """An id is no link (RFC 4287, section 4.2.6)."""
    text = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>{number}</id><title>t</feed>'
    reader = SitemapReader()
    events = [*reader.feed(text.encode()), *reader.close()]
    assert list_locs(events) == []
    assert IssueCode.MISSING_LOC in reader.stats.counts


# -- what is said, and how a document is given


@pytest.mark.parametrize(
    ("sitemap", "line", "start"),
    [
        ("", 3, "line 3: a record"),
        ("", None, "a record"),
        (
            "https://www.example.org/m.xml",
            3,
            "https://www.example.org/m.xml, line 3: a record",
        ),
        (
            "https://www.example.org/m.xml",
            None,
            "https://www.example.org/m.xml: a record",
        ),
    ],
)
def test_an_issue_reads_as_a_sentence(
    sitemap: str, line: int | None, start: str
) -> None:
    """With and without the URL of the document."""
    assert str(make_issue(IssueCode.MALFORMED, sitemap, line=line)).startswith(start)


@pytest.mark.parametrize(
    "encoding", ["ISO-8859-1", "utf-16", "gbk", "utf8mb4", "utf-7"]
)
def test_a_text_is_decoded_already(encoding: str) -> None:
    """What its declaration says of bytes is past."""
    loc = "https://www.example.org/\u00fcber/\u6771"
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>{write_map(write_record(loc=loc))}'
    )
    events = list(read(text))
    assert list_locs(events) == [loc]
    assert list_issues(events) == []


def test_half_a_character_of_a_text_makes_no_url() -> None:
    """It is lost, and its record with it."""
    events = list(read(write_map(write_record(loc=f"{PAGE}\ud83c"), write_record())))
    assert list_locs(events) == [PAGE]
    assert len(list_issues(events)) == 1


@pytest.mark.parametrize("charset", ["koi8-r", "windows-1251", "iso-8859-5"])
def test_bytes_are_read_by_a_charset(charset: str) -> None:
    """The charset of an answer that the caller has fetched."""
    loc = "https://www.example.org/\u0433\u043e\u0440\u043e\u0434"
    data = write_map(write_record(loc=loc)).encode(charset)
    assert list_locs(list(read(data, charset=charset))) == [loc]


def test_a_text_has_no_charset() -> None:
    """Misuse is told at once."""
    with pytest.raises(TypeError, match="charset cannot be combined with a text"):
        read("<urlset/>", charset="utf-8")


def test_a_url_is_no_document() -> None:
    """The error says what requests it; a list of one URL can be read in three ways."""
    with pytest.raises(ValueError, match=r"requests nothing: write walk_sync\(url\)"):
        read(PAGE)
    for reading in (read(f"{PAGE}\n"), read(PAGE.encode()), read(PAGE, f"{PAGE}.txt")):
        assert list_locs(list(reading)) == [PAGE]


@pytest.mark.parametrize(
    ("text", "format_", "counts"),
    [
        (write_map(write_record(), "<url/>"), Format.URLSET, (2, 1, 1)),
        (f"{PAGE}\n{PAGE}b\n", Format.TEXT, (2, 2, 0)),
        ("<html></html>", None, (0, 0, 0)),
    ],
)
def test_reading_knows_format_and_counts(
    text: str, format_: Format | None, counts: tuple[int, int, int]
) -> None:
    """They are final behind the last event."""
    reading = read(text.encode())
    entries = [event for event in reading if isinstance(event, UrlEntry | SitemapEntry)]
    stats = reading.stats
    assert (stats.records, stats.delivered, stats.dropped) == counts
    assert len(entries) == stats.delivered
    assert reading.format is format_


@pytest.mark.parametrize(
    "ending",
    ["<!-- ]]> -->", '<x:a b="]]>"/>', "<!-- ]]> --><!-- ]]> -->"],
    ids=["comment", "attribute", "comments"],
)
@pytest.mark.parametrize("other", [0, 4], ids=["before", "behind"])
def test_a_section_without_an_end_costs_one_record(ending: str, other: int) -> None:
    """It goes on to the end of the next section: records in it are found, whatever others hold."""
    titles = [f"<x:a><![CDATA[{number}]]></x:a>" for number in range(5)]
    titles[2] = "<x:a><![CDATA[2</x:a>"
    titles[other] += ending
    locs = [f"{PAGE}{number}" for number in range(5)]
    text = write_map(*map(write_record, titles, locs))
    for events in (read_events(text), read_by_tree(text.encode())):
        assert list_locs(events) == locs
        assert (IssueCode.MISMATCHED_TAG, None) in list_issues(events)
