"""An element that binds a namespace and is not closed costs its own record, and no other."""

from __future__ import annotations

import pytest
from reading import issues, locs, read

from sitemapreader import SitemapReader
from sitemapreader.issues import IssueCode

SITEMAP = b"http://www.sitemaps.org/schemas/sitemap/0.9"
URLSET = b'<urlset xmlns="' + SITEMAP + b'" xmlns:e="urn:e"><url>', b"</url></urlset>"
PREFIXED = b'<s:urlset xmlns:s="' + SITEMAP + b'" xmlns:e="urn:e"><s:url>', b"</s:url></s:urlset>"
BARE = b'<urlset xmlns:e="urn:e"><url>', b"</url></urlset>"
INDEX = (
    b'<sitemapindex xmlns="' + SITEMAP + b'" xmlns:e="urn:e"><sitemap>',
    b"</sitemap></sitemapindex>",
)
RSS = b'<rss xmlns:e="urn:e"><channel><item>', b"</item></channel></rss>"
ATOM = (
    b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:e="urn:e"><entry>',
    b"</entry></feed>",
)
FRAMES = {
    "urlset": (URLSET, b"url", b"<loc>http://a.b/%d</loc>"),
    "prefixed": (PREFIXED, b"s:url", b"<s:loc>http://a.b/%d</s:loc>"),
    "no-namespace": (BARE, b"url", b"<loc>http://a.b/%d</loc>"),
    "index": (INDEX, b"sitemap", b"<loc>http://a.b/%d</loc>"),
    "rss": (RSS, b"item", b"<link>http://a.b/%d</link>"),
    "atom": (ATOM, b"entry", b'<link href="http://a.b/%d"/>'),
}
BINDERS = {
    "default": b'<x xmlns="urn:x">',
    "default-in-another": b'<e:y><x xmlns="urn:x">',
    "pagemap": b'<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0"><DataObject>',
    "twice": b'<x xmlns="urn:x"><y xmlns="urn:y"><z>',
    "known": b'<x xmlns="http://www.google.com/schemas/sitemap-image/1.1">',
    "the-records-own-prefix": b'<x xmlns:s="urn:x" xmlns="urn:y">',
    "in-a-comment-too": b'<x xmlns="urn:x"><!-- </x> --><![CDATA[</x>]]>',
}
NAMESAKE = (
    b"<e:NAME>http://no/</e:NAME>"
    b'<m xmlns="urn:m" xmlns:s="urn:m"><NAME>LINK</NAME><q><NAME>LINK</NAME></q></m>'
)


def namesake(name: bytes, link: bytes) -> bytes:
    """Return elements of other vocabularies that are named like records."""
    return NAMESAKE.replace(b"LINK", link % 99).replace(b"NAME", name.rpartition(b":")[2])


def document(kind: str, insides: list[bytes], *, broken: frozenset[int]) -> bytes:
    """Write a document of records; those that are broken have lost all their end tags."""
    (start, end), name, link = FRAMES[kind]
    tag, end_tag = b"<" + name + b">", b"</" + name + b">"
    records = [
        tag + link % number + inside + (b"" if number in broken else end_tag)
        for number, inside in enumerate(insides)
    ]
    body = b"\n".join(records)
    return start.removesuffix(tag) + body + end.removeprefix(end_tag)


def urls(numbers: range) -> list[str]:
    return [f"http://a.b/{number}" for number in numbers]


@pytest.mark.parametrize("binder", BINDERS)
@pytest.mark.parametrize("kind", FRAMES)
def test_the_records_behind_are_delivered(kind: str, binder: str) -> None:
    """All healthy records behind one with an unclosed binding are delivered, in any cutting."""
    _, name, link = FRAMES[kind]
    insides = [b"", BINDERS[binder], b"", namesake(name, link), b""]
    data = document(kind, insides, broken=frozenset({1}))
    events = read(data)
    assert locs(events) == urls(range(5))
    assert IssueCode.MISMATCHED_TAG in issues(events)
    for size in (1, 7, 64):
        reader = SitemapReader("https://h.example/s.xml")
        pieces = (data[start : start + size] for start in range(0, len(data), size))
        cut = [event for piece in pieces for event in reader.feed(piece)] + reader.close()
        assert cut == events


@pytest.mark.parametrize("kind", FRAMES)
def test_several_such_records(kind: str) -> None:
    """Records that all hold the same element lose nothing when two of them are cut in it."""
    whole = b'<x xmlns="urn:x"><y>1</y></x>'
    insides = [whole, b'<x xmlns="urn:x"><y>', whole, b'<x xmlns="urn:x">', whole, whole]
    events = read(document(kind, insides, broken=frozenset({1, 3})))
    assert locs(events) == urls(range(6))


@pytest.mark.parametrize("damage", [b"&", b"<e:y>", b"</e:y>", b"\x01"])
@pytest.mark.parametrize("kind", FRAMES)
def test_namesakes_in_a_broken_record_are_no_records(kind: str, damage: bytes) -> None:
    """What is named like a record in a closed element of another vocabulary gives no entry."""
    _, name, link = FRAMES[kind]
    inside = namesake(name, link)
    insides = [b"", damage + inside, inside + damage, b'<x xmlns="urn:x"><y>', inside, b""]
    events = read(document(kind, insides, broken=frozenset({3})))
    assert locs(events) == urls(range(6))


@pytest.mark.parametrize("cut", [b"", b"</NAME>", b"</NAME><NAME>"])
@pytest.mark.parametrize("kind", ["urlset", "rss"])
def test_a_cut_document_gives_no_namesakes(kind: str, cut: bytes) -> None:
    """An element that the end of the document leaves open may hold namesakes: none is a record."""
    _, name, link = FRAMES[kind]
    inside = b'<x xmlns="urn:x"><NAME>LINK' + cut
    inside = inside.replace(b"NAME", name).replace(b"LINK", link % 99)
    start = document(kind, [b"", inside], broken=frozenset({1}))
    events = read(start[: start.rindex(inside) + len(inside)])
    assert locs(events) == urls(range(2))
    assert IssueCode.TRUNCATED in issues(events)


def test_across_large_records() -> None:
    """The records behind are delivered, too, where more is pending than a record may have."""
    insides = [b"<y>t</y>" * 10 for _ in range(200)]
    insides[3] = b'<x xmlns="urn:x"><y>'
    data = document("urlset", insides, broken=frozenset({3}))
    assert locs(read(data, record_bytes=5_000)) == urls(range(200))


def test_many_such_records() -> None:
    """Thousands of them are read in linear time."""
    data = document("urlset", [b'<x xmlns="urn:x">'] * 5_000, broken=frozenset(range(5_000)))
    assert len(locs(read(data))) == 5_000
