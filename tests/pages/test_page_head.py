"""The head of a page ends where the HTML standard ends it, whatever is broken in it."""

from __future__ import annotations

import random

import html5lib

from sitemapreader.pages.facts import read_head
from tests.support.scale import SCALE

URL = "https://example.org/a/b"
PIECES = (
    *("<link rel=canonical href=/one>", "<LINK REL='next' HREF='x' href='second'>"),
    *(
        '<link rel="alternate" hreflang="de" href="/de?a=1&amp;b=2"/>',
        "<base href=/base/>",
    ),
    *("<meta name=robots content=noindex>", '<META NAME="googlebot" CONTENT="none" />'),
    *('<meta content="a > b" name=description>', "<meta name=x content=>"),
    *(
        '<meta name="a"content="b">',
        "<title>One &amp; <b>two</b></title>",
        "<title></title>",
    ),
    *(
        "<style>a > b { color: red }</style>",
        "<!-- <link rel=canonical href=/comment> -->",
    ),
    "<script>if (a < b) document.write('<link rel=canonical href=/script>')</script>",
    *(
        "<noscript><link rel=canonical href=/noscript></noscript>",
        "<!--><link rel=x href=/short>",
    ),
    *("<!doctype html>", "<? php ?>", "</ bogus>", "</>", "</p>", "</div>", "\n  \t"),
    *("<html lang=en>", "<head>", "</head>"),
)
ENDS = (
    *(
        "<body>",
        "<p>",
        "<div class=x>",
        "text",
        "&nbsp;",
        "<a",
        "< ",
        "</body>",
        "</br>",
    ),
    "<img src=x>",
)
CUTS = (
    "<meta content='never closed ",
    "<!-- never closed",
    "<title>never closed",
    "<link rel=x",
)


def make_page(choose: random.Random) -> str:
    pieces = choose.choices(PIECES, k=choose.randint(1, 9))
    if choose.random() < 0.6:
        pieces.insert(choose.randint(0, len(pieces)), choose.choice(ENDS))
    if choose.random() < 0.15:
        pieces.insert(choose.randint(0, len(pieces)), choose.choice(CUTS))
    return "".join(pieces)


def read_by_standard(
    page: str,
) -> tuple[list[dict[str, str]], list[dict[str, str]], str | None]:
    """Return what a parser that implements the standard finds in the head."""
    tree = html5lib.parse(page, namespaceHTMLElements=False, scripting=True)
    head = tree.find("head")
    assert head is not None
    titles = [
        " ".join("".join(title.itertext()).split()) for title in head.findall("title")
    ]
    links = [dict(link.attrib) for link in head.findall("link")]
    metas = [dict(meta.attrib) for meta in head.findall("meta")]
    return links, metas, titles[0] if titles else None


def test_heads_equal_those_of_the_standard() -> None:
    """Of 500 heads that are broken on purpose, each gives what html5lib finds in it."""
    choose = random.Random(41)
    for page in (make_page(choose) for _ in range(500 * SCALE)):
        head = read_head(page, URL)
        found = ([link for link, _ in head.links], [meta for meta, _ in head.metas])
        assert (*found, head.title) == read_by_standard(page), page


def test_lines_are_those_of_the_source() -> None:
    """Each element knows its line, whatever stands before it."""
    page = "<!doctype html>\n<!-- a\nb -->\n<title>x\ny</title><link\nrel=a>\r\n\n<meta name=b>"
    head = read_head(page, URL)
    assert [line for _, line in head.links] == [5]
    assert [line for _, line in head.metas] == [8]


def test_what_else_a_head_holds() -> None:
    """Templates are passed over, the first base counts, no tag is too long, links are bounded."""
    inner = "<template><link rel=a></template><meta name=robots content=none><p>text"
    icon = f'<link rel=icon href="data:image/png;base64,{"A" * 100_000}">'
    bases = "<base href=/x/><base href=/y/>"
    head = read_head(f"<template>{inner}</template>{icon}{bases}<link rel=next>", URL)
    assert [link["rel"] for link, _ in head.links] == ["icon", "next"]
    assert (head.metas, head.base) == ([], "https://example.org/x/")
    assert len(read_head("<link rel=canonical href=/x>" * 10_000, URL).links) == 1_000
