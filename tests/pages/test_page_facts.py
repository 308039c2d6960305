"""What a page says of itself is read as search engines read it, and nothing raises."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sitemapreader.pages.facts import PageFacts, read_page
from tests.support.timing import is_linear

URL = "https://example.org/a/b"
WORDS = " ".join(f"word{number}" for number in range(30))


def read_head(head: str, **headers: str) -> PageFacts:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_page(
        f"<!doctype html><head>{head}</head><body>text".encode(), URL, fields
    )


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["noindex"], {"robots": {"noindex"}}),
        (
            ["googlebot: noindex, otherbot: none"],
            {"googlebot": {"noindex"}, "otherbot": {"none"}},
        ),
        (
            ["googlebot: nofollow", "noindex"],
            {"googlebot": {"nofollow"}, "robots": {"noindex"}},
        ),
        (["max-snippet:-1, noindex"], {"robots": {"max-snippet:-1", "noindex"}}),
        (
            ["unavailable_after: Fri, 1 Jan 2027 00:00:00 GMT, noarchive"],
            {"robots": {"unavailable_after:fri, 1 jan 2027 00:00:00 gmt", "noarchive"}},
        ),
        (["", " , ,"], {}),
    ],
)
def test_lines_of_robots_tags(lines: list[str], found: dict[str, set[str]]) -> None:
    """A crawler's name holds for the rest of its own header line, and for no other."""
    assert read_page(b"", URL, {"X-Robots-Tag": "\n".join(lines)}).robots == found


@pytest.mark.parametrize(
    ("head", "bots", "is_noindex"),
    [
        ("<meta name=ROBOTS content='Follow, None'>", (), True),
        ("<meta name=googlebot content=noindex>", (), False),
        ("<meta name=googlebot content=noindex>", ("googlebot",), True),
        ("<meta name=robots content='unavailable_after: 2026-01-01'>", (), True),
        ("<meta name=robots content='unavailable_after: 2028-01-01'>", (), False),
        (
            "<meta name=robots content='unavailable_after: 1 Jan 2026 00:00:00 GMT'>",
            (),
            True,
        ),
        ("<p><meta name=robots content=noindex>", (), False),
    ],
)
def test_noindex(head: str, bots: tuple[str, ...], is_noindex: bool) -> None:
    """A page keeps itself out of the index by words for all crawlers, or for the one that asks."""
    now = datetime(2027, 1, 1, tzinfo=UTC)
    assert (read_head(head).find_noindex(*bots, now=now) is not None) is is_noindex


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (
            "<base href=//cdn.example/><link rel=canonical href=x>",
            ("https://cdn.example/x",),
        ),
        (
            "<link rel=canonical href=/x><link rel=CANONICAL href=/x>",
            ("https://example.org/x",),
        ),
        ("<link rel='canonical' href=''>", ()),
        ("<link rel=canonical href='javascript:alert(1)'>", ()),
        (f"<link rel=canonical href='/{'x' * 100_000}'>", ()),
        ("<body><link rel=canonical href=/x>", ()),
    ],
)
def test_canonicals(head: str, found: tuple[str, ...]) -> None:
    """A canonical is a usable URL of the head; what is empty or no web address says nothing."""
    assert read_head(head).canonicals == found


def test_links_of_headers_count_beside_those_of_the_head() -> None:
    """A canonical and a version in another language may stand in `Link:`; they have no line.

    A version without a language is none, and neither is a canonical with one.
    """
    link = '</c>; rel="canonical", </de>; rel=alternate; hreflang=DE'
    facts = read_head(
        "<link rel=alternate hreflang=x-default href=/><link rel=alternate href=/>"
        "<link rel=canonical hreflang=en href=/d>",
        Link=link,
    )
    assert facts.canonicals == ("https://example.org/c", "https://example.org/d")
    assert [code for code, _ in facts.alternates] == ["DE", "x-default"]
    assert {(kind, target[-1]) for kind, target in facts.lines} == {
        ("alternate x-default", "/"), ("canonical", "d")
    }  # fmt: skip


def test_lines_of_what_findings_name() -> None:
    """Directives, canonicals, other languages and a refresh have the line of their element."""
    head = (
        "\n<meta name=robots content=noindex>\n<meta name=googlebot content=none>\n"
        "<link rel=canonical\nhref=/x>\n<link rel=canonical href=/y><link rel=canonical href=/x>\n"
        "<meta http-equiv=refresh content='0;url=/z'>"
    )
    assert read_head(head).lines == {
        ("robots", "noindex"): 2,
        ("googlebot", "none"): 3,
        ("canonical", "https://example.org/x"): 4,
        ("canonical", "https://example.org/y"): 6,
        ("refresh", "https://example.org/z"): 7,
    }


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("5; URL='/x'", (5, "https://example.org/x")),
        ("3,/x", (3, "https://example.org/x")),
        ("0.5;url=/x", (0, "https://example.org/x")),
        ("0;url=", None),
        ("0; url=/a/b", None),
        ("0; url=javascript:x", None),
        ("soon", None),
    ],
)
def test_refresh(content: str, found: tuple[int, str] | None) -> None:
    """A refresh counts where it leads to another page."""
    assert read_head(f'<meta http-equiv=Refresh content="{content}">').refresh == found


@pytest.mark.parametrize(("date", "day"), [("2026-03-01T10:00:00Z", 1), ("soon", None)])
def test_modified(date: str, day: int | None) -> None:
    """The page's own date of change comes from its metadata; a broken one is no date."""
    modified = read_head(
        f'<meta property="Article:modified_time" content="{date}">'
    ).modified
    assert (modified and modified.day) == day


def test_what_is_not_html_has_the_facts_of_its_headers() -> None:
    """A PDF may be kept out of the index, and a text has a hash."""
    pdf = read_page(
        b"%PDF", URL, {"Content-Type": "application/pdf", "X-Robots-Tag": "noindex"}
    )
    assert pdf.find_noindex()
    assert pdf.text_hash is None
    texts = (
        read_page(each, URL, {"Content-Type": "text/markdown"})
        for each in (b"# T", b"# U")
    )
    assert len({text.text_hash for text in texts} - {None}) == 2


@pytest.mark.parametrize(
    ("body", "shows"),
    [
        (b"", "nothing"),
        (b" \r\n", "nothing"),
        (b"<!doctype html><title>T</title><body><!-- x --><p>&nbsp;</p>", "nothing"),
        (b"<title>T</title><div><svg/></div>", "something"),
        (b"<body><img src=a.png>", "something"),
        (b"<nav>Home</nav>", "something"),
        (b"<script>run('a text')</script><div id=app></div>", "scripts"),
        (b"<script src=a.js></script><noscript>Use scripts</noscript>", "scripts"),
        (b"<p>" + b" " * 3_000_000, "something"),
    ],
)
def test_whether_a_page_shows_something(body: bytes, shows: str) -> None:
    """Neither a title nor comments, white space and what stands for scripts is seen."""
    assert read_page(body, URL).shows == shows
    assert read_page(body, URL, text=False).shows == shows


def test_a_page_that_is_too_long_has_facts_but_no_hash() -> None:
    """Of 3 MB two are read, and nobody can say whether the rest changed."""
    facts = read_page(b"<title>T</title><p>" + b"word " * 600_000, URL)
    assert (facts.title, facts.text_hash) == ("T", None)


@pytest.mark.parametrize(
    "charset", ["utf-8", "utf-16", "iso-8859-1", "no-such-charset", ""]
)
def test_charsets(charset: str) -> None:
    """A page is decoded as its header says, and unknown names cost no facts."""
    codec = charset if charset in ("utf-16", "iso-8859-1") else "utf-8"
    page = "<title>caf\u00e9</title>".encode(codec)
    title = read_page(
        page, URL, {"Content-Type": f"text/html; charset={charset}"}
    ).title
    assert title == "caf\u00e9"


def test_a_page_in_an_encoding_that_nobody_reads() -> None:
    """Most of it is ASCII all the same."""
    kind = "text/html; charset=utf-7"
    assert read_page(b"<title>T</title>", URL, {"Content-Type": kind}).title == "T"


ROBOTS = b'<meta name=robots content="'
FLOODS: tuple[tuple[bytes, bytes, bytes], ...] = (
    *(
        (b"", unit, b"")
        for unit in (
            *(
                b"<!--",
                b"<a",
                b"<a b='",
                b"<title",
                b"</",
                b"<script>",
                b"<template>",
                b"<div>",
            ),
            *(b"< ", b"&", b"<a b=", b"<a b ", b"<script "),
            *(b"<time datetime=x>", b"</div>", b"\x00", b"\xff\xfe"),
        )
    ),
    *((ROBOTS, unit, b'">') for unit in (b" ", b",", b"a b: ")),
    (b"<p>&#", b"9", b";"),
    (b'<base href="', b"a/", b'">' + 200 * b"<link rel=canonical href=x>"),
)


@pytest.mark.parametrize(("before", "unit", "after"), FLOODS)
def test_time_is_linear(before: bytes, unit: bytes, after: bytes) -> None:
    """A flood, or one value of any length, takes time that grows with it, and raises nothing."""
    assert is_linear(
        lambda size: read_page(before + unit * (size // len(unit)) + after, URL),
        20_000,
        80_000,
    )
