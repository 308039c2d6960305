"""The laws for HTML site maps: nothing lost, nothing invented, whatever the pieces."""

from __future__ import annotations

import time
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from sitemapreader import Issue, IssueCode, SitemapReader, UrlEntry, read
from sitemapreader._types.urls import load_suffixes, resolve
from tests.support import golden, strategies
from tests.support.reading import read_with
from tests.support.timing import is_below

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

PAGE = golden.HOST + "html/map.html"
Page = tuple[str, list[str]]
PAGES = [
    path for path in golden.documents() if path.parent.name in golden.EXTRA_FORMATS
]
HEAD = "<!DOCTYPE html><html><body>"

paths = st.text("abz09-_.~/%é&=?+;:@'", min_size=1, max_size=12).map(
    lambda text: "/p" + text
)
titles = st.text("ab é&<>\"'[]", max_size=10)
quotes = st.sampled_from(["'", '"'])
junk = st.sampled_from(
    [
        "",
        "text ",
        "<b>",
        "</div>",
        "<!-- <a href=/no> -->",
        "<script>'<a href=/no>'</script>",
        "<img alt='a > b'>",
        "x < y ",
        "<a name=x>",
        "<a href='#y'>z</a>",
        "<title><a href=/no></title>",
    ]
)


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Write a page, and list the URL of each link that it must give."""
    parts = [HEAD]
    wanted: dict[str, None] = {}
    for path, title in draw(st.lists(st.tuples(paths, titles), max_size=8)):
        quote = draw(quotes)
        before = draw(st.sampled_from(["", ' class="a>b"', " id=x", " data-x"]))
        name = draw(st.sampled_from(["href", "HREF", "href "]))
        href = escape(path).replace("'", "&#39;")
        parts.append(
            f"{draw(junk)}<a{before} {name}={quote}{href}{quote}>{escape(title)}</a>"
        )
        url = f"https://www.example.org{path}"
        wanted[resolve(PAGE, path) or url] = None
    return "".join([*parts, draw(junk)]), list(wanted)


@settings(max_examples=40)
@given(pages(), st.data())
def test_every_link_of_a_page(page: Page, data: st.DataObject) -> None:
    """All links of a page come out, in order; and nothing else does."""
    text, wanted = page
    reading = golden.read_pieces(data.draw(strategies.chunkings(text.encode())), PAGE)
    assert reading.locs == wanted
    assert reading.records == len(wanted)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.sampled_from(PAGES), st.randoms(use_true_random=False), st.data())
def test_the_laws_hold_for_damaged_pages(
    path: Path, random: Random, data: st.DataObject
) -> None:
    """Whatever becomes of a page, records add up, and pieces do not matter."""
    room = path.parent.name
    body = strategies.mutate(random, path.read_bytes(), data.draw(st.integers(1, 3)))
    url = f"{golden.HOST}{room}/damaged"
    whole = golden.read_pieces([body], url)
    assert whole.records == whole.delivered + whole.dropped
    assert whole.delivered == len(whole.locs)
    assert golden.read_pieces(data.draw(strategies.chunkings(body)), url) == whole


@pytest.mark.parametrize("size", [48, 1_000])
@pytest.mark.parametrize("document", PAGES, ids=golden.name_of)
def test_blocks_do_not_matter(document: Path, size: int) -> None:
    """A tag or line that lies across the border of blocks is read as one that does not."""
    data = document.read_bytes()
    if not data.startswith((b"<!", b"<html")):
        return  # what decides on the format has to be in the first block
    whole = golden.known_reading(document)
    with read_with(BLOCK_BYTES=size):
        assert golden.read_document(document) == whole


@pytest.mark.parametrize(
    ("value", "decoded"),
    [
        ("?a=1&copy=2", "?a=1&copy=2"),
        ("?a=1&amp;copy=2", "?a=1&copy=2"),
        ("&eacute;&eacute", "éé"),
        ("&copy;=1", "©=1"),
        ("&nosuch;&", "&nosuch;&"),
    ],
    ids=range(5),
)
def test_references_in_attributes(value: str, decoded: str) -> None:
    """A parameter that looks like a reference stays one; thousands of digits do not raise."""
    href = f"/x{value}" if value.startswith("?") else f"/x?q={value}"
    reading = golden.read_pieces([f'{HEAD}<a href="{href}">x</a>'.encode()], PAGE)
    assert reading.locs == [f"https://www.example.org{href.replace(value, decoded)}"]


def test_a_cut_page_gives_no_half_link() -> None:
    """Where the transfer broke off inside a link, it is dropped; the others are delivered."""
    body = f'{HEAD}<a href="/one">One</a><a href="/two'.encode()
    for end in (b"", b'"', b'" class=x'):
        reader = SitemapReader(PAGE, extra_formats={"html"})
        events = reader.feed(body + end) + reader.close(cut=True)
        assert [e.loc for e in events if isinstance(e, UrlEntry)] == [
            golden.HOST + "one"
        ]
        assert (
            reader.stats.counts[IssueCode.TRUNCATED]
            == reader.stats.counts[IssueCode.MALFORMED]
            == 1
        )


def test_a_link_that_is_too_long_costs_itself() -> None:
    """A download that is written out in a link does not take the links behind it along."""
    for size in (262_144, 600_000):
        page = f'{HEAD}<a href="data:{"x" * size}">a</a><a href="/2">b</a><a href="/3">c</a>'
        events = list(read(page.encode(), PAGE, extra_formats={"html"}))
        locs = [event.loc for event in events if isinstance(event, UrlEntry)]
        assert locs == [resolve(PAGE, "/2"), resolve(PAGE, "/3")]
        assert IssueCode.MALFORMED in [
            each.code for each in events if isinstance(each, Issue)
        ]


def test_links_that_are_dropped() -> None:
    """No password is repeated, thousands of digits stand for nothing, and a page is asked for."""
    digits = "9" * 6_000
    body = f"{HEAD}<a href=/&#{digits};>x</a><a href=/y>&#{digits[:999]};</a>"
    body += "<a href=https://me:secret@www.example.org/x><a rel=nofollow href=//a:secret@b/>"
    body += "<a href=tel:0123456>"
    reading = golden.read_pieces([body.encode()], PAGE)
    assert reading.locs == [golden.HOST + "y"]
    assert reading.dropped == 4
    assert reading.counts[IssueCode.LINK_NOT_TAKEN] == 3
    assert "secret" not in repr(reading.events)
    (issue,) = read(body.encode(), PAGE)
    assert isinstance(issue, Issue)
    assert issue.code is IssueCode.HTML_NOT_SITEMAP
    assert '{"html"}' in issue.message
    misused: tuple[Any, ...] = ("html", ["llms"], [1])
    for formats in misused:
        with pytest.raises((TypeError, ValueError), match="extra_formats"):
            SitemapReader(extra_formats=formats)


def test_a_document_without_an_address() -> None:
    """Without the page's URL, absolute links of any site are taken, relative ones dropped."""
    body = f"{HEAD}<a href=https://a.example/x>x</a><a href=/y>y</a><a href=//b.example/z>z</a>"
    events = list(read(body.encode(), extra_formats={"html"}))
    assert [e.loc for e in events if isinstance(e, UrlEntry)] == ["https://a.example/x"]
    codes = [e.code for e in events if isinstance(e, Issue)]
    assert codes == [
        IssueCode.HTML_SITEMAP,
        IssueCode.MISSING_BASE,
        IssueCode.MISSING_BASE,
    ]


def test_a_page_that_is_too_large() -> None:
    """Of a page without an end 2 MiB are read, and no more is asked for."""
    rest = iter([b"<a href=y>".rjust(65_536)] * 99)
    events = list(read(chain([f"{HEAD}<a href=x>".encode()], rest), PAGE,
                       extra_formats={"html"}))  # fmt: skip
    assert len(list(rest)) == 99 - 33
    locs = [each.loc for each in events if isinstance(each, UrlEntry)]
    assert locs == [resolve(PAGE, "x"), resolve(PAGE, "y")]
    said = [(each.code, each.value) for each in events if isinstance(each, Issue)]
    assert said == [
        (IssueCode.HTML_SITEMAP, None),
        (IssueCode.TOO_LARGE, "2097152 bytes"),
    ]


HOSTILE = {
    "never closed": HEAD + "<a " * 60_000,
    "alternating quotes": HEAD + "<a href=\"'<a href='\" " * 12_000,
    "attributes": (HEAD + "<a " + "a " * 4_000) * 20,
    "comments": HEAD + "<!---->" * 90_000,
    "templates": HEAD + "<template>" * 70_000,
    "styles": HEAD + "<style></style>" * 40_000,
    "references": HEAD + f"<a href=/{'&a' * 120_000}>" * 2,
    "base": f"{HEAD}<base href={'/a' * 4_000}>{'<a href=x>' * 20_000}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents(name: str) -> None:
    """No step over a hostile document takes long, and none grows with the document."""
    load_suffixes()

    def longest_step() -> float:
        reader = SitemapReader(PAGE, extra_formats={"html"})
        steps = chain(reader.feed_steps(HOSTILE[name].encode()), reader.close_steps())
        seconds = [0.0]
        is_over = False
        while not is_over:
            start = time.thread_time()
            is_over = next(steps, None) is None
            seconds.append(time.thread_time() - start)
        assert reader.stats.records == reader.stats.delivered + reader.stats.dropped
        return max(*seconds, sum(seconds) / 40)

    assert is_below(0.05, longest_step)
