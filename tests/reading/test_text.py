"""Lines: those that hold more than a URL, and the lines of Issues."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from each_case import for_each
from reading import URLSET, issues, locs, read, read_by_tree
from timing import is_linear

from sitemapreader import IssueCode, SitemapReader
from sitemapreader.options import Limits
from sitemapreader.readers.stats import ReadStats
from sitemapreader.readers.text import split_line
from sitemapreader.readers.xml.batches import XmlReader
from sitemapreader.readers.xml.prolog import read_prolog

if TYPE_CHECKING:
    from sitemapreader.models import Event


A, B = "https://a.example/1", "https://a.example/2"


@for_each(
    "line, urls",
    [
        (f"{A}\t2020-01-01", [A]),
        (f"{A}\tA title, with more", [A]),
        (f"{A}\t{B}", [A, B]),
        (f"{A}, 2020-01-01T10:00:00+02:00", [A]),
        (f"{A},2020-01-01,weekly,0.8", [A]),
        (f"{A};2020-01-01", [A]),
        (f'"{A}","2020-01-01"', [A]),
        (f"{A} | 2020-01-01", [A]),
        (f"<{A}>", [A]),
        (f"{A} {B}", [A, B]),
        (f"{A},{B}", [A, B]),
        (f'"{A}", "{B}"', [A, B]),
        (f"{A},2020-01-01 {B},2020-01-02", [A, B]),
    ],
)
def test_the_urls_of_a_line_are_taken(line: str, urls: list[str]) -> None:
    """Quotes, brackets and further columns are no part of a URL; an Issue says so."""
    events = read(f"{A}0\n{line}\n{B}0\n".encode())
    assert locs(events) == [f"{A}0", *urls, f"{B}0"]
    assert issues(events) == [IssueCode.UNTIDY_LINE]


@for_each(
    "url",
    [
        "https://a.example/news,1,2020.html",
        "https://a.example/title,weekly",
        "https://a.example/a;b|c",
        "https://a.example/?days=2020-01-01,2020-01-31",
        "https://a.example/?u=1,https://b.example/",
        "https://a.example/x/https://b.example/",
        "https://a.example/it's",
        "https://a.example/v,1.0",
    ],
)
def test_a_bare_url_is_kept(url: str) -> None:
    """Commas and quotes that belong to a URL stay in it."""
    events = read(f"{A}\n{url}\n".encode())
    assert (locs(events), issues(events)) == ([A, url], [])


def test_every_line_is_accounted_for() -> None:
    """A line of two URLs has two records, and a document of columns is one with all its URLs."""
    reader = SitemapReader()
    rows = "".join(f'"https://a.example/{n}","2020-01-01"\n' for n in range(2_500))
    events = reader.feed(f"url,lastmod\n{rows}{A} {B}".encode()) + reader.close()
    assert len(locs(events)) == 2_502
    stats = reader.stats
    assert (stats.records, stats.delivered, stats.dropped) == (2_503, 2_502, 1)
    assert stats.counts[IssueCode.UNTIDY_LINE] == 2_501


@pytest.mark.parametrize("part", [" ", ",", ",2020-01-01", ",https:"])
def test_time_is_linear(part: str) -> None:
    """A flood of separators in a line is passed in linear time."""
    small, large = (A + part * (size // len(part)) + "x" for size in (16_000, 64_000))
    assert is_linear(split_line, small, large)


# -- the lines of Issues: they do not depend on how a document comes, or how its lines end


ODD = "<url><loc>http://a.b/ 1</loc></url>"
PLAIN = "<url><loc>http://a.b/1</loc></url>"
BROKEN = "<url><loc>http://a.b/1</loc>&<lastmod>x</lastmod></url>"
LINES = {
    "plain": ["", PLAIN, PLAIN, "<url>", "<loc>http://a.b/1 2</loc>", "</url>"],
    "comments": ["<!--", "-->", ODD, "<!-- -->", "", ODD],
    "broken": ["", BROKEN, "", "&", "", "<url>", "<loc>", "http://x/</loc><x>", "</url>", ODD],
    "too-long": [
        "<url>",
        *["<y>", "", "</y>"] * 100,
        "</url>",
        ODD,
        "<!--",
        *[""] * 300,
        "-->",
        ODD,
    ],
}
ENDS = ["\n", "\r\n", "\r"]


def lines_of(events: list[Event]) -> list[tuple[str, int | None]]:
    """List the Issues and entries with their lines."""
    return [(str(getattr(e, "code", "")), getattr(e, "line", None)) for e in events]


def read_lines(pieces: list[bytes]) -> list[tuple[str, int | None]]:
    """Read a document in pieces that no block joins."""
    stats = ReadStats()
    reader = XmlReader(stats, Limits(record_bytes=400), *read_prolog([], stats, pieces[0]))
    steps = [*chain.from_iterable(map(reader.feed, pieces)), *reader.close(None)]
    return lines_of(list(chain.from_iterable(steps)))


@for_each("name", LINES)
@for_each("end", ENDS)
def test_lines_in_any_cutting(name: str, end: str, thorough: bool) -> None:
    """A document's events have the same lines for each end of a line, whole and in pieces."""
    text = "\n".join([*LINES[name], "</urlset>"])
    expected = lines_of(read(URLSET + text.encode(), record_bytes=400))
    assert any(line and line > 1 for _, line in expected)
    data = URLSET + text.replace("\n", end).encode()
    assert lines_of(read(data, record_bytes=400)) == expected
    assert lines_of(read_by_tree(data, record_bytes=400)) == expected
    if name == "too-long":
        return  # what is too long is told by what is pending, in characters
    for first in range(len(URLSET), len(data), 1 if thorough else 5):
        assert read_lines([data[:first], data[first:]]) == expected
    bytes_behind = (data[place : place + 1] for place in range(len(URLSET), len(data)))
    assert read_lines([URLSET, *bytes_behind]) == expected


@pytest.mark.parametrize("before", ["", "<!--\n-->\n", f"{PLAIN}\n\n"])
def test_the_line_of_a_record_that_is_too_long(before: str) -> None:
    """It is the line on which the record begins, whatever stands before it."""
    record = "<url>\n<loc>http://a.b/long</loc>\n" + "<y></y>\n" * 6_000
    data = f"<urlset>{before}{record}</url>{PLAIN}</urlset>".encode()
    for events in (read(data, record_bytes=9_000), read_by_tree(data, record_bytes=9_000)):
        lines = dict(lines_of(events))
        assert lines["record-too-long"] == 1 + before.count("\n")
        assert "http://a.b/1" in [getattr(event, "loc", "") for event in events]
