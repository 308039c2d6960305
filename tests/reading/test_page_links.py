"""Links of pages at their limits: what is a link, which of them are taken, and what is dropped."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sitemapreader import Issue, Limits, SitemapReader, UrlEntry, read
from sitemapreader._read.html import (
    decode_attribute,
    decode_text,
    find_generators,
    find_hints,
    parse_links,
    resolve_link,
    scan_page,
    write_opening,
)
from sitemapreader._read.vocabulary import MAX_NAMESPACES
from tests.support.reading import pages_with, read_with

SITE = "https://example.org/"
MAP = f"{SITE}a/map.html"


# -- tokens


def list_tokens(page: str, *names: str) -> list[tuple[str, str, int]]:
    pattern = [write_opening(*names)] if names else []
    return [(each.name, each.source, each.line) for each in scan_page(page, *pattern)]


@pytest.mark.parametrize(
    ("page", "tokens"),
    [
        ("", []),
        ("a", [("", "a", 1)]),
        ("<p>", [("p", "", 1)]),
        ("a<P x=1>b", [("", "a", 1), ("p", " x=1", 1), ("", "b", 1)]),
        ("\n<p>\n\n</p>", [("", "\n", 1), ("p", "", 2), ("", "\n\n", 2), ("/p", "", 4)]),
        ("<!-->a", [("", "", 1), ("", "a", 1)]),
        ("<!--->a", [("", "", 1), ("", "a", 1)]),
        ("<!-- > --!>a", [("", "", 1), ("", "a", 1)]),
        ("<!>a", [("", "", 1), ("", "a", 1)]),
        ("<?x?>a", [("", "", 1), ("", "a", 1)]),
        ("</>a", [("", "", 1), ("", "a", 1)]),
        ("< a", [("", "< a", 1)]),
        ("<!-- a", [("<", "", 1)]),
        ("<a href='x", [("<", "", 1)]),
        ("<p title='>'>a", [("p", " title='>'", 1), ("", "a", 1)]),
        ("<p title= '>'>a", [("p", " title= '>'", 1), ("", "a", 1)]),
        ("<p '>a", [("p", " '", 1), ("", "a", 1)]),
        ("<template><p>a</template>b", [("", "", 1)] * 3 + [("", "b", 1)]),
        (
            "<template><template></template>a</template>b",
            [("", "", 1)] * 4 + [("", "b", 1)],
        ),
        ("<template>a", [("", "", 1)]),
        ("</template>a", [("", "", 1), ("", "a", 1)]),
    ],
)  # fmt: skip
def test_tokens_of_a_page(page: str, tokens: list[tuple[str, str, int]]) -> None:
    """Tags and texts in their order, an empty text for skipped markup, and their lines."""
    assert list_tokens(page) == tokens


def test_raw_elements_hold_text_up_to_their_own_end() -> None:
    """Of all tags, or of some of them: then `<noscript>` holds tags."""
    page = "<script>a<b></SCRIPT ><noscript><i></noscript><title>x</titles></title>"
    tokens = [(each.name, each.content) for each in scan_page(page)]
    assert tokens == [
        ("script", "a<b>"),
        ("/script", ""),
        ("noscript", "<i>"),
        ("/noscript", ""),
        ("title", "x</titles>"),
        ("/title", ""),
    ]
    wanted = write_opening("i")
    assert [each.name for each in scan_page(page, wanted) if each.name] == [
        "script",
        "i",
        "title",
    ]


def test_a_tag_of_any_length_ends() -> None:
    """Its end is searched so far; what follows is read on."""
    with pages_with(_MAX_TAG_CHARS=10):
        assert list_tokens("<p 12345678>") == [("p", " 12345678", 1)]
        assert list_tokens("<p 123456789>a") == [("<", "", 1), ("", ">a", 1)]


@pytest.mark.parametrize(
    ("value", "decoded"),
    [
        ("&amp;" + "x" * 65_531, "&" + "x" * 65_531),
        ("&amp;" + "x" * 65_532, "&amp;" + "x" * 65_532),
        ("&lt", "<"),
        ("&ltx", "&ltx"),
        ("&lt;=", "<="),
        ("&lt=", "&lt="),
        ("&#60;&#x3c;", "<<"),
        (f"&#{'9' * 17};", "\ufffd"),
        (f"&#{'0' * 15}9;", "\t"),
        ("x", "x"),
    ],
    ids=range(10),
)
def test_a_value_is_decoded(value: str, decoded: str) -> None:
    """Up to 64 KiB; a name without a semicolon may be a parameter."""
    assert decode_attribute(value) == decoded
    if len(value) < 60_000 and value not in ("&ltx", "&lt="):
        assert decode_text(value) == decoded


# -- hints


def hints(page: str, *, feeds: bool = False, **headers: str) -> list[str]:
    return [*find_hints(page.encode(), MAP, headers, feeds=feeds)]


@pytest.mark.parametrize(("chars", "found"), [(2_047, 1), (2_048, 0)])
def test_a_link_as_long_as_no_url(chars: int, found: int) -> None:
    """Its address is no hint, and leads nowhere."""
    href = "/" + "x" * (chars - 1)
    assert len(hints(f"<link rel=sitemap href={href}>")) == found
    assert (resolve_link(SITE, href) is not None) == bool(found)


@pytest.mark.parametrize(
    ("href", "url"),
    [
        (" x ", f"{SITE}a/x"),
        ("", None),
        (" ", None),
        ("mailto:x", None),
        ("/{{x}}", None),
    ],
)
def test_the_url_of_a_link(href: str, url: str | None) -> None:
    """What is no usable web address is none."""
    assert resolve_link(MAP, href) == url


FEED = "<link rel=alternate type=application/rss+xml"


@pytest.mark.parametrize(
    ("link", "is_taken"),
    [
        ("href=/feed", True),
        ("href=/comments/feed", False),
        ("href=/feed title='Comments feed'", False),
        ("href=/x?feed=comments-rss2", False),
        ("href=/commentary/feed title='Commented'", True),
    ],
)
def test_feeds_of_comments_list_no_pages(link: str, is_taken: bool) -> None:
    """Their address or their title says so."""
    assert len(hints(f"{FEED} {link}>", feeds=True)) == is_taken
    assert hints(f"{FEED} {link}>") == []


def test_the_first_base_with_an_address_counts() -> None:
    """One without one is none; the header is resolved against the page."""
    page = "<base><base href=/b/><base href=/c/><link rel=sitemap href=s.xml>"
    assert hints(page, link="<s.xml>; rel=sitemap") == [
        f"{SITE}a/s.xml",
        f"{SITE}b/s.xml",
    ]


def test_the_number_of_hints_and_links_is_bounded() -> None:
    """A hint that comes again is one; links beyond the limit are not looked at."""
    links = "".join(f"<link rel=sitemap href=/{n}>" for n in (0, 0, 1, 2, 3))
    with pages_with(MAX_HINTS=3):
        assert hints(links) == [f"{SITE}{n}" for n in range(3)]
    with pages_with(MAX_LINKS=4):
        assert hints("<link>" * 2 + links) == [f"{SITE}0"]
        assert hints("<link>" * 4 + links) == []
        page = "<meta name=generator content=x>" * 5
        assert find_generators(page.encode(), {}) == ["x"] * 4


def test_generators_of_a_page() -> None:
    """Their names in any case, with what they say."""
    page = "<meta name=' Generator ' content='Hugo &amp; co'><meta content=x>"
    page += "<meta name=description content=y><meta name=GENERATOR>"
    assert find_generators(page.encode(), {}) == ["Hugo & co", ""]


def test_whole_links_of_a_header() -> None:
    """One as long as the limit is read; of a longer one, what ends with a comma."""
    header = '</a>; REL="x"; rel=y, </b>; title="a,\\"b"; c, </d>'
    found = [
        {"href": "/a", "rel": "x"},
        {"href": "/b", "title": 'a,\\"b', "c": ""},
        {"href": "/d"},
    ]
    for most, links in ((len(header), 3), (len(header) - 1, 2), (3, 0)):
        with pages_with(MAX_LINK_HEADER_CHARS=most):
            assert parse_links(header) == found[:links]


# -- pages as sitemaps


def read_map(
    page: str, url: str = MAP, **limits: Any
) -> tuple[list[str], list[tuple[str, int | None]]]:
    """Return the URLs of a page, and its Issues but for the one that it is a page."""
    reading = read(page.encode(), url, extra_formats={"html"}, limits=Limits(**limits))
    events = [*reading]
    locs = [event.loc for event in events if isinstance(event, UrlEntry)]
    issues = [(event.code, event.line) for event in events if isinstance(event, Issue)]
    assert issues[0][0] == "html-sitemap"
    return locs, [(str(code), line) for code, line in issues[1:]]


START = "<!doctype html><html>"


@pytest.mark.parametrize(
    ("links", "locs", "issues"),
    [
        ("", [], ["empty"]),
        ("<a>x</a><a href=''>y</a><a href='#z'>z</a>", [], ["empty"]),
        ("<a href=x>", [f"{SITE}a/x"], []),
        ("<area href=x><a href=/a/x#y>", [f"{SITE}a/x"], []),
        ("<a href=x><a href=y><a href=x>", [f"{SITE}a/x", f"{SITE}a/y"], []),
        ("<base href=/b/><base href=/c/><a href=x>", [f"{SITE}b/x"], []),
        ("<base href=''><base href=/c/><a href=x>", [f"{SITE}c/x"], []),
        ("<base href=/b/><base href=''><a href=x>", [f"{SITE}b/x"], []),
        ("<a href=x rel='me NoFollow'>", [], ["link-not-taken"]),
        ("<a href=https://other.example/>", [], ["link-not-taken"]),
        ("<a href=https://www.example.org/>", ["https://www.example.org/"], []),
        ("<a href=https://u:p@example.org/>", [], ["link-not-taken"]),
        ("<a href=mailto:x>", [], ["link-not-taken"]),
        ("<a href='x<b>'>", [], ["malformed"]),
        ("<a href='/{{x}}'>", [], ["template"]),
        ("<a href='x y'>", [f"{SITE}a/x y"], ["url-characters"]),
        ("<a href='x", [], ["malformed"]),
        ("<a href=x><a href='y", [f"{SITE}a/x"], ["malformed"]),
    ],
)
def test_links_of_a_page(links: str, locs: list[str], issues: list[str]) -> None:
    """A page of its own site is an entry, once; every other link is dropped with an Issue."""
    found, said = read_map(START + links)
    assert found == locs
    assert [code for code, _ in said] == issues
    assert {line for _, line in said} <= {1, None}


def test_a_page_without_an_address_takes_all_links() -> None:
    """Nothing says which site is its own."""
    page = f"{START}<a href=https://other.example/x>"
    assert read_map(page, "") == (["https://other.example/x"], [])


@pytest.mark.parametrize(("chars", "issues"), [(9, ["field-too-long"]), (10, [])])
def test_a_link_that_is_too_long(chars: int, issues: list[str]) -> None:
    """It is dropped; one as long as the limit is read."""
    locs, said = read_map(f"{START}\n<a href=/345678901>", field_chars=chars)
    assert [code for code, _ in said] == issues
    assert locs == ([] if issues else [f"{SITE}345678901"])
    assert [line for _, line in said] == ([2] if issues else [])


def test_a_page_that_is_too_large() -> None:
    """So many bytes are read, and one more is an Issue."""
    page = f"{START}<a href=/x>"
    for most, issues in ((len(page), []), (len(page) - 1, ["malformed", "too-large"])):
        with pages_with(MAX_PAGE_BYTES=most):
            locs, said = read_map(page)
        assert [code for code, _ in said] == issues
        assert locs == ([] if issues else [f"{SITE}x"])


def test_a_long_page_is_read_in_steps() -> None:
    """A pause comes after so much work, and all links come all the same."""
    page = f"{START}{'<a href=/x><a href=/y>' * 50}".encode()

    def count_steps(most: int) -> int:
        with pages_with(_TOKENS_AT_ONCE=most):
            steps = [*SitemapReader(MAP, extra_formats={"html"}).close_steps(page)]
        events = [event for step in steps for event in step]
        locs = Counter(each.loc for each in events if isinstance(each, UrlEntry))
        assert locs == {f"{SITE}x": 1, f"{SITE}y": 1}
        return len(steps)

    few, many = count_steps(1_000_000), count_steps(20)
    assert many - few == 100
    assert few < count_steps(500) < many


# -- other limits of documents


def codes_of(data: Any, **arguments: Any) -> Counter[str]:
    reading = read(data, SITE, **arguments)
    return Counter(str(each.code) for each in reading if isinstance(each, Issue))


@pytest.mark.parametrize("name", ["PROTOCOL_MAX_ENTRIES", "PROTOCOL_MAX_BYTES"])
def test_the_limits_of_the_protocol(name: str) -> None:
    """So many URLs and bytes are allowed; more are read, with an Issue."""
    data = b"http://a.b/1\n" * 3
    most = 3 if name.endswith("ENTRIES") else len(data)
    with read_with(**{name: most}):
        assert codes_of(data) == {}
    with read_with(**{name: most - 1}):
        assert codes_of(data) == {"over-protocol-limit": 1}


@pytest.mark.parametrize(("more", "issues"), [(0, 0), (1, 1)])
def test_the_attributes_of_a_root(more: int, issues: int) -> None:
    """So many are kept; others are an Issue, and the records are read."""
    names = "".join(f' a{n}="x"' for n in range(MAX_NAMESPACES + more))
    data = f"<urlset{names}><url><loc>{SITE}x</loc></url></urlset>".encode()
    assert codes_of(data)["too-many-attributes"] == issues


@pytest.mark.parametrize("source", [[1], [b"<urlset/>", "x"], 3])
def test_what_gives_no_bytes_is_refused(source: Any) -> None:
    """With the name of its type."""
    with pytest.raises(TypeError):
        [*read(source)]
    assert codes_of([b"<urlset/>"]) == codes_of(b"<urlset/>")
    assert codes_of(bytearray(b"<urlset/>")) == codes_of(memoryview(b"<urlset/>"))
