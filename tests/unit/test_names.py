"""Namespaces: every row of their table is reached, and means what its author meant."""

from __future__ import annotations

import pytest
from reading import read

from sitemapreader.models import Format, Image, UrlEntry
from sitemapreader.readers.records.vocabulary import (
    IMAGE,
    NAMESPACES,
    NEWS,
    OWN,
    VIDEO,
    namespace_key,
)

ROOT = "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_no_row_hides_another() -> None:
    """The first row that fits holds, so none stands behind one that it begins with."""
    starts = list(NAMESPACES)
    hidden = [b for at, b in enumerate(starts) for a in starts[:at] if b.startswith(a)]
    assert hidden == []


@pytest.mark.parametrize("host", ["www.google.com", "www.sitemaps.org"])
@pytest.mark.parametrize("key", [IMAGE, VIDEO, NEWS])
def test_extensions_of_both_hosts(host: str, key: str) -> None:
    """Some write the extensions under the protocol's host; they are the extensions all the same."""
    uri = f"http://{host}/schemas/sitemap-{key}/1.1"
    assert namespace_key(uri, Format.URLSET) == key
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
