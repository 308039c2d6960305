"""Elements that no table knows are kept whole: with their attributes, and what is in them."""

from __future__ import annotations

import json

import pytest
from reading import check_ways, url, urlset

from sitemapreader import Extra, UrlEntry
from sitemapreader.output.text import to_json

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
    """The lenient parser makes the same extra of an element with an unquoted attribute."""
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
