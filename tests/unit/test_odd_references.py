"""References and prefixes that XML does not know: records well-formed but for them."""

from __future__ import annotations

from unittest import mock

import pytest
from reading import check_ways, issues, locs, read, url, urlset

from sitemapreader.issues import Issue, IssueCode
from sitemapreader.models import UrlEntry
from sitemapreader.readers.xml import tree
from sitemapreader.readers.xml.batches import BatchReader

TEXTS = (
    b"<loc>http://a.b/?x=1&y=2</loc>",
    b"<loc>http://a.b/?x=1&amp;y=2&z</loc>",
    b"<loc>http://a.b/caf&eacute;</loc>",
    b"<loc>http://a.b/</loc><x:y>A&nbsp;&amp;&#8217;&NewLine;B & C</x:y>",
    b"<loc>http://a.b/</loc><x:y z='a & b &quot;&lt;'>&unknown; &lt</x:y>",
    b"<loc>http://a.b/&#1;</loc>",
    b"<loc>http://a.b/&#xD800;</loc>",
    b"<loc>http://a.b/&#x110000;&</loc>",
    b"<loc>http://a.b/&#99999999999;</loc>",
    b"<loc><![CDATA[http://a.b/?x=1&y=2]]></loc><!-- a & b --><lastmod>&</lastmod>",
    b"<loc>http://a.b/&</loc><?php a && b ?>",
    b"<loc>http://a.b/&</loc><![CDATA[",
    b"<loc>http://a.b/&</lok>",
    b"<loc>http://a.b/&#13;&#9;&</loc>",
    b"<loc>http://a.b/</loc><last&#0;mod>2026-01-01</lastmod>",
    b"<loc>http://a.b/</loc><x:y a&nbsp;='1'/><&amp>",
    b"<loc>http://a.b/</loc><geo:geo><geo:format>kml</geo:format></geo:geo>",
    b"<loc>http://a.b/?a&b</loc><dc:date>2026-01-01</dc:date><q:q xmlns:q='urn:q'/><p:p/>",
    b"<loc>http://a.b/</loc><q:q><q:q xmlns:q='urn:q'/></q:q>",
    b"<loc>http://a.b/</loc><x:y q:z='1'/>",
    b"<loc>http://a.b/</loc><!-- <q:q> --><x:y><![CDATA[<p:p>]]></x:y>&",
    b"<loc>http://a.b/</loc><q\xb7:y/><q\xe9:y/>",
    b"<loc>ht<q:q>x</q:q>tp://a.b/</loc>",
)


@pytest.mark.parametrize("fields", TEXTS)
def test_a_repaired_reference_gives_what_the_lenient_parser_gives(fields: bytes) -> None:
    """Entries, Issues and lines are the same, whoever repairs the references."""
    record = b"\n<url>\n" + fields + b"</url>"
    data = urlset(url(b"") + record + b"<!-- & -->" + record + url(b""))
    events = check_ways(data)
    with mock.patch.object(tree.TreeReader, "repair", side_effect=lambda *_: iter(())):
        assert read(data) == events
    assert len(locs(events)) >= 2


def test_a_record_with_a_bare_ampersand_is_read_by_the_tree() -> None:
    """Records whose URLs have a bare `&`, the commonest fault, do not need the lenient parser."""
    records = [b"<url>\n<loc>http://a.b/?x=%d&y=2&z=3</loc></url>" % n for n in range(200)]
    with mock.patch.object(BatchReader, "_read_leniently") as lenient:
        events = read(urlset(b"".join(records)))
    assert not lenient.called
    assert locs(events) == [f"http://a.b/?x={n}&y=2&z=3" for n in range(200)]
    found = [event for event in events if isinstance(event, Issue)]
    assert {issue.code for issue in found} == {IssueCode.BARE_AMPERSAND}
    assert [issue.line for issue in found] == list(range(1, 1 + len(found)))


@pytest.mark.parametrize("prefix", ["image", "é", "s"])
def test_records_of_an_undeclared_prefix_are_read_by_the_tree(prefix: str) -> None:
    """A prefix that nothing declares means what it means by convention, or the records'."""
    p = f"{prefix}:" if prefix == "s" else ""
    other = (
        ""
        if p
        else f"<{prefix}:image><{prefix}:loc>http://a.b/i.png</{prefix}:loc></{prefix}:image>"
    )
    records = [f"<{p}url><{p}loc>http://a.b/{n}</{p}loc>{other}</{p}url>" for n in range(99)]
    data = (
        f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{''.join(records)}</urlset>"
    )
    with mock.patch.object(BatchReader, "_read_leniently") as lenient:
        events = read(data.encode())
    assert not lenient.called
    assert locs(events) == [f"http://a.b/{n}" for n in range(99)]
    assert set(issues(events)) == {IssueCode.UNBOUND_PREFIX}
    images = [
        image.loc for event in events if isinstance(event, UrlEntry) for image in event.images
    ]
    assert len(images) == (99 if prefix == "image" else 0)


def test_a_flood_of_ampersands_is_read_in_steps() -> None:
    """Records that are nothing but `&` are read leniently, and without a long step."""
    with mock.patch.object(tree, "_repair_references") as repair:
        events = read(urlset(url(b"<lastmod>" + b"&" * 60_000 + b"</lastmod>") * 3))
    assert locs(events) == ["http://a.b/1"] * 3
    assert set(issues(events)) == {IssueCode.BARE_AMPERSAND, IssueCode.LASTMOD}
    assert not repair.called
