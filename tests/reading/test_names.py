"""Names of elements and namespaces: each means what its author meant."""

from __future__ import annotations

import pytest

from sitemapreader._read.vocabulary import (
    NAMESPACES,
    OWN,
    PARSED_EXTENSIONS,
    Names,
    namespace_key,
)
from sitemapreader._types.models import Format


def test_no_row_hides_another() -> None:
    """The first row that fits holds, so none stands behind one that it begins with."""
    starts = list(NAMESPACES)
    hidden = [b for at, b in enumerate(starts) for a in starts[:at] if b.startswith(a)]
    assert hidden == []


@pytest.mark.parametrize("host", ["www.google.com", "www.sitemaps.org"])
@pytest.mark.parametrize("slot", ["images", "videos", "news"])
def test_extensions_of_both_hosts(host: str, slot: str) -> None:
    """Some write the extensions under the protocol's host; they are the extensions all the same."""
    uri = f"http://{host}/schemas/sitemap-{PARSED_EXTENSIONS[slot].tag}/1.1"
    assert namespace_key(uri, Format.URLSET) == slot
    assert namespace_key("http://sitemaps.org/schemas/sitemap", Format.URLSET) == OWN


LONG = "x" * 100_000


def test_long_names_are_not_kept() -> None:
    """A long name is resolved, but is not kept."""
    names = Names(frozenset({"urn:root"}), Format.URLSET)
    assert names[f"{{urn:x}}{LONG}"].local == LONG
    assert names["{urn:root}URL"].own == "url"
    assert list(names) == ["{urn:root}URL"]
