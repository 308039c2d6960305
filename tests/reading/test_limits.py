"""A record means the same near a limit: what is not broken is not repaired."""

from __future__ import annotations

import pytest
from each_case import for_each
from reading import check_ways, issues, locs, read, read_by_tree, read_with, url, urlset

from sitemapreader import Limits, SitemapReader
from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import UrlEntry

NESTED = {
    "loc-in-a-loc": b"<loc>http://a.b/1<loc>http://a.b/2</loc></loc>",
    "date-in-a-date": b"<loc>http://a.b/1</loc><lastmod>2026<lastmod>2025</lastmod></lastmod>",
    "loc-in-an-image": (
        b"<loc>http://a.b/1</loc><image:image><image:loc>http://i/<image:title>t</image:title>"
        b"</image:loc></image:image>"
    ),
    "record-in-an-extra": (
        b"<loc>http://a.b/1</loc><x:y><z xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        b"<url><loc>http://a.b/2</loc></url></z></x:y>"
    ),
}
PROMPTS = {
    "instruction": b"<x:i>1<?php echo 1 ?>2</x:i>",
    "long-text": b"<x:i>" + b"t" * 70_000 + b"</x:i>",
    "long-comment": b"<!-- " + b"t" * 70_000 + b" -->",
    "comments": b"<!-- -->" * 300,
}


def record(inside: bytes) -> bytes:
    return b"<url>" + inside + b"</url>"


@for_each("limit", ["record_elements", "record_depth"])
def test_a_name_that_xml_has_not_behind_a_limit(limit: str) -> None:
    """An element that is too much may have any name: its record is dropped, the next one is not."""
    records = b"<url><loc>http://a.b/1</loc><a><b:c:d><b:c:d/></b:c:d></a>&</url>" + url(b"")
    events = read(urlset(records), **{limit: 2})
    assert locs(events) == ["http://a.b/1"]
    assert {IssueCode.TOO_MANY_ELEMENTS, IssueCode.TOO_DEEP} & set(issues(events))


@for_each("prompt", PROMPTS)
@for_each("nested", NESTED)
def test_elements_in_one_another(nested: str, prompt: str) -> None:
    """Fields in fields and records in extras stay there, whatever else the record holds."""
    alone = check_ways(urlset(record(NESTED[nested])))
    beside = check_ways(urlset(record(NESTED[nested] + PROMPTS[prompt])), record_elements=400)
    assert locs(beside) == locs(alone)
    assert IssueCode.MISMATCHED_TAG not in issues(beside)
    assert set(issues(alone)) <= set(issues(beside))


@pytest.mark.parametrize("nested", ["loc-in-a-loc", "date-in-a-date", "loc-in-an-image"])
def test_as_many_elements_as_allowed(nested: str) -> None:
    """End tags are no elements: only one element more than the limit is too much."""
    data = urlset(record(NESTED[nested]))
    elements = NESTED[nested].count(b"</")
    assert check_ways(data, record_elements=elements) == read(data)
    fewer = check_ways(data, record_elements=elements - 1)
    assert IssueCode.TOO_MANY_ELEMENTS in issues(fewer)
    assert "http://a.b/1" not in locs(fewer)


@pytest.mark.parametrize("nested", NESTED)
def test_one_level_too_deep(nested: str) -> None:
    """A record that is too deep is dropped as a whole; no part of it becomes another record."""
    depth = {"loc-in-an-image": 4, "record-in-an-extra": 5}.get(nested, 3)
    data = urlset(record(NESTED[nested]))
    assert check_ways(data, record_depth=depth) == read(data)
    assert issues(check_ways(data, record_depth=depth - 1)) == [IssueCode.TOO_DEEP]


@pytest.mark.parametrize("broken", [b"", b"&", b"</x:y>"])
def test_an_instruction_is_no_level(broken: bytes) -> None:
    """An instruction in the deepest element makes no record too deep."""
    inside = b"<loc>http://a.b/1</loc>" + broken + b"<lastmod>2026<?p?></lastmod>"
    events = check_ways(urlset(record(inside)), record_depth=2)
    assert locs(events) == ["http://a.b/1"]
    assert IssueCode.TEMPLATE in issues(events)


@pytest.mark.parametrize("broken", [b"", b"&"])
def test_errors_are_those_of_mending(broken: bytes) -> None:
    """Limits on texts and attributes are checked alike in healthy and in broken records."""
    for inside, code in (
        (b"<loc>http://a.b/1" + b"1" * 30 + b"</loc>", IssueCode.FIELD_TOO_LONG),
        (b"<loc a='' b='' c=''>http://a.b/1</loc>", IssueCode.TOO_MANY_ATTRIBUTES),
        (b"<loc>http://a.b/1<?p?></loc>", IssueCode.TEMPLATE),
    ):
        events = check_ways(urlset(record(inside + broken)), field_chars=25, attributes=2)
        assert not locs(events)
        assert code in issues(events)


def test_a_link_in_an_attribute_is_as_short_as_any() -> None:
    """The URL of an Atom entry is bounded as the text of a loc is."""
    entry = b"<entry><link href='http://a.b/%b'/></entry>"
    feed = b"<feed xmlns='http://www.w3.org/2005/Atom'>%b%b</feed>" % (
        entry % b"1",
        entry % (b"1" * 30),
    )
    events = read(feed, field_chars=25)
    assert locs(events) == ["http://a.b/1"]
    assert issues(events) == [IssueCode.FIELD_TOO_LONG]


def test_a_line_that_never_ends() -> None:
    """It is dropped with one Issue, however it arrives; the lines around it are delivered."""
    text = b"http://a.b/1\nhttp://a.b/" + 90_000 * b"2" + b"\nhttp://a.b/3\n"
    for size in (len(text), 1_000):
        reader = SitemapReader("http://a.b/s.txt", limits=Limits(field_chars=100))
        events = [
            event
            for at in range(0, len(text), size)
            for events in reader.feed_steps(text[at : at + size])
            for event in events
        ]
        events += [event for events in reader.close_steps() for event in events]
        assert locs(events) == ["http://a.b/1", "http://a.b/3"]
        assert issues(events) == [IssueCode.FIELD_TOO_LONG]
        assert (reader.stats.records, reader.stats.dropped) == (3, 1)


def test_an_instruction_within_a_url() -> None:
    """A loc that an instruction stands in is not complete; the Issue says what is there."""
    (issue,) = check_ways(urlset(record(b"<loc>http://a.b/<?p?>1</loc><priority>1</priority>")))
    assert isinstance(issue, Issue)
    assert (issue.code, issue.value) == (IssueCode.TEMPLATE, "http://a.b/1")


def test_lines_behind_an_instruction() -> None:
    """Elements behind an instruction, which may look like tags, are found on their lines."""
    fields = b"<loc>/1</loc>\n<x:y><?php if (a<b) echo '<i>' ?></x:y>\n<priority>2</priority>"
    events = check_ways(urlset(b"\n" + record(fields)))
    lines = {event.code: event.line for event in events if not isinstance(event, UrlEntry)}  # type: ignore[union-attr]
    assert lines == {IssueCode.RELATIVE_LOC: 2, IssueCode.PRIORITY: 4}


def test_a_brace_in_a_namespace() -> None:
    """A namespace that no URI may be is well-formed XML, whoever reads the record."""
    data = b'<feed xmlns="}"><entry><link href="http://a.b/1"/><k r=""/></entry></feed>'
    assert locs(check_ways(data)) == ["http://a.b/1"]
    assert not issues(check_ways(data))
    (entry,) = check_ways(b'<urlset xmlns:p="u}"><url><loc>http://a.b/</loc><p:q/></url></urlset>')[
        1:
    ]
    assert isinstance(entry, UrlEntry)
    assert entry.extras[0].namespace == "u%7D"


# -- fields longer than the limit, in records that the tree reads


LONG = b"long text " * 10
VIDEO = (
    b"<video:video><video:title>T</video:title><video:description>%b</video:description>"
    b"<video:tag>A &amp; B</video:tag></video:video>"
)
REFUSED = (
    b"<lastmod>%b</lastmod>" % LONG + b"<changefreq>daily",
    LONG,
    b'<x:y z="%b"/>' % LONG,
    b"<x:y>T</x:y>" + LONG,
)
"""What is broken, or too long for the record itself."""


@for_each(
    "fields",
    [
        b"<lastmod>%b</lastmod>" % LONG,
        VIDEO % LONG,
        VIDEO % b"<b>B</b>%b" % LONG,
        VIDEO % (LONG + b"<b>B</b>"),
        b"<x:y>%b</x:y>" % LONG,
        b"<lastmod>2026-01-01</lastmod>" + b" " * 100,
        *REFUSED,
    ],
)
def test_a_long_text_gives_the_same_however_it_is_read(fields: bytes) -> None:
    """A text past the limit costs its field or its record, whichever way reads the record."""
    data = urlset(url(b"<priority>0.1</priority>") + url(fields) + url(b""))
    events = read(data, field_chars=60)
    assert events == read_by_tree(data, field_chars=60)
    assert len(locs(events)) >= 2


TOO_LONG = 1_000
GIANTS = {
    "record": url(b"<x:y>" + b"<z/>" * TOO_LONG + b"</x:y>"),
    "record-with-a-section": url(b"<x:y><![CDATA[" + url(b"") * TOO_LONG + b"]]></x:y>"),
    "record-with-a-comment": url(b"<!-- " + b"</url> - " * TOO_LONG + b" -->"),
    "start-tag": b"<url a='" + b"a" * 3_000 + b"'><loc>http://a.b/0</loc></url>",
    "bad-bytes-and-line-ends": b"\xe2\x82\r\n" * 300
    + url(b"<x:y>" + b"\r\n\xff" * 1_000 + b"</x:y>"),
}
"""Records that are longer than 2,000 characters."""
HIDDEN = {
    "comment": b"<!-- " + url(b"") * TOO_LONG + b" -->",
    "section": b"<![CDATA[ " + url(b"") * TOO_LONG + b" ]]>",
    "instruction": b"<?x " + b"x " * TOO_LONG + b" ?>",
    "tag": b"<x y='" + b"x" * 3_000 + b"'/>",
    "text": b"x" * 3_000,
}


@for_each("block", [600, 1_000])
@for_each("name", GIANTS)
def test_a_record_that_is_too_long(name: str, block: int) -> None:
    """It is dropped with one Issue; the records around it are read, and none that it hides."""
    data = urlset(url(b"") * 30 + GIANTS[name] + url(b"") * 30)
    with read_with(BLOCK_BYTES=block):
        reader = SitemapReader("https://h.example/s.xml", limits=Limits(record_bytes=2_000))
        events = reader.feed(data) + reader.close()
    assert locs(events) == ["http://a.b/1"] * 60
    assert reader.stats.dropped == reader.stats.counts[IssueCode.RECORD_TOO_LONG] == 1


@for_each("block", [600, 1_000])
@for_each("name", HIDDEN)
def test_what_is_too_long_between_records(name: str, block: int) -> None:
    """It hides no record behind it, and gives none of those that it holds."""
    data = urlset(url(b"") * 30 + HIDDEN[name] + url(b"") * 30)
    with read_with(BLOCK_BYTES=block):
        assert locs(read(data, record_bytes=2_000)) == ["http://a.b/1"] * 60


def test_a_section_in_a_record_that_nothing_closes_and_that_is_too_long() -> None:
    """The records that it would hold are read, whatever the block in which its limit is."""
    broken = b"<url><loc>http://a.b/1</loc><x:y><![CDATA[ x</x:y></url>"
    for count in (10, 50, 200):
        data = urlset(url(b"") + broken + url(b"") * count)
        with read_with(BLOCK_BYTES=600):
            assert locs(read(data, record_bytes=2_000)) == ["http://a.b/1"] * (count + 2)
