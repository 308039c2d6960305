"""Namespaces, long names and unknown elements: each means what its author meant."""

from __future__ import annotations

import json

import pytest
from each_case import for_each
from reading import check_ways, locs, read, url, urlset

from sitemapreader import Extra
from sitemapreader.models import Format, Image, UrlEntry
from sitemapreader.output.text import to_json
from sitemapreader.readers.vocabulary import (
    EXTENSIONS,
    NAMESPACES,
    OWN,
    Names,
    namespace_key,
)

ROOT = "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_no_row_hides_another() -> None:
    """The first row that fits holds, so none stands behind one that it begins with."""
    starts = list(NAMESPACES)
    hidden = [b for at, b in enumerate(starts) for a in starts[:at] if b.startswith(a)]
    assert hidden == []


@pytest.mark.parametrize("host", ["www.google.com", "www.sitemaps.org"])
@pytest.mark.parametrize("slot", ["images", "videos", "news"])
def test_extensions_of_both_hosts(host: str, slot: str) -> None:
    """Some write the extensions under the protocol's host; they are the extensions all the same."""
    uri = f"http://{host}/schemas/sitemap-{EXTENSIONS[slot].tag}/1.1"
    assert namespace_key(uri, Format.URLSET) == slot
    assert namespace_key("http://sitemaps.org/schemas/sitemap", Format.URLSET) == OWN


def test_images_under_the_protocol_s_host() -> None:
    """An image there is an image."""
    (entry,) = read(
        f'<urlset xmlns="{ROOT}" xmlns:i="http://www.sitemaps.org/schemas/sitemap-image/1.1"><url>'
        "<loc>http://a.b/1</loc><i:image><i:loc>http://a.b/1.png</i:loc></i:image></url></urlset>".encode()
    )
    assert isinstance(entry, UrlEntry)
    assert entry.images == (Image("http://a.b/1.png"),)


def test_modules_of_rss_are_not_rss() -> None:
    """A link of mod_link beside an item's own is none of its fields."""
    events = read(
        b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        b' xmlns="http://purl.org/rss/1.0/" xmlns:l="http://purl.org/rss/1.0/modules/link/">'
        b"<item><l:link>http://other/x</l:link><link>http://a.b/1</link></item></rdf:RDF>"
    )
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == ["http://a.b/1"]


# -- names of elements that are too long to be kept are resolved and counted all the same


LONG = "x" * 100_000


def test_long_names_are_not_kept() -> None:
    """A long name is resolved, but is not kept."""
    names = Names(frozenset({"urn:root"}), Format.URLSET)
    assert names[f"{{urn:x}}{LONG}"].local == LONG
    assert names["{urn:root}URL"].own == "url"
    assert list(names) == ["{urn:root}URL"]


# -- what is named like a record, in another vocabulary


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
NAMESAKE = (
    b"<e:NAME>http://no/</e:NAME>"
    b'<m xmlns="urn:m" xmlns:s="urn:m"><NAME>LINK</NAME><q><NAME>LINK</NAME></q></m>'
)


def namesake(name: bytes, link: bytes) -> bytes:
    """Return elements of other vocabularies that are named like records."""
    return NAMESAKE.replace(b"LINK", link % 99).replace(b"NAME", name.rpartition(b":")[2])


def document(kind: str, insides: list[bytes]) -> bytes:
    """Write a document of records with something in them."""
    (start, end), name, link = FRAMES[kind]
    tag, end_tag = b"<" + name + b">", b"</" + name + b">"
    records = [tag + link % number + inside + end_tag for number, inside in enumerate(insides)]
    body = b"\n".join(records)
    return start.removesuffix(tag) + body + end.removeprefix(end_tag)


def urls(numbers: range) -> list[str]:
    return [f"http://a.b/{number}" for number in numbers]


@for_each("damage", [b"&", b"<e:y>", b"</e:y>", b"\x01"])
@for_each("kind", FRAMES)
def test_namesakes_in_a_broken_record_are_no_records(kind: str, damage: bytes) -> None:
    """What is named like a record in a closed element of another vocabulary gives no entry."""
    _, name, link = FRAMES[kind]
    inside = namesake(name, link)
    insides = [b"", damage + inside, inside + damage, inside, b""]
    assert locs(read(document(kind, insides))) == urls(range(5))


# -- elements that no table knows are kept whole: with their attributes, and what is in them


PAGEMAP = "http://www.google.com/schemas/sitemap-pagemap/1.0"


def extras(fields: str) -> tuple[Extra, ...]:
    """Read the extras of a record, which the pattern and the tree agree on."""
    (entry,) = (e for e in check_ways(urlset(url(fields.encode()))) if isinstance(e, UrlEntry))
    return entry.extras


def test_a_page_map_is_kept() -> None:
    """Google's PageMap holds its values in attributes, two levels deep."""
    (page_map,) = extras(
        f'<PageMap xmlns="{PAGEMAP}"><DataObject type="document" id="hibachi">'
        '<Attribute name="name">Dragon</Attribute><Attribute name="review" value="3.5"/>'
        "</DataObject></PageMap>"
    )
    (item,) = page_map.children
    assert (page_map.name, item.attributes) == ("PageMap", {"type": "document", "id": "hibachi"})
    assert item.children == (
        Extra(PAGEMAP, "Attribute", "Dragon", {"name": "name"}),
        Extra(PAGEMAP, "Attribute", "", {"name": "review", "value": "3.5"}),
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("<x:a/>", Extra("urn:x", "a")),
        ('<x:a b=" &amp; &#252;\n"/>', Extra("urn:x", "a", "", {"b": " & \xfc "})),
        ('<x:a x:b="1" xml:lang="de" b="2">t</x:a>', Extra("urn:x", "a", "t", {
            "{urn:x}b": "1", "{http://www.w3.org/XML/1998/namespace}lang": "de", "b": "2"})),
        ("<x:a> t <x:b>u</x:b> v </x:a>", Extra("urn:x", "a", "t  v", {}, (
            Extra("urn:x", "b", "u"),))),
        ('<x:a><x:b c="1"><x:d/></x:b></x:a>', Extra("urn:x", "a", "", {}, (
            Extra("urn:x", "b", "", {"c": "1"}, (Extra("urn:x", "d"),)),))),
        ("<x:a><!-- c --><?p x?><x:b/></x:a>", Extra("urn:x", "a", "", {}, (Extra("urn:x", "b"),))),
        ('<a b="1"/>', Extra("http://www.sitemaps.org/schemas/sitemap/0.9", "a", "", {"b": "1"})),
    ],
)  # fmt: skip
def test_attributes_and_elements_are_kept(written: str, expected: Extra) -> None:
    """An extra has its attributes and the elements in it, in their order."""
    assert extras(written) == (expected,)
    assert extras(f"{written}<x:z>{written}</x:z>")[1].children == (expected,)


def test_a_record_that_is_not_well_formed_keeps_them_too() -> None:
    """The mender makes the same extra of an element with an unquoted attribute."""
    assert extras("<x:a b=1><x:c d='2'>t</x:c></x:a>") == (
        Extra("urn:x", "a", "", {"b": "1"}, (Extra("urn:x", "c", "t", {"d": "2"}),)),
    )


def test_a_link_that_is_no_alternate_keeps_its_attributes() -> None:
    """A link has its rel as name and its href as text, and all attributes besides."""
    (link,) = extras('<xhtml:link rel="amphtml" media="print" href="https://a.example/amp"/>')
    assert (link.name, link.text, link.attributes["media"]) == (
        "amphtml",
        "https://a.example/amp",
        "print",
    )


def test_what_a_video_has_besides_its_fields_comes_once() -> None:
    """An unknown element of an extension is an extra; what is in it is not one once more."""
    found = extras(
        '<video:video><video:title>t</video:title><video:seg duration="6">'
        "<video:part>u</video:part></video:seg></video:video>"
    )
    assert [(one.name, one.attributes, len(one.children)) for one in found] == [
        ("seg", {"duration": "6"}, 1)
    ]


def test_json_has_what_is_there() -> None:
    """JSON leaves out absent attributes and children, and nests those that are there."""
    (extra,) = extras('<x:a><x:b c="1"/></x:a>')
    assert json.loads(to_json(extra)) == {
        "namespace": "urn:x",
        "name": "a",
        "text": "",
        "children": [{"namespace": "urn:x", "name": "b", "text": "", "attributes": {"c": "1"}}],
    }
