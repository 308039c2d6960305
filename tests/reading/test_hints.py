"""Sitemaps and feeds that a page names, in its elements and in its header."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sitemapreader._read.html import MAX_HINTS, find_hints
from sitemapreader._types.models import SitemapEntry, Via
from tests.support.package import TESTS
from tests.support.timing import is_linear

PAGE = "https://example.org/blog/"


def found(
    markup: str | bytes, *, charset: str | None = None, feeds: bool = False
) -> list[str]:
    data = markup.encode() if isinstance(markup, str) else markup
    headers = {"content-type": f"text/html; charset={charset}"} if charset else {}
    return [
        entry.loc for entry in find_hints(data, PAGE, headers, feeds=feeds).values()
    ]


ONE = ["https://example.org/s.xml"]
TABLES = tomllib.loads((TESTS / "cases" / "hints.toml").read_text("utf-8"))


@pytest.mark.parametrize("row", TABLES["markup"])
def test_links(row: dict[str, Any]) -> None:
    """A link element gives its sitemap, however it is written, unless it is only quoted."""
    assert found(row["markup"]) == row.get("urls", ONE)


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        ("application/rss+xml", True),
        ("application/atom+xml; charset=utf-8", True),
        ("application/json", False),
    ],
)
def test_feeds(kind: str, taken: bool) -> None:
    """An alternate is taken where feeds are asked for, and its type is a feed's."""
    markup = f'<link rel="alternate" type="{kind}" href="/rss">'
    assert found(markup) == []
    assert found(markup, feeds=True) == (["https://example.org/rss"] if taken else [])


@pytest.mark.parametrize(
    ("data", "charset"),
    [
        ("<link rel=sitemap href=/ä.xml>".encode(), None),
        ("<link rel=sitemap href=/ä.xml>".encode("latin-1"), "iso-8859-1"),
        ("<meta charset=latin1><link rel=sitemap href=/ä.xml>".encode("latin-1"), None),
        ("<link rel=sitemap href=/ä.xml>".encode("utf-8-sig"), "utf-8"),
        ("<link rel=sitemap href=/ä.xml>".encode("utf-16"), None),
    ],
    ids=["utf-8", "header", "meta", "mark", "utf-16"],
)
def test_encodings(data: bytes, charset: str | None) -> None:
    """The page is read in the encoding that its mark, its header or itself declares."""
    assert found(data, charset=charset) == ["https://example.org/ä.xml"]
    assert found("<link rel=sitemap href=/s.xml>", charset="utf-7") == []
    assert found("<link rel=sitemap href=/ä.xml>".encode("latin-1")) == []  # no address


def test_an_entry_says_where_it_is_from() -> None:
    """What a page or a header names carries the page's URL and the way it was found."""
    (entry,) = find_hints(b"<link rel=sitemap href=/s.xml>", PAGE, {}).values()
    assert entry == SitemapEntry(
        "https://example.org/s.xml", via=Via.HTML, sitemap=PAGE
    )
    headers = {"link": '</f>; rel=alternate; type="application/atom+xml"'}
    assert find_hints(b"", PAGE, headers) == {}
    (entry,) = find_hints(
        b"<link rel=sitemap href=/f>", PAGE, headers, feeds=True
    ).values()
    assert (entry.loc, entry.via) == ("https://example.org/f", Via.HEADER)


@pytest.mark.parametrize("row", TABLES["headers"])
def test_link_header(row: dict[str, Any]) -> None:
    """A Link header gives the sitemaps it names, whatever else it has."""
    entries = find_hints(b"", PAGE, {"link": row["value"]}).values()
    assert [entry.loc for entry in entries] == row.get("urls", ONE)


def test_there_is_an_end() -> None:
    """The first hundred sitemaps are taken, and the whole links of a long header."""
    links = f"</a>; rel=sitemap; title={'t' * 65_400}, </b>; rel=sitemap, "
    links += f"</c?{'c' * 99}>; rel=sitemap"
    assert [*find_hints(b"", PAGE, {"link": links})] == [
        f"https://example.org/{name}" for name in "ab"
    ]
    markup = "".join(f"<link rel=sitemap href=/{n}>" for n in range(3_000))
    assert len(found(markup)) == MAX_HINTS


@pytest.mark.parametrize(
    "piece",
    ["<link", "<link ", "<link a", '<link a="', "<link a='\"", "<!--", "<script>", "<link a=b ",
     "<link  a  ", "<base href=", "<link rel=sitemap href=&amp;&lt;x>", "<", "<meta charset"],
)  # fmt: skip
def test_hostile_pages_cost_little(piece: str) -> None:
    """Markup that never ends is looked through in linear time, repeated or with a long tail."""

    def read_floods(size: int) -> None:
        for markup in (
            piece * (size // len(piece)),
            piece + " " * size,
            piece + "a" * size,
        ):
            found(markup)

    assert is_linear(read_floods, 10_000, 40_000)


@given(
    st.binary(max_size=300)
    | st.text("<link rel=\"sitemap' hrf=/>!-&;,", max_size=300).map(str.encode)
)
def test_nothing_raises(data: bytes) -> None:
    """Whatever the bytes are, nothing is raised and every URL is absolute."""
    text = data.decode("latin-1")
    for entry in find_hints(data, PAGE, {"link": text}, feeds=True).values():
        assert entry.loc.lower().startswith(("http://", "https://"))
